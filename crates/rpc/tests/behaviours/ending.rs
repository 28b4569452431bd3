//! The end of a server is awaited as well as waited for.

use std::time::Duration;

use crate::fixture::*;

#[test]
fn quiescing_is_awaited() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("last", &bell, &begun));
    let words = client_of(&[&server]).service("words");
    let call = call_begun(&words, &begun);
    assert_eq!(block_on(server.quiesce(Duration::from_millis(20))), 1, "its caller is there");
    let quiescing = server.quiesce(SOON);
    bell.ring();
    assert_eq!(answer(call), Ok(word("last")));
    assert_eq!(block_on(quiescing), 0);
    // Once it is over it stays so, and nobody has to look.
    drop(server.quiesce(SOON));
    assert_eq!(server.quiesce(SOON).wait(), 0);
}

#[test]
fn shutdown_is_awaited_and_the_port_is_free_then() {
    let server = serve(echo());
    let address = server.bound()[0];
    let words = client_of(&[&server]).service("words");
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")));
    assert_eq!(block_on(server.shutdown(SOON)), 0, "its client leaves by itself");
    drop(std::net::TcpListener::bind(address).expect("nobody listens there any more"));
}

#[test]
fn shutdown_cuts_who_does_not_leave_in_time() {
    let (begun, dropped) = (Tally::default(), Tally::default());
    let server = serve(never_answering(&begun, &dropped));
    let words = words_tried_once(&server);
    let call = call_begun(&words, &begun);
    assert_eq!(server.shutdown(Duration::from_millis(20)).wait(), 1);
    assert!(answer(call).is_err());
    assert_eq!(dropped.count(), 1);
}
