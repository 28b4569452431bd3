//! Puts to all queues at once, and a model of what was acknowledged.
//!
//! For each queue one thread puts one job after another, each with an id of its own. It asks a node
//! chosen at random, which passes the job on to the owner of its shard, and then the others in turn
//! until one accepts. Where an outcome is unknown, every second job is put again with its id, and the
//! others are left as they are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::process::NodeProcess;
use crate::stage::{NODES, Nodes, PATIENCE};

/// How long a node is waited for; an outcome that takes longer is unknown. Nodes ask others for 10 s.
const ANSWERED_WITHIN: Duration = Duration::from_secs(15);

/// How long a node is waited for that cannot be expected to answer.
const AWAY_ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// How often a put that waits looks whether its node is still well.
const LOOKS_EVERY: Duration = Duration::from_millis(100);

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
    /// Times between two acknowledged puts.
    pub pauses: Vec<(Instant, Instant)>,
    pub unknown: usize,
    pub refused: usize,
    /// Refusals and unknown outcomes through nodes that were well all the time.
    pub errors: Vec<String>,
}

/// What all queues were asked for, by their names.
pub type Records = BTreeMap<String, Record>;

/// It goes on, it ends with its next acknowledgement, or at once.
const GOES_ON: u8 = 0;
const ENDS: u8 = 1;
const IS_GIVEN_UP: u8 = 2;

/// Puts that go on until [`Load::end`], or until it is dropped.
pub struct Load {
    nodes: Arc<Nodes>,
    ends: Arc<AtomicU8>,
    threads: Vec<(String, JoinHandle<Record>)>,
}

impl Load {
    /// Begins to put. A put that no node accepts for longer than `patience` fails.
    pub fn start(nodes: &Arc<Nodes>, queues: &[String], patience: Duration) -> Self {
        let ends = Arc::new(AtomicU8::new(GOES_ON));
        let thread = |queue: &String| {
            let putter = Putter {
                nodes: Arc::clone(nodes),
                ends: Arc::clone(&ends),
                queue: queue.clone(),
                patience,
                record: Record::default(),
            };
            (queue.clone(), std::thread::spawn(move || putter.run()))
        };
        Self { nodes: Arc::clone(nodes), threads: queues.iter().map(thread).collect(), ends }
    }

    /// Ends it, when each queue has had an acknowledgement.
    pub fn end(mut self) -> Records {
        self.ends.store(ENDS, Ordering::Release);
        let mut records: Records = std::mem::take(&mut self.threads)
            .into_iter()
            .map(|(queue, thread)| (queue, thread.join().expect("the load goes on")))
            .collect();
        // A node that was stopped says late what it had accepted before: that is acknowledged too.
        for (request, answer) in self.nodes.all().iter().flat_map(|node| node.take_late()) {
            if let ["put", queue, id] = request.split(' ').collect::<Vec<_>>()[..]
                && answer.starts_with("ok")
                && let Some(record) = records.get_mut(queue)
            {
                record.jobs.insert(id.to_owned(), Known::Acknowledged);
            }
        }
        records
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(IS_GIVEN_UP, Ordering::Release);
    }
}

/// Puts to one queue.
struct Putter {
    nodes: Arc<Nodes>,
    ends: Arc<AtomicU8>,
    queue: String,
    patience: Duration,
    record: Record,
}

impl Putter {
    fn run(mut self) -> Record {
        let mut last = Instant::now();
        for number in 0_u64.. {
            let is_put = self.put(&format!("{}-{number}", self.queue), number % 2 == 0);
            if is_put {
                let now = Instant::now();
                self.record.pauses.push((std::mem::replace(&mut last, now), now));
            }
            // The last one counts the pause that ends with it.
            match self.ends.load(Ordering::Acquire) {
                GOES_ON => {}
                ENDS if !is_put => {}
                _ => break,
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.record
    }

    /// Puts a job, at any node first. Returns whether it was accepted.
    fn put(&mut self, id: &str, repeats: bool) -> bool {
        let request = format!("put {} {id}", self.queue);
        let begun = Instant::now();
        let mut refusals = 0;
        let mut at = fastrand::usize(..NODES.len());
        while self.ends.load(Ordering::Acquire) != IS_GIVEN_UP {
            assert!(begun.elapsed() < self.patience, "no node accepts {request}");
            let nodes: Vec<Arc<NodeProcess>> = self.nodes.all();
            let node = &nodes[at % nodes.len()];
            let is_well = node.is_well();
            let answer = ask(node, &request);
            if is_well && node.is_well() && !answer.as_ref().is_some_and(|answer| answer.starts_with("ok")) {
                self.record.errors.push(format!("{request}: {answer:?}"));
            }
            match answer.as_deref().and_then(|answer| answer.split(' ').next()) {
                Some("ok") => {
                    self.record.jobs.insert(id.to_owned(), Known::Acknowledged);
                    return true;
                }
                Some("busy") => self.record.refused += 1,
                // A node that is gone or silent says nothing of what it did.
                _ => {
                    self.record.unknown += 1;
                    self.record.jobs.insert(id.to_owned(), Known::Unknown);
                    if !repeats {
                        return false;
                    }
                }
            }
            at += 1;
            refusals += 1;
            if refusals % nodes.len() == 0 {
                std::thread::sleep(AGAIN);
            }
        }
        false
    }
}

/// The answer to a put, or none: that of a node to which something is done is not waited for.
fn ask(node: &NodeProcess, request: &str) -> Option<String> {
    let answer = node.send(request)?;
    let begun = Instant::now();
    loop {
        match answer.recv_timeout(LOOKS_EVERY) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let within = if node.is_well() { ANSWERED_WITHIN } else { AWAY_ANSWERS_WITHIN };
        if begun.elapsed() >= within {
            return None;
        }
    }
}

/// Holds what is there against what was acknowledged: that exactly once, what is unknown at most
/// once, and nothing else. Returns what is wrong.
pub fn check(nodes: &Nodes, records: &Records) -> Vec<String> {
    let mut wrong = Vec::new();
    for (queue, record) in records {
        let mut there: BTreeMap<String, usize> = BTreeMap::new();
        for id in jobs(nodes, queue) {
            *there.entry(id).or_default() += 1;
        }
        for (id, known) in &record.jobs {
            match (known, there.remove(id).unwrap_or(0)) {
                (Known::Acknowledged, 1) | (Known::Unknown, 0 | 1) => {}
                (known, count) => wrong.push(format!("{queue}: {id} is {known:?}, and there {count} times")),
            }
        }
        wrong.extend(there.keys().map(|id| format!("{queue}: {id} is there, and was refused")));
    }
    wrong
}

/// The jobs of a queue, from the node that serves it.
fn jobs(nodes: &Nodes, queue: &str) -> Vec<String> {
    let begun = Instant::now();
    loop {
        for node in nodes.all() {
            let answer = node.ask(&format!("jobs {queue}"), Duration::from_secs(10)).unwrap_or_default();
            if let Some(jobs) = answer.strip_prefix("ok ") {
                return jobs.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect();
            }
        }
        assert!(begun.elapsed() < PATIENCE, "nobody has {queue}");
    }
}
