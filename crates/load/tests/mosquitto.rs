//! The swarm against a real broker: mosquitto, over every transport and version, in this process and in workers.
//!
//! The harness is our own because workers are this same binary: called with a worker's arguments it
//! is one. Nothing sleeps: runs end when the swarm reports that what they wait for has happened, or
//! fail at a deadline.

mod broker;

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use broker::Broker;
use broker::relay::Relay;
use clap::Parser;
use libtest_mimic::{Arguments, Failed, Trial};
use stadium_load::run::Swarm;
use stadium_load::swarm::{
    Acknowledge, ConnectPace, Ended, Level, Processes, Progress, Protocol, Reconnect, Resumption, Session,
    SwarmConfig, SwarmReport, Target, Tls, Traffic, Transport, Trust,
};
use stadium_load::workers::proto::{self, load_worker};
use stadium_load::workers::{self, WORKER_ARGUMENTS, Worker, WorkerArgs, WorkerConfig};
use stadium_mqtt::packet::QoS;
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig};

/// A run that takes longer has failed.
const DEADLINE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).take(2).collect();
    if given == WORKER_ARGUMENTS {
        let own = Own::parse_from(std::env::args().skip(2));
        return match workers::serve(&own.worker, None, workers::compile_scenario) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    if given.first().map(String::as_str) == Some(PARENT) {
        parent(given[1].parse().expect("an address"));
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    // Two processors: more at once would measure each other.
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let tests: [(&str, fn()); 20] = [
        ("every_device_hears_every_broadcast", every_device_hears_every_broadcast),
        ("every_device_hears_every_broadcast_in_3_1_1", every_device_hears_every_broadcast_in_3_1_1),
        ("workers_hold_their_part_and_figures_add_up", workers_hold_their_part_and_figures_add_up),
        ("a_dead_worker_is_reported", a_dead_worker_is_reported),
        ("a_device_costs_less_than_300_bytes", a_device_costs_less_than_300_bytes),
        ("a_workers_loop_is_pinned_as_it_was_asked", a_workers_loop_is_pinned_as_it_was_asked),
        ("a_worker_ends_with_its_parent", a_worker_ends_with_its_parent),
        ("orders_that_a_worker_cannot_follow_are_reported", orders_that_a_worker_cannot_follow_are_reported),
        ("devices_cut_at_once_are_all_back", devices_cut_at_once_are_all_back),
        ("kept_sessions_are_resumed", kept_sessions_are_resumed),
        ("uplinks_are_acknowledged_at_each_qos", uplinks_are_acknowledged_at_each_qos),
        ("devices_that_think_acknowledge_later", devices_that_think_acknowledge_later),
        (
            "devices_that_never_acknowledge_meet_the_brokers_window",
            devices_that_never_acknowledge_meet_the_brokers_window,
        ),
        ("tls_devices_believe_their_authority_alone", tls_devices_believe_their_authority_alone),
        ("devices_come_over_websocket", devices_come_over_websocket),
        ("refused_devices_give_up_and_are_counted", refused_devices_give_up_and_are_counted),
        (
            "devices_of_a_broker_that_is_gone_try_the_next_target",
            devices_of_a_broker_that_is_gone_try_the_next_target,
        ),
        ("devices_return_when_the_broker_does", devices_return_when_the_broker_does),
        ("a_silent_broker_is_noticed_by_keep_alive", a_silent_broker_is_noticed_by_keep_alive),
        ("an_interrupted_swarm_reports_what_it_has", an_interrupted_swarm_reports_what_it_has),
    ];
    let tests = tests
        .into_iter()
        .map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok::<(), Failed>(())
            })
        })
        .collect();
    libtest_mimic::run(&arguments, tests).exit_code()
}

#[derive(Parser)]
struct Own {
    #[command(flatten)]
    worker: WorkerArgs,
}

/// A fleet that arrives fast, in this process.
fn fleet(broker: &Broker, devices: u32) -> SwarmConfig {
    fleet_to(broker.address, devices)
}

