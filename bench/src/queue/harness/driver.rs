//! Drives the workers of a load, each with one request under way.
//!
//! A turn hears what came; every worker that has its answer is given the next request, which the next turn sends.
//! A consumer that found nothing asks again after the implementation's pause. The load has ended when every job that was put is
//! settled (or, without consumers, put); it has failed when a job comes twice, a connection ends, or time runs out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;

use super::Tally;
use super::lane::{Endpoint, NewJob, Outcome, Queues, Request, Reserved, Role};
use super::plan::{Amount, Due, Measured, Pace, Plan};
use crate::harness::{Clock, SLEEP_MAX, Workers};
use crate::machine;

/// A job whose consumer has it so much before it is due came early: the clocks of both sides are one clock, rounded to milliseconds.
const EARLY_NS: u64 = 2_000_000;

/// Runs one load against a running implementation.
pub(crate) fn drive(endpoint: &dyn Endpoint, plan: &Plan, tally: &mut Tally) -> Result<Measured> {
    Driver::connect(endpoint, plan, tally)?.run()
}

struct Driver<'a> {
    plan: &'a Plan,
    tally: &'a mut Tally,
    clock: Clock,
    pool: Workers<Queues>,
    workers: Vec<Worker>,
    /// Producers without a request.
    idle: VecDeque<usize>,
    /// Workers that act again at a time.
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
    empty_pause: Duration,
    /// Jobs handed to producers.
    handed: u64,
    /// Puts under way.
    putting: usize,
    /// What the tally had before this load.
    before: Before,
    started: Instant,
    measured: Measured,
}

/// Counts of the tally when the load began.
#[derive(Clone, Copy)]
struct Before {
    put: u64,
    reserved: u64,
    settled: u64,
}

struct Worker {
    role: Role,
    asked: Instant,
    /// What a producer has under way.
    jobs: Vec<NewJob>,
    /// What a consumer holds and settles.
    held: Vec<Reserved>,
}

impl<'a> Driver<'a> {
    fn connect(endpoint: &dyn Endpoint, plan: &'a Plan, tally: &'a mut Tally) -> Result<Self> {
        let histogram =
            || Histogram::<u64>::new_with_bounds(1, 600_000_000, 3).context("bounds are in order");
        let measured = Measured {
            jobs: 0,
            elapsed: Duration::ZERO,
            put_us: histogram()?,
            late_us: histogram()?,
            settle_us: histogram()?,
            conflicts: 0,
            early: 0,
            client_cpu: 0.0,
            ids: Vec::new(),
        };
        let before = Before {
            put: tally.put_so_far(),
            reserved: tally.reserved_so_far(),
            settled: tally.settled_so_far(),
        };
        let mut driver = Self {
            plan,
            tally,
            clock: Clock::start(),
            pool: Workers::new()?,
            workers: Vec::new(),
            idle: VecDeque::new(),
            alarms: BinaryHeap::new(),
            empty_pause: endpoint.empty_pause(),
            handed: 0,
            putting: 0,
            before,
            started: Instant::now(),
            measured,
        };
        let mut lanes = 0;
        for (role, workers) in [(Role::Producer, plan.producers), (Role::Consumer, plan.consumers)] {
            let mut left = workers;
            while left > 0 {
                let count = left.min(endpoint.workers_each());
                driver.pool.add(&endpoint.addresses(lanes), endpoint.lane(role, lanes), count)?;
                lanes += 1;
                left -= count;
            }
            let asked = Instant::now();
            let worker = || Worker { role, asked, jobs: Vec::new(), held: Vec::new() };
            driver.workers.extend(std::iter::repeat_with(worker).take(workers));
        }
        driver.pool.wait_until_open()?;
        Ok(driver)
    }

