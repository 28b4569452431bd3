//! Letters to other shards that are not confirmed, by their numbers.
//!
//! Where the letter with a push is still on its way, it is found by the push: a cancellation names it.

use std::collections::{BTreeMap, BTreeSet};

use stadium_registry::AppName;

use crate::{Letter, PushId};

/// Letters that are not confirmed.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    letters: BTreeMap<u64, (u16, Letter)>,
    /// The number of the next letter.
    pub(crate) next: u64,
    /// Letters with pushes, by the id of the push. Not saved.
    starts: BTreeSet<(PushId, u64)>,
}

impl Outbox {
    /// Letters that are not confirmed.
    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.letters.contains_key(&number)
    }

    /// The lowest number of all that are not confirmed; that of the next letter where all are.
    pub(crate) fn first(&self) -> u64 {
        self.letters.first_key_value().map_or(self.next, |(&number, _)| number)
    }

    /// Letters from a number on, each with the shard that it goes to.
    pub(crate) fn range(&self, from: u64) -> impl Iterator<Item = (u64, u16, &Letter)> {
        self.letters.range(from..).map(|(&number, (shard, letter))| (number, *shard, letter))
    }

    /// Puts the next letter in.
    pub(crate) fn write(&mut self, shard: u16, letter: Letter) {
        let number = self.next;
        self.next += 1;
        self.insert(number, shard, letter);
    }

    /// Puts a letter in that has a number.
    pub(crate) fn insert(&mut self, number: u64, shard: u16, letter: Letter) {
        if let Letter::Start { push, .. } = &letter {
            self.starts.insert((push.id, number));
        }
        self.letters.insert(number, (shard, letter));
    }

    /// A letter arrived.
    pub(crate) fn remove(&mut self, number: u64) {
        if let Some((_, Letter::Start { push, .. })) = self.letters.remove(&number) {
            self.starts.remove(&(push.id, number));
        }
    }

    /// An app is dropped: nothing more is written about it.
    pub(crate) fn drop_app(&mut self, name: &AppName) {
        let of_app = |letter: &Letter| match letter {
            Letter::Settings { app, .. } => app == name,
            Letter::Start { push, .. } => push.app == *name,
        };
        let Self { letters, starts, .. } = self;
        letters.retain(|&number, (_, letter)| {
            let is_kept = !of_app(letter);
            if let (false, Letter::Start { push, .. }) = (is_kept, letter) {
                starts.remove(&(push.id, number));
            }
            is_kept
        });
    }

    /// The letters with a push that are not confirmed: to which shard, and which.
    pub(crate) fn with_push(&self, app: &AppName, push: PushId) -> Vec<(u16, u64)> {
        let numbers = self.starts.range((push, 0)..=(push, u64::MAX)).map(|&(_, number)| number);
        let letters = numbers.filter_map(|number| Some((number, self.letters.get(&number)?)));
        let is_of_app = |letter: &Letter| matches!(letter, Letter::Start { push, .. } if push.app == *app);
        letters
            .filter(|(_, (_, letter))| is_of_app(letter))
            .map(|(number, &(shard, _))| (shard, number))
            .collect()
    }
}
