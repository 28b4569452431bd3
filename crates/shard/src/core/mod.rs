//! A shard without a thread: state machines on a journal, turn by turn.
//!
//! A turn takes what was handed in and what time brought, writes each as one record, applies it, and
//! starts a commit; answers whose records are durable leave. What holds always: no answer leaves before everything that it may have
//! seen is durable, and a commit that failed takes everything after the last durable record with it.

mod checkpointing;
mod cross_shard;
mod fault;
pub(crate) mod feeds;
mod machines;
mod opening;
mod outbox;
mod payloads;
mod ports;
mod rewriting;
mod running;
mod segments;
mod settings;
mod slot;
mod stretches;
mod together;
mod turn;
mod waiting;

use std::collections::VecDeque;

use stadium_journal::{Journal, Position};
use stadium_push::Platform;
use stadium_queue::{Answer, Lease, Milliseconds, NewJob, QueueName, Queues, Refusal, Time};
use stadium_wallet::Ledger;

pub use crate::frame::Machine;
pub(crate) use machines::describe as describe_events;
pub use opening::Progress;
pub(crate) use opening::replay_all;
pub use ports::{Caller, Claim, Confirmation, Delivery, Next, Output, Reply, Request, Search, Store, Trial};
pub use settings::{CheckpointWriting, CoreSettings};

use self::checkpointing::CheckpointCounts;
use self::opening::Measured;
use self::running::{Figures, Running};
use self::waiting::Waiting;
use crate::metrics::Counts;
use crate::{Error, ShardMetrics, Together};

/// Connections that one command says to have ended, where all are forgotten.
const DEPARTURES_AT_ONCE: usize = 256;

/// A shard. Whoever drives it calls [`Self::turn`] after input, when the journal wakes it, and at the deadline
/// of the last turn; extra turns are harmless.
pub struct Core<S: Store, C: Caller> {
    store: S,
    settings: CoreSettings,
    /// What was handed in and not taken on. The driver bounds it.
    inbox: VecDeque<Input<C>>,
    waiting: Waiting<C>,
    /// Queues to look at for who waits.
    ready: Vec<stadium_queue::QueueName>,
    /// None while the journal is not open.
    running: Option<Box<Running<S::Journal, C>>>,
    closed: Closed,
    /// Refusals of what a failed journal did not make durable, until it is cut. As many as waited for it.
    given_up: Output<C>,
    stopping: Stopping,
    /// While it stops: until when it waits for transfers between shards.
    finishing_until: Option<Time>,
    /// No consumer waits any more: the process is about to stop.
    nobody_waits: bool,
    measured: Measured,
    /// Wakes whoever drives this; handed on to each journal that is opened.
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

/// What is handed in.
enum Input<C> {
    Request(Request<C>),
    Wallet(C, stadium_wallet::Command),
    Push(C, Box<stadium_push::Command>),
    Session(C, Box<stadium_session::Command>),
    Together(C, Box<Beside>),
    Seals(C, Seals),
    Release(Vec<Lease>),
    Delivery(Box<Delivery>),
    Confirmation(Confirmation),
}

/// A command to the queues must not pay for what else there is.
const _: () = assert!(size_of::<Input<u64>>() <= size_of::<Request<u64>>() + size_of::<u64>());

/// Transfers, and jobs that are put beside them.
struct Beside {
    transfers: stadium_wallet::Command,
    jobs: Vec<(QueueName, NewJob)>,
}

/// Which seals somebody asks for.
#[derive(Clone, Copy)]
struct Seals {
    after: u64,
    at_most: usize,
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
    Stopped,
}

impl<S: Store, C: Caller> Core<S, C> {
    /// Opens the journal, reads the newest checkpoint and applies what follows.
    ///
    /// # Errors
    ///
    /// The journal cannot be opened or read, or what it holds cannot be applied.
    pub fn open(
        mut store: S,
        settings: CoreSettings,
        _now: Time,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let (running, measured) = opening::open(&mut store, &settings, None, progress)?;
        let closed = Closed { wait: settings.reopen_after, ..Closed::default() };
        Ok(Self {
            store,
            settings,
            inbox: VecDeque::new(),
            waiting: Waiting::new(),
            ready: Vec::new(),
            running: Some(Box::new(running)),
            closed,
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
        })
    }

    /// Has `wake` called after each commit, from the journal's thread.
    pub fn on_durable(&mut self, wake: stadium_journal::Wake) {
        if let Some(running) = &mut self.running {
            running.journal.on_durable(wake.clone());
        }
        self.wake = Some(wake);
    }

    /// Hands in a request for the next turn. The driver bounds how many.
    pub fn submit(&mut self, request: Request<C>) {
        self.inbox.push_back(Input::Request(request));
    }

    /// Hands in a command to the wallets for the next turn. The driver bounds how many.
    pub fn submit_wallet(&mut self, caller: C, command: stadium_wallet::Command) {
        self.inbox.push_back(Input::Wallet(caller, command));
    }

    /// Hands in a command to the push platform for the next turn. The driver bounds how many.
    pub fn submit_push(&mut self, caller: C, command: stadium_push::Command) {
        self.inbox.push_back(Input::Push(caller, Box::new(command)));
    }

