//! A replica of a shard whose log several nodes keep: it follows the owner, and owns the shard when
//! it is told to.
//!
//! As a follower it applies each record as it arrives, so that it can take the shard over at once. An
//! owner that was fenced begins anew as a follower, from its newest checkpoint: its memory has records
//! that do not count. One that hands over keeps its state.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use stadium_journal::{Following as _, Holder as LogHolder, Journal as _, Opening, Position, Standing};

use crate::core::{Core, CoreSettings, Follower, NodeLease, Progress, ReplicaStore};
use crate::drive::{Drive, Turned};
use crate::driver::{Driver, core_settings, now};
use crate::error::not_here;
use crate::inner::Inner;
use crate::lag::Lag;
use crate::mailbox::{Absence, Item};
use crate::{Error, Shards};

/// The pause before a follower looks again whether it is in step, and before an ended one follows
/// again.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The same pause while it is not in step. Each look asks the log for its end, and the
/// answer wakes the follower: without a pause it would ask for nothing else.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Milliseconds that callers wait for the log to confirm a commit; then they hear that the outcome
/// is unknown (CLU-001), and the shard is busy (CLU-002) until it does.
const COMMIT_WAIT: u64 = 3_000;

/// After so long without a confirmation a message is sent to another shard again: far more than a
/// commit takes, and short beside a failover, after which the last messages are lost.
const CONFIRMED_WITHIN: u64 = 1_000;

/// How long an owner tries to open its journal again after a failure before it follows instead: others
/// may have gone on, and trimmed what it would have to read.
const BROKEN_MAX: Duration = Duration::from_secs(3);

/// Records that a follower applies before it settles their segments.
const RECORDS_A_STEP: u64 = 4_096;

/// A replica's standing, for whoever decides which node owns a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplicaState {
    /// It follows the owner. In step: it has applied what the log had half a second ago.
    Following {
        /// Whether it may take the shard over at once.
        is_in_step: bool,
    },
    /// It has claimed the log, and applied all records before its fence. It may serve.
    Claimed {
        /// The epoch of its claim.
        epoch: u64,
    },
    /// It owns the shard, and serves.
    Serving {
        /// The epoch of its claim.
        epoch: u64,
    },
    /// It owns the shard and accepts nothing: the log has not confirmed a commit for 3 s. It serves
    /// again as soon as the log does.
    Stalled {
        /// The epoch of its claim.
        epoch: u64,
    },
    /// It cannot follow now, for this reason, and tries again.
    Away(String),
}

/// Hears the shard, the state, and the number of the last claim that the replica had taken up.
type OnState = Arc<dyn Fn(u16, ReplicaState, u64) + Send + Sync>;

