//! Fragmentation and reassembly, whole and in pieces.
//!
//! The smallest fragments that can be configured, 64 bytes, make short scenarios of long payloads.

use std::sync::Arc;

use stadium_rsocket::connection::{Assembly, Piece, Reassembly, RequestError, SendError};
use stadium_rsocket::frame::{Completes, ErrorCode, Frame, Interaction, More, Next, Payload, StreamId};
use stadium_rsocket::{Config, Event, Tag};

use crate::spec::support::{SETUP, Side, payload, request_response, request_stream};

const ID: StreamId = StreamId(1);

fn small() -> Config {
    Config { fragment_bytes: 64, ..Config::default() }
}

/// A fragment in a PAYLOAD.
fn fragment<'a>(more: More, completes: Completes, metadata: Option<&'a [u8]>, data: &'a [u8]) -> Frame<'a> {
    Frame::Payload { stream: ID, more, completes, next: Next::Value, payload: Payload { metadata, data } }
}

fn first(interaction: Interaction, metadata: Option<&'static [u8]>, data: &'static [u8]) -> Frame<'static> {
    let (stream, more, payload) = (ID, More::Follows, Payload { metadata, data });
    match interaction {
        Interaction::RequestResponse => Frame::RequestResponse { stream, more, payload },
        Interaction::FireAndForget => Frame::RequestFireAndForget { stream, more, payload },
        Interaction::RequestStream => Frame::RequestStream { stream, more, initial: 4, payload },
        Interaction::RequestChannel => {
            Frame::RequestChannel { stream, more, completes: Completes::No, initial: 4, payload }
        }
    }
}

/// A request in one frame.
fn whole<'a>(stream: u32, interaction: Interaction, metadata: &'a [u8], data: &'a [u8]) -> Frame<'a> {
    let (stream, more, initial) = (StreamId(stream), More::Whole, 4);
    let payload = Payload { metadata: Some(metadata), data };
    match interaction {
        Interaction::RequestResponse => Frame::RequestResponse { stream, more, payload },
        Interaction::FireAndForget => Frame::RequestFireAndForget { stream, more, payload },
        Interaction::RequestStream => Frame::RequestStream { stream, more, initial, payload },
        Interaction::RequestChannel => {
            Frame::RequestChannel { stream, more, completes: Completes::No, initial, payload }
        }
    }
}

const ALL: [Interaction; 4] = [
    Interaction::RequestResponse,
    Interaction::FireAndForget,
    Interaction::RequestStream,
    Interaction::RequestChannel,
];

