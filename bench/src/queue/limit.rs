//! The limit: the [bare disk](crate::harness::disk), with each sync carrying what all workers can have under way.
//!
//! A job takes one put of a producer and two requests of a consumer: with C consumers and batches of B jobs no more than
//! B x C / 2 jobs can pass with each sync, however good the server is.

use anyhow::Result;

use super::clients::Clients;
use crate::harness::disk;
use crate::server::Places;

/// What a journal writes of a job beside its payload: put, reserved, settled.
const RECORD_BYTES: usize = 56;

/// Measures the loop for a batch size.
pub(super) fn take(places: &Places, clients: &Clients, batch: usize) -> Result<Vec<(String, f64)>> {
    let jobs = clients.consumers as f64 * batch as f64 / 2.0;
    let bytes = (clients.payload_bytes + 2 * RECORD_BYTES) * clients.consumers * batch / 2;
    let syncs = disk::measure(&places.target.join("bench/queue"), bytes)?;
    Ok([
        ("per_second", syncs.per_second * jobs),
        ("sync_p50_ms", syncs.ms(0.5)),
        ("sync_p99_ms", syncs.ms(0.99)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec())
}
