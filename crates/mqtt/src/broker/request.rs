//! A request from a client, to a service or for itself, and the answer on its way back.
//!
//! A PUBLISH to `PREFIX/SERVICE/METHOD` is no message for subscribers: the host hands it to a service, and
//! the service's answer comes back as a PUBLISH to the request's Response Topic with its
//! Correlation Data (MQTT 5.0 section 4.10). An answer goes only to the session that asked, not to
//! other subscribers of the response topic: a client must not reach others by a topic to which it
//! may not publish.
//!
//! A PUBLISH to `PREFIX/ACTION`, with the prefix of clients' own requests, asks the server itself.
//! PUBACK or PUBREC waits for the outcome and carries it.

use std::time::Duration;

use super::deliver::{Parcel, Terms};
use super::host::{Action, Client, Event, Host};
use super::publication::Message;
use super::session::{SessionKey, SharedId};
use super::{Broker, Config};
use crate::packet::{Publish, QoS};
use crate::property::UserProperties;
use crate::reason::ReasonCode;
use crate::topic::TopicName;

/// Bytes of `SERVICE/METHOD`: it travels in one routing tag, whose length is one byte.
pub const ROUTE_BYTES_MAX: usize = 255;

/// A client's request, as the host gets it. The client was allowed to make it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `SERVICE/METHOD`, at most [`ROUTE_BYTES_MAX`] bytes, one slash; of a request for itself: the
    /// action, without a slash.
    pub route: &'a str,
    /// The request's bytes.
    pub payload: &'a [u8],
    /// QoS of the PUBLISH, which the answer has too.
    pub qos: QoS,
    /// Message Expiry Interval: how long the client has use for an answer.
    pub expiry_s: Option<u32>,
    /// Where the answer goes; `None` for a request that wants none, which is all that 3.1.1 can make.
    pub answer_to: Option<AnswerTo<'a>>,
    /// User Properties.
    pub user_properties: UserProperties<'a>,
}

/// Where an answer goes.
#[derive(Debug, Clone, Copy)]
pub struct AnswerTo<'a> {
    /// Response Topic. The client may subscribe to it.
    pub topic: &'a str,
    /// Correlation Data.
    pub correlation: Option<&'a [u8]>,
}

/// The host does not take a request; nothing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotTaken {
    /// The reason of PUBACK or PUBREC.
    pub reason: ReasonCode,
    /// The time after which a retry makes sense, carried in the user property `retry-after-ms`.
    pub retry_after: Option<Duration>,
}

impl From<ReasonCode> for NotTaken {
    fn from(reason: ReasonCode) -> Self {
        Self { reason, retry_after: None }
    }
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// It is on its way, or kept for a client that is away.
    Yes,
    /// The session is gone, or its client is away and the answer was not to be kept (QoS 0).
    Gone,
    /// The client has no subscription that matches the response topic [MQTT-3.3.2-3].
    NotSubscribed,
}

/// A topic that has no subscribers: the server takes what is published there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserved<'t> {
    /// A request to a service: `SERVICE/METHOD`.
    Service(&'t str),
    /// A request of the client for itself: the action.
    Own(&'t str),
}

impl<'t> Reserved<'t> {
    /// The name of the request, where its form is right.
    fn route(self) -> Option<&'t str> {
        let is_level = |text: &str| !text.is_empty() && !text.contains('/');
        let (route, is_right) = match self {
            Self::Service(route) => (
                route,
                route
                    .split_once('/')
                    .is_some_and(|(service, method)| !service.is_empty() && is_level(method)),
            ),
            Self::Own(action) => (action, is_level(action)),
        };
        (is_right && route.len() <= ROUTE_BYTES_MAX).then_some(route)
    }
}

impl Config {
    /// The request that a topic stands for, where the topic is reserved for requests.
    pub(super) fn reserved<'t>(&self, topic: &'t str) -> Option<Reserved<'t>> {
        let after = |prefix: Option<&str>| topic.strip_prefix(prefix?)?.strip_prefix('/');
        let service = after(self.request_prefix.as_deref()).map(Reserved::Service);
        service.or_else(|| after(self.own_prefix.as_deref()).map(Reserved::Own))
    }
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Hands a request to the host. The client may publish to its topic.
    pub(super) fn request<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        reserved: Reserved<'_>,
        publish: &Publish<'_>,
    ) -> Result<(), NotTaken>
    where
        H: Host<Link = L, Identity = I>,
    {
        if publish.retain {
            // A request happens once; there is nothing that could be retained.
            return Err(ReasonCode::ImplementationSpecificError.into());
        }
        let Some(route) = reserved.route() else { return Err(ReasonCode::TopicNameInvalid.into()) };
        let Some(session) = self.sessions.get(key.index as usize) else {
            return Err(ReasonCode::UnspecifiedError.into());
        };
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        let properties = &publish.properties;
        let answer_to = match properties.response_topic {
            None => None,
            Some(topic) if TopicName::parse(topic).is_err() => {
                return Err(ReasonCode::TopicNameInvalid.into());
            }
            Some(topic) => {
                if !host.authorise(client, Action::Subscribe, topic) {
                    host.count(Event::PublishDenied);
                    return Err(ReasonCode::NotAuthorized.into());
                }
                Some(AnswerTo { topic, correlation: properties.correlation_data })
            }
        };
        let request = Request {
            route,
            payload: publish.payload,
            qos: publish.qos,
            expiry_s: properties.message_expiry_s,
            answer_to,
            user_properties: properties.user_properties,
        };
        if let Reserved::Service(_) = reserved {
            return host.request(client, key, &request);
        }
        let then = self.pendings.part(&mut self.parts);
        let taken = host.own_request(client, key, &request, then);
        if taken.is_err() {
            self.pendings.remove(then);
            self.parts = None;
        }
        taken
    }

    /// Sends an answer to the session that asked, at the lower QoS of the request and of its subscription.
    pub fn answer<H>(&mut self, host: &mut H, key: SessionKey, message: &Message<'_>) -> Answered
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session(key) else { return Answered::Gone };
        let away = session.link.is_none();
        let mut matched = std::mem::take(&mut self.scratch.matched);
        let mut ids = std::mem::take(&mut self.scratch.ids_of_one);
        matched.clear();
        ids.clear();
        self.filters.matching(message.topic, &mut matched);
        let session = &self.sessions[key.index as usize];
        let mut qos = None;
        for held in session.subscriptions.iter().filter(|held| matched.contains(&held.filter)) {
            let subscriber = self.filters.subscriber(held.filter, held.position);
            qos = qos.max(subscriber.map(|subscriber| subscriber.qos().min(message.head.qos)));
            ids.extend(session.subscription_id(held.filter));
        }
        let answered = match qos {
            None => Answered::NotSubscribed,
            Some(QoS::AtMostOnce) if away => Answered::Gone,
            Some(qos) => match message.expiry_s(host.now_ms()) {
                Err(_) => Answered::Gone,
                Ok(expiry_s) => {
                    host.begin_message();
                    let terms = Terms { qos, retain: false, ids: &ids, shared: SharedId::NONE, number: 0 };
                    let mut parcel = Parcel::new(*message, expiry_s, None);
                    // An answer is of use while its device waits; it is not kept.
                    parcel.is_kept = true;
                    self.deliverer().deliver(host, key.index, terms, &mut parcel);
                    Answered::Yes
                }
            },
        };
        self.scratch.matched = matched;
        self.scratch.ids_of_one = ids;
        answered
    }
}
