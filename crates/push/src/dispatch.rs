//! What goes to devices: bytes, and who is to get them.
//!
//! A dispatch leaves a shard when everything that led to it is durable. The edge answers each recipient with steps
//! ([`Command::Progress`](crate::Command::Progress)).

use std::fmt;

use bytes::Bytes;
use compact_str::CompactString;
use stadium_state_machine::TraceContext;

use crate::{Milliseconds, Time};

/// A connection of the edge, as it names it: its node, its loop, and its place there. The default
/// names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ConnectionName {
    /// Which node: 0 in a standalone server, else the low 32 bits of the node's incarnation. Each
    /// start of each node has its own, so the name of a connection is never used again.
    pub node: u32,
    /// Which loop of that node.
    pub loop_index: u16,
    /// Which connection of it; never the same again.
    pub connection: u64,
}

/// `LOOP:NUMBER`, on a node of a cluster `NODE:LOOP:NUMBER`.
impl fmt::Display for ConnectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.node != 0 {
            write!(f, "{}:", self.node)?;
        }
        write!(f, "{}:{}", self.loop_index, self.connection)
    }
}

/// The same bytes for devices on one loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// Whose connections these are, as in [`ConnectionName::node`].
    pub node: u32,
    /// On which loop of that node.
    pub loop_index: u16,
    /// The push's number on this shard, from 1, below 2^48: what steps name it by.
    pub push: u64,
    /// What each of them gets.
    pub payload: Bytes,
    /// Sent to MQTT 5 devices.
    pub content_type: Option<CompactString>,
    /// Sent to MQTT 5 devices as user properties.
    pub properties: Vec<(CompactString, CompactString)>,
    /// 0 or 1.
    pub qos: u8,
    /// The rest of its time; sent to MQTT 5 devices.
    pub expires_at: Option<Time>,
    /// The sampled trace of the push's request.
    pub trace: Option<TraceContext>,
    /// Who gets it.
    pub to: Vec<Recipient>,
}

impl Dispatch {
    /// The name of a recipient's connection.
    pub fn connection(&self, to: &Recipient) -> ConnectionName {
        ConnectionName { node: self.node, loop_index: self.loop_index, connection: to.connection }
    }
}

/// A device that is to get something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    /// Its connection on the dispatch's loop.
    pub connection: u64,
    /// Its place in the app's registry: what steps name it by.
    pub slot: u32,
}

/// The number by which the edge and the shard speak of a delivery at most so long after the connection ended.
pub const LATE_STEPS: Milliseconds = 60_000;
