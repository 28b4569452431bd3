//! Chooses what clients ask next, from what they know.
//!
//! Most commands are right; some come too late, name jobs that are gone, or come twice. Clients learn
//! from answers alone.

use fastrand::Rng;
use stadium_queue::{
    Command, Cron, Dedup, Edit, JobId, JobSet, JobState, Key, Lease, Missed, NewJob, Retry, When, WorkerName,
};

use crate::clock::Clock;
use crate::ledger::Ledger;
use crate::message::{Content, Tag, principal_of};
use crate::place::QueueNumber;
use crate::plan::{Kind, Plan};

/// What the clients of a run know.
#[derive(Debug, Default)]
pub struct Clients {
    /// Leases that were handed out and not used, newest last; some are lost by now.
    pub leases: Vec<Lease>,
    /// Leases that were used.
    pub used: Vec<Lease>,
    /// Jobs that were put.
    pub jobs: Vec<JobId>,
    /// Puts with a dedup id, to be repeated.
    puts: Vec<(QueueNumber, NewJob, Tag)>,
}

/// A command, and the messages that it puts.
pub type Wish = (Command, Vec<Tag>);

/// Dedup ids of a queue.
const DEDUP_IDS: u8 = 12;

/// Longest that anything may take before it is carried out, for who repeats a put while its id is remembered.
const MARGIN: u64 = 20_000;

