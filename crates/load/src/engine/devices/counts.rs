//! Counts by reason, in fixed tables.
//!
//! Names appear only when a tally leaves: counting costs an index.

use std::collections::BTreeMap;

use stadium_mqtt::reason::ReasonCode;
use stadium_reactor::{CloseReason, LoopStats};

use super::device::Ending;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::swarm::tally::Sums;
use crate::words::spoken;

/// A loop that waits less than this share of an interval is saturated.
const IDLE_SHARE_MIN: f64 = 0.05;

/// Counts by reason since the last tally, and the sums of the loop at that time.
pub(crate) struct Counts {
    refused: [u32; 256],
    dismissed: [u32; 256],
    closes: [u32; CloseReason::COUNT],
    silent: u32,
    timeouts: u32,
    malformed: u32,
    before: Before,
}

/// Sums that others keep, as of the last tally.
#[derive(Default)]
struct Before {
    at_ns: u64,
    cpu_ns: u64,
    busy_ns: u64,
    idle_ns: u64,
    bytes_in: u64,
    bytes_out: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            refused: [0; 256],
            dismissed: [0; 256],
            closes: [0; CloseReason::COUNT],
            silent: 0,
            timeouts: 0,
            malformed: 0,
            before: Before::default(),
        }
    }
}

impl Counts {
    /// A CONNACK refused.
    pub(super) fn refused(&mut self, reason: ReasonCode) {
        self.refused[usize::from(reason as u8)] += 1;
    }

    /// A DISCONNECT came.
    pub(super) fn dismissed(&mut self, reason: ReasonCode) {
        self.dismissed[usize::from(reason as u8)] += 1;
    }

    /// A connection ended that should not have.
    pub(super) fn lost(&mut self, ending: Ending, reason: CloseReason) {
        match ending {
            Ending::Theirs => self.closes[reason.index()] += 1,
            Ending::Silent => self.silent += 1,
            Ending::Timeout => self.timeouts += 1,
            Ending::Malformed => self.malformed += 1,
            // Counted with their reason, or wanted.
            Ending::Refused(_)
            | Ending::Dismissed(_)
            | Ending::Storm
            | Ending::Severed
            | Ending::Moved
            | Ending::Background { .. }
            | Ending::Stop => {}
        }
    }

    /// No socket could be had.
    pub(super) fn no_socket(&mut self, error: &std::io::Error) {
        self.closes[CloseReason::System(error.raw_os_error().unwrap_or(0)).index()] += 1;
    }

    pub(super) fn take_refused(&mut self) -> BTreeMap<String, u64> {
        let mut named = BTreeMap::new();
        take_reasons(&mut self.refused, "", &mut named);
        named
    }

    pub(super) fn take_lost(&mut self) -> BTreeMap<String, u64> {
        let mut named = BTreeMap::new();
        take_reasons(&mut self.dismissed, "disconnect: ", &mut named);
        for (name, count) in CloseReason::NAMES.into_iter().zip(&mut self.closes) {
            take_count(count, name, &mut named);
        }
        take_count(&mut self.silent, "silent", &mut named);
        take_count(&mut self.timeouts, "mqtt_timeout", &mut named);
        take_count(&mut self.malformed, "malformed", &mut named);
        named
    }

    /// Fills in what the loop and the system count.
    pub(super) fn measure(&mut self, stats: &LoopStats, sums: &mut Sums) {
        let now = Before {
            at_ns: monotonic_ns(),
            cpu_ns: thread_cpu_ns(),
            busy_ns: stats.busy_ns.value(),
            idle_ns: stats.idle_ns.value(),
            bytes_in: stats.bytes_in.value(),
            bytes_out: stats.bytes_out.value(),
        };
        let before = std::mem::replace(&mut self.before, now);
        let now = &self.before;
        sums.cpu_ns += now.cpu_ns - before.cpu_ns;
        sums.bytes_in += now.bytes_in - before.bytes_in;
        sums.bytes_out += now.bytes_out - before.bytes_out;
        // The first tally has no interval before it.
        if before.at_ns > 0 {
            sums.wall_ns += now.at_ns - before.at_ns;
            let busy = now.busy_ns - before.busy_ns;
            let idle = now.idle_ns - before.idle_ns;
            sums.intervals += 1;
            sums.intervals_saturated += u64::from((idle as f64) < (busy + idle) as f64 * IDLE_SHARE_MIN);
        }
    }
}

fn take_count(count: &mut u32, name: &str, into: &mut BTreeMap<String, u64>) {
    if *count > 0 {
        *into.entry(name.to_owned()).or_default() += u64::from(std::mem::take(count));
    }
}

fn take_reasons(counts: &mut [u32; 256], before: &str, into: &mut BTreeMap<String, u64>) {
    for byte in 0..=u8::MAX {
        let count = &mut counts[usize::from(byte)];
        if *count > 0 {
            let name = ReasonCode::from_byte(byte).map_or_else(|| format!("{byte:#04x}"), spoken);
            take_count(count, &format!("{before}{name}"), into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_reported_in_words_once() {
        let mut counts = Counts::default();
        counts.refused(ReasonCode::ServerBusy);
        counts.refused(ReasonCode::ServerBusy);
        counts.lost(Ending::Theirs, CloseReason::Reset);
        counts.lost(Ending::Storm, CloseReason::Aborted);
        counts.dismissed(ReasonCode::SessionTakenOver);
        assert_eq!(counts.take_refused(), [("server busy".to_owned(), 2)].into());
        let lost = [("disconnect: session taken over".to_owned(), 1), ("reset".to_owned(), 1)];
        assert_eq!(counts.take_lost(), lost.into());
        assert!(counts.take_refused().is_empty() && counts.take_lost().is_empty());
    }
}
