//! The figures of the process and of the disk of its data directory, as the kernel has them.
//!
//! Figures that the kernel does not report, on a system without /proc for instance, are left out.

use std::fmt;
use std::fs;
use std::path::Path;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use stadium_metrics::table::server;

use crate::metrics::encoder::Encoder;

/// Room on the disk that has a directory.
pub(crate) fn disk(to: &mut Encoder<'_>, directory: &Path) -> fmt::Result {
    let Ok(disk) = rustix::fs::statvfs(directory) else { return Ok(()) };
    to.value(server::DATA_DISK_FREE, disk.f_bavail.saturating_mul(disk.f_frsize))?;
    to.value(server::DATA_DISK_SIZE, disk.f_blocks.saturating_mul(disk.f_frsize))
}

/// The metrics of this process.
#[derive(Debug)]
pub(crate) struct Process;

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut to = Encoder::new(encoder);
        if let Some(usage) = usage() {
            to.value(server::PROCESS_CPU, usage.cpu_s)?;
            to.value(server::PROCESS_RESIDENT_MEMORY, usage.resident_bytes)?;
            to.value(server::PROCESS_START_TIME, usage.started_s)?;
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // The listing itself holds one.
            to.value(server::PROCESS_OPEN_FDS, open.count().saturating_sub(1) as u64)?;
        }
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        to.value(server::PROCESS_MAX_FDS, limit.unwrap_or(u64::MAX))
    }
}

struct Usage {
    cpu_s: f64,
    resident_bytes: u64,
    started_s: f64,
}

/// From /proc/self/stat (proc(5)): its fields are counted from 1, and the second may contain spaces.
fn usage() -> Option<Usage> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let field = |number: usize| after_name.split_ascii_whitespace().nth(number - 3)?.parse::<u64>().ok();
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second;
    let kernel = fs::read_to_string("/proc/stat").ok()?;
    let booted = kernel.lines().find_map(|line| line.strip_prefix("btime "))?.parse::<u64>().ok()?;
    Some(Usage {
        cpu_s: seconds(field(14)? + field(15)?),
        resident_bytes: field(24)? * rustix::param::page_size() as u64,
        started_s: booted as f64 + seconds(field(22)?),
    })
}
