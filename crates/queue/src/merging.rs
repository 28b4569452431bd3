//! One answer of the queues out of those of several shards.
//!
//! Where a shard refuses its part, an answer with an outcome for each job reports the refusal for
//! its jobs.

use bytes::Bytes;
use stadium_state_machine::all_of;

use crate::{Answer, Given, JobView, Placed, QueueStats, Refusal};

/// The answer of a shard.
type Answered = Result<Answer<Bytes>, Refusal>;

/// How answers of several shards become one.
#[derive(Debug)]
pub enum Merge {
    /// Placed and outcomes: each part knows which of the whole it has.
    ByPlace {
        /// Of each part, the places of its items in the whole.
        places: Vec<Vec<usize>>,
        /// Items in all.
        whole: usize,
    },
    /// Counts are added.
    Sum,
    /// All did it.
    Done,
    /// Jobs, part after part, so many at most.
    Jobs {
        /// Jobs at most.
        jobs_max: usize,
    },
    /// Queues of one name are one, by name, so many at most.
    Queues {
        /// Queues at most.
        queues_max: usize,
    },
}

/// Puts the answers of parts together, in their order.
///
/// # Errors
///
/// The refusal of a shard, where the answer has no place for it beside the work of others.
pub fn merge(answers: Vec<Answered>, how: &Merge) -> Answered {
    match how {
        Merge::ByPlace { places, whole } => merge_by_place(answers, places, *whole),
        Merge::Sum => {
            let counts = answers.iter().flatten();
            let sum = counts.map(|answer| if let Answer::Count(count) = answer { *count } else { 0 }).sum();
            // A part that counts nothing did nothing.
            let parts = answers.into_iter().filter(|answer| *answer != Ok(Answer::Count(0))).collect();
            match all_of(parts) {
                Ok(_) => Ok(Answer::Count(sum)),
                Err(refusal) if sum > 0 => Err(refusal.of_a_part()),
                Err(refusal) => Err(refusal),
            }
        }
        Merge::Done => all_of(answers).map(|_| Answer::Done),
        Merge::Jobs { jobs_max } => {
            let mut all: Vec<JobView<Bytes>> = Vec::new();
            for answer in answers {
                if let Answer::Jobs(jobs) = answer? {
                    all.extend(jobs);
                }
            }
            all.truncate(*jobs_max);
            Ok(Answer::Jobs(all))
        }
        Merge::Queues { queues_max } => merge_queues(answers, *queues_max),
    }
}

fn merge_by_place(answers: Vec<Answered>, places: &[Vec<usize>], whole: usize) -> Answered {
    let mut placed: Vec<Option<Placed>> = vec![None; whole];
    let mut given: Vec<Option<Result<Given, Refusal>>> = vec![None; whole];
    let mut refused = None;
    for (answer, places) in answers.into_iter().zip(places) {
        match answer {
            Ok(Answer::Placed(part)) => {
                places.iter().zip(part).for_each(|(&place, one)| placed[place] = Some(one));
            }
            Ok(Answer::Given(part)) => {
                places.iter().zip(part).for_each(|(&place, one)| given[place] = Some(one));
            }
            Ok(_) => {}
            Err(refusal) => {
                places.iter().for_each(|&place| given[place] = Some(Err(refusal.clone())));
                refused = refused.filter(Refusal::is_unknown).or(Some(refusal));
            }
        }
    }
    if given.iter().all(Option::is_some) && given.iter().flatten().any(Result::is_ok) {
        return Ok(Answer::Given(given.into_iter().flatten().collect()));
    }
    let some_are_put = placed.iter().any(Option::is_some);
    match refused {
        Some(refusal) if some_are_put => Err(refusal.of_a_part()),
        Some(refusal) => Err(refusal),
        None if some_are_put => Ok(Answer::Placed(placed.into_iter().flatten().collect())),
        None => Ok(Answer::Given(given.into_iter().flatten().collect())),
    }
}

fn merge_queues(answers: Vec<Answered>, queues_max: usize) -> Answered {
    let mut all: Vec<QueueStats> = Vec::new();
    let mut refused = None;
    for answer in answers {
        match answer {
            Ok(Answer::Queues(queues)) => all.extend(queues),
            Ok(_) => {}
            Err(refusal) => refused = Some(refusal),
        }
    }
    if let Some(refusal) = refused
        && (all.is_empty() || !matches!(refusal, Refusal::Rejected { .. }))
    {
        return Err(refusal);
    }
    all.sort_by(|a, b| a.queue.cmp(&b.queue));
    all.dedup_by(|next, kept| {
        let same = next.queue == kept.queue;
        if same {
            add(kept, next);
        }
        same
    });
    all.truncate(queues_max);
    Ok(Answer::Queues(all))
}

