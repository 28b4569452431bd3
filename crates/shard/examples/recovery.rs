//! How long a shard takes to recover many jobs after its process was killed.
//!
//! `recovery load DIRECTORY [JOBS]` puts jobs of 200 bytes and ends without stopping anything, as
//! SIGKILL would; `recovery open DIRECTORY` recovers them and prints how long each part took.

use std::error::Error;
use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_queue::{Command, NewJob, QueueName};
use stadium_shard::{Settings, Shards, Ticket};

const PAYLOAD_BYTES: usize = 200;
const BATCH: u64 = 1_000;
const UNDER_WAY: usize = 8;
const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().ok_or("load or open")?;
    let directory = arguments.next().ok_or("a directory")?;
    let settings = Settings::in_directory(directory, 1);
    let began = Instant::now();
    let shards = Shards::open(settings, |_, _| ())?;
    println!("open after {:.2?}", began.elapsed());
    match what.as_str() {
        "load" => load(&shards, arguments.next().map_or(Ok(5_000_000), |text| text.parse())?),
        _ => {
            let metrics = shards.metrics().remove(0);
            println!(
                "{} jobs, {} bytes of state; checkpoint of {} bytes, tail of {} bytes and {} records; expected next {} ms",
                metrics.jobs,
                metrics.state_bytes,
                metrics.checkpoint_bytes,
                metrics.tail_bytes,
                metrics.tail_records,
                metrics.recovery_expected_ms,
            );
            shards.stop(LONG);
            Ok(())
        }
    }
}

fn load(shards: &Shards, jobs: u64) -> Result<(), Box<dyn Error>> {
    let queue = QueueName::new("recovery")?;
    let job = NewJob { payload: Bytes::from(vec![7; PAYLOAD_BYTES]), ..NewJob::default() };
    let began = Instant::now();
    let mut under_way: std::collections::VecDeque<Ticket> = std::collections::VecDeque::new();
    for _ in 0..jobs / BATCH {
        if under_way.len() == UNDER_WAY {
            under_way.pop_front().expect("there are some").wait(LONG).ok_or("no answer")??;
        }
        let jobs = vec![job.clone(); BATCH as usize];
        under_way.push_back(shards.submit(Command::Put { queue: queue.clone(), jobs, principal: None }));
    }
    for ticket in under_way {
        ticket.wait(LONG).ok_or("no answer")??;
    }
    let metrics = shards.metrics().remove(0);
    println!(
        "{jobs} jobs in {:.2?}; {} checkpoints, worst slice {} us, worst turn {} us",
        began.elapsed(),
        metrics.checkpoints,
        metrics.checkpoint_pause_us.max,
        metrics.turn_us.max
    );
    std::process::abort();
}
