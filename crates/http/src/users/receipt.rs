//! The receipt of an erasure: what was removed and what stays, signed by the server.
//!
//! The signature is Ed25519 over the receipt as JSON with sorted names and without spaces. Anybody
//! can check it without the server; the public key is that of `GET /api/erasures`.

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::request::problem::{Code, RECEIPT_WRONG};
use crate::spelling::hex;

/// SHA-256 of the salt's digits and the name.
pub(crate) fn hash(salt: &str, user: &str) -> String {
    let mut of = ring::digest::Context::new(&ring::digest::SHA256);
    of.update(salt.as_bytes());
    of.update(user.as_bytes());
    hex(of.finish().as_ref())
}

/// Something that stays, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = KeptOfUser)]
pub(crate) struct Kept {
    /// The kind of thing.
    #[schema(example = "wallet_entries")]
    pub(crate) kind: String,
    /// How many; none where nothing counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// The reason for which it stays, and until when.
    pub(crate) why: String,
}

/// A receipt with its signature.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ErasureReceipt)]
pub(crate) struct Signed {
    /// The erasure: `id`, `user_hash`, `salt`, `by`, `began_at`, `finished_at`, `removed`, `kept`.
    #[schema(value_type = Object)]
    pub(crate) receipt: Value,
    /// `Ed25519`.
    pub(crate) algorithm: String,
    /// The server's key, hexadecimal.
    pub(crate) public_key: String,
    /// Over `receipt` as JSON with sorted names and without spaces, hexadecimal.
    pub(crate) signature: String,
}

/// The key that signs.
pub(crate) struct Seed(Ed25519KeyPair);

impl Seed {
    /// Of 32 secret bytes.
    pub(crate) fn of(secret: &[u8; 32]) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(secret).expect("every 32 bytes are a seed"))
    }

    /// Its public key.
    pub(crate) fn public_key(&self) -> String {
        hex(self.0.public_key().as_ref())
    }

    /// Signs a receipt.
    pub(crate) fn sign(&self, receipt: Value) -> Signed {
        let signature = hex(self.0.sign(canonical(&receipt).as_bytes()).as_ref());
        Signed { receipt, algorithm: "Ed25519".to_owned(), public_key: self.public_key(), signature }
    }
}

/// Reasons for which a receipt proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongReceipt(String);

impl std::fmt::Display for WrongReceipt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Code { code, .. } = RECEIPT_WRONG;
        write!(f, "{} ({code})", self.0)
    }
}

impl std::error::Error for WrongReceipt {}

/// Checks a receipt without the server: its signature, that it is by this key and about this user,
/// where they are given. Returns the receipt, and the public key that signed it.
///
/// # Errors
/// [`WrongReceipt`].
pub fn verify_receipt(
    text: &str,
    key: Option<&str>,
    user: Option<&str>,
) -> Result<(Value, String), WrongReceipt> {
    let wrong = |words: &str| WrongReceipt(words.to_owned());
    let signed: Signed = serde_json::from_str(text)
        .map_err(|error| WrongReceipt(format!("the file is no receipt of an erasure: {error}")))?;
    if signed.algorithm != "Ed25519" {
        return Err(WrongReceipt(format!("the algorithm {:?} is not known", signed.algorithm)));
    }
    if key.is_some_and(|key| !key.eq_ignore_ascii_case(&signed.public_key)) {
        return Err(WrongReceipt(format!("the receipt is signed by another key, {}", signed.public_key)));
    }
    let bytes =
        |text: &str| from_hex(text).ok_or_else(|| wrong("the key or the signature is not hexadecimal"));
    let (public_key, signature) = (bytes(&signed.public_key)?, bytes(&signed.signature)?);
    UnparsedPublicKey::new(&ED25519, public_key)
        .verify(canonical(&signed.receipt).as_bytes(), &signature)
        .map_err(|_| {
            wrong("the signature does not fit: the receipt was changed, or the key is not its own")
        })?;
    if let Some(user) = user {
        let field = |name: &str| signed.receipt[name].as_str().unwrap_or_default();
        if hash(field("salt"), user) != field("user_hash") {
            return Err(WrongReceipt(format!("the receipt is genuine, and not about the user {user:?}")));
        }
    }
    Ok((signed.receipt, signed.public_key))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

/// JSON with sorted names and without spaces, however the parser keeps the order of names.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            let each = fields.into_iter();
            let each =
                each.map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signed() -> Signed {
        let receipt = json!({"user_hash": hash("aa", "ada"), "salt": "aa", "removed": [{"kind": "devices", "count": 2}]});
        Seed::of(&[7; 32]).sign(receipt)
    }

    #[test]
    fn a_receipt_is_checked_without_the_server_and_a_changed_one_is_refused() {
        let text = serde_json::to_string_pretty(&signed()).expect("JSON");
        let key = Seed::of(&[7; 32]).public_key();
        let (receipt, by) =
            verify_receipt(&text, Some(&key.to_uppercase()), Some("ada")).expect("it is genuine");
        assert_eq!((receipt["removed"][0]["count"].as_u64(), by), (Some(2), key));
        let refused = |text: &str, key: Option<&str>, user: Option<&str>| {
            verify_receipt(text, key, user).expect_err("it is refused").to_string()
        };
        let changed = text.replace("\"count\": 2", "\"count\": 3");
        assert!(refused(&changed, None, None).contains("was changed"));
        let other = Seed::of(&[8; 32]).public_key();
        assert!(refused(&text, Some(&other), None).contains("another key"));
        assert!(refused(&text, None, Some("bob")).contains("not about the user"));
        assert!(refused("{}", None, None).ends_with("(ERA-006)"));
        let mut forged = signed();
        forged.public_key = other;
        assert!(refused(&serde_json::to_string(&forged).expect("JSON"), None, None).contains("does not fit"));
    }

    #[test]
    fn names_are_sorted_whatever_their_order() {
        let value: Value =
            serde_json::from_str(r#"{"b": [1, {"d": "x\"y", "c": null}], "a": true}"#).expect("JSON");
        assert_eq!(canonical(&value), r#"{"a":true,"b":[1,{"c":null,"d":"x\"y"}]}"#);
    }
}
