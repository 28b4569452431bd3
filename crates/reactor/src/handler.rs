//! What a protocol implements to live on a loop.
//!
//! A handler is owned by one loop and called by its thread alone. Every call gets [`Io`], which is
//! how the handler acts; nothing that it asks there calls the handler again before the current call
//! returned. For each connection the order of calls is: `accepted`, then `established` (or
//! `connected`, or `adopted`), then any of `received`, `timeout`, `drained`, and at last `closed`,
//! exactly once.

use std::net::SocketAddr;

use crate::close::CloseReason;
use crate::id::{ConnectionId, ListenerTag, UdpId};
use crate::io::Io;

/// What to do with a peer that asks to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Let it in.
    Accept,
    /// Close it at once; it is counted, and the handler hears no more of it.
    Refuse,
}

/// Whether bytes are protected on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Plain TCP.
    Plain,
    /// TLS.
    Tls,
}

/// A connection that a listener accepted.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// The listener's tag.
    pub listener: ListenerTag,
    /// The peer: with the PROXY protocol the real one, otherwise the socket's.
    pub peer: SocketAddr,
    /// The address that was dialled: with the PROXY protocol the one in the header, otherwise the listener's.
    pub local: SocketAddr,
    /// Whether TLS is spoken.
    pub security: Security,
}

/// A protocol on a loop. See the module's documentation for the order of calls.
pub trait Handler {
    /// What other threads send to this loop's mailbox, and what accompanies a handoff.
    type Message: Send + 'static;

    /// May this peer connect? Asked before anything is read or allocated for it.
    fn accepting(&mut self, _peer: SocketAddr, _listener: ListenerTag) -> Admission {
        Admission::Accept
    }

    /// A connection came in. Bytes can be sent from `established` on.
    fn accepted(&mut self, _io: &mut Io<Self::Message>, _id: ConnectionId, _accepted: &Accepted) {}

    /// An accepted connection is ready for the protocol: after the TLS handshake and the WebSocket
    /// upgrade where the listener has them, and right after `accepted` where not.
    fn established(&mut self, _io: &mut Io<Self::Message>, _id: ConnectionId) {}

    /// A connection of [`Io::connect`] is ready for the protocol; `tag` is the one given there.
    fn connected(&mut self, _io: &mut Io<Self::Message>, _id: ConnectionId, _tag: u64) {}

    /// A connection came from another loop ([`Io::handoff`]), which sent `attachment`. Bytes that
    /// the other loop's handler left unconsumed follow by `received`.
    fn adopted(&mut self, _io: &mut Io<Self::Message>, _id: ConnectionId, _attachment: Self::Message) {}

    /// Bytes came. `bytes` starts with what the last call left unconsumed.
    ///
    /// Returns how many bytes were used. The rest is presented again, with more behind it, once
    /// more has arrived: so consume every whole packet before returning.
    fn received(&mut self, io: &mut Io<Self::Message>, id: ConnectionId, bytes: &[u8]) -> usize;

    /// The connection's timer ([`Io::set_timer`]) went off.
    fn timeout(&mut self, _io: &mut Io<Self::Message>, _id: ConnectionId) {}

    /// What had been waiting for a slow reader has been sent; [`Io::unsent`] is zero again.
    fn drained(&mut self, _io: &mut Io<Self::Message>, _id: ConnectionId) {}

    /// The connection has ended, by either side. Its id is dead.
    fn closed(&mut self, io: &mut Io<Self::Message>, id: ConnectionId, reason: CloseReason);

    /// A message from the mailbox.
    fn message(&mut self, _io: &mut Io<Self::Message>, _message: Self::Message) {}

    /// A datagram came to a socket of [`Io::bind_udp`].
    fn datagram(&mut self, _io: &mut Io<Self::Message>, _socket: UdpId, _peer: SocketAddr, _bytes: &[u8]) {}

    /// The time of [`Io::set_alarm`] has come. The alarm is off until it is set again.
    fn alarm(&mut self, _io: &mut Io<Self::Message>) {}

    /// Everything of this turn was handled; what is sent now still leaves in this turn's writes.
    fn turn_ended(&mut self, _io: &mut Io<Self::Message>) {}

    /// What the turn produced was handed to the kernel, as far as it took it.
    fn turn_flushed(&mut self, _io: &mut Io<Self::Message>) {}
}
