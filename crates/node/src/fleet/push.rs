//! A push on its way between the two sides' words: the API's and the edge's.
//!
//! The API sorts every targeted device into one place (not connected, dropped, expired, sent, unsent); the edge counts
//! what happened. A delivery that was kept for a device and sent later counts as sent.

use std::time::Duration;

use hdrhistogram::Histogram;
use stadium_edge::{
    Audience as EdgeAudience, NewPush as EdgePush, PushId as EdgePushId, PushProgress, Refused,
};
use stadium_http::fleet::{
    Audience, ChannelName, DeviceId, LatencySummary, NewPush, Progress, PushId, PushReport, Qos, Refusal,
};
use stadium_mqtt::packet::QoS;

/// A push as the edge takes it.
pub(super) fn to_edge(push: NewPush) -> EdgePush {
    EdgePush {
        to: match push.to {
            Audience::Device(id) => EdgeAudience::Device(id.as_str().to_owned()),
            Audience::Devices(ids) => {
                EdgeAudience::Devices(ids.iter().map(|id| id.as_str().to_owned()).collect())
            }
            Audience::Channel(name) => EdgeAudience::Channel(name.as_str().to_owned()),
            Audience::Everybody => EdgeAudience::Everybody,
        },
        payload: push.payload.as_ref().into(),
        qos: match push.qos {
            Qos::AtMostOnce => QoS::AtMostOnce,
            Qos::AtLeastOnce => QoS::AtLeastOnce,
        },
        expiry: push.expiry,
        content_type: push.content_type,
        user_properties: push
            .user_properties
            .into_iter()
            .map(|property| (property.name, property.value))
            .collect(),
    }
}

/// Why the edge did not take it, for the API.
pub(super) fn refusal(refused: Refused) -> Refusal {
    match refused {
        Refused::Busy { retry_after } => {
            Refusal::Busy { retry_after, reason: "a loop's mailbox (limits.mailbox_max) is full".to_owned() }
        }
        Refused::Draining => {
            Refusal::Busy { retry_after: Duration::from_secs(5), reason: "the server is draining".to_owned() }
        }
        Refused::Audience(topic) => Refusal::Rejected {
            code: "NODE-007",
            reason: format!(
                "{topic:?} cannot be a topic: a name is too long or holds what MQTT forbids in topics"
            ),
        },
    }
}

/// The name of a push at the edge.
pub(super) fn edge_id(id: PushId) -> EdgePushId {
    EdgePushId(id.0)
}

/// The name of a push at the API.
pub(super) fn api_id(id: EdgePushId) -> PushId {
    PushId(id.0)
}

/// What the edge knows of a push, in the API's words.
pub(super) fn report(progress: &PushProgress) -> PushReport {
    let PushProgress { targeted, sent, acknowledged, expired, dropped, .. } = *progress;
    // What was found and is neither sent nor given up waits: kept for an absent device, or soon to be sent.
    let waiting = targeted.saturating_sub(sent + expired + dropped);
    let queued = progress.queued.min(waiting);
    let owed = waiting - queued;
    let unacknowledged = sent.saturating_sub(acknowledged + progress.unanswered);
    PushReport {
        id: api_id(progress.id),
        accepted_at: progress.accepted_at,
        to: audience(&progress.to),
        qos: match progress.qos {
            QoS::AtMostOnce => Qos::AtMostOnce,
            _ => Qos::AtLeastOnce,
        },
        payload_bytes: progress.payload_bytes as u64,
        progress: match progress.loops_left {
            0 if owed + unacknowledged == 0 => Progress::Settled,
            0 => Progress::Sending,
            _ if targeted + progress.not_connected > 0 => Progress::Sending,
            _ => Progress::Accepted,
        },
        counting: progress.loops_left > 0,
        targeted: targeted + progress.not_connected,
        sent,
        acknowledged,
        expired,
        dropped,
        not_connected: progress.not_connected + queued,
        queued,
        first_sent: progress.sent_between.map(|(first, _)| first),
        last_sent: progress.sent_between.map(|(_, last)| last),
        first_acknowledged: progress.acknowledged_between.map(|(first, _)| first),
        last_acknowledged: progress.acknowledged_between.map(|(_, last)| last),
        sent_latency: summary(&progress.sent_latency_us),
        acknowledged_latency: summary(&progress.acknowledged_latency_us),
    }
}

