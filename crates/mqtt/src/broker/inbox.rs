//! A topic of one client's own: whether it reads it, and deliveries to it alone.
//!
//! The push platform knows whom a message is for. It is not routed by its topic: other subscribers
//! of the same one get nothing, and only the client's own subscriptions count, not the shared ones.

use super::Broker;
use super::deliver::{Parcel, Terms, may_read};
use super::host::Host;
use super::publication::Message;
use super::session::{Held, Session, SessionKey, SharedId};
use crate::packet::QoS;
use crate::topic;

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Whether a subscription of this session matches the topic, and grants it.
    pub fn reads<H>(&self, host: &mut H, key: SessionKey, topic: &str) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        self.session(key).is_some_and(|session| {
            session.subscriptions.iter().any(|held| {
                topic::matches(self.filters.text(held.filter), topic)
                    && self.grants(host, session, held, topic)
            })
        })
    }

    /// Whether the topic is granted to a session by its subscription to a filter that matches.
    fn grants<H>(&self, host: &mut H, session: &Session<L, I>, held: &Held, topic: &str) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let subscriber = self.filters.subscriber(held.filter, held.position);
        subscriber.is_some_and(|subscriber| !subscriber.is_partly_granted() || may_read(host, session, topic))
    }

    /// Gives a message to one session, at the highest QoS that its matching subscriptions allow and with their identifiers
    /// [MQTT-3.3.4-2, MQTT-3.3.4-3]. Returns whether there was one that matched, and time left.
    pub fn deliver_to<H>(&mut self, host: &mut H, key: SessionKey, message: &Message<'_>) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let Ok(expiry_s) = message.expiry_s(host.now_ms()) else { return false };
        let mut ids = std::mem::take(&mut self.scratch.ids_of_one);
        ids.clear();
        let Some(session) = self.session(key) else { return false };
        let mut qos: Option<QoS> = None;
        for held in &session.subscriptions {
            if !topic::matches(self.filters.text(held.filter), message.topic) {
                continue;
            }
            let Some(subscriber) = self.filters.subscriber(held.filter, held.position) else { continue };
            if !self.grants(host, session, held, message.topic) {
                continue;
            }
            qos = qos.max(Some(message.head.qos.min(subscriber.qos())));
            ids.extend(session.subscription_id(held.filter));
        }
        if let Some(qos) = qos {
            host.begin_message();
            let mut parcel = Parcel::new(*message, expiry_s, None);
            let terms = Terms { qos, retain: false, ids: &ids, shared: SharedId::NONE, number: 0 };
            self.deliverer().deliver(host, key.index, terms, &mut parcel);
        }
        self.scratch.ids_of_one = ids;
        qos.is_some()
    }
}
