//! Messages with boundaries, cut in every way, without sockets.
//!
//! The peer here reads and writes frames by its own small rules (RFC 6455, 5.2), not by ours.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{End, Mode, Sinks, WebSocket};
use super::*;
use crate::turn::Bytes;

const REASSEMBLED_BYTES_MAX: u32 = 10_000;

fn side(role: Role) -> WebSocket {
    WebSocket::new(role, Mode::LengthPrefixed, 1 << 30, 1 << 30)
}

/// What the handler writes and reads for these messages.
fn on_tcp(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        bytes.extend_from_slice(&(message.len() as u32).to_be_bytes()[1..]);
        bytes.extend_from_slice(message);
    }
    bytes
}

/// What the handler would see of `bytes` that come in pieces of these sizes, and how it ended.
fn read(websocket: &mut WebSocket, bytes: &[u8], sizes: &[usize]) -> (Vec<u8>, Vec<u8>, End) {
    let (mut seen, mut reply, mut masks) = (Vec::new(), Vec::new(), Masks::new());
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        let (piece, left) = rest.split_at((*size).min(rest.len()));
        rest = left;
        let mut sinks = Sinks {
            reply: &mut reply,
            masks: &mut masks,
            messages: &mut seen,
            reassembled_bytes_max: REASSEMBLED_BYTES_MAX,
        };
        let read = websocket.read(&mut piece.to_vec(), &mut sinks);
        assert_eq!(read.plain, 0);
        if read.end != End::Open || rest.is_empty() {
            return (seen, reply, read.end);
        }
    }
    unreachable!("the sizes repeat until all is read")
}

/// Writes one turn, of which the arena holds pieces of these sizes; every other one is patched.
fn write(websocket: &mut WebSocket, bytes: &[u8], sizes: &[usize], out: &mut Vec<u8>) {
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, left) = rest.split_at((*size).min(rest.len()));
        let mut staged = piece.to_vec();
        let patch = (pieces.len() % 2 == 1 && piece.len() >= 2).then(|| {
            let at = piece.len() / 2 - 1;
            staged[at] ^= 0xff;
            (at, [piece[at], piece[at + 1]])
        });
        pieces.push((staged, patch));
        rest = left;
    }
    let turn = pieces.iter().map(|(staged, patch)| match patch {
        None => Bytes::Plain(staged),
        Some((at, value)) => Bytes::Patched(staged, *at, *value),
    });
    websocket.write_turn(turn, bytes.len(), out, &mut Masks::new());
}

/// A frame as the peer sees it: last, opcode, payload.
type Frame = (bool, u8, Vec<u8>);

fn frames(mut bytes: &[u8], masked: bool) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let [first, second, rest @ ..] = bytes {
        assert_eq!(second & 0x80 != 0, masked, "a client masks and a server does not");
        let (length, mut rest) = match second & 0x7f {
            126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            127 => (u64::from_be_bytes(rest[..8].try_into().expect("eight bytes")) as usize, &rest[8..]),
            short => (usize::from(short), rest),
        };
        let mut mask = [0; 4];
        if masked {
            mask.copy_from_slice(&rest[..4]);
            rest = &rest[4..];
        }
        let payload = rest[..length].iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]).collect();
        frames.push((first & 0x80 != 0, first & 0x0f, payload));
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty(), "half a frame");
    frames
}

/// Joins the fragments of data frames, checking their order.
fn joined(frames: &[Frame]) -> Vec<Vec<u8>> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    let mut open = false;
    for (last, kind, payload) in frames {
        assert_eq!(*kind, if open { opcode::CONTINUATION } else { opcode::BINARY });
        if open {
            messages.last_mut().expect("it was begun").extend_from_slice(payload);
        } else {
            messages.push(payload.clone());
        }
        open = !last;
    }
    assert!(!open, "the last message is whole");
    messages
}

fn frame(first: u8, payload: &[u8], masked: bool) -> Vec<u8> {
    let bit = if masked { 0x80 } else { 0 };
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(bit | length as u8),
        length @ 126..65_536 => {
            bytes.push(bit | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(bit | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    let mask = if masked { [9, 8, 7, 6] } else { [0; 4] };
    if masked {
        bytes.extend_from_slice(&mask);
    }
    bytes.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
    bytes
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(any::<u8>(), 0..40), 2 => vec(any::<u8>(), 120..130), 1 => vec(any::<u8>(), 0..9_000)]
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![1..5usize, 1..300usize, 1..20_000usize], 1..6)
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Server), Just(Role::Client)]
}

