//! The whole simulation: instances of nodes and connections between them, step by step.
//!
//! One thing happens in each step, chosen by the seed. Bytes arrive in any portions and with any
//! delay, in each direction in order, as over TCP. At the end all connections end, and the books
//! are closed.

use fastrand::Rng;
use stadium_links::link::{Acceptor, Arrival, Delivery, Event, Refusal, protocol};
use stadium_links::{Hello, Incarnation, Outgoing, Refused, Tag, Target, Unknown};

use super::Sabotage;
use super::books::{Became, Books, Dealt, number_in};
use super::node::{Connection, Held, Instance, Pipe, name, number, timing};
use super::plan::{Kind, Plan};
use crate::trace::Trace;

/// What a run did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Requests with an answer.
    pub answered: u64,
    /// Requests whose receiver was busy.
    pub busy: u64,
    /// Requests that were taken and not sent.
    pub not_sent: u64,
    /// Requests whose outcome is unknown.
    pub unknown: u64,
    /// Messages that were not taken.
    pub refused: u64,
    /// Connections.
    pub dialled: u64,
    /// Links that came up.
    pub up: u64,
    /// Links that ended because nothing came.
    pub silent: u64,
    /// Nodes that were refused for an earlier incarnation.
    pub earlier: u64,
    /// Starts of nodes, without the first.
    pub restarts: u64,
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.answered += other.answered;
        self.busy += other.busy;
        self.not_sent += other.not_sent;
        self.unknown += other.unknown;
        self.refused += other.refused;
        self.dialled += other.dialled;
        self.up += other.up;
        self.silent += other.silent;
        self.earlier += other.earlier;
        self.restarts += other.restarts;
    }
}

pub struct World {
    plan: Plan,
    sabotage: Sabotage,
    rng: Rng,
    trace: Trace,
    now_us: u64,
    instances: Vec<Instance>,
    connections: Vec<Connection>,
    /// The incarnation of each node that the store has.
    store: Vec<u64>,
    books: Books,
    summary: Summary,
}

/// What a dialer did, to be entered when it is no longer borrowed.
#[derive(Default)]
struct Events {
    became: Vec<(Tag, Became)>,
    met: Option<Hello>,
}

impl Events {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Completed(tag, outcome) => self.became.push((tag, outcome.into())),
            Event::Up(hello) => self.met = Some(hello.clone()),
            Event::RoundTrip(_) | Event::Room | Event::NodeRoom => {}
        }
    }
}

/// Time after which a silent link has certainly ended, where the world looks after each step of
/// time.
const SILENCE_MS: u64 = 2_000;

impl World {
    pub fn new(plan: Plan, sabotage: Sabotage, trace: Trace) -> Self {
        let store = vec![1; plan.nodes];
        let instances = (0..plan.nodes).map(|node| Instance::new(&plan, node, 1, &store, 0)).collect();
        let (connections, books, summary) = (Vec::new(), Books::default(), Summary::default());
        let rng = Rng::with_seed(plan.seed);
        Self { plan, sabotage, rng, trace, now_us: 0, instances, connections, store, books, summary }
    }

    pub fn into_trace(self) -> Trace {
        self.trace
    }

    pub fn run(&mut self) -> Result<Summary, String> {
        let all: u32 = self.plan.weights.iter().map(|(_, weight)| weight).sum();
        for _ in 0..self.plan.steps {
            let mut left = self.rng.u32(0..all);
            let chosen = self.plan.weights.iter().find(|(_, weight)| {
                let is_it = left < *weight;
                left = left.saturating_sub(*weight);
                is_it
            });
            let Some(&(kind, _)) = chosen else { continue };
            self.step(kind)?;
            self.check()?;
        }
        self.end()
    }

    fn line(&mut self, text: impl FnOnce() -> String) {
        let now_us = self.now_us;
        self.trace.text(|| format!("{:>9} ms  {}", now_us / 1_000, text()));
    }

    fn step(&mut self, kind: Kind) -> Result<(), String> {
        match kind {
            Kind::Request => self.offer(true),
            Kind::Letter => self.offer(false),
            Kind::Flush => self.flush(),
            Kind::Deliver => self.deliver(),
            Kind::Reply => self.reply(),
            Kind::Time => {
                self.now_us += self.rng.u64(1_000..400_000);
                self.advance()
            }
            Kind::Dial => self.dial(),
            Kind::Notice => self.notice(),
            Kind::Close => self.close(),
            Kind::Cut => self.cut(),
            Kind::Restart => self.restart(),
            Kind::Bury => self.bury(),
            Kind::Tell => self.tell(),
        }
    }