/// [FRAGMENT-1]
#[test]
fn a_large_request_goes_out_in_fragments() {
    for interaction in ALL {
        let mut client = Side::client_with(small());
        let (metadata, data) = ([7; 100], [9; 150]);
        let write = |out: &mut Vec<u8>| out.extend_from_slice(&data);
        let out = &mut client.out;
        let completes = Completes::Yes;
        client
            .connection
            .request(interaction, 4, completes, Tag(1), Some(&metadata), write, out)
            .expect("open");
        let frames = client.sent_frames();
        let (mut got_metadata, mut got_data) = (Vec::new(), Vec::new());
        for (nth, frame) in frames.iter().enumerate() {
            let (more, payload) = match *frame {
                Frame::RequestResponse { more, payload, .. }
                | Frame::RequestFireAndForget { more, payload, .. }
                | Frame::RequestStream { more, payload, initial: 4, .. }
                | Frame::RequestChannel { more, payload, initial: 4, completes: Completes::No, .. } => {
                    assert_eq!(nth, 0);
                    (more, payload)
                }
                Frame::Payload { more, payload, next: Next::Value, completes, .. } => {
                    assert_ne!(nth, 0);
                    // The completion stands on the last fragment.
                    let is_last = nth + 1 == frames.len();
                    assert_eq!(completes.is_yes(), is_last && interaction == Interaction::RequestChannel);
                    (more, payload)
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(more == More::Whole, nth + 1 == frames.len());
            // Metadata is complete before data begins.
            assert!(payload.metadata.is_none() || got_data.is_empty());
            got_metadata.extend_from_slice(payload.metadata.unwrap_or_default());
            got_data.extend_from_slice(payload.data);
        }
        assert!(frames.len() > 4);
        assert_eq!((got_metadata, got_data), (metadata.to_vec(), data.to_vec()));
    }
}

/// [FRAGMENT-1]
#[test]
fn fragments_are_no_longer_than_configured() {
    let mut client = Side::client_with(small());
    client.ask(Interaction::RequestStream, 1, &[1; 1_000]);
    let mut rest = client.out.as_slice();
    while let Some((frame, used)) = stadium_rsocket::frame::split(rest, 64).expect("at most 64 bytes") {
        assert!(frame.len() == 64 || used == rest.len());
        rest = &rest[used..];
    }
    assert!(rest.is_empty());
}

/// [FRAGMENT-2]
#[test]
fn a_large_answer_goes_out_in_fragments() {
    let mut server = Side::server_with(small(), SETUP);
    server.hear(request_response(1, b""));
    server.say(1, Completes::Yes, &[5; 200]);
    let frames = server.sent_frames();
    let mut client = Side::client();
    client.ask(Interaction::RequestResponse, 1, b"");
    let mut events: Vec<_> = frames.iter().map(|&frame| client.hear(frame)).collect();
    let Some(Some(Event::Payload { completes: Completes::Yes, payload, .. })) = events.pop() else {
        panic!("the last fragment completes")
    };
    assert_eq!(&*payload.data, &[5; 200]);
    assert!(events.len() > 2 && events.iter().all(Option::is_none));
    assert_eq!(client.connection.streams_open(), 0);
}

/// [FRAGMENT-3]
#[test]
fn fragments_are_put_together() {
    for interaction in ALL {
        let mut server = Side::server();
        assert_eq!(server.hear(first(interaction, Some(b"me"), b"")), None);
        assert_eq!(server.hear(fragment(More::Follows, Completes::No, Some(b"ta"), b"da")), None);
        let event = server.hear(fragment(More::Whole, Completes::No, None, b"ta"));
        let Some(Event::Request {
            stream: ID, interaction: got, payload, more: More::Whole, completes, ..
        }) = event
        else {
            panic!("{event:?}")
        };
        assert_eq!(got, interaction);
        assert_eq!(completes.is_yes(), interaction != Interaction::RequestChannel);
        assert_eq!((payload.metadata(), &*payload.data), (b"meta".as_slice(), b"data".as_slice()));
        assert_eq!(server.connection.streams_open(), usize::from(interaction != Interaction::FireAndForget));
    }
}

/// [FRAGMENT-4]
#[test]
fn fragments_of_streams_may_be_mixed() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 2, b"");
    client.ask(Interaction::RequestStream, 2, b"");
    let part = |stream: u32, more, data| Frame::Payload {
        stream: StreamId(stream),
        more,
        completes: Completes::No,
        next: Next::Value,
        payload: payload(data),
    };
    assert_eq!(client.hear(part(1, More::Follows, b"a")), None);
    assert_eq!(client.hear(part(3, More::Follows, b"x")), None);
    assert_eq!(client.hear(part(1, More::Follows, b"b")), None);
    let event = client.hear(part(3, More::Whole, b"y"));
    assert!(matches!(event, Some(Event::Payload { payload, .. }) if &*payload.data == b"xy"));
    let event = client.hear(part(1, More::Whole, b"c"));
    assert!(matches!(event, Some(Event::Payload { payload, .. }) if &*payload.data == b"abc"));
}

/// [FRAGMENT-5]
#[test]
fn a_fragment_that_completes_is_the_last() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 2, b"");
    assert_eq!(client.hear(fragment(More::Follows, Completes::No, None, b"a")), None);
    let event = client.hear(fragment(More::Follows, Completes::Yes, None, b"b"));
    let Some(Event::Payload { completes: Completes::Yes, payload, more: More::Whole, .. }) = event else {
        panic!("{event:?}")
    };
    assert_eq!(&*payload.data, b"ab");
    assert_eq!(client.connection.streams_open(), 0);
}

/// [FRAGMENT-6]
#[test]
fn a_cancel_ends_a_sequence_of_fragments() {
    let mut server = Side::server();
    assert_eq!(server.hear(first(Interaction::RequestResponse, None, b"a")), None);
    // The driver never knew of it.
    assert_eq!(server.connection.streams().count(), 0);
    assert_eq!(server.hear(Frame::Cancel { stream: ID }), None);
    assert_eq!(server.hear(fragment(More::Whole, Completes::No, None, b"b")), None);
    assert_eq!(server.connection.streams_open(), 0);
    server.is_silent();
}

