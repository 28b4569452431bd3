//! `shards`: each shard with its owner, its standbys, and what is wrong with it.
//!
//! It is a function of a view of etcd: no node is asked.

use std::collections::BTreeSet;

use serde::Serialize;
use stadium_membership::{Cluster, NodeName, Request, Shard, View};

use crate::admin::{Admin, known, listed};
use crate::error::Error;

/// Something that is wrong with a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// The map's entry cannot be read: nobody changes it.
    Unreadable,
    /// The map has no entry for it.
    NotAssigned,
    /// No node that is alive has recorded itself as its owner: it takes no commands.
    NoOwner,
    /// Fewer standbys are in step than there are to be: fewer failures can be survived.
    FewStandbys,
    /// All its replicas are in one zone, and the cluster has others.
    OneZone,
}

impl Problem {
    /// The problem in few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unreadable => "entry unreadable",
            Self::NotAssigned => "not assigned",
            Self::NoOwner => "no owner",
            Self::FewStandbys => "few standbys",
            Self::OneZone => "one zone",
        }
    }
}

/// A replica of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replica {
    /// The node that has it.
    pub node: NodeName,
    /// Whether the node is alive.
    pub is_alive: bool,
    /// Whether it could own the shard at once.
    pub is_in_step: bool,
}

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShardReport {
    /// Its number.
    pub shard: Shard,
    /// The node that is alive and recorded as owner.
    pub owner: Option<NodeName>,
    /// The other replicas, in the order of succession.
    pub standbys: Vec<Replica>,
    /// Grows with each change of its entry; 0 where there is none.
    pub generation: u64,
    /// The replica that the owner is asked to hand over to.
    pub successor: Option<NodeName>,
    /// The node that an operator asks to be the owner.
    pub asked_to: Option<NodeName>,
    /// Whether it is on its way: it has a successor, a replica that warms up, or a request to move.
    pub is_moving: bool,
    /// All that is wrong with it.
    pub problems: Vec<Problem>,
}

impl ShardReport {
    pub(crate) fn new(view: &View, shard: Shard, standbys_wanted: usize) -> Self {
        let asked_to = view.requests.get(&format!("move/{shard}")).and_then(|stored| match &*stored.value {
            Request::Move { to, .. } => Some(to.clone()),
            Request::Drain { .. } | Request::BalanceOff => None,
        });
        let Some(entry) = view.entry(shard) else {
            let is_unreadable = view.damaged.contains(&shard);
            let problem = if is_unreadable { Problem::Unreadable } else { Problem::NotAssigned };
            return Self {
                shard,
                owner: None,
                standbys: Vec::new(),
                generation: 0,
                successor: None,
                is_moving: asked_to.is_some(),
                asked_to,
                problems: vec![problem],
            };
        };
        let first = &entry.replicas[0];
        let is_owned = view.node(first).is_some_and(|node| entry.is_recorded(first, node.incarnation));
        let owner = is_owned.then(|| first.clone());
        let replica = |node: &NodeName| Replica {
            node: node.clone(),
            is_alive: view.node(node).is_some(),
            is_in_step: view.is_in_step(node, shard),
        };
        let standbys: Vec<Replica> = entry.replicas[usize::from(is_owned)..].iter().map(replica).collect();
        let mut problems = Vec::new();
        if owner.is_none() {
            problems.push(Problem::NoOwner);
        }
        let in_step = standbys.iter().filter(|standby| standby.is_in_step).count();
        if in_step < standbys_wanted {
            problems.push(Problem::FewStandbys);
        }
        if standbys_wanted > 0 && is_in_one_zone(view, &entry.replicas) {
            problems.push(Problem::OneZone);
        }
        let warms_up = standbys.iter().any(|standby| standby.is_alive && !standby.is_in_step);
        Self {
            shard,
            owner,
            standbys,
            generation: entry.generation,
            successor: entry.successor.clone(),
            is_moving: entry.successor.is_some() || asked_to.is_some() || warms_up,
            asked_to,
            problems,
        }
    }

    /// Whether it has an owner and as many standbys as it is to have.
    pub(crate) fn is_served(&self) -> bool {
        self.problems.iter().all(|problem| *problem == Problem::OneZone)
    }
}

/// Whether all these replicas name the same zone, where other nodes that are alive name others.
fn is_in_one_zone(view: &View, replicas: &[NodeName]) -> bool {
    let zone = |name: &NodeName| view.node(name).and_then(|node| node.zone.as_deref());
    let zones: BTreeSet<&str> = view.nodes.keys().filter_map(zone).collect();
    let alive = || replicas.iter().filter(|name| view.node(name).is_some());
    let of_replicas: BTreeSet<Option<&str>> = alive().map(zone).collect();
    zones.len() > 1 && alive().count() > 1 && of_replicas.len() == 1 && !of_replicas.contains(&None)
}

