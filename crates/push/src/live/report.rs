//! How far a live push has come: from the counts of the transport to the counts of a push.
//!
//! Invariant: each targeted device is counted in one place, see [`LiveReport`]. Deliveries
//! are counted, not remembered for each device.

use std::sync::Arc;
use std::time::Duration;

use super::{LivePush, LiveReach};
use crate::{Counts, Latency, Stage, Time};

/// Deliveries as a transport counts them. They only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveTally {
    /// Connections, and sessions that keep the message, with a matching subscription.
    pub targeted: u64,
    /// Written to connections.
    pub sent: u64,
    /// Of those, the ones at QoS 0, which no acknowledgement answers.
    pub unanswered: u64,
    /// Acknowledged by devices.
    pub acknowledged: u64,
    /// Kept for devices that are away or busy, whether or not they got it since.
    pub queued: u64,
    /// Given up because their time was over.
    pub expired: u64,
    /// Given up for another reason.
    pub dropped: u64,
    /// Named or matched devices without a connection that takes the push.
    pub not_connected: u64,
}

impl LiveTally {
    /// Adds the counts of another transport, or later ones.
    pub fn add(&mut self, more: &Self) {
        self.targeted += more.targeted;
        self.sent += more.sent;
        self.unanswered += more.unanswered;
        self.acknowledged += more.acknowledged;
        self.queued += more.queued;
        self.expired += more.expired;
        self.dropped += more.dropped;
        self.not_connected += more.not_connected;
    }
}

/// When deliveries happened, from the time at which the push was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveTimes {
    /// The first and the last write to a socket.
    pub sent: Option<(Duration, Duration)>,
    /// The first and the last acknowledgement.
    pub acknowledged: Option<(Duration, Duration)>,
    /// From acceptance to the write.
    pub sent_latency: LatencySummary,
    /// From acceptance to the acknowledgement.
    pub acknowledged_latency: LatencySummary,
}

/// A distribution of durations in a few numbers; all zero when `count` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LatencySummary {
    /// How many durations it describes.
    pub count: u64,
    /// Half of them are at most this.
    pub p50: Duration,
    /// Nine in ten.
    pub p90: Duration,
    /// 99 in 100.
    pub p99: Duration,
    /// 999 in 1,000.
    pub p999: Duration,
    /// The longest.
    pub max: Duration,
}

/// How far a live push has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Accepted; nothing has been sent yet.
    Accepted,
    /// Some deliveries are still owed: unsent, or sent at QoS 1 and not acknowledged.
    Sending,
    /// Nothing more will happen: each delivery was sent (QoS 0), acknowledged (QoS 1), expired or
    /// dropped, or waits in the session of a device that is away.
    Settled,
}

/// A live push and its outcomes. Counts are deliveries; durations count from `accepted_at`.
///
/// `targeted = not_connected + dropped + expired + sent + unsent`: each targeted device is in one
/// place. `queued` are those of `not_connected` whose session keeps the message for their return;
/// `acknowledged` are those of `sent` that answered.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveReport {
    /// The push.
    pub push: Arc<LivePush>,
    /// When it was accepted.
    pub accepted_at: Time,
    /// How far it has come.
    pub progress: Progress,
    /// Loops or shards are still finding devices: `targeted` and `not_connected` grow.
    pub counting: bool,
    /// Devices found for the audience; of all loops once `counting` is false.
    pub targeted: u64,
    /// Written to a device's socket.
    pub sent: u64,
    /// Of those, the ones that no acknowledgement answers.
    pub unanswered: u64,
    /// Acknowledged by a device; stays 0 at QoS 0.
    pub acknowledged: u64,
    /// Given up because the expiry passed.
    pub expired: u64,
    /// Given up for another reason, such as a slow reader's full queue or a connection's end.
    pub dropped: u64,
    /// Devices that were not connected.
    pub not_connected: u64,
    /// Of those, kept in their session for later.
    pub queued: u64,
    /// Devices that the shards found, of a push to registered devices.
    pub reach: Option<LiveReach>,
    /// When deliveries happened.
    pub times: LiveTimes,
}

