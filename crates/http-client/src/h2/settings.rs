//! SETTINGS: what we announce, and what the server's change for us. RFC 9113, 6.5.

use super::frame::{Frame, WINDOW_INITIAL, WINDOW_MAX, flag, kind, write_header, write_window_update};
use crate::{HEAD_BYTES_MAX, Malformed};

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Streams that we open before the server has announced how many it takes; no server should take
/// fewer, 6.5.2.
const STREAMS_BEFORE_SETTINGS: u32 = 100;

/// How a client sets up its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct H2Settings {
    /// How many bytes of one answer may be under way, 65,535 to 2^31 - 1; a value outside is moved
    /// in. More costs no memory here, since data is reported as it comes, but may fill the kernel's
    /// buffers.
    pub stream_window: u32,
    /// How many bytes of all answers may be under way, within the same bounds.
    pub connection_window: u32,
}

impl Default for H2Settings {
    /// 1 MiB for a stream and 16 MiB for the connection: a fast link with a round trip of 100 ms is not held up.
    fn default() -> Self {
        H2Settings { stream_window: 1 << 20, connection_window: 16 << 20 }
    }
}

impl H2Settings {
    /// With both windows within their bounds.
    pub(super) fn bounded(self) -> H2Settings {
        let bounded = |window: u32| window.clamp(WINDOW_INITIAL, WINDOW_MAX as u32);
        H2Settings {
            stream_window: bounded(self.stream_window),
            connection_window: bounded(self.connection_window),
        }
    }

    /// Appends the client's preface, 3.4, and opens the connection's window.
    pub(super) fn write_preface(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let settings = [
            (ENABLE_PUSH, 0),
            (INITIAL_WINDOW_SIZE, self.stream_window),
            (MAX_HEADER_LIST_SIZE, HEAD_BYTES_MAX as u32),
        ];
        write_header(out, settings.len() * 6, kind::SETTINGS, 0, 0);
        for (name, value) in settings {
            out.extend_from_slice(&name.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        if self.connection_window > WINDOW_INITIAL {
            write_window_update(out, 0, self.connection_window - WINDOW_INITIAL);
        }
    }
}

/// What the server's settings allow us.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    /// Its first SETTINGS came.
    pub(super) greeted: bool,
    pub(super) streams_max: u32,
    /// The send window that a new stream has.
    pub(super) stream_window: u32,
    pub(super) payload_max: usize,
    pub(super) table_bytes: usize,
}

impl Peer {
    /// The values that hold until it announces others.
    pub(super) fn new() -> Peer {
        Peer {
            greeted: false,
            streams_max: STREAMS_BEFORE_SETTINGS,
            stream_window: WINDOW_INITIAL,
            payload_max: 16_384,
            table_bytes: crate::hpack::TABLE_BYTES,
        }
    }

    /// Takes a SETTINGS frame that is no acknowledgement.
    pub(super) fn apply(&mut self, frame: &Frame<'_>) -> Result<(), Malformed> {
        let (settings, []) = frame.payload.as_chunks::<6>() else { return Err(Malformed::FrameSize) };
        if !self.greeted {
            self.greeted = true;
            // Silent about them, it takes any number.
            self.streams_max = u32::MAX;
        }
        for &[high, low, ref value @ ..] in settings {
            let value = u32::from_be_bytes(*value);
            match u16::from_be_bytes([high, low]) {
                HEADER_TABLE_SIZE => self.table_bytes = value as usize,
                // A server may announce that it does not want to push, and nothing else.
                ENABLE_PUSH if value != 0 => return Err(Malformed::Frame),
                MAX_CONCURRENT_STREAMS => self.streams_max = value,
                INITIAL_WINDOW_SIZE if i64::from(value) > WINDOW_MAX => return Err(Malformed::FlowControl),
                INITIAL_WINDOW_SIZE => self.stream_window = value,
                MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => return Err(Malformed::Frame),
                MAX_FRAME_SIZE => self.payload_max = value as usize,
                // Advice on header lists, and settings of extensions that we do not use.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Appends the acknowledgement.
pub(super) fn write_acknowledgement(out: &mut Vec<u8>) {
    write_header(out, 0, kind::SETTINGS, flag::ACK, 0);
}
