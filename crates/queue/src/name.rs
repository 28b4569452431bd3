//! What things are called: queues, keys, workers, jobs, leases, and moments.
//!
//! Names are checked where they are made, so that nothing behind them has to look again.

use std::fmt;
use std::str::FromStr;

use compact_str::CompactString;

/// A moment: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A span of milliseconds.
pub type Milliseconds = u64;

impl Time {
    /// The moment that many milliseconds later; the end of time where there is none.
    #[must_use]
    pub fn after(self, span: Milliseconds) -> Time {
        Time(self.0.saturating_add(span))
    }
}

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    /// What it was to name.
    pub what: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no name of a {}: {}", self.what, self.reason)
    }
}

impl std::error::Error for InvalidName {}

macro_rules! name {
    ($(#[$docs:meta])* $name:ident, $what:literal, $bytes_max:literal, $allowed:expr, $rule:literal) => {
        $(#[$docs])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(CompactString);

        impl $name {
            /// Bytes that one has at most.
            pub const BYTES_MAX: usize = $bytes_max;

            /// The name, where the text is one.
            ///
            /// # Errors
            ///
            /// An empty text, one that is too long, and one with characters that are not allowed.
            pub fn new(text: &str) -> Result<Self, InvalidName> {
                let wrong = |reason| Err(InvalidName { what: $what, reason });
                if text.is_empty() {
                    return wrong("it is empty".into());
                }
                if text.len() > Self::BYTES_MAX {
                    return wrong(format!("it has {} bytes; {} are allowed", text.len(), Self::BYTES_MAX));
                }
                let allowed: fn(char) -> bool = $allowed;
                match text.chars().find(|&c| !allowed(c)) {
                    Some(c) => wrong(format!("it holds {c:?}; {}", $rule)),
                    None => Ok(Self(text.into())),
                }
            }

            /// What stands in a free place of a table.
            #[allow(dead_code, reason = "not every name is in a table")]
            pub(crate) fn vacant() -> Self {
                Self(CompactString::const_new(""))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }
    };
}

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
