//! Each thing at its time: arrivals, returns, uplinks, broadcasts, late acknowledgements, tallies.
//!
//! Times are fixed beforehand and never move, so that being late shows. A loop that is not punctual
//! wakes to the millisecond; an action within [`GRAIN_NS`] of its time was done in time, and
//! latency counts from then.

use std::cmp::Reverse;

use super::device::Phase;
use super::driver::Driver;
use super::figures::Last;
use super::flight::Published;
use crate::clock::monotonic_ns;
use crate::engine::loops::{Clients, Punctuality};
use crate::engine::order::Io;

/// How far the grain of a loop's sleep puts things off at most, in nanoseconds.
const GRAIN_NS: u64 = 2_000_000;
/// Between two tallies, in nanoseconds.
const TALLY_NS: u64 = 250_000_000;
/// Devices that begin in one turn before the loop sees to the others.
const STARTS_PER_TURN: u32 = 256;
/// Uplinks of one turn.
const UPLINKS_PER_TURN: u32 = 1_024;
/// Broadcasts of one turn.
const BROADCASTS_PER_TURN: u32 = 64;

impl Clients for Driver {
    const PUNCTUALITY: Punctuality = Punctuality::Relaxed;

    fn advance(&mut self, io: &mut Io, now_ns: u64, _worked_ns: u64) -> Option<u64> {
        let epoch_ns = self.epoch_ns.filter(|_| !self.stopping)?;
        if now_ns >= epoch_ns && !self.memory_noted {
            // A tally has been sent by now: what reports need is not the devices'.
            self.note_memory();
        }
        self.cut_due(io, now_ns);
        self.send_late_acks(io, now_ns);
        self.broadcast(io, now_ns);
        self.uplink(io, epoch_ns, now_ns);
        self.start(io, epoch_ns, now_ns);
        if now_ns >= self.tally_ns {
            self.tidy_left(io);
            self.send_tally(io, Last::No);
            self.tally_ns = now_ns + TALLY_NS;
        }
        Some(self.next_ns(epoch_ns))
    }

    fn is_finished(&self) -> bool {
        self.stopping && self.open == 0
    }
}

impl Driver {
    /// The next time at which anything is due.
    fn next_ns(&self, epoch_ns: u64) -> u64 {
        let start_ns =
            (self.now.handshakes < self.handshakes_max).then(|| self.next_start(epoch_ns)).flatten();
        let times = [
            Some(self.tally_ns),
            start_ns.map(|(due_ns, _)| due_ns),
            self.late_acks.front().map(|ack| ack.due_ns),
            self.cut_ns(),
            self.uplink_ns(epoch_ns).map(|(due_ns, _)| due_ns),
            self.broadcast_ns(),
        ];
        times.into_iter().flatten().min().unwrap_or(self.tally_ns)
    }

    /// The intended time as latencies count it, noting how late we are.
    fn come_to(&mut self, due_ns: u64, now_ns: u64) -> u64 {
        let late_ns = now_ns.saturating_sub(due_ns);
        if late_ns <= GRAIN_NS {
            self.latencies.lateness.record(0);
            now_ns
        } else {
            self.latencies.lateness.record(late_ns);
            due_ns
        }
    }

    // Arrivals and returns.

    /// The device whose time comes first, and that time.
    fn next_start(&self, epoch_ns: u64) -> Option<(u64, Start)> {
        let fresh = (self.next < self.fleet()).then(|| (self.arrival_ns(epoch_ns, self.next), Start::Fresh));
        let back = self.away.peek().map(|Reverse((due_ns, _))| (*due_ns, Start::Back));
        match (fresh, back) {
            (Some(fresh), Some(back)) => Some(if fresh.0 <= back.0 { fresh } else { back }),
            (fresh, back) => fresh.or(back),
        }
    }

    /// Devices of this loop, without the broadcaster.
    fn fleet(&self) -> u32 {
        self.share.part(self.plan.config.devices)
    }

    fn arrival_ns(&self, epoch_ns: u64, slot: u32) -> u64 {
        let per_second = self.plan.config.connect.per_second;
        if per_second == 0.0 {
            return epoch_ns;
        }
        epoch_ns + (f64::from(self.share.nth(slot)) / per_second * 1e9) as u64
    }

