//! Requests in datagrams: one frame each, sent once, answered or not.
//!
//! A request goes to the instance that the balancer chooses, at the address of its connections. Nothing is sent
//! again; what is not answered ends by its deadline. Stream ids are used once in 2^31 datagrams, and only the
//! instance that was asked is heard, so a late answer of an earlier call is nobody's. Servers do their part in
//! crate::server::udp.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stadium_reactor::{Io, UdpId, UdpSettings};
use stadium_rsocket::frame::{self, Frame, More, PREFIX_BYTES, Payload, StreamId};

use super::ClientLoop;
use crate::answer::CallError;
use crate::balance::{Choice, InstanceId, Outcome};
use crate::client::completion::Completion;
use crate::client::item::{Item, NewCall};
use crate::method::Interaction;
use crate::wire::{self, DATAGRAM_BYTES_MAX};

/// How long an answer is waited for where the caller sets no deadline: a lost datagram is soon
/// known as such.
const DEADLINE: Duration = Duration::from_secs(1);

/// Datagrams that may wait for answers, some 100 bytes each; the next gets Busy. As many as a fast
/// loop sends in a tenth of a second.
const WAITING_MAX: usize = 64 * 1024;

/// Deadlines kept, of datagrams that wait and of those that were answered before, 16 bytes each;
/// the next gets Busy.
const DEADLINES_MAX: usize = 1024 * 1024;

/// Datagrams under way.
#[derive(Default)]
pub(super) struct Datagrams {
    v4: Option<UdpId>,
    v6: Option<UdpId>,
    waiting: HashMap<u32, Waiting, RandomState>,
    deadlines: BinaryHeap<Reverse<(u64, u32)>>,
    last_id: u32,
    /// Where a frame is put together.
    frame: Vec<u8>,
}

/// A datagram that may be answered.
struct Waiting {
    completion: Completion,
    service: u16,
    instance: InstanceId,
    address: SocketAddr,
    sent_us: u64,
}

impl Datagrams {
    fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX || self.deadlines.len() >= DEADLINES_MAX
    }

    /// An id that no datagram under way has, and never 0.
    fn next_id(&mut self) -> u32 {
        loop {
            self.last_id = (self.last_id + 1) & 0x7FFF_FFFF;
            if self.last_id != 0 && !self.waiting.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }

    /// The socket for an address of that family.
    fn socket(&mut self, io: &mut Io<Item>, address: SocketAddr) -> std::io::Result<UdpId> {
        let (socket, any): (_, SocketAddr) = match address {
            SocketAddr::V4(_) => (&mut self.v4, (Ipv4Addr::UNSPECIFIED, 0).into()),
            SocketAddr::V6(_) => (&mut self.v6, (Ipv6Addr::UNSPECIFIED, 0).into()),
        };
        if let Some(id) = socket {
            return Ok(*id);
        }
        let (id, _) = io.bind_udp(any, &UdpSettings::default())?;
        Ok(*socket.insert(id))
    }

    /// When the next one's deadline passes, in microseconds of loop time.
    pub(super) fn next_us(&self) -> Option<u64> {
        self.deadlines.peek().map(|next| next.0.0)
    }
}

impl ClientLoop {
    /// Sends a call's only datagram.
    pub(super) fn call_by_datagram(&mut self, io: &mut Io<Item>, mut new: NewCall) {
        let sent = self.send_datagram(io, &new);
        let (id, instance, address) = match sent {
            Ok(sent) => sent,
            Err(error) => return new.fail(error),
        };
        let now_us = io.now_us();
        let completion = std::mem::replace(&mut new.completion, Completion::Discard);
        if new.interaction == Interaction::OneWay {
            return complete(completion, Ok(&[]));
        }
        let deadline = new.deadline.unwrap_or(DEADLINE);
        self.services[usize::from(new.service)].balancer.began(instance, now_us);
        self.datagrams.deadlines.push(Reverse((now_us + deadline.as_micros() as u64, id)));
        let waiting = Waiting { completion, service: new.service, instance, address, sent_us: now_us };
        self.datagrams.waiting.insert(id, waiting);
    }

