//! Certificates of clients and servers, as PEM texts.

use std::fmt;

use serde::Deserialize;
use stadium_reactor::tls::{
    Authorities, ClientCertificates, ClientTlsSettings, Identity, ServerTlsSettings, SessionResumption,
    Trust, certificates_from_pem, identity_from_pem,
};
use stadium_rpc::net::{ClientTls, ServerTls};

use crate::error::Error;

/// TLS towards services that are called.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallTls {
    /// Authorities that sign the services' certificates.
    pub authorities: String,
    /// The name that their certificates carry.
    pub server_name: String,
    /// The client's certificate, where services ask for one; needs `key`.
    pub certificate: Option<String>,
    /// Its private key.
    pub key: Option<String>,
}

/// TLS of the addresses that a server listens on.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenTls {
    /// The server's certificate and those between it and an authority.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// Authorities of clients' certificates. Without them clients show none.
    pub client_authorities: Option<String>,
    /// Whether clients without a certificate are refused. Default false.
    #[serde(default)]
    pub client_certificate_required: bool,
}

impl CallTls {
    pub(super) fn open(&self) -> Result<ClientTls, Error> {
        let pair = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some(identity("tls.certificate", certificate, key)?),
            (None, None) => None,
            _ => return Err(Error::invalid("tls needs both certificate and key, or neither")),
        };
        let settings = ClientTlsSettings {
            server_name: self.server_name.clone(),
            trust: Trust::Roots(
                certificates_from_pem(self.authorities.as_bytes()).map_err(wrong("tls.authorities"))?,
            ),
            identity: pair,
            alpn: Vec::new(),
            resumption: SessionResumption::Tickets,
        };
        ClientTls::new(&settings).map_err(wrong("tls"))
    }
}

impl ListenTls {
    pub(super) fn open(&self) -> Result<ServerTls, Error> {
        let client_certificates = match (&self.client_authorities, self.client_certificate_required) {
            (None, false) => ClientCertificates::None,
            (None, true) => {
                return Err(Error::invalid("tls.client_certificate_required needs tls.client_authorities"));
            }
            (Some(authorities), required) => {
                let roots =
                    certificates_from_pem(authorities.as_bytes()).map_err(wrong("tls.client_authorities"))?;
                let authorities = Authorities { roots, revocation_lists: Vec::new() };
                match required {
                    true => ClientCertificates::Required(authorities),
                    false => ClientCertificates::Optional(authorities),
                }
            }
        };
        let settings = ServerTlsSettings {
            identity: identity("tls.certificate", &self.certificate, &self.key)?,
            client_certificates,
            alpn: Vec::new(),
        };
        ServerTls::new(&settings).map_err(wrong("tls"))
    }
}

fn identity(name: &'static str, certificate: &str, key: &str) -> Result<Identity, Error> {
    identity_from_pem(certificate.as_bytes(), key.as_bytes()).map_err(wrong(name))
}

fn wrong<E: fmt::Display>(name: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::invalid(format!("{name}: {error}"))
}

impl fmt::Debug for CallTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallTls").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

impl fmt::Debug for ListenTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenTls").finish_non_exhaustive()
    }
}
