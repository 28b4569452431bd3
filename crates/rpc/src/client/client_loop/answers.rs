//! The events of a connection about calls: answers, messages, refusals, and how each call ends.
//!
//! A call ends once, here, and its caller is notified. While a connection is being read no other
//! can be written: the work for others that its events ask for is collected, and done by
//! `follow_up`.

use stadium_reactor::Io;
use stadium_rsocket::connection::{ANSWER_TOO_LARGE, Closed, Event, SendError, Tag};
use stadium_rsocket::frame::{Completes, ErrorCode, Next};

use super::{ClientLoop, Done};
use crate::answer::CallError;
use crate::balance::{Balancer, InstanceId, Outcome};
use crate::client::completion::{Completion, Items};
use crate::client::item::Item;
use crate::client::slot::{Attempt, NEVER, of_tag};
use crate::client::transfer::Transfer;
use crate::method::{Idempotency, Interaction};
use crate::wire;

/// What an event asks for beyond its call.
pub(super) enum Flow {
    Open,
    Credit(u32),
    Lease,
    Closing,
    /// It is at its end, and why.
    Closed(String),
    Resumed,
}

impl ClientLoop {
    /// Handles the events of a connection. Returns whether it is at its end.
    pub(super) fn event(
        &mut self,
        now_us: u64,
        service: u16,
        instance: InstanceId,
        event: &Event<'_>,
    ) -> Flow {
        match *event {
            Event::Payload { tag, ref payload, more, .. }
                if matches!(self.slots.at(of_tag(tag).0).transfer(), Some(Transfer::Download { .. })) =>
            {
                self.piece(now_us, tag, &payload.data, more);
            }
            Event::Piece { tag, data, more, .. } => self.piece(now_us, tag, data, more),
            Event::Payload { tag, next, completes, ref payload, .. } => {
                self.answered(now_us, tag, next, completes, &payload.data);
            }
            Event::Failed { tag, code, text, .. } => {
                let (place, which) = of_tag(tag);
                let error = self.failure_of(place, code, text);
                self.failed.push((place, which, Outcome::of(&error), error));
            }
            Event::Credit { tag, .. } => return Flow::Credit(of_tag(tag).0),
            Event::Cancelled { tag, .. } => {
                // The service wants no more of what a channel's caller sends.
                let slot = self.slots.at(of_tag(tag).0);
                if let Some(channel) = &mut slot.channel {
                    channel.messages.clear();
                    channel.completes = false;
                }
                if let Completion::Stream(items) = &slot.completion {
                    items.0.refuse();
                }
            }
            Event::MetadataPush(metadata) => {
                if let Some((load, quiescing)) = wire::read_load(metadata) {
                    self.services[usize::from(service)].balancer.load(instance, load, quiescing);
                }
            }
            Event::Lease { .. } => return Flow::Lease,
            Event::Closing { .. } => return Flow::Closing,
            Event::Resumed => return Flow::Resumed,
            Event::Closed(Closed::Peer { code, text }) => {
                let text = String::from_utf8_lossy(text);
                tracing::debug!(code = code.0, %text, "A service closed the connection");
                return Flow::Closed(format!("{code}: {text}"));
            }
            Event::Closed(ref closed) => return Flow::Closed(why_closed(closed)),
            _ => {}
        }
        Flow::Open
    }

    /// The meaning of the end of an attempt. A request that the peer calls invalid was not touched,
    /// unless something came before it; and an answer that is too large for us is one of work that
    /// was done.
    fn failure_of(&mut self, place: u32, code: ErrorCode, text: &[u8]) -> CallError {
        if text == ANSWER_TOO_LARGE.as_bytes() {
            let reason = "the answer is larger than this client takes".to_owned();
            return CallError::Unknown { code: "RPC-006".to_owned(), reason };
        }
        let slot = self.slots.at(place);
        let begun = slot.interaction == Interaction::Channel
            || matches!(&slot.completion, Completion::Stream(items) if items.0.has_begun());
        match wire::call_error(code, text) {
            // The framework's own refusals come before a function begins.
            CallError::Rejected { code: named, reason }
                if code == ErrorCode::INVALID && begun && !named.starts_with("RPC-") =>
            {
                CallError::Unknown { code: named, reason }
            }
            error => error,
        }
    }

    /// The answer of an attempt, or a stream's next message.
    fn answered(&mut self, now_us: u64, tag: Tag, next: Next, completes: Completes, data: &[u8]) {
        let (place, which) = of_tag(tag);
        let slot = self.slots.at(place);
        let Some(attempt) = *slot.attempt(which) else { return };
        if let Some(Transfer::Upload(upload)) = slot.transfer()
            && !upload.is_over
        {
            // The service has answered without the rest.
            self.cancels.push((attempt.connection, attempt.stream));
        }
        if slot.interaction == Interaction::Unary {
            *slot.attempt(which) = None;
            let latency_us = now_us.saturating_sub(attempt.sent_us);
            let one = &mut self.services[usize::from(slot.service)];
            if slot.transfers {
                // Its duration shows how large it was, not how its instance is.
                one.balancer.stream_ended(attempt.instance, Outcome::Ok, latency_us, now_us);
            } else {
                one.balancer.ended(attempt.instance, Outcome::Ok, latency_us, now_us);
            }
            if let Some(pool) = one.live_pool(attempt.instance) {
                pool.answered(attempt.connection);
            }
            if slot.idempotency == Idempotency::Idempotent
                && let Some(hedge) = &mut self.routes[slot.route as usize].hedge
            {
                hedge.answered(latency_us, now_us);
            }
            return self.end(place, Ok(()), data);
        }
        if next == Next::Value
            && let Completion::Stream(items) = &slot.completion
        {
            items.0.push(data);
        }
        if completes == Completes::Yes {
            *slot.attempt(which) = None;
            let one = &mut self.services[usize::from(slot.service)];
            report_end(&mut one.balancer, slot.interaction, &attempt, Outcome::Ok, now_us);
            self.end(place, Ok(()), &[]);
        }
    }

