//! A shard without a thread: state machines on a journal, turn by turn.
//!
//! A turn takes what was handed in and what time brought, writes each as one record, applies it,
//! and starts a commit; answers whose records are durable leave. What holds always: no answer
//! leaves before everything that it may have seen is durable, and a commit that failed takes
//! everything after the last durable record with it.

mod barrier;
mod checkpoint_copy;
mod checkpointing;
mod composition;
mod cross_shard;
mod direct;
mod fault;
mod follower;
mod input;
mod kinds;
mod machines;
mod moves;
mod opening;
mod outbox;
mod payloads;
mod ports;
mod progress;
mod rewriting;
mod running;
mod segments;
mod settings;
mod slot;
mod stretches;
mod target;
mod turn;
mod waiting;

use std::collections::VecDeque;

use stadium_journal::{Journal, Position};
use stadium_state_machine::{Milliseconds, Refusal, StateMachine, Time};

pub use crate::frame::MachineId;
pub use checkpoint_copy::copy_checkpoint;
pub use composition::bounds::MachineBounds;
pub use direct::Direct;
pub use follower::{Follower, checkpoint_mark};
pub use kinds::Kind;
pub(crate) use kinds::Kinds;
pub use moves::{SegmentMoves, SettledSegment};
pub(crate) use opening::replay_all;
pub(crate) use ports::Body;
pub use ports::{
    Caller, Claim, Confirmation, Delivery, GivenBack, Next, NodeLease, Output, ReplicaStore, Reply, Request,
    Search, Store, Trial,
};
pub use progress::Progress;
pub use settings::{CheckpointPermits, CheckpointWriting, CoreSettings, SegmentHold};
pub(crate) use slot::AnyAnswer;
pub use slot::AnyCommand;

use self::checkpointing::CheckpointCounts;
use self::input::Input;
use self::opening::Measured;
use self::running::{Figures, Running};
use self::waiting::Waiting;
use crate::metrics::Counts;
use crate::{Error, ShardMetrics};

/// A shard. Its driver calls [`Self::turn`] after input, when the journal wakes it, and at the
/// deadline of the last turn; extra turns are harmless.
///
/// `M` is its direct machine.
pub struct Core<S: Store, C: Caller, M: Direct> {
    store: S,
    settings: CoreSettings,
    /// What was handed in and not taken on. The driver bounds it.
    inbox: VecDeque<Input<C, M>>,
    waiting: Waiting<M::Key, Request<C, M::Command>>,
    /// Keys to look at for who waits.
    ready: Vec<M::Key>,
    /// None while the journal is not open.
    running: Option<Box<Running<S::Journal, C, M>>>,
    closed: Closed,
    /// Another owner's fence ended the journal: this core is not opened again.
    is_moved: bool,
    /// It stops for another owner.
    hands_over: bool,
    /// Refusals of what a failed journal did not make durable, until it is cut. As many as waited
    /// for it. Commands of callers who want them back are kept beside their refusals, whichever
    /// those are.
    given_up: Output<C, M>,
    stopping: Stopping,
    /// While it stops: until when it waits for transfers between shards.
    finishing_until: Option<Time>,
    /// No command waits any more: the process is about to stop.
    nobody_waits: bool,
    measured: Measured,
    /// Wakes the driver; handed on to each journal that is opened.
    wake: Option<stadium_journal::Wake>,
    turns: u64,
    turn_commands: Counts,
    turn_us: Counts,
    released_unsent: u64,
    reopened: u64,
    /// Figures of journals that failed.
    before: Figures,
    checkpoints_before: CheckpointCounts,
}

/// Why and since when the journal is not open.
#[derive(Debug, Default)]
struct Closed {
    /// All before it was durable when the handle failed.
    durable: Option<Position>,
    /// When to try again.
    again_at: Time,
    /// How long to wait after the next failure.
    wait: Milliseconds,
    why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    No,
    /// Answers and a last checkpoint are outstanding.
    Finishing,
    /// The last checkpoint was asked for.
    Checkpoint,
    /// Answers are outstanding; another owner takes the state over.
    HandingOver,
    Stopped,
}

impl<S: Store, C: Caller, M: Direct> Core<S, C, M> {
    /// Opens the journal, reads the newest checkpoint and applies what follows.
    ///
    /// # Errors
    ///
    /// The journal cannot be opened or read, or its records cannot be applied.
    pub fn open(
        mut store: S,
        settings: CoreSettings,
        _now: Time,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let (running, measured) = opening::open(&mut store, &settings, None, progress)?;
        Ok(Self::of(store, settings, running, measured))
    }

