//! Operating a cluster: making it, showing it, moving its shards, draining nodes, examining it,
//! copying its shards out and in.
//!
//! An [`Admin`] works on etcd, Kafka and the store alone, by the settings of any server of the cluster. It
//! needs no node that runs, and is none itself. Each call returns a report, plain data for a
//! person's eyes or for JSON. `stadium cluster` of the command line shows them; docs/cluster.md
//! describes the commands.

mod admin;
mod copies;
mod doctor;
mod drain;
mod error;
mod init;
mod log;
mod nodes;
mod relocate;
mod shards;
mod status;
mod waiting;

pub use admin::{Admin, Settings};
pub use copies::{ArchiveReport, Backup, CopiedShard, CopyReport, FilledReport, OnStep};
pub use doctor::{Area, Check, DoctorReport, Verdict};
pub use drain::DrainReport;
pub use error::Error;
pub use init::{ClusterFacts, InitReport, NewCluster};
pub use log::LogReport;
pub use nodes::NodesReport;
pub use relocate::MoveReport;
pub use shards::ShardsReport;
pub use stadium_cluster::RestoreMode;
pub use stadium_membership::report::{AliveNode, NodeReport, Problem, Replica, ShardReport};
pub use status::{MemberReport, NodeCounts, StatusReport};
pub use waiting::{Progress, Waiting};
