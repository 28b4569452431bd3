//! Shards on their way: where each goes, and how far it is.

use serde::Serialize;

use crate::name::{NodeName, Shard};
use crate::report::shard::{Replica, ShardReport};

/// The step of a shard that is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// An operator asked for it, and the planner has not begun: it moves a few shards at a time.
    Waiting,
    /// A replica reads what it lacks. The owner stays meanwhile.
    WarmingUp,
    /// The owner is asked to hand over.
    HandingOver,
}

/// A shard that gets another owner or another standby.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relocation {
    /// The shard.
    pub shard: Shard,
    /// Its owner; none where it has none.
    pub from: Option<NodeName>,
    /// The node that is to own it, or to be a standby of it.
    pub to: NodeName,
    /// How far it is.
    pub step: Step,
    /// Whether an operator asked for it.
    pub is_asked: bool,
}

impl Relocation {
    /// The way of a shard; none where it stays.
    #[must_use]
    pub fn of(shard: &ShardReport) -> Option<Self> {
        let warms_up = |node: &NodeName| shard.standbys.iter().any(|one| one.node == *node && one.warms_up());
        let (to, step) = if let Some(successor) = &shard.successor {
            (successor, Step::HandingOver)
        } else if let Some(asked) = &shard.asked_to {
            (asked, if warms_up(asked) { Step::WarmingUp } else { Step::Waiting })
        } else {
            (&shard.standbys.iter().find(|one| Replica::warms_up(one))?.node, Step::WarmingUp)
        };
        let is_asked = shard.asked_to.as_ref() == Some(to);
        Some(Self { shard: shard.shard, from: shard.owner.clone(), to: to.clone(), step, is_asked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_shard_is_the_last_that_was_begun() {
        let name = |text: &str| text.parse::<NodeName>().expect("a name");
        let standby = |node: &str, is_in_step| Replica { node: name(node), is_alive: true, is_in_step };
        let shard = |standbys: Vec<Replica>, asked_to: Option<&str>, successor: Option<&str>| ShardReport {
            shard: Shard(3),
            owner: Some(name("a")),
            standbys,
            generation: 1,
            successor: successor.map(name),
            asked_to: asked_to.map(name),
            is_moving: false,
            problems: Vec::new(),
        };
        let (b, c, cold) = (standby("b", true), standby("c", true), standby("c", false));
        let table = [
            (shard(vec![b.clone()], None, None), None),
            (shard(vec![b.clone()], Some("c"), None), Some(("c", Step::Waiting, true))),
            (shard(vec![b.clone(), cold.clone()], Some("c"), None), Some(("c", Step::WarmingUp, true))),
            (shard(vec![b.clone(), cold], None, None), Some(("c", Step::WarmingUp, false))),
            (shard(vec![b.clone(), c.clone()], Some("c"), None), Some(("c", Step::Waiting, true))),
            (shard(vec![b.clone(), c], Some("c"), Some("c")), Some(("c", Step::HandingOver, true))),
            (shard(vec![b], None, Some("b")), Some(("b", Step::HandingOver, false))),
        ];
        for (report, expected) in table {
            let found = Relocation::of(&report);
            let found = found.as_ref().map(|one| (one.to.as_str(), one.step, one.is_asked));
            assert_eq!(found, expected, "{report:?}");
        }
    }
}
