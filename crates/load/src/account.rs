//! The kernel's account of what the machine's processors did.
//!
//! Whoever measures wants to know whether there were processors to spare; where there is no account, nothing is said.

/// Hundredths of a second, summed over all processors since the machine began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    /// Nobody used them, or they waited for a disk.
    pub(crate) idle: u64,
    /// The hypervisor took them away.
    pub(crate) steal: u64,
    /// All.
    pub(crate) total: u64,
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

    /// What happened since last time; `None` where that is too short, or nobody keeps account.
    pub(crate) fn look(&mut self) -> Option<Account> {
        let (before, now) = (self.last?, read()?);
        let total = now.total.saturating_sub(before.total);
        // Fewer than ten hundredths of a second say nothing.
        if total < 10 {
            return None;
        }
        self.last = Some(now);
        Some(Account {
            idle: now.idle.saturating_sub(before.idle),
            steal: now.steal.saturating_sub(before.steal),
            total,
        })
    }
}

fn read() -> Option<Account> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal, and two that repeat parts of them.
fn parse(stat: &str) -> Option<Account> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
    Some(Account {
        idle: ticks.get(3)? + ticks.get(4)?,
        steal: ticks.get(7).copied().unwrap_or(0),
        total: ticks.iter().sum(),
    })
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
}
