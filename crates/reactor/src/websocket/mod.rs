//! WebSocket on the loop (RFC 6455): framing in place, both roles.
//!
//! Binary messages are one stream of bytes for the handler, wherever frames and fragments end, and
//! what one turn sends is one binary frame. Nothing is buffered: a frame's payload goes on as it
//! arrives, and half a header or a control frame's payload fit in the state itself. The echo path
//! reassembles messages, because conformance suites look at them whole, and so do messages with
//! boundaries where they come in fragments, see `messages`.
//!
//! Public is what a client needs that frames its messages itself: masks, frames, the key of an upgrade.

mod messages;
mod upgrade;

use ring::rand::{SecureRandom, SystemRandom};

use crate::turn::Bytes;
use messages::{Longest, Messages};
pub(crate) use upgrade::{Answer, Upgrade, answer_request, read_response, write_request};
pub use upgrade::{accept_key, new_key};

/// Close codes (RFC 6455, 7.4.1).
pub mod close_code {
    /// The purpose is fulfilled.
    pub const NORMAL: u16 = 1000;
    /// The peer broke the protocol.
    pub const PROTOCOL: u16 = 1002;
    /// A kind of message that is not taken.
    pub const UNSUPPORTED: u16 = 1003;
    /// Never sent: what a close frame without a code means.
    pub const NO_STATUS: u16 = 1005;
    /// A text that is not UTF-8.
    pub const INVALID_TEXT: u16 = 1007;
    /// A message that is too long.
    pub const TOO_BIG: u16 = 1009;
}

/// The largest payload of a control frame, in bytes (RFC 6455, 5.5).
pub const CONTROL_MAX: usize = 125;
/// The longest header: two bytes, eight of length, four of mask.
const HEADER_MAX: usize = 14;

/// What a frame is (RFC 6455, 5.2). From [`CLOSE`](opcode::CLOSE) on they are control frames.
pub mod opcode {
    /// More of a message in fragments.
    pub const CONTINUATION: u8 = 0;
    /// A text, or the first fragment of one.
    pub const TEXT: u8 = 1;
    /// Bytes, or the first fragment of them.
    pub const BINARY: u8 = 2;
    /// The connection's end.
    pub const CLOSE: u8 = 8;
    /// To be answered with a pong of the same payload.
    pub const PING: u8 = 9;
    /// The answer.
    pub const PONG: u8 = 10;
}

/// Which side we are. A client masks what it sends, a server must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Client,
}

/// What becomes of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Binary messages are the handler's stream; text is refused.
    Stream,
    /// Each binary message is one with a prefix of three bytes of length for the handler; text is refused.
    LengthPrefixed,
    /// Whole messages go back to the peer.
    Echo,
}

impl From<crate::settings::Messages> for Mode {
    fn from(messages: crate::settings::Messages) -> Mode {
        match messages {
            crate::settings::Messages::Stream => Mode::Stream,
            crate::settings::Messages::LengthPrefixed24 => Mode::LengthPrefixed,
        }
    }
}

/// One connection's framing.
pub(crate) struct WebSocket {
    role: Role,
    frame_bytes_max: u64,
    message_bytes_max: u64,
    /// Payload of the current frame that is still to come.
    left: u64,
    mask: [u8; 4],
    /// Bytes of the current frame that were unmasked, modulo four.
    phase: u8,
    opcode: u8,
    last: bool,
    in_frame: bool,
    /// Opcode of the message whose fragments are coming; zero for none.
    message: u8,
    header: [u8; HEADER_MAX],
    header_length: u8,
    control: [u8; CONTROL_MAX],
    control_length: u8,
    close_sent: bool,
    echo: Option<Box<Echo>>,
    messages: Option<Box<Messages>>,
}

/// The message that is reassembled on the echo path.
#[derive(Default)]
struct Echo {
    bytes: Vec<u8>,
    /// Bytes of a text that are known to be UTF-8.
    checked: usize,
}

