//! A real server, axum on hyper, speaks HTTP/1.1 and HTTP/2 with us over a loopback socket.
//! What they understand of each other is what the other tests cannot show.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use futures::stream;
use stadium_http_client::{Asked, Event, H1, H2, H2Settings, Request, StreamId, write_request};

/// Serves until the test's process ends.
fn server() -> SocketAddr {
    let chunks = || async {
        let pieces =
            (0..50).map(|at| Ok::<_, std::io::Error>(Bytes::from(format!("piece {at};").repeat(100))));
        Body::from_stream(stream::iter(pieces))
    };
    let hints = || async { ([("x-one", "1"), ("x-two", "2")], "small").into_response() };
    let router = Router::new()
        .route("/", get(hints))
        .route("/chunks", get(chunks))
        .route("/echo", post(|body: Bytes| async move { body }))
        .layer(axum::extract::DefaultBodyLimit::max(64 << 20));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            axum::serve(listener, router).await.expect("it serves");
        });
    });
    address
}

/// The contents of one answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    status: u16,
    one: Option<String>,
    body: Vec<u8>,
    whole: bool,
}

impl Answer {
    fn takes(&mut self, event: Event<'_>) {
        match event {
            Event::Head(head) => {
                self.status = head.status;
                self.one = head.header("X-One").map(|value| String::from_utf8_lossy(value).into_owned());
            }
            Event::Body(piece) => self.body.extend_from_slice(piece),
            Event::End { reusable } => self.whole = reusable,
            other => panic!("{other:?}"),
        }
    }
}

fn chunks() -> Vec<u8> {
    (0..50).flat_map(|at| format!("piece {at};").repeat(100).into_bytes()).collect()
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
    socket
}

#[test]
fn a_connection_over_http_1_is_used_again_and_again() {
    let mut socket = connect(server());
    let mut h1 = H1::new();
    let mut exchange = |method: &'static str, target: &'static str, body: &[u8]| {
        let mut out = Vec::new();
        let request = Request { method, authority: "localhost", target, body, ..Request::default() };
        write_request(&mut out, &request).expect("it may be sent");
        socket.write_all(&out).expect("sent");
        h1.begin(Asked::by(method));
        let (mut held, mut answer) = (Vec::new(), Answer::default());
        while !h1.is_idle() {
            let mut piece = [0; 5000];
            let count = socket.read(&mut piece).expect("in time");
            assert!(count > 0, "it keeps the connection");
            held.extend_from_slice(&piece[..count]);
            let used = h1.received(&held, &mut |event| answer.takes(event)).expect("well-formed");
            held.drain(..used);
        }
        assert!(held.is_empty() && answer.whole);
        (answer.status, answer.body)
    };
    assert_eq!(exchange("GET", "/", &[]), (200, b"small".to_vec()));
    assert_eq!(exchange("GET", "/chunks", &[]), (200, chunks()));
    assert_eq!(exchange("HEAD", "/", &[]), (200, vec![]));
    assert_eq!(exchange("POST", "/", &[]), (405, vec![]));
    let large: Vec<u8> = (0..300_000u32).map(|at| at as u8).collect();
    assert_eq!(exchange("POST", "/echo", &large), (200, large));
    assert_eq!(exchange("GET", "/nowhere", &[]), (404, vec![]));
}

#[test]
fn a_connection_over_http_2_carries_many_streams_at_once() {
    let mut socket = connect(server());
    let mut out = Vec::new();
    let mut h2 = H2::new(H2Settings::default(), &mut out);
    let large: Vec<u8> = (0..2_000_000u32).map(|at| (at % 253) as u8).collect();
    let base = Request { authority: "localhost", ..Request::default() };
    let mut asked = Vec::new();
    for round in 0..60 {
        let request = match round % 4 {
            0 => base,
            1 => Request { target: "/chunks", ..base },
            2 => Request { method: "HEAD", ..base },
            _ => Request { method: "POST", target: "/echo", body: &large[..round * 30_000], ..base },
        };
        asked.push((h2.request(&request, &mut out).expect("room"), round));
    }
    let mut answers: Vec<Answer> = asked.iter().map(|_| Answer::default()).collect();
    let (mut held, mut bytes) = (Vec::new(), vec![0; 40_000]);
    // It writes while it reads: a server that gets no more of us may still have much to send.
    socket.set_nonblocking(true).expect("a socket");
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while h2.streams() > 0 {
        assert!(std::time::Instant::now() < deadline, "{} streams open", h2.streams());
        let mut idle = true;
        match socket.write(&out) {
            Ok(count) => {
                idle &= count == 0;
                out.drain(..count);
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
        match socket.read(&mut bytes) {
            Ok(count) => {
                assert!(count > 0, "it keeps the connection");
                idle = false;
                held.extend_from_slice(&bytes[..count]);
                let mut sink = |StreamId(id): StreamId, event: Event<'_>| {
                    answers[(id as usize - 1) / 2].takes(event);
                };
                let used = h2.received(&held, &mut out, &mut sink).expect("well-formed");
                held.drain(..used);
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
        if idle {
            std::thread::yield_now();
        }
    }
    for (answer, (_, round)) in answers.iter().zip(&asked) {
        let expected = match round % 4 {
            0 => &b"small"[..],
            1 => &chunks(),
            2 => &[],
            _ => &large[..round * 30_000],
        };
        assert!(answer.whole && answer.status == 200, "{round}");
        assert!(answer.body == expected, "{round}: {} bytes", answer.body.len());
        assert_eq!(answer.one.is_some(), round % 2 == 0);
    }
}
