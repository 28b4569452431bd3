//! Runs on worker processes: figures add up, clocks are compared, and a worker that dies or hangs
//! is noticed and reported.
//!
//! The harness is our own because workers are this same binary: called with a worker's arguments it is one. Their target
//! is a small server in this process, which counts for itself.

mod fixture;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use fixture::{Etcd, Process, Web, compile, folder, in_time, scenario, until};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::Signal;
use stadium_load::Error;
use stadium_load::run::{Run, RunOptions, RunResult};
use stadium_load::workers::proto::{self, load_worker};
use stadium_load::workers::{self, Children, SILENCE_MAX, WORKER_ARGUMENTS, WorkerArgs, Workers};
use stadium_report::Outcome;
use stadium_rpc::{CallError, Client, ClientConfig, Listen, Server, ServerConfig, Service};

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).take(2).collect();
    if given == WORKER_ARGUMENTS {
        let own = Own::parse_from(std::env::args().skip(2));
        return match workers::serve(&own.worker, own.etcd.as_deref().map(Etcd::discovery), compile) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    if given.first().map(String::as_str) == Some(COORDINATE) {
        coordinate(&given[1]);
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    // Most of them wait most of the time.
    arguments.test_threads = arguments.test_threads.or(Some(3));
    let tests: [(&str, fn()); 14] = [
        (
            "two_workers_figures_add_up_and_their_clocks_agree",
            two_workers_figures_add_up_and_their_clocks_agree,
        ),
        (
            "a_worker_that_is_killed_is_reported_and_the_run_goes_on",
            a_worker_that_is_killed_is_reported_and_the_run_goes_on,
        ),
        ("a_worker_that_hangs_is_noticed_in_time", a_worker_that_hangs_is_noticed_in_time),
        ("a_run_without_any_worker_left_has_failed", a_run_without_any_worker_left_has_failed),
        ("users_whose_loop_hung_at_the_end_begin_late", users_whose_loop_hung_at_the_end_begin_late),
        ("a_worker_that_is_ordered_to_leave_reports_it", a_worker_that_is_ordered_to_leave_reports_it),
        ("an_interrupted_run_ends_on_all_workers", an_interrupted_run_ends_on_all_workers),
        ("a_worker_has_one_run_at_a_time", a_worker_has_one_run_at_a_time),
        ("another_version_is_refused_by_both_sides", another_version_is_refused_by_both_sides),
        ("a_worker_with_a_key_serves_nobody_without_it", a_worker_with_a_key_serves_nobody_without_it),
        (
            "orders_that_a_worker_cannot_follow_are_reported_and_undone",
            orders_that_a_worker_cannot_follow_are_reported_and_undone,
        ),
        ("workers_are_found_by_discovery", workers_are_found_by_discovery),
        ("a_coordinator_that_hangs_loses_its_workers", a_coordinator_that_hangs_loses_its_workers),
        ("children_of_this_machine_end_with_their_parent", children_of_this_machine_end_with_their_parent),
    ];
    let tests = tests.into_iter().map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}

#[derive(Parser)]
struct Own {
    #[command(flatten)]
    worker: WorkerArgs,
    #[arg(long)]
    etcd: Option<String>,
}

/// Two workers that listen.
fn two() -> [Process; 2] {
    [Process::start("w1"), Process::start("w2")]
}

fn connect(workers: &[Process]) -> Workers {
    let addresses: Vec<String> = workers.iter().map(|worker| worker.address.clone()).collect();
    Workers::connect(&addresses, "", compile).expect("they answer")
}

/// Starts a run of so long on all of them.
fn start(web: &Web, group: &Workers, rate: f64, duration: Duration) -> Run {
    let folder = folder();
    let program = compile(&scenario(web.address, rate, duration), &mut |_| Ok(b"/from-a-file".to_vec()));
    let options = RunOptions { folder: folder.path().to_owned(), ..RunOptions::default() };
    Run::start_on(program.expect("the scenario is well formed"), &options, group).expect("the run starts")
}

/// Follows a run to its end; `act` is called once, when users have begun.
fn follow(run: Run, act: impl FnOnce() + Send + 'static) -> RunResult {
    in_time(move || {
        let mut act = Some(act);
        run.wait(&mut |progress| {
            if progress.elapsed_s > 1.2
                && let Some(act) = act.take()
            {
                act();
            }
        })
        .expect("the run comes to its end")
    })
}

fn two_workers_figures_add_up_and_their_clocks_agree() {
    let (web, workers) = (Web::start(), two());
    let group = connect(&workers);
    for worker in group.facts() {
        // One machine has one monotonic clock: what is measured has to hold the truth, which is zero.
        assert!(worker.clock_error_us > 0.0 && worker.clock_error_us < 20_000.0, "{worker:?}");
        assert!(worker.clock_offset_us.abs() <= worker.clock_error_us, "{worker:?}");
        assert_eq!(worker.loops, 1);
    }
    // The workers make one run after the other.
    for round in 1..=2 {
        let result = follow(start(&web, &group, 300.0, Duration::from_millis(1_500)), || {});
        assert_eq!(result.outcome, Outcome::Completed);
        assert_eq!(result.total.started, 450, "{:?}", result.total.errors);
        assert_eq!(result.total.answered, 450, "{:?}", result.total.errors);
        assert_eq!(result.total.response.len(), 450);
        assert_eq!(result.total.statuses.get("200"), Some(&450));
        assert_eq!(web.answered(), 450 * round);
        assert_eq!(result.sessions[0].completed, 450);
        assert_eq!(result.generator.loops, 2);
        assert!(result.thresholds.len() == 2 && result.thresholds.iter().all(|one| one.passed));
        let workers: Vec<_> =
            result.workers.iter().map(|one| (one.name.as_str(), one.started, one.lost.clone())).collect();
        assert_eq!(workers, [("w1", 225, None), ("w2", 225, None)]);
    }
}

/// The 12.3 of `after 12.3 s: ...`.
fn seconds(lost: &str) -> f64 {
    let number = lost.strip_prefix("after ").and_then(|rest| rest.split(' ').next()).expect("it states when");
    number.parse().expect("a number")
}

fn a_worker_that_is_killed_is_reported_and_the_run_goes_on() {
    let (web, workers) = (Web::start(), two());
    let group = connect(&workers);
    let [one, two] = workers;
    let run = start(&web, &group, 200.0, Duration::from_secs(3));
    let result = follow(run, move || drop(one));
    assert_eq!(result.outcome, Outcome::Completed);
    let lost = result.workers[0].lost.as_deref().expect("the first is lost");
    let after = seconds(lost);
    assert!((1.2..3.2).contains(&after), "{lost}");
    assert_eq!(result.workers[1].lost, None);
    // The second one's part of 600 users is whole, the first one's is not.
    assert_eq!(result.workers[1].started, 300);
    assert!(result.workers[0].started < 300, "{:?}", result.workers);
    assert!(result.refused() && !result.passed());
    let doubt = &result.generator.doubts.iter().find(|doubt| doubt.refuse).expect("it is doubted").text;
    assert!(doubt.contains("w1") && doubt.contains("50%"), "{doubt}");
    drop(two);
}

fn a_worker_that_hangs_is_noticed_in_time() {
    let (web, workers) = (Web::start(), two());
    let group = connect(&workers);
    let [one, two] = workers;
    let run = start(&web, &group, 100.0, Duration::from_secs(4));
    one.signal(Signal::STOP);
    let stopped = Instant::now();
    let result = follow(run, || {});
    let lost = result.workers[0].lost.clone().expect("the first is lost");
    let after = seconds(&lost);
    assert!(after <= SILENCE_MAX.as_secs_f64() + 0.5, "{lost}");
    assert!(stopped.elapsed() < Duration::from_secs(7), "the run took {:?}", stopped.elapsed());
    assert_eq!(result.workers[1].started, 200);
    drop((one, two));
}

fn a_run_without_any_worker_left_has_failed() {
    let (web, workers) = (Web::start(), two());
    let group = connect(&workers);
    let run = start(&web, &group, 100.0, Duration::from_secs(30));
    let result = follow(run, move || drop(workers));
    assert!(
        matches!(&result.outcome, Outcome::Failed { reason } if reason.contains("all workers")),
        "{:?}",
        result.outcome
    );
    assert!(result.total.answered > 50, "what was reported until then stays: {}", result.total.answered);
    assert!(result.workers.iter().all(|worker| worker.lost.is_some()));
}

fn a_worker_that_is_ordered_to_leave_reports_it() {
    let (web, workers) = (Web::start(), two());
    let group = connect(&workers);
    let [mut one, two] = workers;
    let run = start(&web, &group, 100.0, Duration::from_secs(2));
    let result = follow(run, move || {
        one.signal(Signal::TERM);
        assert!(one.wait().success());
    });
    let lost = result.workers[0].lost.as_deref().expect("the first is lost");
    assert!(lost.contains("ordered to leave"), "{lost}");
    // Until it left everything was reported.
    assert!(result.workers[0].started >= 60, "{:?}", result.workers);
    drop(two);
}

fn an_interrupted_run_ends_on_all_workers() {
    let (web, workers) = (Web::start(), two());
    let group = connect(&workers);
    let run = start(&web, &group, 100.0, Duration::from_secs(60));
    let control = run.control();
    let begun = Instant::now();
    let result = follow(run, move || control.stop());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(result.outcome, Outcome::Interrupted);
    assert!(result.total.answered >= 100);
    assert!(
        result.workers.iter().all(|worker| worker.lost.is_none() && worker.started >= 50),
        "{:?}",
        result.workers
    );
    let answered = web.answered();
    // They are free again, and make no load.
    until("the workers to be free", || Workers::connect(&addresses(&workers), "", compile).is_ok());
    assert_eq!(web.answered(), answered);
}

fn addresses(workers: &[Process]) -> Vec<String> {
    workers.iter().map(|worker| worker.address.clone()).collect()
}

fn a_worker_has_one_run_at_a_time() {
    let (web, workers) = (Web::start(), two());
    let group = connect(&workers);
    let run = start(&web, &group, 10.0, Duration::from_secs(60));
    let busy = Workers::connect(&addresses(&workers), "", compile).expect_err("they are busy").to_string();
    assert!(busy.contains("busy"), "{busy}");
    // A coordinator that connected while it was free and comes second gets the same answer.
    let program = compile(&scenario(web.address, 1.0, Duration::from_secs(1)), &mut |_| Ok(Vec::new()));
    let folder = folder();
    let options = RunOptions { folder: folder.path().to_owned(), ..RunOptions::default() };
    let second = Run::start_on(program.expect("well formed"), &options, &group).expect_err("they are busy");
    assert!(matches!(&second, Error::Worker(text) if text.contains("busy")), "{second}");
    // A coordinator that gives up, as one that dies, frees them.
    drop(run);
    until("the workers to be free", || Workers::connect(&addresses(&workers), "", compile).is_ok());
}

fn workers_are_found_by_discovery() {
    let etcd = Etcd::start();
    let discovery = Etcd::discovery(&etcd.url);
    let find = || workers::find(&discovery, Duration::from_secs(5)).unwrap_or_default();
    let flags = ["--etcd", etcd.url.as_str()];
    let (mut one, two) = (Process::start_with("w1", &flags), Process::start_with("w2", &flags));
    let mut both = vec![one.address.clone(), two.address.clone()];
    both.sort();
    until("both to be found", || {
        let mut found = find();
        found.sort();
        found == both
    });
    assert_eq!(Workers::connect(&find(), "", compile).expect("they answer").facts().len(), 2);
    // Who leaves is not found any more.
    one.signal(Signal::TERM);
    assert!(one.wait().success());
    assert_eq!(find(), std::slice::from_ref(&two.address));
    drop(two);
    let nowhere =
        stadium_discovery::Discovery::start(stadium_discovery::Config::default()).expect("it starts");
    assert!(workers::find(&nowhere, Duration::from_secs(5)).is_err());
}

/// Makes this binary a coordinator of a long run on the worker whose address follows.
const COORDINATE: &str = "coordinate";

fn coordinate(address: &str) {
    let group = Workers::connect(&[address.to_owned()], "", compile).expect("it answers");
    let run = start(&Web::start(), &group, 10.0, Duration::from_secs(600));
    run.wait(&mut |_| {}).expect("the run comes to its end");
}

fn a_coordinator_that_hangs_loses_its_workers() {
    let worker = Process::start("w1");
    let own = std::env::current_exe().expect("this binary has a path");
    let mut coordinator =
        std::process::Command::new(own).args([COORDINATE, &worker.address]).spawn().expect("it starts");
    let connected = || Workers::connect(std::slice::from_ref(&worker.address), "", compile);
    until("the worker to be busy", || connected().is_err());
    let pid = rustix::process::Pid::from_child(&coordinator);
    rustix::process::kill_process(pid, Signal::STOP).expect("our own process takes signals");
    let stopped = Instant::now();
    until("the worker to be free", || connected().is_ok());
    assert!(stopped.elapsed() < SILENCE_MAX + Duration::from_secs(2), "it took {:?}", stopped.elapsed());
    coordinator.kill().expect("it can be killed");
    coordinator.wait().expect("it can be waited for");
}

fn users_whose_loop_hung_at_the_end_begin_late() {
    let web = Web::start();
    let workers = Arc::new([Process::start("w1")]);
    let run = start(&web, &connect(workers.as_slice()), 400.0, Duration::from_millis(2_500));
    let hung = Arc::clone(&workers);
    let result = follow(run, move || {
        hung[0].signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(1_600)); // Beyond the end of the run, and no silence yet.
        hung[0].signal(Signal::CONT);
    });
    assert_eq!(result.total.started, 1_000, "{:?}", result.generator);
    assert_eq!(result.total.answered, 1_000, "{:?}", result.total.errors);
    assert!(
        result.generator.lateness.summary().max_ms > 1_000.0,
        "{:?}",
        result.generator.lateness.summary()
    );
    assert!(result.total.response.summary().max_ms > 1_000.0, "they waited from when they were due");
}

