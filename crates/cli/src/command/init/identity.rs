//! What `stadium init` makes to prove identities: certificates, a device's token, passwords.
//!
//! Certificates are ECDSA P-256. An authority lasts ten years and what it signs one year, so that a
//! trial that became production is noticed: `stadium doctor` warns 30 days before an end.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, SigningKey as _,
};
use serde_json::json;

use crate::failure::{Context, Failure};
use crate::shown;

const DAY_MS: u64 = 24 * 3_600 * 1_000;

/// Days for which an authority is good.
const AUTHORITY_DAYS: u64 = 3_650;

/// Days for which a certificate is good.
const CERTIFICATE_DAYS: u64 = 365;

/// Days for which the first token is good.
const TOKEN_DAYS: u64 = 365;

/// Random bytes of a password: 128 bits.
const PASSWORD_BYTES: usize = 16;

/// A certificate and its private key, PEM.
pub(super) struct Pem {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// An authority that signs.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: Pem,
}

impl Authority {
    /// A new one.
    pub(super) fn new(name: &str) -> Result<Self, Failure> {
        let made = || {
            let mut params = CertificateParams::new(Vec::new())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            params.distinguished_name.push(DnType::CommonName, name);
            good_for(&mut params, AUTHORITY_DAYS);
            let key = KeyPair::generate()?;
            let pem = Pem { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() };
            Ok(Self { issuer: Issuer::new(params, key), pem })
        };
        made().map_err(|error: rcgen::Error| Failure::new(format!("the authority {name}: {error}")))
    }

    /// A server's certificate for these names and addresses.
    pub(super) fn server(&self, names: &[String]) -> Result<Pem, Failure> {
        let name = names.first().map_or("stadium", String::as_str);
        self.sign(name, names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A device's certificate; the common name is its client id.
    pub(super) fn device(&self, client_id: &str) -> Result<Pem, Failure> {
        self.sign(client_id, &[], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(&self, name: &str, names: &[String], usage: ExtendedKeyUsagePurpose) -> Result<Pem, Failure> {
        let made = || {
            let mut params = CertificateParams::new(names.to_vec())?;
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![usage];
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.use_authority_key_identifier_extension = true;
            good_for(&mut params, CERTIFICATE_DAYS);
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &self.issuer)?.pem();
            Ok(Pem { certificate, key: key.serialize_pem() })
        };
        made().map_err(|error: rcgen::Error| Failure::new(format!("the certificate of {name:?}: {error}")))
    }
}

/// From yesterday on, so that a clock that is a little behind believes it.
fn good_for(params: &mut CertificateParams, days: u64) {
    let date = |time_ms: u64| {
        let text = shown::timestamp(time_ms);
        let part = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u16>().ok());
        let (year, month, day) = (part(0..4), part(5..7), part(8..10));
        let narrow = |part: Option<u16>| part.and_then(|part| u8::try_from(part).ok()).unwrap_or(1);
        rcgen::date_time_ymd(year.map_or(1970, i32::from), narrow(month), narrow(day))
    };
    let now = now_ms();
    params.not_before = date(now.saturating_sub(DAY_MS));
    params.not_after = date(now + days * DAY_MS);
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// A key pair that signs tokens, and a first token for a device.
pub(super) struct Tokens {
    pub(super) private: String,
    pub(super) public: String,
    pub(super) first: String,
}

impl Tokens {
    /// A new pair.
    pub(super) fn new(client_id: &str) -> Result<Self, Failure> {
        let key = KeyPair::generate_for(&PKCS_ED25519).context("the key of tokens cannot be made")?;
        let now = now_ms() / 1_000;
        let encoded = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let header = encoded(&json!({"alg": "EdDSA", "typ": "JWT"}));
        let expires = now + TOKEN_DAYS * DAY_MS / 1_000;
        let claims = encoded(&json!({"sub": client_id, "iat": now, "exp": expires}));
        let signed = format!("{header}.{claims}");
        let signature = key.sign(signed.as_bytes()).context("the first token cannot be signed")?;
        let first = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
        Ok(Self { private: key.serialize_pem(), public: key.public_key_pem(), first })
    }
}

/// A password that nobody guesses.
pub(super) fn password() -> Result<String, Failure> {
    use std::io::Read as _;
    let mut bytes = [0; PASSWORD_BYTES];
    let mut random = std::fs::File::open("/dev/urandom").context("/dev/urandom")?;
    random.read_exact(&mut bytes).context("/dev/urandom")?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