impl Shards {
    /// Opens a replica of a shard, which follows its owner, and waits until it has read its newest
    /// checkpoint. `on_state` hears of each change of its state, from the thread that drives it, and
    /// with it the number of the last [`Self::claim`] that the replica had taken up; 0 before the first.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub fn open_replica<S: ReplicaStore + Clone + 'static>(
        &self,
        shard: u16,
        store: S,
        on_state: impl Fn(u16, ReplicaState, u64) + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        inner.begin_following(shard)?;
        let on_state: OnState = Arc::new(on_state);
        let (opened, opening) = channel();
        self.inner.threads.helpers.run(Box::new(move || {
            let replica = catch_unwind(AssertUnwindSafe(|| Replica::open(shard, &inner, store, on_state)))
                .unwrap_or_else(|_| Err(Error::Thread("it panicked while it read its journal".into())));
            let _ = opened.send(match replica {
                Ok(replica) => {
                    inner.threads.seat(Box::new(replica));
                    Ok(())
                }
                Err(error) => {
                    inner.has_ended(shard);
                    Err(error)
                }
            });
        }));
        opening.recv().unwrap_or_else(|_| Err(Error::Thread("it ended before the replica was open".into())))
    }

    /// Attaches the lease of this node, for replicas that serve from now on. While it is uncertain
    /// their answers from memory wait for a commit. Without one they never do, as if nobody else
    /// could claim their logs.
    pub fn attach_lease(&self, lease: Arc<dyn NodeLease>) {
        *self.inner.lease.lock() = Some(lease);
    }

    /// Has a replica of this process claim the log of its shard: [`ReplicaState::Claimed`]. From
    /// then on no other owner's records count. Without effect on one that has claimed it.
    ///
    /// The caller numbers its claims, from 1 on. A state that comes with a smaller number was told before
    /// the replica knew of the claim, and says nothing of what became of it.
    pub fn claim(&self, shard: u16, number: u64) {
        self.tell(shard, Item::Claim(number));
    }

    /// Has a replica that has claimed the log serve the shard: [`ReplicaState::Serving`]. Without
    /// effect on others, and on one that serves.
    ///
    /// It is a step of its own because reads of a former owner must have ended before: whoever
    /// decides ownership makes sure of that.
    pub fn serve(&self, shard: u16) {
        self.tell(shard, Item::Serve);
    }

    /// Has a replica of this process that owns its shard finish what was begun, and follow: for a
    /// move. Requests are refused meanwhile (SHARD-016). One that claims, or has claimed and does not
    /// serve, follows at once. Either tells its state when it follows.
    pub fn hand_over(&self, shard: u16) {
        if let Some(mailbox) = self.inner.mailboxes.get(usize::from(shard)) {
            mailbox.refuse(Absence::NotHere);
            mailbox.post(Item::StopWaiting);
        }
        self.tell(shard, Item::HandOver);
    }

    fn tell(&self, shard: u16, item: Item) {
        if let Some(mailbox) = self.inner.mailboxes.get(usize::from(shard)) {
            mailbox.post(item);
        }
    }
}

/// A replica, driven by the thread of its shard.
struct Replica<S: ReplicaStore> {
    shard: u16,
    inner: Arc<Inner>,
    store: S,
    on_state: OnState,
    told: Option<ReplicaState>,
    /// The number of the last claim that it took up.
    claim: u64,
    items: Vec<Item>,
    /// Since when it owns the shard, and has no journal.
    broken_since: Option<Instant>,
    role: Role<S>,
}

enum Role<S: ReplicaStore> {
    Following(Box<Follows<S::Journal>>),
    Owning(Box<Driver<S>>),
    /// It is to be opened anew as a follower, from its newest checkpoint.
    Away,
}

/// A follower and its journal.
struct Follows<J> {
    follower: Follower,
    journal: J,
    /// Records that the follower had applied when it settled last.
    settled: u64,
    is_claiming: bool,
    /// It serves as soon as the log is claimed.
    is_to_serve: bool,
    /// When the end of the log was looked for last.
    looked: Option<Instant>,
    is_in_step: bool,
    lag: Lag,
    /// By which it writes checkpoints.
    settings: CoreSettings,
}

