//! A node of a cluster: its replicas of shards, and which of them it serves.
//!
//! [`ClusterNode`] joins the cluster, and has the replicas of its process follow, claim, serve and
//! hand over as membership orders. [`ReplicatedStore`] is where a replica keeps its mirror and its
//! checkpoints, and how it reaches the log. [`ClusterTransport`] takes pushes to devices of all
//! nodes. docs/cluster.md describes a cluster as a whole.

mod archive;
mod bell;
mod busy;
mod copies;
mod duties;
mod forward;
mod keeper;
mod node;
mod openers;
mod reads;
mod replicas;
mod restore_log;
mod restoring;
mod settings;
mod store;
mod transport;

pub use archive::{ArchiveFigures, ArchiveSettings, ShardArchived};
pub use copies::{CopyError, CopyProgress, CopySettings, OnCopy, ShardCopied, copy_in, copy_out};
pub use forward::{ASKED_FOR, AnswerTo, ForwardFigures, LinkSettings, NodeAnswers};
pub use keeper::Keeper;
pub use node::ClusterNode;
pub use restore_log::{LogRestored, RestoreMode, restore_log};
pub use settings::NodeSettings;
pub use store::ReplicatedStore;
pub use transport::{ClusterTransport, NodeSender, NotSent, PushNotices};