/// [FRAGMENT-7]
#[test]
fn a_request_that_is_larger_than_allowed_fails() {
    let mut server = Side::server_with(Config { payload_bytes_max: 100, ..Config::default() }, SETUP);
    assert_eq!(server.hear(first(Interaction::RequestResponse, None, b"a")), None);
    let data = [1; 60];
    assert_eq!(server.hear(fragment(More::Follows, Completes::No, None, &data)), None);
    assert_eq!(server.hear(fragment(More::Follows, Completes::No, None, &data)), None);
    let Frame::Error { stream: ID, code: ErrorCode::INVALID, .. } = server.sent_frame() else {
        panic!("an ERROR")
    };
    assert_eq!(server.connection.streams_open(), 0);
    assert_eq!(server.hear(fragment(More::Whole, Completes::No, None, &data)), None);
    // The memory is there for the next.
    let stream = StreamId(3);
    server.hear(Frame::RequestResponse { stream, more: More::Follows, payload: payload(&[1; 50]) });
    let (more, completes, next) = (More::Whole, Completes::No, Next::Value);
    let event = server.hear(Frame::Payload { stream, more, completes, next, payload: payload(&[2; 50]) });
    assert!(matches!(event, Some(Event::Request { .. })));
}

/// [FRAGMENT-7]
#[test]
fn an_answer_that_is_larger_than_allowed_fails() {
    let mut client = Side::client_with(Config { payload_bytes_max: 100, ..Config::default() });
    client.ask(Interaction::RequestStream, 2, b"");
    client.sent_frames();
    let data = [1; 90];
    assert_eq!(client.hear(fragment(More::Follows, Completes::No, None, &data)), None);
    let event = client.hear(fragment(More::Follows, Completes::No, None, &data));
    assert!(matches!(event, Some(Event::Failed { stream: ID, tag: Tag(77), code: ErrorCode::INVALID, .. })));
    assert_eq!(client.sent_frame(), Frame::Cancel { stream: ID });
}

/// [FRAGMENT-7]
#[test]
fn a_request_in_one_frame_that_is_larger_than_allowed_fails() {
    const DATA: &[u8] = &[1; 95];
    for interaction in ALL {
        let mut server = Side::server_with(Config { payload_bytes_max: 100, ..Config::default() }, SETUP);
        // Metadata counts too: the first is one byte too many, and the second as large as may be.
        assert_eq!(server.hear(whole(1, interaction, b"metada", DATA)), None);
        match interaction {
            Interaction::FireAndForget => server.is_silent(),
            _ => assert!(matches!(
                server.sent_frame(),
                Frame::Error {
                    stream: ID,
                    code: ErrorCode::INVALID,
                    data: b"payload is larger than this side takes"
                }
            )),
        }
        assert_eq!(server.connection.streams_open(), 0);
        let event = server.hear(whole(3, interaction, b"metad", DATA));
        assert!(matches!(event, Some(Event::Request { stream: StreamId(3), .. })), "{event:?}");
    }
}

/// [FRAGMENT-7]
#[test]
fn an_answer_in_one_frame_that_is_larger_than_allowed_fails() {
    for interaction in [Interaction::RequestResponse, Interaction::RequestStream, Interaction::RequestChannel]
    {
        let mut client = Side::client_with(Config { payload_bytes_max: 100, ..Config::default() });
        client.ask(interaction, 2, b"");
        client.sent_frames();
        let event = client.hear(fragment(More::Whole, Completes::No, Some(b"metada"), &[1; 95]));
        assert!(
            matches!(event, Some(Event::Failed { stream: ID, tag: Tag(77), code: ErrorCode::INVALID, .. })),
            "{event:?}"
        );
        match client.sent_frame() {
            Frame::Error { stream: ID, code: ErrorCode::INVALID, .. } => {
                assert_eq!(interaction, Interaction::RequestChannel);
            }
            frame => assert_eq!(frame, Frame::Cancel { stream: ID }),
        }
        assert_eq!(client.connection.streams_open(), 0);
        // What the peer had sent before it knew is ignored.
        assert_eq!(client.hear(fragment(More::Whole, Completes::No, None, b"b")), None);
    }
}

