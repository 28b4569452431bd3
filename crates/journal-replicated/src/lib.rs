//! The journal of a shard in a cluster: durable in a replicated log, read from a local mirror.
//!
//! [`ReplicatedJournal`] drives the rules of `stadium-journal-log` over a partition, and keeps a
//! mirror of what the log accepted. It follows as a standby, claims the log, serves as its owner,
//! and follows again. It starts no thread: all its work is done in the calls of the thread that
//! owns it. docs/replicated-journal.md explains it. [`memory`] is a partition in memory, whose
//! faults its owner decides.

mod calls;
mod follow;
mod journal;
mod lost;
mod marks;
pub mod memory;
mod notes;
mod options;
mod replica;
mod resume;
mod signal;

pub use follow::{Reach, ends, reach, trim};
pub use journal::ReplicatedJournal;
pub use lost::Lost;
pub use options::{ReplicatedOptions, Spawn};
pub use resume::{RESUME_BYTES, ResumePoint, Unreadable, journal_id};
pub use stadium_journal::Standing;
