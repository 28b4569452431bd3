//! Stadium's journal: the log of a shard, which is the truth.
//!
//! A [`Journal`] gives each record a [`Position`] when it is appended, makes batches durable while
//! the caller goes on, and reports the durable position. [`Checkpoints`] keep the shard's state at
//! a position, so that recovery reads only the records after it. docs/formats/journal.md and
//! docs/formats/checkpoint.md describe the bytes; the shard alone knows the content of a record.
//!
//! [`FileJournal`] is on local files, and [`Segmented`]; the same code runs on a disk in memory with
//! faults ([`memory`]). [`MemoryLog`] can only be trimmed. A [`mirror`] has the files of a
//! replicated log. [`adoption`] gives segments to another journal. [`conformance`] tests them all.

pub mod adoption;
mod checkpoint;
mod checkpoint_files;
pub mod conformance;
pub mod copy;
mod disk;
mod error;
mod file;
mod folder;
mod following;
mod frame;
mod header;
pub mod inspect;
mod journal;
mod made;
pub mod memory;
mod memory_log;
mod metrics;
mod options;
mod position;
pub mod repair;
pub mod shards;

pub use checkpoint::{CHUNK_BYTES_MAX, CheckpointInfo, CheckpointReader, CheckpointWriter, Checkpoints};
pub use checkpoint_files::FileCheckpoints;
pub use disk::{Disk, DiskFile, LockError, LockGuard};
pub use error::{Damage, Error};
pub use file::threads::{JournalThreads, ThreadCounts};
pub use file::{FileJournal, Stepper, mirror};
pub use folder::{FolderDisk, descriptors_max, free_bytes};
pub use following::{Following, Standing};
pub use journal::{Journal, Reader, Record, Room, Segment, Segmented, Wake};
pub use made::make_folder;
pub use memory_log::{MemoryBounds, MemoryLog, MemoryStore};
pub use metrics::{Histogram, Metrics};
pub use options::{Holder, Opening, Options};
pub use position::{Epoch, JournalId, Position, SegmentNumber};
