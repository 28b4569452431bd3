//! Puts, payments and pushes to all shards at once, and a model of what was acknowledged.
//!
//! For each target, which is a queue, a wallet or a device, one thread asks for one thing after another,
//! each with an id of its own. It asks a node chosen at random, which passes the command on to the owner
//! of its shard, and then the others in turn until one accepts. Where an outcome is unknown, every second
//! command is given again with its id, and the others are left as they are.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::process::NodeProcess;
use crate::stage::{NODES, Nodes, PATIENCE};

/// How long a node is waited for; an outcome that takes longer is unknown. Nodes ask others for 10 s.
const ANSWERED_WITHIN: Duration = Duration::from_secs(15);

/// How long a node is waited for that cannot be expected to answer.
const AWAY_ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// The answer to a payment that was given before, and whose other shard has not answered yet.
const UNDER_WAY: &str = "busy WAL-043";

/// How often a command that waits looks whether its node is still well.
const LOOKS_EVERY: Duration = Duration::from_millis(100);

/// How long after all nodes refused they are asked again.
const AGAIN: Duration = Duration::from_millis(20);

/// How long what was acknowledged may take to be seen, where it came by a message from another shard.
const SEEN_WITHIN: Duration = Duration::from_secs(30);

/// A kind of command, with an id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A job, put into a queue.
    Put,
    /// An amount of one, from the house to a wallet.
    Pay,
    /// A message to a device, which is never there.
    Push,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Put, Self::Pay, Self::Push];

    /// The requests that make its target, give the command, and list what is there.
    fn requests(self) -> (Option<&'static str>, &'static str, &'static str) {
        match self {
            Self::Put => (None, "put", "jobs"),
            Self::Pay => (Some("open"), "pay", "payments"),
            Self::Push => (Some("register"), "push", "pushes"),
        }
    }

    /// The pause between two commands: a node lists all pushes to find those of one device.
    fn pause(self) -> Duration {
        Duration::from_millis(match self {
            Self::Put => 2,
            Self::Pay => 5,
            Self::Push => 25,
        })
    }
}

/// A queue, a wallet or a device.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Target {
    pub kind: Kind,
    pub name: String,
}

impl Target {
    pub fn queue(name: &str) -> Self {
        Self { kind: Kind::Put, name: name.to_owned() }
    }

    fn request(&self, id: &str) -> String {
        format!("{} {} {id}", self.kind.requests().1, self.name)
    }
}

/// The known outcome of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    Acknowledged,
    Unknown,
}

/// The commands of one target.
pub struct Record {
    /// Just before the first of them, and just after the last.
    pub during: Range<SystemTime>,
    /// By their ids.
    pub commands: BTreeMap<String, Known>,
    /// Times between two acknowledged commands.
    pub pauses: Vec<(Instant, Instant)>,
    pub unknown: usize,
    pub refused: usize,
    /// Refusals and unknown outcomes through nodes that were well all the time.
    pub errors: Vec<String>,
}

impl Record {
    fn new() -> Self {
        Self {
            during: SystemTime::now()..SystemTime::now(),
            commands: BTreeMap::new(),
            pauses: Vec::new(),
            unknown: 0,
            refused: 0,
            errors: Vec::new(),
        }
    }
}

/// The commands of all targets.
pub type Records = BTreeMap<Target, Record>;

/// It goes on, it ends with its next acknowledgement, or at once.
const GOES_ON: u8 = 0;
const ENDS: u8 = 1;
const IS_GIVEN_UP: u8 = 2;

/// Commands that go on until [`Load::end`], or until it is dropped.
pub struct Load {
    nodes: Arc<Nodes>,
    ends: Arc<AtomicU8>,
    threads: Vec<(Target, JoinHandle<Record>)>,
}

impl Load {
    /// Makes the targets, of each kind one for each of the names, and begins. A command that no node
    /// accepts for longer than `patience` fails.
    pub fn start(nodes: &Arc<Nodes>, names: &[String], patience: Duration) -> Self {
        let ends = Arc::new(AtomicU8::new(GOES_ON));
        let target = |kind| names.iter().map(move |name| Target { kind, name: name.clone() });
        let targets: Vec<Target> = Kind::ALL.into_iter().flat_map(target).collect();
        for target in &targets {
            if let (Some(make), ..) = target.kind.requests() {
                let made = ok_of_any(nodes, &format!("{make} {}", target.name));
                made.unwrap_or_else(|| panic!("nobody makes {target:?}"));
            }
        }
        let thread = |target: Target| {
            let caller = Caller {
                nodes: Arc::clone(nodes),
                ends: Arc::clone(&ends),
                target: target.clone(),
                patience,
                record: Record::new(),
            };
            (target, std::thread::spawn(move || caller.run()))
        };
        Self { nodes: Arc::clone(nodes), threads: targets.into_iter().map(thread).collect(), ends }
    }

