//! The client of the shards of this process.
//!
//! Each machine determines which shards a command asks, and how their answers become one:
//! [`Routed`], and the queues' own [`Route`](stadium_queue::Route). The client asks, and merges the
//! answers ([`ScatterGather`]).

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use stadium_queue::{Command, Place, Route as QueueRoute, Spread, Spreading as _};
use stadium_state_machine::{Merge as _, Route, Routed, StateMachine};

use crate::answer::{Answer, of_machine, of_queues};
use crate::core::{Progress, Search, SegmentHold, SegmentMoves};
use crate::driver::OnProgress;
use crate::inner::Inner;
use crate::mailbox::{Item, Mailbox};
use crate::reply_slot::Answered;
use crate::routes::Routes;
use crate::scatter_gather::{ScatterGather, Step};
use crate::search::NodeSearch;
use crate::threads::Threads;
use crate::ticket::Ticket;
use crate::{Error, FollowerLag, Settings, ShardMetrics, ThreadMetrics};

/// The shards of this process. Cheap to clone.
///
/// They run until [`Self::stop`]; dropping the last clone ends nothing.
#[derive(Clone)]
pub struct Shards {
    pub(crate) inner: Arc<Inner>,
}

impl Shards {
    /// Starts all shards and waits until each has recovered. `progress` is called with the progress
    /// of each one, from the thread that opens it, every few thousand records.
    ///
    /// # Errors
    ///
    /// The first shard that cannot start; the others are stopped again.
    pub fn open(
        settings: Settings,
        progress: impl Fn(u16, Progress) + Send + Sync + 'static,
    ) -> Result<Shards, Error> {
        let shards = Self::of(settings);
        let progress: OnProgress = Arc::new(progress);
        crate::start::start(&shards.inner, &progress)?;
        shards.finish_declared();
        Ok(shards)
    }

    /// With no shard open, and no thread.
    pub(crate) fn of(settings: Settings) -> Self {
        let threads = Threads::new(settings.count, settings.threads());
        let budget = settings.mailbox_budget().map(Arc::new);
        let mailbox = |shard| {
            let (commands, bytes) = (settings.mailbox_commands_max, settings.mailbox_bytes_max);
            Mailbox::new(shard, threads.bell(shard), commands, bytes, budget.clone())
        };
        let inner = Inner {
            mailboxes: (0..settings.count).map(mailbox).collect(),
            routes: Routes::new(settings.count),
            kinds: settings.core(Place { shard: 0, shards: settings.count, hash_seed: 0 }).kinds(),
            threads,
            transport: OnceLock::new(),
            elsewhere: RwLock::new(None),
            has_elsewhere: AtomicBool::new(false),
            lease: Mutex::new(None),
            holds: (0..settings.count).map(|_| SegmentHold::default()).collect(),
            moves: (0..settings.count).map(|_| SegmentMoves::default()).collect(),
            settings,
            stops_next: AtomicUsize::new(0),
        };
        Shards { inner: Arc::new(inner) }
    }

    /// Hands a command to the shard that it belongs to, or to several where the queue is spread.
    ///
    /// Never waits: where a shard's mailbox is full the ticket is at once a `Busy`. A ticket that is
    /// dropped takes back a reserve that still waits; everything else happens all the same.
    pub fn submit(&self, command: Command) -> Ticket {
        let inner = &self.inner;
        match command.route(&inner.routes) {
            QueueRoute::One(shard, command) => {
                Ticket::one(inner.ask_queues(shard, command, Search::Here), of_queues)
            }
            QueueRoute::Search(shard, command) if inner.elsewhere.read().is_some() => {
                Ticket::search(NodeSearch::new(inner, shard, command), of_queues)
            }
            QueueRoute::Search(shard, command) => {
                let search = Search::Then { shards: self.count() - 1 };
                Ticket::one(inner.ask_queues(shard, command, search), of_queues)
            }
            QueueRoute::Many(asked, how) => {
                let ask = |(shard, command)| inner.ask_queues(shard, command, Search::Here);
                let merging = move |answers: Vec<Answered>| {
                    let answers = answers.into_iter().map(|answer| answer.map(of_queues)).collect();
                    Step::Done(stadium_queue::merge(answers, &how).map(Answer::Queue))
                };
                let parts = asked.into_iter().map(ask).collect();
                Ticket::many(ScatterGather::new(parts, Box::new(merging)), of_queues)
            }
        }
    }

    /// Hands a command to the shards that decide it. Never waits, as [`Self::submit`].
    pub fn ask<M: Routed>(&self, command: M::Command) -> Ticket<M::Answer> {
        self.ask_as::<M, _>(command, of_machine::<M>)
    }

    /// As [`Self::ask`], with an answer of another type.
    pub(crate) fn ask_as<M: Routed, A>(&self, command: M::Command, typed: fn(Answer) -> A) -> Ticket<A> {
        let inner = &self.inner;
        match M::route(command, self.count()) {
            Route::One(shard, command) => Ticket::one(inner.ask::<M>(shard, command), typed),
            Route::Many(asked, merge) => {
                let parts =
                    asked.into_iter().map(|(shard, command)| inner.ask::<M>(shard, command)).collect();
                let inner = Arc::clone(inner);
                let merging = move |answers: Vec<Answered>| {
                    let answers: Vec<_> =
                        answers.into_iter().map(|answer| answer.map(of_machine::<M>)).collect();
                    let next = merge.then(&answers);
                    if next.is_empty() {
                        return Step::Done(merge.merge(answers).map(Answer::of::<M>));
                    }
                    let there = answers.into_iter().map(|answer| answer.map(Answer::of::<M>)).collect();
                    Step::Ask(
                        there,
                        next.into_iter().map(|(shard, command)| inner.ask::<M>(shard, command)).collect(),
                    )
                };
                Ticket::many(ScatterGather::new(parts, Box::new(merging)), typed)
            }
        }
    }

