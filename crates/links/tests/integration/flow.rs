//! Requests, answers and letters between nodes; credit.
//!
//! Nothing breaks here.

use std::time::Duration;

use stadium_links::{Bounds, Lane, Refused, Target};

use crate::fixture::*;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn three_nodes_ask_each_other_on_all_their_loops() {
    let authority = authority();
    let several = |node| {
        let mut settings = settings(&authority, node);
        settings.loops = 2;
        settings
    };
    let nodes = cluster(["a", "b", "c"].map(several).into());
    for (place, one) in nodes.iter().enumerate() {
        for other in nodes.iter().filter(|other| other.name != one.name) {
            for tag in 0..14 {
                let tag = place as u64 * 1_000 + u64::from(other.name.as_str().as_bytes()[0]) * 14 + tag;
                one.request(other, tag, LONG, format!("hello {tag}").as_bytes());
                assert_eq!(one.outcome(tag), Became::Answer(format!("hello {tag}").into_bytes()));
            }
            one.letter(other, Lane::Control, b"control").expect("it is taken");
            one.letter(other, Lane::Data, b"data").expect("it is taken");
        }
    }
    for one in &nodes {
        let letters = one.waits_for_letters(4);
        for other in nodes.iter().filter(|other| other.name != one.name) {
            for (lane, body) in [(Lane::Control, b"control".as_slice()), (Lane::Data, b"data")] {
                assert!(letters.contains(&(other.name.to_string(), lane, body.to_vec())), "{letters:?}");
            }
        }
        assert_eq!(one.requests().len(), 28);
        let figures = one.endpoint.figures();
        assert_eq!(figures.len(), 6, "two loops and control, for two nodes");
        assert!(figures.iter().all(|link| link.is_up && link.connects == 1));
        one.eventually("pings come back", || {
            one.endpoint.figures().iter().all(|link| link.round_trip.is_some())
        });
        one.eventually("all credit is back", || {
            one.endpoint
                .figures()
                .iter()
                .all(|link| link.in_flight.messages == 0 && link.in_flight.bytes == 0)
        });
    }
}

#[test]
fn a_request_carries_its_target_and_its_deadline() {
    let authority = authority();
    let (a, b) = pair(&authority);
    a.request(&b, 5, Duration::from_millis(9_000), b"x");
    a.outcome(5);
    let (from, target, deadline_ms, body) = b.requests().remove(0);
    assert_eq!(
        (from.as_str(), target, body.as_slice()),
        ("a", Target { shard: 5, generation: 3 }, &b"x"[..])
    );
    assert_eq!(deadline_ms, 9_000);
}

#[test]
fn letters_to_a_shard_keep_their_order_and_leave_in_few_batches() {
    let authority = authority();
    let (a, b) = pair(&authority);
    let before: u64 = a.endpoint.figures().iter().map(|link| link.batches).sum();
    for number in 0..2_000_u32 {
        a.letter(&b, Lane::Data, &number.to_be_bytes()).expect("it is taken");
    }
    let letters = b.waits_for_letters(2_000);
    let numbers: Vec<u32> = letters
        .iter()
        .map(|(_, _, body)| u32::from_be_bytes(body[..].try_into().expect("4 bytes")))
        .collect();
    assert_eq!(numbers, (0..2_000).collect::<Vec<_>>());
    let batches = a.endpoint.figures().iter().map(|link| link.batches).sum::<u64>() - before;
    assert!(batches < 1_000, "{batches} batches for 2,000 letters that were sent at once");
}

#[test]
fn thousands_of_requests_under_way_have_one_outcome_each() {
    let authority = authority();
    let (a, b) = pair(&authority);
    b.behaves(Manner::Hold);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (a, b) = (&a, &b);
            scope.spawn(move || {
                for tag in 0..2_000 {
                    a.request(b, thread * 2_000 + tag, LONG, &[7; 100]);
                }
            });
        }
    });
    b.waits_for_requests(8_000);
    let in_flight: u64 = a.endpoint.figures().iter().map(|link| link.in_flight.messages).sum();
    assert_eq!(in_flight, 8_000);
    b.release();
    assert_eq!(a.outcomes(8_000).into_iter().collect::<Vec<_>>(), [("answer".to_owned(), 8_000)]);
}

