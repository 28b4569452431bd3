//! A topic in memory whose faults its owner decides: for tests, and for simulations.
//!
//! It draws no random numbers and reads no clock: it asks `choose` for a number below another. A
//! calm topic answers within the call. With faults, calls wait until [`MemoryTopic::step`]
//! carries one out, and appends are lost, doubled, late, out of order or without an answer. A client
//! that was dropped may have messages that arrive later.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use stadium_journal::Wake;
use stadium_journal_log::partition::{Call, Event, Failure};
use stadium_journal_log::{Offset, Partition, Topic};

/// Chooses a number below the one that it gets.
pub type Choose = Box<dyn FnMut(usize) -> usize + Send>;

/// The topic. Clones share it.
#[derive(Clone)]
pub struct MemoryTopic {
    state: Arc<Mutex<State>>,
}

struct State {
    partitions: Vec<Log>,
    clients: BTreeMap<u64, Client>,
    clients_made: u64,
    /// Calls and answers on their way, oldest first.
    network: Vec<Packet>,
    /// Where calls fail: the source of choices.
    faults: Option<Choose>,
}

#[derive(Default)]
struct Log {
    start: usize,
    messages: Vec<Bytes>,
}

impl Log {
    fn end(&self) -> Offset {
        Offset(self.messages.len() as u64)
    }
}

struct Client {
    shard: usize,
    events: VecDeque<Event>,
    wake: Option<Wake>,
    read: Option<Read>,
}

/// A read that waits for messages, or for the network.
#[derive(Clone, Copy)]
struct Read {
    at: Offset,
    bytes_left: usize,
}

/// A call that has not reached the broker, or an answer that has not reached the client.
#[derive(Clone)]
struct Packet {
    client: u64,
    shard: usize,
    content: Content,
}

#[derive(Clone)]
enum Content {
    /// `is_answered`: its client has the outcome already, so the answer is dropped.
    Append {
        tag: u64,
        message: Bytes,
        is_answered: bool,
    },
    FindEnds,
    Trim(Offset),
    Answer(Event),
}

/// What becomes of a call that is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Well,
    /// It happens, and the answer is another packet.
    AnswerIsLate,
    /// It happens, and the answer is that it failed.
    AnswerIsLost,
    /// It happens twice.
    Twice,
    /// It fails now and happens later.
    Late,
    /// It fails and never happens.
    Lost,
}

