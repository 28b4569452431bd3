//! What an operator may see of a broker: its sessions one by one, and its totals.

use super::session::{Session, SessionKey};
use super::Broker;
use crate::packet::Version;

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
    /// Topic filters, shared ones included.
    pub filters: Vec<String>,
    /// Keep alive in seconds, 0 for none.
    pub keep_alive_s: u16,
    /// Seconds the session outlives its connection.
    pub expiry_s: u32,
    /// Deliveries sent and not acknowledged.
    pub in_flight: usize,
    /// Deliveries that wait.
    pub queued: usize,
}

/// Totals of a broker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions, connected or kept.
    pub sessions: usize,
    /// Subscriptions of all of them, shared ones left out.
    pub subscriptions: usize,
    /// Deliveries in flight or queued.
    pub deliveries: usize,
    /// Letters kept for clients that are away.
    pub letters: usize,
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

    /// What may be seen of a session.
    pub fn view(&self, key: SessionKey) -> Option<SessionView<L, I>> {
        self.session(key).map(|session| self.view_of(key, session))
    }

    /// Every session's key and client id, in no particular order.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionKey, &str, Option<L>)> {
        self.sessions.iter().map(|(index, session)| {
            let index = u32::try_from(index).expect("sessions are bounded far below 2^32");
            (session.key(index), &*session.client_id, session.link)
        })
    }

    /// Totals, from counters.
    pub fn totals(&self) -> Totals {
        let sessions = self.sessions.len();
        let subscriptions = self.filters.subscriptions();
        Totals {
            sessions,
            subscriptions,
            deliveries: self.flights.len() as usize,
            letters: self.mailboxes.len(),
            bytes: sessions * (size_of::<Session<L, I>>() + 32) + subscriptions * 96,
        }
    }

    fn view_of(&self, key: SessionKey, session: &Session<L, I>) -> SessionView<L, I> {
        let own = session.subscriptions.iter().map(|held| self.filters.text(held.filter).to_owned());
        let shared = session.rare.iter().flat_map(|rare| &rare.shared).map(|held| held.filter.to_string());
        SessionView {
            key,
            client_id: session.client_id.to_string(),
            identity: session.identity.clone(),
            link: session.link,
            version: session.version,
            filters: own.chain(shared).collect(),
            keep_alive_s: session.keep_alive_s,
            expiry_s: session.expiry_s,
            in_flight: session.in_flight.len() as usize,
            queued: session.queued.len() as usize + self.mailboxes.waiting(key),
        }
    }
}
