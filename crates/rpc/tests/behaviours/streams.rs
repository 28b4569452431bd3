//! Streams and channels: credit both ways, cancellation, completion, slow readers, messages that are due.
//!
//! A receiver's credit and its socket are two bounds; both are put to the test by services without an end.

use std::time::Duration;

use stadium_rpc::{
    Call, CallContext, CallError, CallOptions, Client, ClientConfig, Next, Refusal, Server, StreamReceiver,
    StreamSender, Ticks,
};
use stadium_rsocket::frame::REQUEST_N_MAX;

use crate::fixture::*;
use crate::plain::{Got, Plain};

/// Counts upward, up to `number` of the request or for ever, and reports how far it got and when it
/// was dropped.
fn counting(sent: &Tally, dropped: &Tally) -> Server {
    let (sent, dropped) = (sent.clone(), dropped.clone());
    serve(echo().streaming(&COUNT, move |_: CallContext, upto: Word, out: StreamSender<Word>| {
        let (sent, dropped) = (sent.clone(), CountsDrop(dropped.clone()));
        async move {
            let _dropped = dropped;
            let last = if upto.number == 0 { u64::MAX } else { upto.number };
            for next in 1..=last {
                out.send(Word { bytes: upto.bytes.clone(), ..number(next) }).await?;
                sent.add();
            }
            Ok(())
        }
    }))
}

#[test]
fn stream_comes_whole_and_in_order() {
    let server = counting(&Tally::default(), &Tally::default());
    let words = client_of(&[&server]).service("words");
    for credit in [1, 2, 7, 256, 10_000] {
        let mut stream = words.stream(&COUNT, &number(1_000), credit, &none());
        for next in 1..=1_000 {
            assert_eq!(stream.next_within(SOON), Ok(Some(number(next))), "credit {credit}");
        }
        assert_eq!(stream.next_within(SOON), Ok(None), "credit {credit}");
    }
    until("all are counted", || counted(&server, "words/Count").ok == 5);
}

#[test]
fn stream_can_be_awaited() {
    let server = counting(&Tally::default(), &Tally::default());
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &number(100), 8, &none());
    let sum = block_on(async {
        let mut sum = 0;
        while let Some(next) = stream.next().await? {
            sum += next.number;
        }
        Ok::<_, CallError>(sum)
    });
    assert_eq!(sum, Ok(5_050));
}

#[test]
fn service_does_not_run_ahead_of_credit() {
    let sent = Tally::default();
    let server = counting(&sent, &Tally::default());
    let words = client_of(&[&server]).service("words");
    for credit in [1, 4] {
        let before = sent.count();
        let mut stream = words.stream(&COUNT, &number(0), credit, &none());
        for taken in 1..=100 {
            assert_eq!(stream.next_within(SOON), Ok(Some(number(taken))));
            let ahead = sent.count() - before - taken;
            assert!(ahead <= u64::from(credit), "{ahead} messages ahead of a credit of {credit}");
        }
        drop(stream);
        until("it is cancelled", || server.statistics("words").is_some_and(|now| now.inflight == 0));
    }
}

/// The service gets what the caller asks for and no more, also where it asks before the stream is sent.
#[test]
fn stream_without_replenishment_has_the_credit_that_is_asked_for() {
    let sent = Tally::default();
    let server = counting(&sent, &Tally::default());
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &number(0), 2, &none()).without_replenishment();
    stream.request_n(3);
    for (asked, first, last) in [(0, 1, 5), (4, 6, 9)] {
        if asked > 0 {
            stream.request_n(asked);
        }
        for expected in first..=last {
            assert_eq!(stream.next_within(SOON), Ok(Some(number(expected))));
        }
        // A message that was sent without credit would come before this answer.
        assert_eq!(words.call(&ECHO, &word("after")).wait(), Ok(word("after")));
        assert_eq!(sent.count(), last);
    }
}

