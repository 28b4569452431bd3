//! Opens and closes single shards while others serve.
//!
//! A shard that is not open has a mailbox that refuses requests; what other shards send it is refused
//! too, and they send it again.

use std::sync::Arc;
use std::time::Duration;

use crate::core::{Progress, Store};
use crate::driver::OnProgress;
use crate::{Error, Settings, Shards, start};

impl Shards {
    /// Starts the threads, and opens no shard. Where the shards are is nobody's business but that of
    /// the stores with which [`Self::open_shard`] opens them.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub fn open_none(settings: Settings) -> Result<Shards, Error> {
        let shards = Shards::of(settings);
        shards.inner.threads.start()?;
        Ok(shards)
    }

    /// Opens a shard on a store, and waits until it has recovered. Commands to it wait in its mailbox
    /// meanwhile. `progress` is called with its progress, from the thread that opens it.
    ///
    /// # Errors
    ///
    /// It cannot be opened; then requests to it are refused as before (SHARD-016).
    pub fn open_shard<S: Store + Clone + 'static>(
        &self,
        shard: u16,
        store: S,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let progress: OnProgress = Arc::new(move |_, how_far| progress(how_far));
        start::open_one(&self.inner, shard, store, progress)
    }

    /// Stops a shard: new commands are refused (SHARD-016), work that was begun is finished, consumers
    /// that wait get nothing, a last checkpoint is written. Returns when its journal is closed, or
    /// after `at_most`; then false, and it goes on stopping. True where it was not open.
    pub fn close_shard(&self, shard: u16, at_most: Duration) -> bool {
        self.inner.stop_one(shard);
        self.inner.threads.wait_for(shard, at_most)
    }
}
