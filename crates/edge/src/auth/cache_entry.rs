//! Keys and entries of the cache of the callback's answers: hashed and authenticated with one secret.
//!
//! An entry is the version, the times at which it was made and at which it ends in milliseconds since 1970, the
//! answer as JSON, and the digest of all this and of its key. `null` as answer is a note that the callback's
//! answer is not kept: until its end everybody asks at once, and nobody waits for another one.

use std::path::Path;
use std::time::Duration;

use ring::hmac;

use super::Error;
use super::decision::Decision;
use super::remembered::Tag;

/// Bytes of a secret at least: as long as the hash.
const SECRET_BYTES_MIN: usize = 32;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 17;
const DIGEST_BYTES: usize = 32;

/// The secret that several servers share.
pub(super) struct Secret {
    keys: hmac::Key,
    entries: hmac::Key,
}

/// An entry that was written with the secret for its key.
pub(super) struct Entry {
    /// None in a note.
    pub(super) answer: Option<Decision>,
    pub(super) made_ms: u64,
    pub(super) ends_ms: u64,
}

impl Secret {
    /// Reads the file; white space around the secret does not count.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let secret = text.trim_ascii();
        if secret.len() < SECRET_BYTES_MIN {
            let bytes = secret.len();
            let problem = format!("the secret of its cache, {}, has {bytes} bytes, not 32", path.display());
            return Err(Error::Callback { problem });
        }
        Ok(Self::new(secret))
    }

    fn new(secret: &[u8]) -> Self {
        let derived = |purpose: &[u8]| {
            let digest = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), purpose);
            hmac::Key::new(hmac::HMAC_SHA256, digest.as_ref())
        };
        Self {
            keys: derived(b"stadium: keys of answers, 1"),
            entries: derived(b"stadium: entries of answers, 1"),
        }
    }

    /// The key of an answer about these parts.
    pub(super) fn key(&self, parts: &[&[u8]]) -> Tag {
        Tag::of(&self.keys, parts)
    }

    /// The entry of an answer, or a note, under this key.
    pub(super) fn seal(&self, key: &Tag, answer: Option<&Decision>, now_ms: u64, life: Duration) -> Vec<u8> {
        let mut entry = vec![VERSION];
        let life_ms = u64::try_from(life.as_millis()).unwrap_or(u64::MAX);
        entry.extend_from_slice(&now_ms.to_le_bytes());
        entry.extend_from_slice(&now_ms.saturating_add(life_ms).to_le_bytes());
        entry.extend_from_slice(&serde_json::to_vec(&answer).unwrap_or_default());
        let digest = Tag::of(&self.entries, &[&key.0, &entry]);
        entry.extend_from_slice(&digest.0);
        entry
    }

    /// The entry in these bytes; none where they were not written with this secret for this key.
    pub(super) fn unseal(&self, key: &Tag, bytes: &[u8]) -> Option<Entry> {
        let body = bytes.len().checked_sub(DIGEST_BYTES).filter(|body| *body >= HEAD_BYTES)?;
        let (body, digest) = bytes.split_at(body);
        let ours = Tag::of(&self.entries, &[&key.0, body]);
        // In constant time: the writer of the entry may measure it.
        let differ = ours.0.iter().zip(digest).fold(0, |all, (a, b)| all | (a ^ b));
        if differ != 0 || body[0] != VERSION {
            return None;
        }
        let number = |from: usize| {
            let bytes = body[from..from + 8].try_into().expect("the head has two numbers of 8 bytes");
            u64::from_le_bytes(bytes)
        };
        let answer = serde_json::from_slice(&body[HEAD_BYTES..]).ok()?;
        Some(Entry { answer, made_ms: number(1), ends_ms: number(9) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(60);

    #[test]
    fn an_entry_comes_out_as_it_went_in() {
        let secret = Secret::new(b"a secret of this house, of 32 bytes");
        let key = secret.key(&[b"anna", b"secret"]);
        let entry = secret.unseal(&key, &secret.seal(&key, Some(&Decision::DENIAL), 1_000, LIFE));
        let entry = entry.expect("it is ours");
        assert!(entry.answer.is_some_and(|answer| !answer.allow));
        assert_eq!((entry.made_ms, entry.ends_ms), (1_000, 61_000));
        let note = secret.unseal(&key, &secret.seal(&key, None, 1_000, LIFE)).expect("it is ours");
        assert!(note.answer.is_none());
    }

    #[test]
    fn a_changed_byte_another_key_and_another_secret_are_found_out() {
        let secret = Secret::new(b"a secret of this house, of 32 bytes");
        let key = secret.key(&[b"anna", b"secret"]);
        let sealed = secret.seal(&key, Some(&Decision::DENIAL), 1_000, LIFE);
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(secret.unseal(&key, &changed).is_none(), "byte {place}");
            assert!(secret.unseal(&key, &sealed[..place]).is_none(), "cut at {place}");
        }
        assert!(secret.unseal(&secret.key(&[b"annas", b"ecret"]), &sealed).is_none());
        let other = Secret::new(b"a secret of that house, of 32 bytes");
        assert!(other.unseal(&key, &sealed).is_none());
        assert!(other.key(&[b"anna", b"secret"]) != key);
    }
}
