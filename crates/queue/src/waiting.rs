//! Consumers that wait for a job: the shard keeps a line of them for each queue.

use stadium_state_machine::{Line, Waitable};

use crate::{Answer, Command, QueueName, Queues};

impl Waitable for Queues {
    type Key = QueueName;

    #[inline]
    fn line(command: &Command) -> Option<Line<'_, QueueName>> {
        match command {
            Command::Reserve { queue, wait, .. } => Some(Line { key: queue, wait: *wait }),
            _ => None,
        }
    }

    #[inline]
    fn is_nothing(answer: &Self::Answer) -> bool {
        matches!(answer, Answer::Reserved(jobs) if jobs.is_empty())
    }

    #[inline]
    fn nothing() -> Self::Answer {
        Answer::Reserved(Vec::new())
    }

    fn take_ready(&mut self, into: &mut Vec<QueueName>) {
        Queues::take_ready(self, into);
    }

    #[inline]
    fn note_waiting(answer: &mut Self::Answer, waiting: impl Fn(&QueueName) -> u64) {
        if let Answer::Queues(queues) = answer {
            queues.iter_mut().for_each(|stats| stats.waiting = waiting(&stats.queue));
        }
    }
}
