//! Servers that go away under their clients, and come back.

use std::time::Duration;

use stadium_rpc::{CallContext, CallError, Idempotency, Listen, Method, PieceReceiver, Raw, ServerConfig};

use crate::fixture::*;

#[test]
fn client_finds_a_server_that_restarts_on_its_port() {
    let mut server = serve(echo());
    let address = server.bound()[0];
    let client = client_of(&[&server]);
    let words = client.service("words");
    for round in 0..3 {
        until("the client is back", || words.call(&ECHO_TWICE, &number(round)).wait() == Ok(number(round)));
        assert!(connections(&server) >= 1);
        server.stop();
        let config = ServerConfig { listen: vec![Listen::tcp(address)], ..server_config() };
        server = serve_with(config, echo());
    }
    until("the client is back", || words.call(&ECHO_TWICE, &number(9)).wait() == Ok(number(9)));
}

#[test]
fn call_under_way_on_a_broken_connection_is_notified() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("", &bell, &begun));
    let words = client_of(&[&server]).service("words");
    let call = call_begun(&words, &begun);
    server.stop();
    let answer = answer(call);
    assert!(matches!(answer, Err(CallError::Broken(_))), "{answer:?}");
}

#[test]
fn idempotent_call_on_a_broken_connection_is_made_again_elsewhere() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let broken = serve(named_waiting("broken", &bell, &begun));
    let whole = serve(named("whole"));
    let mut config = client_config(&[&broken, &whole]);
    config.hedge = None;
    let words = connected_client(&[&broken, &whole], config).service("words");
    let mut calls = Vec::new();
    until("one is under way", || {
        calls.push(words.call(&ECHO_TWICE, &word("")));
        begun.count() >= 1
    });
    broken.stop();
    for call in calls {
        assert_eq!(answer(call), Ok(word("whole")));
    }
}

#[test]
fn idempotent_call_waits_for_the_only_server_to_come_back() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("", &bell, &begun));
    let address = server.bound()[0];
    let words = client_of(&[&server]).service("words");
    let call = words.call(&ECHO_TWICE, &word(""));
    until("it has begun", || begun.count() == 1);
    server.stop();
    let config = ServerConfig { listen: vec![Listen::tcp(address)], ..server_config() };
    let _again = serve_with(config, named("again"));
    assert_eq!(answer(call), Ok(word("again")));
}

#[test]
fn calls_go_on_while_one_of_two_servers_dies() {
    let (one, two) = (serve(named("one")), serve(named("two")));
    let mut config = client_config(&[&one, &two]);
    // All that was under way at the one that dies is made again, at once.
    config.budget.saved_max = 1_000;
    config.budget.share = 1.0;
    let words = connected_client(&[&one, &two], config).service("words");
    let calls: Vec<_> = (0..500).map(|_| words.call(&ECHO_TWICE, &word(""))).collect();
    one.stop();
    let more: Vec<_> = (0..500).map(|_| words.call(&ECHO_TWICE, &word(""))).collect();
    for call in calls.into_iter().chain(more) {
        assert!(answer(call).is_ok());
    }
}

#[test]
fn server_that_no_longer_answers_is_found_out_by_its_keep_alive() {
    // It takes the connection, and never sends anything.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let mut config = stadium_rpc::ClientConfig::at(vec![silent.local_addr().expect("it is bound")]);
    config.keepalive_interval = Duration::from_millis(50);
    config.keepalive_lifetime = Duration::from_millis(200);
    config.deadline = SOON;
    let client = stadium_rpc::Client::start(config).expect("a thread can be had");
    let answer = client.service("words").call(&ECHO, &word("")).wait();
    assert!(matches!(answer, Err(CallError::Broken(_))), "{answer:?}");
}

#[test]
fn what_panics_on_a_clients_thread_ends_its_own_call_alone() {
    const PUT: Method<Raw, Word> = Method::unary("words/Put");
    let (bell, begun, dropped) = (Bell::default(), Tally::default(), Tally::default());
    let service = named_waiting("here", &bell, &begun);
    let server = serve(service.upload(&PUT, {
        let dropped = dropped.clone();
        move |_: CallContext, pieces: PieceReceiver| {
            let dropped = CountsDrop(dropped.clone());
            async move {
                let _dropped = dropped;
                while pieces.next().await.is_some() {}
                Ok(word("whole"))
            }
        }
    }));
    let words = client_of(&[&server]).service("words");
    let under_way = words.call(&ECHO, &word(""));
    until("it has begun", || begun.count() == 1);
    // There is no such route: the answer comes at once.
    let options = stadium_rpc::CallOptions::default();
    words.call_bytes_then("words/Nothing", Idempotency::Unknown, Vec::new(), &options, |_| {
        panic!("as the test wants it")
    });
    let mut given = 0;
    let pieces = std::iter::from_fn(move || {
        given += 1;
        assert!(given < 3, "as the test wants it");
        Some(vec![1; 1_000])
    });
    assert_eq!(words.upload(&PUT, pieces, &options).wait(), Err(CallError::Cancelled));
    until("the service is notified that no more comes", || dropped.count() == 1);
    bell.ring();
    assert_eq!(under_way.wait(), Ok(word("here")));
    assert_eq!(words.call(&ECHO, &word("")).wait(), Ok(word("here")), "the client goes on");
}

#[test]
fn calls_end_when_their_client_ends() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("", &bell, &begun));
    let client = client_of(&[&server]);
    let words = client.service("words");
    let call = words.call(&ECHO, &word(""));
    let mut stream = words.stream(&COUNT, &word(""), 1, &stadium_rpc::CallOptions::default());
    until("it has begun", || begun.count() == 1);
    drop((client, words));
    assert!(matches!(call.wait(), Err(CallError::Cancelled | CallError::Broken(_))));
    assert!(stream.next_within(SOON).is_err_and(|error| error != CallError::Deadline));
}
