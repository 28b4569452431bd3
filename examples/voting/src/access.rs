//! Access: tickets, tokens, and the operator's key, all made from one secret.
//!
//! Nothing is stored. A ticket is printed on paper and proves who logs in; a token proves that somebody did, for twelve hours;
//! the operator's key credits votes that were paid for. A holder of the secret can make them all.

use std::path::Path;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::poll::{Voter, now_ms};

/// How long a token is good for.
pub const TOKEN_MS: u64 = 12 * 3_600_000;

/// Bytes of a secret that was made here.
const SECRET_BYTES: usize = 32;

/// Characters of a ticket: 60 bits, short enough to be typed from paper.
const TICKET_CHARS: usize = 10;

/// The alphabet of tickets: no characters that look alike.
const ALPHABET: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz-";

/// Who may log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Every holder of a ticket.
    Tickets,
    /// Anybody by name, and anybody may credit votes: on loopback only.
    Open,
}

/// Makes and checks proofs.
pub struct Access {
    key: hmac::Key,
    entry: Entry,
}

impl Access {
    /// From a secret.
    #[must_use]
    pub fn new(secret: &[u8], entry: Entry) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret), entry }
    }

    /// From a secret in a file, which is made where there is none.
    ///
    /// # Errors
    /// The file cannot be read or made, or holds less than 16 bytes.
    pub fn from_file(path: &Path, entry: Entry) -> anyhow::Result<Self> {
        let named = || format!("the secret in {}", path.display());
        if !path.exists() {
            let mut options = std::fs::OpenOptions::new();
            std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create_new(true), 0o600);
            let mut file = options.open(path).with_context(named)?;
            std::io::Write::write_all(&mut file, &random_secret()?).with_context(named)?;
        }
        let secret = std::fs::read(path).with_context(named)?;
        ensure!(secret.len() >= 16, "{} has {} bytes; it needs 16 or more", named(), secret.len());
        Ok(Self::new(&secret, entry))
    }

    /// From a secret that nobody will know: tokens end with this process.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn ephemeral(entry: Entry) -> anyhow::Result<Self> {
        Ok(Self::new(&random_secret()?, entry))
    }

    /// What is printed on this voter's ticket.
    #[must_use]
    pub fn ticket(&self, voter: &Voter) -> String {
        let tag = self.tag(b"ticket", voter.name());
        tag.as_ref()
            .iter()
            .take(TICKET_CHARS)
            .map(|byte| char::from(ALPHABET[usize::from(byte & 31)]))
            .collect()
    }

    /// Whether that is the voter's ticket, or none is needed.
    #[must_use]
    pub fn admits(&self, voter: &Voter, ticket: &str) -> bool {
        self.entry == Entry::Open || same(self.ticket(voter).as_bytes(), ticket.trim().as_bytes())
    }

    /// A token for a voter who was admitted.
    #[must_use]
    pub fn token(&self, voter: &Voter) -> String {
        self.token_until(voter, now_ms() + TOKEN_MS)
    }

    fn token_until(&self, voter: &Voter, until_ms: u64) -> String {
        let claim = format!("{}~{until_ms}", voter.name());
        let tag = URL_SAFE_NO_PAD.encode(self.tag(b"token", &claim));
        format!("{claim}~{tag}")
    }

    /// Whose token that is; none where it is nobody's, or too old.
    #[must_use]
    pub fn voter(&self, token: &str) -> Option<Voter> {
        let (claim, tag) = token.rsplit_once('~')?;
        let (name, until_ms) = claim.split_once('~')?;
        let is_ours = same(URL_SAFE_NO_PAD.encode(self.tag(b"token", claim)).as_bytes(), tag.as_bytes());
        let lives = until_ms.parse::<u64>().is_ok_and(|until_ms| now_ms() < until_ms);
        if is_ours && lives { Voter::new(name).ok() } else { None }
    }

    /// The key with which votes are credited.
    #[must_use]
    pub fn operator_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.tag(b"operator", ""))
    }

    /// Whether whoever shows this key may credit votes.
    #[must_use]
    pub fn may_credit(&self, key: Option<&str>) -> bool {
        self.entry == Entry::Open
            || key.is_some_and(|key| same(self.operator_key().as_bytes(), key.as_bytes()))
    }

    /// Seals of one purpose, which every instance with the same secret can make and check.
    pub(crate) fn seal(&self, purpose: &str) -> Seal {
        Seal(hmac::Key::new(hmac::HMAC_SHA256, self.tag(b"seal", purpose).as_ref()))
    }

    fn tag(&self, purpose: &[u8], text: &str) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(purpose);
        context.update(&[0]);
        context.update(text.as_bytes());
        context.sign()
    }
}

