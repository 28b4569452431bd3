//! Sessions that outlive their transport connection (Resuming Operation).
//!
//! Both sides count the bytes of all frames of streams, without the length before them: that is a frame's
//! position. What was sent is kept until the peer has acknowledged it in a KEEPALIVE, within a bound. When
//! the transport is gone a session is suspended; RESUME and RESUME_OK exchange what has come, and
//! each side sends the rest again. A whole frame counts when it is received, so none comes twice.

use crate::frame::{ErrorCode, Frame, PREFIX_BYTES, Resume, StreamId, Version, encode};

use super::{Connection, Event, Phase, ResumeConfig, ResumeRefused, Violation};

/// What a session keeps.
#[derive(Debug)]
pub(super) struct Session {
    config: ResumeConfig,
    token: Box<[u8]>,
    /// Frames that were sent, each with its length.
    store: Vec<u8>,
    /// Where in `store` the first frame begins that is still kept.
    head: usize,
    /// That frame's position.
    first: u64,
    /// The position of the next frame that is sent.
    next: u64,
    /// The position of the next frame that is received.
    received: u64,
    /// When a suspended session ends.
    expires_ms: u64,
}

impl Session {
    pub fn new(config: ResumeConfig, token: &[u8]) -> Self {
        Self {
            config,
            token: token.into(),
            store: Vec::new(),
            head: 0,
            first: 0,
            next: 0,
            received: 0,
            expires_ms: u64::MAX,
        }
    }

    pub const fn received(&self) -> u64 {
        self.received
    }

    pub const fn expires_ms(&self) -> u64 {
        self.expires_ms
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.token.len() + self.store.capacity()
    }

    /// A frame of a stream has come, of `bytes` bytes.
    #[inline]
    pub const fn heard(&mut self, bytes: usize) {
        self.received += bytes as u64;
    }

    /// Keeps whole frames that are sent, and drops the oldest where they are too many.
    pub fn keep(&mut self, frames: &[u8]) {
        self.store.extend_from_slice(frames);
        let mut at = 0;
        while let Some(length) = frame_length(&frames[at..]) {
            self.next += length as u64;
            at += PREFIX_BYTES + length;
        }
        debug_assert_eq!(at, frames.len(), "only whole frames are sent");
        while self.store.len() - self.head > self.config.store_bytes_max && self.drop_first() {}
        self.compact();
    }

    /// The peer has everything before `position`.
    pub fn acknowledged(&mut self, position: u64) {
        while self.first < position && self.drop_first() {}
        self.compact();
    }

    fn drop_first(&mut self) -> bool {
        let Some(length) = frame_length(&self.store[self.head..]) else { return false };
        self.head += PREFIX_BYTES + length;
        self.first += length as u64;
        true
    }

    /// Moves what is kept to the front, once at least as much has been dropped.
    fn compact(&mut self) {
        if self.head * 2 >= self.store.len() {
            self.store.drain(..self.head);
            self.head = 0;
        }
    }

    /// Gives the memory back if nothing is kept.
    pub fn shrink(&mut self) {
        if self.store.is_empty() {
            self.store = Vec::new();
        }
    }

    /// The frames from `position` on; `None` if that is not the position of one that is kept.
    fn from(&self, position: u64) -> Option<&[u8]> {
        let (mut at, mut first) = (self.head, self.first);
        while first < position {
            let length = frame_length(&self.store[at..])?;
            at += PREFIX_BYTES + length;
            first += length as u64;
        }
        (first == position).then(|| &self.store[at..])
    }
}

/// The length of the frame that `bytes` begin with; `None` at the end.
fn frame_length(bytes: &[u8]) -> Option<usize> {
    let prefix = bytes.first_chunk::<PREFIX_BYTES>()?;
    Some(u32::from_be_bytes([0, prefix[0], prefix[1], prefix[2]]) as usize)
}

