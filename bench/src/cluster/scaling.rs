//! The work that each CPU-second of the nodes does, with six nodes and with three.
//!
//! Each queue is asked through all nodes alike. So two thirds of the commands are passed on with three
//! nodes, and five sixths with six. The shards are the same, and so are the clients.

use anyhow::Result;

use super::Numbers;
use super::forwarded::{measure, plan};
use super::stage::Stage;
use crate::queue::harness::{Amount, Plan};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "scaling";

/// Producers, and as many consumers: so many that the nodes are busy while the brokers commit.
pub(super) const WORKERS: usize = 1_200;

const SHARDS: usize = 12;

/// Queues, which lie on the shards as they come.
const QUEUES: usize = 12;

/// Measures both, one after the other.
pub(super) fn take(start: &Start<'_>, seconds: u64) -> Result<Numbers> {
    let mut taken = Numbers::new();
    let mut each = Vec::new();
    for (name, nodes) in [("three", 3), ("six", 6)] {
        let stage = Stage::start(start, nodes, SHARDS)?;
        let through = stage.through_all(QUEUES)?;
        measure(&stage, &through, &Plan { amount: Amount::Jobs(2_000), ..plan(WORKERS, seconds) })?;
        let (cpu, rate) = measure(&stage, &through, &plan(WORKERS, seconds))?;
        taken.push((format!("{name}_us"), cpu));
        taken.push((format!("{name}_per_second"), rate));
        each.push(cpu);
    }
    taken.push(("gain".to_owned(), each[0] / each[1]));
    Ok(taken)
}
