//! Watching [`Places`]: a watcher keeps only its position, and reads later changes when it has room
//! for them.
//!
//! So a slow watcher costs no more than a quick one, and gets the newest sighting of each device. A
//! watcher that has read all waits; a store wakes it.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::places::{Places, SHARDS};
use crate::proto::GeoEvent;

/// The time from which changes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The last location of every device comes first.
    Ever,
    /// What changes from now on.
    Now,
}

/// How far a watcher is in each shard, and where it reads on.
#[derive(Debug)]
pub(crate) struct Cursor {
    behind: [u64; SHARDS],
    at: usize,
}

impl Cursor {
    pub(crate) fn here(&mut self) -> (usize, &mut u64) {
        (self.at, &mut self.behind[self.at])
    }

    pub(crate) fn next(&mut self) {
        self.at = (self.at + 1) % SHARDS;
    }
}

/// Those who wait for a change.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    waiting: Mutex<Vec<Waker>>,
    is_waited: AtomicBool,
    closed: AtomicBool,
}

impl Watchers {
    /// Something changed. Costs one look where nobody waits.
    pub(crate) fn wake(&self) {
        if self.is_waited.load(Ordering::Acquire) && self.is_waited.swap(false, Ordering::AcqRel) {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        // A watcher that begins to wait behind this lock sees that it is closed.
        self.wake_all();
    }

    /// A watcher that looks after this is woken by later changes.
    fn wait(&self, context: &Context<'_>) {
        let mut waiting = self.waiting.lock();
        if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
        self.is_waited.store(true, Ordering::Release);
    }
}

/// A watch over all devices.
#[derive(Debug)]
pub struct Watch {
    places: Arc<Places>,
    cursor: Cursor,
}

impl Watch {
    /// Begins to watch.
    #[must_use]
    pub fn new(places: Arc<Places>, since: Since) -> Self {
        let mut cursor = Cursor { behind: [0; SHARDS], at: 0 };
        if since == Since::Now {
            cursor.behind.iter_mut().zip(places.changed()).for_each(|(behind, changed)| *behind = changed);
        }
        Self { places, cursor }
    }

    /// The next changes, at most so many, as soon as there is one; `None` when the instance leaves.
    pub async fn next(&mut self, at_most: usize) -> Option<Vec<GeoEvent>> {
        poll_fn(|context| {
            if self.places.watchers().closed.load(Ordering::Acquire) {
                return Poll::Ready(None);
            }
            let newer = self.places.newer(&mut self.cursor, at_most);
            if !newer.is_empty() {
                return Poll::Ready(Some(newer));
            }
            self.places.watchers().wait(context);
            // What changed meanwhile woke nobody.
            if self.places.watchers().closed.load(Ordering::Acquire) {
                return Poll::Ready(None);
            }
            match self.places.newer(&mut self.cursor, at_most) {
                newer if newer.is_empty() => Poll::Pending,
                newer => Poll::Ready(Some(newer)),
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::executor::block_on;

    use super::*;
    use crate::places::{Sighting, Stored};
    use crate::position::Position;
    use crate::proto::geo_event::Significance;

    fn store(places: &Places, device: &str, timestamp_ms: u64) {
        let position = Position::new(1.0, 2.0).expect("a place on earth");
        let sighting = Sighting { timestamp_ms, position, significance: Significance::Minor };
        assert_eq!(places.store(device, sighting), Stored::Kept);
    }

    fn next_changes(watch: &mut Watch, at_most: usize) -> Vec<(String, u64)> {
        let events = watch.next(at_most).now_or_never().flatten().unwrap_or_default();
        events.into_iter().map(|event| (event.device_id, event.timestamp_ms)).collect()
    }

    #[test]
    fn the_last_locations_come_first_where_they_are_asked_for() {
        let places = Arc::new(Places::new(1_000));
        (0..200).for_each(|device| store(&places, &format!("d{device}"), 1));
        let (mut all, mut later) =
            (Watch::new(places.clone(), Since::Ever), Watch::new(places.clone(), Since::Now));
        let mut devices = std::collections::BTreeSet::new();
        loop {
            let some = next_changes(&mut all, 7);
            assert!(some.len() <= 7);
            if some.is_empty() {
                break;
            }
            some.into_iter().for_each(|one| assert!(devices.insert(one)));
        }
        assert_eq!(devices.len(), 200, "each of them once");
        assert_eq!(next_changes(&mut later, 1_000), []);
        store(&places, "d7", 2);
        assert_eq!(next_changes(&mut later, 1_000), [("d7".to_owned(), 2)]);
        assert_eq!(next_changes(&mut all, 1_000), [("d7".to_owned(), 2)]);
    }

    #[test]
    fn a_slow_watcher_gets_the_newest_of_each_device_and_nothing_grows() {
        let places = Arc::new(Places::new(1_000));
        let mut watch = Watch::new(places.clone(), Since::Now);
        for timestamp_ms in 1..=10_000 {
            store(&places, "a", timestamp_ms);
            store(&places, "b", timestamp_ms);
        }
        assert!(places.changes() <= 2 * (2 + 2 * 64), "{} changes are remembered", places.changes());
        let mut newest = next_changes(&mut watch, 1_000);
        newest.sort();
        assert_eq!(newest, [("a".to_owned(), 10_000), ("b".to_owned(), 10_000)]);
        // The same event again is no change.
        store(&places, "a", 10_000);
        assert_eq!(next_changes(&mut watch, 1_000), []);
    }

    #[test]
    fn watchers_that_wait_are_woken_by_changes_and_by_the_end() {
        let places = Arc::new(Places::new(1_000));
        let mut watch = Watch::new(places.clone(), Since::Ever);
        std::thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let mut seen = 0;
                while seen < 5_000 {
                    let events = block_on(watch.next(64)).expect("it goes on");
                    seen = events.iter().map(|event| event.timestamp_ms).max().unwrap_or(seen);
                }
                block_on(watch.next(64))
            });
            (1..=5_000).for_each(|timestamp_ms| store(&places, "a", timestamp_ms));
            while !places.watchers().is_waited.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            places.close();
            assert_eq!(watching.join().expect("it watches"), None);
        });
    }
}
