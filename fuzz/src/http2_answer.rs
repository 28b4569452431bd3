//! Fuzz body: a server of HTTP/2 sends anything while requests are made and given up. Every stream
//! gets its answer in order and nothing after its end; our own frames are whole.
//!
//! The bytes are a script: frames with fields of its choice or raw bytes, requests, resets. An ordinary function, so that
//! the stable test `fuzz` of crates/http-client runs it as well.

use std::collections::HashMap;

use stadium_http_client::{Event, H2, H2Settings, Header, Request, StreamId};

/// What is left of the script.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    fn bytes(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte() % 48).min(self.0.len());
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes
    }

    /// One of the streams that were opened so far.
    fn stream(&mut self, opened: u32) -> u32 {
        u32::from(self.byte()) % opened.max(1) * 2 + 1
    }
}

/// Where an answer stands.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Stage {
    #[default]
    Head,
    Body,
    Trailers,
}

#[derive(Default)]
struct Checker {
    open: HashMap<u32, Stage>,
    answers: usize,
}

impl Checker {
    fn takes(&mut self, StreamId(id): StreamId, event: Event<'_>) {
        if let Event::GoAway { .. } = event {
            assert_eq!(id, 0);
            return;
        }
        let stage = self.open.get_mut(&id).unwrap_or_else(|| panic!("{event:?} for {id}, which is not open"));
        match event {
            Event::Head(head) => {
                assert!(*stage == Stage::Head && (200..=999).contains(&head.status));
                assert!(head.headers.iter().all(|header| !header.name.is_empty()));
                *stage = Stage::Body;
            }
            Event::Body(piece) => assert!(*stage == Stage::Body && !piece.is_empty()),
            Event::Trailers(lines) => {
                assert!(*stage == Stage::Body && !lines.is_empty());
                *stage = Stage::Trailers;
            }
            Event::End { .. } => {
                assert_ne!(*stage, Stage::Head);
                self.open.remove(&id);
                self.answers += 1;
            }
            Event::Reset { .. } | Event::Malformed(_) => {
                self.open.remove(&id);
            }
            Event::Upgraded(_) | Event::GoAway { .. } => panic!("{event:?} on a stream"),
        }
    }
}

/// Panics unless `out` is whole frames on streams that may be ours.
fn check_sent(mut out: &[u8]) {
    while let [a, b, c, kind, _, d, e, f, g, rest @ ..] = out {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        assert!(length <= rest.len() && *kind <= 9, "a whole frame");
        let stream = u32::from_be_bytes([*d, *e, *f, *g]);
        assert!(stream == 0 || stream % 2 == 1);
        out = &rest[length..];
    }
    assert!(out.is_empty(), "whole frames");
}

fn frame(wire: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    wire.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    wire.extend_from_slice(&[kind, flags]);
    wire.extend_from_slice(&stream.to_be_bytes());
    wire.extend_from_slice(payload);
}

/// Runs the script in `data`. Panics on a broken promise; returns how many answers were whole.
pub fn http2_answer(data: &[u8]) -> usize {
    let mut script = Script(data);
    let (mut wire, mut out, mut checker) = (Vec::new(), Vec::new(), Checker::default());
    let mut h2 = H2::new(H2Settings::default(), &mut out);
    check_sent(&out[24..]);
    out.clear();
    let mut opened = 0u32;
    if !script.byte().is_multiple_of(8) {
        frame(&mut wire, 4, 0, 0, &[]);
    }
    while !script.0.is_empty() {
        // Mostly the frames of a good server, so that answers come far; small bytes, of which there
        // are many, are spread.
        match script.byte().wrapping_mul(37) % 64 {
            0 => wire.extend_from_slice(script.bytes()),
            1..=3 => {
                let (kind, flags) = (script.byte() % 11, script.byte());
                frame(&mut wire, kind, flags, u32::from(script.byte() % 16), script.bytes());
            }
            4..=6 => {
                let stream = if script.byte() & 1 == 0 { 0 } else { script.stream(opened) };
                frame(&mut wire, 8, 0, stream, &[0, 0, script.byte(), 1]);
            }
            7 | 8 => frame(&mut wire, 4, 0, 0, &[0, 4, 0, 0, script.byte(), 1]),
            9 | 10 => {
                let stream = script.stream(opened);
                h2.reset(StreamId(stream), &mut out);
                checker.open.remove(&stream);
            }
            11 => frame(&mut wire, 3, 0, script.stream(opened), &[0, 0, 0, script.byte() % 16]),
            12..=29 => {
                let text = if script.byte().is_multiple_of(8) { script.bytes() } else { b"a value" };
                let headers = [Header { name: "x", value: text }];
                // Some of them longer than the windows.
                let body = &[7; 255 * 64][..usize::from(script.byte()) * 64];
                let request = Request { method: "POST", headers: &headers, body, ..Request::default() };
                let room = h2.can_open();
                match h2.request(&request, &mut out) {
                    Ok(stream) => {
                        assert!(room);
                        assert!(checker.open.insert(stream.0, Stage::Head).is_none());
                        opened += 1;
                    }
                    Err(_) => check_sent(&out),
                }
            }
            // On no stream, all that follows would be an error.
            _ if opened == 0 => {}
            30..=45 => {
                let block = [0x88, 0x40, 1, b'a', 1, script.byte() | b'0'];
                let flags = 4 | (script.byte() & 1);
                frame(&mut wire, 1, flags, script.stream(opened), &block);
            }
            _ => {
                let ends = script.byte() & 1;
                frame(&mut wire, 0, ends, script.stream(opened), script.bytes());
            }
        }
        let given = wire.len().min(usize::from(script.byte()) * 2);
        match h2.received(&wire[..given], &mut out, &mut |stream, event| checker.takes(stream, event)) {
            Ok(used) => {
                assert!(used <= given);
                wire.drain(..used);
            }
            Err(reason) => {
                assert!(!reason.word().is_empty() && !h2.can_open());
                break;
            }
        }
        assert_eq!(h2.streams(), checker.open.len());
        check_sent(&out);
        out.clear();
    }
    check_sent(&out);
    h2.ended(&mut |stream, event| checker.takes(stream, event));
    assert!(checker.open.is_empty() && h2.streams() == 0);
    checker.answers
}
