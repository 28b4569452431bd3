//! The duties of a node, view by view.
//! The views are those of a small etcd that the tests change.

use std::time::Duration;

use stadium_membership::{
    BootTime, CLAIM_AGAIN, Change, Entry, FirstInStep, Incarnation, Order, Rule as _, Shard, Succession,
};

use super::etcd::{Etcd, name, node};

const SHARD: Shard = Shard(0);

/// Nodes a, b and c, of which a view is shown to one.
struct Stage {
    etcd: Etcd,
    me: Succession,
    my_name: &'static str,
    now: BootTime,
}

impl Stage {
    /// Of these replicas, those in `in_step` are alive and in step, the others alive.
    fn set(my_name: &'static str, replicas: &[&str], in_step: &[&str]) -> Self {
        let mut etcd = Etcd::with_shards(1);
        for one in replicas {
            let mut node = node(1, None);
            if in_step.contains(one) {
                node.in_step.insert(SHARD);
            }
            etcd.put(Change::Node(name(one), Some(Box::new(node))));
        }
        let entry = Entry::new(replicas.iter().map(|one| name(one)).collect());
        etcd.put(Change::Entry(SHARD, Some(entry)));
        Self { etcd, me: Succession::new(name(my_name), Incarnation(1)), my_name, now: BootTime::default() }
    }

    fn turn(&mut self) -> Vec<Order> {
        self.me.turn(&self.etcd.view, true, self.now)
    }

    /// Makes the node the recorded owner that serves.
    #[track_caller]
    fn serve(&mut self) {
        let generation = self.entry().generation;
        self.turn();
        self.me.claimed(SHARD, generation);
        let orders = self.turn();
        assert!(self.write(&orders));
        assert_eq!(self.turn(), [Order::Serve(SHARD)]);
        self.announce();
    }

    fn after(&mut self, duration: Duration) -> &mut Self {
        self.now = self.now.after(duration);
        self
    }

    /// Writes what the node announces, as the driver does.
    fn announce(&mut self) {
        let announced = self.me.announced();
        self.etcd.change_node(&name(self.my_name), |node| node.in_step = announced);
    }

    /// The owner by the rule.
    fn owner(&self) -> Option<String> {
        FirstInStep::owner(&self.etcd.view, SHARD).map(ToString::to_string)
    }

    fn entry(&self) -> &Entry {
        self.etcd.view.entry(SHARD).expect("an entry")
    }

    /// Carries out the one write among the orders.
    #[track_caller]
    fn write(&mut self, orders: &[Order]) -> bool {
        let [Order::Write(write)] = orders else { panic!("not one write: {orders:?}") };
        self.etcd.write(write)
    }
}

#[test]
fn the_owner_is_the_first_that_is_alive_and_in_step() {
    for (replicas, in_step, owner) in [
        (&["a", "b", "c"][..], &["a", "b", "c"][..], Some("a")),
        (&["a", "b", "c"], &["c", "b"], Some("b")),
        (&["c", "a"], &["a"], Some("a")),
        (&["b", "a"], &[], Some("b")),
    ] {
        let stage = Stage::set("a", replicas, in_step);
        assert_eq!(stage.owner().as_deref(), owner, "{replicas:?}, in step {in_step:?}");
    }
    let mut stage = Stage::set("a", &["a", "b"], &[]);
    stage.etcd.change_node(&name("b"), |node| _ = node.has_data.insert(SHARD));
    assert_eq!(stage.owner().as_deref(), Some("b"), "of those not in step, the first with data");
    stage.etcd.expire(&name("b"));
    assert_eq!(stage.owner().as_deref(), Some("a"), "the log and the store have the data");
    stage.etcd.expire(&name("a"));
    assert_eq!(stage.owner(), None);
}

