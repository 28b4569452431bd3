//! TLS to servers: its settings, and the reasons for which it fails.
//!
//! The settings need the feature `tls`; the errors are always there.

use std::fmt;
#[cfg(feature = "tls")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "tls")]
use rustls::pki_types::pem::PemObject as _;
#[cfg(feature = "tls")]
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
#[cfg(feature = "tls")]
use rustls::{CertificateError, ClientConfig, RootCertStore};

#[cfg(feature = "tls")]
use crate::error::Error;

/// Why there is no TLS session with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsError {
    /// No authority that is trusted signed the server's certificate.
    UnknownAuthority,
    /// The server's certificate is not valid any more.
    Expired,
    /// The server's certificate is not valid yet: one of the two clocks may be wrong.
    NotYetValid,
    /// The server's certificate is for other names.
    WrongName,
    /// The server's certificate cannot be accepted for another reason.
    BadCertificate(Arc<str>),
    /// The server does not speak TLS.
    NotTls,
    /// The server refused the client, such as for its certificate.
    Refused(Arc<str>),
    /// Anything else.
    Other(Arc<str>),
}

impl fmt::Display for TlsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAuthority => {
                write!(out, "no authority that is trusted signed the server's certificate")
            }
            Self::Expired => write!(out, "the server's certificate has expired"),
            Self::NotYetValid => write!(out, "the server's certificate is not valid yet"),
            Self::WrongName => write!(out, "the server's certificate is for another name"),
            Self::BadCertificate(why) => write!(out, "the server's certificate cannot be accepted: {why}"),
            Self::NotTls => write!(out, "the server does not speak TLS"),
            Self::Refused(why) => write!(out, "the server refused the TLS session: {why}"),
            Self::Other(why) => write!(out, "{why}"),
        }
    }
}

impl std::error::Error for TlsError {}

#[cfg(feature = "tls")]
impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        use CertificateError as C;
        match error {
            rustls::Error::InvalidCertificate(why) => match why {
                // Another authority of the same name signed it.
                C::UnknownIssuer | C::BadSignature => Self::UnknownAuthority,
                C::Expired | C::ExpiredContext { .. } => Self::Expired,
                C::NotValidYet | C::NotValidYetContext { .. } => Self::NotYetValid,
                C::NotValidForName | C::NotValidForNameContext { .. } => Self::WrongName,
                why => Self::BadCertificate(why.to_string().into()),
            },
            rustls::Error::InvalidMessage(_) => Self::NotTls,
            rustls::Error::AlertReceived(alert) => Self::Refused(format!("{alert:?}").into()),
            error => Self::Other(error.to_string().into()),
        }
    }
}

/// The authorities that are trusted to sign servers' certificates.
#[cfg(feature = "tls")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Authorities {
    /// Those of the system.
    #[default]
    System,
    /// Those of a file of certificates in PEM, and no others.
    File(PathBuf),
}

/// A client's certificate.
#[cfg(feature = "tls")]
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
#[cfg(feature = "tls")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsConfig {
    /// The authorities that are trusted.
    pub authorities: Authorities,
    /// The client's certificate, where servers ask for one.
    pub client_certificate: Option<ClientCertificate>,
    /// The name in the servers' certificates; without one, the host of each address.
    pub server_name: Option<String>,
}

#[cfg(feature = "tls")]
impl TlsConfig {
    /// Reads the files.
    pub(crate) fn load(&self) -> Result<Arc<ClientConfig>, Error> {
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

#[cfg(feature = "tls")]
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unreadable(path, &error))?;
    if certificates.is_empty() {
        return Err(unreadable(path, &"there is no certificate in it"));
    }
    Ok(certificates)
}

#[cfg(feature = "tls")]
fn unreadable(path: &Path, why: &dyn fmt::Display) -> Error {
    Error::Config(format!("{}: {why}", path.display()).into())
}
