//! A server with millions of jobs is killed while requests go on arriving: how long until the first one is answered, and is every
//! job still there?
//!
//! The server is started again at once. Requests arrive by a timetable, whether or not anybody listens. Afterwards all jobs are
//! reserved and settled, each exactly once: what was acknowledged before the kill must be among them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use mio::{Events, Poll, Token};

use super::designs::{Setup, Stadium};
use super::harness::{
    Amount, Endpoint, Event, NewJob, Outcome, Pace, Plan, Queues, Request, Role, Tally, drive,
};
use crate::harness::{Clock, Lane, READ_BYTES, Socket};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "recovery";
/// Bytes of a job's payload.
const PAYLOAD_BYTES: usize = 200;
/// Jobs of a put and of a reserve, outside of what is measured.
const BATCH: usize = 200;
/// Workers that fill the queue and empty it.
const WORKERS: usize = 50;
/// Between two requests: 500 a second.
const INTERVAL: Duration = Duration::from_millis(2);
/// Requests arrive for so long before the kill.
const BEFORE: Duration = Duration::from_secs(2);
/// And after the first answer.
const AFTER: Duration = Duration::from_secs(2);
/// Given up after this.
const RECOVERY_MAX: Duration = Duration::from_secs(120);
/// Emptying the queue takes no longer.
const DRAIN_MAX: Duration = Duration::from_secs(180);

