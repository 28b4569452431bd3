//! The thread `cluster` of a node: it carries out what the succession orders, and reports back.
//!
//! It waits for nothing but its bell. Replicas are opened and closed by openers, and writes to etcd
//! are left to the thread `membership`, so a slow disk or an etcd that is away holds up no claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use stadium_membership::{
    BootTime, FirstInStep, Incarnation, NodeName, Order, Rule as _, Shard, ShardSet, Succession, View,
};
use stadium_membership_etcd::{Membership, Report, Snapshot, boot_time};
use stadium_shard::Shards;

use crate::bell::{Bell, News};
use crate::busy::Busy;
use crate::forward::{Forwarder, number_of};
use crate::reads::Reads;
use crate::replicas::{Aim, Outcome, Replicas};

/// The shortest and the longest pause of a thread that nobody wakes.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// The time that a node that ends gives its last commits and farewells.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);

/// How long a node reaches less than half of the others over its links before it hands its shards
/// over: most of the cluster cannot ask them.
const ISOLATION_MAX: Duration = Duration::from_secs(10);

/// How often the owner of the first shard finishes what a node that died left half declared.
const FINISH_EVERY: Duration = Duration::from_secs(60);

/// Called when the node has another number.
pub(crate) type OnNumber = Box<dyn Fn(u32) + Send>;

/// The state that the thread and the handle share.
#[derive(Default)]
pub(crate) struct Common {
    pub(crate) bell: Arc<Bell>,
    pub(crate) ends: AtomicBool,
    pub(crate) is_draining: AtomicBool,
    /// The node's number in the names of connections; 0 before it is registered.
    pub(crate) number: AtomicU32,
    pub(crate) on_number: Mutex<Option<OnNumber>>,
    pub(crate) status: Mutex<Status>,
    pub(crate) changed: Condvar,
}

impl Common {
    /// The node has another number in the names of connections.
    fn registered(&self, number: u32) {
        self.number.store(number, Ordering::Release);
        if let Some(on_number) = &*self.on_number.lock() {
            on_number(number);
        }
    }
}

/// The state of the node, as the thread tells it.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Status {
    pub(crate) serves: ShardSet,
    /// It drains, others know it, and it owns nothing.
    pub(crate) is_drained: bool,
}

/// The state of the thread.
pub(crate) struct Duties {
    me: NodeName,
    membership: Arc<Membership>,
    succession: Succession<FirstInStep>,
    incarnation: Option<Incarnation>,
    replicas: Replicas,
    forwarder: Option<Arc<Forwarder>>,
    was_isolated: bool,
    /// When it begins to finish what is half declared, while it owns the first shard.
    finishes_at: Option<Instant>,
    shards: Shards,
    reads: Arc<Reads>,
    busy: Busy,
    common: Arc<Common>,
}

impl Duties {
    pub(crate) fn new(
        me: NodeName,
        membership: Arc<Membership>,
        replicas: Replicas,
        forwarder: Option<Arc<Forwarder>>,
        shards: Shards,
        reads: Arc<Reads>,
        common: Arc<Common>,
    ) -> Self {
        // The first registration replaces this incarnation.
        let succession = Succession::new(me.clone(), Incarnation(0));
        Self {
            me,
            membership,
            succession,
            incarnation: None,
            replicas,
            forwarder,
            was_isolated: false,
            finishes_at: None,
            shards,
            reads,
            busy: Busy::new(),
            common,
        }
    }

    /// Runs until the handle ends it. The replicas that it leaves follow, where there was time.
    pub(crate) fn run(mut self) -> Replicas {
        while !self.common.ends.load(Ordering::Acquire) {
            let news = self.common.bell.wait(Instant::now() + self.pause());
            self.take(news);
            self.turn();
        }
        self.leave();
        self.replicas
    }

    fn pause(&self) -> Duration {
        let now = boot_time();
        if !self.membership.certainty().is_certain_at(now) {
            return PAUSE.0;
        }
        let until = self.succession.deadline().map(|deadline| deadline.since(now));
        until.unwrap_or(PAUSE.1).clamp(PAUSE.0, PAUSE.1)
    }

    /// Takes what came of earlier orders.
    fn take(&mut self, news: News) {
        let Self { succession, replicas, .. } = self;
        for (number, (state, claim)) in news.states {
            let shard = Shard(u32::from(number));
            tracing::debug!(%shard, ?state, "Replica changed");
            replicas.on_state(number, &state, claim, |outcome| match outcome {
                Outcome::Claimed(generation) => succession.claimed(shard, generation),
                Outcome::Fenced => succession.fenced(shard, boot_time()),
                Outcome::HandedOver => succession.handed_over(shard),
                Outcome::CaughtUp => succession.caught_up(shard),
                Outcome::FellBehind => succession.fell_behind(shard),
            });
        }
        // A replica tells its first states before the opener says that it is open.
        for (shard, done) in news.done {
            replicas.on_done(shard, done);
        }
        replicas.tick(Instant::now());
    }