proptest! {
    #[test]
    fn what_is_written_leaves_as_one_message_each_wherever_turns_and_pieces_are_cut(
        messages in vec(message(), 0..12), turns in sizes(), pieces in sizes(), role in role(),
    ) {
        let mut websocket = side(role);
        let stream = on_tcp(&messages);
        let (mut rest, mut out) = (stream.as_slice(), Vec::new());
        for size in turns.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (turn, left) = rest.split_at((*size).min(rest.len()));
            let before = out.len();
            write(&mut websocket, turn, &pieces, &mut out);
            // Whole frames only: what answers a ping may come between turns.
            let overhead = frames(&out[before..], role == Role::Client).len() * 14;
            prop_assert!(out.len() - before <= turn.len() + overhead);
            rest = left;
        }
        let frames = frames(&out, role == Role::Client);
        prop_assert_eq!(&joined(&frames), &messages);
        if turns[0] >= stream.len() {
            prop_assert_eq!(frames.len(), messages.len(), "what one turn has whole is not cut");
        }
    }

    #[test]
    fn what_comes_is_read_as_on_tcp_wherever_frames_and_reads_are_cut(
        messages in vec(message(), 1..12), cuts in sizes(), reads in sizes(), role in role(),
    ) {
        let masked = role == Role::Server;
        let (mut bytes, mut pings) = (Vec::new(), 0);
        for (message, cut) in messages.iter().zip(cuts.iter().cycle()) {
            let mut fragments: Vec<&[u8]> = message.chunks(*cut).collect();
            if fragments.is_empty() || fragments.len() > 20 {
                fragments = vec![message];
            }
            let last = fragments.len() - 1;
            for (place, fragment) in fragments.iter().enumerate() {
                let kind = if place == 0 { opcode::BINARY } else { opcode::CONTINUATION };
                bytes.extend(frame(if place == last { 0x80 | kind } else { kind }, fragment, masked));
                bytes.extend(frame(0x80 | opcode::PING, b"still there?", masked));
                pings += 1;
            }
        }
        let mut websocket = side(role);
        let (seen, reply, end) = read(&mut websocket, &bytes, &reads);
        prop_assert_eq!(end, End::Open);
        prop_assert!(seen == on_tcp(&messages));
        prop_assert_eq!(frames(&reply, !masked).len(), pings);
        prop_assert_eq!(websocket.held(), 0, "nothing is held between messages");
    }

    #[test]
    fn both_sides_of_ours_understand_each_other(
        messages in vec(message(), 1..12), turns in sizes(), reads in sizes(), role in role(),
    ) {
        let peer = if role == Role::Server { Role::Client } else { Role::Server };
        let (mut ours, mut theirs, mut out) = (side(role), side(peer), Vec::new());
        let stream = on_tcp(&messages);
        let mut rest = stream.as_slice();
        for size in turns.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (turn, left) = rest.split_at((*size).min(rest.len()));
            write(&mut ours, turn, &[usize::MAX], &mut out);
            rest = left;
        }
        let (seen, _, end) = read(&mut theirs, &out, &reads);
        prop_assert_eq!(end, End::Open);
        prop_assert!(seen == stream);
    }
}

#[test]
fn a_message_that_comes_whole_is_shown_before_its_end_has_come() {
    let bytes = frame(0x82, &[7; 100_000], true);
    let mut websocket = side(Role::Server);
    let (seen, _, _) = read(&mut websocket, &bytes[..50_014], &[1_000]);
    assert_eq!((&seen[..3], seen.len()), (&[0x01, 0x86, 0xa0][..], 3 + 50_000));
    assert_eq!(websocket.held(), 0);
}

#[test]
fn a_message_that_is_too_long_is_refused_before_it_is_held() {
    let limited = || WebSocket::new(Role::Server, Mode::LengthPrefixed, 1 << 30, 5_000);
    let huge = [0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4];
    let part = REASSEMBLED_BYTES_MAX as usize / 2;
    let parts = [
        frame(0x02, &vec![1; part], true),
        frame(0x00, &vec![1; part], true),
        frame(0x00, &[1], true)[..6].to_vec(),
    ];
    let cases: [(&str, WebSocket, Vec<u8>); 4] = [
        ("over 24 bits of length", side(Role::Server), huge.to_vec()),
        ("over the settings' limit", limited(), frame(0x82, &[1; 5_001], true)[..8].to_vec()),
        ("fragments over the settings' limit", limited(), frame(0x02, &[1; 5_001], true)[..8].to_vec()),
        ("fragments over what may be held", side(Role::Server), parts.concat()),
    ];
    for (what, mut websocket, bytes) in cases {
        let (seen, reply, end) = read(&mut websocket, &bytes, &[1]);
        assert_eq!(end, End::Broken(close_code::TOO_BIG), "{what}");
        assert_eq!(reply, [0x88, 2, 0x03, 0xf1], "{what}");
        assert!(seen.is_empty(), "{what}");
        assert_eq!(websocket.held(), 0, "{what}");
    }
}

#[test]
fn text_is_refused() {
    let (_, reply, end) = read(&mut side(Role::Server), &frame(0x81, b"hello", true), &[1]);
    assert_eq!((reply.as_slice(), end), (&[0x88, 2, 0x03, 0xeb][..], End::Broken(close_code::UNSUPPORTED)));
}
