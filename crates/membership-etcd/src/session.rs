//! One stretch of contact with a member of etcd.
//!
//! It keeps the lease that the node has, or begins another; reads everything below the cluster's
//! prefix; and then does five things side by side: keep-alives, the watch, the node's own key, writes,
//! and planning. Any of them ends it: the next contact reads again what was missed.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stadium_etcd::messages::{Compare, Event, EventType, RequestOp, TxnRequest, TxnResponse};
use stadium_etcd::{Client, Code, Failure, Mark};
use stadium_membership::{
    BootTime, Change, Cluster, Error, Incarnation, LEASE, Lease, Node, Planner, Seat, View,
};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;

use crate::boot_time::boot_time;
use crate::changes::{Changes, ChangesEnded};
use crate::command::Command;
use crate::config::Config;
use crate::create;
use crate::keys::{KEYS_MAX, Keys};
use crate::lease::Certainty;
use crate::loads;
use crate::shared::{Connection, Report, Shared};

/// Between two keep-alives.
const BEAT: Duration = Duration::from_millis(500);

/// Between two plans, where nothing changes.
const PLAN: Duration = Duration::from_secs(1);

/// How long changes are gathered before the next plan.
const CROWD: Duration = Duration::from_millis(50);

/// Between two attempts to write the node's key while its former incarnation still has it.
const NAME_RETRY: Duration = Duration::from_millis(100);

/// How long a former incarnation may live on: its lease, and the time that etcd takes to end it.
const NAME_PATIENCE: Duration = Duration::from_secs(6);

/// Writes that are on their way at one time.
const WRITES_AT_ONCE: usize = 32;

/// Why a stretch of contact ended.
pub(crate) enum Ended {
    /// All handles are gone.
    Closed,
    /// The member, or the quorum behind it, does not answer.
    Lost(String),
    /// The node cannot be part of this cluster.
    Refused(Error),
}

/// Why a part of it ended.
enum Stop {
    Ended(Ended),
    /// The lease is no more: begin another.
    LeaseLost,
    /// What the watch missed is compacted away: read everything again.
    ReadAgain,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure.code {
            // Only leases are looked up by id.
            Code::NotFound => Self::LeaseLost,
            _ => Self::Ended(Ended::Lost(failure.what)),
        }
    }
}

impl From<ChangesEnded> for Stop {
    fn from(ended: ChangesEnded) -> Self {
        match ended {
            ChangesEnded::Failed(failure) => failure.into(),
            ChangesEnded::Lost(why) => Self::Ended(Ended::Lost(why)),
            ChangesEnded::Compacted => Self::ReadAgain,
        }
    }
}

/// What outlives a stretch of contact.
pub(crate) struct Memory {
    config: Config,
    keys: Keys,
    shared: Arc<Shared>,
    certainty: Certainty,
    report: watch::Receiver<Report>,
    /// Notified when the view changed.
    changed: Notify,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// The lease of this incarnation, as etcd names it.
    registration: Option<(i64, Incarnation)>,
    /// When that lease was granted, in milliseconds since 1970.
    registered_at_ms: Option<u64>,
    lease: Lease,
    /// The cluster that this node belongs to.
    cluster: Option<Cluster>,
    view: View,
    /// The last report that is in etcd, and when it was written.
    written: Option<(Report, BootTime)>,
    planner: Option<Planner>,
}

impl Memory {
    pub(crate) fn new(
        config: Config,
        keys: Keys,
        shared: Arc<Shared>,
        certainty: Certainty,
        report: watch::Receiver<Report>,
    ) -> Self {
        let state = RefCell::new(State { cluster: config.expected.clone(), ..State::default() });
        Self { config, keys, shared, certainty, report, changed: Notify::new(), state }
    }

    fn confirm(&self, sent: BootTime) {
        let lease = &mut self.state.borrow_mut().lease;
        lease.confirm(sent);
        self.certainty.publish(lease);
    }

    fn lost_lease(&self) {
        {
            let state = &mut *self.state.borrow_mut();
            state.lease.end();
            self.certainty.publish(&state.lease);
            (state.registration, state.written, state.planner) = (None, None, None);
        }
        self.shared.count(|counts| counts.leases_lost += 1);
        self.shared.change(|snapshot| snapshot.incarnation = None);
        tracing::warn!(node = %self.config.node, "The lease of this node ended; it registers again");
    }

    fn registration(&self) -> Option<(i64, Incarnation)> {
        self.state.borrow().registration
    }

