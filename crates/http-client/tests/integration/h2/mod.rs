//! HTTP/2 as servers speak it, and as they should not: RFC 9113, section by section.
//! What must be refused is in [`refused`].

mod refused;
mod wire;

use proptest::prelude::*;
use stadium_http_client::{Header, NotSent, Request, Unsendable};
use wire::*;

const GET: Request<'static> =
    Request { method: "GET", scheme: "http", authority: "", target: "/", headers: &[], body: &[] };
const POST: Request<'static> = Request { method: "POST", ..GET };

const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;

#[test]
fn the_preface_refuses_push_and_opens_the_windows() {
    let mut client = Client::silent();
    let sent = client.sent();
    let pair = |name: u16, value: u32| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    assert_eq!((sent[0].kind, sent[0].flags, sent[0].stream), (SETTINGS, 0, 0));
    assert_eq!(sent[0].payload, [pair(2, 0), pair(4, 1 << 20), pair(6, 65_536)].concat());
    assert_eq!((sent[1].kind, sent[1].stream), (WINDOW_UPDATE, 0));
    assert_eq!(sent[1].payload, ((16u32 << 20) - 65_535).to_be_bytes());
    assert_eq!(sent.len(), 2);
}

#[test]
fn an_answer_is_reported_as_head_body_trailers_end() {
    let mut client = Client::greeted(&[]);
    let id = client.asks(GET);
    let sent = client.sent();
    assert_eq!((sent.len(), sent[0].kind, sent[0].flags), (1, HEADERS, END_STREAM | END_HEADERS));
    client.hears(
        Wire::default()
            .headers(0, id, &[(":status", "103"), ("link", "</a>")])
            .headers(0, id, &[(":status", "200"), ("server", "x"), ("content-length", "7")])
            .data(0, id, b"sta")
            .frame(DATA, PADDED, id, b"\x04dium\0\0\0\0")
            .headers(END_STREAM, id, &[("sum", "1")]),
    );
    let expected =
        ["1: 200 server=x content-length=7", "1: body sta", "1: body dium", "1: trailers sum=1", "1: end"];
    assert_eq!(client.take_events(), expected);
    assert!(client.sent().is_empty());
    assert_eq!(client.h2.streams(), 0);
}

#[test]
fn streams_are_answered_in_any_order() {
    let mut client = Client::greeted(&[]);
    let (first, second) = (client.asks(GET), client.asks(Request { method: "HEAD", ..GET }));
    assert_eq!((first, second), (1, 3));
    client.hears(
        Wire::default()
            .headers(0, first, &[(":status", "200")])
            .headers(END_STREAM, second, &[(":status", "200"), ("content-length", "9")])
            .data(END_STREAM, first, b"late"),
    );
    assert_eq!(
        client.take_events(),
        ["1: 200", "3: 200 content-length=9", "3: end", "1: body late", "1: end"]
    );
}

#[test]
fn a_head_may_be_padded_prioritised_and_continued() {
    let mut client = Client::greeted(&[]);
    let id = client.asks(GET);
    let block = block(&[(":status", "200"), ("a", "1")]);
    let first = [&[2, 0, 0, 0, 0, 9][..], &block[..5], &[0, 0]].concat();
    client.hears(
        Wire::default()
            .frame(HEADERS, PADDED | 0x20 | END_STREAM, id, &first)
            .frame(CONTINUATION, 0, id, &block[5..7])
            .frame(CONTINUATION, 0, id, &[])
            .frame(CONTINUATION, END_HEADERS, id, &block[7..]),
    );
    assert_eq!(client.take_events(), ["1: 200 a=1", "1: end"]);
}

#[test]
fn settings_and_pings_are_acknowledged_and_extensions_ignored() {
    let mut client = Client::silent();
    client.out.clear();
    assert!(!client.h2.is_greeted());
    client.hears(
        Wire::default()
            .settings(&[(0x99, 7)])
            .frame(SETTINGS, 1, 0, &[])
            .frame(PING, 0, 0, b"12345678")
            .frame(PING, 1, 0, b"87654321")
            .frame(2, 0, 5, &[0; 5])
            .frame(0xbe, 0xff, 9, b"grease"),
    );
    let sent = client.sent();
    assert_eq!(sent[0], Sent { kind: SETTINGS, flags: 1, stream: 0, payload: vec![] });
    assert_eq!(sent[1], Sent { kind: PING, flags: 1, stream: 0, payload: b"12345678".to_vec() });
    assert_eq!(sent.len(), 2);
    assert!(client.h2.is_greeted());
}

#[test]
fn a_server_announces_how_many_streams_it_takes() {
    let mut client = Client::silent();
    for _ in 0..100 {
        client.asks(GET);
    }
    assert!(!client.h2.can_open(), "before the settings, a hundred");
    let mut client = Client::greeted(&[(MAX_CONCURRENT_STREAMS, 2)]);
    let first = client.asks(GET);
    client.asks(GET);
    assert_eq!(client.h2.request(&GET, &mut client.out), Err(NotSent::Full));
    client.hears(Wire::default().headers(END_STREAM, first, &[(":status", "204")]));
    assert_eq!(client.asks(GET), 5);
}