fn fleet_to(address: SocketAddr, devices: u32) -> SwarmConfig {
    SwarmConfig {
        targets: vec![Target::at(address)],
        devices,
        processes: Processes::Here,
        connect: ConnectPace { per_second: 2_000.0, in_flight_max: 100, timeout_ms: 20_000 },
        ..SwarmConfig::default()
    }
}

fn broadcast(count: u32, qos: QoS) -> Option<Traffic> {
    let topic = "channels/everybody".parse().expect("a template");
    Some(Traffic { topic, every_us: 20_000, size: 100, qos: Level(qos), count: Some(count) })
}

/// Runs the swarm until `done`, then stops it.
fn run_until(config: SwarmConfig, done: impl Fn(&Progress) -> bool) -> SwarmReport {
    run_with(config, |_| {}, done)
}

/// The same, with something to do at each look.
fn run_with(
    config: SwarmConfig,
    mut look: impl FnMut(&Progress),
    done: impl Fn(&Progress) -> bool,
) -> SwarmReport {
    let swarm = Swarm::start(config).expect("the swarm starts");
    let control = swarm.control();
    let begun = Instant::now();
    let report = swarm
        .wait(&mut |progress| {
            look(progress);
            if done(progress) {
                control.stop();
            }
            assert!(begun.elapsed() < DEADLINE, "it did not happen in time: {progress:#?}");
        })
        .expect("the swarm runs");
    assert_eq!(report.sums.malformed, 0, "{report:#?}");
    report
}

fn assert_clean(report: &SwarmReport) {
    assert_eq!(
        (report.sums.lost, report.sums.duplicates, report.broadcast.missing),
        (0, 0, 0),
        "{report:#?}"
    );
    assert!(report.lost_connections.is_empty() && report.refused.is_empty(), "{report:#?}");
    assert_eq!(report.sums.subscriptions_refused, 0);
}

fn every_device_hears_every_broadcast() {
    let broker = Broker::start();
    let config = SwarmConfig { broadcast: broadcast(20, QoS::AtLeastOnce), loops: 2, ..fleet(&broker, 200) };
    let report = run_until(config, |progress| progress.sums.deliveries >= 200 * 20);
    assert_clean(&report);
    assert_eq!((report.sums.attempts, report.sums.connected, report.sums.first_ups), (200, 200, 200));
    assert_eq!((report.sums.deliveries, report.sums.payload_bytes), (4_000, 400_000));
    assert_eq!((report.broadcast.messages, report.broadcast.received), (20, 4_000));
    assert_eq!(report.latency.delivery.count, 4_000);
    assert!(report.latency.delivery.p50_ms > 0.0 && report.latency.delivery.max_ms < 30_000.0, "{report:#?}");
    assert_eq!((report.latency.suback.count, report.at_end.up), (200, 200));
    assert!(
        report.all_up_s.is_some_and(|seconds| seconds > 0.05),
        "200 devices at 2,000 a second: {report:#?}"
    );
    assert!(report.generator.cpu_s > 0.0 && report.sums.bytes_in > 400_000);
}

fn every_device_hears_every_broadcast_in_3_1_1() {
    let broker = Broker::start();
    for qos in [QoS::AtMostOnce, QoS::ExactlyOnce] {
        let config = SwarmConfig {
            version: Protocol::V311,
            subscription_qos: Level(qos),
            broadcast: broadcast(10, qos),
            ..fleet(&broker, 100)
        };
        let report = run_until(config, |progress| progress.sums.deliveries >= 1_000);
        assert_clean(&report);
        assert_eq!(report.sums.deliveries, 1_000, "{qos:?}");
    }
}

fn workers_hold_their_part_and_figures_add_up() {
    let broker = Broker::start();
    let config = SwarmConfig {
        processes: Processes::Workers(3),
        broadcast: broadcast(10, QoS::AtLeastOnce),
        ..fleet(&broker, 301)
    };
    let report = run_until(config, |progress| progress.sums.deliveries >= 3_010);
    assert_clean(&report);
    assert_eq!((report.processes, report.loops, report.at_end.up), (3, 3, 301));
    assert_eq!((report.sums.deliveries, report.broadcast.messages), (3_010, 10));
    let row = report.broadcast.first_messages[0];
    assert!(row.received == 301 && row.to_first_ms <= row.to_last_ms, "{row:?}");
}