fn audience(audience: &EdgeAudience) -> Audience {
    let device = |id: &String| DeviceId::new(id.as_str()).expect("the API checked it on the way in");
    match audience {
        EdgeAudience::Device(id) => Audience::Device(device(id)),
        EdgeAudience::Devices(ids) => Audience::Devices(ids.iter().map(device).collect()),
        EdgeAudience::Channel(name) => {
            Audience::Channel(ChannelName::new(name.as_str()).expect("the API checked it on the way in"))
        }
        EdgeAudience::Everybody => Audience::Everybody,
    }
}

/// A histogram of microseconds in a few numbers.
fn summary(latency_us: &Histogram<u32>) -> LatencySummary {
    if latency_us.is_empty() {
        return LatencySummary::default();
    }
    let at = |part: f64| Duration::from_micros(latency_us.value_at_quantile(part));
    LatencySummary {
        count: latency_us.len(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: Duration::from_micros(latency_us.max()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn progress() -> PushProgress {
        let empty = || Histogram::new_with_bounds(1, 1_000_000, 2).expect("the bounds are allowed");
        PushProgress {
            id: EdgePushId(7),
            accepted_at: SystemTime::UNIX_EPOCH,
            to: EdgeAudience::Everybody,
            qos: QoS::AtLeastOnce,
            payload_bytes: 4,
            targeted: 0,
            sent: 0,
            unanswered: 0,
            acknowledged: 0,
            queued: 0,
            expired: 0,
            dropped: 0,
            not_connected: 0,
            loops_left: 1,
            sent_between: None,
            acknowledged_between: None,
            sent_latency_us: empty(),
            acknowledged_latency_us: empty(),
        }
    }

    #[test]
    fn a_push_is_settled_when_nothing_is_owed() {
        let base = progress();
        let state = |change: fn(&mut PushProgress)| {
            let mut progress = base.clone();
            change(&mut progress);
            report(&progress).progress
        };
        assert_eq!(state(|_| ()), Progress::Accepted);
        assert_eq!(state(|p| p.targeted = 3), Progress::Sending);
        assert_eq!(state(|p| p.loops_left = 0), Progress::Settled);
        assert_eq!(state(|p| (p.loops_left, p.targeted, p.sent) = (0, 3, 3)), Progress::Sending);
        assert_eq!(
            state(|p| (p.loops_left, p.targeted, p.sent, p.acknowledged) = (0, 3, 3, 3)),
            Progress::Settled
        );
        assert_eq!(
            state(|p| (p.loops_left, p.targeted, p.sent, p.unanswered) = (0, 3, 3, 3)),
            Progress::Settled
        );
        assert_eq!(state(|p| (p.loops_left, p.targeted, p.queued) = (0, 3, 3)), Progress::Settled);
    }

    #[test]
    fn until_every_loop_has_found_its_devices_the_count_goes_on() {
        let mut progress = progress();
        // One of two loops has reported.
        (progress.targeted, progress.sent) = (4_984, 4_984);
        assert!(report(&progress).counting);
        (progress.targeted, progress.sent, progress.loops_left) = (10_000, 10_000, 0);
        let report = report(&progress);
        assert!(!report.counting && report.progress == Progress::Sending, "{report:?}");
    }

    #[test]
    fn every_targeted_device_is_in_one_place() {
        let mut progress = progress();
        (progress.targeted, progress.sent, progress.queued, progress.dropped) = (10, 5, 7, 1);
        (progress.not_connected, progress.loops_left) = (2, 0);
        let report = report(&progress);
        let unsent = 0;
        assert_eq!(
            report.targeted,
            report.not_connected + report.dropped + report.expired + report.sent + unsent
        );
        assert_eq!((report.targeted, report.not_connected, report.queued), (12, 6, 4));
    }
}