/// Marks texts that leave the service and come back: nobody without the secret can change one.
pub(crate) struct Seal(hmac::Key);

impl Seal {
    /// The text with its seal.
    pub(crate) fn put_on(&self, text: &str) -> String {
        format!("{text}~{}", URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, text.as_bytes())))
    }

    /// The text, if the seal is ours.
    pub(crate) fn open<'a>(&self, sealed: &'a [u8]) -> Option<&'a str> {
        let (text, seal) = std::str::from_utf8(sealed).ok()?.rsplit_once('~')?;
        let seal = URL_SAFE_NO_PAD.decode(seal).ok()?;
        hmac::verify(&self.0, text.as_bytes(), &seal).ok()?;
        Some(text)
    }

    /// A name that only holders of the secret know.
    pub(crate) fn name(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, format!("name of {text}").as_bytes()))
    }
}

fn random_secret() -> anyhow::Result<[u8; SECRET_BYTES]> {
    let mut secret = [0; SECRET_BYTES];
    let random = ring::rand::SystemRandom::new();
    let filled = ring::rand::SecureRandom::fill(&random, &mut secret);
    filled.ok().context("the system has no randomness for a secret")?;
    Ok(secret)
}

/// Compares in constant time, so that the time does not reveal the first difference.
fn same(ours: &[u8], theirs: &[u8]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voter(name: &str) -> Voter {
        Voter::new(name).expect("a name")
    }

    #[test]
    fn a_token_names_its_voter_and_nothing_else_does() {
        let access = Access::new(b"a secret of the house", Entry::Tickets);
        let token = access.token(&voter("seat-1.7"));
        assert_eq!(access.voter(&token), Some(voter("seat-1.7")));
        let forged = token.replacen("seat-1.7", "seat-1.8", 1);
        let others = Access::new(b"another secret", Entry::Tickets).token(&voter("seat-1.7"));
        let old = access.token_until(&voter("seat-1.7"), now_ms() - 1);
        for wrong in [forged.as_str(), &others, &old, "", "~", "~~", "seat-1.7~99999999999999~"] {
            assert_eq!(access.voter(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_seal_is_of_its_purpose_and_its_text() {
        let access = Access::new(b"a secret of the house", Entry::Tickets);
        let seal = access.seal("standings");
        let sealed = seal.put_on("ann~7");
        assert_eq!(seal.open(sealed.as_bytes()), Some("ann~7"));
        for wrong in [sealed.replace('7', "8"), "ann~7".to_owned(), access.seal("other").put_on("ann~7")] {
            assert_eq!(seal.open(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_ticket_admits_one_voter() {
        let access = Access::new(b"a secret of the house", Entry::Tickets);
        let ticket = access.ticket(&voter("ann"));
        assert_eq!(ticket.len(), TICKET_CHARS);
        assert!(access.admits(&voter("ann"), &ticket));
        assert!(!access.admits(&voter("ben"), &ticket));
        assert!(!access.admits(&voter("ann"), ""));
        assert!(!access.may_credit(None) && !access.may_credit(Some(&ticket)));
        assert!(access.may_credit(Some(&access.operator_key())));
        assert!(Access::new(b"x", Entry::Open).admits(&voter("ann"), ""));
    }
}
