//! How busy the node is: the share of the cores that its process took lately.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The time over which it is measured: a load that moves has each node of the cluster told.
const SPAN: Duration = Duration::from_secs(5);

/// Measures, span by span.
pub(crate) struct Busy {
    since: Instant,
    cpu: Duration,
    cores: usize,
    load: f32,
}

impl Busy {
    /// Idle until the first span is over.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { since: Instant::now(), cpu: cpu_time(), cores, load: 0.0 }
    }

    /// 0 idle to 1 where all cores do its work, over the last span that is over.
    pub(crate) fn load(&mut self) -> f32 {
        let span = self.since.elapsed();
        if span >= SPAN {
            let cpu = cpu_time();
            self.load = share(cpu.saturating_sub(self.cpu), span, self.cores);
            (self.since, self.cpu) = (Instant::now(), cpu);
        }
        self.load
    }
}

fn share(cpu: Duration, span: Duration, cores: usize) -> f32 {
    (cpu.as_secs_f32() / span.as_secs_f32() / cores as f32).min(1.0)
}

/// CPU time of this process so far, of all threads.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_a_share_of_all_cores_and_at_most_one() {
        let second = Duration::from_secs(1);
        assert_eq!(share(second, second * 2, 2), 0.25);
        assert_eq!(share(second * 3, second, 2), 1.0);
    }

    #[test]
    fn a_process_that_computes_is_busy() {
        let mut busy = Busy::new();
        let begun = cpu_time();
        while cpu_time() - begun < Duration::from_millis(50) {}
        assert_eq!(busy.load(), 0.0, "its span is not over");
        busy.since -= SPAN;
        assert!(busy.load() > 0.0 && busy.load() <= 1.0);
    }
}
