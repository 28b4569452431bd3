//! `stadium load worker`: makes load for a run of somebody else's.

use clap::Args;
use stadium_load::workers::{self, WorkerArgs};

use super::run::failure;
use crate::command::service::discovery;
use crate::failure::Failure;

/// How the worker is run.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    worker: WorkerArgs,
    /// Register in etcd://HOST:PORT,... or zk://HOST:PORT,..., so that coordinators find it
    #[arg(long, value_name = "URL")]
    discovery: Option<String>,
    /// Root of the tree in etcd and ZooKeeper
    #[arg(long, value_name = "PATH", default_value = "/services")]
    prefix: String,
}

/// Serves until a signal, or the end of its input where that was asked for.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let url = arguments.discovery.as_deref();
    let discovery = url.map(|url| discovery(url, &arguments.prefix)).transpose()?;
    workers::serve(&arguments.worker, discovery, workers::compile_scenario).map_err(failure)
}