    /// Hands in a command to the MQTT sessions for the next turn. The driver bounds how many.
    pub fn submit_session(&mut self, caller: C, command: stadium_session::Command) {
        self.inbox.push_back(Input::Session(caller, Box::new(command)));
    }

    /// Hands in transfers and jobs for the next turn: all or none, in one record. The driver bounds how many.
    pub fn submit_together(&mut self, caller: C, together: Together) {
        let Together { transfers, jobs } = together;
        let transfers = stadium_wallet::Command::Transfer { transfers, linked: true };
        self.inbox.push_back(Input::Together(caller, Box::new(Beside { transfers, jobs })));
    }

    /// Asks for the seals that are numbered above `after`, the oldest of them first, so many at most.
    pub fn seals(&mut self, caller: C, after: u64, at_most: usize) {
        self.inbox.push_back(Input::Seals(caller, Seals { after, at_most }));
    }

    /// Nobody waits for this caller's answer any more: a reserve that waits for a job is taken back.
    pub fn vanished(&mut self, caller: u64) {
        self.waiting.remove(caller);
    }

    /// An answer could not be given to its caller, who has gone: what it reserved is released, and the attempt does not count.
    pub fn undelivered(&mut self, answer: &Result<crate::Answer, Refusal>) {
        if let Ok(crate::Answer::Queue(Answer::Reserved(jobs))) = answer
            && !jobs.is_empty()
        {
            self.release(jobs.iter().map(|job| job.lease).collect());
        }
    }

    /// What was reserved for somebody who has gone is due again, and the attempt does not count.
    pub fn release(&mut self, leases: Vec<Lease>) {
        self.inbox.push_back(Input::Release(leases));
    }

    /// Hands in what comes from another shard.
    pub fn deliver(&mut self, delivery: Delivery) {
        self.inbox.push_back(Input::Delivery(Box::new(delivery)));
    }

    /// Hands in what another shard answered to a delivery.
    pub fn confirmed(&mut self, confirmation: Confirmation) {
        self.inbox.push_back(Input::Confirmation(confirmation));
    }

    /// Lets consumers that wait go with what there is, which is nothing, and has none wait from now on.
    pub fn stop_waiting(&mut self) {
        self.nobody_waits = true;
    }

    /// Has the push platform forget all connections, as if all had ended, since not all could be told that was to be told of them.
    /// Whoever is connected is to arrive again.
    pub fn forget_connections(&mut self, now: Time, caller: impl Fn() -> C) {
        let Some(running) = &self.running else { return };
        let left = running.machines.platform.connected(now);
        for left in left.chunks(DEPARTURES_AT_ONCE) {
            let (arrived, left) = (Vec::new(), left.to_vec());
            self.submit_push(caller(), stadium_push::Command::Presence { arrived, left });
        }
    }

    /// Begins a checkpoint at the next turn, unless one runs.
    pub fn checkpoint_soon(&mut self) {
        if let Some(running) = &mut self.running {
            running.checkpointing.soon();
        }
    }

    /// Takes no more commands, lets waiting consumers go, finishes what was begun and writes a last
    /// checkpoint. Turns go on until one says `stopped`.
    pub fn stop(&mut self) {
        if self.stopping == Stopping::No {
            self.stopping = Stopping::Finishing;
        }
    }

    /// The queues, to be looked at; none while the journal is not open.
    pub fn queues(&self) -> Option<&Queues> {
        self.running.as_ref().map(|running| &running.machines.queues)
    }

    /// The wallets, to be looked at; none while the journal is not open.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.running.as_ref().map(|running| &running.machines.ledger)
    }

    /// The push platform, to be looked at; none while the journal is not open.
    pub fn platform(&self) -> Option<&Platform> {
        self.running.as_ref().map(|running| &running.machines.platform)
    }

    /// The MQTT sessions, to be looked at; none while the journal is not open.
    pub fn sessions(&self) -> Option<&stadium_session::Sessions> {
        self.running.as_ref().map(|running| &running.machines.sessions)
    }

    /// The state of all machines as the chunks of a checkpoint, for a simulator that compares it with the state
    /// after a recovery. None while the journal is not open or a checkpoint is being encoded.
    pub fn state(&mut self) -> Option<Vec<Vec<u8>>> {
        let running = self.running.as_mut().filter(|running| !running.checkpointing.encodes())?;
        Some(running.machines.state())
    }

    /// The journal, to be looked at, and for a simulator to let its commits complete.
    pub fn journal(&mut self) -> Option<&mut S::Journal> {
        self.running.as_mut().map(|running| &mut running.journal)
    }

    /// Where the journal and its checkpoints are.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
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
        metrics.payloads_damaged = self.before.damaged + figures.damaged;
        metrics.deliveries_sent = self.before.sent + figures.sent;
        metrics.durable_lag_us = figures.durable_lag_us.histogram();
        metrics.tail_records = figures.tail_records;
        metrics.pending_answers = running.pending() as u64;
        metrics.jobs = running.machines.queues.jobs();
        running.machines.measure(&mut metrics);
        metrics.wallet = running.machines.ledger.figures();
        metrics.newest_seal = running.machines.ledger.seals().next_back().copied();
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
        metrics.segments_removed = running.segments.removed;
        metrics.rewritten_bytes = running.segments.rewritten_bytes;
        metrics.journal = running.journal.metrics();
        metrics
    }
}
