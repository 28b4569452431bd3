//! Fuzz bodies for the bytes that a connection reads before its protocol: PROXY headers, WebSocket
//! upgrades and frames. The body for TLS records is [`tls_records`].
//!
//! The targets of fuzz/ call them through the feature `fuzzing`; the tests below run them on stable
//! with a fixed seed. Each body panics where a promise is broken.

use crate::proxy::{self, Header};
use crate::settings::{Messages, WebSocketRequest, WebSocketSettings};
pub use crate::tls::fuzzing::tls_records;
use crate::websocket::{
    Answer, End, Masks, Mode, Role, Sinks, Upgrade, WebSocket, answer_request, read_response,
};

/// Reads `data` as the start of a connection behind a proxy. Returns whether it holds a whole header.
pub fn proxy_header(data: &[u8]) -> bool {
    match proxy::read(data) {
        Header::Partial => {
            assert!(data.len() < proxy::HEADER_BYTES_MAX, "a header of {} bytes is waited for", data.len());
            false
        }
        Header::Whole(used, addresses) => {
            assert!(used <= data.len());
            assert_eq!(proxy::read(&data[..used]), Header::Whole(used, addresses));
            assert_eq!(proxy::read(&data[..used - 1]), Header::Partial, "a shorter header was whole");
            true
        }
        Header::Wrong => {
            assert_eq!(proxy::read(&[data, b"\0"].concat()), Header::Wrong, "more bytes mended it");
            false
        }
    }
}

/// Reads `data` as an upgrade request and as the response to ours. Returns whether one was accepted.
pub fn websocket_upgrade(data: &[u8]) -> bool {
    let settings = WebSocketSettings { echo_path: Some("/echo".to_owned()), ..WebSocketSettings::default() };
    let request = WebSocketRequest {
        host: "localhost".to_owned(),
        path: "/mqtt".to_owned(),
        subprotocol: Some("mqtt".to_owned()),
        messages: Messages::Stream,
    };
    let upgraded = match answer_request(data, &settings) {
        Upgrade::Partial => false,
        Upgrade::Accepted { used, answer, .. } => {
            assert!(used <= data.len() && answer.starts_with(b"HTTP/1.1 101 "));
            true
        }
        Upgrade::Refused(answer) => {
            assert!(answer.starts_with(b"HTTP/1.1 4"), "a refusal names what the client did wrong");
            false
        }
    };
    let answered = match read_response(data, &request, "dGhlIHNhbXBsZSBub25jZQ==") {
        Answer::Accepted { used } => {
            assert!(used <= data.len());
            true
        }
        Answer::Partial | Answer::Refused => false,
    };
    upgraded || answered
}

/// What a WebSocket made of some bytes.
#[derive(Debug, PartialEq)]
struct Read {
    /// Bytes for the handler, in their order.
    payload: Vec<u8>,
    reply: Vec<u8>,
    end: End,
}

/// Bytes of fragments that the body lets a message hold.
const REASSEMBLED_BYTES_MAX: u32 = 1 << 16;

fn read_frames(role: Role, mode: Mode, bytes: &[u8], piece_bytes: usize) -> Read {
    const LONGEST: u64 = 1 << 20;
    let mut websocket = WebSocket::new(role, mode, LONGEST, LONGEST);
    let (mut payload, mut reply, mut masks) = (Vec::new(), Vec::new(), Masks::new());
    let mut end = End::Open;
    for piece in bytes.chunks(piece_bytes) {
        let mut piece = piece.to_vec();
        let mut messages = Vec::new();
        let mut sinks = Sinks {
            reply: &mut reply,
            masks: &mut masks,
            messages: &mut messages,
            reassembled_bytes_max: REASSEMBLED_BYTES_MAX,
        };
        let read = websocket.read(&mut piece, &mut sinks);
        assert!(read.plain <= piece.len());
        payload.extend_from_slice(&piece[..read.plain]);
        payload.append(&mut messages);
        let held_max = 2 * (REASSEMBLED_BYTES_MAX as usize + bytes.len());
        assert!(websocket.held() <= held_max, "{} bytes are held", websocket.held());
        end = read.end;
        if end != End::Open {
            break;
        }
    }
    Read { payload, reply, end }
}

