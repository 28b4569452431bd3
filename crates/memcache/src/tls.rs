//! Settings of TLS to servers, and the files that they name.
//!
//! The reasons for which a session fails are in [`crate::tls_error`].

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::error::Error;

/// The authorities that are trusted to sign servers' certificates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Authorities {
    /// Those of the system.
    #[default]
    System,
    /// Those of a file of certificates in PEM, and no others.
    File(PathBuf),
}

/// A client's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// A file with the certificate, and those between it and the authority, in PEM.
    pub chain: PathBuf,
    /// A file with its key, in PEM.
    pub key: PathBuf,
}

/// TLS for all servers with a TCP address. Unix sockets never have it.
///
/// TLS 1.2 and 1.3. The files are read when the client is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsConfig {
    /// The authorities that are trusted.
    pub authorities: Authorities,
    /// The client's certificate, where servers ask for one.
    pub client_certificate: Option<ClientCertificate>,
    /// The name in the servers' certificates; without one, the host of each address.
    pub server_name: Option<String>,
}

impl TlsConfig {
    /// Reads the files.
    fn load(&self) -> Result<Arc<ClientConfig>, Error> {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            Authorities::System => {
                let found = rustls_native_certs::load_native_certs();
                let (taken, _) = roots.add_parsable_certificates(found.certs);
                if taken == 0 {
                    return Err(Error::Config("the system has no certificates of authorities".into()));
                }
            }
            Authorities::File(path) => {
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| unreadable(path, &error))?;
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let wrong = |error: rustls::Error| Error::Config(error.to_string().into());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(wrong)?
            .with_root_certificates(roots);
        let config = match &self.client_certificate {
            None => builder.with_no_client_auth(),
            Some(ClientCertificate { chain, key: key_path }) => {
                let key =
                    PrivateKeyDer::from_pem_file(key_path).map_err(|error| unreadable(key_path, &error))?;
                builder.with_client_auth_cert(certificates(chain)?, key).map_err(wrong)?
            }
        };
        Ok(Arc::new(config))
    }
}

/// TLS as the settings have it, loaded.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    /// The name in the servers' certificates; without one, the host.
    server_name: Option<ServerName<'static>>,
}

impl Tls {
    pub(crate) fn load(config: &TlsConfig) -> Result<Self, Error> {
        let name = |text: &String| {
            let wrong = |_| Error::Config(format!("`{text}` is no name of a server").into());
            ServerName::try_from(text.clone()).map_err(wrong)
        };
        let server_name = config.server_name.as_ref().map(name).transpose()?;
        Ok(Self { config: config.load()?, server_name })
    }

    /// The settings of a session.
    pub(crate) fn config(&self) -> &Arc<ClientConfig> {
        &self.config
    }

    /// The name that a server's certificate must have.
    pub(crate) fn name(&self, host: &str) -> io::Result<ServerName<'static>> {
        match &self.server_name {
            Some(name) => Ok(name.clone()),
            None => ServerName::try_from(host.to_owned()).map_err(io::Error::other),
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unreadable(path, &error))?;
    if certificates.is_empty() {
        return Err(unreadable(path, &"there is no certificate in it"));
    }
    Ok(certificates)
}

fn unreadable(path: &Path, why: &dyn fmt::Display) -> Error {
    Error::Config(format!("{}: {why}", path.display()).into())
}
