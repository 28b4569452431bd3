//! The gain of a second shard for a queue that lies on all shards: see [`crate::scaling`].
//!
//! Payloads are small, because the disk is one for both. There are as many loops of RPC as shards, and
//! connections enough that each loop has its share.

use anyhow::{Context as _, Result};

use super::clients::Clients;
use super::designs::{Setup, Spread, Stadium};
use super::harness::{Endpoint as _, Plan, Tally, drive, payload};
use crate::machine::Meter;
use crate::scaling::{self, Side};
use crate::services::Start;

/// Batches large enough that the client costs little.
const BATCH: usize = 100;
/// As many times the workers of the other rows, so that shards are busy while their journals sync.
const TIMES: usize = 4;
/// Workers that share a connection.
const WORKERS_EACH: usize = 10;

/// Measures both, one after the other.
pub(super) fn take(start: &Start<'_>, clients: &Clients) -> Result<Vec<(String, f64)>> {
    let many = Clients {
        producers: TIMES * clients.producers,
        consumers: TIMES * clients.consumers,
        ..clients.clone()
    };
    scaling::take(|cores, shards| {
        let spread = Spread::All;
        let setup = Setup { cores, shards: Some(shards), spread, loops: shards, workers_each: WORKERS_EACH };
        let stadium = Stadium::start(start, setup)?;
        let plan = Plan { payload_bytes: payload::BYTES_MIN, ..many.plan(BATCH) };
        let meter = Meter::start(stadium.pid())?;
        let measured = drive(&stadium, &plan, &mut Tally::default()).with_context(|| stadium.log())?;
        let server_cpu = meter.processors()?;
        Ok(Side { per_second: measured.per_second(), client_cpu: measured.client_cpu, server_cpu })
    })
}