#[test]
fn long_messages_cross_in_batches_of_their_own() {
    let authority = authority();
    let (a, b) = pair(&authority);
    let body = vec![9; 1024 * 1024];
    for tag in 0..6 {
        a.request(&b, tag, LONG, &body);
    }
    for tag in 0..6 {
        assert!(a.outcome(tag) == Became::Answer(body.clone()), "an answer as long as the request");
    }
    assert_eq!(a.try_request(&b, 9, LONG, &vec![9; 1024 * 1024 + 1]), Err(Refused::TooLong));
}

#[test]
fn a_full_link_refuses_at_once_and_tells_when_there_is_room() {
    let authority = authority();
    let credit = Bounds { messages: 10, bytes: 100_000 };
    let nodes = cluster(["a", "b", "c"].map(|node| small(&authority, node, credit)).into());
    let [a, b, c] = &nodes[..] else { panic!("there are three") };
    b.behaves(Manner::Hold);
    for tag in 0..10 {
        a.request(b, tag, LONG, b"x");
    }
    assert_eq!(a.try_request(b, 10, LONG, b"x"), Err(Refused::Busy));
    assert_eq!(a.letter(b, Lane::Data, b"x"), Err(Refused::Busy));
    // Neither the control connection nor another node waits behind it.
    a.letter(b, Lane::Control, b"control").expect("control has credit of its own");
    a.request(c, 20, LONG, b"x");
    assert_eq!(a.outcome(20), Became::Answer(b"x".into()));
    b.waits_for_requests(10);
    b.release();
    a.waits_for_room(Some("b"));
    a.request(b, 10, LONG, b"x");
    let busy: u64 = a.endpoint.figures().iter().map(|link| link.losses.link_busy).sum();
    assert_eq!(busy, 2);
}

#[test]
fn bytes_are_bounded_beside_messages() {
    let authority = authority();
    let credit = Bounds { messages: 1_000, bytes: 10_000 };
    let nodes = cluster(["a", "b"].map(|node| small(&authority, node, credit)).into());
    let [a, b] = &nodes[..] else { panic!("there are two") };
    b.behaves(Manner::Hold);
    a.request(b, 1, LONG, &[1; 4_000]);
    a.request(b, 2, LONG, &[1; 4_000]);
    assert_eq!(a.try_request(b, 3, LONG, &[1; 4_000]), Err(Refused::Busy));
    a.request(b, 4, LONG, &[1; 1_000]);
}

#[test]
fn the_bound_of_the_node_holds_over_all_its_links() {
    let authority = authority();
    let credit = Bounds { messages: 100, bytes: 100_000 };
    let mut all = ["a", "b", "c"].map(|node| small(&authority, node, credit));
    all[0].node_credit = Bounds { messages: 15, bytes: 100_000 };
    let nodes = cluster(all.into());
    let [a, b, c] = &nodes[..] else { panic!("there are three") };
    b.behaves(Manner::Hold);
    c.behaves(Manner::Hold);
    (0..10).for_each(|tag| a.request(b, tag, LONG, b"x"));
    (10..15).for_each(|tag| a.request(c, tag, LONG, b"x"));
    assert_eq!(a.try_request(c, 15, LONG, b"x"), Err(Refused::NodeBusy));
    b.waits_for_requests(10);
    b.release();
    a.waits_for_room(None);
    a.request(c, 15, LONG, b"x");
}

#[test]
fn a_node_that_smaller_credit_is_given_to_keeps_within_it() {
    let authority = authority();
    let large = small(&authority, "a", Bounds { messages: 1_000, bytes: 1_000_000 });
    let nodes = cluster(vec![large, small(&authority, "b", Bounds { messages: 3, bytes: 100_000 })]);
    let [a, b] = &nodes[..] else { panic!("there are two") };
    b.behaves(Manner::Hold);
    (0..3).for_each(|tag| a.request(b, tag, LONG, b"x"));
    assert_eq!(a.try_request(b, 3, LONG, b"x"), Err(Refused::Busy));
    b.waits_for_requests(3);
    b.release();
    assert_eq!(a.outcomes(3).get("answer"), Some(&3));
}
