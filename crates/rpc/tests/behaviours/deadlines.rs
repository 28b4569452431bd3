//! Deadlines travel with requests; what has expired is dropped, answered and counted.
//!
//! Where time has to pass, what is waited for is the end that it brings, on the client and in the server's counts.

use std::time::{Duration, Instant};

use prost::Message;
use stadium_rpc::{
    Call, CallContext, CallError, CallOptions, Client, ClientConfig, Method, Server, ServerConfig, Service,
    StreamSender,
};
use stadium_rsocket::frame::{ErrorCode, Interaction};
use stadium_rsocket::metadata::{self, Mime};

use crate::fixture::*;
use crate::plain::{Got, Plain};

fn within(deadline: Duration) -> CallOptions<'static> {
    CallOptions { deadline: Some(deadline), ..CallOptions::default() }
}

/// An echo that answers how many milliseconds its call has left.
fn answers_time_left() -> Service {
    words().inline(&ECHO, |call: &Call<'_>, _: &Word, answer: &mut Word| {
        answer.number = call.time_left().as_millis() as u64;
        Ok(())
    })
}

#[test]
fn function_sees_the_time_that_is_left() {
    let server = serve(answers_time_left());
    let words = client_of(&[&server]).service("words");
    let left = words.call_with(&ECHO, &word(""), &within(Duration::from_secs(3))).wait().expect("it answers");
    assert!((1..=3_000).contains(&left.number), "{} ms of 3,000 are left", left.number);
}

#[test]
fn request_without_a_deadline_gets_the_servers() {
    let server = serve_with(
        ServerConfig { deadline: Duration::from_millis(1_234), ..server_config() },
        answers_time_left(),
    );
    let mut plain = Plain::dial(&server);
    plain.ask("words/Echo", 0, &word(""));
    let Got::Message { data, .. } = plain.next() else { panic!("it answers") };
    assert_eq!(Word::decode(&*data).expect("it is a word").number, 1_234);
}

#[test]
fn longer_deadlines_are_cut_to_the_servers_longest() {
    let server = serve_with(
        ServerConfig { deadline_max: Duration::from_secs(7), ..server_config() },
        answers_time_left(),
    );
    let words = client_of(&[&server]).service("words");
    let options = within(Duration::from_secs(5_000));
    assert_eq!(words.call_with(&ECHO, &word(""), &options).wait().expect("it answers").number, 7_000);
}

#[test]
fn future_is_dropped_and_counted_when_its_deadline_passes() {
    let (begun, dropped) = (Tally::default(), Tally::default());
    let server = serve(never_answering(&begun, &dropped));
    let words = client_of(&[&server]).service("words");
    let call = words.call_with(&ECHO, &word(""), &within(Duration::from_millis(50)));
    assert_eq!(call.wait(), Err(CallError::Deadline));
    until("the future is dropped", || dropped.count() == 1);
    until("it is counted", || {
        let counts = counted(&server, "words/Echo");
        counts.expired + counts.cancelled == 1
    });
}

/// Asks for an echo with a deadline in milliseconds.
fn ask_within(plain: &mut Plain, deadline_ms: u32) {
    let mut metadata = Vec::new();
    metadata::write_route(&mut metadata, "words/Echo");
    let mime = Mime::Named(b"message/x.stadium.deadline.v1");
    metadata::write_entry(&mut metadata, mime, &deadline_ms.to_be_bytes());
    plain.ask_with(Interaction::RequestResponse, 1, Some(&metadata), &[]);
}

#[test]
fn server_notifies_a_plain_client_that_the_deadline_has_passed() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("", &bell, &begun));
    let mut plain = Plain::dial(&server);
    ask_within(&mut plain, 50);
    let Got::Failed { code, text, .. } = plain.next() else { panic!("it fails") };
    assert_eq!((code, &text[..14]), (ErrorCode::CANCELED, "RPC-DEADLINE: "));
    until("it is counted", || counted(&server, "words/Echo").expired == 1);
}

