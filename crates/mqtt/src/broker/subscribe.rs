//! Filters change: SUBSCRIBE and UNSUBSCRIBE (MQTT 5.0 sections 3.8 to 3.11).
//!
//! Each filter of a packet gets its own answer. A new subscription is counted before its SUBACK is
//! written, so that a message published after the client saw the SUBACK finds it, and retained messages
//! follow the SUBACK, see [`super::replay`].

use super::durable::{Answer, Change, KeptSubscription, What};
use super::filters::{FilterId, HasId, Subscriber};
use super::group::Answered;
use super::host::{Client, Event, Grant, Host, Interest};
use super::session::{Held, SessionKey, SharedId};
use super::shares::SharedHeld;
use super::{Broker, Violation};
use crate::packet::{
    Packet, QoS, RetainHandling, Suback, Subscribe, Subscription, SubscriptionOptions, Unsubscribe, Version,
};
use crate::property::UserProperties;
use crate::reason::ReasonCode;
use crate::topic::{self, SharedFilter, Subscribed};

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    pub(super) fn subscribe<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        link: L,
        packet: &Subscribe<'_>,
    ) -> Result<(), Violation>
    where
        H: Host<Link = L, Identity = I>,
    {
        let (version, limit) = self.version_and_limit(key);
        self.parts = None;
        let mut reasons = std::mem::take(&mut self.scratch.reasons);
        reasons.clear();
        // Filters whose retained messages are to be sent.
        let mut replay: Vec<FilterId> = Vec::new();
        let anything_retained = !self.retained.is_empty();
        for subscription in packet.filters.iter() {
            let reason = match Subscribed::parse(subscription.filter) {
                Ok(filter) if !filter.has_levels_within(self.config.topic_levels_max) => {
                    ReasonCode::TopicFilterInvalid
                }
                Ok(Subscribed::Own(_)) => {
                    match self.subscribe_own(host, key, &subscription, packet.subscription_id) {
                        Ok((filter, new)) => {
                            let wants = match subscription.options.retain_handling {
                                RetainHandling::Send => true,
                                RetainHandling::SendIfNew => new,
                                RetainHandling::DontSend => false,
                            };
                            let anything = match topic::is_of_server(subscription.filter) {
                                true => wants && host.describe_server(),
                                false => anything_retained,
                            };
                            if wants && anything {
                                replay.push(filter);
                            }
                            granted(subscription.options)
                        }
                        Err(reason) => reason,
                    }
                }
                Ok(Subscribed::Shared(_)) if subscription.options.no_local => {
                    // A protocol error [MQTT-3.8.3-4].
                    self.scratch.reasons = reasons;
                    return Err(Violation(ReasonCode::ProtocolError));
                }
                Ok(Subscribed::Shared(_)) => {
                    self.subscribe_shared(host, key, &subscription, packet.subscription_id)
                }
                Err(_) => ReasonCode::TopicFilterInvalid,
            };
            if reason == ReasonCode::TopicFilterInvalid && version == Version::V311 {
                // 3.1.1 has no code for a filter that is none: the packet is malformed [MQTT-4.7.1-2].
                self.scratch.reasons = reasons;
                return Err(Violation(ReasonCode::MalformedPacket));
            }
            reasons.push(reason as u8);
        }
        let packet_answer = Packet::Suback(answers(packet.packet_id, &reasons));
        let behind = self.answer_filters(host, key, link, version, limit, &packet_answer);
        self.scratch.reasons = reasons;
        for filter in replay {
            self.begin_replay(key, filter, behind);
        }
        Ok(())
    }

    /// Makes or replaces a subscription. Returns which, and whether it is new.
    fn subscribe_own<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        asked: &Subscription<'_>,
        subscription_id: Option<u32>,
    ) -> Result<(FilterId, bool), ReasonCode>
    where
        H: Host<Link = L, Identity = I>,
    {
        let Self { sessions, filters, config, .. } = self;
        let Some(session) = sessions.get_mut(key.index as usize) else {
            return Err(ReasonCode::UnspecifiedError);
        };
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        let grant = host.grant(client, asked.filter);
        if grant == Grant::Denied {
            host.count(Event::SubscribeDenied);
            return Err(ReasonCode::NotAuthorized);
        }
        let has_id = if subscription_id.is_some() { HasId::Yes } else { HasId::No };
        let subscriber = Subscriber::new(key.index, asked.options, has_id).granted(grant);
        let existing = filters
            .find(asked.filter)
            .and_then(|filter| session.subscriptions.iter().find(|held| held.filter == filter).copied());
        let (filter, new) = match existing {
            Some(held) => {
                filters.replace(held.filter, held.position, subscriber);
                (held.filter, false)
            }
            None => {
                if session.subscriptions.len() >= config.subscriptions_max {
                    return Err(ReasonCode::QuotaExceeded);
                }
                let added = filters.add(asked.filter, subscriber);
                session.subscriptions.push(Held { filter: added.filter, position: added.position });
                if added.first {
                    host.interest(asked.filter, Interest::Gained);
                }
                (added.filter, true)
            }
        };
        if let Some(rare) = &mut session.rare
            && !new
        {
            rare.subscription_ids.retain(|(other, _)| *other != filter);
        }
        if let Some(id) = subscription_id {
            session.rare().subscription_ids.push((filter, id));
        }
        if session.durable {
            let kept = KeptSubscription {
                filter: asked.filter,
                options: asked.options,
                id: subscription_id,
                shared: SharedId::NONE,
            };
            let then = self.pendings.part(&mut self.parts);
            let session = &self.sessions[key.index as usize];
            host.persist(&session.client_id, Change::Subscribe(kept), then);
            if new {
                host.keep_interest(self.config.loop_index, asked.filter, Interest::Gained);
            }
        }
        Ok((filter, new))
    }

    fn subscribe_shared<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        asked: &Subscription<'_>,
        subscription_id: Option<u32>,
    ) -> ReasonCode
    where
        H: Host<Link = L, Identity = I>,
    {
        let subscriptions_max = self.config.subscriptions_max;
        let Some(session) = self.session_mut(key) else { return ReasonCode::UnspecifiedError };
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        let grant = host.grant(client, asked.filter);
        if grant == Grant::Denied {
            host.count(Event::SubscribeDenied);
            return ReasonCode::NotAuthorized;
        }
        let rare = session.rare();
        let before = rare.shared.find(asked.filter).map(|held| held.id);
        let id = match before {
            Some(id) => id,
            None if rare.shared.len() >= subscriptions_max => return ReasonCode::QuotaExceeded,
            None => match rare.shared.free_id() {
                Some(id) => id,
                None => return ReasonCode::QuotaExceeded,
            },
        };
        let new = before.is_none();
        let held = SharedHeld {
            id,
            filter: asked.filter.into(),
            options: asked.options,
            subscription_id,
            is_partly_granted: grant == Grant::Partly,
        };
        rare.shared.put(held.clone());
        if session.durable {
            let kept = KeptSubscription {
                filter: asked.filter,
                options: asked.options,
                id: subscription_id,
                shared: held.id,
            };
            let then = self.pendings.part(&mut self.parts);
            let session = &self.sessions[key.index as usize];
            host.persist(&session.client_id, Change::Subscribe(kept), then);
            if new {
                self.group_interest(host, asked.filter, Interest::Gained);
            }
        }
        self.join_group(host, key, &held, Answered::Later);
        granted(asked.options)
    }

    pub(super) fn unsubscribe<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        link: L,
        packet: &Unsubscribe<'_>,
    ) -> Result<(), Violation>
    where
        H: Host<Link = L, Identity = I>,
    {
        let (version, limit) = self.version_and_limit(key);
        if version == Version::V311 && packet.filters.iter().any(|filter| Subscribed::parse(filter).is_err())
        {
            // UNSUBACK of 3.1.1 has no code for a filter that is none: the packet is malformed [MQTT-4.7.3-1].
            return Err(Violation(ReasonCode::MalformedPacket));
        }
        self.parts = None;
        let mut reasons = std::mem::take(&mut self.scratch.reasons);
        reasons.clear();
        for filter in packet.filters.iter() {
            let removed = match Subscribed::parse(filter) {
                Ok(Subscribed::Own(_)) => self.unsubscribe_own(host, key, filter),
                Ok(Subscribed::Shared(_)) => self.unsubscribe_shared(host, key, filter),
                Err(_) => {
                    reasons.push(ReasonCode::TopicFilterInvalid as u8);
                    continue;
                }
            };
            let reason = if removed { ReasonCode::Success } else { ReasonCode::NoSubscriptionExisted };
            reasons.push(reason as u8);
        }
        let packet_answer = Packet::Unsuback(answers(packet.packet_id, &reasons));
        self.answer_filters(host, key, link, version, limit, &packet_answer);
        self.scratch.reasons = reasons;
        Ok(())
    }

    fn version_and_limit(&self, key: SessionKey) -> (Version, u32) {
        self.session(key)
            .map_or((Version::V311, u32::MAX), |session| (session.version, session.packet_bytes_max))
    }

    fn unsubscribe_own<H>(&mut self, host: &mut H, key: SessionKey, filter: &str) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(id) = self.filters.find(filter) else { return false };
        let Some(session) = self.session_mut(key) else { return false };
        let Some(at) = session.subscriptions.iter().position(|held| held.filter == id) else { return false };
        let held = session.subscriptions.swap_remove(at);
        if let Some(rare) = &mut session.rare {
            rare.subscription_ids.retain(|(other, _)| *other != id);
            // No message is added any more [MQTT-3.10.4-2].
            rare.replays.end(id);
        }
        self.unkeep_subscription(host, key, filter);
        self.drop_subscription(host, held);
        true
    }

    /// A session's subscription is kept no more, where it was.
    fn unkeep_subscription<H>(&mut self, host: &mut H, key: SessionKey, filter: &str)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session(key).filter(|session| session.durable) else { return };
        let client_id = session.client_id.clone();
        let then = self.pendings.part(&mut self.parts);
        host.persist(&client_id, Change::Unsubscribe { filter }, then);
        if filter.starts_with("$share/") {
            self.group_interest(host, filter, Interest::Lost);
        } else {
            host.keep_interest(self.config.loop_index, filter, Interest::Lost);
        }
    }

    /// A member of a group whose session is kept came or went: it is the group's loop that messages for it reach first.
    pub(super) fn group_interest<H>(&mut self, host: &mut H, text: &str, change: Interest)
    where
        H: Host<Link = L, Identity = I>,
    {
        let home = host.group_home(text);
        if let Some(Ok(shared)) = SharedFilter::parse(text) {
            host.keep_interest(home, shared.filter.as_str(), change);
        }
    }

    /// Sends SUBACK or UNSUBACK, once its contents are durable: then returns its place among the
    /// answers that are held back. One larger than the client takes is not sent [MQTT-3.1.2-25].
    fn answer_filters<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        link: L,
        version: Version,
        limit: u32,
        packet: &Packet<'_>,
    ) -> Option<u32>
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(then) = self.parts.take() else {
            self.say(host, key, link, |buf| {
                packet.encode_within(version, limit, buf);
            });
            return None;
        };
        let mut bytes = Vec::new();
        packet.encode_within(version, limit, &mut bytes);
        let place = self.hold(key);
        self.pendings.goes_on(then, What::Answer { key, link, place, answer: Answer::Bytes(bytes) });
        Some(place)
    }

    /// Takes a subscription out of the index, after it was taken out of its session.
    pub(super) fn drop_subscription<H>(&mut self, host: &mut H, held: Held)
    where
        H: Host<Link = L, Identity = I>,
    {
        if let Some(moved) = self.filters.remove(held.filter, held.position)
            && let Some(session) = self.sessions.get_mut(moved as usize)
            && let Some(other) = session.subscriptions.iter_mut().find(|other| other.filter == held.filter)
        {
            other.position = held.position;
        }
        if let Some(text) = self.filters.tidy(held.filter) {
            host.interest(&text, Interest::Lost);
        }
    }

    fn unsubscribe_shared<H>(&mut self, host: &mut H, key: SessionKey, filter: &str) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(rare) = self.session_mut(key).and_then(|session| session.rare.as_mut()) else {
            return false;
        };
        let Some(held) = rare.shared.remove(filter) else { return false };
        self.unkeep_subscription(host, key, &held.filter);
        self.leave_group(host, key, &held.filter);
        true
    }

    /// Asks the authorisation function about every subscription again, because its rules changed, and
    /// takes away what they no longer allow. Returns how many. What they grant partly is looked at from now on.
    pub fn reauthorise<H>(&mut self, host: &mut H) -> usize
    where
        H: Host<Link = L, Identity = I>,
    {
        let mut denied: Vec<(SessionKey, Box<str>)> = Vec::new();
        let mut regranted: Vec<(SessionKey, SharedHeld)> = Vec::new();
        for (index, session) in &self.sessions {
            let client = Client { client_id: &session.client_id, identity: &session.identity };
            let index = u32::try_from(index).expect("sessions are bounded far below 2^32");
            let key = SessionKey { index, generation: session.generation };
            for held in &session.subscriptions {
                let filter = self.filters.text(held.filter);
                match host.grant(client, filter) {
                    Grant::Denied => denied.push((key, filter.into())),
                    grant => {
                        let subscriber = self.filters.subscriber(held.filter, held.position);
                        if let Some(subscriber) = subscriber {
                            self.filters.replace(held.filter, held.position, subscriber.granted(grant));
                        }
                    }
                }
            }
            for held in session.rare.iter().flat_map(|rare| rare.shared.iter()) {
                let grant = host.grant(client, &held.filter);
                if grant == Grant::Denied {
                    denied.push((key, held.filter.clone()));
                } else if held.is_partly_granted != (grant == Grant::Partly) {
                    regranted.push((
                        key,
                        SharedHeld { is_partly_granted: !held.is_partly_granted, ..held.clone() },
                    ));
                }
            }
        }
        for (key, held) in &regranted {
            if let Some(session) = self.session_mut(*key) {
                session.rare().shared.put(held.clone());
            }
            self.join_group(host, *key, held, Answered::Never);
        }
        for (key, filter) in &denied {
            self.parts = None;
            if filter.starts_with("$share/") {
                self.unsubscribe_shared(host, *key, filter);
            } else {
                self.unsubscribe_own(host, *key, filter);
            }
        }
        denied.len()
    }
}

/// One answer for each filter, in order.
fn answers(packet_id: u16, reasons: &[u8]) -> Suback<'_> {
    Suback { packet_id, reason_string: None, user_properties: UserProperties::NONE, reasons }
}

fn granted(options: SubscriptionOptions) -> ReasonCode {
    match options.qos {
        QoS::AtMostOnce => ReasonCode::Success,
        QoS::AtLeastOnce => ReasonCode::GrantedQos1,
        QoS::ExactlyOnce => ReasonCode::GrantedQos2,
    }
}
