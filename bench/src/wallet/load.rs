//! A load of debits: workers with one request under way each, on so many connections, and what came of it.
//!
//! Some of the debits are ones that were booked before, sent again as a client does that lost an
//! answer; their answers must state this, and they must book nothing. All answers go into the
//! client's books.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;

use super::books::{ANSWER_MAX, Books};
use super::dialogue::{Debit, Endpoint, Outcome, Request, Verdict, Wallets};
use super::random::Random;
use super::zipf::Zipf;
use crate::harness::{Dialogue as _, SLEEP_MAX, Workers};
use crate::machine;

/// Amounts are 1 to this.
const AMOUNT_MAX: u64 = 100;

/// Whose accounts are debited.
#[derive(Clone, Copy)]
pub(super) enum Choice<'a> {
    /// As Zipf's law has it.
    Zipf(&'a Zipf),
    /// One.
    One(u32),
}

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// The next request as soon as the last one is answered.
    Closed,
    /// By a timetable that waits for nobody: so many requests a second. Times count from the time
    /// in the table.
    Open { per_second: f64 },
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    /// What can be booked in this time.
    For(Duration),
    /// So many debits.
    Debits(u64),
}

/// One load.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) connections: usize,
    /// Requests under way on each connection.
    pub(super) depth: usize,
    /// Debits of a request.
    pub(super) batch: usize,
    pub(super) choice: Choice<'a>,
    pub(super) pace: Pace,
    pub(super) amount: Amount,
    /// Debits move 1 instead of a random amount.
    pub(super) ones: bool,
    /// One of so many debits is sent again, with a later request; 0: none.
    pub(super) repeat_every: u64,
}

/// What a load did.
pub(super) struct Measured {
    /// Debits booked.
    pub(super) posted: u64,
    /// Debits that were answered as booked before.
    pub(super) duplicates: u64,
    /// Debits refused because there was not enough.
    pub(super) insufficient: u64,
    /// From the first request to the last answer.
    pub(super) elapsed: Duration,
    /// From a request, or its time in the table, to its answer, microseconds.
    pub(super) answer_us: Histogram<u64>,
    /// Requests that had to be made again.
    pub(super) again: u64,
    /// This process' CPU time over the time that passed.
    pub(super) client_cpu: f64,
}

impl Measured {
    /// Debits booked a second.
    pub(super) fn per_second(&self) -> f64 {
        self.posted as f64 / self.elapsed.as_secs_f64()
    }

    /// The numbers that every row keeps, by name.
    pub(super) fn numbers(&self) -> Vec<(String, f64)> {
        let ms = |quantile| self.answer_us.value_at_quantile(quantile) as f64 / 1e3;
        [
            ("per_second", self.per_second()),
            ("p50_ms", ms(0.5)),
            ("p99_ms", ms(0.99)),
            ("p999_ms", ms(0.999)),
            ("again", self.again as f64),
            ("client_cpu", self.client_cpu),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// Runs a load against a running implementation.
pub(super) fn run(
    endpoint: &dyn Endpoint,
    plan: &Plan<'_>,
    books: &mut Books,
    ids: &mut Ids,
) -> Result<Measured> {
    Load::connect(endpoint, plan, books, ids)?.run()
}

/// Transfer ids, each once: the time that begins a UUID version 7, then a count.
pub(super) struct Ids(u128);

impl Ids {
    /// From now on.
    pub(super) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(now.as_millis() << 80)
    }

    /// The next one.
    pub(super) fn next(&mut self) -> u128 {
        self.0 += 1;
        self.0
    }
}

struct Load<'a> {
    plan: &'a Plan<'a>,
    books: &'a mut Books,
    ids: &'a mut Ids,
    random: Random,
    pool: Workers<Wallets>,
    workers: Vec<Worker>,
    idle: VecDeque<usize>,
    /// Workers that ask again at a time.
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Debits handed out, repeated ones not counted.
    handed: u64,
    /// Requests made.
    requests: u64,
    /// Debits that were posted, to be sent again.
    repeats: VecDeque<Debit>,
    started: Instant,
    last_answer: Instant,
    measured: Measured,
}

#[derive(Default)]
struct Worker {
    debits: Vec<Debit>,
    /// So many of them, from the first one, are repeated ones.
    repeated: usize,
    /// When the request was made, or was due.
    asked: Option<Instant>,
    /// Its answer asked for a retry.
    asks_again: bool,
}

impl<'a> Load<'a> {
    fn connect(
        endpoint: &dyn Endpoint,
        plan: &'a Plan<'a>,
        books: &'a mut Books,
        ids: &'a mut Ids,
    ) -> Result<Self> {
        let mut pool = Workers::new()?;
        for _ in 0..plan.connections {
            pool.add(&[endpoint.service().address()], endpoint.lane(), plan.depth)?;
        }
        pool.wait_until_open()?;
        let workers = plan.connections * plan.depth;
        // Workers take their turns across the connections.
        let across = |worker| worker % plan.connections * plan.depth + worker / plan.connections;
        Ok(Self {
            plan,
            books,
            ids,
            random: Random::new(1),
            pool,
            workers: std::iter::repeat_with(Worker::default).take(workers).collect(),
            idle: (0..workers).map(across).collect(),
            alarms: BinaryHeap::new(),
            handed: 0,
            requests: 0,
            repeats: VecDeque::new(),
            started: Instant::now(),
            last_answer: Instant::now(),
            measured: Measured {
                posted: 0,
                duplicates: 0,
                insufficient: 0,
                elapsed: Duration::ZERO,
                answer_us: Histogram::new_with_bounds(1, 600_000_000, 3)?,
                again: 0,
                client_cpu: 0.0,
            },
        })
    }

