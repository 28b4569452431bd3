//! Requests and answers of bytes that are never in memory whole.
//!
//! Both ends see a payload as it comes; none holds it whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stadium_rpc::{
    CallContext, CallError, CallOptions, Client, Method, PieceReceiver, PieceSender, Raw, Refusal,
    ServerConfig, Service, ServiceClient,
};
use stadium_rsocket::connection::Config;
use stadium_rsocket::frame::{Completes, Interaction};
use stadium_rsocket::metadata;

use crate::fixture::*;
use crate::plain::{Got, Plain};

pub const PUT: Method<Raw, Word> = Method::unary("words/Put");
pub const FETCH: Method<Word, Raw> = Method::unary("words/Fetch");

/// More than either side may keep.
const LARGE: u64 = 64 * 1024 * 1024;

/// Transfers take their time.
pub const OPTIONS: CallOptions<'static> =
    CallOptions { deadline: Some(SOON), key: None, metadata: &[], tag: 0 };

/// Bytes that hold their position.
pub fn bytes_at(at: u64, count: usize) -> Vec<u8> {
    (at..at + count as u64).map(|place| (place % 251) as u8).collect()
}

/// So many bytes, in pieces of odd sizes. Reports how many have been taken.
pub fn pieces(total: u64, taken: &Arc<AtomicU64>) -> impl Iterator<Item = Vec<u8>> + Send + 'static {
    let (mut at, taken) = (0, Arc::clone(taken));
    std::iter::from_fn(move || {
        let count = (total - at).min(100_003);
        let piece = bytes_at(at, count as usize);
        at += count;
        taken.store(at, Ordering::SeqCst);
        (count > 0).then_some(piece)
    })
}

/// Answers an upload with its length, and with whether all bytes stood where they belong.
fn measures(bell: &Bell) -> Service {
    let bell = bell.clone();
    words().upload(&PUT, move |_: CallContext, pieces: PieceReceiver| {
        let bell = bell.clone();
        async move {
            bell.rung().await;
            let mut at = 0;
            while let Some(piece) = pieces.next().await {
                if piece != bytes_at(at, piece.len()) {
                    return Err(no());
                }
                at += piece.len() as u64;
            }
            Ok(number(at))
        }
    })
}

/// Sends as many bytes as it is asked for. Reports how many it has got rid of.
pub fn sends(sent: &Arc<AtomicU64>) -> Service {
    let sent = Arc::clone(sent);
    words().download(&FETCH, move |_: CallContext, request: Word, out: PieceSender| {
        let sent = Arc::clone(&sent);
        async move {
            let mut at = 0;
            while at < request.number {
                let count = (request.number - at).min(100_003);
                out.send(&bytes_at(at, count as usize)).await?;
                at += count;
                sent.store(at, Ordering::SeqCst);
            }
            Ok(())
        }
    })
}

fn rung() -> Bell {
    let bell = Bell::default();
    bell.ring();
    bell
}

fn upload(words: &ServiceClient, total: u64) -> Result<Word, CallError> {
    answer(words.upload(&PUT, pieces(total, &Arc::default()), &OPTIONS))
}

/// Takes a whole download. Returns its length.
fn download(words: &ServiceClient, total: u64) -> Result<u64, CallError> {
    let mut stream = words.download(&FETCH, &number(total), &OPTIONS);
    let mut at = 0;
    while let Some(piece) = stream.next_within(SOON)? {
        assert!(piece == bytes_at(at, piece.len()), "the piece at {at} is another");
        at += piece.len() as u64;
    }
    Ok(at)
}

#[test]
fn uploads_of_any_size_arrive_in_order() {
    let server = serve(measures(&rung()));
    let client = client_of(&[&server]);
    for total in [0, 1, 1_000, 65_536, 1_000_000, LARGE] {
        assert_eq!(upload(&client.service("words"), total), Ok(number(total)));
    }
}

#[test]
fn downloads_of_any_size_arrive_in_order() {
    let server = serve(sends(&Arc::default()));
    let client = client_of(&[&server]);
    for total in [0, 1, 1_000, 65_536, 1_000_000, LARGE] {
        assert_eq!(download(&client.service("words"), total), Ok(total));
    }
}

/// What the kernel and both sides may hold together of a transfer that stands still, in bytes.
const HELD_MAX: u64 = 24 * 1024 * 1024;

#[test]
fn upload_waits_for_a_function_that_takes_nothing() {
    let bell = Bell::default();
    let server = serve(measures(&bell));
    let client = client_of(&[&server]);
    let taken = Arc::new(AtomicU64::new(0));
    let call = client.service("words").upload(&PUT, pieces(LARGE, &taken), &OPTIONS);
    still("the upload stands still", &taken);
    assert!(taken.load(Ordering::SeqCst) < HELD_MAX, "{taken:?} bytes were taken of the caller");
    bell.ring();
    assert_eq!(answer(call), Ok(number(LARGE)));
}