    /// Hands a command to a shard that the caller knows. Never waits, as [`Self::submit`]. Commands to
    /// the queues go by that one, which fills payloads in.
    pub fn ask_shard<M: StateMachine>(&self, shard: u16, command: M::Command) -> Ticket<M::Answer> {
        Ticket::one(self.inner.ask::<M>(shard, command), of_machine::<M>)
    }

    /// How many shards there are.
    pub fn count(&self) -> u16 {
        self.inner.routes.shards()
    }

    /// Figures of each thread that drives shards.
    pub fn thread_metrics(&self) -> Vec<ThreadMetrics> {
        self.inner.threads.thread_metrics()
    }

    /// Figures of each shard, as they were at most a tenth of a second ago; a second where a thread
    /// drives more than 16.
    pub fn metrics(&self) -> Vec<ShardMetrics> {
        let with_mailbox = |(mailbox, mut metrics): (&Mailbox, ShardMetrics)| {
            (metrics.mailbox_commands, metrics.mailbox_bytes, metrics.mailbox_full) = mailbox.figures();
            metrics
        };
        self.inner.mailboxes.iter().zip(self.inner.threads.metrics()).map(with_mailbox).collect()
    }

    /// How far the replica of a shard in this process is behind its log. `None` where it does not
    /// follow: it owns the shard, is being opened, or there is none.
    #[must_use]
    pub fn lag(&self, shard: u16) -> Option<FollowerLag> {
        *self.inner.threads.lags.get(usize::from(shard))?.lock()
    }

    /// Keeps the segments of a shard that have records from a position on, although nothing in them is
    /// alive: a backup has stored those before it. Bounded by [`Settings::hold_bytes_max`].
    pub fn hold_segments(&self, shard: u16, stored: stadium_journal::Position) {
        if let Some(hold) = self.inner.holds.get(usize::from(shard)) {
            hold.from(stored);
        }
    }

    /// The segments of a shard that may move to an object store. `None` where there is no such
    /// shard.
    #[must_use]
    pub fn moves(&self, shard: u16) -> Option<&SegmentMoves> {
        self.inner.moves.get(usize::from(shard))
    }

    /// Waits until every record that any shard wrote with a time up to now is durable, and each later
    /// record has a later time as long as the clock is not set back. Returns that time. `None` where a
    /// shard does not answer within `at_most`.
    #[must_use]
    pub fn moment(&self, at_most: Duration) -> Option<u64> {
        let moment = crate::driver::now().0;
        // A record of this millisecond may still be written until the next one begins.
        while crate::driver::now().0 <= moment {
            std::thread::sleep(Duration::from_millis(1));
        }
        // No answer leaves before all that its turn may have seen is durable.
        let ask = |shard| self.ask_shard::<stadium_wallet::Ledger>(shard, stadium_wallet::Command::Assets);
        let asked: Vec<_> = (0..self.count()).map(ask).collect();
        let until = Instant::now() + at_most;
        for ticket in asked {
            ticket.wait(until.saturating_duration_since(Instant::now()))?.ok()?;
        }
        Some(moment)
    }

    /// Has each shard write a checkpoint now, beside its other work.
    pub fn checkpoint_soon(&self) {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Item::Checkpoint);
        }
    }

    /// Lets all consumers go that wait for a job, with nothing, and has none wait from now on:
    /// before a stop, so that nobody holds it up.
    pub fn stop_waiting(&self) {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Item::StopWaiting);
        }
    }

    /// Stops all shards: new commands are answered Busy, waiting consumers get nothing, work that
    /// was begun is finished, last checkpoints are written. Returns when their threads have ended,
    /// or after `at_most`; then false. May be called twice.
    pub fn stop(&self, at_most: Duration) -> bool {
        self.inner.stop();
        self.inner.threads.join(at_most)
    }

    /// Finishes what a crash left half done: queues that only some shards declare spread, and assets
    /// that only some know. It waits for shards, so for seconds where some do not answer. In a cluster
    /// one node does it, now and then.
    pub fn finish_declared(&self) {
        self.finish_spreading();
        self.finish_declaring();
    }

    fn finish_spreading(&self) {
        for (queue, shard) in self.inner.routes.partly_spread() {
            let stats = Command::Stats { queue: queue.clone() };
            let asked = self.inner.ask_queues(shard, stats, Search::Here);
            let stats = Ticket::one(asked, of_queues).wait(STARTED);
            if let Some(Ok(stadium_queue::Answer::Queues(stats))) = stats
                && let Some(stats) = stats.into_iter().next()
                && stats.settings.spread == Spread::AllShards
            {
                // Where it does not succeed consumers go on asking all shards.
                drop(self.submit(Command::Declare { queue, settings: stats.settings }));
            }
        }
    }
}

/// The time that a shard is given to answer when a server starts.
pub(crate) const STARTED: Duration = Duration::from_secs(10);