/// All shards of a cluster.
pub(crate) fn all(view: &View, cluster: &Cluster, standbys: usize) -> Vec<ShardReport> {
    (0..cluster.shards).map(|shard| ShardReport::new(view, Shard(shard), standbys)).collect()
}

/// The result of `shards`.
#[derive(Clone, Debug, Serialize)]
pub struct ShardsReport {
    /// The shards that were asked for.
    pub shards: Vec<ShardReport>,
    /// How many the cluster has.
    pub all: u32,
}

impl Admin {
    /// The shards: those of which `node` has a replica, where one is given, and with
    /// `problems_only` those with a problem.
    ///
    /// # Errors
    /// etcd does not answer, or has no such cluster; the node is unknown.
    pub fn shards(&mut self, node: Option<&NodeName>, problems_only: bool) -> Result<ShardsReport, Error> {
        let (view, cluster) = self.look()?;
        if let Some(node) = node
            && !known(&view).contains(node)
        {
            return Err(Error::request(no_node(&view, node)));
        }
        let mut shards = all(&view, &cluster, self.settings.standbys);
        let has = |shard: &ShardReport, node| view.entry(shard.shard).is_some_and(|entry| entry.has(node));
        shards.retain(|shard| node.is_none_or(|node| has(shard, node)));
        shards.retain(|shard| !problems_only || !shard.problems.is_empty());
        Ok(ShardsReport { shards, all: cluster.shards })
    }
}

/// The refusal of a node that nobody knows.
pub(crate) fn no_node(view: &View, node: &NodeName) -> String {
    format!("the cluster has no node {node}; it knows: {}", listed(known(view)))
}

#[cfg(test)]
mod tests {
    use stadium_membership::{Change, Entry, Incarnation};

    use super::*;

    /// A view of nodes, each `NAME ZONE IN_STEP`, and of the entry of shard 0.
    fn view(nodes: &[(&str, &str, &str)], replicas: &[&str], recorded: Option<u64>) -> View {
        let mut view = View::default();
        for (number, (name, zone, in_step)) in (1_u64..).zip(nodes) {
            let value = format!(
                r#"{{"incarnation":{number},"addresses":{{}},"zone":"{zone}","load":0,"in_step":"{in_step}",
                    "versions":{{"program":"test","level_min":1,"level_max":1}}}}"#
            );
            let change = Change::read(&format!("nodes/{name}"), Some(value.as_bytes()));
            view.apply(1, change.expect("readable").expect("known"));
        }
        let replicas = replicas.iter().map(|name| name.parse().expect("a name")).collect();
        let entry = Entry { recorded: recorded.map(Incarnation), ..Entry::new(replicas) };
        view.apply(1, Change::Entry(Shard(0), Some(entry)));
        view
    }

    #[test]
    fn each_problem_is_found() {
        use Problem::{FewStandbys, NoOwner, OneZone};
        let three = [("a", "east", "0"), ("b", "west", "0"), ("c", "east", "0")];
        type Row<'r> = (&'r [(&'r str, &'r str, &'r str)], &'r [&'r str], Option<u64>, &'r [Problem]);
        let table: &[Row<'_>] = &[
            (&three, &["a", "b"], Some(1), &[]),
            // The recorded incarnation is not the one that lives.
            (&three, &["a", "b"], Some(9), &[NoOwner]),
            (&three, &["a", "b"], None, &[NoOwner]),
            (&three, &["a"], Some(1), &[FewStandbys]),
            (&three, &["a", "d"], Some(1), &[FewStandbys]),
            (&three, &["d", "a"], Some(1), &[NoOwner]),
            (&three, &["d"], None, &[NoOwner, FewStandbys]),
            (&three, &["a", "c"], Some(1), &[OneZone]),
            (&[("a", "east", "0"), ("b", "west", "")], &["a", "b"], Some(1), &[FewStandbys]),
            (&[("a", "east", "0"), ("b", "east", "0")], &["a", "b"], Some(1), &[]),
        ];
        for (nodes, replicas, recorded, problems) in table {
            let report = ShardReport::new(&view(nodes, replicas, *recorded), Shard(0), 1);
            assert_eq!(&report.problems, problems, "{nodes:?} {replicas:?} {recorded:?}");
        }
        let missing = ShardReport::new(&view(&three, &["a", "b"], None), Shard(1), 1);
        assert_eq!(missing.problems, [Problem::NotAssigned]);
    }

    #[test]
    fn a_shard_without_standbys_by_choice_has_no_problem() {
        let report = ShardReport::new(&view(&[("a", "east", "0")], &["a"], Some(1)), Shard(0), 0);
        assert_eq!((report.problems, report.is_moving), (vec![], false));
    }

    #[test]
    fn a_replica_that_warms_up_is_on_its_way() {
        let nodes = [("a", "east", "0"), ("b", "west", "0"), ("c", "west", "")];
        let report = ShardReport::new(&view(&nodes, &["a", "b", "c"], Some(1)), Shard(0), 1);
        assert_eq!((report.problems, report.is_moving), (vec![], true));
    }
}