/// Where reading puts what it finds.
pub(crate) struct Sinks<'a> {
    /// What the peer must be answered.
    pub(crate) reply: &'a mut Vec<u8>,
    pub(crate) masks: &'a mut Masks,
    /// Messages with boundaries, each behind its length.
    pub(crate) messages: &'a mut Vec<u8>,
    /// Bytes of a message in fragments that may be held.
    pub(crate) reassembled_bytes_max: u32,
}

/// How reading went.
pub(crate) struct Read {
    /// Payload, compacted to the front of the buffer.
    pub(crate) plain: usize,
    pub(crate) end: End,
}

/// The contents of the last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Open,
    /// The peer closed; our answer is among the replies.
    Closed,
    /// The peer broke a rule; the close frame with this code is among the replies.
    Broken(u16),
}

impl WebSocket {
    pub(crate) fn new(role: Role, mode: Mode, frame_bytes_max: u64, message_bytes_max: u64) -> WebSocket {
        WebSocket {
            role,
            frame_bytes_max,
            message_bytes_max,
            left: 0,
            mask: [0; 4],
            phase: 0,
            opcode: 0,
            last: false,
            in_frame: false,
            message: 0,
            header: [0; HEADER_MAX],
            header_length: 0,
            control: [0; CONTROL_MAX],
            control_length: 0,
            close_sent: false,
            echo: (mode == Mode::Echo).then(Box::default),
            messages: (mode == Mode::LengthPrefixed).then(Box::default),
        }
    }

    pub(crate) fn is_echo(&self) -> bool {
        self.echo.is_some()
    }

