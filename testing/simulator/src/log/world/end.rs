//! The end of a run: nothing fails any more, so everything must come to rest and agree.
//!
//! Owners that were stopped go on and write, late messages arrive, and one owner is left. All nodes
//! and a reader that begins with the newest checkpoint have the same messages.

use stadium_journal_log::{Judge, Mark, Offset, Reader};

use super::super::node::Role;
use super::super::partition::BROKERS;
use super::{LOG, World};

/// Rounds until everything is at rest. Each moves all that is on its way, so a few are enough.
const ROUNDS: u32 = 200;

/// Times that a node claims the log with nobody against it.
const CLAIMS: u32 = 10;

impl<J: Judge> World<J> {
    /// Ends the run.
    ///
    /// # Errors
    /// The promise that was broken.
    pub(super) fn end(&mut self) -> Result<(), String> {
        self.line(|| "the end: nothing fails any more".into());
        for broker in 0..BROKERS {
            let lost = self.partition.start_broker(broker, &mut self.random);
            self.led_anew(lost)?;
        }
        for node in &mut self.nodes {
            node.stopped_until = 0;
        }
        self.settle()?;
        // Each owner writes: those that do not know that they are over find out.
        for node in 0..self.nodes.len() {
            self.write(node)?;
        }
        self.settle()?;
        let owners = self.nodes.iter().filter(|node| node.is_serving()).count();
        if owners > 1 {
            return Err(format!("{owners} nodes own the log at the end"));
        }
        let node = self.random.usize(..self.nodes.len());
        for _ in 0..CLAIMS {
            if !self.nodes[node].is_serving() {
                self.claim(node)?;
                self.settle()?;
            }
        }
        if !self.nodes[node].is_serving() {
            return Err(format!("node {node} cannot claim the log at the end"));
        }
        let before = self.truth.acknowledged_count();
        for written in 1..=6 {
            self.nodes[node].given_up.clear();
            self.write(node)?;
            self.settle()?;
            let acknowledged = self.truth.acknowledged_count() - before;
            if acknowledged != written {
                return Err(format!("of {written} messages at the end {acknowledged} are acknowledged"));
            }
        }
        // Those that owned it before find out, and read on.
        for other in (0..self.nodes.len()).filter(|other| *other != node) {
            self.write(other)?;
            self.settle()?;
            if self.nodes[other].is_serving() {
                return Err(format!("node {other} serves at the end, and node {node} has claimed the log"));
            }
        }
        self.agreed()
    }

    /// Moves everything that is on its way, until nothing is.
    fn settle(&mut self) -> Result<(), String> {
        for round in 0..ROUNDS {
            for request in std::mem::take(&mut self.requests) {
                self.append(request)?;
            }
            for broker in 0..BROKERS {
                self.partition.replicate(broker, usize::MAX);
            }
            self.replicated()?;
            for mail in std::mem::take(&mut self.mail) {
                self.deliver(mail)?;
            }
            for node in 0..self.nodes.len() {
                // An answer that did not arrive by now was lost.
                self.nodes[node].is_fetching = false;
                self.fetch(node);
            }
            let is_reading = (0..self.nodes.len()).any(|node| self.is_behind(node));
            let is_waiting =
                self.nodes.iter().any(|node| !node.outgoing.is_empty() || node.searching.is_some());
            if self.requests.is_empty() && !is_reading {
                if !is_waiting {
                    return Ok(());
                }
                // What is waited for was lost on the way.
                for node in 0..self.nodes.len() {
                    if round % 4 == 3 {
                        self.time_out(node)?;
                    }
                }
            }
        }
        Err("nodes wait for something at the end, and nothing is on its way".into())
    }

    /// Whether a node has not read what it needs.
    fn is_behind(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        match &node.role {
            Role::Standby(reader) => reader.mark().offset.0 < self.truth.replicated() as u64,
            Role::Owner(_) => node.mark().offset < node.read_to,
        }
    }

    /// All have what counts.
    fn agreed(&mut self) -> Result<(), String> {
        let counted = self.truth.counted();
        for (number, node) in self.nodes.iter().enumerate() {
            if node.books != counted {
                let (has, all) = (node.books.len(), counted.len());
                return Err(format!("node {number} has {has} messages at the end, and {all} count"));
            }
        }
        let (mark, books) = match self.checkpoints.last() {
            Some(kept) => (kept.mark, kept.books.clone()),
            None => (Mark::START, Vec::new()),
        };
        let reader = Reader::<J>::open(LOG, mark, Offset(self.partition.start()));
        let reader = reader.map_err(|error| format!("the newest checkpoint is of no use: {error}"))?;
        let mut node = super::super::node::Node::new(reader, books, 0);
        let entries = self.partition.read(mark.offset.0, usize::MAX).ok_or("no broker leads at the end")?;
        for (entry, offset) in entries.iter().zip(mark.offset.0..) {
            let counts = node.read(Offset(offset), &entry.bytes)?;
            node.books.extend(counts);
        }
        match node.books == counted {
            true => Ok(()),
            false => Err("a reader that begins with the newest checkpoint has other messages".into()),
        }
    }
}