    fn send_datagram(
        &mut self,
        io: &mut Io<Item>,
        new: &NewCall,
    ) -> Result<(u32, InstanceId, SocketAddr), CallError> {
        if self.datagrams.is_full() {
            return Err(CallError::Busy {
                retry_after: Duration::from_millis(10),
                reason: "as many datagrams wait for answers as may".to_owned(),
            });
        }
        let route = self.route(&new.route);
        let metadata = &mut self.metadata;
        metadata.clear();
        metadata.extend_from_slice(&self.routes[route as usize].entry);
        let left_ms = new.deadline.unwrap_or(DEADLINE).as_millis();
        wire::write_deadline(metadata, u32::try_from(left_ms).unwrap_or(u32::MAX));
        metadata.extend_from_slice(&self.config.metadata);
        metadata.extend_from_slice(&new.metadata);
        let id = self.datagrams.next_id();
        let (stream, more) = (StreamId(id), More::Whole);
        let payload = Payload { metadata: Some(metadata), data: &new.request };
        let request = match new.interaction {
            Interaction::OneWay => Frame::RequestFireAndForget { stream, more, payload },
            _ => Frame::RequestResponse { stream, more, payload },
        };
        let mut bytes = std::mem::take(&mut self.datagrams.frame);
        bytes.clear();
        frame::encode(&request, &mut bytes);
        let sent = self.send_frame(io, new, &bytes[PREFIX_BYTES..]);
        self.datagrams.frame = bytes;
        sent.map(|(instance, address)| (id, instance, address))
    }

    fn send_frame(
        &mut self,
        io: &mut Io<Item>,
        new: &NewCall,
        frame: &[u8],
    ) -> Result<(InstanceId, SocketAddr), CallError> {
        if frame.len() > DATAGRAM_BYTES_MAX {
            let reason =
                format!("a request of {} bytes does not fit a datagram of {DATAGRAM_BYTES_MAX}", frame.len());
            return Err(CallError::Rejected { code: "RPC-011".to_owned(), reason });
        }
        let one = &mut self.services[usize::from(new.service)];
        let chosen = one.balancer.choose(io.now_us(), Choice { key: new.key, exclude: &[] });
        let address = chosen.and_then(|chosen| one.balancer.address(chosen.id)?.parse().ok());
        let (Some(chosen), Some(address)) = (chosen, address) else {
            let why = format!(
                "no instance of `{}` can be chosen; {} known, discovery: {}",
                one.name,
                one.balancer.len(),
                one.freshness
            );
            return Err(CallError::unavailable(why));
        };
        let unavailable = |error: std::io::Error| CallError::unavailable(error.to_string());
        let socket = self.datagrams.socket(io, address).map_err(unavailable)?;
        if let Err(error) = io.send_datagram(socket, address, frame) {
            // It is lost, as any may be.
            tracing::trace!(%address, %error, "A datagram was not sent");
        }
        Ok((chosen.id, address))
    }

    /// A datagram came: the answer of a call that waits, or nothing to us.
    pub(super) fn datagram_came(&mut self, io: &Io<Item>, peer: SocketAddr, bytes: &[u8]) {
        let (stream, answer) = match frame::decode(bytes) {
            Ok(Frame::Payload { stream, more: More::Whole, payload, .. }) => (stream, Ok(payload.data)),
            Ok(Frame::Error { stream, code, data }) => (stream, Err(wire::call_error(code, data))),
            _ => return,
        };
        if self.datagrams.waiting.get(&stream.0).is_none_or(|waiting| waiting.address != peer) {
            return;
        }
        let Some(waiting) = self.datagrams.waiting.remove(&stream.0) else { return };
        let now_us = io.now_us();
        let outcome = answer.as_ref().map_or_else(Outcome::of, |_| Outcome::Ok);
        let one = &mut self.services[usize::from(waiting.service)];
        one.balancer.ended(waiting.instance, outcome, now_us.saturating_sub(waiting.sent_us), now_us);
        complete(waiting.completion, answer);
    }

    /// Ends those whose deadline has passed.
    pub(super) fn expire_datagrams(&mut self, now_us: u64) {
        while let Some(Reverse((at_us, id))) = self.datagrams.deadlines.peek().copied()
            && at_us <= now_us
        {
            self.datagrams.deadlines.pop();
            let Some(waiting) = self.datagrams.waiting.remove(&id) else { continue };
            // That the network lost it is no verdict on the instance: no failure, and no latency.
            let one = &mut self.services[usize::from(waiting.service)];
            let lasted_us = now_us.saturating_sub(waiting.sent_us);
            one.balancer.stream_ended(waiting.instance, Outcome::Cancelled, lasted_us, now_us);
            complete(waiting.completion, Err(CallError::Deadline));
        }
    }
}

fn complete(completion: Completion, how: Result<&[u8], CallError>) {
    match completion {
        Completion::Future(answer) => answer.0.complete(how.map(<[u8]>::to_vec)),
        Completion::Callback(callback) => callback.call(how),
        Completion::Discard | Completion::Local | Completion::Stream(_) => {}
    }
}
