//! A shard in a view: its owner, its standbys, where it goes, and what is wrong with it.
//!
//! An owner counts only where it is recorded: one that claims the log does not serve yet.

use serde::Serialize;

use crate::name::{NodeName, Shard};
use crate::request::Request;
use crate::view::View;

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

impl Replica {
    /// Whether it reads what it lacks: its node is alive, and it is not in step.
    #[must_use]
    pub const fn warms_up(&self) -> bool {
        self.is_alive && !self.is_in_step
    }
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
    /// The shard in a view, of which there are to be so many standbys.
    #[must_use]
    pub fn new(view: &View, shard: Shard, standbys_wanted: usize) -> Self {
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
        let warms_up = standbys.iter().any(Replica::warms_up);
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

    /// All of so many shards, by their numbers.
    #[must_use]
    pub fn all(view: &View, shards: u32, standbys_wanted: usize) -> Vec<Self> {
        (0..shards).map(|shard| Self::new(view, Shard(shard), standbys_wanted)).collect()
    }

    /// Whether it has an owner and as many standbys as it is to have.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.problems.iter().all(|problem| *problem == Problem::OneZone)
    }
}

/// Whether all these replicas name the same zone, where other nodes that are alive name others.
fn is_in_one_zone(view: &View, replicas: &[NodeName]) -> bool {
    let mut zones = replicas.iter().filter_map(|name| view.node(name)).map(|node| node.zone.as_deref());
    let Some(Some(first)) = zones.next() else { return false };
    let Some(second) = zones.next() else { return false };
    let is_same = |zone: Option<&str>| zone == Some(first);
    let is_other = |zone: &str| zone != first;
    is_same(second)
        && zones.all(is_same)
        && view.nodes.values().any(|node| node.value.zone.as_deref().is_some_and(is_other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;
    use crate::name::Incarnation;
    use crate::view::Change;

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