#[test]
fn requests_that_cannot_be_sent_leave_no_trace() {
    let mut client = Client::greeted(&[]);
    let evil = [Header { name: "a", value: b"\r\n" }];
    let refused = client.h2.request(&Request { headers: &evil, ..GET }, &mut client.out);
    assert_eq!(refused, Err(NotSent::Unsendable(Unsendable::HeaderValue)));
    assert_eq!(
        client.h2.request(&Request { method: "CONNECT", ..GET }, &mut client.out),
        Err(NotSent::Connect)
    );
    assert!(client.sent().is_empty());
    assert_eq!(client.asks(GET), 1);
}

#[test]
fn what_belongs_to_a_connection_is_not_sent() {
    let mut client = Client::greeted(&[]);
    let headers = [
        Header { name: "Connection", value: b"keep-alive" },
        Header { name: "Host", value: b"h" },
        Header { name: "TE", value: b"gzip" },
        Header { name: "Transfer-Encoding", value: b"chunked" },
    ];
    client.asks(Request { headers: &headers, ..GET });
    let [ref sent] = client.sent()[..] else { panic!("one frame") };
    // :method, :scheme and :path from the static table; :authority as a literal, kept.
    assert_eq!(sent.payload, [0x82, 0x86, 0x41, 1, b'h', 0x84]);
}

/// 6.9: what is sent is what the windows admit, of the stream and of the connection.
#[test]
fn a_long_body_follows_the_windows() {
    let mut client = Client::greeted(&[(INITIAL_WINDOW_SIZE, 30_000)]);
    let body: Vec<u8> = (0..200_000u32).map(|at| (at % 251) as u8).collect();
    let (first, second) =
        (client.asks(Request { body: &body, ..POST }), client.asks(Request { body: &body, ..POST }));
    let mut got = [Vec::new(), Vec::new()];
    let mut ended = 0;
    let mut take = |client: &mut Client| {
        let mut count = 0;
        for sent in client.sent().into_iter().filter(|sent| sent.kind == DATA) {
            assert!(sent.payload.len() <= 16_384);
            count += sent.payload.len();
            got[usize::from(sent.stream == second)].extend_from_slice(&sent.payload);
            ended += usize::from(sent.flags == END_STREAM);
        }
        count
    };
    // Each stream's window; then the rest of the connection's 65,535.
    assert_eq!(take(&mut client), 60_000);
    client.hears(Wire::default().window(first, 1 << 20));
    assert_eq!(take(&mut client), 5_535);
    client.hears(Wire::default().window(second, 10));
    assert_eq!(take(&mut client), 0);
    client.hears(Wire::default().window(0, 1_000));
    assert_eq!(take(&mut client), 1_000);
    // The settings change both windows by the difference, also below zero.
    client.hears(Wire::default().settings(&[(INITIAL_WINDOW_SIZE, 0)]).window(0, 1 << 20));
    take(&mut client);
    client.hears(Wire::default().settings(&[(INITIAL_WINDOW_SIZE, 1 << 20), (MAX_FRAME_SIZE, 1 << 14)]));
    take(&mut client);
    assert_eq!(got, [body.clone(), body]);
    assert_eq!(ended, 2);
}

/// 8.1: a server may answer before it has read the request.
#[test]
fn an_early_answer_ends_the_upload() {
    let mut client = Client::greeted(&[(INITIAL_WINDOW_SIZE, 10)]);
    let id = client.asks(Request { body: &[7; 1000], ..POST });
    client.sent();
    client.hears(Wire::default().headers(END_STREAM, id, &[(":status", "413")]));
    assert_eq!(client.take_events(), ["1: 413", "1: end"]);
    assert_eq!(client.sent(), [Sent { kind: RST_STREAM, flags: 0, stream: id, payload: vec![0, 0, 0, 8] }]);
    client.hears(Wire::default().window(id, 100).window(0, 100));
    assert!(client.sent().is_empty());
}

#[test]
fn receive_windows_are_opened_again_in_large_steps() {
    let mut client = Client::greeted(&[]);
    let id = client.asks(GET);
    client.sent();
    client.hears(Wire::default().headers(0, id, &[(":status", "200")]));
    let (mut received, mut of_stream, mut of_connection, mut updates) = (0u32, 0u32, 0u32, 0);
    for _ in 0..2000 {
        client.hears(Wire::default().data(0, id, &[0; 16_384]));
        received += 16_384;
        for sent in client.sent() {
            assert_eq!(sent.kind, WINDOW_UPDATE);
            let increment = u32::from_be_bytes(sent.payload.try_into().expect("four bytes"));
            *if sent.stream == 0 { &mut of_connection } else { &mut of_stream } += increment;
            updates += 1;
        }
        assert!(received - of_stream <= 1 << 19 && received - of_connection <= 8 << 20);
    }
    assert!(updates < 80, "{updates}");
}

