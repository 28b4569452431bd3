//! The whole simulation: starts of nodes, their shards and requests between them, step by step.
//!
//! One thing happens in each step, chosen by the seed. A request has one outcome, as
//! docs/links.md promises; one whose asker has heard that its outcome is unknown may arrive later. At
//! the end nothing fails any more, all commands are answered, and the books are closed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fastrand::Rng;
use stadium_forward::{Sent, Step};
use stadium_journal::{JournalId, MemoryBounds, MemoryStore};
use stadium_queue::{Answer, Command, Dedup, Key, NewJob, QueueName, Refusal, Time};
use stadium_shard::core::{Output, Request, Search};
use stadium_shard::{Forwarded, MOVED, NOT_HERE};
use stadium_shard_wire::{self as wire, Batch, Item, Received, Response};
use stadium_state_machine::{busy, home};

use super::Sabotage;
use super::books::{Books, What, has_own_id};
use super::node::{Client, Flight, Owned, Served, Start, Who, number, view};
use super::plan::{Kind, Plan};
use crate::trace::Trace;

/// The report of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Commands that were carried out.
    pub accepted: u64,
    /// Commands that were refused: nothing happened.
    pub refused: u64,
    /// Commands with an unknown outcome.
    pub unknown: u64,
    /// Requests between nodes.
    pub sent: u64,
    /// Commands that shards gave back.
    pub given_back: u64,
    /// Requests whose outcome was unknown.
    pub lost: u64,
    /// Claims of shards.
    pub claims: u64,
    /// Nodes that were killed.
    pub kills: u64,
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.sent += other.sent;
        self.given_back += other.given_back;
        self.lost += other.lost;
        self.claims += other.claims;
        self.kills += other.kills;
    }
}

/// How long a request may be on its way whose asker has given it up, milliseconds: a link that is
/// silent for longer has ended.
const GHOST_MS: u64 = 2_000;

/// A shard that has commands takes a turn within this time, milliseconds. A node remembers the ids that
/// it gives to puts for 5 s longer than it asks again: for such delays, and for those of links.
const TURN_MS: u64 = 1_000;

/// The bytes of a payload: a number.
const PAYLOAD_BYTES: usize = 8;

pub struct World {
    plan: Plan,
    sabotage: Sabotage,
    rng: Rng,
    trace: Trace,
    /// The beginning, of which only differences are used.
    began: Instant,
    now_ms: u64,
    /// The store's map of the shards.
    owned: Vec<Owned>,
    logs: Vec<MemoryStore>,
    starts: Vec<Start>,
    /// The latest start of each node.
    latest: Vec<usize>,
    /// Pairs of nodes that cannot reach each other.
    cut: BTreeSet<(usize, usize)>,
    flights: Vec<Flight>,
    /// Reserves that clients wait for.
    waiting: Vec<(usize, u64)>,
    /// A link has no room.
    is_full: bool,
    books: Books,
    summary: Summary,
}

impl World {
    pub fn new(plan: Plan, sabotage: Sabotage, trace: Trace) -> Self {
        let mut rng = Rng::with_seed(plan.seed);
        let bounds = MemoryBounds {
            bytes_max: 64 << 20,
            reserve_bytes: 1 << 20,
            record_bytes_max: 1 << 20,
            waiting_bytes_max: 4 << 20,
        };
        let log = |shard: u16| MemoryStore::new(JournalId(shard.into()), bounds.clone());
        let logs = (0..plan.shards).map(log).collect();
        let owned = (0..plan.shards).map(|_| Owned { by: rng.usize(0..plan.nodes), generation: 1 }).collect();
        let starts = (0..plan.nodes).map(|node| Start::new(&plan, node, rng.u64(..))).collect();
        let latest = (0..plan.nodes).collect();
        Self {
            plan,
            sabotage,
            rng,
            trace,
            began: Instant::now(),
            now_ms: 0,
            owned,
            logs,
            starts,
            latest,
            cut: BTreeSet::new(),
            flights: Vec::new(),
            waiting: Vec::new(),
            is_full: false,
            books: Books::default(),
            summary: Summary::default(),
        }
    }

