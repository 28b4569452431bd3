//! The limiter in front of a simulated server: calls arrive at random, so many workers take them in order.
//!
//! Everything happens in simulated time, so that the same seed gives the same figures on any machine.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use crate::{admission::*, balance::Random};

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

/// A server with workers and an endless queue, which the limiter is to keep short.
struct Server {
    limiter: Limiter,
    random: Random,
    workers: u32,
    mean_us: f64,
    working: u32,
    queue: VecDeque<Entry>,
    /// When a worker is done, and with which of the calls.
    agenda: BinaryHeap<Reverse<(u64, usize)>>,
    calls: Vec<Option<Entry>>,
    now_us: u64,
    next_arrival_us: u64,
}

/// What a stretch of time looked like.
#[derive(Debug)]
struct Stretch {
    answered_per_s: f64,
    refused_per_s: f64,
    latency_us: f64,
    limit: f64,
}

impl Server {
    fn new(workers: u32, mean_us: f64, seed: u64) -> Self {
        Self {
            limiter: Limiter::new(LimiterSettings::default()),
            random: Random::seeded(seed),
            workers,
            mean_us,
            working: 0,
            queue: VecDeque::new(),
            agenda: BinaryHeap::new(),
            calls: Vec::new(),
            now_us: SECOND,
            next_arrival_us: SECOND,
        }
    }

    fn capacity_per_s(&self) -> f64 {
        f64::from(self.workers) * 1e6 / self.mean_us
    }

    /// The fewest calls under way that keep every worker busy, and their root for what chance asks.
    fn ideal(&self) -> f64 {
        f64::from(self.workers) + f64::from(self.workers).sqrt()
    }

    /// Lets `per_second` calls arrive for so long, and measures the last `measured_us` of it.
    fn run(&mut self, per_second: f64, for_us: u64, measured_us: u64) -> Stretch {
        let end_us = self.now_us + for_us;
        let from_us = end_us - measured_us;
        let (mut answered, mut refused, mut sum_us) = (0u64, 0u64, 0u64);
        let (mut limits, mut looks) = (0.0, 0u64);
        self.next_arrival_us = self.now_us;
        loop {
            let done_us = self.agenda.peek().map_or(u64::MAX, |Reverse((at_us, _))| *at_us);
            self.now_us = done_us.min(self.next_arrival_us);
            if self.now_us >= end_us {
                self.now_us = end_us;
                break;
            }
            let measured = self.now_us >= from_us;
            if done_us <= self.next_arrival_us {
                let Some(Reverse((_, index))) = self.agenda.pop() else { break };
                let entry = self.calls[index].take().expect("a call ends once");
                let started_us = entry.started_us();
                self.limiter.left(entry, Work::Done, self.now_us);
                self.working -= 1;
                if measured {
                    answered += 1;
                    sum_us += self.now_us - started_us;
                }
                while self.working < self.workers {
                    let Some(next) = self.queue.pop_front() else { break };
                    self.start(next);
                }
            } else {
                self.next_arrival_us = self.now_us + self.exponential(1e6 / per_second);
                match self.limiter.try_enter(self.now_us) {
                    Some(entry) if self.working < self.workers => self.start(entry),
                    Some(entry) => self.queue.push_back(entry),
                    None if measured => refused += 1,
                    None => {}
                }
                if measured {
                    limits += f64::from(self.limiter.limit());
                    looks += 1;
                }
            }
        }
        let seconds = measured_us as f64 / 1e6;
        Stretch {
            answered_per_s: answered as f64 / seconds,
            refused_per_s: refused as f64 / seconds,
            latency_us: sum_us as f64 / answered.max(1) as f64,
            limit: limits / looks.max(1) as f64,
        }
    }

    fn start(&mut self, entry: Entry) {
        self.working += 1;
        let done_us = self.now_us + self.exponential(self.mean_us);
        self.agenda.push(Reverse((done_us, self.calls.len())));
        self.calls.push(Some(entry));
    }

