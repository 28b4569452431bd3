//! SETUP and connection establishment.
//!
//! What a session's RESUME does in place of a SETUP is in `resume.rs`.

use stadium_rsocket::connection::{
    Closed, Lease, RequestError, ResumeConfig, SetupOptions, Taken, Violation,
};
use stadium_rsocket::frame::{
    self, Completes, ErrorCode, Frame, Interaction, Payload, Resume, Setup, StreamId, Version, WantsLease,
    flag, kind,
};
use stadium_rsocket::{Config, Connection, Event, Tag};

use crate::spec::support::{SETUP, Side, error, last, request_response, request_stream};

fn resumable() -> Config {
    Config { resume: Some(ResumeConfig { store_bytes_max: 10_000, session_ms: 1_000 }), ..Config::default() }
}

/// [SETUP-1]
#[test]
fn a_client_begins_with_setup() {
    let mut out = Vec::new();
    let options = SetupOptions {
        metadata_mime: "application/x.a",
        data_mime: "application/x.b",
        resume_token: Some(b"t"),
        payload: Payload { metadata: Some(b"m"), data: b"d" },
    };
    let config =
        Config { keepalive_interval_ms: 500, lifetime_ms: 5_000, lease: Lease::Honour, ..resumable() };
    Connection::client(config.into(), &options, 0, &mut out);
    let (frame, used) = frame::split(&out, 1_000).expect("a length").expect("a frame");
    assert_eq!(used, out.len());
    let expected = Setup {
        version: Version { major: 1, minor: 0 },
        keepalive_interval_ms: 500,
        lifetime_ms: 5_000,
        lease: WantsLease::Yes,
        resume_token: Some(b"t"),
        metadata_mime: b"application/x.a",
        data_mime: b"application/x.b",
        payload: Payload { metadata: Some(b"m"), data: b"d" },
    };
    assert_eq!(frame::decode(frame), Ok(Frame::Setup(expected)));
    let mut server = Side::stranger(Config { lease: Lease::Grant, ..resumable() });
    assert_eq!(server.hear(Frame::Setup(expected)), Some(Event::Setup(expected)));
}

/// [SETUP-2]
#[test]
fn a_first_frame_that_is_no_setup_is_refused() {
    for frame in [
        request_response(1, b"hi"),
        Frame::MetadataPush { metadata: b"m" },
        Frame::KeepAlive { respond: frame::Respond::Yes, last_received_position: 0, data: b"" },
        error(0, ErrorCode::CONNECTION_ERROR, "no"),
        Frame::Cancel { stream: StreamId(1) },
    ] {
        let mut server = Side::stranger(Config::default());
        let event = server.hear(frame);
        assert_eq!(server.ended(event, ErrorCode::INVALID_SETUP), Violation::FirstFrame);
    }
    let mut server = Side::stranger(Config::default());
    let event = server.hear_bytes(b"\0\0\0");
    assert_eq!(server.ended(event, ErrorCode::INVALID_SETUP), Violation::FirstFrame);
    for (bytes, length) in [(b"GET / HTTP/1.1\r\n".as_slice(), 0x47_45_54), (b"\0\x10\x01\0\0\0", 4_097)] {
        let mut server = Side::stranger(Config::default());
        let event = server.hear_bytes(bytes);
        let expected = Violation::SetupTooLarge { bytes: length, bytes_max: 4_096 };
        assert_eq!(server.ended(event, ErrorCode::INVALID_SETUP), expected);
    }
}

/// [SETUP-3]
#[test]
fn a_setup_that_is_refused_says_what_is_wrong() {
    use stadium_rsocket::connection::SetupPart;
    let mut whole = Vec::new();
    let payload = Payload { metadata: Some(b"secret"), data: b"" };
    frame::encode(&Frame::Setup(Setup { resume_token: Some(b"token"), payload, ..SETUP }), &mut whole);
    // Behind the length and the header: version, two times, the token, two MIME types, metadata.
    let token = 9 + 12;
    let metadata_mime = token + 2 + 5;
    let data_mime = metadata_mime + 1 + SETUP.metadata_mime.len();
    let metadata = data_mime + 1 + SETUP.data_mime.len();
    let cut = |to: usize| {
        let mut bytes = whole[..to].to_vec();
        bytes[..3].copy_from_slice(&(to as u32 - 3).to_be_bytes()[1..]);
        bytes
    };
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&[byte, 0, 0, 0]);
        bytes
    };
    let cases = [
        (cut(9 + 3), Violation::Setup(SetupPart::Version)),
        (cut(9 + 8), Violation::Setup(SetupPart::Times)),
        (with(13, 0), Violation::Setup(SetupPart::KeepAlive)),
        (with(17, 0), Violation::Setup(SetupPart::Lifetime)),
        (with(17, 0x80), Violation::Setup(SetupPart::Times)),
        (cut(token + 4), Violation::Setup(SetupPart::ResumeToken)),
        (cut(metadata_mime + 1), Violation::Setup(SetupPart::MetadataMime)),
        (cut(data_mime + 1), Violation::Setup(SetupPart::DataMime)),
        (cut(metadata + 4), Violation::Setup(SetupPart::Metadata)),
        // A later version may look different behind its number.
        ([&cut(9)[..], &[0, 2, 0, 0]].concat(), Violation::Version(Version { major: 2, minor: 0 })),
    ];
    let mut texts = std::collections::BTreeSet::new();
    for (mut bytes, expected) in cases {
        let length = bytes.len() as u32 - 3;
        bytes[..3].copy_from_slice(&length.to_be_bytes()[1..]);
        let mut server = Side::stranger(resumable());
        let event = server.hear_bytes(&bytes);
        assert_eq!(server.ended(event, ErrorCode::INVALID_SETUP), expected);
        texts.insert(expected.to_string());
    }
    assert_eq!(texts.len(), 9, "each has another text");
}

