//! Fuzz body: a connection hears anything, in any pieces, while its driver does anything. It must stay small,
//! send whole frames only, and hand out nothing for streams that are not open.
//!
//! The bytes are a script: the peer's input as raw bytes or as frames with fields of the script's
//! choice, and what the driver does. An ordinary function, so that the stable test `fuzz` of
//! crates/rsocket runs it.

use std::sync::Arc;

use stadium_rsocket::connection::{Assembly, Lease, Piece, Reassembly, ResumeConfig};
use stadium_rsocket::frame::{
    self, Completes, ErrorCode, Frame, Interaction, More, Next, Payload, Respond, Resume, StreamId, Version,
    kind,
};
use stadium_rsocket::{Config, Connection, Event, SetupOptions, Tag};

/// Bytes that a connection of this configuration may hold: unfinished payloads, kept frames and the table,
/// each with the slack of a vector that has just grown.
const MEMORY_BYTES_MAX: usize = 64 * 1024;

/// What is left of the script.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    fn bytes(&mut self) -> &'a [u8] {
        // Few, mostly: a script has many steps.
        let count = match self.byte() {
            byte @ 240.. => usize::from(byte),
            byte => usize::from(byte % 12),
        };
        let count = count.min(self.0.len());
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes
    }

    fn stream(&mut self) -> StreamId {
        match self.byte() {
            255 => StreamId(0x7FFF_FFFF),
            byte => StreamId(u32::from(byte % 24)),
        }
    }
}

/// Runs a script. Returns how many events there were.
pub fn rsocket_connection(data: &[u8]) -> usize {
    let mut script = Script(data);
    let settings = script.byte();
    let bit = |nth: u8| settings >> nth & 1 == 1;
    let config = Arc::new(Config {
        frame_bytes_max: 2_000,
        fragment_bytes: if bit(0) { 64 } else { 0 },
        payload_bytes_max: 4_000,
        streams_max: 8,
        lease: match (bit(1), bit(7)) {
            (false, _) => Lease::Off,
            (true, true) => Lease::Honour,
            (true, false) => Lease::Grant,
        },
        resume: bit(2).then_some(ResumeConfig { store_bytes_max: 3_000, session_ms: 500 }),
        reassembly: if bit(3) {
            Reassembly::Pieces(Arc::new(|_, _| Assembly::Pieces))
        } else {
            Reassembly::Whole
        },
        ..Config::default()
    });
    let mut out = Vec::new();
    let options = SetupOptions { resume_token: Some(b"t"), ..SetupOptions::default() };
    let connection = if bit(7) {
        Connection::client(config, &options, 0, &mut out)
    } else {
        let mut server = Connection::server(config.clone(), 0);
        if settings & 0x70 != 0 {
            let mut hello = Vec::new();
            drop(Connection::client(config, &options, 0, &mut hello));
            server.receive(0, &hello, &mut out);
            server.accept();
        }
        server
    };
    // Clients count 1, 3, 5; the peer of a client counts 2, 4, 6.
    let peers_next = if bit(7) { 0 } else { u32::MAX };
    let mut run =
        Run { connection, out, now_ms: 0, pending: Vec::new(), events: 0, peers_next, is_client: bit(7) };
    while !script.0.is_empty() {
        run.step(&mut script);
        run.check();
    }
    run.events
}

struct Run {
    connection: Connection,
    out: Vec<u8>,
    now_ms: u64,
    /// Bytes that the peer has sent and that were not a whole frame yet.
    pending: Vec<u8>,
    events: usize,
    /// The stream that the peer has opened last.
    peers_next: u32,
    is_client: bool,
}

