//! The kinds of functions: inline, asynchronous, blocking; their answers, refusals and panics.
//!
//! What surrounds them too: interceptors, cancellation from near and far, and services that contradict themselves.

use std::sync::Arc;
use std::time::Duration;

use stadium_rpc::{
    Call, CallContext, CallError, CallOptions, Finished, Idempotency, Interceptor, Method, Outcome, Refusal,
    Server, ServerConfig, Service, StartError, StreamReceiver, StreamSender,
};
use stadium_rsocket::metadata::Mime;
use stadium_rsocket::metadata::authentication::{self, Authentication};

use crate::fixture::*;

/// Nothing of what callers of these functions hear may be a rejection, which promises that nothing happened.
#[test]
fn function_that_fails_half_way_says_that_it_may_have_happened() {
    let done = Tally::default();
    let server = serve(words().blocking(&ECHO, {
        let done = done.clone();
        move |_: CallContext, request: Word| {
            done.add();
            match request.number {
                0 => panic!("as the test wants"),
                1 => Err(Refusal::unknown("WORDS-002", "the disk has gone")),
                // What became of a call of another service.
                2 => Err(CallError::Deadline.into()),
                3 => Err(CallError::Broken("reset".to_owned()).into()),
                _ => Err(CallError::Unknown { code: "A-1".to_owned(), reason: "it".to_owned() }.into()),
            }
        }
    }));
    let words = words_tried_once(&server);
    for (request, code) in [(0, "RPC-007"), (1, "WORDS-002"), (2, "RPC-009"), (3, "RPC-009"), (4, "RPC-009")]
    {
        assert_eq!(unknown(words.call(&ECHO, &number(request)).wait()).0, code);
    }
    assert_eq!(done.count(), 5, "none is made again");
    assert_eq!(counted(&server, "words/Echo").failed, 5);
    assert_eq!(counted(&server, "words/Echo").rejected, 0);
}

#[test]
fn inline_function_answers() {
    let server = serve(echo());
    let words = client_of(&[&server]).service("words");
    for round in 0..100 {
        assert_eq!(words.call(&ECHO, &number(round)).wait(), Ok(number(round)));
    }
    assert_eq!(counted(&server, "words/Echo").ok, 100);
}

#[test]
fn answers_do_not_mix_when_many_calls_are_under_way() {
    let server = serve(echo());
    let words = client_of(&[&server]).service("words");
    let calls: Vec<_> = (0..2_000).map(|round| words.call(&ECHO, &number(round))).collect();
    for (round, call) in (0..).zip(calls) {
        assert_eq!(call.wait(), Ok(number(round)));
    }
}

#[test]
fn inline_answer_starts_empty_each_time() {
    let server = serve(words().inline(&ECHO, |_: &Call<'_>, request: &Word, answer: &mut Word| {
        answer.text.push_str(&request.text);
        answer.number += 1;
        Ok(())
    }));
    let words = client_of(&[&server]).service("words");
    for text in ["a", "bc", ""] {
        assert_eq!(words.call(&ECHO, &word(text)).wait(), Ok(Word { number: 1, ..word(text) }));
    }
}

#[test]
fn asynchronous_function_answers_when_another_thread_wakes_it() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("late", &bell, &begun));
    let words = client_of(&[&server]).service("words");
    let calls: Vec<_> = (0..10).map(|_| words.call(&ECHO, &word(""))).collect();
    until("all have begun", || begun.count() == 10);
    assert!(!calls.iter().any(stadium_rpc::Pending::is_ready));
    let ringer = std::thread::spawn(move || bell.ring());
    for call in calls {
        assert_eq!(answer(call), Ok(word("late")));
    }
    ringer.join().expect("it rings");
}

