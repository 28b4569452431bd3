//! Answers become messages.
//!
//! Each function takes the one kind of answer that its method expects, and gives `None` for another kind, which
//! would be a mistake of the shards. A value that is none in an answer is not set in its message.

use bytes::Bytes;
use stadium_queue::{
    Answer, Attempt, Cron, DeadLetter, Given, HistoryEntry, JobState, JobView, Limit, Missed, Outcome,
    QueueSettings, QueueStats, Refusal, Reserved, ScheduleView, Spread, Time,
};

use crate::{proto, request};

pub(crate) fn placed(answer: Answer<Bytes>) -> Option<proto::Placed> {
    let Answer::Placed(placed) = answer else { return None };
    let known = placed.iter().zip(0..).filter(|(placed, _)| placed.duplicate).map(|(_, index)| index);
    Some(proto::Placed {
        duplicates: known.collect(),
        jobs: placed.iter().map(|placed| placed.job.0).collect(),
    })
}

pub(crate) fn reserved(answer: Answer<Bytes>) -> Option<proto::ReservedJobs> {
    let Answer::Reserved(jobs) = answer else { return None };
    Some(proto::ReservedJobs { jobs: jobs.into_iter().map(reserved_job).collect() })
}

pub(crate) fn reserved_job(job: Reserved<Bytes>) -> proto::ReservedJob {
    proto::ReservedJob {
        job: job.lease.job.0,
        reservation: job.lease.reservation,
        payload: job.payload,
        until_ms: job.until.0,
        attempt: job.attempt.into(),
        put_at_ms: job.put_at.0,
        due_ms: job.due.0,
        priority: job.priority.into(),
        key: job.key.map(|key| key.as_str().to_owned()).unwrap_or_default(),
    }
}

pub(crate) fn outcomes(answer: Answer<Bytes>) -> Option<proto::Outcomes> {
    let Answer::Given(outcomes) = answer else { return None };
    Some(proto::Outcomes { outcomes: outcomes.into_iter().map(outcome).collect() })
}

fn outcome(outcome: Outcome) -> proto::Outcome {
    use proto::outcome::Status;
    let (status, code, reason, retry_after_ms) = match outcome {
        Ok(Given::Done) => (Status::Done, String::new(), String::new(), 0),
        Ok(Given::Already) => (Status::Already, String::new(), String::new(), 0),
        Ok(Given::Dead) => (Status::Dead, String::new(), String::new(), 0),
        Err(refusal) => {
            let status = match refusal {
                Refusal::Rejected { .. } => Status::Rejected,
                Refusal::Busy { .. } => Status::Busy,
                Refusal::Unknown { .. } => Status::Unknown,
            };
            let (code, reason, retry_after_ms, _) = request::of_an_item(refusal);
            (status, code, reason, retry_after_ms)
        }
    };
    proto::Outcome { status: status.into(), code, reason, retry_after_ms }
}

pub(crate) fn counted(answer: Answer<Bytes>) -> Option<proto::Counted> {
    let Answer::Count(jobs) = answer else { return None };
    Some(proto::Counted { jobs })
}

pub(crate) fn done(answer: Answer<Bytes>) -> Option<()> {
    matches!(answer, Answer::Done).then_some(())
}

pub(crate) fn jobs(answer: Answer<Bytes>) -> Option<proto::Jobs> {
    let Answer::Jobs(jobs) = answer else { return None };
    Some(proto::Jobs { jobs: jobs.into_iter().map(view).collect() })
}

pub(crate) fn job(answer: Answer<Bytes>) -> Option<proto::Job> {
    let Answer::Jobs(jobs) = answer else { return None };
    jobs.into_iter().next().map(view)
}

fn view(job: JobView<Bytes>) -> proto::Job {
    let state = match job.state {
        JobState::Delayed => proto::JobState::Delayed,
        JobState::Due => proto::JobState::Due,
        JobState::Reserved => proto::JobState::Reserved,
        JobState::Buried => proto::JobState::Buried,
        JobState::Dead => proto::JobState::Dead,
    };
    proto::Job {
        job: job.job.0,
        queue: job.queue.as_str().to_owned(),
        state: state.into(),
        payload: job.payload,
        put_at_ms: job.put_at.0,
        due_ms: job.due.0,
        lease_until_ms: job.lease_until.map(milliseconds),
        expires_ms: job.expires.map(milliseconds),
        attempts: job.attempts.into(),
        attempts_max: job.attempts_max.into(),
        priority: job.priority.into(),
        key: job.key.map(|key| key.as_str().to_owned()).unwrap_or_default(),
        reason: job.reason.unwrap_or_default(),
        principal: job.principal.map(|principal| principal.to_string()),
    }
}

pub(crate) fn history(answer: Answer<Bytes>) -> Option<proto::JobHistory> {
    let Answer::History(entries) = answer else { return None };
    Some(proto::JobHistory { entries: entries.into_iter().map(entry).collect() })
}

