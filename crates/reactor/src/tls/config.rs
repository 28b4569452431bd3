//! The TLS settings of listeners and of outgoing connections.
//!
//! A [`ServerTls`] is a handle: clones share it, and a reload through any of them reaches every
//! handshake that starts afterwards, while open connections go on with what they have.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::{NoServerSessionStorage, ProducesTickets, WebPkiClientVerifier};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime};

/// TLS cannot be set up as asked: the text names the part that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

/// A certificate chain, leaf first, and the leaf's private key.
#[derive(Debug)]
pub struct Identity {
    /// Leaf first, then what signs it.
    pub chain: Vec<CertificateDer<'static>>,
    /// The leaf's key.
    pub key: PrivateKeyDer<'static>,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Identity { chain: self.chain.clone(), key: self.key.clone_key() }
    }
}

/// Reads a certificate chain from PEM text. Fails where it holds none or a broken one.
pub fn certificates_from_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError(format!("certificates in PEM: {error}")))?;
    if chain.is_empty() {
        return Err(TlsError("certificates in PEM: there is none".to_owned()));
    }
    Ok(chain)
}

/// Reads a chain and a key from PEM texts, which may be the same text.
pub fn identity_from_pem(chain: &[u8], key: &[u8]) -> Result<Identity, TlsError> {
    Ok(Identity {
        chain: certificates_from_pem(chain)?,
        key: PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError(format!("private key in PEM: {error}")))?,
    })
}

/// Reads revocation lists from PEM text. Fails where it holds none or a broken one.
pub fn revocation_lists_from_pem(pem: &[u8]) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let lists = CertificateRevocationListDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError(format!("revocation lists in PEM: {error}")))?;
    if lists.is_empty() {
        return Err(TlsError("revocation lists in PEM: there is none".to_owned()));
    }
    Ok(lists)
}

/// The issuers of clients' certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorities {
    /// A certificate must lead to one of these.
    pub roots: Vec<CertificateDer<'static>>,
    /// Certificates that they have revoked (RFC 5280, 5). One without a list of its issuer is not
    /// refused, and a list counts after its next update was due too.
    pub revocation_lists: Vec<CertificateRevocationListDer<'static>>,
}

impl From<Vec<CertificateDer<'static>>> for Authorities {
    fn from(roots: Vec<CertificateDer<'static>>) -> Self {
        Self { roots, revocation_lists: Vec::new() }
    }
}

/// Whether clients show certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// They are not asked.
    #[default]
    None,
    /// They may; one that is not good for these authorities ends the handshake.
    Optional(Authorities),
    /// They must.
    Required(Authorities),
}

/// What a listener speaks.
#[derive(Debug, Clone)]
pub struct ServerTlsSettings {
    /// Our certificate.
    pub identity: Identity,
    /// Whether clients show certificates.
    pub client_certificates: ClientCertificates,
    /// Protocols for ALPN, preferred first; empty for any client.
    pub alpn: Vec<Vec<u8>>,
}

/// TLS of listeners, reloadable. Clones are the same handle.
#[derive(Clone)]
pub struct ServerTls {
    shared: Arc<ServerShared>,
}

struct ServerShared {
    /// Read once a handshake, replaced by a reload.
    current: Mutex<Current>,
}

/// The settings that handshakes use.
#[derive(Clone)]
struct Current {
    config: Arc<ServerConfig>,
    /// Survives reloads, so that clients' tickets do, but no change of `trusted`: a session that is
    /// resumed by its ticket shows no certificate again.
    tickets: Arc<dyn ProducesTickets>,
    /// The settings that `tickets` were issued under.
    trusted: ClientCertificates,
}

impl Current {
    /// Of settings, with new tickets.
    fn new(settings: &ServerTlsSettings) -> Result<Self, TlsError> {
        let tickets = rustls::crypto::ring::Ticketer::new()
            .map_err(|error| TlsError(format!("session tickets: {error}")))?;
        Self::with(settings, tickets)
    }

    fn with(settings: &ServerTlsSettings, tickets: Arc<dyn ProducesTickets>) -> Result<Self, TlsError> {
        let config = server_config(settings, &tickets)?;
        Ok(Self { config, tickets, trusted: settings.client_certificates.clone() })
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls")
    }
}

impl ServerTls {
    /// Checks the settings and makes the handle. Fails where key and certificate do not match, and so on.
    pub fn new(settings: &ServerTlsSettings) -> Result<Self, TlsError> {
        Ok(ServerTls { shared: Arc::new(ServerShared { current: Mutex::new(Current::new(settings)?) }) })
    }

    /// Replaces what new handshakes use. On an error the old settings stay in force.
    ///
    /// Where authorities or revocation lists have changed, no ticket of before is good any more.
    pub fn reload(&self, settings: &ServerTlsSettings) -> Result<(), TlsError> {
        let mut current = self.shared.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = match current.trusted == settings.client_certificates {
            true => Current::with(settings, current.tickets.clone())?,
            false => Current::new(settings)?,
        };
        Ok(())
    }

