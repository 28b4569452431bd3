//! Deliveries of live pushes that other nodes accepted: counted here, reported there.
//!
//! A loop counts them as those of its own node's pushes. Each visit of a loop sends what was
//! counted to the node that accepted the push; what cannot be sent stays here, and is offered again
//! at the end of later turns.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use stadium_push::LiveOrigins;
use stadium_push::live::{LiveTally, LiveToken};

/// A push that another node accepted.
#[derive(Debug)]
pub(crate) struct RemoteRecord {
    token: LiveToken,
    unsent: Mutex<Unsent>,
}

#[derive(Debug, Default)]
struct Unsent {
    /// Counts that its node does not have.
    counts: LiveTally,
    /// It is in [`Elsewhere::behind`].
    is_listed: bool,
}

impl Unsent {
    /// Sends what is unsent, and forgets it. Returns whether it was sent.
    fn send(&mut self, token: LiveToken, origins: &dyn LiveOrigins) -> bool {
        let is_sent = origins.send_counts(token, &self.counts);
        if is_sent {
            self.counts = LiveTally::default();
        }
        is_sent
    }
}

/// The remembered ones: so many at most, the oldest is forgotten first.
#[derive(Debug)]
pub(super) struct Elsewhere {
    records: Mutex<Records>,
    /// Records whose counts could not be sent. One is listed once.
    behind: Mutex<Vec<Arc<RemoteRecord>>>,
    /// Whether there are any.
    is_behind: AtomicBool,
    remembered_max: usize,
}

#[derive(Debug, Default)]
struct Records {
    by_number: HashMap<u32, Arc<RemoteRecord>>,
    by_token: HashMap<LiveToken, u32>,
    /// The oldest first.
    numbers: VecDeque<u32>,
}

impl Elsewhere {
    pub(super) fn new(remembered_max: usize) -> Self {
        Self {
            records: Mutex::default(),
            behind: Mutex::default(),
            is_behind: AtomicBool::new(false),
            remembered_max,
        }
    }

    /// The number of a push on this node; a new one has that of `next`.
    pub(super) fn number_of(&self, token: LiveToken, next: impl FnOnce() -> u32) -> u32 {
        let mut records = self.records.lock();
        if let Some(&number) = records.by_token.get(&token) {
            return number;
        }
        if records.numbers.len() >= self.remembered_max
            && let Some(oldest) = records.numbers.pop_front()
            && let Some(record) = records.by_number.remove(&oldest)
        {
            records.by_token.remove(&record.token);
        }
        let number = next();
        let record = RemoteRecord { token, unsent: Mutex::default() };
        records.by_number.insert(number, Arc::new(record));
        records.by_token.insert(token, number);
        records.numbers.push_back(number);
        number
    }

    pub(super) fn find(&self, number: u32) -> Option<Arc<RemoteRecord>> {
        self.records.lock().by_number.get(&number).cloned()
    }

    /// Adds counts, and sends them where there is a way.
    pub(super) fn add(
        &self,
        record: &Arc<RemoteRecord>,
        counts: &LiveTally,
        origins: Option<&Arc<dyn LiveOrigins>>,
    ) {
        let mut unsent = record.unsent.lock();
        unsent.counts.add(counts);
        let is_refused = origins.is_some_and(|origins| !unsent.send(record.token, &**origins));
        if is_refused && !std::mem::replace(&mut unsent.is_listed, true) {
            drop(unsent);
            self.list([Arc::clone(record)]);
        }
    }

    fn list(&self, records: impl IntoIterator<Item = Arc<RemoteRecord>>) {
        self.behind.lock().extend(records);
        self.is_behind.store(true, Ordering::Release);
    }

    /// Sends what could not be sent before.
    pub(super) fn offer_again(&self, origins: &dyn LiveOrigins) {
        if !self.is_behind.swap(false, Ordering::AcqRel) {
            return;
        }
        let mut behind = std::mem::take(&mut *self.behind.lock());
        behind.retain(|record| {
            let mut unsent = record.unsent.lock();
            unsent.is_listed = !unsent.send(record.token, origins);
            unsent.is_listed
        });
        if !behind.is_empty() {
            self.list(behind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts that have come to each push's node, which can be out of reach.
    #[derive(Debug, Default)]
    struct Nodes {
        is_out_of_reach: AtomicBool,
        counts: Mutex<HashMap<LiveToken, LiveTally>>,
    }

    impl LiveOrigins for Nodes {
        fn send_counts(&self, token: LiveToken, counts: &LiveTally) -> bool {
            let is_in_reach = !self.is_out_of_reach.load(Ordering::Acquire);
            if is_in_reach {
                self.counts.lock().entry(token).or_default().add(counts);
            }
            is_in_reach
        }
    }

    #[test]
    fn counts_wait_for_a_node_that_is_out_of_reach_and_are_sent_once() {
        let nodes = Arc::new(Nodes::default());
        let origins: Arc<dyn LiveOrigins> = nodes.clone();
        let elsewhere = Elsewhere::new(2);
        let token = LiveToken::new(9, 1);
        let number = elsewhere.number_of(token, || 5);
        assert_eq!(elsewhere.number_of(token, || 6), number);
        let record = elsewhere.find(number).unwrap();
        let one = LiveTally { targeted: 1, sent: 1, ..LiveTally::default() };
        let sent = || nodes.counts.lock().get(&token).map_or(0, |counts| counts.sent);
        elsewhere.add(&record, &one, Some(&origins));
        assert_eq!(sent(), 1);
        nodes.is_out_of_reach.store(true, Ordering::Release);
        elsewhere.add(&record, &one, Some(&origins));
        elsewhere.offer_again(&*origins);
        elsewhere.add(&record, &one, Some(&origins));
        assert_eq!(sent(), 1);
        nodes.is_out_of_reach.store(false, Ordering::Release);
        for _ in 0..2 {
            elsewhere.offer_again(&*origins);
            assert_eq!(sent(), 3);
        }
    }

    #[test]
    fn the_oldest_push_is_forgotten_first() {
        let elsewhere = Elsewhere::new(2);
        for number in 1..=3 {
            elsewhere.number_of(LiveToken::new(9, number), || 10 + number);
        }
        let known = [11, 12, 13].map(|number| elsewhere.find(number).is_some());
        assert_eq!(known, [false, true, true]);
        assert_eq!(elsewhere.number_of(LiveToken::new(9, 1), || 14), 14);
    }
}
