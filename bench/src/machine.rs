//! The kernel's figures of a process and of this machine: resident memory, CPU time, clocks.
//!
//! Read from outside the process under measurement, so that every server is measured alike.

#![allow(unsafe_code, reason = "CPU clocks of other processes")]

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Resident memory of a process, bytes. From smaps_rollup, which is exact; `status` is a batched estimate.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).context("smaps_rollup has no Rss")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().context("Rss is not a number")?;
    Ok(kilobytes * 1024)
}

/// Resident memory once it has stopped moving: three looks 300 ms apart within 0.1%, at most 10 s.
pub(crate) fn settled_resident_bytes(pid: u32) -> Result<u64> {
    let mut last = resident_bytes(pid)?;
    let mut quiet = 0;
    for _ in 0..33 {
        std::thread::sleep(Duration::from_millis(300));
        let now = resident_bytes(pid)?;
        quiet = if now.abs_diff(last) <= last / 1000 { quiet + 1 } else { 0 };
        last = now;
        if quiet == 3 {
            break;
        }
    }
    Ok(last)
}

/// Bytes of disk that a folder takes, as far as it can be read.
pub(crate) fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => folder_bytes(&entry.path()),
            Ok(about) => about.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// CPU time that a process, all threads, has used since its start.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    let mut clock: libc::clockid_t = 0;
    let process = i32::try_from(pid).context("a pid fits an i32")?;
    // SAFETY: `clock` is a live clockid_t that the call fills.
    let error = unsafe { libc::clock_getcpuclockid(process, &raw mut clock) };
    if error != 0 {
        bail!("process {pid} has no CPU clock (error {error})");
    }
    clock_time(clock)
}

/// CPU time that the threads of a process have used whose names begin so. Threads that have ended
/// do not count.
pub(crate) fn threads_time(pid: u32, name: &str) -> Result<Duration> {
    let mut all = Duration::ZERO;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let thread = thread?.path();
        // One may end meanwhile.
        let Ok(comm) = fs::read_to_string(thread.join("comm")) else { continue };
        if comm.starts_with(name) {
            let times = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
            let on_cpu_ns = times.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
            all += Duration::from_nanos(on_cpu_ns);
        }
    }
    Ok(all)
}

/// CPU time of this process.
pub(crate) fn own_cpu_time() -> Result<Duration> {
    clock_time(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The clock that all processes of this machine share, since boot.
pub(crate) fn shared_clock() -> Result<Duration> {
    clock_time(libc::CLOCK_MONOTONIC)
}

fn clock_time(clock: libc::clockid_t) -> Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec that the call fills.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(std::io::Error::last_os_error()).context("clock_gettime");
    }
    Ok(Duration::new(u64::try_from(time.tv_sec)?, u32::try_from(time.tv_nsec)?))
}

/// One line about this machine and this build: processor, cores, memory, kernel, cargo's profile,
/// the commit.
pub(crate) fn describe() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or("?", |(_, value)| value.trim()).to_string()
    };
    let processor = field(&read("/proc/cpuinfo"), "model name");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory_kb: u64 =
        field(&read("/proc/meminfo"), "MemTotal").trim_end_matches(" kB").parse().unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    // Ours and the product's programs lie in target/PROFILE.
    let program = std::env::current_exe().unwrap_or_default();
    let profile = program.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let memory_gb = memory_kb / 1_000_000;
    let kernel = kernel.trim();
    format!(
        "{processor}, {cores} cores, {memory_gb} GB, Linux {kernel}, profile `{profile}`, commit {}",
        commit()
    )
}

/// The commit of the sources, and whether they differ from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|it| it.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    // Earlier benches of the same session have written their pages.
    let changes = git(&["status", "--porcelain", "--", ":!bench/results"]).unwrap_or_default();
    if changes.is_empty() { commit } else { format!("{commit} with changes") }
}
/// The processors that a process uses.
pub(crate) struct Meter {
    pid: u32,
    before: Duration,
    began: Instant,
}

impl Meter {
    /// From now on.
    pub(crate) fn start(pid: u32) -> Result<Self> {
        Ok(Self { pid, before: cpu_time(pid)?, began: Instant::now() })
    }

    /// Processors in use since then.
    pub(crate) fn processors(&self) -> Result<f64> {
        let used = cpu_time(self.pid)? - self.before;
        Ok(used.as_secs_f64() / self.began.elapsed().as_secs_f64())
    }
}
