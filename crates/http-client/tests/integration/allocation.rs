//! Nothing is allocated for an exchange once buffers and tables are warm.

use stadium_http_client::sse::EventStream;
use stadium_http_client::{Asked, Event, H1, H2, H2Settings, Header, Request, StreamId, write_request};

/// What `round` allocates after a thousand rounds.
fn allocated(mut round: impl FnMut(usize)) -> u64 {
    (0..1000).for_each(&mut round);
    let counted = allocation_counter::measure(|| (1000..2000).for_each(&mut round));
    counted.count_total
}

/// The counter counts: a round that allocates is seen.
#[test]
fn an_allocation_would_be_seen() {
    assert_eq!(allocated(|round| drop(std::hint::black_box(vec![round; 10]))), 1000);
}

#[test]
fn a_warm_exchange_over_http_1_allocates_nothing() {
    let counted = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: today\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nSum: 1\r\n\r\n";
    let headers =
        [Header { name: "Accept", value: b"*/*" }, Header { name: "User-Agent", value: b"stadium" }];
    let post = Request {
        method: "POST",
        authority: "a.test",
        headers: &headers,
        body: b"body",
        ..Request::default()
    };
    let (mut h1, mut out, mut bodies) = (H1::new(), Vec::new(), 0);
    let allocations = allocated(|round| {
        out.clear();
        write_request(&mut out, &post).expect("it may be sent");
        for answer in [&counted[..], chunked] {
            h1.begin(Asked::by(post.method));
            let cut = round % answer.len();
            let mut sink = |event: Event<'_>| {
                if let Event::Body(piece) = event {
                    bodies += piece.len();
                }
            };
            let used = h1.received(&answer[..cut], &mut sink).expect("well-formed");
            h1.received(&answer[used..], &mut sink).expect("well-formed");
            assert!(h1.is_idle());
        }
    });
    assert_eq!(allocations, 0);
    assert_eq!(bodies, 2000 * 10);
}

#[test]
fn a_warm_exchange_over_http_2_allocates_nothing() {
    let frame = |wire: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        wire.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        wire.extend_from_slice(&[kind, flags]);
        wire.extend_from_slice(&stream.to_be_bytes());
        wire.extend_from_slice(payload);
    };
    let (mut out, mut wire) = (Vec::new(), Vec::new());
    let mut h2 = H2::new(H2Settings::default(), &mut out);
    frame(&mut wire, 4, 0, 0, &[]);
    h2.received(&wire, &mut out, &mut |_, _| ()).expect("settings");
    let (mut seen, mut path, mut last) = (0usize, String::with_capacity(64), 0);
    let body = [b'x'; 40_000];
    let allocations = allocated(|round| {
        use std::fmt::Write;
        out.clear();
        wire.clear();
        path.clear();
        write!(path, "/vote?round={round}").expect("a String takes all");
        // One header is new each time: the tables of both sides turn over.
        let headers =
            [Header { name: "X-Round", value: path.as_bytes() }, Header { name: "Accept", value: b"*/*" }];
        let base = Request { authority: "a.test", target: &path, headers: &headers, ..Request::default() };
        // Two bodies are more than the windows: the second waits, in memory that an earlier one left.
        for request in [
            base,
            Request { method: "POST", body: &body, ..base },
            Request { method: "PUT", body: &body, ..base },
        ] {
            let StreamId(id) = h2.request(&request, &mut out).expect("room");
            last = id;
        }
        frame(&mut wire, 8, 0, 0, &80_000u32.to_be_bytes());
        for id in [last - 4, last, last - 2] {
            // :status 200, `server: x` with indexing, `x-round` with indexing and a value of its own.
            let value = path.as_bytes();
            let block = &mut [0u8; 64];
            block[..13].copy_from_slice(b"\x88\x76\x01x\x40\x07x-round");
            block[13] = value.len() as u8;
            block[14..14 + value.len()].copy_from_slice(value);
            frame(&mut wire, 1, 4, id, &block[..14 + value.len()]);
            frame(&mut wire, 0, 1, id, b"hello");
        }
        let used = h2.received(&wire, &mut out, &mut |_, event| {
            seen += match event {
                Event::Head(head) => head.headers.len(),
                Event::End { .. } => 1,
                _ => 0,
            };
        });
        assert_eq!(used, Ok(wire.len()));
        assert_eq!(h2.streams(), 0);
    });
    assert_eq!(allocations, 0);
    assert_eq!(seen, 2000 * 3 * 3);
}

#[test]
fn a_warm_event_stream_allocates_nothing() {
    let mut stream = EventStream::default();
    let mut seen = 0;
    let allocations = allocated(|round| {
        let bytes = b"id: 17\nevent: vote\ndata: first line\ndata: second\n\n";
        let (first, second) = bytes.split_at(round % bytes.len());
        for piece in [first, second] {
            stream.received(piece, &mut |event| seen += event.data.len()).expect("short");
        }
    });
    assert_eq!(allocations, 0);
    assert_eq!(seen, 2000 * "first line\nsecond".len());
}
