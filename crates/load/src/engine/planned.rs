//! A target that can be connected to and a step that can be sent: what a protocol knows of the
//! plan.

use std::net::SocketAddr;

use stadium_reactor::ConnectOptions;
use stadium_scenario::program::{Connections, Scheme, Version};

use super::protocol::mqtt::inbox::Unread;

/// A target that can be connected to.
#[derive(Debug)]
pub(crate) struct PlannedTarget {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) options: ConnectOptions,
    /// For what needs HTTP/1.1 at a target of HTTP/2 over TLS: event streams and WebSockets.
    pub(crate) options_http1: Option<ConnectOptions>,
    /// Its name or address, without port: whose cookies it sets and gets.
    pub(crate) host: String,
    /// The value of the Host header, or of `:authority`.
    pub(crate) authority: String,
    pub(crate) connections: Connections,
    pub(crate) version: Version,
    pub(crate) scheme: Scheme,
    /// The treatment of messages that come before a step receives them.
    pub(crate) unread: Unread,
}

/// A step that can be sent.
#[derive(Debug)]
pub(crate) struct PlannedStep {
    /// The whole request in HTTP/1.1, where nothing in it changes.
    pub(crate) fixed: Option<Vec<u8>>,
    /// Whether a check or an extraction asks for headers.
    pub(crate) keeps_headers: bool,
    /// Whether one asks for the body.
    pub(crate) keeps_body: bool,
}
