//! Overload: three times what a service can do arrives, whether or not it answers. Only the product
//! is measured, because answering Busy to callers is its own contract.
//!
//! The service's function costs 200 µs inline, so the loop does 5,000 calls a second at best. Capacity is what callers get
//! who wait for each answer; then arrivals come at three times that rate, evenly, and wait for nothing.

use anyhow::{Context as _, Result};

use super::fixture::{Fixture, Times};
use super::peer::{Peer, Started};
use crate::process;
use crate::server::Places;

/// Name of the measurement.
pub(super) const NAME: &str = "overload";
/// What a call costs the service.
const COST_US: &str = "200";
/// Calls in flight when capacity is measured: some, so that the loop never waits for a call.
const CAPACITY_IN_FLIGHT: &str = "20";
/// Arrivals, in capacities.
const OVERLOAD: f64 = 3.0;
const TIMES: Times = Times { seconds: 5.0, warm: 1.0 };

/// Measures capacity, then overload; the numbers by name.
pub(super) fn take(places: &Places) -> Result<Vec<(String, f64)>> {
    let mut fixture = Fixture::start(Started { peer: Peer::Stadium, places }, &["--cost-us", COST_US])?;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let common = ["--connections", "10", "--elements", "2"];

    let calm = words(&[&common[..], &["--inflight-total", CAPACITY_IN_FLIGHT]].concat());
    let capacity = value(&fixture.ask(calm, TIMES)?, "per_second")?;
    let rate = format!("{:.0}", capacity * OVERLOAD);
    let numbers = fixture.ask(words(&[&common[..], &["--overload", &rate]].concat()), TIMES)?;
    let (goodput, busy) = (value(&numbers, "per_second")?, value(&numbers, "busy_per_second")?);
    let arrivals = capacity * OVERLOAD;
    Ok([
        ("capacity", capacity),
        ("goodput", goodput),
        ("goodput_share", goodput / capacity),
        ("busy_share", busy / arrivals),
        ("answered_share", (goodput + busy) / arrivals),
        ("p50_us", value(&numbers, "p50_us")?),
        ("p99_us", value(&numbers, "p99_us")?),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec())
}

fn value(numbers: &[(String, f64)], name: &str) -> Result<f64> {
    process::number(numbers, name).with_context(|| format!("the client gives no {name}"))
}
