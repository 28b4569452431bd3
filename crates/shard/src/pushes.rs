//! How everybody else reaches the push platform and the MQTT sessions, and how the platform reaches devices.
//!
//! Which shard is asked what, and how answers become one, is the platform's own knowledge ([`stadium_push::Parts`]).

use std::sync::Arc;

use bytes::Bytes;
use stadium_push::feed::{Feed, FeedName};
use stadium_push::{Answer, AppName, Command, Refusal, ToEdge};
use stadium_queue::QueueName;

use crate::client::Inner;
use crate::core::feeds;
use crate::error::rejected;
use crate::gather::{Gather, Merge};
use crate::mailbox::Letter;
use crate::ticket::{Holder, One, Slot};
use crate::{Shards, Ticket};

/// Takes to the edge what the shards send to devices.
pub trait Courier: Send + Sync {
    /// From a shard, whose thread calls: it must not wait. What comes first is delivered first.
    fn carry(&self, shard: u16, to_edge: Vec<ToEdge>);

    /// The shard has opened its journal anew, or was not told of all its devices, and knows of no connection: each of its devices that is
    /// connected is to arrive again.
    fn started_over(&self, shard: u16);
}

impl Shards {
    /// Hands a command to the shard that it belongs to, or to several. Never waits, as [`Self::submit`].
    pub fn submit_push(&self, command: Command) -> Ticket<Answer> {
        let mut parts = command.parts(self.inner.routes.shards());
        let mut asked = std::mem::take(&mut parts.asked);
        if asked.len() == 1 && !parts.goes_on() {
            let (shard, command) = asked.remove(0);
            return match self.inner.ask_push(shard, command) {
                Ok(one) => Ticket::one(one),
                Err(refusal) => Ticket::refused(refusal),
            };
        }
        let ones = asked.into_iter().map(|(shard, command)| self.inner.ask_push(shard, command)).collect();
        Ticket::many(Gather::new(ones, Merge::Push(parts, Arc::clone(&self.inner))))
    }

    /// Tells a shard of its devices: presence and progress. Nobody waits for the answer. Where a shard is far behind, as while its
    /// disk hangs, it is told nothing until it can have all its connected devices arrive again ([`Courier::started_over`]).
    pub fn tell_push(&self, shard: u16, command: Command) {
        if let Ok(mailbox) = self.inner.mailbox(shard) {
            let bytes = bytes_of(&command);
            mailbox.tell(Letter::Push(Holder::new(&Slot::new()), Box::new(command)), bytes);
        }
    }

    /// Puts jobs with these events into the queue of an app's feed. Never waits, as [`Self::submit`].
    pub fn put_events(&self, app: &AppName, feed: &FeedName, payloads: Vec<Bytes>) -> Ticket {
        match QueueName::new(&Feed::queue(app, feed)) {
            Ok(queue) => {
                let jobs = payloads.into_iter().map(feeds::job).collect();
                self.submit(stadium_queue::Command::Put { queue, jobs })
            }
            // Names of apps and feeds are short enough.
            Err(error) => Ticket::refused(rejected("SHARD-009", error.to_string())),
        }
    }

    /// Hands a command about MQTT sessions and retained messages to a shard. Never waits, as [`Self::submit`].
    pub fn submit_session(
        &self,
        shard: u16,
        command: stadium_session::Command,
    ) -> Ticket<stadium_session::Answer> {
        let bytes = command.record_bytes_max();
        match self.inner.one_of(shard, bytes, |caller| Letter::Session(caller, Box::new(command))) {
            Ok(one) => Ticket::one(one),
            Err(refusal) => Ticket::refused(refusal),
        }
    }

    /// Says who takes to devices what the shards send them. Only the first one counts; without one nothing is delivered.
    pub fn deliver_by(&self, courier: Arc<dyn Courier>) {
        let _ = self.inner.courier.set(courier);
    }

    /// How many shards there are.
    pub fn count(&self) -> u16 {
        self.inner.routes.shards()
    }
}

impl Inner {
    /// Asks one shard.
    pub(crate) fn ask_push(self: &Arc<Self>, shard: u16, command: Command) -> Result<One, Refusal> {
        let bytes = bytes_of(&command);
        let is_cancel = matches!(command, Command::Cancel { .. });
        let one = self.one_of(shard, bytes, |caller| Letter::Push(caller, Box::new(command)))?;
        Ok(if is_cancel { one.passed_on(Arc::clone(self)) } else { one })
    }

    /// An answer that nobody takes: where an app's home has cancelled a push, the other shards follow all the same.
    pub(crate) fn pass_on_unseen(self: &Arc<Self>, answer: &crate::Answer) {
        if let crate::Answer::Push(Answer::AtHome(cancellation)) = answer {
            for (shard, command) in cancellation.elsewhere(self.routes.shards()) {
                // One that has no room is asked when the push is cancelled again: nobody was answered.
                drop(self.ask_push(shard, command));
            }
        }
    }
}

/// Bytes that a command keeps alive, about.
fn bytes_of(command: &Command) -> usize {
    match command {
        Command::Send { push } | Command::Edit { push } => push.bytes(),
        Command::Change { devices, .. } => devices.len() * 256,
        Command::Locate { sightings, .. } => sightings.len() * 64,
        Command::Presence { arrived, left } => 64 + (arrived.len() + left.len()) * 160,
        Command::Progress { steps } => 64 + steps.len() * 64,
        _ => 256,
    }
}
