//! The end of a turn: one write for each connection that something was sent to.
//!
//! A single piece leaves straight from the arena; several small ones are joined first, because
//! copying a few kilobytes is cheaper than a vector of pieces; large ones leave by a vectored write.
//! What the kernel does not take goes to the connection's queue, and leaves when it can be written again.

use mio::Interest;
use mio::unix::SourceFd;

use crate::close::CloseReason;
use crate::id::ConnectionId;
use crate::io::Io;
use crate::lifecycle::token_of;
use crate::slab::{NONE, flag};
use crate::sys;
use crate::turn::Bytes;
use crate::websocket::close_code;

/// Up to this much, several pieces are joined by copying; above it they leave as a vector.
const JOIN_BYTES_MAX: usize = 32 * 1024;

/// Pieces of one vectored write. A chain of more is made of small ones, which are joined.
const VECTOR_PIECES_MAX: usize = 64;

impl<M: Send + 'static> Io<M> {
    /// Writes everything that this turn has for anybody, and voids its segments.
    pub(crate) fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in &dirty {
            self.flush_one(*index);
        }
        dirty.clear();
        self.dirty = dirty;
        self.turn.clear();
    }

    fn flush_one(&mut self, index: u32) {
        let entry = self.slab.at(index);
        if entry.flags & flag::DIRTY == 0 {
            return;
        }
        entry.flags &= !flag::DIRTY;
        if entry.flags & flag::DEAD != 0 {
            return;
        }
        let closing = entry.flags & flag::CLOSING != 0;
        let (layered, queued) = match &entry.extra {
            None => (false, false),
            Some(extra) => (extra.tls.is_some() || extra.websocket.is_some(), !extra.queue.is_empty()),
        };
        let head = self.clear_chain(index);
        if layered {
            self.flush_layered(index, head, closing);
        } else if head != NONE {
            if queued {
                self.queue_chain(index, head, 0);
            } else {
                self.write_chain(index, head);
            }
        }
        if closing {
            self.close_if_sent(index);
        }
    }

    /// A connection that is closing goes on to linger once nothing is unsent.
    pub(crate) fn close_if_sent(&mut self, index: u32) {
        let entry = self.slab.at(index);
        if entry.flags & (flag::CLOSING | flag::DEAD) != flag::CLOSING {
            return;
        }
        if entry.extra.as_ref().is_none_or(|extra| extra.queue.is_empty()) {
            self.finish_close(index);
        } else if entry.extra.as_ref().is_some_and(|extra| extra.deadline == 0) {
            let linger = self.tick_after(self.settings.linger_ms);
            self.extra(index).deadline = linger;
            self.arm(index);
        }
    }

    /// Writes a chain of a plain connection that has nothing unsent.
    #[allow(unsafe_code)]
    fn write_chain(&mut self, index: u32, head: u32) {
        let fd = self.slab.peek(index).fd;
        let first = self.turn.element(head);
        let (wanted, result) = if first.next == NONE {
            match self.turn.bytes_of(&first) {
                Bytes::Plain(bytes) => (bytes.len(), sys::send(fd, bytes)),
                Bytes::Shared(bytes) => (bytes.len(), sys::send(fd, bytes)),
                patched => {
                    self.scratch.clear();
                    patched.append_to(&mut self.scratch);
                    (self.scratch.len(), sys::send(fd, &self.scratch))
                }
            }
        } else {
            let (total, pieces) = self.chain_size(head);
            if total <= JOIN_BYTES_MAX || pieces > VECTOR_PIECES_MAX {
                self.scratch.clear();
                for bytes in self.turn.chain(head) {
                    bytes.append_to(&mut self.scratch);
                }
                (total, sys::send(fd, &self.scratch))
            } else {
                // Patched pieces are copied to the scratch buffer, which must not move under the slices.
                self.scratch.clear();
                self.scratch.reserve(self.patched_bytes(head));
                let mut slices = [const { sys::Slice::EMPTY }; VECTOR_PIECES_MAX];
                for (bytes, slice) in self.turn.chain(head).zip(&mut slices) {
                    *slice = match bytes {
                        Bytes::Plain(bytes) => sys::Slice::new(bytes),
                        Bytes::Shared(bytes) => sys::Slice::new(bytes),
                        patched @ Bytes::Patched(..) => {
                            let start = self.scratch.len();
                            patched.append_to(&mut self.scratch);
                            sys::Slice::new(&self.scratch[start..])
                        }
                    };
                }
                // SAFETY: arena and shared payloads are not touched before the call, and the scratch
                // buffer was reserved for all that is copied to it, so nothing has moved.
                (total, unsafe { sys::send_slices(fd, &slices[..pieces]) })
            }
        };
        self.counts.sends += 1;
        match result {
            Ok(count) => {
                self.counts.bytes_out += count as u64;
                if count < wanted {
                    self.counts.sends_partial += 1;
                    self.queue_chain(index, head, count);
                }
            }
            Err(libc::EAGAIN) => {
                self.counts.sends_partial += 1;
                self.queue_chain(index, head, 0);
            }
            Err(error) => self.fail(index, CloseReason::from_errno(error)),
        }
    }

    /// Bytes and pieces of a chain.
    fn chain_size(&self, head: u32) -> (usize, usize) {
        let (mut place, mut total, mut pieces) = (head, 0, 0);
        while place != NONE {
            let element = self.turn.element(place);
            total += element.len();
            pieces += 1;
            place = element.next;
        }
        (total, pieces)
    }

    fn patched_bytes(&self, head: u32) -> usize {
        self.turn
            .chain(head)
            .map(|bytes| if let Bytes::Patched(bytes, ..) = bytes { bytes.len() } else { 0 })
            .sum()
    }

    /// Puts a chain, without its first `skip` bytes, behind what is unsent.
    fn queue_chain(&mut self, index: u32, head: u32, mut skip: usize) {
        let total = self.chain_size(head).0 - skip;
        if !self.room_to_queue(index, total) {
            return;
        }
        let mut queue = std::mem::take(&mut self.extra(index).queue);
        for bytes in self.turn.chain(head) {
            match bytes {
                Bytes::Plain(bytes) => {
                    let from = skip.min(bytes.len());
                    queue.push(&bytes[from..]);
                    skip -= from;
                }
                Bytes::Shared(bytes) => {
                    let from = skip.min(bytes.len());
                    queue.push_shared(bytes, from);
                    skip -= from;
                }
                patched @ Bytes::Patched(..) => {
                    self.scratch.clear();
                    patched.append_to(&mut self.scratch);
                    let from = skip.min(self.scratch.len());
                    queue.push(&self.scratch[from..]);
                    skip -= from;
                }
            }
        }
        self.extra(index).queue = queue;
        self.await_writable(index);
    }

    /// Whether `more` bytes may wait; otherwise the connection has ended. Counts them as waiting.
    fn room_to_queue(&mut self, index: u32, more: usize) -> bool {
        let entry = self.slab.at(index);
        let waiting = entry.extra.as_ref().map_or(0, |extra| extra.queue.len());
        if waiting + more > entry.write_queue_bytes_max as usize {
            self.fail(index, CloseReason::SlowReader);
            return false;
        }
        self.counts.write_queue_bytes += more as u64;
        if waiting == 0 {
            let now = self.tick();
            let extra = self.extra(index);
            (extra.progress, extra.taken) = (now, 0);
        }
        true
    }

    /// Has the poll report when the connection can be written, and watches that it makes progress.
    fn await_writable(&mut self, index: u32) {
        let entry = self.slab.at(index);
        if entry.flags & flag::WRITE_INTEREST == 0 {
            entry.flags |= flag::WRITE_INTEREST;
            let id = ConnectionId { index, generation: entry.generation };
            let fd = entry.fd;
            let both = Interest::READABLE | Interest::WRITABLE;
            if let Err(error) = self.registry.reregister(&mut SourceFd(&fd), token_of(id), both) {
                self.fail(index, CloseReason::System(error.raw_os_error().unwrap_or(libc::EIO)));
                return;
            }
        }
        self.arm(index);
    }

    /// Writes bytes that are final, beneath TLS, now or behind what is unsent.
    pub(crate) fn write_raw(&mut self, index: u32, bytes: &[u8]) {
        let entry = self.slab.at(index);
        if entry.flags & flag::DEAD != 0 || bytes.is_empty() {
            return;
        }
        let mut sent = 0;
        if entry.extra.as_ref().is_none_or(|extra| extra.queue.is_empty()) {
            self.counts.sends += 1;
            match sys::send(entry.fd, bytes) {
                Ok(count) => sent = count,
                Err(libc::EAGAIN) => {}
                Err(error) => {
                    self.fail(index, CloseReason::from_errno(error));
                    return;
                }
            }
            self.counts.bytes_out += sent as u64;
        }
        if sent < bytes.len() {
            self.counts.sends_partial += 1;
            if self.room_to_queue(index, bytes.len() - sent) {
                self.extra(index).queue.push(&bytes[sent..]);
                self.await_writable(index);
            }
        }
    }

    /// Writes bytes that stand above TLS and beside WebSocket's frames: an upgrade, a pong.
    pub(crate) fn write_beneath_websocket(&mut self, index: u32, bytes: &[u8]) {
        let keys = &mut self.keys;
        let Some(extra) = &mut self.slab.at(index).extra else {
            return self.write_raw(index, bytes);
        };
        match extra.tls.as_mut() {
            None => self.write_raw(index, bytes),
            Some(tls) => {
                let mut sealed = std::mem::take(&mut self.sealed);
                sealed.clear();
                tls.seal(keys, bytes, &mut sealed);
                self.write_raw(index, &sealed);
                self.sealed = sealed;
            }
        }
    }

    /// Writes a chain through WebSocket and TLS, and their goodbyes where the connection is closing.
    fn flush_layered(&mut self, index: u32, head: u32, closing: bool) {
        let (total, _) = self.chain_size(head);
        let goodbye = closing && self.slab.peek(index).flags & flag::GOODBYE == 0;
        if total == 0 && !goodbye {
            return;
        }
        let mut plain = std::mem::take(&mut self.scratch);
        plain.clear();
        let entry = self.slab.at(index);
        let Some(extra) = &mut entry.extra else { return };
        if total > 0 {
            let chain = self.turn.chain(head);
            match extra.websocket.as_mut() {
                None => chain.for_each(|bytes| bytes.append_to(&mut plain)),
                Some(websocket) => websocket.write_turn(chain, total, &mut plain, &mut self.masks),
            }
        }
        if goodbye {
            entry.flags |= flag::GOODBYE;
            if let Some(websocket) = extra.websocket.as_mut() {
                websocket.close_frame(&mut plain, close_code::NORMAL, &mut self.masks);
            }
        }
        match extra.tls.as_mut() {
            None => self.write_raw(index, &plain),
            Some(tls) => {
                let mut sealed = std::mem::take(&mut self.sealed);
                sealed.clear();
                if !plain.is_empty() {
                    tls.seal(&mut self.keys, &plain, &mut sealed);
                }
                if goodbye {
                    tls.seal_goodbye(&mut self.keys, &mut sealed);
                }
                self.write_raw(index, &sealed);
                self.sealed = sealed;
            }
        }
        self.scratch = plain;
    }

    /// The connection can be written again. Returns whether everything that waited is now sent.
    pub(crate) fn write_queued(&mut self, index: u32) -> bool {
        let now = self.tick();
        let entry = self.slab.at(index);
        let fd = entry.fd;
        let enough = self.profiles[usize::from(entry.profile)].write_progress;
        let Some(extra) = entry.extra.as_mut() else { return false };
        if extra.queue.is_empty() {
            return false;
        }
        self.counts.sends += 1;
        match extra.queue.write_to(fd) {
            Err(error) => {
                self.fail(index, CloseReason::from_errno(error));
                false
            }
            Ok(0) => false,
            Ok(count) => {
                extra.taken = extra.taken.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
                if extra.taken >= enough {
                    (extra.progress, extra.taken) = (now, 0);
                }
                let empty = extra.queue.is_empty();
                self.counts.bytes_out += count as u64;
                self.counts.write_queue_bytes -= count as u64;
                if empty {
                    extra.queue = Default::default();
                    self.close_if_sent(index);
                    if self.slab.peek(index).flags & flag::DEAD == 0 {
                        self.trim(index);
                    }
                }
                empty
            }
        }
    }
}
