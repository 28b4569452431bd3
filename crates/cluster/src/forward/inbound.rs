//! Messages of other nodes: commands for shards of this node, answers to its own, and letters.
//!
//! The threads of the links call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use stadium_links::{
    From, Incarnation, Lane, Letter, NodeName, Outcome, Receiver, Reply, Request as LinkRequest, Tag,
};
use stadium_queue::{Command as Queue, Refusal};
use stadium_shard::Answer;
use stadium_shard_wire::{
    self as wire, Abandoned, Batch, Item, Notice, Received, Release, Request, Response, SpreadQueues,
};
use stadium_state_machine::{rejected, unknown};

use super::bytes::{answer_with, with_bytes};
use super::forwarder::Forwarder;
use super::questions;
use super::serving::Serving;
use super::settings::BODY_BYTES_MAX;

impl Receiver for Forwarder {
    fn request(&self, from: From<'_>, request: LinkRequest<'_>, reply: Reply) {
        match one(request.body) {
            Some(Received::Item(Item::Request(request))) => self.serve(from.node, request, reply),
            Some(Received::Item(Item::Question(question))) => self.questions.answer(question.body, reply),
            Some(Received::Refused { reply: refusal, .. }) => answer_with(reply, &refusal),
            // No node sends that. Dropping the reply tells the other that the outcome is unknown.
            _ => tracing::warn!(node = %from.node, "A request of another node cannot be read"),
        }
    }

    fn letter(&self, from: From<'_>, letter: Letter<'_>) {
        let Ok(batch) = Batch::new(Bytes::copy_from_slice(letter.body)) else { return };
        for received in batch {
            match received {
                Ok(Received::Item(item)) => self.take(from.node, item),
                Ok(Received::Refused { reply: Item::Confirmation(confirmation), error }) => {
                    tracing::warn!(node = %from.node, %error, "A message of another node's shard is not known");
                    let to = confirmation.to;
                    self.letter_to(from.node, to, 0, &Item::Confirmation(confirmation));
                }
                Ok(Received::Refused { error, .. } | Received::PassedOver(error)) | Err(error) => {
                    tracing::warn!(node = %from.node, %error, "A letter of another node is passed over");
                }
            }
        }
    }

    fn completed(&self, tag: Tag, outcome: Outcome<'_>) {
        let (Tag(id), now) = (tag, Instant::now());
        if questions::is_one(id) {
            let answer = match outcome {
                Outcome::Answer(body) => one(body),
                _ => None,
            };
            return self.questions.completed(id, answer);
        }
        let step = match outcome {
            Outcome::Answer(body) => match one(body) {
                Some(Received::Item(Item::Response(Response { answer, .. }))) => {
                    self.commands.answered(id, answer.map(Answer::from), now)
                }
                _ => self.commands.lost(id, now),
            },
            Outcome::Busy | Outcome::NotSent(_) => self.commands.again(id, now),
            Outcome::Unknown(_) => self.commands.lost(id, now),
        };
        self.take_step(id, step);
    }

    fn room(&self, _: Option<&NodeName>) {
        self.alarm.ring();
    }

    fn up(&self, node: &NodeName, _: Incarnation, lane: Lane) {
        if lane == Lane::Data {
            self.members.reached(node);
            self.alarm.ring();
        }
    }
}

impl Forwarder {
    /// Has a shard of this node carry out a command of another one.
    fn serve(&self, node: &NodeName, request: Request, reply: Reply) {
        self.counts.served.fetch_add(1, Ordering::Relaxed);
        let Request { id, shard, command, searches, trace, .. } = request;
        // The shard's span belongs to that of the node which asks.
        let _traced = trace.and_then(|trace| self.tracer.join(trace)).map(stadium_telemetry::enter);
        let waits = matches!(&command, wire::Command::Queue(Queue::Reserve { wait, .. }) if *wait > 0);
        let ticket = self.shards.ask_forwarded(shard, command.into_shard(searches));
        let me = self.me.clone();
        let key = waits.then(|| (node.clone(), id));
        let done_key = key.clone();
        let serving = Serving::start(ticket, move |answer| {
            let Some(forwarder) = me.upgrade() else { return };
            if let Some(key) = done_key {
                forwarder.serving.lock().remove(&key);
            }
            forwarder.reply(id, answer, reply);
        });
        if let Some(key) = key
            && serving.is_open()
        {
            self.serving.lock().insert(key, Arc::downgrade(&serving));
        }
    }

    fn reply(&self, id: u64, answer: Result<Answer, Refusal>, reply: Reply) {
        let answer = match answer.map(wire::Answer::try_from) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(unknown("CLU-004", 1_000, "the answer is one that nodes do not send")),
            Err(refusal) => Err(refusal),
        };
        let response = Item::Response(Response { id, answer });
        let is_short = with_bytes(&response, <[u8]>::len).is_ok_and(|bytes| bytes <= BODY_BYTES_MAX);
        if is_short {
            return answer_with(reply, &response);
        }
        if let Item::Response(Response { answer: Ok(answer), .. }) = response {
            // Jobs that cannot travel are given back.
            self.shards.release_unclaimed(&answer.into());
        }
        let reason = "the answer is longer than a link between nodes carries: ask for fewer at a time";
        answer_with(reply, &Item::Response(Response { id, answer: Err(rejected("CLU-213", reason)) }));
    }

    /// Takes in what nobody waits for.
    fn take(&self, node: &NodeName, item: Item) {
        match item {
            Item::Delivery(delivery) => {
                let to = delivery.to;
                self.shards.take_delivery(to, delivery.into_shard());
            }
            Item::Confirmation(confirmation) => {
                let to = confirmation.to;
                self.shards.take_confirmation(to, confirmation.into_shard());
            }
            Item::Abandoned(Abandoned { id }) => {
                let serving = self.serving.lock().remove(&(node.clone(), id));
                if let Some(serving) = serving.and_then(|serving| serving.upgrade()) {
                    serving.give_up();
                }
            }
            Item::Release(Release { shard, leases }) => self.shards.take_release(shard, leases),
            Item::Notice(Notice { shard, command }) => self.shards.take_notice(shard, command),
            Item::SpreadQueues(SpreadQueues { shard, queues }) => self.shards.take_spread(shard, &queues),
            item @ (Item::Transport(_) | Item::AnnounceAgain(_) | Item::LiveCounts(_)) => {
                if let Some(transport) = self.transport.get() {
                    transport.receive(item);
                }
            }
            Item::Request(_) | Item::Response(_) | Item::Question(_) | Item::Reply(_) => {
                tracing::warn!(%node, "A letter of another node is one that is no letter");
            }
        }
    }
}

/// The only item of a body.
fn one(body: &[u8]) -> Option<Received> {
    Batch::new(Bytes::copy_from_slice(body)).ok()?.next()?.ok()
}