#[test]
fn future_that_wakes_itself_is_polled_again() {
    let server = serve(words().asynchronous(&ECHO, |_: CallContext, request: Word| async move {
        let mut left = request.number;
        std::future::poll_fn(move |context| {
            if left == 0 {
                return std::task::Poll::Ready(());
            }
            left -= 1;
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
        Ok(word("done"))
    }));
    let words = client_of(&[&server]).service("words");
    assert_eq!(words.call(&ECHO, &number(1_000)).wait(), Ok(word("done")));
}

#[test]
fn blocking_functions_run_beside_each_other_and_the_loop() {
    let meeting = Arc::new(std::sync::Barrier::new(3));
    let service = echo().blocking(&Method::<Word, Word>::unary("words/Meet"), {
        let meeting = Arc::clone(&meeting);
        move |context: CallContext, request: Word| {
            meeting.wait();
            assert_eq!(context.route(), "words/Meet");
            Ok(request)
        }
    });
    let server = serve_with(ServerConfig { blocking_threads: 2, ..server_config() }, service);
    let words = client_of(&[&server]).service("words");
    let meet = Method::<Word, Word>::unary("words/Meet");
    let (one, two) = (words.call(&meet, &number(1)), words.call(&meet, &number(2)));
    assert_eq!(words.call(&ECHO, &number(3)).wait(), Ok(number(3)), "the loop is free meanwhile");
    meeting.wait();
    assert_eq!((one.wait(), two.wait()), (Ok(number(1)), Ok(number(2))));
}

#[test]
fn one_way_request_reaches_its_function() {
    let noted = Notes::default();
    let service = echo().inline(&TELL, {
        let noted = noted.clone();
        move |_: &Call<'_>, request: &Word, _: &mut Word| {
            noted.add(&request.text);
            Ok(())
        }
    });
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    words.one_way(&TELL, &word("a"), &CallOptions::default());
    words.one_way(&TELL, &word("b"), &CallOptions::default());
    until("both are noted", || noted.all() == ["a", "b"]);
    until("they are counted", || counted(&server, "words/Tell").ok == 2);
}

#[test]
fn one_way_request_may_go_to_asynchronous_and_blocking_functions() {
    let noted = Notes::default();
    let (first, second) = (noted.clone(), noted.clone());
    const LATER: Method<Word, Word> = Method::one_way("words/Later");
    let service = words()
        .asynchronous(&TELL, move |_: CallContext, request: Word| {
            first.add(request.text);
            async { Ok(Word::default()) }
        })
        .blocking(&LATER, move |_: CallContext, request: Word| {
            second.add(request.text);
            Ok(Word::default())
        });
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    words.one_way(&TELL, &word("future"), &CallOptions::default());
    until("the future ran", || noted.all() == ["future"]);
    words.one_way(&LATER, &word("thread"), &CallOptions::default());
    until("the thread ran", || noted.all() == ["future", "thread"]);
    until("nothing is left", || server.statistics("words").is_some_and(|now| now.inflight == 0));
}

#[test]
fn one_way_request_is_finished_although_its_caller_has_gone() {
    let (bell, begun, done) = (Bell::default(), Tally::default(), Tally::default());
    let server = serve(words().asynchronous(&TELL, {
        let (bell, begun, done) = (bell.clone(), begun.clone(), done.clone());
        move |_: CallContext, _: Word| {
            let (bell, begun, done) = (bell.clone(), begun.clone(), done.clone());
            async move {
                begun.add();
                bell.rung().await;
                done.add();
                Ok(Word::default())
            }
        }
    }));
    let client = client_of(&[&server]);
    client.service("words").one_way(&TELL, &word(""), &CallOptions::default());
    until("it has begun", || begun.count() == 1);
    drop(client);
    until("its caller has gone", || connections(&server) == 0);
    assert_eq!(server.quiesce(Duration::from_millis(50)).wait(), 1, "there is something to finish");
    assert_eq!(done.count(), 0);
    bell.ring();
    until("it is finished", || done.count() == 1);
    until("it is counted", || counted(&server, "words/Tell").ok == 1);
    assert_eq!(server.quiesce(SOON).wait(), 0);
}

#[test]
fn refusals_reach_the_caller_with_their_words() {
    let service = words().inline(&ECHO, |_: &Call<'_>, request: &Word, _: &mut Word| match &*request.text {
        "full" => Err(Refusal::busy(Duration::from_millis(120), "the shelf is full")),
        text => Err(Refusal::rejected("WORDS-007", format!("`{text}` is: not a word"))),
    });
    let server = serve(service);
    let mut config = client_config(&[&server]);
    config.retry.attempts_max = 1;
    let words = stadium_rpc::Client::start(config).expect("a thread can be had").service("words");
    assert_eq!(
        words.call(&ECHO, &word("full")).wait(),
        Err(CallError::Busy { retry_after: Duration::from_millis(120), reason: "the shelf is full".into() })
    );
    let (code, reason) = rejection(words.call(&ECHO, &word("xyz")).wait());
    assert_eq!((&*code, &*reason), ("WORDS-007", "`xyz` is: not a word"));
    let counts = counted(&server, "words/Echo");
    assert_eq!((counts.busy, counts.rejected, counts.ok), (1, 1, 0));
}