/// [SETUP-2]
#[test]
fn a_setup_on_a_stream_is_refused() {
    let mut bytes = Vec::new();
    frame::encode(&Frame::Setup(SETUP), &mut bytes);
    bytes[6] = 1;
    let mut server = Side::stranger(Config::default());
    let event = server.hear_bytes(&bytes);
    let expected = Violation::SetupOnStream(StreamId(1));
    assert_eq!(server.ended(event, ErrorCode::INVALID_SETUP), expected);
}

/// [SETUP-3]
#[test]
fn a_setup_without_times_is_refused() {
    for setup in [Setup { keepalive_interval_ms: 0, ..SETUP }, Setup { lifetime_ms: 0, ..SETUP }] {
        let mut server = Side::stranger(Config::default());
        let event = server.hear(Frame::Setup(setup));
        server.ended(event, ErrorCode::INVALID_SETUP);
    }
}

/// [SETUP-4]
#[test]
fn a_setup_of_another_version_is_refused() {
    for (major, minor) in [(0, 2), (1, 1), (2, 0), (0, 1)] {
        let version = Version { major, minor };
        let mut server = Side::stranger(Config::default());
        let event = server.hear(Frame::Setup(Setup { version, ..SETUP }));
        assert_eq!(server.ended(event, ErrorCode::INVALID_SETUP), Violation::Version(version));
    }
}

/// [SETUP-5]
#[test]
fn a_setup_that_asks_for_resumption_needs_a_server_that_has_it() {
    let setup = Frame::Setup(Setup { resume_token: Some(b"t"), ..SETUP });
    let mut server = Side::stranger(Config::default());
    let event = server.hear(setup);
    assert_eq!(server.ended(event, ErrorCode::REJECTED_SETUP), Violation::ResumeUnsupported);
    let mut server = Side::stranger(resumable());
    assert!(matches!(server.hear(setup), Some(Event::Setup(_))));
    // The other way round there is nothing to refuse.
    assert!(matches!(Side::stranger(resumable()).hear(Frame::Setup(SETUP)), Some(Event::Setup(_))));
}

/// [SETUP-6]
#[test]
fn a_setup_that_asks_for_leases_needs_a_server_that_has_them() {
    let mut server = Side::stranger(Config::default());
    let event = server.hear(Frame::Setup(Setup { lease: WantsLease::Yes, ..SETUP }));
    assert_eq!(server.ended(event, ErrorCode::UNSUPPORTED_SETUP), Violation::LeaseUnsupported);
}

/// [SETUP-7]
#[test]
fn mime_types_are_the_applications_business() {
    let mut server = Side::stranger(Config::default());
    let setup = Setup { metadata_mime: b"\xFF\xFE", data_mime: b"", ..SETUP };
    assert_eq!(server.hear(Frame::Setup(setup)), Some(Event::Setup(setup)));
}

/// [SETUP-8]
#[test]
fn a_client_may_send_requests_behind_its_setup() {
    let mut client = Side::connecting(Config::default());
    client.ask(Interaction::RequestResponse, 1, b"hi");
    let mut server = Side::stranger(Config::default());
    let bytes = client.out.clone();
    let received = server.connection.receive(1, &bytes, &mut server.out);
    assert!(matches!(received.event, Some(Event::Setup(_))));
    let rest = &bytes[received.used..];
    // Nothing is handed out before the SETUP is answered, and nothing is lost.
    for _ in 0..3 {
        let waiting = server.connection.receive(1, rest, &mut server.out);
        assert_eq!((waiting.used, waiting.event), (0, None));
        assert_eq!(server.connection.receive_frame(1, &rest[3..], &mut server.out), (Taken::No, None));
    }
    server.connection.accept();
    assert!(matches!(server.hear_bytes(rest), Some(Event::Request { stream: StreamId(1), .. })));
    server.is_silent();
}

/// [SETUP-9]
#[test]
fn a_server_sends_no_request_before_it_accepts() {
    let mut server = Side::stranger(Config::default());
    let refused = |server: &mut Side| {
        let out = &mut server.out;
        server.connection.request(Interaction::RequestResponse, 1, Completes::No, Tag(1), None, |_| {}, out)
    };
    assert_eq!(refused(&mut server), Err(RequestError::Closed));
    server.hear(Frame::Setup(SETUP));
    assert_eq!(refused(&mut server), Err(RequestError::Closed));
    server.connection.metadata_push(b"m", &mut server.out);
    server.is_silent();
    server.connection.accept();
    assert_eq!(server.ask(Interaction::RequestResponse, 1, b""), StreamId(2));
}

