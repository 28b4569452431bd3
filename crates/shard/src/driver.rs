//! A thread for each shard: mail in, a turn, answers out, and sleep until there is more.
//!
//! The thread owns its core. When a turn panics, which is a bug, the core throws its memory away
//! and recovers from the journal, as after a failure of the disk. When the thread panics between
//! turns the core does the same, and the output of a turn is sent all the same: it is true.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use stadium_journal::Options;
use stadium_queue::{Answer, Command, Place, Queues, Spread, Time};

use crate::core::{Core, CoreSettings, Output, Progress, Store};
use crate::inner::Inner;
use crate::mailbox::{Item, Mailbox};
use crate::reply_slot::{Holder, Slot, Unclaimed as _};
use crate::store::{FileStore, VolatileStore};
use crate::{Error, Settings, Storage, directory};

/// How old the figures of a shard may be.
const METRICS_EVERY: Duration = Duration::from_millis(100);

/// The longest sleep, so that a clock that was set forward is noticed.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// How long the thread rests after a panic between turns, and before it tries again to open.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// How long a thread spins for the end of a commit before it parks, where many answers wait for it:
/// to wake a halted processor takes long. The thread yields the core to others meanwhile.
const SPIN: Duration = Duration::from_millis(1);

/// With fewer answers that wait a thread does not spin.
const SPIN_ANSWERS_MIN: usize = 8;

type OnProgress = Arc<dyn Fn(u16, Progress) + Send + Sync>;

/// Starts a thread for each shard, and waits until each has recovered.
pub(crate) fn start(inner: &Arc<Inner>, settings: Settings, progress: OnProgress) -> Result<(), Error> {
    let options = |shard| Options { shard: u32::from(shard), ..settings.journal.clone() };
    match &settings.storage {
        Storage::Files(directory) => {
            directory::open(directory, settings.count)?;
            let store =
                |shard| FileStore { folder: directory::shard(directory, shard), options: options(shard) };
            start_on(inner, &settings, &progress, store)
        }
        Storage::Memory { bytes_max } => {
            directory::check_count(settings.count)?;
            let store = |shard| VolatileStore::new(*bytes_max, &options(shard), seed());
            start_on(inner, &settings, &progress, store)
        }
    }
}

/// Starts the threads, each on a store of its own. They are compiled for each kind of store, so
/// that no append asks which it is.
fn start_on<S: Store + Clone + 'static>(
    inner: &Arc<Inner>,
    settings: &Settings,
    progress: &OnProgress,
    store: impl Fn(u16) -> S,
) -> Result<(), Error> {
    let (started, starts) = channel();
    for shard in 0..settings.count {
        let driver = Driver::new(shard, inner, settings, store(shard), Arc::clone(progress));
        let started = started.clone();
        *inner.threads.running.lock() += 1;
        let spawned =
            std::thread::Builder::new().name(format!("shard {shard}")).spawn(move || driver.run(started));
        match spawned {
            Ok(thread) => inner.threads.joins.lock().push(thread),
            Err(error) => {
                *inner.threads.running.lock() -= 1;
                stop_all(inner);
                return Err(Error::Thread(error.to_string()));
            }
        }
    }
    drop(started);
    for result in starts {
        if let Err(error) = result {
            stop_all(inner);
            return Err(error);
        }
    }
    Ok(())
}

fn stop_all(inner: &Inner) {
    for mailbox in &inner.mailboxes {
        mailbox.post(Item::Stop);
    }
    inner.threads.join(Duration::MAX / 4);
}

/// The state of a shard's thread.
struct Driver<S> {
    shard: u16,
    inner: Arc<Inner>,
    store: S,
    settings: CoreSettings,
    progress: OnProgress,
    items: Vec<Item>,
    output: Output<Holder, Queues>,
    wakers: Vec<Waker>,
    reopened: u64,
    published: Instant,
    /// Something happened since the figures were published.
    unpublished: bool,
}

impl<S: Store + Clone> Driver<S> {
    fn new(shard: u16, inner: &Arc<Inner>, settings: &Settings, store: S, progress: OnProgress) -> Self {
        let hash_seed = seed() ^ u64::from(shard).rotate_left(32);
        let place = Place { shard, shards: settings.count, hash_seed };
        let core = CoreSettings { stopwatch: micros, ..settings.core(place) };
        Self {
            shard,
            inner: Arc::clone(inner),
            store,
            settings: core,
            progress,
            items: Vec::new(),
            output: Output::default(),
            wakers: Vec::new(),
            reopened: 0,
            published: Instant::now(),
            unpublished: true,
        }
    }

