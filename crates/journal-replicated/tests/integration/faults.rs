//! Nodes that own, follow, are killed and lose power, on a partition with faults, by seeds.
//!
//! All that was acknowledged is in the log once, at its position; nothing that was given up is; all
//! mirrors have the same bytes. A failure prints its seed.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Error, Journal, Position};
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_journal_replicated::{ReplicatedJournal, Standing};

use crate::place::{follow, follow_from, frames, records};

const NODES: usize = 3;
const STEPS: usize = 6_000;
const SEEDS: u64 = 100;

type Records = Vec<(Position, Vec<u8>)>;

struct Node {
    disk: MemoryDisk,
    journal: Option<ReplicatedJournal>,
    /// Records of its own without an outcome.
    pending: Records,
    /// The records that it knows in a row: read at its opening, of others, of its own.
    seen: Records,
    /// Segments before it may have been removed.
    checkpoint: Position,
}

struct World {
    random: Rng,
    topic: MemoryTopic,
    nodes: Vec<Node>,
    acknowledged: BTreeMap<Position, Vec<u8>>,
    given_up: BTreeSet<Vec<u8>>,
    /// Rows of records that nodes knew, and that must be rows of the log.
    rows: Vec<Records>,
    made: u64,
    /// What happened, so that the suite can tell whether it tests anything.
    met: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(seed: u64) -> Self {
        let topic = MemoryTopic::new(1);
        let mut choices = Rng::with_seed(seed ^ 0xFA17);
        topic.set_faults(Some(Box::new(move |below| choices.usize(..below))));
        let mut random = Rng::with_seed(seed);
        // Writer ids come from the disks: no two may begin alike.
        let node = |_| Node {
            disk: MemoryDisk::new(random.u64(..)),
            journal: None,
            pending: Vec::new(),
            seen: Vec::new(),
            checkpoint: Position::START,
        };
        let nodes = (0..NODES).map(node).collect();
        Self {
            random,
            topic,
            nodes,
            acknowledged: BTreeMap::new(),
            given_up: BTreeSet::new(),
            rows: Vec::new(),
            made: 0,
            met: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.met.entry(what).or_default() += 1;
    }

    fn open(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        if node.journal.is_none() {
            let journal = follow_from(&self.topic, &node.disk, node.checkpoint);
            self.rows.push(std::mem::replace(&mut node.seen, records(&journal)));
            node.journal = Some(journal);
        }
    }

    /// Takes in what a node knows: records of others, its own that are durable, its end.
    fn poll(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        let Some(journal) = &mut node.journal else { return };
        let seen = &mut node.seen;
        let polled = journal.poll(&mut |record| seen.push((record.position, record.body.to_vec())));
        match polled {
            Ok(Standing::Serving) => {
                let durable = journal.durable();
                match durable {
                    Ok(durable) => self.settle(number, durable),
                    Err(error) => self.ended(number, &error),
                }
            }
            Ok(_) => {}
            Err(error) => self.ended(number, &error),
        }
    }

    /// The records of a node before a position are acknowledged.
    fn settle(&mut self, number: usize, durable: Position) {
        let node = &mut self.nodes[number];
        let count = node.pending.iter().take_while(|(position, _)| *position < durable).count();
        for (position, body) in node.pending.drain(..count) {
            node.seen.push((position, body.clone()));
            assert!(!self.given_up.contains(&body), "acknowledged after it was given up");
            assert!(self.acknowledged.insert(position, body).is_none(), "two at position {position}");
        }
    }

    /// A journal has ended: its records are acknowledged, given up, or unknown.
    fn ended(&mut self, number: usize, error: &Error) {
        let node = &mut self.nodes[number];
        let Some(journal) = &mut node.journal else { return };
        let stopped = journal.stop();
        self.count(match error {
            Error::Fenced { .. } => "fenced",
            Error::Unknown { .. } => "unknown",
            Error::Failed { .. } => "failed",
            error => panic!("node {number} ended: {error}"),
        });
        assert_eq!(stopped.is_none(), matches!(error, Error::Unknown { .. }), "{error}");
        if let Some(durable) = stopped {
            self.settle(number, durable);
            self.give_up(number);
        }
        let node = &mut self.nodes[number];
        node.pending.clear();
        if matches!(error, Error::Fenced { .. }) {
            let journal = node.journal.as_mut().expect("it was there");
            journal.follow_again().expect("a fenced owner follows");
        } else {
            node.journal = None;
            node.disk.kill();
        }
    }

    fn give_up(&mut self, number: usize) {
        let pending = std::mem::take(&mut self.nodes[number].pending);
        let count = pending.len() as u64;
        *self.met.entry("given up").or_default() += count;
        self.given_up.extend(pending.into_iter().map(|(_, body)| body));
    }

    fn append(&mut self, number: usize) {
        let count = self.random.usize(1..8);
        for _ in 0..count {
            self.made += 1;
            let mut body = self.made.to_le_bytes().to_vec();
            let longest = if self.random.usize(..3) == 0 { 7_000 } else { 60 };
            body.resize(8 + self.random.usize(..longest), 7);
            let node = &mut self.nodes[number];
            let Some(journal) = &mut node.journal else { return };
            match journal.append(&body) {
                Ok(position) => node.pending.push((position, body)),
                Err(Error::Busy { .. }) => break,
                Err(Error::Fenced { .. }) => return,
                Err(error) => panic!("node {number} does not take a record: {error}"),
            }
        }
        if self.random.bool() {
            let journal = self.nodes[number].journal.as_mut().expect("it was there");
            if let Err(error) = journal.commit() {
                self.ended(number, &error);
            }
        }
    }

    /// The process of a node ends, and perhaps power fails. Its records are unknown.
    fn kill(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        if node.journal.take().is_none() {
            return;
        }
        node.pending.clear();
        if self.random.bool() {
            node.disk.kill();
            self.count("killed");
        } else {
            let random = &mut self.random;
            node.disk.crash(&mut |below| random.usize(..below));
            self.count("lost power");
        }
    }

    /// Removes the first segment, if it is sealed, as a checkpoint behind it allows.
    fn remove(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        let Some(journal) = &mut node.journal else { return };
        let segments = journal.segmented().expect("it has some").segments();
        let Some(first) = segments.first().filter(|segment| segment.is_sealed) else { return };
        node.checkpoint = first.limit;
        journal.segmented_mut().expect("it has some").remove(first.number).expect("it is sealed");
        self.count("removed");
    }

    fn step(&mut self) {
        let number = self.random.usize(..NODES);
        match self.random.usize(..400) {
            0 => self.kill(number),
            1 => {
                if let Some(journal) = &mut self.nodes[number].journal {
                    journal.claim();
                }
            }
            2 => self.topic.change_leader(0),
            3 => self.remove(number),
            4..=6 => {
                if let Some(journal) = &mut self.nodes[number].journal
                    && journal.standing() == Standing::Serving
                {
                    match journal.segmented_mut().expect("it has some").seal() {
                        Ok(()) | Err(Error::Busy { .. }) => {}
                        Err(error) => panic!("a segment can be sealed: {error}"),
                    }
                }
            }
            7 => {
                if let Some(journal) = &mut self.nodes[number].journal
                    && journal.standing() == Standing::Serving
                {
                    // A hand-over: the node forgets its records, which may count yet.
                    journal.follow_again().expect("it works");
                    let node = &mut self.nodes[number];
                    node.pending.clear();
                    let known = records(node.journal.as_ref().expect("it is there"));
                    self.rows.push(std::mem::replace(&mut node.seen, known));
                }
            }
            8..=40 => self.open(number),
            41..=80 => self.append(number),
            81..=200 => self.poll(number),
            _ => drop(self.topic.step()),
        }
    }

    /// Nothing fails any more: all nodes follow, and one becomes the owner.
    fn end(&mut self) {
        self.topic.set_faults(None);
        (0..NODES).for_each(|number| self.open(number));
        let settle = |world: &mut Self| {
            for _ in 0..40 {
                while world.topic.step() {}
                (0..NODES).for_each(|number| world.poll(number));
            }
        };
        settle(self);
        let last = self.random.usize(..NODES);
        if self.nodes[last].journal.is_none() {
            self.open(last);
        }
        self.nodes[last].journal.as_mut().expect("it is open").claim();
        settle(self);
        // Each owner writes: those that do not know that they are over find out.
        for number in 0..NODES {
            self.append(number);
            let journal = self.nodes[number].journal.as_mut().expect("it is open");
            if journal.standing() == Standing::Serving
                && let Err(error) = journal.commit()
            {
                self.ended(number, &error);
            }
        }
        settle(self);
        assert!(self.nodes[last].pending.is_empty(), "all is durable at the end");
    }

    fn check(&mut self) {
        let disk = MemoryDisk::new(99);
        let mut fresh = follow(&self.topic, &disk);
        let mut log = Vec::new();
        let standing = fresh.poll(&mut |record| log.push((record.position, record.body.to_vec())));
        assert_eq!(standing, Ok(Standing::Following));
        assert_eq!(records(&fresh), log, "a mirror has what was handed over");
        let bodies: BTreeSet<&Vec<u8>> = log.iter().map(|(_, body)| body).collect();
        assert_eq!(bodies.len(), log.len(), "no record counts twice");
        for body in &self.given_up {
            assert!(!bodies.contains(body), "a record that was given up counts");
        }
        let by_position: BTreeMap<Position, &Vec<u8>> =
            log.iter().map(|(position, body)| (*position, body)).collect();
        for (position, body) in &self.acknowledged {
            assert_eq!(by_position.get(position), Some(&body), "acknowledged at {position}");
        }
        for number in 0..NODES {
            let node = &mut self.nodes[number];
            self.rows.push(std::mem::take(&mut node.seen));
            let journal = node.journal.as_ref().expect("all are open");
            let end = fresh.resume_point().mark.end;
            assert_eq!(journal.resume_point().mark.end, end, "node {number} has read all");
            let whole: BTreeMap<u64, Vec<u8>> = frames(&disk, &fresh, end).into_iter().collect();
            // One that was removed may have come back in part, with the power.
            let segments = journal.segmented().expect("it has some").segments();
            let kept = segments.iter().filter(|segment| segment.start >= node.checkpoint);
            let kept: BTreeSet<u64> = kept.map(|segment| segment.number.0).collect();
            for (segment, bytes) in frames(&node.disk, journal, end) {
                if !kept.contains(&segment) {
                    continue;
                }
                assert!(whole.get(&segment) == Some(&bytes), "segment {segment} of node {number} differs");
            }
        }
        for row in self.rows.iter().filter(|row| !row.is_empty()) {
            // Segments that were removed are missing at the beginning of what was read.
            let first = log.iter().position(|one| one == &row[0]).expect("it counts");
            assert!(log[first..].starts_with(row), "a node knew other records in a row");
        }
        *self.met.entry("records").or_default() += log.len() as u64;
        *self.met.entry("acknowledged").or_default() += self.acknowledged.len() as u64;
    }
}

fn run(seed: u64) -> BTreeMap<&'static str, u64> {
    let mut world = World::new(seed);
    (0..STEPS).for_each(|_| world.step());
    world.end();
    world.check();
    world.met
}

#[test]
fn what_is_acknowledged_is_there_once_and_all_mirrors_are_equal() {
    let mut met: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in 0..SEEDS {
        let result = std::panic::catch_unwind(|| run(seed));
        let Ok(one) = result else { panic!("seed {seed} failed") };
        one.into_iter().for_each(|(what, count)| *met.entry(what).or_default() += count);
    }
    for what in ["fenced", "given up", "killed", "lost power", "removed", "acknowledged"] {
        assert!(met.get(what) > Some(&5), "too little of {what}: {met:?}");
    }
}