#[test]
fn dropped_stream_stops_the_service() {
    let dropped = Tally::default();
    let server = counting(&Tally::default(), &dropped);
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &number(0), 4, &none());
    assert!(stream.next_within(SOON).is_ok());
    drop(stream);
    until("its future is dropped", || dropped.count() == 1);
    until("it is counted", || counted(&server, "words/Count").cancelled == 1);
    for _ in 0..100 {
        drop(words.stream(&COUNT, &number(0), 4, &none()));
    }
    assert!(words.call(&ECHO, &word("")).wait().is_ok(), "what was sent before has arrived");
    until("none of them stays", || server.statistics("words").is_some_and(|now| now.inflight == 0));
}

#[test]
fn refusal_ends_a_stream_behind_its_messages() {
    let server =
        serve(words().streaming(&COUNT, |_: CallContext, _: Word, out: StreamSender<Word>| async move {
            out.send(number(1)).await?;
            Err(no())
        }));
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &word(""), 10, &none());
    assert_eq!(stream.next_within(SOON), Ok(Some(number(1))));
    assert_eq!(rejection(stream.next_within(SOON)).0, "WORDS-001");
}

#[test]
fn stream_is_not_begun_again_once_it_has_messages() {
    const COUNT_TWICE: stadium_rpc::Method<Word, Word> =
        stadium_rpc::Method::stream("words/Count").idempotent();
    let (one, two) =
        (counting(&Tally::default(), &Tally::default()), counting(&Tally::default(), &Tally::default()));
    let words = connected_client(&[&one, &two], client_config(&[&one, &two])).service("words");
    let mut stream = words.stream(&COUNT_TWICE, &number(0), 2, &none());
    assert_eq!(stream.next_within(SOON), Ok(Some(number(1))));
    let serving = |server: &Server| server.statistics("words").is_some_and(|now| now.inflight == 1);
    until("the loop has reported", || serving(&one) || serving(&two));
    let (broken, _left) = if serving(&one) { (one, two) } else { (two, one) };
    broken.stop();
    let mut expected = 2;
    loop {
        match stream.next_within(SOON) {
            Ok(Some(next)) => assert_eq!(next.number, expected, "messages are not repeated"),
            Err(CallError::Broken(_)) => return,
            other => panic!("a stream that broke ends so: {other:?}"),
        }
        expected += 1;
    }
}

#[test]
fn slow_reader_holds_up_its_own_stream_only() {
    let sent = Tally::default();
    let server = counting(&sent, &Tally::default());
    let mut slow = Plain::dial(&server);
    let request = Word { bytes: vec![7; 10_000], ..number(0) };
    let stream = slow.ask("words/Count", REQUEST_N_MAX, &request);
    let mut before = 0;
    until("the service stands", || {
        let now = sent.count();
        let stands = now > 0 && now == before;
        before = now;
        if !stands {
            std::thread::park_timeout(Duration::from_millis(20));
        }
        stands
    });
    assert!(before < 4_000, "{before} messages of 10 KB wait for a reader that does not read");
    let words = client_of(&[&server]).service("words");
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")), "others are served");
    for next in 1..before + 2_000 {
        let Got::Message { stream: of, data, .. } = slow.next() else { panic!("the stream goes on") };
        assert_eq!(of, stream);
        let message: Word = prost::Message::decode(&*data).expect("it is a word");
        assert_eq!(message.number, next);
    }
}

#[test]
fn streams_of_one_connection_share_it_however_much_they_have_to_say() {
    let server = counting(&Tally::default(), &Tally::default());
    let words = client_of(&[&server]).service("words");
    let request = Word { bytes: vec![7; 5_000], ..number(1_500) };
    let mut streams: Vec<_> = (0..8).map(|_| words.stream(&COUNT, &request, 100_000, &none())).collect();
    assert_eq!(words.call(&ECHO, &word("between")).wait(), Ok(word("between")));
    for stream in &mut streams {
        for expected in 1..=1_500 {
            let message = stream.next_within(SOON).expect("it goes on").expect("it has not ended");
            assert_eq!(message.number, expected);
        }
        assert_eq!(stream.next_within(SOON), Ok(None));
    }
}

