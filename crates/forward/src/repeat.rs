//! Which commands a node asks again by itself when it does not know what became of them.
//!
//! To ask again is harmless where the second one finds that the first one happened: commands with ids,
//! commands about named things, reads. A put gets ids for that where its jobs have none.

use std::sync::atomic::{AtomicU64, Ordering};

use stadium_queue::{Command as Queue, Dedup, JobSet, Key, Milliseconds};
use stadium_shard_wire::Command;

use crate::bounds::ASKED_FOR;

/// How long an id that a node gave to a job is remembered: longer than the node asks again, and as
/// short as that allows, since each costs some 120 bytes.
const REMEMBERED: Milliseconds = ASKED_FOR.as_millis() as Milliseconds + 5_000;

/// Whether the command may be carried out twice.
pub(crate) fn is_repeatable(command: &Command) -> bool {
    match command {
        Command::Queue(command) => match command {
            Queue::Put { jobs, .. } => jobs.iter().all(|job| job.dedup.is_some()),
            Queue::Kick { jobs, .. } | Queue::Redrive { jobs, .. } => matches!(jobs, JobSet::Ids(_)),
            // A second purge takes out what came after the first.
            Queue::Purge { .. } => false,
            _ => true,
        },
        Command::Wallet(_) => true,
        // A live push has no id: it would reach its devices twice.
        Command::Push(command) => !matches!(command, stadium_push::Command::SendLive { .. }),
        // Numbered by their loops, which repeat them.
        Command::Session(_) => false,
        // Transfers have ids, and jobs are put with them or not at all.
        Command::Together(together) => {
            !together.transfers.is_empty() || together.jobs.iter().all(|(_, job)| job.dedup.is_some())
        }
    }
}

/// The ids that a node gives to jobs.
///
/// An id has 24 bytes, which a [`Key`] keeps in itself: to give one allocates nothing. Its first half
/// is random for each start of a node, so that a client cannot choose an id of a node.
pub(crate) struct Ids {
    first_half: [u8; HALF],
    last: AtomicU64,
}

/// Bytes of half an id, which has a letter and 64 bits.
const HALF: usize = 12;

impl Ids {
    /// Of one start of a node. `random` is another number for each.
    pub(crate) fn new(random: u64) -> Self {
        Self { first_half: half(b'n', random), last: AtomicU64::new(0) }
    }

    /// Gives ids to the jobs of a put that have none.
    pub(crate) fn give(&self, command: &mut Queue) {
        let Queue::Put { jobs, .. } = command else { return };
        for job in jobs.iter_mut().filter(|job| job.dedup.is_none()) {
            let mut id = [0; 2 * HALF];
            id[..HALF].copy_from_slice(&self.first_half);
            id[HALF..].copy_from_slice(&half(b'-', self.last.fetch_add(1, Ordering::Relaxed)));
            let id = std::str::from_utf8(&id).ok().and_then(|id| Key::new(id).ok());
            job.dedup = id.map(|id| Dedup { id, window: Some(REMEMBERED) });
        }
    }

    /// The places of the jobs of a put that have an id of this node: where the put is carried out
    /// twice, the second answer calls them duplicates.
    pub(crate) fn given(&self, command: &Command) -> Vec<usize> {
        let Command::Queue(Queue::Put { jobs, .. }) = command else { return Vec::new() };
        let is_given = |dedup: &Dedup| dedup.id.as_str().as_bytes().starts_with(&self.first_half);
        let places = jobs.iter().enumerate();
        places.filter(|(_, job)| job.dedup.as_ref().is_some_and(is_given)).map(|(place, _)| place).collect()
    }
}

/// A letter and a number, as text.
fn half(letter: u8, number: u64) -> [u8; HALF] {
    const DIGITS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.";
    let mut text = [letter; HALF];
    for (place, digit) in text[1..].iter_mut().enumerate() {
        *digit = DIGITS[(number >> (6 * place) & 63) as usize];
    }
    text
}

/// Takes the mark of a duplicate from jobs that had no id before.
pub(crate) fn forget_ids(answer: &mut stadium_shard::Answer, given: &[usize]) {
    if let stadium_shard::Answer::Queue(stadium_queue::Answer::Placed(placed)) = answer {
        for at in given {
            if let Some(placed) = placed.get_mut(*at) {
                placed.duplicate = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use stadium_queue::{Answer, JobId, NewJob, Placed, QueueName};

    use super::*;

    fn queue() -> QueueName {
        QueueName::new("mail").expect("a name")
    }

    #[test]
    fn a_put_is_repeatable_once_its_jobs_have_ids_and_its_answer_shows_none_of_them() {
        let mine = Dedup { id: Key::new("mine").expect("an id"), window: None };
        let jobs = vec![NewJob::default(), NewJob { dedup: Some(mine.clone()), ..NewJob::default() }];
        let mut put = Queue::Put { queue: queue(), jobs, principal: None };
        assert!(!is_repeatable(&Command::Queue(put.clone())));
        let ids = Ids::new(7);
        ids.give(&mut put);
        let Queue::Put { jobs, .. } = &put else { unreachable!("it is a put") };
        assert_eq!(jobs[1].dedup.as_ref(), Some(&mine));
        let put = Command::Queue(put);
        assert!(is_repeatable(&put));
        assert_eq!(ids.given(&put), [0]);
        assert!(Ids::new(8).given(&put).is_empty());
        let duplicate = |number| Placed { job: JobId::new(0, number), duplicate: true };
        let mut answer = stadium_shard::Answer::Queue(Answer::Placed(vec![duplicate(1), duplicate(2)]));
        forget_ids(&mut answer, &[0]);
        let stadium_shard::Answer::Queue(Answer::Placed(placed)) = answer else { unreachable!("it is one") };
        assert_eq!(placed.iter().map(|one| one.duplicate).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn no_two_jobs_get_the_same_id_and_an_id_needs_no_memory_of_its_own() {
        let ids = [Ids::new(0), Ids::new(u64::MAX)];
        let mut put = Queue::Put { queue: queue(), jobs: vec![NewJob::default(); 5_000], principal: None };
        let mut seen = std::collections::BTreeSet::new();
        for ids in &ids {
            ids.give(&mut put);
            let Queue::Put { jobs, .. } = &mut put else { unreachable!("it is a put") };
            for id in jobs.iter_mut().filter_map(|job| job.dedup.take()).map(|dedup| dedup.id) {
                assert!(id.as_str().len() <= size_of::<Key>(), "{id}");
                assert!(seen.insert(id));
            }
        }
        assert_eq!(seen.len(), 10_000);
    }

    #[test]
    fn commands_about_the_oldest_of_something_are_not_repeatable() {
        let kick = |jobs| Command::Queue(Queue::Kick { queue: queue(), jobs });
        assert!(!is_repeatable(&kick(JobSet::Oldest(5))));
        assert!(is_repeatable(&kick(JobSet::Ids(vec![JobId::new(0, 1)]))));
    }
}
