//! Calls of lost connections fail, some in each turn of the loop.
//!
//! A connection may have carried very many calls. Their places are remembered when it is lost, and a turn fails at most
//! [`CALLS_A_TURN`] of them, so that the client's other connections are served in between.

use std::collections::VecDeque;

use stadium_reactor::{CloseReason, ConnectionId, Io};
use stadium_rsocket::connection::{Connection, Role, Tag};

use super::ClientLoop;
use crate::answer::CallError;
use crate::balance::Outcome;
use crate::client::item::Item;
use crate::client::slot::of_tag;

/// Calls that fail in one turn because their connection was lost, or because no instance can be reached: two or three
/// milliseconds of work. The rest fail in the next turns.
pub(in crate::client) const CALLS_A_TURN: usize = 1_000;

/// The calls of lost connections that have not failed yet, in the order of the losses.
#[derive(Default)]
pub(in crate::client) struct Broken {
    lost: VecDeque<LostCalls>,
    /// The loop ends: there is no later turn.
    is_last_turn: bool,
}

struct LostCalls {
    connection: ConnectionId,
    reason: CloseReason,
    tags: Vec<Tag>,
}

impl Broken {
    /// Remembers the calls of a connection that is lost for good.
    pub(in crate::client) fn add(&mut self, id: ConnectionId, connection: &Connection, reason: CloseReason) {
        self.is_last_turn |= reason == CloseReason::Stopped;
        let ours = connection.streams().filter(|(_, _, role)| *role == Role::Requester);
        let tags: Vec<Tag> = ours.map(|(_, tag, _)| tag).collect();
        if !tags.is_empty() {
            self.lost.push_back(LostCalls { connection: id, reason, tags });
        }
    }

    /// Whether calls are left for a later turn.
    pub(super) fn is_empty(&self) -> bool {
        self.lost.is_empty()
    }

    fn next(&mut self) -> Option<(ConnectionId, CloseReason, Tag)> {
        while let Some(first) = self.lost.front_mut() {
            if let Some(tag) = first.tags.pop() {
                return Some((first.connection, first.reason, tag));
            }
            self.lost.pop_front();
        }
        None
    }
}

impl ClientLoop {
    /// Fails some of the calls whose connections were lost.
    pub(super) fn fail_broken(&mut self, io: &mut Io<Item>) {
        let calls = if self.broken.is_last_turn { usize::MAX } else { CALLS_A_TURN };
        for _ in 0..calls {
            let Some((id, reason, tag)) = self.broken.next() else { return };
            let (place, which) = of_tag(tag);
            // The call may have ended meanwhile, and its place may be another one's.
            if self.slots.at(place).attempt(which).is_some_and(|attempt| attempt.connection == id) {
                let error = CallError::Broken(reason.name().to_owned());
                self.attempt_failed(io, place, which, Outcome::Broken, error);
            }
        }
    }
}
