//! The requests that a dialer has sent and that are not answered, with their deadlines.
//!
//! A request whose deadline has passed stays, without its caller, until it is answered or the link
//! ends: it still takes the receiver's room, so that its credit is not free.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stadium_wheel::{Link, Links, Wheel};

use super::message::Tag;
use super::outbox::Queued;

/// One request.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// `None` once the caller has been notified.
    tag: Option<Tag>,
    bytes: u32,
    timer: Link,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The caller that waits, if one does.
    pub(crate) tag: Option<Tag>,
    /// The credit that it took.
    pub(crate) bytes: u32,
}

#[derive(Default)]
struct Entries(Vec<Entry>);

impl Links for Entries {
    fn link(&mut self, index: u32) -> &mut Link {
        &mut self.0[index as usize].timer
    }
}

/// What was sent and has no answer.
pub(crate) struct Requests {
    entries: Entries,
    free: Vec<u32>,
    places: HashMap<u64, u32, RandomState>,
    wheel: Wheel,
    fired: Vec<u32>,
}

/// The wheel's tick of a time. Ticks are milliseconds and go around; deadlines are nearer than
/// that.
fn tick(ms: u64) -> u32 {
    ms as u32
}

/// The longest time to a deadline that the wheel can tell from one that has passed, in
/// milliseconds.
const DEADLINE_MS_MAX: u64 = 1 << 30;

impl Requests {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self {
            entries: Entries::default(),
            free: Vec::new(),
            places: HashMap::default(),
            wheel: Wheel::around(tick(now_ms)),
            fired: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, now_ms: u64, request: &Queued) {
        let Queued { number, tag, deadline_ms, bytes, .. } = *request;
        let entry = Entry { tag: Some(tag), bytes, timer: Link::IDLE };
        let place = match self.free.pop() {
            Some(place) => {
                self.entries.0[place as usize] = entry;
                place
            }
            None => {
                self.entries.0.push(entry);
                // Credit has bounded their number to 32 bits.
                (self.entries.0.len() - 1) as u32
            }
        };
        self.places.insert(number, place);
        let deadline_ms = deadline_ms.min(now_ms.saturating_add(DEADLINE_MS_MAX));
        self.wheel.arm(&mut self.entries, place, tick(deadline_ms));
    }

    /// The answer to a request came. `None` where there is no such request.
    pub(crate) fn answered(&mut self, number: u64) -> Option<Ended> {
        let place = self.places.remove(&number)?;
        self.wheel.disarm(&mut self.entries, place);
        self.free.push(place);
        let entry = &self.entries.0[place as usize];
        Some(Ended { tag: entry.tag, bytes: entry.bytes })
    }

    /// Hands out callers whose deadlines have passed.
    pub(crate) fn expire(&mut self, now_ms: u64, mut notify: impl FnMut(Tag)) {
        let mut fired = std::mem::take(&mut self.fired);
        self.wheel.advance(&mut self.entries, tick(now_ms), &mut fired);
        for place in fired.drain(..) {
            if let Some(tag) = self.entries.0[place as usize].tag.take() {
                notify(tag);
            }
        }
        self.fired = fired;
    }

    /// The link is lost: hands out all of them, in the order in which they were sent.
    pub(crate) fn drain(&mut self, mut notify: impl FnMut(Ended)) {
        let mut numbers: Vec<u64> = self.places.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(ended) = self.answered(number) {
                notify(ended);
            }
        }
    }

    /// When [`expire`](Self::expire) is to be called next, in milliseconds.
    pub(crate) fn deadline_ms(&self, now_ms: u64) -> Option<u64> {
        let next = self.wheel.next()?;
        let ahead = next.wrapping_sub(tick(now_ms));
        Some(if ahead < 1 << 31 { now_ms + u64::from(ahead) } else { now_ms })
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(number: u64, deadline_ms: u64) -> Queued {
        Queued { number, tag: Tag(number * 10), deadline_ms, at: 0, bytes: 7 }
    }

    #[test]
    fn a_request_that_expired_keeps_its_credit_until_it_is_answered() {
        // Ticks go around behind this time.
        let now_ms = u64::from(u32::MAX) - 5;
        let mut requests = Requests::new(now_ms);
        requests.insert(now_ms, &queued(1, now_ms + 10));
        requests.insert(now_ms, &queued(2, now_ms + 20));
        assert!(requests.deadline_ms(now_ms).is_some_and(|at| at <= now_ms + 10));
        let mut expired = Vec::new();
        requests.expire(now_ms + 9, |tag| expired.push(tag));
        assert!(expired.is_empty());
        requests.expire(now_ms + 10, |tag| expired.push(tag));
        assert_eq!(expired, [Tag(10)]);
        assert_eq!(requests.answered(1), Some(Ended { tag: None, bytes: 7 }));
        assert_eq!(requests.answered(1), None, "it was answered");
        assert_eq!(requests.answered(2), Some(Ended { tag: Some(Tag(20)), bytes: 7 }));
        assert_eq!(requests.deadline_ms(now_ms), None);
    }

    #[test]
    fn a_lost_link_ends_all_requests_in_their_order() {
        let mut requests = Requests::new(0);
        for number in [5, 3, 9] {
            requests.insert(0, &queued(number, 100));
        }
        requests.expire(100, |_| {});
        requests.insert(100, &queued(12, 200));
        let mut ended = Vec::new();
        requests.drain(|one| ended.push(one.tag));
        assert_eq!(ended, [None, None, None, Some(Tag(120))]);
        assert_eq!(requests.len(), 0);
    }
}
