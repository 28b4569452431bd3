//! One connection under test, and the frames that it receives and sends.
//!
//! `Side` stands for either side. What it hears is leaked, so that events can be kept and compared.

use std::sync::Arc;

use stadium_rsocket::connection::{Closed, Violation};
use stadium_rsocket::frame::{
    self, Completes, ErrorCode, Frame, Interaction, More, Next, Payload, Setup, StreamId, Version, WantsLease,
};
use stadium_rsocket::{Config, Connection, Event, SetupOptions, Tag};

/// A connection, its clock, and what it has sent and nobody has looked at.
pub struct Side {
    pub connection: Connection,
    pub out: Vec<u8>,
    pub now_ms: u64,
}

/// A SETUP without anything special.
pub const SETUP: Setup<'static> = Setup {
    version: Version::V1_0,
    keepalive_interval_ms: 20_000,
    lifetime_ms: 90_000,
    lease: WantsLease::No,
    resume_token: None,
    metadata_mime: b"message/x.rsocket.composite-metadata.v0",
    data_mime: b"application/vnd.google.protobuf",
    payload: Payload { metadata: None, data: b"" },
};

impl Side {
    /// A server that no byte has reached.
    pub fn stranger(config: Config) -> Self {
        Self { connection: Connection::server(Arc::new(config), 0), out: Vec::new(), now_ms: 0 }
    }

    /// A server with a client that sent `setup` and was accepted.
    pub fn server_with(config: Config, setup: Setup<'_>) -> Self {
        let mut side = Self::stranger(config);
        assert!(matches!(side.hear(Frame::Setup(setup)), Some(Event::Setup(_))));
        side.connection.accept();
        side
    }

    /// A server with a client.
    pub fn server() -> Self {
        Self::server_with(Config::default(), SETUP)
    }

    /// A client whose SETUP has been sent.
    pub fn client_with(config: Config) -> Self {
        let mut side = Self::connecting(config);
        side.sent_frames();
        side
    }

    /// A client, with its SETUP still to be looked at.
    pub fn connecting(config: Config) -> Self {
        let mut out = Vec::new();
        let options = SetupOptions { resume_token: Some(b"token"), ..SetupOptions::default() };
        let connection = Connection::client(Arc::new(config), &options, 0, &mut out);
        Self { connection, out, now_ms: 0 }
    }

    /// A client.
    pub fn client() -> Self {
        Self::client_with(Config::default())
    }

    /// Gives the connection a frame, which it takes whole.
    pub fn hear(&mut self, frame: Frame<'_>) -> Option<Event<'static>> {
        let mut bytes = Vec::new();
        frame::encode(&frame, &mut bytes);
        self.hear_bytes(&bytes)
    }

    /// Gives the connection a frame that cannot be built.
    pub fn hear_raw(&mut self, stream: u32, kind: u8, flags: u16, body: &[u8]) -> Option<Event<'static>> {
        let mut bytes = vec![0; 3];
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.extend_from_slice(&(u16::from(kind) << 10 | flags).to_be_bytes());
        bytes.extend_from_slice(body);
        let length = (bytes.len() as u32 - 3).to_be_bytes();
        bytes[..3].copy_from_slice(&length[1..]);
        self.hear_bytes(&bytes)
    }

