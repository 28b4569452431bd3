//! Certificates: which a link is made with, and their rotation.

use std::time::Duration;

use stadium_links::{Authorities, Refused, TlsSettings};

use crate::fixture::*;

const LONG: Duration = Duration::from_secs(60);

/// Starts nodes that know each other, and checks that no link between them comes up.
fn never_link(a: &Node, b: &Node) {
    a.knows(b);
    b.knows(a);
    for (one, other) in [(a, b), (b, a)] {
        one.eventually("both lanes have failed twice", || {
            one.endpoint.figures().iter().all(|link| link.failures >= 2)
        });
        assert!(one.endpoint.figures().iter().all(|link| link.connects == 0));
        assert_eq!(one.try_request(other, 1, LONG, b"x"), Err(Refused::Down));
    }
}

#[test]
fn a_node_certified_by_another_authority_is_not_linked() {
    let a = Node::start(settings(&authority(), "a"));
    let b = Node::start(settings(&authority(), "b"));
    never_link(&a, &b);
}

#[test]
fn a_node_whose_certificate_has_expired_is_not_linked() {
    let authority = authority();
    let a = Node::start(settings(&authority, "a"));
    let mut expired = settings(&authority, "b");
    expired.tls = tls_of(&authority.expired_node("b").expect("a certificate"), &authority);
    never_link(&a, &Node::start(expired));
}

#[test]
fn a_node_with_the_certificate_of_another_is_not_linked() {
    let authority = authority();
    let a = Node::start(settings(&authority, "a"));
    let mut disguised = settings(&authority, "b");
    disguised.tls = tls(&authority, "c");
    let b = Node::start(disguised);
    never_link(&a, &b);
    // As the half that dials it gets as far as its hello.
    a.eventually("its claim is refused", || a.refusals("CLU-203") > 0);
}

#[test]
fn rotated_certificates_are_used_by_new_connections_and_open_ones_go_on() {
    let (old, new) = (authority(), authority());
    let (a, b) = pair(&old);
    // A node that has the new authority's certificate alone.
    let c = Node::start(settings(&new, "c"));
    c.knows(&a);
    a.knows(&c);
    a.eventually("it is not linked yet", || a.endpoint.figures().iter().any(|link| link.failures >= 2));
    // First all believe both authorities, then all show the new one's certificates.
    let roots = |settings: &TlsSettings| settings.authorities.roots.clone();
    let both = |node| {
        let (old, new) = (tls(&old, node), tls(&new, node));
        TlsSettings { authorities: Authorities::from([roots(&old), roots(&new)].concat()), ..new }
    };
    a.endpoint.reload(&both("a")).expect("it is usable");
    b.endpoint.reload(&both("b")).expect("it is usable");
    a.reaches(&[&b, &c]);
    c.reaches(&[&a]);
    let connects = |other: &Node| {
        let figures = a.endpoint.figures();
        figures.iter().filter(|link| link.node == other.name).map(|link| link.connects).max()
    };
    assert_eq!(connects(&b), Some(1), "the open connection was not touched");
    a.request(&b, 1, LONG, b"x");
    assert_eq!(a.outcome(1), Became::Answer(b"x".into()));
    // Then the old authority is believed no more.
    a.endpoint.reload(&tls(&new, "a")).expect("it is usable");
    b.endpoint.reload(&tls(&new, "b")).expect("it is usable");
    a.endpoint.remove_member(&b.name);
    b.eventually("its link has ended", || !b.is_linked(&a.name));
    a.knows(&b);
    a.reaches(&[&b]);
    b.reaches(&[&a]);
    // What cannot be used changes nothing.
    let mismatched = TlsSettings { identity: tls(&old, "a").identity, ..tls(&new, "a") };
    let mismatched = TlsSettings {
        identity: stadium_links::Identity { key: tls(&new, "a").identity.key, ..mismatched.identity },
        ..mismatched
    };
    assert!(a.endpoint.reload(&mismatched).is_err());
    a.request(&b, 2, LONG, b"x");
    assert_eq!(a.outcome(2), Became::Answer(b"x".into()));
}
