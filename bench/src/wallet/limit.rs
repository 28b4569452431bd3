//! The limit: the [bare disk](crate::harness::disk), with each sync carrying all debits that can be under way.

use anyhow::Result;

use super::clients::Clients;
use super::rates::Rate;
use crate::harness::disk;
use crate::services::Start;

/// What a journal must write of a debit at the least: id, account, amount, balance, time, and where the entry before stands.
const DEBIT_BYTES: usize = 64;
/// A write of the latency row: what comes in a millisecond, and a frame around it.
const SMALL_BYTES: usize = 4_096;

/// Measures the loop for a row.
pub(super) fn take(start: &Start<'_>, clients: &Clients, rate: Rate) -> Result<Vec<(String, f64)>> {
    let (depth, batch) = rate.shape(clients);
    let debits = clients.connections * depth * batch;
    let bytes = if rate == Rate::Latency { SMALL_BYTES } else { DEBIT_BYTES * debits };
    let syncs = disk::measure(&start.places.target.join("bench").join(start.bench), bytes)?;
    let mut numbers = vec![("sync_p50_ms", syncs.ms(0.5)), ("sync_p99_ms", syncs.ms(0.99))];
    if rate != Rate::Latency {
        numbers.push(("per_second", syncs.per_second * debits as f64));
    }
    Ok(numbers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
