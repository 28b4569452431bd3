//! The limit: one thread, one socket, and the bytes of all operations formatted beforehand.
//!
//! It has so many operations in flight, in two batches: while memcached works on one, it writes the
//! other. A batch is quiet sets with `get`s of as many keys behind them, in one write. Answers are
//! counted by their length. The socket blocks: what is in flight fits into the kernel's buffers, so that
//! a write never waits for a read. Smaller batches, and a loop that spins, were slower.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Parser};

use super::server::{KEYS, VALUE_BYTES, name};

/// The bare loop's server.
#[derive(Args)]
pub(crate) struct Options {
    /// memcached
    #[arg(long)]
    connect: SocketAddr,
    /// Cells come from stdin, as they do for every client
    #[arg(long)]
    series: bool,
}

/// A line of stdin.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Cell {
    #[arg(long)]
    inflight: usize,
    #[arg(long)]
    operations: usize,
}

/// Read buffer.
const READ_BYTES: usize = 256 * 1024;
/// Batches in flight.
const BATCHES: usize = 2;
/// Keys of a `get`: memcached copies lines beyond 2,048 bytes.
const LINE_KEYS: usize = 125;
/// A server that is silent for longer has lost a get.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Runs one cell for each line of stdin.
pub(crate) fn run(options: &Options) -> Result<()> {
    let stream = TcpStream::connect(options.connect)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    let formatted = Formatted::new();
    for line in io::stdin().lock().lines() {
        let cell = Cell::try_parse_from(line?.split_whitespace())?;
        let gets = cell.operations / 2;
        let begun = Instant::now();
        let hits = Loop::new(&stream, &formatted).run(gets, cell.inflight / 2)?;
        let seconds = begun.elapsed().as_secs_f64();
        println!("{}", serde_json::json!({"seconds": seconds, "sets": gets, "gets": gets, "hits": hits}));
    }
    Ok(())
}

/// Behind the values of a `get`.
const END: &[u8] = b"END\r\n";

/// Every operation's bytes.
struct Formatted {
    sets: Vec<Vec<u8>>,
    /// ` KEY`, as a `get` has it.
    keys: Vec<Vec<u8>>,
    answer_bytes: usize,
}

impl Formatted {
    fn new() -> Self {
        let set = |key| {
            let name = name(key);
            let mut set = format!("ms {name} {VALUE_BYTES} q\r\n").into_bytes();
            set.extend(name.bytes().cycle().take(VALUE_BYTES));
            set.extend_from_slice(b"\r\n");
            set
        };
        Self {
            sets: (0..KEYS).map(set).collect(),
            keys: (0..KEYS).map(|key| format!(" {}", name(key)).into_bytes()).collect(),
            answer_bytes: format!("VALUE {} 0 {VALUE_BYTES}\r\n\r\n", name(0)).len() + VALUE_BYTES,
        }
    }
}

/// One cell under way.
struct Loop<'a> {
    stream: &'a TcpStream,
    formatted: &'a Formatted,
    /// Bytes to write.
    unsent: Vec<u8>,
    /// Keys of each `get` that is not answered.
    lines: VecDeque<usize>,
    /// Bytes that have come of the first line's answer.
    received: usize,
    buffer: Vec<u8>,
}

impl<'a> Loop<'a> {
    fn new(stream: &'a TcpStream, formatted: &'a Formatted) -> Self {
        let buffer = vec![0; READ_BYTES];
        Self { stream, formatted, unsent: Vec::new(), lines: VecDeque::new(), received: 0, buffer }
    }

    /// Sends so many sets and gets; the number of gets that are answered with a value.
    fn run(mut self, gets: usize, gets_inflight: usize) -> Result<usize> {
        let batch = (gets_inflight / BATCHES).max(1);
        let (mut sent, mut hits) = (0, 0);
        while hits < gets {
            while sent < gets && sent + batch.min(gets - sent) - hits <= gets_inflight {
                let next = batch.min(gets - sent);
                self.add(sent, next);
                sent += next;
            }
            self.stream.write_all(&self.unsent).context("write")?;
            self.unsent.clear();
            hits += self.read()?;
        }
        Ok(hits)
    }

    fn add(&mut self, first: usize, gets: usize) {
        let stored = |round: usize| (round * 31) % KEYS;
        let rounds: Vec<usize> = (first..first + gets).collect();
        for round in &rounds {
            self.unsent.extend_from_slice(&self.formatted.sets[stored(*round)]);
        }
        for line in rounds.chunks(LINE_KEYS) {
            self.unsent.extend_from_slice(b"get");
            for round in line {
                self.unsent.extend_from_slice(&self.formatted.keys[(stored(*round) + KEYS / 2) % KEYS]);
            }
            self.unsent.extend_from_slice(b"\r\n");
            self.lines.push_back(line.len());
        }
    }

    /// Gets whose line is answered now.
    fn read(&mut self) -> Result<usize> {
        let bytes = self.stream.read(&mut self.buffer).context("read")?;
        if bytes == 0 {
            bail!("memcached has closed the connection");
        }
        self.received += bytes;
        let mut hits = 0;
        while let Some(gets) = self.lines.front() {
            let expected = gets * self.formatted.answer_bytes + END.len();
            if self.received < expected {
                break;
            }
            self.received -= expected;
            // The last bytes of the answer; a miss before them would have moved them.
            let end = bytes - self.received;
            if end >= END.len() && &self.buffer[end - END.len()..end] != END {
                bail!("an answer is not as long as that of a hit");
            }
            hits += gets;
            self.lines.pop_front();
        }
        Ok(hits)
    }
}
