//! The machine: memory, cores, limits of the process and of the kernel, the clock.
//!
//! Files below /proc and /sys are read; one that a container hides is left out. A limit is held
//! against the connections that the settings allow.

use std::fs::read_to_string;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use stadium_node::clock;
use stadium_node::settings::{Loaded, grouped};

use super::Checks;

/// Memory of an idle device over TLS: the process's own (bench/results/edge.md: 1,511 B), and the
/// kernel's socket (5 KB).
const DEVICE_BYTES: u64 = 1_511 + 5 * 1_024;

/// The part of the memory that devices may take in the estimate; the rest is for shards, buffers
/// and the page cache.
const MEMORY_SHARE: u64 = 2;

/// Descriptors of a server besides its connections, at the default settings.
const OWN_FILES: u64 = 512;

/// A backlog below it makes devices of a reconnecting fleet wait for a second attempt.
const SOMAXCONN_MIN: u64 = 4_096;

/// The kernel's bound on the error of the clock from which on leases and token times become doubtful.
const CLOCK_ERROR_US_MAX: u64 = 500_000;

/// Examines it.
pub(super) fn examine(loaded: &Loaded, checks: &mut Checks) {
    let wanted = u64::from(loaded.settings.limits.connections_max);
    let memory_room = memory(checks);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let loops = loaded.settings.server.loops;
    match usize::from(loops) {
        loops if loops > cores => checks.warning(
            "machine",
            format!("{loops} loops share {cores} cores"),
            "set server.loops = 0: one loop for each core",
        ),
        _ => checks.ok("machine", format!("{cores} cores")),
    }
    let files_room = files(wanted, checks);
    let room = wanted.min(files_room).min(memory_room.unwrap_or(u64::MAX));
    kernel(room, checks);
    clock_state(checks);
}

fn number(path: &str) -> Option<u64> {
    read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}

/// Devices that half of the memory has room for.
fn memory(checks: &mut Checks) -> Option<u64> {
    let facts = read_to_string("/proc/meminfo").ok()?;
    let of = |name: &str| {
        let line = facts.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1_024)
    };
    let (total, available) = (of("MemTotal:")?, of("MemAvailable:")?);
    // A container has less than its machine.
    let group = own_group().and_then(|group| number(&format!("/sys/fs/cgroup{group}/memory.max")));
    let bytes = group.map_or(total, |limit| limit.min(total));
    let room = bytes / MEMORY_SHARE / DEVICE_BYTES;
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let whose = if group.is_some_and(|limit| limit < total) { "memory of this container" } else { "memory" };
    let found =
        format!("{} of {whose}: half of it holds about {} idle TLS devices", gib(bytes), grouped(room));
    if available < total / 20 {
        let remedy = "stop what takes the memory, or use a larger machine";
        checks.warning("machine", format!("{found}; only {} are free now", gib(available)), remedy);
    } else {
        checks.ok("machine", found);
    }
    Some(room)
}

/// The control group of this process (version 2).
fn own_group() -> Option<String> {
    let text = read_to_string("/proc/self/cgroup").ok()?;
    text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

/// Connections that the open-file limit has room for.
fn files(wanted: u64, checks: &mut Checks) -> u64 {
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let room = limit.saturating_sub(OWN_FILES);
    let found = format!(
        "{} open files: about {} connections; limits.connections_max is {}",
        grouped(limit),
        grouped(room),
        grouped(wanted)
    );
    if room >= wanted {
        checks.ok("limits", found);
    } else {
        checks.warning(
            "limits",
            found,
            format!(
                "raise it (LimitNOFILE={0} of the systemd unit, --ulimit nofile={0} of the container), or lower the setting",
                wanted + OWN_FILES
            ),
        );
    }
    room
}

/// The kernel's own bounds.
fn kernel(room: u64, checks: &mut Checks) {
    if let Some(backlog) = number("/proc/sys/net/core/somaxconn") {
        let found = format!("net.core.somaxconn is {}", grouped(backlog));
        if backlog < SOMAXCONN_MIN {
            checks.warning("limits", found, format!("sysctl -w net.core.somaxconn={SOMAXCONN_MIN}"));
        } else {
            checks.ok("limits", found);
        }
    }
    if let Some(entries) = number("/proc/sys/net/netfilter/nf_conntrack_max") {
        let found = format!("nf_conntrack_max is {}: each connection takes an entry", grouped(entries));
        if entries < room {
            let remedy = format!("sysctl -w net.netfilter.nf_conntrack_max={}", room.saturating_mul(2));
            checks.warning("limits", found, format!("{remedy}, or exempt the ports from tracking"));
        } else {
            checks.ok("limits", found);
        }
    }
    let ports = read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let ports: Vec<u64> = ports.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    if let [first, last] = *ports {
        checks.ok(
            "limits",
            format!(
                "ports {first} to {last} for outgoing connections: it bounds load generators, not servers"
            ),
        );
    }
    if Path::new("/proc/sys/vm/overcommit_memory").exists() && number("/proc/sys/vm/swappiness") == Some(100)
    {
        checks.warning(
            "limits",
            "vm.swappiness is 100: idle devices are swapped out",
            "sysctl -w vm.swappiness=10",
        );
    }
}

fn clock_state(checks: &mut Checks) {
    let remedy = "run a time daemon (chrony, systemd-timesyncd) on this machine or its host";
    match clock::kernel_clock() {
        None => checks.ok("clock", "the kernel does not say whether the clock is synchronised"),
        Some(clock) if !clock.is_synchronised => {
            checks.warning("clock", "no time daemon synchronises the clock", remedy);
        }
        Some(clock) if clock.error_us_max > CLOCK_ERROR_US_MAX => {
            let found = format!("the clock may be off by {} ms", clock.error_us_max / 1_000);
            checks.warning("clock", found, remedy);
        }
        Some(clock) => {
            checks.ok("clock", format!("synchronised, off by {} ms at most", clock.error_us_max / 1_000));
        }
    }
}
