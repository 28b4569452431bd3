//! Messages to other shards that are not confirmed, by their numbers.
//!
//! Where the message with a push is still on its way, it is found by the push: a cancellation names
//! it.

use std::collections::{BTreeMap, BTreeSet};

use stadium_registry::AppName;

use crate::{PushId, ShardMessage};

/// Messages that are not confirmed.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    messages: BTreeMap<u64, (u16, ShardMessage)>,
    /// The number of the next message.
    pub(crate) next: u64,
    /// Messages with pushes, by the id of the push. Not saved.
    starts: BTreeSet<(PushId, u64)>,
}

impl Outbox {
    /// Messages that are not confirmed.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.messages.contains_key(&number)
    }

    /// The lowest number of all that are not confirmed; that of the next message where all are.
    pub(crate) fn first(&self) -> u64 {
        self.messages.first_key_value().map_or(self.next, |(&number, _)| number)
    }

    /// Messages from a number on, each with the shard that it goes to.
    pub(crate) fn range(&self, from: u64) -> impl Iterator<Item = (u64, u16, &ShardMessage)> {
        self.messages.range(from..).map(|(&number, (shard, message))| (number, *shard, message))
    }

    /// Puts the next message in.
    pub(crate) fn write(&mut self, shard: u16, message: ShardMessage) {
        let number = self.next;
        self.next += 1;
        self.insert(number, shard, message);
    }

    /// Puts a message in that has a number.
    pub(crate) fn insert(&mut self, number: u64, shard: u16, message: ShardMessage) {
        if let ShardMessage::Start { push, .. } = &message {
            self.starts.insert((push.id, number));
        }
        self.messages.insert(number, (shard, message));
    }

    /// A message arrived.
    pub(crate) fn remove(&mut self, number: u64) {
        if let Some((_, ShardMessage::Start { push, .. })) = self.messages.remove(&number) {
            self.starts.remove(&(push.id, number));
        }
    }

    /// An app is dropped: nothing more is written about it.
    pub(crate) fn drop_app(&mut self, name: &AppName) {
        let of_app = |message: &ShardMessage| match message {
            ShardMessage::Settings { app, .. } => app == name,
            ShardMessage::Start { push, .. } => push.app == *name,
        };
        let Self { messages, starts, .. } = self;
        messages.retain(|&number, (_, message)| {
            let is_kept = !of_app(message);
            if let (false, ShardMessage::Start { push, .. }) = (is_kept, message) {
                starts.remove(&(push.id, number));
            }
            is_kept
        });
    }

    /// The messages with a push that are not confirmed: to which shard, and which.
    pub(crate) fn with_push(&self, app: &AppName, push: PushId) -> Vec<(u16, u64)> {
        let numbers = self.starts.range((push, 0)..=(push, u64::MAX)).map(|&(_, number)| number);
        let messages = numbers.filter_map(|number| Some((number, self.messages.get(&number)?)));
        let is_of_app =
            |message: &ShardMessage| matches!(message, ShardMessage::Start { push, .. } if push.app == *app);
        messages
            .filter(|(_, (_, message))| is_of_app(message))
            .map(|(number, &(shard, _))| (shard, number))
            .collect()
    }
}