    pub fn into_trace(self) -> Trace {
        self.trace
    }

    pub fn run(&mut self) -> Result<Summary, String> {
        let all: u32 = self.plan.weights.iter().map(|(_, weight)| weight).sum();
        for _ in 0..self.plan.steps {
            let mut choice = self.rng.u32(0..all);
            let mut kind = Kind::Time;
            for (next, weight) in &self.plan.weights {
                kind = *next;
                if choice < *weight {
                    break;
                }
                choice -= weight;
            }
            self.step(kind)?;
            self.drive_all()?;
            self.check()?;
        }
        self.end()
    }

    fn line(&mut self, text: impl FnOnce() -> String) {
        let now_ms = self.now_ms;
        self.trace.text(|| format!("{now_ms:>9} ms  {}", text()));
    }

    fn now(&self) -> Instant {
        self.began + Duration::from_millis(self.now_ms)
    }

    fn step(&mut self, kind: Kind) -> Result<(), String> {
        match kind {
            Kind::Put => {
                let number = self.books.next();
                let shard = self.any_shard();
                let dedup = has_own_id(number).then(|| {
                    let id = Key::new(&format!("client-{number}")).expect("a good id");
                    Dedup { id, window: None }
                });
                let payload = Bytes::copy_from_slice(&number.to_be_bytes());
                let jobs = vec![NewJob { payload, dedup, ..NewJob::default() }];
                let put = Command::Put { queue: queue_of(shard, self.plan.shards), jobs, principal: None };
                self.ask(What::Put, shard, put, 0)
            }
            Kind::Peek => {
                let shard = self.any_shard();
                self.ask(What::Look, shard, peek(queue_of(shard, self.plan.shards), None), 0)
            }
            Kind::Reserve => {
                let shard = self.any_shard();
                let wait = if self.rng.bool() { 0 } else { self.rng.u64(1..5_000) };
                let queue = queue_of(shard, self.plan.shards);
                // A lease that never ends: the jobs are counted at the end.
                let lease = Some(86_400_000);
                let reserve = Command::Reserve { queue, jobs_max: 1, lease, wait, worker: None };
                self.ask(What::Look, shard, reserve, wait)
            }
            Kind::Vanish => self.vanish(),
            Kind::Turn => {
                let start = self.any_alive();
                match start {
                    Some(start) => self.turn(start),
                    None => Ok(()),
                }
            }
            Kind::Deliver => self.deliver(),
            Kind::Busy => {
                self.is_full = !self.is_full;
                Ok(())
            }
            Kind::Time => {
                self.now_ms += match self.rng.u32(0..10) {
                    0 => self.rng.u64(200..TURN_MS),
                    _ => self.rng.u64(1..100),
                };
                self.expire()?;
                self.turn_late()
            }
            Kind::View => {
                if let Some(start) = self.any_alive() {
                    self.tell(start);
                }
                Ok(())
            }
            Kind::Move => self.hand_over(),
            Kind::Lose => {
                let shard = self.any_shard();
                let to = self.rng.usize(0..self.plan.nodes);
                self.give(shard, to);
                Ok(())
            }
            Kind::Serve => {
                let shard = self.any_shard();
                self.serve(shard)
            }
            Kind::Break => {
                let (one, other) = self.any_pair();
                self.break_link(one, other)
            }
            Kind::Cut => {
                let (one, other) = self.any_pair();
                self.line(|| format!("nodes {one} and {other} are cut from each other"));
                self.cut.insert((one, other));
                Ok(())
            }
            Kind::Heal => {
                self.cut.clear();
                Ok(())
            }
            Kind::Kill => {
                let node = self.rng.usize(0..self.plan.nodes);
                self.kill(node)
            }
            Kind::Start => {
                let node = self.rng.usize(0..self.plan.nodes);
                self.start(node);
                Ok(())
            }
        }
    }

    fn any_shard(&mut self) -> u16 {
        self.rng.u16(0..self.plan.shards)
    }

