//! Mutual TLS of links: one identity for both directions, and the cluster's own authorities.
//!
//! The dialler checks that the certificate of the other half carries the name of the node that it
//! dials; the other half compares the certificate's only DNS name with the hello. Sessions are
//! never resumed: each connection shows its certificate.

use parking_lot::Mutex;
use stadium_reactor::tls::{
    Authorities, CertificateName, CertificateNames, ClientCertificates, ClientTls, ClientTlsSettings,
    Identity, ServerTls, ServerTlsSettings, SessionResumption, TlsError, Trust, certificates_from_pem,
    identity_from_pem,
};

use crate::link::NodeName;

/// The protocol's name in ALPN.
const ALPN: &[u8] = b"stadium-link";

/// Certificate, key and authorities of a node.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The node's certificate, whose only DNS name is the node's, for both sides of TLS; and its
    /// key.
    pub identity: Identity,
    /// The authorities of the cluster's nodes.
    pub authorities: Authorities,
}

impl TlsSettings {
    /// Reads them from PEM texts.
    ///
    /// # Errors
    ///
    /// A text holds no certificate or no key, or a broken one.
    pub fn from_pem(chain: &[u8], key: &[u8], authorities: &[u8]) -> Result<Self, TlsError> {
        Ok(Self {
            identity: identity_from_pem(chain, key)?,
            authorities: certificates_from_pem(authorities)?.into(),
        })
    }

    fn server(&self) -> ServerTlsSettings {
        ServerTlsSettings {
            identity: self.identity.clone(),
            client_certificates: ClientCertificates::Required(self.authorities.clone()),
            alpn: vec![ALPN.to_vec()],
        }
    }

    fn client(&self, node: &NodeName) -> Result<ClientTls, TlsError> {
        ClientTls::new(&ClientTlsSettings {
            server_name: node.as_str().to_owned(),
            trust: Trust::Roots(self.authorities.roots.clone()),
            identity: Some(self.identity.clone()),
            alpn: vec![ALPN.to_vec()],
            resumption: SessionResumption::Off,
        })
    }
}

/// The TLS that new connections use.
pub(super) struct Tls {
    server: ServerTls,
    current: Mutex<TlsSettings>,
}

impl Tls {
    pub(super) fn new(node: &NodeName, settings: &TlsSettings) -> Result<Self, TlsError> {
        // The other direction is checked before anybody is dialled.
        settings.client(node)?;
        Ok(Self { server: ServerTls::new(&settings.server())?, current: Mutex::new(settings.clone()) })
    }

    pub(super) fn reload(&self, node: &NodeName, settings: &TlsSettings) -> Result<(), TlsError> {
        settings.client(node)?;
        self.server.reload(&settings.server())?;
        *self.current.lock() = settings.clone();
        Ok(())
    }

    pub(super) fn server(&self) -> ServerTls {
        self.server.clone()
    }

    /// For dialling a node.
    pub(super) fn client(&self, node: &NodeName) -> Result<ClientTls, TlsError> {
        self.current.lock().client(node)
    }
}

/// The node that a certificate names: its only DNS name.
pub(super) fn certified_name(certificate: &[u8]) -> Option<String> {
    let names = CertificateNames::read(certificate)?;
    names.name(CertificateName::SanDns).map(str::to_ascii_lowercase)
}
