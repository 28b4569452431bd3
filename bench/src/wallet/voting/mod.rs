//! The voting service of examples/voting beside a server: sessions over HTTP with keep-alive. Log in, list the candidates, look at
//! the balance, vote.
//!
//! Voters are signed up, with credit for their votes, before anything is measured. Each connection has one request under way. The row
//! counts only while the votes that were acknowledged are those that the service counts.

mod session;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;

use super::books::ANSWER_MAX;
use super::clients::Clients;
use super::designs::Stadium;
use super::dialogue::Endpoint as _;
use crate::harness::{Caller, Dialogue as _, SLEEP_MAX, Workers};
use crate::machine;
use crate::services::{Service, Start};
use session::{CANDIDATES, Connection, Reply, Request, Sessions};

/// Name of the measurement.
pub(super) const NAME: &str = "voting";
/// Who takes part, one session after the other.
const VOTERS: u32 = 20_000;
/// Votes that each has: more than the sessions of a run use up.
const WELCOME: i64 = 1_000;
/// Sessions before those that are measured.
const WARM: Duration = Duration::from_millis(500);
/// The service shows new results after a short time.
const COUNT_MAX: Duration = Duration::from_secs(5);

/// Starts both, signs the voters up, measures, and compares the counts.
pub(super) fn take(start: &Start<'_>, clients: &Clients) -> Result<Vec<(String, f64)>> {
    let stadium = Stadium::start(start)?;
    let service = serve(start, &stadium)?;
    stadium.service().explain(service.explain(measure(&service, clients)))
}

/// The service, on the server.
fn serve(start: &Start<'_>, stadium: &Stadium) -> Result<Service> {
    let program = start.places.voting();
    if !program.exists() {
        bail!("{} is missing: use `cargo xtask bench wallet`", program.display());
    }
    let service = start.service("voting", |_, port| {
        let mut command = start.cores.command(&program);
        command.args(["serve", "--open", "--no-devices", "--log-level", "warn"]);
        command.args(["--welcome", &WELCOME.to_string(), "--listen", &format!("127.0.0.1:{port}")]);
        command.args(["--rpc", &stadium.service().address().to_string(), "--data"]);
        command.arg(stadium.server().data());
        for id in CANDIDATES {
            command.arg("--candidate").arg(format!("{id}={id}"));
        }
        Ok(command)
    })?;
    service.await_port()?;
    Ok(service)
}

