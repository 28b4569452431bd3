//! A node's lease, as the node itself can be sure of it.
//!
//! etcd ends a lease [`LEASE`] after the last keep-alive that reached it. The node cannot know when
//! that was, only when the keep-alive was sent, which was before. It counts from there and stops
//! [`MARGIN`] early, so a lease that is certain here has not ended in etcd, whatever the network did.

use std::time::Duration;

/// How long a lease lives after its last keep-alive. The floor of an etcd with default settings.
pub const LEASE: Duration = Duration::from_secs(2);

/// How much earlier a node stops relying on its lease: room for clocks that run at other speeds.
pub const MARGIN: Duration = Duration::from_millis(500);

/// A reading of `CLOCK_BOOTTIME`, which goes on while the machine sleeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BootTime(pub Duration);

impl BootTime {
    /// The time from `earlier` to now; zero where that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// A later time.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

/// The lease of one incarnation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lease {
    /// When the last keep-alive that was answered had been sent.
    confirmed: Option<BootTime>,
}

impl Lease {
    /// etcd granted the lease, or kept it: the question had been sent at `sent`.
    ///
    /// Answers may arrive in another order than their questions; the newest question counts.
    pub fn confirm(&mut self, sent: BootTime) {
        self.confirmed = self.confirmed.max(Some(sent));
    }

    /// The lease is no more. A lease that ended is never confirmed again.
    pub fn end(&mut self) {
        self.confirmed = None;
    }

    /// Until when it is certain that the lease has not ended.
    #[must_use]
    pub fn certain_until(&self) -> Option<BootTime> {
        self.confirmed.map(|sent| sent.after(LEASE - MARGIN))
    }

    /// Whether it is certain that the lease has not ended.
    #[must_use]
    pub fn is_certain(&self, now: BootTime) -> bool {
        self.certain_until().is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> BootTime {
        BootTime(Duration::from_millis(ms))
    }

    #[test]
    fn a_lease_is_certain_for_a_second_and_a_half_from_when_its_keep_alive_was_sent() {
        let mut lease = Lease::default();
        assert!(!lease.is_certain(at(0)));
        lease.confirm(at(1_000));
        assert!(lease.is_certain(at(2_499)));
        assert!(!lease.is_certain(at(2_500)));
        // A thread that read the clock before the keep-alive was sent.
        assert!(lease.is_certain(at(900)));
    }

    #[test]
    fn a_late_answer_to_an_old_keep_alive_takes_nothing_back() {
        let mut lease = Lease::default();
        lease.confirm(at(2_000));
        lease.confirm(at(1_000));
        assert_eq!(lease.certain_until(), Some(at(3_500)));
        lease.end();
        assert!(!lease.is_certain(at(2_000)));
    }
}