    /// The owner that a follower becomes: a standby that takes the shard over. It has applied all
    /// records of the journal, which is open for this owner alone. Takes no time in proportion to
    /// the state if it has [caught up](Follower::caught_up).
    ///
    /// # Errors
    ///
    /// The checkpoints of the store cannot be listed.
    pub fn promote(
        mut store: S,
        settings: CoreSettings,
        follower: Follower,
        journal: S::Journal,
    ) -> Result<Self, Error> {
        let newest = store.checkpoints(None)?.list()?.first().copied();
        let running = opening::promote(&mut store, &settings, follower, journal, newest)?;
        Ok(Self::of(store, settings, running, Measured::default()))
    }

    fn of(store: S, settings: CoreSettings, running: Running<S::Journal, C, M>, measured: Measured) -> Self {
        let closed = Closed { wait: settings.reopen_after, ..Closed::default() };
        Self {
            store,
            settings,
            inbox: VecDeque::new(),
            waiting: Waiting::new(),
            ready: Vec::new(),
            running: Some(Box::new(running)),
            closed,
            is_moved: false,
            hands_over: false,
            given_up: Output::default(),
            stopping: Stopping::No,
            finishing_until: None,
            nobody_waits: false,
            measured,
            wake: None,
            turns: 0,
            turn_commands: Counts::default(),
            turn_us: Counts::default(),
            released_unsent: 0,
            reopened: 0,
            before: Figures::default(),
            checkpoints_before: CheckpointCounts::default(),
        }
    }

    /// Has `wake` called after each commit, from the journal's thread.
    pub fn on_durable(&mut self, wake: stadium_journal::Wake) {
        if let Some(running) = &mut self.running {
            running.journal.on_durable(wake.clone());
        }
        self.wake = Some(wake);
    }

    /// Hands in a request to the direct machine for the next turn. The driver bounds how many.
    pub fn submit(&mut self, request: Request<C, M::Command>) {
        self.inbox.push_back(Input::Request(request));
    }

    /// Hands in a command to another state machine that the shard has. The driver bounds how many.
    pub fn submit_command(&mut self, caller: C, command: AnyCommand) {
        self.inbox.push_back(Input::Command(caller, command));
    }

    /// Hands in a command to the machine `N`, which the shard has. The driver bounds how many.
    pub fn submit_to<N: StateMachine>(&mut self, caller: C, command: N::Command) {
        self.submit_command(caller, AnyCommand::of::<N>(command));
    }

    /// Nobody waits for this caller's answer any more: a command that waits leaves its line.
    pub fn vanished(&mut self, caller: u64) {
        self.waiting.remove(caller);
    }

    /// An answer could not be given to its caller, who has gone: items that it hands out are ready
    /// again, and the attempt does not count.
    pub fn undelivered(&mut self, answer: &Result<crate::Answer, Refusal>) {
        let answer = answer.as_ref().ok().and_then(M::resolved);
        let leases = answer.map_or_else(Vec::new, M::leases);
        if !leases.is_empty() {
            self.release(leases);
        }
    }

    /// Items that were handed out to a caller that has gone are ready again, and the attempt does
    /// not count.
    pub fn release(&mut self, leases: Vec<M::Lease>) {
        self.inbox.push_back(Input::Release(leases));
    }

    /// Hands in what comes from another shard.
    pub fn deliver(&mut self, delivery: Delivery) {
        self.inbox.push_back(Input::Delivery(delivery));
    }

    /// Hands in what another shard answered to a delivery.
    pub fn confirmed(&mut self, confirmation: Confirmation) {
        self.inbox.push_back(Input::Confirmation(confirmation));
    }

    /// Answers commands that wait with nothing, and has none wait from now on.
    pub fn stop_waiting(&mut self) {
        self.nobody_waits = true;
    }

    /// Begins a checkpoint at the next turn, unless one runs.
    pub fn checkpoint_soon(&mut self) {
        if let Some(running) = &mut self.running {
            running.checkpointing.soon();
        }
    }

    /// Sends all messages again, at the next turn, that were sent and are not confirmed: other shards
    /// take each number once.
    pub fn send_again_soon(&mut self) {
        if let Some(running) = &mut self.running {
            running.send_again_soon();
        }
    }

    /// Takes no more commands, answers those that wait, finishes the work that was begun and
    /// writes a last checkpoint. Turns go on until one returns `stopped`.
    pub fn stop(&mut self) {
        if self.stopping == Stopping::No {
            self.stopping = Stopping::Finishing;
        }
    }

    /// Takes no more commands, answers those that wait, and ends without a checkpoint: another owner
    /// is to take the shard over. Turns go on until one returns `stopped`.
    pub fn hand_over(&mut self) {
        if self.stopping == Stopping::No {
            self.stopping = Stopping::HandingOver;
            self.hands_over = true;
        }
    }

