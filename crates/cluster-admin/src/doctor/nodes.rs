//! The nodes that are alive, and how they have the shards.
//!
//! Versions, zones, owners and standbys are those that nodes and the map state in etcd.

use std::collections::BTreeSet;

use stadium_membership::report::{Problem, ShardReport};
use stadium_membership::{Cluster, NodeName, Shard, ShardSet, View};

use super::check::{Area, Findings};
use crate::admin::listed;

/// Nodes, their versions and their zones.
pub(super) fn examine_nodes(view: &View, cluster: &Cluster, standbys: usize, findings: &mut Findings) {
    let alive = view.nodes.len();
    match alive {
        0 => findings.problem(Area::Nodes, "no node is alive", "start the nodes"),
        _ => findings.ok(Area::Nodes, format_args!("{alive} alive: {}", listed(view.nodes.keys()))),
    }
    let away: Vec<&NodeName> = view.known().into_iter().filter(|node| view.node(node).is_none()).collect();
    if !away.is_empty() {
        findings.warning(
            Area::Nodes,
            format_args!("{} not alive: {}", away.len(), listed(away.iter().copied())),
            "start them, or wait: after the grace time other nodes get their shards",
        );
    }
    if alive > 0 && alive <= standbys {
        findings.problem(
            Area::Nodes,
            format_args!("{alive} node(s) are too few for {standbys} standby(s) of each shard"),
            format!("start at least {} nodes", standbys + 1),
        );
    }
    match &view.planner {
        Some(seat) => findings.ok(Area::Nodes, format_args!("{} plans", seat.node)),
        None if alive > 0 => {
            findings.warning(Area::Nodes, "no node plans", "one is elected within seconds: look again");
        }
        None => {}
    }
    examine_versions(view, cluster, findings);
    let zones = view.nodes.values().filter(|stored| stored.value.zone.is_some()).count();
    if (1..alive).contains(&zones) {
        let nameless = view.nodes.iter().filter(|(_, stored)| stored.value.zone.is_none());
        findings.warning(
            Area::Nodes,
            format_args!(
                "these nodes name no zone, and others do: {}",
                listed(nameless.map(|(name, _)| name))
            ),
            "set cluster.zone on each node: standbys go to other zones than their owners",
        );
    }
    let draining: Vec<&NodeName> = view.nodes.keys().filter(|node| view.is_draining(node)).collect();
    if !draining.is_empty() {
        findings.warning(
            Area::Nodes,
            format_args!("draining: {}", listed(draining)),
            "`stadium cluster drain NODE --undo` takes an operator's request back; a node that drains by \
             itself stops, or reaches less than half of the others",
        );
    }
}

fn examine_versions(view: &View, cluster: &Cluster, findings: &mut Findings) {
    let level = cluster.feature_level;
    let mut all_can = true;
    for (name, stored) in &view.nodes {
        let versions = &stored.value.versions;
        if !(versions.level_min..=versions.level_max).contains(&level) {
            all_can = false;
            findings.problem(
                Area::Nodes,
                format_args!(
                    "{name} (version {}) has feature levels {} to {}, and the cluster writes {level}",
                    versions.program, versions.level_min, versions.level_max
                ),
                "run a version that has this level",
            );
        }
    }
    let programs: BTreeSet<&str> =
        view.nodes.values().map(|stored| stored.value.versions.program.as_str()).collect();
    let programs: Vec<&str> = programs.into_iter().collect();
    match programs[..] {
        [] => {}
        [one] if all_can => {
            findings.ok(Area::Nodes, format_args!("all have version {one} and feature level {level}"));
        }
        [_] => {}
        _ => findings.warning(
            Area::Nodes,
            format_args!("different versions run: {}", programs.join(", ")),
            "finish the upgrade",
        ),
    }
}

/// Owners and standbys of all shards.
pub(super) fn examine_shards(view: &View, shards: &[ShardReport], standbys: usize, findings: &mut Findings) {
    let with = |problem| -> ShardSet {
        let has = |shard: &&ShardReport| shard.problems.contains(&problem);
        shards.iter().filter(has).map(|shard| shard.shard).collect()
    };
    let mut all_served = true;
    let mut report = |problem, finding: &str, remedy: &str| {
        let set = with(problem);
        if !set.is_empty() {
            all_served = false;
            findings.problem(Area::Shards, format_args!("{} {finding}: {set}", set.len()), remedy);
        }
    };
    report(
        Problem::Unreadable,
        "with an entry that cannot be read",
        "a person or a newer version wrote map/SHARD: correct it with etcdctl",
    );
    report(
        Problem::NotAssigned,
        "not assigned",
        "the planner does it, 5 s after the first node is there: look again",
    );
    report(
        Problem::NoOwner,
        "without an owner that is alive and recorded",
        "start a node that has a replica: see `stadium cluster shards --problem`",
    );
    report(
        Problem::FewStandbys,
        "with too few standbys in step",
        "start nodes, or wait until the standbys have caught up: `stadium cluster shards --problem`",
    );
    let count = shards.len();
    if all_served {
        let finding = format!("each of {count} has an owner, and {standbys} standby(s) in step");
        findings.ok(Area::Shards, finding);
    }
    let zones: BTreeSet<&str> =
        view.nodes.values().filter_map(|stored| stored.value.zone.as_deref()).collect();
    let one_zone = with(Problem::OneZone);
    if !one_zone.is_empty() {
        findings.warning(
            Area::Shards,
            format_args!("{} with all replicas in one zone: {one_zone}", one_zone.len()),
            "balancing moves them, if it is on and the other zones have nodes enough",
        );
    } else if zones.len() > 1 && all_served && standbys > 0 {
        let finding = format!("each has a standby in another zone than its owner ({} zones)", zones.len());
        findings.ok(Area::Shards, finding);
    }
    let beyond: Vec<Shard> = view.map.keys().filter(|shard| shard.0 as usize >= count).copied().collect();
    if !beyond.is_empty() {
        findings.warning(
            Area::Shards,
            format_args!(
                "the map has entries beyond the cluster's shards: {}",
                beyond.into_iter().collect::<ShardSet>()
            ),
            "delete these keys with etcdctl: no node looks at them",
        );
    }
}
