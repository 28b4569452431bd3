//! The half of a link that dials: it introduces itself, sends batches, and hears answers.
//!
//! A dialer outlives its connections. Nothing is sent before the other half has introduced itself
//! and was accepted, so a request is on its way to one incarnation at most. A request counts as
//! sent from the moment at which its bytes are written to `out`. When a connection is lost,
//! requests that were sent end as unknown, and those that still waited as not sent. Nothing is sent
//! twice.

use std::sync::Arc;

use stadium_rsocket::connection::{Closed, Event as Heard};
use stadium_rsocket::frame::{Completes, ErrorCode, Interaction, Next, Payload, REQUEST_N_MAX, StreamId};
use stadium_rsocket::{Config, Connection, SetupOptions};

use super::hello::{Hello, Incarnation, MIME, NodeName};
use super::message::{Message, Messages, Status, Tag, write_own};
use super::outbox::{Outbox, Waiting};
use super::outcome::{End, NotSent, Outcome, Refusal, Unknown};
use super::requests::Requests;
use super::settings::{Bounds, Timing};

/// What happened on a link, for its driver.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The other half has introduced itself and was accepted: messages are taken.
    Up(&'a Hello),
    /// A request has its outcome.
    Completed(Tag, Outcome<'a>),
    /// A ping came back after so many microseconds.
    RoundTrip(u64),
    /// The link has room again for senders that were refused.
    Room,
    /// The node has room again for senders that were refused by its bound.
    NodeRoom,
}

/// The other half's introduction is accepted or refused by this.
pub type Judge<'a> = dyn FnMut(&Hello) -> Result<(), Refusal> + 'a;

/// One connection.
struct Session {
    connection: Connection,
    stream: StreamId,
    /// Who is at the other end, once it is known.
    peer: Option<Hello>,
    ping_us: u64,
}

/// The half of a link that dials.
pub struct Dialer {
    node: NodeName,
    timing: Timing,
    protocol: Arc<Config>,
    /// The credit that this node gives at most, whatever the other half offers.
    credit: Bounds,
    outbox: Arc<Outbox>,
    requests: Requests,
    /// What the outbox is swapped with.
    waiting: Waiting,
    expired: Vec<Tag>,
    /// Letters and voids that are on their way.
    letters: u64,
    letter_bytes: u64,
    session: Option<Session>,
}

impl Dialer {
    /// A dialer without a connection. `outbox` is where its messages come from.
    pub fn new(
        node: NodeName,
        timing: Timing,
        protocol: Arc<Config>,
        outbox: Arc<Outbox>,
        now_ms: u64,
    ) -> Self {
        Self {
            node,
            timing,
            protocol,
            credit: outbox.credit().link.bounds(),
            outbox,
            requests: Requests::new(now_ms),
            waiting: Waiting::default(),
            expired: Vec::new(),
            letters: 0,
            letter_bytes: 0,
            session: None,
        }
    }

    /// Begins a connection that has just been made: appends SETUP, with our introduction, and the
    /// channel.
    pub fn begin(&mut self, us: &Hello, now_us: u64, out: &mut Vec<u8>) {
        debug_assert!(self.session.is_none(), "a connection that is lost was reported");
        let mut introduction = Vec::new();
        us.encode(&mut introduction);
        let setup = SetupOptions {
            metadata_mime: MIME,
            data_mime: MIME,
            resume_token: None,
            payload: Payload { metadata: None, data: &introduction },
        };
        let mut connection = Connection::client(Arc::clone(&self.protocol), &setup, now_us / 1_000, out);
        let (interaction, tag) = (Interaction::RequestChannel, stadium_rsocket::Tag(0));
        let stream = connection.request(interaction, REQUEST_N_MAX, Completes::No, tag, None, |_| {}, out);
        let stream = stream.expect("a connection that has just begun takes a request");
        let ping_us = now_us + u64::from(self.timing.ping_ms) * 1_000;
        self.session = Some(Session { connection, stream, peer: None, ping_us });
    }

    /// The incarnation at the other end, where the link is up.
    pub fn peer(&self) -> Option<Incarnation> {
        self.session.as_ref()?.peer.as_ref().map(|hello| hello.incarnation)
    }

    /// Takes bytes that came, and returns how many were used. With an [`End`] the driver writes
    /// what is in `out`, closes, and calls [`lost`](Self::lost).
    ///
    /// # Errors
    ///
    /// Why the link ends.
    pub fn received(
        &mut self,
        now_us: u64,
        bytes: &[u8],
        out: &mut Vec<u8>,
        judge: &mut Judge<'_>,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<usize, End> {
        let used = self.take(now_us, bytes, out, judge, events);
        let reason = match &used {
            Err(End::Refuses(refusal)) => Some(refusal.to_string()),
            Err(End::Violation(what)) => Some(what.clone()),
            _ => None,
        };
        if let (Some(reason), Some(session)) = (reason, &mut self.session) {
            session.connection.close(ErrorCode::CONNECTION_ERROR, &reason, out);
        }
        used
    }

    fn take(
        &mut self,
        now_us: u64,
        bytes: &[u8],
        out: &mut Vec<u8>,
        judge: &mut Judge<'_>,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<usize, End> {
        let mut used = 0;
        loop {
            let Some(session) = &mut self.session else { return Ok(bytes.len()) };
            let received = session.connection.receive(now_us / 1_000, &bytes[used..], out);
            used += received.used;
            match received.event {
                None if received.used == 0 => return Ok(used),
                None | Some(Heard::Credit { .. }) => {}
                Some(Heard::Payload { next: Next::Value, completes: Completes::No, payload, .. }) => {
                    self.payload(now_us, &payload.data, judge, events)?;
                }
                Some(Heard::Closed(closed)) => return Err(closed_by(closed)),
                Some(Heard::Closing { text } | Heard::Failed { text, .. }) => {
                    return Err(End::Peer(words(text)));
                }
                Some(_) => return Err(End::Violation("the peer sent what no link has".into())),
            }
        }
    }

    /// The first payload is an introduction, the others are batches.
    fn payload(
        &mut self,
        now_us: u64,
        data: &[u8],
        judge: &mut Judge<'_>,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), End> {
        let Some(session) = &mut self.session else { return Ok(()) };
        if session.peer.is_some() {
            return self.batch(now_us, data, events);
        }
        let hello = Hello::decode(data).ok_or(End::Refuses(Refusal::Unreadable))?;
        if hello.node != self.node {
            let (dialled, answered) = (self.node.clone(), hello.node);
            return Err(End::Refuses(Refusal::OtherNode { dialled, answered }));
        }
        if session.connection.credit(session.stream) < REQUEST_N_MAX {
            return Err(End::Violation("the peer bounds the payloads of the channel".into()));
        }
        judge(&hello).map_err(End::Refuses)?;
        self.outbox.credit().link.set_bounds(self.credit.within(hello.credit));
        self.outbox.open();
        events(Event::Up(session.peer.insert(hello)));
        Ok(())
    }

    fn batch(&mut self, now_us: u64, data: &[u8], events: &mut dyn FnMut(Event<'_>)) -> Result<(), End> {
        let (mut messages, mut bytes) = (0, 0);
        for message in Messages::new(data) {
            let message = message.map_err(|_| End::Violation("the peer sent a broken batch".into()))?;
            match message.0 {
                Message::Answer { number, status, body } => {
                    let ended = self.requests.answered(number).ok_or_else(|| {
                        End::Violation(format!("the peer answered request {number}, which is not under way"))
                    })?;
                    messages += 1;
                    bytes += u64::from(ended.bytes);
                    let outcome = match status {
                        Status::Answer => Outcome::Answer(body),
                        Status::Busy => Outcome::Busy,
                        Status::Dropped => Outcome::Unknown(Unknown::Dropped),
                    };
                    if let Some(tag) = ended.tag {
                        events(Event::Completed(tag, outcome));
                    }
                }
                Message::Credit { messages: letters, bytes: letter_bytes } => {
                    let letters = u64::from(letters);
                    if letters > self.letters || letter_bytes > self.letter_bytes {
                        return Err(End::Violation("the peer gave back credit that was not taken".into()));
                    }
                    self.letters -= letters;
                    self.letter_bytes -= letter_bytes;
                    messages += letters;
                    bytes += letter_bytes;
                }
                Message::Pong(stamp) => events(Event::RoundTrip(now_us.saturating_sub(stamp))),
                Message::Request { .. } | Message::Letter(_) | Message::Ping(_) | Message::Void => {
                    return Err(End::Violation("the peer sent what only a dialer sends".into()));
                }
            }
        }
        self.give(messages, bytes, events);
        Ok(())
    }

    fn give(&self, messages: u64, bytes: u64, events: &mut dyn FnMut(Event<'_>)) {
        let (link, node) = self.outbox.credit().give(messages, bytes);
        if link {
            events(Event::Room);
        }
        if node {
            events(Event::NodeRoom);
        }
    }

    /// Appends what waits in the outbox. Call it where all that was written before has left, so
    /// that what waits behind a slow peer still is not sent. Returns whether anything was appended.
    pub fn flush(&mut self, now_ms: u64, out: &mut Vec<u8>) -> bool {
        let Some(session) = self.session.as_mut().filter(|session| session.peer.is_some()) else {
            return false;
        };
        let waiting = &mut self.waiting;
        self.outbox.take(waiting);
        if waiting.batch.is_empty() {
            return false;
        }
        for request in &waiting.requests {
            self.requests.insert(now_ms, request);
        }
        self.letters += waiting.letters;
        self.letter_bytes += waiting.letter_bytes;
        for payload in waiting.batch.payloads() {
            send(session, payload, out);
        }
        waiting.clear();
        true
    }

    /// Does what is due: pings, deadlines, and the end of a link that is silent.
    ///
    /// # Errors
    ///
    /// Why the link ends.
    pub fn advance(
        &mut self,
        now_us: u64,
        out: &mut Vec<u8>,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), End> {
        let now_ms = now_us / 1_000;
        self.outbox.expire(now_ms, &mut self.expired);
        for tag in self.expired.drain(..) {
            events(Event::Completed(tag, Outcome::NotSent(NotSent::Deadline)));
        }
        self.requests.expire(now_ms, |tag| {
            events(Event::Completed(tag, Outcome::Unknown(Unknown::Deadline)));
        });
        let Some(session) = &mut self.session else { return Ok(()) };
        if let Some(Heard::Closed(closed)) = session.connection.advance(now_ms, out) {
            return Err(closed_by(closed));
        }
        if session.peer.is_some() && session.ping_us <= now_us {
            session.ping_us = now_us + u64::from(self.timing.ping_ms) * 1_000;
            let Session { connection, stream, .. } = session;
            let write = |out: &mut Vec<u8>| write_own(&Message::Ping(now_us), out);
            let sent = connection.payload(*stream, Completes::No, None, write, out);
            debug_assert_eq!(sent, Ok(()), "the channel is open, and its credit has no end");
        }
        Ok(())
    }

    /// When [`advance`](Self::advance) is to be called next, in milliseconds.
    pub fn deadline_ms(&self, now_ms: u64) -> Option<u64> {
        let session = self.session.as_ref().map(|session| {
            let ping_ms = session.peer.as_ref().map(|_| session.ping_us.div_ceil(1_000));
            let connection_ms = session.connection.deadline_ms();
            ping_ms.into_iter().chain(connection_ms).min()
        });
        let waiting = [self.outbox.deadline_ms(), self.requests.deadline_ms(now_ms)];
        session.flatten().into_iter().chain(waiting.into_iter().flatten()).min()
    }

    /// The connection is gone, or could not be made. Everything under way has its outcome now.
    pub fn lost(&mut self, events: &mut dyn FnMut(Event<'_>)) {
        self.session = None;
        self.outbox.close(&mut self.waiting);
        let (mut messages, mut bytes) = (self.letters, self.letter_bytes);
        (self.letters, self.letter_bytes) = (0, 0);
        self.requests.drain(|ended| {
            messages += 1;
            bytes += u64::from(ended.bytes);
            if let Some(tag) = ended.tag {
                events(Event::Completed(tag, Outcome::Unknown(Unknown::LinkEnded)));
            }
        });
        for request in &self.waiting.requests {
            messages += 1;
            bytes += u64::from(request.bytes);
            events(Event::Completed(request.tag, Outcome::NotSent(NotSent::LinkEnded)));
        }
        messages += self.waiting.letters;
        bytes += self.waiting.letter_bytes;
        self.waiting.clear();
        let (_, node) = self.outbox.credit().give(messages, bytes);
        if node {
            events(Event::NodeRoom);
        }
    }
}

/// Sends one payload on the channel.
fn send(session: &mut Session, payload: &[u8], out: &mut Vec<u8>) {
    let Session { connection, stream, .. } = session;
    let sent = connection.payload(*stream, Completes::No, None, |out| out.extend_from_slice(payload), out);
    debug_assert_eq!(sent, Ok(()), "the channel is open, its credit has no end, and a batch fits a frame");
}

pub(super) fn closed_by(closed: Closed<'_>) -> End {
    match closed {
        Closed::Peer { text, .. } => End::Peer(words(text)),
        Closed::Violation(violation) => End::Violation(violation.to_string()),
        Closed::KeepAliveTimeout { .. } | Closed::SetupTimeout | Closed::SessionExpired => End::Silent,
    }
}

/// Words of a peer, bounded, for people.
pub(super) fn words(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(300)]).chars().filter(|c| !c.is_control()).collect()
}