    fn any_alive(&mut self) -> Option<usize> {
        let alive = self.alive();
        (!alive.is_empty()).then(|| alive[self.rng.usize(0..alive.len())])
    }

    fn alive(&self) -> Vec<usize> {
        self.latest.iter().copied().filter(|start| self.starts[*start].is_alive).collect()
    }

    fn any_pair(&mut self) -> (usize, usize) {
        let one = self.rng.usize(0..self.plan.nodes);
        let other = (one + self.rng.usize(1..self.plan.nodes)) % self.plan.nodes;
        (one.min(other), one.max(other))
    }

    /// A client of some node asks.
    fn ask(&mut self, what: What, shard: u16, mut command: Command, wait_ms: u64) -> Result<(), String> {
        let Some(at) = self.any_alive() else { return Ok(()) };
        let number = self.books.next();
        self.books.asked(what, at, self.now_ms, wait_ms);
        self.line(|| format!("#{number}: start {at} is asked for {what:?} at shard {shard}"));
        if self.sabotage != Sabotage::Ids {
            self.starts[at].commands.identify(&mut command);
        }
        if wait_ms > 0 {
            self.waiting.push((at, number));
        }
        if self.starts[at].serves(shard) {
            self.submit(at, shard, Who::Client(number), command);
            return Ok(());
        }
        let command = Forwarded::Queue { command, searches: false };
        match self.starts[at].commands.enter(shard, command, Client(number), self.now()) {
            Ok(id) => self.attempt(at, id),
            Err((Client(number), refusal)) => self.heard(number, Err(refusal)),
        }
    }

    /// Hands a command to a shard of a start that serves it.
    fn submit(&mut self, at: usize, shard: u16, caller: Who, command: Command) {
        let start = &mut self.starts[at];
        if let Some(served) = start.shards.get_mut(&shard) {
            start.held.push(caller);
            served.core.submit(Request { caller, command, search: Search::Here });
        }
    }

    fn attempt(&mut self, at: usize, id: u64) -> Result<(), String> {
        let now = self.now();
        let mut sent = None;
        let (start, is_full, cut) = (&self.starts[at], self.is_full, &self.cut);
        let (latest, starts) = (&self.latest, &self.starts);
        let step = start.commands.attempt(
            id,
            now,
            &start.owners,
            |shard| start.serves(shard),
            |node, _, within, item| {
                let Some(node) = number(node) else { return Sent::Later };
                let is_cut = cut.contains(&(node.min(start.node), node.max(start.node)));
                if is_cut || !starts[latest[node]].is_alive {
                    return Sent::Later;
                }
                if is_full {
                    return Sent::Refused(busy("CLU-211", 100, "the link has no room"));
                }
                sent = Some((latest[node], within, encoded(item)));
                Sent::OnItsWay
            },
        );
        if let Some((to, within, body)) = sent {
            let deadline_ms = self.now_ms + within.as_millis() as u64;
            self.line(|| format!("start {at} sends its command {id} to start {to}"));
            self.flights.push(Flight {
                from: at,
                to,
                id,
                body,
                deadline_ms,
                is_taken: false,
                answer: None,
                is_over: false,
                is_lost: false,
            });
            self.summary.sent += 1;
        }
        self.take(at, id, step)
    }

    /// Does what the table of a start asks for.
    fn take(&mut self, at: usize, id: u64, step: Step<Client>) -> Result<(), String> {
        match step {
            Step::Nothing | Step::Unclaimed(_) => Ok(()),
            Step::Later { .. } => {
                self.line(|| format!("start {at} asks for its command {id} again later"));
                Ok(())
            }
            Step::Here(shard, command) => {
                let Forwarded::Queue { command, .. } = command else {
                    return Err("a command to the queues became another".into());
                };
                self.submit(at, shard, Who::Own(id), command);
                Ok(())
            }
            Step::Answered(Client(number), answer) => self.heard(number, answer),
        }
    }

    fn heard(&mut self, number: u64, answer: Result<stadium_shard::Answer, Refusal>) -> Result<(), String> {
        self.line(|| match &answer {
            Ok(_) => format!("#{number} is answered"),
            Err(refusal) => format!("#{number} is refused: {refusal}"),
        });
        self.books.heard(number, &answer)
    }

