//! The whole simulation: brokers, network, nodes and clients, step by step.
//!
//! One thing happens in each step, chosen by the seed. Answers and messages wait in two lists, from
//! which any may be the next. The steps are here, and what nodes ask for; the end of a run is in
//! the file beside this one.

mod effects;
mod end;

use std::collections::BTreeMap;
use std::rc::Rc;

use fastrand::Rng;
use stadium_journal_log::{ClusterId, Header, Judge, Log, Mark, Offset, Owner, Reader, Sequence, WriterId};

use super::node::{Answer, Node, Outgoing, Role};
use super::partition::{BROKERS, Partition};
use super::plan::{Kind, Plan};
use super::truth::Truth;
use crate::trace::Trace;

/// The log of all runs.
const LOG: Log = Log { cluster: ClusterId(0xC105_7E12), shard: 5 };

/// Messages that a node reads at once.
const FETCH: usize = 8;

/// Bytes of a position that a body takes, at most; gaps come on top.
const PLACE: u64 = 64;

/// What a run did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Messages that were acknowledged.
    pub acknowledged: u64,
    /// Claims that succeeded.
    pub claims: u64,
    /// Owners that another claim fenced.
    pub fenced: u64,
    /// Claims after an append without an outcome.
    pub claimed_again: u64,
    /// Messages that an owner sent again because an earlier one was missing.
    pub sent_again: u64,
    /// Messages that an owner gave up.
    pub given_up: u64,
    /// Messages whose outcome an owner could not know.
    pub unknown: u64,
    /// Messages that do not count.
    pub passed: u64,
    /// Gaps that an owner read.
    pub gaps: u64,
    /// Nodes that could not read on because of a trim.
    pub trimmed: u64,
    /// Brokers that lost power.
    pub powerless: u64,
    /// Nodes that ended.
    pub restarts: u64,
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.claims += other.claims;
        self.fenced += other.fenced;
        self.claimed_again += other.claimed_again;
        self.sent_again += other.sent_again;
        self.given_up += other.given_up;
        self.unknown += other.unknown;
        self.passed += other.passed;
        self.gaps += other.gaps;
        self.trimmed += other.trimmed;
        self.powerless += other.powerless;
        self.restarts += other.restarts;
    }
}

/// Who waits for the answer to an append.
#[derive(Clone, Copy)]
struct Name {
    node: usize,
    life: u32,
    writer: WriterId,
    sequence: Sequence,
}

/// A message on its way to the partition.
#[derive(Clone)]
struct Request {
    name: Name,
    bytes: Rc<[u8]>,
}

/// An answer on its way to a node.
struct Mail {
    node: usize,
    life: u32,
    answer: Answer,
}

/// A checkpoint: where its reader is, and the messages that count before.
struct Checkpoint {
    mark: Mark,
    books: Vec<u64>,
}

/// The simulation.
pub struct World<J> {
    plan: Plan,
    random: Rng,
    trace: Trace,
    step: u32,
    /// Owners get offsets as if nobody had written in between.
    trusts_offsets: bool,
    partition: Partition<Name>,
    nodes: Vec<Node<J>>,
    requests: Vec<Request>,
    mail: Vec<Mail>,
    /// The kept checkpoints, older first.
    checkpoints: Vec<Checkpoint>,
    truth: Truth,
    summary: Summary,
    /// The number of the next message's body.
    ids: u64,
    /// Searches for the end of the log so far.
    searches: u64,
    /// Names of writers, for the trace.
    writers: BTreeMap<u64, String>,
}

