//! The flags of `backup`, `restore`, `export`, `import` and `restore-log`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;

use crate::settings_flags::ConfigFlags;
use crate::span;

/// The store of a cluster.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
pub(super) struct StoreFlags {
    /// The cluster's store [default: cluster.store of the configuration]
    #[arg(long, value_name = "URL")]
    pub(super) store: Option<String>,
    #[command(flatten)]
    pub(super) config: ConfigFlags,
}

/// A folder for what is being copied.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
pub(super) struct ScratchFlags {
    /// A folder with room for what is being copied, which is removed at the end [default: TMPDIR]
    #[arg(long, value_name = "FOLDER")]
    pub(super) scratch: Option<PathBuf>,
}

/// The place of a backup.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
#[command(after_help = "\
URLs and their variables are those of `stadium journal export`, and so is the archive that is written.

Nodes may run. All logs are read to one moment, for which each shard is claimed: its commands wait about a second.
--scratch needs room for all shards, and once more for the largest. An interrupted backup leaves the one before it as it was.

Examples:
  stadium cluster backup --to s3://backups/shop --scratch /mnt/large
  stadium cluster backup --to file:///mnt/backup/shop")]
pub(super) struct BackupArguments {
    /// Where to: a URL
    #[arg(long, value_name = "URL")]
    pub(super) to: String,
    /// Send at most so many bytes a second, on average
    #[arg(long, value_name = "BYTES")]
    pub(super) upload_bytes_per_second: Option<NonZeroU64>,
    /// Keep what nothing names any more for so long: longer than a restore takes that may be
    /// running
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "1h")]
    pub(super) grace: u64,
    #[command(flatten)]
    pub(super) scratch: ScratchFlags,
    #[command(flatten)]
    pub(super) store: StoreFlags,
}

/// The backup that becomes a cluster.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
#[command(after_help = "\
The cluster must not exist, and its topic and its store must be without data. It gets the archive's number of shards and an
id of its own. Nodes start without the folder `cluster` of their data directories. All checksums are verified.

Example:
  stadium cluster restore --from s3://backups/shop")]
pub(super) struct RestoreArguments {
    /// Where from: the URL of a backup, or of a `stadium journal export`
    #[arg(long, value_name = "URL")]
    pub(super) from: String,
    /// The data directory of a former node: users that were erased after the backup are erased
    /// again before any node serves
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) erasures: Option<PathBuf>,
    #[command(flatten)]
    pub(super) scratch: ScratchFlags,
    #[command(flatten)]
    pub(super) store: StoreFlags,
}

/// The data directory that is written.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
pub(super) struct ExportArguments {
    /// A data directory that has no shards yet
    pub(super) directory: PathBuf,
    #[command(flatten)]
    pub(super) store: StoreFlags,
}

/// The data directory that becomes a cluster.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
pub(super) struct ImportArguments {
    /// A stopped server's data directory
    pub(super) directory: PathBuf,
    #[command(flatten)]
    pub(super) scratch: ScratchFlags,
    #[command(flatten)]
    pub(super) store: StoreFlags,
}

/// The log and the mirror.
#[derive(Debug, Args)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
pub(super) struct RestoreLogArguments {
    /// The shard's number
    #[arg(long, value_name = "N")]
    pub(super) shard: u32,
    /// The folder `shard-N` of a replica, of a node that is stopped
    #[arg(long, value_name = "FOLDER")]
    pub(super) mirror: PathBuf,
    /// Append what the log has lost; only look otherwise
    #[arg(long)]
    pub(super) append: bool,
    #[command(flatten)]
    pub(super) config: ConfigFlags,
}