    /// An attempt of a start's command may have happened.
    fn lost(&mut self, at: usize, id: u64) -> Result<(), String> {
        self.summary.lost += 1;
        self.line(|| format!("the outcome of command {id} of start {at} is unknown"));
        let (commands, now) = (&self.starts[at].commands, self.now());
        let step = match self.sabotage {
            Sabotage::Ids | Sabotage::Unknown => commands.again(id, now),
            _ => commands.lost(id, now),
        };
        self.take(at, id, step)
    }

    /// A client that waits for a job goes.
    fn vanish(&mut self) -> Result<(), String> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let (at, number) = self.waiting.swap_remove(self.rng.usize(0..self.waiting.len()));
        if !self.starts[at].is_alive {
            return Ok(());
        }
        self.line(|| format!("the client of #{number} goes"));
        self.books.vanished(number)?;
        for (id, ..) in self.starts[at].commands.gone(number) {
            self.line(|| format!("start {at} gives its command {id} up"));
        }
        Ok(())
    }

    /// A shard of a start takes a turn.
    fn turn(&mut self, at: usize) -> Result<(), String> {
        let shards: Vec<u16> = self.starts[at].shards.keys().copied().collect();
        if shards.is_empty() {
            return Ok(());
        }
        let shard = shards[self.rng.usize(0..shards.len())];
        self.turn_of(at, shard)
    }

    /// Shards take their turns that had none for too long.
    fn turn_late(&mut self) -> Result<(), String> {
        for at in self.alive() {
            let late = |(_, served): &(&u16, &Served)| served.turned_ms + TURN_MS <= self.now_ms;
            let late: Vec<u16> =
                self.starts[at].shards.iter().filter(late).map(|(shard, _)| *shard).collect();
            for shard in late {
                self.turn_of(at, shard)?;
            }
        }
        Ok(())
    }

    fn turn_of(&mut self, at: usize, shard: u16) -> Result<(), String> {
        let mut output = Output::default();
        let now = Time(1_000_000 + self.now_ms);
        let Some(served) = self.starts[at].shards.get_mut(&shard) else { return Ok(()) };
        served.turned_ms = self.now_ms;
        let next = served.core.turn(now, &mut output);
        if next.stopped {
            let (moved, handed_over) = (served.core.is_moved(), served.core.is_handed_over());
            self.line(|| {
                format!("shard {shard} stops at start {at}: moved {moved}, handed over {handed_over}")
            });
            self.starts[at].shards.remove(&shard);
            let node = self.starts[at].node;
            if handed_over && self.owned[usize::from(shard)].by == node {
                let to = self.rng.usize(0..self.plan.nodes);
                self.give(shard, to);
            }
        }
        for reply in output.replies {
            self.starts[at].held.retain(|held| *held != reply.caller);
            match reply.caller {
                Who::Client(number) => self.heard(number, reply.answer)?,
                Who::Own(id) => {
                    let step = self.starts[at].commands.answered(id, reply.answer, self.now());
                    self.take(at, id, step)?;
                }
                Who::Request(place) => self.reply(place, reply.answer),
            }
        }
        for given_back in output.given_back {
            let (caller, command, given_up) = given_back.into_parts();
            self.starts[at].held.retain(|held| *held != caller);
            let Who::Client(number) = caller else {
                return Err(format!("a command of {caller:?} came back"));
            };
            self.summary.given_back += 1;
            self.books.came_back(number, self.now_ms)?;
            self.line(|| format!("#{number} comes back: {}", given_up.refusal));
            if self.sabotage == Sabotage::GivenBack {
                continue;
            }
            let now = self.now();
            let commands = &self.starts[at].commands;
            match commands.enter_again(shard, command, Client(number), given_up, now) {
                Ok(id) => {
                    let step = commands.again(id, now);
                    self.take(at, id, step)?;
                }
                Err((Client(number), refusal)) => self.heard(number, Err(refusal))?,
            }
        }
        Ok(())
    }

    /// A shard answers a request of another node.
    fn reply(&mut self, place: usize, answer: Result<stadium_shard::Answer, Refusal>) {
        let id = self.flights[place].id;
        let answer = answer.map(|answer| match wire::Answer::try_from(answer) {
            Ok(answer) => answer,
            Err(_) => unreachable!("answers of queues travel"),
        });
        self.flights[place].answer = Some(encoded(&Item::Response(Response { id, answer })));
    }

    /// A request or an answer arrives.
    fn deliver(&mut self) -> Result<(), String> {
        let places = self.on_their_way();
        if places.is_empty() {
            return Ok(());
        }
        let place = places[self.rng.usize(0..places.len())];
        self.deliver_one(place)
    }

    /// Requests and answers that may arrive.
    fn on_their_way(&self) -> Vec<usize> {
        let moves = |flight: &Flight| {
            !flight.is_lost && (!flight.is_taken || flight.answer.is_some() && !flight.is_over)
        };
        (0..self.flights.len()).filter(|place| moves(&self.flights[*place])).collect()
    }

    fn deliver_one(&mut self, place: usize) -> Result<(), String> {
        let Flight { from, to, .. } = self.flights[place];
        if self.flights[place].is_taken {
            return self.take_answer(place);
        }
        if !self.starts[to].is_alive {
            return Ok(());
        }
        if self.is_full && !self.flights[place].is_over {
            // The receiver has no room.
            (self.flights[place].is_over, self.flights[place].is_lost) = (true, true);
            let (id, now) = (self.flights[place].id, self.now());
            let step = self.starts[from].commands.again(id, now);
            return self.take(from, id, step);
        }
        self.flights[place].is_taken = true;
        let Some(Item::Request(request)) = decoded(&self.flights[place].body) else {
            return Err(format!("a request of start {from} cannot be read"));
        };
        self.line(|| format!("command {} of start {from} arrives at start {to}", request.id));
        let wire::Command::Queue(command) = request.command else {
            return Err("a command to the queues became another".into());
        };
        if self.starts[to].serves(request.shard) {
            self.submit(to, request.shard, Who::Request(place), command);
        } else {
            let code = if self.rng.bool() { MOVED } else { NOT_HERE };
            self.reply(place, Err(busy(code, 100, "the shard is not here")));
        }
        Ok(())
    }

    fn take_answer(&mut self, place: usize) -> Result<(), String> {
        let Flight { from, id, .. } = self.flights[place];
        self.flights[place].is_over = true;
        let body = self.flights[place].answer.take().unwrap_or_default();
        let Some(Item::Response(response)) = decoded(&body) else {
            return Err(format!("an answer to start {from} cannot be read"));
        };
        let answer = response.answer.map(stadium_shard::Answer::from);
        let step = self.starts[from].commands.answered(id, answer, self.now());
        self.take(from, id, step)
    }

    /// The link between two nodes ends: each request has an outcome.
    fn break_link(&mut self, one: usize, other: usize) -> Result<(), String> {
        self.line(|| format!("the link between nodes {one} and {other} ends"));
        for place in 0..self.flights.len() {
            let Flight { from, to, .. } = self.flights[place];
            let (from, to) = (self.starts[from].node, self.starts[to].node);
            if (from.min(to), from.max(to)) == (one, other) {
                self.lose(place)?;
            }
        }
        Ok(())
    }

    /// The asker of a request hears that there is no answer.
    fn lose(&mut self, place: usize) -> Result<(), String> {
        if std::mem::replace(&mut self.flights[place].is_over, true) {
            return Ok(());
        }
        let Flight { from, id, is_taken, .. } = self.flights[place];
        self.flights[place].deadline_ms = self.now_ms;
        if !self.starts[from].is_alive {
            return Ok(());
        }
        // One that was not sent never arrives.
        if !is_taken && self.rng.bool() {
            self.flights[place].is_lost = true;
            let step = self.starts[from].commands.again(id, self.now());
            return self.take(from, id, step);
        }
        self.lost(from, id)
    }

    /// Deadlines of requests pass, and links end that are silent.
    fn expire(&mut self) -> Result<(), String> {
        for place in 0..self.flights.len() {
            let Flight { deadline_ms, is_over, is_taken, .. } = self.flights[place];
            if !is_over && deadline_ms <= self.now_ms {
                self.lose(place)?;
            } else if is_over && !is_taken && deadline_ms + GHOST_MS <= self.now_ms {
                self.flights[place].is_lost = true;
            }
        }
        for (one, other) in self.cut.clone() {
            self.break_link(one, other)?;
        }
        Ok(())
    }

    /// A start learns who owns the shards.
    fn tell(&mut self, start: usize) {
        let alive: Vec<usize> = self.alive().iter().map(|start| self.starts[*start].node).collect();
        self.starts[start].owners.follow(&view(&alive, &self.owned));
    }

    /// The map names another owner.
    fn give(&mut self, shard: u16, to: usize) {
        let generation = self.owned[usize::from(shard)].generation + 1;
        self.owned[usize::from(shard)] = Owned { by: to, generation };
        self.line(|| format!("shard {shard} is node {to}'s from now on"));
    }

    fn hand_over(&mut self) -> Result<(), String> {
        let shard = self.any_shard();
        let at = self.latest[self.owned[usize::from(shard)].by];
        if let Some(served) = self.starts[at].shards.get_mut(&shard) {
            served.core.hand_over();
            served.hands_over = true;
            self.line(|| format!("start {at} hands over shard {shard}"));
        }
        Ok(())
    }

    /// The owner that the map names claims the log.
    fn serve(&mut self, shard: u16) -> Result<(), String> {
        let at = self.latest[self.owned[usize::from(shard)].by];
        if !self.starts[at].is_alive || self.starts[at].shards.contains_key(&shard) {
            return Ok(());
        }
        let mut served = Served::claim(&self.logs[usize::from(shard)], shard, self.plan.shards)?;
        served.turned_ms = self.now_ms;
        self.starts[at].shards.insert(shard, served);
        self.summary.claims += 1;
        self.line(|| format!("start {at} claims shard {shard}"));
        Ok(())
    }

    fn kill(&mut self, node: usize) -> Result<(), String> {
        let at = self.latest[node];
        if !std::mem::replace(&mut self.starts[at].is_alive, false) {
            return Ok(());
        }
        self.summary.kills += 1;
        self.line(|| format!("start {at} of node {node} is killed"));
        self.starts[at].shards.clear();
        self.starts[at].held.clear();
        self.books.killed(at);
        for place in 0..self.flights.len() {
            if self.flights[place].to == at {
                self.lose(place)?;
                self.flights[place].is_lost = true;
            }
            if self.flights[place].from == at {
                self.flights[place].is_over = true;
            }
        }
        Ok(())
    }

    fn start(&mut self, node: usize) {
        if self.starts[self.latest[node]].is_alive {
            return;
        }
        let random = self.rng.u64(..);
        self.latest[node] = self.starts.len();
        self.starts.push(Start::new(&self.plan, node, random));
        let start = self.latest[node];
        self.line(|| format!("node {node} starts again as start {start}"));
    }

    /// Runs the thread of each start's table at this time.
    fn drive_all(&mut self) -> Result<(), String> {
        let mut due = Vec::new();
        for at in self.alive() {
            self.starts[at].commands.take_due(self.now(), &mut due);
            for id in due.drain(..) {
                if self.sabotage != Sabotage::Due {
                    self.attempt(at, id)?;
                }
            }
        }
        Ok(())
    }

    /// Checks the invariants after each step.
    fn check(&mut self) -> Result<(), String> {
        for &at in &self.latest {
            let start = &self.starts[at];
            let bounds = self.plan.bounds;
            let (commands, bytes) = (start.commands.len(), start.commands.bytes());
            // One that is longer than the bound fits beside those without a payload.
            let bytes_max = bounds.bytes_max.max(PAYLOAD_BYTES);
            if commands > bounds.commands_max || bytes > bytes_max {
                return Err(format!("start {at} has {commands} commands of {bytes} bytes: {bounds:?}"));
            }
        }
        let starts = &self.starts;
        // A shard answers when it has its turn.
        let is_held = |number: u64, at: usize| {
            let held = &starts[at].held;
            held.iter().any(|who| *who == Who::Client(number) || matches!(who, Who::Own(_)))
        };
        self.books.late(self.now_ms, is_held).map_or(Ok(()), Err)
    }

    /// Nothing fails any more: each command is answered, and the jobs are there.
    fn end(&mut self) -> Result<Summary, String> {
        self.line(|| "nothing fails from now on".into());
        (self.is_full, self.cut) = (false, BTreeSet::new());
        for node in 0..self.plan.nodes {
            self.start(node);
        }
        let mut rounds = 0;
        while !self.books.are_answered() || rounds < 3 {
            rounds += 1;
            if rounds > 2_000 {
                let late = self.books.late(u64::MAX, |_, _| false);
                return Err(format!("a command is answered by nobody: {late:?}"));
            }
            for shard in 0..self.plan.shards {
                for at in self.alive() {
                    self.turn_of(at, shard)?;
                }
                self.serve(shard)?;
            }
            self.alive().into_iter().for_each(|start| self.tell(start));
            for place in self.on_their_way() {
                self.deliver_one(place)?;
            }
            self.now_ms += 20;
            self.expire()?;
            self.drive_all()?;
            self.check()?;
        }
        for at in self.alive() {
            let start = &self.starts[at];
            if !start.commands.is_empty() {
                return Err(format!("{} commands of start {at} wait for nobody", start.commands.len()));
            }
        }
        let there = self.there()?;
        self.books.check_jobs(&there)?;
        let [accepted, refused, unknown] = self.books.sums();
        Ok(Summary { accepted, refused, unknown, ..self.summary })
    }

    /// The numbers of the jobs that the logs have.
    fn there(&self) -> Result<Vec<u64>, String> {
        let mut there = Vec::new();
        for shard in 0..self.plan.shards {
            let mut served = Served::claim(&self.logs[usize::from(shard)], shard, self.plan.shards)?;
            let mut after = None;
            loop {
                let command = peek(queue_of(shard, self.plan.shards), after);
                served.core.submit(Request { caller: Who::Own(0), command, search: Search::Here });
                let mut output = Output::default();
                served.core.turn(Time(1_000_000 + self.now_ms), &mut output);
                served.core.turn(Time(1_000_000 + self.now_ms), &mut output);
                let jobs = match output.replies.pop().map(|reply| reply.answer) {
                    Some(Ok(stadium_shard::Answer::Queue(Answer::Jobs(jobs)))) => jobs,
                    // A queue to which nothing was put.
                    Some(Err(Refusal::Rejected { .. })) => break,
                    other => return Err(format!("shard {shard} is asked for its jobs: {other:?}")),
                };
                let Some(last) = jobs.last() else { break };
                after = Some(last.job);
                for job in &jobs {
                    let number = job.payload.first_chunk::<8>().ok_or("a payload of another length")?;
                    there.push(u64::from_be_bytes(*number));
                }
            }
        }
        Ok(there)
    }
}

/// The queue of a shard.
fn queue_of(shard: u16, shards: u16) -> QueueName {
    let names = (0..).map(|number| format!("queue-{number}"));
    let name = names.into_iter().find(|name| home(name.as_bytes(), shards) == shard).expect("one of many");
    QueueName::new(&name).expect("a name")
}

fn peek(queue: QueueName, after: Option<stadium_queue::JobId>) -> Command {
    Command::Peek { queue, state: None, key: None, after, jobs_max: 100 }
}

fn encoded(item: &Item) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::encode(item, &mut bytes).expect("it is short");
    bytes
}

fn decoded(body: &[u8]) -> Option<Item> {
    match Batch::new(Bytes::copy_from_slice(body)).ok()?.next()?.ok()? {
        Received::Item(item) => Some(item),
        _ => None,
    }
}