/// Fills, kills, waits for the first answer, and counts what is there.
pub(super) fn take(start: &Start<'_>, jobs: u64) -> Result<Vec<(String, f64)>> {
    let mut stadium = Stadium::start(start, Setup::by_default())?;
    let mut tally = Tally::default();
    let fill = Plan {
        producers: WORKERS,
        consumers: 0,
        batch: BATCH,
        payload_bytes: PAYLOAD_BYTES,
        pace: Pace::Closed { backlog_max: u64::MAX },
        amount: Amount::Jobs(jobs),
        ..Plan::default()
    };
    let filled = drive(&stadium, &fill, &mut tally)
        .with_context(|| format!("while the queue was filled: {}", stadium.log()))?;
    let disk_mb = stadium.disk_bytes() as f64 / 1e6;
    eprintln!("    {:.0} jobs/s put; {disk_mb:.0} MB on disk", filled.per_second());

    let mut arrivals = Arrivals::new()?;
    let before = Instant::now();
    while before.elapsed() < BEFORE {
        arrivals.turn(&stadium, &mut tally)?;
    }
    if arrivals.answered == 0 {
        bail!("no request was answered before the kill");
    }
    let killed = Instant::now();
    stadium.kill_and_start()?;
    arrivals.lose();
    let first = loop {
        arrivals.turn(&stadium, &mut tally)?;
        if let Some(first) = arrivals.first_answer {
            break first;
        }
        if killed.elapsed() > RECOVERY_MAX {
            bail!("no answer within {RECOVERY_MAX:?} after the kill: {}", stadium.log());
        }
    };
    let first_answer_s = (first - killed).as_secs_f64();
    eprintln!("    first answer after {first_answer_s:.2} s; {} requests went unanswered", arrivals.lost);
    let after = Instant::now();
    while after.elapsed() < AFTER {
        arrivals.turn(&stadium, &mut tally)?;
    }
    let (lost, busy) = (arrivals.lost, arrivals.busy);
    drop(arrivals);

    let empty =
        Plan { producers: 0, consumers: WORKERS, amount: Amount::Nothing, drain_max: DRAIN_MAX, ..fill };
    let emptied = drive(&stadium, &empty, &mut tally)
        .with_context(|| format!("while the queue was emptied: {}", stadium.log()))?;
    Ok([
        ("first_answer_s", first_answer_s),
        ("fill_per_second", filled.per_second()),
        ("empty_per_second", emptied.per_second()),
        ("unanswered", lost as f64),
        ("busy", busy as f64),
        ("disk_mb", disk_mb),
        ("lost", tally.open() as f64),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec())
}

/// Requests that arrive by a timetable, over one connection that is made again when it is lost.
struct Arrivals {
    poll: Poll,
    clock: Clock,
    line: Option<Line>,
    /// When the next request arrives.
    next: Instant,
    /// The worker that the next request is made as: each is another one, so that none waits for another.
    worker: usize,
    /// Serials of requests under way, by worker.
    waiting: HashMap<usize, u64>,
    answered: u64,
    busy: u64,
    /// Requests that nobody heard, or whose answer never came.
    lost: u64,
    /// When the first answer after [`Self::lose`] came.
    first_answer: Option<Instant>,
    has_lost: bool,
    buffer: Vec<u8>,
}

/// A connection.
struct Line {
    socket: Socket,
    lane: Box<dyn Lane<Queues>>,
    outs: Vec<Vec<u8>>,
}

impl Arrivals {
    fn new() -> Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            clock: Clock::start(),
            line: None,
            next: Instant::now(),
            worker: 0,
            waiting: HashMap::new(),
            answered: 0,
            busy: 0,
            lost: 0,
            first_answer: None,
            has_lost: false,
            buffer: vec![0; READ_BYTES],
        })
    }

    /// The server was killed: what is under way is lost, and the next answer is the first.
    fn lose(&mut self) {
        self.hang_up();
        self.has_lost = true;
    }

    fn hang_up(&mut self) {
        self.line = None;
        self.lost += self.waiting.len() as u64;
        self.waiting.clear();
    }

    /// Makes the requests that are due, and hears what comes until the next one is.
    fn turn(&mut self, stadium: &Stadium, tally: &mut Tally) -> Result<()> {
        while self.next <= Instant::now() {
            self.next += INTERVAL;
            self.request(stadium, tally);
        }
        let mut events = Events::with_capacity(8);
        let sleep = self.next.saturating_duration_since(Instant::now());
        match self.poll.poll(&mut events, Some(sleep)) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error.into()),
            _ => {}
        }
        if !events.is_empty() && self.hear(tally).is_err() {
            self.hang_up();
        }
        Ok(())
    }

    fn request(&mut self, stadium: &Stadium, tally: &mut Tally) {
        let job = NewJob {
            serial: tally.serial(),
            stamp_ns: self.clock.unix_ns(),
            bytes: PAYLOAD_BYTES,
            run_at_ms: 0,
        };
        if self.line.is_none() {
            self.line = self.connect(stadium);
        }
        let Some(line) = &mut self.line else {
            self.lost += 1;
            return;
        };
        self.worker += 1;
        self.waiting.insert(self.worker, job.serial);
        line.lane.start(self.worker, Request::Put(&[job]), &mut line.outs);
        if line.socket.send(&mut line.outs[0], self.poll.registry()).is_err() {
            self.hang_up();
        }
    }

    fn connect(&self, stadium: &Stadium) -> Option<Line> {
        let address = stadium.addresses(0)[0];
        let socket = Socket::connect(address, self.poll.registry(), Token(0)).ok()?;
        let mut lane = stadium.lane(Role::Producer, 0);
        let mut outs = vec![Vec::new()];
        lane.open(&mut outs);
        Some(Line { socket, lane, outs })
    }

    fn hear(&mut self, tally: &mut Tally) -> Result<()> {
        let Some(line) = &mut self.line else { return Ok(()) };
        line.socket.flush(self.poll.registry())?;
        line.socket.receive(&mut self.buffer)?;
        let mut events = Vec::new();
        let taken = line.lane.read(0, line.socket.input(), &mut line.outs, &mut events)?;
        line.socket.take(taken);
        for event in events {
            let Event::Answer(worker, outcome) = event else { continue };
            let serial = self.waiting.remove(&worker).context("an answer to no request")?;
            match outcome {
                Outcome::Put(_) => {
                    tally.put(serial);
                    self.answered += 1;
                    if self.has_lost {
                        self.first_answer.get_or_insert_with(Instant::now);
                    }
                }
                Outcome::Again(_) => self.busy += 1,
                other => bail!("a put was answered by {other:?}"),
            }
        }
        Ok(())
    }
}
