//! The client of `cargo xtask bench streams`: holds very many request-streams and watches how late messages are.
//!
//! It speaks plain RSocket to any server. A stream's k-th message is due k seconds after its request left (or
//! k-1, for a server that sends the first one at once). Prints `{"opened":N}` when all streams are open, and one line of
//! JSON about the seconds after that.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use hdrhistogram::Histogram;
use stadium_reactor::{CloseReason, ConnectOptions, ConnectionId, Driven, Handler, Io, Loop, LoopSettings};
use stadium_rsocket::connection::{Config, Connection, Event, SetupOptions, Tag};
use stadium_rsocket::frame::{Completes, Interaction, Next, REQUEST_N_MAX};
use stadium_rsocket::metadata;

/// When a connection's streams are due within the second.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Phases {
    /// All at once; the connections one after the other.
    Together,
    /// Evenly.
    Spread,
}

/// How many streams, and for how long.
#[derive(Parser)]
struct Arguments {
    /// The server
    #[arg(long)]
    connect: SocketAddr,
    /// Connections
    #[arg(long)]
    connections: u32,
    /// Streams of each
    #[arg(long)]
    streams_each: u32,
    /// When they are due
    #[arg(long, value_enum, default_value = "together")]
    phases: Phases,
    /// Seconds that count
    #[arg(long)]
    seconds: u64,
}

/// Connections that are being made at once.
const OPENING_MAX: u32 = 256;
/// Seconds over which streams are opened, a connection's together.
const OPENING_SECONDS: u64 = 10;
/// A message a second.
const PERIOD_MS: u64 = 1_000;

/// One stream's book-keeping.
#[derive(Clone, Copy, Default)]
struct Stream {
    opened_ms: u64,
    received: u32,
    /// 0 where the first message comes a period after the request, 1 where it comes with it.
    ahead: u32,
    counted: u32,
}

#[derive(Default)]
struct Watcher {
    config: Arc<Config>,
    metadata: Vec<u8>,
    /// By the order in which they were asked for, which is what `connected` gets as its tag.
    ids: Vec<Option<ConnectionId>>,
    /// By the reactor's place.
    connections: Vec<Option<Connection>>,
    streams: Vec<Stream>,
    connected: u32,
    lost: u64,
    failed: u64,
    counts_from_ms: Option<u64>,
    counts_to_ms: u64,
    messages: u64,
    late: Option<Histogram<u64>>,
}

impl Watcher {
    fn open(&mut self, io: &mut Io<()>, connection: u32, stream: u32) {
        let Some(id) = self.ids[connection as usize] else { return };
        let Some(one) = self.connections[id.index as usize].as_mut() else { return };
        self.streams[stream as usize].opened_ms = io.now();
        let metadata = &self.metadata;
        io.with_output(id, |out| {
            one.request(
                Interaction::RequestStream,
                REQUEST_N_MAX,
                Completes::Yes,
                Tag(stream),
                Some(metadata),
                |_| {},
                out,
            )
        });
    }

    fn message(&mut self, now_ms: u64, stream: u32) {
        let one = &mut self.streams[stream as usize];
        if one.received == 0 && now_ms < one.opened_ms + PERIOD_MS / 2 {
            one.ahead = 1;
        }
        one.received += 1;
        let due_ms = one.opened_ms + u64::from(one.received - one.ahead) * PERIOD_MS;
        if self.counts_from_ms.is_some_and(|from_ms| now_ms >= from_ms) && now_ms < self.counts_to_ms {
            one.counted += 1;
            self.messages += 1;
            if let Some(late) = &mut self.late {
                late.saturating_record(now_ms.saturating_sub(due_ms));
            }
        }
    }
}

impl Handler for Watcher {
    type Message = ();

    fn connected(&mut self, io: &mut Io<()>, id: ConnectionId, tag: u64) {
        let (config, now_ms) = (Arc::clone(&self.config), io.now());
        let setup = SetupOptions::default();
        let connection = io.with_output(id, |out| Connection::client(config, &setup, now_ms, out));
        let place = id.index as usize;
        if self.connections.len() <= place {
            self.connections.resize_with(place + 1, || None);
        }
        if let Some(at_ms) = connection.as_ref().and_then(Connection::deadline_ms) {
            io.set_timer(id, at_ms - now_ms);
        }
        self.connections[place] = connection;
        self.ids[tag as usize] = Some(id);
        self.connected += 1;
    }

    fn received(&mut self, io: &mut Io<()>, id: ConnectionId, bytes: &[u8]) -> usize {
        let now_ms = io.now();
        let Some(mut connection) = self.connections[id.index as usize].take() else { return bytes.len() };
        let mut used = 0;
        io.with_output(id, |out| {
            loop {
                let received = connection.receive(now_ms, &bytes[used..], out);
                used += received.used;
                match received.event {
                    Some(Event::Payload { tag, next: Next::Value, .. }) => self.message(now_ms, tag.0),
                    Some(Event::Failed { .. } | Event::Closed(_)) => self.failed += 1,
                    Some(_) => {}
                    None if received.used == 0 => return,
                    None => {}
                }
            }
        });
        self.connections[id.index as usize] = Some(connection);
        used
    }

