//! The naive model, and the machine beside it.
//!
//! Where the clock was set back, times are of two clocks. The model then takes them from the
//! machine, and checks that no job is lost, doubled or handed out against the order of a key.

use std::collections::HashMap;

use proptest::sample::Index;
use stadium_queue::{
    Answer, Backoff, Command, Dedup, Edit, JobId, JobSet, JobState, Lease, NewJob, QueueName, QueueSettings,
    QueueStats, Queues, Retry, Time, When,
};

use crate::model::harness::{Harness, checkpoint, job, key, queue, restored};

#[derive(Debug, Clone)]
pub enum Step {
    Put {
        queue: usize,
        key: Option<u8>,
        delay: u64,
        priority: u8,
        time_to_live: Option<u64>,
        dedup: Option<u8>,
        attempts_max: u16,
    },
    Reserve {
        queue: usize,
        jobs_max: u32,
        lease: u64,
    },
    Settle(Index),
    Release(Index, Retry),
    Extend(Index, u64),
    Bury(Index),
    Kick(usize),
    Redrive(usize, Option<usize>),
    Delete(Index),
    Edit {
        job: Index,
        delay: Option<u64>,
        priority: Option<u8>,
    },
    Purge(usize, Option<u8>),
    Forward(Index, usize),
    Pause(usize, bool),
    Pass(u64),
    Back(u64),
    Replay,
    Checkpoint(usize),
}

const STATES: [JobState; 5] =
    [JobState::Delayed, JobState::Due, JobState::Reserved, JobState::Buried, JobState::Dead];

/// A job as the model sees it.
#[derive(Debug, Clone)]
struct Job {
    id: JobId,
    queue: usize,
    key: Option<u8>,
    priority: u8,
    due: Time,
    state: JobState,
    reservation: u32,
    attempts: u16,
    attempts_max: u16,
    expires: Option<Time>,
    lease_until: Time,
    /// It was handed out before and comes first in its key.
    retry: bool,
    /// Its place among jobs of the same time is not promised.
    loose: bool,
    payload: String,
}

/// What makes two puts of one dedup id the same.
type Content = (u64, u8, u16, Option<u8>, Option<u64>);

pub struct World {
    harness: Harness,
    jobs: Vec<Job>,
    leases: Vec<Lease>,
    settled: Vec<Lease>,
    paused: [bool; 3],
    /// Dedup id in a queue: its job, its content, and until when.
    dedups: HashMap<(usize, u8), (JobId, Content, Time)>,
    /// The clock was set back: order between times is not promised any more.
    jumped: bool,
    puts: u64,
}

const BACKOFF: Backoff = Backoff { first: 500, factor: 3.0, max: 4_000, jitter: 0.5 };
const DEAD_TIME_TO_LIVE: u64 = 20_000;
const WINDOW: u64 = 2_000;

fn name(of: usize) -> QueueName {
    queue(["a", "b", "c"][of])
}

impl World {
    pub fn new() -> Self {
        let mut harness = Harness::new();
        for of in 0..3 {
            let settings = QueueSettings {
                backoff: BACKOFF,
                dead_time_to_live: DEAD_TIME_TO_LIVE,
                ..QueueSettings::default()
            };
            harness.declare(name(of).as_str(), settings);
        }
        Self {
            harness,
            jobs: Vec::new(),
            leases: Vec::new(),
            settled: Vec::new(),
            paused: [false; 3],
            dedups: HashMap::new(),
            jumped: false,
            puts: 0,
        }
    }

    fn now(&self) -> Time {
        self.harness.now
    }

    fn held(&self, lease: Lease) -> Option<usize> {
        self.jobs.iter().position(|job| {
            job.id == lease.job && job.state == JobState::Reserved && job.reservation == lease.reservation
        })
    }

