//! The two programs: what they store, find, refuse and finish.

use std::process::Output;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use stadium_example_geo::proto::{GeoEvent, geo};
use stadium_rpc::{CallError, Client, ClientConfig};

use crate::scenery::{PATIENCE, Service, text};

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
fn what_can_never_work_is_rejected_with_its_code() {
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
fn under_overload_the_rest_is_told_busy() {
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
fn sigterm_finishes_what_was_accepted_and_ends_with_0() {
    let mut service = Service::start(&["--work", "5000"]);
    let mut config = ClientConfig { deadline: PATIENCE, ..ClientConfig::at(vec![service.address]) };
    // What is declined is told to us, and not kept for a service that comes back.
    config.retry.attempts_max = 1;
    let client = Client::start(config).expect("the client starts");
    let geo_client = client.service(geo::NAME);
    let timestamp_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as u64;
    let event = |n| GeoEvent { device_id: format!("d{n}"), timestamp_ms, ..GeoEvent::default() };
    geo_client.call(&geo::STORE, &event(0)).wait().expect("the service serves");

    let calls: Vec<_> = (1..=50).map(|n| geo_client.call(&geo::STORE, &event(n))).collect();
    service.signal(Signal::TERM);
    let mut stored = 0;
    for call in calls {
        match call.wait() {
            Ok(_) => stored += 1,
            // Declined, and told so.
            Err(CallError::Busy { .. } | CallError::Unavailable(_)) => {}
            Err(lost) => panic!("an accepted call was lost: {lost}"),
        }
    }
    assert!(stored > 0, "the first of them had no reason to be declined");
    assert_eq!(service.wait().code(), Some(0));
}
