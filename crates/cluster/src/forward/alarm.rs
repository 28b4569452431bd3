//! Wakes the forwarder's thread: a command is due, or there is news.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// The alarm of a thread.
#[derive(Default)]
pub(crate) struct Alarm {
    is_rung: Mutex<bool>,
    rung: Condvar,
}

impl Alarm {
    /// Has [`Self::wait`] return now.
    pub(crate) fn ring(&self) {
        *self.is_rung.lock() = true;
        self.rung.notify_one();
    }

    /// Waits until it is rung, or until then.
    pub(crate) fn wait(&self, until: Option<Instant>) {
        let mut is_rung = self.is_rung.lock();
        while !*is_rung {
            match until {
                Some(until) if self.rung.wait_until(&mut is_rung, until).timed_out() => break,
                Some(_) => {}
                None => self.rung.wait(&mut is_rung),
            }
        }
        *is_rung = false;
    }
}