/// Reads `data` as frames: its first byte chooses the role and the mode, its second how the frames are
/// cut into pieces. Wherever they are cut, the same must come out. Returns whether all were in order.
pub fn websocket_frames(data: &[u8]) -> bool {
    let [choice, piece_bytes, frames @ ..] = data else { return false };
    let role = if choice & 1 == 0 { Role::Server } else { Role::Client };
    let mode = [Mode::Stream, Mode::LengthPrefixed, Mode::Echo][usize::from(choice >> 1) % 3];
    let whole = read_frames(role, mode, frames, frames.len().max(1));
    let cut = read_frames(role, mode, frames, usize::from(*piece_bytes) % 32 + 1);
    assert_eq!((&whole.payload, whole.end), (&cut.payload, cut.end), "cut frames are read in another way");
    // A client masks its replies at random: only their number is the same.
    assert_eq!(whole.reply.len(), cut.reply.len());
    if role == Role::Server {
        assert_eq!(whole.reply, cut.reply);
    }
    whole.end == End::Open
}

#[cfg(test)]
#[path = "../../../fuzz/src/damage.rs"]
mod damage;
#[cfg(test)]
#[path = "../../../fuzz/src/random.rs"]
mod random;

#[cfg(test)]
mod tests {
    use super::*;
    use damage::damaged_runs;
    use random::Random;

    /// Some inputs must be taken and some refused, or the body tests nothing.
    fn run(rounds: usize, samples: &[Vec<u8>], body: fn(&[u8]) -> bool) {
        let taken = damaged_runs(&mut Random(7), rounds, samples, body);
        assert!(taken > rounds / 20 && taken < rounds, "{taken} of {rounds} were taken");
    }

    #[test]
    fn any_bytes_are_a_proxy_header_or_refused() {
        let header = |version: u8, family: u8, body: &[u8]| {
            let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
            bytes.extend([version, family]);
            bytes.extend((body.len() as u16).to_be_bytes());
            bytes.extend(body);
            bytes.extend(b"behind it");
            bytes
        };
        let samples = [header(0x21, 0x11, &[7; 12]), header(0x21, 0x21, &[9; 50]), header(0x20, 0, &[])];
        run(20_000, &samples, proxy_header);
    }

    #[test]
    fn any_bytes_are_an_upgrade_or_refused() {
        let request = b"GET /mqtt HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Protocol: mqtt\r\n\r\n";
        let response = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n";
        run(20_000, &[request.to_vec(), response.to_vec()], websocket_upgrade);
    }

    #[test]
    fn frames_are_read_alike_wherever_they_are_cut() {
        let mask = [1, 2, 3, 4];
        let frame = |first: u8, masked: bool, payload: &[u8]| {
            let mut bytes = vec![first];
            let flag = if masked { 0x80 } else { 0 };
            if payload.len() < 126 {
                bytes.push(flag | payload.len() as u8);
            } else {
                bytes.push(flag | 126);
                bytes.extend((payload.len() as u16).to_be_bytes());
            }
            if masked {
                bytes.extend(mask);
                bytes.extend(payload.iter().enumerate().map(|(place, byte)| byte ^ mask[place % 4]));
            } else {
                bytes.extend(payload);
            }
            bytes
        };
        let mut samples = Vec::new();
        for choice in 0..6 {
            let masked = choice & 1 == 0;
            let mut bytes = vec![choice, 6];
            bytes.extend(frame(0x02, masked, b"a message in "));
            bytes.extend(frame(0x89, masked, b"ping"));
            bytes.extend(frame(0x00, masked, &[5; 200]));
            bytes.extend(frame(0x80, masked, b"fragments"));
            bytes.extend(frame(0x82, masked, &[6; 300]));
            samples.push(bytes);
        }
        run(20_000, &samples, websocket_frames);
    }

    #[test]
    fn records_are_opened_as_they_were_sealed_or_refused() {
        // Both versions; sealed data, an alert, a key update, a flipped bit and raw bytes.
        let mut samples = Vec::new();
        for version in [0, 1] {
            let mut bytes = vec![version, 40];
            bytes.extend([0, 23, 5]);
            bytes.extend(b"hello");
            bytes.extend([0, 22, 5, 24, 0, 0, 1, 1]);
            bytes.extend([0, 23, 0, 0, 23, 3, 1, 2, 3]);
            samples.push(bytes.clone());
            bytes.extend([1, 23, 3, 7, 7, 7]);
            samples.push(bytes.clone());
            bytes.extend([2, 0, 5, 23, 3, 3, 0, 1]);
            samples.push(bytes);
        }
        run(6_000, &samples, tls_records);
    }

    #[test]
    fn a_record_of_tls_1_2_with_another_version_is_refused() {
        // Found by libFuzzer: a bit of the version in the header of a sealed record flips.
        let flipped = [43, 114, 10, 23, 1, 0, 0, 0, 0, 34, 0, 0, 17, 49, 0, 1, 0, 59];
        assert!(!tls_records(&flipped));
    }
}