fn signal(pid: u32, name: &str) {
    let status =
        Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().expect("kill runs");
    assert!(status.success());
}

fn a_dead_worker_is_reported() {
    let broker = Broker::start();
    let config = SwarmConfig { processes: Processes::Workers(2), ..fleet(&broker, 100) };
    let swarm = Swarm::start(config).expect("the swarm starts");
    let victim = swarm.worker_pids()[0];
    let mut killed = false;
    let begun = Instant::now();
    let report = swarm
        .wait(&mut |progress| {
            if progress.now.up == 100 && !killed {
                killed = true;
                signal(victim, "KILL");
            }
            assert!(begun.elapsed() < DEADLINE);
        })
        .expect("there is something to report");
    assert_eq!(report.ended, Ended::WorkerDied);
    assert_eq!(report.sums.first_ups, 100);
    assert!(report.caveats.iter().any(|caveat| caveat.contains("worker died")), "{report:#?}");
}

/// Kilobytes that the one worker of a fleet needs with all of it connected.
fn worker_memory_kb(broker: &Broker, devices: u32) -> u64 {
    let config =
        SwarmConfig { processes: Processes::Workers(1), hold_ms: Some(500), ..fleet(broker, devices) };
    let swarm = Swarm::start(config).expect("the swarm starts");
    let pid = swarm.worker_pids()[0];
    let mut memory_kb = 0;
    let report = swarm
        .wait(&mut |progress| {
            if progress.now.up == devices {
                let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the worker runs");
                let line =
                    status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
                memory_kb = line.trim().trim_end_matches(" kB").parse().expect("a number of kilobytes");
            }
        })
        .expect("the swarm runs");
    assert_eq!(report.at_end.up, devices);
    memory_kb
}

fn a_device_costs_less_than_300_bytes() {
    let broker = Broker::start();
    let (few, many) = (worker_memory_kb(&broker, 1_000), worker_memory_kb(&broker, 7_000));
    let bytes = (many.saturating_sub(few) * 1_024) / 6_000;
    assert!(few > 0 && bytes < 300, "{bytes} bytes a device: {few} KB for 1,000, {many} KB for 7,000");
}