#[test]
fn a_standby_claims_when_the_owner_dies_records_itself_and_serves() {
    let mut stage = Stage::set("b", &["a", "b"], &["a", "b"]);
    assert_eq!(stage.turn(), [Order::Follow(SHARD)]);
    stage.me.caught_up(SHARD);
    assert_eq!(stage.turn(), []);
    assert!(stage.me.announced().contains(SHARD));
    stage.etcd.expire(&name("a"));
    assert_eq!(stage.turn(), [Order::Claim(SHARD, 1)]);
    assert_eq!(stage.turn(), [], "it is asked once");
    stage.me.claimed(SHARD, 1);
    let orders = stage.turn();
    assert_eq!(stage.me.serves().count(), 0, "the record comes first");
    assert!(stage.write(&orders));
    assert_eq!(stage.entry().replicas, ["b", "a"].map(name));
    assert_eq!(stage.turn(), [Order::Serve(SHARD)]);
    assert!(stage.me.reads_under_lease(SHARD));
    assert_eq!(stage.turn(), []);
}

#[test]
fn a_claim_begins_anew_when_the_map_changed_under_it() {
    let mut stage = Stage::set("a", &["a", "b"], &["a"]);
    stage.turn();
    let changed = stage.entry().with_first(&name("a"), None);
    stage.etcd.put(Change::Entry(SHARD, Some(changed)));
    stage.me.claimed(SHARD, 1);
    assert_eq!(stage.turn(), [Order::Claim(SHARD, 2)], "another claim may stand behind the fence");
    stage.me.claimed(SHARD, 1);
    assert_eq!(stage.turn(), [], "the fence of the former claim is not meant");
    stage.me.claimed(SHARD, 2);
    let orders = stage.turn();
    assert!(stage.write(&orders));
    assert_eq!(stage.turn(), [Order::Serve(SHARD)]);
}

#[test]
fn without_a_certain_lease_nothing_changes() {
    let mut stage = Stage::set("b", &["a", "b"], &["a", "b"]);
    stage.turn();
    stage.etcd.expire(&name("a"));
    assert_eq!(stage.me.turn(&stage.etcd.view, false, stage.now), []);
    let mut lonely = stage.etcd.view.clone();
    lonely.apply(lonely.revision + 1, Change::Node(name("b"), None));
    assert_eq!(stage.me.turn(&lonely, true, stage.now), [], "a view without this node is not to be trusted");
    assert_eq!(stage.turn(), [Order::Claim(SHARD, 1)]);
}

#[test]
fn an_owner_that_came_back_follows_until_the_map_has_it_behind_the_successor() {
    // a was restarted; b serves and has not recorded itself yet.
    let mut stage = Stage::set("a", &["a", "b"], &["b"]);
    assert_eq!(stage.turn(), [Order::Follow(SHARD)]);
    stage.me.caught_up(SHARD);
    stage.turn();
    assert!(stage.me.announced().is_empty(), "in step, it would be the owner over b");
    let entry = stage.entry().with_first(&name("b"), Some(Incarnation(1)));
    stage.etcd.put(Change::Entry(SHARD, Some(entry)));
    stage.turn();
    assert!(stage.me.announced().contains(SHARD));
    stage.announce();
    assert_eq!(stage.owner().as_deref(), Some("b"));
}

#[test]
fn a_fenced_owner_claims_again_after_a_pause_if_it_still_is_the_owner() {
    let mut stage = Stage::set("a", &["a", "b"], &["a", "b"]);
    stage.serve();
    stage.me.fenced(SHARD, stage.now);
    assert!(!stage.me.reads_under_lease(SHARD));
    stage.announce();
    assert_eq!(stage.owner().as_deref(), Some("a"), "its record holds");
    assert_eq!(stage.turn(), [], "the other claimant may be the owner in a newer view");
    assert_eq!(stage.me.deadline(), Some(stage.now.after(CLAIM_AGAIN)));
    assert_eq!(stage.after(CLAIM_AGAIN).turn(), [Order::Claim(SHARD, 2)]);
}

#[test]
fn an_owner_that_gives_up_leaves_the_shard_to_its_standby() {
    let mut stage = Stage::set("a", &["a", "b"], &["a", "b"]);
    stage.serve();
    let write = stage.me.give_up(SHARD, &stage.etcd.view, stage.now).expect("a write");
    assert!(stage.etcd.write(&write));
    stage.announce();
    assert_eq!(stage.owner().as_deref(), Some("b"));
    assert_eq!(stage.after(CLAIM_AGAIN).turn(), []);
}

