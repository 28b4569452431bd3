//! What a second shard on a second core adds: one shard on core 0, then two on both cores, with a queue that lies on all shards.
//!
//! The client stays on core 1 in both, so it takes from the second shard what it needs itself. Payloads are small, because the
//! disk is one for both. There are as many loops of RPC as shards, and connections enough that each loop has its share.

use std::time::Instant;

use anyhow::{Context as _, Result};

use super::clients::Clients;
use super::designs::{Setup, Spread, Stadium};
use super::harness::{Endpoint as _, Plan, Tally, drive, payload};
use crate::machine;
use crate::process::{self, Cores};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "scaling";
/// Batches large enough that the client costs little.
const BATCH: usize = 100;
/// As many times the workers of the other rows, so that shards are busy while their journals sync.
const TIMES: usize = 4;
/// Workers that share a connection.
const WORKERS_EACH: usize = 10;

/// Measures both, one after the other.
pub(super) fn take(start: &Start<'_>, clients: &Clients) -> Result<Vec<(String, f64)>> {
    let _pinned = process::Pinned::to(Cores::Second)?;
    let many = Clients {
        producers: TIMES * clients.producers,
        consumers: TIMES * clients.consumers,
        ..clients.clone()
    };
    let mut rates = Vec::new();
    let mut numbers = Vec::new();
    for (name, cores, shards) in [("one", Cores::First, 1), ("two", Cores::Both, 2)] {
        let spread = Spread::All;
        let setup = Setup { cores, shards: Some(shards), spread, loops: shards, workers_each: WORKERS_EACH };
        let stadium = Stadium::start(start, setup).with_context(|| format!("{shards} shards"))?;
        let plan = Plan { payload_bytes: payload::BYTES_MIN, ..many.plan(BATCH) };
        let (cpu, started) = (machine::cpu_time(stadium.pid())?, Instant::now());
        let measured = drive(&stadium, &plan, &mut Tally::default())
            .with_context(|| format!("{shards} shards: {}", stadium.log()))?;
        let cpu = machine::cpu_time(stadium.pid())? - cpu;
        rates.push(measured.per_second());
        numbers.push((format!("{name}_per_second"), measured.per_second()));
        numbers.push((format!("{name}_server_cpu"), cpu.as_secs_f64() / started.elapsed().as_secs_f64()));
        numbers.push((format!("{name}_client_cpu"), measured.client_cpu));
    }
    numbers.push(("gain".to_owned(), rates[1] / rates[0]));
    Ok(numbers)
}
