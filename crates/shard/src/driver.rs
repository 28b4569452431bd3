//! Drives a shard's core: mail in, a turn, answers out.
//!
//! When a turn panics, which is a bug, the core throws its memory away and recovers from the journal,
//! as after a failure of the disk. When something panics between turns the core does the same, and
//! the output of a turn is sent all the same: it is true.

use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use stadium_queue::{Answer, Command, Place, Queues, Spread, Time};

use crate::Error;
use crate::core::{Core, CoreSettings, Output, Progress, Request, Store};
use crate::drive::{Drive, Turned};
use crate::inner::Inner;
use crate::mailbox::Item;
use crate::reply_slot::{Holder, Slot, Unclaimed as _};

/// How old the figures of a shard may be.
const METRICS_EVERY: Duration = Duration::from_millis(100);

/// As much where a thread drives more shards than [`MANY_SHARDS`]: to publish figures takes as long
/// as some commands.
const METRICS_EVERY_OF_MANY: Duration = Duration::from_secs(1);

const MANY_SHARDS: usize = 16;

/// The longest sleep, so that a clock that was set forward is noticed.
const SLEEP_MAX: Duration = Duration::from_secs(1);

pub(crate) type OnProgress = Arc<dyn Fn(u16, Progress) + Send + Sync>;

/// A shard that is open.
pub(crate) struct Driver<S: Store> {
    shard: u16,
    inner: Arc<Inner>,
    core: Core<S, Holder, Queues>,
    turn_commands_max: usize,
    items: Vec<Item>,
    output: Output<Holder, Queues>,
    wakers: Vec<Waker>,
    /// Traced commands that this turn takes on.
    traced: Vec<Holder>,
    reopened: u64,
    metrics_every: Duration,
    published: Instant,
    /// Something happened since the figures were published.
    unpublished: bool,
}

impl<S: Store + Clone + 'static> Driver<S> {
    /// Opens the journal, which reads it. Commands that arrive meanwhile wait in the mailbox.
    ///
    /// # Errors
    ///
    /// As for [`Core::open`].
    pub(crate) fn open(
        shard: u16,
        inner: &Arc<Inner>,
        store: S,
        progress: &OnProgress,
    ) -> Result<Self, Error> {
        let settings = core_settings(shard, inner);
        let core = Core::open(store, settings, now(), &mut |how_far| progress(shard, how_far))?;
        Ok(Self::of(shard, inner, core))
    }
}

/// The settings of a shard's core in this process.
pub(crate) fn core_settings(shard: u16, inner: &Inner) -> CoreSettings {
    let settings = &inner.settings;
    let hash_seed = seed() ^ u64::from(shard).rotate_left(32);
    let place = Place { shard, shards: settings.count, hash_seed };
    CoreSettings {
        stopwatch: micros,
        hold: inner.holds[usize::from(shard)].clone(),
        moves: inner.moves[usize::from(shard)].clone(),
        checkpoint_permits: inner.threads.checkpoint_permits.clone(),
        ..settings.core(place)
    }
}