impl<J: Judge> World<J> {
    /// The world of a plan.
    pub fn new(plan: Plan, trusts_offsets: bool, trace: Trace) -> Self {
        let random = Rng::with_seed(plan.seed ^ 0x6C6F_6700);
        let reader = || Reader::open(LOG, Mark::START, Offset(0)).expect("the log begins at its start");
        let nodes = (0..plan.nodes).map(|_| Node::new(reader(), Vec::new(), 0)).collect();
        Self {
            plan,
            random,
            trace,
            step: 0,
            trusts_offsets,
            partition: Partition::new(),
            nodes,
            requests: Vec::new(),
            mail: Vec::new(),
            checkpoints: Vec::new(),
            truth: Truth::default(),
            summary: Summary::default(),
            ids: 0,
            searches: 0,
            writers: BTreeMap::new(),
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// The promise that was broken.
    pub fn run(&mut self) -> Result<Summary, String> {
        let total: u32 = self.plan.weights.iter().map(|(_, weight)| weight).sum();
        while self.step < self.plan.steps {
            self.step += 1;
            let mut draw = self.random.u32(..total);
            let kind = self.plan.weights.iter().find(|(_, weight)| {
                let is_it = draw < *weight;
                draw = draw.saturating_sub(*weight);
                is_it
            });
            let Some(&(kind, _)) = kind else { continue };
            self.happen(kind)?;
        }
        self.end()?;
        self.summary.passed = self.truth.passed;
        self.summary.acknowledged = self.truth.acknowledged_count() as u64;
        Ok(self.summary)
    }

    /// The trace, once the run is over.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    fn happen(&mut self, kind: Kind) -> Result<(), String> {
        let node = self.random.usize(..self.nodes.len());
        let broker = self.random.usize(..BROKERS);
        let is_stopped = self.nodes[node].stopped_until > self.step;
        match kind {
            Kind::Write if !is_stopped => self.write(node),
            Kind::Arrive => self.arrive(),
            Kind::Replicate => {
                let count = self.random.usize(1..5);
                self.partition.replicate(broker, count);
                self.replicated()
            }
            Kind::Answer => self.answer(),
            Kind::Fetch if !is_stopped => {
                self.fetch(node);
                Ok(())
            }
            Kind::Timeout if !is_stopped => self.time_out(node),
            Kind::Retry if !is_stopped => {
                self.retry(node);
                Ok(())
            }
            Kind::Claim if !is_stopped => self.claim(node),
            Kind::Pause if !is_stopped => {
                self.nodes[node].stopped_until = self.step + self.random.u32(..self.plan.pause_steps);
                self.line(|| format!("node {node} stops"));
                Ok(())
            }
            Kind::Restart => self.restart(node, "ends"),
            Kind::Power => {
                self.line(|| format!("broker {broker} loses power"));
                self.summary.powerless += 1;
                let lost = self.partition.lose_power(broker, &mut self.random);
                self.led_anew(lost)
            }
            Kind::Start => {
                let lost = self.partition.start_broker(broker, &mut self.random);
                self.led_anew(lost)
            }
            Kind::Sync => {
                self.partition.sync(broker, &mut self.random);
                Ok(())
            }
            Kind::Lag => {
                self.line(|| format!("broker {broker} lags"));
                self.partition.lag(broker);
                self.replicated()
            }
            Kind::Elect => {
                self.line(|| "another broker leads".into());
                let lost = self.partition.elect(&mut self.random);
                self.led_anew(lost)
            }
            Kind::Checkpoint if !is_stopped => {
                self.checkpoint(node);
                Ok(())
            }
            Kind::Trim => {
                self.trim();
                Ok(())
            }
            // The node has stopped.
            _ => Ok(()),
        }
    }

    /// A client writes to a node that serves: something new, or what was given up. If no node owns
    /// the log, this one claims it.
    fn write(&mut self, node: usize) -> Result<(), String> {
        if self.nodes.iter().all(|node| matches!(node.role, Role::Standby(_))) {
            return self.claim(node);
        }
        if !self.nodes[node].is_serving() {
            return Ok(());
        }
        let again = match self.random.bool() {
            true => self.nodes[node].given_up.pop(),
            false => None,
        };
        let id = again.unwrap_or(self.ids);
        let gap = if self.random.u8(..4) == 0 { self.random.u64(..1_000) } else { 0 };
        let first = self.nodes[node].position.plus(gap);
        let end = first.plus(self.random.u64(1..=PLACE));
        let Role::Owner(owner) = &mut self.nodes[node].role else { return Ok(()) };
        if owner.append(first, end).is_err() {
            self.nodes[node].given_up.extend(again);
            return Ok(());
        }
        match again {
            Some(id) => self.truth.append_again(id),
            None => self.ids += 1,
        }
        self.nodes[node].position = end;
        self.nodes[node].taken.push_back(id);
        self.carry_out(node)
    }

    /// The next message arrives at the partition, or does not.
    fn arrive(&mut self) -> Result<(), String> {
        let Some(at) = self.pick(self.requests.len()) else { return Ok(()) };
        let request = self.requests.remove(at);
        if self.chance(self.plan.requests_lost) {
            self.line(|| format!("lost: {}", words(&request.name)));
            return Ok(());
        }
        if self.chance(self.plan.requests_doubled) {
            self.requests.push(request.clone());
        }
        self.append(request)
    }

    fn append(&mut self, request: Request) -> Result<(), String> {
        self.line(|| format!("arrives: {}", words(&request.name)));
        if let Err(name) = self.partition.append(request.bytes, request.name) {
            self.post(name.node, name.life, Answer::Failed(name.writer, name.sequence));
        }
        self.replicated()
    }

    /// Something may be replicated by now.
    fn replicated(&mut self) -> Result<(), String> {
        let answers = self.partition.answers();
        self.truth.see(self.partition.replicated())?;
        for (name, offset) in answers {
            self.post(name.node, name.life, Answer::Appended(name.writer, name.sequence, Offset(offset)));
        }
        Ok(())
    }

    /// The leader may be another one. The old one's answers do not arrive, or say that they failed.
    fn led_anew(&mut self, lost: Vec<Name>) -> Result<(), String> {
        self.truth.see_again(self.partition.replicated())?;
        for name in lost {
            if self.random.bool() {
                self.post(name.node, name.life, Answer::Failed(name.writer, name.sequence));
            }
        }
        self.replicated()
    }

    fn post(&mut self, node: usize, life: u32, answer: Answer) {
        self.mail.push(Mail { node, life, answer });
    }

    /// A node gets the next answer, unless it has stopped.
    fn answer(&mut self) -> Result<(), String> {
        let Some(at) = self.pick(self.mail.len()) else { return Ok(()) };
        if self.nodes[self.mail[at].node].stopped_until > self.step {
            return Ok(());
        }
        let mail = self.mail.remove(at);
        match self.chance(self.plan.answers_lost) {
            true => Ok(()),
            false => self.deliver(mail),
        }
    }

    fn deliver(&mut self, mail: Mail) -> Result<(), String> {
        let Mail { node: number, life, answer } = mail;
        let node = &mut self.nodes[number];
        if node.life != life {
            return Ok(());
        }
        match answer {
            Answer::Appended(writer, sequence, offset) => {
                let Role::Owner(owner) = &mut node.role else { return Ok(()) };
                let mark = owner.reader().mark();
                let expected = sequence.0.checked_sub(mark.next.0).map(|more| Offset(mark.offset.0 + more));
                let offset = match expected {
                    Some(expected) if self.trusts_offsets && owner.is_serving() => expected,
                    _ => offset,
                };
                owner.appended(writer, sequence, offset);
                self.line(|| format!("node {number}: sequence {sequence} is at {offset}"));
            }
            Answer::Failed(writer, sequence) => {
                if let Role::Owner(owner) = &mut node.role {
                    owner.failed(writer, sequence);
                }
            }
            Answer::End(search, end) => {
                if let Role::Owner(owner) = &mut node.role
                    && node.searching == Some(search)
                {
                    node.searching = None;
                    owner.end(end);
                }
            }
            Answer::Trimmed(start) => {
                node.is_fetching = false;
                match &mut node.role {
                    Role::Owner(owner) => owner.trimmed(start),
                    Role::Standby(reader) if reader.mark().offset < start => {
                        self.summary.trimmed += 1;
                        return self.restart(number, "was trimmed");
                    }
                    Role::Standby(_) => {}
                }
            }
            Answer::Messages(from, entries) => {
                node.is_fetching = false;
                return self.read(number, from, entries);
            }
        }
        self.carry_out(number)
    }

    fn read(
        &mut self,
        node: usize,
        from: Offset,
        entries: Vec<super::partition::Entry>,
    ) -> Result<(), String> {
        for (entry, offset) in entries.iter().zip(from.0..) {
            let read = self.nodes[node].read(Offset(offset), &entry.bytes);
            if let Some(id) = read.map_err(|what| format!("node {node}: {what}"))? {
                self.count(node, id)?;
            }
            self.carry_out(node)?;
        }
        Ok(())
    }

    /// A message counts for a node.
    fn count(&mut self, node: usize, id: u64) -> Result<(), String> {
        let books = &mut self.nodes[node].books;
        self.truth.agree(books.len(), id).map_err(|what| format!("node {node}: {what}"))?;
        books.push(id);
        Ok(())
    }

    /// A node asks for messages, where it needs some.
    fn fetch(&mut self, number: usize) {
        let (node, start) = (&mut self.nodes[number], self.partition.start());
        let is_wanted = node.wants_messages() || self.plan.owners_read;
        if node.is_fetching || !is_wanted {
            return;
        }
        let offset = node.mark().offset;
        // A broker returns whole batches, which may begin earlier.
        let from = offset.0.saturating_sub(self.random.u64(..3)).max(start);
        let life = node.life;
        let answer = match self.partition.read(from, FETCH) {
            _ if offset.0 < start => Answer::Trimmed(Offset(start)),
            Some(entries) => Answer::Messages(Offset(from), entries),
            None => return,
        };
        self.nodes[number].is_fetching = true;
        self.post(number, life, answer);
    }

    /// A node no longer waits for one of the answers that it waits for.
    fn time_out(&mut self, number: usize) -> Result<(), String> {
        let node = &mut self.nodes[number];
        node.is_fetching = false;
        if node.searching.is_some() {
            self.search(number);
            return Ok(());
        }
        let Role::Owner(owner) = &mut node.role else { return Ok(()) };
        let outgoing = node.outgoing.len();
        if outgoing > 0 {
            let header = node.outgoing[self.random.usize(..outgoing)].header;
            owner.failed(header.claim.writer, header.sequence);
        }
        self.carry_out(number)
    }

    /// The client of a node sends a message once more, as it does after an error of the network.
    fn retry(&mut self, number: usize) {
        let outgoing = &self.nodes[number].outgoing;
        if !outgoing.is_empty() {
            let again = outgoing[self.random.usize(..outgoing.len())].clone();
            self.send(number, &again);
        }
    }

    fn send(&mut self, node: usize, message: &Outgoing) {
        let Header { claim, sequence, .. } = message.header;
        let name = Name { node, life: self.nodes[node].life, writer: claim.writer, sequence };
        self.requests.push(Request { name, bytes: message.bytes.clone() });
    }

    /// A node claims the log, where it has not.
    fn claim(&mut self, number: usize) -> Result<(), String> {
        let writer = self.writer(number);
        let node = &mut self.nodes[number];
        let Role::Standby(reader) = &node.role else { return Ok(()) };
        node.role = Role::Owner(Owner::claim(reader.clone(), writer));
        node.read_to = Offset(0);
        self.line(|| format!("node {number} claims"));
        self.carry_out(number)
    }

    /// A new writer id. They are random in the product; here their order does not follow time.
    fn writer(&mut self, node: usize) -> WriterId {
        let writer = self.random.u64(1..);
        let name = format!("{}{}", char::from(b'a' + node as u8), self.writers.len());
        self.writers.insert(writer, name);
        WriterId(writer)
    }

    /// A node's process ends, and another one begins with a checkpoint.
    fn restart(&mut self, number: usize, why: &str) -> Result<(), String> {
        self.line(|| format!("node {number} {why}"));
        self.summary.restarts += 1;
        let life = self.nodes[number].life + 1;
        // The older one serves too, as long as the log is not trimmed further.
        let start = Offset(self.partition.start());
        let newest = self.checkpoints.len().saturating_sub(1);
        let which = if self.random.u8(..4) == 0 { 0 } else { newest };
        let (mark, books) = match self.checkpoints.get(which) {
            Some(kept) => (kept.mark, kept.books.clone()),
            None => (Mark::START, Vec::new()),
        };
        let reader = Reader::open(LOG, mark, start)
            .map_err(|error| format!("node {number} cannot begin with a kept checkpoint: {error}"))?;
        self.nodes[number] = Node::new(reader, books, life);
        Ok(())
    }

    /// A node keeps its state: the third last checkpoint is removed.
    fn checkpoint(&mut self, node: usize) {
        let Node { books, .. } = &self.nodes[node];
        let mark = self.nodes[node].mark();
        if self.checkpoints.last().is_none_or(|last| last.mark.offset < mark.offset) {
            self.checkpoints.push(Checkpoint { mark, books: books.clone() });
            if self.checkpoints.len() > 2 {
                self.checkpoints.remove(0);
            }
            self.line(|| format!("node {node} has a checkpoint at offset {}", mark.offset));
        }
    }

    fn trim(&mut self) {
        if let [older, _] = &self.checkpoints[..] {
            let below = older.mark.offset.0;
            self.partition.trim(below);
            self.line(|| format!("the log is trimmed up to offset {below}"));
        }
    }

    /// One of so many things on the network: mostly the first.
    fn pick(&mut self, count: usize) -> Option<usize> {
        match count {
            0 => None,
            _ if self.chance(self.plan.reordered) => Some(self.random.usize(..count)),
            _ => Some(0),
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.u32(..100) < percent
    }

    fn line(&mut self, text: impl FnOnce() -> String) {
        let (step, writers) = (self.step, &self.writers);
        self.trace.text(|| {
            let named = |text: String, (writer, name): (&u64, &String)| {
                text.replace(&format!("WriterId({writer})"), name)
            };
            format!("{step:>6}  {}", writers.iter().fold(text(), named))
        });
    }
}

fn words(name: &Name) -> String {
    format!("sequence {} of node {}, {:?}", name.sequence, name.node, name.writer)
}
