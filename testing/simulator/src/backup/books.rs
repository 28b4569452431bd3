//! The checker's books: attempts to write a backup, those that were acknowledged, and lost
//! segments.
//!
//! They are written from docs/formats/backup.md: which backups must be there, and which moments a
//! restore may refuse.

use std::collections::BTreeMap;

use stadium_archive::{Backup, Keep};

/// An attempt to write a backup, known by its moment.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    began_ms: u64,
    /// The last time at which it was at work; for ever where nobody knows.
    ended_ms: u64,
}

/// The books.
#[derive(Debug, Default)]
pub struct Books {
    attempts: BTreeMap<u64, Attempt>,
    /// The moment of each backup that was acknowledged, by its number.
    acknowledged: BTreeMap<u64, u64>,
    /// The moments of all backups that were ever seen, by their number.
    seen: BTreeMap<u64, u64>,
    /// Times at which segments went that no backup had.
    pub lost: Vec<u64>,
}

impl Books {
    /// An attempt has chosen its moment.
    pub fn attempt(&mut self, moment_ms: u64, began_ms: u64) {
        self.attempts.insert(moment_ms, Attempt { began_ms, ended_ms: u64::MAX });
    }

    /// An attempt has ended at a time.
    pub fn ended(&mut self, moment_ms: u64, now_ms: u64) {
        if let Some(attempt) = self.attempts.get_mut(&moment_ms) {
            attempt.ended_ms = now_ms;
        }
    }

    /// A program heard that its backup is stored.
    pub fn acknowledge(&mut self, backup: &Backup) {
        self.acknowledged.insert(backup.number, backup.moment_ms);
    }

    /// The newest backup that was acknowledged.
    pub fn newest_acknowledged(&self) -> Option<u64> {
        self.acknowledged.last_key_value().map(|(number, _)| *number)
    }

    /// The time in which a backup was written.
    pub fn written_within(&self, backup: &Backup) -> Result<(u64, u64), String> {
        let attempt = self.attempts.get(&backup.moment_ms);
        let attempt =
            attempt.ok_or_else(|| format!("backup {} has a moment that nobody chose", backup.number))?;
        Ok((attempt.began_ms, attempt.ended_ms))
    }

    /// Whether a moment between two backups may be refused: a segment went in between that no
    /// backup had.
    pub fn may_be_lost(&self, before: &Backup, at: &Backup) -> bool {
        let (Ok(first), Ok(last)) = (self.written_within(before), self.written_within(at)) else {
            return false;
        };
        self.lost.iter().any(|lost_ms| (first.0..=last.1).contains(lost_ms))
    }

    /// Checks the backups that the store has, oldest first, and notes them.
    pub fn check(&mut self, backups: &[Backup], keeps: &[Keep]) -> Result<(), String> {
        for backup in backups {
            match self.seen.insert(backup.number, backup.moment_ms) {
                Some(before) if before != backup.moment_ms => {
                    return Err(format!("backup {} is another one than before", backup.number));
                }
                _ => {}
            }
        }
        if let Some(pair) = backups
            .windows(2)
            .find(|pair| pair[0].number + 1 != pair[1].number || pair[0].moment_ms >= pair[1].moment_ms)
        {
            return Err(format!("backup {} does not follow backup {}", pair[1].number, pair[0].number));
        }
        let (first, last) = match backups {
            [] if self.acknowledged.is_empty() => return Ok(()),
            [] => return Err("there is no backup any more".to_owned()),
            [first, .., last] => (first.number, last.number),
            [only] => (only.number, only.number),
        };
        for (number, moment_ms) in self.acknowledged.range(first..) {
            let found = backups.iter().find(|backup| backup.number == *number);
            if *number > last || found.is_none_or(|found| found.moment_ms != *moment_ms) {
                return Err(format!("backup {number} was acknowledged, and is not there"));
            }
        }
        let moments: Vec<u64> = self.seen.values().copied().collect();
        let expired = keeps.iter().map(|keep| keep.expired(&moments)).max().unwrap_or(0);
        let kept = self.seen.keys().nth(expired).copied().unwrap_or(first);
        match first > kept {
            true => Err(format!("backups {kept} to {} went, and no rule lets them go", first - 1)),
            false => Ok(()),
        }
    }
}
