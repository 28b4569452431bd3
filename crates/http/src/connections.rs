//! Counts connections: those that are open, and those that were over the bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of one port.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Arc<AtomicU64>,
    turned_away: AtomicU64,
}

/// An open connection, until it is dropped.
pub(crate) struct Entered(Arc<AtomicU64>);

impl Connections {
    pub(crate) fn enter(&self) -> Entered {
        self.open.fetch_add(1, Ordering::Relaxed);
        Entered(Arc::clone(&self.open))
    }

    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    pub(crate) fn turned_away_total(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
