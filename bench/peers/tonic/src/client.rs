//! The load of one cell: so many calls in flight over so many connections, each answered call followed by the next.
//!
//! A latency is from before a request is encoded until its answer is decoded and its id compared. With fewer calls in flight
//! than connections, a call moves on to the next connection when it is answered.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use tonic::transport::{Channel, Endpoint};

use crate::proto::echo_client::EchoClient;
use crate::proto::{Element, Sample};
use crate::{CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES, STREAMS_MAX};

#[derive(Args)]
pub(crate) struct Options {
    /// The server
    #[arg(long)]
    connect: SocketAddr,
    /// Connections
    #[arg(long)]
    connections: usize,
    /// Calls in flight over all connections
    #[arg(long, conflicts_with = "inflight_each")]
    inflight_total: Option<usize>,
    /// Calls in flight on each connection
    #[arg(long)]
    inflight_each: Option<usize>,
    /// Elements of a message: 2 are 48 bytes, 200 are 3,216
    #[arg(long)]
    elements: u64,
    /// Seconds of the span that counts
    #[arg(long)]
    seconds: f64,
    /// Seconds before it
    #[arg(long)]
    warm: f64,
}

/// What all callers share.
struct Load {
    connections: Vec<EchoClient<Channel>>,
    template: Sample,
    next_id: u64,
    moving: bool,
    span_start: Instant,
    span_end: Instant,
    latencies: Histogram<u64>,
}

/// Measures one cell and prints it.
pub(crate) async fn run(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let mut connections = Vec::with_capacity(options.connections);
    for _ in 0..options.connections {
        let channel = Endpoint::from_shared(format!("http://{}", options.connect))?
            .tcp_nodelay(true)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .buffer_size(STREAMS_MAX as usize)
            .connect()
            .await?;
        connections.push(EchoClient::new(channel));
    }
    let total = match (options.inflight_each, options.inflight_total) {
        (Some(each), _) => each * options.connections,
        (None, Some(total)) => total,
        (None, None) => return Err("--inflight-each or --inflight-total".into()),
    };
    let span_start = Instant::now() + Duration::from_secs_f64(options.warm);
    let span_end = span_start + Duration::from_secs_f64(options.seconds);
    let load = Rc::new(RefCell::new(Load {
        connections,
        template: template(options.elements),
        next_id: 1,
        moving: total < options.connections,
        span_start,
        span_end,
        latencies: Histogram::new_with_bounds(1, 60_000_000_000, 3)?,
    }));
    let callers: Vec<_> = (0..total)
        .map(|caller| tokio::task::spawn_local(call(load.clone(), caller % options.connections)))
        .collect();
    tokio::time::sleep_until(span_start.into()).await;
    let cpu_before = cpu_seconds();
    tokio::time::sleep_until(span_end.into()).await;
    let cpu = cpu_seconds() - cpu_before;
    for caller in callers {
        caller.await??;
    }
    let latencies = &load.borrow().latencies;
    println!(
        "{{\"per_second\":{:.1},\"p50_us\":{:.3},\"p99_us\":{:.3},\"mean_us\":{:.3},\"client_cpu\":{:.3}}}",
        latencies.len() as f64 / options.seconds,
        latencies.value_at_quantile(0.5) as f64 / 1e3,
        latencies.value_at_quantile(0.99) as f64 / 1e3,
        latencies.mean() / 1e3,
        cpu / options.seconds
    );
    Ok(())
}

/// One call after the other until the span ends.
async fn call(load: Rc<RefCell<Load>>, mut connection: usize) -> Result<(), tonic::Status> {
    let mut client = load.borrow().connections[connection].clone();
    loop {
        let sample = {
            let mut load = load.borrow_mut();
            load.next_id += 1;
            Sample { id: load.next_id, ..load.template.clone() }
        };
        let id = sample.id;
        let started = Instant::now();
        let answer = client.echo(sample).await?.into_inner();
        let now = Instant::now();
        assert_eq!(answer.id, id, "an answer carries its request's id");
        let mut load = load.borrow_mut();
        if now > load.span_end {
            return Ok(());
        }
        if now > load.span_start {
            let nanos = u64::try_from((now - started).as_nanos()).unwrap_or(u64::MAX);
            load.latencies.saturating_record(nanos);
        }
        if load.moving {
            connection = (connection + 1) % load.connections.len();
            client = load.connections[connection].clone();
        }
    }
}

fn template(elements: u64) -> Sample {
    let element = |number: u64| Element { value: number, weight: number as u32 };
    Sample { id: 1, elements: (1..=elements).map(element).collect(), source: 7, kind: 1 }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
