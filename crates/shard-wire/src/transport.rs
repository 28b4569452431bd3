//! What a shard's owner sends to the transport of another node, and the counts that come back.
//!
//! The recipients of a dispatch are packed: 14 bytes each, ten of a live push, of all loops of the
//! node behind one body. docs/formats/shard-wire.md describes the bytes.

use bytes::Bytes;
use compact_str::CompactString;
use stadium_push::live::{LiveTally, LiveToken, Message, Qos};
use stadium_push::{AppName, DeviceId, Recipient, Time};
use stadium_state_machine::TraceContext;

#[cfg(test)]
use crate::tests::Random;

/// Commands of a shard to the transport of another node, in their order.
#[derive(Debug)]
pub struct TransportBatch {
    /// The node, as [`stadium_push::ConnectionName::node`] names it.
    pub node: u32,
    /// The shard.
    pub shard: u16,
    /// The commands.
    pub commands: Vec<TransportCommand>,
}

/// A command to a transport, as [`stadium_push::TransportCommand`].
#[derive(Debug)]
pub enum TransportCommand {
    /// Delivers a push.
    Dispatch(Dispatch),
    /// Delivers a live push.
    Live(LiveDispatch),
    /// Cuts the device's connection.
    Disconnect {
        /// Its app.
        app: AppName,
        /// The device.
        device: DeviceId,
    },
}

/// The same bytes for devices of one node, on all of its loops; see [`stadium_push::Dispatch`].
#[derive(Debug)]
pub struct Dispatch {
    /// The push's number on the shard.
    pub push: u64,
    /// What each of them gets.
    pub payload: Bytes,
    /// Sent to MQTT 5 devices.
    pub content_type: Option<CompactString>,
    /// Sent to MQTT 5 devices as user properties.
    pub properties: Vec<(CompactString, CompactString)>,
    /// 0 or 1.
    pub qos: u8,
    /// The rest of its time.
    pub expires_at: Option<Time>,
    /// The sampled trace of the push's request.
    pub trace: Option<TraceContext>,
    /// Who gets it: each with its loop.
    pub to: Packed<(u16, Recipient)>,
}

/// The same bytes for connections of one node; see [`stadium_push::live::LiveDispatch`].
#[derive(Debug)]
pub struct LiveDispatch {
    /// The push, which names the node that counts its outcomes.
    pub token: LiveToken,
    /// The message to each of them.
    pub message: Message,
    /// At most once or at least once.
    pub qos: Qos,
    /// The sampled trace of the push's request.
    pub trace: Option<TraceContext>,
    /// Loops, and connections as they number them.
    pub to: Packed<(u16, u64)>,
}

/// A shard knows no connection: each connected device of it is to be announced to it again.
#[derive(Debug)]
pub struct AnnounceAgain {
    /// The shard.
    pub shard: u16,
}

/// What the transport of another node has counted of a live push since it sent counts last.
#[derive(Debug)]
pub struct LiveCounts {
    /// The push, which names the node that accepted it.
    pub token: LiveToken,
    /// The counts.
    pub counts: LiveTally,
}

/// A list of entries of the same length, as bytes.
#[derive(Debug, Clone)]
pub struct Packed<E> {
    bytes: Bytes,
    of: std::marker::PhantomData<E>,
}

/// An entry of a [`Packed`] list.
pub trait PackedEntry: Copy {
    /// Bytes of an entry.
    const BYTES: usize;

    /// Appends the entry.
    fn put(self, out: &mut Vec<u8>);

    /// Reads an entry out of so many bytes.
    fn take(bytes: &[u8]) -> Self;
}

/// The little-endian number that begins at a place of an entry.
macro_rules! number_at {
    ($number:ty, $bytes:ident, $at:literal) => {{
        let part =
            $bytes[$at..$at + size_of::<$number>()].try_into().expect("its length is that of the number");
        <$number>::from_le_bytes(part)
    }};
}

