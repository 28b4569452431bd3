//! Sessions that are given back when the server starts.
//!
//! First all of them come back, then [`Broker::restored`] is called on every loop: wills and ends that fell due meanwhile
//! find everybody to whom they matter.

use std::sync::Arc;

use super::Broker;
use super::deadlines::Due;
use super::deliver::{Terms, kept_packet_id};
use super::durable::{Away, done};
use super::filters::{HasId, Subscriber};
use super::flight::{Flight, Stage};
use super::group::Answered;
use super::host::{Client, Drop, Event, Grant, Host, Interest};
use super::mailbox::QueuedMessage;
use super::publication::Publication;
use super::session::{Held, HeldWill, SessionKey, SharedId};
use super::shares::SharedHeld;
use crate::packet::{QoS, SubscriptionOptions, Version};
use crate::topic::Subscribed;

/// A session as the host kept it.
#[derive(Debug)]
pub struct Restored<I> {
    /// Client Identifier.
    pub client_id: String,
    /// What authentication found.
    pub identity: I,
    /// Distinguishes it from those before it.
    pub incarnation: u64,
    /// What its client spoke.
    pub version: Version,
    /// Seconds.
    pub expiry_s: u32,
    /// Its will.
    pub will: Option<RestoredWill>,
    /// Since when its client is away; none where it was connected.
    pub away: Option<Away>,
    /// Its subscriptions.
    pub subscriptions: Vec<RestoredSubscription>,
    /// QoS 2 packet ids that its client has not released.
    pub unreleased: Vec<u16>,
    /// What it is owed, oldest first.
    pub queued_messages: Vec<RestoredMessage>,
}

/// A will that was kept.
#[derive(Debug)]
pub struct RestoredWill {
    /// Distinguishes it from the wills before it; 0 for one of which that is not known.
    pub id: u64,
    /// The message.
    pub publication: Arc<Publication>,
    /// Will Delay Interval.
    pub delay_s: u32,
    /// Message Expiry Interval.
    pub expiry_s: Option<u32>,
}

/// A subscription that was kept.
#[derive(Debug)]
pub struct RestoredSubscription {
    /// Its text, `$share/...` included.
    pub filter: String,
    /// What was asked.
    pub options: SubscriptionOptions,
    /// Subscription Identifier.
    pub id: Option<u32>,
    /// What the session calls it, where it is shared.
    pub shared: SharedId,
}

