//! Messages that a device has in flight, and acknowledgements that it has still to send.

use stadium_mqtt::packet::AckKind;
use stadium_reactor::ConnectionId;

/// A message that nobody acknowledged yet.
pub(super) struct Flight {
    pub(super) intended_ns: u64,
    pub(super) sequence: u32,
    pub(super) what: What,
    /// PUBREC came: PUBREL is what the broker waits for.
    pub(super) received: bool,
}

/// The content of a message in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// An uplink, or what the broadcaster publishes.
    Traffic,
    /// An answer to a message that asked.
    Answer,
}

/// The result of a time to publish.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Published {
    /// It left.
    Sent,
    /// The device is not there, or its window is full.
    Skipped,
}

/// DUP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Copy {
    First,
    Again,
}

/// An acknowledgement that waits for its time.
pub(super) struct LateAck {
    pub(super) due_ns: u64,
    pub(super) connection: ConnectionId,
    pub(super) slot: u32,
    pub(super) kind: AckKind,
    pub(super) packet_id: u16,
}
