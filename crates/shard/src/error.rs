//! Why a shard cannot start or go on, and the refusals that are its own.
//!
//! Refusals of the machines have their own codes (QUE-NNN); here are those about the shard:
//! SHARD-NNN, docs/reference/errors/shard.md. Those of a shard whose log is replicated are CLU-00N,
//! docs/reference/errors/cluster.md.

use std::fmt;

use stadium_queue::{Milliseconds, Refusal};

/// Why a shard cannot start.
#[derive(Debug, Clone)]
pub enum Error {
    /// The journal or a checkpoint: its message has the remedy.
    Journal(stadium_journal::Error),
    /// A record or a checkpoint that this version cannot have written, or not in this order. SHARD-010.
    Corrupt {
        /// The record's position, or the checkpoint's.
        position: stadium_journal::Position,
        /// What is wrong with what.
        what: String,
    },
    /// The data directory was made for another number of shards. SHARD-011.
    OtherShards {
        /// What the directory was made for.
        made_for: u16,
        /// What was asked for.
        asked: u16,
        /// Which directory.
        place: String,
    },
    /// A file or folder of the data directory cannot be read or made. SHARD-012.
    Directory(String),
    /// A thread could not be started. SHARD-013.
    Thread(String),
    /// The shard is open, is being opened or closed, or the server stops. SHARD-018.
    NotNow(String),
    /// The process may have fewer file descriptors than its shards hold. SHARD-017.
    Descriptors {
        /// How many shards there are.
        shards: u16,
        /// Descriptors that they need, with some for the rest of the process.
        needed: u64,
        /// Descriptors that the process may have.
        limit: u64,
    },
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Journal(error) => error.code(),
            Error::Corrupt { .. } => "SHARD-010",
            Error::OtherShards { .. } => "SHARD-011",
            Error::Directory(_) => "SHARD-012",
            Error::Thread(_) => "SHARD-013",
            Error::Descriptors { .. } => "SHARD-017",
            Error::NotNow(_) => "SHARD-018",
        }
    }
}

impl From<stadium_journal::Error> for Error {
    fn from(error: stadium_journal::Error) -> Self {
        Error::Journal(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // It names its code itself.
            Error::Journal(error) => return error.fmt(f),
            Error::Corrupt { position, what } => write!(
                f,
                "the journal cannot be applied from position {position} on: {what}; \
                 it may have been written by a newer version, or be damaged: see `stadium journal verify`"
            ),
            Error::OtherShards { made_for, asked, place } => write!(
                f,
                "{place} was made for {made_for} shards, and the configuration asks for {asked}; \
                 the number is fixed when the directory is made: set shards.count to {made_for}"
            ),
            Error::Directory(what) | Error::NotNow(what) => f.write_str(what),
            Error::Thread(what) => write!(f, "no thread for a shard: {what}"),
            Error::Descriptors { shards, needed, limit } => write!(
                f,
                "{shards} shards need {needed} file descriptors, and this process may have {limit}: raise the limit \
                 (LimitNOFILE= of the systemd unit, --ulimit nofile= of the container, ulimit -Hn), or lower shards.count"
            ),
        }?;
        write!(f, " ({})", self.code())
    }
}

impl std::error::Error for Error {}

/// All codes of this crate, with the title of each.
pub const CODES: &[(&str, &str)] = &[
    ("SHARD-001", "the shard's mailbox is full"),
    ("SHARD-002", "the disk is full"),
    ("SHARD-003", "the journal failed and is being opened again"),
    (STOPPING, "the server is stopping"),
    ("SHARD-005", "too many consumers wait already"),
    ("SHARD-006", "the record would be longer than the journal takes"),
    ("SHARD-007", "a queue's spread can only be changed while it holds no jobs"),
    ("SHARD-008", "a payload is damaged on disk"),
    ("SHARD-009", "there is no such shard"),
    ("SHARD-010", "a record or a checkpoint cannot be applied"),
    ("SHARD-011", "the data directory was made for another number of shards"),
    ("SHARD-012", "the data directory cannot be used"),
    ("SHARD-013", "a thread could not be started"),
    ("SHARD-014", "the server has no file descriptors left"),
    (UNKNOWN, "it is not known whether it happened"),
    (NOT_HERE, "the shard is not open on this server"),
    ("SHARD-017", "the process may have too few file descriptors for its shards"),
    ("SHARD-018", "the shard cannot be opened now"),
    (OUTCOME_UNKNOWN, "the outcome is unknown: ask again with the same id"),
    (LOG_AWAY, "the replicated log does not answer"),
    (MOVED, "another node has the shard"),
    (TOO_OLD, "a node is too old for it"),
    (UNREACHABLE, "no node that is reached serves the shard"),
];

/// The code of a request whose outcome the shard does not know.
pub const UNKNOWN: &str = "SHARD-015";

/// The code of a request whose record is on its way to the replicated log, with an outcome that
/// nobody knows.
pub const OUTCOME_UNKNOWN: &str = "CLU-001";

/// The code of a request that is refused since the replicated log does not answer.
pub const LOG_AWAY: &str = "CLU-002";

/// The code of a request to a shard that another node has.
pub const MOVED: &str = "CLU-003";

/// The code of a request between nodes that the node which gets it is too old for; it stands for
/// the codes of newer nodes too.
pub const TOO_OLD: &str = "CLU-004";

/// The code of a request to a shard whose owner cannot be reached.
pub const UNREACHABLE: &str = "CLU-005";

/// The code of a request to a server that stops.
pub const STOPPING: &str = "SHARD-004";

/// The code of a request to a shard that is not served in this process.
pub const NOT_HERE: &str = "SHARD-016";

/// The record may stand in the replicated log, or come there later.
pub(crate) fn outcome_unknown(why: &str) -> Refusal {
    let reason = format!("{why}: it may have happened, ask again with the same id");
    stadium_state_machine::unknown(OUTCOME_UNKNOWN, 1_000, reason)
}

/// The shard's log does not answer. Nothing happened.
pub(crate) fn log_away() -> Refusal {
    busy(LOG_AWAY, 1_000, "the replicated log does not answer: nothing is accepted until it does")
}

/// The shard is not open in this process, or follows its owner.
pub(crate) fn not_here() -> Refusal {
    busy(NOT_HERE, 1_000, "the shard is not open on this server")
}

/// The shard's log was fenced by another node.
pub(crate) fn moved() -> Refusal {
    busy(MOVED, 100, "another node has the shard now: ask again")
}

/// The shard does not know whether it happened.
pub(crate) fn unknown() -> Refusal {
    let reason = "the shard recovered from an error while it answered: it may have happened, ask again with the same id";
    stadium_state_machine::unknown(UNKNOWN, 1_000, reason)
}

/// A refusal of the shard: retry later.
pub(crate) fn busy(code: &'static str, retry_after: Milliseconds, reason: impl Into<String>) -> Refusal {
    Refusal::Busy { code, retry_after, reason: reason.into() }
}

/// A refusal of the shard: it will never work.
pub(crate) fn rejected(code: &'static str, reason: impl Into<String>) -> Refusal {
    Refusal::Rejected { code, reason: reason.into() }
}
