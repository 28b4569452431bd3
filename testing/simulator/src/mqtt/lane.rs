//! What a loop hands to one shard: one batch at a time, in the loop's order.
//!
//! A change that can fail is answered so. A change that reports a past event is handed over again
//! until the shard takes it, and nothing overtakes it.

use std::collections::VecDeque;

use stadium_mqtt::broker::{Persisted, Then};
use stadium_session::{Answer, Change, Command, Outcome, Refusal};

use crate::machine::Sabotage;

/// Changes of a batch, at most. Few, so that there are many batches.
const BATCH_MAX: usize = 40;

/// When a shard that was busy is asked again.
const RETRY_MS: u64 = 50;

/// What a loop hears of its batches.
#[derive(Default)]
pub struct Answered {
    pub persisted: Vec<(Then, Persisted)>,
    /// Of messages that are durable: receivers who knew them already, by their places.
    pub known: Vec<(Then, Box<[u32]>)>,
}

/// The result for a change that was sent, and the change where it must be sent again.
type Sent = (Then, Option<Change>);

#[derive(Default)]
pub struct Lane {
    /// Each with whether it can fail.
    waiting: VecDeque<(Change, Then, bool)>,
    /// The batch under way: its number as the shard was asked, and what it holds.
    under_way: Option<(u64, Vec<Sent>)>,
    retry_at_ms: u64,
    /// The last batch was refused: changes that take room travel apart from the others.
    apart: bool,
}

impl Lane {
    pub fn put(&mut self, change: Change, then: Then) {
        let can_fail = can_fail(&change);
        self.waiting.push_back((change, then, can_fail));
    }

    /// The same for a change whose refusal can be reported to nobody.
    pub fn put_for_certain(&mut self, change: Change, then: Then) {
        self.waiting.push_back((change, then, false));
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_none()
    }

    /// The next batch, where the shard has answered the one before.
    pub fn submit(&mut self, number: u64, now_ms: u64) -> Option<Command> {
        if self.waiting.is_empty() || self.under_way.is_some() || now_ms < self.retry_at_ms {
            return None;
        }
        let (mut changes, mut sent) = (Vec::new(), Vec::new());
        while changes.len() < BATCH_MAX
            && let Some((first, ..)) = self.waiting.front()
        {
            let other = |begun: &Change| begun.takes_room() != first.takes_room();
            if self.apart && changes.first().is_some_and(other) {
                break;
            }
            let Some((change, then, can_fail)) = self.waiting.pop_front() else { break };
            sent.push((then, (!can_fail).then(|| change.clone())));
            changes.push(change);
        }
        self.under_way = Some((number, sent));
        Some(Command::Batch(changes))
    }

    /// The answer to a batch, if it is this lane's.
    pub fn answered(
        &mut self,
        number: u64,
        answer: &Result<Answer, Refusal>,
        now_ms: u64,
        sabotage: Sabotage,
        into: &mut Answered,
    ) -> bool {
        let Some((_, sent)) = self.under_way.take_if(|(under_way, _)| *under_way == number) else {
            return false;
        };
        self.apart = answer.is_err();
        let persisted = match answer {
            Ok(Answer::Batch(outcomes)) => {
                let Answered { persisted, known } = into;
                persisted.extend(sent.iter().zip(outcomes).map(|((then, _), outcome)| {
                    let persisted = match outcome {
                        Outcome::Done => Persisted::Done,
                        Outcome::Partly(_) | Outcome::Known
                            if sabotage == Sabotage::KnownMessagesAreDelivered =>
                        {
                            Persisted::Done
                        }
                        Outcome::Partly(to) => {
                            known.push((*then, to.clone()));
                            Persisted::Done
                        }
                        Outcome::PartlyFull(to) => {
                            known.push((*then, to.clone()));
                            Persisted::Full
                        }
                        Outcome::Known => Persisted::Known,
                        Outcome::Full => Persisted::Full,
                    };
                    (*then, persisted)
                }));
                return true;
            }
            Ok(_) | Err(Refusal::Rejected { .. }) => Persisted::Full,
            Err(Refusal::Busy { .. }) => {
                self.retry_at_ms = now_ms + RETRY_MS;
                Persisted::Busy
            }
            Err(Refusal::Unknown { .. }) => {
                self.retry_at_ms = now_ms + RETRY_MS;
                Persisted::Unknown
            }
        };
        for (then, again) in sent.into_iter().rev() {
            match again {
                Some(change) => self.waiting.push_front((change, then, false)),
                None => into.persisted.push((then, persisted)),
            }
        }
        true
    }
}

/// Whether a change reports no past event.
fn can_fail(change: &Change) -> bool {
    change.takes_room() || matches!(change, Change::Ask { .. })
}