    fn run(mut self) -> Result<Measured> {
        let cpu = machine::own_cpu_time()?;
        let mut answers = Vec::new();
        self.started = Instant::now();
        for worker in 0..self.workers.len() {
            match self.workers[worker].role {
                Role::Producer => self.idle.push_back(worker),
                Role::Consumer => self.reserve(worker),
            }
        }
        let mut ended_putting = None;
        while !self.is_done() {
            self.wake();
            self.put_what_is_due()?;
            let sleep = self.sleep();
            self.pool.turn(sleep, &mut answers)?;
            for (worker, outcome) in answers.drain(..) {
                self.act(worker, outcome)?;
            }
            if self.is_over() {
                let ended = *ended_putting.get_or_insert_with(Instant::now);
                if ended.elapsed() > self.plan.drain_max {
                    bail!("{} jobs were left {:?} after the last put", self.left(), self.plan.drain_max);
                }
            }
        }
        let elapsed = self.started.elapsed();
        let jobs = if self.plan.consumers == 0 {
            self.tally.put_so_far() - self.before.put
        } else {
            self.tally.settled_so_far() - self.before.settled
        };
        let client_cpu = (machine::own_cpu_time()? - cpu).as_secs_f64() / elapsed.as_secs_f64();
        Ok(Measured { jobs, elapsed, client_cpu, ..self.measured })
    }

    /// Whether no further job is handed to producers.
    fn is_over(&self) -> bool {
        match self.plan.amount {
            Amount::For(span) => self.started.elapsed() >= span,
            Amount::Jobs(jobs) => self.handed >= jobs,
            Amount::Nothing | Amount::Take(_) => true,
        }
    }

    /// Jobs that are still to be settled.
    fn left(&self) -> u64 {
        match self.plan.amount {
            Amount::Take(jobs) => jobs.saturating_sub(self.tally.settled_so_far() - self.before.settled),
            _ => self.tally.open(),
        }
    }

    fn is_done(&self) -> bool {
        self.putting == 0 && self.is_over() && (self.plan.consumers == 0 || self.left() == 0)
    }

    /// Until something has to be done without a message.
    fn sleep(&self) -> Duration {
        let now = Instant::now();
        let mut sleep = SLEEP_MAX;
        if let Some(Reverse((at, _))) = self.alarms.peek() {
            sleep = sleep.min(at.saturating_duration_since(now));
        }
        if !self.idle.is_empty() && !self.is_over() {
            if let Pace::Open { per_second } = self.plan.pace {
                let next = self.started + Duration::from_secs_f64(self.handed as f64 / per_second);
                sleep = sleep.min(next.saturating_duration_since(now));
            }
            if let Amount::For(span) = self.plan.amount {
                sleep = sleep.min((self.started + span).saturating_duration_since(now));
            }
        }
        sleep
    }

    fn act(&mut self, worker: usize, outcome: Outcome) -> Result<()> {
        let asked_us = u64::try_from(self.workers[worker].asked.elapsed().as_micros()).unwrap_or(u64::MAX);
        match outcome {
            Outcome::Again(pause) => {
                self.measured.conflicts += 1;
                self.alarms.push(Reverse((Instant::now() + pause, worker)));
            }
            Outcome::Put(ids) => {
                self.measured.put_us.saturating_record(asked_us);
                let jobs = &self.workers[worker].jobs;
                jobs.iter().for_each(|job| self.tally.put(job.serial));
                let room = self.plan.due.map_or(0, |due| due.ids_max.saturating_sub(self.measured.ids.len()));
                self.measured.ids.extend(jobs.iter().map(|job| job.serial).zip(ids).take(room));
                self.workers[worker].jobs.clear();
                self.putting -= 1;
                self.idle.push_back(worker);
            }
            Outcome::Reserved(jobs) if jobs.is_empty() => {
                if self.empty_pause.is_zero() {
                    self.reserve(worker);
                } else {
                    self.alarms.push(Reverse((Instant::now() + self.empty_pause, worker)));
                }
            }
            Outcome::Reserved(jobs) => {
                let now = self.clock.unix_ns();
                for job in &jobs {
                    self.tally.reserved(job.serial)?;
                    let stamp_ns = self.plan.moved.get(&job.serial).copied().unwrap_or(job.stamp_ns);
                    self.measured.early += u64::from(stamp_ns > now + EARLY_NS);
                    self.measured.late_us.saturating_record(now.saturating_sub(stamp_ns) / 1_000);
                }
                self.workers[worker].held = jobs;
                self.settle(worker);
            }
            Outcome::Done => {
                self.measured.settle_us.saturating_record(asked_us);
                for job in std::mem::take(&mut self.workers[worker].held) {
                    self.tally.settled(job.serial)?;
                }
                self.reserve(worker);
            }
        }
        Ok(())
    }

