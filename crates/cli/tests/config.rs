//! `stadium config`: what the built binary says of a configuration.
//!
//! The rules of single settings are tested beside their definitions, in `stadium_node::settings`.

mod binary;

use binary::{err, json, out, run, run_in, stadium};

#[test]
fn check_accepts_nothing_and_the_sample() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    assert!(run_in(directory.path(), &["config", "check"]).status.success());
    let sample = run(&["config", "sample"]);
    std::fs::write(directory.path().join("stadium.toml"), &sample.stdout).expect("the directory is writable");
    let checked = run_in(directory.path(), &["config", "check", "--json"]);
    assert!(checked.status.success(), "{}", err(&checked));
    assert_eq!(json(&checked)["file"], "stadium.toml");
    assert_eq!(json(&checked)["changed"], 0);
}

#[test]
fn check_tells_every_mistake_with_its_line_and_exits_with_1() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let text = "[mqtt]\nlisten = \"127.0.0.1:1883\"\nbaklog = 7\n[limits]\nreceive_maximum = 0\n";
    std::fs::write(directory.path().join("my.toml"), text).expect("the directory is writable");
    let failed = run_in(directory.path(), &["config", "check", "my.toml"]);
    assert_eq!(failed.status.code(), Some(1));
    let told = err(&failed);
    assert!(told.contains("the configuration has 2 problems"), "{told}");
    assert!(
        told.contains("my.toml:3: mqtt.baklog is no setting; did you mean mqtt.backlog? (SET-002)"),
        "{told}"
    );
    assert!(
        told.contains("my.toml:5: limits.receive_maximum = 0: must be 1 to 65,535 messages (SET-004)"),
        "{told}"
    );
}

#[test]
fn a_file_that_is_named_must_exist() {
    let failed = run(&["config", "check", "nowhere.toml"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("nowhere.toml: cannot be read"), "{}", err(&failed));
}

#[test]
fn show_tells_where_each_value_comes_from() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    std::fs::write(directory.path().join("stadium.toml"), "[server]\nloops = 3\n")
        .expect("the directory is writable");
    let shown = stadium(&[
        "config",
        "show",
        "--json",
        "--changed",
        "--http",
        "127.0.0.1:9",
        "--set",
        "log.format=json",
    ])
    .env("STADIUM_LIMITS__CONNECTIONS_MAX", "77")
    .current_dir(directory.path())
    .output()
    .expect("the binary can be run");
    let entries = json(&shown);
    let mut told: Vec<String> = entries
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|entry| format!("{} {} {}", entry["setting"], entry["value"], entry["from"]).replace('"', ""))
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            "http.listen 127.0.0.1:9 flag --http",
            "limits.connections_max 77 environment STADIUM_LIMITS__CONNECTIONS_MAX",
            "log.format json flag --set",
            "server.loops 3 stadium.toml:2",
        ]
    );
    let text = out(&run(&["config", "show"]));
    assert!(text.contains("[mqtt]") && text.contains("listen = \"127.0.0.1:1883\""), "{text}");
}

#[test]
fn trial_mode_refuses_to_be_reachable() {
    let failed = run(&["config", "check", "--trial", "--mqtt", "0.0.0.0:1883"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("not loopback"), "{}", err(&failed));
}

#[test]
fn reference_is_the_page_in_the_repository() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/configuration.md");
    let kept = std::fs::read_to_string(page).expect("the page is in the repository");
    assert_eq!(out(&run(&["config", "reference"])).trim_end(), kept.trim_end());
}

#[test]
fn example_is_right() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/stadium.toml");
    let checked = run(&["config", "check", example]);
    assert!(checked.status.success(), "{}", err(&checked));
}
