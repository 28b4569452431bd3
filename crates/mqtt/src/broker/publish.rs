//! A message arrives: from a client, from the server itself, or from another loop.
//!
//! A client's message, by any way in, passes topic aliases, the authorisation function, the
//! retained store and then [`Broker::route`]; a request to a service leaves after the authorisation
//! function, see [`super::request`]. The acknowledgement is sent last, when the message is ours.

use std::sync::Arc;
use std::time::Duration;

use super::deliver::Scope;
use super::durable::{Answer, Change, Noted, Origin, PublishedBy, ReplyTo, Then, What};
use super::host::{Action, Client, Event, Host, Uplink};
use super::parts::{Decides, Part, Retain};
use super::publication::{self, Head, Message, Publication};
use super::request::NotTaken;
use super::retained::Full;
use super::session::SessionKey;
use super::{Broker, Violation};
use crate::encode;
use crate::packet::{Ack, AckKind, Packet, Publish, QoS, Version};
use crate::property::UserPropertiesBuffer;
use crate::reason::ReasonCode;
use crate::topic::{self, TopicName};

/// What becomes of a message that is to be retained where there is no room for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// It is delivered to those who are there.
    Deliver,
    /// Its publisher hears of it, and nobody gets it.
    Refuse,
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// PUBLISH from a client (section 3.3).
    pub(super) fn publish<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        link: L,
        publish: &Publish<'_>,
    ) -> Result<(), Violation>
    where
        H: Host<Link = L, Identity = I>,
    {
        host.count(Event::PublishReceived(publish.qos));
        let version = self.version_of(key);
        if !publish.properties.subscription_ids.is_empty() {
            // Only a server sends them [MQTT-3.3.4-6].
            return Err(Violation(ReasonCode::ProtocolError));
        }
        if publish.qos == QoS::ExactlyOnce && !self.accept_exactly_once(key, publish.packet_id)? {
            // Seen before and not released: it must not reach subscribers twice [MQTT-4.3.3-10].
            if self.is_answered_later(key, publish.packet_id) {
                self.asked_again(key, AckKind::Pubrec, publish.packet_id);
            } else {
                let reason = ReasonCode::Success;
                self.say(host, key, link, |buf| {
                    encode::ack(buf, AckKind::Pubrec, version, publish.packet_id, reason);
                });
            }
            return Ok(());
        }
        self.parts = None;
        self.from = self.origin(key, publish);
        self.decides = Decides::Here;
        let mut topic = std::mem::take(&mut self.scratch.topic);
        let mut properties = std::mem::take(&mut self.scratch.properties);
        let reason = self.publish_resolved(host, key, publish, &mut topic, &mut properties);
        self.scratch.topic = topic;
        self.scratch.properties = properties;
        self.from = None;
        self.decides = Decides::Each;
        let mut waits = self.parts.take();
        if let Some(retains) = self.retains.take() {
            waits = Some(self.retain_last(host, waits, retains));
        }
        let receipt = std::mem::take(&mut self.receipt);
        let (reason, retry_after) = match reason? {
            Ok(reason) => (reason, None),
            Err(NotTaken { reason, retry_after }) => (reason, retry_after),
        };
        if receipt != 0 && (waits.is_none() || publish.qos == QoS::AtMostOnce) {
            host.answered(receipt, reason);
        }
        let (kind, id) = match publish.qos {
            QoS::AtMostOnce => return Ok(()),
            QoS::AtLeastOnce => (AckKind::Puback, publish.packet_id),
            QoS::ExactlyOnce => (AckKind::Pubrec, publish.packet_id),
        };
        if let Some(then) = waits {
            self.answer_later(key, link, (kind, id, reason), receipt, then);
            return Ok(());
        }
        if reason.is_error() {
            if kind == AckKind::Pubrec {
                self.release(key, id);
            }
            // 3.1.1 cannot say no: it must acknowledge or close [MQTT-3.3.5-2]. What it must store and cannot it does not
            // acknowledge [MQTT-3.3.1-5 of 3.1.1].
            if version == Version::V311 && publish.retain && reason == ReasonCode::QuotaExceeded {
                return Err(Violation(reason));
            }
            if version == Version::V311 {
                self.say(host, key, link, |buf| encode::ack(buf, kind, version, id, ReasonCode::Success));
                if kind == AckKind::Pubrec {
                    self.accept_exactly_once(key, id)?;
                }
                return Ok(());
            }
        }
        match retry_after {
            None => self.say(host, key, link, |buf| encode::ack(buf, kind, version, id, reason)),
            Some(retry_after) => self.say_busy(
                host,
                key,
                link,
                kind,
                &Ack { packet_id: id, reason, ..Ack::default() },
                retry_after,
            ),
        }
        Ok(())
    }

    /// PUBACK or PUBREC that carry the time after which a retry makes sense.
    fn say_busy<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        link: L,
        kind: AckKind,
        ack: &Ack<'_>,
        retry_after: Duration,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session(key) else { return };
        let mut properties = UserPropertiesBuffer::default();
        properties.push("retry-after-ms", &retry_after.as_millis().to_string());
        let ack = Ack { user_properties: properties.properties(), ..*ack };
        let packet = if kind == AckKind::Pubrec { Packet::Pubrec(ack) } else { Packet::Puback(ack) };
        let (version, limit) = (session.version, session.packet_bytes_max);
        self.say(host, key, link, |buf| {
            packet.encode_within(version, limit, buf);
        });
    }

    /// The publish at hand, where its session persists and it is to reach everybody once.
    fn origin(&self, key: SessionKey, publish: &Publish<'_>) -> Option<PublishedBy> {
        let session = self.session(key).filter(|session| session.durable)?;
        let incarnation = session.rare.as_ref().map_or(0, |rare| rare.incarnation);
        let origin = Origin { incarnation, packet_id: publish.packet_id };
        (publish.qos == QoS::ExactlyOnce).then_some(PublishedBy { origin, publisher: key })
    }

    /// Whether the answer to a publish at QoS 2 waits until something is durable.
    fn is_answered_later(&self, key: SessionKey, packet_id: u16) -> bool {
        let rare = self.session(key).and_then(|session| session.rare.as_ref());
        rare.is_some_and(|rare| rare.waiting.contains(packet_id))
    }

    /// Acknowledges a publish once everybody to whom it is owed is owed it durably.
    fn answer_later(
        &mut self,
        key: SessionKey,
        link: L,
        (kind, packet_id, reason): (AckKind, u16, ReasonCode),
        receipt: u64,
        then: Then,
    ) {
        let exactly_once = kind == AckKind::Pubrec;
        let is_durable = self.session(key).is_some_and(|session| session.durable);
        let noted = match (exactly_once && is_durable, self.noted) {
            (false, _) => Noted::Never,
            (true, true) => Noted::Now,
            (true, false) => Noted::Yet,
        };
        // 3.1.1 cannot say no.
        let reason = if self.version_of(key) == Version::V311 { ReasonCode::Success } else { reason };
        let origin = self.session(key).filter(|session| session.durable && exactly_once).map(|session| {
            Origin { incarnation: session.rare.as_ref().map_or(0, |rare| rare.incarnation), packet_id }
        });
        if exactly_once && let Some(session) = self.session_mut(key) {
            session.rare().waiting.insert(packet_id);
        }
        let place = self.hold(key);
        let answer = Answer::Publish { kind, packet_id, reason, noted, origin, receipt };
        self.pendings.goes_on(then, What::Answer { key, link, place, answer });
    }

    fn publish_resolved<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        publish: &Publish<'_>,
        alias_topic: &mut String,
        properties: &mut Vec<u8>,
    ) -> Result<Result<ReasonCode, NotTaken>, Violation>
    where
        H: Host<Link = L, Identity = I>,
    {
        let loop_index = self.config.loop_index;
        let alias_max = self.config.topic_alias_maximum;
        let levels_max = self.config.topic_levels_max;
        let Some(session) = self.session_mut(key) else { return Ok(Ok(ReasonCode::Success)) };
        let mut topic = publish.topic;
        if let Some(alias) = publish.properties.topic_alias {
            if alias == 0 || alias > alias_max {
                return Err(Violation(ReasonCode::TopicAliasInvalid));
            }
            let aliases = &mut session.rare().aliases;
            let at = usize::from(alias) - 1;
            if topic.is_empty() {
                alias_topic.clear();
                let Some(known) = aliases.get(at).and_then(Option::as_deref) else {
                    return Err(Violation(ReasonCode::ProtocolError));
                };
                alias_topic.push_str(known);
                topic = alias_topic;
            } else {
                if aliases.len() <= at {
                    aliases.resize(at + 1, None);
                }
                if aliases[at].as_deref() != Some(topic) {
                    aliases[at] = Some(topic.into());
                }
            }
        }
        if TopicName::parse(topic).is_err() || !topic::has_levels_within(topic, levels_max) {
            return Err(Violation(ReasonCode::TopicNameInvalid));
        }
        if is_of_shares(topic) {
            return Ok(Err(ReasonCode::TopicNameInvalid.into()));
        }
        let version = session.version;
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        if !host.authorise(client, Action::publish(publish.retain), topic) {
            host.count(Event::PublishDenied);
            return Ok(Err(ReasonCode::NotAuthorized.into()));
        }
        if publish.properties.payload_format == Some(1) && !publish.payload_is_valid_utf8() {
            return Ok(Err(ReasonCode::PayloadFormatInvalid.into()));
        }
        if let Some(reserved) = self.config.reserved(topic) {
            return Ok(self.request(host, key, reserved, publish).map(|()| ReasonCode::Success));
        }
        publication::forwardable(publish, version, properties);
        let expires_at_ms =
            publish.properties.message_expiry_s.map(|seconds| host.now_ms() + u64::from(seconds) * 1000);
        let Some(session) = self.session(key) else { return Ok(Ok(ReasonCode::Success)) };
        let is_followed = host.is_followed(&session.client_id, topic);
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        let receipt = host.receipt_for(client, publish, topic);
        self.receipt = receipt;
        let message = Message {
            topic,
            properties,
            payload: publish.payload,
            head: Head {
                qos: publish.qos,
                retain: publish.retain,
                expires_at_ms,
                origin: key,
                origin_loop: loop_index,
                receipt,
            },
        };
        // A message that nobody hears an answer to is delivered at least.
        let otherwise = if publish.qos == QoS::AtMostOnce { Otherwise::Deliver } else { Otherwise::Refuse };
        self.beside = usize::from(is_followed);
        let taken_over = self.take_over_message(host, &message, Some(key), otherwise);
        self.beside = 0;
        let anybody = match taken_over {
            Ok(anybody) => anybody,
            Err(reason) => return Ok(Err(reason.into())),
        };
        let content_type = publish.properties.content_type;
        let anybody = (is_followed && self.notify_followers(host, key, &message, content_type)) || anybody;
        Ok(Ok(if anybody { ReasonCode::Success } else { ReasonCode::NoMatchingSubscribers }))
    }

    /// Hands a client's message to those who follow what it publishes, found before. Returns
    /// whether anybody does.
    fn notify_followers<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        message: &Message<'_>,
        content_type: Option<&str>,
    ) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.sessions.get(key.index as usize) else { return false };
        let uplink = Uplink {
            client_id: &session.client_id,
            topic: message.topic,
            qos: message.head.qos,
            content_type,
            payload: message.payload,
        };
        let then = self.pendings.part(&mut self.parts);
        let answers = host.follow(&uplink, then);
        self.pendings.more(then, answers.saturating_sub(1));
        answers > 0
    }

    /// Publishes a message of the server's own, e.g. one that an application pushed. Retained if its
    /// head marks it so. Returns whether anybody subscribed to the topic, or why it was refused.
    pub fn accept<H>(&mut self, host: &mut H, message: &Message<'_>) -> Result<bool, ReasonCode>
    where
        H: Host<Link = L, Identity = I>,
    {
        self.parts = None;
        let accepted = self.take_over_message(host, message, None, Otherwise::Refuse);
        self.parts = None;
        accepted
    }

    /// Retains a message where it asks for that, and routes it. It is of the client of the session
    /// `by`, or of the server's own.
    pub(super) fn take_over_message<H>(
        &mut self,
        host: &mut H,
        message: &Message<'_>,
        by: Option<SessionKey>,
        otherwise: Otherwise,
    ) -> Result<bool, ReasonCode>
    where
        H: Host<Link = L, Identity = I>,
    {
        if !message.head.retain {
            return Ok(self.route(host, message, None, Scope::Everywhere));
        }
        let kept = self.pool.keep(message);
        let owner = by
            .and_then(|key| self.session(key))
            .map(|session| host.owner(Client { client_id: &session.client_id, identity: &session.identity }));
        let owner = owner.as_ref();
        // Where its publisher hears of a refusal, the message before it comes back then.
        let may_be_refused =
            self.config.durable && self.decides == Decides::Here && otherwise == Otherwise::Refuse;
        // Of a refusal that nobody hears it comes back too, so that it is the same after a restart.
        // A will is never refused.
        let stands_alone = self.config.durable && !may_be_refused && !self.must_keep;
        let stored = match may_be_refused || stands_alone {
            true => self.retained.set_for_now(&kept, owner, host.now_ms()),
            false => self.retained.set(&kept, owner, host.now_ms()),
        };
        match stored {
            Ok(stored) if may_be_refused => {
                self.beside += 1;
                self.retains = Some((Arc::clone(&kept), stored));
            }
            Ok(stored) if stands_alone => {
                let publication = Arc::clone(&kept);
                let what = What::Retained { publication, stored: stored.clone(), purge: None };
                let then = self.pendings.add(1, what);
                host.retain(&Retain { publication: &kept, stored: &stored, must: false }, then);
            }
            Ok(stored) if self.config.durable => {
                let then = self.pendings.part(&mut self.parts);
                host.retain(&Retain { publication: &kept, stored: &stored, must: self.must_keep }, then);
            }
            Ok(_) => {}
            Err(full) => {
                host.count(match full {
                    Full::Store => Event::RetainRefused,
                    Full::Owner => Event::RetainOverQuota,
                });
                if otherwise == Otherwise::Refuse {
                    return Err(ReasonCode::QuotaExceeded);
                }
            }
        }
        Ok(self.route(host, message, Some(kept), Scope::Everywhere))
    }

    /// A message that came in on another loop, which hears when it is kept for those to whom it is
    /// owed here.
    pub fn forwarded_to_keep<H>(
        &mut self,
        host: &mut H,
        publication: &Arc<Publication>,
        origin: Option<Origin>,
        to: ReplyTo,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        self.parts = None;
        self.from = origin.map(|origin| PublishedBy { origin, publisher: SessionKey::NONE });
        self.must_keep = to.must;
        self.decides = to.decides;
        self.route(host, &publication.message(), Some(Arc::clone(publication)), Scope::Here);
        self.from = None;
        self.must_keep = false;
        self.decides = Decides::Each;
        self.reply_when_kept(host, to);
    }

    /// Reports to another loop when the message at hand is kept.
    pub(super) fn reply_when_kept<H>(&mut self, host: &mut H, to: ReplyTo)
    where
        H: Host<Link = L, Identity = I>,
    {
        match self.parts.take() {
            Some(then) => self.pendings.goes_on(then, What::Reply(to)),
            None => self.reply(host, to, Part::nothing()),
        }
    }

    /// A message that came in on another loop, which waits for nothing: no session that persists
    /// and is subscribed gets it at QoS 1 or 2.
    pub fn forwarded<H>(&mut self, host: &mut H, publication: &Arc<Publication>)
    where
        H: Host<Link = L, Identity = I>,
    {
        self.parts = None;
        self.route(host, &publication.message(), Some(Arc::clone(publication)), Scope::Unkept);
    }

    /// A push: a message of the server's own, which every loop routes to its sessions by itself.
    /// Those that persist are owed it; nobody waits until it is kept.
    pub fn pushed<H>(&mut self, host: &mut H, publication: &Arc<Publication>)
    where
        H: Host<Link = L, Identity = I>,
    {
        self.parts = None;
        self.route(host, &publication.message(), Some(Arc::clone(publication)), Scope::Here);
    }

    /// Publishes the will of a session that was not closed in order, after asking the authorisation
    /// function again. The host hears that the will is gone when it is owed durably to all its
    /// receivers: killed before, the server publishes it again, and who was owed it at QoS 2
    /// already is not owed it twice.
    pub(super) fn publish_will<H>(&mut self, host: &mut H, key: SessionKey)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session_mut(key) else { return };
        let Some(will) = session.rare.as_mut().and_then(|rare| rare.will.take()) else { return };
        let kept_as = session.durable.then(|| session.client_id.clone());
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        let action = Action::publish(will.publication.head.retain);
        if !host.authorise(client, action, will.publication.topic()) {
            host.count(Event::PublishDenied);
            if let Some(client_id) = kept_as {
                host.persist(&client_id, Change::WillGone { will: will.id }, Then::NOTHING);
            }
            return;
        }
        let mut message = will.publication.message();
        message.head.expires_at_ms = will.expiry_s.map(|seconds| host.now_ms() + u64::from(seconds) * 1000);
        // By the origin those who are owed it at QoS 2 already are known when it is handed over
        // again.
        let incarnation = match kept_as {
            Some(_) => will.id,
            None if self.config.durable => host.random(),
            None => 0,
        };
        let is_identified = incarnation != 0 && message.head.qos == QoS::ExactlyOnce;
        let origin = is_identified.then_some(Origin { incarnation, packet_id: 0 });
        self.parts = None;
        self.from = origin.map(|origin| PublishedBy { origin, publisher: SessionKey::NONE });
        self.must_keep = self.config.durable;
        let published = self.take_over_message(host, &message, Some(key), Otherwise::Deliver);
        debug_assert!(published.is_ok(), "nothing is refused that nobody hears of");
        self.from = None;
        self.must_keep = false;
        host.count(Event::WillPublished);
        let Some(then) = self.parts.take() else {
            if let Some(client_id) = kept_as {
                host.persist(&client_id, Change::WillGone { will: will.id }, Then::NOTHING);
            }
            return;
        };
        if kept_as.is_some()
            && let Some(session) = self.session_mut(key)
        {
            session.rare().will_on_its_way = Some(then);
        }
        let what = What::WillPublished { key, client_id: kept_as, will: will.id, origin, next: None };
        self.pendings.goes_on(then, what);
    }

    /// Notes a QoS 2 packet id; `false` if it is waiting for its release already.
    fn accept_exactly_once(&mut self, key: SessionKey, packet_id: u16) -> Result<bool, Violation> {
        let receive_maximum = usize::from(self.config.receive_maximum);
        let Some(session) = self.session_mut(key) else { return Ok(false) };
        let bounded = session.version == Version::V5;
        let rare = session.rare();
        if rare.unreleased.contains(packet_id) {
            return Ok(false);
        }
        // A 3.1.1 client never gets a Receive Maximum. It must not be made to wait either: the
        // PUBRELs that would make room stand behind its messages in the same stream. Its packet ids
        // are the bound.
        if bounded && rare.unreleased.len() >= receive_maximum + rare.unreleased_before {
            return Err(Violation(ReasonCode::ReceiveMaximumExceeded));
        }
        rare.unreleased.insert(packet_id);
        Ok(true)
    }

    /// Forgets a QoS 2 packet id; `false` if it was not known.
    pub(super) fn release(&mut self, key: SessionKey, packet_id: u16) -> bool {
        let Some(rare) = self.session_mut(key).and_then(|session| session.rare.as_mut()) else {
            return false;
        };
        rare.unreleased.remove(packet_id)
    }
}

/// Whether a topic name is one that no filter selects: what begins so in a SUBSCRIBE is a shared
/// subscription (section 4.8.2).
pub(super) fn is_of_shares(topic: &str) -> bool {
    topic.strip_prefix("$share").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
