//! Deadlines travel with requests; what has expired is dropped, told and counted.

use std::time::{Duration, Instant};

use prost::Message;
use stadium_rpc::{
    Call, CallContext, CallError, CallOptions, Client, ClientConfig, Method, ServerConfig, StreamSender,
};
use stadium_rsocket::frame::{ErrorCode, Interaction};
use stadium_rsocket::metadata::{self, Mime};

use crate::plain::{Got, Plain};
use crate::scenery::*;

fn within(deadline: Duration) -> CallOptions<'static> {
    CallOptions { deadline: Some(deadline), ..CallOptions::default() }
}

#[test]
fn function_sees_the_time_that_is_left() {
    let server = serve(words().inline(&ECHO, |call: &Call<'_>, _: &Word, answer: &mut Word| {
        answer.number = call.time_left().as_millis() as u64;
        Ok(())
    }));
    let words = client_of(&[&server]).service("words");
    let left = words.call_with(&ECHO, &word(""), &within(Duration::from_secs(3))).wait().expect("it answers");
    assert!((1..=3_000).contains(&left.number), "{} ms of 3,000 are left", left.number);
}

#[test]
fn request_without_a_deadline_gets_the_servers() {
    let echo = words().inline(&ECHO, |call: &Call<'_>, _: &Word, answer: &mut Word| {
        answer.number = call.time_left().as_millis() as u64;
        Ok(())
    });
    let server = serve_with(ServerConfig { deadline: Duration::from_millis(1_234), ..server_config() }, echo);
    let mut plain = Plain::dial(&server);
    plain.ask("words/Echo", 0, &word(""));
    let Got::Message { data, .. } = plain.next() else { panic!("it answers") };
    assert_eq!(Word::decode(&*data).expect("it is a word").number, 1_234);
}

#[test]
fn longer_deadlines_are_cut_to_the_servers_longest() {
    let echo = words().inline(&ECHO, |call: &Call<'_>, _: &Word, answer: &mut Word| {
        answer.number = call.time_left().as_millis() as u64;
        Ok(())
    });
    let server = serve_with(ServerConfig { deadline_max: Duration::from_secs(7), ..server_config() }, echo);
    let words = client_of(&[&server]).service("words");
    let options = within(Duration::from_secs(5_000));
    assert_eq!(words.call_with(&ECHO, &word(""), &options).wait().expect("it answers").number, 7_000);
}

#[test]
fn future_is_dropped_and_counted_when_its_deadline_passes() {
    let (bell, dropped) = (Bell::default(), Tally::default());
    let server = serve(words().asynchronous(&ECHO, {
        let (bell, dropped) = (bell.clone(), dropped.clone());
        move |_: CallContext, _: Word| {
            let (bell, dropped) = (bell.clone(), CountsDrop(dropped.clone()));
            async move {
                let _dropped = dropped;
                bell.rung().await;
                Ok(Word::default())
            }
        }
    }));
    let words = client_of(&[&server]).service("words");
    let call = words.call_with(&ECHO, &word(""), &within(Duration::from_millis(50)));
    assert_eq!(call.wait(), Err(CallError::Deadline));
    until("the future is dropped", || dropped.count() == 1);
    until("it is counted", || {
        let counts = counted(&server, "words/Echo");
        counts.expired + counts.cancelled == 1
    });
}

#[test]
fn server_tells_a_plain_client_that_the_deadline_has_passed() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("", &bell, &begun));
    let mut plain = Plain::dial(&server);
    let mut metadata = Vec::new();
    metadata::write_route(&mut metadata, "words/Echo");
    let mime = Mime::Named(b"message/x.stadium.deadline.v1");
    metadata::write_entry(&mut metadata, mime, &50_u32.to_be_bytes());
    plain.ask_with(Interaction::RequestResponse, 1, Some(&metadata), &[]);
    let Got::Failed { code, text, .. } = plain.next() else { panic!("it fails") };
    assert_eq!((code, &text[..14]), (ErrorCode::CANCELED, "RPC-DEADLINE: "));
    until("it is counted", || counted(&server, "words/Echo").expired == 1);
}

#[test]
fn request_whose_time_is_over_when_it_comes_is_not_begun() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("", &bell, &begun));
    let mut plain = Plain::dial(&server);
    let mut metadata = Vec::new();
    metadata::write_route(&mut metadata, "words/Echo");
    let mime = Mime::Named(b"message/x.stadium.deadline.v1");
    metadata::write_entry(&mut metadata, mime, &0_u32.to_be_bytes());
    plain.ask_with(Interaction::RequestResponse, 1, Some(&metadata), &[]);
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
    bell.ring();
    assert!(holding.wait().is_ok());
    let next = words.call(&ECHO, &word(""));
    assert!(next.wait().is_ok());
    assert_eq!(begun.count(), 1, "only the call that somebody waits for was begun");
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
    assert!(matches!(&answer, Err(CallError::Unavailable(why)) if why.contains("words")), "{answer:?}");
    assert!(began.elapsed() < SOON);
}

#[test]
fn client_without_any_instance_says_so_at_once() {
    let client = Client::start(ClientConfig::at(Vec::new())).expect("a thread can be had");
    let answer = client.service("words").call(&ECHO, &word("")).wait();
    assert!(matches!(answer, Err(CallError::Unavailable(_))), "{answer:?}");
}
