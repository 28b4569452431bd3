//! The CPU time of a command that a node passes on, beside one that it does itself.
//!
//! A cluster of one shard on three nodes is asked twice for the same: through the owner, and through
//! the node without a replica. All nodes count both times, the standby too. A job is three commands:
//! put, reserve, settle.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Numbers;
use super::stage::{Stage, Through};
use crate::queue::harness::{Amount, Pace, Plan, Tally, drive};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "forwarded";

const NODES: usize = 3;
pub(super) const WORKERS: usize = 100;
const PAYLOAD_BYTES: usize = 200;

/// Loads of one kind, in turn with those of the other.
const TURNS: usize = 3;

/// A load as it is measured here: puts, reserves and settles, as fast as answers come.
pub(super) fn plan(workers: usize, seconds: u64) -> Plan {
    Plan {
        producers: workers,
        consumers: workers,
        payload_bytes: PAYLOAD_BYTES,
        pace: Pace::Closed { backlog_max: 3 * workers as u64 },
        amount: Amount::For(Duration::from_secs(seconds)),
        ..Plan::default()
    }
}

/// CPU time of all nodes, microseconds a job, and jobs a second.
pub(super) fn measure(stage: &Stage, through: &Through<'_>, plan: &Plan) -> Result<(f64, f64)> {
    let before = stage.cpu()?;
    let measured = drive(through, plan, &mut Tally::default())?;
    let cpu = stage.cpu()? - before;
    Ok((cpu.as_secs_f64() * 1e6 / measured.jobs as f64, measured.per_second()))
}

/// Measures both in turn.
pub(super) fn take(start: &Start<'_>, seconds: u64) -> Result<Numbers> {
    let stage = Stage::start(start, NODES, 1)?;
    stage.keep_in_place();
    let replicas = stage.replicas(0).context("the shard has no owner and standby")?;
    let other = (0..NODES).find(|node| !replicas.contains(node)).context("each node has a replica")?;
    let plan = plan(WORKERS, seconds);
    let sides = [("local", replicas[0]), ("forwarded", other)];
    let mut sums = [(0.0, 0.0); 2];
    for (_, node) in sides {
        // Connections, links and caches are made once.
        measure(&stage, &stage.through(node)?, &Plan { amount: Amount::Jobs(2_000), ..plan.clone() })?;
    }
    for _ in 0..TURNS {
        for ((_, node), sum) in sides.iter().zip(&mut sums) {
            let (cpu, rate) = measure(&stage, &stage.through(*node)?, &plan)?;
            *sum = (sum.0 + cpu / TURNS as f64, sum.1 + rate / TURNS as f64);
        }
    }
    let mut taken = vec![("ratio".to_owned(), sums[1].0 / sums[0].0)];
    for ((name, _), (cpu, rate)) in sides.iter().zip(sums) {
        taken.push((format!("{name}_us"), cpu));
        taken.push((format!("{name}_per_second"), rate));
    }
    Ok(taken)
}