    /// Bytes of state, without messages under reassembly.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<WebSocket>() + self.messages.as_ref().map_or(0, |messages| size_of_val(&**messages))
    }

    /// Bytes of the buffer in which a message's fragments are reassembled.
    pub(crate) fn held(&self) -> usize {
        self.messages.as_ref().map_or(0, |messages| messages.reassembled.capacity())
    }

    /// Reads all of `buffer`. The payload for the handler is compacted to its front, or appended to
    /// `sinks.messages` where messages have boundaries.
    pub(crate) fn read(&mut self, buffer: &mut [u8], sinks: &mut Sinks<'_>) -> Read {
        let (mut plain, mut at) = (0, 0);
        loop {
            if !self.in_frame {
                at += match self.read_header(&buffer[at..], sinks) {
                    Ok(Some(used)) => used,
                    Ok(None) => return Read { plain, end: End::Open },
                    Err(code) => return self.broken(plain, code, sinks),
                };
            }
            let count =
                usize::try_from(self.left).map_or(buffer.len() - at, |left| left.min(buffer.len() - at));
            if self.role == Role::Server {
                apply_mask(self.mask, usize::from(self.phase), &mut buffer[at..at + count]);
                self.phase = ((usize::from(self.phase) + count) & 3) as u8;
            }
            self.left -= count as u64;
            if self.opcode >= opcode::CLOSE {
                let start = usize::from(self.control_length);
                self.control[start..start + count].copy_from_slice(&buffer[at..at + count]);
                self.control_length += count as u8;
            } else if let Some(echo) = &mut self.echo {
                if echo.bytes.len() as u64 + count as u64 > self.message_bytes_max {
                    return self.broken(plain, close_code::TOO_BIG, sinks);
                }
                echo.bytes.extend_from_slice(&buffer[at..at + count]);
                if self.message == opcode::TEXT && !echo.is_text_so_far() {
                    return self.broken(plain, close_code::INVALID_TEXT, sinks);
                }
            } else if let Some(messages) = &mut self.messages {
                let whole = self.opcode == opcode::BINARY && self.last;
                messages.receive(whole, &buffer[at..at + count], sinks.messages);
            } else {
                buffer.copy_within(at..at + count, plain);
                plain += count;
            }
            at += count;
            if self.left > 0 {
                return Read { plain, end: End::Open };
            }
            self.in_frame = false;
            match self.frame_ended(sinks) {
                Ok(End::Open) => {}
                Ok(end) => return Read { plain, end },
                Err(code) => return self.broken(plain, code, sinks),
            }
        }
    }

    fn broken(&mut self, plain: usize, code: u16, sinks: &mut Sinks<'_>) -> Read {
        self.close_frame(sinks.reply, code, sinks.masks);
        if let Some(messages) = &mut self.messages {
            messages.reassembled = Vec::new();
        }
        Read { plain, end: End::Broken(code) }
    }

    /// Collects a header. Returns how many bytes it took once it is whole.
    fn read_header(&mut self, bytes: &[u8], sinks: &mut Sinks<'_>) -> Result<Option<usize>, u16> {
        let mut used = 0;
        loop {
            let have = usize::from(self.header_length);
            let masked = have >= 2 && self.header[1] & 0x80 != 0;
            let extended = match (have, self.header[1] & 0x7f) {
                (2.., 126) => 2,
                (2.., 127) => 8,
                _ => 0,
            };
            let wanted = 2 + extended + if masked { 4 } else { 0 };
            if have >= 2 && have == wanted {
                self.begin(extended, masked, sinks)?;
                self.header_length = 0;
                return Ok(Some(used));
            }
            let count = (wanted - have).min(bytes.len() - used);
            if count == 0 {
                return Ok(None);
            }
            self.header[have..have + count].copy_from_slice(&bytes[used..used + count]);
            self.header_length += count as u8;
            used += count;
            if have < 2 && have + count >= 2 {
                // What is wrong already needs no more bytes to be refused.
                self.check_start()?;
            }
        }
    }

    fn check_start(&self) -> Result<(), u16> {
        let (first, second) = (self.header[0], self.header[1]);
        let (last, kind, length) = (first & 0x80 != 0, first & 0x0f, second & 0x7f);
        let masked = second & 0x80 != 0;
        if first & 0x70 != 0 || masked != (self.role == Role::Server) {
            return Err(close_code::PROTOCOL);
        }
        match kind {
            opcode::CONTINUATION if self.message == 0 => Err(close_code::PROTOCOL),
            opcode::TEXT | opcode::BINARY if self.message != 0 => Err(close_code::PROTOCOL),
            opcode::TEXT if self.echo.is_none() => Err(close_code::UNSUPPORTED),
            opcode::CONTINUATION | opcode::TEXT | opcode::BINARY => Ok(()),
            opcode::CLOSE | opcode::PING | opcode::PONG if last && usize::from(length) <= CONTROL_MAX => {
                Ok(())
            }
            _ => Err(close_code::PROTOCOL),
        }
    }

    fn begin(&mut self, extended: usize, masked: bool, sinks: &mut Sinks<'_>) -> Result<(), u16> {
        let header = &self.header;
        self.left = match extended {
            2 => u64::from(u16::from_be_bytes([header[2], header[3]])),
            8 => {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&header[2..10]);
                u64::from_be_bytes(bytes)
            }
            _ => u64::from(header[1] & 0x7f),
        };
        if self.left >> 63 != 0 {
            return Err(close_code::PROTOCOL);
        }
        if self.left > self.frame_bytes_max {
            return Err(close_code::TOO_BIG);
        }
        if masked {
            self.mask.copy_from_slice(&header[2 + extended..6 + extended]);
        }
        self.phase = 0;
        self.opcode = header[0] & 0x0f;
        self.last = header[0] & 0x80 != 0;
        self.in_frame = true;
        self.control_length = 0;
        if matches!(self.opcode, opcode::TEXT | opcode::BINARY) {
            self.message = self.opcode;
        }
        if let Some(messages) = &mut self.messages
            && self.opcode < opcode::CLOSE
        {
            let whole = self.opcode == opcode::BINARY && self.last;
            let longest = Longest {
                message: self.message_bytes_max,
                reassembled: u64::from(sinks.reassembled_bytes_max),
            };
            messages.frame_begins(whole, self.left, longest, sinks.messages)?;
        }
        Ok(())
    }

    fn frame_ended(&mut self, sinks: &mut Sinks<'_>) -> Result<End, u16> {
        let payload = usize::from(self.control_length);
        let (reply, masks) = (&mut *sinks.reply, &mut *sinks.masks);
        match self.opcode {
            opcode::PING => {
                let control = self.control;
                self.write_frame(reply, opcode::PONG, &control[..payload], masks);
                Ok(End::Open)
            }
            opcode::PONG => Ok(End::Open),
            opcode::CLOSE => {
                let control = self.control;
                let code = check_close(&control[..payload])?;
                if !self.close_sent {
                    self.close_sent = true;
                    // The answer carries the peer's code (RFC 6455, 5.5.1); one without a code gets one without.
                    let bytes = code.map(u16::to_be_bytes);
                    self.write_frame(
                        reply,
                        opcode::CLOSE,
                        bytes.as_ref().map_or(&[], |code| &code[..]),
                        masks,
                    );
                }
                Ok(End::Closed)
            }
            _ if !self.last => Ok(End::Open),
            _ => {
                let kind = std::mem::take(&mut self.message);
                if let Some(messages) = &mut self.messages {
                    messages.message_ends(self.opcode == opcode::BINARY, sinks.messages);
                }
                if let Some(mut echo) = self.echo.take() {
                    if kind == opcode::TEXT && echo.checked != echo.bytes.len() {
                        self.echo = Some(echo);
                        return Err(close_code::INVALID_TEXT);
                    }
                    self.write_frame(reply, kind, &echo.bytes, masks);
                    *echo = Echo::default();
                    self.echo = Some(echo);
                }
                Ok(End::Open)
            }
        }
    }

    fn write_frame(&self, out: &mut Vec<u8>, kind: u8, payload: &[u8], masks: &mut Masks) {
        write_frame(self.role, kind, payload, out, masks);
    }

    /// Writes what a turn has for the peer, `total` bytes: one binary frame, or one a message where
    /// messages have boundaries.
    pub(crate) fn write_turn<'a>(
        &mut self,
        turn: impl Iterator<Item = Bytes<'a>>,
        total: usize,
        out: &mut Vec<u8>,
        masks: &mut Masks,
    ) {
        if let Some(messages) = &mut self.messages {
            let mut writer = messages.writer(self.role, total, out, masks);
            turn.for_each(|bytes| bytes.each(|piece| writer.write(piece)));
            return;
        }
        let mask = write_header(self.role, 0x80 | opcode::BINARY, total, out, masks);
        let start = out.len();
        turn.for_each(|bytes| bytes.append_to(out));
        if let Some(mask) = mask {
            apply_mask(mask, 0, &mut out[start..]);
        }
    }

    /// Says goodbye, once.
    pub(crate) fn close_frame(&mut self, out: &mut Vec<u8>, code: u16, masks: &mut Masks) {
        if !self.close_sent {
            self.close_sent = true;
            self.write_frame(out, opcode::CLOSE, &code.to_be_bytes(), masks);
        }
    }
}

