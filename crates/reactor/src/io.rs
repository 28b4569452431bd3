//! What a handler may ask of its loop.
//!
//! Nothing here calls the handler: ends of connections, and all else that follows, are reported
//! when the current call has returned. Asking about a connection that has ended is safe and does
//! nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use mio::Registry;
use rustls_pki_types::CertificateDer;

use crate::accept::Listener;
use crate::close::CloseReason;
use crate::id::ConnectionId;
use crate::mailbox::LoopHandle;
use crate::settings::LoopSettings;
use crate::slab::{Extra, NONE, Slab, flag};
use crate::stats::Counts;
use crate::tls::KeyCache;
use crate::turn::{Segment, Turn};
use crate::udp::UdpTable;
use crate::websocket::Masks;
use crate::wheel::Wheel;

/// Length of a tick, in milliseconds: the precision of a connection's timer. 32-bit ticks last four years.
pub const TICK_MS: u64 = 32;

/// Limits that many connections share, so that an entry holds two bytes for all of them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) tag: u16,
    pub(crate) write_stall: u32,
    pub(crate) write_progress: u32,
    pub(crate) maximum_age: u32,
    pub(crate) maximum_idle: u32,
}

/// A loop's sockets, timers and buffers, lent to its handler.
pub struct Io<M> {
    pub(crate) settings: LoopSettings,
    pub(crate) registry: Registry,
    pub(crate) handle: LoopHandle<M>,
    pub(crate) slab: Slab,
    pub(crate) wheel: Wheel,
    pub(crate) turn: Turn,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) udp: UdpTable,
    pub(crate) counts: Counts,
    pub(crate) keys: KeyCache,
    pub(crate) masks: Masks,
    /// Connections with something to write, or to close after writing.
    pub(crate) dirty: Vec<u32>,
    /// Connections with more to read than they had their turn for.
    pub(crate) ready: Vec<u32>,
    /// Ends that were not reported to the handler yet.
    pub(crate) ended: Vec<(ConnectionId, CloseReason)>,
    /// Connections to move when this turn's writes are done.
    pub(crate) leaving: Vec<(ConnectionId, LoopHandle<M>, M)>,
    /// Where chains of several pieces are joined.
    pub(crate) scratch: Vec<u8>,
    /// Where records are encrypted.
    pub(crate) sealed: Vec<u8>,
    /// Where layers put what they answer by themselves.
    pub(crate) reply: Vec<u8>,
    /// Where WebSocket puts messages with boundaries, behind room for what the handler left.
    pub(crate) messages: Vec<u8>,
    /// Emptied extras and buffers for the next connection that needs one.
    /// Boxed, because it is the box that is used again.
    #[allow(clippy::vec_box)]
    pub(crate) spare_extras: Vec<Box<Extra>>,
    pub(crate) spare_buffers: Vec<Vec<u8>>,
    /// Bytes of TLS and WebSocket state now.
    pub(crate) layers_bytes: usize,
    /// TLS connections so far; each has its number in the key cache.
    pub(crate) serial: u64,
    pub(crate) started: Instant,
    /// No more than one socket was ready in this turn.
    pub(crate) alone: bool,
    /// Microseconds since the start, as of this turn.
    pub(crate) now_us: u64,
    /// The same in milliseconds.
    pub(crate) now_ms: u64,
    pub(crate) alarm_ms: Option<u64>,
    pub(crate) stopping: bool,
}

