//! Requests become commands: names and numbers are checked here for their form, everything else by the shard.
//!
//! Zero and the empty text stand for "not given", as the contract has it; where zero could be
//! meant, fields are optional. Payloads go on as they are, sharing the bytes of the request.

use std::time::Duration;

use stadium_queue::{
    Backoff, Bounds, Command, Cron, DeadLetter, Dedup, Edit, JobId, JobSet, JobState, Key, Lease, Limit,
    Milliseconds, Missed, NewJob, QueueName, QueueSettings, Retry, Spread, Time, When, WorkerName,
};
use stadium_rpc::{CallContext, Refusal};

use crate::access::Caller;
use crate::proto;
use crate::request::{given, named, wrong};

/// How much earlier than its caller gives up a reserve is answered that found nothing: time for the answer to travel.
const BEFORE_DEADLINE: Duration = Duration::from_millis(50);

/// Jobs of a peek of no given size.
const PEEK_JOBS: u32 = 100;

/// Queues of a list of no given size.
const LIST_QUEUES: u32 = 1_000;

pub(crate) fn put(request: proto::PutRequest) -> Result<Command, Refusal> {
    let jobs = request.jobs.into_iter().map(new_job).collect::<Result<_, _>>()?;
    Ok(Command::Put { queue: queue(&request.queue)?, jobs, principal: None })
}

/// A command that puts jobs does so for its caller.
pub(crate) fn for_caller(command: &mut Command, caller: &Caller) {
    if let Command::Put { principal, .. }
    | Command::Forward { principal, .. }
    | Command::Schedule { principal, .. } = command
    {
        *principal = caller.principal();
    }
}

pub(crate) fn reserve(context: &CallContext, request: proto::ReserveRequest) -> Result<Command, Refusal> {
    let left = context.time_left().saturating_sub(BEFORE_DEADLINE).as_millis();
    let left = Milliseconds::try_from(left).unwrap_or(Milliseconds::MAX);
    Ok(Command::Reserve {
        queue: queue(&request.queue)?,
        jobs_max: request.jobs_max.max(1),
        lease: given(request.lease_ms),
        wait: request.wait_ms.min(left),
        worker: worker(&request.worker)?,
    })
}

pub(crate) fn work(
    request: &proto::WorkRequest,
) -> Result<(QueueName, Option<Milliseconds>, Option<WorkerName>), Refusal> {
    Ok((queue(&request.queue)?, given(request.lease_ms), worker(&request.worker)?))
}

pub(crate) fn settle(request: proto::SettleRequest) -> Result<Command, Refusal> {
    Ok(Command::Settle { leases: leases(request.leases) })
}

pub(crate) fn release(request: proto::ReleaseRequest) -> Result<Command, Refusal> {
    let retry = match request.retry {
        None => Retry::Backoff,
        Some(proto::release_request::Retry::DelayMs(delay)) => Retry::After(delay),
        Some(proto::release_request::Retry::NotTriedMs(delay)) => Retry::NotTried(delay),
    };
    Ok(Command::Release { leases: leases(request.leases), retry, error: text(request.error) })
}

pub(crate) fn extend(request: proto::ExtendRequest) -> Result<Command, Refusal> {
    Ok(Command::Extend { leases: leases(request.leases), lease: request.lease_ms })
}

pub(crate) fn bury(request: proto::BuryRequest) -> Result<Command, Refusal> {
    Ok(Command::Bury { leases: leases(request.leases), reason: text(request.reason) })
}

pub(crate) fn forward(request: proto::ForwardRequest) -> Result<Command, Refusal> {
    let lease = request.lease.ok_or_else(|| wrong("a forward needs a lease".to_owned()))?;
    Ok(Command::Forward {
        lease: one_lease(lease),
        queue: queue(&request.queue)?,
        job: new_job(request.job.unwrap_or_default())?,
        principal: None,
    })
}

pub(crate) fn kick(request: proto::KickRequest) -> Result<Command, Refusal> {
    Ok(Command::Kick { queue: queue(&request.queue)?, jobs: job_set(request.jobs, request.oldest)? })
}

pub(crate) fn redrive(request: proto::RedriveRequest) -> Result<Command, Refusal> {
    let to = (!request.to.is_empty()).then(|| queue(&request.to)).transpose()?;
    Ok(Command::Redrive { queue: queue(&request.queue)?, jobs: job_set(request.jobs, request.oldest)?, to })
}

pub(crate) fn delete(request: proto::DeleteRequest) -> Result<Command, Refusal> {
    Ok(Command::Delete { jobs: request.jobs.into_iter().map(JobId).collect() })
}