    /// Gives the connection bytes that it takes whole.
    pub fn hear_bytes(&mut self, bytes: &[u8]) -> Option<Event<'static>> {
        // A test is short: what it hears may stay.
        let bytes: &'static [u8] = Box::leak(bytes.into());
        let received = self.connection.receive(self.now_ms, bytes, &mut self.out);
        assert_eq!(received.used, bytes.len(), "{:?}", received.event);
        received.event
    }

    /// Everything that the connection has sent since the last look.
    pub fn sent_frames(&mut self) -> Vec<Frame<'static>> {
        let bytes: &'static [u8] = Box::leak(std::mem::take(&mut self.out).into());
        let mut at = 0;
        let mut frames = Vec::new();
        while let Some((frame, used)) = frame::split(&bytes[at..], frame::FRAME_BYTES_MAX).expect("a length")
        {
            frames.push(frame::decode(frame).expect("a frame"));
            at += used;
        }
        assert_eq!(at, bytes.len(), "whole frames");
        frames
    }

    /// The only frame that the connection has sent.
    pub fn sent_frame(&mut self) -> Frame<'static> {
        let frames = self.sent_frames();
        assert_eq!(frames.len(), 1, "{frames:?}");
        frames[0]
    }

    /// Asserts that the connection has sent nothing.
    pub fn is_silent(&mut self) {
        assert_eq!(self.sent_frames(), []);
    }

    /// Lets time pass, and does what is due at its end.
    pub fn wait(&mut self, ms: u64) -> Option<Event<'static>> {
        self.now_ms += ms;
        self.connection.advance(self.now_ms, &mut self.out)
    }

    /// Sends a request with `data`.
    pub fn ask(&mut self, interaction: Interaction, initial: u32, data: &[u8]) -> StreamId {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(data);
        let tag = Tag(77);
        self.connection
            .request(interaction, initial, Completes::No, tag, None, write, &mut self.out)
            .expect("a request can be sent")
    }

    /// Sends a value.
    pub fn say(&mut self, stream: u32, completes: Completes, data: &[u8]) {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(data);
        let (stream, out) = (StreamId(stream), &mut self.out);
        self.connection.payload(stream, completes, None, write, out).expect("a value can be sent");
    }

    /// Asserts that the connection has ended with an ERROR of `code` on stream 0, and hears nothing more.
    #[track_caller]
    pub fn ended(&mut self, event: Option<Event<'_>>, code: ErrorCode) -> Violation {
        let Some(Event::Closed(Closed::Violation(violation))) = event else { panic!("{event:?}") };
        let frames = self.sent_frames();
        let Some(Frame::Error { stream: StreamId::CONNECTION, code: sent, data }) = frames.last() else {
            panic!("{frames:?}")
        };
        assert_eq!(*sent, code);
        assert_eq!(*data, violation.to_string().as_bytes());
        assert!(self.connection.is_closed());
        assert_eq!(self.hear(request_response(1, b"late")), None);
        self.is_silent();
        violation
    }
}

pub fn payload(data: &[u8]) -> Payload<'_> {
    Payload { metadata: None, data }
}

pub fn request_response(stream: u32, data: &[u8]) -> Frame<'_> {
    Frame::RequestResponse { stream: StreamId(stream), more: More::Whole, payload: payload(data) }
}

pub fn request_stream(stream: u32, initial: u32) -> Frame<'static> {
    let (stream, more, payload) = (StreamId(stream), More::Whole, payload(b"ask"));
    Frame::RequestStream { stream, more, initial, payload }
}

pub fn request_channel(stream: u32, initial: u32) -> Frame<'static> {
    let (stream, more, completes) = (StreamId(stream), More::Whole, Completes::No);
    Frame::RequestChannel { stream, more, completes, initial, payload: payload(b"first") }
}

/// PAYLOAD with a value.
pub fn next(stream: u32, data: &[u8]) -> Frame<'_> {
    let (stream, more, completes) = (StreamId(stream), More::Whole, Completes::No);
    Frame::Payload { stream, more, completes, next: Next::Value, payload: payload(data) }
}

/// PAYLOAD with the last value.
pub fn last(stream: u32, data: &[u8]) -> Frame<'_> {
    let (stream, more, completes) = (StreamId(stream), More::Whole, Completes::Yes);
    Frame::Payload { stream, more, completes, next: Next::Value, payload: payload(data) }
}

/// PAYLOAD that only completes.
pub fn complete(stream: u32) -> Frame<'static> {
    let (stream, more, completes) = (StreamId(stream), More::Whole, Completes::Yes);
    Frame::Payload { stream, more, completes, next: Next::Nothing, payload: payload(b"") }
}

pub fn error(stream: u32, code: ErrorCode, text: &str) -> Frame<'_> {
    Frame::Error { stream: StreamId(stream), code, data: text.as_bytes() }
}

/// The event of a value.
pub fn value(stream: u32, tag: u32, completes: Completes, data: &'static [u8]) -> Option<Event<'static>> {
    Some(Event::Payload {
        stream: StreamId(stream),
        tag: Tag(tag),
        next: Next::Value,
        completes,
        payload: payload(data).into(),
        more: More::Whole,
    })
}