    fn pick_lease(&self, index: Index) -> Option<Lease> {
        (!self.leases.is_empty()).then(|| *index.get(&self.leases))
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Put { .. } => self.put(step),
            Step::Reserve { queue, jobs_max, lease } => self.reserve(queue, jobs_max, lease),
            Step::Settle(index) => {
                let Some(lease) = self.pick_lease(index) else { return };
                let outcome = self.harness.settle(lease);
                match self.held(lease) {
                    Some(at) => {
                        assert_eq!(outcome, Ok(stadium_queue::Given::Done));
                        self.settled.push(lease);
                        self.jobs.remove(at);
                    }
                    None if self.settled.contains(&lease) => {
                        assert_eq!(outcome, Ok(stadium_queue::Given::Already));
                    }
                    None => assert!(outcome.is_err(), "{lease} is lost, yet {outcome:?}"),
                }
            }
            Step::Release(index, retry) => self.release(index, retry),
            Step::Extend(index, span) => {
                let Some(lease) = self.pick_lease(index) else { return };
                let outcome =
                    self.harness.given(Command::Extend { leases: vec![lease], lease: span }).remove(0);
                match self.held(lease) {
                    Some(at) => self.jobs[at].lease_until = self.now().after(span),
                    None => assert!(outcome.is_err()),
                }
            }
            Step::Bury(index) => {
                let Some(lease) = self.pick_lease(index) else { return };
                let outcome =
                    self.harness.given(Command::Bury { leases: vec![lease], reason: None }).remove(0);
                match self.held(lease) {
                    Some(at) => {
                        self.jobs[at].state = JobState::Buried;
                        self.jobs[at].retry = false;
                    }
                    None => assert!(outcome.is_err()),
                }
            }
            Step::Kick(from) => {
                let count =
                    self.harness.count(Command::Kick { queue: name(from), jobs: JobSet::Oldest(1_000) });
                self.revive(from, from, JobState::Buried, count);
            }
            Step::Redrive(from, to) => {
                let target = to.unwrap_or(from);
                let to = to.map(name);
                let command = Command::Redrive { queue: name(from), jobs: JobSet::Oldest(1_000), to };
                let count = self.harness.count(command);
                self.revive(from, target, JobState::Dead, count);
            }
            Step::Delete(index) => {
                if self.jobs.is_empty() {
                    return;
                }
                let at = index.index(self.jobs.len());
                let id = self.jobs[at].id;
                let outcome = self.harness.given(Command::Delete { jobs: vec![id] }).remove(0);
                assert_eq!(outcome, Ok(stadium_queue::Given::Done));
                self.jobs.remove(at);
            }
            Step::Edit { job, delay, priority } => self.edit(job, delay, priority),
            Step::Purge(of, state) => {
                let state = state.map(|state| STATES[usize::from(state)]);
                let matches = |job: &Job| {
                    job.queue == of
                        && state.map_or(job.state != JobState::Reserved, |state| job.state == state)
                };
                let expected = self.jobs.iter().filter(|job| matches(job)).count();
                let count = self.harness.count(Command::Purge { queue: name(of), state });
                assert_eq!(count, expected as u64);
                self.jobs.retain(|job| !matches(job));
            }
            Step::Forward(index, to) => self.forward(index, to),
            Step::Pause(of, paused) => {
                let queue = name(of);
                self.harness.done(if paused { Command::Pause { queue } } else { Command::Resume { queue } });
                self.paused[of] = paused;
            }
            Step::Pass(span) => {
                self.harness.pass(span);
                self.time_came();
            }
            Step::Back(span) => {
                self.harness.now.0 -= span;
                self.jumped |= span > 0;
                self.harness.tick();
                self.time_came();
            }
            Step::Replay => {
                self.harness.tick();
                self.time_came();
                let queues = self.harness.replayed();
                self.replace(queues);
            }
            Step::Checkpoint(bytes_max) => {
                self.harness.tick();
                self.time_came();
                let chunks = checkpoint(&mut self.harness.queues, bytes_max);
                let queues = restored(self.harness.place, &self.harness.bounds, &chunks);
                self.replace(queues);
            }
        }
        self.compare();
    }

    /// Another machine goes on in place of the first: it must answer everything alike.
    fn replace(&mut self, queues: Queues) {
        let old = std::mem::replace(&mut self.harness.queues, queues);
        self.harness.tick();
        let queues = std::mem::replace(&mut self.harness.queues, old);
        let now = self.now();
        let answers = |queues: &Queues| {
            let stats: Vec<QueueStats> = (0..3)
                .map(|of| match queues.read(now, &Command::Stats { queue: name(of) }) {
                    Ok(Answer::Queues(mut stats)) => QueueStats { duplicates: 0, ..stats.remove(0) },
                    other => panic!("{other:?}"),
                })
                .collect();
            let jobs: Vec<_> = self
                .jobs
                .iter()
                .map(|job| (queues.read(now, &Command::Find { job: job.id }), queues.history_start(job.id)))
                .collect();
            (stats, jobs)
        };
        let (before, after) = (answers(&self.harness.queues), answers(&queues));
        if !self.jumped {
            assert_eq!(before.0, after.0, "what came back is what was there");
            for (before, after) in before.1.into_iter().zip(after.1) {
                assert_eq!(before, after, "what came back is what was there");
            }
        }
        self.harness.queues = queues;
        self.time_came();
    }

    fn put(&mut self, step: Step) {
        let Step::Put { queue: of, key: lane, delay, priority, time_to_live, dedup, attempts_max } = step
        else {
            unreachable!("the caller looked")
        };
        self.puts += 1;
        let payload = if dedup.is_some() { "the same".to_owned() } else { format!("job {}", self.puts) };
        let new = NewJob {
            when: if delay == 0 { When::Now } else { When::After(delay) },
            priority: Some(priority),
            time_to_live,
            dedup: dedup.map(|id| Dedup { id: key(&format!("id {id}")), window: Some(WINDOW) }),
            key: lane.map(|lane| key(&format!("key {lane}"))),
            attempts_max: Some(attempts_max),
            ..job(&payload)
        };
        let now = self.now();
        let content = (delay, priority, attempts_max, lane, time_to_live);
        let known = dedup.and_then(|id| self.dedups.get(&(of, id)).copied());
        let known = known.filter(|(_, _, until)| *until > now);
        let outcome = self.harness.try_put(name(of).as_str(), vec![new]);
        match (known, outcome) {
            // The clock may have been set back since: the machine relies on the latest time for a
            // second.
            _ if self.jumped && dedup.is_some() => {
                self.adopt_all();
            }
            (Some((id, before, _)), Ok(placed)) if before == content => {
                assert_eq!((placed[0].job, placed[0].duplicate), (id, true));
            }
            (Some((_, before, _)), Err(refusal)) => {
                assert_eq!(refusal.code(), "QUE-024");
                assert_ne!(before, content);
            }
            (None, Ok(placed)) => {
                assert!(!placed[0].duplicate);
                let id = placed[0].job;
                assert!(self.jobs.iter().all(|job| job.id < id), "ids only grow");
                if let Some(dedup) = dedup {
                    self.dedups.insert((of, dedup), (id, content, now.after(WINDOW)));
                }
                let view = self.harness.find(id);
                if !self.jumped {
                    assert!(
                        view.due >= now.after(delay) && view.due <= now.after(delay + 5),
                        "{view:?} at {now:?}"
                    );
                }
                let state = if delay == 0 { JobState::Due } else { JobState::Delayed };
                self.jobs.push(Job {
                    id,
                    queue: of,
                    key: lane,
                    priority,
                    due: view.due,
                    state,
                    reservation: 0,
                    attempts: 0,
                    attempts_max,
                    expires: view.expires,
                    lease_until: Time(0),
                    retry: false,
                    loose: false,
                    payload,
                });
            }
            other => panic!("{other:?}"),
        }
    }

    /// After the clock was set back: takes over what the machine has that the model has not.
    fn adopt_all(&mut self) {
        for of in 0..3 {
            let command =
                Command::Peek { queue: name(of), state: None, key: None, after: None, jobs_max: 1_000 };
            for view in self.harness.jobs(command) {
                if self.jobs.iter().any(|job| job.id == view.job) {
                    continue;
                }
                let lane = view.key.as_ref().map(|key| key.as_str()[4..].parse().unwrap());
                self.jobs.push(Job {
                    id: view.job,
                    queue: of,
                    key: lane,
                    priority: view.priority,
                    due: view.due,
                    state: view.state,
                    reservation: 0,
                    attempts: view.attempts,
                    attempts_max: view.attempts_max,
                    expires: view.expires,
                    lease_until: Time(0),
                    retry: false,
                    loose: true,
                    payload: "the same".into(),
                });
            }
        }
    }

    /// The jobs that may be handed out next.
    fn candidates(&self, of: usize) -> Vec<usize> {
        if self.paused[of] {
            return Vec::new();
        }
        let ready: Vec<usize> = (0..self.jobs.len())
            .filter(|&at| self.jobs[at].queue == of && self.jobs[at].state == JobState::Due)
            // Expired jobs are taken out on the way.
            .filter(|&at| self.jobs[at].expires.is_none_or(|at| at > self.now()))
            .collect();
        let first_of = |at: usize| {
            let job = &self.jobs[at];
            let others = ready.iter().map(|&other| &self.jobs[other]).filter(|other| other.key == job.key);
            match job.key {
                Some(_) => {
                    let held = self.jobs.iter().any(|other| {
                        other.queue == of
                            && other.key == job.key
                            && (other.state == JobState::Reserved
                                || other.state == JobState::Delayed && other.retry)
                    });
                    !held && others.into_iter().all(|other| other.id == job.id || self.before(job, other))
                }
                None => others
                    .into_iter()
                    .filter(|other| other.priority == job.priority)
                    .all(|other| self.jumped || job.loose || other.loose || job.due <= other.due),
            }
        };
        let firsts: Vec<usize> = ready.iter().copied().filter(|&at| first_of(at)).collect();
        // Among jobs without any promise between them any of the key may be the one.
        let sure = |at: &usize| self.jobs[*at].key.is_none() || !self.jumped;
        let highest =
            firsts.iter().filter(|at| sure(at) && !self.jobs[**at].loose).map(|&at| self.jobs[at].priority);
        let highest = if self.jumped || ready.iter().any(|&at| self.jobs[at].loose) {
            0
        } else {
            highest.max().unwrap_or(0)
        };
        firsts.into_iter().filter(|&at| self.jobs[at].priority >= highest).collect()
    }

    /// Whether a job may stand before another one of its key.
    fn before(&self, job: &Job, other: &Job) -> bool {
        match (job.retry, other.retry) {
            (true, false) => return true,
            (false, true) => return false,
            _ => {}
        }
        if job.loose || other.loose {
            return true;
        }
        if self.jumped {
            return true;
        }
        (job.due, job.id) < (other.due, other.id)
    }

    fn reserve(&mut self, of: usize, jobs_max: u32, lease: u64) {
        let command =
            Command::Reserve { queue: name(of), jobs_max, lease: Some(lease), wait: 0, worker: None };
        self.time_came();
        let Answer::Reserved(reserved) = self.harness.ask(command).unwrap() else { panic!("another answer") };
        let handed_out = reserved.len();
        for reserved in reserved {
            let at = self.jobs.iter().position(|job| job.id == reserved.lease.job);
            let at = at.unwrap_or_else(|| panic!("{} is handed out and is not there", reserved.lease));
            let candidates = self.candidates(of);
            assert!(
                candidates.contains(&at),
                "{:?} is handed out instead of one of {:?}",
                self.jobs[at],
                candidates.iter().map(|&at| &self.jobs[at]).collect::<Vec<_>>()
            );
            let payload = self.harness.read(reserved.payload);
            let now = self.now();
            let jumped = self.jumped;
            let job = &mut self.jobs[at];
            assert!(jumped || job.expires.is_none_or(|at| at > now), "{job:?} is over");
            job.state = JobState::Reserved;
            job.reservation += 1;
            job.attempts += 1;
            job.lease_until = reserved.until;
            assert!(jumped || reserved.until == now.after(lease));
            assert_eq!((reserved.attempt, reserved.lease.reservation), (job.attempts, job.reservation));
            assert_eq!(payload, job.payload);
            self.leases.push(reserved.lease);
        }
        if handed_out < jobs_max as usize {
            let left = self.candidates(of);
            assert!(left.is_empty(), "{:?} could have been handed out", self.jobs[left[0]]);
        }
    }

    fn release(&mut self, index: Index, retry: Retry) {
        let Some(lease) = self.pick_lease(index) else { return };
        let outcome = self.harness.release(lease, retry);
        let Some(at) = self.held(lease) else {
            assert!(outcome.is_err(), "{lease} is lost");
            return;
        };
        let now = self.now();
        let job = &mut self.jobs[at];
        let last = job.attempts >= job.attempts_max;
        let delay = match retry {
            Retry::NotTried(delay) => {
                job.attempts -= 1;
                Some((delay, delay))
            }
            _ if last => None,
            Retry::After(delay) => Some((delay, delay)),
            Retry::Backoff => Some(backoff(job.attempts)),
        };
        match delay {
            None => {
                assert_eq!(outcome, Ok(stadium_queue::Given::Dead));
                self.died(at);
            }
            Some((least, most)) => {
                assert_eq!(outcome, Ok(stadium_queue::Given::Done));
                self.is_retried(at, now, least, most);
            }
        }
    }

    fn died(&mut self, at: usize) {
        let now = self.now();
        let jumped = self.jumped;
        let view = self.harness.find(self.jobs[at].id);
        let job = &mut self.jobs[at];
        job.state = JobState::Dead;
        job.retry = false;
        job.expires = view.expires;
        assert!(jumped || job.expires == Some(now.after(DEAD_TIME_TO_LIVE)));
    }

    fn is_retried(&mut self, at: usize, now: Time, least: u64, most: u64) {
        let jumped = self.jumped;
        let view = self.harness.find(self.jobs[at].id);
        let job = &mut self.jobs[at];
        job.due = view.due;
        assert!(
            jumped || (now.after(least)..=now.after(most)).contains(&job.due),
            "{job:?} is tried again between {least} and {most} after {now:?}"
        );
        job.retry = job.key.is_some();
        job.loose = true;
        job.state = if jumped {
            view.state
        } else if job.due <= now {
            JobState::Due
        } else {
            JobState::Delayed
        };
    }

    fn revive(&mut self, from: usize, to: usize, state: JobState, count: u64) {
        let now = self.now();
        let mut revived = 0;
        for job in self.jobs.iter_mut().filter(|job| job.queue == from && job.state == state) {
            let view = self.harness.find(job.id);
            assert_eq!(view.queue, name(to));
            assert!(self.jumped || view.due >= now && view.due <= now.after(100), "{view:?}");
            revived += 1;
            job.queue = to;
            job.state = JobState::Due;
            job.attempts = 0;
            job.due = view.due;
            job.retry = false;
            job.loose = true;
            job.expires = if state == JobState::Dead { None } else { job.expires };
        }
        assert_eq!(count, revived);
    }

    fn edit(&mut self, index: Index, delay: Option<u64>, priority: Option<u8>) {
        if self.jobs.is_empty() {
            return;
        }
        let at = index.index(self.jobs.len());
        let when = delay.map(|delay| if delay == 0 { When::Now } else { When::After(delay) });
        let edit = Edit { when, priority, ..Edit::default() };
        let outcome = self.harness.ask(Command::Edit { job: self.jobs[at].id, edit });
        let now = self.now();
        let waits = matches!(self.jobs[at].state, JobState::Delayed | JobState::Due);
        if self.jobs[at].state == JobState::Reserved || !waits && delay.is_some() {
            assert_eq!(outcome.unwrap_err().code(), "QUE-023");
            return;
        }
        assert_eq!(outcome, Ok(Answer::Done));
        let view = self.harness.find(self.jobs[at].id);
        let jumped = self.jumped;
        let job = &mut self.jobs[at];
        job.loose |= delay.is_some() || priority.is_some();
        let moved = delay.is_some() || job.key.is_none() && priority.is_some() && job.state == JobState::Due;
        if moved {
            job.due = view.due;
            let from = now.after(delay.unwrap_or(0));
            assert!(jumped || view.due >= from && view.due <= from.after(100) || delay.is_none(), "{view:?}");
            job.state = if job.due <= now { JobState::Due } else { JobState::Delayed };
        }
        if jumped {
            // A job that was due and is not by the clock of now.
            job.state = view.state;
        }
        job.priority = priority.unwrap_or(job.priority);
    }

    fn forward(&mut self, index: Index, to: usize) {
        let Some(lease) = self.pick_lease(index) else { return };
        let outcome = self.harness.ask(Command::Forward {
            lease,
            queue: name(to),
            job: NewJob::default(),
            principal: None,
        });
        let Some(at) = self.held(lease) else {
            if let Ok(Answer::Placed(placed)) = outcome {
                assert!(placed[0].duplicate, "it was forwarded before, and is not twice");
            }
            return;
        };
        let Ok(Answer::Placed(placed)) = outcome else { panic!("{outcome:?}") };
        let view = self.harness.find(placed[0].job);
        let old = self.jobs.remove(at);
        self.jobs.push(Job {
            id: placed[0].job,
            queue: to,
            key: None,
            priority: 4,
            due: view.due,
            state: JobState::Due,
            reservation: 0,
            attempts: 0,
            attempts_max: 10,
            expires: None,
            lease_until: Time(0),
            retry: false,
            loose: false,
            payload: old.payload,
        });
    }

    /// Events of the clock, by the model's rules; the machine decides where these leave a choice.
    fn time_came(&mut self) {
        let now = self.now();
        let mut at = 0;
        while at < self.jobs.len() {
            let job = &self.jobs[at];
            let find = Command::Find { job: job.id };
            let over = job.expires.is_some_and(|at| at <= now);
            let Ok(view) = self.harness.queues.read(now, &find) else {
                let held = job.state == JobState::Reserved && job.lease_until > now;
                assert!(self.jumped || over && !held, "{job:?} is gone at {now:?}");
                self.jobs.remove(at);
                continue;
            };
            let Answer::Jobs(mut views) = view else { panic!("another answer") };
            let view = views.remove(0);
            if self.jumped {
                // Times are of two clocks now: the machine's times are taken.
                let job = &mut self.jobs[at];
                if job.state == JobState::Reserved && view.state != JobState::Reserved {
                    job.retry = job.key.is_some() && view.state != JobState::Dead;
                    job.loose = true;
                }
                job.state = view.state;
                job.due = view.due;
                job.attempts = view.attempts;
                job.expires = view.expires;
                at += 1;
                continue;
            }
            match job.state {
                JobState::Delayed if job.due <= now => self.jobs[at].state = JobState::Due,
                // The machine notices with the next tick.
                JobState::Reserved if job.lease_until <= now && view.state != JobState::Reserved => {
                    if job.attempts >= job.attempts_max {
                        self.died(at);
                    } else {
                        let (least, most) = backoff(job.attempts);
                        self.is_retried(at, now, least, most);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The machine's jobs are the model's.
    fn compare(&mut self) {
        self.time_came();
        let now = self.now();
        for job in &self.jobs {
            let Ok(Answer::Jobs(mut views)) = self.harness.queues.read(now, &Command::Find { job: job.id })
            else {
                panic!("{job:?} is not there")
            };
            let view = views.remove(0);
            let lane = view.key.as_ref().map(|key| key.as_str()[4..].parse::<u8>().unwrap());
            assert_eq!(
                (view.state, &view.queue, view.attempts, view.attempts_max, view.priority, lane),
                (job.state, &name(job.queue), job.attempts, job.attempts_max, job.priority, job.key),
                "{job:?}"
            );
            assert!(self.jumped || view.due == job.due && view.expires == job.expires, "{job:?} is {view:?}");
        }
        assert_eq!(self.harness.queues.jobs(), self.jobs.len() as u64);
        for of in 0..3 {
            let stats = self.harness.stats(name(of).as_str());
            for (state, count) in
                STATES.into_iter().zip([stats.delayed, stats.due, stats.reserved, stats.buried, stats.dead])
            {
                let jobs = self.jobs.iter().filter(|job| job.queue == of && job.state == state).count();
                assert_eq!(count, jobs as u64, "{state:?} in {of}");
            }
        }
    }

    /// Everything that is left can be worked off.
    pub fn finish(&mut self) {
        for of in 0..3 {
            self.take(Step::Pause(of, false));
            self.take(Step::Kick(of));
            self.take(Step::Redrive(of, None));
        }
        for _ in 0..3 {
            self.take(Step::Pass(2_000_000_000));
        }
        let mut rounds = 0;
        loop {
            let mut idle = true;
            for of in 0..3 {
                self.take(Step::Kick(of));
                self.take(Step::Redrive(of, None));
                let leases = self.harness.reserve(name(of).as_str(), 1_000);
                idle &= leases.is_empty();
                for lease in leases {
                    self.jobs.retain(|job| job.id != lease.job);
                    self.harness.settle_all(vec![lease]);
                }
                self.harness.tick();
                self.time_came();
            }
            self.harness.pass(100);
            self.time_came();
            rounds += 1;
            if idle && self.harness.queues.jobs() == 0 {
                break;
            }
            assert!(rounds < 1_000, "{:?} cannot be worked off", self.jobs);
        }
        let mut live = 0;
        self.harness.queues.live_payloads(&mut |_| live += 1);
        assert_eq!(live, 0);
        let mut changes = Vec::new();
        self.harness.queues.take_payload_changes(&mut changes);
    }
}

/// The least and the most that a job waits after so many attempts.
fn backoff(attempts: u16) -> (u64, u64) {
    let whole = (500.0 * 3.0_f64.powi(i32::from(attempts.max(1)) - 1)).min(4_000.0);
    ((whole * 0.5).floor() as u64, whole.ceil() as u64)
}
