//! The half of a link that is dialled: it accepts or refuses the other, hands over what comes, and
//! answers.
//!
//! It lives as long as its connection. Requests are handed over with a [`Reply`]; letters are taken
//! when the driver's function has returned, and their credit goes back at once. A dialer that has
//! more on its way than it was let breaks the protocol, and the link ends.

use std::sync::Arc;

use stadium_rsocket::connection::Event as Heard;
use stadium_rsocket::frame::{Completes, ErrorCode, Interaction, Next, REQUEST_N_MAX, StreamId};
use stadium_rsocket::{Config, Connection};

use super::answers::{Answers, Reply, WaitingAnswers};
use super::dialer::{closed_by, words};
use super::hello::{Hello, Incarnation, Lane, NodeName};
use super::message::{Letter, Message, Messages, Request, write_own};
use super::outcome::{End, Refusal};
use super::settings::Timing;

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct From<'a> {
    /// The node.
    pub node: &'a NodeName,
    /// Which of its starts.
    pub incarnation: Incarnation,
    /// The connection's purpose.
    pub lane: Lane,
}

/// What an acceptor hands over.
#[derive(Debug)]
pub enum Delivery<'a> {
    /// The other half was accepted.
    Up(&'a Hello),
    /// A request.
    Request(From<'a>, Request<'a>, Reply),
    /// A letter.
    Letter(From<'a>, Letter<'a>),
}

/// The half of a link that is dialled.
pub struct Acceptor {
    us: Hello,
    connection: Connection,
    stream: Option<StreamId>,
    peer: Option<Hello>,
    answers: Arc<Answers>,
    /// What the answers are swapped with.
    waiting: WaitingAnswers,
    /// What is here of what the dialer sent: requests without an answer.
    messages: u64,
    bytes: u64,
    /// Where credit and pongs are put together.
    own: Vec<u8>,
}

impl Acceptor {
    /// For a connection that has just come. `us` is our introduction, with the credit that we give.
    /// `wake` is called, on any thread, when answers wait; `answer_bytes_max` bounds them, in
    /// bytes.
    pub fn new(
        us: Hello,
        timing: &Timing,
        protocol: Arc<Config>,
        answer_bytes_max: usize,
        wake: impl Fn() + Send + Sync + 'static,
        now_ms: u64,
    ) -> Self {
        Self {
            us,
            connection: Connection::server(protocol, now_ms),
            stream: None,
            peer: None,
            answers: Arc::new(Answers::new(answer_bytes_max, timing.body_bytes(), wake)),
            waiting: WaitingAnswers::default(),
            messages: 0,
            bytes: 0,
            own: Vec::new(),
        }
    }

    /// The other half, once it was accepted.
    pub fn peer(&self) -> Option<&Hello> {
        self.peer.as_ref()
    }

