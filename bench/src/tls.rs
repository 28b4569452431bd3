//! A self-signed identity for the TLS rows, made anew for each run: no key lies in the repository.
//! The client trusts this certificate alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

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

/// TLS 1.3 that trusts this certificate alone.
pub(crate) fn trusting(certificate: &Path) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
