//! What a load does, and what came of it.

use std::collections::HashMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::payload::BYTES_MIN;

/// How fast producers put.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// The next batch as soon as the last one is answered, while no more than `backlog_max` jobs wait for a consumer.
    Closed { backlog_max: u64 },
    /// By a timetable that waits for nobody: so many jobs a second, one at a time. A job's stamp is
    /// the time in the table, so one that had to wait for a free producer counts as late.
    Open { per_second: f64 },
}

/// How much is put.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    /// Whatever can be put in this time.
    For(Duration),
    /// So many jobs.
    Jobs(u64),
    /// Nothing: the consumers take what is there until no job is left.
    Nothing,
    /// Nothing: the consumers take so many jobs.
    Take(u64),
}

/// One load.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Workers that put.
    pub(crate) producers: usize,
    /// Workers that reserve and settle. Without any, the load ends when everything is put.
    pub(crate) consumers: usize,
    /// Jobs of one put, and of one reserve at most.
    pub(crate) batch: usize,
    /// Bytes of a job's payload.
    pub(crate) payload_bytes: usize,
    pub(crate) pace: Pace,
    pub(crate) amount: Amount,
    /// When jobs are due; `None`: at once.
    pub(crate) due: Option<Due>,
    /// Jobs that were edited after they were put: their new stamps by serial.
    pub(crate) moved: HashMap<u64, u64>,
    /// From the last put on, all must be settled within this time.
    pub(crate) drain_max: Duration,
}

impl Default for Plan {
    /// One worker of each kind, one job at a time, nothing to do.
    fn default() -> Self {
        Self {
            producers: 1,
            consumers: 1,
            batch: 1,
            payload_bytes: BYTES_MIN,
            pace: Pace::Closed { backlog_max: u64::MAX },
            amount: Amount::Nothing,
            due: None,
            moved: HashMap::new(),
            drain_max: Duration::from_secs(60),
        }
    }
}

/// Due times of delayed jobs: evenly one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// The first job's, milliseconds since 1970.
    pub(crate) first_ms: u64,
    /// Jobs due a second.
    pub(crate) per_second: f64,
    /// How many jobs' ids are kept, from the first one.
    pub(crate) ids_max: usize,
}

/// What a load did.
pub(crate) struct Measured {
    /// Jobs that went the whole way.
    pub(crate) jobs: u64,
    /// From the first request to the last answer.
    pub(crate) elapsed: Duration,
    /// From a put's request to its answer, microseconds.
    pub(crate) put_us: Histogram<u64>,
    /// From a job's stamp until a consumer holds it, microseconds.
    pub(crate) late_us: Histogram<u64>,
    /// From a settle's request to its answer, microseconds.
    pub(crate) settle_us: Histogram<u64>,
    /// Requests that had to be made again.
    pub(crate) conflicts: u64,
    /// Jobs that came before they were due.
    pub(crate) early: u64,
    /// This thread's CPU time over the time that passed.
    pub(crate) client_cpu: f64,
    /// Ids of jobs by serial, as many as [`Due::ids_max`] allows, where the implementation reports
    /// them.
    pub(crate) ids: Vec<(u64, super::Token)>,
}

impl Measured {
    /// Jobs a second.
    pub(crate) fn per_second(&self) -> f64 {
        self.jobs as f64 / self.elapsed.as_secs_f64()
    }

    /// The numbers that every row keeps, by name.
    pub(crate) fn numbers(&self) -> Vec<(String, f64)> {
        let ms = |histogram: &Histogram<u64>, quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        [
            ("per_second", self.per_second()),
            ("put_p50_ms", ms(&self.put_us, 0.5)),
            ("put_p99_ms", ms(&self.put_us, 0.99)),
            ("late_p50_ms", ms(&self.late_us, 0.5)),
            ("late_p99_ms", ms(&self.late_us, 0.99)),
            ("late_p90_ms", ms(&self.late_us, 0.9)),
            ("late_p999_ms", ms(&self.late_us, 0.999)),
            ("late_p9999_ms", ms(&self.late_us, 0.9999)),
            ("settle_p50_ms", ms(&self.settle_us, 0.5)),
            ("settle_p99_ms", ms(&self.settle_us, 0.99)),
            ("conflicts", self.conflicts as f64),
            ("early", self.early as f64),
            ("client_cpu", self.client_cpu),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}
