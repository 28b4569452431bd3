//! [`Commands`]: what a node sends when, and what its askers hear.
//!
//! Each call gets the time, and returns what its driver is to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stadium_links::{NodeName, Target};
use stadium_queue::{Command as Queue, Milliseconds, Refusal};
use stadium_shard::{Answer, Forwarded, GivenUp, MOVED, NOT_HERE, OUTCOME_UNKNOWN, STOPPING, UNREACHABLE};
use stadium_shard_wire::{Command, Item, Request};
use stadium_state_machine::{busy, rejected, unknown};

use crate::asks::Asks;
use crate::bounds::{ASKED_FOR, Bounds};
use crate::owners::{Owner, Owners};
use crate::repeat::{self, Ids};
use crate::table::{Pending, Table};

/// The pauses before a command is asked again: the first, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));

/// A command on its way in: its id; or why it is answered at once, to whom.
pub type Entered<A> = Result<u64, (A, Refusal)>;

/// The outcome of sending a request.
#[derive(Debug)]
pub enum Sent {
    /// It is on its way: the driver reports its outcome, once.
    OnItsWay,
    /// The node cannot be reached now.
    Later,
    /// It is answered with that.
    Refused(Refusal),
}

/// The next step of a driver with a command.
#[must_use]
#[derive(Debug)]
pub enum Step<A> {
    /// Nothing: its outcome is awaited, or it was answered.
    Nothing,
    /// It is asked again later. With `is_first` the time of the next one is earlier than before.
    Later {
        /// See [`Commands::take_due`].
        is_first: bool,
    },
    /// A shard of this node serves it by now: to be asked, and its answer reported.
    Here(u16, Forwarded),
    /// Its asker is to hear this.
    Answered(A, Result<Answer, Refusal>),
    /// An answer for nobody: what it has reserved is to be given back.
    Unclaimed(Answer),
}

/// The commands of a node that are on their way to their shards.
pub struct Commands<A> {
    table: Table<A>,
    ids: Ids,
    ends: AtomicBool,
}

impl<A: Asks> Commands<A> {
    /// None yet. `random` is another number for each start of a node.
    #[must_use]
    pub fn new(bounds: Bounds, random: u64) -> Self {
        Self { table: Table::new(bounds), ids: Ids::new(random), ends: AtomicBool::new(false) }
    }

    /// How many are not answered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether all are answered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// Bytes of memory that they keep alive.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Gives ids to the jobs of a put that have none, so that it may be asked again.
    pub fn identify(&self, command: &mut Queue) {
        self.ids.give(command);
    }

    /// Enters a command for a shard that is not served here, to be [sent](Self::attempt).
    ///
    /// # Errors
    /// There is no room for it, or its machine is only for commands of its own node.
    pub fn enter(&self, shard: u16, command: Forwarded, asker: A, now: Instant) -> Entered<A> {
        let searches = matches!(command, Forwarded::Queue { searches: true, .. });
        let bytes = command.bytes();
        if !self.table.has_room(bytes) {
            let reason = "more commands of this node wait for other nodes than may";
            return Err((asker, busy("CLU-212", 100, reason)));
        }
        match Command::try_from(command) {
            Ok(command) => {
                let trace = asker.trace();
                let request = Request { id: 0, shard, generation: 0, time_left: 0, command, searches, trace };
                Ok(self.insert(request, asker, bytes, now))
            }
            Err(command) => {
                let reason = format!("{command:?} is only taken on the node of its shard");
                Err((asker, rejected("SHARD-009", reason)))
            }
        }
    }

    /// Enters a command that a shard of this node gave back, to be asked [again](Self::again).
    ///
    /// # Errors
    /// It may not be asked again, or there is no room for it: the shard's refusal.
    pub fn enter_again(
        &self,
        shard: u16,
        command: Forwarded,
        asker: A,
        given_up: GivenUp,
        now: Instant,
    ) -> Entered<A> {
        let GivenUp { refusal, held } = given_up;
        let bytes = command.bytes();
        let command = Command::try_from(command)
            .ok()
            .filter(|command| !refusal.is_unknown() || repeat::is_repeatable(command))
            .filter(|_| self.table.has_room(bytes));
        let Some(command) = command else { return Err((asker, refusal)) };
        let trace = asker.trace();
        let request = Request { id: 0, shard, generation: 0, time_left: 0, command, searches: false, trace };
        let id = self.insert(request, asker, bytes, now.checked_sub(held).unwrap_or(now));
        let gone = self.table.with(id, |pending| {
            pending.is_unknown = refusal.is_unknown();
            pending.asker.is_gone().then(|| pending.asker.id())
        });
        if let Some(Some(asker)) = gone {
            // A reserve of its was not in the table yet when it went.
            self.gone(asker);
        }
        Ok(id)
    }

