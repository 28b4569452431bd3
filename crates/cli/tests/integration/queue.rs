//! Queues as people use them: `stadium queue`, `stadium journal`, and the service `queue`.
//!
//! Black box: the built binary is the server, the client and the worker; jobs' commands are small shell scripts.

use crate::binary;

use std::fs;
use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Output, Stdio};

use binary::{SMALL, Server, err, json, out, stadium, wait_for};
use serde_json::Value;

fn server() -> Server {
    Server::start(&SMALL)
}

/// Runs `stadium queue ...`, which must work.
fn queue(server: &Server, arguments: &[&str]) -> Output {
    let done = server.client(&[&["queue"], arguments].concat());
    assert!(done.status.success(), "{arguments:?}: {}", err(&done));
    done
}

/// Runs `stadium queue work ... -- sh -c SCRIPT` to its end.
fn work(server: &Server, arguments: &[&str], script: &str) -> Output {
    worker(server, arguments, script).wait_with_output().expect("it ends")
}

/// Starts `stadium queue work ... -- sh -c SCRIPT`.
fn worker(server: &Server, arguments: &[&str], script: &str) -> Child {
    let data = server.data().display().to_string();
    let end = ["--data", &data, "--", "sh", "-c", script];
    let mut command = stadium(&[&["queue", "work"], arguments, &end].concat());
    command.current_dir(server.data()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary can be run")
}

fn stats(server: &Server, name: &str) -> Value {
    json(&queue(server, &["stats", name, "--json"]))
}

fn put_lines(server: &Server, arguments: &[&str], lines: &str) -> Output {
    use std::io::Write;
    let data = server.data().display().to_string();
    let mut command = stadium(&[&["queue", "put"], arguments, &["--data", &data]].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary can be run");
    child.stdin.take().expect("it is piped").write_all(lines.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(sent.expect("kill can be run").success(), "it has gone already");
}

fn appears(path: &Path) {
    wait_for(&format!("{}", path.display()), || path.exists().then_some(()));
}

#[test]
fn command_runs_once_for_each_job_and_settles_it() {
    let server = server();
    let ids = out(&queue(&server, &["put", "mails", "to seat 1", "to seat 2", "--job-key", "row-a"]));
    assert_eq!(ids.lines().count(), 2, "{ids}");
    let worked = work(
        &server,
        &["mails", "--drain"],
        r#"read line; echo "$line as $STADIUM_JOB_QUEUE/$STADIUM_JOB_KEY attempt $STADIUM_JOB_ATTEMPT""#,
    );
    assert!(worked.status.success(), "{}", err(&worked));
    assert_eq!(
        out(&worked),
        "to seat 1 as mails/row-a attempt 1\nto seat 2 as mails/row-a attempt 1\n",
        "one key keeps its order"
    );
    let mails = stats(&server, "mails");
    assert_eq!((&mails["totals"]["settled"], &mails["jobs"]["total"]), (&2.into(), &0.into()));
}

#[test]
fn failed_command_is_tried_again_and_its_last_words_are_kept() {
    let server = server();
    queue(&server, &["declare", "q", "--attempts", "2", "--backoff-first", "10ms", "--backoff-max", "10ms"]);
    let id = out(&queue(&server, &["put", "q", "x"])).trim().to_owned();
    for outcome in ["released", "dead"] {
        let once = work(&server, &["q", "--once", "--json"], "echo first >&2; echo no such seat >&2; exit 3");
        assert_eq!(once.status.code(), Some(1));
        let first: Value =
            serde_json::from_str(out(&once).lines().next().expect("a line")).expect("it is JSON");
        assert_eq!(first["outcome"], outcome);
        assert_eq!(first["error"], "exit code 3: no such seat");
    }
    let dead = json(&queue(&server, &["dead", "q", "--json"]));
    assert_eq!(dead["jobs"][0]["id"], id.as_str());
    assert!(dead["jobs"][0]["reason"].to_string().contains("no such seat"), "{dead}");
    let history = json(&queue(&server, &["history", &id, "--json"]));
    let events: Vec<&str> = history["events"]
        .as_array()
        .expect("it is a list")
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    assert_eq!(events, ["dead", "reserved", "released", "reserved", "put"]);
    let again = json(&queue(&server, &["redrive", "q", "--json"]));
    assert_eq!(again["count"], 1);
    assert!(work(&server, &["q", "--once"], "true").status.success());
}

#[test]
fn exit_code_65_buries_a_job_until_it_is_kicked() {
    let server = server();
    queue(&server, &["put", "q", "x"]);
    let worked = work(&server, &["q", "--drain"], "echo not a picture >&2; exit 65");
    assert!(worked.status.success() && err(&worked).contains("buried"), "{}", err(&worked));
    let buried = json(&queue(&server, &["peek", "q", "--state", "buried", "--json"]));
    assert!(buried["jobs"][0]["reason"].to_string().contains("not a picture"), "{buried}");
    assert_eq!(json(&queue(&server, &["kick", "q", "--json"]))["count"], 1);
    assert_eq!(stats(&server, "q")["jobs"]["due"], 1);
}

#[test]
fn lines_become_jobs_in_batches() {
    let server = server();
    let lines: String = (0..2_500).map(|number| format!("{number}\n")).collect();
    let done = put_lines(&server, &["numbers", "--lines"], &lines);
    assert!(done.status.success() && out(&done).contains("2,500"), "{} {}", out(&done), err(&done));
    assert_eq!(stats(&server, "numbers")["totals"]["put"], 2_500);
    let jobs =
        "{\"payload\":\"a\",\"dedup_id\":\"1\"}\n\n{\"payload\":\"b\",\"dedup_id\":\"1\",\"priority\":9}\n";
    let refused = put_lines(&server, &["jobs", "--jobs"], jobs);
    assert_eq!(refused.status.code(), Some(1), "one dedup id with two contents");
    let jobs = "{\"payload\":{\"seat\":7},\"delay_ms\":60000}\n{\"payload\":\"b\"}";
    assert!(put_lines(&server, &["jobs", "--jobs"], jobs).status.success());
    let delayed = json(&queue(&server, &["peek", "jobs", "--state", "delayed", "--json"]));
    assert_eq!(delayed["jobs"][0]["payload"], "{\"seat\":7}");
    let refused = put_lines(&server, &["jobs", "--jobs"], "{\"payload\":\"c\"}\n[1]\n");
    assert!(err(&refused).contains("line 2"), "{}", err(&refused));
}

#[test]
fn payload_of_any_bytes_comes_back_as_it_was() {
    let server = server();
    let bytes: Vec<u8> = (0..=255).collect();
    fs::write(server.data().join("bytes"), &bytes).expect("the directory is writable");
    let id = out(&queue(&server, &["put", "q", "--file", "bytes"])).trim().to_owned();
    assert_eq!(queue(&server, &["find", &id, "--payload"]).stdout, bytes);
    let worked = work(&server, &["q", "--once"], "cat > came");
    assert!(worked.status.success(), "{}", err(&worked));
    assert_eq!(fs::read(server.data().join("came")).expect("it was written"), bytes);
}

#[test]
fn first_signal_waits_for_what_runs_and_leaves_the_rest() {
    let server = server();
    queue(&server, &["put", "q", "1", "2", "3"]);
    let script = "touch started-$STADIUM_JOB_ID; while [ ! -e go ]; do sleep 0.02; done";
    let child = worker(&server, &["q", "-j", "2"], script);
    appears(&server.data().join("started-1"));
    appears(&server.data().join("started-2"));
    signal(&child, "TERM");
    fs::write(server.data().join("go"), "").expect("the directory is writable");
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{}", err(&ended));
    let q = stats(&server, "q");
    assert_eq!((&q["totals"]["settled"], &q["jobs"]["due"]), (&2.into(), &1.into()), "{q}");
}

#[test]
fn second_signal_stops_what_runs_and_the_attempt_does_not_count() {
    let server = server();
    let id = out(&queue(&server, &["put", "q", "1"])).trim().to_owned();
    let child = worker(&server, &["q"], "touch started; sleep 60");
    appears(&server.data().join("started"));
    signal(&child, "INT");
    signal(&child, "TERM");
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.code().is_some_and(|code| code > 128), "{:?}", ended.status);
    let job = json(&queue(&server, &["find", &id, "--json"]));
    assert_eq!((&job["state"], &job["attempts"]), (&"due".into(), &0.into()), "{job}");
}

#[test]
fn command_outlives_its_lease_because_that_is_extended_and_ends_when_the_job_is_deleted() {
    let server = server();
    let id = out(&queue(&server, &["put", "q", "1"])).trim().to_owned();
    let child = worker(&server, &["q", "--once", "--lease", "3s"], "touch started; exec sleep 60");
    appears(&server.data().join("started"));
    let first = json(&queue(&server, &["find", &id, "--json"]))["lease_until"].clone();
    wait_for("a longer lease", || {
        let now = json(&queue(&server, &["find", &id, "--json"]))["lease_until"].clone();
        (now != first).then_some(())
    });
    queue(&server, &["delete", &id]);
    let ended = child.wait_with_output().expect("it ends");
    assert!(err(&ended).contains("lost"), "{}", err(&ended));
}

#[test]
fn command_that_takes_too_long_is_stopped_and_released() {
    let server = server();
    let id = out(&queue(&server, &["put", "q", "1"])).trim().to_owned();
    let once = work(&server, &["q", "--once", "--timeout", "100ms"], "exec sleep 60");
    assert!(err(&once).contains("it took longer than 100ms"), "{}", err(&once));
    assert_eq!(json(&queue(&server, &["find", &id, "--json"]))["attempts"], 1);
}

#[test]
fn command_that_cannot_be_run_gives_its_job_back() {
    let server = server();
    let id = out(&queue(&server, &["put", "q", "1"])).trim().to_owned();
    let failed = server.client(&["queue", "work", "q", "--once"]);
    assert_eq!(failed.status.code(), Some(2), "a command is needed");
    let data = server.data().display().to_string();
    let failed = stadium(&["queue", "work", "q", "--data", &data, "--", "/nowhere/at-all"]).output();
    let failed = failed.expect("the binary can be run");
    assert!(failed.status.code() == Some(1) && err(&failed).contains("cannot be run"), "{}", err(&failed));
    let job = json(&queue(&server, &["find", &id, "--json"]));
    assert_eq!((&job["state"], &job["attempts"]), (&"due".into(), &0.into()));
}

#[test]
fn operator_pauses_edits_schedules_purges_and_drops() {
    let server = server();
    let id = out(&queue(&server, &["put", "q", "1", "--delay", "1h"])).trim().to_owned();
    queue(&server, &["edit", &id, "--delay", "0", "--payload", "2"]);
    queue(&server, &["pause", "q"]);
    assert!(work(&server, &["q", "--drain"], "touch ran").status.success());
    assert!(!server.data().join("ran").exists(), "a paused queue hands nothing out");
    queue(&server, &["resume", "q"]);
    queue(&server, &["schedule", "q", "nightly", "sweep", "--cron", "0 3 * * *", "--zone", "Europe/Berlin"]);
    let schedules = json(&queue(&server, &["schedules", "q", "--json"]));
    assert_eq!(schedules["schedules"][0]["time_zone"], "Europe/Berlin");
    queue(&server, &["unschedule", "q", "nightly"]);
    let asked = server.client(&["queue", "purge", "q"]);
    assert!(asked.status.code() == Some(2) && err(&asked).contains("--yes"), "{}", err(&asked));
    assert_eq!(json(&queue(&server, &["purge", "q", "--yes", "--json"]))["count"], 1);
    queue(&server, &["drop", "q"]);
    let gone = server.client(&["queue", "stats", "q"]);
    assert!(gone.status.code() == Some(1) && err(&gone).contains("QUE-020"), "{}", err(&gone));
}

#[test]
fn lists_show_every_queue_and_hold_no_control_characters() {
    let server = server();
    queue(&server, &["put", "a", "x\u{1b}[31m"]);
    queue(&server, &["put", "b", "y"]);
    let list = out(&queue(&server, &["list"]));
    // The head, the two, and the server's own queue of pushes.
    assert!(list.lines().count() == 4 && list.contains("\na ") && list.contains("\nb "), "{list}");
    let peek = out(&queue(&server, &["peek", "a"]));
    assert!(peek.contains("x·[31m"), "{peek}");
    assert!(out(&queue(&server, &["list", "--search", "B"])).lines().count() == 2);
}

#[test]
fn jobs_survive_a_server_that_is_killed() {
    let server = server();
    let lines: String = (0..1_000).map(|number| format!("{number}\n")).collect();
    assert!(put_lines(&server, &["q", "--lines"], &lines).status.success());
    assert!(work(&server, &["q", "--once"], "true").status.success());
    server.signal("KILL");
    let server = server.again(&SMALL);
    let q = stats(&server, "q");
    assert_eq!((&q["jobs"]["due"], &q["totals"]["settled"]), (&999.into(), &1.into()), "{q}");
}

#[test]
fn number_of_shards_is_fixed_when_the_directory_is_made() {
    let mut server = server();
    server.signal("TERM");
    assert!(server.ended().success());
    let data = server.data().display().to_string();
    let serve = |count: &str| {
        let count = format!("shards.count={count}");
        let listen = ["--mqtt", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rpc", "127.0.0.1:0"];
        stadium(&[&["serve", "--data", &data, "--set", &count], &listen[..]].concat())
    };
    let refused = serve("3").output().expect("the binary can be run");
    assert_eq!(refused.status.code(), Some(1));
    let message = err(&refused);
    assert!(
        message.contains("SHARD-011") && message.contains("shards.count") && message.contains("2 shards"),
        "{message}"
    );
    let server = server.again(&SMALL[..4]);
    let list = json(&queue(&server, &["list", "--json"]));
    let names: Vec<&Value> =
        list["queues"].as_array().expect("a list").iter().map(|queue| &queue["name"]).collect();
    assert_eq!(names, ["stadium.pushes"], "the server's own");
}

#[test]
fn journal_is_verified_dumped_and_repaired_without_a_server() {
    let mut server = server();
    for payload in ["first", "second", "third"] {
        queue(&server, &["put", "q", payload]);
    }
    let data = server.data().display().to_string();
    let journal = |arguments: &[&str]| {
        stadium(&[&["journal"], arguments, &[&data]].concat()).output().expect("the binary can be run")
    };
    let open = json(&journal(&["verify", "--json"]));
    assert!(open["journals"][0]["in_use_by"].is_number(), "{open}");
    server.signal("KILL");
    server.ended();
    let sound = journal(&["verify", "--json"]);
    assert!(sound.status.success(), "{}", err(&sound));
    let dumped = out(&journal(&["dump"]));
    assert_eq!(dumped.matches("put, due at").count(), 3, "{dumped}");
    assert_eq!(out(&journal(&["repair"])).trim(), "nothing is damaged, nothing was done");

    // A record with a job, which later ones prove to have been durable. They can be applied without it, as they could not without the first
    // one, which makes the queue.
    let lines: Vec<Value> = out(&journal(&["dump", "--json"]))
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    let put =
        lines.iter().find(|line| line["events"].to_string().contains("put, due at")).expect("it is dumped");
    let shard = put["shard"].as_u64().expect("it is a number");
    let segment = server.data().join(format!("shards/shard-{shard:04}/journal/000000000001.segment"));
    let mut bytes = fs::read(&segment).expect("it is there");
    let place = bytes.windows(6).position(|window| window == b"second").expect("the payload stands in it");
    bytes[place] ^= 1;
    fs::write(&segment, bytes).expect("it is writable");
    let damaged = journal(&["verify"]);
    assert_eq!(damaged.status.code(), Some(1), "{}", out(&damaged));
    assert!(err(&damaged).contains("stadium journal repair"), "{}", err(&damaged));
    let refused = stadium(&["serve", "--data", &data, "--mqtt", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .args(["--rpc", "127.0.0.1:0"])
        .args(SMALL)
        .output()
        .expect("the binary can be run");
    assert!(refused.status.code() == Some(1) && err(&refused).contains("JRN-"), "{}", err(&refused));
    assert_eq!(journal(&["repair"]).status.code(), Some(2), "it asks first");
    let repaired = journal(&["repair", "--yes"]);
    assert!(repaired.status.success(), "{}", err(&repaired));
    assert!(out(&repaired).contains("lost from") && out(&repaired).contains("kept as it was"));
    assert!(journal(&["verify"]).status.success());
}

/// All checksums are right, and a record cannot be applied: a server would not start, and `verify`
/// and `repair` report it.
#[test]
fn a_journal_that_a_start_refuses_is_named_and_not_called_sound() {
    let mut server = server();
    queue(&server, &["put", "q", "first"]);
    let data = server.data().display().to_string();
    server.signal("KILL");
    server.ended();
    let journal = |arguments: &[&str]| {
        stadium(&[&["journal"], arguments, &[&data]].concat()).output().expect("the binary can be run")
    };
    let sound = json(&journal(&["verify", "--json"]));
    assert!(sound["journals"][0]["replay"]["records"].is_number(), "{sound}");

    let folder = server.data().join("shards/shard-0000/journal");
    let (segment_bytes, part) = (4 << 20, 1 << 20);
    let options = stadium_journal::Options {
        segment_bytes,
        reserve_bytes: part,
        record_bytes_max: 1 << 20,
        ..Default::default()
    };
    let mut written = stadium_journal::FileJournal::open(&folder, &options).expect("nobody has it open");
    // A frame of the queues with one event of a kind that there is not.
    let mut record = vec![0; 24];
    record[..2].copy_from_slice(&[1, 1]);
    record[16..18].copy_from_slice(&[1, 1]);
    record[20..24].copy_from_slice(&1_u32.to_le_bytes());
    record.push(0xff);
    let position = stadium_journal::conformance::append(&mut written, &record);
    stadium_journal::conformance::make_durable(&mut written);
    drop(written);

    let refused = journal(&["verify"]);
    assert_eq!(refused.status.code(), Some(1), "{}", out(&refused));
    assert!(out(&refused).contains(&format!("from position {position} on")), "{}", out(&refused));
    assert!(err(&refused).contains("a server would not start"), "{}", err(&refused));
    let details = out(&journal(&["verify", "--json"]));
    let details: Value =
        serde_json::from_str(details.lines().next().unwrap_or_default()).expect("a line is JSON");
    let of_shard = &details["journals"][0];
    assert_eq!(of_shard["replay"]["position"].as_u64(), Some(position.0), "{details}");
    assert_eq!(of_shard["damages"].as_array().map(Vec::len), Some(0), "{details}");
    let repaired = journal(&["repair"]);
    assert_eq!(repaired.status.code(), Some(1), "{}", out(&repaired));
    assert!(!out(&repaired).contains("nothing is damaged"), "{}", out(&repaired));
    assert!(err(&repaired).contains("SHARD-010"), "{}", err(&repaired));
    let started = stadium(&["serve", "--data", &data, "--mqtt", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .args(["--rpc", "127.0.0.1:0"])
        .args(SMALL)
        .output()
        .expect("the binary can be run");
    assert!(started.status.code() == Some(1) && err(&started).contains("SHARD-010"), "{}", err(&started));
}

#[test]
fn services_work_over_rpc_with_a_key_that_may() {
    let server = server();
    let (rpc, admin) = (server.address("rpc"), server.data().join("admin.key").display().to_string());
    let call = |route: &str, request: &str, key: &str| {
        let mut all = vec!["service", "call", route, request, "--instance", &rpc, "--json"];
        if !key.is_empty() {
            all.extend(["--bearer-file", key]);
        }
        binary::run_in(server.data(), &all)
    };
    let put = call("queue/Put", r#"{"queue":"q","jobs":[{"payload":"aGk="},{"payload":"aG8="}]}"#, &admin);
    assert!(put.status.success(), "{}", err(&put));
    let reserved = json(&call("queue/Reserve", r#"{"queue":"q","jobs_max":1,"worker":"me"}"#, &admin));
    let job = &reserved["jobs"][0];
    assert_eq!((&job["payload"], &job["attempt"]), (&"aGk=".into(), &1.into()), "{reserved}");
    let lease = format!(r#"{{"leases":[{{"job":{},"reservation":{}}}]}}"#, job["job"], job["reservation"]);
    assert!(call("queue/Settle", &lease, &admin).status.success());
    let again = json(&call("queue/Settle", &lease, &admin));
    assert_eq!(again["outcomes"][0]["status"], "ALREADY", "{again}");
    let wrong = format!(r#"{{"leases":[{{"job":{},"reservation":99}}]}}"#, job["job"]);
    let lost = json(&call("queue/Release", &wrong, &admin));
    assert_eq!(lost["outcomes"][0]["status"], "REJECTED", "{lost}");
    let streamed = binary::run_in(
        server.data(),
        &[
            "service",
            "call",
            "queue/Work",
            r#"{"queue":"q"}"#,
            "--take",
            "1",
            "--credit",
            "1",
            "--instance",
            &rpc,
            "--bearer-file",
            &admin,
        ],
    );
    assert!(out(&streamed).contains("aG8="), "{}", err(&streamed));

    let nobody = call("queue/List", "{}", "");
    assert!(nobody.status.code() == Some(65) && err(&nobody).contains("NODE-009"), "{}", err(&nobody));
    let made = json(&server.client(&["key", "create", "eyes", "--role", "viewer", "--json"]));
    let reader = server.data().join("reader.key");
    fs::write(&reader, made["secret"].as_str().expect("it is text")).expect("the directory is writable");
    let reader = reader.display().to_string();
    assert!(call("queue/List", "{}", &reader).status.success());
    let refused = call("queue/Put", r#"{"queue":"q","jobs":[{}]}"#, &reader);
    assert!(err(&refused).contains("queue.put"), "{}", err(&refused));
    for (route, request, code) in [
        ("queue/Put", r#"{"queue":"no good","jobs":[{}]}"#, "NODE-010"),
        ("queue/Put", r#"{"queue":"q","jobs":[]}"#, "QUE-001"),
        ("queue/Put", r#"{"queue":"q","jobs":[{"priority":10}]}"#, "QUE-002"),
        ("queue/Put", r#"{"queue":"q","jobs":[{"delay_ms":1,"run_at_ms":1}]}"#, "NODE-010"),
        ("queue/Reserve", r#"{"queue":"q","jobs_max":1001}"#, "QUE-001"),
        ("queue/Find", r#"{"job":12345}"#, "QUE-021"),
        ("queue/Kick", r#"{"queue":"q"}"#, "NODE-010"),
    ] {
        let refused = call(route, request, &admin);
        assert!(
            refused.status.code() == Some(65) && err(&refused).contains(code),
            "{request}: {}",
            err(&refused)
        );
    }
}

#[test]
fn reserve_over_rpc_waits_for_a_job() {
    let server = server();
    let (rpc, admin) = (server.address("rpc"), server.data().join("admin.key").display().to_string());
    let waiting = stadium(&[
        "service",
        "call",
        "queue/Reserve",
        r#"{"queue":"q","wait_ms":30000}"#,
        "--deadline",
        "40s",
        "--instance",
        &rpc,
        "--bearer-file",
        &admin,
    ])
    .stdout(Stdio::piped())
    .spawn()
    .expect("the binary can be run");
    queue(&server, &["declare", "q"]);
    wait_for("a consumer that waits", || (stats(&server, "q")["waiting"] == 1).then_some(()));
    queue(&server, &["put", "q", "at last"]);
    let got = waiting.wait_with_output().expect("it ends");
    assert!(json(&got)["jobs"][0]["payload"].is_string(), "{}", out(&got));
}

#[test]
fn wrong_usage_of_queues_exits_with_2() {
    for arguments in [
        &["queue"][..],
        &["queue", "put", "q"],
        &["queue", "put", "q", "x", "--delay", "soon"],
        &["queue", "put", "q", "x", "--priority", "10"],
        &["queue", "work", "q"],
        &["queue", "work", "q", "-j", "0", "--", "true"],
        &["queue", "work", "q", "--lease", "1s", "--", "true"],
        &["queue", "find", "seventeen"],
        &["queue", "edit", "7"],
        &["queue", "declare", "q", "--limit", "fast"],
        &["journal", "verify"],
        &["journal", "dump", ".", "--from", "here"],
    ] {
        let failed = binary::run(arguments);
        assert_eq!(failed.status.code(), Some(2), "{arguments:?}: {}", err(&failed));
    }
}

/// Passes one request on to the server, and closes the connection when the answer begins.
fn lose_an_answer(server: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let server = server.to_owned();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut upstream = TcpStream::connect(server).expect("the server listens");
        let mut answer = upstream.try_clone().expect("a socket");
        let back = client.try_clone().expect("a socket");
        let ends = std::thread::spawn(move || {
            answer.read_exact(&mut [0]).expect("an answer");
            back.shutdown(Shutdown::Both)
        });
        // It ends when the client's side is closed.
        let _ = std::io::copy(&mut client, &mut upstream);
        ends.join().expect("no panic")
    });
    format!("http://{address}")
}

#[test]
fn a_put_without_an_answer_names_the_id_that_repeats_it() {
    let server = server();
    let lossy = lose_an_answer(&server.address("http"));
    let data = server.data().display().to_string();
    let lost = stadium(&["queue", "put", "mails", "a letter", "--url", &lossy, "--data", &data]).output();
    let lost = lost.expect("the binary can be run");
    assert_eq!(lost.status.code(), Some(1));
    let text = err(&lost);
    let id = text.split("with --id ").nth(1).and_then(|rest| rest.split(' ').next()).expect("an id");
    let again = queue(&server, &["put", "mails", "a letter", "--id", id]);
    assert!(err(&again).contains("was put before"), "{}", err(&again));
    assert_eq!(stats(&server, "mails")["jobs"]["due"], 1);
}