impl<S: Store + Clone + 'static> Driver<S> {
    /// Drives a core that is open.
    pub(crate) fn of(shard: u16, inner: &Arc<Inner>, mut core: Core<S, Holder, Queues>) -> Self {
        let turn_commands_max = core.settings().turn_commands_max;
        let woken = Arc::clone(inner);
        core.on_durable(Arc::new(move || woken.mailboxes[usize::from(shard)].knock()));
        let is_one_of_many = inner.threads.shards_each() > MANY_SHARDS;
        let mut driver = Self {
            shard,
            inner: Arc::clone(inner),
            core,
            turn_commands_max,
            items: Vec::new(),
            output: Output::default(),
            wakers: Vec::new(),
            traced: Vec::new(),
            reopened: 0,
            metrics_every: if is_one_of_many { METRICS_EVERY_OF_MANY } else { METRICS_EVERY },
            published: Instant::now(),
            unpublished: true,
        };
        driver.report_spread();
        driver.publish();
        driver
    }

    /// The core, to be asked what became of it.
    pub(crate) fn core(&self) -> &Core<S, Holder, Queues> {
        &self.core
    }

    /// Gives up a core that has no journal: nobody waits for it any more.
    pub(crate) fn give_up(&mut self) {
        self.core.hand_over();
        self.turn();
        while !self.items.is_empty() {
            self.turn();
        }
    }

    /// The core, without a driver.
    pub(crate) fn into_core(self) -> Core<S, Holder, Queues> {
        self.core
    }

    /// Hands in what is in the mailbox. Returns whether that was everything that devices notified the
    /// shard of before it lost some notices.
    fn take_mail(&mut self) -> bool {
        let mailbox = &self.inner.mailboxes[usize::from(self.shard)];
        let core = &mut self.core;
        mailbox.listen();
        if core.inbox_len() >= self.turn_commands_max {
            return false;
        }
        let mut has_all_notices = false;
        if self.items.is_empty() {
            has_all_notices = mailbox.has_lost();
            mailbox.take(&mut self.items);
            self.items.reverse();
        }
        self.unpublished |= !self.items.is_empty();
        // One that panics is gone, and no other.
        while let Some(item) = self.items.pop() {
            if let Item::Request(Request { caller, .. })
            | Item::Command(caller, _)
            | Item::Together(caller, _) = &item
                && caller.taken()
            {
                self.traced.push(caller.clone());
            }
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
                Item::SendAgain => core.send_again_soon(),
                Item::HandOver => core.hand_over(),
                // It serves already.
                Item::Claim(_) | Item::Serve => {}
                Item::Stop => core.stop(),
            }
        }
        has_all_notices
    }

    /// Notices of devices were dropped: the platform forgets all connections, and those that there
    /// are are announced again.
    fn ask_for_connections(&mut self) {
        tracing::warn!(
            shard = self.shard,
            "Shard was too far behind to get news of its devices; those that are connected arrive again"
        );
        self.core.forget_connections(now(), || Holder::new(&Slot::new()));
        self.inner.mailboxes[usize::from(self.shard)].notify_again();
        if let Some(transport) = self.inner.transport.get() {
            transport.announce_again(self.shard);
        }
    }

    /// Sends the output of a turn. Returns whether something could not be delivered and is to be
    /// taken back.
    fn send(&mut self) -> bool {
        self.unpublished |= !self.output.replies.is_empty();
        let mut is_undelivered = false;
        // One at a time: where somebody's waker panics, all others are answered and woken none the
        // less.
        self.output.replies.reverse();
        while let Some(reply) = self.output.replies.pop() {
            match reply.caller.answer(reply.answer) {
                Ok(waker) => self.wakers.extend(waker),
                Err(answer) => {
                    self.core.undelivered(&answer);
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
        for given_back in self.output.given_back.drain(..) {
            self.inner.given_back(self.shard, given_back);
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
        if !self.output.placements.is_empty() {
            for (queue, spread) in self.output.placements.drain(..) {
                self.inner.routes.declared(self.shard, &queue, spread);
            }
            self.inner.tell_spread(self.shard);
        }
        is_undelivered
    }

    fn publish(&mut self) {
        *self.inner.threads.metrics[usize::from(self.shard)].lock() = self.core.metrics();
        self.published = Instant::now();
        self.unpublished = false;
    }

    /// Notifies the routes which queues this shard holds as spread.
    fn report_spread(&self) {
        self.inner.routes.forget(self.shard);
        let Some(queues) = self.core.queues() else {
            return;
        };
        let mut after = None;
        while let Ok(Answer::Queues(page)) = queues.read(now(), &Command::List { after, queues_max: 1_000 }) {
            after = page.last().map(|stats| stats.queue.clone());
            for stats in page.into_iter().filter(|stats| stats.settings.spread == Spread::AllShards) {
                self.inner.routes.declared(self.shard, &stats.queue, Spread::AllShards);
            }
            if after.is_none() {
                break;
            }
        }
        self.inner.tell_spread(self.shard);
    }
}

impl<S: Store + Clone + 'static> Drive for Driver<S> {
    fn shard(&self) -> u16 {
        self.shard
    }

    fn recovers(&self) -> bool {
        self.core.queues().is_none()
    }

    fn turn(&mut self) -> Turned {
        // The rest of a turn before a panic.
        self.send();
        let has_all_notices = self.take_mail();
        let next = self.core.turn(now(), &mut self.output);
        let is_undelivered = self.send();
        // Those that are answered have no span any more.
        self.traced.drain(..).for_each(|caller| caller.waits());
        if self.core.reopened() != self.reopened {
            self.reopened = self.core.reopened();
            self.report_spread();
            if let Some(transport) = self.inner.transport.get() {
                transport.announce_again(self.shard);
            }
        }
        if has_all_notices && self.core.inbox_len() == 0 && self.core.queues().is_some() {
            self.ask_for_connections();
        }
        self.unpublished |= next.at_once;
        if next.stopped || self.unpublished && self.published.elapsed() >= self.metrics_every {
            self.publish();
        }
        let until = next.deadline.map_or(SLEEP_MAX, |deadline| {
            Duration::from_millis(deadline.0.saturating_sub(now().0)).min(SLEEP_MAX)
        });
        Turned {
            at_once: next.at_once || is_undelivered,
            wait: if self.unpublished { until.min(self.metrics_every) } else { until },
            awaited: next.awaited,
            is_stopped: next.stopped,
        }
    }

    fn start_over(&mut self) {
        self.core.start_over(now(), &mut self.output);
    }

    fn end(self: Box<Self>) {
        let (inner, shard) = (Arc::clone(&self.inner), self.shard);
        // The journal is closed before anybody hears that the shard has ended.
        drop(self);
        inner.has_ended(shard);
    }
}

/// The wall clock, in milliseconds.
pub(crate) fn now() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64))
}

/// Microseconds since the first call.
fn micros() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_micros() as u64
}

/// Another number for each process: the standard library's own seed.
pub(crate) fn seed() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