/// One shard's part of a queue is added to another's.
fn add(sum: &mut QueueStats, part: &QueueStats) {
    sum.paused |= part.paused;
    sum.delayed += part.delayed;
    sum.due += part.due;
    sum.reserved += part.reserved;
    sum.buried += part.buried;
    sum.dead += part.dead;
    sum.oldest_due = [sum.oldest_due, part.oldest_due].into_iter().flatten().min();
    sum.put += part.put;
    sum.handed_out += part.handed_out;
    sum.settled += part.settled;
    sum.retried += part.retried;
    sum.died += part.died;
    sum.duplicates += part.duplicates;
    sum.waiting = sum.waiting.max(part.waiting);
}

#[cfg(test)]
mod tests {
    use super::{Merge, merge};
    use crate::{Answer, Given, JobId, Placed, Refusal};

    fn busy() -> Refusal {
        Refusal::Busy { code: "SHARD-001", retry_after: 1, reason: "full".into() }
    }

    #[test]
    fn outcomes_return_in_the_order_that_was_asked_for() {
        let answers = vec![
            Ok(Answer::Given(vec![Ok(Given::Done), Ok(Given::Already)])),
            Ok(Answer::Given(vec![Ok(Given::Dead)])),
        ];
        let how = Merge::ByPlace { places: vec![vec![2, 0], vec![1]], whole: 3 };
        let expected = vec![Ok(Given::Already), Ok(Given::Dead), Ok(Given::Done)];
        assert_eq!(merge(answers, &how), Ok(Answer::Given(expected)));
    }

    #[test]
    fn a_shard_that_refuses_refuses_its_jobs_only() {
        let answers = vec![Ok(Answer::Given(vec![Ok(Given::Done)])), Err(busy())];
        let how = Merge::ByPlace { places: vec![vec![1], vec![0]], whole: 2 };
        assert_eq!(merge(answers, &how), Ok(Answer::Given(vec![Err(busy()), Ok(Given::Done)])));
    }

    #[test]
    fn counts_are_added_and_a_refusal_stands() {
        assert_eq!(
            merge(vec![Ok(Answer::Count(2)), Ok(Answer::Count(3))], &Merge::Sum),
            Ok(Answer::Count(5))
        );
        assert_eq!(merge(vec![Ok(Answer::Count(0)), Err(busy())], &Merge::Sum), Err(busy()));
        assert_eq!(merge(vec![Err(busy()), Err(busy())], &Merge::Done), Err(busy()));
    }

    #[test]
    fn a_refusal_beside_a_part_that_was_done_does_not_claim_that_nothing_happened() {
        let put = || Ok(Answer::Placed(vec![Placed { job: JobId(7), duplicate: false }]));
        let how = || Merge::ByPlace { places: vec![vec![1], vec![0]], whole: 2 };
        for (answers, how) in [
            (vec![put(), Err(busy())], how()),
            (vec![Err(busy()), put()], how()),
            (vec![Ok(Answer::Count(2)), Err(busy())], Merge::Sum),
            (vec![Ok(Answer::Done), Err(busy())], Merge::Done),
            (vec![Err(busy()), Ok(Answer::Done)], Merge::Done),
        ] {
            let refusal = merge(answers, &how).expect_err("a shard refused");
            assert!(refusal.is_unknown() && refusal.code() == "SHARD-001", "{refusal}");
        }
        assert_eq!(merge(vec![Err(busy()), Err(busy())], &how()), Err(busy()));
        let unknown = || stadium_state_machine::unknown("SHARD-015", 1, "words");
        for answers in [vec![Err(unknown()), Err(busy())], vec![Err(busy()), Err(unknown())]] {
            assert_eq!(merge(answers.clone(), &how()), Err(unknown()));
            assert_eq!(merge(answers, &Merge::Done), Err(unknown()));
        }
        let done = || Ok(Answer::Done);
        for answers in [vec![done(), Err(unknown())], vec![Err(unknown()), done()]] {
            assert_eq!(merge(answers, &Merge::Done), Err(unknown()));
        }
    }
}
