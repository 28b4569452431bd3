//! The engine's WebSocket, event streams, HTTP/2 and plain TCP, against servers that behave and
//! servers that do not. Each test states what its server does, byte by byte where it matters, and
//! which figures must come of it.

use crate::web;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use web::{Peer, errors, header, run, run_with, server, stamped};

const OPEN: &str = "{ websocket = { open = \"/feed\" } }";

#[test]
fn messages_go_both_ways_over_a_websocket() {
    let port = server(|peer| {
        let head = peer.upgrade("Sec-WebSocket-Protocol: news\r\n")?;
        assert_eq!(head[0], "GET /base/feed?user=7 HTTP/1.1");
        assert_eq!(header(&head, "x-token"), Some("t7"));
        assert_eq!(header(&head, "sec-websocket-version"), Some("13"));
        // Text in fragments with a ping between them, which must be answered before all else.
        assert_eq!(peer.read_frame()?, (1, b"hello 7".to_vec()));
        peer.frame(0x01, "h\u{e9}".as_bytes().split_last().unwrap().1)?;
        peer.frame(0x89, b"are you there")?;
        assert_eq!(peer.read_frame()?, (10, b"are you there".to_vec()));
        peer.frame(0x80, b"\xa9llo")?;
        // Bytes, long enough for the longer header.
        assert_eq!(peer.read_frame()?, (2, vec![b'x'; 300]));
        peer.frame(0x82, &[0xff; 200])?;
        for sequence in [1, 2, 2, 5, 4] {
            peer.frame(0x81, stamped(9, sequence).as_bytes())?;
        }
        assert_eq!(peer.read_frame()?, (8, 1000_u16.to_be_bytes().to_vec()));
        peer.frame(0x88, &1000_u16.to_be_bytes())
    });
    let xs = "x".repeat(300);
    let result = run(
        &format!("http://127.0.0.1:{port}/base"),
        1,
        &format!(
            "{{ set = {{ id = 7 }} }},
            {{ websocket = {{ open = \"/feed?user=${{id}}\", subprotocol = \"news\", headers = {{ x-token = \"t${{id}}\" }} }}, check = {{ status = 101 }} }},
            {{ websocket = {{ send = \"hello ${{id}}\", receive = 1 }}, check = {{ body = \"h\u{e9}llo\" }} }},
            {{ websocket = {{ send = \"{xs}\", binary = true, receive = 1 }}, check = {{ body = {{ bytes = 200 }} }} }},
            {{ think = \"100ms\" }},
            {{ websocket = {{ receive = 5 }} }},
            {{ websocket = {{ close = true }}, check = {{ status = 1000 }} }}"
        ),
    );
    assert_eq!(errors(&result), []);
    assert_eq!(result.total.answered, 5);
    let statuses: Vec<&str> = result.total.statuses.keys().map(String::as_str).collect();
    assert_eq!(statuses, ["1000", "101"], "of the close frame and of the upgrade");
    let messages = &result.messages;
    assert_eq!(
        (messages.received, messages.lost, messages.duplicates, messages.reordered),
        (4, 1, 1, 1),
        "number 3 is missing, 2 came twice, 4 late"
    );
    assert!(messages.latency.summary().max_ms < 2_000.0);
}

#[test]
fn an_upgrade_that_is_none_is_refused() {
    let upgrades: [(&str, &'static str); 6] = [
        ("websocket: upgrade refused, status 403", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"),
        (
            "websocket: wrong Sec-WebSocket-Accept",
            "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n",
        ),
        (
            "websocket: upgraded to another protocol",
            "HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        ),
        ("malformed: status-line", "SSH-2.0-OpenSSH_9.2p1\r\n"),
        ("closed by the target", ""),
        ("closed by the target", "HTTP/1.1 101 Swi"),
    ];
    for (expected, answer) in upgrades {
        let port = server(move |peer| {
            peer.head()?;
            peer.send(answer)
        });
        let result = run(&format!("http://127.0.0.1:{port}"), 1, OPEN);
        assert_eq!(errors(&result), [(expected, 1)], "{answer:?}");
        assert_eq!(result.total.answered, 0);
    }
}

#[test]
fn a_subprotocol_must_be_the_one_asked_for() {
    let port = server(|peer| peer.upgrade("Sec-WebSocket-Protocol: other\r\n").map(drop));
    let step = "{ websocket = { open = \"/\", subprotocol = \"news\" } }";
    let result = run(&format!("http://127.0.0.1:{port}"), 1, step);
    assert_eq!(errors(&result), [("websocket: subprotocol not agreed", 1)]);
}

/// What a server sends in answer to a message, and what the step makes of it.
type Fault = (&'static str, fn(&mut Peer) -> std::io::Result<()>);

#[test]
fn a_server_that_breaks_the_websocket_gets_the_reason_and_is_counted() {
    let faults: [Fault; 7] = [
        ("websocket: protocol broken", |peer| {
            peer.send([0x81, 0x80, 0, 0, 0, 0])?;
            assert_eq!(peer.read_frame()?, (8, 1002_u16.to_be_bytes().to_vec()), "it gets the reason");
            Ok(())
        }),
        ("websocket: protocol broken", |peer| peer.frame(0xc1, b"compressed")),
        ("websocket: protocol broken", |peer| peer.frame(0x80, b"of nothing")),
        ("websocket: a text that is not UTF-8", |peer| peer.frame(0x81, b"\xff")),
        ("websocket: message too large", |peer| peer.send([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0])),
        ("websocket: closed 1011", |peer| {
            peer.frame(0x88, &[0x03, 0xf3, b'o', b'h'])?;
            assert_eq!(peer.read_frame()?, (8, 1011_u16.to_be_bytes().to_vec()), "the code comes back");
            Ok(())
        }),
        ("closed by the target", |peer| peer.send([0x82, 50, 1, 2, 3])),
    ];
    for (expected, fault) in faults {
        let port = server(move |peer| {
            peer.upgrade("")?;
            peer.read_frame()?;
            fault(peer)
        });
        let steps = format!("{OPEN}, {{ websocket = {{ send = \"x\", receive = 1 }} }}");
        let result = run(&format!("http://127.0.0.1:{port}"), 1, &steps);
        assert_eq!(errors(&result), [(expected, 1)]);
        assert_eq!(result.total.answered, 1, "only the upgrade: {expected}");
    }
}

#[test]
fn a_reset_is_distinguished_from_an_end() {
    let upgraded = server(|peer| {
        peer.upgrade("")?;
        peer.reset()
    });
    let steps = format!("{OPEN}, {{ websocket = {{ send = \"x\", receive = 1 }} }}");
    assert_eq!(errors(&run(&format!("http://127.0.0.1:{upgraded}"), 1, &steps)), [("reset", 1)]);
    let plain = server(Peer::reset);
    let step = "{ tcp = { send = \"PING\", until = { end = true } } }";
    assert_eq!(errors(&run(&format!("tcp://127.0.0.1:{plain}"), 1, step)), [("reset", 1)]);
}

#[test]
fn a_websocket_outlives_a_step_that_took_too_long() {
    let port = server(|peer| {
        peer.upgrade("")?;
        assert_eq!(peer.read_frame()?.1, b"first");
        assert_eq!(peer.read_frame()?.1, b"second");
        peer.trickle(&[&[0x81, 6][..], b"answer"].concat(), 1)?;
        peer.until_closed();
        Ok(())
    });
    let steps = format!(
        "{OPEN}, {{ websocket = {{ send = \"first\", receive = 1 }}, timeout = \"100ms\", on_failure = \"continue\" }}, \
         {{ websocket = {{ send = \"second\", receive = 1 }}, check = {{ body = \"answer\" }} }}"
    );
    let result = run(&format!("http://127.0.0.1:{port}"), 1, &steps);
    assert_eq!(errors(&result), [("timeout", 1)]);
    assert_eq!(result.total.answered, 2);
}

#[test]
fn a_message_before_the_upgrade_is_reported_as_a_mistake() {
    let port = server(|peer| {
        peer.until_closed();
        Ok(())
    });
    let result = run(&format!("http://127.0.0.1:{port}"), 1, "{ websocket = { send = \"x\" } }");
    assert_eq!(errors(&result), [("websocket: not open", 1)]);
}

/// Each request is answered with what it carried as `Cookie`; `/login` sets two.
fn cookie_server() -> u16 {
    server(|peer| {
        loop {
            let head = peer.head()?;
            let carried = header(&head, "cookie").unwrap_or("none").to_owned();
            let set = if head[0].contains("/login") {
                "Set-Cookie: id=7; HttpOnly\r\nset-cookie: basket=1; Path=/cart\r\n"
            } else {
                ""
            };
            peer.send(format!("HTTP/1.1 200 OK\r\n{set}Content-Length: {}\r\n\r\n{carried}", carried.len()))?;
        }
    })
}

#[test]
fn a_user_carries_the_cookies_that_its_session_was_given() {
    let steps = "{ get = \"/\", check = { body = \"none\" } },
        { get = \"/login\", check = { body = \"none\" } },
        { get = \"/\", check = { body = \"id=7\" } },
        { get = \"/cart\", check = { body = \"id=7; basket=1\" } },
        { get = \"/cart\", headers = { Cookie = \"own=1\" }, check = { body = \"own=1\" } }";
    let result = run(&format!("http://127.0.0.1:{}", cookie_server()), 3, steps);
    assert_eq!(errors(&result), []);
    assert_eq!(result.total.answered, 15, "each of three users begins without any");
}

#[test]
fn cookies_can_be_left_alone() {
    let steps = "{ get = \"/login\" }, { get = \"/cart\", check = { body = \"none\" } }";
    let url = format!("http://127.0.0.1:{}", cookie_server());
    let result = run_with(&url, "cookies = false", 1, steps);
    assert_eq!(errors(&result), []);
}

#[test]
fn one_target_takes_requests_and_event_streams_of_one_user() {
    let connections = Arc::new(AtomicU32::new(0));
    let counted = connections.clone();
    let port = server(move |peer| {
        counted.fetch_add(1, Ordering::Relaxed);
        loop {
            let head = peer.head()?;
            match head[0].as_str() {
                "GET /page HTTP/1.1" => peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?,
                "GET /stream HTTP/1.1" => {
                    assert_eq!(header(&head, "accept"), Some("text/event-stream"));
                    peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")?;
                }
                other => panic!("{other}"),
            }
        }
    });
    let page = "{ get = \"/page\", check = { body = \"ok\" } }";
    let steps = format!(
        "{page}, {{ events = {{ get = \"/stream\", count = 1 }}, check = {{ body = \"1\" }} }}, {page}"
    );
    for (target, expected) in
        [("", 4), ("connections = \"per-request\"", 6), ("connections = { shared = 1 }", 3)]
    {
        connections.store(0, Ordering::Relaxed);
        let result = run_with(&format!("http://127.0.0.1:{port}"), target, 2, &steps);
        assert_eq!(errors(&result), []);
        assert_eq!(result.total.answered, 6, "{target}");
        assert_eq!(connections.load(Ordering::Relaxed), expected, "connections with {target:?}");
    }
}

#[test]
fn events_are_awaited_however_they_are_cut() {
    let port = server(|peer| {
        let head = peer.head()?;
        assert_eq!(header(&head, "accept"), Some("text/event-stream"));
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
            Transfer-Encoding: chunked\r\n\r\n"
            .to_vec();
        let events = format!(
            ": hello\n\ndata: {}\r\n\r\nevent: x\ndata: {}\n\ndata: a\ndata: b\n\n",
            stamped(3, 1),
            stamped(3, 3)
        );
        for piece in events.as_bytes().chunks(7) {
            answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            answer.extend_from_slice(piece);
            answer.extend_from_slice(b"\r\n");
        }
        peer.trickle(&answer, 11)?;
        // It never ends: the client has what it wants.
        peer.until_closed();
        Ok(())
    });
    let step = "{ events = { get = \"/e\", count = 3 }, check = { body = \"a\\nb\", status = 200 } }";
    let result = run(&format!("http://127.0.0.1:{port}"), 2, step);
    assert_eq!(errors(&result), []);
    assert_eq!(result.total.answered, 2);
    assert_eq!((result.messages.received, result.messages.lost), (4, 2));
}

#[test]
fn a_stream_that_is_none_is_a_failure() {
    let answers: [(&str, &'static str); 6] = [
        ("check: status below 400", "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno"),
        ("sse: no stream (204)", "HTTP/1.1 204 No Content\r\n\r\n"),
        (
            "sse: the answer is not text/event-stream",
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nno",
        ),
        (
            "sse: ended before the last event",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
        ),
        (
            "malformed: chunk",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ),
        ("closed by the target", ""),
    ];
    for (expected, answer) in answers {
        let port = server(move |peer| {
            peer.head()?;
            peer.send(answer)
        });
        let result = run(&format!("http://127.0.0.1:{port}"), 1, "{ events = { get = \"/e\", count = 2 } }");
        assert_eq!(errors(&result), [(expected, 1)], "{answer:?}");
    }
}

#[test]
fn an_event_without_an_end_is_not_kept_for_ever() {
    let port = server(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")?;
        loop {
            peer.send([b'x'; 65_536])?;
        }
    });
    let result = run(&format!("http://127.0.0.1:{port}"), 1, "{ events = { get = \"/e\", count = 1 } }");
    assert_eq!(errors(&result), [("sse: event too long", 1)]);
}

#[test]
fn answers_over_tcp_end_as_the_scenario_states() {
    let port = server(|peer| {
        peer.send("220 ready\r\n")?;
        assert_eq!(peer.line()?, "PING 4\n");
        peer.trickle(b"PONG 4\r\nmore", 3)?;
        assert_eq!(peer.line()?, "BYTES\n");
        peer.trickle(b"0123456789rest", 4)?;
        assert_eq!(peer.line()?, "END\n");
        peer.trickle(b"to the very end", 5)
    });
    let result = run(
        &format!("tcp://127.0.0.1:{port}"),
        1,
        "{ set = { n = 4 } },
        { tcp = { open = true } },
        { think = \"50ms\" },
        { tcp = { receive = \"\\r\\n\" }, check = { body = \"220 ready\\r\\n\" } },
        { tcp = { send = \"PING ${n}\\n\", until = \"\\r\\n\" }, check = { body = \"PONG 4\\r\\n\" } },
        { tcp = { receive = { bytes = 4 } }, check = { body = \"more\" } },
        { tcp = { send = \"BYTES\\n\" } },
        { tcp = { receive = { bytes = 10 } }, check = { body = \"0123456789\" } },
        { tcp = { send = \"END\\n\", until = { end = true } }, check = { body = { matches = \"to the very end$\" } } }",
    );
    assert_eq!(errors(&result), []);
    assert_eq!(result.total.answered, 7);
}

#[test]
fn failures_over_tcp_are_distinguished() {
    // Only the case that is to time out has a short time: a busy machine sends 16 MiB slowly.
    let faults: [(Fault, &str); 3] = [
        (("closed by the target", |peer| peer.send("PON")), "until = \"\\n\" }, timeout = \"60s\""),
        (
            ("timeout", |peer| {
                peer.send("PON")?;
                peer.until_closed();
                Ok(())
            }),
            "until = { bytes = 4 } }, timeout = \"1s\"",
        ),
        (
            ("answer too large", |peer| {
                loop {
                    peer.send(vec![b'x'; 1 << 20])?;
                }
            }),
            "until = \"\\n\" }, timeout = \"60s\"",
        ),
    ];
    for ((expected, fault), until) in faults {
        let port = server(move |peer| {
            peer.line()?;
            fault(peer)
        });
        let step = format!("{{ tcp = {{ send = \"PING\\n\", {until} }}");
        let result = run(&format!("tcp://127.0.0.1:{port}"), 1, &step);
        assert_eq!(errors(&result), [(expected, 1)]);
    }
}

#[test]
fn what_nobody_waited_for_has_a_bound_and_is_missed() {
    let port = server(|peer| {
        peer.send(vec![b'x'; 2 << 20])?;
        peer.until_closed();
        Ok(())
    });
    let result = run(
        &format!("tcp://127.0.0.1:{port}"),
        1,
        "{ tcp = { open = true } }, { think = \"300ms\" }, { tcp = { receive = \"\\n\" } }",
    );
    assert_eq!(errors(&result), [("tcp: more than 1 MiB came that no step waited for", 1)]);
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
/// `:status: 200`, from the static table (RFC 7541, appendix A).
const STATUS_200: u8 = 0x88;
const ENDS: u8 = 1;
const END_HEADERS: u8 = 4;

/// Takes the preface of a connection of HTTP/2, and sends settings.
fn greet(peer: &mut Peer, settings: &[u8]) -> std::io::Result<()> {
    assert_eq!(peer.exact(24)?, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    peer.send_h2(SETTINGS, 0, 0, settings)
}

/// The stream of the next request.
fn request(peer: &mut Peer) -> std::io::Result<u32> {
    loop {
        let (kind, flags, stream, _) = peer.h2_frame()?;
        if kind == HEADERS {
            assert_eq!(flags & (ENDS | END_HEADERS), ENDS | END_HEADERS);
            return Ok(stream);
        }
    }
}

fn answer(peer: &mut Peer, stream: u32) -> std::io::Result<()> {
    peer.send_h2(HEADERS, END_HEADERS, stream, &[STATUS_200])?;
    peer.send_h2(DATA, ENDS, stream, format!("stream {stream}").as_bytes())
}

const GET: &str = "{ get = \"/\", check = { body = { matches = \"^stream\" }, status = 200 } }";
const ONE: &str = "http = 2\nconnections = { shared = 1 }";

#[test]
fn users_share_a_connection_of_http2() {
    let connections = Arc::new(AtomicU32::new(0));
    let counted = connections.clone();
    let port = server(move |peer| {
        counted.fetch_add(1, Ordering::Relaxed);
        greet(peer, &[])?;
        // Nobody is answered before all have asked, and the last comes first.
        let streams = (0..5).map(|_| request(peer)).collect::<Result<Vec<_>, _>>()?;
        assert_eq!(streams, [1, 3, 5, 7, 9]);
        peer.send_h2(PING, 0, 0, b"12345678")?;
        while peer.h2_frame()? != (PING, 1, 0, b"12345678".to_vec()) {}
        for stream in streams.into_iter().rev() {
            answer(peer, stream)?;
        }
        peer.until_closed();
        Ok(())
    });
    let result = run_with(&format!("http://127.0.0.1:{port}"), ONE, 5, GET);
    assert_eq!(errors(&result), []);
    assert_eq!(result.total.answered, 5);
    assert_eq!(result.total.statuses.get("200"), Some(&5));
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[test]
fn the_server_announces_how_many_streams_it_takes() {
    let port = server(|peer| {
        // SETTINGS_MAX_CONCURRENT_STREAMS is 1.
        greet(peer, &[0, 3, 0, 0, 0, 1])?;
        let first = request(peer)?;
        // The second user waits: nothing comes until the first is answered.
        std::thread::sleep(std::time::Duration::from_millis(200));
        peer.send_h2(PING, 0, 0, b"12345678")?;
        loop {
            match peer.h2_frame()? {
                (HEADERS, ..) => panic!("a second stream at the same time"),
                (PING, 1, ..) => break,
                _ => {}
            }
        }
        answer(peer, first)?;
        let second = request(peer)?;
        answer(peer, second)?;
        peer.until_closed();
        Ok(())
    });
    let result = run_with(&format!("http://127.0.0.1:{port}"), ONE, 2, GET);
    assert_eq!(errors(&result), []);
    assert_eq!(result.total.answered, 2);
}

#[test]
fn a_server_that_goes_away_answers_what_it_promised() {
    let connections = Arc::new(AtomicU32::new(0));
    let counted = connections.clone();
    let port = server(move |peer| {
        greet(peer, &[])?;
        if counted.fetch_add(1, Ordering::Relaxed) > 0 {
            for _ in 0..2 {
                let stream = request(peer)?;
                answer(peer, stream)?;
            }
            peer.until_closed();
            return Ok(());
        }
        let first = request(peer)?;
        let second = request(peer)?;
        // The last stream that it will answer is the first.
        peer.send_h2(GOAWAY, 0, 0, &[0, 0, 0, first as u8, 0, 0, 0, 0])?;
        assert_eq!((first, second), (1, 3));
        answer(peer, first)?;
        peer.until_closed();
        Ok(())
    });
    let result = run_with(&format!("http://127.0.0.1:{port}"), ONE, 3, GET);
    assert_eq!(errors(&result), []);
    assert_eq!(result.total.answered, 3, "the first, and the others on a new connection");
    assert_eq!(result.generator.sent_again, 1, "the second");
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}

#[test]
fn a_stream_that_the_server_refuses_is_sent_again_and_not_for_ever() {
    for (refused, failures, again) in [(2, &[][..], 2), (100, &[("reset: REFUSED_STREAM", 1)], 3)] {
        let port = server(move |peer| {
            greet(peer, &[])?;
            for _ in 0..refused {
                let stream = request(peer)?;
                peer.send_h2(RST_STREAM, 0, stream, &[0, 0, 0, 7])?;
            }
            let stream = request(peer)?;
            answer(peer, stream)
        });
        // The server vouches that it did nothing, so that this goes for a POST too.
        let result = run_with(&format!("http://127.0.0.1:{port}"), "http = 2", 1, "{ post = \"/\" }");
        assert_eq!(errors(&result), failures);
        assert_eq!(result.generator.sent_again, again);
    }
}

#[test]
fn a_compressed_answer_is_expanded_for_what_reads_it() {
    let body = b"{\"token\":\"t7\"}";
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).expect("memory takes all");
    let gzip = encoder.finish().expect("memory takes all");
    for (compressed, failures) in [
        (gzip.clone(), &[][..]),
        (b"not compressed".to_vec(), &[("malformed: content-encoding", 1)]),
        (gzip[..gzip.len() - 4].to_vec(), &[("malformed: content-encoding", 1)]),
    ] {
        let port = server(move |peer| {
            let head = peer.head()?;
            assert_eq!(header(&head, "accept-encoding"), Some("gzip"));
            let length = compressed.len();
            peer.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
            ))?;
            peer.send(&compressed)
        });
        let step =
            "{ get = \"/\", headers = { Accept-Encoding = \"gzip\" }, extract = { token = \"$.token\" },
                      check = { body = { bytes = 14 }, holds = \"token == 't7'\" } }";
        let result = run(&format!("http://127.0.0.1:{port}"), 1, &step.replace("\n", " "));
        assert_eq!(errors(&result), failures);
    }
}

/// A server that answers the first request of its first connection, and does something else with the second.
fn fickle(second: fn(&mut Peer) -> std::io::Result<()>) -> u16 {
    let connections = AtomicU32::new(0);
    server(move |peer| {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        peer.head()?;
        peer.send(ok)?;
        if connections.fetch_add(1, Ordering::Relaxed) == 0 {
            return second(peer);
        }
        peer.head()?;
        peer.send(ok)
    })
}

#[test]
fn a_request_that_met_the_end_of_an_idle_connection_is_sent_again() {
    let ends: [fn(&mut Peer) -> std::io::Result<()>; 2] = [|peer| peer.head().map(drop), Peer::reset];
    for end in ends {
        let url = format!("http://127.0.0.1:{}", fickle(end));
        let result = run(&url, 1, "{ get = \"/\" }, { delete = \"/\" }, { get = \"/\" }");
        assert_eq!(errors(&result), []);
        assert_eq!((result.total.answered, result.generator.sent_again), (3, 1));
    }
}

#[test]
fn a_request_that_may_have_been_carried_out_is_not_sent_again() {
    let cut: fn(&mut Peer) -> std::io::Result<()> = |peer| {
        peer.head()?;
        peer.send("HTTP/1.1 20")
    };
    let closed: fn(&mut Peer) -> std::io::Result<()> = |peer| peer.head().map(drop);
    let failure = [("closed by the target", 1)];
    for (end, second, failure) in
        [(closed, "post", failure), (closed, "patch", failure), (cut, "get", [("malformed: truncated", 1)])]
    {
        let url = format!("http://127.0.0.1:{}", fickle(end));
        let result = run(&url, 1, &format!("{{ get = \"/\" }}, {{ {second} = \"/\" }}"));
        assert_eq!(errors(&result), failure);
        assert_eq!((result.total.answered, result.generator.sent_again), (1, 0));
    }
    // The first request of a connection did not meet the end of an idle one.
    let result = run(&format!("http://127.0.0.1:{}", server(closed)), 1, "{ get = \"/\" }");
    assert_eq!(errors(&result), failure);
    assert_eq!(result.generator.sent_again, 0);
}

#[test]
fn a_user_who_waits_no_longer_leaves_the_others_their_connection() {
    let port = server(|peer| {
        greet(peer, &[])?;
        let first = request(peer)?;
        let second = request(peer)?;
        loop {
            let (kind, _, stream, code) = peer.h2_frame()?;
            if kind == RST_STREAM {
                assert_eq!((stream, code), (first, vec![0, 0, 0, 8]), "CANCEL");
                break;
            }
        }
        answer(peer, second)?;
        peer.until_closed();
        Ok(())
    });
    // The other has all the time that a busy machine needs.
    let steps =
        "{ if = \"user() == 0\", then = [{ get = \"/\", timeout = \"200ms\" }], else = [{ get = \"/\" }] }";
    let result = run_with(&format!("http://127.0.0.1:{port}"), ONE, 2, steps);
    assert_eq!(errors(&result), [("timeout", 1)]);
    assert_eq!(result.total.answered, 1);
}

#[test]
fn http2_that_is_none_fails_all_who_wait() {
    let faults: [Fault; 4] = [
        ("malformed: not-http2", |peer| peer.send("HTTP/1.1 400 Bad Request\r\n\r\n")),
        ("closed by the target", |peer| {
            greet(peer, &[])?;
            request(peer).map(drop)
        }),
        ("reset: INTERNAL_ERROR", |peer| {
            greet(peer, &[])?;
            let stream = request(peer)?;
            peer.send_h2(RST_STREAM, 0, stream, &[0, 0, 0, 2])?;
            peer.until_closed();
            Ok(())
        }),
        ("reset", Peer::reset),
    ];
    for (expected, fault) in faults {
        let port = server(fault);
        let result = run_with(&format!("http://127.0.0.1:{port}"), "http = 2", 1, GET);
        assert_eq!(errors(&result), [(expected, 1)]);
        assert_eq!(result.total.answered, 0);
    }
}
