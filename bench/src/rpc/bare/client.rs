//! The load of one cell: keeps a window of messages on each connection, refilled by one write for each read.
//!
//! Answers come in order, so a connection's batches of messages and the times they left are a queue. With fewer messages in
//! flight than connections, one moves on to the next connection when it is answered.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use hdrhistogram::Histogram;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use serde_json::json;

use super::sample::Codec;
use super::shape::{Answers, Partial, Requests, Shape};
use super::{Connection, EVENTS, Extra, READ_BYTES};
use crate::connections::STALL;
use crate::machine;

/// One cell; every peer's client takes these arguments.
#[derive(Args)]
pub(crate) struct Options {
    /// The server
    #[arg(long)]
    connect: SocketAddr,
    /// Connections
    #[arg(long)]
    connections: usize,
    /// Messages in flight over all connections
    #[arg(long, conflicts_with = "inflight_each", required_unless_present = "inflight_each")]
    inflight_total: Option<usize>,
    /// Messages in flight on each connection
    #[arg(long)]
    inflight_each: Option<usize>,
    /// Elements of a message: 2 are 48 bytes, 200 are 3,216
    #[arg(long)]
    elements: usize,
    /// Seconds of the span that counts
    #[arg(long)]
    seconds: f64,
    /// Seconds before it
    #[arg(long)]
    warm: f64,
    /// The kind of requests, unless this program decodes
    #[arg(long, value_enum, default_value_t = Requests::Opaque, conflicts_with = "decode")]
    requests: Requests,
    #[command(flatten)]
    extra: Extra,
}

/// Messages that left in one write.
struct Batch {
    messages: u64,
    left: Instant,
}

/// One connection's window.
struct Window {
    connection: Connection,
    batches: VecDeque<Batch>,
    partial: Partial,
    /// The id of its next stream, where requests have one.
    next_id: u32,
}

/// The whole load.
struct Load<'a> {
    extra: &'a Extra,
    codec: Option<Codec>,
    shape: Shape,
    windows: Vec<Window>,
    /// As many messages as leave at once at most, back to back; where they are encoded, those that
    /// leave now.
    outgoing: Vec<u8>,
    moving: bool,
    span_start: Instant,
    span_end: Instant,
    latencies: Histogram<u64>,
    /// Messages of the span that the server had no time for.
    busy: u64,
}

/// Measures, and prints one line of JSON.
pub(super) fn run(options: &Options) -> Result<()> {
    let codec = options.extra.decode.then(|| Codec::new(options.elements));
    let shape = match codec {
        Some(_) => Shape::of(Requests::LengthPrefixed, options.elements)?.unread(),
        None => Shape::of(options.requests, options.elements)?,
    };
    let total = match options.inflight_each {
        Some(each) => each * options.connections,
        None => options.inflight_total.context("--inflight-total or --inflight-each")?,
    };
    let mut poll = Poll::new()?;
    let mut windows = Vec::with_capacity(options.connections);
    for index in 0..options.connections {
        let socket = std::net::TcpStream::connect(options.connect)?;
        socket.set_nonblocking(true)?;
        let mut socket = TcpStream::from_std(socket);
        poll.registry().register(&mut socket, Token(index), Interest::READABLE | Interest::WRITABLE)?;
        let mut connection = Connection::new(socket)?;
        connection.send(&shape.setup)?;
        let (batches, partial) = (VecDeque::new(), Partial::default());
        windows.push(Window { connection, batches, partial, next_id: 1 });
    }
    let span_start = Instant::now() + Duration::from_secs_f64(options.warm);
    let mut load = Load {
        extra: &options.extra,
        codec,
        windows,
        outgoing: shape.request.repeat(total.div_ceil(options.connections)),
        shape,
        moving: total < options.connections,
        span_start,
        span_end: span_start + Duration::from_secs_f64(options.seconds),
        latencies: Histogram::new_with_bounds(1, 60_000_000_000, 3)?,
        busy: 0,
    };
    for index in 0..options.connections {
        let share = total / options.connections + usize::from(index < total % options.connections);
        load.send(index, share as u64)?;
    }
    let client_cpu_s = load.drive(&mut poll)?;
    let latencies = &load.latencies;
    let result = json!({
        "per_second": latencies.len().saturating_sub(load.busy) as f64 / options.seconds,
        "busy_per_second": load.busy as f64 / options.seconds,
        "p50_us": latencies.value_at_quantile(0.5) as f64 / 1e3,
        "p99_us": latencies.value_at_quantile(0.99) as f64 / 1e3,
        "mean_us": latencies.mean() / 1e3,
        "client_cpu": client_cpu_s / options.seconds,
    });
    println!("{result}");
    Ok(())
}

