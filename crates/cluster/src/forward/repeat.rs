//! Which commands a node asks again by itself when it does not know what became of them.
//!
//! To ask again is harmless where the second one finds that the first one happened: commands with ids,
//! commands about named things, reads. A put gets ids for that where its jobs have none.

use stadium_queue::{Command as Queue, Dedup, JobSet, Key, Milliseconds};
use stadium_shard_wire::Command;

use super::settings::ASKED_FOR;

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

/// Gives ids to jobs of a put that have none. Returns which ones got theirs here: an answer calls them
/// duplicates when the first attempt had put them.
pub(crate) fn give_ids(command: &mut Command, random: impl Fn() -> u128) -> Vec<usize> {
    let Command::Queue(Queue::Put { jobs, .. }) = command else { return Vec::new() };
    let mut given = Vec::new();
    for (at, job) in jobs.iter_mut().enumerate() {
        if job.dedup.is_none()
            && let Ok(id) = Key::new(&format!("node-{:032x}", random()))
        {
            job.dedup = Some(Dedup { id, window: Some(REMEMBERED) });
            given.push(at);
        }
    }
    given
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
        let mut put = Command::Queue(Queue::Put { queue: queue(), jobs, principal: None });
        assert!(!is_repeatable(&put));
        assert_eq!(give_ids(&mut put, || 7), [0]);
        assert!(is_repeatable(&put));
        let Command::Queue(Queue::Put { jobs, .. }) = &put else { unreachable!("it is a put") };
        assert_eq!(jobs[1].dedup.as_ref(), Some(&mine));
        let duplicate = |number| Placed { job: JobId::new(0, number), duplicate: true };
        let mut answer = stadium_shard::Answer::Queue(Answer::Placed(vec![duplicate(1), duplicate(2)]));
        forget_ids(&mut answer, &[0]);
        let stadium_shard::Answer::Queue(Answer::Placed(placed)) = answer else { unreachable!("it is one") };
        assert_eq!(placed.iter().map(|one| one.duplicate).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn commands_about_the_oldest_of_something_are_not_repeatable() {
        let kick = |jobs| Command::Queue(Queue::Kick { queue: queue(), jobs });
        assert!(!is_repeatable(&kick(JobSet::Oldest(5))));
        assert!(is_repeatable(&kick(JobSet::Ids(vec![JobId::new(0, 1)]))));
    }
}