    /// The follower that a core becomes which has handed over: its state, and its journal, in which
    /// everything is durable. None where it failed meanwhile.
    pub fn into_follower(self) -> Option<(Follower, S::Journal)> {
        let mut running = self.running?;
        let end = running.journal.end();
        if !running.journal.durable().is_ok_and(|durable| durable == end) {
            return None;
        }
        let Running { journal, machines, segments, .. } = *running;
        Some((Follower::of_owner(machines, segments, end), journal))
    }

    /// The machine `N`, which the shard has, to be looked at; none while the journal is not open.
    pub fn machine<N: StateMachine>(&self) -> Option<&N> {
        self.running.as_ref().map(|running| running.machines.machine::<N>())
    }

    /// The state of all machines as the chunks of a checkpoint, for a simulator that compares it
    /// with the state after a recovery. None while the journal is not open or a checkpoint is being
    /// encoded.
    pub fn state(&mut self) -> Option<Vec<Vec<u8>>> {
        let running = self.running.as_mut().filter(|running| !running.checkpointing.encodes())?;
        Some(running.machines.state())
    }

    /// The journal, to be looked at, and for a simulator to let its commits complete.
    pub fn journal(&mut self) -> Option<&mut S::Journal> {
        self.running.as_mut().map(|running| &mut running.journal)
    }

    /// Its sizes and bounds.
    pub fn settings(&self) -> &CoreSettings {
        &self.settings
    }

    /// Where the journal and its checkpoints are.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Whether another owner has the shard: its fence ended this one, which stopped.
    pub fn is_moved(&self) -> bool {
        self.is_moved
    }

    /// Whether it has handed over, and [`Self::into_follower`] gives its state.
    pub fn is_handed_over(&self) -> bool {
        self.stopping == Stopping::Stopped && self.hands_over
    }

    /// Whether the log has not confirmed a commit in time, so that nothing is accepted.
    pub fn is_log_away(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.is_log_away())
    }

    /// Times that the journal failed and was opened again.
    pub fn reopened(&self) -> u64 {
        self.reopened
    }

    /// Requests that were handed in and are not taken on.
    pub fn inbox_len(&self) -> usize {
        self.inbox.len()
    }

    /// What it counts. The mailbox's figures are the driver's.
    pub fn metrics(&self) -> ShardMetrics {
        let mut metrics = ShardMetrics {
            shard: self.settings.place.shard,
            serving: self.running.is_some() && self.stopping == Stopping::No,
            turns: self.turns,
            turn_commands: self.turn_commands.histogram(),
            turn_us: self.turn_us.histogram(),
            waiting_consumers: self.waiting.len() as u64,
            released_unsent: self.released_unsent,
            reopened: self.reopened,
            recovery_ms: self.measured.total_us() / 1_000,
            ..ShardMetrics::default()
        };
        let Some(running) = &self.running else {
            metrics.trouble = Some(self.closed.why.clone());
            return metrics;
        };
        let figures = &running.figures;
        metrics.commands = self.before.commands + figures.commands;
        metrics.refusals = self.before.refusals + figures.refusals;
        metrics.records = self.before.records + figures.records;
        metrics.barriers = self.before.barriers + figures.barriers;
        metrics.payloads_damaged = self.before.damaged + figures.damaged;
        metrics.deliveries_sent = self.before.sent + figures.sent;
        metrics.durable_lag_us = figures.durable_lag_us.histogram();
        metrics.tail_records = figures.tail_records;
        metrics.pending_answers = running.pending() as u64;
        running.measure(&mut metrics);
        let checkpoints = &running.checkpointing.counts;
        metrics.checkpoints = self.checkpoints_before.written + checkpoints.written;
        metrics.checkpoints_failed = self.checkpoints_before.failed + checkpoints.failed;
        metrics.checkpoint_at = checkpoints.began_at;
        metrics.checkpoint_us = checkpoints.took_us;
        metrics.checkpoint_pause_us = checkpoints.pause_us.histogram();
        let newest = running.checkpointing.newest();
        metrics.checkpoint_bytes = newest.map_or(0, |info| info.bytes);
        metrics.tail_bytes =
            running.journal.end().since(newest.map_or(Position::START, |info| info.position));
        metrics.recovery_expected_ms =
            self.measured.expected_ms(metrics.checkpoint_bytes, metrics.tail_bytes);
        (metrics.segments, metrics.live_bytes, metrics.segment_bytes) = running.segments.totals();
        metrics.pinned_bytes = running.segments.pinned_bytes();
        metrics.segments_removed = running.segments.removed;
        metrics.rewritten_bytes = running.segments.rewritten_bytes;
        metrics.journal = running.journal.metrics();
        metrics
    }
}