    /// Inserts a command that was asked first at a time.
    fn insert(&self, mut request: Request, asker: A, bytes: usize, asked: Instant) -> u64 {
        let id = self.table.next();
        request.id = id;
        let wait = wait_of(&request.command);
        let pending = Pending {
            asker,
            until: asked + ASKED_FOR + Duration::from_millis(wait.unwrap_or(0)),
            attempts: 0,
            is_repeatable: repeat::is_repeatable(&request.command),
            is_unknown: false,
            given_ids: self.ids.given(&request.command),
            asked: None,
            bytes,
            request,
        };
        self.table.insert(id, pending, wait.is_some());
        id
    }

    /// Sends a command to the owner of its shard, by `send`: to this node, with this target, within
    /// that time.
    pub fn attempt(
        &self,
        id: u64,
        now: Instant,
        owners: &Owners,
        is_served: impl FnOnce(u16) -> bool,
        send: impl FnOnce(&NodeName, Target, Duration, &Item) -> Sent,
    ) -> Step<A> {
        enum Attempt {
            Sent(Sent),
            Here(u16, Forwarded),
        }
        let attempt = self.table.with(id, |pending| {
            let shard = pending.request.shard;
            let left = pending.until.saturating_duration_since(now);
            pending.attempts += 1;
            pending.request.time_left = left.as_millis() as Milliseconds;
            if let Command::Queue(Queue::Reserve { wait, .. }) = &mut pending.request.command {
                *wait = (*wait).min(left.saturating_sub(ASKED_FOR).as_millis() as Milliseconds);
            }
            match owners.of(shard) {
                Some(Owner::There { node, generation }) if !left.is_zero() => {
                    pending.request.generation = generation;
                    let target = Target { shard: shard.into(), generation };
                    let item = Item::Request(std::mem::replace(&mut pending.request, placeholder()));
                    let sent = send(&node, target, left, &item);
                    if let Item::Request(request) = item {
                        pending.request = request;
                    }
                    pending.asked = Some(node);
                    Attempt::Sent(sent)
                }
                Some(Owner::Here) if !left.is_zero() && is_served(shard) => {
                    let command = pending.request.command.clone();
                    Attempt::Here(shard, command.into_shard(pending.request.searches))
                }
                _ => Attempt::Sent(Sent::Later),
            }
        });
        match attempt {
            // It is on its way; or it was answered, or its asker went.
            Some(Attempt::Sent(Sent::OnItsWay)) | None => Step::Nothing,
            Some(Attempt::Sent(Sent::Later)) => self.again(id, now),
            Some(Attempt::Sent(Sent::Refused(refusal))) => self.answered(id, Err(refusal), now),
            Some(Attempt::Here(shard, command)) => Step::Here(shard, command),
        }
    }

    /// The owner has answered an attempt.
    pub fn answered(&self, id: u64, answer: Result<Answer, Refusal>, now: Instant) -> Step<A> {
        match answer {
            Err(refusal) if has_moved(&refusal) => self.again(id, now),
            Err(Refusal::Unknown { .. }) => self.lost(id, now),
            // An earlier attempt may have happened: Busy would say that it did not.
            Err(Refusal::Busy { .. })
                if self.table.with(id, |pending| pending.is_unknown).unwrap_or_default() =>
            {
                self.again(id, now)
            }
            answer => self.finish(id, answer),
        }
    }

    /// An attempt may have been carried out, and its answer is lost.
    pub fn lost(&self, id: u64, now: Instant) -> Step<A> {
        let is_repeatable = self.table.with(id, |pending| {
            pending.is_unknown = true;
            pending.is_repeatable
        });
        match is_repeatable {
            Some(true) => self.again(id, now),
            Some(false) => self.end(id),
            None => Step::Nothing,
        }
    }

    /// An attempt did not happen: the command is asked again after a pause, unless its time is over.
    pub fn again(&self, id: u64, now: Instant) -> Step<A> {
        let at = self.table.with(id, |pending| {
            let pause = PAUSE.0.saturating_mul(1 << pending.attempts.min(5)).min(PAUSE.1);
            // A search asks another node instead.
            (now + pause < pending.until && !pending.request.searches).then_some(now + pause)
        });
        match at {
            Some(Some(at)) if !self.ends.load(Ordering::Acquire) => {
                Step::Later { is_first: self.table.later(id, at) }
            }
            Some(_) => self.end(id),
            None => Step::Nothing,
        }
    }

    /// Takes the commands that are to be [sent](Self::attempt) now. Returns when the next ones are.
    pub fn take_due(&self, now: Instant, into: &mut Vec<u64>) -> Option<Instant> {
        self.table.take_due(now, into)
    }

