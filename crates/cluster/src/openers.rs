//! Threads that open and close replicas: both read or write checkpoints, and take as long as those.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use stadium_membership::Error;
use stadium_shard::Shards;

use crate::bell::{Bell, Done};
use crate::store::ReplicatedStore;

/// Replicas that are opened or closed at a time: their disk is one.
const OPENERS: usize = 4;

/// The time after which an opener reports that a replica is not closed yet.
const CLOSES_WITHIN: Duration = Duration::from_secs(10);

enum Work {
    Open(u16, Box<ReplicatedStore>),
    Close(u16),
}

/// The threads. Dropping them has them finish what they were given.
pub(crate) struct Openers {
    /// `None` when they are being dropped.
    work: Option<Sender<Work>>,
    threads: Vec<JoinHandle<()>>,
}

impl Openers {
    pub(crate) fn start(shards: &Shards, bell: &Arc<Bell>) -> Result<Self, Error> {
        let (work, given) = channel();
        let given = Arc::new(Mutex::new(given));
        let mut openers = Self { work: Some(work), threads: Vec::new() };
        for number in 0..OPENERS {
            let (given, shards, bell) = (Arc::clone(&given), shards.clone(), Arc::clone(bell));
            let name = format!("replicas-{number}");
            let thread = std::thread::Builder::new().name(name.clone());
            let thread = thread.spawn(move || serve(&given, &shards, &bell));
            openers.threads.push(
                thread.map_err(|why| Error::Ended(format!("cannot start the thread `{name}`: {why}")))?,
            );
        }
        Ok(openers)
    }

    pub(crate) fn open(&self, shard: u16, store: ReplicatedStore) {
        self.give(Work::Open(shard, Box::new(store)));
    }

    pub(crate) fn close(&self, shard: u16) {
        self.give(Work::Close(shard));
    }

    fn give(&self, work: Work) {
        let given = self.work.as_ref().expect("only dropping takes it").send(work);
        given.expect("the openers end after this sender only");
    }
}

impl Drop for Openers {
    fn drop(&mut self) {
        self.work = None;
        for thread in self.threads.drain(..) {
            // A panic there was reported when it happened.
            _ = thread.join();
        }
    }
}

fn serve(given: &Mutex<Receiver<Work>>, shards: &Shards, bell: &Arc<Bell>) {
    loop {
        // The lock is held while it waits: whichever thread has it gets the next piece.
        let next = given.lock().recv();
        match next {
            Ok(Work::Open(shard, store)) => {
                let told = Arc::clone(bell);
                let on_state = move |shard, state, claim| told.tell(shard, state, claim);
                let opened = shards.open_replica(shard, *store, on_state);
                bell.done(shard, Done::Opened(opened.map_err(|error| error.to_string())));
            }
            Ok(Work::Close(shard)) => {
                bell.done(shard, Done::Closed(shards.close_shard(shard, CLOSES_WITHIN)));
            }
            Err(_) => return,
        }
    }
}
