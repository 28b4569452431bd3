//! Calls under way, in places that are used again with their buffers.
//!
//! A call has up to two attempts at a time: the first one and, for idempotent methods, a hedge. Each
//! attempt's stream carries the place and which of the two it is as its tag. With thousands of calls in
//! flight a place is out of the processor's caches when its answer comes, so what every call touches stands
//! in its first two cache lines, and the rest only where it is used.

use std::collections::VecDeque;

use stadium_reactor::ConnectionId;
use stadium_reactor::wheel::{Link as TimerLink, Links};
use stadium_rsocket::connection::Tag;
use stadium_rsocket::frame::StreamId;

use super::completion::Completion;
use super::transfer::Transfer;
use crate::balance::{InstanceId, KeyHash};
use crate::method::{Idempotency, Interaction};

/// Instances that a call remembers to have failed.
const TRIED_MAX: usize = 4;

/// A call.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Counts the calls that had this place.
    pub(crate) serial: u32,
    pub(crate) route: u32,
    metadata_bytes: u32,
    pub(crate) service: u16,
    pub(crate) busy: bool,
    /// In the queue for a connection.
    pub(crate) waiting: bool,
    pub(crate) interaction: Interaction,
    pub(crate) idempotency: Idempotency,
    /// Attempts so far.
    pub(crate) made: u8,
    tried_count: u8,
    /// In the wheel, for the time of [`Slot::next_us`].
    pub(crate) timed: bool,
    /// Its deadline is the wheel's business, because it came out of order.
    pub(crate) deadline_in_wheel: bool,
    has_key: bool,
    /// There is a [`Slot::transfer`].
    pub(crate) transfers: bool,
    pub(crate) first: Option<Attempt>,
    pub(crate) completion: Completion,
    /// In microseconds of loop time; `u64::MAX` for a stream without one.
    pub(crate) deadline_us: u64,
    /// A local caller's own name for the call.
    pub(crate) tag: u64,
    /// Composite metadata beside route and deadline (key, authentication, and what the caller
    /// added), then the request.
    bytes: Vec<u8>,
    // From here on only where it is used.
    pub(crate) second: Option<Attempt>,
    key: KeyHash,
    tried: [Option<InstanceId>; TRIED_MAX],
    /// The credit that a stream begins with.
    pub(crate) initial: u32,
    /// When the next attempt is due after a wait.
    pub(crate) again_us: u64,
    /// When a copy is due.
    pub(crate) hedge_us: u64,
    /// What a channel's caller sends.
    pub(crate) channel: Option<Box<ChannelOut>>,
    /// The transfer in pieces, where [`Slot::transfers`] is set.
    pub(crate) transfer: Option<Box<Transfer>>,
    timer: TimerLink,
}

/// No time at which something is due.
pub(crate) const NEVER: u64 = u64::MAX;

/// What a channel's caller sends.
#[derive(Debug, Default)]
pub(crate) struct ChannelOut {
    pub(crate) messages: VecDeque<Vec<u8>>,
    pub(crate) completes: bool,
}

/// One request that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) connection: ConnectionId,
    pub(crate) stream: StreamId,
    pub(crate) instance: InstanceId,
    pub(crate) sent_us: u64,
}

impl Slot {
    fn new() -> Self {
        Self {
            serial: 0,
            route: 0,
            metadata_bytes: 0,
            service: 0,
            busy: false,
            waiting: false,
            interaction: Interaction::Unary,
            idempotency: Idempotency::Unknown,
            made: 0,
            tried_count: 0,
            timed: false,
            deadline_in_wheel: false,
            has_key: false,
            transfers: false,
            first: None,
            completion: Completion::Discard,
            deadline_us: NEVER,
            tag: 0,
            bytes: Vec::new(),
            second: None,
            key: KeyHash(0),
            tried: [None; TRIED_MAX],
            initial: 0,
            again_us: NEVER,
            hedge_us: NEVER,
            channel: None,
            transfer: None,
            timer: TimerLink::IDLE,
        }
    }

    /// Takes what is sent: first the metadata is appended, then the request.
    pub(crate) fn fill(&mut self, metadata: impl FnOnce(&mut Vec<u8>), request: impl FnOnce(&mut Vec<u8>)) {
        metadata(&mut self.bytes);
        self.metadata_bytes = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        request(&mut self.bytes);
    }

    /// The metadata and the request.
    pub(crate) fn sent(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at((self.metadata_bytes as usize).min(self.bytes.len()))
    }

    pub(crate) fn set_key(&mut self, key: Option<KeyHash>) {
        self.has_key = key.is_some();
        if let Some(key) = key {
            self.key = key;
        }
    }

    pub(crate) fn key(&self) -> Option<KeyHash> {
        self.has_key.then_some(self.key)
    }

    /// The attempt did not end well there.
    pub(crate) fn has_failed_at(&mut self, instance: InstanceId) {
        if let Some(place) = self.tried.get_mut(usize::from(self.tried_count)) {
            *place = Some(instance);
            self.tried_count += 1;
        }
    }

