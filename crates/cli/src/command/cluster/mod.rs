//! `stadium cluster`: make a cluster, look at it, move shards, drain nodes, find what is wrong.
//!
//! It speaks with etcd and Kafka themselves, by the configuration of any server of the cluster, so
//! it works while no node runs. What it does is `stadium-cluster-admin`'s; here are its flags and
//! its looks.

#[cfg(feature = "cluster")]
mod act;
#[cfg(feature = "cluster")]
mod copy;
mod copy_flags;
#[cfg(feature = "cluster")]
mod look;
#[cfg(feature = "cluster")]
mod pace;

use clap::{Args, Subcommand, ValueEnum};

#[cfg(all(feature = "cluster", feature = "lab"))]
pub(crate) use act::admin_of;
#[cfg(feature = "cluster")]
pub(crate) use act::{examine, run};

use self::copy_flags::{
    BackupArguments, ExportArguments, ImportArguments, RestoreArguments, RestoreLogArguments,
};
use crate::settings_flags::ConfigFlags;
use crate::span;

/// A command on a cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
These commands read [cluster] of a server's configuration, and speak with etcd and Kafka themselves: no node needs to run.
Exit codes: 0 done, or healthy; 1 failed, or not healthy; 124 not done within --timeout; 130 and 143 stopped waiting on a signal.")]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
enum Action {
    /// Make the cluster: its topic in Kafka and its key in etcd
    ///
    /// The number of shards never changes: take eight for each node that there will ever be. A
    /// topic that exists is checked instead. A cluster that exists is refused.
    Init {
        /// Shards, 1 to 1024
        #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
        shards: u32,
        /// The id of a cluster whose logs exist and which etcd has lost, 16 hexadecimal digits
        /// [default: drawn at random]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        config: ConfigFlags,
    },
    /// Show the cluster on one screen; fails where a shard has no owner or too few standbys
    Status {
        #[command(flatten)]
        config: ConfigFlags,
    },
    /// List the nodes: zones, addresses, versions, shards
    Nodes {
        #[command(flatten)]
        config: ConfigFlags,
    },
    /// List the shards: owners, standbys, what is wrong
    Shards {
        /// Only shards of which this node has a replica
        #[arg(long, value_name = "NODE")]
        node: Option<String>,
        /// Only shards with a problem
        #[arg(long)]
        problem: bool,
        #[command(flatten)]
        config: ConfigFlags,
    },
    /// Make a node the owner of a shard, and wait until it is
    ///
    /// A node that is no replica of the shard copies it first. Ctrl-C ends the wait and not the
    /// move; --undo takes the request back.
    Move {
        /// The shard's number
        shard: u32,
        /// Its next owner
        #[arg(long, value_name = "NODE", required_unless_present = "undo")]
        to: Option<String>,
        /// Take the request back
        #[arg(long, conflicts_with_all = ["to", "no_wait", "timeout"])]
        undo: bool,
        #[command(flatten)]
        wait: WaitFlags,
        #[command(flatten)]
        config: ConfigFlags,
    },
    /// Take all shards from a node, and wait until it owns none
    ///
    /// The node gets no shards until --undo takes the request back. Its standbys go too, as other
    /// nodes have copied them. Ctrl-C ends the wait and not the drain.
    Drain {
        /// The node's name
        node: String,
        /// Take the request back
        #[arg(long, conflicts_with_all = ["no_wait", "timeout"])]
        undo: bool,
        #[command(flatten)]
        wait: WaitFlags,
        #[command(flatten)]
        config: ConfigFlags,
    },
    /// Let shards move to balance the nodes, or leave them where they are
    ///
    /// Off, shards still move off nodes that drain, and as `move` asks; lost replicas are replaced.
    Balance {
        /// Whether they move
        switch: Switch,
        #[command(flatten)]
        config: ConfigFlags,
    },
    /// Examine etcd, Kafka, nodes, shards and addresses, with a remedy for each finding
    Doctor {
        /// Show warnings and problems alone
        #[arg(long)]
        brief: bool,
        #[command(flatten)]
        config: ConfigFlags,
    },
    /// Copy all shards, as they are at one moment, into an archive: a folder, S3, Google or Azure
    Backup(BackupArguments),
    /// Make the cluster with the shards of a backup, in a topic and a store without data
    Restore(RestoreArguments),
    /// Copy all shards, as they are at one moment, into the data directory of a standalone server
    Export(ExportArguments),
    /// Make the cluster with the shards of a stopped standalone server
    Import(ImportArguments),
    /// Look at what the log of a shard has lost and a mirror has, and append it again
    ///
    /// For logs that have lost acknowledged messages for good. Nodes with replicas of the shard must
    /// be stopped. The mirror whose records reach furthest is the right one. docs/cluster.md has the
    /// steps that follow.
    RestoreLog(RestoreLogArguments),
}

/// Whether and how long to wait.
#[derive(Debug, Clone, Copy, Args)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "it is parsed, and then refused"))]
struct WaitFlags {
    /// Write the request, and do not wait
    #[arg(long)]
    no_wait: bool,
    /// Longest wait; the request stays all the same
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "10m", conflicts_with = "no_wait")]
    timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// They do
    On,
    /// They do not
    Off,
}

/// Refuses: this build has none of it.
#[cfg(not(feature = "cluster"))]
pub(crate) fn run(_: Arguments, _: &crate::terminal::Terminal) -> Result<(), crate::failure::Failure> {
    Err(crate::failure::Failure::new(
        "this stadium was built without clusters: build it with `--features cluster`",
    ))
}