    /// The settings of a handshake that starts now, and the bytes that it may hold of a client's
    /// message that is not whole.
    pub(crate) fn current(&self) -> (Arc<ServerConfig>, usize) {
        let current = self.shared.current.lock().unwrap_or_else(PoisonError::into_inner);
        let held = match current.trusted {
            ClientCertificates::None => HELD_BYTES_MAX,
            ClientCertificates::Optional(_) | ClientCertificates::Required(_) => HELD_OF_CHAIN_BYTES_MAX,
        };
        (Arc::clone(&current.config), held)
    }
}

/// Bytes of a client's message that is not whole. A ClientHello has some 300, and some 2,000 with a
/// post-quantum key share and a ticket.
const HELD_BYTES_MAX: usize = 4 * 1_024;

/// The same where clients show certificates: a chain of three with long RSA keys and their names.
/// It is in their tickets too.
const HELD_OF_CHAIN_BYTES_MAX: usize = 20 * 1_024;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots_of(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate.clone())
            .map_err(|error| TlsError(format!("certificate of an authority: {error}")))?;
    }
    Ok(roots)
}

fn server_config(
    settings: &ServerTlsSettings,
    tickets: &Arc<dyn ProducesTickets>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = provider();
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .map_err(|error| TlsError(format!("TLS versions: {error}")))?;
    let verifier = |authorities: &Authorities| {
        let roots = Arc::new(roots_of(&authorities.roots)?);
        let builder = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
        Ok::<_, TlsError>(match authorities.revocation_lists.is_empty() {
            true => builder,
            false => {
                builder.with_crls(authorities.revocation_lists.clone()).allow_unknown_revocation_status()
            }
        })
    };
    let failed = |error: &dyn fmt::Display| TlsError(format!("client certificates: {error}"));
    let builder = match &settings.client_certificates {
        ClientCertificates::None => builder.with_no_client_auth(),
        ClientCertificates::Optional(authorities) => builder.with_client_cert_verifier(
            verifier(authorities)?.allow_unauthenticated().build().map_err(|error| failed(&error))?,
        ),
        ClientCertificates::Required(authorities) => {
            builder.with_client_cert_verifier(verifier(authorities)?.build().map_err(|error| failed(&error))?)
        }
    };
    let mut config = builder
        .with_single_cert(settings.identity.chain.clone(), settings.identity.key.clone_key())
        .map_err(|error| TlsError(format!("certificate and key: {error}")))?;
    config.alpn_protocols = settings.alpn.clone();
    // The loop's own record layer takes the keys over after the handshake.
    config.enable_secret_extraction = true;
    // Tickets hold the session at the client: nothing stays here between connections.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = tickets.clone();
    config.send_tls13_tickets = 1;
    Ok(Arc::new(config))
}

/// Whom a client believes.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Servers whose certificate leads to one of these and names the host.
    Roots(Vec<CertificateDer<'static>>),
    /// Anybody. For load tests against a server of one's own; it protects nothing.
    Anybody,
}

/// What an outgoing connection speaks.
#[derive(Debug, Clone)]
pub struct ClientTlsSettings {
    /// The host's name or address, which its certificate must carry.
    pub server_name: String,
    /// Whom to believe.
    pub trust: Trust,
    /// Our certificate, where the server wants one.
    pub identity: Option<Identity>,
    /// Protocols for ALPN, preferred first.
    pub alpn: Vec<Vec<u8>>,
    /// Whether to resume earlier sessions.
    pub resumption: SessionResumption,
}

/// Whether a client resumes sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionResumption {
    /// Tickets of the last servers are kept in memory.
    #[default]
    Tickets,
    /// Each connection makes a full handshake.
    Off,
}

/// TLS of outgoing connections. Clones share sessions for resumption.
#[derive(Clone)]
pub struct ClientTls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) server_name: ServerName<'static>,
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").field("server_name", &self.server_name).finish()
    }
}

impl ClientTls {
    /// Checks the settings and makes the handle.
    pub fn new(settings: &ClientTlsSettings) -> Result<Self, TlsError> {
        let server_name = ServerName::try_from(settings.server_name.clone())
            .map_err(|error| TlsError(format!("server name {:?}: {error}", settings.server_name)))?;
        let provider = provider();
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .map_err(|error| TlsError(format!("TLS versions: {error}")))?;
        let builder = match &settings.trust {
            Trust::Roots(roots) => builder.with_webpki_verifier(
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots_of(roots)?), provider)
                    .build()
                    .map_err(|error| TlsError(format!("authorities: {error}")))?,
            ),
            Trust::Anybody => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(BelieveAnybody(provider)))
            }
        };
        let mut config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
                .map_err(|error| TlsError(format!("certificate and key: {error}")))?,
        };
        config.alpn_protocols = settings.alpn.clone();
        config.enable_secret_extraction = true;
        if settings.resumption == SessionResumption::Off {
            config.resumption = Resumption::disabled();
        }
        Ok(ClientTls { config: Arc::new(config), server_name })
    }
}

/// Checks signatures, so that the handshake is a real one, but not who signed.
#[derive(Debug)]
struct BelieveAnybody(Arc<CryptoProvider>);

impl ServerCertVerifier for BelieveAnybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
