//! Backups: many states of a whole server in one archive, and the way back to any moment between them.
//!
//! A backup names a manifest of each shard, small files of the data directory, and its *moment*: it
//! holds every record whose time is not later. [`Creation`] makes one from the files of a running or
//! stopped server. [`restore()`] writes a data directory as it was at a moment, by cutting all
//! journals at the same time. [`Keep`] and [`prune()`] say which backups go. The format and the reasons
//! are in docs/formats/backup.md.

mod create;
mod cut;
mod files;
mod history;
mod keep;
mod lease;
mod moment;
mod moving;
mod prune;
mod record;
mod restore;
mod secrets_key;
mod unfinished;

pub use create::{Creation, Inventory, State, create_stopped};
pub(crate) use files::hex;
pub use files::{Configured, Content};
pub use history::history;
pub use keep::Keep;
pub use moment::{Moment, TimeOf};
pub use moving::{Closed, Settled, movable};
pub use prune::{Pruned, prune};
pub use record::{Backup, ConfiguredFile, OfShard, SealOf, StoredFile};
pub use restore::{Restoration, RestoredShard, list, restore, restore_from};
pub use secrets_key::SecretsKey;
pub use unfinished::{MARK, is_unfinished};
