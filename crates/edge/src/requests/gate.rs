//! A loop's gate for requests: bounds on the way in, MQTT's form on the way out.
//!
//! Only the loop takes places, so a bound is never exceeded; the code that answers, on any thread,
//! gives them back. A refusal at QoS 0 is reported by an answer, which takes no place.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use stadium_mqtt::broker::{Answered, Client, Head, Message as MqttMessage, NotTaken, Request, SessionKey};
use stadium_mqtt::packet::{PublishProperties, QoS};
use stadium_mqtt::property::UserPropertiesBuffer;
use stadium_reactor::{Io, LoopHandle};

use super::outbox::{Outbox, Outgoing};
use super::reply::{Envelope, Place, Reply};
use super::{Answer, DeviceRequest, Refused, Services};
use crate::device_loop::DeviceLoop;
use crate::message::Message;
use crate::turn::{Turn, Who};

/// Devices remembered before those without a request in flight are forgotten.
const DEVICES_SWEPT_MIN: usize = 1_024;

/// What a loop has for requests, where the node has services.
#[derive(Debug)]
pub(crate) struct RequestGate {
    services: Services,
    /// This loop's share of the node's bound.
    in_flight_max: usize,
    in_flight: Arc<AtomicUsize>,
    by_device: HashMap<SessionKey, Arc<AtomicU32>>,
    /// Devices at which those without a request are looked for.
    sweep_at: usize,
    outbox: Arc<Outbox>,
    /// Emptied when used; keeps its capacity.
    taken: Vec<Outgoing>,
}

impl RequestGate {
    pub(crate) fn new(services: Services, loops: usize) -> Self {
        Self {
            in_flight_max: services.limits.in_flight_max.div_ceil(loops),
            services,
            in_flight: Arc::default(),
            by_device: HashMap::new(),
            sweep_at: DEVICES_SWEPT_MIN,
            outbox: Arc::default(),
            taken: Vec::new(),
        }
    }

    /// Requests whose answer has not left.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    fn take(
        &mut self,
        client: Client<'_, Who>,
        session: SessionKey,
        request: &Request<'_>,
        handle: &LoopHandle<Message>,
    ) -> Result<(), Refused> {
        let limits = self.services.limits;
        let of_device = self.of_device(session);
        let place = Place::take(&self.in_flight, self.in_flight_max, &of_device, limits.per_device_max)
            .ok_or(Refused::Busy { retry_after: limits.retry_after })?;
        let asked = request.expiry_s.map_or(limits.deadline, |s| Duration::from_secs(u64::from(s)));
        let device_request = DeviceRequest {
            client_id: client.client_id,
            user: client.identity.as_ref().map(|identity| &*identity.principal),
            route: request.route,
            payload: request.payload,
            deadline: asked.min(limits.deadline_max),
            user_properties: request.user_properties,
        };
        let reply = Reply {
            envelope: request.answer_to.map(|to| Envelope::new(session, &to, request.qos)),
            place,
            outbox: Arc::clone(&self.outbox),
            handle: handle.clone(),
        };
        if asked.is_zero() {
            reply.send(Answer::Deadline);
            return Ok(());
        }
        self.services.requests.request(&device_request, reply)
    }

    fn of_device(&mut self, session: SessionKey) -> Arc<AtomicU32> {
        if self.by_device.len() >= self.sweep_at {
            self.by_device.retain(|_, count| count.load(Ordering::Relaxed) > 0);
            self.sweep_at = (self.by_device.len() * 2).max(DEVICES_SWEPT_MIN);
        }
        Arc::clone(self.by_device.entry(session).or_default())
    }

    /// Answers a request that was refused, where no PUBACK does. An answer that finds the outbox
    /// full is dropped.
    fn answer_refused(
        &self,
        session: SessionKey,
        request: &Request<'_>,
        refused: Refused,
        handle: &LoopHandle<Message>,
    ) {
        let Some(to) = request.answer_to.filter(|_| request.qos == QoS::AtMostOnce) else { return };
        if self.outbox.len() >= self.in_flight_max {
            return;
        }
        let envelope = Envelope::new(session, &to, request.qos);
        if self.outbox.put(Outgoing { envelope, answer: refused.into(), place: None }) {
            let _ = handle.try_send(Message(crate::message::Kind::Answers));
        }
    }
}