    /// Takes bytes that came, and returns how many were used. Answers that `deliver` gives at once
    /// are left for [`flush`](Self::flush), which the driver calls next. With an [`End`] it writes
    /// what is in `out` and closes.
    ///
    /// # Errors
    ///
    /// Why the link ends.
    pub fn received(
        &mut self,
        now_ms: u64,
        bytes: &[u8],
        out: &mut Vec<u8>,
        judge: &mut dyn FnMut(&Hello) -> Result<(), Refusal>,
        deliver: &mut dyn FnMut(Delivery<'_>),
    ) -> Result<usize, End> {
        self.answers.schedule();
        let mut used = 0;
        loop {
            let received = self.connection.receive(now_ms, &bytes[used..], out);
            used += received.used;
            match received.event {
                None if received.used == 0 => return Ok(used),
                None | Some(Heard::Credit { .. }) => {}
                Some(Heard::Setup(setup)) => {
                    let hello = Hello::decode(setup.payload.data).ok_or(Refusal::Unreadable);
                    match hello.and_then(|hello| judge(&hello).map(|()| hello)) {
                        Ok(hello) => {
                            self.connection.accept();
                            self.peer = Some(hello);
                        }
                        Err(refusal) => {
                            self.connection.refuse(ErrorCode::REJECTED_SETUP, &refusal.to_string(), out);
                            return Err(End::Refuses(refusal));
                        }
                    }
                }
                Some(Heard::Request { stream, interaction, .. })
                    if interaction == Interaction::RequestChannel && self.stream.is_none() =>
                {
                    self.open(stream, out, deliver);
                }
                Some(Heard::Payload { next: Next::Value, completes: Completes::No, payload, .. }) => {
                    if let Err(what) = self.batch(&payload.data, out, deliver) {
                        self.connection.close(ErrorCode::CONNECTION_ERROR, &what, out);
                        return Err(End::Violation(what));
                    }
                }
                Some(Heard::Closed(closed)) => return Err(closed_by(closed)),
                Some(Heard::Closing { text } | Heard::Failed { text, .. }) => {
                    return Err(End::Peer(words(text)));
                }
                Some(_) => {
                    let what = "the peer sent what no link has";
                    self.connection.close(ErrorCode::CONNECTION_ERROR, what, out);
                    return Err(End::Violation(what.into()));
                }
            }
        }
    }

    /// The channel has come: ours begins with our introduction.
    fn open(&mut self, stream: StreamId, out: &mut Vec<u8>, deliver: &mut dyn FnMut(Delivery<'_>)) {
        self.stream = Some(stream);
        let us = &self.us;
        // The dialer sends as soon as it knows us: by then it has this credit, which has no end.
        let granted = self.connection.request_n(stream, REQUEST_N_MAX, out);
        let sent = self.connection.payload(stream, Completes::No, None, |out| us.encode(out), out);
        debug_assert_eq!((sent, granted), (Ok(()), Ok(())), "the channel has just been opened");
        if let Some(peer) = &self.peer {
            deliver(Delivery::Up(peer));
        }
    }

    fn batch(
        &mut self,
        data: &[u8],
        out: &mut Vec<u8>,
        deliver: &mut dyn FnMut(Delivery<'_>),
    ) -> Result<(), String> {
        let Some(peer) = &self.peer else { return Err("the peer has not introduced itself".into()) };
        let from = From { node: &peer.node, incarnation: peer.incarnation, lane: peer.lane };
        let most = self.us.credit;
        let (mut letters, mut letter_bytes) = (0, 0);
        for message in Messages::new(data) {
            let (message, bytes) = message.map_err(|_| "the peer sent a broken batch")?;
            let bytes = bytes as u64;
            let takes_credit =
                matches!(message, Message::Request { .. } | Message::Letter(_) | Message::Void);
            let is_within = self.messages + letters < u64::from(most.messages)
                && self.bytes + letter_bytes + bytes <= most.bytes;
            if takes_credit && !is_within {
                return Err("the peer has more on its way than it was let".into());
            }
            match message {
                Message::Request { number, request } => {
                    self.messages += 1;
                    self.bytes += bytes;
                    // A message is shorter than a frame: 24 bits.
                    let reply = Reply::new(&self.answers, number, bytes as u32);
                    deliver(Delivery::Request(from, request, reply));
                }
                Message::Letter(letter) => {
                    deliver(Delivery::Letter(from, letter));
                    letters += 1;
                    letter_bytes += bytes;
                }
                Message::Void => {
                    letters += 1;
                    letter_bytes += bytes;
                }
                Message::Ping(stamp) => write_own(&Message::Pong(stamp), &mut self.own),
                Message::Answer { .. } | Message::Credit { .. } | Message::Pong(_) => {
                    return Err("the peer sent what only an acceptor sends".into());
                }
            }
        }
        if letters > 0 {
            // A batch has fewer messages than bytes, which are 24 bits.
            let credit = Message::Credit { messages: letters as u32, bytes: letter_bytes };
            write_own(&credit, &mut self.own);
        }
        if let Some(stream) = self.stream.filter(|_| !self.own.is_empty()) {
            let own = &self.own;
            let sent =
                self.connection.payload(stream, Completes::No, None, |out| out.extend_from_slice(own), out);
            debug_assert_eq!(sent, Ok(()), "the channel is open, and its credit has no end");
            self.own.clear();
        }
        Ok(())
    }

    /// Appends the answers that wait. Call it where all that was written before has left. Returns
    /// whether anything was appended.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(stream) = self.stream else { return false };
        let waiting = &mut self.waiting;
        self.answers.take(waiting);
        if waiting.batch.is_empty() {
            return false;
        }
        self.messages -= waiting.messages;
        self.bytes -= waiting.request_bytes;
        for payload in waiting.batch.payloads() {
            let write = |out: &mut Vec<u8>| out.extend_from_slice(payload);
            let sent = self.connection.payload(stream, Completes::No, None, write, out);
            debug_assert_eq!(sent, Ok(()), "the channel is open, its credit has no end, and a batch fits");
        }
        waiting.clear();
        true
    }

    /// Does what is due: the end of a link that is silent, or was not set up in time.
    ///
    /// # Errors
    ///
    /// Why the link ends.
    pub fn advance(&mut self, now_ms: u64, out: &mut Vec<u8>) -> Result<(), End> {
        match self.connection.advance(now_ms, out) {
            Some(Heard::Closed(closed)) => Err(closed_by(closed)),
            _ => Ok(()),
        }
    }

    /// When [`advance`](Self::advance) is to be called next, in milliseconds.
    pub fn deadline_ms(&self) -> Option<u64> {
        self.connection.deadline_ms()
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.answers.close();
    }
}