fn a_worker_with_a_key_serves_nobody_without_it() {
    let worker = Process::start_with("w1", &["--key", "s3cret"]);
    let address = std::slice::from_ref(&worker.address);
    for (key, says) in [("", "asks for a key"), ("s3crex", "another key"), ("s3cret1", "another key")] {
        let refused = Workers::connect(address, key, compile).expect_err("it is refused").to_string();
        assert!(refused.contains(says) && refused.contains("LOAD-006"), "{refused}");
    }
    // Each method asks for it, the ones of a run that others have taken too.
    let client = Client::start(ClientConfig::at(vec![worker.address.parse().expect("an address")]));
    let client = client.expect("a client starts");
    let service = client.service(load_worker::NAME);
    let attach = proto::AttachRequest { version: workers::VERSION.to_owned(), run: 7 };
    let mut events = service.stream(&load_worker::ATTACH, &attach, 8, &stadium_rpc::CallOptions::default());
    let mut refusals = vec![("Attach", events.next_within(Duration::from_secs(20)).err())];
    let begin = proto::BeginRequest { run: 7, at_ns: 1 };
    refusals.push(("Clock", service.call(&load_worker::CLOCK, &proto::ClockRequest {}).wait().err()));
    refusals.push(("Deliver", service.call(&load_worker::DELIVER, &proto::Piece::default()).wait().err()));
    refusals.push((
        "Prepare",
        service.call(&load_worker::PREPARE, &proto::PrepareRequest::default()).wait().err(),
    ));
    refusals.push(("Begin", service.call(&load_worker::BEGIN, &begin).wait().err()));
    refusals.push(("Order", service.call(&load_worker::ORDER, &proto::OrderRequest::default()).wait().err()));
    for (method, refusal) in refusals {
        match refusal {
            Some(CallError::Rejected { code, .. }) => assert_eq!(code, "LOAD-006", "{method}"),
            other => panic!("{method} is not refused: {other:?}"),
        }
    }
    let facts = Workers::connect(address, "s3cret", compile).expect("who has the key is served").facts();
    assert_eq!(facts[0].name, "w1");
}