    /// A call has ended; its caller is notified.
    pub(in crate::client) fn end(&mut self, place: u32, how: Result<(), CallError>, data: &[u8]) {
        let slot = self.slots.at(place);
        if slot.timed {
            slot.timed = false;
            (slot.again_us, slot.hedge_us) = (NEVER, NEVER);
            self.wheel.disarm(&mut self.slots, place);
        }
        let slot = self.slots.at(place);
        if slot.in_flight() {
            for attempt in [slot.first.take(), slot.second.take()].into_iter().flatten() {
                self.cancels.push((attempt.connection, attempt.stream));
                // What a copy took so far is known; how it would have ended is not.
                let one = &mut self.services[usize::from(slot.service)];
                report_end(&mut one.balancer, slot.interaction, &attempt, Outcome::Cancelled, self.now_us);
            }
        }
        if let Some(Transfer::Download { behind: Some(id) }) = slot.transfer() {
            self.caught_up.push(*id);
        }
        let (serial, tag) = (slot.serial, slot.tag);
        match std::mem::replace(&mut slot.completion, Completion::Discard) {
            Completion::Discard => {}
            Completion::Local => {
                let start = self.answers.len();
                self.answers.extend_from_slice(data);
                self.done.push_back(Done { tag, place, serial, how, answer: start..self.answers.len() });
            }
            Completion::Future(answer) => answer.0.complete(how.map(|()| data.to_vec())),
            Completion::Stream(items) => items.0.end(how),
            Completion::Callback(callback) => callback.call(how.map(|()| data)),
        }
        self.slots.give_back(place);
    }

    /// Sends what a channel's caller has given, as far as the service's credit goes. A message that is too large
    /// ends the call: the service would miss it among the others.
    pub(super) fn send_channel(&mut self, io: &mut Io<Item>, place: u32) {
        let slot = self.slots.at(place);
        let (Some(attempt), Some(channel)) = (slot.first, slot.channel.as_mut()) else { return };
        let sent = self.links.write(io, attempt.connection, |connection, out| {
            while let Some(message) = channel.messages.front() {
                let encode = |out: &mut Vec<u8>| out.extend_from_slice(message);
                connection.payload(attempt.stream, Completes::No, None, encode, out)?;
                channel.messages.pop_front();
                if let Completion::Stream(items) = &slot.completion {
                    items.0.sent();
                }
            }
            if std::mem::take(&mut channel.completes) {
                let _ = connection.complete(attempt.stream, out);
            }
            Ok(())
        });
        if let Some(Err(SendError::TooLarge)) = sent {
            self.end(place, Err(too_large()), &[]);
            self.follow_up(io);
        }
    }

    pub(super) fn items_place(&mut self, items: &Items) -> Option<u32> {
        let (place, serial) = items.place.look()?;
        self.slots.find(place, serial).map(|_| place)
    }

    /// What reading one connection asks of others.
    pub(super) fn follow_up(&mut self, io: &mut Io<Item>) {
        while let Some((place, which, outcome, error)) = self.failed.pop() {
            self.attempt_failed(io, place, which, outcome, error);
        }
        while let Some(id) = self.caught_up.pop() {
            self.read_on(io, id);
        }
        while let Some((id, stream)) = self.cancels.pop() {
            self.links.write(io, id, |connection, out| connection.cancel(stream, out));
        }
    }
}

/// Reports to the balancer how an attempt ended. The time for which a stream was open is no verdict
/// on its instance.
pub(super) fn report_end(
    balancer: &mut Balancer,
    interaction: Interaction,
    attempt: &Attempt,
    outcome: Outcome,
    now_us: u64,
) {
    if matches!(interaction, Interaction::Stream | Interaction::Channel) {
        balancer.stream_ended(attempt.instance, outcome, now_us.saturating_sub(attempt.sent_us), now_us);
    } else {
        balancer.ended(attempt.instance, outcome, now_us.saturating_sub(attempt.sent_us), now_us);
    }
}

/// Why a connection is at its end, where the service did not report it itself.
fn why_closed(closed: &Closed<'_>) -> String {
    match closed {
        Closed::Violation(violation) => format!("it broke the protocol: {violation}"),
        Closed::KeepAliveTimeout { lifetime_ms } => format!("it showed no sign of life for {lifetime_ms} ms"),
        _ => "the connection ended".to_owned(),
    }
}

/// What becomes of a call with a request, or a channel's message, beyond `payload_bytes_max`.
pub(super) fn too_large() -> CallError {
    CallError::Rejected {
        code: "RPC-006".to_owned(),
        reason: "the request is larger than this client sends".to_owned(),
    }
}
