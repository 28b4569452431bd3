//! Nothing is allocated for a message once tables and buffers are warm.
//!
//! What comes in fragments is put together in memory of its own and is not looked at here.

use std::sync::Arc;

use stadium_rsocket::connection::ResumeConfig;
use stadium_rsocket::frame::{Completes, Frame, Interaction, More, Payload, StreamId, encode};
use stadium_rsocket::metadata::{Mime, entries, find, routes, write_entry, write_route};
use stadium_rsocket::{Config, Connection, Event, SetupOptions, Tag};

struct Pair {
    client: Connection,
    server: Connection,
    up: Vec<u8>,
    down: Vec<u8>,
    metadata: Vec<u8>,
}

impl Pair {
    fn new(config: Config) -> Self {
        let config = Arc::new(config);
        let (mut up, mut down) = (Vec::with_capacity(1 << 20), Vec::with_capacity(1 << 20));
        let options = SetupOptions { resume_token: Some(b"token"), ..SetupOptions::default() };
        let client = Connection::client(config.clone(), &options, 0, &mut up);
        let mut server = Connection::server(config, 0);
        assert!(matches!(server.receive(0, &up, &mut down).event, Some(Event::Setup(_))));
        server.accept();
        up.clear();
        let mut metadata = Vec::new();
        write_route(&mut metadata, "geo/Store");
        Self { client, server, up, down, metadata }
    }

    /// So many requests at a time, each answered.
    fn rounds(&mut self, at_a_time: u32) {
        let message = |out: &mut Vec<u8>| out.extend_from_slice(&[7; 48]);
        for tag in 0..at_a_time {
            let (interaction, metadata) = (Interaction::RequestResponse, Some(&*self.metadata));
            self.client
                .request(interaction, 1, Completes::Yes, Tag(tag), metadata, message, &mut self.up)
                .expect("room");
        }
        // Half is answered at once, half afterwards.
        let mut late = [StreamId(0); 256];
        let mut lates = 0;
        let mut at = 0;
        while at < self.up.len() {
            let received = self.server.receive(1, &self.up[at..], &mut self.down);
            at += received.used;
            let Some(Event::Request { stream, payload, .. }) = received.event else { panic!("a request") };
            let route = find(payload.metadata(), Mime::ROUTING).expect("a route");
            assert_eq!(routes(route).next(), Some(Ok("geo/Store")));
            if stream.0 % 4 == 1 {
                self.server.payload(stream, Completes::Yes, None, message, &mut self.down).expect("open");
            } else {
                late[lates] = stream;
                lates += 1;
            }
        }
        for &stream in &late[..lates] {
            self.server.payload(stream, Completes::Yes, None, message, &mut self.down).expect("open");
        }
        at = 0;
        let mut answers = 0;
        while at < self.down.len() {
            let received = self.client.receive(1, &self.down[at..], &mut self.up);
            at += received.used;
            answers += u32::from(received.event.is_some());
        }
        assert_eq!(answers, at_a_time);
        self.up.clear();
        self.down.clear();
    }
}

#[test]
fn requests_and_answers_allocate_nothing() {
    let mut pair = Pair::new(Config::default());
    for _ in 0..10 {
        pair.rounds(200);
    }
    let counted = allocation_counter::measure(|| {
        for at_a_time in [1, 200, 17, 200, 3] {
            pair.rounds(at_a_time);
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_stream_allocates_nothing_for_a_message() {
    let mut pair = Pair::new(Config::default());
    let mut bytes = Vec::new();
    for stream in 0..100 {
        let (stream, payload) = (StreamId(1 + 2 * stream), Payload { metadata: None, data: b"tick" });
        encode(&Frame::RequestStream { stream, more: More::Whole, initial: 1_000_000, payload }, &mut bytes);
    }
    let mut at = 0;
    while at < bytes.len() {
        at += pair.server.receive(1, &bytes[at..], &mut pair.down).used;
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..100 {
            for stream in 0..100 {
                let write = |out: &mut Vec<u8>| out.extend_from_slice(&[7; 48]);
                let (stream, out) = (StreamId(1 + 2 * stream), &mut pair.down);
                // The last request leaves its place with the next bytes that come.
                pair.server.payload(stream, Completes::No, None, write, out).expect("credit");
            }
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_session_allocates_nothing_for_a_message_that_is_acknowledged() {
    let resume = Some(ResumeConfig { store_bytes_max: 1 << 16, session_ms: 1_000 });
    let mut pair = Pair::new(Config { resume, keepalive_interval_ms: 10, ..Config::default() });
    let keep_alive = |pair: &mut Pair, now_ms| {
        assert_eq!(pair.client.advance(now_ms, &mut pair.up), None);
        pair.server.receive(now_ms, &pair.up, &mut pair.down);
        pair.client.receive(now_ms, &pair.down, &mut pair.up);
        pair.up.clear();
        pair.down.clear();
    };
    for nth in 0..20 {
        pair.rounds(100);
        keep_alive(&mut pair, nth * 10);
    }
    let counted = allocation_counter::measure(|| {
        pair.rounds(100);
        keep_alive(&mut pair, 200);
    });
    // The table of streams is given back while none is open, and made anew: that is all, and not for each.
    assert!(counted.count_total <= 20, "{counted:?}");
}

#[test]
fn fragments_are_sent_without_allocation() {
    let mut pair = Pair::new(Config { fragment_bytes: 1_024, ..Config::default() });
    let data = vec![1; 100_000];
    let mut send = || {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(&data);
        let (interaction, tag) = (Interaction::FireAndForget, Tag(0));
        pair.client.request(interaction, 1, Completes::Yes, tag, None, write, &mut pair.up).expect("room");
        pair.up.clear();
    };
    send();
    assert_eq!(allocation_counter::measure(send).count_total, 0);
}

#[test]
fn metadata_is_read_and_written_without_allocation() {
    let mut out = Vec::with_capacity(1_000);
    let counted = allocation_counter::measure(|| {
        write_route(&mut out, "geo/Store");
        write_entry(&mut out, Mime::Named(b"message/x.stadium.deadline.v1"), &[0, 0, 1, 0]);
        assert_eq!(entries(&out).filter(Result::is_ok).count(), 2);
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(counted.count_total, 1);
}
