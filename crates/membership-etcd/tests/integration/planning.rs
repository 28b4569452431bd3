//! The planner on a real etcd: election, balance, requests, conflicts.

use stadium_membership::{Action, Condition, Request, Shard, Write};
use stadium_testing::etcd::Cluster as Etcd;

use super::fixture::{init, is_settled, name, node, owners, until, until_true};

#[test]
fn three_nodes_share_the_shards_and_one_of_them_plans() {
    let etcd = Etcd::start(3);
    init(etcd.endpoints(), 24);
    let a = node("a", etcd.endpoints());
    until_true("a to serve all", || a.served().len() == 24);
    let (b, c) = (node("b", etcd.endpoints()), node("c", etcd.endpoints()));
    let nodes = [&a, &b, &c];
    until_true("balance", || {
        let view = &a.snapshot().view;
        is_settled(view, 24) && owners(view).values().all(|count| *count == 8) && view.nodes.len() == 3
    });
    until_true("the nodes to serve what they own", || nodes.iter().all(|node| node.served().len() == 8));
    let elections: u64 = nodes.iter().map(|node| node.membership.counts().elections).sum();
    assert_eq!(elections, 1, "two planners");

    // The planner leaves, and another one goes on.
    drop(a);
    until_true("another planner", || {
        b.snapshot().view.planner.as_ref().is_some_and(|seat| seat.node != name("a"))
    });
    until_true("the shards to be served", || b.served().len() + c.served().len() == 24);
}

#[test]
fn operators_move_drain_and_stop_the_balance() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 6);
    let nodes = ["a", "b", "c"].map(|name| node(name, etcd.endpoints()));
    let view = || nodes[0].snapshot().view.clone();
    let ask = |request| nodes[1].membership.request(request).expect("room");
    until_true("balance", || is_settled(&view(), 6) && owners(&view()).values().all(|count| *count == 2));

    ask(Request::BalanceOff);
    until_true("the request", || view().requests.len() == 1);
    let shard = Shard(3);
    let owner = |shard: Shard| view().entry(shard).expect("an entry").replicas[0].clone();
    let to = ["a", "b", "c"].map(name).into_iter().find(|one| *one != owner(shard)).expect("another");
    ask(Request::Move { shard, to: to.clone() });
    until_true("the move", || owner(shard) == to && is_settled(&view(), 6));
    until_true("the request to be removed", || view().requests.len() == 1);
    until_true("the new owner to serve", || {
        nodes.iter().filter(|node| node.served().contains(shard)).count() == 1
    });

    nodes[1].membership.withdraw(Request::BalanceOff).expect("room");
    ask(Request::Drain { node: name("c") });
    until_true("c to be empty", || {
        let view = view();
        is_settled(&view, 6) && view.map.values().all(|entry| !entry.value.has(&name("c")))
    });
    assert_eq!(nodes[2].served().len(), 0);
    let why = nodes[0].membership.request(Request::Move { shard: Shard(6), to });
    assert_eq!(why.expect_err("no such shard").code(), "CLU-109");
}

#[test]
fn a_node_that_drains_hands_over_and_stays_a_standby() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 6);
    let (a, b) = (node("a", etcd.endpoints()), node("b", etcd.endpoints()));
    until_true("balance", || a.served().len() == 3 && b.served().len() == 3);
    a.drain(true);
    until_true("b to serve all", || b.served().len() == 6 && a.served().is_empty());
    let view = b.snapshot().view.clone();
    assert!(view.map.values().all(|entry| entry.value.has(&name("a"))));
    a.drain(false);
    until_true("balance again", || a.served().len() == 3 && b.served().len() == 3);
}

#[test]
fn a_write_on_an_old_entry_does_not_happen() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 1);
    let a = node("a", etcd.endpoints());
    until_true("a to serve", || a.served().len() == 1);
    let shard = Shard(0);
    let stored = until("the entry", || a.snapshot().view.map.get(&shard).cloned());
    let write = |revision| Write {
        action: Action::Entry(shard, stored.value.with_replicas(vec![name("a"), name("z")])),
        conditions: vec![Condition::Entry(shard, revision)],
    };
    let conflicts = a.membership.counts().conflicts;
    a.membership.write(write(stored.revision - 1)).expect("room");
    until_true("a conflict", || a.membership.counts().conflicts == conflicts + 1);
    assert!(!a.snapshot().view.entry(shard).expect("an entry").has(&name("z")));
    a.membership.write(write(stored.revision)).expect("room");
    until_true("the write", || a.snapshot().view.entry(shard).is_some_and(|entry| entry.has(&name("z"))));
}

#[test]
fn an_entry_that_cannot_be_read_is_left_alone() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 2);
    let a = node("a", etcd.endpoints());
    until_true("a to serve", || a.served().len() == 2);
    etcd.put("/stadium/test/map/1", "{");
    until_true("the damage to be seen", || a.snapshot().view.damaged.contains(&Shard(1)));
    etcd.put("/stadium/test/nodes/b", "{");
    until_true("b to be passed over", || a.membership.counts().unreadable == 1);
    let c = node("c", etcd.endpoints());
    until_true("a plan around it", || {
        c.snapshot().view.entry(Shard(0)).is_some_and(|entry| entry.has(&name("c")))
    });
    assert_eq!(etcd.key("/stadium/test/map/1").map(|key| key.value).as_deref(), Some("{"));
    assert!(a.served().contains(Shard(1)));
}
