//! A bound on the bandwidth of uploads, shared by all that hold a clone.
//!
//! Each part waits until those before it would have ended at the allowed rate. So the mean is
//! bounded, and a part travels as fast as the line is.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A bound on bytes a second, or none.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    bounded: Option<Bounded>,
}

#[derive(Clone, Debug)]
struct Bounded {
    bytes_per_second: NonZeroU64,
    /// When all parts that have begun would have ended at this rate.
    free_at: Arc<Mutex<Option<Instant>>>,
}

impl Pace {
    /// At most so many bytes a second on average; `None` for as many as the line takes.
    #[must_use]
    pub fn new(bytes_per_second: Option<NonZeroU64>) -> Self {
        let bounded =
            bytes_per_second.map(|bytes_per_second| Bounded { bytes_per_second, free_at: Arc::default() });
        Self { bounded }
    }

    /// Waits for the turn of so many bytes.
    pub async fn take(&self, bytes: usize) {
        let Some(bounded) = &self.bounded else { return };
        let begin = {
            let mut free_at = bounded.free_at.lock();
            let now = Instant::now();
            let begin = free_at.map_or(now, |free_at| free_at.max(now));
            let takes = Duration::from_secs_f64(bytes as f64 / bounded.bytes_per_second.get() as f64);
            *free_at = Some(begin + takes);
            begin
        };
        tokio::time::sleep_until(begin).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_wait_for_those_before_them_also_of_a_clone() {
        let runtime = crate::runtime().expect("a runtime can be had");
        runtime.block_on(async {
            let pace = Pace::new(NonZeroU64::new(1_000_000));
            let other = pace.clone();
            let began = Instant::now();
            pace.take(100_000).await;
            assert!(began.elapsed() < Duration::from_millis(90), "the first does not wait");
            other.take(50_000).await;
            assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
            pace.take(1).await;
            assert!(began.elapsed() >= Duration::from_millis(150), "{:?}", began.elapsed());
        });
    }

    #[test]
    fn without_a_bound_nothing_waits() {
        let runtime = crate::runtime().expect("a runtime can be had");
        let began = Instant::now();
        runtime.block_on(async { Pace::new(None).take(usize::MAX).await });
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}
