//! Puts to all queues at once, and a model of what was acknowledged.
//!
//! For each queue one thread puts one job after another, each with an id of its own. It asks the
//! nodes in turn until one accepts. Where an outcome is unknown, every second job is put again with
//! its id, and the others are left as they are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::process::NodeProcess;
use super::stage::Stage;

/// How long a node is waited for; an outcome that takes longer is unknown.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// How long after all nodes refused they are asked again.
const AGAIN: Duration = Duration::from_millis(20);

/// What is known of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    Acknowledged,
    Unknown,
}

/// What one queue was asked for.
#[derive(Default)]
pub struct Record {
    pub jobs: BTreeMap<String, Known>,
    /// The longest time between two acknowledged puts.
    pub longest_pause: Duration,
    pub unknown: usize,
    pub refused: usize,
}

/// Puts that go on until [`Load::end`].
pub struct Load {
    ends: Arc<AtomicBool>,
    threads: Vec<(String, JoinHandle<Record>)>,
}

impl Load {
    /// Begins to put. `name` begins the ids, and is another for each load of a cluster.
    pub fn start(stage: &Arc<Stage>, name: &str) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let thread = |queue: &String| {
            let (stage, ends) = (Arc::clone(stage), Arc::clone(&ends));
            let (queue, name) = (queue.clone(), name.to_owned());
            (queue.clone(), std::thread::spawn(move || run(&stage, &queue, &name, &ends)))
        };
        let threads = stage.queues.iter().map(thread).collect();
        Self { ends, threads }
    }

    /// Ends it, when each queue has had an acknowledgement.
    pub fn end(self) -> BTreeMap<String, Record> {
        self.ends.store(true, Ordering::Release);
        self.threads
            .into_iter()
            .map(|(queue, thread)| (queue, thread.join().expect("the load goes on")))
            .collect()
    }
}

fn run(stage: &Stage, queue: &str, name: &str, ends: &AtomicBool) -> Record {
    let mut record = Record::default();
    let mut at = 0;
    let mut last = Instant::now();
    let mut number = 0;
    loop {
        let id = format!("{name}-{number}");
        if put(stage, queue, &id, number % 2 == 0, &mut at, &mut record) {
            record.longest_pause = record.longest_pause.max(last.elapsed());
            last = Instant::now();
            // The last one counts the pause that ends with it.
            if ends.load(Ordering::Acquire) {
                return record;
            }
        }
        number += 1;
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Puts a job, at the node that accepted the last one first. Returns whether it was accepted.
pub fn put(stage: &Stage, queue: &str, id: &str, repeats: bool, at: &mut usize, record: &mut Record) -> bool {
    let request = format!("put {queue} {id}");
    let begun = Instant::now();
    let mut refusals = 0;
    loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "no node accepts {request}");
        let nodes: Vec<Arc<NodeProcess>> = stage.nodes();
        let answer = nodes[*at % nodes.len()].ask(&request, ANSWERED_WITHIN);
        match answer.as_deref().and_then(|answer| answer.split(' ').next()) {
            Some("ok") => {
                record.jobs.insert(id.to_owned(), Known::Acknowledged);
                return true;
            }
            Some("busy") => record.refused += 1,
            // A node that is gone or silent says nothing of what it did.
            _ => {
                record.unknown += 1;
                record.jobs.insert(id.to_owned(), Known::Unknown);
                if !repeats {
                    *at += 1;
                    return false;
                }
            }
        }
        *at += 1;
        refusals += 1;
        if refusals % nodes.len() == 0 {
            std::thread::sleep(AGAIN);
        }
    }
}

/// Holds what is there against what was acknowledged: that exactly once, what is unknown at most
/// once, and nothing else.
pub fn check(stage: &Stage, loads: &[BTreeMap<String, Record>]) {
    for queue in &stage.queues {
        let mut there: BTreeMap<String, usize> = BTreeMap::new();
        for id in jobs(stage, queue) {
            *there.entry(id).or_default() += 1;
        }
        for (id, known) in loads.iter().flat_map(|load| &load[queue].jobs) {
            match (known, there.remove(id).unwrap_or(0)) {
                (Known::Acknowledged, 1) | (Known::Unknown, 0 | 1) => {}
                (known, count) => panic!("{queue}: {id} is {known:?}, and there {count} times"),
            }
        }
        assert!(there.is_empty(), "{queue}: {there:?} were never put, or refused");
    }
}

/// The jobs of a queue, from the node that serves it.
fn jobs(stage: &Stage, queue: &str) -> Vec<String> {
    let begun = Instant::now();
    loop {
        for node in stage.nodes() {
            let answer = node.ask(&format!("jobs {queue}"), Duration::from_secs(10)).unwrap_or_default();
            if let Some(jobs) = answer.strip_prefix("ok ") {
                return jobs.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect();
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody has {queue}");
    }
}

/// The longest pause of all queues, with their counts, for people.
pub fn report(what: &str, load: &BTreeMap<String, Record>) -> Duration {
    let longest = load.values().map(|record| record.longest_pause).max().unwrap_or_default();
    let sum = |count: fn(&Record) -> usize| load.values().map(count).sum::<usize>();
    let acknowledged =
        |record: &Record| record.jobs.values().filter(|known| **known == Known::Acknowledged).count();
    println!(
        "{what}: {} acknowledged, {} refused, {} unknown; longest pause {longest:?}",
        sum(acknowledged),
        sum(|record| record.refused),
        sum(|record| record.unknown),
    );
    longest
}