#[test]
fn an_owner_hands_over_to_a_successor_that_is_in_step_and_to_no_other() {
    let mut stage = Stage::set("a", &["a", "b"], &["a"]);
    stage.serve();
    let entry = stage.entry().with_successor(Some(name("b")));
    stage.etcd.put(Change::Entry(SHARD, Some(entry)));
    assert_eq!(stage.turn(), [], "b is not ready");
    stage.etcd.change_node(&name("b"), |node| _ = node.in_step.insert(SHARD));
    assert_eq!(stage.turn(), [Order::HandOver(SHARD, name("b"))]);
    assert!(!stage.me.reads_under_lease(SHARD));
    assert_eq!(stage.turn(), []);
    stage.me.handed_over(SHARD);
    let orders = stage.turn();
    assert!(stage.write(&orders));
    assert_eq!(stage.owner().as_deref(), Some("b"));
    assert_eq!((stage.entry().successor.clone(), stage.entry().recorded), (None, None));
    assert_eq!(stage.turn(), [Order::Follow(SHARD)]);
}

#[test]
fn a_successor_that_dies_during_the_hand_over_leaves_the_shard_to_its_owner() {
    let mut stage = Stage::set("a", &["a", "b"], &["a", "b"]);
    stage.serve();
    let entry = stage.entry().with_successor(Some(name("b")));
    stage.etcd.put(Change::Entry(SHARD, Some(entry)));
    stage.turn();
    stage.me.handed_over(SHARD);
    stage.etcd.expire(&name("b"));
    assert_eq!(stage.turn(), [Order::Claim(SHARD, 3)]);
}

#[test]
fn a_write_that_is_lost_is_tried_again() {
    let mut stage = Stage::set("a", &["a"], &["a"]);
    stage.turn();
    stage.me.claimed(SHARD, 1);
    let first = stage.turn();
    assert_eq!(stage.turn(), []);
    assert!(stage.me.deadline().is_some_and(|at| at > stage.now));
    let second = stage.after(Duration::from_millis(500)).turn();
    assert_eq!(first, second);
    assert!(stage.write(&second));
    assert!(!stage.write(&first), "both cannot happen");
}

#[test]
fn an_owner_whose_lease_ended_serves_on_and_records_its_next_incarnation() {
    let mut stage = Stage::set("a", &["a"], &["a"]);
    stage.serve();
    stage.me.registered(Incarnation(2));
    assert!(!stage.me.reads_under_lease(SHARD));
    assert_eq!(stage.turn(), [], "the view is of its former incarnation");
    assert_eq!(stage.me.serves().collect::<Vec<_>>(), [SHARD]);
    stage.etcd.put(Change::Node(name("a"), Some(Box::new(node(2, None)))));
    let orders = stage.turn();
    assert!(stage.write(&orders), "nobody claimed meanwhile, so no fence is needed");
    assert_eq!(stage.turn(), []);
    assert!(stage.me.reads_under_lease(SHARD));
}

#[test]
fn an_owner_whose_lease_ended_follows_when_a_standby_took_over() {
    let mut stage = Stage::set("a", &["a", "b"], &["a", "b"]);
    stage.serve();
    stage.etcd.expire(&name("a"));
    let entry = stage.entry().with_first(&name("b"), Some(Incarnation(1)));
    stage.etcd.put(Change::Entry(SHARD, Some(entry)));
    stage.me.registered(Incarnation(2));
    stage.etcd.put(Change::Node(name("a"), Some(Box::new(node(2, None)))));
    assert_eq!(stage.turn(), [Order::Follow(SHARD)]);
}

#[test]
fn a_node_that_is_no_replica_any_more_stops() {
    let mut stage = Stage::set("b", &["a", "b"], &["a", "b"]);
    stage.turn();
    let entry = stage.entry().with_replicas(vec![name("a")]);
    stage.etcd.put(Change::Entry(SHARD, Some(entry)));
    assert_eq!(stage.turn(), [Order::Stop(SHARD)]);
    assert!(stage.me.announced().is_empty());
}

#[test]
fn an_entry_that_cannot_be_read_changes_nothing() {
    let mut stage = Stage::set("a", &["a"], &["a"]);
    stage.serve();
    stage.etcd.put(Change::read("map/0", Some(b"{")).expect("a change").expect("a known key"));
    assert_eq!(stage.turn(), []);
    assert_eq!(stage.me.serves().collect::<Vec<_>>(), [SHARD]);
}
