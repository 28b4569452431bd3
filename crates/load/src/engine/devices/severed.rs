//! Connections that are dead without a word: severed, unnoticed for a while, and then left behind.
//!
//! The device's socket takes nothing from the network any more and nothing is sent on it ([`stadium_reactor::Io::sever`]).
//! It stays open after its device has left it: a socket that is closed would answer whatever the broker sends next
//! with a reset, so there is no silent way to close one. Descriptors are few, though: a connection that was left is
//! reset after [`LEFT_MS`], or when there are more than the process can spare: those first whose devices are back,
//! because a device that comes back takes its session over, and the broker closes the old connection on its side
//! [MQTT-3.1.4-3]. Where a device is not back, the reset may be the end that the broker sees; `resets_seen` counts it.

use stadium_reactor::{CloseReason, ConnectionId};

use super::device::{Ending, Phase};
use super::driver::Driver;
use super::left::Left;
use crate::engine::order::Io;

/// How long a connection that its device has left is kept, in milliseconds.
const LEFT_MS: u32 = 60_000;

impl Driver {
    /// Nothing gets through the device's connection from now on, and it does not know.
    pub(super) fn sever(&mut self, io: &mut Io, slot: u32) {
        let id = self.device(slot).connection;
        if self.behaviour(slot).severed {
            return;
        }
        if io.sever(id).is_err() {
            // No filter, no silence: the broker sees a reset, and the report states it.
            self.sums.not_severed += 1;
            return self.abort(io, slot, Ending::Severed);
        }
        let now = io.now() as u32;
        let behaviour = self.behaviour(slot);
        behaviour.severed = true;
        behaviour.severed_ms = now.max(1);
        self.now.severed += 1;
    }

    /// The device has found out that its connection is dead.
    pub(super) fn notice(&mut self, io: &mut Io, slot: u32) {
        if self.behaviour(slot).severed {
            self.leave(io, slot, Ending::Severed);
        } else {
            self.abort(io, slot, Ending::Silent);
        }
    }

    /// The device leaves its connection without a word.
    pub(super) fn leave(&mut self, io: &mut Io, slot: u32, ending: Ending) {
        self.sever(io, slot);
        self.device(slot).ending = ending;
        if !self.behaviour(slot).severed {
            // It could not be severed, and is being reset instead.
            return;
        }
        let id = self.device(slot).connection;
        io.cancel_timer(id);
        if self.left.len() >= self.plan.left_max {
            let is_back = |left: &Left| self.devices[left.slot as usize].phase == Phase::Up;
            let harmless = self.left.iter().position(is_back).unwrap_or(0);
            self.reset(io, harmless);
        }
        self.left.push_back(Left { id, slot, until_ms: io.now() as u32 + LEFT_MS });
        self.device(slot).connection = ConnectionId::NONE;
        self.ended(io, slot, CloseReason::Aborted);
    }

    /// Resets what was left long enough ago.
    pub(super) fn tidy_left(&mut self, io: &mut Io) {
        let now = io.now() as u32;
        while self.left.front().is_some_and(|left| left.until_ms <= now) {
            self.reset(io, 0);
        }
    }

    fn reset(&mut self, io: &mut Io, place: usize) {
        let Some(left) = self.left.remove(place) else { return };
        let seen = io.contains(left.id) && self.device(left.slot).phase != Phase::Up;
        self.sums.resets_seen += u64::from(seen);
        io.abort(left.id);
    }

    /// All of them, at the end.
    pub(super) fn reset_left(&mut self, io: &mut Io) {
        while let Some(left) = self.left.pop_front() {
            io.abort(left.id);
        }
    }

    /// The device's connection has ended: what its behaviour knew of it is over.
    pub(super) fn behaviour_ended(&mut self, io: &Io, slot: u32, ending: Ending) {
        if !self.has_behaviour(slot) {
            return;
        }
        let now = io.now() as u32;
        let behaviour = self.behaviour(slot);
        let (asleep, severed) =
            (std::mem::take(&mut behaviour.asleep), std::mem::take(&mut behaviour.severed));
        behaviour.answer_by_ms = 0;
        let skipped = std::mem::take(&mut behaviour.uplink_ms) != 0;
        let severed_ms = behaviour.severed_ms;
        if let Ending::Background { .. } = ending {
            behaviour.background = true;
            // It is away because it wants to be: no time to come back is counted.
            behaviour.severed_ms = 0;
            self.now.background += 1;
        }
        self.now.asleep -= u32::from(asleep);
        self.now.severed -= u32::from(severed);
        self.sums.uplinks_skipped += u64::from(skipped);
        // By a ping without an answer, or because the kernel gave up on what was not acknowledged.
        if severed && matches!(ending, Ending::Severed | Ending::Theirs) {
            self.latencies.notice.record(u64::from(now - severed_ms) * 1_000_000);
        }
    }

    /// The device begins an attempt to come back.
    pub(super) fn behaviour_returns(&mut self, slot: u32) {
        if self.has_behaviour(slot) && std::mem::take(&mut self.behaviour(slot).background) {
            self.now.background -= 1;
        }
    }
}
