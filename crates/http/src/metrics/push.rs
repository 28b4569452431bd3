//! The figures of the push platform and of kept sessions, for Prometheus: one series for each shard.
//!
//! Gauges are of now. Counters begin anew when the process does, as all of the node's.

use stadium_metrics::table::pushes;

use crate::metrics::figure::Figure;

/// What there is.
pub(crate) fn gauges() -> [Figure; 12] {
    [
        (pushes::PUSH_APPS, |m| m.push.apps as f64),
        (pushes::PUSH_DEVICES, |m| m.push.devices as f64),
        (pushes::PUSH_CONNECTED, |m| m.push.connected as f64),
        (pushes::PUSH_OWED, |m| m.push.owed as f64),
        (pushes::PUSH_IN_FLIGHT, |m| m.push.in_flight as f64),
        (pushes::PUSH_SCHEDULED, |m| m.push.pushes_scheduled as f64),
        (pushes::PUSH_SENDING, |m| m.push.pushes_sending as f64),
        (pushes::PUSH_SETTLED, |m| m.push.pushes_settled as f64),
        (pushes::PUSH_SCHEDULES, |m| m.push.schedules as f64),
        (pushes::PUSH_AUDIENCES, |m| m.push.audiences as f64),
        (pushes::PUSH_STATE, |m| m.push_bytes as f64),
        (pushes::SESSION_STATE, |m| m.session_bytes as f64),
    ]
}

/// What happened.
pub(crate) fn counters() -> [Figure; 11] {
    [
        (pushes::PUSH_ACCEPTED, |m| m.push.accepted as f64),
        (pushes::PUSH_TARGETED, |m| m.push.targeted as f64),
        (pushes::PUSH_DISPATCHED, |m| m.push.dispatched as f64),
        (pushes::PUSH_ACKNOWLEDGED, |m| m.push.acknowledged as f64),
        (pushes::PUSH_REFUSED, |m| m.push.refused as f64),
        (pushes::PUSH_RETURNED, |m| m.push.returned as f64),
        (pushes::PUSH_EXPIRED, |m| m.push.expired as f64),
        (pushes::PUSH_COLLAPSED, |m| m.push.collapsed as f64),
        (pushes::PUSH_CROWDED_OUT, |m| m.push.crowded_out as f64),
        (pushes::PUSH_OPENED, |m| m.push.opened as f64),
        (pushes::PUSH_CLICKED, |m| m.push.clicked as f64),
    ]
}

#[cfg(test)]
mod tests {
    use stadium_push::Figures;
    use stadium_shard::ShardMetrics;

    use super::*;

    #[test]
    fn every_figure_is_read_once_under_a_name_of_its_own() {
        let push = Figures {
            apps: 1,
            devices: 2,
            connected: 3,
            owed: 4,
            in_flight: 5,
            pushes_scheduled: 6,
            pushes_sending: 7,
            pushes_settled: 8,
            schedules: 9,
            audiences: 10,
            accepted: 13,
            targeted: 14,
            dispatched: 15,
            acknowledged: 16,
            refused: 17,
            returned: 18,
            expired: 19,
            collapsed: 20,
            crowded_out: 21,
            opened: 22,
            clicked: 23,
        };
        let metrics = ShardMetrics { push, push_bytes: 11, session_bytes: 12, ..ShardMetrics::default() };
        let all: Vec<_> = gauges().into_iter().chain(counters()).collect();
        let read: Vec<f64> = all.iter().map(|(_, of)| of(&metrics)).collect();
        assert_eq!(read, (1..=23).map(f64::from).collect::<Vec<_>>());
        let mut names: Vec<_> = all.iter().map(|(row, _)| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 23);
    }
}
