//! What it costs to send a small message, in nanoseconds, without the system call at the turn's end.
//!
//! `cargo run --release -p stadium-reactor --example send_cost`. Each row appends 200 messages of 48
//! bytes a turn: with a send each, with one `with_output` for all, with a send each to two
//! connections in turn (adjacent messages then belong to different ones), and to a bare vector.

use std::hint::black_box;
use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use stadium_reactor::{CloseReason, ConnectOptions, ConnectionId, Driven, Handler, Io, Loop, LoopSettings};

const MESSAGES: usize = 200;
const TURNS: usize = 20_000;

struct Sender {
    connected: Vec<ConnectionId>,
}

impl Handler for Sender {
    type Message = ();

    fn connected(&mut self, _io: &mut Io<()>, id: ConnectionId, _tag: u64) {
        self.connected.push(id);
    }

    fn received(&mut self, _io: &mut Io<()>, _id: ConnectionId, bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn closed(&mut self, _io: &mut Io<()>, id: ConnectionId, reason: CloseReason) {
        eprintln!("{id:?} closed: {}", reason.name());
    }
}

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    for _ in 0..2 {
        let listener = listener.try_clone()?;
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1024 * 1024];
            if let Ok((mut stream, _)) = listener.accept() {
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
            }
        });
    }
    let mut driven = Loop::new(LoopSettings::default())?.drive(Sender { connected: Vec::new() });
    for _ in 0..2 {
        driven.io().connect(address, &ConnectOptions::default())?;
    }
    while driven.handler().connected.len() < 2 {
        driven.turn(Some(Duration::from_secs(1)))?;
    }
    let [one, two] = [driven.handler().connected[0], driven.handler().connected[1]];
    let message = [7u8; 48];
    for _ in 0..3 {
        row("send", &mut driven, |io| {
            for _ in 0..MESSAGES {
                io.send(black_box(one), |out| out.extend_from_slice(black_box(&message)));
            }
        })?;
        row("with_output", &mut driven, |io| {
            io.with_output(one, |out| {
                for _ in 0..MESSAGES {
                    out.extend_from_slice(black_box(&message));
                }
            });
        })?;
        row("with_output each", &mut driven, |io| {
            for _ in 0..MESSAGES {
                io.with_output(black_box(one), |out| out.extend_from_slice(black_box(&message)));
            }
        })?;
        row("send to two", &mut driven, |io| {
            for _ in 0..MESSAGES / 2 {
                io.send(black_box(one), |out| out.extend_from_slice(black_box(&message)));
                io.send(black_box(two), |out| out.extend_from_slice(black_box(&message)));
            }
        })?;
        let mut bare = Vec::with_capacity(MESSAGES * message.len());
        row("bare vector", &mut driven, |_| {
            bare.clear();
            for _ in 0..MESSAGES {
                black_box(&mut bare).extend_from_slice(black_box(&message));
            }
        })?;
    }
    Ok(())
}

/// Prints the median cost of a message over all turns.
fn row(name: &str, driven: &mut Driven<Sender>, mut append: impl FnMut(&mut Io<()>)) -> std::io::Result<()> {
    let mut costs = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        let io = driven.io();
        let begun = Instant::now();
        append(io);
        costs.push(begun.elapsed().as_nanos() as f64 / MESSAGES as f64);
        driven.flush();
        while driven.handle().stats().write_queue_bytes.value() > 0 {
            driven.turn(Some(Duration::from_secs(1)))?;
        }
    }
    costs.sort_by(f64::total_cmp);
    println!("{name:<18} {:>5.1} ns a message, p90 {:>5.1}", costs[TURNS / 2], costs[TURNS * 9 / 10]);
    Ok(())
}
