//! Devices that behave as phones do, against a real mosquitto: what the broker sees of it, and what it costs.
//!
//! Times are short: what takes minutes on a phone takes tenths of a second here. Nothing sleeps:
//! runs end when the swarm reports that what they wait for has happened, or fail at a deadline.

use crate::broker;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use broker::Broker;
use stadium_load::run::Swarm;
use stadium_load::swarm::profile::{Address, Background, Carrier, Mixture, Profile, Radio, Weighted};
use stadium_load::swarm::{
    Back, ConnectPace, Level, Processes, Progress, Reconnect, Session, Span, StormShape, SwarmConfig,
    SwarmReport, Target, Traffic,
};
use stadium_mqtt::packet::QoS;

/// A run that takes longer has failed.
const DEADLINE: Duration = Duration::from_secs(60);
const DEVICES: u32 = 20;

fn span(text: &str) -> Span {
    text.parse().expect("a span")
}

/// A fleet of one profile, whose sessions are kept, in this process.
fn fleet(broker: &Broker, profile: Profile) -> SwarmConfig {
    SwarmConfig {
        targets: vec![Target::at(broker.address)],
        devices: DEVICES,
        processes: Processes::Here,
        session: Session::Kept { expiry_s: 60 },
        connect: ConnectPace { per_second: 1_000.0, in_flight_max: 100, timeout_ms: 20_000 },
        reconnect: Reconnect { delay_min_ms: 20, delay_max_ms: 100, attempts_max: 0 },
        profiles: Mixture { seed: 1, profiles: vec![Weighted { weight: 1.0, profile }] },
        ..SwarmConfig::default()
    }
}

fn broadcast(every_ms: u64, count: u32) -> Option<Traffic> {
    let topic = "channels/everybody".parse().expect("a template");
    Some(Traffic {
        topic,
        every_us: every_ms * 1_000,
        size: 100,
        qos: Level(QoS::AtLeastOnce),
        count: Some(count),
    })
}

fn run_until(config: SwarmConfig, done: impl Fn(&Progress) -> bool) -> SwarmReport {
    let swarm = Swarm::start(config).expect("the swarm starts");
    let control = swarm.control();
    let begun = Instant::now();
    let report = swarm
        .wait(&mut |progress| {
            if done(progress) {
                control.stop();
            }
            assert!(begun.elapsed() < DEADLINE, "it did not happen in time: {progress:#?}");
        })
        .expect("the swarm runs");
    assert_eq!((report.sums.malformed, report.sums.not_severed), (0, 0), "{report:#?}");
    assert!(report.lost_connections.is_empty() && report.refused.is_empty(), "{report:#?}");
    report
}

/// Lines of the broker about devices that hold this text.
fn logged(log: &[String], text: &str) -> usize {
    log.iter().filter(|line| line.contains("Client swarm-") && line.contains(text)).count()
}

/// The log without its messages.
fn log_text(log: &[String]) -> String {
    log.iter().filter(|line| line.contains("lient")).map(|line| format!("{line}\n")).collect()
}

/// Mosquitto's log of a connection whose peer closed or reset it without DISCONNECT.
const CLOSED: &str = "closed its connection";
/// Its words for a device that was silent for one and a half keep-alives.
const TIMED_OUT: &str = "exceeded timeout";
/// Its log of one whose client id connected again.
const TAKEN_OVER: &str = "already connected, closing old connection";

