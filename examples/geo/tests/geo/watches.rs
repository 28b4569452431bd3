//! `Watch`: the last locations first, then what is newer; as much as the watcher has credit for; and its end.

use std::collections::BTreeMap;

use rustix::process::Signal;
use stadium_example_geo::proto::{GeoEvent, WatchRequest, geo};
use stadium_rpc::{CallOptions, Client, ClientConfig, ServiceClient, Streaming};

use crate::fixture::{PATIENCE, Service};

fn client(service: &Service) -> ServiceClient {
    let config = ClientConfig { deadline: PATIENCE, ..ClientConfig::at(vec![service.address]) };
    Client::start(config).expect("the client starts").service(geo::NAME)
}

fn store(client: &ServiceClient, device: &str, timestamp_ms: u64) {
    let event = GeoEvent { device_id: device.to_owned(), timestamp_ms, latitude: 1.0, ..GeoEvent::default() };
    client.call(&geo::STORE, &event).wait().expect("it is stored");
}

fn next(events: &mut Streaming<GeoEvent>) -> (String, u64) {
    let event = events.next_within(PATIENCE).expect("the stream goes on").expect("it does not end");
    (event.device_id, event.timestamp_ms)
}

#[test]
fn a_watcher_hears_the_last_locations_then_the_newer_ones_until_the_instance_leaves() {
    let mut service = Service::start(&["--loops", "2"]);
    let client = client(&service);
    store(&client, "a", 1);
    store(&client, "b", 1);
    let mut all = client.stream(&geo::WATCH, &WatchRequest { with_last: true }, 16, &CallOptions::default());
    let mut first = [next(&mut all), next(&mut all)];
    first.sort();
    assert_eq!(first, [("a".to_owned(), 1), ("b".to_owned(), 1)]);
    let mut later = client.stream(&geo::WATCH, &WatchRequest::default(), 16, &CallOptions::default());
    // An event that is stored before a watch has begun is no news to it: once it reports one, it
    // has begun.
    let mut at = 2;
    let event = loop {
        store(&client, "a", at);
        match later.next_within(std::time::Duration::from_millis(100)) {
            Ok(event) => break event.expect("it does not end"),
            Err(_) => at += 1,
        }
    };
    assert_eq!(event.device_id, "a");
    assert!((2..=at).contains(&event.timestamp_ms));
    store(&client, "a", 1);
    store(&client, "b", at + 1);
    while next(&mut all) != ("b".to_owned(), at + 1) {}

    service.signal(Signal::TERM);
    while all.next_within(PATIENCE).expect("the stream ends as it should").is_some() {}
    while later.next_within(PATIENCE).expect("this one too").is_some() {}
    assert_eq!(service.wait().code(), Some(0));
}

#[test]
fn a_slow_watcher_gets_the_newest_location_of_each_device() {
    const EVENTS: u64 = 2_000;
    let service = Service::start(&[]);
    let client = client(&service);
    store(&client, "a", 1);
    let mut events =
        client.stream(&geo::WATCH, &WatchRequest { with_last: true }, 1, &CallOptions::default());
    assert_eq!(next(&mut events), ("a".to_owned(), 1));
    for at in 2..=EVENTS {
        store(&client, if at % 2 == 0 { "a" } else { "b" }, at);
    }
    let mut last = BTreeMap::new();
    let mut received = 0;
    while last.get("a") != Some(&EVENTS) || last.get("b") != Some(&(EVENTS - 1)) {
        let (device, at) = next(&mut events);
        assert!(last.insert(device, at).is_none_or(|before| before < at), "an older one came later");
        received += 1;
    }
    assert!(received <= 6, "{received} events were sent to a watcher that was away for all but the last");
}