impl<S: ReplicaStore + Clone + 'static> Replica<S> {
    fn open(shard: u16, inner: &Arc<Inner>, mut store: S, on_state: OnState) -> Result<Self, Error> {
        let follows = follow(shard, inner, &mut store)?;
        let mut replica = Self {
            shard,
            inner: Arc::clone(inner),
            store,
            on_state,
            told: None,
            claim: 0,
            items: Vec::new(),
            broken_since: None,
            role: Role::Following(Box::new(follows)),
        };
        replica.tell(ReplicaState::Following { is_in_step: false });
        Ok(replica)
    }

    /// Tells of a state that is another than before.
    fn tell(&mut self, state: ReplicaState) {
        if self.told.as_ref() != Some(&state) {
            self.told = Some(state.clone());
            (self.on_state)(self.shard, state, self.claim);
        }
    }

    /// Takes the orders that concern a follower. True where it is to stop.
    fn take_mail(&mut self) -> bool {
        let mailbox = &self.inner.mailboxes[usize::from(self.shard)];
        mailbox.listen();
        mailbox.take(&mut self.items);
        let (mut stops, mut gives_up) = (false, false);
        for item in self.items.drain(..) {
            match item {
                Item::HandOver => gives_up = true,
                Item::Claim(number) => {
                    // Its next state is told with this number, also where it is the same as before.
                    (self.claim, self.told) = (number, None);
                    if let Role::Following(follows) = &mut self.role {
                        follows.is_claiming = true;
                        follows.journal.claim();
                    }
                }
                Item::Serve => {
                    if let Role::Following(follows) = &mut self.role {
                        follows.is_to_serve = follows.is_claiming;
                    }
                }
                Item::Stop => stops = true,
                // The sender sends it again, to the owner.
                Item::Delivery(delivery) => {
                    self.inner.confirm(delivery.shard, delivery.confirmation(Err(not_here())));
                }
                item @ (Item::Request(_) | Item::Command(..) | Item::Together(..)) => {
                    self.inner.refuse(self.shard, item, not_here());
                }
                Item::Vanished(_)
                | Item::Release(_)
                | Item::Confirmation(_)
                | Item::StopWaiting
                | Item::SendAgain => {}
                Item::Checkpoint => {
                    if let Role::Following(follows) = &mut self.role {
                        follows.follower.checkpoint_soon();
                    }
                }
            }
        }
        if gives_up && !stops {
            self.give_up_claim();
        }
        stops
    }

    /// Ends a claim that does not serve. Its end is told even where it was in step before, too.
    fn give_up_claim(&mut self) {
        let Role::Following(follows) = &mut self.role else { return };
        if !follows.is_claiming {
            return;
        }
        self.told = None;
        if let Err(error) = follows.follow_again() {
            self.lose(&error);
        }
    }

    fn turn_following(&mut self) -> Turned {
        if self.take_mail() {
            return Turned { at_once: false, wait: LOOK_EVERY, awaited: 0, is_stopped: true };
        }
        let Role::Following(follows) = &mut self.role else { return again(LOOK_EVERY) };
        match follows.poll() {
            Ok(Standing::Serving) if follows.is_to_serve => self.promote(),
            Ok(Standing::Serving) => {
                let epoch = follows.journal.epoch().0;
                self.tell(ReplicaState::Claimed { epoch });
                again(LOOK_EVERY)
            }
            Ok(_) => {
                let is_in_step = follows.look();
                let wait = follows.look_after();
                let wait = follows.background().map_or(wait, |soon| wait.min(soon));
                if !follows.is_claiming {
                    self.tell(ReplicaState::Following { is_in_step });
                }
                again(wait)
            }
            // Another claimed it first. Whoever ordered the claim hears that it follows.
            Err(Error::Journal(stadium_journal::Error::Fenced { .. })) => {
                self.told = None;
                match follows.follow_again() {
                    Ok(()) => again(Duration::ZERO),
                    Err(error) => self.lose(&error),
                }
            }
            Err(error) => self.lose(&error),
        }
    }

    /// The log is claimed, and all records before the fence are applied.
    fn promote(&mut self) -> Turned {
        let Role::Following(follows) = std::mem::replace(&mut self.role, Role::Away) else {
            return again(LOOK_EVERY);
        };
        let Follows { follower, journal, .. } = *follows;
        let epoch = journal.epoch().0;
        // A log on brokers may not answer for long; a disk of this machine does, or fails.
        let settings = CoreSettings {
            commit_wait: Some(COMMIT_WAIT),
            confirmed_within: CONFIRMED_WITHIN,
            lease: self.inner.lease.lock().clone(),
            ..core_settings(self.shard, &self.inner)
        };
        match Core::promote(self.store.clone(), settings, follower, journal) {
            Ok(core) => {
                self.role = Role::Owning(Box::new(Driver::of(self.shard, &self.inner, core)));
                self.inner.mailboxes[usize::from(self.shard)].open();
                // Its connections are not in the log.
                if let Some(transport) = self.inner.transport.get() {
                    transport.announce_again(self.shard);
                }
                self.tell(ReplicaState::Serving { epoch });
                again(Duration::ZERO)
            }
            Err(error) => self.lose(&error),
        }
    }

    /// It cannot go on as it is: it is opened anew.
    fn lose(&mut self, error: &dyn std::fmt::Display) -> Turned {
        tracing::warn!(shard = self.shard, %error, "Replica cannot follow its log now; it is opened again");
        self.role = Role::Away;
        self.tell(ReplicaState::Away(error.to_string()));
        again(LOOK_EVERY)
    }

    fn turn_owning(&mut self) -> Turned {
        let Role::Owning(driver) = &mut self.role else { return again(LOOK_EVERY) };
        let turned = driver.turn();
        match (&self.told, driver.core().is_log_away()) {
            (&Some(ReplicaState::Serving { epoch }), true) => self.tell(ReplicaState::Stalled { epoch }),
            (&Some(ReplicaState::Stalled { epoch }), false) => self.tell(ReplicaState::Serving { epoch }),
            _ => {}
        }
        let Role::Owning(driver) = &mut self.role else { return again(LOOK_EVERY) };
        if turned.is_stopped || !driver.recovers() {
            self.broken_since = None;
        } else if self.broken_since.get_or_insert_with(Instant::now).elapsed() >= BROKEN_MAX {
            self.broken_since = None;
            self.inner.mailboxes[usize::from(self.shard)].follow();
            driver.give_up();
            return self.lose(&"its journal cannot be opened again");
        }
        if !turned.is_stopped || !(driver.core().is_moved() || driver.core().is_handed_over()) {
            return turned;
        }
        self.inner.mailboxes[usize::from(self.shard)].follow();
        let Role::Owning(driver) = std::mem::replace(&mut self.role, Role::Away) else {
            return again(LOOK_EVERY);
        };
        let Some((follower, mut journal)) = driver.into_core().into_follower() else {
            self.tell(ReplicaState::Following { is_in_step: false });
            return again(Duration::ZERO);
        };
        if let Err(error) = journal.follow_again() {
            return self.lose(&error);
        }
        match Follows::new(self.shard, &self.inner, &mut self.store, follower, journal) {
            Ok(follows) => self.role = Role::Following(Box::new(Follows { is_in_step: true, ..follows })),
            Err(error) => return self.lose(&error),
        }
        self.tell(ReplicaState::Following { is_in_step: true });
        again(Duration::ZERO)
    }

    fn turn_away(&mut self) -> Turned {
        if self.take_mail() {
            return Turned { at_once: false, wait: LOOK_EVERY, awaited: 0, is_stopped: true };
        }
        match follow(self.shard, &self.inner, &mut self.store) {
            Ok(follows) => {
                self.role = Role::Following(Box::new(follows));
                self.tell(ReplicaState::Following { is_in_step: false });
                again(Duration::ZERO)
            }
            Err(error) => self.lose(&error),
        }
    }
}