    /// A live instance, drawn.
    fn any_instance(&mut self) -> usize {
        let alive: Vec<usize> =
            (0..self.instances.len()).filter(|one| self.instances[*one].is_alive).collect();
        alive[self.rng.usize(0..alive.len())]
    }

    /// A live instance and another node.
    fn any_pair(&mut self) -> (usize, usize) {
        let one = self.any_instance();
        let other = self.rng.usize(0..self.plan.nodes - 1);
        (one, other + usize::from(other >= self.instances[one].node))
    }

    fn any_connection(&mut self) -> Option<usize> {
        let is_open = |one: &Connection| one.is_dialled || one.acceptor.is_some();
        let open: Vec<usize> =
            (0..self.connections.len()).filter(|one| is_open(&self.connections[*one])).collect();
        (!open.is_empty()).then(|| open[self.rng.usize(0..open.len())])
    }

    fn offer(&mut self, is_request: bool) -> Result<(), String> {
        let (one, other) = self.any_pair();
        let message = self.books.next();
        let mut body = message.to_be_bytes().to_vec();
        body.resize(self.rng.usize(8..=self.plan.body_bytes), 7);
        let now_ms = self.now_us / 1_000;
        let deadline_ms = now_ms + self.rng.u64(1..self.plan.deadline_ms);
        let Some(dial) = &self.instances[one].dials[other] else { return Ok(()) };
        let outgoing = Outgoing { target: Target { shard: 1, generation: message }, body: &body };
        let taken = if is_request {
            dial.outbox.request(now_ms, deadline_ms, Tag(message), outgoing)
        } else {
            dial.outbox.letter(outgoing)
        };
        if taken == Err(Refused::Busy) && dial.outbox.credit().link.in_flight().messages == 0 {
            return Err(format!("message {message} is refused by a link with nothing on its way"));
        }
        self.books.offered(one, is_request, deadline_ms, taken.is_err());
        self.line(|| format!("instance {one} offers {message} to node {other}: {taken:?}"));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        let Some(place) = self.any_connection() else { return Ok(()) };
        let now_ms = self.now_us / 1_000;
        let connection = &mut self.connections[place];
        let mut out = Vec::new();
        if self.rng.bool() {
            if connection.is_dialled
                && connection.there.on_its_way.len() <= self.plan.socket_bytes
                && let Some(dial) = &mut self.instances[connection.from].dials[connection.wanted]
            {
                dial.dialer.flush(now_ms, &mut out);
            }
            connection.there.write(&out);
        } else if connection.back.on_its_way.len() <= self.plan.socket_bytes
            && let Some(acceptor) = &mut connection.acceptor
        {
            acceptor.flush(&mut out);
            connection.back.write(&out);
        }
        Ok(())
    }

    fn deliver(&mut self) -> Result<(), String> {
        let Some(place) = self.any_connection() else { return Ok(()) };
        let is_there = self.rng.bool();
        let connection = &mut self.connections[place];
        let pipe = if is_there { &mut connection.there } else { &mut connection.back };
        if pipe.cut_ms.is_some() || pipe.on_its_way.is_empty() {
            return Ok(());
        }
        let count = self.rng.usize(1..=pipe.on_its_way.len());
        pipe.unused.extend(pipe.on_its_way.drain(..count));
        if is_there { self.hear_there(place) } else { self.hear_back(place) }
    }

