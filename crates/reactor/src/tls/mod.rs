//! TLS on the loop: rustls shakes hands, we keep the records.
//!
//! After the handshake only the traffic keys stay, so that an idle connection holds no buffer. See
//! [`ServerTls`] and [`ClientTls`] for what owners configure.

mod config;

pub use config::{
    ClientCertificates, ClientTls, ClientTlsSettings, Identity, ServerTls, SessionResumption, ServerTlsSettings, TlsError, Trust,
    certificates_from_pem, identity_from_pem,
};
