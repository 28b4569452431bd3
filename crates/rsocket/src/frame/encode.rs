//! Frames into bytes, with the length that stands before them on TCP.
//!
//! [`encode()`] writes any frame. The hot path of [`crate::connection`] writes a `Head`, lets its caller append,
//! and then fills in the length with `seal`.

use super::{
    Completes, FRAME_BYTES_MAX, Frame, More, Next, PREFIX_BYTES, Payload, Respond, StreamId, WantsLease,
    flag, kind,
};

/// Appends `frame` to `out`, with its 24-bit length.
///
/// A field that its place cannot hold is cut to what fits there (a MIME type to 255 bytes, a token to
/// 65,535): what is written is always a frame. Frames of more than [`FRAME_BYTES_MAX`] bytes have no form
/// on TCP; callers split them first, and here they are a proved impossibility.
pub fn encode(frame: &Frame<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    match *frame {
        Frame::Setup(setup) => {
            let mut flags = metadata_flag(&setup.payload);
            if setup.lease == WantsLease::Yes {
                flags |= flag::LEASE;
            }
            if setup.resume_token.is_some() {
                flags |= flag::RESUME;
            }
            Head::new(StreamId::CONNECTION, kind::SETUP, flags).write(out);
            out.extend_from_slice(&setup.version.major.to_be_bytes());
            out.extend_from_slice(&setup.version.minor.to_be_bytes());
            out.extend_from_slice(&setup.keepalive_interval_ms.to_be_bytes());
            out.extend_from_slice(&setup.lifetime_ms.to_be_bytes());
            if let Some(token) = setup.resume_token {
                write_token(token, out);
            }
            write_mime(setup.metadata_mime, out);
            write_mime(setup.data_mime, out);
            write_payload(&setup.payload, out);
        }
        Frame::Lease { ttl_ms, requests, metadata } => {
            let flags = if metadata.is_some() { flag::METADATA } else { 0 };
            Head::new(StreamId::CONNECTION, kind::LEASE, flags).write(out);
            out.extend_from_slice(&ttl_ms.to_be_bytes());
            out.extend_from_slice(&requests.to_be_bytes());
            out.extend_from_slice(metadata.unwrap_or_default());
        }
        Frame::KeepAlive { respond, last_received_position, data } => {
            let flags = if respond == Respond::Yes { flag::RESPOND } else { 0 };
            Head::new(StreamId::CONNECTION, kind::KEEPALIVE, flags).write(out);
            out.extend_from_slice(&last_received_position.to_be_bytes());
            out.extend_from_slice(data);
        }
        Frame::RequestResponse { stream, more, payload } => {
            let flags = metadata_flag(&payload) | follows(more);
            Head::new(stream, kind::REQUEST_RESPONSE, flags).write(out);
            write_payload(&payload, out);
        }
        Frame::RequestFireAndForget { stream, more, payload } => {
            let flags = metadata_flag(&payload) | follows(more);
            Head::new(stream, kind::REQUEST_FNF, flags).write(out);
            write_payload(&payload, out);
        }
        Frame::RequestStream { stream, more, initial, payload } => {
            let flags = metadata_flag(&payload) | follows(more);
            Head::new(stream, kind::REQUEST_STREAM, flags).write(out);
            out.extend_from_slice(&initial.to_be_bytes());
            write_payload(&payload, out);
        }
        Frame::RequestChannel { stream, more, completes, initial, payload } => {
            let flags = metadata_flag(&payload) | follows(more) | complete(completes);
            Head::new(stream, kind::REQUEST_CHANNEL, flags).write(out);
            out.extend_from_slice(&initial.to_be_bytes());
            write_payload(&payload, out);
        }
        Frame::RequestN { stream, n } => {
            Head::new(stream, kind::REQUEST_N, 0).write(out);
            out.extend_from_slice(&n.to_be_bytes());
        }
        Frame::Cancel { stream } => Head::new(stream, kind::CANCEL, 0).write(out),
        Frame::Payload { stream, more, completes, next, payload } => {
            let mut flags = metadata_flag(&payload) | follows(more) | complete(completes);
            if next == Next::Value {
                flags |= flag::NEXT;
            }
            Head::new(stream, kind::PAYLOAD, flags).write(out);
            write_payload(&payload, out);
        }
        Frame::Error { stream, code, data } => {
            Head::new(stream, kind::ERROR, 0).write(out);
            out.extend_from_slice(&code.0.to_be_bytes());
            out.extend_from_slice(data);
        }
        Frame::MetadataPush { metadata } => {
            Head::new(StreamId::CONNECTION, kind::METADATA_PUSH, flag::METADATA).write(out);
            out.extend_from_slice(metadata);
        }
        Frame::Resume(resume) => {
            Head::new(StreamId::CONNECTION, kind::RESUME, 0).write(out);
            out.extend_from_slice(&resume.version.major.to_be_bytes());
            out.extend_from_slice(&resume.version.minor.to_be_bytes());
            write_token(resume.token, out);
            out.extend_from_slice(&resume.last_received_server_position.to_be_bytes());
            out.extend_from_slice(&resume.first_available_client_position.to_be_bytes());
        }
        Frame::ResumeOk { last_received_client_position } => {
            Head::new(StreamId::CONNECTION, kind::RESUME_OK, 0).write(out);
            out.extend_from_slice(&last_received_client_position.to_be_bytes());
        }
        Frame::Extension { stream, flags, extended_type, body } => {
            Head::new(stream, kind::EXT, flags & 0x3FF).write(out);
            out.extend_from_slice(&extended_type.to_be_bytes());
            out.extend_from_slice(body);
        }
    }
    seal(start, out);
}