fn entry(entry: HistoryEntry) -> proto::HistoryEntry {
    use proto::history_entry::What;
    let mut message = proto::HistoryEntry { at_ms: entry.at.0, ..Default::default() };
    let what = match entry.what {
        Attempt::Put { queue, due, principal } => {
            (message.queue, message.due_ms) = (queue.as_str().to_owned(), due.0);
            message.principal = principal.map(|principal| principal.to_string());
            What::Put
        }
        Attempt::Reserved { attempt, worker, until } => {
            (message.attempt, message.until_ms) = (attempt.into(), until.0);
            message.worker = worker.map(|worker| worker.as_str().to_owned()).unwrap_or_default();
            What::Reserved
        }
        Attempt::Extended { until } => {
            message.until_ms = until.0;
            What::Extended
        }
        Attempt::Released { due, error } => {
            (message.due_ms, message.reason) = (due.0, error.unwrap_or_default());
            What::Released
        }
        Attempt::LeaseExpired { due } => {
            message.due_ms = due.0;
            What::LeaseExpired
        }
        Attempt::Buried { reason } => {
            message.reason = reason.unwrap_or_default();
            What::Buried
        }
        Attempt::Revived { queue } => {
            message.queue = queue.as_str().to_owned();
            What::Revived
        }
        Attempt::Dead { reason } => {
            message.reason = reason;
            What::Dead
        }
        Attempt::Edited => What::Edited,
        Attempt::Settled => What::Settled,
        Attempt::Forwarded { queue, job } => {
            (message.queue, message.job) = (queue.as_str().to_owned(), job.0);
            What::Forwarded
        }
        Attempt::Deleted => What::Deleted,
        Attempt::Expired => What::Expired,
        Attempt::Trimmed => What::Trimmed,
    };
    message.what = what.into();
    message
}

pub(crate) fn stats(answer: Answer<Bytes>) -> Option<proto::QueueStats> {
    let Answer::Queues(queues) = answer else { return None };
    queues.into_iter().next().map(queue_stats)
}

pub(crate) fn queues(answer: Answer<Bytes>) -> Option<proto::QueueList> {
    let Answer::Queues(queues) = answer else { return None };
    Some(proto::QueueList { queues: queues.into_iter().map(queue_stats).collect() })
}

fn queue_stats(stats: QueueStats) -> proto::QueueStats {
    proto::QueueStats {
        queue: stats.queue.as_str().to_owned(),
        settings: Some(settings(stats.settings)),
        paused: stats.paused,
        delayed: stats.delayed,
        due: stats.due,
        reserved: stats.reserved,
        buried: stats.buried,
        dead: stats.dead,
        oldest_due_ms: stats.oldest_due.map(milliseconds),
        put: stats.put,
        handed_out: stats.handed_out,
        settled: stats.settled,
        retried: stats.retried,
        died: stats.died,
        duplicates: stats.duplicates,
        waiting: stats.waiting,
    }
}

fn settings(settings: QueueSettings) -> proto::QueueSettings {
    use proto::queue_settings::DeadLetter as Wire;
    let limit = |limit: Limit| proto::Limit { rate: limit.rate, burst: limit.burst };
    proto::QueueSettings {
        lease_ms: Some(settings.lease),
        attempts_max: Some(settings.attempts_max.into()),
        backoff_first_ms: Some(settings.backoff.first),
        backoff_factor: Some(settings.backoff.factor),
        backoff_max_ms: Some(settings.backoff.max),
        backoff_jitter: Some(settings.backoff.jitter),
        dead_letter: match settings.dead_letter {
            DeadLetter::Keep => None,
            DeadLetter::Discard => Some(Wire::DeadLetterDiscard(true)),
            DeadLetter::Queue(queue) => Some(Wire::DeadLetterQueue(queue.as_str().to_owned())),
        },
        dead_time_to_live_ms: Some(settings.dead_time_to_live),
        dedup_window_ms: Some(settings.dedup_window),
        jobs_max: Some(settings.jobs_max),
        limit: settings.limit.map(limit),
        key_limit: settings.key_limit.map(limit),
        spread: settings.spread == Spread::AllShards,
    }
}

pub(crate) fn schedules(answer: Answer<Bytes>) -> Option<proto::ScheduleList> {
    let Answer::Schedules(schedules) = answer else { return None };
    Some(proto::ScheduleList { schedules: schedules.into_iter().map(schedule).collect() })
}

fn schedule(schedule: ScheduleView<Bytes>) -> proto::ScheduleView {
    proto::ScheduleView {
        name: schedule.name.as_str().to_owned(),
        cron: Some(cron(schedule.cron)),
        next_ms: schedule.next.map(milliseconds),
        last_ms: schedule.last.map(|(time, _)| time.0),
        last_job: schedule.last.map(|(_, job)| job.0).unwrap_or_default(),
        principal: schedule.principal.map(|principal| principal.to_string()),
    }
}

fn cron(cron: Cron) -> proto::Cron {
    let missed = match cron.missed {
        Missed::Once => proto::cron::Missed::Once,
        Missed::Skip => proto::cron::Missed::Skip,
        Missed::All => proto::cron::Missed::All,
    };
    proto::Cron { expression: cron.expression, time_zone: cron.time_zone, missed: missed.into() }
}

fn milliseconds(time: Time) -> u64 {
    time.0
}