    /// Ends it, when each target has had an acknowledgement.
    pub fn end(mut self) -> Records {
        self.ends.store(ENDS, Ordering::Release);
        let mut records: Records = std::mem::take(&mut self.threads)
            .into_iter()
            .map(|(target, thread)| (target, thread.join().expect("the load goes on")))
            .collect();
        // A node that was stopped says late what it had accepted before: that is acknowledged too.
        for (request, answer) in self.nodes.all().iter().flat_map(|node| node.take_late()) {
            if let [verb, name, id] = request.split(' ').collect::<Vec<_>>()[..]
                && answer.starts_with("ok")
                && let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.requests().1 == verb)
                && let Some(record) = records.get_mut(&Target { kind, name: name.to_owned() })
            {
                record.commands.insert(id.to_owned(), Known::Acknowledged);
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

/// Gives commands to one target.
struct Caller {
    nodes: Arc<Nodes>,
    ends: Arc<AtomicU8>,
    target: Target,
    patience: Duration,
    record: Record,
}

impl Caller {
    fn run(mut self) -> Record {
        let mut last = Instant::now();
        for number in 0_u64.. {
            let is_done = self.ask(&format!("{}-{number}", self.target.name), number % 2 == 0);
            if is_done {
                let now = Instant::now();
                self.record.pauses.push((std::mem::replace(&mut last, now), now));
            }
            // The last one counts the pause that ends with it.
            match self.ends.load(Ordering::Acquire) {
                GOES_ON => {}
                ENDS if !is_done => {}
                _ => break,
            }
            std::thread::sleep(self.target.kind.pause());
        }
        self.record.during.end = SystemTime::now();
        self.record
    }

    /// Gives a command, to any node first. Returns whether it was accepted.
    fn ask(&mut self, id: &str, repeats: bool) -> bool {
        let request = self.target.request(id);
        let begun = Instant::now();
        let mut refusals = 0;
        let mut at = fastrand::usize(..NODES.len());
        while self.ends.load(Ordering::Acquire) != IS_GIVEN_UP {
            assert!(begun.elapsed() < self.patience, "no node accepts {request}");
            let nodes: Vec<Arc<NodeProcess>> = self.nodes.all();
            let node = &nodes[at % nodes.len()];
            let is_well = node.is_well();
            let answer = ask(node, &request);
            let is_no_error = |answer: &String| answer.starts_with("ok") || answer.ends_with(UNDER_WAY);
            if is_well && node.is_well() && !answer.as_ref().is_some_and(is_no_error) {
                self.record.errors.push(format!("{request}: {answer:?}"));
            }
            match answer.as_deref().and_then(|answer| answer.split(' ').next()) {
                Some("ok") => {
                    self.record.commands.insert(id.to_owned(), Known::Acknowledged);
                    return true;
                }
                Some("busy") => self.record.refused += 1,
                // A node that is gone or silent says nothing of what it did.
                _ => {
                    self.record.unknown += 1;
                    self.record.commands.insert(id.to_owned(), Known::Unknown);
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

/// The answer to a command, or none: that of a node to which something is done is not waited for.
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
/// once, and nothing else. Returns what is wrong. A payment crosses shards, so it is looked for again.
pub fn check(nodes: &Nodes, records: &Records) -> Vec<String> {
    let mut wrong = Vec::new();
    for (target, record) in records {
        let begun = Instant::now();
        wrong.extend(loop {
            let wrong = check_one(nodes, target, record);
            if wrong.is_empty() || target.kind == Kind::Put || begun.elapsed() >= SEEN_WITHIN {
                break wrong;
            }
            std::thread::sleep(AGAIN);
        });
    }
    wrong
}

fn check_one(nodes: &Nodes, target: &Target, record: &Record) -> Vec<String> {
    let (name, mut wrong) = (format!("{:?} {}", target.kind, target.name), Vec::new());
    let mut list = format!("{} {}", target.kind.requests().2, target.name);
    if target.kind == Kind::Push {
        // The clock of a shard may differ a little, and a command may be carried out late.
        let margin = Duration::from_secs(60);
        for time in [record.during.start - margin, record.during.end + margin] {
            let time = time.duration_since(UNIX_EPOCH).expect("the clock is set");
            list.push_str(&format!(" {}", time.as_millis()));
        }
    }
    let listed = ok_of_any(nodes, &list).unwrap_or_else(|| panic!("nobody has {target:?}"));
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    for id in listed.split(' ').filter(|id| !id.is_empty()) {
        *there.entry(id).or_default() += 1;
    }
    for (id, known) in &record.commands {
        match (known, there.remove(id.as_str()).unwrap_or(0)) {
            (Known::Acknowledged, 1) | (Known::Unknown, 0 | 1) => {}
            (known, count) => wrong.push(format!("{name}: {id} is {known:?}, and there {count} times")),
        }
    }
    wrong.extend(there.keys().map(|id| format!("{name}: {id} is there, and was refused")));
    wrong
}

/// The answer of the first node that does it.
fn ok_of_any(nodes: &Nodes, request: &str) -> Option<String> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        for node in nodes.all() {
            let answer = node.ask(request, Duration::from_secs(10)).unwrap_or_default();
            if let Some(said) = answer.strip_prefix("ok ") {
                return Some(said.to_owned());
            }
        }
        std::thread::sleep(AGAIN);
    }
    None
}
