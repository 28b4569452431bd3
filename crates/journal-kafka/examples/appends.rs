//! Measures appends of both clients beside each other, on three real brokers of this machine.
//!
//! `cargo run --release -p stadium-journal-kafka --example appends`. It prints and asserts nothing:
//! the brokers share the machine's cores and disk with it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;
use stadium_journal_kafka::{Client, Replication, Settings, make_or_check, open};
use stadium_journal_log::partition::{Event, Partition, Topic};
use stadium_testing::kafka::{Kafka, Listener};

/// Time of each row.
const LASTS: Duration = Duration::from_secs(5);

/// Messages of a partition that are on their way at a time, as an owner has.
const IN_FLIGHT: usize = 4;

/// A row of the table.
struct Row {
    shards: u32,
    in_flight: usize,
    bytes: usize,
    connections: u16,
}

const ROWS: &[Row] = &[
    Row { shards: 1, in_flight: 1, bytes: 1024, connections: 1 },
    Row { shards: 1, in_flight: IN_FLIGHT, bytes: 64 << 10, connections: 1 },
    Row { shards: 1, in_flight: IN_FLIGHT, bytes: 1 << 20, connections: 1 },
    Row { shards: 24, in_flight: 1, bytes: 4096, connections: 1 },
    Row { shards: 24, in_flight: 1, bytes: 4096, connections: 4 },
];

fn main() -> Result<()> {
    let kafka = Kafka::start(3)?;
    println!("client   shards  in flight    bytes  connections   median      p99   appends/s     MiB/s");
    for (number, row) in ROWS.iter().enumerate() {
        for client in Client::ALL {
            let cluster = format!("appends-{number}-{client:?}");
            let mut settings = Settings::new(kafka.bootstrap(Listener::Plain), &cluster);
            settings.connections = row.connections;
            make_or_check(&settings, row.shards, Replication::Three)?;
            measure(*client, &open(*client, &settings, row.shards)?, row)?;
        }
    }
    Ok(())
}

/// A partition and who is woken for it.
struct Shard {
    partition: Box<dyn Partition>,
    woken: Receiver<()>,
}

impl Shard {
    fn outcome(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.partition.next_event() {
                return Ok(event);
            }
            self.woken.recv_timeout(Duration::from_secs(30)).context("no outcome in 30 s")?;
        }
    }
}

fn measure(client: Client, topic: &Arc<dyn Topic>, row: &Row) -> Result<()> {
    let started = Instant::now();
    let histograms: Result<Vec<Histogram<u64>>> = std::thread::scope(|scope| {
        let writers: Vec<_> =
            (0..row.shards).map(|shard| scope.spawn(move || write(topic, shard, row))).collect();
        writers.into_iter().map(|writer| writer.join().expect("no writer panics")).collect()
    });
    let took = started.elapsed().as_secs_f64();
    let mut all = Histogram::new(3)?;
    for histogram in histograms? {
        all.add(histogram)?;
    }
    let Row { shards, in_flight, bytes, connections } = row;
    let millis = |quantile| Duration::from_nanos(all.value_at_quantile(quantile)).as_secs_f64() * 1e3;
    let rate = all.len() as f64 / took;
    println!(
        "{:8} {shards:6} {in_flight:10} {bytes:8} {connections:12} {:5.2} ms {:5.2} ms {rate:11.0} {:9.1}",
        format!("{client:?}"),
        millis(0.5),
        millis(0.99),
        rate * *bytes as f64 / f64::from(1 << 20)
    );
    Ok(())
}

/// Appends to one shard. Returns the time from each append to its acknowledgement, in nanoseconds.
fn write(topic: &Arc<dyn Topic>, shard: u32, row: &Row) -> Result<Histogram<u64>> {
    let mut partition = topic.partition(shard)?;
    let (wake, woken) = channel();
    partition.on_event(Arc::new(move || {
        // At the end nobody waits.
        let _ = wake.send(());
    }));
    let mut shard = Shard { partition, woken };
    let message = vec![7; row.bytes];
    // The first connects.
    loop {
        shard.partition.append(0, &message);
        match shard.outcome()? {
            Event::Appended { .. } => break,
            Event::NotAppended { failure, .. } if failure.is_temporary => {}
            other => bail!("{other:?}"),
        }
    }
    let mut histogram = Histogram::new(3)?;
    let ends = Instant::now() + LASTS;
    let mut sent = std::collections::VecDeque::new();
    loop {
        while sent.len() < row.in_flight && Instant::now() < ends {
            sent.push_back(Instant::now());
            shard.partition.append(1, &message);
        }
        let Some(at) = sent.pop_front() else { return Ok(histogram) };
        match shard.outcome()? {
            Event::Appended { .. } => {
                histogram.record(u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX))?;
            }
            // Brokers on a busy machine lose touch with each other.
            Event::NotAppended { failure, .. } => eprintln!("not appended: {failure}"),
            other => bail!("{other:?}"),
        }
    }
}