    fn timeout(&mut self, io: &mut Io<()>, id: ConnectionId) {
        let now_ms = io.now();
        let Some(connection) = self.connections[id.index as usize].as_mut() else { return };
        io.with_output(id, |out| drop(connection.advance(now_ms, out)));
        if let Some(at_ms) = connection.deadline_ms() {
            io.set_timer(id, at_ms.saturating_sub(now_ms));
        }
    }

    fn closed(&mut self, _io: &mut Io<()>, id: ConnectionId, _reason: CloseReason) {
        self.lost += 1;
        if let Some(place) = self.connections.get_mut(id.index as usize) {
            *place = None;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let (connections, each) = (arguments.connections, arguments.streams_each);
    let total = connections * each;
    let mut metadata = Vec::new();
    metadata::write_route(&mut metadata, "ticks/Ticks");
    let watcher = Watcher {
        config: Arc::new(Config { streams_max: each + 1, ..Config::default() }),
        metadata,
        ids: vec![None; connections as usize],
        streams: vec![Stream::default(); total as usize],
        late: Some(Histogram::new_with_bounds(1, 3_600_000, 3)?),
        ..Watcher::default()
    };
    let mut driven =
        Loop::new(LoopSettings { name: "ticks".into(), ..LoopSettings::default() })?.drive(watcher);
    connect(&mut driven, &arguments)?;
    open(&mut driven, &arguments)?;
    println!("{{\"opened\":{total}}}");

    let (watcher, io) = driven.parts();
    let from_ms = io.now();
    watcher.counts_from_ms = Some(from_ms);
    watcher.counts_to_ms = from_ms + arguments.seconds * 1_000;
    while driven.io().now() < from_ms + arguments.seconds * 1_000 {
        driven.turn(Some(Duration::from_millis(20)))?;
    }
    let watcher = driven.handler();
    let late = watcher.late.as_ref().expect("it was made above");
    let expected = u32::try_from(arguments.seconds).unwrap_or(u32::MAX);
    // A message on either edge of the span belongs to one second or the other.
    let missed: u64 =
        watcher.streams.iter().map(|one| u64::from((expected - 1).saturating_sub(one.counted))).sum();
    println!(
        "{{\"streams\":{total},\"messages\":{},\"late_p50_ms\":{},\"late_p99_ms\":{},\"late_max_ms\":{},\"missed\":{missed},\"lost\":{},\"failed\":{}}}",
        watcher.messages,
        late.value_at_quantile(0.5),
        late.value_at_quantile(0.99),
        late.max(),
        watcher.lost,
        watcher.failed,
    );
    Ok(())
}

/// Makes all connections, some at a time.
fn connect(driven: &mut Driven<Watcher>, arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let mut asked = 0;
    while driven.handler().connected < arguments.connections {
        let (watcher, io) = driven.parts();
        while asked < arguments.connections && asked - watcher.connected < OPENING_MAX {
            let options = ConnectOptions { tag: u64::from(asked), ..ConnectOptions::default() };
            io.connect(arguments.connect, &options)?;
            asked += 1;
        }
        driven.turn(Some(Duration::from_secs(10)))?;
        if driven.handler().lost > 0 {
            return Err("a connection was lost while connecting".into());
        }
    }
    Ok(())
}

/// Opens all streams, at an even pace, so that their phases are even too.
fn open(driven: &mut Driven<Watcher>, arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let (connections, each) = (u64::from(arguments.connections), u64::from(arguments.streams_each));
    // One stream of every connection in each round, or all streams of one connection at a time.
    let (steps, seconds) = match arguments.phases {
        Phases::Together => (connections, OPENING_SECONDS),
        Phases::Spread => (connections * each, spreading_seconds(each)),
    };
    let began_us = driven.io().now_us();
    let mut opened = 0;
    while opened < steps {
        let (watcher, io) = driven.parts();
        let due = ((io.now_us() - began_us) * steps / (seconds * 1_000_000)).min(steps);
        while opened < due {
            match arguments.phases {
                Phases::Together => {
                    for stream in 0..each {
                        watcher.open(io, opened as u32, (opened * each + stream) as u32);
                    }
                }
                Phases::Spread => {
                    let (stream, connection) = (opened / connections, opened % connections);
                    watcher.open(io, connection as u32, (connection * each + stream) as u32);
                }
            }
            opened += 1;
        }
        driven.turn(Some(Duration::from_millis(1)))?;
    }
    Ok(())
}

/// Seconds for opening that many streams of every connection, in rounds of even length, so that each stream of a
/// connection has a phase of its own and the phases lie evenly in the second: about two fifths of a second a round,
/// and no common divisor. A server is not to be late for ever because it was busy when the streams were opened.
fn spreading_seconds(each: u64) -> u64 {
    let divides = |divisor: u64, number: u64| number.is_multiple_of(divisor);
    let coprime =
        |seconds: &u64| !(2..=*seconds).any(|divisor| divides(divisor, *seconds) && divides(divisor, each));
    ((each * 2).div_ceil(5)..).find(coprime).expect("there is always another prime")
}