    fn start(&mut self, io: &mut Io, epoch_ns: u64, now_ns: u64) {
        if let Some(slot) = self.broadcaster
            && self.device(slot).phase == Phase::Waiting
        {
            self.open(io, slot, now_ns);
        }
        for _ in 0..STARTS_PER_TURN {
            let Some((due_ns, start)) = self.next_start(epoch_ns).filter(|(due_ns, _)| *due_ns <= now_ns)
            else {
                return;
            };
            if self.now.handshakes >= self.handshakes_max {
                self.held_ns = now_ns;
                return;
            }
            let slot = match start {
                Start::Fresh => {
                    self.next += 1;
                    self.next - 1
                }
                Start::Back => match self.away.pop() {
                    Some(Reverse((_, slot))) => slot,
                    None => return,
                },
            };
            let closed_model = self.plan.config.connect.per_second == 0.0 && start == Start::Fresh;
            let intended_ns = if closed_model {
                now_ns
            } else if due_ns < self.held_ns {
                // The limit of handshakes held it back: that is the broker's time, not our lateness.
                due_ns
            } else {
                self.come_to(due_ns, now_ns)
            };
            self.open(io, slot, intended_ns);
        }
    }

    // Messages.

    fn send_late_acks(&mut self, io: &mut Io, now_ns: u64) {
        while let Some(ack) = self.late_acks.pop_front_if(|ack| ack.due_ns <= now_ns) {
            self.send_late_ack(io, &ack);
        }
    }

    /// The next uplink's time and device. Devices take turns, spread evenly over the time between two uplinks.
    fn uplink_ns(&self, epoch_ns: u64) -> Option<(u64, u32)> {
        let uplink = self.plan.config.uplink.as_ref()?;
        let fleet = u64::from(self.fleet());
        let round = self.uplinks_due.checked_div(fleet)?;
        if uplink.count.is_some_and(|count| round >= u64::from(count)) {
            return None;
        }
        let slot = (self.uplinks_due % fleet) as u32;
        let every_ns = u128::from(uplink.every_us) * 1_000;
        // All loops together: devices in the order in which they were dealt.
        let turn = u128::from(self.share.nth(slot)) * every_ns / u128::from(self.plan.config.devices);
        let after_ns = u128::from(round) * every_ns + turn;
        Some((epoch_ns.saturating_add(u64::try_from(after_ns).unwrap_or(u64::MAX)), slot))
    }

    fn uplink(&mut self, io: &mut Io, epoch_ns: u64, now_ns: u64) {
        for _ in 0..UPLINKS_PER_TURN {
            let Some((due_ns, slot)) = self.uplink_ns(epoch_ns).filter(|(due_ns, _)| *due_ns <= now_ns)
            else {
                return;
            };
            self.uplinks_due += 1;
            // A device that has not been up yet has nothing to skip.
            if !self.device(slot).known {
                continue;
            }
            let intended_ns = self.come_to(due_ns, now_ns);
            self.publish_uplink(io, slot, intended_ns);
        }
    }

    /// Fixes the times of broadcasts, once they are wanted and the broadcaster is up.
    pub(super) fn begin_broadcast(&mut self) {
        if let Some(slot) = self.broadcaster
            && self.own_stream != 0
            && self.broadcast_from_ns.is_none()
            && self.device(slot).known
        {
            self.broadcast_from_ns = Some(monotonic_ns());
        }
    }

    fn broadcast_ns(&self) -> Option<u64> {
        let from_ns = self.broadcast_from_ns?;
        let broadcast = self.plan.config.broadcast.as_ref()?;
        if broadcast.count.is_some_and(|count| self.broadcasts_due >= u64::from(count)) {
            return None;
        }
        Some(from_ns.saturating_add(self.broadcasts_due.saturating_mul(broadcast.every_us * 1_000)))
    }

    fn broadcast(&mut self, io: &mut Io, now_ns: u64) {
        let Some(slot) = self.broadcaster else { return };
        for _ in 0..BROADCASTS_PER_TURN {
            let Some(due_ns) = self.broadcast_ns().filter(|due_ns| *due_ns <= now_ns) else { return };
            self.broadcasts_due += 1;
            let intended_ns = self.come_to(due_ns, now_ns);
            match self.publish(io, slot, intended_ns) {
                Published::Sent => self.sums.broadcasts += 1,
                Published::Skipped => self.sums.broadcasts_skipped += 1,
            }
        }
    }
}

/// Whether a device begins for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Fresh,
    Back,
}