fn another_version_is_refused_by_both_sides() {
    let worker = Process::start("w1");
    let address = worker.address.parse().expect("an address");
    let client = Client::start(ClientConfig::at(vec![address])).expect("a client starts");
    let hello = proto::HelloRequest { version: "0.0.1".to_owned() };
    match client.service(load_worker::NAME).call(&load_worker::HELLO, &hello).wait() {
        Err(CallError::Rejected { code, reason }) => {
            assert_eq!(code, "LOAD-001");
            assert!(reason.contains("0.0.1") && reason.contains(workers::VERSION), "{reason}");
        }
        other => panic!("it is not refused: {other:?}"),
    }
    let old = Service::new(load_worker::NAME, load_worker::VERSION).inline(
        &load_worker::HELLO,
        |_call, _request, answer| {
            "0.0.1".clone_into(&mut answer.version);
            Ok(())
        },
    );
    let listen = vec![Listen::tcp("127.0.0.1:0".parse().expect("an address"))];
    let server =
        Server::start(ServerConfig { listen, ..ServerConfig::default() }, vec![old]).expect("it starts");
    let older =
        Workers::connect(&[server.bound()[0].to_string()], "", compile).expect_err("it is older").to_string();
    assert!(older.contains("0.0.1"), "{older}");
}