impl LiveReport {
    /// The report of these counts. `is_counting` holds while a loop or a shard has not handled the
    /// push; `keeps` where sessions of clients that are away keep it.
    pub fn of(
        push: Arc<LivePush>,
        accepted_at: Time,
        tally: &LiveTally,
        is_counting: bool,
        keeps: bool,
        reach: Option<LiveReach>,
        times: LiveTimes,
    ) -> Self {
        let LiveTally { targeted, sent, unanswered, acknowledged, queued, expired, dropped, not_connected } =
            *tally;
        // Found, and neither sent nor given up: kept for an absent device, or soon to be sent.
        let waiting = targeted.saturating_sub(sent + expired + dropped);
        let queued = if keeps { queued.min(waiting) } else { 0 };
        let owed = waiting - queued;
        let unacknowledged = sent.saturating_sub(acknowledged + unanswered);
        let progress = match is_counting {
            false if owed + unacknowledged == 0 => Progress::Settled,
            false => Progress::Sending,
            true if targeted + not_connected > 0 => Progress::Sending,
            true => Progress::Accepted,
        };
        Self {
            push,
            accepted_at,
            progress,
            counting: is_counting,
            targeted: targeted + not_connected,
            sent,
            unanswered,
            acknowledged,
            expired,
            dropped,
            not_connected: not_connected + queued,
            queued,
            reach,
            times,
        }
    }

    /// The stage of the push, as durable ones have it.
    pub fn stage(&self) -> Stage {
        if self.progress == Progress::Settled { Stage::Settled } else { Stage::Sending }
    }

    /// The push's counts, as durable ones have them. A delivery that a connection did not take has
    /// expired, as at QoS 0; a message that sessions keep is owed.
    pub fn counts(&self) -> Counts {
        let in_flight = self.sent.saturating_sub(self.acknowledged + self.unanswered);
        let delivered = self.sent - in_flight;
        let expired = self.expired + self.dropped + self.not_connected - self.queued;
        let reach = self.reach.unwrap_or_default();
        Counts {
            devices: reach.devices,
            matched: self.reach.map_or(self.targeted, |reach| reach.matched),
            opted_out: reach.opted_out,
            held_out: reach.held_out,
            capped: reach.capped,
            quiet: reach.quiet,
            no_value: reach.no_value,
            targeted: self.targeted,
            owed: self.targeted.saturating_sub(self.sent + expired),
            in_flight,
            delivered,
            expired,
            ..Counts::default()
        }
    }

    /// From the start to the write, as durable pushes have it.
    pub fn sent_latency(&self) -> Latency {
        latency(&self.times.sent_latency, self.times.sent)
    }

    /// From the start to the acknowledgement, as durable pushes have it.
    pub fn acknowledged_latency(&self) -> Latency {
        latency(&self.times.acknowledged_latency, self.times.acknowledged)
    }
}

fn latency(summary: &LatencySummary, between: Option<(Duration, Duration)>) -> Latency {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let (first, last) = between.unwrap_or_default();
    Latency {
        count: summary.count,
        first_ms: ms(first),
        p50_ms: ms(summary.p50),
        p99_ms: ms(summary.p99),
        last_ms: ms(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{ChannelName, LiveAudience, Qos};
    use crate::{AppName, PushId};

    fn report(tally: LiveTally, is_counting: bool, keeps: bool) -> LiveReport {
        let push = LivePush {
            app: AppName::default(),
            id: PushId(7),
            to: LiveAudience::Channel(ChannelName::everybody()),
            qos: Qos::AtLeastOnce,
            payload_bytes: 4,
            title: None,
        };
        LiveReport::of(push.into(), Time(1), &tally, is_counting, keeps, None, LiveTimes::default())
    }

    #[test]
    fn a_push_is_settled_when_nothing_is_owed() {
        let none = LiveTally::default();
        let found = LiveTally { targeted: 3, ..none };
        let sent = LiveTally { sent: 3, ..found };
        let cases = [
            (none, true, Progress::Accepted),
            (found, true, Progress::Sending),
            (none, false, Progress::Settled),
            (sent, false, Progress::Sending),
            (LiveTally { acknowledged: 3, ..sent }, false, Progress::Settled),
            (LiveTally { unanswered: 3, ..sent }, false, Progress::Settled),
            (LiveTally { queued: 3, ..found }, false, Progress::Settled),
        ];
        for (tally, is_counting, expected) in cases {
            assert_eq!(report(tally, is_counting, true).progress, expected, "{tally:?}");
        }
        // A slow connection is still owed what no session keeps.
        let slow = LiveTally { queued: 3, ..found };
        assert_eq!(report(slow, false, false).progress, Progress::Sending);
    }

    #[test]
    fn every_targeted_device_is_in_one_place() {
        let tally = LiveTally {
            targeted: 10,
            sent: 5,
            acknowledged: 4,
            queued: 7,
            dropped: 1,
            not_connected: 2,
            ..LiveTally::default()
        };
        let report = report(tally, false, true);
        assert_eq!(report.targeted, report.not_connected + report.dropped + report.expired + report.sent);
        assert_eq!((report.targeted, report.not_connected, report.queued), (12, 6, 4));
        let counts = report.counts();
        assert_eq!(counts.targeted, counts.owed + counts.in_flight + counts.delivered + counts.expired);
        assert_eq!((counts.owed, counts.in_flight, counts.delivered, counts.expired), (4, 1, 4, 3));
    }
}
