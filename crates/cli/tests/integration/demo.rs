//! `stadium demo` as a process: its figures, and that nothing stays behind whichever way it ends.
//!
//! With few devices: large figures are the bench's business.

use crate::binary;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use binary::{err, json, run, stadium, wait_for};

/// Processes whose parent is `pid`.
fn children(pid: u32) -> Vec<String> {
    let listed =
        Command::new("ps").args(["-o", "pid=", "--ppid", &pid.to_string()]).output().expect("ps can be run");
    String::from_utf8_lossy(&listed.stdout).split_whitespace().map(str::to_owned).collect()
}

fn is_alive(pid: &str) -> bool {
    std::path::Path::new("/proc").join(pid).exists()
}

#[test]
fn every_device_is_lit_up_by_every_push() {
    let shown = run(&["demo", "--once", "--devices", "500", "--pushes", "3", "--json"]);
    assert!(shown.status.success(), "{}", err(&shown));
    let figures = json(&shown);
    assert_eq!(figures["connected"], 500);
    let pushes = figures["pushes"].as_array().expect("it is a list");
    assert_eq!(pushes.len(), 3);
    for push in pushes {
        assert_eq!(push["server"]["status"], "settled");
        assert_eq!(push["server"]["acknowledged"], 500);
        assert_eq!(push["devices"]["received"], 500);
        assert_eq!(push["devices"]["missing"], 0);
        // The server counts from acceptance, the devices from before the HTTP call: a message is sent before it is received.
        let (sent, received) =
            (push["server"]["first_sent_ms"].as_f64(), push["devices"]["to_first_ms"].as_f64());
        assert!(sent.is_some() && sent <= received, "first sent {sent:?}, first received {received:?}");
        assert_eq!(push["server"]["counting"], false);
    }
    assert_eq!(figures["burst"]["deliveries"], 20 * 500);
    // The second act: everybody votes once, and nobody twice.
    let vote = &figures["vote"];
    assert_eq!((&vote["counted"], &vote["refused"]), (&500.into(), &500.into()), "{vote}");
    let standings = vote["candidates"].as_array().expect("it is a list");
    let sum: i64 = standings.iter().filter_map(|standing| standing["votes"].as_i64()).sum();
    assert!(standings.len() == 3 && sum == 500, "{vote}");
    assert_eq!((&vote["credit"], &vote["debit"]), (&"500".into(), &"500".into()), "{vote}");
    assert_eq!(vote["books_balance"], true);
}

#[test]
fn without_a_terminal_it_ends_by_itself_and_prints_its_figures() {
    let shown = run(&["demo", "--devices", "50", "--pushes", "1"]);
    assert!(shown.status.success(), "{}", err(&shown));
    let printed = err(&shown);
    for part in [
        "Live page",
        "50 devices in",
        "50 of 50 acknowledged",
        "deliveries a second",
        "50 votes over MQTT",
        "the books balance",
    ] {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
}

#[test]
fn ctrl_c_ends_it_and_its_workers_with_0() {
    let mut child = stadium(&["demo", "--stay", "--devices", "50", "--pushes", "1", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it prints its figures");
    assert!(line.contains("\"connected\":50"), "{line}");
    let workers = children(child.id());
    assert!(!workers.is_empty());
    let sent =
        Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().expect("kill can be run");
    assert!(sent.success());
    assert_eq!(wait_for("the demo's end", || child.try_wait().expect("it is our child")).code(), Some(0));
    for worker in workers {
        wait_for("the worker's end", || (!is_alive(&worker)).then_some(()));
    }
}

#[test]
fn workers_of_a_demo_that_is_killed_end() {
    let mut child = stadium(&["demo", "--stay", "--devices", "50", "--pushes", "1", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it prints its figures");
    let workers = children(child.id());
    assert!(!workers.is_empty());
    child.kill().expect("it lives");
    child.wait().expect("it is our child");
    for worker in workers {
        wait_for("the worker's end", || (!is_alive(&worker)).then_some(()));
    }
}

#[test]
fn more_devices_than_open_files_are_refused_with_the_way_out() {
    let failed = run(&["demo", "--once", "--devices", "4000000000"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("ulimit -n"), "{}", err(&failed));
}

#[test]
fn nodes_that_make_no_cluster_and_flags_of_one_server_are_refused() {
    for (arguments, words) in [
        (&["--nodes", "0"][..], "1..=5"),
        (&["--nodes", "6"], "1..=5"),
        (&["--nodes", "2"], "do not survive the loss of one"),
        (&["--nodes", "3", "--stay"], "--stay is for the demo of one server"),
        (&["--nodes", "3", "--http", "127.0.0.1:0"], "--http is for the demo of one server"),
    ] {
        let refused = run(&[&["demo"], arguments].concat());
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {}", err(&refused));
        assert!(err(&refused).contains(words), "{arguments:?}: {}", err(&refused));
    }
}

#[cfg(not(feature = "cluster"))]
#[test]
fn a_build_without_clusters_gives_the_command_of_one_with_them() {
    let refused = run(&["demo", "--nodes", "3"]);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    assert!(
        err(&refused).contains("cargo run --release --features cluster -- demo --nodes 3"),
        "{}",
        err(&refused)
    );
}

#[cfg(feature = "cluster")]
#[test]
fn a_machine_without_etcd_and_kafka_is_told_what_to_install() {
    let nothing = tempfile::tempdir().expect("a folder");
    let mut demo = stadium(&["demo", "--nodes", "3"]);
    demo.env("PATH", nothing.path()).env("HOME", nothing.path());
    for variable in ["KAFKA_HOME", "JAVA_HOME", "STADIUM_ETCD"] {
        demo.env_remove(variable);
    }
    let refused = demo.output().expect("the binary can be run");
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    // A Kafka may be unpacked where no variable hides it.
    let maven = (!std::path::Path::new("/opt/kafka").exists()).then_some("apt-get install maven");
    for command in ["etcd-server", "openjdk-17-jre-headless"].into_iter().chain(maven) {
        assert!(err(&refused).contains(command), "{command}: {}", err(&refused));
    }
}
