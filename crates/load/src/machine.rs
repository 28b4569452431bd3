//! The machine that the generator runs on, and how much of its processors is left.
//!
//! A generator that shares its processors with others, or that the hypervisor stops, measures that
//! too. The kernel's account of processor time shows it; where there is no account, the figure is
//! left out.

use stadium_report::Machine;

/// More than this share of the processors' time is all of it: the rest is what accounting rounds.
const BUSY: f64 = 0.97;

/// Hundredths of a second, summed over all processors since the machine began.
#[derive(Debug, Clone, Copy)]
struct Account {
    /// Nobody used them, or they waited for a disk.
    idle: u64,
    /// The hypervisor took them away.
    steal: u64,
    /// All.
    total: u64,
}

/// Looks at the account again and again.
#[derive(Debug)]
pub(crate) struct Watch {
    last: Option<Account>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Watch { last: read() }
    }

    /// The use since last time; `None` where that is too short, or nobody keeps account.
    pub(crate) fn look(&mut self) -> Option<Load> {
        let (before, now) = (self.last?, read()?);
        let total = now.total.saturating_sub(before.total);
        // Fewer than ten hundredths of a second mean nothing.
        if total < 10 {
            return None;
        }
        self.last = Some(now);
        let part = |now: u64, before: u64| now.saturating_sub(before) as f64 / total as f64;
        Some(Load { busy: 1.0 - part(now.idle, before.idle), steal: part(now.steal, before.steal) })
    }
}

fn read() -> Option<Account> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal, and two that repeat parts
/// of them.
fn parse(stat: &str) -> Option<Account> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
    Some(Account {
        idle: ticks.get(3)? + ticks.get(4)?,
        steal: ticks.get(7).copied().unwrap_or(0),
        total: ticks.iter().sum(),
    })
}

/// The use of the processors between two looks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    /// Share of the processors' time that was used.
    pub(crate) busy: f64,
    /// Share of it that the hypervisor took away.
    pub(crate) steal: f64,
}

/// Loads of a run, looked at again and again.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    looks: u32,
    busy: u32,
    steal: f64,
}

impl Loads {
    pub(crate) fn add(&mut self, load: Load) {
        self.looks += 1;
        self.busy += u32::from(load.busy > BUSY);
        self.steal += load.steal;
    }

    /// Share of the looks at which all processors were busy; `None` where there was none.
    pub(crate) fn busy_share(&self) -> Option<f64> {
        (self.looks > 0).then(|| f64::from(self.busy) / f64::from(self.looks))
    }

    /// Share of the time that the hypervisor took away, on average.
    pub(crate) fn steal(&self) -> f64 {
        self.steal / f64::from(self.looks.max(1))
    }
}

/// A description of this machine.
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
        assert!(parse("").is_none());
    }

    #[test]
    fn this_machine_can_be_described() {
        let machine = describe();
        assert!(machine.processors > 0 && machine.memory_bytes > 0 && machine.open_files > 0, "{machine:?}");
    }
}