#[test]
fn request_whose_time_is_over_when_it_comes_is_not_begun() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("", &bell, &begun));
    let mut plain = Plain::dial(&server);
    ask_within(&mut plain, 0);
    let Got::Failed { code, .. } = plain.next() else { panic!("it fails") };
    assert_eq!((code, begun.count()), (ErrorCode::CANCELED, 0));
    assert_eq!(counted(&server, "words/Echo").expired, 1);
}

#[test]
fn blocking_call_that_waited_too_long_is_not_begun() {
    const HOLD: Method<Word, Word> = Method::unary("words/Hold");
    let (bell, begun, held) = (Bell::default(), Tally::default(), Tally::default());
    let service = words()
        .blocking(&HOLD, {
            let (bell, held) = (bell.clone(), held.clone());
            move |_: CallContext, _: Word| {
                held.add();
                bell.wait();
                Ok(Word::default())
            }
        })
        .blocking(&ECHO, {
            let begun = begun.clone();
            move |_: CallContext, _: Word| {
                begun.add();
                Ok(Word::default())
            }
        });
    let server = serve_with(ServerConfig { blocking_threads: 1, ..server_config() }, service);
    let words = client_of(&[&server]).service("words");
    let holding = words.call(&HOLD, &word(""));
    until("the only thread is taken", || held.count() == 1);
    let late = words.call_with(&ECHO, &word(""), &within(Duration::from_millis(50)));
    assert_eq!(late.wait(), Err(CallError::Deadline));
    until("the server knows it too", || {
        let counts = counted(&server, "words/Echo");
        counts.expired + counts.cancelled == 1
    });
    bell.ring();
    assert!(holding.wait().is_ok());
    let next = words.call(&ECHO, &word(""));
    assert!(next.wait().is_ok());
    assert_eq!(begun.count(), 1, "only the call that somebody waits for was begun");
}

/// A server that works on one call at a time, and lets a few wait.
fn narrow(service: Service) -> Server {
    let mut config = server_config();
    config.admission.concurrency_min = 1;
    config.admission.concurrency_max = 1;
    config.admission.queue_max = 4;
    serve_with(config, service)
}

/// Calls that wait for their turn.
fn waiting(server: &Server) -> u32 {
    server.statistics("words").expect("it serves words").queued
}

#[test]
fn call_that_waits_for_its_turn_is_begun_when_there_is_room() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = narrow(named_waiting("one", &bell, &begun));
    let words = words_tried_once(&server);
    let first = call_begun(&words, &begun);
    let second = words.call(&ECHO, &word(""));
    until("it waits", || waiting(&server) == 1);
    assert_eq!(begun.count(), 1);
    bell.ring();
    assert_eq!(answer(first), Ok(word("one")));
    // It may have waited for longer than is good for a queue, and is refused then.
    let second = answer(second);
    assert!(matches!(second, Ok(_) | Err(CallError::Busy { .. })), "{second:?}");
    until("nothing waits", || server.statistics("words").is_some_and(|now| now.queued + now.inflight == 0));
}

#[test]
fn call_that_is_given_up_while_it_waits_is_never_begun() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = narrow(named_waiting("one", &bell, &begun));
    let words = words_tried_once(&server);
    let first = call_begun(&words, &begun);
    let dropped = words.call(&ECHO, &word(""));
    until("it waits", || waiting(&server) == 1);
    drop(dropped);
    let late = words.call_with(&ECHO, &word(""), &within(Duration::from_millis(50))).wait();
    assert!(matches!(late, Err(CallError::Deadline | CallError::Busy { .. })), "{late:?}");
    until("the server knows", || {
        let counts = counted(&server, "words/Echo");
        counts.cancelled + counts.expired + counts.busy == 2
    });
    bell.ring();
    assert_eq!(answer(first), Ok(word("one")));
    until("all is over", || server.statistics("words").is_some_and(|now| now.inflight == 0));
    assert_eq!(begun.count(), 1, "only the call that somebody waits for was begun");
    assert_eq!(words.call(&ECHO, &word("")).wait(), Ok(word("one")), "there is room again");
}