#[test]
fn unknown_routes_and_wrong_interactions_are_rejected() {
    let server = serve(echo());
    let words = client_of(&[&server]).service("words");
    let unknown = Method::<Word, Word>::unary("words/Nothing");
    assert_eq!(rejection(words.call(&unknown, &word("")).wait()).0, "RPC-002");
    let mut stream = words.stream(&Method::<Word, Word>::stream("words/Echo"), &word(""), 5, &none());
    let (code, reason) = rejection(stream.next_within(SOON));
    let text = "`words/Echo` is a request with one answer (REQUEST_RESPONSE), and is not called so";
    assert_eq!((&*code, &*reason), ("RPC-003", text));
    let (_sender, mut answers) =
        words.channel(&Method::<Word, Word>::channel("words/Echo"), &word(""), 5, &none());
    assert_eq!(rejection(answers.next_within(SOON)).0, "RPC-003");
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")));
}

#[test]
fn malformed_requests_are_rejected_by_every_kind_of_function() {
    const ASYNC: Method<Word, Word> = Method::unary("words/Async");
    const BLOCKING: Method<Word, Word> = Method::unary("words/Blocking");
    let service = echo()
        .asynchronous(&ASYNC, |_: CallContext, request: Word| async move { Ok(request) })
        .blocking(&BLOCKING, |_: CallContext, request: Word| Ok(request))
        .streaming(&COUNT, |_: CallContext, _: Word, _: StreamSender<Word>| async move { Ok(()) });
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    let garbage = vec![0xFF; 7];
    for route in ["words/Echo", "words/Async", "words/Blocking"] {
        let call = words.call_bytes(route, Idempotency::Unknown, garbage.clone(), &none());
        assert_eq!(rejection(call.wait()).0, "RPC-004", "{route}");
        assert_eq!(counted(&server, route).rejected, 1, "{route}");
    }
    let mut stream = words.stream_bytes("words/Count", garbage, 5, &none());
    assert_eq!(rejection(stream.next_within(SOON)).0, "RPC-004");
}