#[test]
fn download_waits_for_a_caller_that_takes_nothing() {
    let sent = Arc::new(AtomicU64::new(0));
    let server = serve(sends(&sent));
    let client = client_of(&[&server]);
    let mut stream = client.service("words").download(&FETCH, &number(LARGE), &OPTIONS);
    still("the download stands still", &sent);
    assert!(sent.load(Ordering::SeqCst) < HELD_MAX, "{sent:?} bytes were taken of the function");
    let mut at = 0;
    while let Some(piece) = stream.next_within(SOON).expect("it goes on") {
        at += piece.len() as u64;
    }
    assert_eq!(at, LARGE);
}

/// Waits until a number is above zero and has not changed for a while.
fn still(what: &str, number: &AtomicU64) {
    let (mut last, mut since) = (0, std::time::Instant::now());
    until(what, || {
        let now = number.load(Ordering::SeqCst);
        if now != last {
            (last, since) = (now, std::time::Instant::now());
        }
        last > 0 && since.elapsed() > Duration::from_millis(300)
    });
}

#[test]
fn connection_lives_on_while_an_upload_stands_still() {
    let bell = Bell::default();
    let server = serve(measures(&bell));
    let mut config = client_config(&[&server]);
    config.keepalive_interval = Duration::from_millis(100);
    config.keepalive_lifetime = Duration::from_millis(1_200);
    let client = Client::start(config).expect("a thread can be had");
    let taken = Arc::new(AtomicU64::new(0));
    let call = client.service("words").upload(&PUT, pieces(LARGE, &taken), &OPTIONS);
    let since = std::time::Instant::now();
    until("three lifetimes have passed", || since.elapsed() > Duration::from_millis(3_600));
    bell.ring();
    assert_eq!(answer(call), Ok(number(LARGE)));
}

#[test]
fn connection_lives_on_while_a_download_stands_still() {
    let sent = Arc::new(AtomicU64::new(0));
    let server = serve(sends(&sent));
    let mut config = client_config(&[&server]);
    config.keepalive_interval = Duration::from_millis(100);
    config.keepalive_lifetime = Duration::from_millis(1_200);
    let client = Client::start(config).expect("a thread can be had");
    let mut stream = client.service("words").download(&FETCH, &number(LARGE), &OPTIONS);
    let since = std::time::Instant::now();
    until("three lifetimes have passed", || since.elapsed() > Duration::from_millis(3_600));
    let mut at = 0;
    while let Some(piece) = stream.next_within(SOON).expect("it goes on") {
        at += piece.len() as u64;
    }
    assert_eq!(at, LARGE);
}

#[test]
fn client_that_vanishes_during_an_upload_that_stands_still_is_let_go() {
    let bell = Bell::default();
    let server = serve(measures(&bell));
    let config = Config { lifetime_ms: 500, fragment_bytes: 60_000, ..Config::default() };
    let mut plain = Plain::dial_with(server.bound()[0], config, &Default::default());
    let mut route = Vec::new();
    metadata::write_route(&mut route, "words/Put");
    plain.ask_with(Interaction::RequestResponse, 1, Some(&route), &bytes_at(0, 2 * 1024 * 1024));
    until("its function has begun", || server.statistics("words").expect("it serves words").inflight == 1);
    // From here on the client is silent. Its socket stays open: no FIN comes.
    until("the server has forgotten it", || connections(&server) == 0);
    until("its call has ended", || counted(&server, "words/Put").cancelled == 1);
    drop(plain);
}

#[test]
fn other_calls_go_on_beside_a_transfer() {
    let bell = Bell::default();
    let server = serve(measures(&bell).inline(&ECHO, |_, request: &Word, answer: &mut Word| {
        answer.clone_from(request);
        Ok(())
    }));
    let client = client_of(&[&server]);
    let words = client.service("words");
    let call = words.upload(&PUT, pieces(500_000, &Arc::default()), &OPTIONS);
    for place in 0..100 {
        assert_eq!(words.call(&ECHO, &number(place)).wait(), Ok(number(place)));
    }
    bell.ring();
    assert_eq!(answer(call), Ok(number(500_000)));
}

