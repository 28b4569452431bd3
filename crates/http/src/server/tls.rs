//! HTTPS: the certificate and its key, and the authorities of clients, read again on request
//! without losing a connection.

pub(crate) mod stream;

use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::config::{CertificateNeed, ClientCertificates, TlsFiles};

/// The certificate in use. New connections get what was read last.
pub(crate) struct Certificate {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

impl Certificate {
    pub(crate) fn read(files: TlsFiles) -> io::Result<Self> {
        let current = RwLock::new(server_config(&files)?);
        Ok(Self { files, current })
    }

    /// Reads the files again; on an error the certificate stays as it was.
    pub(crate) fn reload(&self) -> io::Result<()> {
        let fresh = server_config(&self.files)?;
        *self.current.write() = fresh;
        Ok(())
    }

    /// The configuration of the next handshake.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read())
    }
}

fn server_config(files: &TlsFiles) -> io::Result<Arc<ServerConfig>> {
    let chain: Vec<_> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| about(&files.certificate, error))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| about(&files.key, error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = match &files.clients {
        Some(clients) => client_verifier(clients, &provider)?,
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|error| about(&files.certificate, error))?;
    // Connections are given to event loops with their keys.
    config.enable_secret_extraction = true;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Verifies the certificates of clients. A certificate without a list of its issuer is not refused.
fn client_verifier(
    clients: &ClientCertificates,
    provider: &Arc<CryptoProvider>,
) -> io::Result<Arc<dyn ClientCertVerifier>> {
    let path = &clients.authorities;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| about(path, error))? {
        let certificate = certificate.map_err(|error| about(path, error))?;
        roots.add(certificate).map_err(|error| about(path, error))?;
    }
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    if let Some(path) = &clients.revocation_lists {
        let lists: Vec<_> = CertificateRevocationListDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|error| about(path, error))?;
        builder = builder.with_crls(lists).allow_unknown_revocation_status();
    }
    if clients.need == CertificateNeed::Optional {
        builder = builder.allow_unauthenticated();
    }
    builder.build().map_err(|error| about(path, error))
}

fn about(path: &Path, error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
}