/// Opens the newest checkpoint, and follows the log from there.
fn follow<S: ReplicaStore>(
    shard: u16,
    inner: &Arc<Inner>,
    store: &mut S,
) -> Result<Follows<S::Journal>, Error> {
    store.prepare()?;
    let newest = store.checkpoints(None)?.newest()?;
    let checkpoint = newest.as_ref().map_or(Position::START, |reader| reader.info().position);
    let mut follower = Follower::new(&core_settings(shard, inner), newest, &mut |_: Progress| ())?;
    store.resume(follower.mark());
    let opening = Opening { checkpoint, after_failure: None, holder: LogHolder::Respect };
    let journal = store.follow(opening)?;
    // The mirror may have more than the checkpoint.
    let mut reader = journal.reader();
    reader.seek(follower.end())?;
    while let Some(record) = reader.next()? {
        follower.apply(record)?;
        if follower.records().is_multiple_of(RECORDS_A_STEP) {
            follower.settle(&journal);
        }
    }
    Follows::new(shard, inner, store, follower, journal)
}

impl<J: stadium_journal::Following> Follows<J> {
    fn new(
        shard: u16,
        inner: &Arc<Inner>,
        store: &mut impl ReplicaStore<Journal = J>,
        mut follower: Follower,
        mut journal: J,
    ) -> Result<Self, Error> {
        follower.write_checkpoints(store.checkpoints(Some(journal.id()))?)?;
        let woken = Arc::clone(inner);
        journal.on_durable(Arc::new(move || woken.mailboxes[usize::from(shard)].knock()));
        let settled = follower.records();
        Ok(Self {
            follower,
            journal,
            settled,
            is_claiming: false,
            is_to_serve: false,
            looked: None,
            is_in_step: false,
            lag: Lag::new(&inner.threads.lags[usize::from(shard)]),
            settings: core_settings(shard, inner),
        })
    }