/// The first six bytes of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    stream: StreamId,
    kind_and_flags: u16,
}

impl Head {
    #[inline]
    pub(crate) const fn new(stream: StreamId, kind: u8, flags: u16) -> Self {
        Self { stream, kind_and_flags: (kind as u16) << 10 | flags }
    }

    /// Writes room for the length, then the header.
    #[inline]
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes(0));
    }

    /// Length and header of a frame of `length` bytes.
    #[inline]
    pub(crate) fn bytes(self, length: usize) -> [u8; 9] {
        let [_, l0, l1, l2] = (length as u32).to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.0.to_be_bytes();
        let [k0, k1] = self.kind_and_flags.to_be_bytes();
        [l0, l1, l2, s0, s1, s2, s3, k0, k1]
    }
}

/// Writes the length of the frame that began at `start` and ends with `out`.
#[inline]
pub(crate) fn seal(start: usize, out: &mut [u8]) {
    let length = out.len() - start - PREFIX_BYTES;
    debug_assert!(length <= FRAME_BYTES_MAX, "a frame is split before it is sealed");
    let [_, a, b, c] = (length as u32).to_be_bytes();
    out[start..start + PREFIX_BYTES].copy_from_slice(&[a, b, c]);
}

fn metadata_flag(payload: &Payload<'_>) -> u16 {
    if payload.metadata.is_some() { flag::METADATA } else { 0 }
}

fn follows(more: More) -> u16 {
    if more == More::Follows { flag::FOLLOWS } else { 0 }
}

fn complete(completes: Completes) -> u16 {
    if completes.is_yes() { flag::COMPLETE } else { 0 }
}

fn write_payload(payload: &Payload<'_>, out: &mut Vec<u8>) {
    if let Some(metadata) = payload.metadata {
        let [_, a, b, c] = (metadata.len() as u32).to_be_bytes();
        out.extend_from_slice(&[a, b, c]);
        out.extend_from_slice(metadata);
    }
    out.extend_from_slice(payload.data);
}

fn write_token(token: &[u8], out: &mut Vec<u8>) {
    let length = token.len().min(usize::from(u16::MAX));
    out.extend_from_slice(&(length as u16).to_be_bytes());
    out.extend_from_slice(&token[..length]);
}

fn write_mime(mime: &[u8], out: &mut Vec<u8>) {
    let length = mime.len().min(usize::from(u8::MAX));
    out.push(length as u8);
    out.extend_from_slice(&mime[..length]);
}
