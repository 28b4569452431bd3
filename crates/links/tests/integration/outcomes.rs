//! The outcome of each request: answers, deadlines, receivers that give up, links that break.

use std::time::Duration;

use stadium_links::{Lane, NotSent, Refused, Unknown};

use crate::fixture::*;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn receivers_that_are_busy_or_give_up_are_told_apart() {
    let authority = authority();
    let (a, b) = pair(&authority);
    b.behaves(Manner::Busy);
    a.request(&b, 1, LONG, b"x");
    assert_eq!(a.outcome(1), Became::Busy);
    b.behaves(Manner::Drop);
    a.request(&b, 2, LONG, b"x");
    assert_eq!(a.outcome(2), Became::Unknown(Unknown::Dropped));
}

#[test]
fn a_request_is_unknown_after_its_deadline_and_keeps_its_credit_until_the_answer() {
    let authority = authority();
    let (a, b) = pair(&authority);
    b.behaves(Manner::Hold);
    a.request(&b, 1, Duration::from_millis(50), b"x");
    assert_eq!(a.outcome(1), Became::Unknown(Unknown::Deadline));
    let in_flight = || a.endpoint.figures().iter().map(|link| link.in_flight.messages).sum::<u64>();
    assert_eq!(in_flight(), 1, "the receiver still has it");
    b.waits_for_requests(1);
    b.release();
    a.eventually("its credit comes back", || in_flight() == 0);
    a.request(&b, 2, LONG, b"y");
    b.waits_for_requests(2);
    b.release();
    assert_eq!(a.outcome(2), Became::Answer(b"y".into()));
    assert_eq!(a.outcomes(2).len(), 0, "the late answer is nobody's");
}

#[test]
fn answers_too_long_for_a_link_are_unknown() {
    let authority = authority();
    let (a, b) = pair(&authority);
    b.behaves(Manner::Hold);
    a.request(&b, 1, LONG, b"x");
    b.waits_for_requests(1);
    b.answers_with(&vec![1; 2 * 1024 * 1024]);
    assert_eq!(a.outcome(1), Became::Unknown(Unknown::Dropped));
}

#[test]
fn what_is_under_way_is_unknown_when_the_other_node_ends_and_nothing_is_taken_after_it() {
    let authority = authority();
    let (a, b) = pair(&authority);
    b.behaves(Manner::Hold);
    (0..100).for_each(|tag| a.request(&b, tag, LONG, b"x"));
    b.waits_for_requests(100);
    let Node { name, endpoint, seen, incarnation } = b;
    endpoint.stop();
    let unknown = format!("{:?}", Became::Unknown(Unknown::LinkEnded));
    assert_eq!(a.outcomes(100).into_iter().collect::<Vec<_>>(), [(unknown, 100)]);
    a.eventually("the link is down", || !a.is_linked(&name));
    a.eventually("all credit is back", || {
        a.endpoint.figures().iter().all(|link| link.in_flight.messages == 0 && link.in_flight.bytes == 0)
    });
    // The node comes back at another address, with a later incarnation.
    let mut settings = settings(&authority, "b");
    settings.incarnation = stadium_links::Incarnation(incarnation.0 + 1);
    let later = Node::start(settings);
    assert_eq!(a.try_request(&later, 200, LONG, b"x"), Err(Refused::Down));
    later.knows(&a);
    a.knows(&later);
    a.waits_for_incarnation(&later);
    a.reaches(&[&later]);
    a.request(&later, 200, LONG, b"again");
    assert_eq!(a.outcome(200), Became::Answer(b"again".into()));
    assert_eq!(later.requests().len(), 1, "nothing is sent twice");
    drop(seen);
}

#[test]
fn a_node_that_does_not_read_fills_its_link_and_stops_nobody_else() {
    let authority = authority();
    let all = ["a", "b", "c"].map(|node| {
        let mut settings = settings(&authority, node);
        settings.credit.bytes = 16 * 1024 * 1024;
        // Long enough that the stuck loop is not taken for dead.
        settings.timing.silence_ms = 30_000;
        settings
    });
    let nodes = cluster(all.into());
    let [a, b, c] = &nodes[..] else { panic!("there are three") };
    b.is_stuck(true);
    a.letter(b, Lane::Data, b"stuck").expect("it is taken");
    b.waits_for_letters(1);
    // The sockets' buffers fill, then the link's credit.
    let body = vec![5; 512 * 1024];
    let mut taken = 0_u64;
    let refused = loop {
        match a.try_request(b, taken, LONG, &body) {
            Ok(()) => taken += 1,
            Err(refused) => break refused,
        }
    };
    assert_eq!((refused, taken), (Refused::Busy, 31), "messages of half a megabyte within 16");
    // The loop goes on.
    for tag in 1_000..1_100 {
        a.request(c, tag, LONG, b"x");
        assert_eq!(a.outcome(tag), Became::Answer(b"x".into()));
    }
    b.is_stuck(false);
    assert_eq!(a.outcomes(131).get("answer"), Some(&31));
    a.waits_for_room(Some("b"));
}

#[test]
fn deadlines_that_pass_before_a_message_leaves_are_not_sent() {
    let authority = authority();
    let mut all = ["a", "b"].map(|node| {
        let mut settings = settings(&authority, node);
        settings.timing.silence_ms = 30_000;
        settings.credit.bytes = 64 * 1024 * 1024;
        // All answers may wait, if this machine reads them slowly.
        settings.answer_bytes_max = 64 * 1024 * 1024;
        settings
    });
    all[0].node_credit.bytes = 128 * 1024 * 1024;
    let nodes = cluster(all.into());
    let [a, b] = &nodes[..] else { panic!("there are two") };
    b.is_stuck(true);
    a.letter(b, Lane::Data, b"stuck").expect("it is taken");
    b.waits_for_letters(1);
    // More than sockets hold, so that something waits in the loop.
    (0..40).for_each(|tag| a.request(b, tag * 7, LONG, &vec![5; 1024 * 1024]));
    a.eventually("some of it has left", || {
        a.endpoint.figures().iter().map(|link| link.bytes_sent).sum::<u64>() > 1024 * 1024
    });
    a.request(b, 700, Duration::from_millis(100), b"late");
    assert_eq!(a.outcome(700), Became::NotSent(NotSent::Deadline));
    b.is_stuck(false);
    assert_eq!(a.outcomes(41).get("answer"), Some(&40));
    assert!(b.requests().iter().all(|(_, _, _, body)| body != b"late"), "what was not sent is not executed");
    a.eventually("all credit is back", || {
        a.endpoint.figures().iter().all(|link| link.in_flight.messages == 0 && link.in_flight.bytes == 0)
    });
}
