//! What an exchange costs without any socket: `cargo run -p stadium-http-client --example exchange_cost [--release]`.
//!
//! Each line is the best of ten rounds, in nanoseconds for one exchange.

use std::hint::black_box;
use std::time::Instant;

use stadium_http_client::{Asked, Event, H1, H2, H2Settings, Header, Request, write_request};

const EXCHANGES: u32 = 100_000;

/// As nginx answers with a body of 100 bytes.
const HEAD: &str = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 22 Nov 2026 23:15:00 GMT\r\n\
                    Content-Type: text/plain\r\nContent-Length: 100\r\nLast-Modified: Sun, 22 Nov 2026 20:00:00 GMT\r\n\
                    Connection: keep-alive\r\nETag: \"67411a2f-64\"\r\nAccept-Ranges: bytes\r\n\r\n";

fn main() {
    let headers =
        [Header { name: "User-Agent", value: b"stadium" }, Header { name: "Accept", value: b"*/*" }];
    let request =
        Request { authority: "127.0.0.1:8080", target: "/small", headers: &headers, ..Request::default() };
    let answer = format!("{HEAD}{}", "x".repeat(100)).into_bytes();
    let (mut h1, mut out) = (H1::new(), Vec::new());

    best("HTTP/1.1: an answer read", || {
        h1.begin(Asked::Answer);
        let used = h1.received(black_box(&answer), &mut |event| _ = black_box(event));
        assert_eq!(used, Ok(answer.len()));
    });
    best("HTTP/1.1: a request written", || {
        out.clear();
        write_request(&mut out, black_box(&request)).expect("it may be sent");
    });

    out.clear();
    let mut h2 = H2::new(H2Settings::default(), &mut out);
    let mut wire = Vec::new();
    frame(&mut wire, 4, 0, 0, &[]);
    h2.received(&wire, &mut out, &mut |_, _| ()).expect("settings");
    // The first answer fills the table; the others are indices, as servers send them.
    let mut first = vec![0x88];
    for (name, value) in
        [("server", "nginx/1.22.1"), ("date", "Sun, 22 Nov 2026 23:15:00 GMT"), ("etag", "\"6741\"")]
    {
        first.extend(
            [&[0x40, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat(),
        );
    }
    let mut block = first;
    best("HTTP/2: a request written, its answer read", || {
        out.clear();
        wire.clear();
        let stream = h2.request(black_box(&request), &mut out).expect("room");
        frame(&mut wire, 1, 4, stream.0, &block);
        frame(&mut wire, 0, 1, stream.0, &[b'x'; 100]);
        block.clear();
        block.extend([0x88, 0xc0, 0xbf, 0xbe]);
        let used = h2.received(&wire, &mut out, &mut |_, event| _ = black_box::<Event<'_>>(event));
        assert_eq!(used, Ok(wire.len()));
    });
}

fn frame(wire: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    wire.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    wire.extend_from_slice(&[kind, flags]);
    wire.extend_from_slice(&stream.to_be_bytes());
    wire.extend_from_slice(payload);
}

fn best(what: &str, mut exchange: impl FnMut()) {
    let round = || {
        let start = Instant::now();
        (0..EXCHANGES).for_each(|_| exchange());
        start.elapsed()
    };
    let least = std::iter::repeat_with(round).take(10).min().expect("ten rounds");
    println!("{what}: {} ns", least.as_nanos() / u128::from(EXCHANGES));
}
