//! Items for the transports of other nodes, and questions to them.
//!
//! Nobody repeats what is for all nodes. So a node that has no room for it now gets it later, in
//! order and within a bound.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stadium_links::{Carrier as _, Lane, NodeName, Outgoing, Refused, Tag, Target};
use stadium_shard_wire::{Item, Question};

use super::bytes::with_bytes;
use super::forwarder::Forwarder;
use super::questions::{AnswerTo, NodeAnswers};
use crate::transport::{NodeSender, NotSent};

impl Forwarder {
    /// Sends what was kept for nodes that have room now, and forgets nodes that have ended.
    pub(super) fn send_kept(&self) {
        let members = self.members.others();
        let send = |node: &NodeName, body: &[u8]| {
            matches!(self.letter_bytes(node, 0, body), Ok(()) | Err(Refused::TooLong))
        };
        self.kept.send(&members, send);
    }

    fn letter_bytes(&self, node: &NodeName, shard: u16, body: &[u8]) -> Result<(), Refused> {
        let endpoint = self.endpoint.read();
        let endpoint = endpoint.as_ref().ok_or(Refused::Down)?;
        let target = Target { shard: shard.into(), generation: 0 };
        endpoint.letter(node, Lane::Data, Outgoing { target, body })
    }
}

impl Forwarder {
    /// Answers the questions of other nodes by `answers` from now on.
    pub(crate) fn attach_answers(&self, answers: Arc<dyn NodeAnswers>) {
        self.questions.attach(answers);
    }

    /// Asks a node, and calls `done` with its answer, within about this time. It is called on a
    /// thread of the links, or at once where the node is out of reach.
    pub(crate) fn ask_node(&self, node: &NodeName, body: Bytes, within: Duration, done: AnswerTo) {
        let id = self.questions.begin(done);
        let target = Target { shard: 0, generation: 0 };
        let sent = with_bytes(&Item::Question(Question { body }), |body| {
            let endpoint = self.endpoint.read();
            let Some(endpoint) = &*endpoint else { return false };
            endpoint.request(node, Lane::Data, within, Tag(id), Outgoing { target, body }).is_ok()
        });
        if !matches!(sent, Ok(true)) {
            self.questions.completed(id, None);
        }
    }
}

impl NodeSender for Forwarder {
    fn send(&self, node: u32, item: &Item) -> Result<(), NotSent> {
        let node = self.members.numbered(node).ok_or(NotSent::Gone)?;
        if self.kept.is_behind(&node) {
            return Err(NotSent::Busy);
        }
        // Items for transports travel on one connection, so that they keep their order.
        match with_bytes(item, |body| self.letter_bytes(&node, 0, body)) {
            Ok(Ok(())) => Ok(()),
            _ => Err(NotSent::Busy),
        }
    }

    fn broadcast(&self, item: &Item) {
        let sent = with_bytes(item, |body| {
            for node in self.members.others() {
                if self.kept.is_behind(&node) || self.letter_bytes(&node, 0, body).is_err() {
                    self.kept.keep(&node, body);
                }
            }
        });
        if let Err(refusal) = sent {
            tracing::error!(%refusal, "An item for the transports of all nodes has no bytes");
        }
    }
}

impl fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarder").finish_non_exhaustive()
    }
}
