//! Questions to other nodes about what they alone have, such as their MQTT sessions.
//!
//! A question has one answer or none: nothing is asked again here. Its bytes are the business of
//! the program, which also answers those of other nodes ([`NodeAnswers`]).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use stadium_links::Reply;
use stadium_shard_wire::{Item, NodeReply, Received};

use super::bytes::answer_with;

/// The tags of questions have this bit; ids of commands count from 1 and never reach it.
const QUESTION: u64 = 1 << 63;

/// Takes the answer to a question, or hears that there is none.
pub type AnswerTo = Box<dyn FnOnce(Option<Bytes>) + Send>;

/// Answers questions of other nodes.
pub trait NodeAnswers: Send + Sync {
    /// Answers a question, now or later. Called on a thread of the links: it hands over and
    /// returns. `reply` takes at most 4 MiB; where it is dropped, the other node hears that there
    /// is no answer.
    fn answer(&self, question: Bytes, reply: Box<dyn FnOnce(Vec<u8>) + Send>);
}

/// The questions of a node that are not answered yet, and its answers to those of others.
#[derive(Default)]
pub(crate) struct Questions {
    last: AtomicU64,
    asked: Mutex<HashMap<u64, AnswerTo>>,
    answers: OnceLock<Arc<dyn NodeAnswers>>,
}

/// Whether an outcome is that of a question.
pub(super) fn is_one(id: u64) -> bool {
    id & QUESTION != 0
}

impl Questions {
    /// Answers the questions of other nodes from now on; the first one stays.
    pub(super) fn attach(&self, answers: Arc<dyn NodeAnswers>) {
        let _ = self.answers.set(answers);
    }

    /// The id of a question that begins: `done` hears what comes of it.
    pub(super) fn begin(&self, done: AnswerTo) -> u64 {
        let id = QUESTION | self.last.fetch_add(1, Ordering::Relaxed);
        self.asked.lock().insert(id, done);
        id
    }

    pub(super) fn answer(&self, question: Bytes, reply: Reply) {
        // Without anybody who answers, the reply is dropped, and the other node hears it.
        let Some(answers) = self.answers.get() else { return };
        let reply = move |body: Vec<u8>| {
            answer_with(reply, &Item::Reply(NodeReply { body: body.into() }));
        };
        answers.answer(question, Box::new(reply));
    }

    pub(super) fn completed(&self, id: u64, answer: Option<Received>) {
        let Some(done) = self.asked.lock().remove(&id) else { return };
        done(match answer {
            Some(Received::Item(Item::Reply(reply))) => Some(reply.body),
            _ => None,
        });
    }
}
