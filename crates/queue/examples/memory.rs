//! Bytes of memory for each of ten million delayed jobs, and nanoseconds for each step of a job.
//!
//! `cargo run --release -p stadium-queue --example memory [JOBS]`. Memory is what the allocator gave and did
//! not get back; records are written and thrown away, as a shard would hand them to its journal.

use std::time::Instant;

use bytes::Bytes;
use stadium_queue::{
    Answer, Bounds, Command, Edit, JobId, Lease, NewJob, Place, QueueName, Queues, Record, Time, When,
};
use stadium_state_machine::Checkpointed as _;

const BATCH: u64 = 1_000;

struct Driver {
    queues: Queues,
    record: Record,
    at: u64,
    now: Time,
}

impl Driver {
    fn new() -> Self {
        let bounds = Bounds { jobs_max: u32::MAX >> 1, ..Bounds::default() };
        Self {
            queues: Queues::new(Place { shard: 0, shards: 1, hash_seed: 1 }, bounds),
            record: Record::new(),
            at: 64,
            now: Time(1_800_000_000_000),
        }
    }

    fn ask(&mut self, command: &Command) -> Answer {
        self.record.begin(16);
        let answer = self.queues.execute(self.at, self.now, self.at, command, &mut self.record);
        self.at += self.record.bytes().len() as u64;
        self.queues.take_payload_changes(&mut Vec::new());
        answer.expect("everything here is allowed")
    }
}

fn put(queue: &QueueName, when: impl Fn(u64) -> When, from: u64) -> Command {
    let payload = Bytes::from(vec![7; 200]);
    let job = |n| NewJob { payload: payload.clone(), when: when(n), ..NewJob::default() };
    Command::Put { queue: queue.clone(), jobs: (from..from + BATCH).map(job).collect(), principal: None }
}

fn spread(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

fn main() {
    let jobs: u64 =
        std::env::args().nth(1).map_or(10_000_000, |text| text.parse().expect("a number of jobs"));
    let queue = QueueName::new("reminders").expect("a name");
    let hour = 3_600_000;
    let mut driver = Driver::new();
    let mut took = 0.0;
    let info = allocation_counter::measure(|| {
        driver.queues = Driver::new().queues;
        for from in (0..jobs).step_by(BATCH as usize) {
            let command = put(&queue, |n| When::After(hour + spread(n) % hour), from);
            let begin = Instant::now();
            driver.ask(&command);
            took += begin.elapsed().as_secs_f64();
        }
    });
    let each = |bytes: f64| bytes / jobs as f64;
    println!("{jobs} delayed jobs of 200 B");
    println!("  allocated   {:6.1} B a job", each(info.bytes_current as f64));
    println!("  the machine's own count {:6.1} B a job", each(driver.queues.bytes() as f64));
    println!("  put         {:6.0} ns a job", each(took * 1e9));

    let steps = jobs.min(100_000);
    let begin = Instant::now();
    for n in 0..steps {
        let when = Some(When::After(hour + spread(n + jobs) % hour));
        driver.ask(&Command::Edit {
            job: JobId::new(0, 1 + spread(n) % jobs),
            edit: Edit { when, ..Edit::default() },
        });
    }
    println!("  edit        {:6.0} ns", begin.elapsed().as_nanos() as f64 / steps as f64);
    let begin = Instant::now();
    for n in 0..steps {
        driver.ask(&Command::Delete { jobs: vec![JobId::new(0, 1 + n)] });
    }
    println!("  cancel      {:6.0} ns", begin.elapsed().as_nanos() as f64 / steps as f64);

    let begin = Instant::now();
    let mut chunks = Vec::new();
    let (mut longest, mut bytes) = (0.0_f64, 0);
    driver.queues.checkpoint_begin();
    loop {
        let slice = Instant::now();
        let mut chunk = Vec::new();
        let more = driver.queues.checkpoint_next(&mut chunk, 256 << 10);
        longest = longest.max(slice.elapsed().as_secs_f64() * 1e3);
        bytes += chunk.len();
        chunks.push(chunk);
        if !more {
            break;
        }
    }
    let took = begin.elapsed().as_secs_f64();
    println!("  checkpoint  {took:6.2} s, {} MB, longest slice of 256 KiB {longest:.2} ms", bytes >> 20);
    let begin = Instant::now();
    let mut restored = Driver::new().queues;
    for chunk in &chunks {
        restored.restore(chunk).expect("our own chunk");
    }
    restored.restore_finish().expect("our own checkpoint");
    println!("  restore     {:6.2} s", begin.elapsed().as_secs_f64());
    assert_eq!(restored.jobs(), driver.queues.jobs());
    drop((restored, chunks));

    // They come due over an hour, a millisecond at a time.
    let mut latest = 0.0_f64;
    let mut all = Vec::new();
    driver.now = driver.now.after(hour);
    for _ in 0..hour / 10 {
        driver.now = driver.now.after(10);
        let begin = Instant::now();
        driver.record.begin(16);
        driver.queues.tick(driver.at, driver.now, 1, &mut driver.record, 1_000);
        let tick = begin.elapsed().as_secs_f64() * 1e3;
        latest = latest.max(tick);
        all.push(tick);
    }
    all.sort_by(f64::total_cmp);
    let p99 = all[all.len() * 99 / 100];
    println!("  ticks of 10 ms while they come due: p99 {p99:.3} ms, longest {latest:.1} ms");

    let mut driver = Driver::new();
    let (mut put_s, mut reserve_s, mut settle_s) = (0.0, 0.0, 0.0);
    let rounds = 1_000;
    for round in 0..rounds {
        let command = put(&queue, |_| When::Now, round * BATCH);
        let begin = Instant::now();
        driver.ask(&command);
        put_s += begin.elapsed().as_secs_f64();
        let command = Command::Reserve {
            queue: queue.clone(),
            jobs_max: BATCH as u32,
            lease: None,
            wait: 0,
            worker: None,
        };
        let begin = Instant::now();
        let Answer::Reserved(reserved) = driver.ask(&command) else {
            unreachable!("a reserve is answered so")
        };
        reserve_s += begin.elapsed().as_secs_f64();
        let leases: Vec<Lease> = reserved.iter().map(|reserved| reserved.lease).collect();
        assert_eq!(leases.len() as u64, BATCH);
        let command = Command::Settle { leases };
        let begin = Instant::now();
        driver.ask(&command);
        settle_s += begin.elapsed().as_secs_f64();
    }
    let nanos = |seconds: f64| seconds * 1e9 / (rounds * BATCH) as f64;
    println!("in batches of {BATCH}, jobs of 200 B");
    println!(
        "  put {:.0} ns, reserve {:.0} ns, settle {:.0} ns a job",
        nanos(put_s),
        nanos(reserve_s),
        nanos(settle_s)
    );
}
