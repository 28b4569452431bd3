//! One of five instances goes wrong: calls of a default client are answered all the same, and in time.
//!
//! Another client takes the instances in turn and shows that the fault is there. The table with longer runs is in
//! docs/rpc-faults.md. Needs root, iproute2, nftables and etcd.

use std::time::Duration;

use anyhow::{Result, ensure};
use stadium_testing::faults::{Fault, Row, play};

/// How long each fault lasts: 2,000 calls of each client.
const LASTING: Duration = Duration::from_secs(8);

/// The share of a default client's calls that must be answered within their deadline.
const SUCCESS_MIN: f64 = 0.999;

/// By how much a default client's 99th percentile is better at least, where instances taken in turn meet the fault.
const BETTER_MIN: u32 = 3;

fn must_guard(fault: Fault) -> Result<Row> {
    let row = play(fault, LASTING)?;
    let (guarded, blind) = (&row.default, &row.round_robin);
    ensure!(guarded.success() >= SUCCESS_MIN, "{fault:?}: {guarded:?}, taking turns {blind:?}");
    Ok(row)
}

fn must_be_better(fault: Fault) -> Result<()> {
    let row = must_guard(fault)?;
    let (guarded, blind) = (&row.default, &row.round_robin);
    ensure!(blind.p99 >= Duration::from_millis(150), "{fault:?} cannot be seen: {blind:?}");
    ensure!(guarded.p99 * BETTER_MIN <= blind.p99, "{fault:?}: {guarded:?}, taking turns {blind:?}");
    Ok(())
}

#[test]
fn calls_are_answered_although_an_instance_or_discovery_fails() -> Result<()> {
    // One after the other: each needs the machine's two cores.
    for fault in [Fault::Slow, Fault::HalfOpen, Fault::BlackHole, Fault::Paused] {
        must_be_better(fault)?;
    }
    for fault in [Fault::Killed, Fault::DiscoveryGone] {
        must_guard(fault)?;
    }
    Ok(())
}
