//! What goes to devices: bytes, and who is to get them.
//!
//! A dispatch leaves a shard when everything that led to it is durable. The edge answers each recipient with steps
//! ([`Command::Progress`](crate::Command::Progress)).

use bytes::Bytes;
use compact_str::CompactString;

use crate::{Milliseconds, Time};

/// A connection of the edge, as it names it: its loop, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionName {
    /// Which loop.
    pub loop_index: u16,
    /// Which connection of it; never the same again.
    pub connection: u64,
}

/// The same bytes for devices on one loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// Whose connections these are.
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
    /// Who gets it.
    pub to: Vec<Recipient>,
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