fn measure(service: &Service, clients: &Clients) -> Result<Vec<(String, f64)>> {
    let mut load = Load::connect(service.address(), clients.connections)?;
    let signed_up = Instant::now();
    load.sign_up()?;
    let signed_up = f64::from(VOTERS) / signed_up.elapsed().as_secs_f64();
    load.run(WARM)?;
    let span = Duration::from_secs_f64(clients.seconds);
    load.answer_us.reset();
    let (requests, votes) = (load.requests, load.votes);
    let (cpu, started) = (machine::own_cpu_time()?, Instant::now());
    load.run(span)?;
    let elapsed = started.elapsed().as_secs_f64();
    let client_cpu = (machine::own_cpu_time()? - cpu).as_secs_f64() / elapsed;
    let ms = |quantile| load.answer_us.value_at_quantile(quantile) as f64 / 1e3;
    let numbers = [
        ("per_second", (load.requests - requests) as f64 / elapsed),
        ("sessions_per_second", (load.votes - votes) as f64 / elapsed),
        ("signed_up_per_second", signed_up),
        ("p50_ms", ms(0.5)),
        ("p99_ms", ms(0.99)),
        ("again", load.again as f64),
        ("client_cpu", client_cpu),
    ];
    count(service.address(), i64::try_from(load.votes)?)?;
    Ok(numbers.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

/// An error unless the service counts exactly these votes.
fn count(address: SocketAddr, votes: i64) -> Result<()> {
    let mut caller = Caller::connect(&[address], Connection::lane())?;
    let until = Instant::now() + COUNT_MAX;
    loop {
        match caller.ask(Request::Results, ANSWER_MAX)? {
            Reply::Counted(counted) if counted == votes => return Ok(()),
            Reply::Counted(counted) if Instant::now() > until => {
                bail!("{votes} votes were acknowledged, and {counted} are counted")
            }
            Reply::Counted(_) => std::thread::sleep(SLEEP_MAX),
            other => bail!("a question for results was answered by {other:?}"),
        }
    }
}

/// Connections, and where each is in its session.
struct Load {
    pool: Workers<Sessions>,
    slots: Vec<Slot>,
    /// Connections that ask again at a time.
    alarms: VecDeque<(Instant, usize)>,
    /// The next session's voter.
    voter: u32,
    /// Votes that each voter has left, by what was answered.
    left: Vec<i64>,
    requests: u64,
    votes: u64,
    again: u64,
    answer_us: Histogram<u64>,
}

/// A connection's session.
struct Slot {
    voter: u32,
    step: Step,
    token: String,
    number: u64,
    asked: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Idle,
    LogIn,
    List,
    Balance,
    Vote,
}

impl Load {
    fn connect(address: SocketAddr, connections: usize) -> Result<Self> {
        let mut pool = Workers::new()?;
        for _ in 0..connections {
            pool.add(&[address], Connection::lane(), 1)?;
        }
        pool.wait_until_open()?;
        let slot =
            || Slot { voter: 0, step: Step::Idle, token: String::new(), number: 0, asked: Instant::now() };
        Ok(Self {
            pool,
            slots: std::iter::repeat_with(slot).take(connections).collect(),
            alarms: VecDeque::new(),
            voter: 0,
            left: vec![WELCOME; VOTERS as usize],
            requests: 0,
            votes: 0,
            again: 0,
            answer_us: Histogram::new_with_bounds(1, 600_000_000, 3)?,
        })
    }

    /// Logs every voter in once.
    fn sign_up(&mut self) -> Result<()> {
        let mut voters = 0..VOTERS;
        self.drive(|slot| {
            let Some(voter) = voters.next() else { return Step::Idle };
            slot.voter = voter;
            Step::LogIn
        })
    }

    /// One session after the other on each connection, for so long; sessions that have begun are ended.
    fn run(&mut self, span: Duration) -> Result<()> {
        let until = Instant::now() + span;
        let mut voter = self.voter;
        let result = self.drive(|slot| match slot.step {
            Step::Idle | Step::Vote if Instant::now() >= until => Step::Idle,
            Step::Idle | Step::Vote => {
                slot.voter = voter;
                voter = (voter + 1) % VOTERS;
                Step::LogIn
            }
            Step::LogIn => Step::List,
            Step::List => Step::Balance,
            Step::Balance => Step::Vote,
        });
        self.voter = voter;
        result
    }

    /// Has each connection ask what `next` returns when it is done with what it asked before, until
    /// all are idle.
    fn drive(&mut self, mut next: impl FnMut(&mut Slot) -> Step) -> Result<()> {
        let mut answers = Vec::new();
        let mut busy = 0;
        let mut last_answer = Instant::now();
        for index in 0..self.slots.len() {
            busy += usize::from(self.go_on(index, &mut next));
        }
        while busy > 0 {
            let now = Instant::now();
            while self.alarms.front().is_some_and(|(at, _)| *at <= now) {
                let Some((_, index)) = self.alarms.pop_front() else { break };
                self.ask(index);
            }
            let first = self.alarms.front().map(|(at, _)| at.saturating_duration_since(now));
            self.pool.turn(SLEEP_MAX.min(first.unwrap_or(SLEEP_MAX)), &mut answers)?;
            for (index, reply) in answers.drain(..) {
                last_answer = Instant::now();
                if let Some(pause) = Sessions::again(&reply) {
                    self.again += 1;
                    self.alarms.push_back((last_answer + pause, index));
                    continue;
                }
                let asked_us = self.slots[index].asked.elapsed().as_micros();
                self.answer_us.saturating_record(u64::try_from(asked_us)?);
                self.requests += 1;
                self.hear(index, reply)?;
                if !self.go_on(index, &mut next) {
                    busy -= 1;
                }
            }
            if last_answer.elapsed() > ANSWER_MAX {
                bail!("no answer within {ANSWER_MAX:?}");
            }
        }
        Ok(())
    }

    /// Asks what comes next, if anything does.
    fn go_on(&mut self, index: usize, next: &mut impl FnMut(&mut Slot) -> Step) -> bool {
        let slot = &mut self.slots[index];
        slot.step = next(slot);
        if slot.step == Step::Idle {
            return false;
        }
        if slot.step == Step::Vote {
            // The connection's own count makes it unique.
            slot.number += 1;
        }
        slot.asked = Instant::now();
        self.ask(index);
        true
    }

    fn ask(&mut self, index: usize) {
        let slot = &self.slots[index];
        let number = (index as u64) << 32 | slot.number;
        let request = match slot.step {
            Step::Idle => return,
            Step::LogIn => Request::LogIn { voter: slot.voter },
            Step::List => Request::List,
            Step::Balance => Request::Balance { token: &slot.token },
            Step::Vote => Request::Vote { token: &slot.token, candidate: index, number },
        };
        self.pool.ask(index, request);
    }

    fn hear(&mut self, index: usize, reply: Reply) -> Result<()> {
        let slot = &mut self.slots[index];
        let left = &mut self.left[slot.voter as usize];
        match (slot.step, reply) {
            (Step::LogIn, Reply::Token(token)) => slot.token = token,
            (Step::List, Reply::Listed(candidates)) if candidates == CANDIDATES.len() => {}
            (Step::Balance, Reply::Left(votes)) if votes == *left => {}
            (Step::Vote, Reply::Voted) => {
                self.votes += 1;
                *left -= 1;
            }
            (_, reply) => {
                bail!("voter {}, who has {left} votes left, was answered {reply:?}", slot.voter)
            }
        }
        Ok(())
    }
}
