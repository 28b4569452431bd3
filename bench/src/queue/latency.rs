//! From a put to its reserve at a fixed rate, by a timetable: a job that had to wait for a producer
//! was late from the time in the table, so that a pause of the server is not left out (coordinated
//! omission).

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::clients::Clients;
use super::designs::Design;
use super::harness::{Amount, Pace, Plan, Tally, drive};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "latency";
/// What a consumer reserves at most, so that it catches up after a pause of the disk. Jobs are put one at a time.
const RESERVE_BATCH: usize = 10;
/// Who did less than this share of the rate with single jobs does not come near it in this way either.
const CAPACITY_SHARE_MIN: f64 = 0.3;
/// Jobs a second.
pub(super) const RATE: f64 = 10_000.0;
const SPAN: Duration = Duration::from_secs(5);
/// Who is further behind than this has not kept up.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Starts a contender anew and measures it. `capacity` is what it did as fast as it can, where that was measured.
pub(super) fn take(
    design: Design,
    start: &Start<'_>,
    clients: &Clients,
    capacity: Option<f64>,
) -> Result<Vec<(String, f64)>> {
    if let Some(capacity) = capacity
        && capacity < CAPACITY_SHARE_MIN * RATE
    {
        bail!("it does {capacity:.0} single jobs/s, far from {RATE:.0}");
    }
    let endpoint = design.start(start, RESERVE_BATCH)?;
    let plan = Plan {
        pace: Pace::Open { per_second: RATE },
        amount: Amount::For(SPAN),
        drain_max: DRAIN_MAX,
        ..clients.plan(RESERVE_BATCH)
    };
    let measured = drive(&*endpoint, &plan, &mut Tally::default()).with_context(|| endpoint.log())?;
    let mut numbers = measured.numbers();
    numbers.push(("kept_up".to_owned(), measured.per_second() / RATE));
    Ok(numbers)
}
