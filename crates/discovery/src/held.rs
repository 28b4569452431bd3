//! Counts of what handles hold, each against a bound.
//!
//! A place that was taken is given back when it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;

/// Counts what is held against a bound.
#[derive(Debug, Default)]
pub(crate) struct Held(Arc<AtomicUsize>);

impl Held {
    pub(crate) fn take(&self, max: usize, full: &'static str) -> Result<Taken, Error> {
        let one_more = |held| (held < max).then_some(held + 1);
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Taken(self.0.clone())),
            Err(_) => Err(Error::Busy(full)),
        }
    }
}

/// One of what is counted; given back when dropped.
#[derive(Debug)]
pub(crate) struct Taken(Arc<AtomicUsize>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
