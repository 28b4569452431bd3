//! How connections begin, get their deadlines, and end.
//!
//! An end is decided at any time, but reported to the handler only between its calls. Until then
//! the entry stays, dead or closing; afterwards its place is free for another connection.

use std::os::fd::RawFd;

use mio::unix::SourceFd;
use mio::{Interest, Token};

use crate::close::CloseReason;
use crate::id::ConnectionId;
use crate::io::{Io, Profile, TICK_MS};
use crate::settings::{ConnectionLimits, SocketSettings};
use crate::slab::{NONE, flag};
use crate::sys;

/// Tokens of connections carry the generation, so that events of one that has ended find nothing.
pub(crate) fn token_of(id: ConnectionId) -> Token {
    Token((id.generation as usize) << 32 | id.index as usize)
}

pub(crate) fn id_of(token: Token) -> ConnectionId {
    ConnectionId { index: token.0 as u32, generation: (token.0 >> 32) as u32 }
}

/// Indexes from here up are not connections.
pub(crate) const TOKEN_WAKER: usize = u32::MAX as usize;
pub(crate) const TOKEN_LISTENERS: usize = 0xf000_0000;
pub(crate) const TOKEN_UDP: usize = 0xe000_0000;

impl Profile {
    pub(crate) fn new(tag: u16, limits: &ConnectionLimits, socket: &SocketSettings) -> Profile {
        let ticks = |ms: u64| u32::try_from(ms.div_ceil(TICK_MS)).unwrap_or(u32::MAX / 2);
        Profile {
            tag,
            write_stall: ticks(limits.write_stall_ms),
            write_progress: limits.write_progress_bytes.max(1),
            maximum_age: ticks(socket.maximum_age_ms.unwrap_or(0)),
            maximum_idle: ticks(socket.maximum_idle_ms.unwrap_or(0)),
        }
    }
}

