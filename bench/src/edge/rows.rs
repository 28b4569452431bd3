//! The rows: each figure that the product promises, from which samples, against which thresholds.
//!
//! A threshold that leans on a peer or on the bare loop uses that one's median of the same run.

use crate::figure::{Better, Figure, Samples};
use crate::server::Kind;

/// Servers that stand in the results as peers.
pub(super) const PEERS: &[Kind] =
    &[Kind::Mosquitto, Kind::Nats, Kind::NatsMqtt, Kind::Rumqttd, Kind::Mochi, Kind::HiveMq];

/// A threshold: an absolute number, or a share of what somebody else reached in this run.
#[derive(Clone, Copy)]
enum Threshold {
    None,
    Number(f64),
    OfMosquitto(f64),
    OfBestPeer(f64),
    OfBareLoop(f64),
    /// Of the bare loop's value of the same row.
    OfBareHere(f64),
}

/// One row.
struct Row {
    figure: &'static str,
    unit: &'static str,
    better: Better,
    /// Measurement and value.
    sample: &'static str,
    must: Threshold,
    aim: Threshold,
}

use Better::{Higher, Lower};
use Threshold::{None as Nothing, Number, OfBareHere, OfBareLoop, OfBestPeer, OfMosquitto};

/// Deliveries a second of the bare loop, one message at a time: the limit that shares are taken of.
const BARE_RATE: &str = "fanout-1.deliveries_per_s";

const ROWS: &[Row] = &[
    Row {
        figure: "own memory for each idle device with two subscriptions",
        unit: "B",
        better: Lower,
        sample: "memory.bytes_per_device",
        must: OfMosquitto(0.5),
        aim: Number(350.0),
    },
    Row {
        figure: "own memory for each idle device over TLS 1.3",
        unit: "B",
        better: Lower,
        sample: "tls-memory.bytes_per_device",
        must: Number(6.0 * 1024.0),
        aim: Number(2.0 * 1024.0),
    },
    Row {
        figure: "fan-out to 10,000 devices, 100 B, one message at a time, QoS 0",
        unit: "deliveries/s",
        better: Higher,
        sample: BARE_RATE,
        must: OfBareLoop(0.85),
        aim: OfBareLoop(0.95),
    },
    Row {
        figure: "fan-out to 10,000 devices, 8 messages in flight",
        unit: "deliveries/s",
        better: Higher,
        sample: "fanout-8.deliveries_per_s",
        must: Number(500_000.0),
        aim: Number(1_000_000.0),
    },
    Row {
        figure: "QoS 1 fan-out to 10,000 devices, acknowledged",
        unit: "deliveries/s",
        better: Higher,
        sample: "fanout-qos1.deliveries_per_s",
        must: OfMosquitto(3.0),
        aim: OfBareLoop(0.5),
    },
    Row {
        figure: "100 pairs, QoS 0",
        unit: "messages/s",
        better: Higher,
        sample: "pairs-qos0.messages_per_s",
        must: OfBestPeer(1.3),
        aim: Number(800_000.0),
    },
    Row {
        figure: "100 pairs, QoS 1",
        unit: "messages/s",
        better: Higher,
        sample: "pairs-qos1.messages_per_s",
        must: OfBestPeer(1.3),
        aim: Number(400_000.0),
    },
    Row {
        figure: "metric events of those messages, counted while /metrics is read ten times a second",
        unit: "events/s",
        better: Higher,
        sample: "pairs-scraped.events_per_s",
        must: Number(231_000.0),
        aim: Nothing,
    },
    Row {
        figure: "100 pairs, QoS 0, meanwhile",
        unit: "messages/s",
        better: Higher,
        sample: "pairs-scraped.messages_per_s",
        must: Nothing,
        aim: Nothing,
    },
    Row {
        figure: "connects with CONNECT and two SUBSCRIBEs",
        unit: "connects/s",
        better: Higher,
        sample: "connects.connects_per_s",
        must: OfBareHere(0.85),
        aim: OfBareHere(0.95),
    },
    Row {
        figure: "storm: 10,000 devices cut and all back",
        unit: "s",
        better: Lower,
        sample: "connects.storm_s",
        must: Number(1.0),
        aim: Number(0.5),
    },
    Row {
        figure: "allocations for each QoS 0 delivery once warm",
        unit: "allocations",
        better: Lower,
        sample: "allocations-qos0.allocations_per_delivery",
        must: Number(0.0),
        aim: Number(0.0),
    },
    Row {
        figure: "allocations for each QoS 1 delivery once warm",
        unit: "allocations",
        better: Lower,
        sample: "allocations-qos1.allocations_per_delivery",
        must: Number(0.0),
        aim: Number(0.0),
    },
    Row {
        figure: "gain of both cores over one, fan-out one message at a time, read by a client that leaves the machine to the server",
        unit: "times",
        better: Higher,
        sample: "both-cores.gain",
        must: Number(1.7),
        aim: Number(1.9),
    },
    Row {
        figure: "devices connected at once, six servers and six clients",
        unit: "devices",
        better: Higher,
        sample: "fleet.devices",
        must: Number(100_000.0),
        aim: Nothing,
    },
    Row {
        figure: "that fleet: connects, all processes on this machine",
        unit: "connects/s",
        better: Higher,
        sample: "fleet.connects_per_s",
        must: Nothing,
        aim: Nothing,
    },
    Row {
        figure: "that fleet: HTTP push to everybody at QoS 1, until the last device has it",
        unit: "s",
        better: Lower,
        sample: "fleet.push_s",
        must: Nothing,
        aim: Nothing,
    },
    Row {
        figure: "server's CPU time for each delivery, fan-out one message at a time",
        unit: "us",
        better: Lower,
        sample: "fanout-1.server_cpu_us_per_delivery",
        must: Nothing,
        aim: Nothing,
    },
    Row {
        figure: "server's CPU time for each message, 100 pairs, QoS 0",
        unit: "us",
        better: Lower,
        sample: "pairs-qos0.server_cpu_us_per_message",
        must: Nothing,
        aim: Nothing,
    },
    Row {
        figure: "latency of a delivery, fan-out one message at a time, 99th percentile",
        unit: "us",
        better: Lower,
        sample: "fanout-1.latency_p99_us",
        must: Nothing,
        aim: Nothing,
    },
];

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Kind>) -> Vec<Figure> {
    ROWS.iter().map(|row| figure(row, samples)).collect()
}