impl Run {
    fn step(&mut self, script: &mut Script<'_>) {
        let stream = |script: &mut Script<'_>| script.stream();
        let completes = |byte: u8| if byte & 1 == 1 { Completes::Yes } else { Completes::No };
        match script.byte() % 16 {
            0 => {
                let (is_sent, bytes) = (script.byte() > 240, script.bytes());
                if is_sent {
                    self.hear(bytes);
                }
            }
            // A frame, with anything in it.
            1 if script.byte() > 200 => {
                let (id, what, flags) = (stream(script), script.byte(), script.byte());
                let kind = if what & 0x80 != 0 { what & 0x3F } else { 1 + what % kind::RESUME_OK };
                let body = script.bytes();
                let length = (body.len() as u32 + 6).to_be_bytes();
                let kind_and_flags = (u16::from(kind) << 10 | u16::from(flags) << 2 & 0x3FF).to_be_bytes();
                let mut frame = length[1..].to_vec();
                frame.extend_from_slice(&id.0.to_be_bytes());
                frame.extend_from_slice(&kind_and_flags);
                frame.extend_from_slice(body);
                self.hear(&frame);
            }
            // A frame that makes sense, on a stream that may.
            1..=6 => {
                let (what, flags) = (script.byte(), script.byte());
                let frame = self.sensible(what, flags, script);
                let mut bytes = Vec::new();
                frame::encode(&frame, &mut bytes);
                self.hear(&bytes);
            }
            7 => {
                let interactions = [
                    Interaction::RequestResponse,
                    Interaction::FireAndForget,
                    Interaction::RequestStream,
                    Interaction::RequestChannel,
                ];
                let (a, b) = (script.byte(), script.byte());
                let data = script.bytes();
                let interaction = interactions[usize::from(a % 4)];
                let write = |out: &mut Vec<u8>| out.extend_from_slice(data);
                let metadata = (b & 2 == 2).then_some(data);
                let (initial, out) = (u32::from(b >> 2), &mut self.out);
                let _ =
                    self.connection.request(interaction, initial, completes(b), Tag(7), metadata, write, out);
            }
            8 => {
                let (id, byte, data) = (stream(script), script.byte(), script.bytes());
                let write = |out: &mut Vec<u8>| out.extend_from_slice(data);
                let metadata = (byte & 2 == 2).then_some(data);
                let _ = self.connection.payload(id, completes(byte), metadata, write, &mut self.out);
            }
            9 => {
                let (id, byte, data) = (stream(script), script.byte(), script.bytes());
                let more = if byte & 2 == 2 { More::Follows } else { More::Whole };
                let piece = Piece { metadata: None, data, more, completes: completes(byte) };
                let _ = self.connection.piece(id, piece, &mut self.out);
            }
            10 => {
                let id = stream(script);
                let _ = self.connection.request_n(id, u32::from(script.byte()), &mut self.out);
            }
            11 => {
                let (id, byte) = (stream(script), script.byte());
                let _ = match byte % 3 {
                    0 => self.connection.cancel(id, &mut self.out),
                    1 => self.connection.complete(id, &mut self.out),
                    _ => self.connection.error(id, ErrorCode::CANCELED, "no", &mut self.out),
                };
            }
            12 => {
                self.now_ms += u64::from(script.byte()) * 100;
                let event = self.connection.advance(self.now_ms, &mut self.out);
                self.events += usize::from(event.is_some());
            }
            13 => match script.byte() % 4 {
                0 => self.connection.accept(),
                1 => self.connection.grant_lease(1_000, 3, &mut self.out),
                2 => self.connection.metadata_push(b"m", &mut self.out),
                _ => {
                    let id = stream(script);
                    self.connection.pieces(id);
                }
            },
            14 if self.connection.resume_token().is_some() => {
                self.pending.clear();
                self.connection.suspend(self.now_ms);
                if self.is_client {
                    self.connection.resume_client(self.now_ms, &mut self.out);
                    self.hear(&[0, 0, 14, 0, 0, 0, 0, kind::RESUME_OK << 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                } else {
                    let resume = Resume {
                        version: Version::V1_0,
                        token: b"t",
                        last_received_server_position: 0,
                        first_available_client_position: 0,
                    };
                    let _ = self.connection.resume_server(&resume, self.now_ms, &mut self.out);
                }
            }
            _ => {
                if script.byte() > 250 {
                    self.connection.close(ErrorCode::CONNECTION_CLOSE, "moving", &mut self.out);
                }
            }
        }
    }

    /// A frame that an honest peer might send.
    fn sensible<'a>(&mut self, what: u8, flags: u8, script: &mut Script<'a>) -> Frame<'a> {
        let data = script.bytes();
        let payload = Payload { metadata: (flags & 1 == 1).then_some(&data[..data.len() / 2]), data };
        let more = if flags & 6 == 6 { More::Follows } else { More::Whole };
        let completes = if flags & 0x18 == 0x18 { Completes::Yes } else { Completes::No };
        let initial = u32::from(flags) + 1;
        if what % 12 < 4 {
            self.peers_next = self.peers_next.wrapping_add(2);
        }
        let stream = StreamId(self.peers_next);
        let open = script.stream();
        match what % 12 {
            0 => Frame::RequestResponse { stream, more, payload },
            1 => Frame::RequestFireAndForget { stream, more, payload },
            2 => Frame::RequestStream { stream, more, initial, payload },
            3 => Frame::RequestChannel { stream, more, completes, initial, payload },
            4 => Frame::RequestN { stream: open, n: initial },
            5 => Frame::Cancel { stream: open },
            6 => Frame::Payload { stream: open, more, completes, next: Next::Value, payload },
            7 => Frame::Payload { stream: open, more, completes, next: Next::Nothing, payload },
            8 => Frame::MetadataPush { metadata: data },
            9 => Frame::Lease { ttl_ms: 5_000, requests: initial, metadata: None },
            10 => Frame::Error { stream: StreamId(open.0.max(1)), code: ErrorCode::CANCELED, data },
            _ => {
                Frame::KeepAlive { respond: Respond::Yes, last_received_position: u64::from(flags) * 9, data }
            }
        }
    }