    /// Writes checkpoints and frees what is behind them. After how long to go on, if that is soon.
    fn background(&mut self) -> Option<Duration> {
        // One that is about to take over does nothing else.
        if self.is_claiming {
            return None;
        }
        let Self { follower, journal, settings, .. } = self;
        follower.background(journal, settings, now()).map(Duration::from_millis)
    }

    /// Whether it is in step. Looks again now and then: what is found wakes the shard.
    fn look(&mut self) -> bool {
        if self.looked.is_none_or(|looked| looked.elapsed() >= self.look_after()) {
            let behind = self.journal.behind();
            self.is_in_step = behind == Some(0);
            self.lag.note(behind);
            self.looked = Some(Instant::now());
        }
        if self.is_in_step {
            self.follower.caught_up(&self.journal);
        }
        self.is_in_step
    }

    fn look_after(&self) -> Duration {
        if self.is_in_step { LOOK_EVERY } else { LOOK_AGAIN }
    }

    fn follow_again(&mut self) -> Result<(), stadium_journal::Error> {
        (self.is_claiming, self.is_to_serve) = (false, false);
        self.journal.follow_again()
    }

    /// Applies what has arrived.
    fn poll(&mut self) -> Result<Standing, Error> {
        let Self { follower, journal, .. } = self;
        let mut applied = Ok(());
        let standing = journal.poll(&mut |record| {
            if applied.is_ok() {
                applied = follower.apply(record);
            }
        });
        applied?;
        if follower.records() != self.settled {
            self.settled = follower.records();
            follower.settle(journal);
        }
        Ok(standing?)
    }
}

impl<S: ReplicaStore + Clone + 'static> Drive for Replica<S> {
    fn shard(&self) -> u16 {
        self.shard
    }

    fn recovers(&self) -> bool {
        match &self.role {
            Role::Following(_) => false,
            Role::Owning(driver) => driver.recovers(),
            Role::Away => true,
        }
    }

    fn turn(&mut self) -> Turned {
        match &self.role {
            Role::Following(_) => self.turn_following(),
            Role::Owning(_) => self.turn_owning(),
            Role::Away => self.turn_away(),
        }
    }

    fn start_over(&mut self) {
        match &mut self.role {
            Role::Owning(driver) => driver.start_over(),
            // Its state may be half of a record.
            _ => self.role = Role::Away,
        }
    }

    fn end(self: Box<Self>) {
        let (inner, shard) = (Arc::clone(&self.inner), self.shard);
        // The journal is closed before anybody hears that the shard has ended.
        drop(self);
        inner.has_ended(shard);
    }
}

fn again(wait: Duration) -> Turned {
    Turned { at_once: wait.is_zero(), wait, awaited: 0, is_stopped: false }
}
