//! The commands, each a call of `stadium-cluster-admin` and a look at its report.

use serde::Serialize;
use stadium_cluster_admin::{Admin, DoctorReport, NewCluster, Settings};
use stadium_membership::{ClusterId, NodeName, Shard};
use stadium_node::Stores;

use super::pace::{failed, with_progress};
use super::{Action, Arguments, Switch, copy, look};
use crate::failure::Failure;
use crate::settings_flags::ConfigFlags;
use crate::terminal::Terminal;

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Init { shards, id, config } => {
            let id = id.map(ClusterId::try_from).transpose().map_err(Failure::Usage)?;
            let report = open(&config)?.init(NewCluster { shards, id }).map_err(failed)?;
            show(&report, terminal, look::init)
        }
        Action::Status { config } => {
            let report = open(&config)?.status().map_err(failed)?;
            show(&report, terminal, look::status)?;
            if report.is_healthy { Ok(()) } else { Err(Failure::Shown) }
        }
        Action::Nodes { config } => show(&open(&config)?.nodes().map_err(failed)?, terminal, look::nodes),
        Action::Shards { node, problem, config } => {
            let node = node.as_deref().map(node_name).transpose()?;
            let report = open(&config)?.shards(node.as_ref(), problem).map_err(failed)?;
            show(&report, terminal, look::shards)
        }
        Action::Move { shard, undo: true, config, .. } => {
            let report = open(&config)?.undo_move(Shard(shard)).map_err(failed)?;
            show(&report, terminal, look::undone_move)
        }
        Action::Move { shard, to, wait, config, .. } => {
            let to = node_name(to.as_deref().unwrap_or_default())?;
            let mut admin = open(&config)?;
            let undo = format!("stadium cluster move {shard} --undo");
            let report = with_progress(wait, &format!("shard {shard}"), &undo, terminal, |waiting| {
                admin.move_shard(Shard(shard), &to, waiting)
            })?;
            show(&report, terminal, look::moved)
        }
        Action::Drain { node, undo: true, config, .. } => {
            let report = open(&config)?.undo_drain(&node_name(&node)?).map_err(failed)?;
            show(&report, terminal, look::drained)
        }
        Action::Drain { node, wait, config, .. } => {
            let name = node_name(&node)?;
            let mut admin = open(&config)?;
            let undo = format!("stadium cluster drain {node} --undo");
            let report = with_progress(wait, &format!("drain {node}"), &undo, terminal, |waiting| {
                admin.drain(&name, waiting)
            })?;
            show(&report, terminal, look::drained)
        }
        Action::Balance { switch, config } => {
            let is_on = switch == Switch::On;
            let changed = open(&config)?.balance(is_on).map_err(failed)?;
            if terminal.is_json() {
                return terminal.json(&serde_json::json!({"is_balancing": is_on, "changed": changed}));
            }
            let (now, before) = (if is_on { "on" } else { "off" }, if changed { "" } else { ", as before" });
            terminal.data(&format!("balancing is {now}{before}"))
        }
        Action::Doctor { brief, config } => {
            let report = examine(&config)?;
            match terminal.is_json() {
                true => terminal.json(&report)?,
                false => look::doctor(&report, brief, terminal)?,
            }
            if report.problems == 0 { Ok(()) } else { Err(Failure::Shown) }
        }
        Action::Backup(arguments) => copy::backup(arguments, terminal),
        Action::Restore(arguments) => copy::restore(arguments, terminal),
        Action::Export(arguments) => copy::export(arguments, terminal),
        Action::Import(arguments) => copy::import(arguments, terminal),
        Action::RestoreLog(arguments) => copy::restore_log(arguments, terminal),
    }
}

/// The findings of the cluster's doctor.
pub(crate) fn examine(flags: &ConfigFlags) -> Result<DoctorReport, Failure> {
    open(flags)?.examine().map_err(failed)
}

/// The cluster of the configuration.
fn open(flags: &ConfigFlags) -> Result<Admin, Failure> {
    open_with_store(flags).map(|(admin, _)| admin)
}

/// The same, and the URL of its store.
pub(super) fn open_with_store(flags: &ConfigFlags) -> Result<(Admin, Option<String>), Failure> {
    let settings = flags.load()?.settings;
    let stores = Stores::read(&settings).map_err(Failure::new)?.ok_or_else(|| {
        Failure::new(
            "the configuration names no cluster: set cluster.name, or give the configuration of one of its \
             servers with --config",
        )
    })?;
    Ok((admin_of(stores)?, settings.cluster.store))
}

/// The cluster whose stores these are.
pub(crate) fn admin_of(stores: Stores) -> Result<Admin, Failure> {
    let Stores { name: cluster, etcd, kafka, replication, standbys } = stores;
    Admin::new(Settings { cluster, etcd, kafka, replication, standbys }).map_err(failed)
}

fn node_name(text: &str) -> Result<NodeName, Failure> {
    text.parse().map_err(|error: stadium_membership::Error| Failure::Usage(error.to_string()))
}

/// Writes a report as JSON, or as people see it.
pub(super) fn show<R: Serialize>(
    report: &R,
    terminal: &Terminal,
    look: fn(&R, &Terminal) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if terminal.is_json() { terminal.json(report) } else { look(report, terminal) }
}
