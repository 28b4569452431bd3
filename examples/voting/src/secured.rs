//! HTTPS beside HTTP: the same routes on an address of their own, behind TLS 1.2 or 1.3.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::task::JoinHandle;

use crate::voting::GRACE;

/// Where HTTPS is spoken, and with which certificate.
#[derive(Debug, Clone)]
pub struct Secured {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// PEM file with the certificate and those above it.
    pub certificate: PathBuf,
    /// PEM file with its key.
    pub key: PathBuf,
}

/// The HTTPS side of a running service.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    handle: Handle<SocketAddr>,
}

impl Door {
    /// Serves the routes until [`Door::leave`].
    pub(crate) fn open(secured: &Secured, routes: Router) -> anyhow::Result<(Self, JoinHandle<()>)> {
        let config = RustlsConfig::from_config(Arc::new(server_config(secured)?));
        let listener = TcpListener::bind(secured.listen)
            .with_context(|| format!("cannot listen on {}", secured.listen))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let handle = Handle::new();
        let acceptor = RustlsAcceptor::new(config).acceptor(NoDelayAcceptor::new());
        let server = axum_server::from_tcp(listener)?.acceptor(acceptor).handle(handle.clone());
        let serving = tokio::spawn(async move {
            if let Err(error) = server.serve(routes.into_make_service()).await {
                tracing::error!(%error, "HTTPS ended");
            }
        });
        Ok((Door { address, handle }, serving))
    }

    /// Takes no more connections; requests under way may end.
    pub(crate) fn leave(&self) {
        self.handle.graceful_shutdown(Some(GRACE));
    }
}

fn server_config(secured: &Secured) -> anyhow::Result<ServerConfig> {
    let about = |path: &Path| format!("cannot use {}", path.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&secured.certificate)
        .and_then(Iterator::collect)
        .with_context(|| about(&secured.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&secured.key).with_context(|| about(&secured.key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| about(&secured.certificate))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