impl Load<'_> {
    /// Refills windows until the span is over; returns this process's CPU time within the span.
    fn drive(&mut self, poll: &mut Poll) -> Result<f64> {
        let mut events = Events::with_capacity(EVENTS);
        let mut buffer = vec![0; READ_BYTES];
        let mut cpu_at_start = None;
        loop {
            self.extra.wait(poll, &mut events, Some(STALL))?;
            let now = Instant::now();
            if events.is_empty() {
                bail!("stalled");
            }
            if cpu_at_start.is_none() && now >= self.span_start {
                cpu_at_start = Some(machine::own_cpu_time()?);
            }
            if let Some(before) = cpu_at_start
                && now >= self.span_end
            {
                return Ok((machine::own_cpu_time()? - before).as_secs_f64());
            }
            for event in &events {
                self.receive(event.token().0, &mut buffer)?;
            }
        }
    }

    fn send(&mut self, index: usize, messages: u64) -> Result<()> {
        if messages > 0 {
            let window = &mut self.windows[index];
            window.batches.push_back(Batch { messages, left: Instant::now() });
            if let Some(codec) = &mut self.codec {
                self.outgoing.clear();
                for _ in 0..messages {
                    codec.next(&mut self.outgoing)?;
                }
            }
            let messages = messages as usize;
            self.shape.number(&mut self.outgoing, messages, &mut window.next_id);
            let bytes = messages * self.shape.request.len();
            window.connection.send(&self.outgoing[..bytes])?;
        }
        Ok(())
    }

    fn receive(&mut self, index: usize, buffer: &mut [u8]) -> Result<()> {
        self.windows[index].connection.flush()?;
        loop {
            let window = &mut self.windows[index];
            let Some(read) = window.connection.read(buffer)? else { return Ok(()) };
            if let Some(codec) = &mut self.codec {
                codec.check(&mut window.partial.bytes, &buffer[..read])?;
            }
            let Answers { whole, busy } = self.shape.count(&mut window.partial, &buffer[..read])?;
            let answered = whole + busy;
            self.record(index, answered, busy)?;
            let next = if self.moving { (index + 1) % self.windows.len() } else { index };
            self.send(next, answered)?;
            if read < buffer.len() {
                return Ok(());
            }
        }
    }

    /// Takes `answered` messages off the window, some of which the server had no time for.
    fn record(&mut self, index: usize, mut answered: u64, busy: u64) -> Result<()> {
        let now = Instant::now();
        let counts = now > self.span_start && now <= self.span_end;
        self.busy += if counts { busy } else { 0 };
        while answered > 0 {
            let batch = self.windows[index].batches.front_mut().context("more answers than messages")?;
            let messages = answered.min(batch.messages);
            if counts {
                let nanos = u64::try_from((now - batch.left).as_nanos())?;
                self.latencies.saturating_record_n(nanos, messages);
            }
            batch.messages -= messages;
            answered -= messages;
            if batch.messages == 0 {
                self.windows[index].batches.pop_front();
            }
        }
        Ok(())
    }
}
