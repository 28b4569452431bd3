//! What an operator may see of a broker: its sessions one by one, and its totals.

use super::Broker;
use super::session::{Session, SessionKey};
use crate::packet::{QoS, Version};

/// One session, as far as others may see it.
#[derive(Debug, Clone)]
pub struct SessionView<L, I> {
    /// Its key.
    pub key: SessionKey,
    /// Client Identifier.
    pub client_id: String,
    /// What authentication found.
    pub identity: I,
    /// Its connection, if it has one.
    pub link: Option<L>,
    /// What the client speaks.
    pub version: Version,
    /// Topic filters with their maximum QoS, shared ones included.
    pub subscriptions: Vec<(String, QoS)>,
    /// Keep alive in seconds, 0 for none.
    pub keep_alive_s: u16,
    /// Seconds the session outlives its connection.
    pub expiry_s: u32,
    /// When the session of a client that is away ends, in the host's milliseconds.
    pub ends_at_ms: Option<u64>,
    /// Deliveries sent and not acknowledged.
    pub in_flight: usize,
    /// Deliveries that wait.
    pub queued: usize,
}

/// What finding a session by its client id costs, in bytes: an entry of the table and its control byte,
/// at the table's usual load, and the slab's tag.
const SESSION_INDEX_BYTES: usize = 16;

/// What a subscription costs the index, in bytes: half of them are inboxes with a filter of their own
/// (72), half stand in a channel's list (8), as the fleets measured by `cargo xtask bench edge` have it.
const SUBSCRIPTION_BYTES: usize = 40;

/// Totals of a broker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions, connected or kept.
    pub sessions: usize,
    /// Subscriptions of all of them, shared ones left out.
    pub subscriptions: usize,
    /// Deliveries in flight or queued.
    pub deliveries: usize,
    /// QueuedMessages kept for clients that are away.
    pub queued_messages: usize,
    /// Bytes of sessions and subscriptions, estimated from their counts.
    pub bytes: usize,
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// The session of a client id.
    pub fn find(&self, client_id: &str) -> Option<SessionKey> {
        self.find_session(client_id)
    }

    /// The client id of a session.
    pub fn client_id(&self, key: SessionKey) -> Option<&str> {
        self.session(key).map(|session| session.client_id.as_str())
    }

    /// What the client of a session speaks.
    pub fn version(&self, key: SessionKey) -> Option<Version> {
        self.session(key).map(|session| session.version)
    }

    /// The keep alive that holds for a session's client, in seconds; 0 for none.
    pub fn keep_alive_s(&self, key: SessionKey) -> u16 {
        self.session(key).map_or(0, |session| session.keep_alive_s)
    }

    /// Whether the client of this id has a connection.
    pub fn is_connected(&self, client_id: &str) -> bool {
        self.find_session(client_id).and_then(|key| self.session(key)).is_some_and(|one| one.link.is_some())
    }

    /// What may be seen of a session.
    pub fn view(&self, key: SessionKey) -> Option<SessionView<L, I>> {
        self.session(key).map(|session| self.view_of(key, session))
    }

    /// The sessions in so many places from one on, each with its key, client id and connection, and
    /// the place that follows if there may be more. Places have no particular order; a session
    /// stays at its place.
    pub fn sessions_from(
        &self,
        place: usize,
        places: usize,
    ) -> (impl Iterator<Item = (SessionKey, &str, Option<L>)>, Option<usize>) {
        let end = place.saturating_add(places);
        let sessions = (place..end.min(self.sessions.capacity())).filter_map(|index| {
            let session = self.sessions.get(index)?;
            let index = u32::try_from(index).expect("sessions are bounded far below 2^32");
            Some((session.key(index), &*session.client_id, session.link))
        });
        (sessions, (end < self.sessions.capacity()).then_some(end))
    }

    /// Totals, from counters.
    pub fn totals(&self) -> Totals {
        let sessions = self.sessions.len();
        let subscriptions = self.filters.subscriptions();
        Totals {
            sessions,
            subscriptions,
            deliveries: self.flights.len() as usize,
            queued_messages: self.mailboxes.len(),
            bytes: sessions * (size_of::<Session<L, I>>() + SESSION_INDEX_BYTES)
                + subscriptions * SUBSCRIPTION_BYTES,
        }
    }

    fn view_of(&self, key: SessionKey, session: &Session<L, I>) -> SessionView<L, I> {
        let own = session.subscriptions.iter().filter_map(|held| {
            let subscriber = self.filters.subscribers(held.filter).get(held.position as usize)?;
            Some((self.filters.text(held.filter).to_owned(), subscriber.qos()))
        });
        let rare = session.rare.as_deref();
        let shared = rare
            .into_iter()
            .flat_map(|rare| rare.shared.iter())
            .map(|held| (held.filter.to_string(), held.options.qos));
        let ends_at_ms = rare.map(|rare| rare.ends_at.at_ms).filter(|&at_ms| at_ms != u64::MAX);
        SessionView {
            key,
            client_id: session.client_id.to_string(),
            identity: session.identity.clone(),
            link: session.link,
            version: session.version,
            subscriptions: own.chain(shared).collect(),
            ends_at_ms,
            keep_alive_s: session.keep_alive_s,
            expiry_s: session.expiry_s,
            in_flight: session.in_flight.len() as usize,
            queued: session.queued.len() as usize + self.mailboxes.waiting(key),
        }
    }
}