    /// Bytes have come to the half that was dialled.
    fn hear_there(&mut self, place: usize) -> Result<(), String> {
        let Self { instances, connections, books, summary, sabotage, .. } = self;
        let connection = &mut connections[place];
        let Some(acceptor) = &mut connection.acceptor else { return Ok(()) };
        let instance = &mut instances[connection.to];
        let us = instance.hello(self.plan.credit[instance.node]);
        let Instance { members, known, held, .. } = instance;
        let (mut later, mut broken) = (None, Ok(()));
        let mut judge = |them: &Hello| {
            let judged = members.judge(&us, them);
            if judged == Ok(Arrival::Later) {
                later = Some((them.node.clone(), them.incarnation));
            }
            match judged {
                Err(Refusal::OldIncarnation { .. }) if *sabotage == Sabotage::Incarnation => Ok(()),
                judged => judged.map(|_| ()),
            }
        };
        let last = &mut connection.last;
        let mut deliver = |delivery: Delivery<'_>| {
            let (from, body, reply) = match delivery {
                Delivery::Up(hello) => {
                    if let Some(node) = number(&hello.node) {
                        known[node] = known[node].max(hello.incarnation.0);
                    }
                    return;
                }
                Delivery::Request(from, request, reply) => (from, request.body, Some(reply)),
                Delivery::Letter(from, letter) => (from, letter.body, None),
            };
            let take = || {
                let message = number_in(body)?;
                let node = number(from.node).ok_or("a message of a node that is none")?;
                if from.incarnation.0 < known[node] {
                    let (stated, latest) = (from.incarnation, known[node]);
                    return Err(format!("message {message} of incarnation {stated}, and {latest} is known"));
                }
                if last.replace(message).is_some_and(|last| last >= message) {
                    return Err(format!("message {message} arrived behind a later one"));
                }
                books.arrived(message, connection.to)?;
                held.extend(reply.map(|reply| Held { number: message, connection: place, reply }));
                Ok(())
            };
            broken = std::mem::replace(&mut broken, Ok(())).and_then(|()| take());
        };
        let mut out = Vec::new();
        let bytes = std::mem::take(&mut connection.there.unused);
        let heard = acceptor.received(self.now_us / 1_000, &bytes, &mut out, &mut judge, &mut deliver);
        connection.back.write(&out);
        broken?;
        match heard {
            Ok(used) => connection.there.unused = bytes[used..].to_vec(),
            Err(end) => {
                connection.acceptor = None;
                let words = end.to_string();
                summary.earlier += u64::from(words.contains("CLU-204"));
                // The halves are the product's, and nobody else writes: neither breaks the
                // protocol.
                if words.contains("CLU-207") {
                    return Err(format!("connection {place} ends: {words}"));
                }
                self.line(|| format!("connection {place} is ended by its acceptor: {words}"));
            }
        }
        let to = self.connections[place].to;
        match later {
            Some((node, incarnation)) => self.later(to, number(&node).unwrap_or(usize::MAX), incarnation.0),
            None => Ok(()),
        }
    }

    /// Bytes have come to the half that dialled.
    fn hear_back(&mut self, place: usize) -> Result<(), String> {
        let (from, wanted) = (self.connections[place].from, self.connections[place].wanted);
        if !self.connections[place].is_dialled {
            return Ok(());
        }
        let instance = &mut self.instances[from];
        let us = instance.hello(self.plan.credit[instance.node]);
        let (members, Some(dial)) = (&mut instance.members, &mut instance.dials[wanted]) else {
            return Ok(());
        };
        let (mut later, mut events, mut out) = (None, Events::default(), Vec::new());
        let sabotage = self.sabotage;
        let mut judge = |them: &Hello| {
            let judged = members.judge(&us, them);
            if judged == Ok(Arrival::Later) {
                later = Some(them.incarnation);
            }
            match judged {
                Err(Refusal::OldIncarnation { .. }) if sabotage == Sabotage::Incarnation => Ok(()),
                judged => judged.map(|_| ()),
            }
        };
        let bytes = std::mem::take(&mut self.connections[place].back.unused);
        let mut take = |event: Event<'_>| events.take(event);
        let heard = dial.dialer.received(self.now_us, &bytes, &mut out, &mut judge, &mut take);
        self.connections[place].there.write(&out);
        if let Some(hello) = &events.met {
            self.summary.up += 1;
            let known = &mut self.instances[from].known[wanted];
            if hello.incarnation.0 < *known {
                return Err(format!(
                    "instance {from} links incarnation {}, and {known} is known",
                    hello.incarnation
                ));
            }
            *known = hello.incarnation.0;
        }
        self.enter(from, wanted, events)?;
        match heard {
            Ok(used) => self.connections[place].back.unused = bytes[used..].to_vec(),
            Err(end) => {
                let words = end.to_string();
                self.summary.earlier += u64::from(words.contains("CLU-204"));
                if words.contains("CLU-207") {
                    return Err(format!("connection {place} ends: {words}"));
                }
                self.line(|| format!("connection {place} is ended by its dialer: {words}"));
                self.lose(place)?;
            }
        }
        match later {
            Some(incarnation) => self.later(from, wanted, incarnation.0),
            None => Ok(()),
        }
    }

    /// Enters what a dialer reported.
    fn enter(&mut self, instance: usize, node: usize, events: Events) -> Result<(), String> {
        for (tag, mut became) in events.became {
            self.line(|| format!("request {} of instance {instance} became {became:?}", tag.0));
            match (self.sabotage, &became) {
                (Sabotage::Unsent, Became::Unknown(Unknown::LinkEnded)) => {
                    became = Became::NotSent(stadium_links::NotSent::LinkEnded);
                }
                (Sabotage::Credit, Became::Unknown(Unknown::Deadline)) => {
                    if let Some(dial) = &self.instances[instance].dials[node] {
                        dial.outbox.credit().link.give(1, 0);
                    }
                }
                _ => {}
            }
            self.books.became(tag, became)?;
        }
        Ok(())
    }

    /// The dialer of a connection learns that it is gone.
    fn lose(&mut self, place: usize) -> Result<(), String> {
        let (from, wanted) = (self.connections[place].from, self.connections[place].wanted);
        self.connections[place].is_dialled = false;
        let Some(dial) = &mut self.instances[from].dials[wanted] else { return Ok(()) };
        let mut events = Events::default();
        dial.connection = None;
        dial.dialer.lost(&mut |event| events.take(event));
        if dial.outbox.credit().link.in_flight() != Default::default() {
            return Err(format!(
                "a link without a connection has {:?}",
                dial.outbox.credit().link.in_flight()
            ));
        }
        let resent: Vec<u64> = events
            .became
            .iter()
            .filter(|(_, became)| {
                self.sabotage == Sabotage::Resend && *became == Became::Unknown(Unknown::LinkEnded)
            })
            .map(|(tag, _)| tag.0)
            .collect();
        if !resent.is_empty() {
            self.resend(from, wanted, &resent)?;
        }
        self.enter(from, wanted, events)
    }

    /// Dials at once and has the same requests sent there: a driver that must not do so.
    fn resend(&mut self, from: usize, wanted: usize, numbers: &[u64]) -> Result<(), String> {
        let now_ms = self.now_us / 1_000;
        let to = (0..self.instances.len())
            .find(|one| self.instances[*one].is_alive && self.instances[*one].node == wanted);
        let Some(to) = to else { return Ok(()) };
        self.connect(from, wanted, to);
        let place = self.connections.len() - 1;
        // Both introductions arrive.
        for _ in 0..2 {
            for is_there in [true, false] {
                let connection = &mut self.connections[place];
                let pipe = if is_there { &mut connection.there } else { &mut connection.back };
                let bytes: Vec<u8> = pipe.on_its_way.drain(..).collect();
                pipe.unused.extend(bytes);
                if is_there { self.hear_there(place)? } else { self.hear_back(place)? }
            }
        }
        if let Some(dial) = &self.instances[from].dials[wanted] {
            for number in numbers {
                let mut body = number.to_be_bytes().to_vec();
                body.resize(9.min(self.plan.body_bytes), 7);
                let outgoing = Outgoing { target: Target { shard: 1, generation: *number }, body: &body };
                // Where the link is not up, or full, it is not sent again.
                let _ = dial.outbox.request(now_ms, now_ms + 1_000, Tag(*number), outgoing);
            }
        }
        Ok(())
    }

    fn reply(&mut self) -> Result<(), String> {
        let one = self.any_instance();
        let held = &mut self.instances[one].held;
        if held.is_empty() {
            return Ok(());
        }
        let Held { number, reply, .. } = held.swap_remove(self.rng.usize(0..held.len()));
        let how = match self.rng.u32(0..10) {
            0 => Dealt::Busy,
            1 => Dealt::Dropped,
            _ => Dealt::Answered,
        };
        self.books.dealt(number, how)?;
        match how {
            Dealt::Answered => {
                let mut body = number.to_be_bytes().to_vec();
                body.resize(self.rng.usize(8..=self.plan.body_bytes), 9);
                reply.answer(&body);
            }
            Dealt::Busy => reply.busy(),
            Dealt::Dropped => drop(reply),
        }
        self.line(|| format!("instance {one} deals with {number}: {how:?}"));
        Ok(())
    }

    /// Everything that is due at this time.
    fn advance(&mut self) -> Result<(), String> {
        let now_ms = self.now_us / 1_000;
        for place in 0..self.connections.len() {
            let connection = &mut self.connections[place];
            let mut out = Vec::new();
            if let Some(acceptor) = &mut connection.acceptor {
                let advanced = acceptor.advance(now_ms, &mut out);
                connection.back.write(&out);
                if advanced.is_err() {
                    connection.acceptor = None;
                    self.summary.silent += 1;
                }
            }
            let (from, wanted) = (connection.from, connection.wanted);
            if !connection.is_dialled {
                continue;
            }
            let Some(dial) = &mut self.instances[from].dials[wanted] else { continue };
            let (mut events, mut out) = (Events::default(), Vec::new());
            let advanced = dial.dialer.advance(self.now_us, &mut out, &mut |event| events.take(event));
            self.connections[place].there.write(&out);
            self.enter(from, wanted, events)?;
            match advanced {
                Err(_) => {
                    self.summary.silent += 1;
                    self.lose(place)?;
                }
                Ok(()) => {
                    let cut_ms = self.connections[place].back.cut_ms;
                    if cut_ms.is_some_and(|cut_ms| cut_ms + SILENCE_MS < now_ms) {
                        return Err(format!(
                            "connection {place} was cut at {cut_ms:?} ms, and is not noticed"
                        ));
                    }
                }
            }
        }
        for (one, instance) in self.instances.iter().enumerate() {
            if instance.is_alive {
                self.books.check_deadlines(one, now_ms)?;
            }
        }
        Ok(())
    }

    fn dial(&mut self) -> Result<(), String> {
        let (from, wanted) = self.any_pair();
        let is_free = |dial: &super::node::Dial| dial.connection.is_none();
        if !self.instances[from].dials[wanted].as_ref().is_some_and(is_free) {
            return Ok(());
        }
        // Any start of the node may have the address.
        let candidates: Vec<usize> = (0..self.instances.len())
            .filter(|one| self.instances[*one].is_alive && self.instances[*one].node == wanted)
            .collect();
        let to = candidates[self.rng.usize(0..candidates.len())];
        self.connect(from, wanted, to);
        Ok(())
    }

    fn connect(&mut self, from: usize, wanted: usize, to: usize) {
        let place = self.connections.len();
        let timing = timing(&self.plan);
        let (us, them) = (&self.instances[from], &self.instances[to]);
        let hello = us.hello(self.plan.credit[us.node]);
        let theirs = them.hello(self.plan.credit[them.node]);
        let acceptor = Acceptor::new(theirs, &timing, protocol(&timing), 1 << 20, || {}, self.now_us / 1_000);
        let mut out = Vec::new();
        if let Some(dial) = &mut self.instances[from].dials[wanted] {
            dial.dialer.begin(&hello, self.now_us, &mut out);
            dial.connection = Some(place);
        }
        let mut there = Pipe::default();
        there.write(&out);
        let (acceptor, is_dialled, back, last) = (Some(acceptor), true, Pipe::default(), None);
        self.connections.push(Connection { from, wanted, to, acceptor, is_dialled, there, back, last });
        self.summary.dialled += 1;
        self.line(|| format!("instance {from} dials instance {to} of node {wanted}: connection {place}"));
    }

    /// An end learns that the other has closed; what was on its way may be lost.
    fn notice(&mut self) -> Result<(), String> {
        let Some(place) = self.any_connection() else { return Ok(()) };
        let connection = &mut self.connections[place];
        match (connection.is_dialled, connection.acceptor.is_some()) {
            (false, true) => {
                connection.acceptor = None;
                Ok(())
            }
            (true, false) => self.lose(place),
            _ => Ok(()),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(place) = self.any_connection() else { return Ok(()) };
        self.line(|| format!("connection {place} is closed at one end"));
        if self.rng.bool() && self.connections[place].is_dialled {
            return self.lose(place);
        }
        self.connections[place].acceptor = None;
        Ok(())
    }

    fn cut(&mut self) -> Result<(), String> {
        let Some(place) = self.any_connection() else { return Ok(()) };
        let now_ms = self.now_us / 1_000;
        let which = self.rng.u32(0..3);
        let Connection { there, back, .. } = &mut self.connections[place];
        if which != 0 {
            there.cut_ms.get_or_insert(now_ms);
        }
        if which != 1 {
            back.cut_ms.get_or_insert(now_ms);
        }
        self.line(|| format!("connection {place} is cut: {which}"));
        Ok(())
    }

    fn restart(&mut self) -> Result<(), String> {
        let node = self.rng.usize(0..self.plan.nodes);
        self.store[node] += 1;
        self.summary.restarts += 1;
        let now_ms = self.now_us / 1_000;
        let instance = Instance::new(&self.plan, node, self.store[node], &self.store, now_ms);
        self.instances.push(instance);
        let (incarnation, place) = (self.store[node], self.instances.len() - 1);
        self.line(|| format!("node {node} starts as instance {place}, incarnation {incarnation}"));
        if self.rng.bool() { self.bury() } else { Ok(()) }
    }

    /// An earlier incarnation ends without a word; its sockets are closed.
    fn bury(&mut self) -> Result<(), String> {
        let earlier = (0..self.instances.len()).find(|one| {
            let instance = &self.instances[*one];
            instance.is_alive && instance.incarnation < self.store[instance.node]
        });
        let Some(one) = earlier else { return Ok(()) };
        self.line(|| format!("instance {one} ends"));
        let instance = &mut self.instances[one];
        instance.is_alive = false;
        instance.held.clear();
        instance.dials.clear();
        instance.dials.resize_with(self.plan.nodes, || None);
        self.books.ended(one);
        for connection in &mut self.connections {
            if connection.from == one {
                connection.is_dialled = false;
            }
            if connection.to == one {
                connection.acceptor = None;
            }
        }
        Ok(())
    }

    fn tell(&mut self) -> Result<(), String> {
        let (one, node) = self.any_pair();
        let incarnation = self.store[node];
        let arrival = self.instances[one].members.insert(name(node), Incarnation(incarnation));
        self.line(|| format!("instance {one} is told of incarnation {incarnation} of node {node}"));
        if arrival == Arrival::Later { self.later(one, node, incarnation) } else { Ok(()) }
    }

    /// An instance knows of a later incarnation: its links with earlier ones end.
    fn later(&mut self, one: usize, node: usize, incarnation: u64) -> Result<(), String> {
        let known = &mut self.instances[one].known[node];
        *known = incarnation.max(*known);
        if self.sabotage == Sabotage::Incarnation {
            return Ok(());
        }
        for place in 0..self.connections.len() {
            let connection = &mut self.connections[place];
            let is_earlier = |peer: &Hello| peer.node == name(node) && peer.incarnation.0 < incarnation;
            if connection.to == one
                && connection.acceptor.as_ref().and_then(Acceptor::peer).is_some_and(is_earlier)
            {
                connection.acceptor = None;
            }
            if connection.from == one && connection.wanted == node && connection.is_dialled {
                let dial = self.instances[one].dials[node].as_ref();
                let peer = dial.and_then(|dial| dial.dialer.peer());
                if peer.is_some_and(|peer| peer.0 < incarnation) {
                    self.lose(place)?;
                }
            }
        }
        Ok(())
    }

    /// What holds after each step.
    fn check(&mut self) -> Result<(), String> {
        for (one, instance) in self.instances.iter().enumerate().filter(|(_, instance)| instance.is_alive) {
            let (mut messages, mut bytes) = (0, 0);
            for (node, dial) in instance.dials.iter().enumerate() {
                let Some(dial) = dial else { continue };
                let in_flight = dial.outbox.credit().link.in_flight();
                let most = self.plan.credit[instance.node].within(self.plan.credit[node]);
                // A link that is not up yet has the bounds of the last one, and nothing on its way.
                if in_flight.messages > most.messages.into() || in_flight.bytes > most.bytes {
                    return Err(format!(
                        "{in_flight:?} from instance {one} to node {node} is beyond {most:?}"
                    ));
                }
                messages += in_flight.messages;
                bytes += in_flight.bytes;
                if let Some(place) = dial.connection {
                    let at = &self.instances[self.connections[place].to];
                    let held = at.held.iter().filter(|held| held.connection == place).count() as u64;
                    if held > in_flight.messages {
                        return Err(format!(
                            "{held} requests are held of connection {place}, and {in_flight:?}"
                        ));
                    }
                }
            }
            let node = instance.window.in_flight();
            if (node.messages, node.bytes) != (messages, bytes) && self.sabotage == Sabotage::None {
                return Err(format!("instance {one} has {node:?}, its links {messages} and {bytes} bytes"));
            }
            if node.messages > self.plan.node_credit.messages.into()
                || node.bytes > self.plan.node_credit.bytes
            {
                return Err(format!("{node:?} of instance {one} is beyond its bound"));
            }
        }
        Ok(())
    }

    /// All connections end, and the books are closed.
    fn end(&mut self) -> Result<Summary, String> {
        for place in 0..self.connections.len() {
            self.connections[place].acceptor = None;
            if self.connections[place].is_dialled {
                self.lose(place)?;
            }
        }
        self.books.check_end()?;
        let [answered, busy, not_sent, unknown] = self.books.sums();
        let refused = self.books.refused();
        Ok(Summary { answered, busy, not_sent, unknown, refused, ..self.summary })
    }
}
