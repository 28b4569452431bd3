//! Deliveries that are not finished: in flight to a client, or queued for it.
//!
//! All sessions of a broker share one pool of entries linked by index, so that a delivery allocates
//! nothing once the pool has grown to what the traffic needs, and an idle session costs two empty lists.

use std::sync::Arc;

use super::deliver::Terms;
use super::publication::Publication;
use super::session::SharedId;
use crate::packet::QoS;

const NONE: u32 = u32::MAX;

/// A chain of entries in the pool, oldest first.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, len: 0 }
    }
}

impl List {
    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// How far a delivery has come (MQTT 5.0 section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not sent yet.
    Queued,
    /// PUBLISH sent, waiting for PUBACK or PUBREC.
    Published,
    /// PUBREL sent, waiting for PUBCOMP.
    Released,
}

/// One delivery to one session.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    /// Gone once a QoS 2 message was received.
    pub publication: Option<Arc<Publication>>,
    /// Subscription identifiers to send with it.
    pub subscription_ids: Option<Box<[u32]>>,
    next: u32,
    /// What the host calls it, where it keeps it; else 0.
    pub number: u32,
    pub packet_id: u16,
    pub stage: Stage,
    pub qos: QoS,
    /// RETAIN as this receiver must see it.
    pub retain: bool,
    /// The shared subscription it came by.
    pub shared: SharedId,
}

impl Flight {
    pub fn queued(publication: Arc<Publication>, terms: Terms<'_>) -> Self {
        Self {
            publication: Some(publication),
            subscription_ids: (!terms.ids.is_empty()).then(|| terms.ids.into()),
            next: NONE,
            number: terms.number,
            packet_id: 0,
            stage: Stage::Queued,
            qos: terms.qos,
            retain: terms.retain,
            shared: terms.shared,
        }
    }
}

impl Flight {
    /// One at QoS 2 that its client has received: only its packet id is to be released.
    pub fn received(terms: Terms<'_>) -> Self {
        Self {
            publication: None,
            subscription_ids: None,
            next: NONE,
            number: terms.number,
            packet_id: 0,
            stage: Stage::Released,
            qos: terms.qos,
            retain: terms.retain,
            shared: terms.shared,
        }
    }
}

/// The entries of all sessions.
#[derive(Debug)]
pub(super) struct Flights {
    entries: Vec<Flight>,
    free: u32,
    used: u32,
}

impl Default for Flights {
    fn default() -> Self {
        Self { entries: Vec::new(), free: NONE, used: 0 }
    }
}

impl Flights {
    /// Entries in use.
    pub fn len(&self) -> u32 {
        self.used
    }

    /// The entries of a chain, oldest first.
    pub fn iter(&self, list: &List) -> impl Iterator<Item = &Flight> {
        let mut at = list.head;
        std::iter::from_fn(move || {
            let flight = self.entries.get(at as usize)?;
            at = flight.next;
            Some(flight)
        })
    }

    pub fn push_back(&mut self, list: &mut List, flight: Flight) {
        let at = self.allocate(flight);
        if list.tail == NONE {
            list.head = at;
        } else {
            self.entries[list.tail as usize].next = at;
        }
        list.tail = at;
        list.len += 1;
    }

    pub fn front(&self, list: &List) -> Option<&Flight> {
        (list.head != NONE).then(|| &self.entries[list.head as usize])
    }

    pub fn pop_front(&mut self, list: &mut List) -> Option<Flight> {
        if list.head == NONE {
            return None;
        }
        let at = list.head;
        list.head = self.entries[at as usize].next;
        if list.head == NONE {
            list.tail = NONE;
        }
        list.len -= 1;
        Some(self.release(at))
    }

    /// The entry with this packet id. Clients acknowledge in order, so it is nearly always the first.
    pub fn find_mut(&mut self, list: &List, packet_id: u16) -> Option<&mut Flight> {
        let mut at = list.head;
        while at != NONE {
            if self.entries[at as usize].packet_id == packet_id {
                return Some(&mut self.entries[at as usize]);
            }
            at = self.entries[at as usize].next;
        }
        None
    }

    pub fn remove(&mut self, list: &mut List, packet_id: u16) -> Option<Flight> {
        let mut previous = NONE;
        let mut at = list.head;
        while at != NONE && self.entries[at as usize].packet_id != packet_id {
            previous = at;
            at = self.entries[at as usize].next;
        }
        if at == NONE {
            return None;
        }
        let next = self.entries[at as usize].next;
        if previous == NONE {
            list.head = next;
        } else {
            self.entries[previous as usize].next = next;
        }
        if list.tail == at {
            list.tail = previous;
        }
        list.len -= 1;
        Some(self.release(at))
    }

    /// Takes out the deliveries that no session keeps, see
    /// [`TRANSIENT_RECEIPT`](super::TRANSIENT_RECEIPT), and forwards the receipt token of each. A
    /// delivery at QoS 2 that waits for its PUBCOMP stays: the client has it.
    pub fn remove_transient(&mut self, list: &mut List, mut removed: impl FnMut(u64)) {
        let mut all = std::mem::take(list);
        while let Some(flight) = self.pop_front(&mut all) {
            match flight.publication.as_ref().map(|publication| publication.head) {
                Some(head) if head.is_transient() => removed(head.receipt),
                _ => self.push_back(list, flight),
            }
        }
    }

    fn allocate(&mut self, mut flight: Flight) -> u32 {
        self.used += 1;
        // One that was taken out of another list still points to what followed it there.
        flight.next = NONE;
        if self.free == NONE {
            self.entries.push(flight);
            return u32::try_from(self.entries.len() - 1)
                .expect("sessions and their queues are bounded far below 2^32");
        }
        let at = self.free;
        self.free = self.entries[at as usize].next;
        self.entries[at as usize] = flight;
        at
    }

    fn release(&mut self, at: u32) -> Flight {
        self.used -= 1;
        let vacant = Flight {
            publication: None,
            subscription_ids: None,
            next: self.free,
            number: 0,
            packet_id: 0,
            stage: Stage::Queued,
            qos: QoS::AtMostOnce,
            retain: false,
            shared: SharedId::NONE,
        };
        self.free = at;
        std::mem::replace(&mut self.entries[at as usize], vacant)
    }
}
