//! Giving sockets away: MQTT over WebSocket on the HTTP port.
//!
//! The server peeks at each plain connection's first bytes. If they ask for a path that the event loops own, the
//! socket goes to them unread, so the loop parses the upgrade itself and nothing about the connection stays here.

use std::net::{SocketAddr, TcpStream};

/// Takes sockets that ask for MQTT (or, in a trial, for the echo) over. Implemented by the node.
pub trait SocketTaker: Send + Sync + 'static {
    /// Takes one socket. It is non-blocking, and the whole request is still unread in it. Must not block; dropping
    /// the socket closes it.
    fn take(&self, socket: TakenSocket);
}

/// A socket on its way to an event loop.
#[derive(Debug)]
pub struct TakenSocket {
    /// Non-blocking, nothing read from it yet.
    pub stream: TcpStream,
    /// The other end.
    pub peer: SocketAddr,
    /// What its first request line asks for.
    pub path: TakenPath,
}

/// The paths that event loops answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenPath {
    /// `/mqtt`: MQTT over WebSocket (MQTT 5.0, 6).
    Mqtt,
    /// `/echo`: a WebSocket echo for protocol suites, in a trial only.
    Echo,
}
