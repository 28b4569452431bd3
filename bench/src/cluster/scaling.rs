//! The work that each CPU-second of the nodes does, with six nodes and with three.
//!
//! A cluster grows to do more. So shards, queues, clients and jobs a second grow with the nodes, and
//! each node has as much to do with six as with three. Each queue is asked through all nodes alike: two
//! thirds of the commands are passed on with three nodes, and five sixths with six. Jobs come by a
//! timetable, since the nodes share this machine with their brokers: at the limit of both cores,
//! batches would grow with the waits, and CPU a job would tell of those.

use std::time::Duration;

use anyhow::Result;

use super::Numbers;
use super::forwarded::{measure, plan};
use super::stage::Stage;
use crate::queue::harness::{Pace, Plan};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "scaling";

/// Jobs a second for each node.
pub(super) const PER_SECOND_EACH: u32 = 200;

/// Producers for each node, and as many consumers: two of each queue at each of six nodes.
pub(super) const WORKERS_EACH: usize = 48;

/// Shards for each node, and as many queues, which lie on the shards as they come.
const SHARDS_EACH: usize = 4;

/// The smaller number of nodes.
const FEW: usize = 3;

/// The time without a load.
const IDLE: Duration = Duration::from_secs(5);

/// CPU time of all nodes without a load, in percent of one core.
fn idle(stage: &Stage, span: Duration) -> Result<f64> {
    // Nodes that have just started are not idle yet.
    std::thread::sleep(span);
    let before = stage.cpu()?;
    std::thread::sleep(span);
    Ok((stage.cpu()? - before).as_secs_f64() / span.as_secs_f64() * 100.0)
}

/// Measures both, one after the other, and the load of the few on the many.
pub(super) fn take(start: &Start<'_>, seconds: u64) -> Result<Numbers> {
    let mut taken = Numbers::new();
    let mut take = |stage: &Stage, name: &str, loaded: usize| -> Result<f64> {
        let through = stage.through_all(stage.shards())?;
        let pace = Pace::Open { per_second: f64::from(PER_SECOND_EACH) * loaded as f64 };
        let plan = Plan { pace, ..plan(WORKERS_EACH * loaded, seconds) };
        // The brokers have just started, and are slower until their code is compiled.
        measure(stage, &through, &plan)?;
        let (cpu, rate) = measure(stage, &through, &plan)?;
        taken.push((format!("{name}_us"), cpu));
        taken.push((format!("{name}_per_second"), rate));
        Ok(cpu)
    };
    let stage = Stage::start(start, FEW, SHARDS_EACH * FEW)?;
    let idle = idle(&stage, IDLE)?;
    let few = take(&stage, "three", FEW)?;
    drop(stage);
    let many = Stage::start(start, 2 * FEW, SHARDS_EACH * 2 * FEW)?;
    let six = take(&many, "six", 2 * FEW)?;
    let spread = take(&many, "spread", FEW)?;
    taken.push(("idle_percent".to_owned(), idle / FEW as f64));
    taken.push(("gain".to_owned(), few / six));
    taken.push(("spread_gain".to_owned(), few / spread));
    Ok(taken)
}