fn orders_that_a_worker_cannot_follow_are_reported_and_undone() {
    let (web, workers) = (Web::start(), two());
    let group = connect(&workers);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let options = RunOptions { folder: folder.path().to_owned(), ..RunOptions::default() };
    let program = || {
        let text = scenario(web.address, 1.0, Duration::from_secs(1));
        compile(&text, &mut |_| Ok(b"/".to_vec())).expect("well formed")
    };
    let missing = Run::start_on(program(), &options, &group).expect_err("its file is not there").to_string();
    assert!(missing.contains("No such file"), "{missing}");
    std::fs::write(folder.path().join("path.txt"), "/").expect("it is writable");
    let mut wrong = program();
    wrong.phases[0].mix.clear();
    let refused = Run::start_on(wrong, &options, &group).expect_err("the phase does not fit").to_string();
    assert!(refused.contains("w1") && refused.contains("LOAD-004"), "{refused}");
    until("the workers to be free", || Workers::connect(&addresses(&workers), "", compile).is_ok());
    let none =
        Workers::connect(&["127.0.0.1:1".to_owned()], "", compile).expect_err("nobody is there").to_string();
    assert!(none.contains("127.0.0.1:1"), "{none}");
    let twice = [workers[0].address.clone(), workers[0].address.clone()];
    assert!(
        Workers::connect(&twice, "", compile).expect_err("it is named twice").to_string().contains("twice")
    );
}

fn children_of_this_machine_end_with_their_parent() {
    let web = Web::start();
    let own = std::env::current_exe().expect("this binary has a path");
    let children = Children::start(2, 1, &own).expect("they start");
    let pids = children.pids();
    let group = Workers::of_children(children, compile).expect("they answer");
    let result = follow(start(&web, &group, 100.0, Duration::from_secs(1)), || {});
    assert_eq!(result.total.answered, 100);
    assert_eq!(result.workers[1].name, "process-2");
    let alive = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(pids.iter().all(alive));
    drop(group);
    assert!(!pids.iter().any(alive));
}