#[test]
fn panic_in_a_function_ends_its_call_alone() {
    const ASYNC: Method<Word, Word> = Method::unary("words/Async");
    const EAGER: Method<Word, Word> = Method::unary("words/Eager");
    const BLOCKING: Method<Word, Word> = Method::unary("words/Blocking");
    const TICKS: Method<Word, Word> = Method::stream("words/Ticks");
    const TICKING: Method<Word, Word> = Method::stream("words/Ticking");
    struct Panics;
    impl stadium_rpc::Ticks<Word> for Panics {
        fn tick(&mut self, _: &mut Word) -> stadium_rpc::Next {
            panic!("as the test wants");
        }
    }
    let service = echo()
        .inline(&Method::<Word, Word>::unary("words/Inline"), |_: &Call<'_>, _: &Word, _: &mut Word| {
            panic!("as the test wants")
        })
        .asynchronous(&ASYNC, |_: CallContext, request: Word| async move {
            assert!(request.text.is_empty(), "as the test wants");
            Ok(request)
        })
        .asynchronous(&EAGER, |_: CallContext, request: Word| {
            assert!(request.text.is_empty(), "as the test wants, before the future is there");
            async move { Ok(request) }
        })
        .blocking(&BLOCKING, |_: CallContext, request: Word| {
            assert!(request.text.is_empty(), "as the test wants");
            Ok(request)
        })
        .streaming(&COUNT, |_: CallContext, _: Word, out: StreamSender<Word>| async move {
            out.send(number(1)).await?;
            panic!("as the test wants");
        })
        .channel(&TALK, |_: CallContext, _: StreamReceiver<Word>, _: StreamSender<Word>| async move {
            panic!("as the test wants");
        })
        .ticking(&TICKS, |_: &Call<'_>, _: &Word| -> Result<(Duration, Panics), Refusal> {
            panic!("as the test wants")
        })
        .ticking(&TICKING, |_: &Call<'_>, _: &Word| Ok((Duration::ZERO, Panics)));
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    for route in ["words/Inline", "words/Async", "words/Eager", "words/Blocking"] {
        let request = prost::Message::encode_to_vec(&word("x"));
        let call = words.call_bytes(route, Idempotency::Unknown, request, &none());
        assert_eq!(unknown(call.wait()).0, "RPC-007", "{route}");
        assert_eq!(counted(&server, route).failed, 1, "{route}");
    }
    let mut stream = words.stream(&COUNT, &word(""), 5, &none());
    assert_eq!(stream.next_within(SOON), Ok(Some(number(1))));
    assert_eq!(unknown(stream.next_within(SOON)).0, "RPC-007");
    for method in [&TICKS, &TICKING] {
        let mut stream = words.stream(method, &word(""), 5, &none());
        assert_eq!(unknown(stream.next_within(SOON)).0, "RPC-007", "{}", method.route());
    }
    let (_sender, mut answers) = words.channel(&TALK, &word(""), 5, &none());
    assert_eq!(unknown(answers.next_within(SOON)).0, "RPC-007");
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")), "others are served on");
}

struct Guard(Notes);

impl Interceptor for Guard {
    fn before(&self, call: &Call<'_>) -> Result<(), Refusal> {
        match call.authentication() {
            Some(Authentication::Bearer("open sesame")) => Ok(()),
            _ => Err(Refusal::rejected("WORDS-401", "who are you?")),
        }
    }

    fn after(&self, finished: &Finished<'_>) {
        self.0.add(format!("{} {:?}", finished.route, finished.outcome));
    }
}

#[test]
fn interceptor_lets_in_those_who_authenticate() {
    let notes = Notes::default();
    let server = serve(echo().interceptor(Guard(notes.clone())));
    let words = client_of(&[&server]).service("words");
    assert_eq!(rejection(words.call(&ECHO, &word("a")).wait()).0, "WORDS-401");
    let mut content = Vec::new();
    authentication::write(&mut content, Authentication::Bearer("open sesame"));
    let options = CallOptions { metadata: &content, ..none() };
    assert_eq!(words.call_with(&ECHO, &word("a"), &options).wait(), Ok(word("a")));
    let health =
        Method::<stadium_rpc::proto::HealthRequest, stadium_rpc::proto::Health>::unary("words/health");
    assert_eq!(
        rejection(words.call(&health, &stadium_rpc::proto::HealthRequest {}).wait()).0,
        "WORDS-401",
        "traits are guarded too"
    );
    assert_eq!(
        notes.all(),
        ["words/Echo Rejected", "words/Echo Ok", "words/health Rejected"],
        "the end of each call is reported"
    );
}

