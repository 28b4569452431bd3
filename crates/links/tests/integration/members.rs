//! Members: who is let in, and what follows when the cluster changes.

use std::time::Duration;

use stadium_links::{Carrier, ClusterId, Incarnation, Member, Range, Refused};

use crate::fixture::*;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_node_of_another_cluster_is_refused() {
    let authority = authority();
    let a = Node::start(settings(&authority, "a"));
    let mut other = settings(&authority, "b");
    other.cluster = ClusterId(0xC2);
    let b = Node::start(other);
    a.knows(&b);
    b.knows(&a);
    a.eventually("b is refused", || a.refusals("CLU-201") > 0);
    b.eventually("a is refused", || b.refusals("CLU-201") > 0);
    assert_eq!(a.try_request(&b, 1, LONG, b"x"), Err(Refused::Down));
}

#[test]
fn a_node_that_is_no_member_is_refused_until_it_is_one() {
    let authority = authority();
    let (a, b) = (Node::start(settings(&authority, "a")), Node::start(settings(&authority, "b")));
    b.knows(&a);
    a.eventually("b is refused", || a.refusals("CLU-202") > 0);
    assert!(!b.is_linked(&a.name));
    assert_eq!(a.try_request(&b, 1, LONG, b"x"), Err(Refused::NoSuchNode));
    a.knows(&b);
    b.reaches(&[&a]);
    a.reaches(&[&b]);
}

#[test]
fn feature_levels_without_a_common_one_are_refused() {
    let authority = authority();
    let at = |node, first, last| {
        let mut settings = settings(&authority, node);
        settings.levels = Range { first, last };
        Node::start(settings)
    };
    let (a, b, c) = (at("a", 2, 3), at("b", 4, 5), at("c", 3, 4));
    for (one, other) in [(&a, &b), (&b, &a), (&a, &c), (&c, &a), (&b, &c), (&c, &b)] {
        one.knows(other);
    }
    c.reaches(&[&a, &b]);
    a.reaches(&[&c]);
    b.eventually("a is refused", || b.refusals("CLU-205") > 0);
    assert!(!a.is_linked(&b.name) && !b.is_linked(&a.name));
}

#[test]
fn an_earlier_incarnation_is_refused_and_its_links_end() {
    let authority = authority();
    let (a, b) = pair(&authority);
    // The store says that b has started again, at an address where nobody is yet.
    let mut settings = settings(&authority, "b");
    settings.incarnation = Incarnation(2);
    let later = Node::start(settings);
    a.knows(&later);
    a.waits_for_incarnation_refusal(&b);
    later.knows(&a);
    a.reaches(&[&later]);
    later.reaches(&[&a]);
    a.request(&later, 1, LONG, b"x");
    assert_eq!(a.outcome(1), Became::Answer(b"x".into()));
    assert_eq!(b.requests().len(), 0, "the earlier one is not asked");
    assert!(!b.is_linked(&a.name), "nor listened to");
}

#[test]
fn a_later_incarnation_is_learned_from_the_node_itself() {
    let authority = authority();
    let (a, b) = pair(&authority);
    let mut settings = settings(&authority, "b");
    settings.incarnation = Incarnation(9);
    let later = Node::start(settings);
    later.knows(&a);
    later.reaches(&[&a]);
    a.waits_for_incarnation_refusal(&b);
}

#[test]
fn removed_nodes_lose_their_links_and_moved_ones_are_found() {
    let authority = authority();
    let (a, b) = pair(&authority);
    a.endpoint.remove_member(&b.name);
    assert_eq!(a.try_request(&b, 1, LONG, b"x"), Err(Refused::NoSuchNode));
    b.eventually("its links have ended", || !b.is_linked(&a.name));
    a.eventually("it is refused", || a.refusals("CLU-202") > 0);
    // Back, first at an address where nobody listens.
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    a.endpoint.set_member(Member { addresses: vec![nowhere.expect("a port")], ..b.member() });
    b.reaches(&[&a]);
    assert!(!a.is_linked(&b.name));
    a.knows(&b);
    a.reaches(&[&b]);
    a.request(&b, 2, LONG, b"x");
    assert_eq!(a.outcome(2), Became::Answer(b"x".into()));
}

#[test]
fn several_addresses_are_tried_in_turn() {
    let authority = authority();
    let (a, b) = (Node::start(settings(&authority, "a")), Node::start(settings(&authority, "b")));
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let addresses = vec![nowhere.expect("a port"), b.endpoint.address()];
    b.knows(&a);
    a.endpoint.set_member(Member { addresses, ..b.member() });
    a.reaches(&[&b]);
}

#[test]
fn reaching_less_than_half_of_the_others_is_seen_and_timed() {
    let authority = authority();
    let (a, b) = pair(&authority);
    assert_eq!(a.endpoint.reach().too_few_for, None);
    for absent in ["c", "d"] {
        let addresses = vec!["127.0.0.1:1".parse().expect("an address")];
        a.endpoint.set_member(Member { node: name(absent), addresses, incarnation: Incarnation(1) });
    }
    a.eventually("one of three is too few", || {
        let reach = a.endpoint.reach();
        (reach.others, reach.reached) == (3, 1)
            && reach.too_few_for.is_some_and(|time| time >= Duration::from_millis(100))
    });
    a.endpoint.remove_member(&name("d"));
    a.eventually("one of two is half", || a.endpoint.reach().too_few_for.is_none());
    drop(b);
    a.eventually("nobody is left", || {
        let reach = a.endpoint.reach();
        reach.reached == 0 && reach.too_few_for.is_some()
    });
}
