//! The longest wait of a command while its shard is moved by plan, again and again, under load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::Numbers;
use super::forwarded::{WORKERS, plan};
use super::stage::Stage;
use crate::queue::harness::{Amount, Measured, Pace, Plan, Tally, drive};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "moves";

const NODES: usize = 3;

/// Jobs that are put a second: far from what the shard can do, so that a wait is the move's.
const PER_SECOND: f64 = 500.0;

/// Time for a move.
const MOVE_MAX: Duration = Duration::from_secs(30);

/// Moves the only shard back and forth between its replicas, and measures a load without moves too.
pub(super) fn take(start: &Start<'_>, seconds: u64, moves: usize) -> Result<Numbers> {
    let stage = Stage::start(start, NODES, 1)?;
    stage.keep_in_place();
    let replicas = stage.replicas(0).context("the shard has no owner and standby")?;
    let other = (0..NODES).find(|node| !replicas.contains(node)).context("each node has a replica")?;
    let through = stage.through(other)?;
    let load =
        |amount| Plan { pace: Pace::Open { per_second: PER_SECOND }, amount, ..plan(WORKERS, seconds) };
    let quiet = drive(&through, &load(Amount::For(Duration::from_secs(seconds))), &mut Tally::default())?;
    let (ends, mut took) = (AtomicBool::new(false), Vec::new());
    let moved = std::thread::scope(|scope| {
        let mover = scope.spawn(|| {
            let result = move_often(&stage, &replicas, moves, &ends);
            ends.store(true, Ordering::Release);
            result
        });
        // A load of a second each: the longest wait is that of all of them.
        let mut longest: Option<Measured> = None;
        let mut jobs = 0;
        let mut tally = Tally::default();
        while !ends.load(Ordering::Acquire) {
            let measured = drive(&through, &load(Amount::For(Duration::from_secs(1))), &mut tally)?;
            jobs += measured.jobs;
            match &mut longest {
                Some(sum) => {
                    sum.put_us.add(&measured.put_us)?;
                    sum.settle_us.add(&measured.settle_us)?;
                }
                None => longest = Some(measured),
            }
        }
        took = mover.join().expect("moving does not panic")?;
        Ok::<_, anyhow::Error>((longest.context("no load ran beside the moves")?, jobs))
    })?;
    let (measured, jobs) = moved;
    let longest = |measured: &Measured| {
        let longest = measured.put_us.max().max(measured.settle_us.max());
        longest as f64 / 1e3
    };
    took.sort_unstable();
    let shown = [
        ("longest_ms", longest(&measured)),
        ("quiet_longest_ms", longest(&quiet)),
        ("p99_ms", measured.put_us.value_at_quantile(0.99) as f64 / 1e3),
        ("moves", took.len() as f64),
        ("move_median_ms", took[took.len() / 2].as_secs_f64() * 1e3),
        ("jobs", jobs as f64),
    ];
    Ok(shown.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

/// Moves the shard so often, and tells how long each took from the request on.
fn move_often(stage: &Stage, replicas: &[usize], moves: usize, ends: &AtomicBool) -> Result<Vec<Duration>> {
    let mut took = Vec::new();
    for number in 1..=moves {
        std::thread::sleep(Duration::from_secs(1));
        if ends.load(Ordering::Acquire) {
            break;
        }
        let (to, begun) = (replicas[number % replicas.len()], Instant::now());
        stage.ask_for_move(0, to);
        while !stage.is_moved(0) || stage.owner(0) != Some(to) {
            ensure!(begun.elapsed() < MOVE_MAX, "move {number} is not done within {MOVE_MAX:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        took.push(begun.elapsed());
    }
    ensure!(!took.is_empty(), "nothing was moved");
    Ok(took)
}
