//! What a server of HTTP/2 puts on the wire, frame by frame, and a client that hears it.
//! Header blocks are plain literals, so that the tests do not lean on our own encoder.

use stadium_http_client::{Event, H2, H2Settings, Header, Malformed, Request, StreamId};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;

/// Frames as bytes.
#[derive(Clone, Default)]
pub struct Wire(pub Vec<u8>);

impl Wire {
    pub fn frame(mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Wire {
        self.0.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        self.0.extend_from_slice(&[kind, flags]);
        self.0.extend_from_slice(&stream.to_be_bytes());
        self.0.extend_from_slice(payload);
        self
    }

    pub fn settings(self, settings: &[(u16, u32)]) -> Wire {
        let pair = |(name, value): &(u16, u32)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
        self.frame(SETTINGS, 0, 0, &settings.iter().flat_map(pair).collect::<Vec<u8>>())
    }

    pub fn headers(self, flags: u8, stream: u32, fields: &[(&str, &str)]) -> Wire {
        self.frame(HEADERS, flags | END_HEADERS, stream, &block(fields))
    }

    pub fn data(self, flags: u8, stream: u32, data: &[u8]) -> Wire {
        self.frame(DATA, flags, stream, data)
    }

    pub fn window(self, stream: u32, increment: u32) -> Wire {
        self.frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
    }
}

/// A header block of plain literals.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            match text.len() {
                short @ 0..127 => block.push(short as u8),
                long => {
                    assert!((127..127 + (1 << 14)).contains(&long));
                    block.extend([127, (long - 127) as u8 | 0x80, ((long - 127) >> 7) as u8]);
                }
            }
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// A frame that the client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// A connection and the events that it reported.
pub struct Client {
    pub h2: H2,
    pub out: Vec<u8>,
    pub events: Vec<String>,
}

impl Client {
    /// With its preface sent and nothing heard.
    pub fn silent() -> Client {
        let mut out = Vec::new();
        let h2 = H2::new(H2Settings::default(), &mut out);
        assert!(out.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        out.drain(..24);
        Client { h2, out, events: Vec::new() }
    }

    /// Greeted by a server with these settings, and with nothing left to send.
    pub fn greeted(settings: &[(u16, u32)]) -> Client {
        let mut client = Client::silent();
        client.hears(Wire::default().settings(settings));
        client.out.clear();
        client
    }

    pub fn asks(&mut self, request: Request<'_>) -> u32 {
        let request = Request { authority: "a.test", ..request };
        self.h2.request(&request, &mut self.out).expect("room").0
    }

    /// Hears well-formed frames.
    #[track_caller]
    pub fn hears(&mut self, wire: Wire) {
        assert_eq!(self.tries(&wire.0), Ok(wire.0.len()));
    }

    pub fn tries(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let events = &mut self.events;
        self.h2.received(bytes, &mut self.out, &mut |stream, event| events.push(describe(stream, event)))
    }

    /// The events since the last look.
    pub fn take_events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events)
    }

    /// What it sent since the last look.
    pub fn sent(&mut self) -> Vec<Sent> {
        let out = std::mem::take(&mut self.out);
        let (mut rest, mut frames) = (&out[..], Vec::new());
        while let [a, b, c, kind, flags, d, e, f, g, behind @ ..] = rest {
            let (payload, behind) = behind.split_at(u32::from_be_bytes([0, *a, *b, *c]) as usize);
            let stream = u32::from_be_bytes([*d, *e, *f, *g]);
            frames.push(Sent { kind: *kind, flags: *flags, stream, payload: payload.to_vec() });
            rest = behind;
        }
        assert!(rest.is_empty(), "whole frames only");
        frames
    }
}

fn describe(stream: StreamId, event: Event<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let lines = |headers: &[Header<'_>]| -> String {
        headers.iter().map(|header| format!(" {}={}", header.name, text(header.value))).collect()
    };
    let what = match event {
        Event::Head(head) => format!("{}{}", head.status, lines(head.headers)),
        Event::Body(piece) if piece.len() > 40 => format!("body of {}", piece.len()),
        Event::Body(piece) => format!("body {}", text(piece)),
        Event::Trailers(headers) => format!("trailers{}", lines(headers)),
        Event::End { reusable: true } => "end".into(),
        Event::End { reusable: false } => "end, closing".into(),
        Event::Reset { code, processed } => format!("reset {code} {processed:?}"),
        Event::Malformed(reason) => format!("malformed {}", reason.word()),
        Event::GoAway { code } => format!("go away {code}"),
        Event::Upgraded(_) => unreachable!("of HTTP/1.1"),
    };
    format!("{}: {what}", stream.0)
}