impl Connection {
    /// The transport is gone. Whether the session waits for a new one: without resumption it has ended, and
    /// the driver fails its [`streams`](Self::streams).
    ///
    /// Bytes that were received in part, or not yet sent, are lost with the transport: they are
    /// sent again. Requests and payloads can still be sent and wait for the new transport, as far
    /// as the store holds them.
    pub fn suspend(&mut self, now_ms: u64) -> Suspended {
        // What a request would be refused with goes nowhere now; with a session it is kept.
        self.keep_fresh(&mut Vec::new());
        self.now_ms = self.now_ms.max(now_ms);
        let Some(session) = &mut self.session else {
            self.phase = Phase::Closed;
            return Suspended::Ended;
        };
        match self.phase {
            Phase::New | Phase::Deciding | Phase::Closed | Phase::Closing => {
                self.phase = Phase::Closed;
                Suspended::Ended
            }
            Phase::Suspended => Suspended::Waits,
            Phase::Open | Phase::Resuming => {
                if self.phase == Phase::Open || session.expires_ms == u64::MAX {
                    session.expires_ms = self.now_ms + u64::from(session.config.session_ms);
                }
                self.phase = Phase::Suspended;
                Suspended::Waits
            }
        }
    }

    /// The token of a session that can be resumed.
    pub fn resume_token(&self) -> Option<&[u8]> {
        self.session.as_ref().map(|session| &*session.token)
    }

    /// Client: takes a suspended session up on a new transport. Appends the RESUME. The answer is
    /// [`Event::Resumed`] or [`Event::Closed`].
    pub fn resume_client(&mut self, now_ms: u64, out: &mut Vec<u8>) {
        let Some(session) = &self.session else { return };
        if self.phase != Phase::Suspended {
            return;
        }
        let resume = Resume {
            version: Version::V1_0,
            token: &session.token,
            last_received_server_position: session.received,
            first_available_client_position: session.first,
        };
        encode(&Frame::Resume(resume), out);
        self.phase = Phase::Resuming;
        self.now_ms = self.now_ms.max(now_ms);
        self.heard_ms = self.now_ms;
    }

    /// Server: takes a suspended session up with a client's RESUME. Appends the RESUME_OK and what the client
    /// missed, or the ERROR that refuses it; the session has ended then.
    pub fn resume_server(
        &mut self,
        resume: &Resume<'_>,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), ResumeRefused> {
        let answer = self.check_resume(resume);
        if let Err(refused) = answer {
            let text = refused.to_string();
            let code = ErrorCode::REJECTED_RESUME;
            encode(&Frame::Error { stream: StreamId::CONNECTION, code, data: text.as_bytes() }, out);
            self.phase = Phase::Closed;
            return Err(refused);
        }
        let Some(session) = &mut self.session else { return Err(ResumeRefused::Ended) };
        encode(&Frame::ResumeOk { last_received_client_position: session.received }, out);
        session.acknowledged(resume.last_received_server_position);
        out.extend_from_slice(&session.store[session.head..]);
        self.reopen(now_ms);
        Ok(())
    }

    fn check_resume(&self, resume: &Resume<'_>) -> Result<(), ResumeRefused> {
        let Some(session) = &self.session else { return Err(ResumeRefused::Ended) };
        if self.phase != Phase::Suspended || *session.token != *resume.token {
            return Err(ResumeRefused::Ended);
        }
        let received = resume.last_received_server_position;
        if session.from(received).is_none() {
            return Err(ResumeRefused::Lost { received, available: session.first });
        }
        let available = resume.first_available_client_position;
        if available > session.received {
            return Err(ResumeRefused::PeerLost { received: session.received, available });
        }
        Ok(())
    }

    /// Client: the server goes on.
    pub(super) fn on_resume_ok(&mut self, position: u64, out: &mut Vec<u8>) -> Event<'static> {
        let Some(session) = &mut self.session else {
            return self.violate(Violation::ResumePosition(position), out);
        };
        if session.from(position).is_none() {
            return self.violate(Violation::ResumePosition(position), out);
        }
        session.acknowledged(position);
        out.extend_from_slice(&session.store[session.head..]);
        self.reopen(self.now_ms);
        self.due_ms = self.now_ms + u64::from(self.config.keepalive_interval_ms);
        Event::Resumed
    }

    /// The session is open again. Leases do not outlive a transport.
    fn reopen(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        self.heard_ms = self.now_ms;
        self.phase = Phase::Open;
        if let Some(session) = &mut self.session {
            session.expires_ms = u64::MAX;
        }
        if let Some(leases) = &mut self.leases {
            **leases = Default::default();
        }
    }
}

/// What becomes of a connection without a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspended {
    /// The session can be resumed.
    Waits,
    /// There is none.
    Ended,
}