#[test]
fn message_that_is_too_large_ends_its_stream() {
    let mut config = server_config();
    config.payload_bytes_max = 100_000;
    let server = serve_with(
        config,
        words().streaming(&COUNT, |_: CallContext, _: Word, out: StreamSender<Word>| async move {
            out.send(number(1)).await?;
            out.send(Word { bytes: vec![1; 200_000], ..number(2) }).await?;
            out.send(number(3)).await?;
            Ok(())
        }),
    );
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &word(""), 10, &none());
    assert_eq!(stream.next_within(SOON), Ok(Some(number(1))));
    assert_eq!(unknown(stream.next_within(SOON)).0, "RPC-006");
}

#[test]
fn channel_carries_messages_both_ways() {
    let server = serve(words().channel(
        &TALK,
        |_: CallContext, requests: StreamReceiver<Word>, out: StreamSender<Word>| async move {
            let mut sum = 0;
            while let Some(request) = requests.next().await.map_err(|_| no())? {
                sum += request.number;
                out.send(number(sum)).await?;
            }
            out.send(word("the end")).await?;
            Ok(())
        },
    ));
    let words = client_of(&[&server]).service("words");
    for credit in [1, 16] {
        let (sender, mut answers) = words.channel(&TALK, &number(1), credit, &none());
        assert_eq!(answers.next_within(SOON), Ok(Some(number(1))));
        for round in 2..=300 {
            sender.send(&number(1)).expect("there is room");
            assert_eq!(answers.next_within(SOON), Ok(Some(number(round))));
        }
        for _ in 0..200 {
            sender.send(&number(1)).expect("there is room");
        }
        drop(sender);
        for round in 301..=500 {
            assert_eq!(answers.next_within(SOON), Ok(Some(number(round))), "credit {credit}");
        }
        assert_eq!(answers.next_within(SOON), Ok(Some(word("the end"))));
        assert_eq!(answers.next_within(SOON), Ok(None));
    }
}

#[test]
fn channel_whose_service_does_not_take_is_bounded() {
    let bell = Bell::default();
    let server = serve(words().channel(&TALK, {
        let bell = bell.clone();
        move |_: CallContext, requests: StreamReceiver<Word>, out: StreamSender<Word>| {
            let bell = bell.clone();
            async move {
                bell.rung().await;
                let mut sum = 0;
                while let Some(request) = requests.next().await.map_err(|_| no())? {
                    sum += request.number;
                }
                out.send(number(sum)).await?;
                Ok(())
            }
        }
    }));
    let words = client_of(&[&server]).service("words");
    let (sender, mut answers) = words.channel(&TALK, &number(1), 4, &none());
    let mut taken = 1;
    let refused = loop {
        match sender.send(&number(1)) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 100_000, "messages that nobody takes pile up");
    };
    assert!(matches!(refused, CallError::Busy { .. }), "{refused:?}");
    bell.ring();
    drop(sender);
    assert_eq!(answers.next_within(SOON), Ok(Some(number(taken))), "what was taken arrives");
    assert_eq!(answers.next_within(SOON), Ok(None));
}