    /// The condition that this incarnation is registered.
    fn alive(&self, lease: i64) -> Compare {
        Compare::leased(self.keys.node(&self.config.node).as_bytes(), lease)
    }

    fn publish(&self) {
        let view = self.state.borrow().view.clone();
        self.shared.change(|snapshot| {
            snapshot.view = view;
            snapshot.connection = Connection::Connected;
        });
        self.changed.notify_one();
    }
}

/// Speaks with a member until that ends.
pub(crate) async fn run(
    client: &Client,
    memory: &mut Memory,
    commands: &mut mpsc::Receiver<Command>,
) -> Ended {
    let mut report = memory.report.clone();
    let memory = &*memory;
    loop {
        let stop = match begin(client, memory).await {
            Err(stop) => stop,
            Ok((lease, mark)) => tokio::select! {
                stop = keep(client, memory, lease) => stop,
                stop = follow(client, memory, mark) => stop,
                stop = announce(client, memory, lease, &mut report) => stop,
                stop = obey(client, memory, lease, commands) => stop,
                stop = plan(client, memory, lease) => stop,
            },
        };
        match stop {
            Stop::Ended(ended) => return ended,
            Stop::LeaseLost => memory.lost_lease(),
            Stop::ReadAgain => memory.shared.count(|counts| counts.compactions += 1),
        }
    }
}

/// Ends the lease of a node that leaves.
pub(crate) async fn leave(client: &Client, memory: &Memory) {
    {
        // Others take over as soon as etcd has ended it.
        let lease = &mut memory.state.borrow_mut().lease;
        lease.end();
        memory.certainty.publish(lease);
    }
    if let Some((lease, _)) = memory.registration()
        && let Err(failure) = client.revoke(lease).await
    {
        tracing::debug!(error = failure.what, "The lease is left to end by itself");
    }
}

/// The lease, and the cluster as of one revision.
async fn begin(client: &Client, memory: &Memory) -> Result<(i64, Mark), Stop> {
    let lease = match memory.registration() {
        Some((lease, _)) => {
            beat(client, memory, lease).await?;
            lease
        }
        None => {
            let sent = boot_time();
            let seconds = i64::try_from(LEASE.as_secs()).expect("two seconds");
            let (lease, granted) = client.grant(seconds).await?;
            if granted != seconds {
                tracing::warn!(
                    asked = seconds,
                    granted,
                    "etcd grants longer leases than asked for: its election timeout delays failovers"
                );
            }
            let incarnation = Incarnation(fastrand::u64(1..));
            {
                let state = &mut *memory.state.borrow_mut();
                state.registration = Some((lease, incarnation));
                let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).ok();
                state.registered_at_ms = since_1970.and_then(|since| u64::try_from(since.as_millis()).ok());
            }
            memory.certainty.begin(incarnation);
            memory.confirm(sent);
            lease
        }
    };
    check_cluster(client, memory).await?;
    let listed = client.list(memory.keys.root(), KEYS_MAX).await?;
    let mut view = View { revision: listed.mark.revision, ..View::default() };
    for kv in &listed.kvs {
        apply(memory, &mut view, &kv.key, Some(&kv.value), kv.mod_revision);
    }
    memory.state.borrow_mut().view = view;
    memory.publish();
    Ok((lease, listed.mark))
}

async fn check_cluster(client: &Client, memory: &Memory) -> Result<(), Stop> {
    let refused = |why| Stop::Ended(Ended::Refused(why));
    let found = match create::read(client, &memory.keys).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            let name = &memory.config.cluster;
            return Err(refused(Error::Missing(format!("this etcd has no cluster named {name:?}"))));
        }
        Err(Error::Away(why)) => return Err(Stop::Ended(Ended::Lost(why))),
        Err(why) => return Err(refused(why)),
    };
    let state = &mut *memory.state.borrow_mut();
    match &state.cluster {
        Some(ours) => ours.accepts(&found).map_err(refused),
        None => {
            state.cluster = Some(found);
            Ok(())
        }
    }
}

fn apply(memory: &Memory, view: &mut View, key: &[u8], value: Option<&[u8]>, revision: i64) {
    let Some(below) = memory.keys.below(key) else { return };
    match Change::read(below, value) {
        Ok(Some(change)) => {
            if let Change::Damaged(shard) = &change {
                tracing::error!(%shard, "The map's entry of a shard cannot be read; it stays as it is");
            }
            view.apply(revision, change);
        }
        Ok(None) => {}
        Err(why) => {
            memory.shared.count(|counts| counts.unreadable += 1);
            tracing::warn!(error = %why, "A key of the cluster is passed over");
        }
    }
}