/// [FRAGMENT-7]
#[test]
fn a_value_on_a_channel_that_is_larger_than_allowed_fails() {
    let mut server = Side::server_with(Config { payload_bytes_max: 100, ..Config::default() }, SETUP);
    server.hear(whole(1, Interaction::RequestChannel, b"", b"a"));
    server.connection.set_tag(ID, Tag(7));
    server.connection.request_n(ID, 2, &mut server.out).expect("open");
    server.sent_frames();
    assert!(matches!(
        server.hear(fragment(More::Whole, Completes::No, None, &[1; 100])),
        Some(Event::Payload { .. })
    ));
    let event = server.hear(fragment(More::Whole, Completes::No, None, &[1; 101]));
    assert!(matches!(event, Some(Event::Failed { stream: ID, tag: Tag(7), code: ErrorCode::INVALID, .. })));
    assert!(matches!(server.sent_frame(), Frame::Error { stream: ID, code: ErrorCode::INVALID, .. }));
    assert_eq!(server.connection.streams_open(), 0);
}

/// [FRAGMENT-8]
#[test]
fn all_unfinished_payloads_together_are_bounded() {
    let mut server = Side::server_with(Config { payload_bytes_max: 10_000, ..Config::default() }, SETUP);
    let mut refused = 0;
    for nth in 0..200 {
        let (stream, more) = (StreamId(1 + 2 * nth), More::Follows);
        server.hear(Frame::RequestResponse { stream, more, payload: payload(&[1; 500]) });
        refused += server.sent_frames().len();
        assert!(server.connection.memory_bytes() < 20_000);
    }
    assert!(refused > 150);
}

/// [FRAGMENT-9]
#[test]
fn without_fragments_a_large_payload_is_refused() {
    let mut server = Side::server_with(Config { fragment_bytes: 0, ..Config::default() }, SETUP);
    server.hear(request_stream(1, 2));
    let out = &mut server.out;
    let large = |out: &mut Vec<u8>| out.resize(out.len() + (1 << 24), 0);
    assert_eq!(server.connection.payload(ID, Completes::No, None, large, out), Err(SendError::TooLarge));
    server.is_silent();
    assert_eq!(server.connection.credit(ID), 2);
    let mut server = Side::server_with(Config { payload_bytes_max: 1_000, ..small() }, SETUP);
    server.hear(request_stream(1, 2));
    let out = &mut server.out;
    let large = |out: &mut Vec<u8>| out.resize(out.len() + 1_001, 0);
    assert_eq!(server.connection.payload(ID, Completes::No, None, large, out), Err(SendError::TooLarge));
    server.is_silent();
}

/// [FRAGMENT-7]
#[test]
fn a_payload_that_is_larger_than_allowed_is_not_sent() {
    // It would fit one frame.
    let config = || Config { payload_bytes_max: 100, ..Config::default() };
    let mut client = Side::client_with(config());
    for interaction in ALL {
        let mut ask = |bytes: usize| {
            let write = |out: &mut Vec<u8>| out.resize(out.len() + bytes, 0);
            let (metadata, out) = (Some(b"metad".as_slice()), &mut client.out);
            client.connection.request(interaction, 1, Completes::No, Tag(1), metadata, write, out)
        };
        assert_eq!(ask(96), Err(RequestError::TooLarge));
        assert!(ask(95).is_ok());
        assert_eq!(client.sent_frames().len(), 1, "only the second left");
    }
    let mut server = Side::server_with(config(), SETUP);
    server.hear(request_stream(1, 1));
    let mut say = |bytes: usize| {
        let write = |out: &mut Vec<u8>| out.resize(out.len() + bytes, 0);
        server.connection.payload(ID, Completes::No, None, write, &mut server.out)
    };
    assert_eq!(say(101), Err(SendError::TooLarge));
    // Its credit is still there.
    assert_eq!(say(100), Ok(()));
    assert_eq!(server.sent_frames().len(), 1);
}

fn in_pieces() -> Config {
    let decide = |_: Interaction, metadata: Option<&[u8]>| {
        if metadata == Some(b"whole") { Assembly::Whole } else { Assembly::Pieces }
    };
    Config { reassembly: Reassembly::Pieces(Arc::new(decide)), payload_bytes_max: 1_000, ..Config::default() }
}