    /// The peer sends more.
    fn hear(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut at = 0;
        loop {
            let received = self.connection.receive(self.now_ms, &pending[at..], &mut self.out);
            let (used, event) = (received.used, received.event);
            assert!(used <= pending.len() - at);
            at += used;
            let Some(event) = event else {
                if used == 0 {
                    break;
                }
                continue;
            };
            self.events += 1;
            match event {
                Event::Request { stream, interaction, more, .. } => {
                    // A fire-and-forget has a stream only while its pieces come.
                    let is_open = interaction != Interaction::FireAndForget || more == More::Follows;
                    assert_eq!(self.connection.tag(stream).is_some(), is_open, "a request can be answered");
                    self.connection.set_tag(stream, Tag(7));
                }
                Event::Payload { tag, .. }
                | Event::Piece { tag, .. }
                | Event::Credit { tag, .. }
                | Event::Cancelled { tag, .. }
                | Event::Failed { tag, .. } => assert_eq!(tag, Tag(7), "the driver knows the stream"),
                Event::Closed(_) => assert!(!self.connection.is_open()),
                _ => {}
            }
        }
        self.pending = pending[at..].to_vec();
    }

    fn check(&mut self) {
        let mut rest = self.out.as_slice();
        while let Some((frame, used)) = frame::split(rest, frame::FRAME_BYTES_MAX).expect("our own length") {
            let decoded = frame::decode(frame).expect("our own frame");
            if let Frame::Payload { payload, .. } = decoded {
                assert!(payload.data.len() < 2_000);
            }
            rest = &rest[used..];
        }
        assert!(rest.is_empty(), "whole frames are sent");
        self.out.clear();
        assert!(self.connection.memory_bytes() < MEMORY_BYTES_MAX, "{}", self.connection.memory_bytes());
        assert!(self.connection.streams_open() <= 17);
        assert!(self.connection.streams().count() <= self.connection.streams_open());
    }
}