#[test]
fn a_server_that_goes_away_reports_what_it_left_undone() {
    let mut client = Client::greeted(&[]);
    let (first, second, third) = (client.asks(GET), client.asks(GET), client.asks(GET));
    client.hears(
        Wire::default()
            .frame(RST_STREAM, 0, second, &7u32.to_be_bytes())
            .frame(GOAWAY, 0, 0, &[0, 0, 0, first as u8, 0, 0, 0, 11, b'w', b'h', b'y'])
            .headers(END_STREAM, first, &[(":status", "200")])
            .headers(END_STREAM, third, &[(":status", "200")]),
    );
    let expected = ["3: reset 7 No", "0: go away 11", "5: reset 11 No", "1: 200", "1: end, closing"];
    assert_eq!(client.take_events(), expected);
    assert_eq!(client.h2.request(&GET, &mut client.out), Err(NotSent::Closing));
}

#[test]
fn a_stream_given_up_is_heard_of_no_more() {
    let mut client = Client::greeted(&[]);
    let (first, second) = (client.asks(GET), client.asks(GET));
    client.sent();
    client.h2.reset(stadium_http_client::StreamId(first), &mut client.out);
    client.h2.reset(stadium_http_client::StreamId(first), &mut client.out);
    assert_eq!(
        client.sent(),
        [Sent { kind: RST_STREAM, flags: 0, stream: first, payload: vec![0, 0, 0, 8] }]
    );
    // What was under way still changes the decompression: the second answer leans on the first.
    let status_first = [0x88, 0x40, 1, b'a', 1, b'1'];
    client.hears(
        Wire::default()
            .frame(HEADERS, END_HEADERS, first, &status_first)
            .data(END_STREAM, first, b"late")
            .frame(RST_STREAM, 0, first, &[0; 4])
            .frame(HEADERS, END_HEADERS | END_STREAM, second, &[0x88, 0xbe]),
    );
    assert_eq!(client.take_events(), ["3: 200 a=1", "3: end"]);
}

#[test]
fn a_close_is_reported_to_every_open_stream() {
    let mut client = Client::greeted(&[]);
    let (first, _second) = (client.asks(GET), client.asks(GET));
    client.hears(Wire::default().headers(0, first, &[(":status", "200")]));
    client.take_events();
    let mut reported = Vec::new();
    client.h2.ended(&mut |stream, event| reported.push(format!("{} {event:?}", stream.0)));
    assert_eq!(reported, ["1 Malformed(Truncated)", "3 Malformed(NoAnswer)"]);
    assert!(!client.h2.is_reusable());
}

#[test]
fn a_head_longer_than_a_frame_is_continued() {
    let mut client = Client::greeted(&[]);
    let value = vec![0xff; 50_000];
    let headers = [Header { name: "x-long", value: &value }];
    client.asks(Request { headers: &headers, ..GET });
    let sent = client.sent();
    let kinds: Vec<(u8, u8)> = sent.iter().map(|sent| (sent.kind, sent.flags)).collect();
    let continued = (CONTINUATION, 0);
    assert_eq!(kinds, [(HEADERS, END_STREAM), continued, continued, (CONTINUATION, END_HEADERS)]);
    let block: Vec<u8> = sent.iter().flat_map(|sent| &sent.payload).copied().collect();
    assert!(block.ends_with(&value));
}

proptest! {
    #[test]
    fn cuts_change_nothing(cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..10)) {
        let script = Wire::default()
            .settings(&[(MAX_CONCURRENT_STREAMS, 10)])
            .headers(0, 1, &[(":status", "200"), ("content-length", "5")])
            .frame(HEADERS, END_STREAM, 3, &block(&[(":status", "404")])[..6])
            .frame(CONTINUATION, END_HEADERS, 3, &block(&[(":status", "404")])[6..])
            .frame(DATA, PADDED, 1, b"\x02hello\0\0")
            .frame(PING, 0, 0, b"12345678")
            .headers(END_STREAM, 1, &[("t", "1")])
            .frame(GOAWAY, 0, 0, &[0; 8]);
        let run = |ends: &[usize]| {
            let mut client = Client::silent();
            client.asks(GET);
            client.asks(GET);
            client.asks(GET);
            let mut used = 0;
            for &end in ends {
                used += client.tries(&script.0[used..end]).expect("well-formed");
            }
            assert_eq!(used, script.0.len());
            (client.take_events(), client.sent())
        };
        let whole = run(&[script.0.len()]);
        prop_assert_eq!(whole.0.len(), 8);
        let every: Vec<usize> = (1..=script.0.len()).collect();
        prop_assert_eq!(&run(&every), &whole);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(script.0.len() + 1)).collect();
        at.push(script.0.len());
        at.sort_unstable();
        prop_assert_eq!(&run(&at), &whole);
    }
}
