//! Where connections live: entries of one cache line in chunks that never move.
//!
//! A plain idle connection is its entry and nothing else. What only some connections have, TLS,
//! WebSocket, unsent and unconsumed bytes, hangs off `extra`, which is `None` for the others.

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::Arc;

use rustls_pki_types::CertificateDer;

use crate::id::ConnectionId;
use crate::queue::WriteQueue;
use crate::settings::{WebSocketRequest, WebSocketSettings};
use crate::sys;
use crate::tls::Tls;
use crate::websocket::WebSocket;
use crate::wheel::{Link, Links};

/// Entries a chunk: 32 KB at a time, so that growing never copies and small servers stay small.
const CHUNK: usize = 512;

/// End of a chain of elements or of the free list.
pub(crate) const NONE: u32 = u32::MAX;

/// What a connection is doing; several at once.
pub(crate) mod flag {
    /// The handler knows of it, and its end will be reported.
    pub(crate) const ANNOUNCED: u16 = 1 << 0;
    /// The handler may send.
    pub(crate) const ESTABLISHED: u16 = 1 << 1;
    /// Its end was decided; what was sent before still leaves.
    pub(crate) const CLOSING: u16 = 1 << 2;
    /// Its end was reported to the handler.
    pub(crate) const REPORTED: u16 = 1 << 3;
    /// The descriptor is closed; the entry waits for the end to be reported.
    pub(crate) const DEAD: u16 = 1 << 4;
    /// The outgoing TCP connection is not made yet.
    pub(crate) const CONNECTING: u16 = 1 << 5;
    /// It is on the list of this turn's writes.
    pub(crate) const DIRTY: u16 = 1 << 6;
    /// The poll reports when it can be written.
    pub(crate) const WRITE_INTEREST: u16 = 1 << 7;
    /// It is on the list of those to read in the next turn.
    pub(crate) const READY: u16 = 1 << 8;
    /// The handler wants no bytes for now.
    pub(crate) const PAUSED: u16 = 1 << 9;
    /// The kernel holds bytes that were not read because of a pause.
    pub(crate) const UNREAD: u16 = 1 << 10;
    /// The peer has announced that it will write no more.
    pub(crate) const PEER_DONE: u16 = 1 << 11;
    /// Everything was sent and FIN with it; we wait for the peer's.
    pub(crate) const LINGERING: u16 = 1 << 12;
    /// It moves to another loop at the turn's end.
    pub(crate) const LEAVING: u16 = 1 << 13;
    /// We opened it.
    pub(crate) const OUTGOING: u16 = 1 << 14;
    /// TLS and WebSocket have sent their closing messages.
    pub(crate) const GOODBYE: u16 = 1 << 15;
}

/// One connection.
pub(crate) struct Entry {
    pub(crate) fd: RawFd,
    pub(crate) generation: u32,
    /// See [`flag`].
    pub(crate) flags: u16,
    /// Which of the loop's profiles holds its limits.
    pub(crate) profile: u16,
    /// Tick in which bytes were last received.
    pub(crate) received: u32,
    /// Tick in which it was made.
    pub(crate) born: u32,
    /// Tick of the handler's timer; zero for none.
    pub(crate) handler_at: u32,
    pub(crate) link: Link,
    /// Chain of this turn's elements; in a free entry, the next free one.
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) carry_bytes_max: u32,
    pub(crate) write_queue_bytes_max: u32,
    pub(crate) extra: Option<Box<Extra>>,
}

const _: () = assert!(size_of::<Entry>() == 64, "an entry is one cache line");

/// What a plain idle connection does not have.
#[derive(Default)]
pub(crate) struct Extra {
    pub(crate) queue: WriteQueue,
    /// What the handler left unconsumed.
    pub(crate) carry: Vec<u8>,
    /// What a layer below the handler could not use yet: part of a PROXY header, a TLS record, an upgrade.
    pub(crate) raw: Vec<u8>,
    pub(crate) tls: Option<Box<Tls>>,
    pub(crate) websocket: Option<Box<WebSocket>>,
    /// Present until the connection is established.
    pub(crate) opening: Option<Box<Opening>>,
    /// Leaf certificate of the peer, until the handler takes it.
    pub(crate) certificate: Option<CertificateDer<'static>>,
    /// Tick in which the peer had last taken enough of `queue` to count, and what it has taken since, in bytes.
    pub(crate) progress: u32,
    pub(crate) taken: u32,
    /// Tick by which opening or lingering must be over; zero for none.
    pub(crate) deadline: u32,
}

impl Extra {
    /// Bytes of buffers that hold what was received and not used.
    pub(crate) fn held(&self) -> usize {
        let reassembled = self.websocket.as_ref().map_or(0, |websocket| websocket.held());
        self.carry.capacity() + self.raw.capacity() + reassembled
    }

    /// Bytes of TLS and WebSocket state.
    pub(crate) fn layers_bytes(&self) -> usize {
        size_of::<Extra>() * usize::from(self.tls.is_some() || self.websocket.is_some())
            + self.tls.as_ref().map_or(0, |tls| tls.bytes())
            + self.websocket.as_ref().map_or(0, |websocket| websocket.bytes())
    }

    /// We opened it, and TLS or WebSocket are not done.
    pub(crate) fn request_pending(&self, flags: u16) -> bool {
        flags & flag::OUTGOING != 0 && self.opening.is_some()
    }

    /// Nothing here is worth keeping.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
            && self.carry.is_empty()
            && self.raw.is_empty()
            && self.tls.is_none()
            && self.websocket.is_none()
            && self.opening.is_none()
            && self.certificate.is_none()
            && self.deadline == 0
    }
}

