//! A call goes on and ends: its future is polled, what it gives leaves, its deadline passes.
//!
//! A call ends once, in `ended`: it is counted, its place among those worked on is free, and interceptors hear
//! of it. A call that has no place in the table any more has ended.

use std::cmp::Reverse;
use std::task::Poll;

use stadium_reactor::ConnectionId;
use stadium_rsocket::connection::{Connection, Piece, SendError};
use stadium_rsocket::frame::{Completes, ErrorCode, More, StreamId};

use super::Core;
use super::failures::{answer_too_large, failure_text, outcome_of, too_large};
use crate::admission;
use crate::answer::Refusal;
use crate::method::Interaction;
use crate::server::work::{Kind, Pieces, Work};
use crate::service::Outcome;
use crate::wire;

/// What a poll of one stream may produce before others have their turn, in bytes.
const POLL_BYTES_MAX: usize = 256 * 1024;

impl Core {
    /// Polls a call's future, sends what it produced, and ends it where it is done.
    pub(crate) fn poll(&mut self, connection: &mut Connection, place: u32, out: &mut Vec<u8>) {
        let Some(work) = self.works.at(place) else { return };
        let Kind::Future(running) = &mut work.kind else { return };
        let stream = work.stream;
        let start = out.len();
        loop {
            let mut polled = running.poll();
            let mut sent = 0;
            if let Some(outbound) = &running.outbound {
                while let Some(message) = outbound.take() {
                    let encode = |out: &mut Vec<u8>| out.extend_from_slice(&message);
                    match connection.payload(stream, Completes::No, None, encode, out) {
                        Ok(()) => sent += 1,
                        Err(SendError::TooLarge) => {
                            outbound.disconnect();
                            polled = Poll::Ready(Err(answer_too_large()));
                        }
                        Err(_) => outbound.disconnect(),
                    }
                }
            }
            self.counts.messages.add(sent);
            match &running.pieces {
                Some(Pieces::Out(download)) => sent += send_pieces(connection, stream, download, out),
                Some(Pieces::In(upload)) if upload.catches_up() => self.caught_up.push(work.connection),
                Some(Pieces::In(_)) | None => {}
            }
            if let Some(inbound) = &running.inbound {
                let taken = inbound.credit_to_give();
                if taken > 0 {
                    let _ = connection.request_n(stream, taken, out);
                }
            }
            match polled {
                Poll::Ready(answer) => return self.finish(connection, place, answer, out),
                Poll::Pending if sent == 0 => return,
                // The caller's credit may be without end: others have their turn too, and its connection must
                // take what there is.
                Poll::Pending if out.len() - start > POLL_BYTES_MAX => return running.wake(),
                // There is room again for what it sends next.
                Poll::Pending => {}
            }
        }
    }

    /// Polls a one-way call whose caller has gone: it was accepted, and nobody waits for its answer. Other
    /// calls were cancelled when their caller went.
    pub(crate) fn poll_alone(&mut self, place: u32) {
        let Some(work) = self.works.at(place) else { return };
        let Kind::Future(running) = &mut work.kind else { return };
        let Poll::Ready(answer) = running.poll() else { return };
        let Some(work) = self.works.remove(place) else { return };
        self.ended(work, answer.map_or_else(|refusal| outcome_of(&refusal), |_| Outcome::Ok));
    }