    fn exponential(&mut self, mean: f64) -> u64 {
        let unit = (self.random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        ((-(1.0 - unit).ln() * mean) as u64).max(1)
    }

    /// By how much of it the stretch's limit misses the ideal one.
    fn off(&self, stretch: &Stretch) -> f64 {
        (stretch.limit - self.ideal()).abs() / self.ideal()
    }

    /// Whether the stretch shows a limit that fits this server.
    fn assert_fits(&self, stretch: &Stretch, test: &str) {
        self.assert_nearly_fits(stretch, test, 0.2);
    }

    fn assert_nearly_fits(&self, stretch: &Stretch, test: &str, off_max: f64) {
        println!("{test}: ideal {:.0}, capacity {:.0}/s, {stretch:?}", self.ideal(), self.capacity_per_s());
        assert!(
            self.off(stretch) <= off_max,
            "{test}: limit {:.1}, ideal {:.1}",
            stretch.limit,
            self.ideal()
        );
        assert!(stretch.answered_per_s > 0.9 * self.capacity_per_s(), "{test}: {stretch:?}");
        assert!(stretch.latency_us < 1.6 * self.mean_us, "{test}: {stretch:?}");
    }
}

#[test]
fn the_limit_finds_the_server_at_three_times_its_capacity() {
    for (workers, mean_us) in [(16, 20_000.0), (64, 10_000.0), (200, 5_000.0)] {
        let mut offs = Vec::new();
        for seed in 1..=5 {
            let mut server = Server::new(workers, mean_us, seed);
            let overload = 3.0 * server.capacity_per_s();
            let stretch = server.run(overload, 60 * SECOND, 30 * SECOND);
            // A probe measures 64 calls, so that a baseline, and the limit with it, is off by an eighth or two at times.
            server.assert_nearly_fits(&stretch, &format!("{workers} workers, seed {seed}"), 0.4);
            assert!(stretch.refused_per_s > 1.8 * server.capacity_per_s(), "the rest gets Busy");
            offs.push(server.off(&stretch));
        }
        offs.sort_by(f64::total_cmp);
        assert!(offs[2] <= 0.2, "{workers} workers: limits are off by {offs:.2?}");
    }
}

#[test]
fn the_limit_stays_right_for_ten_minutes_of_overload() {
    let mut server = Server::new(32, 10_000.0, 7);
    let overload = 3.0 * server.capacity_per_s();
    let stretch = server.run(overload, 600 * SECOND, 60 * SECOND);
    server.assert_fits(&stretch, "after ten minutes");
}

#[test]
fn the_limit_follows_workers_that_go_and_come_back() {
    let mut server = Server::new(64, 10_000.0, 3);
    let overload = 3.0 * server.capacity_per_s();
    server.run(overload, 30 * SECOND, SECOND);
    server.workers = 16;
    let stretch = server.run(overload, 30 * SECOND, 15 * SECOND);
    server.assert_fits(&stretch, "a quarter of the workers");
    server.workers = 64;
    let stretch = server.run(overload, 40 * SECOND, 15 * SECOND);
    server.assert_fits(&stretch, "all workers again");
}

#[test]
fn work_that_becomes_slower_is_not_mistaken_for_a_queue_for_long() {
    let mut server = Server::new(64, 10_000.0, 3);
    let overload = 3.0 * server.capacity_per_s();
    server.run(overload, 30 * SECOND, SECOND);
    server.mean_us = 50_000.0;
    let stretch = server.run(overload, 40 * SECOND, 15 * SECOND);
    server.assert_fits(&stretch, "work takes five times as long");
    server.mean_us = 10_000.0;
    let stretch = server.run(overload, 40 * SECOND, 15 * SECOND);
    server.assert_fits(&stretch, "work is quick again");
}

#[test]
fn a_limit_that_nobody_uses_does_not_grow() {
    let mut server = Server::new(64, 10_000.0, 3);
    let stretch = server.run(300.0, 60 * SECOND, 30 * SECOND);
    assert_eq!(stretch.refused_per_s, 0.0);
    assert!(stretch.limit < 30.0, "three calls are under way on average: {stretch:?}");
}

#[test]
fn a_quick_server_is_not_limited_for_noise() {
    let mut server = Server::new(8, 40.0, 3);
    let stretch = server.run(150_000.0, 5 * SECOND, 2 * SECOND);
    assert_eq!(stretch.refused_per_s, 0.0, "{stretch:?}");
    assert!(stretch.answered_per_s > 148_000.0, "{stretch:?}");
}

/// Callers that each call again as soon as they are answered, or 5 ms after they were refused, of functions that wait:
/// each call takes `wait_us`, and longer where more than `at_once` are under way.
struct Callers {
    limiter: Limiter,
    wait_us: u64,
    at_once: u64,
    /// When a caller acts: it calls, or its call ends.
    agenda: BinaryHeap<Reverse<(u64, usize)>>,
    calls: Vec<Option<Entry>>,
    answered: u64,
    /// Ends of the calls that queue for one of the places.
    free_at_us: BinaryHeap<Reverse<u64>>,
}

impl Callers {
    fn new(callers: usize, wait_us: u64, at_once: u64, settings: LimiterSettings) -> Self {
        Self {
            limiter: Limiter::new(settings),
            wait_us,
            at_once,
            agenda: (0..callers).map(|caller| Reverse((SECOND + caller as u64, caller))).collect(),
            calls: (0..callers).map(|_| None).collect(),
            answered: 0,
            free_at_us: BinaryHeap::new(),
        }
    }