#[test]
fn a_stream_that_the_carrier_forgot_is_noticed_by_the_device_alone_and_nothing_is_lost() {
    let broker = Broker::logging();
    let profile = Profile {
        keep_alive: Some(span("2s")),
        ping_timeout: span("200ms"),
        carrier: Some(Carrier { forgets_after: span("300ms") }),
        ..Profile::steady()
    };
    let config = SwarmConfig { broadcast: broadcast(1_000, 4), ..fleet(&broker, profile) };
    let all = u64::from(DEVICES) * 4;
    let report = run_until(config, |progress| progress.sums.deliveries >= all && progress.now.severed == 0);
    let sums = &report.sums;
    assert_eq!((sums.deliveries, sums.lost), (all, 0), "{report:#?}");
    assert!(sums.culled >= u64::from(DEVICES) && report.latency.delivery_away.count > 0, "{report:#?}");
    // A ping leaves after three quarters of the keep-alive, and its answer is awaited for 200 ms.
    let notice = report.latency.notice;
    assert!(notice.count >= u64::from(DEVICES), "{report:#?}");
    assert!((1_000.0..2_500.0).contains(&notice.p50_ms), "{notice:?}");
    assert!(report.latency.back.p50_ms > notice.p50_ms, "{report:#?}");
    // To the broker each device was there until it came again: within the grace of its keep-alive.
    let log = broker.log();
    assert!(logged(&log, TAKEN_OVER) >= DEVICES as usize, "{}", log_text(&log));
    assert_eq!(logged(&log, TIMED_OUT), 0, "{}", log_text(&log));
    // But for those that the run's end found severed again: they are reset, as everything must end.
    assert!(logged(&log, CLOSED) <= report.at_end.severed as usize, "{report:#?}\n{}", log_text(&log));
}

#[test]
fn a_background_app_that_vanishes_is_connected_to_the_broker_until_its_keep_alive_runs_out() {
    let broker = Broker::logging();
    let profile = Profile {
        keep_alive: Some(span("1s")),
        // Mosquitto looks for silent clients every six seconds.
        background: Some(Background { every: span("200ms"), lasts: span("9s"), silent: 1.0 }),
        ..Profile::steady()
    };
    let config = SwarmConfig { broadcast: broadcast(100, 30), ..fleet(&broker, profile) };
    let all = u64::from(DEVICES) * 30;
    let report = run_until(config, |progress| progress.sums.deliveries >= all);
    let sums = &report.sums;
    assert_eq!((sums.deliveries, sums.lost), (all, 0), "{report:#?}");
    assert_eq!(sums.backgrounded, sums.backgrounded_silently);
    assert!(sums.sessions_resumed >= u64::from(DEVICES), "{report:#?}");
    assert!(report.latency.delivery_away.max_ms > 1_000.0, "{report:#?}");
    let log = broker.log();
    assert!(logged(&log, TIMED_OUT) >= DEVICES as usize, "{}", log_text(&log));
    assert_eq!(logged(&log, TAKEN_OVER), 0, "the grace was over before they were back: {}", log_text(&log));
    assert_eq!(sums.resets_seen, 0, "{report:#?}");
}

#[test]
fn an_app_that_disconnects_gets_what_it_missed() {
    let broker = Broker::logging();
    let profile = Profile {
        background: Some(Background { every: span("100ms..500ms"), lasts: span("500ms"), silent: 0.0 }),
        ..Profile::steady()
    };
    let config = SwarmConfig { broadcast: broadcast(50, 40), ..fleet(&broker, profile) };
    let all = u64::from(DEVICES) * 40;
    let report = run_until(config, |progress| progress.sums.deliveries >= all);
    let sums = &report.sums;
    assert_eq!((sums.deliveries, sums.lost, sums.duplicates), (all, 0, 0), "{report:#?}");
    assert!(sums.backgrounded >= u64::from(DEVICES) && sums.backgrounded_silently == 0, "{report:#?}");
    let waited = report.latency.delivery_away;
    assert!(waited.count > 0 && waited.p50_ms < 1_500.0, "{report:#?}");
    assert_eq!(report.latency.delivery.count + waited.count, all, "each message is in one of them");
    let log = broker.log();
    assert_eq!(
        (logged(&log, TIMED_OUT), logged(&log, TAKEN_OVER), logged(&log, CLOSED)),
        (0, 0, 0),
        "{}",
        log_text(&log)
    );
}

