//! Commands to the push platform and the MQTT sessions, and the way from the platform to devices.
//!
//! The platform determines itself which shards a command asks. Of a session the edge knows the
//! shard.

use std::sync::Arc;

use bytes::Bytes;
use stadium_push::feed::{Feed, FeedName};
use stadium_push::{Answer, AppName, Command, Platform, Transport};
use stadium_queue::{NewJob, QueueName};
use stadium_session::Sessions;

use crate::answer::of_queues;
use crate::core::AnyCommand;
use crate::error::rejected;
use crate::mailbox::Item;
use crate::reply_slot::{Holder, Slot};
use crate::{Shards, Ticket};

impl Shards {
    /// Hands a command to the shard that it belongs to, or to several. Never waits, as [`Self::submit`].
    pub fn submit_push(&self, command: Command) -> Ticket<Answer> {
        self.ask::<Platform>(command)
    }

    /// Notifies a shard of its devices: presence and progress. Nobody waits for the answer. Where a
    /// shard is far behind, as while its disk hangs, notices are dropped until it can have all its
    /// connected devices arrive again ([`Transport::announce_again`]).
    pub fn notify_push(&self, shard: u16, command: Command) {
        if let Ok(mailbox) = self.inner.mailbox(shard) {
            let command = AnyCommand::of::<Platform>(command);
            if let Some(elsewhere) = self.inner.elsewhere_of(shard) {
                return elsewhere.notify(shard, command);
            }
            let bytes = command.bytes();
            mailbox.notify(Item::Command(Holder::new(&Slot::new()), command), bytes);
        }
    }

    /// Puts jobs with these events into the queue of an app's feed. Never waits, as [`Self::submit`].
    pub fn put_events(&self, app: &AppName, feed: &FeedName, payloads: Vec<Bytes>) -> Ticket {
        match QueueName::new(&Feed::queue(app, feed)) {
            Ok(queue) => {
                let jobs =
                    payloads.into_iter().map(|payload| NewJob { payload, ..NewJob::default() }).collect();
                self.submit(stadium_queue::Command::Put { queue, jobs, principal: None })
            }
            // Names of apps and feeds are short enough.
            Err(error) => Ticket::refused(rejected("SHARD-009", error.to_string()), of_queues),
        }
    }

    /// Hands a command about MQTT sessions and retained messages to a shard. Never waits, as [`Self::submit`].
    pub fn submit_session(
        &self,
        shard: u16,
        command: stadium_session::Command,
    ) -> Ticket<stadium_session::Answer> {
        self.ask_shard::<Sessions>(shard, command)
    }

    /// Attaches the transport that takes pushes to devices. Only the first one counts; without one
    /// nothing is delivered.
    pub fn attach_transport(&self, transport: Arc<dyn Transport>) {
        let _ = self.inner.transport.set(transport);
    }
}
