//! Lists of sessions for operators, which a loop makes piece by piece.
//!
//! A broker has its sessions in no order, so a list looks at each of them. A loop looks at a
//! bounded number in a turn and serves its devices in between. A list keeps the ids of one page
//! only. A session that begins or ends meanwhile may be on the page or not; every other one is
//! listed once.

use std::collections::{BinaryHeap, VecDeque};
use std::sync::mpsc::Sender;

use stadium_mqtt::broker::{Broker, SessionKey};
use stadium_reactor::ConnectionId;

use crate::query::{DeviceView, DevicesQuery, WhichDevices};
use crate::turn::Who;

/// Sessions that a loop looks at in a turn.
///
/// Each costs up to two cache misses, 0.2 µs: a turn spends at most about 1 ms on lists.
const SESSIONS_PER_TURN: usize = 4_096;

/// The lists of a loop that are under way, the oldest first. Each belongs to a request that waits
/// in a thread of its own, of which the control plane has a bounded number.
#[derive(Debug, Default)]
pub(crate) struct Listings(VecDeque<Listing>);

/// A list under way.
#[derive(Debug)]
struct Listing {
    query: DevicesQuery,
    reply: Sender<Vec<DeviceView>>,
    /// The place of the next session.
    place: usize,
    /// The first ids so far, at most the query's limit.
    first: BinaryHeap<(String, SessionKey)>,
}

/// A list whose sessions are all found.
pub(crate) struct Listed {
    /// In byte order of the client ids.
    pub(crate) keys: Vec<SessionKey>,
    pub(crate) reply: Sender<Vec<DeviceView>>,
}

impl Listings {
    /// Begins a list.
    pub(crate) fn begin(&mut self, query: DevicesQuery, reply: Sender<Vec<DeviceView>>) {
        self.0.push_back(Listing { query, reply, place: 0, first: BinaryHeap::new() });
    }

    /// Whether a list is under way.
    pub(crate) fn are_under_way(&self) -> bool {
        !self.0.is_empty()
    }

    /// Looks at more sessions. Returns the oldest list when it has seen all.
    pub(crate) fn look(&mut self, broker: &Broker<ConnectionId, Who>) -> Option<Listed> {
        let listing = self.0.front_mut()?;
        let (sessions, next) = broker.sessions_from(listing.place, SESSIONS_PER_TURN);
        for (key, client_id, link) in sessions {
            listing.take(key, client_id, link.is_some());
        }
        match next {
            Some(place) => {
                listing.place = place;
                None
            }
            None => self.0.pop_front().map(Listing::end),
        }
    }
}

impl Listing {
    fn take(&mut self, key: SessionKey, client_id: &str, is_connected: bool) {
        let is_before_last = || match self.first.peek() {
            Some((last, _)) if self.first.len() >= self.query.limit => client_id < last.as_str(),
            _ => self.query.limit > 0,
        };
        if !is_before_last() || !self.query.fits(client_id, is_connected) {
            return;
        }
        if self.first.len() >= self.query.limit {
            self.first.pop();
        }
        self.first.push((client_id.to_owned(), key));
    }

    fn end(self) -> Listed {
        let keys = self.first.into_sorted_vec().into_iter().map(|(_, key)| key).collect();
        Listed { keys, reply: self.reply }
    }
}

impl DevicesQuery {
    fn fits(&self, client_id: &str, is_connected: bool) -> bool {
        client_id.starts_with(&self.prefix)
            && self.after.as_deref().is_none_or(|after| client_id > after)
            && match self.which {
                WhichDevices::All => true,
                WhichDevices::Connected => is_connected,
                WhichDevices::Away => !is_connected,
            }
            && has_part(client_id, &self.search)
    }
}

/// Whether the part, which is in lower case, is in the text in any case.
fn has_part(text: &str, part: &str) -> bool {
    match text.is_ascii() {
        _ if part.is_empty() => true,
        true => {
            text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
        }
        false => text.to_lowercase().contains(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_in_any_case() {
        for (text, part, is_in) in [
            ("Phone-7", "", true),
            ("", "", true),
            ("Phone-7", "hone-7", true),
            ("PHONE-7", "phone", true),
            ("Phone-7", "phone-77", false),
            ("Phone-7", "é", false),
            ("CAFÉ-7", "é-7", true),
            ("Café-7", "fee", false),
        ] {
            assert_eq!(has_part(text, part), is_in, "{text} {part}");
        }
    }
}