    /// Instances that the next attempt should avoid, at the front of `room`: those that failed, and the one
    /// that is at it.
    pub(crate) fn avoided<'a>(&self, room: &'a mut Vec<InstanceId>) -> &'a [InstanceId] {
        room.clear();
        room.extend(self.tried.iter().take(usize::from(self.tried_count)).flatten());
        room.extend(self.first.iter().chain(&self.second).map(|attempt| attempt.instance));
        room
    }

    /// Whether it is the call's very first attempt that is to be made.
    pub(crate) fn is_fresh(&self) -> bool {
        self.tried_count == 0 && self.first.is_none()
    }

    /// What goes in pieces; most calls have nothing, and their place for it is not looked at.
    pub(crate) fn transfer(&self) -> Option<&Transfer> {
        if self.transfers { self.transfer.as_deref() } else { None }
    }

    pub(crate) fn transfer_mut(&mut self) -> Option<&mut Transfer> {
        if self.transfers { self.transfer.as_deref_mut() } else { None }
    }

    pub(crate) fn set_transfer(&mut self, transfer: Option<Box<Transfer>>) {
        if transfer.is_some() {
            (self.transfers, self.transfer) = (true, transfer);
        }
    }

    pub(crate) fn attempt(&mut self, which: usize) -> &mut Option<Attempt> {
        if which == 0 { &mut self.first } else { &mut self.second }
    }

    pub(crate) fn in_flight(&self) -> bool {
        self.first.is_some() || self.second.is_some()
    }

    /// The next time at which the wheel has to look at it.
    pub(crate) fn next_us(&self) -> u64 {
        let next = self.again_us.min(self.hedge_us);
        if self.deadline_in_wheel { next.min(self.deadline_us) } else { next }
    }
}

/// All calls of a client.
#[derive(Default)]
pub(crate) struct Slots {
    table: Vec<Slot>,
    free: Vec<u32>,
}

/// The largest request buffer that a place keeps for its next call, in bytes.
const KEPT_BYTES_MAX: usize = 16 * 1024;

impl Slots {
    /// A place for a new call.
    pub(crate) fn take(&mut self) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.table.push(Slot::new());
            self.table.len() as u32 - 1
        });
        let slot = &mut self.table[place as usize];
        slot.busy = true;
        slot.serial = slot.serial.wrapping_add(1);
        slot.made = 0;
        slot.tried_count = 0;
        slot.has_key = false;
        slot.bytes.clear();
        place
    }

    /// Gives a place back; it is in no wheel and has nothing in flight.
    pub(crate) fn give_back(&mut self, place: u32) {
        let slot = &mut self.table[place as usize];
        slot.busy = false;
        slot.waiting = false;
        slot.completion = Completion::Discard;
        if std::mem::take(&mut slot.transfers) {
            slot.transfer = None;
        }
        if slot.interaction == Interaction::Channel {
            slot.channel = None;
        }
        if slot.bytes.capacity() > KEPT_BYTES_MAX {
            slot.bytes = Vec::new();
        }
        self.free.push(place);
    }

    #[inline]
    pub(crate) fn at(&mut self, place: u32) -> &mut Slot {
        &mut self.table[place as usize]
    }

    /// The call, if its place still holds it.
    pub(crate) fn find(&mut self, place: u32, serial: u32) -> Option<&mut Slot> {
        self.table.get_mut(place as usize).filter(|slot| slot.busy && slot.serial == serial)
    }

    /// Calls under way.
    pub(crate) fn len(&self) -> usize {
        self.table.len() - self.free.len()
    }
}

impl Links for Slots {
    fn link(&mut self, index: u32) -> &mut TimerLink {
        &mut self.table[index as usize].timer
    }
}

/// Calls by their deadlines, for those whose deadlines come in the order of the calls: nearly all.
///
/// Those that have ended stay until they are at the front, so that an end costs nothing here.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    queue: VecDeque<(u64, u32, u32)>,
}

/// Entries, of calls that go on or have ended, beyond which deadlines go into the wheel: 16 bytes each.
const DEADLINES_MAX: usize = 1 << 20;

impl Deadlines {
    /// Takes a call; false where it must go into the wheel.
    pub(crate) fn push(&mut self, slots: &mut Slots, deadline_us: u64, place: u32, serial: u32) -> bool {
        // Two ended ones leave for each that comes, so that the queue stays about as long as the calls are many.
        for _ in 0..2 {
            match self.queue.front() {
                Some((_, place, serial)) if slots.find(*place, *serial).is_none() => {
                    self.queue.pop_front();
                }
                _ => break,
            }
        }
        let in_order = self.queue.back().is_none_or(|last| last.0 <= deadline_us);
        if !in_order || self.queue.len() >= DEADLINES_MAX {
            return false;
        }
        self.queue.push_back((deadline_us, place, serial));
        true
    }

    /// The next call whose deadline has passed.
    pub(crate) fn pop(&mut self, slots: &mut Slots, now_us: u64) -> Option<u32> {
        while let Some((deadline_us, place, serial)) = self.queue.front().copied() {
            let live = slots.find(place, serial).is_some();
            if live && deadline_us > now_us {
                return None;
            }
            self.queue.pop_front();
            if live {
                return Some(place);
            }
        }
        None
    }

    /// When the first deadline passes.
    pub(crate) fn next_us(&self) -> Option<u64> {
        self.queue.front().map(|first| first.0)
    }
}

/// The tag of an attempt's stream.
pub(crate) fn tag_of(place: u32, which: usize) -> Tag {
    Tag(place << 1 | which as u32)
}

/// The call and the attempt that a tag stands for.
pub(crate) fn of_tag(tag: Tag) -> (u32, usize) {
    (tag.0 >> 1, (tag.0 & 1) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_call_touches_is_two_cache_lines() {
        assert!(std::mem::offset_of!(Slot, second) <= 128, "{}", std::mem::offset_of!(Slot, second));
    }
}