    /// Until so long after the beginning. Returns the most calls that were under way, and how many were answered.
    fn run(&mut self, until_us: u64) -> (u32, u64) {
        let before = self.answered;
        let mut most = 0;
        while let Some(&Reverse((now_us, caller))) = self.agenda.peek()
            && now_us < SECOND + until_us
        {
            self.agenda.pop();
            if let Some(entry) = self.calls[caller].take() {
                self.limiter.left(entry, Work::Done, now_us);
                self.answered += 1;
            }
            let next_us = match self.limiter.try_enter(now_us) {
                Some(entry) => {
                    self.calls[caller] = Some(entry);
                    self.ends_at_us(now_us)
                }
                None => now_us + 5 * MS,
            };
            most = most.max(self.limiter.inflight());
            self.agenda.push(Reverse((next_us, caller)));
        }
        (most, self.answered - before)
    }

    fn ends_at_us(&mut self, now_us: u64) -> u64 {
        let places = self.free_at_us.len() as u64;
        let begins_us = match self.free_at_us.peek() {
            Some(&Reverse(free_us)) if places >= self.at_once => {
                self.free_at_us.pop();
                free_us.max(now_us)
            }
            _ => now_us,
        };
        self.free_at_us.push(Reverse(begins_us + self.wait_us));
        begins_us + self.wait_us
    }
}

#[test]
fn callers_of_a_function_that_waits_are_all_let_in_within_a_second() {
    for initial in [20, 200] {
        let settings = LimiterSettings { initial, ..LimiterSettings::default() };
        let mut callers = Callers::new(1_000, 50 * MS, u64::MAX, settings);
        let (most, answered) = callers.run(SECOND);
        println!("from {initial}: {most} at once, {answered} in the first second");
        assert_eq!(most, 1_000, "from {initial}: nothing queues, so all get in");
        let (_, answered) = callers.run(2 * SECOND);
        assert!(answered > 19_000, "from {initial}: {answered} of 20,000 in the second one");
    }
}

#[test]
fn slow_start_ends_where_calls_begin_to_queue() {
    // A hundred wait at once, the others for them.
    let mut callers = Callers::new(1_000, 50 * MS, 100, LimiterSettings::default());
    let (most, _) = callers.run(2 * SECOND);
    assert!(most <= 320, "one doubling beyond what it takes, and the one that shows it: {most}");
    let (most, answered) = callers.run(10 * SECOND);
    assert!((80..=200).contains(&callers.limiter.limit()), "{}", callers.limiter.limit());
    assert!(most <= 320 && answered > 8 * 1_900, "{most} at once, {answered} of {}", 8 * 2_000);
}

#[test]
fn limit_falls_when_what_is_waited_for_takes_less_at_once() {
    let mut callers = Callers::new(1_000, 50 * MS, u64::MAX, LimiterSettings::default());
    assert_eq!(callers.run(2 * SECOND).0, 1_000);
    callers.free_at_us.clear();
    callers.at_once = 100;
    callers.run(12 * SECOND);
    assert!(callers.limiter.limit() < 300, "{}", callers.limiter.limit());
}

#[test]
fn exactly_as_many_as_the_limit_get_in() {
    let mut limiter = Limiter::new(LimiterSettings { initial: 3, min: 2, ..Default::default() });
    let entries: Vec<Entry> = std::iter::from_fn(|| limiter.try_enter(0)).collect();
    assert_eq!((entries.len(), limiter.inflight()), (3, 3));
    for entry in entries {
        limiter.left(entry, Work::Abandoned, 5);
    }
    assert_eq!((limiter.inflight(), limiter.latency_us()), (0, 0.0), "abandoned work is not measured");
}

#[test]
fn a_driver_that_counts_itself_gets_the_same_limit() {
    let mut limiter = Limiter::new(LimiterSettings::default());
    for turn in 0..2_000u64 {
        for _ in 0..20 {
            limiter.sample(2_000, limiter.limit(), turn * 10 * MS);
        }
    }
    assert!(limiter.limit() > 100, "nothing queues, so it grows: {}", limiter.limit());
    assert!((limiter.rate_per_s() - 2_000.0).abs() < 200.0, "{}", limiter.rate_per_s());
}

#[test]
fn a_highest_limit_below_the_lowest_is_the_lowest() {
    let settings = LimiterSettings { min: 30, max: 5, ..LimiterSettings::default() };
    let mut limiter = Limiter::new(settings);
    for (latency_us, from_us) in [(10 * MS, SECOND), (50 * MS, 2 * SECOND), (10 * MS, 3 * SECOND)] {
        for call in 0..1_000 {
            limiter.sample(latency_us, 30, from_us + call * MS);
        }
        assert_eq!(limiter.limit(), 30);
    }
}
