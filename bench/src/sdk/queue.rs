//! Small jobs through a queue: all are put, then one worker that does nothing with them works on all.
//!
//! The figure is jobs over the time of both phases. Each contender has a server of its own, started anew.
//! An SDK's program puts and works in one process. The command line is two commands; its worker starts a
//! process for each job, and has no form that does not.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::caller::Caller;
use crate::process::{self, Cores, Owned};
use crate::server::Places;
use crate::services::Start;
use crate::services::stadium::Stadium;

/// Jobs of an SDK's program.
const JOBS: u32 = 20_000;
/// Jobs of the command line: some seconds, too.
const COMMAND_JOBS: u32 = 2_000;
/// The queue.
const QUEUE: &str = "bench";
/// Jobs that an SDK's worker holds at once; its settings are its defaults otherwise.
const CONCURRENCY: &str = "100";
/// Processes of the command line's worker at once. More are no faster on one core.
const PROCESSES: &str = "4";
/// A step that takes longer has failed.
const STEP_MAX: Duration = Duration::from_secs(60);

/// Runs one contender; its numbers by name.
pub(super) fn take(caller: Caller, places: &Places) -> Result<Vec<(String, f64)>> {
    let start = Start { places, cores: Cores::First, bench: "sdk" };
    let server = Stadium::start(&start, Cores::First, Vec::new())?;
    until_answered(&mut stadium(places, &server, &["list"]))?;
    match caller {
        Caller::WorkCommand => by_command(places, &server),
        _ => by_program(caller.client(places), &server),
    }
}

/// Runs a command until it succeeds: the doors of a server open one after the other, and its shards
/// after them.
fn until_answered(command: &mut Command) -> Result<()> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    while !command.status().context("cannot start `stadium queue`")?.success() {
        if started.elapsed() > STEP_MAX {
            bail!("the server's queues are not there after {STEP_MAX:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A program that puts and works, and counts what it settled.
fn by_program(mut command: Command, server: &Stadium) -> Result<Vec<(String, f64)>> {
    command.args(["--connect", &server.service().address().to_string(), "--queue", QUEUE]);
    command.args(["--jobs", &JOBS.to_string(), "--concurrency", CONCURRENCY]);
    let result = process::client(command.env("STADIUM_KEY", server.key()), STEP_MAX)?;
    let seconds = |name: &str| result[name].as_f64().with_context(|| format!("the program gives no {name}"));
    if result["settled"].as_u64() != Some(u64::from(JOBS)) {
        bail!("{} of {JOBS} jobs were settled", result["settled"]);
    }
    Ok(numbers(JOBS, seconds("put_s")?, seconds("work_s")?))
}

/// `stadium queue put`, then `stadium queue work`.
fn by_command(places: &Places, server: &Stadium) -> Result<Vec<(String, f64)>> {
    let lines = server.service().folder().join("jobs");
    fs::write(&lines, (0..COMMAND_JOBS).map(|nth| format!("job {nth:08}\n")).collect::<String>())?;
    let stadium = |arguments: &[&str]| stadium(places, server, arguments);
    let put_s = timed(stadium(&["put", QUEUE, "--lines"]).stdin(File::open(&lines)?))?;
    let work = ["work", QUEUE, "--jobs", PROCESSES, "--quiet", "--drain", "--", "/bin/true"];
    let work_s = timed(&mut stadium(&work))?;
    let stats =
        stadium(&["stats", QUEUE, "--json"]).output().context("cannot start `stadium queue stats`")?;
    let stats: Value = serde_json::from_slice(&stats.stdout).context("not the figures of a queue")?;
    if stats["totals"]["settled"].as_u64() != Some(u64::from(COMMAND_JOBS)) {
        bail!("{} of {COMMAND_JOBS} jobs were settled", stats["totals"]["settled"]);
    }
    Ok(numbers(COMMAND_JOBS, put_s, work_s))
}

/// A command of `stadium queue`.
fn stadium(places: &Places, server: &Stadium, arguments: &[&str]) -> Command {
    let mut command = Caller::WorkCommand.client(places);
    command.arg("queue").args(arguments).stdin(Stdio::null());
    command.env("STADIUM_URL", format!("http://{}", server.http())).env("STADIUM_KEY", server.key());
    command
}

/// Seconds that a command takes.
fn timed(command: &mut Command) -> Result<f64> {
    let shown = process::shown(command);
    let started = Instant::now();
    let mut process = Owned::start(command.stdout(Stdio::null()).stderr(Stdio::inherit()))?;
    let status = process.wait_for(STEP_MAX)?.with_context(|| format!("{shown} did not end"))?;
    if !status.success() {
        bail!("{shown} ended with {status}");
    }
    Ok(started.elapsed().as_secs_f64())
}

fn numbers(jobs: u32, put_s: f64, work_s: f64) -> Vec<(String, f64)> {
    let rate = |seconds: f64| f64::from(jobs) / seconds;
    let named = [
        ("per_second", rate(put_s + work_s)),
        ("put_per_second", rate(put_s)),
        ("work_per_second", rate(work_s)),
    ];
    named.map(|(name, value)| (name.to_owned(), value)).to_vec()
}