/// One keep-alive.
async fn beat(client: &Client, memory: &Memory, lease: i64) -> Result<(), Stop> {
    let sent = boot_time();
    match client.keep_alive(lease).await? {
        1.. => {
            memory.confirm(sent);
            Ok(())
        }
        _ => Err(Stop::LeaseLost),
    }
}

async fn keep(client: &Client, memory: &Memory, lease: i64) -> Stop {
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(stop) = beat(client, memory, lease).await {
            return stop;
        }
    }
}

/// Applies what the watch tells.
async fn follow(client: &Client, memory: &Memory, mark: Mark) -> Stop {
    match follow_on(client, memory, mark).await {
        Err(stop) => stop,
        Ok(never) => match never {},
    }
}

async fn follow_on(client: &Client, memory: &Memory, mark: Mark) -> Result<std::convert::Infallible, Stop> {
    let mut changes = Changes::begin(client, memory.keys.root(), mark.revision + 1).await?;
    loop {
        take(memory, &changes.next().await?);
    }
}

fn take(memory: &Memory, events: &[Event]) {
    let mut view = std::mem::take(&mut memory.state.borrow_mut().view);
    for event in events {
        let Some(kv) = &event.kv else { continue };
        let value = (event.r#type() == EventType::Put).then_some(&kv.value[..]);
        apply(memory, &mut view, &kv.key, value, kv.mod_revision);
    }
    memory.state.borrow_mut().view = view;
    memory.publish();
}

/// Registers the node and keeps its key as it reports.
async fn announce(
    client: &Client,
    memory: &Memory,
    lease: i64,
    report: &mut watch::Receiver<Report>,
) -> Stop {
    let since = boot_time();
    loop {
        let wanted = *report.borrow_and_update();
        let due = loads::due(&wanted, memory.state.borrow().written.as_ref());
        let wait = due.map(|at| at.since(boot_time()));
        if wait == Some(Duration::ZERO) {
            match register(client, memory, lease, wanted).await {
                Ok(true) => {}
                Ok(false) if boot_time().since(since) < NAME_PATIENCE => {
                    tokio::time::sleep(NAME_RETRY).await;
                }
                Ok(false) => {
                    let name = &memory.config.node;
                    let what = format!("another process is part of the cluster as node {name}");
                    return Stop::Ended(Ended::Refused(Error::NameTaken(what)));
                }
                Err(stop) => return stop,
            }
            continue;
        }
        let later = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = report.changed() => if changed.is_err() {
                return Stop::Ended(Ended::Closed);
            },
            () = later => {}
        }
    }
}

/// Writes the node's key; `false` where another incarnation has it.
async fn register(client: &Client, memory: &Memory, lease: i64, report: Report) -> Result<bool, Stop> {
    let Some((_, incarnation)) = memory.registration() else { return Err(Stop::LeaseLost) };
    let node = Node {
        incarnation,
        registered_at_ms: memory.state.borrow().registered_at_ms,
        load: report.load,
        in_step: report.in_step,
        has_data: report.has_data,
        draining: report.draining,
        ..memory.config.about.clone()
    };
    let key = memory.keys.node(&memory.config.node);
    let value = serde_json::to_vec(&node).expect("a node has names and numbers");
    for condition in [memory.alive(lease), Compare::written_at(&key, 0)] {
        let put = RequestOp::put(&key, value.clone(), lease);
        let question = TxnRequest { compare: vec![condition], success: vec![put] };
        if client.transact(question).await?.succeeded {
            let is_first = memory.state.borrow().written.is_none();
            memory.state.borrow_mut().written = Some((report, boot_time()));
            if is_first {
                memory.shared.change(|snapshot| snapshot.incarnation = Some(incarnation));
            }
            return Ok(true);
        }
    }
    Ok(false)
}

/// Carries out what handles ask for.
async fn obey(client: &Client, memory: &Memory, lease: i64, commands: &mut mpsc::Receiver<Command>) -> Stop {
    let mut writes = JoinSet::new();
    loop {
        tokio::select! {
            command = commands.recv(), if writes.len() < WRITES_AT_ONCE => match command {
                Some(command) => {
                    let question = transaction(memory, lease, &command);
                    spawn(client, &mut writes, question);
                }
                None => return Stop::Ended(Ended::Closed),
            },
            Some(done) = writes.join_next() => if let Err(stop) = wrote(memory, done) {
                return stop;
            },
        }
    }
}

