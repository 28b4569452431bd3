//! The operator's key that seals files with secrets.
//!
//! It is derived from a secret in a file, of which no backup has a copy. The format of a sealed
//! file is in docs/formats/backup.md.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ring::{aead, hkdf, hmac};

use crate::Error;

/// The shortest secret, bytes.
const SECRET_BYTES_MIN: usize = 32;

/// The operator's key that seals files with secrets. No backup has it.
pub struct SecretsKey {
    seal: aead::LessSafeKey,
    nonce: hmac::Key,
    /// The file with the secret, without links.
    file: Option<PathBuf>,
}

impl std::fmt::Debug for SecretsKey {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretsKey")
    }
}

impl SecretsKey {
    /// Reads the secret in a file: at least 32 bytes, such as the output of `openssl rand -base64
    /// 48`.
    ///
    /// # Errors
    /// `File`.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read(path).map_err(Error::file(path))?;
        let secret = text.trim_ascii();
        if secret.len() < SECRET_BYTES_MIN {
            let short = format!("it has fewer than {SECRET_BYTES_MIN} bytes");
            return Err(Error::file(path)(io::Error::new(io::ErrorKind::InvalidData, short)));
        }
        Ok(Self { file: fs::canonicalize(path).ok(), ..Self::of(secret) })
    }

    /// The file with the secret, without links.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(super) fn of(secret: &[u8]) -> Self {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"stadium backup, version 1").extract(secret);
        let part = |label: &'static [u8]| {
            let mut key = [0; 32];
            let label = [label];
            let derived = root.expand(&label, hkdf::HKDF_SHA256).and_then(|part| part.fill(&mut key));
            derived.expect("32 bytes can be derived");
            key
        };
        let key = aead::UnboundKey::new(&aead::CHACHA20_POLY1305, &part(b"seal"));
        Self {
            seal: aead::LessSafeKey::new(key.expect("the key has 32 bytes")),
            nonce: hmac::Key::new(hmac::HMAC_SHA256, &part(b"nonce")),
            file: None,
        }
    }

    /// The nonce follows from name and content: equal files are one object, and no nonce is used
    /// for two contents.
    pub(super) fn seal(&self, name: &str, content: &[u8]) -> Vec<u8> {
        let mut of = hmac::Context::with_key(&self.nonce);
        for part in [name.as_bytes(), &[0], content] {
            of.update(part);
        }
        let nonce: [u8; 12] = *of.sign().as_ref().first_chunk().expect("it has 32 bytes");
        let mut sealed = content.to_vec();
        let sealing = self.seal.seal_in_place_append_tag(
            aead::Nonce::assume_unique_for_key(nonce),
            aead::Aad::from(name.as_bytes()),
            &mut sealed,
        );
        sealing.expect("a small file can be sealed");
        [&nonce[..], &sealed].concat()
    }

    pub(super) fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<12>()?;
        let mut content = sealed.to_vec();
        let opened = self.seal.open_in_place(
            aead::Nonce::assume_unique_for_key(*nonce),
            aead::Aad::from(name.as_bytes()),
            &mut content,
        );
        Some(opened.ok()?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_file_opens_with_its_key_and_name_only() {
        let key = SecretsKey::of(&[7; 32]);
        let sealed = key.seal("admin.key", b"st_secret");
        assert_eq!(key.open("admin.key", &sealed).as_deref(), Some(&b"st_secret"[..]));
        assert_eq!(key.seal("admin.key", b"st_secret"), sealed, "it is one object");
        assert_eq!(key.open("other.key", &sealed), None);
        assert_eq!(SecretsKey::of(&[8; 32]).open("admin.key", &sealed), None);
        assert_eq!(key.open("admin.key", &sealed[..5]), None);
        assert!(!sealed.windows(9).any(|window| window == b"st_secret"));
    }
}
