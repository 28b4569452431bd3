//! The product's client of `cargo xtask bench rpc`: keeps a window of calls in flight, or sends at a fixed rate.
//!
//! Prints one line of JSON. With `--overload` calls begin when they are due, whatever became of those before,
//! and their latency counts from then.

mod sample;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::Parser;
use hdrhistogram::Histogram;
use sample::{ECHO, Element, Sample};
use stadium_rpc::client::Done;
use stadium_rpc::{CallError, CallOptions, ClientConfig, LocalClient};

/// One cell.
#[derive(Parser)]
struct Arguments {
    /// The server
    #[arg(long)]
    connect: SocketAddr,
    /// Connections
    #[arg(long)]
    connections: usize,
    /// Calls in flight over all connections
    #[arg(long, default_value_t = 1)]
    inflight_total: usize,
    /// Calls in flight on each connection
    #[arg(long)]
    inflight_each: Option<usize>,
    /// Elements of a sample: 2 are 48 bytes, 200 are 3,216
    #[arg(long, default_value_t = 2)]
    elements: usize,
    /// Seconds of the span that counts
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Seconds before it
    #[arg(long, default_value_t = 1.0)]
    warm: f64,
    /// Calls a second that arrive whatever happens
    #[arg(long)]
    overload: Option<f64>,
}

impl Arguments {
    /// Calls in flight where a window is kept full.
    fn window(&self) -> usize {
        self.inflight_each.map_or(self.inflight_total, |each| each * self.connections)
    }

    /// A power of two. Calls end in about the order in which they begin.
    fn under_way_max(&self) -> usize {
        if self.overload.is_some() { UNDER_WAY_MAX } else { (16 * self.window()).next_power_of_two() }
    }
}

/// The cell's state.
struct Load {
    client: LocalClient,
    service: stadium_rpc::client::LocalService,
    sample: Sample,
    answer: Sample,
    /// Times are nanoseconds since then.
    began: Instant,
    /// When a sample left that was not answered yet, by its id modulo the length; 0 for none.
    since: Vec<u64>,
    span: (u64, u64),
    latencies: Histogram<u64>,
    busy: u64,
    failed: u64,
}

/// More calls than are ever under way where they begin at a rate.
const UNDER_WAY_MAX: usize = 1 << 20;

impl Load {
    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn call(&mut self, since: u64) {
        self.sample.id += 1;
        let options = CallOptions { tag: self.sample.id, ..CallOptions::default() };
        self.client.call(self.service, &ECHO, &self.sample, &options);
        let place = self.sample.id as usize & (self.since.len() - 1);
        let before = std::mem::replace(&mut self.since[place], since);
        assert!(before == 0, "a call is under way that began {} calls ago", self.since.len());
    }

    /// Takes an answer; whether it was an answer in the span does not matter to the window.
    /// Returns the time at which the answer was read.
    fn take(&mut self, done: Done) -> u64 {
        let id = done.tag();
        let place = id as usize & (self.since.len() - 1);
        let since = std::mem::take(&mut self.since[place]);
        let taken = self.client.read(done, &mut self.answer);
        let now = self.now();
        let counts = now > self.span.0 && now <= self.span.1;
        let whole = self.answer.id == id && self.answer.elements.len() == self.sample.elements.len();
        match taken {
            Ok(()) if whole => {
                if counts {
                    self.latencies.saturating_record(now - since);
                }
            }
            Err(CallError::Busy { .. }) => self.busy += u64::from(counts),
            _ => self.failed += u64::from(counts),
        }
        now
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let mut config = ClientConfig::at(vec![arguments.connect]);
    config.connections_per_instance = arguments.connections;
    // What one caller gives up another would try again: only first attempts are counted.
    config.retry.attempts_max = 1;
    let mut client = LocalClient::new(config)?;
    let service = client.service("echo")?;
    let began = Instant::now();
    let start = nanoseconds(arguments.warm);
    let sample = Sample {
        id: 1,
        elements: (1..=arguments.elements as u64).map(|value| Element { value, weight: 7 }).collect(),
        source: 9,
        kind: 3,
    };
    let mut load = Load {
        client,
        service,
        sample,
        answer: Sample::default(),
        began,
        since: vec![0; arguments.under_way_max()],
        span: (start, start + nanoseconds(arguments.seconds)),
        latencies: Histogram::new_with_bounds(1, 60_000_000_000, 3)?,
        busy: 0,
        failed: 0,
    };
    while load.client.connections() < arguments.connections {
        if load.now() > start + nanoseconds(10.0) {
            return Err("not all connections could be made".into());
        }
        load.client.turn(Duration::from_millis(2))?;
    }
    let cpu = match arguments.overload {
        None => window(&mut load, &arguments)?,
        Some(rate) => overload(&mut load, rate)?,
    };
    let latencies = &load.latencies;
    println!(
        "{{\"per_second\":{},\"p50_us\":{},\"p99_us\":{},\"mean_us\":{},\"client_cpu\":{},\"busy_per_second\":{},\"failed\":{}}}",
        latencies.len() as f64 / arguments.seconds,
        latencies.value_at_quantile(0.5) as f64 / 1e3,
        latencies.value_at_quantile(0.99) as f64 / 1e3,
        latencies.mean() / 1e3,
        cpu / arguments.seconds,
        load.busy as f64 / arguments.seconds,
        load.failed,
    );
    Ok(())
}

/// Keeps the window full until the span is over; returns this process's processor time in it.
fn window(load: &mut Load, arguments: &Arguments) -> std::io::Result<f64> {
    let mut cpu = None;
    let now = load.now();
    for _ in 0..arguments.window() {
        load.call(now);
    }
    loop {
        let Some(first) = load.client.next(Duration::from_secs(10))? else {
            return Err(std::io::Error::other("stalled"));
        };
        let now = load.now();
        if cpu.is_none() && now > load.span.0 {
            cpu = Some(own_cpu());
        }
        if now > load.span.1 {
            return Ok(own_cpu() - cpu.unwrap_or_default());
        }
        let mut next = Some(first);
        while let Some(done) = next {
            let now = load.take(done);
            load.call(now);
            next = load.client.done();
        }
    }
}

/// Begins calls when they are due.
fn overload(load: &mut Load, rate: f64) -> std::io::Result<f64> {
    let mut due = load.now();
    let between = nanoseconds(1.0 / rate);
    let mut cpu = None;
    loop {
        let now = load.now();
        if cpu.is_none() && now > load.span.0 {
            cpu = Some(own_cpu());
        }
        if now > load.span.1 {
            return Ok(own_cpu() - cpu.unwrap_or_default());
        }
        while due <= now {
            load.call(due);
            due += between;
        }
        // Turning without a wait keeps arrivals on time; this core is the client's alone.
        load.client.turn(Duration::ZERO)?;
        while let Some(done) = load.client.done() {
            load.take(done);
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// This process's processor time so far, in seconds.
fn own_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
