//! Opens shards: all of them when a node starts, or one while others serve.
//!
//! Helpers open them, so many at once, and hand each to its thread as soon as it has recovered.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use stadium_journal::{JournalThreads, Options, ThreadCounts, descriptors_max};

use crate::core::Store;
use crate::driver::{Driver, OnProgress, seed};
use crate::inner::Inner;
use crate::store::{FileStore, VolatileStore};
use crate::{Error, Storage, directory};

/// Starts the threads, opens each shard, and waits until all have recovered.
pub(crate) fn start(inner: &Arc<Inner>, progress: &OnProgress) -> Result<(), Error> {
    let settings = &inner.settings;
    let each = settings.journal_options();
    let options = |shard| Options { shard: u32::from(shard), ..each.clone() };
    match &settings.storage {
        Storage::Files(directory) => {
            directory::check_descriptors(settings.count, settings.descriptors_min(), descriptors_max())?;
            directory::open(directory, settings.count, settings.preallocated_bytes())?;
            let (writers, makers) = settings.journal_threads();
            let threads = JournalThreads::start(ThreadCounts { writers, makers })?;
            let store = |shard| FileStore {
                folder: directory::shard(directory, shard),
                options: options(shard),
                threads: threads.clone(),
            };
            start_on(inner, progress, store)
        }
        Storage::Memory { bytes_max } => {
            directory::check_count(settings.count)?;
            let store = |shard| VolatileStore::new(*bytes_max, &options(shard), seed());
            start_on(inner, progress, store)
        }
    }
}

/// Opens the shards, each on a store of its own. They are compiled for each kind of store, so that no
/// append asks which it is.
fn start_on<S: Store + Clone + 'static>(
    inner: &Arc<Inner>,
    progress: &OnProgress,
    store: impl Fn(u16) -> S,
) -> Result<(), Error> {
    inner.threads.start()?;
    let (opened, openings) = channel();
    let is_given_up = Arc::new(AtomicBool::new(false));
    // Those that are open first may have messages for the others.
    for shard in 0..inner.settings.count {
        inner.begin(shard)?;
    }
    for shard in 0..inner.settings.count {
        let (inner, progress, store) = (Arc::clone(inner), Arc::clone(progress), store(shard));
        let (opened, is_given_up) = (opened.clone(), Arc::clone(&is_given_up));
        let helpers = Arc::clone(&inner.threads.helpers);
        helpers.run(Box::new(move || {
            if is_given_up.load(Ordering::SeqCst) {
                inner.has_ended(shard);
                return;
            }
            let _ = opened.send(open(&inner, shard, store, &progress));
        }));
    }
    drop(opened);
    for result in openings {
        if let Err(error) = result {
            is_given_up.store(true, Ordering::SeqCst);
            inner.stop();
            inner.threads.join(Duration::MAX / 4);
            return Err(error);
        }
    }
    Ok(())
}

/// Opens one shard, while others serve, and waits until it has recovered.
pub(crate) fn open_one<S: Store + Clone + 'static>(
    inner: &Arc<Inner>,
    shard: u16,
    store: S,
    progress: OnProgress,
) -> Result<(), Error> {
    inner.begin(shard)?;
    let (opened, opening) = channel();
    let opener = Arc::clone(inner);
    inner.threads.helpers.run(Box::new(move || {
        let _ = opened.send(open(&opener, shard, store, &progress));
    }));
    opening.recv().unwrap_or_else(|_| Err(Error::Thread("it ended before the shard was open".into())))
}

/// Opens a shard that [`Inner::begin`] counted, and hands it to its thread.
fn open<S: Store + Clone + 'static>(
    inner: &Arc<Inner>,
    shard: u16,
    store: S,
    progress: &OnProgress,
) -> Result<(), Error> {
    let opened = catch_unwind(AssertUnwindSafe(|| Driver::open(shard, inner, store, progress)))
        .unwrap_or_else(|_| Err(Error::Thread("it panicked while it read its journal".into())));
    match opened {
        Ok(driver) => {
            inner.threads.seat(Box::new(driver));
            Ok(())
        }
        Err(error) => {
            inner.has_ended(shard);
            Err(error)
        }
    }
}
