//! A self-signed identity for the TLS rows, made anew for each run: no key lies in the repository.
//! The client trusts this certificate alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// A certificate for `localhost` and its key, PEM. ECDSA P-256, as device fleets use.
pub(crate) struct Identity {
    certificate: String,
    key: String,
}

impl Identity {
    /// Makes one.
    pub(crate) fn generate() -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        Ok(Self { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() })
    }

    /// Writes both into `folder`; returns the paths of certificate and key.
    pub(crate) fn write(&self, folder: &Path) -> Result<(PathBuf, PathBuf)> {
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        fs::write(&certificate, &self.certificate)?;
        fs::write(&key, &self.key)?;
        Ok((certificate, key))
    }
}