impl PackedEntry for (u16, Recipient) {
    const BYTES: usize = 14;

    fn put(self, out: &mut Vec<u8>) {
        let (loop_index, Recipient { connection, slot }) = self;
        out.extend_from_slice(&loop_index.to_le_bytes());
        out.extend_from_slice(&connection.to_le_bytes());
        out.extend_from_slice(&slot.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        let recipient = Recipient { connection: number_at!(u64, bytes, 2), slot: number_at!(u32, bytes, 10) };
        (number_at!(u16, bytes, 0), recipient)
    }
}

impl PackedEntry for (u16, u64) {
    const BYTES: usize = 10;

    fn put(self, out: &mut Vec<u8>) {
        let (loop_index, connection) = self;
        out.extend_from_slice(&loop_index.to_le_bytes());
        out.extend_from_slice(&connection.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        (number_at!(u16, bytes, 0), number_at!(u64, bytes, 2))
    }
}

impl<E: PackedEntry> Packed<E> {
    /// The entries in their order.
    pub fn iter(&self) -> impl Iterator<Item = E> + '_ {
        self.bytes.chunks_exact(E::BYTES).map(E::take)
    }
}

impl<E: PackedEntry> FromIterator<E> for Packed<E> {
    fn from_iter<I: IntoIterator<Item = E>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut bytes = Vec::with_capacity(entries.size_hint().0 * E::BYTES);
        entries.for_each(|entry| entry.put(&mut bytes));
        Self { bytes: bytes.into(), of: std::marker::PhantomData }
    }
}

fn packed<E: PackedEntry>(bytes: Bytes) -> Result<Packed<E>, &'static str> {
    match bytes.len() % E::BYTES {
        0 => Ok(Packed { bytes, of: std::marker::PhantomData }),
        _ => Err("its length is not that of whole entries"),
    }
}

message! {
    TransportBatch = "TransportBatch" { 1 node, 2 shard, 3 commands }
    Dispatch = "PushDispatch" {
        1 push, 2 payload, 3 content_type, 4 properties, 5 qos, 6 expires_at, 7 to,
        8 trace,
    }
    LiveDispatch = "LivePushDispatch" { 1 token, 2 message, 3 qos, 4 to, 5 trace }
    Message = "LiveMessage" { 1 payload, 2 content_type, 3 properties }
    AnnounceAgain = "AnnounceAgain" { 1 shard }
    LiveCounts = "LiveCounts" { 1 token, 2 counts }
    LiveTally = "LiveTally" {
        1 targeted, 2 sent, 3 unanswered, 4 acknowledged, 5 queued, 6 expired, 7 dropped,
        8 not_connected,
    }
}

enumeration! {
    Qos = "LiveQos" { 1 AtMostOnce, 2 AtLeastOnce }
}

oneof! {
    TransportCommand = "TransportCommand" {
        1 Dispatch[dispatch],
        2 Live[dispatch],
        3 Disconnect { 1 app, 2 device },
    }
}

through! {
    TraceContext => Bytes,
    |context: &TraceContext| Bytes::copy_from_slice(&context.to_bytes()),
    |bytes: Bytes| TraceContext::from_bytes(&bytes).ok_or("it is no trace context"),
    |random: &mut Random| {
        TraceContext { trace_id: [random.byte() | 1; 16], span_id: [random.byte() | 1; 8], flags: random.byte() }
    };
    Packed<(u16, Recipient)> => Bytes,
    |packed: &Packed<_>| packed.bytes.clone(),
    packed,
    |random: &mut Random| {
        let mut entry = || (random.byte().into(), Recipient { connection: random.number(), slot: 7 });
        [entry(), entry()].into_iter().collect()
    };
    Packed<(u16, u64)> => Bytes,
    |packed: &Packed<_>| packed.bytes.clone(),
    packed,
    |random: &mut Random| {
        let mut entry = || (random.byte().into(), random.number());
        [entry(), entry()].into_iter().collect()
    };
}
