//! The clocks that measurements read.
//!
//! Monotonic time is the same for every process of one machine, so a stamp written in one can be
//! compared in another. It means nothing across machines.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC: since some fixed time before this machine's processes began.
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Processor time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // None of these clocks goes below zero.
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_time_never_goes_back() {
        let times: Vec<u64> = (0..1_000).map(|_| monotonic_ns()).collect();
        assert!(times.is_sorted());
        assert!(times[0] > 0);
    }
}