/// Something owed.
#[derive(Debug)]
pub struct RestoredMessage {
    /// What the host calls it.
    pub number: u32,
    /// The message; none where the client has received it.
    pub publication: Option<Arc<Publication>>,
    /// 1 or 2.
    pub qos: QoS,
    /// RETAIN as this receiver must see it.
    pub retain: bool,
    /// The shared subscription it came by.
    pub shared: SharedId,
    /// Subscription Identifiers.
    pub ids: Box<[u32]>,
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Takes a session back. Returns whether there was room for it.
    pub fn restore<H>(&mut self, host: &mut H, restored: Restored<I>) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        if self.find_session(&restored.client_id).is_some() || self.sessions.len() >= self.config.sessions_max
        {
            return false;
        }
        let key = self.begin_session(&restored.client_id, restored.identity, None);
        let Some(session) = self.session_mut(key) else { return false };
        session.durable = true;
        session.version = restored.version;
        session.expiry_s = restored.expiry_s;
        let rare = session.rare();
        rare.incarnation = restored.incarnation;
        (rare.came_back, rare.reported) = (true, true);
        rare.noted = restored.unreleased.iter().map(|&packet_id| (packet_id, None)).collect();
        rare.unreleased = restored.unreleased.into_iter().collect();
        rare.will = restored.will.map(|will| HeldWill {
            id: will.id,
            publication: will.publication,
            delay_s: will.delay_s,
            expiry_s: will.expiry_s,
        });
        for subscription in restored.subscriptions {
            self.restore_subscription(host, key, &subscription);
        }
        let sent_below = restored.away.map_or(u32::MAX, |away| away.sent_below);
        self.restore_queued_messages(host, key, restored.queued_messages, sent_below);
        self.restored.push((key, restored.away));
        true
    }

    /// All sessions of all loops are back: time goes on for them.
    pub fn restored<H>(&mut self, host: &mut H)
    where
        H: Host<Link = L, Identity = I>,
    {
        for (key, away) in std::mem::take(&mut self.restored) {
            let Some(away) = away else {
                // The connection went with the process.
                self.detach(host, key);
                continue;
            };
            let Some(session) = self.sessions.get_mut(key.index as usize) else { continue };
            let rare = session.rare();
            match away.will_at_ms {
                None => rare.will = None,
                Some(at_ms) if away.ends_at_ms.is_none_or(|ends_at_ms| at_ms < ends_at_ms) => {
                    rare.will_at.set(at_ms, Due::Will, key, &mut self.deadlines);
                }
                // It goes with the session.
                Some(_) => {}
            }
            if let Some(at_ms) = away.ends_at_ms {
                rare.ends_at.set(at_ms, Due::Session, key, &mut self.deadlines);
            }
        }
    }

    fn restore_subscription<H>(&mut self, host: &mut H, key: SessionKey, restored: &RestoredSubscription)
    where
        H: Host<Link = L, Identity = I>,
    {
        let RestoredSubscription { filter, options, id, shared } = restored;
        let Some(session) = self.session(key) else { return };
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        // The rules may have changed since it was granted: what they deny now is not delivered.
        let grant = host.grant(client, filter);
        match Subscribed::parse(filter) {
            Ok(Subscribed::Own(_)) => {
                let has_id = if id.is_some() { HasId::Yes } else { HasId::No };
                let subscriber = Subscriber::new(key.index, *options, has_id).granted(grant);
                let added = self.filters.add(filter, subscriber);
                let Some(session) = self.session_mut(key) else { return };
                session.subscriptions.push(Held { filter: added.filter, position: added.position });
                if let Some(id) = *id {
                    session.rare().subscription_ids.push((added.filter, id));
                }
                if added.first {
                    host.interest(filter, Interest::Gained);
                }
                host.keep_interest(self.config.loop_index, filter, Interest::Gained);
            }
            Ok(Subscribed::Shared(_)) => {
                let Some(session) = self.session_mut(key) else { return };
                let held = SharedHeld {
                    id: *shared,
                    filter: filter.as_str().into(),
                    options: *options,
                    subscription_id: *id,
                    is_partly_granted: grant != Grant::Whole,
                };
                session.rare().shared.put(held.clone());
                self.group_interest(host, filter, Interest::Gained);
                self.join_group(host, key, &held, Answered::Never);
            }
            // It was checked when it was made.
            Err(_) => {}
        }
    }

    fn restore_queued_messages<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        queued_messages: Vec<RestoredMessage>,
        sent_below: u32,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.sessions.get_mut(key.index as usize) else { return };
        for queued_message in queued_messages {
            let RestoredMessage { number, publication, qos, retain, shared, ids } = queued_message;
            let rare = session.rare();
            rare.last_queued_message = rare.last_queued_message.max(number);
            rare.shared.reserve(shared);
            let terms = Terms { qos, retain, ids: &ids, shared, number };
            let Some(publication) = publication else {
                let mut flight = Flight::received(terms);
                flight.packet_id = kept_packet_id(number);
                self.flights.push_back(&mut session.in_flight, flight);
                continue;
            };
            if number < sent_below {
                // It may have been sent: it goes out again as what it was.
                let mut flight = Flight::queued(publication, terms);
                flight.packet_id = kept_packet_id(number);
                flight.stage = Stage::Published;
                self.flights.push_back(&mut session.in_flight, flight);
                continue;
            }
            // Its client is away, and has as much waiting as such a client may have.
            let queued_message =
                QueuedMessage { publication, qos, retain, subscription_ids: ids, shared, number };
            for evicted in self.mailboxes.put(key, &session.client_id, queued_message) {
                host.count(Event::Dropped(Drop::QueueFull));
                done(host, &session.client_id, evicted.number);
            }
        }
        let rare = session.rare();
        if sent_below != u32::MAX {
            rare.last_queued_message = rare.last_queued_message.max(sent_below.saturating_sub(1));
        }
    }
}
