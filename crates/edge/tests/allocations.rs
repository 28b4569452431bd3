//! A warm edge allocates nothing for a delivery: counted, not believed.
//!
//! The allocator counts what every thread but the test's own allocates, which is the loop. The
//! behaviours run one after the other in one test, because they share that count.

#[path = "../../../testing/counting.rs"]
mod counting;
mod support;

use std::sync::Arc;
use std::time::Duration;

use counting::Counting;
use stadium_edge::Edge;
use stadium_mqtt::packet::QoS;
use stadium_telemetry::{Exporter, Protocol, Sampling};
use support::{Client, Heard, open_edge, open_edge_with};

#[global_allocator]
static ALLOCATOR: Counting = Counting::all_threads_but();

const DEVICES: usize = 50;
const WARM_UP: usize = 200;
const ROUNDS: usize = 200;

/// One message to every device, acknowledged where its QoS asks for it.
fn fan_out(sender: &mut Client, devices: &mut [Client], qos: QoS) {
    sender.publish("channels/everybody", &[7; 100], qos, 1);
    for device in devices.iter_mut() {
        let Heard::Publish { packet_id, .. } = device.hear() else { panic!("a delivery") };
        if qos == QoS::AtLeastOnce {
            device.acknowledge(packet_id);
        }
    }
    if qos == QoS::AtLeastOnce {
        assert_eq!(sender.hear(), Heard::Puback(1));
    }
}

fn counted(mut round: impl FnMut()) -> u64 {
    (0..WARM_UP).for_each(|_| round());
    let before = counting::allocations();
    (0..ROUNDS).for_each(|_| round());
    counting::allocations() - before
}

/// An exporter that samples what its callers sample: here nothing.
fn exporter() -> Exporter {
    let hour = Duration::from_secs(3_600);
    let config = stadium_telemetry::Config {
        endpoint: "http://127.0.0.1:9".to_owned(),
        protocol: Protocol::Http,
        headers: Vec::new(),
        authorities: Arc::default(),
        timeout: Duration::from_secs(1),
        queue_spans_max: 512,
        spans_every: hour,
        metrics_every: Duration::ZERO,
        sampling: Sampling { ratio: 0.0, errors: true, slower_than: None },
        devices_per_push_max: 16,
        resource: Vec::new(),
        version: String::new(),
    };
    Exporter::start(&config, Box::new(Vec::new)).expect("a thread can be started")
}

#[test]
fn a_warm_delivery_allocates_nothing() {
    counting::name(true);
    allocates_nothing(&open_edge(1));
    // The same where telemetry is on, and messages are not sampled.
    let exporter = exporter();
    allocates_nothing(&open_edge_with(1, |config| config.tracer = exporter.tracer().clone()));
}

fn allocates_nothing(edge: &Edge) {
    let before = counting::allocations();
    let mut devices: Vec<Client> = (0..DEVICES)
        .map(|number| {
            let inbox = format!("inbox/d{number}");
            Client::device(edge, &format!("d{number}"), &[&inbox, "channels/everybody"])
        })
        .collect();
    assert!(counting::allocations() > before, "the counter counts the loop");
    let mut sender = Client::device(edge, "sender", &[]);

    for qos in [QoS::AtMostOnce, QoS::AtLeastOnce] {
        let allocations = counted(|| fan_out(&mut sender, &mut devices, qos));
        assert_eq!(allocations, 0, "for {} deliveries by fan-out at {qos:?}", ROUNDS * DEVICES);

        let device = &mut devices[0];
        let allocations = counted(|| {
            sender.publish("inbox/d0", &[7; 100], qos, 1);
            let Heard::Publish { packet_id, .. } = device.hear() else { panic!("a delivery") };
            if qos == QoS::AtLeastOnce {
                device.acknowledge(packet_id);
                assert_eq!(sender.hear(), Heard::Puback(1));
            }
        });
        assert_eq!(allocations, 0, "for {ROUNDS} deliveries one to one at {qos:?}");
    }
}