    /// Workers whose pause has ended ask again.
    fn wake(&mut self) {
        let now = Instant::now();
        while let Some(Reverse((at, worker))) = self.alarms.peek().copied() {
            if at > now {
                break;
            }
            self.alarms.pop();
            match self.workers[worker].role {
                Role::Producer => self.put(worker),
                Role::Consumer if self.workers[worker].held.is_empty() => self.reserve(worker),
                Role::Consumer => self.settle(worker),
            }
        }
    }

    /// Gives idle producers what is to be put now.
    fn put_what_is_due(&mut self) -> Result<()> {
        let backlog = |driver: &Self| {
            let reserved = driver.tally.reserved_so_far() - driver.before.reserved;
            driver.handed.saturating_sub(reserved)
        };
        while !self.idle.is_empty() && !self.is_over() {
            let now = self.clock.unix_ns();
            let (jobs, stamp_ns) = match self.plan.pace {
                Pace::Closed { backlog_max } => {
                    if self.plan.consumers > 0 && backlog(self) >= backlog_max {
                        return Ok(());
                    }
                    let left = match self.plan.amount {
                        Amount::Jobs(jobs) => jobs - self.handed,
                        _ => u64::MAX,
                    };
                    (usize::try_from(left).unwrap_or(usize::MAX).min(self.plan.batch), now)
                }
                Pace::Open { per_second } => {
                    let after = Duration::from_secs_f64(self.handed as f64 / per_second);
                    let late = self.started.elapsed().checked_sub(after);
                    let Some(late) = late else { return Ok(()) };
                    (1, now.saturating_sub(u64::try_from(late.as_nanos())?))
                }
            };
            let worker = self.idle.pop_front().context("there is one, as just asked")?;
            for _ in 0..jobs {
                let job = self.new_job(stamp_ns);
                self.workers[worker].jobs.push(job);
                self.handed += 1;
            }
            self.putting += 1;
            self.put(worker);
        }
        Ok(())
    }

    fn new_job(&mut self, stamp_ns: u64) -> NewJob {
        let (serial, bytes) = (self.tally.serial(), self.plan.payload_bytes);
        match self.plan.due {
            None => NewJob { serial, stamp_ns, bytes, run_at_ms: 0 },
            Some(Due { first_ms, per_second, .. }) => {
                let after_ms = (self.handed as f64 * 1e3 / per_second) as u64;
                let run_at_ms = first_ms + after_ms;
                NewJob { serial, stamp_ns: run_at_ms * 1_000_000, bytes, run_at_ms }
            }
        }
    }

    fn put(&mut self, worker: usize) {
        let jobs = std::mem::take(&mut self.workers[worker].jobs);
        self.ask(worker, Request::Put(&jobs));
        self.workers[worker].jobs = jobs;
    }

    fn reserve(&mut self, worker: usize) {
        self.ask(worker, Request::Reserve { jobs_max: self.plan.batch });
    }

    fn settle(&mut self, worker: usize) {
        let held = std::mem::take(&mut self.workers[worker].held);
        self.ask(worker, Request::Settle(&held));
        self.workers[worker].held = held;
    }

    fn ask(&mut self, worker: usize, request: Request<'_>) {
        self.workers[worker].asked = Instant::now();
        self.pool.ask(worker, request);
    }
}