#[test]
fn queue_is_bounded() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = narrow(named_waiting("one", &bell, &begun));
    let words = words_tried_once(&server);
    let calls: Vec<_> = (0..20).map(|_| words.call(&ECHO, &word(""))).collect();
    until("those that have no room are refused", || counted(&server, "words/Echo").busy >= 15);
    bell.ring();
    let answers: Vec<_> = calls.into_iter().map(answer).collect();
    let busy = answers.iter().filter(|answer| matches!(answer, Err(CallError::Busy { .. }))).count();
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(answered + busy, 20, "{answers:?}");
    assert!((1..=5).contains(&answered), "{answered} of 20 calls had room");
}

#[test]
fn stream_with_a_deadline_ends_by_it() {
    let dropped = Tally::default();
    let server = serve(words().streaming(&COUNT, {
        let dropped = dropped.clone();
        move |_: CallContext, _: Word, out: StreamSender<Word>| {
            let dropped = CountsDrop(dropped.clone());
            async move {
                let _dropped = dropped;
                loop {
                    out.send(Word::default()).await?;
                }
            }
        }
    }));
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &word(""), 2, &within(Duration::from_millis(100)));
    let ended = loop {
        if let Err(error) = stream.next_within(SOON) {
            break error;
        }
    };
    assert_eq!(ended, CallError::Deadline);
    until("the service stopped", || dropped.count() == 1);
}

#[test]
fn call_that_reaches_nobody_ends_by_its_deadline() {
    let client = Client::start(ClientConfig::at(vec![nobody()])).expect("a thread can be had");
    let words = client.service("words");
    let began = Instant::now();
    let answer = words.call_with(&ECHO, &word(""), &within(Duration::from_millis(100))).wait();
    assert!(
        matches!(&answer, Err(CallError::Unavailable(why)) if why.reason.contains("words")),
        "{answer:?}"
    );
    assert!(began.elapsed() < SOON);
}

#[test]
fn stream_that_reaches_nobody_ends_by_the_clients_deadline() {
    let deadline = Duration::from_millis(100);
    let config = ClientConfig { deadline, ..ClientConfig::at(vec![nobody()]) };
    let words = Client::start(config).expect("a thread can be had").service("words");
    let mut stream = words.stream(&COUNT, &word(""), 1, &CallOptions::default());
    let ended = stream.next_within(SOON);
    assert!(matches!(ended, Err(CallError::Unavailable(_))), "{ended:?}");
}

#[test]
fn stream_that_waited_for_its_server_lasts() {
    let address = nobody();
    let deadline = Duration::from_millis(2_500);
    let config = ClientConfig { deadline, unreachable_grace: SOON, ..ClientConfig::at(vec![address]) };
    let words = Client::start(config).expect("a thread can be had").service("words");
    let mut stream = words.stream(&COUNT, &word(""), 1, &CallOptions::default());
    let bell = Bell::default();
    let counting = crate::fixture::words().streaming(&COUNT, {
        let bell = bell.clone();
        move |_: CallContext, _: Word, out: StreamSender<Word>| {
            let bell = bell.clone();
            async move {
                out.send(number(1)).await?;
                bell.rung().await;
                out.send(number(2)).await?;
                Ok(())
            }
        }
    });
    let began = Instant::now();
    let listen = vec![stadium_rpc::Listen::tcp(address)];
    let _server = serve_with(ServerConfig { listen, ..server_config() }, counting);
    assert_eq!(stream.next_within(SOON), Ok(Some(number(1))));
    until("the client's deadline is past", || began.elapsed() > deadline + Duration::from_millis(100));
    bell.ring();
    assert_eq!(stream.next_within(SOON), Ok(Some(number(2))));
    assert_eq!(stream.next_within(SOON), Ok(None));
}

#[test]
fn client_without_any_instance_says_so_at_once() {
    let client = Client::start(ClientConfig::at(Vec::new())).expect("a thread can be had");
    let answer = client.service("words").call(&ECHO, &word("")).wait();
    assert!(matches!(answer, Err(CallError::Unavailable(_))), "{answer:?}");
}
