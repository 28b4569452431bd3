//! Frames of HTTP/2: their header of nine bytes, their types and flags, and those that we write. RFC 9113, 4.1 and 6.

use crate::Malformed;

/// The longest payload that we take: we announce no other than the initial SETTINGS_MAX_FRAME_SIZE.
pub(super) const PAYLOAD_BYTES_MAX: usize = 16_384;
/// The greatest window, 6.9.1.
pub(super) const WINDOW_MAX: i64 = (1 << 31) - 1;
/// Every window at first, 6.9.2.
pub(super) const WINDOW_INITIAL: u32 = 65_535;

const HEADER_BYTES: usize = 9;

/// Types, section 6.
pub(super) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Flags; the same bit means ACK in SETTINGS and PING, and END_STREAM in DATA and HEADERS.
pub(super) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Error codes, section 7.
pub(super) mod code {
    pub(crate) const NO_ERROR: u32 = 0;
    pub(crate) const PROTOCOL_ERROR: u32 = 1;
    pub(crate) const FLOW_CONTROL_ERROR: u32 = 3;
    pub(crate) const FRAME_SIZE_ERROR: u32 = 6;
    pub(crate) const REFUSED_STREAM: u32 = 7;
    pub(crate) const CANCEL: u32 = 8;
    pub(crate) const COMPRESSION_ERROR: u32 = 9;
    pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;
}

/// The name of an error code of HTTP/2, RFC 9113, 7, for reports; `unknown` for one that has none.
pub fn code_name(code: u32) -> &'static str {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).copied().unwrap_or("unknown")
}

/// One frame, whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame that `bytes` begin with, if it is whole, and its length with the header.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Option<(Frame<'a>, usize)>, Malformed> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let [high, middle, low, kind, flags, stream @ ..] = *header;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        if length > PAYLOAD_BYTES_MAX {
            return Err(Malformed::FrameSize);
        }
        // The highest bit is reserved and ignored, 4.1.
        let stream = u32::from_be_bytes(stream) & 0x7fff_ffff;
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        Ok(Some((Frame { kind, flags, stream, payload }, HEADER_BYTES + length)))
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload of DATA or HEADERS without its padding, 6.1.
    pub(super) fn unpadded(&self) -> Result<&'a [u8], Malformed> {
        if !self.has(flag::PADDED) {
            return Ok(self.payload);
        }
        let (&padding, rest) = self.payload.split_first().ok_or(Malformed::FrameSize)?;
        // Padding that fills the payload or more is an error of the protocol, not of the size.
        let length = rest.len().checked_sub(usize::from(padding)).ok_or(Malformed::Frame)?;
        Ok(&rest[..length])
    }

    /// The payload of a frame with a fixed length.
    pub(super) fn exactly<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        self.payload.try_into().map_err(|_| Malformed::FrameSize)
    }
}

/// Appends a frame's header.
pub(super) fn write_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    debug_assert!(length < 1 << 24);
    let [_, high, middle, low] = (length as u32).to_be_bytes();
    let [a, b, c, d] = stream.to_be_bytes();
    out.extend_from_slice(&[high, middle, low, kind, flags, a, b, c, d]);
}

/// Gives the header of nine bytes at `at` the length of what follows it, and a flag more.
pub(super) fn patch_header(out: &mut [u8], at: usize, length: usize, more: u8) {
    let [_, high, middle, low] = (length as u32).to_be_bytes();
    out[at..at + 3].copy_from_slice(&[high, middle, low]);
    out[at + 4] |= more;
}

/// Appends RST_STREAM, 6.4.
pub(super) fn write_reset(out: &mut Vec<u8>, stream: u32, code: u32) {
    write_header(out, 4, kind::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.to_be_bytes());
}

/// Appends WINDOW_UPDATE, 6.9.
pub(super) fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    write_header(out, 4, kind::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends GOAWAY, 6.8: we take no streams of the server's, so the last one is 0.
pub(super) fn write_goaway(out: &mut Vec<u8>, code: u32) {
    write_header(out, 8, kind::GOAWAY, 0, 0);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&code.to_be_bytes());
}
