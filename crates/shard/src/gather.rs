//! One answer out of those of several shards.
//!
//! What was asked of each shard is known by the parts; how they become one is the [`Merge`]. Where a shard
//! refuses its part, what has an outcome for each item says so for its items; everything else is refused as a whole, although other
//! shards may have done theirs: see docs/shards.md.

use std::sync::Arc;
use std::task::{Context, Poll};

use stadium_state_machine::Refusal;

use crate::answer::{Answer, Reply};
use crate::client::Inner;
use crate::ticket::{Answered, One};

/// How answers become one.
pub(crate) enum Merge {
    Queue(stadium_queue::Merge),
    Wallet(stadium_wallet::Parts),
    /// What shards are asked next is known once these have answered.
    Push(stadium_push::Parts, Arc<Inner>),
    /// Of transfers and jobs together that name only ids: the shard that knows them.
    WhoKnows,
    /// Those of one shard after those of the other.
    Seals,
}

/// Waits for several shards.
pub(crate) struct Gather {
    parts: Vec<Part>,
    merge: Merge,
}

enum Part {
    Open(One),
    There(Answered),
}

fn part(asked: Result<One, Refusal>) -> Part {
    match asked {
        Ok(one) => Part::Open(one),
        Err(refusal) => Part::There(Err(refusal)),
    }
}

impl Gather {
    pub(crate) fn new(parts: Vec<Result<One, Refusal>>, merge: Merge) -> Self {
        Gather { parts: parts.into_iter().map(part).collect(), merge }
    }

    pub(crate) fn of_queues(parts: Vec<Result<One, Refusal>>, merge: stadium_queue::Merge) -> Self {
        Self::new(parts, Merge::Queue(merge))
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Answered> {
        let mut is_open = false;
        for part in &mut self.parts {
            if let Part::Open(one) = part {
                match one.poll(context) {
                    Poll::Ready(answer) => *part = Part::There(answer),
                    Poll::Pending => is_open = true,
                }
            }
        }
        if is_open {
            return Poll::Pending;
        }
        let answers = std::mem::take(&mut self.parts).into_iter().map(|part| match part {
            Part::There(answer) => answer,
            Part::Open(_) => unreachable!("all parts are there"),
        });
        let answers: Vec<Answered> = answers.collect();
        if let Merge::Push(how, inner) = &self.merge {
            let answers = of_kind(answers);
            let next = how.then(&answers);
            if next.is_empty() {
                return Poll::Ready(how.merge(answers).map(Answer::Push));
            }
            let there = answers.into_iter().map(|answer| Part::There(answer.map(Answer::Push)));
            let asked = next.into_iter().map(|(shard, command)| part(inner.ask_push(shard, command)));
            self.parts = there.chain(asked).collect();
            return self.poll(context);
        }
        Poll::Ready(merge(answers, &self.merge))
    }
}

fn merge(answers: Vec<Answered>, how: &Merge) -> Answered {
    match how {
        Merge::Queue(how) => stadium_queue::merge(of_kind(answers), how).map(Answer::Queue),
        Merge::Wallet(parts) => parts.merge(of_kind(answers)).map(Answer::Wallet),
        Merge::Push(how, _) => how.merge(of_kind(answers)).map(Answer::Push),
        Merge::WhoKnows => stadium_wallet::who_knows(answers),
        Merge::Seals => {
            let all: Result<Vec<Vec<_>>, _> = of_kind(answers).into_iter().collect();
            Ok(Answer::Seals(all?.concat()))
        }
    }
}

fn of_kind<A: Reply>(answers: Vec<Answered>) -> Vec<Result<A, Refusal>> {
    answers.into_iter().map(|answer| answer.map(A::of)).collect()
}
