//! Services and clients that do not know the messages' types: bytes go through as they are.

use std::sync::mpsc;
use std::time::Duration;

use prost::Message as _;
use stadium_rpc::{
    Call, CallContext, CallError, CallOptions, Encoded, Idempotency, LocalClient, Method, Service,
    StreamReceiver, StreamSender,
};

use crate::fixture::*;

const ECHO_BYTES: Method<Encoded, Encoded> = Method::unary("words/Echo");
const INLINE: Method<Encoded, Encoded> = Method::unary("words/Inline");
const BLOCKING: Method<Encoded, Encoded> = Method::unary("words/Blocking");
const COUNT_BYTES: Method<Encoded, Encoded> = Method::stream("words/Count");
const TALK_BYTES: Method<Encoded, Encoded> = Method::channel("words/Talk");

/// Bytes that are no message: a key without its value.
const NO_MESSAGE: &[u8] = &[0x08];

fn echoing() -> Service {
    words()
        .asynchronous(&ECHO_BYTES, |_: CallContext, request: Encoded| async { Ok(request) })
        .inline(&INLINE, |_: &Call<'_>, request: &Encoded, answer: &mut Encoded| {
            answer.0.extend_from_slice(&request.0);
            Ok(())
        })
        .blocking(&BLOCKING, |_: CallContext, request: Encoded| Ok(request))
        .streaming(&COUNT_BYTES, |_: CallContext, request: Encoded, out: StreamSender<Encoded>| async move {
            for byte in request.0 {
                out.send(Encoded(vec![byte])).await?;
            }
            Ok(())
        })
        .channel(
            &TALK_BYTES,
            |_: CallContext, requests: StreamReceiver<Encoded>, out: StreamSender<Encoded>| async move {
                while let Ok(Some(request)) = requests.next().await {
                    out.send(request).await?;
                }
                Ok(())
            },
        )
}

#[test]
fn functions_of_every_kind_take_and_give_bytes() {
    let server = serve(echoing());
    let client = client_of(&[&server]).service("words");
    for route in ["words/Echo", "words/Inline", "words/Blocking"] {
        for bytes in [NO_MESSAGE, b"", &[7; 300_000]] {
            let answer = client.call_bytes(route, Idempotency::Unknown, bytes.to_vec(), &none()).wait();
            assert_eq!(answer.as_deref(), Ok(bytes), "{route}");
        }
    }
    let mut stream = client.stream_bytes("words/Count", b"abc".to_vec(), 8, &none());
    let mut came = Vec::new();
    while let Some(bytes) = block_on(stream.next()).expect("the stream is served") {
        came.extend(bytes);
    }
    assert_eq!(came, b"abc");
    let (sender, mut answers) = client.channel_bytes("words/Talk", NO_MESSAGE.to_vec(), 8, &none());
    assert_eq!(block_on(answers.next()), Ok(Some(NO_MESSAGE.to_vec())));
    assert_eq!(sender.send(&Encoded(b"more".to_vec())), Ok(()));
    assert_eq!(block_on(answers.next()), Ok(Some(b"more".to_vec())));
    drop(sender);
    assert_eq!(block_on(answers.next()), Ok(None));
}

#[test]
fn typed_client_calls_a_service_of_bytes() {
    let server = serve(echoing());
    let client = client_of(&[&server]).service("words");
    assert_eq!(client.call(&ECHO, &word("typed")).wait(), Ok(word("typed")));
}

#[test]
fn local_client_calls_with_bytes_and_reads_them_in_place() {
    let server = serve(echo());
    let mut client = LocalClient::new(client_config(&[&server])).expect("a loop can be had");
    let words = client.service("words").expect("a static list takes any name");
    let request = word("local").encode_to_vec();
    let options = CallOptions { tag: 7, ..none() };
    client.call_bytes(words, "words/Echo", Idempotency::Idempotent, &request, &options);
    let done = client.next(SOON).expect("the loop turns").expect("the call ends");
    assert_eq!(done.tag(), 7);
    assert_eq!(client.read_bytes(done), Ok(request.as_slice()));
    let ticket = client.call_bytes(words, "words/Nowhere", Idempotency::Unknown, &[], &none());
    let mut answer = Encoded::default();
    assert_eq!(rejection(client.wait(&ticket, &mut answer)).0, "RPC-002");
}

#[test]
fn cancelled_call_ends_by_its_callback_and_its_function_is_dropped() {
    let (begun, dropped) = (Tally::default(), Tally::default());
    let server = serve(never_answering(&begun, &dropped));
    let client = client_of(&[&server]).service("words");
    let (ended, ends) = mpsc::channel();
    let call = |ended: mpsc::Sender<_>| {
        client.call_bytes_then("words/Echo", Idempotency::Unknown, Vec::new(), &none(), move |answer| {
            drop(ended.send(answer.map(<[u8]>::to_vec)));
        })
    };
    let handle = call(ended.clone());
    until("the call has begun", || begun.count() == 1);
    handle.cancel();
    assert_eq!(ends.recv_timeout(SOON), Ok(Err(CallError::Cancelled)));
    until("the function is dropped", || dropped.count() == 1);
    // One that the loop may not have yet.
    call(ended).cancel();
    assert_eq!(ends.recv_timeout(SOON), Ok(Err(CallError::Cancelled)));
    until("its function is dropped, if it began", || begun.count() == dropped.count());
    assert!(ends.recv_timeout(Duration::from_millis(50)).is_err(), "each call ends once");
}

fn none() -> CallOptions<'static> {
    CallOptions::default()
}