pub(crate) fn edit(request: proto::EditRequest) -> Result<Command, Refusal> {
    let edit = Edit {
        payload: request.payload,
        when: request.when.map(|when| match when {
            proto::edit_request::When::DelayMs(delay) => When::After(delay),
            proto::edit_request::When::RunAtMs(at_ms) => When::At(Time(at_ms)),
        }),
        priority: request.priority.map(priority).transpose()?,
        time_to_live: request.time_to_live_ms,
        attempts_max: request.attempts_max.map(attempts).transpose()?,
    };
    Ok(Command::Edit { job: JobId(request.job), edit })
}

pub(crate) fn purge(request: proto::PurgeRequest) -> Result<Command, Refusal> {
    Ok(Command::Purge { queue: queue(&request.queue)?, state: state(request.state)? })
}

pub(crate) fn pause(request: &proto::QueueNamed) -> Result<Command, Refusal> {
    Ok(Command::Pause { queue: queue(&request.queue)? })
}

pub(crate) fn resume(request: &proto::QueueNamed) -> Result<Command, Refusal> {
    Ok(Command::Resume { queue: queue(&request.queue)? })
}

pub(crate) fn declare(request: proto::DeclareRequest) -> Result<Command, Refusal> {
    let settings = settings(request.settings.unwrap_or_default())?;
    Ok(Command::Declare { queue: queue(&request.queue)?, settings })
}

pub(crate) fn drop(request: &proto::QueueNamed) -> Result<Command, Refusal> {
    Ok(Command::Drop { queue: queue(&request.queue)? })
}

pub(crate) fn schedule(request: proto::ScheduleRequest) -> Result<Command, Refusal> {
    let cron = request.cron.ok_or_else(|| wrong("a schedule needs a cron expression".to_owned()))?;
    Ok(Command::Schedule {
        queue: queue(&request.queue)?,
        name: named(Key::new(&request.name))?,
        cron: Box::new(Cron {
            missed: match cron.missed() {
                proto::cron::Missed::Once => Missed::Once,
                proto::cron::Missed::Skip => Missed::Skip,
                proto::cron::Missed::All => Missed::All,
            },
            expression: cron.expression,
            time_zone: if cron.time_zone.is_empty() { "UTC".to_owned() } else { cron.time_zone },
        }),
        job: new_job(request.job.unwrap_or_default())?,
        principal: None,
    })
}

pub(crate) fn unschedule(request: &proto::UnscheduleRequest) -> Result<Command, Refusal> {
    Ok(Command::Unschedule { queue: queue(&request.queue)?, name: named(Key::new(&request.name))? })
}

pub(crate) fn peek(request: &proto::PeekRequest) -> Result<Command, Refusal> {
    Ok(Command::Peek {
        queue: queue(&request.queue)?,
        state: state(request.state)?,
        key: key(&request.key)?,
        after: given(request.after).map(JobId),
        jobs_max: if request.jobs_max == 0 { PEEK_JOBS } else { request.jobs_max },
    })
}

pub(crate) fn find(request: &proto::JobNamed) -> Command {
    Command::Find { job: JobId(request.job) }
}

pub(crate) fn history(request: &proto::JobNamed) -> Command {
    Command::History { job: JobId(request.job) }
}

pub(crate) fn stats(request: &proto::QueueNamed) -> Result<Command, Refusal> {
    Ok(Command::Stats { queue: queue(&request.queue)? })
}

pub(crate) fn list(request: &proto::ListRequest) -> Result<Command, Refusal> {
    Ok(Command::List {
        after: (!request.after.is_empty()).then(|| queue(&request.after)).transpose()?,
        queues_max: if request.queues_max == 0 { LIST_QUEUES } else { request.queues_max },
    })
}

pub(crate) fn schedules(request: &proto::QueueNamed) -> Result<Command, Refusal> {
    Ok(Command::Schedules { queue: queue(&request.queue)? })
}

/// A job as the contract has it.
pub(crate) fn new_job(job: proto::NewJob) -> Result<NewJob, Refusal> {
    let when = match (job.delay_ms, job.run_at_ms) {
        (0, 0) => When::Now,
        (delay, 0) => When::After(delay),
        (0, at_ms) => When::At(Time(at_ms)),
        _ => return Err(wrong("a job has delay_ms or run_at_ms, not both".to_owned())),
    };
    let dedup = match job.dedup_id.as_str() {
        "" if job.dedup_window_ms > 0 => {
            return Err(wrong(
                "dedup_window_ms says how long dedup_id is remembered, which is missing".to_owned(),
            ));
        }
        "" => None,
        id => Some(Dedup { id: named(Key::new(id))?, window: given(job.dedup_window_ms) }),
    };
    Ok(NewJob {
        payload: job.payload,
        when,
        priority: job.priority.map(priority).transpose()?,
        time_to_live: given(job.time_to_live_ms),
        dedup,
        key: key(&job.key)?,
        attempts_max: given(job.attempts_max).map(attempts).transpose()?,
    })
}