impl<M: Send + 'static> Io<M> {
    /// Puts bytes into this turn's arena once, for any number of deliveries.
    pub fn stage(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Segment {
        if self.turn.is_overfull() {
            self.flush();
        }
        self.turn.stage(encode)
    }

    /// The bytes of a staged segment, while its turn lasts.
    pub fn staged(&self, segment: Segment) -> &[u8] {
        self.turn.staged(segment)
    }

    /// Sends a staged segment in this turn's write of the connection.
    pub fn deliver(&mut self, id: ConnectionId, segment: Segment) {
        if let Some(entry) = Self::writable(&mut self.slab, &mut self.dirty, id) {
            debug_assert_eq!(segment.epoch, self.turn.epoch, "a segment is delivered in its turn");
            if segment.epoch == self.turn.epoch && segment.length > 0 {
                self.turn.push(entry, segment);
                self.counts.deliveries += 1;
            }
        }
    }

    /// Like [`Io::deliver`], with the two bytes at `at` replaced by `value`, big-endian, for this
    /// connection alone. `at + 2` must lie within the segment; otherwise nothing is sent.
    pub fn deliver_patched(&mut self, id: ConnectionId, segment: Segment, at: u32, value: u16) {
        if let Some(entry) = Self::writable(&mut self.slab, &mut self.dirty, id) {
            let fits = at.checked_add(2).is_some_and(|end| end <= segment.length);
            debug_assert!(
                fits && segment.epoch == self.turn.epoch,
                "a patch lies within a segment of this turn"
            );
            if fits && segment.epoch == self.turn.epoch {
                self.turn.push_patched(entry, segment, at, value);
                self.counts.deliveries += 1;
            }
        }
    }

    /// Sends a shared payload without copying it; for large ones. If it cannot leave at once, the
    /// connection keeps a reference.
    pub fn deliver_shared(&mut self, id: ConnectionId, bytes: &Arc<[u8]>) {
        if bytes.is_empty() {
            return;
        }
        if let Some(entry) = Self::writable(&mut self.slab, &mut self.dirty, id) {
            self.turn.push_shared(entry, bytes);
            self.counts.deliveries += 1;
        }
    }

    /// Encodes for one connection, to leave in this turn's write of it.
    pub fn send(&mut self, id: ConnectionId, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.turn.is_overfull() {
            self.flush();
        }
        if let Some(entry) = Self::writable(&mut self.slab, &mut self.dirty, id) {
            let segment = self.turn.stage(encode);
            if segment.length > 0 {
                self.turn.push(entry, segment);
                self.counts.deliveries += 1;
            }
        }
    }

    /// Has `append` write any number of messages for one connection, to leave in this turn's write of
    /// it, and returns what it returned; `None`, and `append` is not called, where the connection
    /// cannot be written.
    ///
    /// Cheaper than a [`Io::send`] for each message. The buffer is the whole turn's: what it holds
    /// already belongs to others, so an `append` only appends, and may change what it appended.
    pub fn with_output<R>(&mut self, id: ConnectionId, append: impl FnOnce(&mut Vec<u8>) -> R) -> Option<R> {
        if self.turn.is_overfull() {
            self.flush();
        }
        let entry = Self::writable(&mut self.slab, &mut self.dirty, id)?;
        let mut returned = None;
        let segment = self.turn.stage(|buffer| returned = Some(append(buffer)));
        if segment.length > 0 {
            self.turn.push(entry, segment);
            self.counts.deliveries += 1;
        }
        returned
    }

    /// The entry of a connection that may be written, put on the list of this turn's writes.
    fn writable<'a>(
        slab: &'a mut Slab,
        dirty: &mut Vec<u32>,
        id: ConnectionId,
    ) -> Option<&'a mut crate::slab::Entry> {
        let entry = slab.find(id)?;
        if entry.flags & (flag::ESTABLISHED | flag::CLOSING) != flag::ESTABLISHED {
            return None;
        }
        if entry.flags & flag::DIRTY == 0 {
            entry.flags |= flag::DIRTY;
            dirty.push(id.index);
        }
        Some(entry)
    }

    /// Writes now what this turn has staged, instead of at its end: for a handler that has much
    /// more to do, so that peers begin with theirs meanwhile. Segments staged before it are void.
    pub fn write_now(&mut self) {
        self.flush();
    }

    /// Whether no more than one socket was ready in this turn, so that nobody else waits for the one at hand.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Call before staging a message for many: writes what is staged where that is much, so that a
    /// turn's memory is bounded. Segments staged before it are void.
    pub fn reserve_turn(&mut self) {
        if self.turn.is_full() {
            self.flush();
        }
    }

    /// Bytes that wait for the peer because it reads slowly, without those of this turn.
    pub fn unsent(&self, id: ConnectionId) -> usize {
        self.slab.look(id).and_then(|entry| entry.extra.as_ref()).map_or(0, |extra| extra.queue.len())
    }

    /// Bytes that are held of what the connection has received and nobody has used.
    pub fn held(&self, id: ConnectionId) -> usize {
        self.slab.look(id).and_then(|entry| entry.extra.as_ref()).map_or(0, |extra| extra.held())
    }

    /// [`Io::held`] of all connections of this loop together.
    pub fn held_by_all(&self) -> u64 {
        self.counts.carry_bytes
    }

    /// Sends what was asked to be sent, then closes; the peer may take `linger_ms` for it. `closed`
    /// is called at the end of this turn, with [`CloseReason::Asked`].
    pub fn close(&mut self, id: ConnectionId) {
        self.begin_close(id, CloseReason::Asked);
    }

    /// Resets the connection at once; nothing more is sent. `closed` is called at the end of this
    /// turn, with [`CloseReason::Aborted`].
    pub fn abort(&mut self, id: ConnectionId) {
        if self.slab.find(id).is_some() {
            self.fail(id.index, CloseReason::Aborted);
        }
    }

    /// Reads nothing from the connection until [`Io::resume`]: the peer meets its window's end.
    pub fn pause(&mut self, id: ConnectionId) {
        if let Some(entry) = self.slab.find(id) {
            entry.flags |= flag::PAUSED;
        }
    }

    /// Ends a pause. Bytes that were left unconsumed are presented again with those that have
    /// arrived since.
    pub fn resume(&mut self, id: ConnectionId) {
        if let Some(entry) = self.slab.find(id)
            && entry.flags & flag::PAUSED != 0
        {
            entry.flags = entry.flags & !flag::PAUSED | flag::UNREAD;
            self.read_soon(id.index);
        }
    }

    /// Whether bytes, or the peer's end, came since the connection was paused and wait unread.
    pub fn has_unread(&self, id: ConnectionId) -> bool {
        self.slab.look(id).is_some_and(|entry| entry.flags & flag::UNREAD != 0)
    }

    /// Sets the connection's one timer, replacing what it was; `timeout` is called at or up to
    /// [`TICK_MS`] after its time. For keep-alive don't set it for each packet: when it goes off,
    /// compare with [`Io::last_received`] and set it for the rest.
    pub fn set_timer(&mut self, id: ConnectionId, after_ms: u64) {
        let at = self.tick_after(after_ms);
        if let Some(entry) = self.slab.find(id)
            && entry.flags & flag::CLOSING == 0
        {
            entry.handler_at = at;
            self.arm(id.index);
        }
    }

    /// Forgets the connection's timer.
    pub fn cancel_timer(&mut self, id: ConnectionId) {
        if let Some(entry) = self.slab.find(id) {
            // The wheel may still go off for it, and then finds nothing to do.
            entry.handler_at = 0;
        }
    }

    /// Loop time in which the connection last received bytes, to [`TICK_MS`]; its birth where it has none.
    pub fn last_received(&self, id: ConnectionId) -> u64 {
        self.slab.look(id).map_or(0, |entry| u64::from(entry.received) * TICK_MS)
    }

    /// The socket's peer: behind a proxy that is the proxy. Asks the kernel.
    pub fn peer_address(&self, id: ConnectionId) -> Option<SocketAddr> {
        crate::sys::peer_address(self.slab.look(id)?.fd).ok()
    }

    /// Changes how much may stay unconsumed.
    pub fn set_carry_bytes_max(&mut self, id: ConnectionId, bytes: u32) {
        if let Some(entry) = self.slab.find(id) {
            entry.carry_bytes_max = bytes;
        }
    }

    /// Changes how much may wait for the peer.
    pub fn set_write_queue_bytes_max(&mut self, id: ConnectionId, bytes: u32) {
        if let Some(entry) = self.slab.find(id) {
            entry.write_queue_bytes_max = bytes;
        }
    }

    /// Moves a connection to another loop, whose handler gets `adopted` with the attachment, and
    /// then what is unconsumed. What was sent before leaves first. Here the id is dead from the end of
    /// this turn on, without `closed`; where the other loop has no room, `closed` is called with
    /// [`CloseReason::Overloaded`].
    pub fn handoff(&mut self, id: ConnectionId, to: &LoopHandle<M>, attachment: M) {
        if let Some(entry) = self.slab.find(id)
            && entry.flags & (flag::ESTABLISHED | flag::CLOSING | flag::LEAVING) == flag::ESTABLISHED
        {
            entry.flags |= flag::LEAVING;
            self.leaving.push((id, to.clone(), attachment));
        }
    }

    /// The leaf certificate that the peer showed, once; the loop forgets it.
    pub fn take_peer_certificate(&mut self, id: ConnectionId) -> Option<CertificateDer<'static>> {
        self.slab.find(id)?.extra.as_mut()?.certificate.take()
    }

    /// Whether the connection is still open for the handler.
    pub fn contains(&self, id: ConnectionId) -> bool {
        self.slab.look(id).is_some_and(|entry| entry.flags & flag::CLOSING == 0)
    }

    /// Connections of this loop, those included that are opening or lingering.
    pub fn connection_count(&self) -> usize {
        self.slab.live()
    }

    /// Connections that the handler knows and that are not closing.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        (0..self.slab.capacity()).filter_map(|index| {
            let entry = self.slab.peek(index);
            let open = entry.flags & (flag::DEAD | flag::CLOSING | flag::ANNOUNCED) == flag::ANNOUNCED;
            open.then_some(ConnectionId { index, generation: entry.generation })
        })
    }

    /// Loop time: milliseconds since the loop was made, read once a turn. It never goes back.
    pub fn now(&self) -> u64 {
        self.now_ms
    }

    /// [`Io::now`] in microseconds: when this turn's wait was over. Costs nothing.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Microseconds since the loop was made, read from the clock now (some 25 ns). It is not before
    /// [`Io::now_us`], and the loop's own time does not change.
    pub fn read_clock_us(&self) -> u64 {
        (self.started.elapsed().as_micros() as u64).max(self.now_us)
    }

    /// Sets loop time.
    pub(crate) fn set_clock(&mut self, now: Instant) {
        let us = now.saturating_duration_since(self.started).as_micros() as u64;
        self.now_us = self.now_us.max(us);
        self.now_ms = self.now_us / 1_000;
    }

    /// Whether something waits for the end of a turn.
    pub(crate) fn has_staged(&self) -> bool {
        !(self.dirty.is_empty() && self.ended.is_empty() && self.leaving.is_empty())
    }

    /// Has `alarm` called once loop time reaches `at_ms`; replaces what was set before.
    pub fn set_alarm(&mut self, at_ms: u64) {
        self.alarm_ms = Some(at_ms);
    }

    /// Forgets the alarm.
    pub fn clear_alarm(&mut self) {
        self.alarm_ms = None;
    }

    /// The way for other threads to reach this loop.
    pub fn handle(&self) -> LoopHandle<M> {
        self.handle.clone()
    }

    /// Ends the loop after this turn. What was sent leaves as far as the kernel takes it, and each
    /// connection ends with [`CloseReason::Stopped`].
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Closes the listening sockets. Open connections are not touched: a handler moves them away at
    /// its own pace.
    pub fn stop_listening(&mut self) {
        for listener in self.listeners.drain(..) {
            listener.deregister(&self.registry);
        }
    }

    /// Port and address of each listening socket.
    pub fn listening(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.listeners.iter().map(|listener| listener.address)
    }

    pub(crate) fn tick(&self) -> u32 {
        (self.now_ms / TICK_MS) as u32
    }

    /// The first tick that begins at least `after_ms` from now.
    pub(crate) fn tick_after(&self, after_ms: u64) -> u32 {
        u32::try_from((self.now_ms.saturating_add(after_ms)) / TICK_MS + 1).unwrap_or(u32::MAX - 1)
    }

    /// Has the connection read in the next turn, whatever the poll reports.
    pub(crate) fn read_soon(&mut self, index: u32) {
        let entry = self.slab.at(index);
        if entry.flags & (flag::READY | flag::DEAD) == 0 {
            entry.flags |= flag::READY;
            self.ready.push(index);
        }
    }

    /// The entry's extra, made where it has none.
    pub(crate) fn extra(&mut self, index: u32) -> &mut Extra {
        let spare = &mut self.spare_extras;
        self.slab.at(index).extra.get_or_insert_with(|| spare.pop().unwrap_or_default())
    }

    /// Takes the extra away where it holds nothing.
    pub(crate) fn trim(&mut self, index: u32) {
        let entry = self.slab.at(index);
        if entry.extra.as_ref().is_some_and(|extra| extra.is_empty())
            && let Some(mut extra) = entry.extra.take()
            && self.spare_extras.len() < SPARES_MAX
        {
            extra.carry = Vec::new();
            extra.raw = Vec::new();
            extra.queue = Default::default();
            self.spare_extras.push(extra);
        }
    }

    /// An empty buffer, used before where there is one.
    pub(crate) fn spare_buffer(&mut self) -> Vec<u8> {
        self.spare_buffers.pop().unwrap_or_default()
    }

    pub(crate) fn keep_buffer(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > 0
            && buffer.capacity() <= SPARE_BUFFER_BYTES_MAX
            && self.spare_buffers.len() < SPARES_MAX
        {
            buffer.clear();
            self.spare_buffers.push(buffer);
        }
    }

    /// Takes what the handler left unconsumed.
    pub(crate) fn take_carry(&mut self, index: u32) -> Vec<u8> {
        let carry =
            self.slab.at(index).extra.as_mut().map_or(Vec::new(), |extra| std::mem::take(&mut extra.carry));
        self.counts.carry_bytes -= carry.capacity() as u64;
        carry
    }

    /// Puts back what the handler left; an empty buffer is not kept by the connection.
    pub(crate) fn store_carry(&mut self, index: u32, carry: Vec<u8>) {
        if carry.is_empty() {
            self.keep_buffer(carry);
        } else {
            self.counts.carry_bytes += carry.capacity() as u64;
            self.extra(index).carry = carry;
        }
    }

    /// Takes what the layers below the handler could not use yet.
    pub(crate) fn take_raw(&mut self, index: u32) -> Vec<u8> {
        let raw =
            self.slab.at(index).extra.as_mut().map_or(Vec::new(), |extra| std::mem::take(&mut extra.raw));
        self.counts.carry_bytes -= raw.capacity() as u64;
        raw
    }

    /// Keeps what the layers below the handler cannot use yet.
    pub(crate) fn store_raw(&mut self, index: u32, bytes: &[u8]) {
        if !bytes.is_empty() {
            let mut raw = self.spare_buffer();
            raw.extend_from_slice(bytes);
            self.counts.carry_bytes += raw.capacity() as u64;
            self.extra(index).raw = raw;
        }
    }

    pub(crate) fn clear_chain(&mut self, index: u32) -> u32 {
        let entry = self.slab.at(index);
        entry.tail = NONE;
        std::mem::replace(&mut entry.head, NONE)
    }

    /// The number of a profile, shared with all that have the same.
    pub(crate) fn profile(&mut self, wanted: Profile) -> std::io::Result<u16> {
        if let Some(place) = self.profiles.iter().position(|profile| *profile == wanted) {
            return Ok(place as u16);
        }
        if self.profiles.len() > usize::from(u16::MAX) {
            return Err(std::io::Error::other("a loop knows at most 65,536 different sets of limits"));
        }
        self.profiles.push(wanted);
        Ok(self.profiles.len() as u16 - 1)
    }
}

/// A loop that ends without [`crate::Driven::finish`] closes its sockets all the same, and nobody waits for an answer to what it
/// never read.
impl<M> Drop for Io<M> {
    fn drop(&mut self) {
        self.slab.close_all();
        self.handle.close();
    }
}

/// Extras and buffers kept for the next use: enough for the connections of one turn that have half a packet.
const SPARES_MAX: usize = 64;
/// The largest buffer that is kept, in bytes; one record of TLS fits.
const SPARE_BUFFER_BYTES_MAX: usize = 20 * 1024;
