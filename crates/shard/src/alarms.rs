//! When the shards of a thread want their next turns: one timer each.
//!
//! Ticks are milliseconds whose limits are those of the wall clock, so that a turn at a deadline
//! finds it passed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use stadium_wheel::{Link, Links, Wheel};

/// The timers of a thread, by the shard's place there.
pub(crate) struct Alarms {
    wheel: Wheel,
    links: Table,
    start: Instant,
    fired: Vec<u32>,
}

struct Table(Vec<Link>);

impl Links for Table {
    fn link(&mut self, index: u32) -> &mut Link {
        &mut self.0[index as usize]
    }
}

impl Alarms {
    /// For so many shards.
    pub(crate) fn new(shards: usize) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let within = Duration::from_nanos(u64::from(wall.subsec_nanos() % 1_000_000));
        let now = Instant::now();
        Self {
            wheel: Wheel::around(0),
            links: Table(vec![Link::IDLE; shards]),
            start: now.checked_sub(within).unwrap_or(now),
            fired: Vec::new(),
        }
    }

    /// Milliseconds since the start, as the wheel counts them.
    fn tick(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.start).as_millis() as u64
    }

    /// The shard wants a turn after this time, at most a few days, in place of what it wanted before.
    pub(crate) fn set(&mut self, place: usize, after: Duration, now: Instant) {
        let at = self.tick(now) + after.as_millis() as u64;
        self.clear(place);
        self.wheel.arm(&mut self.links, place as u32, at as u32);
    }

    /// The shard wants none.
    pub(crate) fn clear(&mut self, place: usize) {
        self.wheel.disarm(&mut self.links, place as u32);
    }

    /// Calls `due` with each shard whose time has come.
    pub(crate) fn take_due(&mut self, now: Instant, mut due: impl FnMut(usize)) {
        let now = self.tick(now);
        self.wheel.advance(&mut self.links, now as u32, &mut self.fired);
        for place in self.fired.drain(..) {
            due(place as usize);
        }
    }

    /// How long until one's time comes, or the alarms are to be looked at all the same; none where
    /// there is none.
    pub(crate) fn next(&self, now: Instant) -> Option<Duration> {
        let elapsed = now.saturating_duration_since(self.start);
        let now = elapsed.as_millis() as u64;
        let ahead = self.wheel.next()?.wrapping_sub(now as u32);
        // One that has passed already is behind.
        let ahead = if ahead >= 1 << 31 { 0 } else { ahead };
        Some(Duration::from_millis(now + u64::from(ahead)).saturating_sub(elapsed))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Alarms;

    #[test]
    fn each_shard_has_its_last_alarm_alone() {
        let mut alarms = Alarms::new(3);
        assert_eq!(alarms.next(Instant::now()), None);
        let begun = Instant::now();
        alarms.set(0, Duration::from_secs(60), begun);
        alarms.set(2, Duration::from_secs(60), begun);
        alarms.set(2, Duration::from_millis(20), begun);
        alarms.set(1, Duration::from_millis(10), begun);
        alarms.clear(1);
        let mut due = Vec::new();
        while due.is_empty() {
            std::thread::sleep(alarms.next(Instant::now()).expect("two are set"));
            alarms.take_due(Instant::now(), |place| due.push(place));
        }
        assert_eq!(due, [2]);
        assert!(begun.elapsed() >= Duration::from_millis(19));
        assert!(
            alarms.next(Instant::now()).is_some_and(|next| next < Duration::from_secs(1)),
            "it is looked at in between"
        );
    }
}
