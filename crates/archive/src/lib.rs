//! The books of shards in an object store: checkpoints, segments, and manifests that name them.
//!
//! [`ShardArchive::store`] uploads files of a shard and then creates a manifest with the next
//! number, which succeeds for one writer only; an older epoch is refused. A manifest names only
//! complete objects. [`ShardArchive::collect`] removes objects that no kept manifest names.
//! [`ShardArchive::restore`] writes the folder of a shard again, each checksum verified. A cut
//! ([`Archive::cut`]) names a manifest of each shard: [`export`] and [`import`] copy the shards of
//! a stopped server as one state. Backups are many such states in one archive, of a running server
//! too ([`Creation`], [`restore()`]). docs/formats/archive.md has the layout and the reasons why
//! nothing that is needed is removed.

mod archive;
mod backup;
mod blocking;
mod books;
mod clock;
mod collect;
mod cut;
mod error;
mod health;
mod layout;
mod manifest;
mod moved;
mod restore;
mod root;
mod series;
mod shard;
mod stored;
mod whole;
mod wire;

pub use archive::{Archive, Settings};
pub use backup::{
    Backup, Closed, Configured, ConfiguredFile, Content, Creation, Inventory, Keep, MARK, Moment, OfShard,
    Pruned, Restoration, RestoredShard, SealOf, SecretsKey, Settled, State, StoredFile, TimeOf,
    create_stopped, history, is_unfinished, list, movable, prune, restore, restore_from,
};
pub use books::{Books, CheckpointSource, Progress, Reuse, SegmentSource};
pub use clock::Clock;
pub use collect::Collected;
pub use cut::Cut;
pub use error::Error;
pub use health::Health;
pub use manifest::{Checkpoint, MARK_BYTES_MAX, Manifest, Segment, SegmentState};
pub use moved::{Moved, MovedSegment};
pub use restore::{Restored, begin_folder, finish_folder};
pub use shard::ShardArchive;
pub use stadium_objects::Access;
pub use stored::{StoredJournal, stored_journals};
pub use whole::{Exported, Imported, export, import};

/// Checks the URL of an archive without asking the store or looking for credentials. Returns the
/// folder of this machine that it names, if it names one.
///
/// # Errors
/// `Store`.
pub fn check_url(url: &str) -> Result<Option<std::path::PathBuf>, Error> {
    Ok(stadium_objects::Place::check(url)?)
}
