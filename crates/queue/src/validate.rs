//! Bounds of commands that do not depend on state.
//!
//! Everything here is a Rejected: asked again, it would be refused again.

use crate::refusal::{
    ATTEMPTS, COMMAND_BYTES, COUNT, DEDUP_WINDOW, DELAY, LEASE, PAYLOAD, PRIORITY, REASON, SETTINGS,
    TIME_TO_LIVE, WAIT, rejected,
};
use crate::{Bounds, Limit, Milliseconds, NewJob, QueueSettings, Refusal, Retry, Time, When};

type Checked = Result<(), Refusal>;

fn within(ok: bool, code: &'static str, reason: impl FnOnce() -> String) -> Checked {
    if ok { Ok(()) } else { Err(rejected(code, reason())) }
}

/// 1 to 1,000 of something.
pub(crate) fn count(count: usize) -> Checked {
    within((1..=Bounds::JOBS_MAX).contains(&count), COUNT, || {
        format!("the command is about {count} jobs; 1 to {} are allowed", Bounds::JOBS_MAX)
    })
}

pub(crate) fn priority(priority: u8) -> Checked {
    within(priority <= Bounds::PRIORITY_MAX, PRIORITY, || {
        format!("priority {priority} is none; 0 to {}, the highest, are", Bounds::PRIORITY_MAX)
    })
}

pub(crate) fn attempts(attempts: u16) -> Checked {
    within((1..=Bounds::ATTEMPTS_MAX).contains(&attempts), ATTEMPTS, || {
        format!("{attempts} attempts are not possible; 1 to {} are", Bounds::ATTEMPTS_MAX)
    })
}

pub(crate) fn lease(lease: Milliseconds) -> Checked {
    within((Bounds::LEASE_MIN..=Bounds::LEASE_MAX).contains(&lease), LEASE, || {
        let (min, max) = (Bounds::LEASE_MIN, Bounds::LEASE_MAX);
        format!("a lease of {lease} ms is not possible; {min} to {max} ms are")
    })
}

pub(crate) fn wait(wait: Milliseconds) -> Checked {
    within(wait <= Bounds::WAIT_MAX, WAIT, || {
        format!("a wait of {wait} ms is too long; {} ms at most", Bounds::WAIT_MAX)
    })
}

pub(crate) fn delay(delay: Milliseconds) -> Checked {
    within(delay <= Bounds::SPAN_MAX, DELAY, || {
        format!("a delay of {delay} ms is too long; {} ms at most, which is a year", Bounds::SPAN_MAX)
    })
}

pub(crate) fn time_to_live(span: Milliseconds) -> Checked {
    within((1..=Bounds::SPAN_MAX).contains(&span), TIME_TO_LIVE, || {
        format!("a time to live of {span} ms is not possible; 1 to {} ms are", Bounds::SPAN_MAX)
    })
}

pub(crate) fn dedup_window(span: Milliseconds) -> Checked {
    within((1..=Bounds::SPAN_MAX).contains(&span), DEDUP_WINDOW, || {
        format!("a dedup window of {span} ms is not possible; 1 to {} ms are", Bounds::SPAN_MAX)
    })
}

pub(crate) fn when(when: When, now: Time) -> Checked {
    match when {
        When::Now => Ok(()),
        When::After(span) => delay(span),
        When::At(at) => delay(at.0.saturating_sub(now.0)),
    }
}

pub(crate) fn retry(retry: Retry) -> Checked {
    match retry {
        Retry::Backoff => Ok(()),
        Retry::After(span) | Retry::NotTried(span) => delay(span),
    }
}

pub(crate) fn reason(reason: Option<&str>) -> Checked {
    let bytes = reason.map_or(0, str::len);
    within(bytes <= Bounds::REASON_BYTES_MAX, REASON, || {
        format!("the reason has {bytes} bytes; {} are allowed", Bounds::REASON_BYTES_MAX)
    })
}

pub(crate) fn payload(bytes: usize, bounds: &Bounds) -> Checked {
    within(bytes <= bounds.payload_bytes_max as usize, PAYLOAD, || {
        format!("a payload of {bytes} bytes is too large; {} are allowed", bounds.payload_bytes_max)
    })
}

/// Everything about a new job but its queue's state.
pub(crate) fn job(job: &NewJob, now: Time, bounds: &Bounds) -> Checked {
    payload(job.payload.len(), bounds)?;
    when(job.when, now)?;
    job.priority.map_or(Ok(()), priority)?;
    job.time_to_live.map_or(Ok(()), time_to_live)?;
    job.attempts_max.map_or(Ok(()), attempts)?;
    job.dedup.as_ref().and_then(|dedup| dedup.window).map_or(Ok(()), dedup_window)
}

/// All jobs of a put.
pub(crate) fn jobs(jobs: &[NewJob], now: Time, bounds: &Bounds) -> Checked {
    count(jobs.len())?;
    jobs.iter().try_for_each(|of| job(of, now, bounds))?;
    let bytes: usize = jobs.iter().map(|job| job.payload.len()).sum();
    within(bytes <= Bounds::COMMAND_BYTES_MAX, COMMAND_BYTES, || {
        let max = Bounds::COMMAND_BYTES_MAX;
        format!(
            "the payloads of the command have {bytes} bytes together; {max} are allowed: put fewer at once"
        )
    })
}

/// All settings of a queue.
pub(crate) fn settings(settings: &QueueSettings) -> Checked {
    let setting = |ok: bool, what: &str, bounds: &str| {
        within(ok, SETTINGS, || format!("the setting {what} is out of its bounds, {bounds}"))
    };
    let lease = settings.lease;
    setting((Bounds::LEASE_MIN..=Bounds::LEASE_MAX).contains(&lease), "lease", "1 s to 12 h")?;
    setting((1..=Bounds::ATTEMPTS_MAX).contains(&settings.attempts_max), "attempts_max", "1 to 1,000")?;
    let backoff = &settings.backoff;
    let year = 0..=Bounds::SPAN_MAX;
    setting(year.contains(&backoff.first), "backoff.first", "0 to a year")?;
    setting(year.contains(&backoff.max), "backoff.max", "0 to a year")?;
    setting((1.0..=10.0).contains(&backoff.factor), "backoff.factor", "1.0 to 10.0")?;
    setting((0.0..=1.0).contains(&backoff.jitter), "backoff.jitter", "0.0 to 1.0")?;
    let some_year = 1..=Bounds::SPAN_MAX;
    setting(some_year.contains(&settings.dead_time_to_live), "dead_time_to_live", "1 ms to a year")?;
    setting(some_year.contains(&settings.dedup_window), "dedup_window", "1 ms to a year")?;
    setting((1..=u64::from(u32::MAX)).contains(&settings.jobs_max), "jobs_max", "1 to 2^32 - 1")?;
    let limit = |limit: Option<Limit>, what| match limit {
        None => Ok(()),
        Some(limit) => {
            let ok = (0.001..=1_000_000.0).contains(&limit.rate) && (1..=1_000_000).contains(&limit.burst);
            setting(ok, what, "a rate of 0.001 to 1,000,000 a second and a burst of 1 to 1,000,000")
        }
    };
    limit(settings.limit, "limit")?;
    limit(settings.key_limit, "key_limit")
}
