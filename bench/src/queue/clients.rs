//! How many clients take part, and how much they carry: the published harness' parameters.

use std::time::Duration;

use clap::Args;

use super::harness::{Amount, Pace, Plan, payload};

/// Jobs that may wait for a consumer, in batches of all producers, before producers pause: enough that consumers never wait
/// for a job, little enough that no implementation is measured on a queue that only grows.
const BACKLOG_BATCHES: u64 = 3;
/// All must be settled so long after the last put.
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// The parameters of a load.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct Clients {
    /// Producers, each with one put under way
    #[arg(long, default_value_t = 100)]
    pub(crate) producers: usize,
    /// Consumers, each with one reserve or settle under way
    #[arg(long, default_value_t = 100)]
    pub(crate) consumers: usize,
    /// Batch sizes of the throughput rows
    #[arg(long = "batch", value_delimiter = ',', default_values_t = [1, 100])]
    pub(crate) batches: Vec<usize>,
    /// Bytes of a job's payload
    #[arg(long = "payload", default_value_t = 200, value_parser = bytes)]
    pub(crate) payload_bytes: usize,
    /// Seconds that producers put for
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// Batches that each producer puts, instead of --seconds
    #[arg(long)]
    pub(crate) iterations: Option<u64>,
}

fn bytes(text: &str) -> Result<usize, String> {
    let (min, max) = (payload::BYTES_MIN, payload::BYTES_MAX);
    match text.parse() {
        Ok(bytes) if (min..=max).contains(&bytes) => Ok(bytes),
        _ => Err(format!("a payload has {min} to {max} bytes")),
    }
}

impl Clients {
    /// Whether these are the parameters of the published rows.
    pub(crate) fn is_published(&self) -> bool {
        let (counts, bytes) = ((self.producers, self.consumers), self.payload_bytes);
        counts == (100, 100) && bytes == 200 && self.batches == [1, 100] && self.iterations.is_none()
    }

    /// All clients as fast as answers come.
    pub(crate) fn plan(&self, batch: usize) -> Plan {
        let round = self.producers as u64 * batch as u64;
        Plan {
            producers: self.producers,
            consumers: self.consumers,
            batch,
            payload_bytes: self.payload_bytes,
            pace: Pace::Closed { backlog_max: BACKLOG_BATCHES * round },
            amount: match self.iterations {
                Some(iterations) => Amount::Jobs(iterations * round),
                None => Amount::For(Duration::from_secs_f64(self.seconds)),
            },
            drain_max: DRAIN_MAX,
            ..Plan::default()
        }
    }
}