    fn run(mut self) -> Result<Measured> {
        let cpu = machine::own_cpu_time()?;
        let mut answers = Vec::new();
        (self.started, self.last_answer) = (Instant::now(), Instant::now());
        loop {
            self.wake();
            self.hand_out();
            if self.idle.len() == self.workers.len() && self.is_over() {
                break;
            }
            let sleep = self.sleep();
            self.pool.turn(sleep, &mut answers)?;
            for (worker, outcome) in answers.drain(..) {
                self.last_answer = Instant::now();
                self.hear(worker, outcome)?;
            }
            if self.last_answer.elapsed() > ANSWER_MAX && self.idle.len() < self.workers.len() {
                bail!("no answer within {ANSWER_MAX:?}");
            }
        }
        let elapsed = self.started.elapsed();
        let client_cpu = (machine::own_cpu_time()? - cpu).as_secs_f64() / elapsed.as_secs_f64();
        Ok(Measured { elapsed, client_cpu, ..self.measured })
    }

    /// Whether nothing is asked any more.
    fn is_over(&self) -> bool {
        match self.plan.amount {
            Amount::For(span) => self.started.elapsed() >= span,
            Amount::Debits(_) => self.is_handed_out() && self.repeats.is_empty(),
        }
    }

    /// Whether there is no further new debit.
    fn is_handed_out(&self) -> bool {
        matches!(self.plan.amount, Amount::Debits(debits) if self.handed >= debits)
    }

    /// When the table wants the next request.
    fn due(&self) -> Instant {
        match self.plan.pace {
            Pace::Closed => self.started,
            Pace::Open { per_second } => {
                self.started + Duration::from_secs_f64(self.requests as f64 / per_second)
            }
        }
    }

    /// Until something has to be done without a message.
    fn sleep(&self) -> Duration {
        let now = Instant::now();
        let mut sleep = SLEEP_MAX;
        if let Some(Reverse((at, _))) = self.alarms.peek() {
            sleep = sleep.min(at.saturating_duration_since(now));
        }
        if !self.idle.is_empty() && !self.is_over() {
            sleep = sleep.min(self.due().saturating_duration_since(now));
        }
        sleep
    }

    /// Workers whose pause has ended ask again.
    fn wake(&mut self) {
        let now = Instant::now();
        while let Some(Reverse((at, worker))) = self.alarms.peek().copied()
            && at <= now
        {
            self.alarms.pop();
            self.pool.ask(worker, Request::Debit(&self.workers[worker].debits));
        }
    }

    /// Gives idle workers what is due.
    fn hand_out(&mut self) {
        while !self.is_over() {
            let now = Instant::now();
            let asked = match self.plan.pace {
                Pace::Closed => now,
                Pace::Open { .. } if self.due() > now => return,
                Pace::Open { .. } => self.due(),
            };
            let Some(index) = self.idle.pop_front() else { return };
            let mut debits = std::mem::take(&mut self.workers[index].debits);
            debits.clear();
            let repeated = self.repeats.len().min(self.plan.batch);
            debits.extend(self.repeats.drain(..repeated));
            while debits.len() < self.plan.batch && !self.is_handed_out() {
                debits.push(self.next_debit());
            }
            self.requests += 1;
            self.pool.ask(index, Request::Debit(&debits));
            self.workers[index] = Worker { debits, repeated, asked: Some(asked), asks_again: false };
        }
    }

    fn next_debit(&mut self) -> Debit {
        let account = match self.plan.choice {
            Choice::Zipf(zipf) => zipf.account(self.handed),
            Choice::One(account) => account,
        };
        let amount = if self.plan.ones { 1 } else { 1 + self.random.below(AMOUNT_MAX) };
        self.handed += 1;
        Debit { id: self.ids.next(), account, amount }
    }

    fn hear(&mut self, index: usize, outcome: Outcome) -> Result<()> {
        if let Some(pause) = Wallets::again(&outcome) {
            self.measured.again += 1;
            self.workers[index].asks_again = true;
            self.alarms.push(Reverse((self.last_answer + pause, index)));
            return Ok(());
        }
        let Outcome::Debited(verdicts) = outcome else { bail!("debits were answered by {outcome:?}") };
        let worker = std::mem::take(&mut self.workers[index]);
        let asked = worker.asked.context("an answer to no request")?;
        let answer_us = self.last_answer.saturating_duration_since(asked).as_micros();
        self.measured.answer_us.saturating_record(u64::try_from(answer_us)?);
        if verdicts.len() != worker.debits.len() {
            bail!("{} verdicts for {} debits", verdicts.len(), worker.debits.len());
        }
        for (at, (debit, verdict)) in worker.debits.iter().zip(verdicts).enumerate() {
            let is_repeated = at < worker.repeated;
            match verdict {
                Verdict::Duplicate if is_repeated => self.measured.duplicates += 1,
                other if is_repeated => bail!("{debit:?} was booked, sent again, and answered by {other:?}"),
                Verdict::Duplicate if !worker.asks_again => {
                    bail!("{debit:?} is new and was called a duplicate")
                }
                // A request that was answered with a retry may have been booked in part.
                Verdict::Posted | Verdict::Duplicate => {
                    self.books.debit(debit)?;
                    self.measured.posted += 1;
                    let every = self.plan.repeat_every;
                    if every > 0 && self.measured.posted.is_multiple_of(every) {
                        self.repeats.push_back(*debit);
                    }
                }
                Verdict::Insufficient => self.measured.insufficient += 1,
            }
        }
        // Its room is used again.
        self.workers[index].debits = worker.debits;
        self.idle.push_back(index);
        Ok(())
    }
}
