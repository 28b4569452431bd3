//! The first frames: SETUP and what answers it (Connection Establishment).

use crate::frame::{self, ErrorCode, Frame, Payload, Setup, StreamId, Version, WantsLease, encode};

use super::lease::Leases;
use super::resume::Session;
use super::{Connection, Event, Lease, Phase, SetupOptions, Violation};

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

    /// What SETUP says of leases and resumption holds from now on.
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
            _ => self.violate(Violation::FirstFrame, out),
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

// A connection without leases costs no memory for them.
const _: () = assert!(size_of::<Option<Box<Leases>>>() == size_of::<usize>());
