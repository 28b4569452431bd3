//! Nodes and members of etcd that are killed, stopped and cut off.
//! Each test prints the times that it measured.

use std::time::{Duration, Instant};

use stadium_membership::Order;
use stadium_membership_etcd::Connection;
use stadium_testing::etcd::Cluster as Etcd;
use stadium_testing::proxy::Proxy;

use super::fixture::runner::Runner;
use super::fixture::{child, init, is_settled, name, node, until, until_true};

/// Bounds on the time in which a death is seen: the lease, and the time that etcd takes to end it.
const SEEN_MIN: Duration = Duration::from_millis(1_400);
const SEEN_MAX: Duration = Duration::from_millis(3_000);

/// Orders that change who serves.
fn changes(node: &Runner) -> Vec<Order> {
    let changes = |order: &Order| !matches!(order, Order::Write(_));
    node.orders().into_iter().filter(changes).collect()
}

fn is_away(node: &Runner) -> bool {
    matches!(node.snapshot().connection, Connection::Away(_))
}

#[test]
fn a_killed_node_is_succeeded_within_three_seconds() {
    let etcd = Etcd::start(3);
    init(etcd.endpoints(), 16);
    let a = node("a", etcd.endpoints());
    let b = child::start("b", &etcd.endpoints());
    until_true("b to own half", || a.served().len() == 8 && is_settled(&a.snapshot().view, 16));
    let killed = Instant::now();
    drop(b);
    until_true("the death to be seen", || !a.snapshot().view.nodes.contains_key(&name("b")));
    let seen = killed.elapsed();
    until_true("a to serve all", || a.served().len() == 16);
    println!("a killed node: seen after {seen:.2?}, all its shards served after {:.2?}", killed.elapsed());
    assert!((SEEN_MIN..SEEN_MAX).contains(&seen), "seen after {seen:?}");
}

#[test]
fn a_node_that_was_stopped_longer_than_its_lease_follows_its_successor() {
    let etcd = Etcd::start(3);
    init(etcd.endpoints(), 8);
    let a = node("a", etcd.endpoints());
    let b = child::start("b", &etcd.endpoints());
    let settled = || a.served().len() == 4 && is_settled(&a.snapshot().view, 8);
    until_true("b to own half", settled);
    let first = a.snapshot().view.node(&name("b")).map(|node| node.incarnation);
    b.pause();
    until_true("a to serve all", || a.served().len() == 8);
    b.go_on();
    until_true("b to come back as another incarnation", || {
        let now = a.snapshot().view.node(&name("b")).map(|node| node.incarnation);
        now.is_some() && now != first
    });
    until_true("balance", settled);
}

#[test]
fn a_member_and_then_the_leader_may_die_and_nobody_changes_hands() {
    let mut etcd = Etcd::start(3);
    init(etcd.endpoints(), 8);
    let (a, b) = (node("a", etcd.endpoints()), node("b", etcd.endpoints()));
    until_true("balance", || a.served().len() == 4 && b.served().len() == 4);
    let before = (changes(&a), changes(&b));
    let leader = etcd.leader();
    for victim in [(leader + 1) % 3, leader] {
        etcd.kill(victim);
        etcd.until_ready();
        until_true("both to be certain", || a.is_certain() && b.is_certain() && !is_away(&a) && !is_away(&b));
        etcd.revive(victim);
        etcd.until_ready();
    }
    assert_eq!((changes(&a), changes(&b)), before);
    assert_eq!((a.membership.counts().leases_lost, b.membership.counts().leases_lost), (0, 0));
}

