//! The checker: what was asked, what its caller heard, and what must be in the queues therefore.
//!
//! It knows nothing of the table of commands but docs/cluster.md, "Commands from anywhere".

use std::collections::BTreeMap;

use stadium_queue::{Answer, Refusal};

/// Milliseconds for which a command is asked again, and a little more: it must be answered by then,
/// unless a shard has it.
pub const ANSWERED_WITHIN_MS: u64 = 10_000 + 500;

/// The command of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// To put the job with the number of the command, under an id of its own or without one.
    Put,
    /// To look, or to reserve a job.
    Look,
}

/// The answer that a caller heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Accepted,
    Refused,
    Unknown,
}

/// A command of a client.
#[derive(Debug)]
struct Asked {
    what: What,
    /// The start of a node that was asked.
    at: usize,
    /// It is answered by then.
    until_ms: u64,
    /// The node was killed, or the client went: nobody hears of it.
    is_orphan: bool,
    heard: Option<Heard>,
}

/// All commands of a run.
#[derive(Debug, Default)]
pub struct Books {
    asked: Vec<Asked>,
}

impl Books {
    /// The number of the next command.
    pub fn next(&self) -> u64 {
        self.asked.len() as u64
    }

    /// A client asked a start of a node, and waits for a job for so long.
    pub fn asked(&mut self, what: What, at: usize, now_ms: u64, wait_ms: u64) {
        let until_ms = now_ms + wait_ms + ANSWERED_WITHIN_MS;
        self.asked.push(Asked { what, at, until_ms, is_orphan: false, heard: None });
    }

    fn of(&mut self, number: u64) -> Result<&mut Asked, String> {
        let asked = usize::try_from(number).ok().and_then(|place| self.asked.get_mut(place));
        asked.ok_or_else(|| format!("#{number} was never asked"))
    }

    /// A client heard of its command.
    pub fn heard(
        &mut self,
        number: u64,
        answer: &Result<stadium_shard::Answer, Refusal>,
    ) -> Result<(), String> {
        let asked = self.of(number)?;
        let heard = match answer {
            Ok(stadium_shard::Answer::Queue(Answer::Placed(placed))) => {
                // Each job is put by one command, so only the node's own repetition can be a duplicate
                // of it; a client's own id may be called one.
                if placed.len() != 1 || asked.what != What::Put {
                    return Err(format!("#{number} was answered with {placed:?}"));
                }
                if placed[0].duplicate && !has_own_id(number) {
                    return Err(format!("#{number} has no id, and is called a duplicate"));
                }
                Heard::Accepted
            }
            Ok(_) if asked.what == What::Look => Heard::Accepted,
            Ok(other) => return Err(format!("#{number} was answered with {other:?}")),
            Err(Refusal::Unknown { .. }) => Heard::Unknown,
            Err(Refusal::Busy { .. }) => Heard::Refused,
            // A queue to which nothing was put.
            Err(Refusal::Rejected { .. }) if asked.what == What::Look => Heard::Refused,
            Err(refusal @ Refusal::Rejected { .. }) => {
                return Err(format!("#{number} was rejected: {refusal}"));
            }
        };
        if let Some(before) = asked.heard.replace(heard) {
            return Err(format!("#{number} was answered twice: {before:?}, and {heard:?}"));
        }
        Ok(())
    }

    /// A shard had the command until now, and does not have it any more.
    pub fn came_back(&mut self, number: u64, now_ms: u64) -> Result<(), String> {
        let asked = self.of(number)?;
        asked.until_ms = asked.until_ms.max(now_ms + ANSWERED_WITHIN_MS);
        Ok(())
    }

    /// A client of a reserve has gone.
    pub fn vanished(&mut self, number: u64) -> Result<(), String> {
        self.of(number)?.is_orphan = true;
        Ok(())
    }

    /// A node was killed.
    pub fn killed(&mut self, at: usize) {
        self.asked.iter_mut().filter(|asked| asked.at == at).for_each(|asked| asked.is_orphan = true);
    }

    /// A command that is not answered, though its time is over and no shard has it: `is_held` is asked
    /// with its number and the start of its node.
    pub fn late(&self, now_ms: u64, is_held: impl Fn(u64, usize) -> bool) -> Option<String> {
        let waits = |(number, asked): &(u64, &Asked)| {
            asked.heard.is_none()
                && !asked.is_orphan
                && asked.until_ms < now_ms
                && !is_held(*number, asked.at)
        };
        let late = (0..).zip(&self.asked).find(waits);
        late.map(|(number, asked)| format!("#{number} waits at {now_ms} ms, beyond {} ms", asked.until_ms))
    }

    /// Whether all commands are answered that anybody waits for.
    pub fn are_answered(&self) -> bool {
        self.asked.iter().all(|asked| asked.heard.is_some() || asked.is_orphan)
    }

    /// Holds the jobs that are there against what callers heard.
    pub fn check_jobs(&self, there: &[u64]) -> Result<(), String> {
        let mut count: BTreeMap<u64, usize> = BTreeMap::new();
        there.iter().for_each(|number| *count.entry(*number).or_default() += 1);
        for (number, asked) in (0..).zip(&self.asked) {
            let count = count.remove(&number).unwrap_or(0);
            let is_right = match (asked.what, asked.heard) {
                (What::Look, _) | (What::Put, Some(Heard::Refused)) => count == 0,
                (What::Put, Some(Heard::Accepted)) => count == 1,
                (What::Put, Some(Heard::Unknown) | None) => count <= 1,
            };
            if !is_right {
                return Err(format!(
                    "the job of #{number} is there {count} times, and its caller heard {asked:?}"
                ));
            }
        }
        match count.first_key_value() {
            Some((number, _)) => Err(format!("the job of #{number} was never put")),
            None => Ok(()),
        }
    }

    /// Counts by what callers heard: accepted, refused, unknown.
    pub fn sums(&self) -> [u64; 3] {
        let count = |heard| self.asked.iter().filter(|asked| asked.heard == Some(heard)).count() as u64;
        [count(Heard::Accepted), count(Heard::Refused), count(Heard::Unknown)]
    }
}

/// Whether the put of this number has an id of its client.
pub fn has_own_id(number: u64) -> bool {
    number.is_multiple_of(2)
}