fn settings(declared: proto::QueueSettings) -> Result<QueueSettings, Refusal> {
    let usual = QueueSettings::default();
    let dead_letter = match declared.dead_letter {
        None | Some(proto::queue_settings::DeadLetter::DeadLetterDiscard(false)) => DeadLetter::Keep,
        Some(proto::queue_settings::DeadLetter::DeadLetterDiscard(true)) => DeadLetter::Discard,
        Some(proto::queue_settings::DeadLetter::DeadLetterQueue(name)) => DeadLetter::Queue(queue(&name)?),
    };
    let limit = |limit: proto::Limit| Limit { rate: limit.rate, burst: limit.burst };
    Ok(QueueSettings {
        lease: declared.lease_ms.unwrap_or(usual.lease),
        attempts_max: declared.attempts_max.map(attempts).transpose()?.unwrap_or(usual.attempts_max),
        backoff: Backoff {
            first: declared.backoff_first_ms.unwrap_or(usual.backoff.first),
            factor: declared.backoff_factor.unwrap_or(usual.backoff.factor),
            max: declared.backoff_max_ms.unwrap_or(usual.backoff.max),
            jitter: declared.backoff_jitter.unwrap_or(usual.backoff.jitter),
        },
        dead_letter,
        dead_time_to_live: declared.dead_time_to_live_ms.unwrap_or(usual.dead_time_to_live),
        dedup_window: declared.dedup_window_ms.unwrap_or(usual.dedup_window),
        jobs_max: declared.jobs_max.unwrap_or(usual.jobs_max),
        limit: declared.limit.map(limit),
        key_limit: declared.key_limit.map(limit),
        spread: if declared.spread { Spread::AllShards } else { Spread::OneShard },
    })
}

fn job_set(jobs: Vec<u64>, oldest: u32) -> Result<JobSet, Refusal> {
    match (jobs.is_empty(), oldest) {
        (true, 0) => Err(wrong("it names no jobs: set jobs or oldest".to_owned())),
        (true, oldest) => Ok(JobSet::Oldest(oldest)),
        (false, 0) => Ok(JobSet::Ids(jobs.into_iter().map(JobId).collect())),
        (false, _) => Err(wrong("it names jobs or how many of the oldest, not both".to_owned())),
    }
}

fn state(number: i32) -> Result<Option<JobState>, Refusal> {
    match proto::JobState::try_from(number) {
        Ok(proto::JobState::Unset) => Ok(None),
        Ok(proto::JobState::Delayed) => Ok(Some(JobState::Delayed)),
        Ok(proto::JobState::Due) => Ok(Some(JobState::Due)),
        Ok(proto::JobState::Reserved) => Ok(Some(JobState::Reserved)),
        Ok(proto::JobState::Buried) => Ok(Some(JobState::Buried)),
        Ok(proto::JobState::Dead) => Ok(Some(JobState::Dead)),
        Err(_) => Err(wrong(format!("{number} is no state of a job"))),
    }
}

fn leases(leases: Vec<proto::Lease>) -> Vec<Lease> {
    leases.into_iter().map(one_lease).collect()
}

fn one_lease(lease: proto::Lease) -> Lease {
    Lease { job: JobId(lease.job), reservation: lease.reservation }
}

fn queue(name: &str) -> Result<QueueName, Refusal> {
    named(QueueName::new(name))
}

fn key(key: &str) -> Result<Option<Key>, Refusal> {
    (!key.is_empty()).then(|| named(Key::new(key))).transpose()
}

fn worker(name: &str) -> Result<Option<WorkerName>, Refusal> {
    (!name.is_empty()).then(|| named(WorkerName::new(name))).transpose()
}

fn priority(number: u32) -> Result<u8, Refusal> {
    u8::try_from(number).map_err(|_| {
        let reason = format!("priority {number} is not one of 0 to {}", Bounds::PRIORITY_MAX);
        Refusal::rejected(stadium_queue::refusal::PRIORITY, reason)
    })
}

fn attempts(number: u32) -> Result<u16, Refusal> {
    u16::try_from(number).map_err(|_| {
        let reason = format!("{number} attempts are not 1 to {}", Bounds::ATTEMPTS_MAX);
        Refusal::rejected(stadium_queue::refusal::ATTEMPTS, reason)
    })
}

fn text(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
