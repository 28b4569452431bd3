//! Nodes with delayed views, stopped clocks and lost leases, decided by a seed.
//!
//! The rules are the product's. etcd, the logs and the network are simulated: a log lets through
//! only the newest claim, as `stadium-journal-log` does. The promises: a read under the lease
//! returns the newest acknowledged write, no removal takes the last replica in step, and when all is
//! well again each shard has one owner and its standbys. `STADIUM_SEEDS` sets another number of seeds.

mod node;
mod world;

use self::world::World;
use stadium_membership::{FirstInStep, NodeName, Rule, Shard, View};

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    None,
    /// The planner writes whatever its view was.
    NoCompareAndSwap,
    /// The lease is counted from when the answer came.
    LeaseFromAnswer,
    /// A node serves when its fence counts, before its record is in the map.
    ServesBeforeRecord,
}

/// The owner is the first replica that is alive, in step or not.
pub struct FirstAlive;

impl Rule for FirstAlive {
    fn owner(view: &View, shard: Shard) -> Option<&NodeName> {
        view.entry(shard)?.replicas.iter().find(|name| view.node(name).is_some())
    }
}

/// Runs seeds until one fails.
fn first_failure<R: Rule>(count: u64, sabotage: Sabotage) -> Option<String> {
    (0..count).find_map(|seed| {
        World::<R>::new(seed, sabotage).run().err().map(|what| format!("seed {seed}: {what}"))
    })
}

/// A fifth of the seeds that the simulator of shards runs: 200, or 2,000 in a long run.
fn seeds() -> u64 {
    std::env::var("STADIUM_SEEDS").map_or(1_000, |text| text.parse().expect("a number of seeds")) / 5
}

#[test]
fn reads_are_never_old_and_every_shard_finds_its_owner() {
    if let Some(failure) = first_failure::<FirstInStep>(seeds(), Sabotage::None) {
        panic!("{failure}");
    }
}

#[test]
fn an_owner_that_is_alive_but_not_in_step_is_found_out() {
    let failure = first_failure::<FirstAlive>(300, Sabotage::None);
    println!("{}", failure.expect("300 seeds did not notice that a replica out of step owns a shard"));
}

#[test]
fn a_planner_without_compare_and_swap_is_found_out() {
    let failure = first_failure::<FirstInStep>(300, Sabotage::NoCompareAndSwap);
    println!(
        "{}",
        failure.expect("300 seeds did not notice that the planner overwrites what it did not see")
    );
}

#[test]
fn a_lease_that_is_counted_from_its_answer_is_found_out() {
    let failure = first_failure::<FirstInStep>(1_500, Sabotage::LeaseFromAnswer);
    println!("{}", failure.expect("1,500 seeds did not notice a lease that lives longer here than in etcd"));
}

#[test]
fn a_node_that_serves_before_its_record_is_found_out() {
    let failure = first_failure::<FirstInStep>(1_500, Sabotage::ServesBeforeRecord);
    println!("{}", failure.expect("1,500 seeds did not notice an owner that the map does not name"));
}
