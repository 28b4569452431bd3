//! Jobs that are handed out, or looked at, get the bytes of their payloads.
//!
//! A payload that cannot be read harms only its own job: one that was reserved is left out and
//! taken back; one of several that were looked at comes without its bytes.

use bytes::Bytes;
use stadium_state_machine::{Leasing, Unreadable};

use crate::{Answer, Command, JobView, Lease, Milliseconds, PayloadAt, Queues, Retry, ScheduleView};

impl Leasing for Queues {
    type Lease = Lease;
    type Resolved = Answer<Bytes>;

    fn resolve(
        answer: Answer<PayloadAt>,
        read: &mut impl FnMut(PayloadAt) -> Result<Bytes, Unreadable>,
        unreadable: &mut Vec<(Lease, Unreadable)>,
    ) -> Result<Answer<Bytes>, Unreadable> {
        Ok(match answer {
            Answer::Reserved(jobs) => {
                let mut resolved = Vec::with_capacity(jobs.len());
                for job in jobs {
                    match read(job.payload) {
                        Ok(payload) => resolved.push(job.with_payload(payload)),
                        Err(reason) => unreadable.push((job.lease, reason)),
                    }
                }
                Answer::Reserved(resolved)
            }
            Answer::Jobs(jobs) if jobs.len() == 1 => {
                let job = jobs.into_iter().next().expect("there is one");
                let named = |reason: Unreadable| reason.of_item(format_args!("job {}", job.job));
                let payload = read(job.payload).map_err(named)?;
                Answer::Jobs(vec![job.with_payload(payload)])
            }
            Answer::Jobs(jobs) => Answer::Jobs(jobs.into_iter().map(|job| look(read, job)).collect()),
            Answer::Placed(placed) => Answer::Placed(placed),
            Answer::Given(given) => Answer::Given(given),
            Answer::Count(count) => Answer::Count(count),
            Answer::Done => Answer::Done,
            Answer::History(entries) => Answer::History(entries),
            Answer::Queues(queues) => Answer::Queues(queues),
            Answer::Schedules(schedules) => {
                let resolved = |schedule: ScheduleView<PayloadAt>| {
                    let payload = schedule.payload.and_then(|payload| read(payload).ok());
                    schedule.with_payload(payload)
                };
                Answer::Schedules(schedules.into_iter().map(resolved).collect())
            }
        })
    }

    fn leases(answer: &Answer<Bytes>) -> Vec<Lease> {
        match answer {
            Answer::Reserved(jobs) => jobs.iter().map(|job| job.lease).collect(),
            _ => Vec::new(),
        }
    }

    fn take_back(leases: Vec<Lease>, after: Milliseconds) -> Command {
        Command::Release { leases, retry: Retry::NotTried(after), error: None }
    }

    fn set_aside(lease: Lease, reason: String) -> Command {
        Command::Bury { leases: vec![lease], reason: Some(reason) }
    }
}

fn look(
    read: &mut impl FnMut(PayloadAt) -> Result<Bytes, Unreadable>,
    mut job: JobView<PayloadAt>,
) -> JobView<Bytes> {
    let payload = read(job.payload).unwrap_or_else(|unreadable| {
        job.reason = Some(unreadable.into_reason());
        Bytes::new()
    });
    job.with_payload(payload)
}