/// [SETUP-10]
#[test]
fn a_refused_client_gets_an_error_and_nothing_else() {
    let mut server = Side::stranger(Config::default());
    server.hear(Frame::Setup(SETUP));
    server.connection.refuse(ErrorCode::REJECTED_SETUP, "who are you?", &mut server.out);
    assert_eq!(server.sent_frame(), error(0, ErrorCode::REJECTED_SETUP, "who are you?"));
    assert!(server.connection.is_closed());
    assert_eq!(server.hear(request_response(1, b"hi")), None);
    server.is_silent();
}

/// [SETUP-11]
#[test]
fn a_second_setup_is_ignored() {
    let mut server = Side::server();
    assert_eq!(server.hear(Frame::Setup(Setup { lifetime_ms: 1, ..SETUP })), None);
    assert_eq!(server.hear_raw(0, kind::SETUP, 0, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]), None);
    server.is_silent();
    assert_eq!(server.wait(80_000), None);
    assert!(!server.connection.is_closed());
}

/// [SETUP-12]
#[test]
fn a_client_ignores_a_setup() {
    let mut client = Side::client();
    assert_eq!(client.hear(Frame::Setup(SETUP)), None);
    client.is_silent();
    assert!(client.connection.is_open());
}

/// [SETUP-13]
#[test]
fn an_error_answers_a_clients_setup() {
    for code in [ErrorCode::INVALID_SETUP, ErrorCode::UNSUPPORTED_SETUP, ErrorCode::REJECTED_SETUP] {
        let mut client = Side::client();
        let stream = client.ask(Interaction::RequestResponse, 1, b"");
        let closed = Closed::Peer { code, text: b"no" };
        assert_eq!(client.hear(error(0, code, "no")), Some(Event::Closed(closed)));
        // The driver fails what is open.
        let open: Vec<_> = client.connection.streams().map(|(id, tag, _)| (id, tag)).collect();
        assert_eq!(open, [(stream, Tag(77))]);
    }
}

/// [SETUP-14]
#[test]
fn a_client_that_was_accepted_ignores_errors_of_setup() {
    let mut client = Side::client();
    client.ask(Interaction::RequestResponse, 1, b"");
    client.ask(Interaction::RequestResponse, 1, b"");
    client.hear(last(1, b"ok"));
    for code in 1..=4 {
        assert_eq!(client.hear(error(0, ErrorCode(code), "no")), None);
    }
    assert!(client.hear(last(3, b"ok")).is_some());
}

/// [SETUP-15]
#[test]
fn a_server_ignores_errors_of_setup() {
    let mut server = Side::server();
    for code in 1..=4 {
        assert_eq!(server.hear(error(0, ErrorCode(code), "no")), None);
    }
    assert!(server.hear(request_stream(1, 1)).is_some());
}

/// [SETUP-16]
#[test]
fn a_client_that_says_nothing_is_cut() {
    let mut server = Side::stranger(Config { setup_ms: 10_000, ..Config::default() });
    assert_eq!(server.connection.deadline_ms(), Some(10_000));
    assert_eq!(server.wait(9_999), None);
    // Bytes that are no SETUP buy no time.
    assert_eq!(server.connection.receive(9_999, b"\0", &mut server.out).used, 0);
    assert_eq!(server.wait(1), Some(Event::Closed(Closed::SetupTimeout)));
    assert!(matches!(server.sent_frame(), Frame::Error { code: ErrorCode::REJECTED_SETUP, .. }));
}

/// [SETUP-17]
#[test]
fn a_stranger_costs_no_more_than_a_setup() {
    let config = Config { setup_bytes_max: 200, ..Config::default() };
    let mut server = Side::stranger(config.clone());
    let event = server.hear_bytes(&[0, 0, 201]);
    server.ended(event, ErrorCode::INVALID_SETUP);
    let mut server = Side::server_with(config, SETUP);
    assert!(server.hear(request_response(1, &[0; 1_000])).is_some());
}

/// [SETUP-2] [RESUME-9]
#[test]
fn a_resume_needs_a_server_that_has_sessions() {
    let resume = Frame::Resume(Resume {
        version: Version::V1_0,
        token: b"t",
        last_received_server_position: 0,
        first_available_client_position: 0,
    });
    let mut server = Side::stranger(Config::default());
    let event = server.hear(resume);
    assert_eq!(server.ended(event, ErrorCode::REJECTED_RESUME), Violation::NoSessions);
    let mut bytes = Vec::new();
    frame::encode(&resume, &mut bytes);
    bytes[6] = 1;
    let mut server = Side::stranger(resumable());
    let event = server.hear_bytes(&bytes);
    server.ended(event, ErrorCode::INVALID_SETUP);
    assert_eq!(flag::RESUME, 0x80);
}
