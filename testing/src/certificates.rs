//! A certificate authority of the suite's own, and its certificates.
//!
//! Everything is PEM in a directory that goes with the value. Keys are fresh for each run.

use std::path::PathBuf;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// An authority.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, as files.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Authority {
    /// A fresh one.
    pub fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "Stadium test authority");
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        std::fs::write(folder.path().join("ca.pem"), certificate.pem())?;
        Ok(Self { folder, issuer: Issuer::new(params, key) })
    }

    /// Its own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A server's certificate for 127.0.0.1 and localhost.
    pub fn server(&self) -> Result<Identity> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        self.sign("server", names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A device's certificate with this common name.
    pub fn device(&self, name: &str) -> Result<Identity> {
        self.sign(name, Vec::new(), ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(&self, name: &str, names: Vec<String>, usage: ExtendedKeyUsagePurpose) -> Result<Identity> {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages.push(usage);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let file = |suffix: &str| self.folder.path().join(format!("{name}.{suffix}"));
        let identity = Identity { certificate: file("pem"), key: file("key") };
        std::fs::write(&identity.certificate, certificate.pem())?;
        std::fs::write(&identity.key, key.serialize_pem())?;
        Ok(identity)
    }
}