    fn run(mut self, started: Sender<Result<(), Error>>) {
        self.inner.mailboxes[usize::from(self.shard)].belongs_to(std::thread::current());
        let opened = catch_unwind(AssertUnwindSafe(|| self.open()))
            .unwrap_or_else(|_| Err(Error::Thread("it panicked while it read its journal".into())));
        match opened {
            Ok(mut core) => {
                let inner = Arc::clone(&self.inner);
                let shard = usize::from(self.shard);
                core.on_durable(Arc::new(move || inner.mailboxes[shard].knock()));
                self.report_spread(&core);
                self.publish(&core);
                // The start of all shards waits until this is dropped, too.
                let _ = started.send(Ok(()));
                drop(started);
                while catch_unwind(AssertUnwindSafe(|| self.live(&mut core))).is_err() {
                    tracing::error!(
                        shard = self.shard,
                        "Shard's thread panicked; the shard is recovered from its journal: please report this"
                    );
                    // A second panic in it would leave everybody waiting for a thread that is gone.
                    let start_over = AssertUnwindSafe(|| core.start_over(now(), &mut self.output));
                    let _ = catch_unwind(start_over);
                    std::thread::sleep(AFTER_PANIC);
                }
            }
            Err(error) => {
                let _ = started.send(Err(error));
            }
        }
        self.inner.mailboxes[usize::from(self.shard)].close();
        let threads = &self.inner.threads;
        threads.metrics[usize::from(self.shard)].lock().serving = false;
        *threads.running.lock() -= 1;
        threads.ended.notify_all();
    }

    /// To the end, which is asked for, or a panic.
    fn live(&mut self, core: &mut Core<S, Holder, Queues>) {
        let inner = Arc::clone(&self.inner);
        let mailbox = &inner.mailboxes[usize::from(self.shard)];
        // The rest of a turn before a panic.
        self.send(core);
        loop {
            mailbox.listen();
            let mut has_all_notices = false;
            if core.inbox_len() < self.settings.turn_commands_max {
                if self.items.is_empty() {
                    has_all_notices = mailbox.has_lost();
                    mailbox.take(&mut self.items);
                    self.items.reverse();
                }
                self.unpublished |= !self.items.is_empty();
                // One that panics is gone, and no other.
                while let Some(item) = self.items.pop() {
                    match item {
                        Item::Request(request) => core.submit(request),
                        Item::Vanished(caller) => core.vanished(caller),
                        Item::Release(leases) => core.release(leases),
                        Item::Command(caller, command) => core.submit_command(caller, command),
                        Item::Together(caller, together) => core.submit_together(caller, *together),
                        Item::Delivery(delivery) => core.deliver(delivery),
                        Item::Confirmation(confirmation) => core.confirmed(confirmation),
                        Item::StopWaiting => core.stop_waiting(),
                        Item::Checkpoint => core.checkpoint_soon(),
                        Item::Stop => core.stop(),
                    }
                }
            }
            let next = core.turn(now(), &mut self.output);
            let is_undelivered = self.send(core);
            if core.reopened() != self.reopened {
                self.reopened = core.reopened();
                self.report_spread(core);
                if let Some(transport) = self.inner.transport.get() {
                    transport.announce_again(self.shard);
                }
            }
            if has_all_notices && core.inbox_len() == 0 && core.queues().is_some() {
                self.ask_for_connections(core, mailbox);
            }
            self.unpublished |= next.at_once;
            if self.unpublished && self.published.elapsed() >= METRICS_EVERY {
                self.publish(core);
            }
            if next.stopped {
                self.publish(core);
                return;
            }
            if next.at_once || is_undelivered || mailbox.was_woken() {
                continue;
            }
            if next.awaited >= SPIN_ANSWERS_MIN && was_woken_meanwhile(mailbox) {
                continue;
            }
            let until = next.deadline.map_or(SLEEP_MAX, |deadline| {
                Duration::from_millis(deadline.0.saturating_sub(now().0)).min(SLEEP_MAX)
            });
            std::thread::park_timeout(if self.unpublished { until.min(METRICS_EVERY) } else { until });
        }
    }

