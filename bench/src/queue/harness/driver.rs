//! Drives the workers of a load: one thread, one poll, each worker with one request under way.
//!
//! A turn reads what came, gives every worker that has its answer the next request, and then writes once for each connection.
//! A consumer that found nothing asks again after the implementation's pause. The load has ended when every job that was put is
//! settled (or, without consumers, put); it has failed when a job comes twice, a connection ends, or time runs out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;
use mio::{Events, Poll, Token as PollToken};

use super::lane::{Endpoint, Event, Lane, NewJob, Outcome, Request, Reserved, Role};
use super::plan::{Amount, Due, Measured, Pace, Plan};
use super::socket::READ_BYTES;
use super::timer::Timer;
use super::{Clock, Socket, Tally};
use crate::machine;

/// Time for all lanes to open.
const OPEN_MAX: Duration = Duration::from_secs(20);
/// Longest sleep, so that deadlines are noticed.
const SLEEP_MAX: Duration = Duration::from_millis(50);
/// The timer's events; sockets count from 0.
const TIMER: PollToken = PollToken(usize::MAX - 1);
/// Events taken at once.
const EVENTS: usize = 1024;
/// A job whose consumer has it so much before it is due came early: the clocks of both sides are one clock, rounded to milliseconds.
const EARLY_NS: u64 = 2_000_000;

/// Runs one load against a running implementation.
pub(crate) fn drive(endpoint: &dyn Endpoint, plan: &Plan, tally: &mut Tally) -> Result<Measured> {
    let mut driver = Driver::connect(endpoint, plan, tally)?;
    driver.wait_until_open()?;
    driver.run()
}

struct Driver<'a> {
    plan: &'a Plan,
    tally: &'a mut Tally,
    clock: Clock,
    poll: Poll,
    timer: Timer,
    lanes: Vec<Crew>,
    sockets: Vec<Socket>,
    /// Lane and connection of each socket.
    places: Vec<(usize, usize)>,
    workers: Vec<Worker>,
    /// Lanes that were asked something since they last read.
    asked: Vec<usize>,
    /// Producers without a request.
    idle: Vec<usize>,
    /// Workers that act again at a time.
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
    empty_pause: Duration,
    /// Jobs handed to producers.
    handed: u64,
    /// Puts under way.
    putting: usize,
    /// What the tally had before this load.
    before: Before,
    lanes_open: usize,
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

/// A lane with its buffers.
struct Crew {
    lane: Box<dyn Lane>,
    outs: Vec<Vec<u8>>,
    /// Its sockets, from this one on.
    first_socket: usize,
    /// Its workers, from this one on.
    first_worker: usize,
    dirty: bool,
}