/// [FRAGMENT-10]
#[test]
fn a_request_may_be_handed_out_in_pieces() {
    for interaction in ALL {
        let mut server = Side::server_with(in_pieces(), SETUP);
        assert_eq!(server.hear(first(interaction, Some(b"me"), b"")), None);
        let event = server.hear(fragment(More::Follows, Completes::No, Some(b"ta"), b"1"));
        let Some(Event::Request { payload, more: More::Follows, .. }) = event else { panic!("{event:?}") };
        assert_eq!((payload.metadata(), &*payload.data), (b"meta".as_slice(), b"1".as_slice()));
        server.connection.set_tag(ID, Tag(2));
        // More than is ever reassembled.
        for _ in 0..100 {
            let event = server.hear(fragment(More::Follows, Completes::No, None, &[3; 500]));
            let Some(Event::Piece { stream: ID, tag: Tag(2), data, more: More::Follows, .. }) = event else {
                panic!("{event:?}")
            };
            assert_eq!(data, &[3; 500]);
        }
        let event = server.hear(fragment(More::Whole, Completes::No, None, b"9"));
        let Some(Event::Piece { data: b"9", more: More::Whole, completes, .. }) = event else {
            panic!("{event:?}")
        };
        assert_eq!(completes.is_yes(), interaction != Interaction::RequestChannel);
        assert_eq!(server.connection.streams_open(), usize::from(interaction != Interaction::FireAndForget));
    }
}

/// [FRAGMENT-10]
#[test]
fn each_request_is_handed_out_as_its_metadata_says() {
    let mut server = Side::server_with(in_pieces(), SETUP);
    assert_eq!(server.hear(first(Interaction::RequestResponse, Some(b"whole"), b"1")), None);
    assert_eq!(server.hear(fragment(More::Follows, Completes::No, None, b"2")), None);
    let event = server.hear(fragment(More::Whole, Completes::No, None, b"3"));
    assert!(
        matches!(event, Some(Event::Request { payload, more: More::Whole, .. }) if &*payload.data == b"123")
    );
}

/// [FRAGMENT-10]
#[test]
fn what_is_taken_in_pieces_may_be_larger_in_one_frame_too() {
    let mut server = Side::server_with(in_pieces(), SETUP);
    let event = server.hear(whole(1, Interaction::RequestResponse, b"", &[1; 5_000]));
    assert!(matches!(event, Some(Event::Request { more: More::Whole, .. })), "{event:?}");
    assert_eq!(server.hear(whole(3, Interaction::RequestResponse, b"whole", &[1; 5_000])), None);
    assert!(matches!(
        server.sent_frame(),
        Frame::Error { stream: StreamId(3), code: ErrorCode::INVALID, .. }
    ));
    let mut client = Side::client_with(in_pieces());
    client.ask(Interaction::RequestResponse, 1, b"");
    client.connection.pieces(ID);
    let event = client.hear(fragment(More::Whole, Completes::Yes, None, &[1; 5_000]));
    assert!(matches!(event, Some(Event::Payload { more: More::Whole, .. })), "{event:?}");
}

/// [FRAGMENT-10]
#[test]
fn answers_may_be_handed_out_in_pieces() {
    let mut client = Side::client();
    client.ask(Interaction::RequestResponse, 1, b"");
    client.connection.pieces(ID);
    let event = client.hear(fragment(More::Follows, Completes::No, Some(b"m"), b"1"));
    let Some(Event::Payload { more: More::Follows, payload, .. }) = event else { panic!("{event:?}") };
    assert_eq!((payload.metadata(), &*payload.data), (b"m".as_slice(), b"1".as_slice()));
    let event = client.hear(fragment(More::Follows, Completes::No, None, b"2"));
    assert!(matches!(
        event,
        Some(Event::Piece { data: b"2", more: More::Follows, completes: Completes::No, .. })
    ));
    let event = client.hear(fragment(More::Whole, Completes::No, None, b"3"));
    assert!(matches!(
        event,
        Some(Event::Piece { data: b"3", more: More::Whole, completes: Completes::Yes, .. })
    ));
    assert_eq!(client.connection.streams_open(), 0);
}