/// What is still to be done before a connection is established.
pub(crate) struct Opening {
    pub(crate) listener: u16,
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    /// A PROXY header must come first.
    pub(crate) proxy: bool,
    /// An upgrade that we answer.
    pub(crate) upgrade: Option<Arc<WebSocketSettings>>,
    /// An upgrade that we ask for, and the key that we sent once we have.
    pub(crate) request: Option<(Arc<WebSocketRequest>, Option<String>)>,
    /// TLS that we begin once TCP is there.
    pub(crate) client_tls: Option<crate::tls::ClientTls>,
    /// TLS that we answer, once the PROXY header is read.
    pub(crate) server_tls: Option<crate::tls::ServerTls>,
    pub(crate) tag: u64,
}

/// All connections of a loop.
pub(crate) struct Slab {
    chunks: Vec<Box<[Entry]>>,
    free: u32,
    live: usize,
}

impl Slab {
    pub(crate) fn new() -> Slab {
        Slab { chunks: Vec::new(), free: NONE, live: 0 }
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Bytes that the slab itself holds.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<Entry>()
    }

    pub(crate) fn capacity(&self) -> u32 {
        (self.chunks.len() * CHUNK) as u32
    }

    /// Takes a place for `fd`. The slab is bounded by the loop's `connections_max`, below 2^31.
    pub(crate) fn insert(&mut self, fd: RawFd, now: u32) -> ConnectionId {
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let entry = self.at(index);
        let next = entry.head;
        let generation = entry.generation;
        *entry = Entry {
            fd,
            generation,
            flags: 0,
            profile: 0,
            received: now,
            born: now,
            handler_at: 0,
            link: Link::IDLE,
            head: NONE,
            tail: NONE,
            carry_bytes_max: 0,
            write_queue_bytes_max: 0,
            extra: None,
        };
        self.free = next;
        self.live += 1;
        ConnectionId { index, generation }
    }

    fn grow(&mut self) {
        let first = self.capacity();
        let chunk: Vec<Entry> = (0..CHUNK as u32)
            .map(|place| Entry {
                fd: -1,
                generation: 1,
                flags: flag::DEAD,
                profile: 0,
                received: 0,
                born: 0,
                handler_at: 0,
                link: Link::IDLE,
                head: if place + 1 == CHUNK as u32 { NONE } else { first + place + 1 },
                tail: NONE,
                carry_bytes_max: 0,
                write_queue_bytes_max: 0,
                extra: None,
            })
            .collect();
        self.chunks.push(chunk.into_boxed_slice());
        self.free = first;
    }

    /// Frees a place: ids of its connection find nothing from now on.
    pub(crate) fn remove(&mut self, index: u32) {
        let free = self.free;
        let entry = self.at(index);
        debug_assert!(!entry.link.armed(), "a freed entry has no timer");
        entry.fd = -1;
        entry.generation = entry.generation.wrapping_add(1).max(1);
        entry.flags = flag::DEAD;
        entry.extra = None;
        entry.head = free;
        self.free = index;
        self.live -= 1;
    }

    /// Closes every descriptor. Nothing may be asked of the slab afterwards.
    pub(crate) fn close_all(&mut self) {
        for entry in self.chunks.iter_mut().flatten().filter(|entry| entry.fd >= 0) {
            sys::close(std::mem::replace(&mut entry.fd, -1));
        }
    }

    /// An entry by its place, which must exist.
    pub(crate) fn at(&mut self, index: u32) -> &mut Entry {
        &mut self.chunks[index as usize / CHUNK][index as usize % CHUNK]
    }

    pub(crate) fn peek(&self, index: u32) -> &Entry {
        &self.chunks[index as usize / CHUNK][index as usize % CHUNK]
    }

    /// The entry of a connection whose descriptor is still open.
    pub(crate) fn find(&mut self, id: ConnectionId) -> Option<&mut Entry> {
        let entry = self.chunks.get_mut(id.index as usize / CHUNK)?.get_mut(id.index as usize % CHUNK)?;
        (entry.generation == id.generation && entry.flags & flag::DEAD == 0).then_some(entry)
    }

    pub(crate) fn look(&self, id: ConnectionId) -> Option<&Entry> {
        let entry = self.chunks.get(id.index as usize / CHUNK)?.get(id.index as usize % CHUNK)?;
        (entry.generation == id.generation && entry.flags & flag::DEAD == 0).then_some(entry)
    }
}

impl Links for Slab {
    fn link(&mut self, index: u32) -> &mut Link {
        &mut self.at(index).link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_and_old_ids_find_nothing() {
        let mut slab = Slab::new();
        let first = slab.insert(3, 0);
        assert!(slab.find(first).is_some());
        slab.remove(first.index);
        assert!(slab.find(first).is_none());
        let second = slab.insert(4, 0);
        assert_eq!(second.index, first.index);
        assert_ne!(second.generation, first.generation);
        assert!(slab.find(first).is_none());
        assert!(slab.find(ConnectionId::NONE).is_none());
    }

    #[test]
    fn growing_keeps_what_is_there() {
        let mut slab = Slab::new();
        let ids: Vec<_> = (0..2_000).map(|fd| slab.insert(fd, 0)).collect();
        for (fd, id) in ids.iter().enumerate() {
            assert_eq!(slab.find(*id).map(|entry| entry.fd), Some(fd as i32));
        }
        assert_eq!(slab.live(), 2_000);
        assert_eq!(slab.bytes(), 2_048 * 64);
    }
}
