//! Time: KEEPALIVE frames, and what happens when none come.
//!
//! A client sends KEEPALIVE in the interval of its SETUP, independent of what else it sends: with
//! resumption they carry the position up to which frames have come. Any bytes of the peer are a
//! sign of life.

use crate::frame::{ErrorCode, Frame, Respond, encode};

use super::{Closed, Connection, Event, Phase};

impl Connection {
    /// Does what is due. Appends to `out` what has to be sent, and returns whether the connection
    /// has ended.
    ///
    /// A call before [`deadline_ms`](Self::deadline_ms) does nothing that matters, and costs little.
    pub fn advance(&mut self, now_ms: u64, out: &mut Vec<u8>) -> Option<Event<'static>> {
        self.keep_fresh(out);
        self.now_ms = self.now_ms.max(now_ms);
        self.streams.shrink();
        if let Some(session) = &mut self.session {
            session.shrink();
        }
        if let Some(leases) = &mut self.leases {
            leases.advance(self.now_ms);
        }
        if self.now_ms < self.ends_ms()? {
            if self.now_ms >= self.due_ms && matches!(self.phase, Phase::Open | Phase::Closing) {
                self.write_keepalive(Respond::Yes, &[], out);
                self.due_ms = self.now_ms + u64::from(self.config.keepalive_interval_ms);
            }
            return None;
        }
        Some(Event::Closed(self.time_out(out)))
    }

    fn time_out(&mut self, out: &mut Vec<u8>) -> Closed<'static> {
        match self.phase {
            Phase::New | Phase::Deciding => {
                self.close(ErrorCode::REJECTED_SETUP, "no SETUP was accepted in time", out);
                Closed::SetupTimeout
            }
            Phase::Suspended => {
                self.phase = Phase::Closed;
                Closed::SessionExpired
            }
            _ => {
                let lifetime_ms = self.lifetime_ms;
                if self.session.is_some() {
                    // An ERROR would end the session at the peer, should it still arrive.
                    self.suspend(self.now_ms);
                } else {
                    let text = format!("No keep-alive acks for {lifetime_ms} ms");
                    self.close(ErrorCode::CONNECTION_ERROR, &text, out);
                }
                Closed::KeepAliveTimeout { lifetime_ms }
            }
        }
    }

    /// When [`advance`](Self::advance) must be called next, in milliseconds of the driver's clock.
    ///
    /// Bytes that come only move it away, so a driver may look again at that time. It comes nearer
    /// with [`accept`](Self::accept), [`suspend`](Self::suspend), a resumption and a lease, given
    /// or taken: a lease that is over is noticed then, because [`request`](Self::request) has no
    /// clock.
    pub fn deadline_ms(&self) -> Option<u64> {
        let mut deadline_ms = self.ends_ms()?;
        if matches!(self.phase, Phase::Open | Phase::Closing) {
            deadline_ms = deadline_ms.min(self.due_ms);
        }
        if let Some(leases) = self.leases.as_ref().and_then(|leases| leases.deadline_ms()) {
            deadline_ms = deadline_ms.min(leases);
        }
        Some(deadline_ms)
    }

    /// When the connection ends if nothing comes.
    fn ends_ms(&self) -> Option<u64> {
        match self.phase {
            Phase::New | Phase::Deciding => Some(self.due_ms),
            Phase::Open | Phase::Closing | Phase::Resuming => {
                Some(self.heard_ms + u64::from(self.lifetime_ms))
            }
            Phase::Suspended => self.session.as_ref().map(|session| session.expires_ms()),
            Phase::Closed => None,
        }
    }

    /// A KEEPALIVE came.
    pub(super) fn on_keepalive(&mut self, respond: Respond, position: u64, data: &[u8], out: &mut Vec<u8>) {
        if let Some(session) = &mut self.session {
            session.acknowledged(position);
        }
        if respond == Respond::Yes {
            self.write_keepalive(Respond::No, data, out);
        }
    }

    fn write_keepalive(&self, respond: Respond, data: &[u8], out: &mut Vec<u8>) {
        let last_received_position = self.session.as_ref().map_or(0, |session| session.received());
        encode(&Frame::KeepAlive { respond, last_received_position, data }, out);
    }

    /// Sends a KEEPALIVE that wants an answer, besides those that a client sends by itself.
    pub fn probe(&mut self, out: &mut Vec<u8>) {
        if matches!(self.phase, Phase::Open | Phase::Closing) {
            self.write_keepalive(Respond::Yes, &[], out);
        }
    }

    /// Sends metadata of the connection (METADATA_PUSH). It is not resumed: it describes the state
    /// of now.
    pub fn metadata_push(&mut self, metadata: &[u8], out: &mut Vec<u8>) {
        if matches!(self.phase, Phase::Open | Phase::Closing) {
            encode(&Frame::MetadataPush { metadata }, out);
        }
    }
}