    /// A call's function is done: its answer leaves.
    pub(crate) fn finish(
        &mut self,
        connection: &mut Connection,
        place: u32,
        answer: Result<Vec<u8>, Refusal>,
        out: &mut Vec<u8>,
    ) {
        let Some(work) = self.works.remove(place) else { return };
        let outcome = match (answer, work.interaction) {
            (Ok(_), Interaction::OneWay) => Outcome::Ok,
            (Ok(_), _) if work.sends_pieces() => {
                let last = Piece { metadata: None, data: &[], more: More::Whole, completes: Completes::Yes };
                let _ = connection.piece(work.stream, last, out);
                Outcome::Ok
            }
            (Ok(bytes), Interaction::Unary) => {
                let encode = |out: &mut Vec<u8>| out.extend_from_slice(&bytes);
                match connection.payload(work.stream, Completes::Yes, None, encode, out) {
                    Ok(()) | Err(SendError::UnknownStream) => Outcome::Ok,
                    Err(_) => {
                        let (code, text) = failure_text(&too_large());
                        let _ = connection.error(work.stream, code, &text, out);
                        Outcome::Failed
                    }
                }
            }
            (Ok(_), _) => {
                let _ = connection.complete(work.stream, out);
                // A caller that still sends is notified that nobody listens.
                let _ = connection.cancel(work.stream, out);
                Outcome::Ok
            }
            (Err(refusal), _) => {
                let outcome = outcome_of(&refusal);
                let (code, text) = wire::refusal(&refusal);
                let _ = connection.error(work.stream, code, &text, out);
                outcome
            }
        };
        self.ended(work, outcome);
    }

    /// A blocking function came back.
    pub(crate) fn is_current(&mut self, place: u32, serial: u64) -> Option<ConnectionId> {
        self.works.at(place).filter(|work| work.serial == serial).map(|work| work.connection)
    }

    /// Calls whose deadline has passed; each is ended by [`Core::expire`].
    pub(crate) fn next_expired(&mut self, now_ms: u64) -> Option<(ConnectionId, u32)> {
        while let Some(Reverse((at_ms, place, serial))) = self.deadlines.peek().copied() {
            if at_ms > now_ms {
                return None;
            }
            self.deadlines.pop();
            if let Some(connection) = self.is_current(place, serial) {
                return Some((connection, place));
            }
        }
        None
    }

    /// Drops a call whose deadline has passed.
    pub(crate) fn expire(&mut self, connection: &mut Connection, place: u32, out: &mut Vec<u8>) {
        if let Some(work) = self.works.remove(place) {
            let text = "RPC-DEADLINE: the deadline passed before the service had an answer";
            let _ = connection.error(work.stream, ErrorCode::CANCELED, text, out);
            self.ended(work, Outcome::Expired);
        }
    }

    /// A call whose end cannot be reported to anybody any more.
    pub(crate) fn discard(&mut self, place: u32) {
        if let Some(work) = self.works.remove(place) {
            self.ended(work, Outcome::Cancelled);
        }
    }

    pub(super) fn ended(&mut self, mut work: Work, outcome: Outcome) {
        if let Kind::Future(running) = &work.kind
            && let Some(Pieces::In(upload)) = &running.pieces
            && upload.abandon()
        {
            self.caught_up.push(work.connection);
        }
        let took = work.began.elapsed();
        let counts = &self.counts.methods[usize::from(work.method)];
        counts.count(outcome);
        if outcome == Outcome::Ok && work.interaction == Interaction::Unary {
            counts.latencies.record(took.as_micros() as u64, 1);
        }
        if let Some(entry) = work.entry.take() {
            let done = match outcome {
                Outcome::Ok | Outcome::Failed | Outcome::Expired => admission::Work::Done,
                Outcome::Busy | Outcome::Rejected | Outcome::Cancelled => admission::Work::Abandoned,
            };
            self.gate.left(entry, done, self.now_us);
        }
        self.notify_finished(work.method, outcome, took);
    }
}

/// Sends what a download's function has given. Returns how many pieces that were.
fn send_pieces(
    connection: &mut Connection,
    stream: StreamId,
    download: &crate::service::Download,
    out: &mut Vec<u8>,
) -> u64 {
    let mut sent = 0;
    while let Some(piece) = download.take() {
        for data in piece.chunks(connection.piece_bytes_max()) {
            let piece = Piece { metadata: None, data, more: More::Follows, completes: Completes::No };
            if connection.piece(stream, piece, out).is_err() {
                download.disconnect();
            }
        }
        sent += 1;
    }
    sent
}
