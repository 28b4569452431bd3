//! Each encoded frame decodes to the same; cut or damaged bytes never panic.
//!
//! That our bytes are the right ones is shown by `vectors.rs`.

use proptest::prelude::*;
use stadium_rsocket::frame::{
    self, Completes, ErrorCode, Frame, More, Next, Payload, Respond, Resume, Setup, StreamId, Version,
    WantsLease,
};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::tracing::{self, Ids, Sampling, TraceId, Tracing};
use stadium_rsocket::metadata::{Mime, entries, find, routes, routing, write_entry};

/// The bytes that a frame borrows.
#[derive(Debug, Clone)]
struct Bytes {
    metadata: Option<Vec<u8>>,
    data: Vec<u8>,
    token: Option<Vec<u8>>,
    mimes: [Vec<u8>; 2],
}

fn bytes() -> impl Strategy<Value = Bytes> {
    let some = || proptest::collection::vec(any::<u8>(), 0..300);
    let mime = || proptest::collection::vec(any::<u8>(), 0..255);
    (proptest::option::of(some()), some(), proptest::option::of(some()), mime(), mime())
        .prop_map(|(metadata, data, token, a, b)| Bytes { metadata, data, token, mimes: [a, b] })
}

/// Numbers that fill every field.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    kind: u8,
    stream: u32,
    n: u32,
    wide: u64,
    bits: u8,
}

fn numbers() -> impl Strategy<Value = Numbers> {
    (0..15u8, 0..=0x7FFF_FFFFu32, 1..=0x7FFF_FFFFu32, 0..=i64::MAX as u64, any::<u8>())
        .prop_map(|(kind, stream, n, wide, bits)| Numbers { kind, stream, n, wide, bits })
}

