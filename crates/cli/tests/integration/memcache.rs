//! `stadium memcache` against a real memcached: bytes, exit codes, statistics, a bench that is interrupted.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use stadium_testing::deadline::{must_find, must_hold};
use stadium_testing::memcached::Memcached;
use stadium_testing::process::{Process, Signal};

use crate::binary::{err, json, out, stadium};

/// A command on this server.
fn command(server: &Memcached, arguments: &[&str]) -> Command {
    let mut command = stadium(&[&["memcache"], arguments].concat());
    command.env("STADIUM_MEMCACHE", server.address.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(server: &Memcached, arguments: &[&str]) -> Output {
    command(server, arguments).output().expect("it runs")
}

fn memcached(arguments: &[&str]) -> Memcached {
    Memcached::start(arguments).expect("memcached starts")
}

#[test]
fn bytes_come_out_as_they_went_in() {
    let server = memcached(&[]);
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut set = command(&server, &["set", "a key", "--expire", "1h"]).stdin(Stdio::piped()).spawn();
    let set = set.as_mut().expect("it runs");
    set.stdin.take().expect("a pipe").write_all(&bytes).expect("it reads");
    assert!(set.wait().expect("it ends").success());
    let got = run(&server, &["get", "a key"]);
    assert!(got.status.success() && got.stdout == bytes, "{}", err(&got));
    let got = json(&run(&server, &["get", "a key", "--json"]));
    assert_eq!((&got["bytes"], got["value_base64"].is_string()), (&Value::from(300_000), true));

    assert!(run(&server, &["set", "greeting", "hello", "--flags", "7"]).status.success());
    let got = json(&run(&server, &["get", "greeting", "--json"]));
    assert_eq!((&got["value"], &got["flags"]), (&Value::from("hello"), &Value::from(7)));
}

#[test]
fn each_outcome_has_its_exit_code_and_its_reason() {
    let mut server = memcached(&[]);
    let table: &[(&[&str], i32, &str, &str)] = &[
        (&["get", "k"], 1, "", "there is no value under k"),
        (&["delete", "k"], 1, "", "there is no value under k"),
        (&["touch", "k", "--expire", "5m"], 1, "", "there is no value under k"),
        (&["incr", "k"], 1, "", "there is no value under k"),
        (&["set", "k", "v", "--replace"], 1, "", "there is no value under k"),
        (&["set", "k", "v", "--add"], 0, "", "1 byte is stored under k"),
        (&["set", "k", "v", "--add"], 1, "", "there is a value under k already"),
        (&["touch", "k", "--expire", "never"], 0, "", "k has its new time to live"),
        (&["incr", "k"], 65, "", "the server refused the command"),
        (&["incr", "n", "--initial", "40"], 0, "40\n", ""),
        (&["incr", "n", "2"], 0, "42\n", ""),
        (&["incr", "n", "-50"], 0, "0\n", ""),
        (&["delete", "k"], 0, "", "k is removed"),
        (&["get", ""], 2, "", "the key is empty"),
        (&["set", "k", "v", "--expire", "10ms"], 2, "", "whole seconds"),
        (&["get", "k", "--servers", "host:0"], 2, "", "no address of a server"),
    ];
    for (arguments, code, shown, reason) in table {
        let output = run(&server, arguments);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?} {}", err(&output));
        assert_eq!(out(&output), *shown, "{arguments:?}");
        assert!(err(&output).contains(reason), "{arguments:?} {}", err(&output));
    }
    server.pause();
    let output = run(&server, &["get", "k", "--timeout", "100ms"]);
    assert!(matches!(output.status.code(), Some(69 | 124)), "{}", err(&output));
    server.kill();
    let output = run(&server, &["get", "k", "--json"]);
    assert_eq!((output.status.code(), &json(&output)["exit_code"]), (Some(69), &Value::from(69)));
}

#[test]
fn statistics_of_each_server_are_shown_with_those_that_are_away() {
    let (one, mut other) = (memcached(&[]), memcached(&[]));
    assert!(run(&one, &["set", "k", "v"]).status.success());
    for key in ["k", "k", "k", "missing"] {
        run(&one, &["get", key]);
    }
    let servers = format!("{},{}", one.address, other.address);
    let output = run(&one, &["stats", "--servers", &servers]);
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    let starts: Vec<&str> = text.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(starts[1..5], ["statistic", "items", "memory", "hit rate"], "{text}");
    assert!(text.lines().any(|line| line.starts_with("hit rate") && line.ends_with("75.0 %")), "{text}");
    let all = out(&run(&one, &["stats", "--all"]));
    assert!(all.lines().any(|line| line.starts_with("cmd_get") && line.ends_with(" 4")), "{all}");

    other.kill();
    let output = run(&one, &["stats", "--servers", &servers, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = json(&output);
    assert_eq!(shown["servers"][0]["stats"]["curr_items"], 1, "{shown}");
    assert!(shown["servers"][1]["error"].is_string(), "{shown}");
}

#[test]
fn a_bench_reports_what_was_done_also_when_it_is_interrupted() {
    let server = memcached(&[]);
    let arguments = ["bench", "--callers", "3", "--operations", "3000", "--keys", "100", "--sets", "50"];
    let report = json(&run(&server, &[&arguments[..], &["--wait", "--json"]].concat()));
    assert_eq!((&report["operations"], &report["interrupted"]), (&Value::from(3_000), &Value::from(false)));
    let (gets, sets) = (&report["kinds"]["get"], &report["kinds"]["set"]);
    let number = |value: &Value| value.as_u64().expect("a number");
    assert_eq!(number(&gets["operations"]) + number(&sets["operations"]), 3_000);
    assert!(number(&sets["operations"]) > 1_000 && number(&gets["misses"]) == 0, "{report}");
    for kind in [gets, sets] {
        let micros = |name: &str| number(&kind["latency_us"][name]);
        assert!(micros("p50") > 0 && micros("p50") <= micros("p999") && micros("p999") <= micros("max"));
    }

    let before = server.statistic("cmd_set").expect("it answers");
    let mut command = command(&server, &["bench", "--operations", "1000000000"]);
    let mut bench = Ended(command.spawn().expect("it runs"));
    // It listens to signals before it writes.
    must_hold("its writes", || server.statistic("cmd_set").is_ok_and(|sets| sets > before + 100));
    Process(bench.0.id()).signal(Signal::INT).expect("it runs");
    let status = must_find("its end", || bench.0.try_wait().expect("it is ours"));
    let mut text = String::new();
    bench.0.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
    assert!(status.success() && text.contains("ended early"), "{status} {text}");
    assert!(text.lines().any(|line| line.starts_with("get")), "{text}");
}

/// A process that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
