//! What a server must not do, RFC 9113: some of it ends the connection, some of it one stream.

use stadium_http_client::{Malformed, Request};

use super::wire::*;
use super::{GET, INITIAL_WINDOW_SIZE, POST};

/// A connection with stream 1 open hears frames that end it; the GOAWAY states the reason.
#[track_caller]
fn ends_connection(wire: Wire, reason: Malformed, code: u8) {
    let mut client = Client::greeted(&[]);
    client.asks(GET);
    client.sent();
    assert_eq!(client.tries(&wire.0), Err(reason));
    let sent = client.sent();
    let last = sent.last().expect("a GOAWAY");
    assert_eq!((last.kind, &last.payload[..]), (GOAWAY, &[0, 0, 0, 0, 0, 0, 0, code][..]));
    assert!(!client.h2.can_open());
}

#[test]
fn what_breaks_the_framing_ends_the_connection() {
    let wire = Wire::default;
    let frame = |kind, flags, stream, payload: &[u8]| wire().frame(kind, flags, stream, payload);
    let (broken, size) = (Malformed::Frame, Malformed::FrameSize);
    // 4.2 and the lengths of section 6.
    ends_connection(Wire(vec![0, 0x40, 1, DATA, 0, 0, 0, 0, 1]), size, 6);
    ends_connection(frame(PING, 0, 0, b"short"), size, 6);
    ends_connection(frame(SETTINGS, 0, 0, &[0; 5]), size, 6);
    ends_connection(frame(SETTINGS, 1, 0, &[0; 6]), size, 6);
    ends_connection(frame(RST_STREAM, 0, 1, &[0; 3]), size, 6);
    ends_connection(frame(WINDOW_UPDATE, 0, 0, &[0; 5]), size, 6);
    ends_connection(frame(GOAWAY, 0, 0, &[0; 7]), size, 6);
    ends_connection(frame(DATA, PADDED, 1, &[]), size, 6);
    ends_connection(frame(DATA, PADDED, 1, &[5, 0, 0]), broken, 1);
    // Streams that nobody opened, and frames on the wrong one.
    ends_connection(frame(DATA, 0, 0, b"x"), broken, 1);
    ends_connection(frame(DATA, 0, 2, b"x"), broken, 1);
    ends_connection(frame(DATA, 0, 3, b"x"), broken, 1);
    ends_connection(wire().headers(0, 3, &[(":status", "200")]), broken, 1);
    ends_connection(frame(RST_STREAM, 0, 3, &[0; 4]), broken, 1);
    ends_connection(wire().window(3, 1), broken, 1);
    ends_connection(frame(SETTINGS, 0, 1, &[]), broken, 1);
    ends_connection(frame(PING, 0, 1, &[0; 8]), broken, 1);
    ends_connection(frame(GOAWAY, 0, 1, &[0; 8]), broken, 1);
    // Push was refused.
    ends_connection(frame(5, END_HEADERS, 1, &[0, 0, 0, 2]), broken, 1);
    // Header blocks stay together.
    ends_connection(frame(HEADERS, 0, 1, &[0x88]).frame(PING, 0, 0, &[0; 8]), broken, 1);
    ends_connection(frame(HEADERS, 0, 1, &[0x88]).frame(CONTINUATION, 0, 3, &[]), broken, 1);
    ends_connection(frame(CONTINUATION, END_HEADERS, 1, &[0x88]), broken, 1);
    // Settings and windows out of bounds.
    ends_connection(wire().settings(&[(2, 1)]), broken, 1);
    ends_connection(wire().settings(&[(5, 16_383)]), broken, 1);
    ends_connection(wire().settings(&[(5, 1 << 24)]), broken, 1);
    ends_connection(wire().settings(&[(INITIAL_WINDOW_SIZE, 1 << 31)]), Malformed::FlowControl, 3);
    ends_connection(wire().window(0, 0), broken, 1);
    ends_connection(wire().window(0, 0x7fff_ffff), Malformed::FlowControl, 3);
    // What cannot be decompressed, or would not end.
    ends_connection(frame(HEADERS, END_HEADERS, 1, &[0x80]), Malformed::Compression, 9);
    let flood =
        (0..5).fold(frame(HEADERS, 0, 1, &[]), |wire, _| wire.frame(CONTINUATION, 0, 1, &[0; 16_384]));
    ends_connection(flood, Malformed::HeadTooLong, 11);
    let bomb = [&[0x88, 0x40, 1, b'x', 127, 0x81, 0x1e][..], &[b'v'; 3968], &[0xbe; 20]].concat();
    ends_connection(frame(HEADERS, END_HEADERS, 1, &bomb), Malformed::HeadTooLong, 11);
}

