//! The machine that the generator runs on, and what it leaves the generator.
//!
//! A generator that shares its processors with others, or that the hypervisor stops, measures that too: the kernel's
//! own account of time tells.

use stadium_report::Machine;

/// What happened to the processors between two looks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    /// Share of the processors' time that was used.
    pub(crate) busy: f64,
    /// Share of it that the hypervisor took away.
    pub(crate) steal: f64,
}

/// Looks at the kernel's account.
#[derive(Debug)]
pub(crate) struct Watch {
    last: Option<Account>,
}

#[derive(Debug, Clone, Copy)]
struct Account {
    idle: u64,
    steal: u64,
    total: u64,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Watch { last: read() }
    }

    /// What happened since last time.
    pub(crate) fn look(&mut self) -> Load {
        let (Some(before), Some(now)) = (self.last, read()) else { return Load::default() };
        let total = now.total.saturating_sub(before.total);
        // The account counts hundredths of a second: fewer than ten of them say nothing.
        if total < 10 {
            return Load::default();
        }
        self.last = Some(now);
        let part = |ticks: u64| ticks as f64 / total as f64;
        Load {
            busy: 1.0 - part(now.idle.saturating_sub(before.idle)),
            steal: part(now.steal.saturating_sub(before.steal)),
        }
    }
}

fn read() -> Option<Account> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal, and two that repeat parts of them.
fn parse(stat: &str) -> Option<Account> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
    Some(Account { idle: ticks.get(3)? + ticks.get(4)?, steal: *ticks.get(7)?, total: ticks.iter().sum() })
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
    fn the_kernels_account_is_read() {
        let account = parse("cpu  10 20 30 400 50 6 7 8 9 9\ncpu0 1 1 1 1\n").expect("an account");
        assert_eq!((account.idle, account.steal, account.total), (450, 8, 531));
        assert!(parse("intr 1 2 3").is_none());
    }

    #[test]
    fn this_machine_can_be_described() {
        let machine = describe();
        assert!(machine.processors > 0 && machine.memory_bytes > 0 && machine.open_files > 0, "{machine:?}");
    }
}