impl Clients {
    /// The next command.
    pub fn next(
        &mut self,
        plan: &Plan,
        ledger: &mut Ledger,
        clock: &Clock,
        random: &mut Rng,
    ) -> Option<Wish> {
        let all: u32 = plan.weights.iter().map(|(_, weight)| weight).sum();
        let mut at = random.u32(..all);
        let kind = plan.weights.iter().find(|(_, weight)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        });
        let (kind, _) = kind.expect("a number below the sum falls into one of them");
        let queue = QueueNumber(random.usize(..plan.queues.len()));
        let name = plan.queues[queue.0].0.clone();
        let command = match kind {
            Kind::Put => return Some(self.put(queue, plan, ledger, clock, random)),
            Kind::Reserve => Command::Reserve {
                queue: name,
                jobs_max: [1, 1, 2, 5, 30][random.usize(..5)],
                lease: Some([1_000, 3_000, 30_000][random.usize(..3)]),
                wait: [0, 0, 500, 5_000][random.usize(..4)],
                worker: (random.bool()).then(|| WorkerName::new("w").expect("a name")),
            },
            Kind::Settle => Command::Settle { leases: self.some_leases(random)? },
            Kind::Release => Command::Release {
                leases: self.some_leases(random)?,
                retry: match random.u8(..4) {
                    0 => Retry::After(random.u64(..3_000)),
                    1 => Retry::NotTried(random.u64(..1_000)),
                    _ => Retry::Backoff,
                },
                error: random.bool().then(|| "it failed".into()),
            },
            Kind::Extend => {
                let leases = self.some_leases(random)?;
                // The worker keeps them.
                self.leases.extend(&leases);
                Command::Extend { leases, lease: random.u64(1_000..40_000) }
            }
            Kind::Bury => Command::Bury { leases: self.some_leases(random)?, reason: None },
            Kind::Forward => return self.forward(queue, plan, ledger, random),
            Kind::Delete => Command::Delete { jobs: vec![self.some_job(random)?] },
            Kind::Edit => return self.edit(plan, ledger, random),
            Kind::Kick => Command::Kick { queue: name, jobs: self.some_set(random) },
            Kind::Redrive => Command::Redrive {
                queue: name,
                jobs: self.some_set(random),
                to: random.bool().then(|| plan.queues[random.usize(..plan.queues.len())].0.clone()),
            },
            Kind::Purge => Command::Purge {
                queue: name,
                state: match random.u8(..4) {
                    0 => None,
                    1 => Some(JobState::Dead),
                    2 => Some(JobState::Buried),
                    _ => Some(JobState::Reserved),
                },
            },
            Kind::Pause => Command::Pause { queue: name },
            Kind::Resume => Command::Resume { queue: name },
            Kind::Schedule => return Some(schedule(queue, plan, ledger, random)),
            Kind::Find => Command::Find { job: self.some_job(random)? },
            Kind::History => Command::History { job: self.some_job(random)? },
            Kind::Declare => Command::Declare { queue: name, settings: plan.queues[queue.0].1.clone() },
        };
        Some((command, Vec::new()))
    }

    fn put(
        &mut self,
        queue: QueueNumber,
        plan: &Plan,
        ledger: &mut Ledger,
        clock: &Clock,
        random: &mut Rng,
    ) -> Wish {
        let name = plan.queues[queue.0].0.clone();
        if random.u8(..8) == 0 && !self.puts.is_empty() {
            // A client that didn't hear the answer, or doesn't trust it, repeats the request.
            let (queue, job, tag) = self.puts[random.usize(..self.puts.len())].clone();
            let id = job.dedup.as_ref().map(|dedup| crate::answered::dedup_number(dedup.id.as_str()));
            let known = id.and_then(|id| ledger.remembers(queue, id, clock.high(), MARGIN));
            if known == Some(tag) {
                // Where the job is there for certain, by another principal, which changes nothing.
                let principal = match ledger.was_put(tag) {
                    true => principal_of(u128::from(tag.0) + 1),
                    false => ledger.message(tag).principal.clone(),
                };
                let queue = plan.queues[queue.0].0.clone();
                return (Command::Put { queue, jobs: vec![job], principal }, vec![tag]);
            }
        }
        let count = [1, 1, 1, 3, 10][random.usize(..5)];
        let mut jobs = Vec::with_capacity(count);
        let mut tags = Vec::with_capacity(count);
        for _ in 0..count {
            let key = (plan.keys > 0 && random.u8(..3) > 0).then(|| random.u8(..plan.keys));
            let tag = ledger.add(key);
            let job = NewJob {
                payload: Content { tag, version: 0 }.payload(payload_bytes(plan, random)),
                when: match random.u8(..6) {
                    0 => When::After(random.u64(..10_000)),
                    1 => When::At(clock.now().after(random.u64(..5_000))),
                    _ => When::Now,
                },
                priority: (random.u8(..4) == 0).then(|| random.u8(..10)),
                time_to_live: (random.u8(..10) == 0).then(|| random.u64(1_000..60_000)),
                dedup: (random.u8(..5) == 0).then(|| Dedup {
                    id: Key::new(&format!("d{}", random.u8(..DEDUP_IDS))).expect("a key"),
                    window: Some(random.u64(1_000..300_000)),
                }),
                key: key.map(key_name),
                attempts_max: (random.u8(..4) == 0).then(|| random.u16(1..4)),
            };
            if job.dedup.is_some() {
                self.puts.push((queue, job.clone(), tag));
            }
            jobs.push(job);
            tags.push(tag);
        }
        let principal = principal_of(tags[0].0.into());
        ledger.put_by(&tags, principal.as_ref());
        (Command::Put { queue: name, jobs, principal }, tags)
    }

    fn forward(
        &mut self,
        queue: QueueNumber,
        plan: &Plan,
        ledger: &mut Ledger,
        random: &mut Rng,
    ) -> Option<Wish> {
        let lease = *self.some_leases(random)?.first()?;
        let tag = ledger.tag_of(lease.job)?;
        if ledger.message(tag).content != tag {
            // The jobs of a schedule are distinguished by their ids alone.
            return None;
        }
        let payload = if random.bool() {
            bytes::Bytes::new()
        } else {
            Content { tag, version: random.u8(1..200) }.payload(payload_bytes(plan, random))
        };
        let job = NewJob { payload, attempts_max: Some(random.u16(1..4)), ..NewJob::default() };
        let (queue, principal) = (plan.queues[queue.0].0.clone(), ledger.message(tag).principal.clone());
        Some((Command::Forward { lease, queue, job, principal }, vec![tag]))
    }

    fn edit(&mut self, plan: &Plan, ledger: &Ledger, random: &mut Rng) -> Option<Wish> {
        let job = self.some_job(random)?;
        let tag = ledger.tag_of(job)?;
        let is_own = ledger.message(tag).content == tag;
        let content = Content { tag, version: random.u8(1..200) };
        let edit = Edit {
            payload: (is_own && random.bool()).then(|| content.payload(payload_bytes(plan, random))),
            when: (random.u8(..3) == 0).then(|| When::After(random.u64(..5_000))),
            priority: (random.u8(..3) == 0).then(|| random.u8(..10)),
            time_to_live: (random.u8(..5) == 0).then(|| random.u64(1_000..60_000)),
            // More than it may have had so far: fewer would prove nothing about a job that waits.
            attempts_max: (random.u8(..5) == 0).then(|| random.u16(4..9)),
        };
        Some((Command::Edit { job, edit }, Vec::new()))
    }

    /// Leases to use: mostly such as were not used, taken away from the workers.
    fn some_leases(&mut self, random: &mut Rng) -> Option<Vec<Lease>> {
        let mut leases = Vec::new();
        for _ in 0..[1, 1, 2, 6][random.usize(..4)] {
            if random.u8(..20) == 0 && !self.used.is_empty() {
                leases.push(self.used[random.usize(..self.used.len())]);
            } else if !self.leases.is_empty() {
                let lease = self.leases.swap_remove(random.usize(..self.leases.len()));
                self.used.push(lease);
                leases.push(lease);
            }
        }
        leases.sort_unstable_by_key(|lease| (lease.job, lease.reservation));
        leases.dedup();
        // Two leases of one job in one command test nothing more, and the expected result is harder
        // to state.
        leases.dedup_by_key(|lease| lease.job);
        (!leases.is_empty()).then_some(leases)
    }

    fn some_job(&self, random: &mut Rng) -> Option<JobId> {
        (!self.jobs.is_empty()).then(|| {
            // The latest are likely to be there.
            let back = random.usize(..self.jobs.len().min(60));
            self.jobs[self.jobs.len() - 1 - back]
        })
    }

    fn some_set(&self, random: &mut Rng) -> JobSet {
        match self.some_job(random) {
            Some(job) if random.u8(..3) == 0 => JobSet::Ids(vec![job]),
            _ => JobSet::Oldest(random.u32(1..10)),
        }
    }
}

