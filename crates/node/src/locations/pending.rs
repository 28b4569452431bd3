//! Locations that were received and are not written yet: of each device the newest.
//!
//! It is bounded by devices. Where it is full, an event of another device waits, and with it the stream that it came by.

use std::collections::BTreeMap;
use std::time::Instant;

use parking_lot::Mutex;
use stadium_push::{AppName, DeviceId, Time};
use stadium_registry::Location;
use tokio::sync::Notify;

use super::event::Seen;
use stadium_rpc_api::proto::location_event::Significance;

/// Devices and where they were seen.
#[derive(Debug)]
pub(super) struct Pending {
    devices: Mutex<BTreeMap<(AppName, DeviceId), Newest>>,
    devices_max: usize,
    /// There is room again.
    room: Notify,
}

/// Where a device was seen last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Newest {
    pub(super) at: Time,
    pub(super) location: Location,
    /// The device moved a little, as far as the waiting locations show.
    pub(super) significance: Significance,
    /// When the first event came that waits here.
    pub(super) since: Instant,
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It waits, with how many devices.
    New(usize),
    /// It took the place of another one, or another one is newer.
    Replaced,
}

impl Pending {
    pub(super) fn new(devices_max: usize) -> Self {
        Self { devices: Mutex::default(), devices_max, room: Notify::new() }
    }

    /// Takes an event, once there is room.
    pub(super) async fn take(&self, seen: Seen, since: Instant) -> Taken {
        let mut seen = seen;
        loop {
            // Whoever asks for room before looking misses none.
            let room = self.room.notified();
            match self.try_take(seen, since) {
                Ok(taken) => return taken,
                Err(again) => seen = *again,
            }
            room.await;
        }
    }

    fn try_take(&self, seen: Seen, since: Instant) -> Result<Taken, Box<Seen>> {
        let mut devices = self.devices.lock();
        let full = devices.len() >= self.devices_max;
        let Seen { app, device, at, location, significance } = seen;
        let key = (app, device);
        if let Some(known) = devices.get_mut(&key) {
            if at >= known.at {
                (known.at, known.location) = (at, location);
            }
            if significance == Significance::Significant {
                known.significance = significance;
            }
            return Ok(Taken::Replaced);
        }
        if full {
            let (app, device) = key;
            return Err(Box::new(Seen { app, device, at, location, significance }));
        }
        devices.insert(key, Newest { at, location, significance, since });
        Ok(Taken::New(devices.len()))
    }

    /// Everything that waits, by app.
    pub(super) fn drain(&self) -> BTreeMap<(AppName, DeviceId), Newest> {
        let drained = std::mem::take(&mut *self.devices.lock());
        self.room.notify_waiters();
        drained
    }
}

#[cfg(test)]
mod tests {
    use futures_of_tests::{block_on, poll_once};

    use super::*;

    /// As much of an executor as these tests need.
    mod futures_of_tests {
        use std::pin::pin;
        use std::task::{Context, Poll, Waker};

        pub(super) fn poll_once<F: Future>(future: F) -> Option<F::Output> {
            match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            }
        }

        pub(super) fn block_on<F: Future>(future: F) -> F::Output {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(future)
        }
    }

    fn seen(device: &str, at: u64, latitude: f64, significance: Significance) -> Seen {
        Seen {
            app: AppName::new("default").expect("a name"),
            device: DeviceId::new(device).expect("a name"),
            at: Time(at),
            location: Location::new(latitude, 0.0).expect("a place"),
            significance,
        }
    }

    #[test]
    fn of_each_device_the_newest_waits_and_a_move_that_mattered_is_not_forgotten() {
        let pending = Pending::new(10);
        let since = Instant::now();
        let take = |seen| block_on(pending.take(seen, since));
        assert_eq!(take(seen("a", 5, 1.0, Significance::Significant)), Taken::New(1));
        assert_eq!(take(seen("a", 7, 2.0, Significance::Minor)), Taken::Replaced);
        assert_eq!(take(seen("a", 6, 3.0, Significance::Minor)), Taken::Replaced);
        assert_eq!(take(seen("b", 1, 4.0, Significance::Minor)), Taken::New(2));
        let drained: Vec<_> = pending
            .drain()
            .into_iter()
            .map(|((_, device), newest)| {
                (device.to_string(), newest.at.0, newest.location.latitude(), newest.significance)
            })
            .collect();
        let expected = [
            ("a".to_owned(), 7, 2.0, Significance::Significant),
            ("b".to_owned(), 1, 4.0, Significance::Minor),
        ];
        assert_eq!(drained, expected);
        assert!(pending.drain().is_empty());
    }

    #[test]
    fn where_it_is_full_another_device_waits_for_room_and_a_known_one_does_not() {
        let pending = Pending::new(1);
        let since = Instant::now();
        let minor = |device, at| seen(device, at, 1.0, Significance::Minor);
        assert_eq!(poll_once(pending.take(minor("a", 1), since)), Some(Taken::New(1)));
        assert_eq!(poll_once(pending.take(minor("b", 1), since)), None);
        assert_eq!(poll_once(pending.take(minor("a", 2), since)), Some(Taken::Replaced));
        block_on(async {
            let (taken, drained) =
                tokio::join!(pending.take(minor("b", 1), since), async { pending.drain() });
            assert_eq!((taken, drained.len()), (Taken::New(1), 1));
        });
    }
}