    /// Forgets the reserves of an asker that has gone. Returns those that a node was asked, with the
    /// target of the request.
    pub fn gone(&self, asker: u64) -> Vec<(u64, NodeName, Target)> {
        let taken = self.table.of_asker(asker).into_iter().filter_map(|id| {
            let Pending { asked, request, .. } = self.table.take(id)?;
            Some((id, asked?, Target { shard: request.shard.into(), generation: request.generation }))
        });
        taken.collect()
    }

    /// From now on none is asked again.
    pub fn close(&self) {
        self.ends.store(true, Ordering::Release);
    }

    /// Ends all that are not answered.
    pub fn end_all(&self) -> Vec<Step<A>> {
        self.table.ids().into_iter().map(|id| self.end(id)).collect()
    }

    fn finish(&self, id: u64, mut answer: Result<Answer, Refusal>) -> Step<A> {
        let Some(pending) = self.table.take(id) else {
            // Its asker has gone meanwhile: jobs that it would have had are given back.
            return answer.map_or(Step::Nothing, Step::Unclaimed);
        };
        if let Ok(answer) = &mut answer {
            repeat::forget_ids(answer, &pending.given_ids);
        }
        Step::Answered(pending.asker, answer)
    }

    /// Ends one without an answer.
    fn end(&self, id: u64) -> Step<A> {
        let Some(Pending { request: Request { shard, .. }, asker, is_unknown, .. }) = self.table.take(id)
        else {
            return Step::Nothing;
        };
        let refusal = if is_unknown {
            let reason = format!(
                "the owner of the shard {shard} went before it answered: it may have happened, ask again \
                 with the same id"
            );
            unknown(OUTCOME_UNKNOWN, 1_000, reason)
        } else {
            busy(UNREACHABLE, 1_000, format!("no node that is reached serves the shard {shard} now"))
        };
        Step::Answered(asker, Err(refusal))
    }
}

/// How long a reserve waits; none of other commands.
fn wait_of(command: &Command) -> Option<Milliseconds> {
    match command {
        Command::Queue(Queue::Reserve { wait, .. }) => Some(*wait),
        _ => None,
    }
}

/// Stands where a request is while its bytes are made.
fn placeholder() -> Request {
    let command = Command::Queue(Queue::Settle { leases: Vec::new() });
    Request { id: 0, shard: 0, generation: 0, time_left: 0, command, searches: false, trace: None }
}

/// Whether the shard did not take the command because it is elsewhere, or about to be.
fn has_moved(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Busy { code, .. } if [MOVED, NOT_HERE, STOPPING].contains(code))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stadium_membership::{Entry, Node, Shard, Stored, Versions, View};
    use stadium_queue::{NewJob, QueueName};

    use super::*;

    struct Client;

    impl Asks for Client {
        fn id(&self) -> u64 {
            1
        }

        fn is_gone(&self) -> bool {
            false
        }
    }

    /// Another node owns shard 0.
    fn owners() -> Owners {
        let owners = Owners::new(NodeName::new("here").expect("a good name"), 1);
        let there: stadium_membership::NodeName = "there".parse().expect("a good name");
        let versions = Versions { program: "test".to_owned(), level_min: 1, level_max: 1 };
        let node = Arc::new(Node::new(std::collections::BTreeMap::new(), None, versions));
        let mut view = View::default();
        view.nodes.insert(there.clone(), Stored { revision: 1, value: node });
        let entry = Arc::new(Entry::new(vec![there]));
        view.map.insert(Shard(0), Stored { revision: 1, value: entry });
        owners.follow(&view);
        owners
    }

    #[test]
    fn a_full_link_after_an_attempt_that_may_have_happened_is_not_busy() {
        let (commands, owners, now) = (Commands::new(Bounds::default(), 7), owners(), Instant::now());
        let queue = QueueName::new("mail").expect("a name");
        let mut command = Queue::Put { queue, jobs: vec![NewJob::default()], principal: None };
        commands.identify(&mut command);
        let command = Forwarded::Queue { command, searches: false };
        let Ok(id) = commands.enter(0, command, Client, now) else { panic!("there is room") };
        let sent = commands.attempt(id, now, &owners, |_| false, |_, _, _, _| Sent::OnItsWay);
        assert!(matches!(sent, Step::Nothing));
        assert!(matches!(commands.lost(id, now), Step::Later { .. }));
        let full = busy("CLU-211", 100, "the link has no room");
        let refused = commands.attempt(id, now, &owners, |_| false, |_, _, _, _| Sent::Refused(full));
        assert!(matches!(refused, Step::Later { .. }), "Busy would say that nothing happened");
        let Step::Answered(Client, Err(refusal)) = commands.again(id, now + ASKED_FOR) else {
            panic!("its time is over")
        };
        assert!(refusal.is_unknown(), "{refusal}");
        assert!(commands.is_empty());
    }
}
