//! Calls under way, in places that are used again with their buffers.
//!
//! A call has up to two attempts at a time: the first one and, for idempotent methods, a hedge. Each
//! attempt's stream carries the place and which of the two it is as its tag.

use stadium_reactor::ConnectionId;
use stadium_reactor::wheel::{Link as TimerLink, Links};
use stadium_rsocket::connection::Tag;
use stadium_rsocket::frame::StreamId;

use super::completion::Completion;
use crate::answer::CallError;
use crate::balance::{InstanceId, KeyHash};
use crate::method::{Idempotency, Interaction};

/// Instances that a call remembers to have tried.
const TRIED_MAX: usize = 4;

/// A call.
pub(crate) struct Slot {
    /// Counts the calls that had this place.
    pub(crate) serial: u32,
    pub(crate) busy: bool,
    /// In the queue for a connection.
    pub(crate) waiting: bool,
    pub(crate) service: u16,
    pub(crate) route: u32,
    pub(crate) interaction: Interaction,
    pub(crate) idempotency: Idempotency,
    pub(crate) key: Option<KeyHash>,
    /// Composite metadata beside route and deadline: key, authentication, whatever the caller added.
    pub(crate) metadata: Vec<u8>,
    pub(crate) request: Vec<u8>,
    /// The credit that a stream begins with.
    pub(crate) initial: u32,
    /// In microseconds of loop time; `u64::MAX` for a stream without one.
    pub(crate) deadline_us: u64,
    pub(crate) began_us: u64,
    pub(crate) made: u32,
    tried: [Option<InstanceId>; TRIED_MAX],
    pub(crate) attempts: [Option<Attempt>; 2],
    /// When the next attempt is due after a wait.
    pub(crate) again_us: Option<u64>,
    /// When a copy is due.
    pub(crate) hedge_us: Option<u64>,
    pub(crate) completion: Completion,
    /// A local call's answer, and how it ended.
    pub(crate) answer: Vec<u8>,
    pub(crate) ended: Option<Result<(), CallError>>,
    /// The caller's credit on a channel, and what waits for it.
    pub(crate) channel: Option<Box<ChannelOut>>,
    timer: TimerLink,
}

/// What a channel's caller sends.
#[derive(Debug, Default)]
pub(crate) struct ChannelOut {
    pub(crate) messages: std::collections::VecDeque<Vec<u8>>,
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
            busy: false,
            waiting: false,
            service: 0,
            route: 0,
            interaction: Interaction::Unary,
            idempotency: Idempotency::Unknown,
            key: None,
            metadata: Vec::new(),
            request: Vec::new(),
            initial: 0,
            deadline_us: 0,
            began_us: 0,
            made: 0,
            tried: [None; TRIED_MAX],
            attempts: [None; 2],
            again_us: None,
            hedge_us: None,
            completion: Completion::Discard,
            answer: Vec::new(),
            ended: None,
            channel: None,
            timer: TimerLink::IDLE,
        }
    }

    pub(crate) fn has_tried(&mut self, instance: InstanceId) {
        if let Some(place) = self.tried.iter_mut().find(|one| one.is_none()) {
            *place = Some(instance);
        }
    }

    /// The instances tried, at the front of `into`.
    pub(crate) fn tried<'a>(&self, into: &'a mut [InstanceId; TRIED_MAX]) -> &'a [InstanceId] {
        let mut count = 0;
        for instance in self.tried.iter().flatten() {
            into[count] = *instance;
            count += 1;
        }
        &into[..count]
    }

    /// Room for [`Slot::tried`]; whatever it holds.
    pub(crate) fn no_instances(one: InstanceId) -> [InstanceId; TRIED_MAX] {
        [one; TRIED_MAX]
    }

    pub(crate) fn any_tried(&self) -> Option<InstanceId> {
        self.tried[0]
    }

    pub(crate) fn in_flight(&self) -> bool {
        self.attempts.iter().any(Option::is_some)
    }

    /// The next time at which something must happen without word from the peer.
    pub(crate) fn next_us(&self) -> u64 {
        let next = self.again_us.unwrap_or(u64::MAX).min(self.hedge_us.unwrap_or(u64::MAX));
        next.min(self.deadline_us)
    }
}

/// All calls of a client.
#[derive(Default)]
pub(crate) struct Slots {
    table: Vec<Slot>,
    free: Vec<u32>,
}

/// The largest request or answer buffer that a place keeps for its next call, in bytes.
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
        slot.tried = [None; TRIED_MAX];
        slot.key = None;
        slot.metadata.clear();
        slot.request.clear();
        slot.answer.clear();
        slot.ended = None;
        slot.again_us = None;
        slot.hedge_us = None;
        place
    }

    /// Gives a place back.
    pub(crate) fn give_back(&mut self, place: u32) {
        let slot = &mut self.table[place as usize];
        slot.busy = false;
        slot.channel = None;
        slot.completion = Completion::Discard;
        if slot.request.capacity() > KEPT_BYTES_MAX {
            slot.request = Vec::new();
        }
        if slot.answer.capacity() > KEPT_BYTES_MAX {
            slot.answer = Vec::new();
        }
        self.free.push(place);
    }

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

/// The tag of an attempt's stream.
pub(crate) fn tag_of(place: u32, which: usize) -> Tag {
    Tag(place << 1 | which as u32)
}

/// The call and the attempt that a tag stands for.
pub(crate) fn of_tag(tag: Tag) -> (u32, usize) {
    (tag.0 >> 1, (tag.0 & 1) as usize)
}
