//! The tally that takes everything a loop has counted since the one before.

use super::driver::Driver;
use crate::engine::event::{Event, Tally};
use crate::engine::order::Io;
use crate::swarm;
use crate::swarm::memory::{Memory, anonymous_bytes};

/// Whether a tally is the loop's last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Yes,
    No,
}

impl Driver {
    /// The memory of the process for its devices, where this is the loop that reports it.
    fn measure_memory(&self) -> Option<Memory> {
        Some(Memory { without_devices: self.memory_before?, now: anonymous_bytes()? })
    }

    /// Hands on everything counted since the last tally.
    pub(super) fn send_tally(&mut self, io: &Io, last: Last) {
        let mut sums = std::mem::take(&mut self.sums);
        self.counts.measure(io.handle().stats(), &mut sums);
        let tally = swarm::Tally {
            share: self.share.index,
            last: last == Last::Yes,
            now: self.now,
            sums,
            latencies: self.latencies.take(),
            refused: self.counts.take_refused(),
            lost_connections: self.counts.take_lost(),
            spreads: self.following.take(),
            storms: std::mem::take(&mut self.storms),
            last_up_ns: std::mem::take(&mut self.last_up_ns),
            memory: self.measure_memory(),
        };
        // Nobody listens any more only when the swarm is being dropped.
        let _ = self.out.send(Event::Tally(Tally::Devices(Box::new(tally))));
    }
}
