//! Whether the machine had processors to spare while the swarm measured.
//!
//! A generator that shares its processors with the broker measures both. The kernel's own account of idle time
//! tells; where there is none, the report says so by leaving the figure out.

/// Idle below this is busy: the rest is what accounting rounds.
const IDLE_SHARE_MIN: f64 = 0.03;

/// Samples the machine's account.
#[derive(Debug)]
pub(crate) struct Machine {
    last: Option<Account>,
    samples: u32,
    busy: u32,
}

#[derive(Debug, Clone, Copy)]
struct Account {
    idle: u64,
    total: u64,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Machine { last: read(), samples: 0, busy: 0 }
    }

    /// Looks at what happened since last time. Call it a few times a second.
    pub(crate) fn sample(&mut self) {
        let (Some(before), Some(now)) = (self.last, read()) else { return };
        let total = now.total.saturating_sub(before.total);
        // The account counts hundredths of a second: fewer than ten of them say nothing.
        if total < 10 {
            return;
        }
        let idle = now.idle.saturating_sub(before.idle);
        self.samples += 1;
        self.busy += u32::from((idle as f64) < total as f64 * IDLE_SHARE_MIN);
        self.last = Some(now);
    }

    /// Share of the time in which all processors were busy.
    pub(crate) fn busy_share(&self) -> Option<f64> {
        (self.samples > 0).then(|| f64::from(self.busy) / f64::from(self.samples))
    }
}

fn read() -> Option<Account> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal, and two that repeat parts of them.
fn parse(stat: &str) -> Option<Account> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some(Account { idle, total: ticks.iter().sum() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_account_is_read() {
        let account = parse("cpu  10 20 30 400 50 6 7 8 9 9\ncpu0 1 1 1 1\n").expect("an account");
        assert_eq!((account.idle, account.total), (450, 531));
        assert!(parse("intr 1 2 3").is_none());
        assert!(parse("").is_none());
    }
}