impl Echo {
    /// Checks what has come since the last time: a text that is wrong fails with its first wrong byte.
    fn is_text_so_far(&mut self) -> bool {
        match std::str::from_utf8(&self.bytes[self.checked..]) {
            Ok(_) => self.checked = self.bytes.len(),
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
            Err(_) => return false,
        }
        true
    }
}

/// Writes a frame's header. Where it returns a mask, it is a client's and goes over the payload.
fn write_header(
    role: Role,
    first: u8,
    length: usize,
    out: &mut Vec<u8>,
    masks: &mut Masks,
) -> Option<[u8; 4]> {
    let bit = if role == Role::Client { 0x80 } else { 0 };
    match length {
        0..126 => out.extend_from_slice(&[first, bit | length as u8]),
        126..65_536 => {
            let [high, low] = (length as u16).to_be_bytes();
            out.extend_from_slice(&[first, bit | 126, high, low]);
        }
        _ => {
            out.extend_from_slice(&[first, bit | 127]);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    if role == Role::Server {
        return None;
    }
    let mask = masks.next();
    out.extend_from_slice(&mask);
    Some(mask)
}

/// Appends a whole frame of a client, masked (RFC 6455, 5.3): the last or only one of its message.
pub fn write_client_frame(opcode: u8, payload: &[u8], out: &mut Vec<u8>, masks: &mut Masks) {
    write_frame(Role::Client, opcode, payload, out, masks);
}

fn write_frame(role: Role, kind: u8, payload: &[u8], out: &mut Vec<u8>, masks: &mut Masks) {
    let mask = write_header(role, 0x80 | kind, payload.len(), out, masks);
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(mask) = mask {
        apply_mask(mask, 0, &mut out[start..]);
    }
}

/// Checks a close frame's payload: its code, `None` where it carries none (RFC 6455, 5.5.1 and 7.4).
///
/// # Errors
/// The code to close with: [`close_code::PROTOCOL`] for half a code or one that must not be sent,
/// [`close_code::INVALID_TEXT`] for a reason that is not UTF-8.
pub fn check_close(payload: &[u8]) -> Result<Option<u16>, u16> {
    let [high, low, reason @ ..] = payload else {
        return if payload.is_empty() { Ok(None) } else { Err(close_code::PROTOCOL) };
    };
    let code = u16::from_be_bytes([*high, *low]);
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(close_code::PROTOCOL);
    }
    if std::str::from_utf8(reason).is_err() {
        return Err(close_code::INVALID_TEXT);
    }
    Ok(Some(code))
}

/// Combines bytes with a mask, of which `phase` bytes were used before.
fn apply_mask(mask: [u8; 4], phase: usize, bytes: &mut [u8]) {
    let mut wide = [0; 8];
    for (place, byte) in wide.iter_mut().enumerate() {
        *byte = mask[(place + phase) & 3];
    }
    let number = u64::from_ne_bytes(wide);
    let mut chunks = bytes.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        chunk.copy_from_slice(&(u64::from_ne_bytes(word) ^ number).to_ne_bytes());
    }
    for (byte, mask) in chunks.into_remainder().iter_mut().zip(wide) {
        *byte ^= mask;
    }
}

/// Unpredictable masks for what a client sends (RFC 6455, 5.3), drawn from the system in batches.
#[derive(Debug)]
pub struct Masks {
    random: SystemRandom,
    pool: [u8; 256],
    used: usize,
}

impl Default for Masks {
    fn default() -> Masks {
        Masks::new()
    }
}

impl Masks {
    /// A source that has drawn nothing yet.
    pub fn new() -> Masks {
        Masks { random: SystemRandom::new(), pool: [0; 256], used: 256 }
    }

    fn next(&mut self) -> [u8; 4] {
        if self.used == self.pool.len() {
            // Without randomness masks repeat the last ones; the peer unmasks them all the same.
            let _ = self.random.fill(&mut self.pool);
            self.used = 0;
        }
        let mask = [0, 1, 2, 3].map(|place| self.pool[self.used + place]);
        self.used += 4;
        mask
    }

    /// A nonce for an upgrade that we ask for (RFC 6455, 4.1).
    pub(crate) fn nonce(&mut self) -> [u8; 16] {
        let mut nonce = [0; 16];
        for part in nonce.chunks_exact_mut(4) {
            part.copy_from_slice(&self.next());
        }
        nonce
    }
}

#[cfg(test)]
mod tests;
