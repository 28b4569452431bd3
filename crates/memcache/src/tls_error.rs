//! Reasons for which there is no TLS session with a server.
//!
//! They are there without the feature `tls` as well, so that an error is the same type in every build.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "tls")]
use rustls::CertificateError;

/// The reason that there is no TLS session with a server.
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
