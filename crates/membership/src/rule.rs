//! The rule of succession: who owns a shard, as a function of a view and nothing else.

use crate::name::{NodeName, Shard};
use crate::view::View;

/// A rule that names the owner of a shard. The simulator has broken ones.
pub trait Rule {
    /// The owner of the shard, if there is one.
    fn owner(view: &View, shard: Shard) -> Option<&NodeName>;
}

/// The rule: the first replica that is alive and in step.
///
/// Where none is in step, the first that is alive and has data, since it only reads on; where none
/// has data, the first that is alive, which takes the state from the store and the log. Where no
/// replica is alive, nobody: the planner adds one.
#[derive(Clone, Copy, Debug)]
pub struct FirstInStep;

impl Rule for FirstInStep {
    fn owner(view: &View, shard: Shard) -> Option<&NodeName> {
        let replicas = &view.entry(shard)?.replicas;
        let first = |holds: &dyn Fn(&NodeName) -> bool| replicas.iter().find(|name| holds(name));
        first(&|name| view.is_in_step(name, shard))
            .or_else(|| first(&|name| view.node(name).is_some_and(|node| node.has_data.contains(shard))))
            .or_else(|| first(&|name| view.node(name).is_some()))
    }
}