fn build<'a>(numbers: Numbers, bytes: &'a Bytes) -> Frame<'a> {
    let Numbers { kind, stream, n, wide, bits } = numbers;
    let stream = StreamId(stream);
    let payload = Payload { metadata: bytes.metadata.as_deref(), data: &bytes.data };
    let bit = |nth: u8| bits >> nth & 1 == 1;
    let completes = if bit(0) { Completes::Yes } else { Completes::No };
    let more = if bit(1) { More::Follows } else { More::Whole };
    let version = Version { major: n as u16, minor: wide as u16 };
    match kind {
        0 => Frame::Setup(Setup {
            version,
            keepalive_interval_ms: n,
            lifetime_ms: n,
            lease: if bit(2) { WantsLease::Yes } else { WantsLease::No },
            resume_token: bytes.token.as_deref(),
            metadata_mime: &bytes.mimes[0],
            data_mime: &bytes.mimes[1],
            payload,
        }),
        1 => Frame::Lease { ttl_ms: n, requests: stream.0, metadata: bytes.metadata.as_deref() },
        2 => Frame::KeepAlive {
            respond: if bit(2) { Respond::Yes } else { Respond::No },
            last_received_position: wide,
            data: &bytes.data,
        },
        3 => Frame::RequestResponse { stream, more, payload },
        4 => Frame::RequestFireAndForget { stream, more, payload },
        5 => Frame::RequestStream { stream, more, initial: n, payload },
        6 => Frame::RequestChannel { stream, more, completes, initial: n, payload },
        7 => Frame::RequestN { stream, n },
        8 => Frame::Cancel { stream },
        9 => {
            let next = if bit(2) { Next::Value } else { Next::Nothing };
            // F is ignored where C is set.
            let more = if completes.is_yes() { More::Whole } else { more };
            Frame::Payload { stream, more, completes, next, payload }
        }
        10 => Frame::Error { stream, code: ErrorCode(wide as u32), data: &bytes.data },
        11 => Frame::MetadataPush { metadata: &bytes.data },
        12 => Frame::Resume(Resume {
            version,
            token: &bytes.data,
            last_received_server_position: wide,
            first_available_client_position: wide / 2,
        }),
        13 => Frame::ResumeOk { last_received_client_position: wide },
        _ => Frame::Extension { stream, flags: wide as u16 & 0x3FF, extended_type: n, body: &bytes.data },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn frames_survive(numbers in numbers(), bytes in bytes()) {
        let frame = build(numbers, &bytes);
        let mut out = b"before".to_vec();
        frame::encode(&frame, &mut out);
        let (found, used) = frame::split(&out[6..], frame::FRAME_BYTES_MAX).expect("a length").expect("whole");
        prop_assert_eq!(used, out.len() - 6);
        prop_assert_eq!(frame::decode(found), Ok(frame));
    }

    #[test]
    fn damaged_frames_do_no_harm(
        numbers in numbers(),
        bytes in bytes(),
        cut in any::<prop::sample::Index>(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut out = Vec::new();
        frame::encode(&build(numbers, &bytes), &mut out);
        let mut frame = out[3..].to_vec();
        for (at, byte) in damage {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        let cut = cut.index(frame.len() + 1);
        if let Ok(decoded) = frame::decode(&frame[..cut]) {
            // A decoded frame can be encoded.
            let mut again = Vec::new();
            frame::encode(&decoded, &mut again);
            prop_assert_eq!(frame::decode(&again[3..]), Ok(decoded));
        }
    }

    #[test]
    fn composite_metadata_survives(
        list in proptest::collection::vec(
            (
                prop_oneof![
                    (0..128u8).prop_map(Ok),
                    proptest::collection::vec(any::<u8>(), 1..129).prop_map(Err),
                ],
                proptest::collection::vec(any::<u8>(), 0..500),
            ),
            0..10,
        ),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut out = Vec::new();
        let mime = |kind: &'_ Result<u8, Vec<u8>>| match kind {
            Ok(id) => Mime::WellKnown(*id),
            Err(name) => Mime::Named(Box::leak(name.clone().into_boxed_slice())),
        };
        for (kind, content) in &list {
            write_entry(&mut out, mime(kind), content);
        }
        let read: Vec<_> = entries(&out).map(|entry| entry.expect("what we wrote")).collect();
        prop_assert_eq!(read.len(), list.len());
        for (entry, (kind, content)) in read.iter().zip(&list) {
            prop_assert_eq!(entry.mime, mime(kind));
            prop_assert_eq!(entry.content, content);
        }
        let cut = &out[..cut.index(out.len() + 1)];
        prop_assert!(entries(cut).filter(Result::is_ok).count() <= list.len());
    }

    #[test]
    fn routes_survive(tags in proptest::collection::vec(".{0,60}", 0..6)) {
        let mut out = Vec::new();
        routing::write_routes(&mut out, tags.iter().map(String::as_str));
        let content = find(&out, Mime::ROUTING).expect("an entry");
        let read: Vec<_> = routes(content).map(|tag| tag.expect("a tag").to_owned()).collect();
        prop_assert_eq!(read, tags);
    }

    #[test]
    fn credentials_survive(username in ".{0,80}", password in ".{0,80}") {
        let credentials =
            [Authentication::Simple { username: &username, password: &password }, Authentication::Bearer(&password)];
        for credentials in credentials {
            let mut out = Vec::new();
            authentication::write(&mut out, credentials);
            let content = find(&out, Mime::AUTHENTICATION).expect("an entry");
            prop_assert_eq!(authentication::read(content), Ok(credentials));
        }
    }

    #[test]
    fn traces_survive(trace in any::<u128>(), span in any::<u64>(), parent in any::<Option<u64>>(), bits in 0..8u8) {
        let sampling = [Sampling::Undecided, Sampling::NotSampled, Sampling::Sampled, Sampling::Debug];
        let id = if bits & 4 == 0 { TraceId::Long(trace) } else { TraceId::Short(trace as u64) };
        let sampling = sampling[usize::from(bits & 3)];
        let tracing = Tracing { sampling, ids: Some(Ids { trace: id, span, parent }) };
        let mut out = Vec::new();
        tracing::write(&mut out, &tracing);
        prop_assert_eq!(tracing::read(find(&out, Mime::TRACING).expect("an entry")), Ok(tracing));
    }

    #[test]
    fn any_bytes_are_metadata_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = (entries(&bytes).count(), routes(&bytes).count());
        let _ = (authentication::read(&bytes), tracing::read(&bytes));
    }
}
