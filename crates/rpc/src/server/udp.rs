//! Requests in datagrams: small, one each, and any of them may be lost.
//!
//! A datagram is one RSocket REQUEST_RESPONSE or REQUEST_FNF frame without a length and without a SETUP before
//! it; the answer is one PAYLOAD or ERROR frame with the request's stream id, which is the client's own.
//! Only inline functions answer: nothing is kept for a datagram.

use std::net::SocketAddr;

use stadium_reactor::{Io, UdpId};
use stadium_rsocket::frame::{
    self, Completes, ErrorCode, Frame, More, Next, PREFIX_BYTES, Payload, StreamId,
};

use super::dispatch::{Core, failure_text, outcome_of_failure, panicked};
use super::item::Item;
use crate::method::Interaction;
use crate::service::{Call, Failure, Function, Outcome};
use crate::wire::{self, DATAGRAM_BYTES_MAX};

/// What a PAYLOAD frame has before its data: stream id and type with flags.
const FRAME_HEAD_BYTES: usize = 6;

/// Buffers for answers, used again.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    answer: Vec<u8>,
    frame: Vec<u8>,
}

impl Answers {
    /// Answers a datagram, if it is a request.
    pub(crate) fn answer(
        &mut self,
        core: &mut Core,
        io: &mut Io<Item>,
        socket: UdpId,
        peer: SocketAddr,
        bytes: &[u8],
    ) {
        let (stream, payload, wanted) = match frame::decode(bytes) {
            Ok(Frame::RequestResponse { stream, more: More::Whole, payload }) => (stream, payload, true),
            Ok(Frame::RequestFireAndForget { stream, more: More::Whole, payload }) => {
                (stream, payload, false)
            }
            _ => {
                core.counts.datagrams_ignored.add(1);
                return;
            }
        };
        self.answer.clear();
        self.frame.clear();
        let ran = self.run(core, peer, &payload);
        if !wanted {
            return;
        }
        match ran {
            Ok(()) if self.answer.len() + FRAME_HEAD_BYTES <= DATAGRAM_BYTES_MAX => {
                let payload = Payload { metadata: None, data: &self.answer };
                let answer = Frame::Payload {
                    stream,
                    more: More::Whole,
                    next: Next::Value,
                    completes: Completes::Yes,
                    payload,
                };
                frame::encode(&answer, &mut self.frame);
            }
            Ok(()) => error(
                stream,
                ErrorCode::APPLICATION_ERROR,
                "UNKNOWN RPC-006: the answer does not fit a datagram",
                &mut self.frame,
            ),
            Err((code, text)) => error(stream, code, &text, &mut self.frame),
        }
        // A datagram that the kernel does not take is lost, as any may be.
        let _ = io.send_datagram(socket, peer, &self.frame[PREFIX_BYTES..]);
    }

    fn run(
        &mut self,
        core: &mut Core,
        peer: SocketAddr,
        payload: &Payload<'_>,
    ) -> Result<(), (ErrorCode, String)> {
        let metadata = payload.metadata.unwrap_or_default();
        let head = wire::read_head(metadata);
        let place = head.route.and_then(|route| core.shared.methods.find(route));
        let (Some(route), Some(place)) = (head.route, place) else {
            return Err((ErrorCode::INVALID, "RPC-002: there is no such route here".to_owned()));
        };
        let shared = std::sync::Arc::clone(&core.shared);
        let method = shared.methods.at(place);
        if !matches!(method.interaction, Interaction::Unary | Interaction::OneWay)
            || !matches!(method.function, Function::Inline(_))
        {
            return Err((ErrorCode::INVALID, format!("RPC-005: `{route}` is not served over UDP")));
        }
        let left_ms = head.left_ms.map_or(shared.deadline_ms, |left| left.min(shared.deadline_max_ms));
        let call = Call { route, metadata, left_ms, peer: Some(peer), certificate: None };
        let ran = self.run_inline(core, place, &call, payload.data);
        core.count(place, ran.as_ref().map_or_else(outcome_of_failure, |()| Outcome::Ok));
        ran.map_err(|failure| failure_text(&failure))
    }

    fn run_inline(
        &mut self,
        core: &mut Core,
        place: u16,
        call: &Call<'_>,
        data: &[u8],
    ) -> Result<(), Failure> {
        let service = core.shared.methods.at(place).service;
        for interceptor in &core.shared.services[usize::from(service)].interceptors {
            interceptor.before(call).map_err(Failure::Refused)?;
        }
        core.gate.admit_inline(&core.pace).map_err(Failure::Refused)?;
        let function = core.inline[usize::from(place)].as_mut().expect("each loop has its inline functions");
        let run = std::panic::AssertUnwindSafe(|| function.run(call, data));
        let ran = std::panic::catch_unwind(run).unwrap_or_else(|_| {
            tracing::error!(route = call.route, "An inline function panicked");
            Err(panicked())
        });
        ran?;
        function.encode(&mut self.answer);
        core.pace.called();
        Ok(())
    }
}

fn error(stream: StreamId, code: ErrorCode, text: &str, out: &mut Vec<u8>) {
    frame::encode(&Frame::Error { stream, code, data: text.as_bytes() }, out);
}
