//! Jobs a second through the shards of one process: put, reserve and settle, each durable.
//!
//! 100 producers and 100 consumers, each with one command under way, as futures on one thread, as
//! they would be on a loop of the RPC server. `throughput [BATCH] [JOBS] [SHARDS] [DIRECTORY]`;
//! with `memory` for a directory the journal is in memory.

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;
use stadium_queue::{Answer, Command, NewJob, QueueName, QueueSettings, Refusal, Spread};
use stadium_shard::{Settings, Shards};

const PRODUCERS: u64 = 100;
const CONSUMERS: u64 = 100;
const PAYLOAD_BYTES: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse::<u64>());
    let (batch, jobs, count) = (number(1)?, number(100_000)?, number(1)?);
    let kept = arguments.next();
    let is_in_memory = kept.as_deref() == Some("memory");
    let temporary = tempfile::tempdir_in(kept.as_deref().filter(|_| !is_in_memory).unwrap_or("."))?;
    let count_of_shards = u16::try_from(count)?;
    let settings = match is_in_memory {
        true => Settings::in_memory(count_of_shards),
        false => Settings::in_directory(temporary.path().join("data"), count_of_shards),
    };
    let shards = Shards::open(settings, |_, _| ())?;
    let queue = QueueName::new("throughput")?;
    if count > 1 {
        let settings = QueueSettings { spread: Spread::AllShards, ..QueueSettings::default() };
        let declare = Command::Declare { queue: queue.clone(), settings };
        shards.submit(declare).wait(Duration::from_secs(10)).ok_or("no answer")??;
    }

    let left_to_put = Rc::new(Cell::new(jobs));
    let settled = Rc::new(Cell::new(0_u64));
    let mut pool = LocalPool::new();
    let began = Instant::now();
    for _ in 0..PRODUCERS {
        let produce = produce(shards.clone(), queue.clone(), batch, Rc::clone(&left_to_put));
        pool.spawner().spawn_local(produce)?;
    }
    for _ in 0..CONSUMERS {
        let consume = consume(shards.clone(), queue.clone(), batch, Rc::clone(&settled), jobs);
        pool.spawner().spawn_local(consume)?;
    }
    pool.run();
    let took = began.elapsed();
    let rate = jobs as f64 / took.as_secs_f64();
    println!(
        "batch {batch}, {count} shards: {rate:.0} jobs/s ({jobs} jobs of {PAYLOAD_BYTES} B in {took:.2?})"
    );
    for metrics in shards.metrics() {
        let journal = &metrics.journal;
        println!(
            "shard {}: {} turns, {} records, {} commits, mean sync {} us, mean turn {} us, mean lag {} us, checkpoints {}, worst slice {} us",
            metrics.shard,
            metrics.turns,
            metrics.records,
            journal.commits,
            journal.sync_us.sum / journal.commits.max(1),
            metrics.turn_us.sum / metrics.turns.max(1),
            metrics.durable_lag_us.sum
                / metrics.durable_lag_us.buckets.iter().map(|&(_, n)| n).sum::<u64>().max(1),
            metrics.checkpoints,
            metrics.checkpoint_pause_us.max,
        );
    }
    shards.stop(Duration::from_secs(60));
    Ok(())
}

async fn produce(shards: Shards, queue: QueueName, batch: u64, left: Rc<Cell<u64>>) {
    let payload = Bytes::from(vec![7; PAYLOAD_BYTES]);
    loop {
        let size = left.get().min(batch);
        if size == 0 {
            return;
        }
        left.set(left.get() - size);
        let job = NewJob { payload: payload.clone(), ..NewJob::default() };
        loop {
            let jobs = vec![job.clone(); size as usize];
            match shards.submit(Command::Put { queue: queue.clone(), jobs, principal: None }).await {
                Ok(_) => break,
                Err(Refusal::Busy { .. }) => {}
                Err(refusal) => panic!("{refusal}"),
            }
        }
    }
}

async fn consume(shards: Shards, queue: QueueName, batch: u64, settled: Rc<Cell<u64>>, jobs: u64) {
    while settled.get() < jobs {
        let reserve = Command::Reserve {
            queue: queue.clone(),
            jobs_max: batch as u32,
            lease: Some(60_000),
            wait: 1_000,
            worker: None,
        };
        let Ok(Answer::Reserved(reserved)) = shards.submit(reserve).await else { continue };
        if reserved.is_empty() {
            continue;
        }
        let leases: Vec<_> = reserved.iter().map(|job| job.lease).collect();
        let answer = shards.submit(Command::Settle { leases }).await;
        let Ok(Answer::Given(given)) = answer else { panic!("{answer:?}") };
        assert!(given.iter().all(Result::is_ok), "{given:?}");
        settled.set(settled.get() + given.len() as u64);
    }
}
