//! Bytes into frames.
//!
//! A decoded frame has all its fields and borrows what is long. Whether it makes sense where it comes is not
//! looked at here. The way back is [`super::encode()`].

use super::error::Ignorable;
use super::{
    Completes, Error, ErrorCode, Frame, HEADER_BYTES, More, Next, PREFIX_BYTES, Payload, REQUEST_N_MAX,
    Respond, Resume, Setup, StreamId, Version, WantsLease, flag, kind,
};

/// Finds the first frame in `bytes`: the frame, and how many bytes it takes with its length. `None` while
/// it is incomplete.
///
/// A frame of more than `frame_bytes_max` bytes is refused as soon as its length shows: nobody waits for
/// the rest of what will not be read.
#[inline]
pub fn split(bytes: &[u8], frame_bytes_max: usize) -> Result<Option<(&[u8], usize)>, Error> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
    let length = u32::from_be_bytes([0, prefix[0], prefix[1], prefix[2]]);
    if length as usize > frame_bytes_max {
        return Err(Error::TooLarge { bytes: length });
    }
    if (length as usize) < HEADER_BYTES {
        return Err(Error::TooShort);
    }
    Ok(rest.get(..length as usize).map(|frame| (frame, PREFIX_BYTES + length as usize)))
}

/// Decodes one frame, without the length that stands before it on TCP.
#[inline]
pub fn decode(frame: &[u8]) -> Result<Frame<'_>, Error> {
    let (header, body) = frame.split_first_chunk::<HEADER_BYTES>().ok_or(Error::TooShort)?;
    let stream = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
    if stream > StreamId::MAX.0 {
        return Err(Error::Reserved);
    }
    let stream = StreamId(stream);
    let flags = u16::from_be_bytes([header[4], header[5]]);
    let mut body = Body(body);
    Ok(match header[4] >> 2 {
        kind::REQUEST_RESPONSE => {
            Frame::RequestResponse { stream, more: More::of(flags), payload: body.payload(flags)? }
        }
        kind::PAYLOAD => Frame::Payload {
            stream,
            // "A PAYLOAD with both F and C flags set, implicitly ignores the F flag."
            more: if flags & flag::COMPLETE != 0 { More::Whole } else { More::of(flags) },
            completes: Completes::of(flags),
            next: if flags & flag::NEXT != 0 { Next::Value } else { Next::Nothing },
            payload: body.payload(flags)?,
        },
        kind::REQUEST_FNF => {
            Frame::RequestFireAndForget { stream, more: More::of(flags), payload: body.payload(flags)? }
        }
        kind::REQUEST_STREAM => Frame::RequestStream {
            stream,
            more: More::of(flags),
            initial: body.request_n()?,
            payload: body.payload(flags)?,
        },
        kind::REQUEST_CHANNEL => Frame::RequestChannel {
            stream,
            more: More::of(flags),
            completes: Completes::of(flags),
            initial: body.request_n()?,
            payload: body.payload(flags)?,
        },
        kind::REQUEST_N => Frame::RequestN { stream, n: body.request_n()? },
        kind::CANCEL => Frame::Cancel { stream },
        kind::ERROR => Frame::Error { stream, code: ErrorCode(body.u32()?), data: body.0 },
        kind::KEEPALIVE => Frame::KeepAlive {
            respond: if flags & flag::RESPOND != 0 { Respond::Yes } else { Respond::No },
            last_received_position: body.position()?,
            data: body.0,
        },
        kind::LEASE => Frame::Lease {
            ttl_ms: body.u31()?,
            requests: body.u31()?,
            metadata: (flags & flag::METADATA != 0).then_some(body.0),
        },
        kind::METADATA_PUSH => Frame::MetadataPush { metadata: body.0 },
        kind::SETUP => Frame::Setup(body.setup(flags)?),
        kind::RESUME => Frame::Resume(Resume {
            version: body.version()?,
            token: body.token()?,
            last_received_server_position: body.position()?,
            first_available_client_position: body.position()?,
        }),
        kind::RESUME_OK => Frame::ResumeOk { last_received_client_position: body.position()? },
        kind::EXT => match body.u31() {
            Ok(extended_type) => {
                Frame::Extension { stream, flags: flags & 0x3FF, extended_type, body: body.0 }
            }
            // What may be ignored is ignored however it looks.
            Err(_) if flags & flag::IGNORE != 0 => {
                return Err(Error::UnknownType { kind: kind::EXT, ignorable: Ignorable::Yes });
            }
            Err(error) => return Err(error),
        },
        kind => {
            let ignorable = if flags & flag::IGNORE != 0 { Ignorable::Yes } else { Ignorable::No };
            return Err(Error::UnknownType { kind, ignorable });
        }
    })
}

/// What is left of a frame.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (array, rest) = self.0.split_first_chunk::<N>().ok_or(Error::TooShort)?;
        self.0 = rest;
        Ok(*array)
    }

    #[inline]
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Error::TooShort)?;
        self.0 = rest;
        Ok(bytes)
    }

    #[inline]
    fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    fn u31(&mut self) -> Result<u32, Error> {
        let value = self.u32()?;
        if value > 0x7FFF_FFFF { Err(Error::Reserved) } else { Ok(value) }
    }

    #[inline]
    fn request_n(&mut self) -> Result<u32, Error> {
        let n = self.u32()?;
        if n == 0 || n > REQUEST_N_MAX { Err(Error::RequestN) } else { Ok(n) }
    }

    fn position(&mut self) -> Result<u64, Error> {
        let position = self.array().map(u64::from_be_bytes)?;
        if position > i64::MAX as u64 { Err(Error::Reserved) } else { Ok(position) }
    }

    fn version(&mut self) -> Result<Version, Error> {
        let [a, b, c, d] = self.array()?;
        Ok(Version { major: u16::from_be_bytes([a, b]), minor: u16::from_be_bytes([c, d]) })
    }

    fn token(&mut self) -> Result<&'a [u8], Error> {
        let length = self.array().map(u16::from_be_bytes)?;
        self.bytes(usize::from(length))
    }

    fn mime(&mut self) -> Result<&'a [u8], Error> {
        let [length] = self.array()?;
        self.bytes(usize::from(length))
    }

    /// What is left, as metadata with its 24-bit length and data.
    #[inline]
    fn payload(&mut self, flags: u16) -> Result<Payload<'a>, Error> {
        if flags & flag::METADATA == 0 {
            return Ok(Payload { metadata: None, data: self.0 });
        }
        let (length, rest) = self.0.split_first_chunk::<3>().ok_or(Error::MetadataLength)?;
        let length = u32::from_be_bytes([0, length[0], length[1], length[2]]);
        let (metadata, data) = rest.split_at_checked(length as usize).ok_or(Error::MetadataLength)?;
        Ok(Payload { metadata: Some(metadata), data })
    }

    fn setup(&mut self, flags: u16) -> Result<Setup<'a>, Error> {
        let version = self.version()?;
        let keepalive_interval_ms = self.u31()?;
        let lifetime_ms = self.u31()?;
        if keepalive_interval_ms == 0 || lifetime_ms == 0 {
            return Err(Error::ZeroTime);
        }
        Ok(Setup {
            version,
            keepalive_interval_ms,
            lifetime_ms,
            lease: if flags & flag::LEASE != 0 { WantsLease::Yes } else { WantsLease::No },
            resume_token: if flags & flag::RESUME != 0 { Some(self.token()?) } else { None },
            metadata_mime: self.mime()?,
            data_mime: self.mime()?,
            payload: self.payload(flags)?,
        })
    }
}
