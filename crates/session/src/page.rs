//! Reading all of it back, a page at a time, when the server starts.

use std::sync::Arc;

use compact_str::CompactString;

use crate::change::{Connect, Presence, Subscription};
use crate::{Message, Sessions, Time};

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Sessions with all they hold.
    Sessions,
    /// Retained messages.
    Retained,
}

/// Some of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Sessions, where those were asked for.
    pub sessions: Vec<SessionImage>,
    /// Retained messages, where those were asked for.
    pub retained: Vec<RetainedImage>,
    /// Where the next page begins; none behind the last one.
    pub next: Option<u32>,
}

/// A retained message, as it is given back. One without payload is a removal that is still
/// remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedImage {
    /// As in [`Change::Retain`](crate::Change::Retain).
    pub number: u64,
    /// As there.
    pub owner: Option<CompactString>,
    /// When it was set; none for a message of before that was kept.
    pub set_at: Option<Time>,
    /// The message.
    pub message: Arc<Message>,
}

/// A session, as it is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionImage {
    /// The client, and the content of its last CONNECT; the will is gone where it was published.
    pub connect: Connect,
    /// Whether its client was connected.
    pub presence: Presence,
    /// Its subscriptions, in the order in which they were made.
    pub subscriptions: Vec<Subscription>,
    /// Packet ids of publishes at QoS 2 that it has not released.
    pub unreleased: Vec<u16>,
    /// What it is owed, in the order in which it came.
    pub owed: Vec<Owed>,
}

/// Something owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owed {
    /// The delivery.
    pub delivery: u32,
    /// The message; none where the client has received it and only the packet id is to be released.
    pub message: Option<Arc<Message>>,
    /// The QoS of the delivery.
    pub qos: u8,
    /// RETAIN as this receiver must see it.
    pub retain: bool,
    /// The shared subscription it came by; 0 for none.
    pub shared: u16,
    /// Subscription Identifiers.
    pub ids: Box<[u32]>,
}

impl Sessions {
    pub(crate) fn page(&self, part: Part, from: u32, entries_max: u32) -> Page {
        let mut page = Page::default();
        let end = match part {
            Part::Sessions => self.session_places,
            Part::Retained => self.retained_places,
        };
        let to = from.saturating_add(entries_max.max(1)).min(end);
        for place in from..to {
            match part {
                Part::Sessions => page.sessions.extend(self.image(place)),
                Part::Retained => {
                    page.retained.extend(self.retained.get(place).map(|one| RetainedImage {
                        number: one.number,
                        owner: one.owner.clone(),
                        set_at: one.set_at,
                        message: Arc::clone(&one.message),
                    }));
                }
            }
        }
        page.next = (to < end).then_some(to);
        page
    }

    fn image(&self, place: u32) -> Option<SessionImage> {
        let session = self.sessions.get(place)?;
        let owed = self.lists[place].iter().map(|&at| {
            let delivery = self.deliveries.at(at);
            Owed {
                delivery: delivery.number,
                message: self.messages.get(delivery.message).map(|one| Arc::clone(&one.0)),
                qos: delivery.qos,
                retain: delivery.retain,
                shared: delivery.shared,
                ids: delivery.ids.clone(),
            }
        });
        Some(SessionImage {
            connect: session.connect.clone(),
            presence: session.presence,
            subscriptions: session.subscriptions.clone(),
            unreleased: session.unreleased.clone(),
            owed: owed.collect(),
        })
    }
}
