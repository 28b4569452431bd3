//! Requests of devices about themselves: `me/opened`, `me/clicked` and `me/device`, carried out by
//! the device's shard.
//!
//! The device is the one that the connection's principal names, never one that a topic or payload
//! names: authentication has proved the principal, and not always the client id. Each request is
//! acknowledged with its outcome when that is durable, so that an acknowledged one survives a
//! crash. Requests of a session are bounded by a rate, and those of a loop by their number.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::json;
use stadium_mqtt::broker::{Client, NotTaken, Persisted, Request, SessionKey, Then};
use stadium_mqtt::reason::ReasonCode;
use stadium_push::{Answer as Answered, AppName, Command, DeviceId, OwnRequest, Refusal};
use stadium_reactor::{Io, LoopHandle};
use stadium_shard::{Shards, Ticket};

use super::Answer;
use super::reply::Envelope;
use crate::alarm::Alarm;
use crate::auth::Via;
use crate::device_loop::DeviceLoop;
use crate::limits::TokenBucket;
use crate::message::Message;
use crate::push::transport::named;
use crate::sessions;
use crate::turn::{Turn, Who};

/// Requests a second of one session, with a burst of one second's worth: more than a user opens,
/// and few enough that a device in a loop costs its shard nothing.
const PER_SECOND: u32 = 10;

/// Requests of a loop whose outcome is open, and answers that wait for the end of its turn; one
/// more is refused.
const UNDER_WAY_MAX: usize = 1_024;

/// Sessions remembered before those that have not asked lately are forgotten.
const SESSIONS_SWEPT_MIN: usize = 1_024;

/// How long an answer is kept for a device that is away or slow.
const ANSWER_EXPIRY: Duration = Duration::from_secs(60);

/// A loop's requests of devices about themselves.
pub(crate) struct OwnRequests {
    shards: Shards,
    alarm: Arc<Alarm>,
    waker: Waker,
    under_way: Vec<UnderWay>,
    by_session: HashMap<SessionKey, TokenBucket>,
    /// Sessions at which those that have not asked lately are looked for.
    sweep_at: usize,
    /// Answers to requests that were refused at once.
    refused: Vec<(Envelope, Answer)>,
}

struct UnderWay {
    ticket: Ticket<Answered>,
    then: Then,
    envelope: Option<Envelope>,
}

/// A request whose outcome is known.
struct Settled {
    then: Then,
    envelope: Option<Envelope>,
    outcome: Result<(), Refusal>,
}

impl std::fmt::Debug for OwnRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnRequests").field("under_way", &self.under_way.len()).finish_non_exhaustive()
    }
}

/// Why a request is not taken.
enum Denied {
    NotADevice,
    NoSuchAction,
    Malformed(String),
    TooMany,
}

impl Denied {
    fn not_taken(&self) -> NotTaken {
        match self {
            Self::NotADevice => ReasonCode::NotAuthorized.into(),
            Self::NoSuchAction => ReasonCode::TopicNameInvalid.into(),
            Self::Malformed(_) => ReasonCode::PayloadFormatInvalid.into(),
            Self::TooMany => {
                NotTaken { reason: ReasonCode::QuotaExceeded, retry_after: Some(Duration::from_secs(1)) }
            }
        }
    }

    fn answer(self) -> Answer {
        let rejected = |code: &'static str, reason: String| Answer::Rejected {
            code: code.into(),
            reason: reason.into(),
        };
        match self {
            Self::NotADevice => {
                rejected("ME-NOT-A-DEVICE", "the connection has not proved to be a device".to_owned())
            }
            Self::NoSuchAction => {
                rejected("ME-NO-ACTION", "it is me/opened, me/clicked or me/device".to_owned())
            }
            Self::Malformed(reason) => rejected("ME-PAYLOAD", reason),
            Self::TooMany => Answer::Busy {
                retry_after: Duration::from_secs(1),
                reason: "too many requests of this device".into(),
            },
        }
    }
}

impl OwnRequests {
    pub(crate) fn new(shards: Shards, handle: LoopHandle<Message>) -> Self {
        let alarm = Alarm::new(handle);
        Self {
            shards,
            waker: Waker::from(Arc::clone(&alarm)),
            alarm,
            under_way: Vec::new(),
            by_session: HashMap::new(),
            sweep_at: SESSIONS_SWEPT_MIN,
            refused: Vec::new(),
        }
    }

    fn take(
        &mut self,
        now_ms: u64,
        client: Client<'_, Who>,
        session: SessionKey,
        request: &Request<'_>,
        then: Then,
    ) -> Result<(), Denied> {
        // First of all: a flood of requests that are refused is a flood.
        if !self.bucket(session, now_ms).take(PER_SECOND, now_ms) || self.under_way.len() >= UNDER_WAY_MAX {
            return Err(Denied::TooMany);
        }
        let (app, device) = device_of(client.identity).ok_or(Denied::NotADevice)?;
        let own = match request.route {
            "opened" => OwnRequest::opened(request.payload),
            "clicked" => OwnRequest::clicked(request.payload),
            "device" => OwnRequest::change(request.payload),
            _ => return Err(Denied::NoSuchAction),
        };
        let own = own.map_err(Denied::Malformed)?;
        let ticket = self.shards.submit_push(Command::Own { app, device, request: own });
        let envelope = request.answer_to.map(|to| Envelope::new(session, &to, request.qos));
        self.under_way.push(UnderWay { ticket, then, envelope });
        Ok(())
    }

