//! The two programs: what they store, find, refuse and finish.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::process::Output;

use rustix::process::Signal;
use stadium_example_geo::proto::{Circle, geo};
use stadium_rpc::{CallOptions, Client, ClientConfig};

use crate::fixture::{PATIENCE, Service, text, until};

/// The four numbers of a storm's first line: stored, busy, rejected, failed.
fn tally(output: &Output) -> [u64; 4] {
    let line = text(&output.stdout).lines().next().unwrap_or_default();
    let numbers: Vec<u64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let counts = numbers.get(..4).unwrap_or_else(|| panic!("no tally in {line:?}, {}", text(&output.stderr)));
    counts.try_into().expect("four numbers")
}

#[test]
fn an_event_is_stored_and_found_again() {
    let service = Service::start(&[]);

    let stored = service.client(&["--device", "phone-1", "--lat", "37.98", "--lon", "23.73"]);
    assert!(stored.status.success(), "{}", text(&stored.stderr));
    assert_eq!(text(&stored.stdout).trim(), "Ok");

    let last = service.client(&["--last", "phone-1"]);
    assert!(text(&last.stdout).starts_with("phone-1 37.98 23.73 "), "{last:?}");
    let near = service.client(&["--near", "37.9,23.7,20000"]);
    assert!(text(&near.stdout).starts_with("phone-1 37.98 23.73 "), "{near:?}");
    let far = service.client(&["--near", "-37.9,23.7,20000"]);
    assert_eq!((far.status.success(), text(&far.stdout)), (true, ""));
}

#[test]
fn impossible_requests_are_rejected_with_their_code() {
    let service = Service::start(&[]);
    for (flags, code) in [
        (&["--device", "phone-1", "--lat", "95", "--lon", "0"][..], "GEO-001"),
        (&["--device", "phone-1", "--lat", "0", "--lon", "-181"], "GEO-002"),
        (&["--device", "", "--lat", "0", "--lon", "0"], "GEO-003"),
        (&["--last", "nobody"], "GEO-004"),
        (&["--near", "0,0,-1"], "GEO-005"),
    ] {
        let output = service.client(flags);
        assert_eq!(output.status.code(), Some(1), "{flags:?}");
        assert!(text(&output.stderr).contains(code), "{flags:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_storm_is_stored_whole() {
    let service = Service::start(&["--loops", "2"]);
    let output = service.client(&["--events", "5000", "--devices", "100", "--in-flight", "32"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(tally(&output), [5000, 0, 0, 0]);

    let near = service.client(&["--near", "0,0,20100000"]);
    assert_eq!(text(&near.stdout).lines().count(), 100, "half the way round the earth is everywhere");
}

#[test]
fn under_overload_the_rest_is_answered_busy() {
    // One event takes 2 ms, so that 500 at once are a second's work; 10 ms of it may wait.
    let service = Service::start(&["--work", "2000"]);
    let output = service.client(&["--events", "1000", "--in-flight", "500", "--deadline", "30000"]);
    let [stored, busy, rejected, failed] = tally(&output);
    assert!(stored > 0 && busy > 0, "{stored} stored, {busy} busy");
    assert_eq!((rejected, failed, stored + busy), (0, 0, 1000));
}

#[test]
fn a_full_store_is_busy_for_new_devices_only() {
    let service = Service::start(&["--devices-max", "1"]);
    assert!(service.client(&["--device", "a", "--lat", "1", "--lon", "1"]).status.success());
    let other = service.client(&["--device", "b", "--lat", "1", "--lon", "1"]);
    assert!(text(&other.stderr).contains("busy, retry after 60000 ms"), "{}", text(&other.stderr));
    assert!(service.client(&["--device", "a", "--lat", "2", "--lon", "2"]).status.success());
}

#[test]
fn sigterm_finishes_accepted_requests_and_ends_with_0() {
    // Given a service that is in the midst of a stream, because its caller takes one event at a time,
    let mut service = Service::start(&[]);
    assert!(service.client(&["--events", "200", "--devices", "20"]).status.success());
    let config = ClientConfig { deadline: PATIENCE, ..ClientConfig::at(vec![service.address]) };
    let client = Client::start(config).expect("the client starts").service(geo::NAME);
    let everywhere = Circle { radius_m: 20_100_000.0, ..Circle::default() };
    let mut events = client.stream(&geo::NEAR, &everywhere, 1, &CallOptions::default());
    let mut next = || events.next_within(PATIENCE).expect("the stream goes on");
    let first = next().expect("a device is known");

    // when it is asked to leave, and takes no new caller any more,
    service.signal(Signal::TERM);
    until("the service to take no new connection", || TcpStream::connect(service.address).is_err());

    // then the stream goes on to its end, and the process ends after it.
    let mut devices = BTreeSet::from([first.device_id]);
    while let Some(event) = next() {
        devices.insert(event.device_id);
    }
    assert_eq!(devices.len(), 20);
    assert_eq!(service.wait().code(), Some(0));
}
