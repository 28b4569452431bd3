//! A certificate authority of the suite's own, and its certificates.
//!
//! Everything is PEM in a directory that goes with the value. Keys are fresh for each run.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, date_time_ymd,
};
use tempfile::TempDir;

/// A node is a server and a client.
const BOTH_SIDES: [ExtendedKeyUsagePurpose; 2] =
    [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];

/// An authority.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    signed: AtomicU64,
}

/// A certificate with its key, as files.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Its serial number.
    pub serial: u64,
}

impl Authority {
    /// A fresh one.
    pub fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "Stadium test authority");
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        std::fs::write(folder.path().join("ca.pem"), certificate.pem())?;
        Ok(Self { folder, issuer: Issuer::new(params, key), signed: AtomicU64::new(1) })
    }

    /// Its own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A server's certificate for 127.0.0.1 and localhost.
    pub fn server(&self) -> Result<Identity> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        self.sign("server", names, &[ExtendedKeyUsagePurpose::ServerAuth])
    }

    /// A server's certificate for this name alone.
    pub fn server_named(&self, name: &str) -> Result<Identity> {
        self.sign(name, vec![name.to_owned()], &[ExtendedKeyUsagePurpose::ServerAuth])
    }

    /// A device's certificate with this common name.
    pub fn device(&self, name: &str) -> Result<Identity> {
        self.sign(name, Vec::new(), &[ExtendedKeyUsagePurpose::ClientAuth])
    }

    /// The certificate of a node of a cluster, for both sides of TLS: its only DNS name is the node's.
    pub fn node(&self, name: &str) -> Result<Identity> {
        self.sign(name, vec![name.to_owned()], &BOTH_SIDES)
    }

    /// The same, and over since 2024.
    pub fn expired_node(&self, name: &str) -> Result<Identity> {
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.not_before = date_time_ymd(2023, 1, 1);
        params.not_after = date_time_ymd(2024, 1, 1);
        self.sign_with(name, params, &BOTH_SIDES)
    }

    /// The file of its revocation list, which names these certificates from now on, and no other.
    pub fn revokes(&self, identities: &[&Identity]) -> Result<PathBuf> {
        let revoked = |identity: &&Identity| RevokedCertParams {
            serial_number: identity.serial.into(),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2040, 1, 1),
            crl_number: 1_u64.into(),
            issuing_distribution_point: None,
            revoked_certs: identities.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let file = self.folder.path().join("crl.pem");
        std::fs::write(&file, params.signed_by(&self.issuer)?.pem()?)?;
        Ok(file)
    }

    fn sign(&self, name: &str, names: Vec<String>, usages: &[ExtendedKeyUsagePurpose]) -> Result<Identity> {
        self.sign_with(name, CertificateParams::new(names)?, usages)
    }

    fn sign_with(
        &self,
        name: &str,
        mut params: CertificateParams,
        usages: &[ExtendedKeyUsagePurpose],
    ) -> Result<Identity> {
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages.extend_from_slice(usages);
        let serial = self.signed.fetch_add(1, Ordering::Relaxed);
        params.serial_number = Some(serial.into());
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let file = |suffix: &str| self.folder.path().join(format!("{name}.{suffix}"));
        let identity = Identity { certificate: file("pem"), key: file("key"), serial };
        std::fs::write(&identity.certificate, certificate.pem())?;
        std::fs::write(&identity.key, key.serialize_pem())?;
        Ok(identity)
    }
}