/// The processors that a thread of a process may use, as the kernel lists them.
fn allowed_processors(pid: u32, thread: &str) -> Option<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let task = tasks.flatten().map(|task| task.path()).find(|task| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == thread)
    })?;
    let status = std::fs::read_to_string(task.join("status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}

fn a_workers_loop_is_pinned_as_it_was_asked() {
    let broker = Broker::start();
    let config = SwarmConfig { processes: Processes::Workers(1), cpus: vec![0], ..fleet(&broker, 10) };
    let swarm = Swarm::start(config).expect("the swarm starts");
    let (pid, control) = (swarm.worker_pids()[0], swarm.control());
    let mut allowed = None;
    swarm
        .wait(&mut |progress| {
            if progress.now.up == 10 {
                allowed = allowed_processors(pid, "load-0");
                control.stop();
            }
        })
        .expect("the swarm runs");
    assert_eq!(allowed.as_deref(), Some("0"));
}

/// Makes this binary the parent of a swarm's worker, towards the broker whose address follows.
const PARENT: &str = "parent";

fn parent(broker: SocketAddr) {
    let config = SwarmConfig { processes: Processes::Workers(1), ..fleet_to(broker, 10) };
    let swarm = Swarm::start(config).expect("the swarm starts");
    let pid = swarm.worker_pids()[0];
    let mut announced = false;
    swarm
        .wait(&mut |progress| {
            if progress.now.up == 10 && !announced {
                announced = true;
                println!("{pid}");
            }
        })
        .expect("the swarm runs");
}

fn a_worker_ends_with_its_parent() {
    let broker = Broker::start();
    let mut parent = Command::new(std::env::current_exe().expect("this binary"))
        .args([PARENT, &broker.address.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the parent starts");
    let mut line = String::new();
    let out = parent.stdout.take().expect("a pipe");
    std::io::BufReader::new(out).read_line(&mut line).expect("it prints its worker's process id");
    let worker = std::path::PathBuf::from(format!("/proc/{}", line.trim()));
    assert!(line.trim().parse::<u32>().is_ok() && worker.exists(), "{line:?}");
    parent.kill().expect("it can be killed");
    parent.wait().expect("it can be waited for");
    let deadline = Instant::now() + DEADLINE;
    while worker.exists() {
        assert!(Instant::now() < deadline, "the worker outlives its parent");
        std::thread::yield_now();
    }
}

fn orders_that_a_worker_cannot_follow_are_reported() {
    let worker = Worker::start(WorkerConfig {
        name: "w".to_owned(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        loops: 1,
        discovery: None,
        advertise: None,
        key: String::new(),
        compile: workers::compile_scenario,
    })
    .expect("a worker starts");
    let client = Client::start(ClientConfig::at(vec![worker.address()])).expect("a client starts");
    let service = client.service(load_worker::NAME);
    let attach = proto::AttachRequest { version: workers::VERSION.to_owned(), run: 7 };
    let mut events = service.stream(&load_worker::ATTACH, &attach, 8, &CallOptions::default());
    assert!(events.next_within(DEADLINE).expect("it is attached").is_some());
    let devices = proto::Devices { config: b"hello".to_vec() };
    let prepare = proto::PrepareRequest {
        run: 7,
        count: 1,
        of: 1,
        assignment: Some(proto::prepare_request::Assignment::Devices(devices)),
        ..Default::default()
    };
    match service.call(&load_worker::PREPARE, &prepare).wait() {
        Err(CallError::Rejected { code, reason }) => {
            assert_eq!(code, "LOAD-004");
            assert!(reason.contains("the swarm cannot be read"), "{reason}");
        }
        other => panic!("it is not refused: {other:?}"),
    }
    drop(events);
    worker.leave();
}

fn devices_cut_at_once_are_all_back() {
    let broker = Broker::start();
    let config =
        SwarmConfig { processes: Processes::Workers(2), storm_after_ms: Some(0), ..fleet(&broker, 400) };
    let report = run_until(config, |progress| progress.sums.subscribed >= 800);
    let [storm] = report.storms[..] else { panic!("one storm: {report:#?}") };
    assert_eq!((storm.cut, storm.back), (400, 400));
    assert!(storm.all_back_s > 0.0 && storm.all_back_s < 30.0, "{storm:?}");
    assert_eq!((report.latency.reconnect.count, report.at_end.up), (400, 400));
    assert!(report.lost_connections.is_empty(), "the swarm's own cuts are no losses: {report:#?}");
}

fn kept_sessions_are_resumed() {
    let broker = Broker::start();
    for version in [Protocol::V311, Protocol::V5] {
        let config = SwarmConfig {
            version,
            id_prefix: format!("kept-{version:?}-"),
            session: Session::Kept { expiry_s: 60 },
            storm_after_ms: Some(200),
            // Messages in flight when the cut comes are sent again, and counted once.
            broadcast: broadcast(100, QoS::AtLeastOnce),
            ..fleet(&broker, 50)
        };
        let report = run_until(config, |progress| progress.sums.deliveries >= 5_000);
        assert_eq!(report.sums.sessions_resumed, 50, "{version:?}");
        assert_eq!((report.sums.deliveries, report.sums.lost), (5_000, 0), "{version:?}: {report:#?}");
    }
}

fn uplinks_are_acknowledged_at_each_qos() {
    let broker = Broker::start();
    for (qos, acknowledged) in [(QoS::AtMostOnce, 0), (QoS::AtLeastOnce, 1), (QoS::ExactlyOnce, 1)] {
        let topic: stadium_load::swarm::Template = "uplink/{id}/swarm".parse().expect("a template");
        let config = SwarmConfig {
            subscriptions: vec![topic.clone()],
            subscription_qos: Level(QoS::ExactlyOnce),
            uplink: Some(Traffic { topic, every_us: 100_000, size: 64, qos: Level(qos), count: Some(20) }),
            ..fleet(&broker, 50)
        };
        // Devices that arrive late miss their first times; every one of the others comes back to its sender.
        let report = run_until(config, |progress| {
            progress.elapsed_s > 2.5 && progress.sums.deliveries == progress.sums.uplinks
        });
        assert!(report.sums.uplinks > 800, "{report:#?}");
        assert_eq!(report.sums.deliveries, report.sums.uplinks, "{qos:?}");
        assert_eq!(report.sums.uplinks_acknowledged, report.sums.uplinks * acknowledged, "{qos:?}");
        assert_eq!(report.sums.uplinks_skipped + report.sums.uplinks_lost, 0, "{qos:?}");
    }
}

fn devices_that_think_acknowledge_later() {
    let broker = Broker::with("allow_anonymous true\nmax_inflight_messages 1\n");
    let config = SwarmConfig {
        acknowledge: Acknowledge::After { ms: 100 },
        broadcast: Some(Traffic { every_us: 10_000, ..broadcast(5, QoS::AtLeastOnce).expect("a broadcast") }),
        ..fleet(&broker, 20)
    };
    // The broker takes one message at a time too: one that is due before the last is acknowledged is skipped.
    let report = run_until(config, |progress| {
        let sums = &progress.sums;
        sums.broadcasts + sums.broadcasts_skipped >= 5 && sums.deliveries >= 20 * sums.broadcasts
    });
    assert_clean(&report);
    let sent = report.sums.broadcasts;
    assert!(sent >= 3, "{:?}", report.sums);
    // The broker sends the next message when the one before is acknowledged, after 100 ms each; they were
    // published up to 40 ms apart.
    let waited_ms = 100.0 * (sent - 1) as f64 - 50.0;
    assert!(report.latency.delivery.max_ms >= waited_ms, "{waited_ms} {:?}", report.latency.delivery);
}

fn devices_that_never_acknowledge_meet_the_brokers_window() {
    let broker = Broker::with("allow_anonymous true\nmax_inflight_messages 3\n");
    let config = SwarmConfig {
        acknowledge: Acknowledge::Never,
        broadcast: broadcast(10, QoS::AtLeastOnce),
        hold_ms: Some(2_000),
        ..fleet(&broker, 20)
    };
    let report = run_until(config, |_| false);
    assert_eq!(report.sums.deliveries, 20 * 3, "three in flight for each device, and no more");
    assert_eq!(report.ended, Ended::Complete);
}

fn tls_devices_believe_their_authority_alone() {
    let (broker, authority) = Broker::with_tls();
    let tls = |trust| Transport::Tls(Tls { trust, certificate: None, resumption: Resumption::On });
    let mut config = SwarmConfig {
        transport: tls(Trust::Authority(authority)),
        broadcast: broadcast(5, QoS::AtLeastOnce),
        ..fleet(&broker, 50)
    };
    let report = run_until(config.clone(), |progress| progress.sums.deliveries >= 250);
    assert_clean(&report);

    let directory = tempfile::tempdir().expect("a directory for the test");
    let stranger = directory.path().join("stranger.pem");
    broker::write_identity(&stranger, &directory.path().join("key.pem"));
    config.transport = tls(Trust::Authority(stranger));
    config.reconnect = Reconnect { attempts_max: 1, ..config.reconnect };
    let report = run_until(config.clone(), |progress| progress.now.given_up == 50);
    assert_eq!(report.sums.connected, 0);
    assert_eq!(report.lost_connections.get("tls"), Some(&50), "{report:#?}");

    config.transport = tls(Trust::Anybody);
    let report = run_until(config, |progress| progress.sums.deliveries >= 250);
    assert_clean(&report);
}

fn devices_come_over_websocket() {
    let broker = Broker::start();
    let relay = Relay::to(broker.address);
    let config = SwarmConfig {
        targets: vec![Target::at(relay.address)],
        transport: Transport::Ws { path: "/mqtt".to_owned() },
        broadcast: broadcast(5, QoS::AtLeastOnce),
        ..fleet(&broker, 50)
    };
    let report = run_until(config, |progress| progress.sums.deliveries >= 250);
    assert_clean(&report);
}

fn refused_devices_give_up_and_are_counted() {
    let broker = Broker::with("allow_anonymous false\n");
    for (version, reason) in [(Protocol::V5, "not authorized"), (Protocol::V311, "not authorized")] {
        let config = SwarmConfig {
            version,
            reconnect: Reconnect { delay_min_ms: 1, delay_max_ms: 10, attempts_max: 3 },
            hold_ms: Some(0),
            ..fleet(&broker, 20)
        };
        let report = run_until(config, |_| false);
        assert_eq!((report.sums.attempts, report.sums.connected), (60, 0));
        assert_eq!(report.refused.get(reason), Some(&60), "{:?}", report.refused);
        assert_eq!((report.at_end.given_up, report.ended), (20, Ended::Complete));
        assert_eq!(report.all_up_s, None);
    }
}

fn devices_return_when_the_broker_does() {
    let mut broker = Broker::start();
    let config = SwarmConfig {
        reconnect: Reconnect { delay_min_ms: 50, delay_max_ms: 500, attempts_max: 0 },
        ..fleet(&broker, 100)
    };
    let mut restarted = false;
    let report = run_with(
        config,
        |progress| {
            if progress.now.up == 100 && !restarted {
                restarted = true;
                broker.restart();
            }
        },
        |progress| progress.sums.subscribed >= 200 && progress.now.up == 100,
    );
    let lost: u64 = report.lost_connections.values().sum();
    assert!(lost >= 100, "{:?}", report.lost_connections);
    assert_eq!(report.at_end.up, 100);
}

fn devices_of_a_broker_that_is_gone_try_the_next_target() {
    let (gone, stays) = (Broker::start(), Broker::start());
    let mut gone = Some(gone);
    let config = SwarmConfig {
        targets: vec![Target::at(gone.as_ref().expect("it runs").address), Target::at(stays.address)],
        reconnect: Reconnect { delay_min_ms: 20, delay_max_ms: 500, attempts_max: 0 },
        next_target: true,
        ..fleet(&stays, 100)
    };
    let report = run_with(
        config,
        |progress| {
            if progress.now.up == 100 {
                gone = None;
            }
        },
        |progress| progress.sums.subscribed >= 150 && progress.now.up == 100,
    );
    assert_eq!(report.at_end.up, 100, "{:?}", report.lost_connections);
}

fn a_silent_broker_is_noticed_by_keep_alive() {
    let broker = Broker::start();
    let pid = broker.pid();
    let config = SwarmConfig { keep_alive_s: 1, ..fleet(&broker, 20) };
    let mut stopped = false;
    let report = run_with(
        config,
        |progress| {
            // First some keep-alive periods in which all goes well.
            if progress.sums.pings >= 60 && !stopped {
                assert_eq!((progress.now.up, progress.sums.subscribed), (20, 20), "pings keep devices up");
                stopped = true;
                signal(pid, "STOP");
            }
        },
        |progress| progress.lost_connections.get("silent") >= Some(&20),
    );
    signal(pid, "CONT");
    assert!(report.lost_connections.get("silent") >= Some(&20), "{report:#?}");
}

fn an_interrupted_swarm_reports_what_it_has() {
    let broker = Broker::start();
    // A thousand seconds of arrivals, of which we see the first few.
    let slow = ConnectPace { per_second: 40.0, ..fleet(&broker, 1).connect };
    let config = SwarmConfig { connect: slow, ..fleet(&broker, 40_000) };
    let report = run_until(config, |progress| progress.now.up >= 20);
    assert_eq!(report.ended, Ended::Interrupted);
    assert!(report.at_end.up >= 20 && report.at_end.waiting > 39_000, "{report:#?}");
    assert!(report.latency.suback.count >= 20);
    // The open model: 20 devices at 40 a second are not there before their time.
    assert!(report.elapsed_s >= 19.0 / 40.0, "{report:#?}");
}