    fn bucket(&mut self, session: SessionKey, now_ms: u64) -> &mut TokenBucket {
        if self.by_session.len() >= self.sweep_at {
            let full = u64::from(PER_SECOND);
            self.by_session.retain(|_, bucket| bucket.tokens(PER_SECOND, now_ms) < full);
            self.sweep_at = (self.by_session.len() * 2).max(SESSIONS_SWEPT_MIN);
        }
        self.by_session.entry(session).or_insert_with(|| TokenBucket::full(PER_SECOND, now_ms))
    }

    /// Requests whose outcome is known since the last time.
    fn collect(&mut self) -> Vec<Settled> {
        let mut settled = Vec::new();
        let mut at = 0;
        while let Some(one) = self.under_way.get_mut(at) {
            let Poll::Ready(answer) =
                Future::poll(Pin::new(&mut one.ticket), &mut Context::from_waker(&self.waker))
            else {
                at += 1;
                continue;
            };
            let UnderWay { then, envelope, .. } = self.under_way.swap_remove(at);
            settled.push(Settled { then, envelope, outcome: answer.map(drop) });
        }
        settled
    }
}

/// The device that a connection has proved to be; none for an anonymous one, whatever its client
/// id.
fn device_of(identity: &Who) -> Option<(AppName, DeviceId)> {
    let identity = identity.as_ref().filter(|identity| identity.via != Via::Anonymous)?;
    named(&identity.principal)
}

impl Turn<'_> {
    /// Takes a device's request about itself over, or returns why it is refused.
    pub(crate) fn take_own_request(
        &mut self,
        client: Client<'_, Who>,
        session: SessionKey,
        request: &Request<'_>,
        then: Then,
    ) -> Result<(), NotTaken> {
        let now_ms = self.around.now_ms(self.io);
        let Some(own) = &mut self.around.own_requests else { return Err(ReasonCode::NotAuthorized.into()) };
        let Err(denied) = own.take(now_ms, client, session, request, then) else {
            self.around.counts.requests += 1;
            return Ok(());
        };
        self.around.counts.requests_refused += 1;
        let not_taken = denied.not_taken();
        if let Some(to) = request.answer_to
            && own.refused.len() < UNDER_WAY_MAX
        {
            own.refused.push((Envelope::new(session, &to, request.qos), denied.answer()));
        }
        Err(not_taken)
    }
}

impl DeviceLoop {
    /// Acknowledges and answers devices' requests about themselves whose outcome is known.
    pub(crate) fn settle_own_requests(&mut self, io: &mut Io<Message>) {
        let Some(own) = &mut self.around.own_requests else { return };
        // Also where nothing is under way: an alarm that rang for an outcome that was taken
        // meanwhile must ring again.
        own.alarm.heard();
        if own.under_way.is_empty() && own.refused.is_empty() {
            return;
        }
        let refused = std::mem::take(&mut own.refused);
        for Settled { then, envelope, outcome } in own.collect() {
            let mut turn = Turn { io: &mut *io, around: &mut self.around };
            match &outcome {
                Ok(()) => self.broker.persisted(&mut turn, then, Persisted::Done),
                Err(refusal @ Refusal::Rejected { .. }) => {
                    self.broker.own_refused(&mut turn, then, reason_of(refusal));
                }
                Err(refusal) => self.broker.persisted(&mut turn, then, sessions::persisted(refusal)),
            }
            if let Some(envelope) = envelope {
                self.answer_own(io, &envelope, &answer_of(outcome));
            }
        }
        for (envelope, answer) in refused {
            self.answer_own(io, &envelope, &answer);
        }
    }

    fn answer_own(&mut self, io: &mut Io<Message>, envelope: &Envelope, answer: &Answer) {
        let payload = match answer {
            Answer::Ok(payload) => payload.clone(),
            Answer::Rejected { code, reason } => {
                json!({"status": "rejected", "code": code, "reason": reason}).to_string().into_bytes()
            }
            Answer::Busy { retry_after, reason } => {
                let retry_after_ms = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
                json!({"status": "busy", "retry_after_ms": retry_after_ms, "reason": reason})
                    .to_string()
                    .into_bytes()
            }
            Answer::Unknown { reason } => {
                json!({"status": "unknown", "reason": reason}).to_string().into_bytes()
            }
            Answer::Deadline => json!({"status": "deadline"}).to_string().into_bytes(),
        };
        self.send_answer(io, envelope, answer, &payload, ANSWER_EXPIRY);
    }
}

/// The reason of PUBACK or PUBREC for a refusal of the device's shard.
fn reason_of(refusal: &Refusal) -> ReasonCode {
    if OwnRequest::is_denied_by(refusal) {
        ReasonCode::NotAuthorized
    } else {
        ReasonCode::PayloadFormatInvalid
    }
}

fn answer_of(outcome: Result<(), Refusal>) -> Answer {
    match outcome {
        Ok(()) => Answer::Ok(br#"{"status":"ok"}"#.to_vec()),
        Err(Refusal::Rejected { code, reason }) => {
            Answer::Rejected { code: code.into(), reason: reason.into() }
        }
        Err(Refusal::Busy { retry_after, reason, .. }) => {
            Answer::Busy { retry_after: Duration::from_millis(retry_after), reason: reason.into() }
        }
        Err(Refusal::Unknown { reason, .. }) => Answer::Unknown { reason: reason.into() },
    }
}
