//! The figures of the push platform and of kept sessions, for Prometheus: one series for each shard.
//!
//! Gauges are of now. Counters begin anew when the process does, as all of the node's.

use crate::metrics::figure::{Figure, bytes};

/// What there is.
pub(crate) fn gauges() -> [Figure; 12] {
    [
        ("push_apps", "Apps", None, |m| m.push.apps as f64),
        ("push_devices", "Registered devices", None, |m| m.push.devices as f64),
        ("push_connected", "Registered devices that are connected and read their inbox", None, |m| {
            m.push.connected as f64
        }),
        ("push_owed", "Deliveries that devices are owed", None, |m| m.push.owed as f64),
        ("push_in_flight", "Deliveries sent and not acknowledged", None, |m| m.push.in_flight as f64),
        ("push_scheduled", "Pushes that wait for their time", None, |m| m.push.pushes_scheduled as f64),
        ("push_sending", "Pushes that somebody is owed", None, |m| m.push.pushes_sending as f64),
        ("push_settled", "Pushes that nobody is owed any more, remembered", None, |m| {
            m.push.pushes_settled as f64
        }),
        ("push_schedules", "Schedules", None, |m| m.push.schedules as f64),
        ("push_audiences", "Saved audiences", None, |m| m.push.audiences as f64),
        ("push_state", "Memory of the push platform", bytes(), |m| m.push_bytes as f64),
        ("session_state", "Memory of kept sessions and retained messages", bytes(), |m| {
            m.session_bytes as f64
        }),
    ]
}

/// What happened.
pub(crate) fn counters() -> [Figure; 11] {
    [
        ("push_accepted", "Pushes that came, those of schedules and of other shards included", None, |m| {
            m.push.accepted as f64
        }),
        ("push_deliveries_targeted", "Deliveries that were to be made", None, |m| m.push.targeted as f64),
        ("push_deliveries_dispatched", "Deliveries handed to the edge", None, |m| m.push.dispatched as f64),
        ("push_deliveries_acknowledged", "Deliveries that devices acknowledged; at QoS 0: sent", None, |m| {
            m.push.acknowledged as f64
        }),
        ("push_deliveries_refused", "Deliveries that devices refused, or that were too large", None, |m| {
            m.push.refused as f64
        }),
        ("push_deliveries_returned", "Deliveries that the edge gave back", None, |m| m.push.returned as f64),
        ("push_deliveries_expired", "Deliveries that expired", None, |m| m.push.expired as f64),
        ("push_deliveries_collapsed", "Deliveries ended by a newer push", None, |m| m.push.collapsed as f64),
        ("push_deliveries_crowded_out", "Deliveries ended by a full inbox", None, |m| {
            m.push.crowded_out as f64
        }),
        ("push_opened", "Deliveries reported as opened", None, |m| m.push.opened as f64),
        ("push_clicked", "Deliveries reported as clicked", None, |m| m.push.clicked as f64),
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
        let read: Vec<f64> = all.iter().map(|(_, _, _, of)| of(&metrics)).collect();
        assert_eq!(read, (1..=23).map(f64::from).collect::<Vec<_>>());
        let mut names: Vec<_> = all.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 23);
    }
}
