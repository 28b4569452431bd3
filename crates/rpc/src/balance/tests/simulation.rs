//! A simulated service: calls arrive at random, instances have workers and queues, some are slow or fail.
//!
//! Everything happens in simulated time, so that the same seed gives the same figures on any machine.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use super::fixture::*;
use crate::balance::*;

/// How an instance does its work.
#[derive(Clone, Copy)]
struct Worker {
    /// Mean time of a call, in microseconds; times are exponential.
    mean_us: f64,
    /// It answers at once that something is broken.
    fails: bool,
}

struct Instance {
    id: InstanceId,
    worker: Worker,
    busy: u32,
    queue: VecDeque<usize>,
    served: usize,
}

/// A call that is under way, or was.
struct Call {
    instance: usize,
    began_us: u64,
    over: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives,
    Answered(usize),
    Deadline(usize),
}

struct Figures {
    success: f64,
    p99_us: u64,
    share_of_first: f64,
}

const WORKERS: u32 = 4;
const DEADLINE_US: u64 = SECOND;

/// Sends `calls` calls at `per_second` to these instances.
fn simulate(policy: Policy, workers: &[Worker], per_second: f64, calls: usize, seed: u64) -> Figures {
    let names: Vec<String> = (0..workers.len()).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fleet = Fleet::with(BalanceSettings { policy, seed, ..Default::default() }, &names);
    let mut instances: Vec<Instance> = workers
        .iter()
        .zip(&names)
        .map(|(&worker, name)| Instance {
            id: fleet.id(name),
            worker,
            busy: 0,
            queue: VecDeque::new(),
            served: 0,
        })
        .collect();
    let mut balancer = fleet.balancer;
    let mut random = Random::seeded(seed ^ 0xfeed);
    let mut exponential = move |mean: f64| -> u64 {
        let unit = (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        ((-(1.0 - unit).ln() * mean) as u64).max(1)
    };

    let mut made: Vec<Call> = Vec::with_capacity(calls);
    let mut latencies = Vec::with_capacity(calls);
    let mut good = 0usize;
    let mut agenda = BinaryHeap::from([Reverse((SECOND, Event::Arrives))]);
    while let Some(Reverse((now_us, event))) = agenda.pop() {
        match event {
            Event::Arrives => {
                if made.len() + 1 < calls {
                    agenda.push(Reverse((now_us + exponential(1e6 / per_second), Event::Arrives)));
                }
                let chosen = balancer.choose(now_us, Choice::default()).expect("all are connected");
                balancer.began(chosen.id, now_us);
                let index = instances.iter().position(|one| one.id == chosen.id).expect("it is known");
                let (call, instance) = (made.len(), &mut instances[index]);
                made.push(Call { instance: index, began_us: now_us, over: false });
                instance.served += 1;
                agenda.push(Reverse((now_us + DEADLINE_US, Event::Deadline(call))));
                if instance.worker.fails {
                    agenda.push(Reverse((now_us + 300, Event::Answered(call))));
                } else if instance.busy < WORKERS {
                    instance.busy += 1;
                    agenda.push(Reverse((
                        now_us + exponential(instance.worker.mean_us),
                        Event::Answered(call),
                    )));
                } else {
                    instance.queue.push_back(call);
                }
            }
            Event::Answered(call) => {
                let instance = &mut instances[made[call].instance];
                if !instance.worker.fails {
                    instance.busy -= 1;
                    // The server drops what nobody waits for any more, as ours does.
                    while let Some(next) = instance.queue.pop_front() {
                        if !made[next].over {
                            instance.busy += 1;
                            let took_us = exponential(instance.worker.mean_us);
                            agenda.push(Reverse((now_us + took_us, Event::Answered(next))));
                            break;
                        }
                    }
                }
                let (id, fails) = (instance.id, instance.worker.fails);
                let call = &mut made[call];
                if !std::mem::replace(&mut call.over, true) {
                    let latency_us = now_us - call.began_us;
                    balancer.ended(id, if fails { Outcome::Broken } else { Outcome::Ok }, latency_us, now_us);
                    good += usize::from(!fails);
                    latencies.push(latency_us);
                }
            }
            Event::Deadline(call) => {
                let id = instances[made[call].instance].id;
                if !std::mem::replace(&mut made[call].over, true) {
                    balancer.ended(id, Outcome::Deadline, DEADLINE_US, now_us);
                    latencies.push(DEADLINE_US);
                }
            }
        }
    }
    assert_eq!(latencies.len(), calls, "every call ends once");
    assert!(instances.iter().all(|one| balancer.inflight(one.id) == 0));
    latencies.sort_unstable();
    Figures {
        success: good as f64 / calls as f64,
        p99_us: latencies[calls * 99 / 100],
        share_of_first: instances[0].served as f64 / calls as f64,
    }
}

const WELL: Worker = Worker { mean_us: 2_000.0, fails: false };
const SLOW: Worker = Worker { mean_us: 100_000.0, fails: false };
const FAILING: Worker = Worker { mean_us: 2_000.0, fails: true };

#[test]
fn one_slow_and_one_failing_of_ten_hardly_hurt() {
    let mut workers = [WELL; 10];
    (workers[0], workers[1]) = (SLOW, FAILING);
    // Half of what eight good instances can do.
    let run = |policy| simulate(policy, &workers, 8_000.0, 200_000, 42);
    let (blind, ours) = (run(Policy::RoundRobin), run(Policy::PeakEwma));
    println!(
        "round robin: success {:.4}, p99 {} us; peak EWMA: success {:.4}, p99 {} us",
        blind.success, blind.p99_us, ours.success, ours.p99_us
    );
    assert!(blind.success < 0.85, "a failing and a drowned instance take a fifth: {}", blind.success);
    assert!(ours.success > 0.998, "{}", ours.success);
    assert!(ours.p99_us * 5 <= blind.p99_us, "{} against {}", ours.p99_us, blind.p99_us);
}

#[test]
fn a_slow_instance_gets_little() {
    let mut workers = [WELL; 10];
    workers[0] = SLOW;
    for seed in 1..=3 {
        let figures = simulate(Policy::PeakEwma, &workers, 9_000.0, 100_000, seed);
        println!("the slow instance got {:.4} of the calls", figures.share_of_first);
        assert!(figures.share_of_first < 0.05, "seed {seed}: {}", figures.share_of_first);
        assert!(figures.success > 0.999, "seed {seed}: {}", figures.success);
    }
}

#[test]
fn equal_instances_get_about_the_same() {
    for seed in 1..=3 {
        let figures = simulate(Policy::PeakEwma, &[WELL; 10], 10_000.0, 100_000, seed);
        println!("one of ten got {:.4} of the calls, p99 {} us", figures.share_of_first, figures.p99_us);
        assert!((0.05..0.2).contains(&figures.share_of_first), "seed {seed}: {}", figures.share_of_first);
    }
}
