//! What things are called: queues, keys, workers, jobs, and leases.
//!
//! Names are checked where they are made, so that nothing behind them has to look again.

use std::fmt;
use std::str::FromStr;

use stadium_state_machine::{InvalidName, name};

name!(
    /// A queue's name: letters, digits, `-`, `_`, `.`; at most 128 bytes.
    QueueName,
    "queue",
    128,
    |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'),
    "letters, digits, -, _ and . are allowed"
);
name!(
    /// A job's key, for order and fair shares: any text without control characters, at most 128 bytes.
    Key,
    "key",
    128,
    |c| !c.is_control(),
    "control characters are not allowed"
);
name!(
    /// Who reserves, for the history: any text without control characters, at most 64 bytes.
    WorkerName,
    "worker",
    64,
    |c| !c.is_control(),
    "control characters are not allowed"
);

/// A job's id: the shard in the top ten bits, the shard's own count below. Written as decimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

impl JobId {
    /// Bits of the shard's own count.
    pub const SEQUENCE_BITS: u32 = 54;

    /// The id of a shard's job.
    pub fn new(shard: u16, sequence: u64) -> JobId {
        debug_assert!(shard < 1 << 10 && sequence >> Self::SEQUENCE_BITS == 0, "ten bits and fifty-four");
        JobId(u64::from(shard) << Self::SEQUENCE_BITS | sequence)
    }

    /// The shard that holds it.
    pub fn shard(self) -> u16 {
        (self.0 >> Self::SEQUENCE_BITS) as u16
    }

    /// The shard's own count.
    pub fn sequence(self) -> u64 {
        self.0 & ((1 << Self::SEQUENCE_BITS) - 1)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for JobId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let wrong = |_| InvalidName { what: "job", reason: format!("{text:?} is not a number of 64 bits") };
        text.parse().map(JobId).map_err(wrong)
    }
}

/// The right to work on a job: a job is reserved by at most one lease. Written `JOB-RESERVATION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// How many times it had been reserved, this time included. An older lease is lost.
    pub reservation: u32,
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.job, self.reservation)
    }
}

impl FromStr for Lease {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let parsed = text.split_once('-').and_then(|(job, reservation)| {
            Some(Lease { job: JobId(job.parse().ok()?), reservation: reservation.parse().ok()? })
        });
        parsed
            .ok_or_else(|| InvalidName { what: "lease", reason: format!("{text:?} is not JOB-RESERVATION") })
    }
}