struct Worker {
    role: Role,
    lane: usize,
    place: usize,
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
        let poll = Poll::new()?;
        let mut driver = Self {
            plan,
            tally,
            clock: Clock::start(),
            timer: Timer::new(poll.registry(), TIMER)?,
            poll,
            lanes: Vec::new(),
            sockets: Vec::new(),
            places: Vec::new(),
            workers: Vec::new(),
            asked: Vec::new(),
            idle: Vec::new(),
            alarms: BinaryHeap::new(),
            empty_pause: endpoint.empty_pause(),
            handed: 0,
            putting: 0,
            before,
            lanes_open: 0,
            started: Instant::now(),
            measured,
        };
        for (role, workers) in [(Role::Producer, plan.producers), (Role::Consumer, plan.consumers)] {
            let mut left = workers;
            while left > 0 {
                let crew = left.min(endpoint.workers_each());
                driver.add(endpoint, role, crew)?;
                left -= crew;
            }
        }
        Ok(driver)
    }

    fn add(&mut self, endpoint: &dyn Endpoint, role: Role, workers: usize) -> Result<()> {
        let lane = self.lanes.len();
        let (first_socket, first_worker) = (self.sockets.len(), self.workers.len());
        for (connection, address) in endpoint.addresses().into_iter().enumerate() {
            let token = PollToken(self.sockets.len());
            self.sockets.push(Socket::connect(address, self.poll.registry(), token)?);
            self.places.push((lane, connection));
        }
        for place in 0..workers {
            let asked = Instant::now();
            self.workers.push(Worker { role, lane, place, asked, jobs: Vec::new(), held: Vec::new() });
        }
        let mut outs = vec![Vec::new(); self.sockets.len() - first_socket];
        let mut spoken = endpoint.lane(role, lane);
        spoken.open(&mut outs);
        self.lanes.push(Crew { lane: spoken, outs, first_socket, first_worker, dirty: true });
        self.asked.push(lane);
        Ok(())
    }

    fn wait_until_open(&mut self) -> Result<()> {
        let until = Instant::now() + OPEN_MAX;
        let mut buffer = vec![0; READ_BYTES];
        let mut events = Events::with_capacity(EVENTS);
        while self.lanes_open < self.lanes.len() {
            if Instant::now() > until {
                bail!("{} of {} lanes opened within {OPEN_MAX:?}", self.lanes_open, self.lanes.len());
            }
            self.write()?;
            self.turn(&mut events, &mut buffer, SLEEP_MAX)?;
        }
        Ok(())
    }

    fn run(mut self) -> Result<Measured> {
        let cpu = machine::own_cpu_time()?;
        let mut buffer = vec![0; READ_BYTES];
        let mut events = Events::with_capacity(EVENTS);
        self.started = Instant::now();
        for worker in 0..self.workers.len() {
            match self.workers[worker].role {
                Role::Producer => self.idle.push(worker),
                Role::Consumer => self.reserve(worker)?,
            }
        }
        let mut ended_putting = None;
        while !self.is_done() {
            self.wake()?;
            self.put_what_is_due()?;
            self.write()?;
            let sleep = self.sleep();
            self.turn(&mut events, &mut buffer, sleep)?;
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

    /// Reads what comes within `sleep` and acts on it.
    fn turn(&mut self, events: &mut Events, buffer: &mut [u8], sleep: Duration) -> Result<()> {
        let sleep = self.timer.set(sleep)?;
        match self.poll.poll(events, Some(sleep)) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        for event in events.iter().filter(|event| event.token() != TIMER) {
            let socket = event.token().0;
            if event.is_writable() {
                self.sockets[socket].flush(self.poll.registry())?;
            }
            if event.is_readable() || event.is_read_closed() {
                self.sockets[socket].receive(buffer)?;
                self.understand(socket)?;
            }
        }
        Ok(())
    }

    /// Has the lane of a socket read its input, as long as that brings anything.
    fn understand(&mut self, socket: usize) -> Result<()> {
        let (lane, connection) = self.places[socket];
        let mut events = Vec::new();
        loop {
            let crew = &mut self.lanes[lane];
            let input = self.sockets[socket].input();
            let taken = crew.lane.read(connection, input, &mut crew.outs, &mut events)?;
            crew.dirty = true;
            let nothing = taken == 0 && events.is_empty();
            self.sockets[socket].take(taken);
            for event in events.drain(..) {
                self.act(lane, event)?;
            }
            if nothing {
                return Ok(());
            }
        }
    }

    fn act(&mut self, lane: usize, event: Event) -> Result<()> {
        let (worker, outcome) = match event {
            Event::Open => {
                self.lanes_open += 1;
                return Ok(());
            }
            Event::Answer(place, outcome) => (self.lanes[lane].first_worker + place, outcome),
        };
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
                self.idle.push(worker);
            }
            Outcome::Reserved(jobs) if jobs.is_empty() => {
                if self.empty_pause.is_zero() {
                    self.reserve(worker)?;
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
                self.settle(worker)?;
            }
            Outcome::Done => {
                self.measured.settle_us.saturating_record(asked_us);
                for job in std::mem::take(&mut self.workers[worker].held) {
                    self.tally.settled(job.serial)?;
                }
                self.reserve(worker)?;
            }
        }
        Ok(())
    }

    /// Workers whose pause has ended ask again.
    fn wake(&mut self) -> Result<()> {
        let now = Instant::now();
        while let Some(Reverse((at, worker))) = self.alarms.peek().copied() {
            if at > now {
                break;
            }
            self.alarms.pop();
            match self.workers[worker].role {
                Role::Producer => self.put(worker)?,
                Role::Consumer if self.workers[worker].held.is_empty() => self.reserve(worker)?,
                Role::Consumer => self.settle(worker)?,
            }
        }
        Ok(())
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
            let worker = self.idle.pop().context("there is one, as just asked")?;
            for _ in 0..jobs {
                let job = self.new_job(stamp_ns);
                self.workers[worker].jobs.push(job);
                self.handed += 1;
            }
            self.putting += 1;
            self.put(worker)?;
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

    fn put(&mut self, worker: usize) -> Result<()> {
        let jobs = std::mem::take(&mut self.workers[worker].jobs);
        let result = self.ask(worker, Request::Put(&jobs));
        self.workers[worker].jobs = jobs;
        result
    }

    fn reserve(&mut self, worker: usize) -> Result<()> {
        self.ask(worker, Request::Reserve { jobs_max: self.plan.batch })
    }

    fn settle(&mut self, worker: usize) -> Result<()> {
        let held = std::mem::take(&mut self.workers[worker].held);
        let result = self.ask(worker, Request::Settle(&held));
        self.workers[worker].held = held;
        result
    }

    fn ask(&mut self, worker: usize, request: Request<'_>) -> Result<()> {
        let now = Instant::now();
        let (lane, place) = (self.workers[worker].lane, self.workers[worker].place);
        self.workers[worker].asked = now;
        let crew = &mut self.lanes[lane];
        crew.lane.start(place, request, &mut crew.outs);
        crew.dirty = true;
        self.asked.push(lane);
        Ok(())
    }

    /// Lets lanes answer what they can answer by themselves, and sends what they have written.
    fn write(&mut self) -> Result<()> {
        while let Some(lane) = self.asked.pop() {
            self.understand(self.lanes[lane].first_socket)?;
        }
        for crew in &mut self.lanes {
            if !crew.dirty {
                continue;
            }
            crew.dirty = false;
            for (index, out) in crew.outs.iter_mut().enumerate() {
                self.sockets[crew.first_socket + index].send(out, self.poll.registry())?;
            }
        }
        Ok(())
    }
}
