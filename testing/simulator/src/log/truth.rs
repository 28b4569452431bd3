//! What the log says, read by the checker itself: docs/formats/log-message.md and nothing else.
//!
//! It sees each message as soon as it is replicated. An acknowledgement is checked at that moment:
//! the message must count already.

use std::collections::{BTreeMap, BTreeSet};

use super::partition::Entry;

/// The content of a message: a number that is its own, and bytes that follow from it.
pub fn body(id: u64, bytes: usize) -> Vec<u8> {
    let filler = (0..bytes as u64).map(|at| (id.wrapping_mul(31) + at) as u8);
    id.to_le_bytes().into_iter().chain(filler).collect()
}

/// The number of a body.
///
/// # Errors
/// The bytes are not those that were written.
pub fn id(bytes: &[u8]) -> Result<u64, String> {
    let number = bytes.first_chunk().copied().map(u64::from_le_bytes).ok_or("a body is too short")?;
    match body(number, bytes.len() - 8) == bytes {
        true => Ok(number),
        false => Err(format!("the body of message {number} has other bytes than were written")),
    }
}

/// What counts in the log, and what was promised.
#[derive(Default)]
pub struct Truth {
    /// The appends that are replicated, in order: they never change.
    replicated: Vec<u64>,
    epoch: u64,
    writer: u64,
    next: u64,
    /// The messages that count, in order.
    counted: Vec<u64>,
    /// Their places in the order.
    places: BTreeMap<u64, usize>,
    /// The messages that were acknowledged.
    acknowledged: BTreeSet<u64>,
    /// The messages that were given up, and not appended again.
    given_up: BTreeSet<u64>,
    /// Fences that count.
    pub fences: u64,
    /// Messages that do not.
    pub passed: u64,
}

impl Truth {
    /// Takes in what is replicated by now.
    ///
    /// # Errors
    /// A message counts twice, or was given up and counts.
    pub fn see(&mut self, replicated: &[Entry]) -> Result<(), String> {
        for entry in replicated.iter().skip(self.replicated.len()) {
            self.take(self.replicated.len(), &entry.bytes)?;
            self.replicated.push(entry.number);
        }
        Ok(())
    }

    /// Replication keeps its promise: what was replicated is as it was. Called where the leader may
    /// be another one.
    ///
    /// # Errors
    /// The first offset that changed: the simulated brokers are at fault.
    pub fn see_again(&self, replicated: &[Entry]) -> Result<(), String> {
        let numbers: Vec<u64> = replicated.iter().map(|entry| entry.number).collect();
        match numbers.starts_with(&self.replicated) {
            true => Ok(()),
            false => Err("the simulated partition changed what was replicated".into()),
        }
    }

    fn take(&mut self, offset: usize, message: &[u8]) -> Result<(), String> {
        let number = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().expect("8 bytes"));
        let (epoch, writer, sequence) = (number(24), number(32), number(40));
        if sequence == 0 && epoch > self.epoch {
            (self.epoch, self.writer, self.next) = (epoch, writer, 1);
            self.fences += 1;
        } else if (epoch, writer, sequence) == (self.epoch, self.writer, self.next) && sequence > 0 {
            self.next += 1;
            let id = id(&message[72..])?;
            if self.given_up.contains(&id) {
                return Err(format!("message {id} was given up, and counts at offset {offset}"));
            }
            if self.places.insert(id, self.counted.len()).is_some() {
                return Err(format!("message {id} counts twice, the second time at offset {offset}"));
            }
            self.counted.push(id);
        } else {
            self.passed += 1;
        }
        Ok(())
    }

    /// How many entries were replicated.
    pub fn replicated(&self) -> usize {
        self.replicated.len()
    }

    /// The messages that count.
    pub fn counted(&self) -> &[u64] {
        &self.counted
    }

    /// How many messages were acknowledged.
    pub fn acknowledged_count(&self) -> usize {
        self.acknowledged.len()
    }

    /// A node acknowledges a message.
    ///
    /// # Errors
    /// It does not count, or was acknowledged before.
    pub fn acknowledge(&mut self, id: u64) -> Result<(), String> {
        if !self.places.contains_key(&id) {
            return Err(format!("message {id} is acknowledged, and lost: it does not count in the log"));
        }
        match self.acknowledged.insert(id) {
            true => Ok(()),
            false => Err(format!("message {id} is acknowledged twice")),
        }
    }

    /// A node's reader takes a message for the next one that counts, after so many.
    ///
    /// # Errors
    /// Another one counts there.
    pub fn agree(&self, before: usize, id: u64) -> Result<(), String> {
        match self.counted.get(before) {
            Some(counted) if *counted == id => Ok(()),
            Some(counted) => Err(format!("its message {before} is {id}, and message {counted} counts there")),
            None => Err(format!("its message {before} is {id}, and only {before} messages count")),
        }
    }

    /// A node gives a message up: it never counts, unless it is appended again.
    ///
    /// # Errors
    /// It counts.
    pub fn give_up(&mut self, id: u64) -> Result<(), String> {
        self.given_up.insert(id);
        match self.places.contains_key(&id) {
            true => Err(format!("message {id} is given up, and counts in the log")),
            false => Ok(()),
        }
    }

    /// A message that was given up is appended again, as a new one.
    pub fn append_again(&mut self, id: u64) {
        self.given_up.remove(&id);
    }
}
