//! Giving sockets away: MQTT over WebSocket on the HTTP port.
//!
//! The server looks at each connection's first bytes. If they ask for a path that the event loops
//! own, the socket goes to them: unread, or with its TLS and what was read. So the loop parses the
//! upgrade itself and nothing about the connection stays here.

use std::fmt;
use std::net::{SocketAddr, TcpStream};

use rustls::ExtractedSecrets;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls_pki_types::CertificateDer;

/// Takes sockets that ask for MQTT (or, in a trial, for the echo) over. Implemented by the node.
pub trait SocketTaker: Send + Sync + 'static {
    /// Takes one socket. It is non-blocking, and the whole request is still unread in it, or with its
    /// TLS. Must not block; dropping the socket closes it.
    fn take(&self, socket: TakenSocket);
}

/// A socket on its way to an event loop.
#[derive(Debug)]
pub struct TakenSocket {
    /// Non-blocking. Without TLS nothing was read from it.
    pub stream: TcpStream,
    /// The TLS that was shaken hands for, on an HTTPS port.
    pub tls: Option<Box<TakenTls>>,
    /// The other end.
    pub peer: SocketAddr,
    /// What its first request line asks for.
    pub path: TakenPath,
}

/// The TLS of a socket on its way to an event loop, and what was read of it.
pub struct TakenTls {
    /// The keys, and how far each direction has come.
    pub secrets: ExtractedSecrets,
    /// The secrets for key updates.
    pub kernel: KernelConnection<ServerConnectionData>,
    /// The plaintext: the request, or its beginning.
    pub plain: Vec<u8>,
    /// The beginning of a record whose rest has not arrived.
    pub cipher: Vec<u8>,
    /// The leaf certificate that the client showed, verified.
    pub certificate: Option<CertificateDer<'static>>,
}

impl fmt::Debug for TakenTls {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plain, cipher) = (self.plain.len(), self.cipher.len());
        f.debug_struct("TakenTls").field("plain", &plain).field("cipher", &cipher).finish_non_exhaustive()
    }
}

/// The paths that event loops answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenPath {
    /// `/mqtt`: MQTT over WebSocket (MQTT 5.0, 6).
    Mqtt,
    /// `/echo`: a WebSocket echo for protocol suites, in a trial only.
    Echo,
}
