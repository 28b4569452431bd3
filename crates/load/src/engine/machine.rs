//! The machine that the generator runs on, and what it leaves the generator.
//!
//! A generator that shares its processors with others, or that the hypervisor stops, measures that too: the kernel's
//! own account of time tells.

use stadium_report::Machine;

use crate::account::Account;

/// What happened to the processors between two looks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    /// Share of the processors' time that was used.
    pub(crate) busy: f64,
    /// Share of it that the hypervisor took away.
    pub(crate) steal: f64,
}

impl From<Account> for Load {
    fn from(account: Account) -> Self {
        let part = |ticks: u64| ticks as f64 / account.total as f64;
        Load { busy: 1.0 - part(account.idle), steal: part(account.steal) }
    }
}

/// What this machine is.
pub(crate) fn describe() -> Machine {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'))
            .map(|value| value.trim().to_owned())
            .unwrap_or_default()
    };
    let memory_kb = after(&text("/proc/meminfo"), "MemTotal");
    let memory_kb: u64 = memory_kb.trim_end_matches(" kB").parse().unwrap_or(0);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    Machine {
        host: text("/proc/sys/kernel/hostname").trim().to_owned(),
        cpu: after(&text("/proc/cpuinfo"), "model name"),
        processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        memory_bytes: memory_kb * 1024,
        system: format!("Linux {}", text("/proc/sys/kernel/osrelease").trim()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        open_files: limit.current.unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_described() {
        let machine = describe();
        assert!(machine.processors > 0 && machine.memory_bytes > 0 && machine.open_files > 0, "{machine:?}");
    }
}