fn schedule(queue: QueueNumber, plan: &Plan, ledger: &mut Ledger, random: &mut Rng) -> Wish {
    let name = plan.queues[queue.0].0.clone();
    let label = Key::new(&format!("s{}", random.u8(..2))).expect("a key");
    if random.bool() {
        return (Command::Unschedule { queue: name, name: label }, Vec::new());
    }
    let tag = ledger.add_schedule(queue);
    let cron = Cron {
        expression: ["* * * * *", "*/20 * * * * *", "@hourly"][random.usize(..3)].into(),
        time_zone: ["UTC", "Europe/Vienna"][random.usize(..2)].into(),
        missed: [Missed::Once, Missed::Skip, Missed::All][random.usize(..3)],
    };
    let job = NewJob { payload: Content { tag, version: 0 }.payload(40), ..NewJob::default() };
    let principal = principal_of(tag.0.into());
    ledger.put_by(&[tag], principal.as_ref());
    (Command::Schedule { queue: name, name: label, cron: Box::new(cron), job, principal }, Vec::new())
}

/// A key's name.
pub fn key_name(key: u8) -> Key {
    Key::new(&format!("k{key}")).expect("a key")
}

fn payload_bytes(plan: &Plan, random: &mut Rng) -> usize {
    if plan.big_one_in > 0 && random.u32(..plan.big_one_in) == 0 {
        return random.usize(1_000..7_000);
    }
    random.usize(..plan.payload_bytes)
}
