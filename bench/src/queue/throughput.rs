//! Jobs a second that are put, reserved and settled, each step durable, as fast as answers come.

use anyhow::{Context as _, Result};

use super::clients::Clients;
use super::designs::Design;
use super::harness::{Tally, drive};
use crate::services::Start;

/// Name of the measurement: `single`, or `batch-100`.
pub(super) fn name(batch: usize) -> String {
    if batch == 1 { "single".to_owned() } else { format!("batch-{batch}") }
}

/// Starts a contender anew and measures it; every job must go the whole way exactly once.
pub(super) fn take(
    design: Design,
    start: &Start<'_>,
    clients: &Clients,
    batch: usize,
) -> Result<Vec<(String, f64)>> {
    let endpoint = design.start(start, batch)?;
    let mut tally = Tally::default();
    let measured = drive(&*endpoint, &clients.plan(batch), &mut tally);
    Ok(measured.with_context(|| endpoint.log())?.numbers())
}
