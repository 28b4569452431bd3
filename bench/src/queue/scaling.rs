//! What a second shard on a second core adds: one shard on core 0, then two on both cores, with a queue that lies on all shards.
//!
//! The client stays on core 1 in both, so it takes from the second shard what it needs itself.

use anyhow::{Context as _, Result};

use super::crowd::Crowd;
use super::designs::{Setup, Spread, Stadium, Start};
use super::harness::{Endpoint as _, Tally, drive};
use crate::process::{self, Cores};

/// Name of the measurement.
pub(super) const NAME: &str = "scaling";
/// Batches large enough that the client costs little.
const BATCH: usize = 100;

/// Measures both, one after the other.
pub(super) fn take(start: &Start<'_>, crowd: &Crowd) -> Result<Vec<(String, f64)>> {
    let _pinned = process::Pinned::to(Cores::Second)?;
    let mut rates = Vec::new();
    let mut numbers = Vec::new();
    for (name, cores, shards) in [("one", Cores::First, 1), ("two", Cores::Both, 2)] {
        let setup = Setup { cores, shards: Some(shards), spread: Spread::All };
        let stadium = Stadium::start(start, setup).with_context(|| format!("{shards} shards"))?;
        let measured = drive(&stadium, &crowd.plan(BATCH), &mut Tally::default())
            .with_context(|| format!("{shards} shards: {}", stadium.log()))?;
        rates.push(measured.per_second());
        numbers.push((format!("{name}_per_second"), measured.per_second()));
        numbers.push((format!("{name}_client_cpu"), measured.client_cpu));
    }
    numbers.push(("gain".to_owned(), rates[1] / rates[0]));
    Ok(numbers)
}