#[test]
fn a_server_of_something_else_is_found_out_at_once() {
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"SSH-2.0", &[0x15, 3, 1, 0, 2, 2, 22]] {
        assert_eq!(Client::silent().tries(bytes), Err(Malformed::NotHttp2), "{bytes:?}");
    }
    let ping = Wire::default().frame(PING, 0, 0, &[0; 8]);
    assert_eq!(Client::silent().tries(&ping.0), Err(Malformed::NotHttp2));
    let acknowledgement = Wire::default().frame(SETTINGS, 1, 0, &[]);
    assert_eq!(Client::silent().tries(&acknowledgement.0), Err(Malformed::NotHttp2));
}

#[test]
fn a_body_before_its_head_is_refused() {
    let mut client = Client::greeted(&[]);
    let id = client.asks(GET);
    client.sent();
    client.hears(Wire::default().data(0, id, b"no head"));
    assert_eq!(client.take_events(), ["1: malformed frame"]);
    assert_eq!(client.sent(), [Sent { kind: RST_STREAM, flags: 0, stream: 1, payload: vec![0, 0, 0, 1] }]);
}

/// Stream 1 hears an answer that breaks the rules; another goes on.
#[track_caller]
fn ends_stream(wire: Wire, reason: &str) {
    let mut client = Client::greeted(&[]);
    let (first, second) = (client.asks(GET), client.asks(GET));
    client.sent();
    client.hears(wire);
    assert_eq!(client.take_events().last().map(String::as_str), Some(&*format!("1: malformed {reason}")));
    assert_eq!(
        client.sent(),
        [Sent { kind: RST_STREAM, flags: 0, stream: first, payload: vec![0, 0, 0, 1] }]
    );
    client.hears(Wire::default().headers(END_STREAM, second, &[(":status", "200")]));
    assert_eq!(client.take_events(), ["3: 200", "3: end"]);
}

#[test]
fn a_malformed_answer_ends_its_stream_only() {
    let head = |fields: &[(&str, &str)]| Wire::default().headers(0, 1, fields);
    let ok = (":status", "200");
    ends_stream(head(&[("a", "1")]), "status-line");
    ends_stream(head(&[(":status", "20")]), "status-line");
    ends_stream(head(&[(":status", "099")]), "status-line");
    ends_stream(head(&[ok, ok]), "status-line");
    ends_stream(head(&[("a", "1"), ok]), "status-line");
    ends_stream(head(&[ok, (":path", "/")]), "status-line");
    ends_stream(head(&[(":status", "101")]), "unasked-upgrade");
    ends_stream(Wire::default().headers(END_STREAM, 1, &[(":status", "100")]), "status-line");
    ends_stream(head(&[ok, ("Server", "x")]), "header-line");
    ends_stream(head(&[ok, ("a b", "x")]), "header-line");
    ends_stream(head(&[ok, ("", "x")]), "header-line");
    ends_stream(head(&[ok, ("a", "x\r\nb: c")]), "header-line");
    ends_stream(head(&[ok, ("connection", "close")]), "header-line");
    ends_stream(head(&[ok, ("transfer-encoding", "chunked")]), "header-line");
    ends_stream(head(&[ok, ("content-length", "x")]), "content-length");
    ends_stream(head(&[ok, ("content-length", "1"), ("content-length", "2")]), "content-length-differs");
    let many: Vec<_> = std::iter::once(ok).chain((0..257).map(|_| ("a", "b"))).collect();
    ends_stream(head(&many), "too-many-headers");
    let five = [ok, ("content-length", "5")];
    ends_stream(Wire::default().headers(END_STREAM, 1, &five), "body-length");
    ends_stream(head(&five).data(0, 1, b"sixsix"), "body-length");
    ends_stream(head(&five).data(END_STREAM, 1, b"four"), "body-length");
    ends_stream(head(&five).headers(END_STREAM, 1, &[("t", "1")]), "body-length");
    ends_stream(head(&[(":status", "204")]).data(END_STREAM, 1, b"x"), "body-length");
    ends_stream(head(&[ok]).headers(0, 1, &[("t", "1")]), "frame");
    ends_stream(head(&[ok]).headers(END_STREAM, 1, &[(":status", "200")]), "status-line");
    ends_stream(head(&[ok]).window(1, 0), "frame");
}

#[test]
fn a_window_that_outgrows_its_bound_ends_the_stream() {
    let mut client = Client::greeted(&[(INITIAL_WINDOW_SIZE, 10)]);
    let id = client.asks(Request { body: &[0; 100], ..POST });
    client.sent();
    client.hears(Wire::default().window(id, 0x7fff_ffff));
    // The ten bytes that were sent made room for as many.
    assert_eq!(client.sent().iter().map(|sent| sent.payload.len()).collect::<Vec<_>>(), [90]);
    client.hears(Wire::default().window(id, 91));
    assert_eq!(client.take_events(), ["1: malformed flow-control"]);
    assert_eq!(client.sent(), [Sent { kind: RST_STREAM, flags: 0, stream: id, payload: vec![0, 0, 0, 3] }]);
}