#[test]
fn cancelled_upload_ends_its_function_and_leaves_the_connection_in_use() {
    let (dropped, begun) = (Tally::default(), Tally::default());
    let (on_drop, on_begin) = (dropped.clone(), begun.clone());
    let service = echo().upload(&PUT, move |_: CallContext, pieces: PieceReceiver| {
        let counts = CountsDrop(on_drop.clone());
        on_begin.add();
        async move {
            let _counts = counts;
            // It takes nothing, so that the connection is not read.
            let _pieces = pieces;
            std::future::pending::<Result<Word, Refusal>>().await
        }
    });
    let server = serve(service);
    let client = client_of(&[&server]);
    let words = client.service("words");
    let taken = Arc::new(AtomicU64::new(0));
    let deadline = Some(Duration::from_secs(1));
    let call = words.upload(&PUT, pieces(LARGE, &taken), &CallOptions { deadline, ..OPTIONS });
    until("the function has begun", || begun.count() == 1);
    assert_eq!(answer(call), Err(CallError::Deadline));
    until("the function's future is dropped", || dropped.count() == 1);
    assert_eq!(words.call(&ECHO, &word("after")).wait(), Ok(word("after")));
    assert_eq!(connections(&server), 1);
}

#[test]
fn dropped_download_ends_its_function_and_leaves_the_connection_in_use() {
    let sent = Arc::new(AtomicU64::new(0));
    let server = serve(sends(&sent));
    let client = client_of(&[&server]);
    let words = client.service("words");
    let mut stream = words.download(&FETCH, &number(LARGE), &OPTIONS);
    assert!(stream.next_within(SOON).expect("it begins").is_some());
    drop(stream);
    until("the call is cancelled", || counted(&server, "words/Fetch").cancelled == 1);
    assert_eq!(download(&words, 1_000_000), Ok(1_000_000));
    assert_eq!(connections(&server), 1);
}

#[test]
fn upload_that_is_refused_in_the_middle_reports_it() {
    let service = words().upload(&PUT, |_: CallContext, pieces: PieceReceiver| async move {
        pieces.next().await;
        Err::<Word, _>(no())
    });
    let server = serve(service);
    let client = client_of(&[&server]);
    let end = upload(&client.service("words"), LARGE);
    assert_eq!(rejection(end).0, "WORDS-001");
}

#[test]
fn upload_that_is_answered_in_the_middle_is_answered() {
    let service = echo().upload(&PUT, |_: CallContext, pieces: PieceReceiver| async move {
        pieces.next().await;
        Ok(word("enough"))
    });
    let server = serve(service);
    let client = client_of(&[&server]);
    assert_eq!(upload(&client.service("words"), LARGE), Ok(word("enough")));
    assert_eq!(client.service("words").call(&ECHO, &word("after")).wait(), Ok(word("after")));
}

#[test]
fn download_that_fails_in_the_middle_reports_it() {
    let service = words().download(&FETCH, |_: CallContext, _: Word, out: PieceSender| async move {
        out.send(&bytes_at(0, 200_000)).await?;
        Err(no())
    });
    let server = serve(service);
    let client = client_of(&[&server]);
    assert_eq!(rejection(download(&client.service("words"), 1)).0, "WORDS-001");
}

#[test]
fn transfers_fail_when_the_server_goes() {
    let server = serve(measures(&Bell::default()));
    let client = client_of(&[&server]);
    let taken = Arc::new(AtomicU64::new(0));
    let call = client.service("words").upload(&PUT, pieces(LARGE, &taken), &OPTIONS);
    until("it has begun", || taken.load(Ordering::SeqCst) > 0);
    server.stop();
    assert!(matches!(answer(call), Err(CallError::Broken(_))));
}

#[test]
fn plain_client_that_sends_fragments_uploads() {
    // Payloads are bounded by less than what is sent: they are not put together.
    let server = serve_with(ServerConfig { payload_bytes_max: 10_000, ..server_config() }, measures(&rung()));
    let config = Config { fragment_bytes: 64, ..Config::default() };
    let mut plain = Plain::dial_with(server.bound()[0], config, &Default::default());
    for total in [0, 30, 200, 100_000] {
        let mut route = Vec::new();
        metadata::write_route(&mut route, "words/Put");
        let data = bytes_at(0, total);
        let stream = plain.ask_with(Interaction::RequestResponse, 1, Some(&route), &data);
        let data = prost::Message::encode_to_vec(&number(total as u64));
        assert_eq!(plain.next(), Got::Message { stream, data, completes: Completes::Yes }, "{total} bytes");
    }
}

#[test]
fn plain_client_gets_a_download_whole() {
    let server = serve(sends(&Arc::default()));
    let mut plain = Plain::dial(&server);
    let stream = plain.ask("words/Fetch", 0, &number(1_000_000));
    let Got::Message { stream: of, data, completes } = plain.next() else { panic!("no answer") };
    assert!((of, completes) == (stream, Completes::Yes) && data == bytes_at(0, 1_000_000));
}
