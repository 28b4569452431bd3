//! Retained messages for operators: which there are, and whose; and their removal.
//!
//! All loops share one store, which is read from outside the loops. Messages are removed by the
//! first loop, which hands the removals to the shards and answers when they are durable.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use stadium_mqtt::broker::RetainedQuery;
use stadium_mqtt::packet::QoS;
use stadium_push::Time;
use stadium_reactor::Io;

use crate::device_loop::DeviceLoop;
use crate::message::Message;
use crate::purges::{Purge, Purged};
use crate::query::Query;
use crate::turn::Turn;
use crate::{EdgeHandle, LoopAnswers};

/// How long a loop and the shards may take to remove messages: a loop's turn, and a commit of each
/// shard.
const PURGED_WITHIN: Duration = Duration::from_secs(10);

/// Whether messages are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeMode {
    /// They are.
    Remove,
    /// They are only counted.
    DryRun,
}

impl DeviceLoop {
    /// Removes messages; the answer follows when that is durable.
    pub(crate) fn purge(&mut self, io: &mut Io<Message>, purge: Purge) {
        let Purge { topics, owner, reply } = purge;
        let id = self.around.purges.begin();
        let mut turn = Turn { io, around: &mut self.around };
        let purging = self.broker.purge_retained(&mut turn, &topics, owner.as_deref(), id);
        if purging.waits == 0 {
            // Nobody may be listening any more.
            let _ = reply.send(Purged { removed: purging.removed, ..Purged::default() });
            return;
        }
        self.around.purges.wait(id, purging.waits, reply);
    }
}

/// Some retained messages, in the order of their topics.
#[derive(Debug, Clone)]
pub struct RetainedList {
    /// At most as many as were asked for; fewer, or none, is not the end.
    pub messages: Vec<RetainedMessage>,
    /// The topic from which the next page goes on; none behind the last message.
    pub next: Option<String>,
}

/// A retained message without its payload.
#[derive(Debug, Clone)]
pub struct RetainedMessage {
    /// Topic Name.
    pub topic: String,
    /// The principal that set it: empty for an anonymous device, none for a message of the server's
    /// own or of before principals were kept.
    pub principal: Option<Arc<str>>,
    /// Bytes of its payload.
    pub payload_bytes: usize,
    /// Bytes for which it counts in the bounds of the store.
    pub bytes: usize,
    /// QoS that it was published with.
    pub qos: QoS,
    /// When it was set; none where that was not kept.
    pub set_at: Option<Time>,
    /// When its time is over; none where that is never.
    pub expires_at: Option<Time>,
}

impl EdgeHandle {
    /// A page of at most so many retained messages. It reads the store beside the loops and takes
    /// some milliseconds at most.
    pub fn list_retained(&self, query: &RetainedQuery<'_>, messages_max: usize) -> RetainedList {
        let shared = &self.shared;
        let page = shared.retained.list(query, shared.now_ms(), messages_max);
        let messages = page.messages.into_iter().map(|one| RetainedMessage {
            topic: one.topic,
            principal: one.owner,
            payload_bytes: one.payload_bytes,
            bytes: one.bytes,
            qos: one.qos,
            set_at: one.set_at_ms.map(|at_ms| shared.clock.wall_time_of_signed(at_ms)),
            expires_at: one.expires_at_ms.map(|at_ms| shared.clock.wall_time(at_ms)),
        });
        RetainedList { messages: messages.collect(), next: page.next }
    }

    /// Removes at most so many retained messages, or counts them. Subscribers are sent nothing.
    /// Blocks for ten seconds at most; without an answer by then it may have happened.
    pub fn purge_retained(
        &self,
        query: &RetainedQuery<'_>,
        messages_max: usize,
        mode: PurgeMode,
    ) -> LoopAnswers<Option<Purged>> {
        let page = self.shared.retained.list(query, self.shared.now_ms(), messages_max);
        let topics: Vec<String> = page.messages.into_iter().map(|one| one.topic).collect();
        if mode == PurgeMode::DryRun || topics.is_empty() {
            let purged = Purged { removed: topics.len(), refused: 0, next: page.next };
            return LoopAnswers { answers: Some(purged), missing: 0 };
        }
        let (reply, answer) = mpsc::channel();
        let purge = Purge { topics, owner: query.owner.map(str::to_owned), reply };
        let purged = match self.ask(0, Query::Purge(purge)) {
            true => answer.recv_timeout(PURGED_WITHIN).ok(),
            false => None,
        };
        let purged = purged.map(|purged| Purged { next: page.next, ..purged });
        LoopAnswers { missing: usize::from(purged.is_none()), answers: purged }
    }
}