impl MemoryTopic {
    /// A calm topic of so many partitions: each call is answered at once.
    #[must_use]
    pub fn new(partitions: usize) -> Self {
        let state = State {
            partitions: (0..partitions).map(|_| Log::default()).collect(),
            clients: BTreeMap::new(),
            clients_made: 0,
            network: Vec::new(),
            faults: None,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// From now on calls wait for [`MemoryTopic::step`] and meet faults. `None`: they are calm
    /// again; those on their way still wait.
    pub fn set_faults(&self, choose: Option<Choose>) {
        self.state().faults = choose;
    }

    /// Carries out one call that waits, or delivers one answer. False if there is none.
    pub fn step(&self) -> bool {
        let mut state = self.state();
        let reads: Vec<u64> =
            state.clients.iter().filter(|(_, client)| state.has_something(client)).map(|(n, _)| *n).collect();
        let choices = state.network.len() + reads.len();
        if choices == 0 {
            return false;
        }
        let place = state.choose(choices);
        let wakes = if place < state.network.len() {
            let packet = state.network.remove(place);
            state.carry_out(packet)
        } else {
            let client = reads[place - state.network.len()];
            state.serve_read(client)
        };
        drop(state);
        wakes.into_iter().for_each(|wake| wake());
        true
    }

    /// The leader of a partition changes: all calls that wait there fail, and each append may or may
    /// not arrive later.
    pub fn change_leader(&self, shard: usize) {
        let mut state = self.state();
        let (here, others) =
            std::mem::take(&mut state.network).into_iter().partition(|packet| packet.shard == shard);
        state.network = others;
        let mut wakes = Vec::new();
        for packet in Vec::from_iter::<Vec<Packet>>(here) {
            wakes.extend(state.fail(packet, "the leader has changed"));
        }
        drop(state);
        wakes.into_iter().for_each(|wake| wake());
    }

    /// All replicas of a partition lose power, and the messages from an offset on.
    pub fn lose(&self, shard: usize, from: Offset) {
        self.state().partitions[shard].messages.truncate(from.0 as usize);
    }

    /// The messages of a partition, also those that were trimmed.
    #[must_use]
    pub fn messages(&self, shard: usize) -> Vec<Bytes> {
        self.state().partitions[shard].messages.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call: carried out now, or put on its way.
    fn call(&self, client: u64, shard: usize, content: Content) {
        let mut state = self.state();
        let packet = Packet { client, shard, content };
        let wakes = match state.faults {
            None => state.carry_out(packet),
            Some(_) => {
                state.network.push(packet);
                Vec::new()
            }
        };
        drop(state);
        wakes.into_iter().for_each(|wake| wake());
    }
}

impl Topic for MemoryTopic {
    fn partition(&self, shard: u32) -> Result<Box<dyn Partition>, Failure> {
        let mut state = self.state();
        let shard = shard as usize;
        if shard >= state.partitions.len() {
            let what = format!("the topic has {} partitions, none for shard {shard}", state.partitions.len());
            return Err(Failure { is_temporary: false, is_certain: true, what });
        }
        state.clients_made += 1;
        let client = state.clients_made;
        state.clients.insert(client, Client { shard, events: VecDeque::new(), wake: None, read: None });
        Ok(Box::new(MemoryPartition { topic: self.clone(), client, shard }))
    }
}

impl State {
    /// Whether a read of the client has an event: it does not wait at the end.
    fn has_something(&self, client: &Client) -> bool {
        client.read.is_some_and(|read| read.at != self.partitions[client.shard].end())
    }

    fn choose(&mut self, below: usize) -> usize {
        self.faults.as_mut().map_or(0, |choose| choose(below)).min(below - 1)
    }

    /// One call in eight has a fault.
    fn fate(&mut self) -> Fate {
        if self.faults.is_none() || self.choose(8) > 0 {
            return Fate::Well;
        }
        [Fate::AnswerIsLate, Fate::AnswerIsLost, Fate::Twice, Fate::Late, Fate::Lost][self.choose(5)]
    }

    /// Returns those to wake.
    fn carry_out(&mut self, packet: Packet) -> Vec<Wake> {
        let Packet { client, shard, content } = packet;
        match content {
            Content::Answer(event) => self.report(client, event).into_iter().collect(),
            Content::Append { tag, message, is_answered: true } => {
                self.append(client, shard, tag, &message, None)
            }
            Content::Append { tag, message, is_answered: false } => {
                let fate = self.fate();
                let again = Packet {
                    client,
                    shard,
                    content: Content::Append { tag, message: message.clone(), is_answered: true },
                };
                match fate {
                    Fate::Well | Fate::AnswerIsLate => self.append(client, shard, tag, &message, Some(fate)),
                    Fate::Twice => {
                        self.network.push(again);
                        self.append(client, shard, tag, &message, Some(fate))
                    }
                    Fate::AnswerIsLost => {
                        let mut wakes = self.append(client, shard, tag, &message, None);
                        let event = Event::NotAppended { tag, failure: temporary("no answer came in time") };
                        wakes.extend(self.report(client, event));
                        wakes
                    }
                    Fate::Late | Fate::Lost => {
                        if fate == Fate::Late {
                            self.network.push(again);
                        }
                        let event = Event::NotAppended { tag, failure: temporary("the request timed out") };
                        self.report(client, event).into_iter().collect()
                    }
                }
            }
            Content::FindEnds => {
                let log = &self.partitions[shard];
                let ends = Event::Ends { start: Offset(log.start as u64), end: log.end() };
                let failed =
                    Event::Failed { call: Call::FindEnds, failure: temporary("the broker is not there") };
                match self.fate() {
                    Fate::Well | Fate::Twice => self.report(client, ends).into_iter().collect(),
                    _ => self.report(client, failed).into_iter().collect(),
                }
            }
            Content::Trim(below) => {
                let log = &mut self.partitions[shard];
                log.start = log.start.max((below.0 as usize).min(log.messages.len()));
                let start = Offset(log.start as u64);
                self.report(client, Event::Trimmed { start }).into_iter().collect()
            }
        }
    }

    /// Appends a message. `answer`: how its outcome is reported, if it is.
    fn append(
        &mut self,
        client: u64,
        shard: usize,
        tag: u64,
        message: &Bytes,
        answer: Option<Fate>,
    ) -> Vec<Wake> {
        let offset = self.partitions[shard].end();
        self.partitions[shard].messages.push(message.clone());
        let event = Event::Appended { tag, offset };
        let mut wakes = Vec::new();
        match answer {
            Some(Fate::AnswerIsLate) => {
                self.network.push(Packet { client, shard, content: Content::Answer(event) });
            }
            Some(_) => wakes.extend(self.report(client, event)),
            None => {}
        }
        if self.faults.is_none() {
            let readers: Vec<u64> =
                self.clients.iter().filter(|(_, client)| client.shard == shard).map(|(n, _)| *n).collect();
            for reader in readers {
                wakes.extend(self.serve_read(reader));
            }
        }
        wakes
    }

    /// Gives a read what there is: with faults one message at a time, and sometimes a failure.
    fn serve_read(&mut self, client: u64) -> Vec<Wake> {
        let mut wakes = Vec::new();
        let fails = self.faults.is_some() && self.choose(16) == 0;
        loop {
            let Some(reader) = self.clients.get_mut(&client) else { return wakes };
            let Some(read) = &mut reader.read else { return wakes };
            let log = &self.partitions[reader.shard];
            let (start, end) = (Offset(log.start as u64), log.end());
            let event = match () {
                () if read.at < start || read.at > end => Event::OutOfRange { start, end },
                () if fails => {
                    Event::Failed { call: Call::Read, failure: temporary("the connection was closed") }
                }
                () if read.at == end => return wakes,
                () if read.bytes_left == 0 => Event::ReadEnded { next: read.at },
                () => {
                    let (offset, message) = (read.at, log.messages[read.at.0 as usize].clone());
                    read.at = offset.next();
                    read.bytes_left = read.bytes_left.saturating_sub(message.len());
                    Event::Message { offset, message }
                }
            };
            let goes_on = matches!(event, Event::Message { .. });
            if !goes_on {
                reader.read = None;
            }
            wakes.extend(self.report(client, event));
            if !goes_on || self.faults.is_some() {
                return wakes;
            }
        }
    }

    /// Fails a call, or drops an answer that is on its way as a failure.
    fn fail(&mut self, packet: Packet, what: &str) -> Vec<Wake> {
        let Packet { client, shard, content } = packet;
        let event = match content {
            Content::Append { is_answered: true, .. } => {
                if self.choose(2) == 0 {
                    self.network.push(Packet { client, shard, content });
                }
                return Vec::new();
            }
            Content::Append { tag, message, .. } => {
                if self.choose(2) == 0 {
                    let content = Content::Append { tag, message, is_answered: true };
                    self.network.push(Packet { client, shard, content });
                }
                Event::NotAppended { tag, failure: temporary(what) }
            }
            Content::Answer(Event::Appended { tag, .. }) => {
                Event::NotAppended { tag, failure: temporary(what) }
            }
            Content::Answer(event) => event,
            Content::FindEnds => Event::Failed { call: Call::FindEnds, failure: temporary(what) },
            Content::Trim(_) => Event::Failed { call: Call::Trim, failure: temporary(what) },
        };
        self.report(client, event).into_iter().collect()
    }

    fn report(&mut self, client: u64, event: Event) -> Option<Wake> {
        let client = self.clients.get_mut(&client)?;
        client.events.push_back(event);
        client.wake.clone()
    }
}

fn temporary(what: &str) -> Failure {
    Failure { is_temporary: true, is_certain: false, what: what.to_owned() }
}

/// A partition of a [`MemoryTopic`], for one reader and writer.
struct MemoryPartition {
    topic: MemoryTopic,
    client: u64,
    shard: usize,
}

impl Partition for MemoryPartition {
    fn append(&mut self, tag: u64, message: &[u8]) {
        let message = Bytes::copy_from_slice(message);
        self.topic.call(self.client, self.shard, Content::Append { tag, message, is_answered: false });
    }

    fn find_ends(&mut self) {
        self.topic.call(self.client, self.shard, Content::FindEnds);
    }

    fn read(&mut self, from: Offset, bytes_max: usize) {
        let mut state = self.topic.state();
        let is_calm = state.faults.is_none();
        if let Some(client) = state.clients.get_mut(&self.client) {
            let is_of_read = |event: &Event| {
                matches!(
                    event,
                    Event::Message { .. }
                        | Event::ReadEnded { .. }
                        | Event::OutOfRange { .. }
                        | Event::Failed { call: Call::Read, .. }
                )
            };
            client.events.retain(|event| !is_of_read(event));
            client.read = Some(Read { at: from, bytes_left: bytes_max.max(1) });
        }
        let wakes = if is_calm { state.serve_read(self.client) } else { Vec::new() };
        drop(state);
        wakes.into_iter().for_each(|wake| wake());
    }

    fn trim(&mut self, below: Offset) {
        self.topic.call(self.client, self.shard, Content::Trim(below));
    }

    fn next_event(&mut self) -> Option<Event> {
        self.topic.state().clients.get_mut(&self.client)?.events.pop_front()
    }

    fn on_event(&mut self, wake: Wake) {
        if let Some(client) = self.topic.state().clients.get_mut(&self.client) {
            client.wake = Some(wake);
        }
    }
}

impl Drop for MemoryPartition {
    fn drop(&mut self) {
        self.topic.state().clients.remove(&self.client);
    }
}