struct Named(&'static str, Notes);

impl Interceptor for Named {
    fn before(&self, call: &Call<'_>) -> Result<(), Refusal> {
        self.1.add(format!("{} before {}", self.0, call.route()));
        if call.entry(b"message/x.words.stop") == Some(self.0.as_bytes()) { Err(no()) } else { Ok(()) }
    }

    fn after(&self, finished: &Finished<'_>) {
        assert!(finished.outcome == Outcome::Ok || finished.outcome == Outcome::Rejected);
        self.1.add(format!("{} after", self.0));
    }
}

#[test]
fn first_interceptor_is_the_outermost() {
    let notes = Notes::default();
    let service = echo().interceptor(Named("one", notes.clone())).interceptor(Named("two", notes.clone()));
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    assert!(words.call(&ECHO, &word("a")).wait().is_ok());
    assert_eq!(notes.all(), ["one before words/Echo", "two before words/Echo", "two after", "one after"]);
    let mut stop = Vec::new();
    stadium_rsocket::metadata::write_entry(&mut stop, Mime::Named(b"message/x.words.stop"), b"one");
    let refused = words.call_with(&ECHO, &word("a"), &CallOptions { metadata: &stop, ..none() }).wait();
    assert_eq!(rejection(refused).0, "WORDS-001");
    assert_eq!(notes.all()[4], "one before words/Echo");
    assert!(!notes.all()[4..].contains(&"two before words/Echo".to_owned()), "the first refusal decides");
}

#[test]
fn dropped_call_reaches_the_function_as_a_cancellation() {
    let (begun, dropped) = (Tally::default(), Tally::default());
    let server = serve(never_answering(&begun, &dropped));
    let words = client_of(&[&server]).service("words");
    let call = call_begun(&words, &begun);
    drop(call);
    until("its future is dropped", || dropped.count() == 1);
    until("it is counted", || counted(&server, "words/Echo").cancelled == 1);
}

#[test]
fn calls_that_are_dropped_at_once_do_not_stay() {
    let (begun, bell) = (Tally::default(), Bell::default());
    let server = serve(named_waiting("", &bell, &begun));
    let words = client_of(&[&server]).service("words");
    for _ in 0..200 {
        drop(words.call(&ECHO, &word("")));
    }
    let last = words.call(&ECHO, &word(""));
    until("the last has begun", || begun.count() >= 1 && !last.is_ready());
    until("only the last is under way", || {
        let now = server.statistics("words").expect("it serves words");
        now.inflight == 1 && now.methods[0].cancelled + 1 == begun.count()
    });
    bell.ring();
    assert!(answer(last).is_ok());
}

#[test]
fn blocking_function_sees_that_nobody_waits() {
    let (begun, ended) = (Tally::default(), Tally::default());
    let service = words().blocking(&ECHO, {
        let (begun, ended) = (begun.clone(), ended.clone());
        move |context: CallContext, _: Word| {
            begun.add();
            until("the call is cancelled", || context.is_cancelled());
            ended.add();
            Ok(Word::default())
        }
    });
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    let call = call_begun(&words, &begun);
    drop(call);
    until("it has seen it", || ended.count() == 1);
}

#[test]
fn caller_that_goes_away_cancels_what_it_asked_for() {
    let (begun, dropped) = (Tally::default(), Tally::default());
    let server = serve(never_answering(&begun, &dropped));
    let client = client_of(&[&server]);
    let call = call_begun(&client.service("words"), &begun);
    drop(client);
    let ended = answer(call);
    assert!(matches!(ended, Err(CallError::Cancelled | CallError::Broken(_))), "{ended:?}");
    until("the future is dropped", || dropped.count() == 1);
}

#[test]
fn callback_gets_the_answer_on_the_clients_thread() {
    let server = serve(echo());
    let words = client_of(&[&server]).service("words");
    let (answered, answers) = std::sync::mpsc::channel();
    let request = prost::Message::encode_to_vec(&word("back"));
    words.call_bytes_then("words/Echo", Idempotency::Unknown, request.clone(), &none(), move |answer| {
        drop(answered.send(answer.map(<[u8]>::to_vec)));
    });
    assert_eq!(answers.recv_timeout(SOON), Ok(Ok(request)));
}

#[test]
fn contradicting_services_do_not_start() {
    let refused = |services: Vec<Service>| match Server::start(server_config(), services) {
        Err(StartError::Settings(what)) => what,
        other => panic!("it started or failed otherwise: {other:?}"),
    };
    let twice = echo().inline(&ECHO, |_: &Call<'_>, _: &Word, _: &mut Word| Ok(()));
    assert!(refused(vec![twice]).contains("words/Echo"));
    assert!(refused(vec![echo(), echo()]).contains("words/"));
    let strange = Service::new("other", "1").inline(&ECHO, |_: &Call<'_>, _: &Word, _: &mut Word| Ok(()));
    assert!(refused(vec![strange]).contains("other"));
    let misfit = words().inline(&COUNT, |_: &Call<'_>, _: &Word, _: &mut Word| Ok(()));
    assert!(refused(vec![misfit]).contains("words/Count"), "a stream is not answered by one message");
}

fn none() -> CallOptions<'static> {
    CallOptions::default()
}