    /// Decides anew, and carries it out.
    fn turn(&mut self) {
        let snapshot = self.membership.snapshot();
        self.register(&snapshot);
        if let Some(forwarder) = &self.forwarder {
            forwarder.follow(&snapshot);
        }
        let now = boot_time();
        let is_certain = self.membership.certainty().is_certain_at(now);
        let orders = self.succession.turn(&snapshot.view, is_certain, now);
        // Before a shard serves, and before it is to serve no more.
        self.reads.note(self.incarnation, |shard| self.succession.reads_under_lease(shard));
        for order in orders {
            self.carry_out(order);
        }
        if is_certain {
            self.give_up_stalled(&snapshot.view, now);
        }
        let is_draining = self.common.is_draining.load(Ordering::Acquire);
        let is_isolated = self.is_isolated();
        self.membership.report(Report {
            load: self.busy.load(),
            in_step: self.succession.announced(),
            has_data: self.replicas.has_data(),
            draining: is_draining || is_isolated,
        });
        self.publish(&snapshot.view, is_draining);
        self.finish_declared();
    }

    /// Declares spread queues and assets again that only some shards know. One node does it, beside
    /// its other work: shards are waited for.
    fn finish_declared(&mut self) {
        if !self.succession.serves().any(|shard| shard == Shard(0)) {
            self.finishes_at = None;
            return;
        }
        let now = Instant::now();
        let at = *self.finishes_at.get_or_insert(now + FINISH_EVERY / 6);
        if now < at {
            return;
        }
        self.finishes_at = Some(now + FINISH_EVERY);
        let shards = self.shards.clone();
        let thread = std::thread::Builder::new().name("finish".to_owned());
        if let Err(error) = thread.spawn(move || shards.finish_declared()) {
            tracing::warn!(%error, "No thread to finish what is half declared; it is tried again in a minute");
        }
    }

    fn is_isolated(&mut self) -> bool {
        let reach = self.forwarder.as_ref().and_then(|forwarder| forwarder.reach());
        let is_isolated = reach
            .is_some_and(|reach| reach.too_few_for.is_some_and(|too_few_for| too_few_for >= ISOLATION_MAX));
        if is_isolated && !self.was_isolated {
            tracing::warn!("Node reaches less than half of the others, and hands its shards over");
        }
        self.was_isolated = is_isolated;
        is_isolated
    }

    /// Gives shards up whose logs this node cannot write, where a standby in step shows that others can.
    fn give_up_stalled(&mut self, view: &View, now: BootTime) {
        let is_standby = |shard, name: &NodeName| *name != self.me && view.is_in_step(name, shard);
        let has_standby = |shard| {
            view.entry(shard).is_some_and(|entry| entry.replicas.iter().any(|name| is_standby(shard, name)))
        };
        for number in self.replicas.stalled(Instant::now(), has_standby) {
            let shard = Shard(u32::from(number));
            tracing::warn!(%shard, "The log does not answer this node; a standby is to take over");
            // The record may be another's by now: then there is nothing to take back.
            if let Some(write) = self.succession.give_up(shard, view, now) {
                self.carry_out(Order::Write(write));
            }
            self.carry_out(Order::Follow(shard));
        }
    }

    fn register(&mut self, snapshot: &Snapshot) {
        if snapshot.incarnation != self.incarnation {
            self.incarnation = snapshot.incarnation;
            if let Some(incarnation) = snapshot.incarnation {
                self.succession.registered(incarnation);
                let number = number_of(incarnation.0);
                if let Some(forwarder) = &self.forwarder {
                    forwarder.set_number(number);
                }
                self.common.registered(number);
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        let (shard, aim) = match order {
            Order::Follow(shard) => (shard, Aim::Follow),
            Order::Claim(shard, generation) => (shard, Aim::Claim(generation)),
            Order::Serve(shard) => (shard, Aim::Serve),
            Order::HandOver(shard, _) => (shard, Aim::HandOver),
            Order::Stop(shard) => (shard, Aim::Stop),
            Order::Write(write) => {
                // One that finds no room is ordered again half a second later.
                if let Err(error) = self.membership.write(write) {
                    tracing::warn!(%error, "A write to the map waits");
                }
                return;
            }
        };
        // The map has no shard beyond the cluster's number, unless somebody wrote it by hand.
        if let Ok(number) = u16::try_from(shard.0) {
            tracing::debug!(%shard, ?aim, "Membership orders");
            self.replicas.order(number, aim);
        }
    }

    fn publish(&self, view: &View, is_draining: bool) {
        let owns = |shard: &Shard| FirstInStep::owner(view, *shard) == Some(&self.me);
        let is_known = view.node(&self.me).is_some_and(|node| node.draining);
        let status = Status {
            serves: self.succession.serves().collect(),
            is_drained: is_draining
                && is_known
                && self.replicas.owned().is_empty()
                && !view.map.keys().any(owns),
        };
        let mut last = self.common.status.lock();
        if *last != status {
            *last = status;
            self.common.changed.notify_all();
        }
    }

    /// Has all commits end and all farewells written, while the lease still is the node's.
    fn leave(&mut self) {
        let until = Instant::now() + LEAVES_WITHIN;
        self.replicas.leave_all();
        while !self.replicas.owned().is_empty() && Instant::now() < until {
            let news = self.common.bell.wait(until);
            self.take(news);
        }
    }
}