impl Turn<'_> {
    /// Takes a request over, or returns why it is refused.
    pub(crate) fn take_request(
        &mut self,
        client: Client<'_, Who>,
        session: SessionKey,
        request: &Request<'_>,
    ) -> Result<(), NotTaken> {
        let handle = self.around.shared.handle(self.around.index);
        let counts = &mut self.around.counts;
        let taken = match &mut self.around.request_gate {
            Some(gate) => gate.take(client, session, request, handle),
            None => Err(Refused::NoSuchService),
        };
        let Err(refused) = taken else {
            counts.requests += 1;
            return Ok(());
        };
        counts.requests_refused += 1;
        let not_taken = NotTaken { reason: refused.reason(), retry_after: refused.retry_after() };
        if let Some(gate) = &self.around.request_gate {
            gate.answer_refused(session, request, refused, handle);
        }
        Err(not_taken)
    }
}

impl DeviceLoop {
    /// Delivers the answers that wait in the outbox.
    pub(crate) fn deliver_answers(&mut self, io: &mut Io<Message>) {
        let Some(gate) = &mut self.around.request_gate else { return };
        if gate.outbox.len() == 0 {
            return;
        }
        let mut taken = std::mem::take(&mut gate.taken);
        gate.outbox.take(&mut taken);
        let answer_expiry = gate.services.limits.answer_expiry;
        for Outgoing { envelope, answer, place } in taken.drain(..) {
            let payload = match &answer {
                Answer::Ok(payload) => payload.as_slice(),
                Answer::Busy { .. } | Answer::Rejected { .. } | Answer::Deadline | Answer::Unknown { .. } => {
                    &[]
                }
            };
            self.send_answer(io, &envelope, &answer, payload, answer_expiry);
            drop(place);
        }
        if let Some(gate) = &mut self.around.request_gate {
            gate.taken = taken;
        }
    }
}

impl DeviceLoop {
    /// Delivers an answer to the session that asked, with its outcome in the User Properties.
    pub(super) fn send_answer(
        &mut self,
        io: &mut Io<Message>,
        envelope: &Envelope,
        answer: &Answer,
        payload: &[u8],
        expiry: Duration,
    ) {
        let mut properties = Vec::new();
        lay_out(envelope, answer, &mut properties);
        let expiry_ms = u64::try_from(expiry.as_millis()).unwrap_or(u64::MAX);
        let expires_at_ms = self.around.now_ms(io).saturating_add(expiry_ms);
        let message = MqttMessage {
            topic: &envelope.topic,
            properties: &properties,
            payload,
            head: Head { qos: envelope.qos, expires_at_ms: Some(expires_at_ms), ..Head::default() },
        };
        let mut turn = Turn { io, around: &mut self.around };
        match self.broker.answer(&mut turn, envelope.session, &message) {
            Answered::Yes => self.around.counts.answers += 1,
            Answered::Gone | Answered::NotSubscribed => self.around.counts.answers_dropped += 1,
        }
    }
}

/// The properties of an answer.
fn lay_out(envelope: &Envelope, answer: &Answer, into: &mut Vec<u8>) {
    let mut user = UserPropertiesBuffer::default();
    match answer {
        Answer::Ok(_) => user.push("status", "ok"),
        Answer::Busy { retry_after, reason } => {
            user.push("status", "busy");
            user.push("retry-after-ms", &retry_after.as_millis().to_string());
            user.push("reason", reason);
        }
        Answer::Rejected { code, reason } => {
            user.push("status", "rejected");
            user.push("code", code);
            user.push("reason", reason);
        }
        Answer::Deadline => user.push("status", "deadline"),
        Answer::Unknown { reason } => {
            user.push("status", "unknown");
            user.push("reason", reason);
        }
    }
    let properties = PublishProperties {
        correlation_data: envelope.correlation.as_deref(),
        user_properties: user.properties(),
        ..PublishProperties::default()
    };
    properties.encode_forwardable(into);
}
