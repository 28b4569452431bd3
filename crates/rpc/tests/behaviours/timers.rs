//! Functions that wait on their loop: by its own timers, and by those of a Tokio runtime that the server is given.

use std::time::{Duration, Instant};

use stadium_rpc::metadata::authentication::{self, Authentication};
use stadium_rpc::{CallContext, CallOptions, ServerConfig, StreamSender, sleep};

use crate::fixture::*;

#[test]
fn function_sleeps_on_its_loop_while_others_are_answered() {
    let server = serve(words().asynchronous(&ECHO, |_: CallContext, request: Word| async move {
        let began = Instant::now();
        sleep(Duration::from_millis(request.number)).await;
        Ok(number(began.elapsed().as_millis() as u64))
    }));
    let words = client_of(&[&server]).service("words");
    let long = words.call(&ECHO, &number(60_000));
    let calls: Vec<_> = (0..200).map(|nth| (nth, words.call(&ECHO, &number(nth)))).collect();
    for (wanted, call) in calls {
        let slept = call.wait().expect("it wakes").number;
        assert!(slept >= wanted, "{slept} ms instead of {wanted}");
    }
    assert!(!long.is_ready());
    drop(long);
    until("a sleep ends with its call", || server.statistics("words").is_some_and(|now| now.inflight == 0));
}

#[test]
fn stream_is_paced_by_a_timer() {
    let server =
        serve(words().streaming(&COUNT, |_: CallContext, _: Word, out: StreamSender<Word>| async move {
            for next in 0..20 {
                sleep(Duration::from_millis(2)).await;
                out.send(number(next)).await?;
            }
            Ok(())
        }));
    let words = client_of(&[&server]).service("words");
    let began = Instant::now();
    let mut stream = words.stream(&COUNT, &word(""), 100, &CallOptions::default());
    for next in 0..20 {
        assert_eq!(stream.next_within(SOON), Ok(Some(number(next))));
    }
    assert_eq!(stream.next_within(SOON), Ok(None));
    assert!(began.elapsed() >= Duration::from_millis(40));
}

#[test]
fn functions_use_the_runtime_that_the_server_is_given() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a thread can be had");
    let config = ServerConfig { runtime: Some(runtime.handle().clone()), ..server_config() };
    let service = words()
        .asynchronous(&ECHO, |_: CallContext, request: Word| async move {
            let here = std::thread::current().id();
            // A timer, a socket and a task of Tokio's.
            tokio::time::sleep(Duration::from_millis(1)).await;
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there are free ports");
            let address = listener.local_addr().expect("it is bound");
            let dialled = tokio::spawn(async move { tokio::net::TcpStream::connect(address).await.is_ok() });
            let accepted = listener.accept().await.is_ok();
            let dialled = dialled.await.expect("it does not panic");
            assert_eq!(std::thread::current().id(), here, "it stays on its loop");
            Ok(number(request.number + u64::from(accepted) + u64::from(dialled)))
        })
        .blocking(&TELL_AND_ANSWER, |_: CallContext, _: Word| {
            tokio::runtime::Handle::current().block_on(tokio::time::sleep(Duration::from_millis(1)));
            Ok(word("slept"))
        });
    let server = serve_with(config, service);
    let words = client_of(&[&server]).service("words");
    for round in 0..20 {
        assert_eq!(words.call(&ECHO, &number(round)).wait(), Ok(number(round + 2)));
    }
    assert_eq!(words.call(&TELL_AND_ANSWER, &word("")).wait(), Ok(word("slept")));
    drop(server);
    drop(runtime);
}

const TELL_AND_ANSWER: stadium_rpc::Method<Word, Word> = stadium_rpc::Method::unary("words/Tell");

#[test]
fn functions_that_outlive_the_turn_see_who_calls() {
    let server = serve(words().asynchronous(&ECHO, |call: CallContext, _: Word| async move {
        match call.authentication() {
            Some(Authentication::Bearer(token)) => Ok(word(token)),
            Some(Authentication::Simple { username, .. }) => Ok(word(username)),
            _ => Err(no()),
        }
    }));
    let words = client_of(&[&server]).service("words");
    let ask = |authentication| {
        let mut metadata = Vec::new();
        if let Some(authentication) = authentication {
            authentication::write(&mut metadata, authentication);
        }
        let options = CallOptions { metadata: &metadata, ..CallOptions::default() };
        words.call_with(&ECHO, &word(""), &options).wait()
    };
    assert_eq!(ask(Some(Authentication::Bearer("secret"))), Ok(word("secret")));
    let simple = Authentication::Simple { username: "ann", password: "p" };
    assert_eq!(ask(Some(simple)), Ok(word("ann")));
    assert_eq!(rejection(ask(None)).0, "WORDS-001");
}
