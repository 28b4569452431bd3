//! Payloads from nothing to megabytes, and those that are too large.
//!
//! What one side lets a message have it neither sends nor takes more of, in one frame or in several.

use stadium_rpc::{
    Call, CallContext, CallError, CallOptions, Client, ClientConfig, Method, ServerConfig, Service,
    StreamSender,
};

use crate::fixture::*;

fn of_size(size: usize) -> Word {
    Word { bytes: (0..size).map(|place| (place % 251) as u8).collect(), ..word("big") }
}

#[test]
fn requests_and_answers_of_any_size_arrive_whole() {
    let server = serve(echo());
    let words = client_of(&[&server]).service("words");
    for size in [0, 1, 60_000, 64 * 1024, 100_000, 5_000_000] {
        let request = of_size(size);
        let answer = words.call(&ECHO, &request).wait();
        assert!(answer.as_ref() == Ok(&request), "{size} bytes: {:?}", answer.map(|got| got.bytes.len()));
    }
}

#[test]
fn large_payloads_do_not_mix_when_many_are_under_way() {
    let server = serve(echo());
    let words = client_of(&[&server]).service("words");
    let calls: Vec<_> = (0..20).map(|place| words.call(&ECHO, &of_size(100_000 + place))).collect();
    for (place, call) in calls.into_iter().enumerate() {
        assert!(call.wait() == Ok(of_size(100_000 + place)), "call {place}");
    }
}

#[test]
fn many_large_answers_to_small_requests_arrive() {
    let (bell, second) = (Bell::default(), Bell::default());
    const LATER: Method<Word, Word> = Method::unary("words/Later");
    const BLOCKING: Method<Word, Word> = Method::unary("words/Blocking");
    let service = words()
        .inline(&ECHO, |_: &Call<'_>, request: &Word, answer: &mut Word| {
            answer.number = request.number;
            answer.bytes.resize(1_000_000, 1);
            Ok(())
        })
        .asynchronous(&LATER, {
            let second = second.clone();
            move |_: CallContext, request: Word| {
                let bell = second.clone();
                async move {
                    bell.rung().await;
                    Ok(Word { bytes: vec![1; 1_000_000], ..request })
                }
            }
        })
        .blocking(&BLOCKING, {
            let bell = bell.clone();
            move |_: CallContext, request: Word| {
                bell.wait();
                Ok(Word { bytes: vec![1; 1_000_000], ..request })
            }
        });
    let server = serve_with(ServerConfig { blocking_threads: 60, ..server_config() }, service);
    let words = connected_client(&[&server], client_config(&[&server])).service("words");
    for method in [&ECHO, &BLOCKING, &LATER] {
        let calls: Vec<_> = (0..60).map(|place| words.call(method, &number(place))).collect();
        if method.route() != ECHO.route() {
            until("all have begun", || server.statistics("words").is_some_and(|now| now.inflight == 60));
            if method.route() == LATER.route() { second.ring() } else { bell.ring() }
        }
        for (place, call) in (0..).zip(calls) {
            let answer = call.wait().map(|answer| (answer.number, answer.bytes.len()));
            assert_eq!(answer, Ok((place, 1_000_000)), "{}", method.route());
        }
    }
}

#[test]
fn stream_of_large_messages_arrives_whole() {
    let server =
        serve(words().streaming(&COUNT, |_: CallContext, _: Word, out: StreamSender<Word>| async move {
            for place in 0..20 {
                out.send(of_size(300_000 + place)).await?;
            }
            Ok(())
        }));
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &word(""), 3, &CallOptions::default());
    for place in 0..20 {
        assert!(stream.next_within(SOON) == Ok(Some(of_size(300_000 + place))), "message {place}");
    }
    assert_eq!(stream.next_within(SOON), Ok(None));
}

/// The most bytes that one side lets a message have, where it is about that.
const BOUND: usize = 10_000;

/// Messages above it: one that fits one frame, and one that takes several.
const ABOVE: [usize; 2] = [20_000, 200_000];

/// The echo, and one that answers with as many bytes as it is asked for.
fn answers_of_size() -> (Service, Method<Word, Word>) {
    const ASYNC: Method<Word, Word> = Method::unary("words/Async");
    let service = words()
        .inline(&ECHO, |_: &Call<'_>, request: &Word, answer: &mut Word| {
            answer.bytes.resize(request.number as usize, 1);
            Ok(())
        })
        .asynchronous(
            &ASYNC,
            |_: CallContext, request: Word| async move { Ok(of_size(request.number as usize)) },
        );
    (service, ASYNC)
}

#[test]
fn request_that_the_client_may_not_send_is_rejected_at_once() {
    let server = serve(echo());
    let config = ClientConfig { payload_bytes_max: BOUND, ..client_config(&[&server]) };
    let words = Client::start(config).expect("a thread can be had").service("words");
    for size in ABOVE {
        assert_eq!(rejection(words.call(&ECHO, &of_size(size)).wait()).0, "RPC-006", "{size} bytes");
        assert!(words.call(&ECHO, &of_size(1_000)).wait().is_ok());
    }
    assert_eq!(counted(&server, "words/Echo").ok, 2, "the server hears of no other");
}

#[test]
fn request_that_the_server_does_not_take_fails_alone() {
    let server = serve_with(ServerConfig { payload_bytes_max: BOUND, ..server_config() }, echo());
    let words = client_of(&[&server]).service("words");
    for size in ABOVE {
        let answer = words.call(&ECHO, &of_size(size)).wait();
        assert!(matches!(answer, Err(CallError::Rejected { .. })), "{size} bytes: {answer:?}");
        assert!(words.call(&ECHO, &of_size(1_000)).wait().is_ok());
    }
}

#[test]
fn what_becomes_of_an_answer_that_is_too_large_is_unknown() {
    let (service, asynchronous) = answers_of_size();
    let server = serve_with(ServerConfig { payload_bytes_max: BOUND, ..server_config() }, service);
    let words = client_of(&[&server]).service("words");
    for size in ABOVE {
        for method in [ECHO, asynchronous, ECHO] {
            let answer = words.call(&method, &number(size as u64)).wait();
            assert_eq!(unknown(answer).0, "RPC-006", "{size} bytes: the function has run");
        }
        assert!(words.call(&ECHO, &number(1_000)).wait().is_ok(), "the connection goes on");
    }
}

#[test]
fn answer_that_the_client_does_not_take_fails_alone() {
    let server = serve(answers_of_size().0);
    let config = ClientConfig { payload_bytes_max: BOUND, ..client_config(&[&server]) };
    let words = Client::start(config).expect("a thread can be had").service("words");
    for size in ABOVE {
        let answer = words.call(&ECHO, &number(size as u64)).wait();
        assert_eq!(unknown(answer).0, "RPC-006", "{size} bytes: the function has run");
        assert!(words.call(&ECHO, &number(1_000)).wait().is_ok(), "the connection goes on");
    }
}
