//! The wall clock beside the node's milliseconds.
//!
//! Within the process time is the node's: milliseconds since it began, which never go back. Times
//! that outlive the process are on the wall clock. That clock may be put right while the server
//! runs, by days where NTP comes after the boot. So no conversion remembers another one: each reads
//! both clocks, and a timestamp keeps its distance from now.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use stadium_session::Time;

/// Both clocks at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// Milliseconds since the node began.
    pub node_ms: u64,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub wall_ms: u64,
}

/// Converts timestamps between the two clocks.
pub(crate) struct Clock {
    read: Box<dyn Fn() -> Reading + Send + Sync>,
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock").field("now", &(self.read)()).finish()
    }
}

impl Clock {
    /// The system's clocks, for a node that began at this instant.
    pub(crate) fn system(epoch: Instant) -> Self {
        Self::new(move || {
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Reading { node_ms: milliseconds(epoch.elapsed()), wall_ms: milliseconds(wall) }
        })
    }

    fn new(read: impl Fn() -> Reading + Send + Sync + 'static) -> Self {
        Self { read: Box::new(read) }
    }

    /// Converts a time in the node's milliseconds to the wall clock of now.
    pub(crate) fn wall_time(&self, node_ms: u64) -> Time {
        let Reading { node_ms: now_ms, wall_ms } = (self.read)();
        Time(match node_ms.checked_sub(now_ms) {
            Some(ahead_ms) => wall_ms.saturating_add(ahead_ms),
            None => wall_ms.saturating_sub(now_ms - node_ms),
        })
    }

    /// Converts a time of the wall clock of now to the node's milliseconds, below 0 for one before
    /// these began.
    pub(crate) fn signed_node_ms(&self, at: Time) -> i64 {
        let Reading { node_ms, wall_ms } = (self.read)();
        let ahead_ms = i128::from(at.0) - i128::from(wall_ms);
        let node_ms = i128::from(node_ms) + ahead_ms;
        i64::try_from(node_ms).unwrap_or(if node_ms < 0 { i64::MIN } else { i64::MAX })
    }

    /// The reverse of [`Self::signed_node_ms`].
    pub(crate) fn wall_time_of_signed(&self, node_ms: i64) -> Time {
        let Reading { node_ms: now_ms, wall_ms } = (self.read)();
        let at = i128::from(wall_ms) - i128::from(now_ms) + i128::from(node_ms);
        Time(u64::try_from(at).unwrap_or(if at < 0 { 0 } else { u64::MAX }))
    }

    /// Converts a time of the wall clock of now to the node's milliseconds; 1 for all before these
    /// began, because 0 is never.
    pub(crate) fn node_ms(&self, at: Time) -> u64 {
        let Reading { node_ms: now_ms, wall_ms } = (self.read)();
        match at.0.checked_sub(wall_ms) {
            Some(ahead_ms) => now_ms.saturating_add(ahead_ms),
            None => now_ms.saturating_sub(wall_ms - at.0),
        }
        .max(1)
    }
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const DAY_MS: u64 = 24 * 3600 * 1000;

    /// A clock that has run for some time, and its hands: the node's and the wall's.
    fn clock(node_ms: u64, wall_ms: u64) -> (Clock, Arc<[AtomicU64; 2]>) {
        let hands = Arc::new([AtomicU64::new(node_ms), AtomicU64::new(wall_ms)]);
        let read = Arc::clone(&hands);
        let look = move |hand: usize| read[hand].load(Ordering::Relaxed);
        (Clock::new(move || Reading { node_ms: look(0), wall_ms: look(1) }), hands)
    }

    #[test]
    fn a_session_outlives_the_clock_being_put_right_and_a_restart() {
        // The server starts three days late by its clock, which is put right a second later.
        let right = 1_700_000_000_000;
        let (running, hands) = clock(5, right - 3 * DAY_MS);
        hands[0].store(1_005, Ordering::Relaxed);
        hands[1].store(right, Ordering::Relaxed);
        // A client goes away whose session lasts a day.
        let ends_at = running.wall_time(1_005 + DAY_MS);
        assert_eq!(ends_at, Time(right + DAY_MS));
        // A minute later the server was started again.
        let (restarted, _) = clock(7, right + 60_000);
        assert_eq!(restarted.node_ms(ends_at), 7 + DAY_MS - 60_000);
    }

    #[test]
    fn timestamps_keep_their_distance_from_now() {
        let (clock, _) = clock(10_000, 1_000_000);
        for (node_ms, wall_ms) in [(10_000, 1_000_000), (12_500, 1_002_500), (9_000, 999_000), (1, 990_001)] {
            assert_eq!(clock.wall_time(node_ms), Time(wall_ms));
            assert_eq!(clock.node_ms(Time(wall_ms)), node_ms);
        }
        // Times before the node began, where these matter.
        for at in [Time(900_000), Time(0), Time(1_002_500)] {
            assert_eq!(clock.wall_time_of_signed(clock.signed_node_ms(at)), at);
        }
        assert_eq!(clock.signed_node_ms(Time(900_000)), -90_000);
        assert_eq!(clock.signed_node_ms(Time(u64::MAX)), i64::MAX);
        // Over before the node began, and for ever.
        assert_eq!(clock.node_ms(Time(900_000)), 1);
        assert_eq!(clock.node_ms(Time(0)), 1);
        assert_eq!(clock.node_ms(Time(u64::MAX)), u64::MAX - 990_000);
        assert_eq!(clock.wall_time(u64::MAX), Time(u64::MAX));
    }
}