    fn open(&self) -> Result<Core<S, Holder, Queues>, Error> {
        let (shard, on_progress) = (self.shard, Arc::clone(&self.progress));
        Core::open(self.store.clone(), self.settings.clone(), now(), &mut |progress| {
            on_progress(shard, progress)
        })
    }

    /// Notices of devices were dropped: the platform forgets all connections, and those that there
    /// are are announced again.
    fn ask_for_connections(&self, core: &mut Core<S, Holder, Queues>, mailbox: &Mailbox) {
        tracing::warn!(
            shard = self.shard,
            "Shard was too far behind to get news of its devices; those that are connected arrive again"
        );
        core.forget_connections(now(), || Holder::new(&Slot::new()));
        mailbox.notify_again();
        if let Some(transport) = self.inner.transport.get() {
            transport.announce_again(self.shard);
        }
    }

    /// Sends the output of a turn. Returns whether something could not be delivered and is to be
    /// taken back.
    fn send(&mut self, core: &mut Core<S, Holder, Queues>) -> bool {
        self.unpublished |= !self.output.replies.is_empty();
        let mut is_undelivered = false;
        // One at a time: where somebody's waker panics, all others are answered and woken none the
        // less.
        self.output.replies.reverse();
        while let Some(reply) = self.output.replies.pop() {
            match reply.caller.answer(reply.answer) {
                Ok(waker) => self.wakers.extend(waker),
                Err(answer) => {
                    core.undelivered(&answer);
                    if let Ok(answer) = &answer {
                        Arc::clone(&self.inner).follow_up(answer);
                    }
                    is_undelivered = true;
                }
            }
        }
        // All answers are there before the first one who waits looks: a loop that is woken once
        // finds them all.
        self.wakers.reverse();
        while let Some(waker) = self.wakers.pop() {
            waker.wake();
        }
        for request in self.output.forwarded.drain(..) {
            self.inner.pass_on(self.shard, request);
        }
        for (shard, delivery) in self.output.deliveries.drain(..) {
            self.inner.deliver(self.shard, shard, delivery);
        }
        for (shard, confirmation) in self.output.confirmations.drain(..) {
            self.inner.confirm(shard, confirmation);
        }
        let to_transport = self.output.take_transport_commands();
        if !to_transport.is_empty()
            && let Some(transport) = self.inner.transport.get()
        {
            transport.carry_out(self.shard, to_transport);
        }
        // Nobody in this process takes those of other machines.
        self.output.effects.clear();
        for (queue, spread) in self.output.placements.drain(..) {
            self.inner.routes.declared(self.shard, &queue, spread);
        }
        is_undelivered
    }

    fn publish(&mut self, core: &Core<S, Holder, Queues>) {
        *self.inner.threads.metrics[usize::from(self.shard)].lock() = core.metrics();
        self.published = Instant::now();
        self.unpublished = false;
    }

    /// Notifies the routes which queues this shard holds as spread.
    fn report_spread(&self, core: &Core<S, Holder, Queues>) {
        self.inner.routes.forget(self.shard);
        let Some(queues) = core.queues() else {
            return;
        };
        let mut after = None;
        while let Ok(Answer::Queues(page)) = queues.read(now(), &Command::List { after, queues_max: 1_000 }) {
            after = page.last().map(|stats| stats.queue.clone());
            for stats in page.into_iter().filter(|stats| stats.settings.spread == Spread::AllShards) {
                self.inner.routes.declared(self.shard, &stats.queue, Spread::AllShards);
                self.inner.threads.declared.lock().insert(stats.queue, stats.settings);
            }
            if after.is_none() {
                return;
            }
        }
    }
}

/// Spins for a while; true as soon as the shard was woken.
fn was_woken_meanwhile(mailbox: &Mailbox) -> bool {
    let until = Instant::now() + SPIN;
    while Instant::now() < until {
        if mailbox.was_woken() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// The wall clock, in milliseconds.
fn now() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64))
}

/// Microseconds since the first call.
fn micros() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_micros() as u64
}

/// Another number for each process: the standard library's own seed.
fn seed() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