fn figure(row: &Row, samples: &Samples<Kind>) -> Figure {
    let peers = samples.medians(row.sample, PEERS);
    let threshold = |threshold: Threshold| match threshold {
        Threshold::None => None,
        Number(number) => Some(number),
        OfMosquitto(share) => Some(samples.median(row.sample, Kind::Mosquitto)? * share),
        OfBareLoop(share) => Some(samples.median(BARE_RATE, Kind::Bare)? * share),
        OfBareHere(share) => Some(samples.median(row.sample, Kind::Bare)? * share),
        OfBestPeer(share) => Some(peers.values().copied().reduce(f64::max)? * share),
    };
    let (must, aim) = (threshold(row.must), threshold(row.aim));
    Figure {
        figure: row.figure.to_owned(),
        unit: row.unit,
        better: row.better,
        runs: samples.runs(row.sample, Kind::Stadium).to_vec(),
        value: samples.median(row.sample, Kind::Stadium),
        must,
        aim,
        peers,
        limit: samples.median(row.sample, Kind::Bare),
    }
}

#[cfg(test)]
mod tests {
    use super::figures;
    use crate::figure::Samples;
    use crate::server::Kind;

    #[test]
    fn thresholds_lean_on_the_same_run() {
        let mut samples = Samples::default();
        for value in [90.0, 100.0, 110.0] {
            samples.add("fanout-1.deliveries_per_s".into(), Kind::Bare, value);
            samples.add("fanout-1.deliveries_per_s".into(), Kind::Stadium, value - 8.0);
        }
        let figures = figures(&samples);
        let fanout = figures.iter().find(|figure| figure.figure.contains("one message at a time, QoS 0"));
        let fanout = fanout.expect("the row is in the table");
        assert_eq!((fanout.value, fanout.must, fanout.limit), (Some(92.0), Some(85.0), Some(100.0)));
        assert_eq!(fanout.verdict(), "must");
    }

    #[test]
    fn a_row_without_samples_is_not_measured() {
        assert!(figures(&Samples::default()).iter().all(|figure| figure.verdict() == "not measured"));
    }
}
