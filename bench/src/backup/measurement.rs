//! One side of the comparison: a server with or without backups, its load, and the restore
//! afterwards.
//!
//! Backups are counted in their folder, and their processor time is that of the threads that make
//! them. A restore includes its proof: all records are replayed.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::figure::Contender;
use crate::machine;
use crate::queue::designs::{Setup, Stadium};
use crate::queue::harness::{Amount, Endpoint as _, Pace, Plan, Tally, drive};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "single";
/// Producers, and as many consumers.
const WORKERS: usize = 100;
/// Bytes of a job's payload.
const PAYLOAD_BYTES: usize = 200;
/// Jobs that may wait for a consumer before producers pause.
const BACKLOG_MAX: u64 = 300;
/// The beginning of the names of the threads that make backups.
const THREADS: &str = "backup";

/// A side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Server {
    /// Without backups.
    Plain,
    /// With a backup every few seconds.
    BackedUp,
}

impl Contender for Server {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "without backups",
            Self::BackedUp => "with backups",
        }
    }
}

/// The measured values of a turn, by name.
pub(super) type Values = Vec<(String, f64)>;

/// Starts the server anew, loads it, and restores its newest backup.
pub(super) fn take(server: Server, start: &Start<'_>, seconds: u32, every_s: u32) -> Result<Values> {
    let store = start.folder("store", 0)?;
    let mut settings = Vec::new();
    if server == Server::BackedUp {
        let to = fs::canonicalize(&store.0)?;
        settings.push(format!("backup.to=file://{}", to.display()));
        settings.push(format!("backup.every_s={every_s}"));
    }
    let mut stadium = Stadium::start_with(start, Setup::by_default(), settings)?;
    let plan = Plan {
        producers: WORKERS,
        consumers: WORKERS,
        payload_bytes: PAYLOAD_BYTES,
        pace: Pace::Closed { backlog_max: BACKLOG_MAX },
        amount: Amount::For(Duration::from_secs(seconds.into())),
        ..Plan::default()
    };
    let before = Spent::of(stadium.pid())?;
    let backups_before = backups(&store.0)?;
    let measured = drive(&stadium, &plan, &mut Tally::default()).with_context(|| stadium.log())?;
    let spent = Spent::of(stadium.pid())?.since(before);
    let mut numbers = measured.numbers();
    let mut add = |name: &str, value: f64| numbers.push((name.to_owned(), value));
    add("server_cpu_s_per_million", spent.all.as_secs_f64() * 1e6 / measured.jobs as f64);
    if server == Server::BackedUp {
        let count = backups(&store.0)?.saturating_sub(backups_before);
        if count == 0 {
            bail!("no backup was stored in {seconds} s: {}", stadium.log());
        }
        add("backups", count as f64);
        add("backup_cpu_s", spent.backups.as_secs_f64() / count as f64);
        add("backup_mb", machine::folder_bytes(&store.0) as f64 / 1e6 / count as f64);
        stadium.kill();
        let (bytes, took) = restore(start, &store.0)?;
        add("restored_mb", bytes as f64 / 1e6);
        add("restore_mb_per_second", bytes as f64 / 1e6 / took.as_secs_f64());
    }
    Ok(numbers)
}

/// Processor time of a server.
#[derive(Clone, Copy)]
struct Spent {
    all: Duration,
    backups: Duration,
}

impl Spent {
    fn of(pid: u32) -> Result<Self> {
        Ok(Self { all: machine::cpu_time(pid)?, backups: machine::threads_time(pid, THREADS)? })
    }

    fn since(self, before: Self) -> Self {
        Self {
            all: self.all.saturating_sub(before.all),
            backups: self.backups.saturating_sub(before.backups),
        }
    }
}

/// The number of backups in a store.
fn backups(store: &Path) -> Result<usize> {
    match fs::read_dir(store.join("backups")) {
        Ok(entries) => Ok(entries.count()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Restores the newest backup. Returns the bytes that were written, and the time that it took.
fn restore(start: &Start<'_>, store: &Path) -> Result<(u64, Duration)> {
    let folder = start.folder("restored", 0)?;
    let data = folder.0.join("data");
    let url = format!("file://{}", fs::canonicalize(store)?.display());
    let mut command = start.cores.command(&start.places.stadium());
    command.args(["restore", &url, "--data"]).arg(&data).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status().context("cannot start a restore")?;
    let took = began.elapsed();
    match status.success() {
        true => Ok((machine::folder_bytes(&data), took)),
        false => bail!("the newest backup is not restored: {status}"),
    }
}
