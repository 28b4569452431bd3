//! The rows that the issue asks for, with what each must reach, beside the bare loops of the same run.
//!
//! What is measured beyond them, for example a load that shares both cores, stands beside them without a bound.

use super::sizes::Sizes;
use super::{Side, away, broadcast, ingress, lights, registry, telemetry};
use crate::figure::{Better, Figure, Row, Samples, Sides};

/// Who is who. There are no peers.
const SIDES: Sides<Side> = Sides { product: Side::Stadium, peers: &[], limit: Side::Bare };
/// What share of the bare loop's deliveries a second a push aims for.
const BARE_SHARE: f64 = 0.7;

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Side>, sizes: &Sizes) -> Vec<Figure> {
    use Better::{Higher, Lower};
    let row = |measurement: &str, value: &str, figure: String, unit, better| Row {
        samples,
        sample: format!("{measurement}.{value}"),
        figure,
        unit,
        better,
    };
    let Sizes { registered, devices, connected, owed, connections, .. } = *sizes;
    let bounded = |row: Row<'_, Side>, must, aim| row.figure(&SIDES, must, aim);
    let plain = |row: Row<'_, Side>| row.figure(&SIDES, None, None);
    let push = format!("push to {connected} connected devices, QoS 1");
    let rate = row(
        lights::NAME,
        "deliveries_per_s",
        format!("{push}, from the request to the last"),
        "deliveries/s",
        Higher,
    );
    let bare = samples.median(&rate.sample, Side::Bare).map(|rate| rate * BARE_SHARE);
    let broadcast = format!("push to {devices} registered devices, {connected} of them connected");
    let back = format!("{connected} devices come back, {owed} messages in the inbox of each");
    let https = format!("HTTPS pushes to single devices of {devices}, {connections} kept connections");
    vec![
        bounded(
            row(
                registry::REGISTRY,
                "devices_per_gb",
                "registered devices (5 tags, 3 attributes) of a shard in 1 GB".to_owned(),
                "devices",
                Higher,
            ),
            Some(2_000_000.0),
            Some(5_000_000.0),
        ),
        plain(row(
            registry::REGISTRY,
            "bytes_each",
            format!("memory of each of {registered} devices"),
            "bytes",
            Lower,
        )),
        bounded(
            row(
                registry::AUDIENCE,
                "took_ms",
                format!("audience of and, or, not over 5 tags among {devices} devices, counted by the shard"),
                "ms",
                Lower,
            ),
            Some(5.0),
            Some(1.0),
        ),
        bounded(
            row(registry::AUDIENCE, "call_ms", "the same, over HTTP".to_owned(), "ms", Lower),
            Some(1.5),
            Some(1.0),
        ),
        plain(row(
            lights::NAME,
            "first_ms",
            format!("{push}: from the 202 to the first acknowledgement"),
            "ms",
            Lower,
        )),
        bounded(
            row(
                lights::NAME,
                "last_ms",
                format!("{push}: from the 202 to the last acknowledgement"),
                "ms",
                Lower,
            ),
            Some(500.0),
            None,
        ),
        bounded(rate, None, bare),
        bounded(
            row(
                broadcast::NAME,
                "first_of_request_ms",
                format!("{broadcast}: from the request to the first delivery"),
                "ms",
                Lower,
            ),
            Some(100.0),
            None,
        ),
        bounded(
            row(broadcast::NAME, "records", "records that it costs".to_owned(), "records", Lower),
            Some(f64::from(sizes.shards)),
            None,
        ),
        bounded(
            row(away::NAME, "all_s", format!("{back}: until all are acknowledged"), "s", Lower),
            Some(0.9),
            Some(0.5),
        ),
        bounded(
            row(away::SHARED, "all_s", format!("the same with {owed} pushes to everybody"), "s", Lower),
            Some(2.0),
            Some(1.0),
        ),
        bounded(
            row(
                ingress::NAME,
                "per_second",
                format!("{https}, accepted and durable, a core for each side"),
                "pushes/s",
                Higher,
            ),
            Some(20_000.0),
            Some(28_000.0),
        ),
        bounded(
            row(
                ingress::SHARED,
                "per_second",
                "the same, server and client on both cores".to_owned(),
                "pushes/s",
                Higher,
            ),
            Some(20_000.0),
            Some(28_000.0),
        ),
        bounded(
            row(
                ingress::BATCHES,
                "devices_per_second",
                format!("the same, each push to {} devices", ingress::BATCH),
                "devices/s",
                Higher,
            ),
            Some(300_000.0),
            None,
        ),
        bounded(cost(samples, "pushes_sampled", "a durable push, with 1 in 20 sampled"), Some(3.0), None),
        plain(cost(samples, "pushes_all", "the same, with each sampled")),
        bounded(cost(samples, "requests_sampled", "a request, with 1 in 20 sampled"), Some(3.0), None),
        plain(cost(samples, "requests_all", "the same, with each sampled")),
    ]
}

/// The CPU time that telemetry adds to something.
fn cost<'a>(samples: &'a Samples<Side>, value: &str, what: &str) -> Row<'a, Side> {
    Row {
        samples,
        sample: format!("{}.{value}_cost_percent", telemetry::NAME),
        figure: format!("CPU time that telemetry adds to {what}"),
        unit: "%",
        better: Better::Lower,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Side, Sizes, figures};
    use crate::figure::Samples;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        sizes: Sizes,
    }

    fn sizes() -> Sizes {
        Line::parse_from(["bench"]).sizes
    }

    #[test]
    fn the_defaults_are_the_published_rows() {
        assert!(sizes().is_published());
        assert!(!Sizes { devices: 10_000, ..sizes() }.is_published());
    }

    #[test]
    fn a_push_aims_at_its_share_of_the_bare_loop() {
        let mut samples = Samples::default();
        samples.add("lights.deliveries_per_s".into(), Side::Bare, 100_000.0);
        samples.add("lights.deliveries_per_s".into(), Side::Stadium, 69_000.0);
        let figures = figures(&samples, &sizes());
        let row = figures.iter().find(|figure| figure.unit == "deliveries/s").expect("a row");
        assert_eq!((row.aim, row.limit, row.verdict()), (Some(70_000.0), Some(100_000.0), "below the aim"));
    }

    #[test]
    fn a_broadcast_that_costs_a_record_more_has_missed() {
        let mut samples = Samples::default();
        samples.add("broadcast.records".into(), Side::Stadium, 2.0);
        let figures = figures(&samples, &sizes());
        let row = figures.iter().find(|figure| figure.unit == "records").expect("a row");
        assert_eq!(row.verdict(), "**missed**");
    }
}