#[test]
fn message_that_is_too_large_ends_its_channel() {
    let ended = Tally::default();
    let server = serve(echo().channel(&TALK, {
        let ended = ended.clone();
        move |_: CallContext, requests: StreamReceiver<Word>, out: StreamSender<Word>| {
            let ended = CountsDrop(ended.clone());
            async move {
                let _ended = ended;
                while let Some(request) = requests.next().await.map_err(|_| no())? {
                    out.send(request).await?;
                }
                Ok(())
            }
        }
    }));
    let config = ClientConfig { payload_bytes_max: 100_000, ..client_config(&[&server]) };
    let words = Client::start(config).expect("a thread can be had").service("words");
    let (sender, mut answers) = words.channel(&TALK, &number(1), 4, &none());
    assert_eq!(answers.next_within(SOON), Ok(Some(number(1))));
    sender.send(&Word { bytes: vec![1; 200_000], ..number(2) }).expect("there is room");
    assert_eq!(rejection(answers.next_within(SOON)).0, "RPC-006");
    assert!(sender.send(&number(3)).is_err(), "nothing goes behind what could not");
    until("the service knows that its caller has gone", || ended.count() == 1);
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")), "the connection goes on");
}

#[test]
fn channel_that_the_service_ends_early_ends_for_the_caller() {
    let server = serve(echo().channel(
        &TALK,
        |_: CallContext, requests: StreamReceiver<Word>, out: StreamSender<Word>| async move {
            let first = requests.next().await.map_err(|_| no())?.ok_or_else(no)?;
            out.send(first).await?;
            Ok(())
        },
    ));
    let words = client_of(&[&server]).service("words");
    let (sender, mut answers) = words.channel(&TALK, &word("first"), 4, &none());
    assert_eq!(answers.next_within(SOON), Ok(Some(word("first"))));
    assert_eq!(answers.next_within(SOON), Ok(None));
    for _ in 0..1_000 {
        // Nobody listens any more; nothing breaks.
        let _ = sender.send(&word("more"));
    }
    drop(sender);
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")));
}

struct Countdown(u64);

impl Ticks<Word> for Countdown {
    fn tick(&mut self, message: &mut Word) -> Next {
        message.number = self.0;
        self.0 -= 1;
        if self.0 == 0 { Next::Last } else { Next::After(Duration::from_millis(2)) }
    }
}

fn ticking() -> Server {
    let config = stadium_rpc::ServerConfig { tick_ms: 1, ..server_config() };
    serve_with(
        config,
        echo().ticking(&COUNT, |_: &Call<'_>, from: &Word| match from.number {
            0 => Err::<(Duration, Countdown), Refusal>(no()),
            from => Ok((Duration::from_millis(1), Countdown(from))),
        }),
    )
}

#[test]
fn ticking_stream_sends_what_is_due_and_completes() {
    let server = ticking();
    let words = client_of(&[&server]).service("words");
    let mut streams: Vec<_> =
        (0..50).map(|place| words.stream(&COUNT, &number(20 + place), 256, &none())).collect();
    for (place, stream) in (0..).zip(&mut streams) {
        for expected in (1..=20 + place).rev() {
            assert_eq!(stream.next_within(SOON), Ok(Some(number(expected))));
        }
        assert_eq!(stream.next_within(SOON), Ok(None));
    }
    until("all are counted", || counted(&server, "words/Count").ok == 50);
    assert_eq!(rejection(words.stream(&COUNT, &number(0), 1, &none()).next_within(SOON)).0, "WORDS-001");
}

#[test]
fn ticking_stream_waits_for_credit() {
    let server = ticking();
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &number(30), 1, &none());
    for expected in (1..=30).rev() {
        assert_eq!(stream.next_within(SOON), Ok(Some(number(expected))));
    }
    assert_eq!(stream.next_within(SOON), Ok(None));
}

#[test]
fn dropped_ticking_stream_is_forgotten() {
    let server = ticking();
    let words = client_of(&[&server]).service("words");
    let mut stream = words.stream(&COUNT, &number(u64::MAX), 4, &none());
    assert!(stream.next_within(SOON).is_ok());
    until("it is known", || server.statistics("words").is_some_and(|now| now.streams == 1));
    drop(stream);
    until("it is forgotten", || server.statistics("words").is_some_and(|now| now.streams == 0));
    until("it is counted", || counted(&server, "words/Count").cancelled == 1);
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")));
}

fn none() -> CallOptions<'static> {
    CallOptions::default()
}
