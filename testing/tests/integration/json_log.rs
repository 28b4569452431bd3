//! With `log.format = "json"` each line on standard error is one JSON object: over the life of a
//! server, and when its start fails.
//!
//! Panics are tested beside the code: none can be caused from outside.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::device::Device;
use stadium_testing::process::Signal;
use stadium_testing::server::{self, Access, Plan, Server};
use stadium_testing::wire::Version;

/// The lines of a log, each of which must be an object with the parts of an event.
fn lines(text: &str) -> Result<Vec<Value>> {
    let parsed = text.lines().map(|line| {
        let event: Value = serde_json::from_str(line).with_context(|| format!("a stray line: {line:?}"))?;
        ensure!(event["level"].is_string() && event["fields"]["message"].is_string(), "no event: {line}");
        Ok(event)
    });
    parsed.collect()
}

fn has(events: &[Value], message: &str) -> bool {
    events.iter().any(|event| event["fields"]["message"] == message)
}

#[test]
fn each_line_of_a_whole_run_is_an_object() -> Result<()> {
    for (access, warning) in [
        (Access::Trial, "Trial mode, not for production: anyone on this machine is a device"),
        (Access::Settings, "No device can connect yet: set up [auth]"),
    ] {
        let folder = tempfile::tempdir()?;
        let keys = folder.path().join("rules.toml");
        fs::write(&keys, "")?;
        let settings = format!(
            "[log]\nformat = \"json\"\nlevel = \"debug\"\n[limits]\nconnections_max = 10000000\n\
             [auth]\nrules_file = {keys:?}\n[server]\ngrace_period_s = 5\n"
        );
        let mut server = Server::start(Plan { settings, access, ..Plan::default() })?;
        if access == Access::Trial {
            Device::clean(server.mqtt, Version::V5, "phone")?.leave()?;
            // A packet that is none.
            let mut stranger = Device::dial(server.mqtt, Version::V5)?;
            stranger.send(&[0xff; 32])?;
            stranger.closed(PATIENCE)?;
        }
        server.signal(Signal::HUP)?;
        let seen = |message: &'static str, server: &Server| {
            until_true(PATIENCE, message, || Ok(server.log().contains(message)))
        };
        seen("were read again", &server)?;
        fs::write(&keys, "this is no rule")?;
        server.signal(Signal::HUP)?;
        seen("could not be read again", &server)?;
        server.signal(Signal::TERM)?;
        ensure!(server.ended(PATIENCE)?.success());
        let log = server.log();
        let events = lines(&log).with_context(|| log.clone())?;
        for message in ["Ready", "Listens", warning, "Draining", "Drained"] {
            ensure!(has(&events, message), "no line {message:?}:\n{log}");
        }
        let read_again = "Certificates, keys, passwords and rules were read again";
        let count = events.iter().filter(|event| event["fields"]["message"] == read_again).count();
        ensure!(count == 1, "{count} lines {read_again:?}:\n{log}");
    }
    Ok(())
}

/// Runs a server whose start must fail, and returns the error that its log has.
fn refused(data: &Path, toml: &str, arguments: &[&str]) -> Result<(String, Output)> {
    let file = data.join("stadium.toml");
    fs::write(&file, toml)?;
    let mut command = Command::new(server::binary()?);
    command.arg("serve").arg("--config").arg(&file).args(arguments).stdin(Stdio::null());
    command.env("STADIUM_SERVER__DATA", data.join("data")).env("STADIUM_LOG__FORMAT", "json");
    command.env("STADIUM_HTTP__LISTEN", "127.0.0.1:0").env("STADIUM_RPC__LISTEN", "off");
    let output = command.output()?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr.clone())?;
    let events = lines(&text)?;
    let last = events.last().context("no line at all")?;
    ensure!(last["level"] == "ERROR" && last["fields"]["exit_code"] == 1, "{last}");
    Ok((last["fields"]["error"].as_str().context("no error")?.to_owned(), output))
}

#[test]
fn a_start_that_fails_says_so_in_an_object() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let taken = format!("mqtt.listen={}", taken.local_addr()?);
    let cases: [(&str, &[&str], &str); 5] = [
        ("[limits]\nconections_max = 7\n", &["--mqtt", "off"], "SET-002"),
        ("this is no TOML", &["--mqtt", "off"], "stadium.toml:1"),
        ("", &["--mqtt", "off", "--log", "stadium=loud"], "log.level"),
        ("", &["--set", &taken], "in use"),
        ("[auth]\nrules_file = \"/nowhere/rules.toml\"\n", &["--mqtt", "127.0.0.1:0"], "/nowhere/rules.toml"),
    ];
    for (toml, arguments, expected) in cases {
        let folder = tempfile::tempdir()?;
        let (error, output) = refused(folder.path(), toml, arguments)?;
        ensure!(error.contains(expected), "{toml:?} {arguments:?}: {error}");
        ensure!(output.stdout.is_empty(), "{output:?}");
        let (_, output) = refused(folder.path(), toml, &[arguments, &["--json"]].concat())?;
        let shown: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(shown["exit_code"] == 1 && shown["error"] == error, "{shown} and {error}");
    }
    Ok(())
}
