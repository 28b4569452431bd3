//! Commands and answers in few words, for the trace.

use bytes::Bytes;
use stadium_queue::{Answer, Command, Key, Queues};
use stadium_shard::core::Delivery;

use crate::answered::Answered;
use crate::message::{Content, Tag};

pub(super) fn brief(command: &Command, tags: &[Tag]) -> String {
    match command {
        Command::Put { queue, jobs, .. } => {
            let jobs = jobs.iter().zip(tags).map(|(job, tag)| {
                format!(
                    "{tag} ({} B, {:?}, key {:?}, priority {:?}, ttl {:?}, dedup {:?}, attempts {:?})",
                    job.payload.len(),
                    job.when,
                    job.key.as_ref().map(Key::as_str),
                    job.priority,
                    job.time_to_live,
                    job.dedup.as_ref().map(|dedup| (dedup.id.as_str(), dedup.window)),
                    job.attempts_max,
                )
            });
            format!("put into {queue}: {}", jobs.collect::<Vec<_>>().join(", "))
        }
        Command::Forward { lease, queue, job, .. } => {
            format!("forward {lease} ({}) to {queue}, {} B", tags[0], job.payload.len())
        }
        Command::Edit { job, edit } => {
            let payload = edit.payload.as_ref().map(Bytes::len);
            format!("edit {job}: {payload:?} B, {:?}", Edited(edit))
        }
        other => format!("{other:?}"),
    }
}

struct Edited<'a>(&'a stadium_queue::Edit);

impl std::fmt::Debug for Edited<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stadium_queue::Edit { when, priority, time_to_live, attempts_max, .. } = self.0;
        write!(f, "when {when:?}, priority {priority:?}, ttl {time_to_live:?}, attempts {attempts_max:?}")
    }
}

pub(super) fn brief_delivery(to: u16, delivery: &Delivery) -> String {
    match delivery.of::<Queues>() {
        Some(job) => {
            format!(
                "delivery {} of shard {} to shard {to}, {} B",
                job.number,
                job.shard,
                job.message.job.payload.len()
            )
        }
        None => format!("to shard {to}: {delivery:?}"),
    }
}

pub(super) fn brief_answer(answer: &Answered) -> String {
    match answer {
        Ok(Answer::Reserved(jobs)) => {
            let jobs = jobs.iter().map(|job| {
                let tag = Content::read(&job.payload).map_or("?".into(), |content| content.tag.to_string());
                format!("{tag} {} attempt {} until {}", job.lease, job.attempt, job.until.0)
            });
            format!("reserved: {}", jobs.collect::<Vec<_>>().join(", "))
        }
        Ok(Answer::Placed(placed)) => {
            let placed = placed
                .iter()
                .map(|placed| format!("{}{}", placed.job, if placed.duplicate { " (known)" } else { "" }));
            format!("placed: {}", placed.collect::<Vec<_>>().join(", "))
        }
        Ok(Answer::Jobs(jobs)) => format!("{} jobs", jobs.len()),
        Ok(other) => format!("{other:?}"),
        Err(refusal) => format!("refused: {refusal}"),
    }
}
