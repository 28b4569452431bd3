//! The first frames: SETUP and what answers it (Connection Establishment).
//!
//! The refusal of a SETUP names each part that is wrong. RESUME, the other first frame, is in
//! [`super::resume`].

use crate::frame::{
    self, ErrorCode, Frame, HEADER_BYTES, Payload, Setup, StreamId, Version, WantsLease, encode,
};

use super::lease::Leases;
use super::resume::Session;
use super::{Connection, Event, Lease, Phase, SetupOptions, SetupPart, Violation};

impl Connection {
    pub(super) fn write_setup(&mut self, options: &SetupOptions<'_>, out: &mut Vec<u8>) {
        let lease = match self.config.lease {
            Lease::Honour => WantsLease::Yes,
            Lease::Off | Lease::Grant => WantsLease::No,
        };
        let token = self.config.resume.and(options.resume_token);
        let setup = Setup {
            version: Version::V1_0,
            keepalive_interval_ms: self.config.keepalive_interval_ms.clamp(1, i32::MAX as u32),
            lifetime_ms: self.config.lifetime_ms.clamp(1, i32::MAX as u32),
            lease,
            resume_token: token,
            metadata_mime: options.metadata_mime.as_bytes(),
            data_mime: options.data_mime.as_bytes(),
            payload: Payload { metadata: options.payload.metadata, data: options.payload.data },
        };
        encode(&Frame::Setup(setup), out);
        self.lifetime_ms = setup.lifetime_ms;
        self.due_ms = self.now_ms + u64::from(setup.keepalive_interval_ms);
        self.agree(lease, token);
    }

    /// The leases and the resumption of SETUP hold from now on.
    fn agree(&mut self, lease: WantsLease, token: Option<&[u8]>) {
        if lease == WantsLease::Yes {
            self.leases = Some(Box::default());
        }
        if let (Some(token), Some(resume)) = (token, self.config.resume) {
            self.session = Some(Box::new(Session::new(resume, token)));
        }
    }

    /// Server: the first frame.
    pub(super) fn on_first_frame<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> Event<'a> {
        let on_connection = bytes.starts_with(&StreamId::CONNECTION.0.to_be_bytes());
        match frame::decode(bytes) {
            Ok(Frame::Setup(setup)) if on_connection => self.on_setup(setup, out),
            Ok(Frame::Resume(resume)) if on_connection => {
                // rsocket-js writes the minor version first.
                if resume.version != Version::V1_0 && resume.version != (Version { major: 0, minor: 1 }) {
                    return self.violate(Violation::Version(resume.version), out);
                }
                if self.config.resume.is_none() {
                    return self.violate(Violation::NoSessions, out);
                }
                self.phase = Phase::Deciding;
                Event::Resume(resume)
            }
            _ => self.violate(what_is_wrong(bytes), out),
        }
    }

    fn on_setup<'a>(&mut self, setup: Setup<'a>, out: &mut Vec<u8>) -> Event<'a> {
        if setup.version != Version::V1_0 {
            return self.violate(Violation::Version(setup.version), out);
        }
        if setup.resume_token.is_some() && self.config.resume.is_none() {
            return self.violate(Violation::ResumeUnsupported, out);
        }
        if setup.lease == WantsLease::Yes && self.config.lease == Lease::Off {
            return self.violate(Violation::LeaseUnsupported, out);
        }
        self.lifetime_ms = setup.lifetime_ms;
        self.agree(setup.lease, setup.resume_token);
        self.phase = Phase::Deciding;
        Event::Setup(setup)
    }

    /// Server: the SETUP is fine, requests may come. A client that needs leases waits for
    /// [`grant_lease`](Self::grant_lease).
    pub fn accept(&mut self) {
        if self.phase == Phase::Deciding {
            self.phase = Phase::Open;
            self.heard_ms = self.now_ms;
            self.due_ms = u64::MAX;
        }
    }

    /// Server: the SETUP or the RESUME is not fine. `code` is one of those of a SETUP, or REJECTED_RESUME;
    /// send `out` and close the transport.
    pub fn refuse(&mut self, code: ErrorCode, text: &str, out: &mut Vec<u8>) {
        if self.phase == Phase::Deciding {
            self.close(code, text, out);
            self.phase = Phase::Closed;
        }
    }
}

/// Why a first frame is no SETUP that can be read, part by part.
#[cold]
fn what_is_wrong(bytes: &[u8]) -> Violation {
    let Some((header, body)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Violation::FirstFrame;
    };
    let [a, b, c, d, kind, _] = *header;
    if kind >> 2 != frame::kind::SETUP {
        return Violation::FirstFrame;
    }
    let stream = StreamId(u32::from_be_bytes([a, b, c, d]));
    if stream != StreamId::CONNECTION {
        return Violation::SetupOnStream(stream);
    }
    match part_that_is_wrong(header, body) {
        Err(violation) => violation,
        // What is left is the payload.
        Ok(()) => Violation::Setup(SetupPart::Metadata),
    }
}

/// Finds the first part before the payload that cannot be read.
fn part_that_is_wrong(header: &[u8; HEADER_BYTES], body: &[u8]) -> Result<(), Violation> {
    let wrong = Violation::Setup;
    let (version, body) = body.split_first_chunk::<4>().ok_or(wrong(SetupPart::Version))?;
    let [major, major_low, minor, minor_low] = *version;
    let version = Version {
        major: u16::from_be_bytes([major, major_low]),
        minor: u16::from_be_bytes([minor, minor_low]),
    };
    if version != Version::V1_0 {
        return Err(Violation::Version(version));
    }
    let (keepalive, body) = body.split_first_chunk::<4>().ok_or(wrong(SetupPart::Times))?;
    let (lifetime, mut body) = body.split_first_chunk::<4>().ok_or(wrong(SetupPart::Times))?;
    match (u32::from_be_bytes(*keepalive), u32::from_be_bytes(*lifetime)) {
        (0, _) => return Err(wrong(SetupPart::KeepAlive)),
        (_, 0) => return Err(wrong(SetupPart::Lifetime)),
        (keepalive, lifetime) if (keepalive | lifetime) >> 31 != 0 => {
            return Err(wrong(SetupPart::Times));
        }
        _ => {}
    }
    if u16::from_be_bytes([header[4], header[5]]) & frame::flag::RESUME != 0 {
        let (length, rest) = body.split_first_chunk::<2>().ok_or(wrong(SetupPart::ResumeToken))?;
        let length = usize::from(u16::from_be_bytes(*length));
        body = rest.get(length..).ok_or(wrong(SetupPart::ResumeToken))?;
    }
    for part in [SetupPart::MetadataMime, SetupPart::DataMime] {
        let (length, rest) = body.split_first().ok_or(wrong(part))?;
        body = rest.get(usize::from(*length)..).ok_or(wrong(part))?;
    }
    Ok(())
}

// A connection without leases costs no memory for them.
const _: () = assert!(size_of::<Option<Box<Leases>>>() == size_of::<usize>());