#[test]
fn a_member_that_is_stopped_is_left_before_the_lease_is_uncertain() {
    let mut etcd = Etcd::start(3);
    init(etcd.endpoints(), 4);
    let leader = etcd.leader();
    let follower = (leader + 1) % 3;
    let address = |number: usize| format!("http://{}", etcd.address(number));
    // Reached through one member; the others are there when it falls silent.
    let (first, rest) = (address(follower), [address(leader), address((leader + 2) % 3)]);
    let proxy = Proxy::to(etcd.address(follower));
    drop(first);
    let endpoints = vec![format!("http://{}", proxy.address), rest[0].clone(), rest[1].clone()];
    let a = node("a", endpoints);
    until_true("a to serve", || a.served().len() == 4);
    let contacts = a.membership.counts().contacts;
    etcd.pause(follower);
    proxy.block();
    let silent = Instant::now();
    let mut longest_uncertain = Duration::ZERO;
    let mut last_certain = Instant::now();
    while silent.elapsed() < Duration::from_secs(4) {
        if a.is_certain() {
            last_certain = Instant::now();
        }
        longest_uncertain = longest_uncertain.max(last_certain.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
    etcd.go_on(follower);
    proxy.open();
    let left = a.membership.counts().contacts - contacts;
    println!("a silent member: left {left} times, uncertain for {longest_uncertain:.2?} at most");
    assert_eq!(a.membership.counts().leases_lost, 0);
    assert!(a.is_certain());
    assert!(longest_uncertain < Duration::from_millis(500), "{longest_uncertain:?}");
}

#[test]
fn without_etcd_owners_go_on_and_reads_are_uncertain_within_a_second_and_a_half() {
    let mut etcd = Etcd::start(3);
    init(etcd.endpoints(), 8);
    let (a, b) = (node("a", etcd.endpoints()), node("b", etcd.endpoints()));
    until_true("balance", || {
        a.served().len() == 4 && b.served().len() == 4 && is_settled(&a.snapshot().view, 8)
    });
    let before = (changes(&a), changes(&b));
    let killed = Instant::now();
    (0..3).for_each(|number| etcd.kill(number));
    until_true("reads to be uncertain", || !a.is_certain() && !b.is_certain());
    let uncertain = killed.elapsed();
    println!("etcd away: reads uncertain after {uncertain:.2?}");
    assert!(uncertain < Duration::from_millis(1_600), "{uncertain:?}");
    // Longer than any lease lives.
    until_true("the outage to last", || killed.elapsed() > Duration::from_secs(5));
    assert!(is_away(&a) && is_away(&b));
    assert_eq!((changes(&a), changes(&b)), before, "nobody takes its own lost watch for a death");
    assert_eq!((a.served().len(), b.served().len()), (4, 4));
    assert_eq!(a.snapshot().view.nodes.len(), 2);
    (0..3).for_each(|number| etcd.revive(number));
    until_true("both to be certain", || a.is_certain() && b.is_certain());
    until_true("all to be served once", || {
        a.served().len() + b.served().len() == 8 && is_settled(&a.snapshot().view, 8)
    });
}

#[test]
fn a_node_cut_off_from_etcd_is_succeeded_and_changes_nothing_itself() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 8);
    let proxy = Proxy::to(etcd.address(0));
    let a = node("a", etcd.endpoints());
    let b = node("b", vec![format!("http://{}", proxy.address)]);
    until_true("balance", || a.served().len() == 4 && b.served().len() == 4);
    let before = changes(&b);
    let certainty = b.membership.certainty();
    proxy.block();
    let blocked = Instant::now();
    let uncertain = until("b to be uncertain", || (!certainty.is_certain()).then(|| blocked.elapsed()));
    assert!(a.snapshot().view.nodes.contains_key(&name("b")), "b was uncertain before a saw it die");
    until_true("a to serve all", || a.served().len() == 8);
    println!("a node cut off: uncertain after {uncertain:.2?}, succeeded after {:.2?}", blocked.elapsed());
    assert_eq!(changes(&b), before);
    proxy.open();
    until_true("balance again", || a.served().len() == 4 && b.served().len() == 4);
    assert_eq!(b.membership.counts().leases_lost, 1);
}

#[test]
fn what_was_missed_and_compacted_away_is_read_again() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 4);
    let proxy = Proxy::to(etcd.address(0));
    let a = node("a", etcd.endpoints());
    let b = node("b", vec![format!("http://{}", proxy.address)]);
    until_true("both to be seen", || b.snapshot().view.nodes.len() == 2 && is_settled(&b.snapshot().view, 4));
    proxy.cut();
    until_true("the cut to be seen", || is_away(&b));
    let c = node("c", etcd.endpoints());
    until_true("c to register", || a.snapshot().view.nodes.contains_key(&name("c")));
    drop(c);
    until_true("c to leave", || !a.snapshot().view.nodes.contains_key(&name("c")));
    etcd.put("/stadium/test/requests/balance-off", "{}");
    etcd.compact();
    proxy.open();
    until_true("what was missed", || b.snapshot().view.requests.contains_key("balance-off"));
    until_true("the same view", || {
        let (ours, theirs) = (b.snapshot(), a.snapshot());
        ours.view.nodes == theirs.view.nodes && ours.view.map == theirs.view.map
    });
}

#[test]
fn a_lease_that_is_revoked_is_begun_again() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 4);
    let a = node("a", etcd.endpoints());
    until_true("a to serve", || a.served().len() == 4);
    let first = a.snapshot().incarnation;
    etcd.revoke(&etcd.key("/stadium/test/nodes/a").expect("its key").lease);
    until_true("another incarnation", || {
        let now = a.snapshot().incarnation;
        now.is_some() && now != first
    });
    until_true("its records", || is_settled(&a.snapshot().view, 4));
    assert_eq!(a.served().len(), 4, "nobody else was there");
}