#[test]
fn a_device_whose_address_changes_comes_back_at_once_from_another() {
    let broker = Broker::logging();
    let profile =
        Profile { address: Some(Address { changes_every: span("300ms..600ms") }), ..Profile::steady() };
    let config = SwarmConfig { broadcast: broadcast(20, 60), ..fleet(&broker, profile) };
    let all = u64::from(DEVICES) * 60;
    let report = run_until(config, |progress| {
        progress.sums.deliveries >= all && progress.sums.addresses_changed >= 3 * u64::from(DEVICES)
    });
    let sums = &report.sums;
    assert_eq!((sums.deliveries, sums.lost), (all, 0), "{report:#?}");
    assert!(report.latency.back.count >= 2 * u64::from(DEVICES), "{report:#?}");
    assert!(report.latency.back.p50_ms < 500.0, "{report:#?}");
    let mut addresses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let log = broker.log();
    for line in &log {
        // 1732300000: New client connected from 127.0.0.3:40000 as swarm-7 (p5, c0, k60).
        let Some((_, rest)) = line.split_once("connected from ") else { continue };
        let mut words = rest.split(' ');
        let (Some(address), Some(id)) = (words.next(), words.nth(1)) else { continue };
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        addresses.entry(id.to_owned()).or_default().insert(host.to_owned());
    }
    addresses.retain(|id, _| id != "swarm-broadcaster");
    assert_eq!(addresses.len(), DEVICES as usize, "{}", log_text(&log));
    assert!(addresses.values().all(|hosts| hosts.len() >= 3), "{addresses:?}");
    assert!(logged(&log, TAKEN_OVER) >= 2 * DEVICES as usize, "{}", log_text(&log));
}

#[test]
fn a_sleeping_radio_makes_messages_late_and_loses_none() {
    let broker = Broker::start();
    let profile = Profile {
        radio: Some(Radio { sleeps_after: span("100ms"), lasts: span("400ms") }),
        ..Profile::steady()
    };
    let uplink = Traffic {
        topic: "uplink/{id}/swarm".parse().expect("a template"),
        every_us: 700_000,
        size: 64,
        qos: Level(QoS::AtLeastOnce),
        count: Some(4),
    };
    let config =
        SwarmConfig { broadcast: broadcast(250, 10), uplink: Some(uplink), ..fleet(&broker, profile) };
    let all = u64::from(DEVICES) * 10;
    let report = run_until(config, |progress| {
        progress.sums.deliveries >= all
            && progress.sums.uplinks_deferred > 0
            && progress.sums.uplinks_acknowledged == progress.sums.uplinks
    });
    let sums = &report.sums;
    assert_eq!((sums.deliveries, sums.lost, sums.duplicates), (all, 0, 0), "{report:#?}");
    assert!(sums.slept >= u64::from(DEVICES), "{report:#?}");
    let late = report.latency.delivery_asleep;
    assert!(late.count > all / 4, "most of them wait: {report:#?}");
    assert!(late.p50_ms > 50.0 && late.p50_ms < 450.0, "{late:?}");
    assert_eq!(report.latency.delivery.count + late.count, all, "each message is in one of them");
    assert!(report.latency.uplink.max_ms > 100.0, "an uplink that waits counts from its time: {report:#?}");
    assert_eq!(sums.attempts, u64::from(DEVICES), "no device had to reconnect");
}

#[test]
fn storms_hit_a_share_again_and_again() {
    let broker = Broker::start();
    let config = SwarmConfig {
        devices: 200,
        storm_after_ms: Some(0),
        storm: StormShape { share: 0.3, every_ms: Some(600), over_ms: 200, back: Back::Later },
        ..fleet(&broker, Profile::steady())
    };
    let report =
        run_until(config, |progress| progress.sums.subscribed >= 200 + 150 && progress.now.up == 200);
    assert!(report.storms.len() >= 2, "{report:#?}");
    for storm in &report.storms[..2] {
        assert!((30..=90).contains(&storm.cut), "about 60 of 200: {storm:?}");
        assert_eq!(storm.back, storm.cut, "{:?}", report.storms);
        assert!(storm.all_back_s > 0.1, "the last is cut towards the end of 0.2 s: {storm:?}");
    }
    assert_eq!(report.profiles, [("steady".to_owned(), 200)].into());
}