fn transaction(memory: &Memory, lease: i64, command: &Command) -> TxnRequest {
    let keys = &memory.keys;
    match command {
        // A write of a node that is not alive any more must not happen.
        Command::Write(write) => keys.transaction(write, [memory.alive(lease)]),
        Command::Request(request) => keys.asking(request),
        Command::Withdraw(request) => keys.withdrawing(&request.key()),
    }
}

type Writes = JoinSet<Result<TxnResponse, Failure>>;

fn spawn(client: &Client, writes: &mut Writes, question: TxnRequest) {
    let client = client.clone();
    writes.spawn(async move { client.transact(question).await });
}

/// What a write came to: the revision that it made.
fn wrote(
    memory: &Memory,
    done: Result<Result<TxnResponse, Failure>, tokio::task::JoinError>,
) -> Result<i64, Stop> {
    let answer = match done {
        Ok(answer) => answer?,
        Err(why) => return Err(Stop::Ended(Ended::Lost(format!("a write failed: {why}")))),
    };
    if !answer.succeeded {
        memory.shared.count(|counts| counts.conflicts += 1);
    }
    Ok(answer.header.unwrap_or_default().revision)
}

/// Stands for election, and plans while elected.
async fn plan(client: &Client, memory: &Memory, lease: i64) -> Stop {
    loop {
        if let Err(stop) = plan_once(client, memory, lease).await {
            return stop;
        }
        tokio::select! {
            // Changes come in crowds, and this thread has keep-alives to send.
            () = memory.changed.notified() => tokio::time::sleep(CROWD).await,
            () = tokio::time::sleep(PLAN) => {}
        }
    }
}

async fn plan_once(client: &Client, memory: &Memory, lease: i64) -> Result<(), Stop> {
    let Some((_, incarnation)) = memory.registration() else { return Err(Stop::LeaseLost) };
    let (view, is_certain) = {
        let state = memory.state.borrow();
        (state.view.clone(), state.lease.is_certain(boot_time()))
    };
    let is_alive = view.node(&memory.config.node).is_some_and(|node| node.incarnation == incarnation);
    if !is_alive || !is_certain {
        return Ok(());
    }
    let seat = Seat { node: memory.config.node.clone(), incarnation };
    match &view.planner {
        None => elect(client, memory, lease, &seat).await,
        Some(elected) if **elected == seat => {
            let writes = {
                let state = &mut *memory.state.borrow_mut();
                let planner = state.planner.get_or_insert_with(|| Planner::new(memory.config.planner));
                planner.plan(&view, boot_time())
            };
            carry_out(client, memory, lease, writes).await
        }
        Some(_) => {
            memory.state.borrow_mut().planner = None;
            Ok(())
        }
    }
}

async fn elect(client: &Client, memory: &Memory, lease: i64, seat: &Seat) -> Result<(), Stop> {
    let key = memory.keys.planner();
    let value = serde_json::to_vec(seat).expect("a seat has a name and a number");
    let compare = vec![Compare::written_at(&key, 0), memory.alive(lease)];
    let question = TxnRequest { compare, success: vec![RequestOp::put(&key, value, lease)] };
    if client.transact(question).await?.succeeded {
        memory.shared.count(|counts| counts.elections += 1);
        tracing::info!(node = %seat.node, "This node plans for its cluster");
    }
    Ok(())
}

/// Carries out a plan, while this node is the planner.
async fn carry_out(
    client: &Client,
    memory: &Memory,
    lease: i64,
    planned: Vec<stadium_membership::Write>,
) -> Result<(), Stop> {
    let mut planned = planned.into_iter().peekable();
    if planned.peek().is_none() {
        return Ok(());
    }
    let planner = memory.keys.planner();
    let mut writes = JoinSet::new();
    let mut reached = 0;
    loop {
        while writes.len() < WRITES_AT_ONCE
            && let Some(write) = planned.next()
        {
            let question = memory.keys.transaction(&write, [Compare::leased(planner.as_bytes(), lease)]);
            spawn(client, &mut writes, question);
        }
        match writes.join_next().await {
            Some(done) => reached = reached.max(wrote(memory, done)?),
            None => break,
        }
    }
    // A plan from a view without these writes would only repeat them.
    let seen = async {
        while memory.state.borrow().view.revision < reached {
            memory.changed.notified().await;
        }
    };
    // The last write may have been another's, outside of the view.
    _ = tokio::time::timeout(PLAN, seen).await;
    Ok(())
}