impl<M: Send + 'static> Io<M> {
    /// Takes a descriptor in. The loop owns it from here on, on failure too.
    pub(crate) fn admit(
        &mut self,
        fd: RawFd,
        profile: u16,
        limits: &ConnectionLimits,
        interest: Interest,
    ) -> std::io::Result<ConnectionId> {
        let tick = self.tick();
        let id = self.slab.insert(fd, tick);
        if let Err(error) = self.registry.register(&mut SourceFd(&fd), token_of(id), interest) {
            self.slab.remove(id.index);
            sys::close(fd);
            return Err(error);
        }
        let entry = self.slab.at(id.index);
        entry.profile = profile;
        entry.carry_bytes_max = limits.carry_bytes_max;
        entry.write_queue_bytes_max = limits.write_queue_bytes_max;
        if interest.is_writable() {
            entry.flags |= flag::WRITE_INTEREST;
        }
        let profile = &self.profiles[usize::from(profile)];
        if profile.maximum_age | profile.maximum_idle != 0 {
            self.arm(id.index);
        }
        Ok(id)
    }

    /// The tick in which the entry next needs attention.
    fn deadline(&self, index: u32) -> Option<u32> {
        let entry = self.slab.peek(index);
        let mut next = u32::MAX;
        if let Some(extra) = &entry.extra {
            if extra.deadline != 0 {
                next = next.min(extra.deadline);
            }
            let stall = self.profiles[usize::from(entry.profile)].write_stall;
            if stall != 0 && !extra.queue.is_empty() {
                next = next.min(extra.progress.saturating_add(stall));
            }
        }
        if entry.flags & flag::CLOSING == 0 {
            let profile = &self.profiles[usize::from(entry.profile)];
            if entry.handler_at != 0 {
                next = next.min(entry.handler_at);
            }
            if profile.maximum_age != 0 {
                next = next.min(entry.born.saturating_add(profile.maximum_age));
            }
            if profile.maximum_idle != 0 {
                next = next.min(entry.received.saturating_add(profile.maximum_idle));
            }
        }
        (next != u32::MAX).then_some(next)
    }

    /// Makes sure that the wheel goes off no later than the entry's next deadline. It may go off
    /// earlier, which costs less than moving the timer for each packet.
    pub(crate) fn arm(&mut self, index: u32) {
        let Some(at) = self.deadline(index) else { return };
        let link = self.slab.peek(index).link;
        if link.armed() {
            if link.at() <= at {
                return;
            }
            self.wheel.disarm(&mut self.slab, index);
        }
        self.wheel.arm(&mut self.slab, index, at);
    }

    /// The wheel went off for the entry. Returns whether the handler's timer is due.
    pub(crate) fn timer_fired(&mut self, index: u32) -> bool {
        let now = self.tick();
        let entry = self.slab.at(index);
        if entry.flags & flag::DEAD != 0 {
            return false;
        }
        let profile = &self.profiles[usize::from(entry.profile)];
        if let Some(extra) = &entry.extra {
            if extra.deadline != 0 && extra.deadline <= now {
                let reason = if entry.flags & flag::CONNECTING != 0 || extra.request_pending(entry.flags) {
                    CloseReason::ConnectTimeout
                } else {
                    CloseReason::HandshakeTimeout
                };
                self.fail(index, reason);
                return false;
            }
            if profile.write_stall != 0
                && !extra.queue.is_empty()
                && extra.progress.saturating_add(profile.write_stall) <= now
            {
                self.fail(index, CloseReason::WriteStall);
                return false;
            }
        }
        if entry.flags & flag::CLOSING == 0 {
            let id = ConnectionId { index, generation: entry.generation };
            if profile.maximum_age != 0 && entry.born.saturating_add(profile.maximum_age) <= now {
                self.begin_close(id, CloseReason::MaximumAge);
                return false;
            }
            if profile.maximum_idle != 0 && entry.received.saturating_add(profile.maximum_idle) <= now {
                self.begin_close(id, CloseReason::Idle);
                return false;
            }
        }
        let entry = self.slab.at(index);
        let due = entry.handler_at != 0 && entry.handler_at <= now && entry.flags & flag::CLOSING == 0;
        if due {
            entry.handler_at = 0;
        }
        self.arm(index);
        due
    }

    /// Closes after what was sent has left.
    pub(crate) fn begin_close(&mut self, id: ConnectionId, reason: CloseReason) {
        let Some(entry) = self.slab.find(id) else { return };
        if entry.flags & flag::CLOSING != 0 {
            return;
        }
        if entry.flags & flag::ESTABLISHED == 0 {
            // Nothing was sent that the peer could still want.
            self.fail(id.index, reason);
            return;
        }
        entry.flags |= flag::CLOSING;
        entry.handler_at = 0;
        if entry.flags & flag::DIRTY == 0 {
            entry.flags |= flag::DIRTY;
            self.dirty.push(id.index);
        }
        self.ended.push((id, reason));
    }

    /// All that was to be sent is sent: closes its side and waits for the peer to do so too,
    /// because a socket closed with unread bytes resets the connection and takes with it what the
    /// peer has not read.
    pub(crate) fn finish_close(&mut self, index: u32) {
        let linger = self.tick_after(self.settings.linger_ms);
        let entry = self.slab.at(index);
        if entry.flags & flag::LINGERING != 0 {
            return;
        }
        sys::shutdown_write(entry.fd);
        entry.flags |= flag::LINGERING;
        entry.flags &= !flag::PAUSED;
        self.extra(index).deadline = linger;
        self.arm(index);
        self.read_soon(index);
    }

    /// Ends the connection now. The handler is notified later, once, unless it was notified
    /// already.
    pub(crate) fn fail(&mut self, index: u32, reason: CloseReason) {
        let entry = self.slab.at(index);
        if entry.flags & flag::DEAD != 0 {
            return;
        }
        if matches!(
            reason,
            CloseReason::Aborted | CloseReason::SlowReader | CloseReason::WriteStall | CloseReason::CarryFull
        ) {
            sys::reset_on_close(entry.fd);
        }
        sys::close(entry.fd);
        let id = ConnectionId { index, generation: entry.generation };
        let flags = entry.flags;
        self.release(index);
        if flags & flag::REPORTED != 0 {
            self.slab.remove(index);
        } else if flags & flag::CLOSING == 0 {
            self.ended.push((id, reason));
        }
    }

    /// Lets go of everything but the place.
    pub(crate) fn release(&mut self, index: u32) {
        self.wheel.disarm(&mut self.slab, index);
        let entry = self.slab.at(index);
        if entry.flags & (flag::ESTABLISHED | flag::OUTGOING) == 0 {
            self.counts.handshakes = self.counts.handshakes.saturating_sub(1);
        }
        entry.flags |= flag::DEAD;
        entry.fd = -1;
        entry.head = NONE;
        entry.tail = NONE;
        entry.handler_at = 0;
        if let Some(extra) = entry.extra.take() {
            self.counts.write_queue_bytes -= extra.queue.len() as u64;
            self.counts.carry_bytes -= extra.held() as u64;
            self.layers_bytes -= extra.layers_bytes();
        }
    }
}
