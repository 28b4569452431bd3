//! Links between the nodes of a cluster: requests, answers and one-way letters, in batches.
//!
//! A link is a connection from one loop of a node to another node: RSocket frames over mutual TLS
//! on the reactor. [`link`] is its protocol without I/O: handshake, credits, batches, deadlines,
//! and the outcome of each request when a connection breaks. [`Endpoint`] is the driver: its loops
//! listen, dial, and dial again. Callers see [`Carrier`] and [`Receiver`]. docs/links.md describes
//! both, and docs/decisions/0011-links-are-channels-of-batches.md has the reasons.

mod endpoint;
pub mod link;

pub use endpoint::{
    Carrier, Endpoint, LinkFigures, Losses, Member, Receiver, Settings, StartError, TlsSettings,
};
pub use link::{
    Bounds, ClusterId, From, Hello, Incarnation, Lane, Letter, NodeName, NotSent, Outcome, Outgoing, Range,
    Reach, Refused, Reply, Request, Tag, Target, Timing, Unknown,
};
pub use stadium_reactor::tls::{Authorities, Identity, TlsError};
