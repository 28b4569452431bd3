//! SCRAM of a client (RFC 5802, RFC 7677), without channel binding. No I/O.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};

/// Rounds of hashing that a broker may ask for. Kafka takes 4,096 to 16,384 (`iterations` of its
/// SCRAM credentials); more would let a false broker keep the processor busy.
const ROUNDS: std::ops::RangeInclusive<u32> = 4096..=65_536;

/// The hash of a mechanism.
#[derive(Clone, Copy)]
pub(super) struct Hash {
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
}

/// SCRAM-SHA-256.
pub(super) fn sha256() -> Hash {
    Hash { hmac: hmac::HMAC_SHA256, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256 }
}

/// SCRAM-SHA-512.
pub(super) fn sha512() -> Hash {
    Hash { hmac: hmac::HMAC_SHA512, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512 }
}

/// A client that sent its first message.
pub(super) struct Client<'p> {
    hash: Hash,
    password: &'p str,
    nonce: String,
    first_bare: String,
}

/// The broker's last answer, which proves that it knows the password too.
pub(super) struct Expected(String);

impl<'p> Client<'p> {
    /// `nonce` is random, printable and has no comma.
    pub(super) fn new(hash: Hash, user: &str, password: &'p str, nonce: String) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        Self { hash, password, first_bare: format!("n={user},r={nonce}"), nonce }
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.first_bare)
    }

    /// The answer to the broker's first message: the proof, and what must come back.
    pub(super) fn prove(&self, server_first: &str) -> Result<(String, Expected), &'static str> {
        let field = |name| server_first.split(',').find_map(|field| field.strip_prefix(name));
        let nonce = field("r=").ok_or("no nonce")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("the nonce is not ours with one of the broker's");
        }
        let salt = field("s=").and_then(|salt| STANDARD.decode(salt).ok()).ok_or("no salt")?;
        let rounds = field("i=").and_then(|rounds| rounds.parse().ok()).ok_or("no number of rounds")?;
        if !ROUNDS.contains(&rounds) {
            return Err("rounds out of bounds");
        }
        let rounds = std::num::NonZeroU32::new(rounds).expect("at least 4,096");
        let digest = self.hash.hmac.digest_algorithm();
        let mut salted = vec![0; digest.output_len()];
        pbkdf2::derive(self.hash.pbkdf2, rounds, &salt, self.password.as_bytes(), &mut salted);
        let keyed = |key: &[u8], text: &str| {
            hmac::sign(&hmac::Key::new(self.hash.hmac, key), text.as_bytes()).as_ref().to_vec()
        };
        let without_proof = format!("c=biws,r={nonce}");
        let all = format!("{},{server_first},{without_proof}", self.first_bare);
        let client_key = keyed(&salted, "Client Key");
        let stored = digest::digest(digest, &client_key);
        let signature = keyed(stored.as_ref(), &all);
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(key, sign)| key ^ sign).collect();
        let expected = keyed(&keyed(&salted, "Server Key"), &all);
        let proof = format!("{without_proof},p={}", STANDARD.encode(proof));
        Ok((proof, Expected(format!("v={}", STANDARD.encode(expected)))))
    }
}

impl Expected {
    /// Whether the broker's last message proves that it knows the password.
    pub(super) fn is(&self, server_final: &str) -> bool {
        server_final.split(',').next() == Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, sha256};

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const SERVER_FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                                s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    #[test]
    fn the_example_of_rfc_7677_holds() {
        let client = Client::new(sha256(), "user", "pencil", NONCE.into());
        assert_eq!(client.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let (proof, expected) = client.prove(SERVER_FIRST).unwrap();
        assert_eq!(
            proof,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(expected.is("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(!expected.is("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5="));
        assert!(!expected.is("e=other-error"));
    }

    #[test]
    fn a_broker_that_does_not_keep_to_it_is_refused() {
        let client = Client::new(sha256(), "a,b=c", "pencil", NONCE.into());
        assert_eq!(client.first(), "n,,n=a=2Cb=3Dc,r=rOprNGfwEbeRWgbNEkqO");
        for (spoilt, instead) in [
            ("r=rOprNGfwEbeRWgbNEkqO%", "r=other%"),
            ("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", ""),
            ("i=4096", "i=1"),
            ("i=4096", "i=1000000000"),
            ("s=W22Z", "s=*"),
        ] {
            assert!(client.prove(&SERVER_FIRST.replace(spoilt, instead)).is_err(), "{spoilt} {instead}");
        }
    }
}