/// [FRAGMENT-11]
#[test]
fn a_value_may_be_sent_in_pieces() {
    let mut server = Side::server();
    server.hear(request_stream(1, 2));
    let mut say = |metadata, data, more, completes| {
        let out = &mut server.out;
        server.connection.piece(ID, Piece { metadata, data, more, completes }, out)
    };
    assert_eq!(say(Some(b"m"), b"1", More::Follows, Completes::No), Ok(()));
    assert_eq!(say(None, b"2", More::Follows, Completes::No), Ok(()));
    assert_eq!(say(None, b"3", More::Whole, Completes::No), Ok(()));
    assert_eq!(say(None, b"4", More::Follows, Completes::No), Ok(()));
    assert_eq!(say(None, b"5", More::Whole, Completes::Yes), Ok(()));
    assert_eq!(say(None, b"6", More::Whole, Completes::Yes), Err(SendError::UnknownStream));
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 2, b"");
    let events: Vec<_> = server.sent_frames().into_iter().filter_map(|frame| client.hear(frame)).collect();
    let [Event::Payload { payload: a, .. }, Event::Payload { payload: b, completes: Completes::Yes, .. }] =
        &*events
    else {
        panic!("{events:?}")
    };
    assert_eq!((a.metadata(), &*a.data, &*b.data), (b"m".as_slice(), b"123".as_slice(), b"45".as_slice()));
    assert_eq!(client.connection.streams_open(), 0);
}

/// [FRAGMENT-11]
#[test]
fn between_pieces_nothing_else_is_sent_on_the_stream() {
    let mut server = Side::server();
    server.hear(request_stream(1, 2));
    let piece = Piece { metadata: None, data: b"1", more: More::Follows, completes: Completes::No };
    server.connection.piece(ID, piece, &mut server.out).expect("credit");
    server.sent_frames();
    let out = &mut server.out;
    assert_eq!(
        server.connection.payload(ID, Completes::No, None, |_| {}, out),
        Err(SendError::UnknownStream)
    );
    assert_eq!(server.connection.complete(ID, out), Err(SendError::UnknownStream));
    server.is_silent();
    assert_eq!(server.connection.error(ID, ErrorCode::CANCELED, "gone", &mut server.out), Ok(()));
}

/// [FRAGMENT-11]
#[test]
fn a_request_may_be_sent_in_pieces() {
    let mut client = Side::client();
    assert_eq!(client.connection.request_pieces(Tag(7), Some(b"m"), &mut client.out), Ok(ID));
    let mut say = |data, more| {
        let piece = Piece { metadata: None, data, more, completes: Completes::No };
        client.connection.piece(ID, piece, &mut client.out)
    };
    assert_eq!(say(b"1", More::Follows), Ok(()));
    assert_eq!(say(b"2", More::Follows), Ok(()));
    assert_eq!(say(b"", More::Whole), Ok(()));
    assert_eq!(say(b"3", More::Whole), Err(SendError::UnknownStream));
    let mut server = Side::server();
    let events: Vec<_> = client.sent_frames().into_iter().filter_map(|frame| server.hear(frame)).collect();
    let [Event::Request { stream: ID, payload, more: More::Whole, .. }] = &*events else {
        panic!("{events:?}")
    };
    assert_eq!((payload.metadata(), &*payload.data), (b"m".as_slice(), b"12".as_slice()));
    let event = client.hear(fragment(More::Whole, Completes::Yes, None, b"done"));
    assert!(matches!(event, Some(Event::Payload { tag: Tag(7), .. })));
    assert_eq!(client.connection.streams_open(), 0);
}

/// [FRAGMENT-11]
#[test]
fn the_rest_of_a_request_that_was_answered_early_is_cancelled() {
    let mut client = Side::client();
    client.connection.request_pieces(Tag(7), None, &mut client.out).expect("open");
    client.sent_frames();
    let event = client.hear(fragment(More::Whole, Completes::Yes, None, b"enough"));
    assert!(matches!(event, Some(Event::Payload { tag: Tag(7), .. })));
    assert_eq!(client.connection.cancel(ID, &mut client.out), Ok(()));
    assert_eq!(client.sent_frame(), Frame::Cancel { stream: ID });
    assert_eq!(client.connection.streams_open(), 0);
}

/// [FRAGMENT-11]
#[test]
fn metadata_of_a_request_in_pieces_fits_one_frame() {
    let mut client = Side::client_with(small());
    let asked = client.connection.request_pieces(Tag(7), Some(&[7; 64]), &mut client.out);
    assert_eq!(asked, Err(RequestError::TooLarge));
    client.is_silent();
}
