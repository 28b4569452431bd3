//! [`Forwarder`]: the [`Elsewhere`] of the node's shards.
//!
//! Its thread `forward` asks again, dials members, and tells nodes that were just reached what they
//! have to know.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use stadium_links::{Carrier as _, Endpoint, LinkFigures, NodeName, Outgoing, Reach, Refused, Tag, Target};
use stadium_membership::Error;
use stadium_membership_etcd::Snapshot;
use stadium_push::Transport;
use stadium_queue::{Command as Queue, Lease, Milliseconds, QueueName, Refusal};
use stadium_shard::core::{AnyCommand, Confirmation, Delivery};
use stadium_shard::{
    Answer, Asker, Elsewhere, Forwarded, MOVED, NOT_HERE, OUTCOME_UNKNOWN, STOPPING, Shards, UNREACHABLE,
};
use stadium_shard_wire::{Abandoned, Item, Notice, Release, Request, SpreadQueues};
use stadium_state_machine::{busy, rejected, unknown};

use super::bytes::with_bytes;
use super::kept::Kept;
use super::members::Members;
use super::owners::{Owner, Owners};
use super::repeat;
use super::serving::Serving;
use super::settings::{ASKED_FOR, BODY_BYTES_MAX, LinkSettings};
use super::table::{Pending, Table};
use crate::transport::{ClusterTransport, NodeSender};

/// The pauses before a command is asked again: the first, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));

/// The node of a cluster as others' commands reach it, and as its own reach others.
pub(crate) struct Forwarder {
    /// Itself, for what comes back later.
    pub(super) me: Weak<Forwarder>,
    pub(super) shards: Shards,
    owners: Owners,
    pub(super) table: Table,
    pub(super) members: Members,
    /// None before it listens, and after its end.
    pub(super) endpoint: RwLock<Option<Endpoint>>,
    /// Reserves of other nodes that are being carried out here, by node and id.
    pub(super) serving: Mutex<HashMap<(NodeName, u64), Weak<Serving>>>,
    /// The transport of pushes of this node, once it has one.
    pub(super) transport: OnceLock<Arc<ClusterTransport>>,
    pub(super) kept: Kept,
    ends: AtomicBool,
    pub(super) counts: Counts,
}

/// Counts since the start.
#[derive(Default)]
pub(super) struct Counts {
    asked: AtomicU64,
    asked_again: AtomicU64,
    pub(super) served: AtomicU64,
    unknown: AtomicU64,
}

/// Figures of the commands that a node forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardFigures {
    /// Commands of this node for shards of others, since the start.
    pub asked: u64,
    /// How often one was asked again.
    pub asked_again: u64,
    /// Commands of other nodes that shards of this one were given.
    pub served: u64,
    /// Commands of this node with an unknown outcome (CLU-001).
    pub unknown: u64,
    /// Commands of this node that are not answered now.
    pub pending: u64,
}

/// A running forwarder: its thread, and its end.
pub(crate) struct Forwarding {
    pub(crate) forwarder: Arc<Forwarder>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarding {
    /// Listens for other nodes, and reaches their shards for `shards` from now on.
    ///
    /// # Errors
    /// The address is taken, or a setting is wrong.
    pub(crate) fn start(
        settings: &LinkSettings,
        cluster: stadium_links::ClusterId,
        me: NodeName,
        shards: &Shards,
    ) -> Result<Self, Error> {
        let forwarder = Arc::new_cyclic(|forwarder| Forwarder {
            me: Weak::clone(forwarder),
            owners: Owners::new(me.clone(), shards.count()),
            table: Table::default(),
            members: Members::new(me.clone()),
            endpoint: RwLock::new(None),
            serving: Mutex::default(),
            transport: OnceLock::new(),
            kept: Kept::default(),
            ends: AtomicBool::new(false),
            counts: Counts::default(),
            shards: shards.clone(),
        });
        let receiver = Arc::clone(&forwarder);
        let endpoint = Endpoint::start(settings.endpoint(cluster, me), receiver)
            .map_err(|error| Error::Setting(error.to_string()))?;
        *forwarder.endpoint.write() = Some(endpoint);
        let run = Arc::clone(&forwarder);
        let thread = std::thread::Builder::new().name("forward".to_owned()).spawn(move || run.run());
        let thread = thread.map_err(|why| {
            *forwarder.endpoint.write() = None;
            Error::Ended(format!("cannot start the thread `forward`: {why}"))
        })?;
        shards.set_elsewhere(Some(Arc::clone(&forwarder) as Arc<dyn Elsewhere>));
        Ok(Self { forwarder, thread: Some(thread) })
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        let forwarder = &self.forwarder;
        forwarder.shards.set_elsewhere(None);
        forwarder.ends.store(true, Ordering::Release);
        forwarder.table.ring();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
        // Requests that are under way have their outcomes when it has ended.
        let endpoint = forwarder.endpoint.write().take();
        drop(endpoint);
        for id in forwarder.table.ids() {
            if let Some(pending) = forwarder.table.take(id) {
                forwarder.end(pending);
            }
        }
    }
}

impl Forwarder {
    /// Follows the cluster: owners at once, links to members by its thread.
    pub(crate) fn follow(&self, snapshot: &Arc<Snapshot>) {
        self.owners.follow(&snapshot.view);
        if self.members.follow(snapshot) {
            self.table.ring();
        }
    }

    /// Takes pushes to devices of all nodes by a transport of this node, which takes them to its own.
    pub(crate) fn attach_transport(self: &Arc<Self>, local: Arc<dyn Transport>) -> Arc<ClusterTransport> {
        let transport = self.transport.get_or_init(|| {
            let sender = Arc::clone(self) as Arc<dyn NodeSender>;
            let shards = Arc::new(self.shards.clone());
            Arc::new(ClusterTransport::new(local, sender, shards, BODY_BYTES_MAX))
        });
        self.shards.attach_transport(Arc::clone(transport) as Arc<dyn Transport>);
        Arc::clone(transport)
    }

    /// The node's number in the names of its connections.
    pub(crate) fn set_number(&self, number: u32) {
        if let Some(transport) = self.transport.get() {
            transport.set_node(number);
        }
    }

    pub(crate) fn figures(&self) -> ForwardFigures {
        let Counts { asked, asked_again, served, unknown } = &self.counts;
        ForwardFigures {
            asked: asked.load(Ordering::Relaxed),
            asked_again: asked_again.load(Ordering::Relaxed),
            served: served.load(Ordering::Relaxed),
            unknown: unknown.load(Ordering::Relaxed),
            pending: self.table.len() as u64,
        }
    }

    pub(crate) fn links(&self) -> Vec<LinkFigures> {
        self.endpoint.read().as_ref().map_or_else(Vec::new, Endpoint::figures)
    }

    pub(crate) fn reach(&self) -> Option<Reach> {
        self.endpoint.read().as_ref().map(Endpoint::reach)
    }

    fn run(&self) {
        let mut due = Vec::new();
        while !self.ends.load(Ordering::Acquire) {
            self.table.wait(&mut due);
            for id in due.drain(..) {
                self.counts.asked_again.fetch_add(1, Ordering::Relaxed);
                self.send(id);
            }
            if let Some(endpoint) = &*self.endpoint.read() {
                self.members.apply(endpoint);
            }
            let news = self.members.news();
            for node in &news.reached {
                self.greet(node);
            }
            if news.has_lost {
                self.shards.lose_notices();
                self.shards.messages_may_be_lost();
            }
            self.send_kept();
        }
    }

    /// Tells a node that has just been reached which queues are spread.
    fn greet(&self, node: &NodeName) {
        for shard in (0..self.shards.count()).filter(|shard| self.shards.is_served(*shard)) {
            let queues = self.shards.spread_queues(shard);
            self.letter_to(node, shard, 0, &Item::SpreadQueues(SpreadQueues { shard, queues }));
        }
    }

    /// Sends a command to the owner of its shard, or has it sent later.
    fn send(&self, id: u64) {
        match self.table.with(id, |pending| self.attempt(id, pending)) {
            // It is on its way; or it was answered, or its asker went.
            Some(Attempt::Sent) | None => {}
            Some(Attempt::Later) => self.again(id),
            Some(Attempt::Refused(refusal)) => self.finish(id, Err(refusal)),
            Some(Attempt::Here(shard, command)) => {
                // The thread that answers holds it; a node that has ended answers nobody.
                Serving::start(self.shards.ask_forwarded(shard, command), self.answered_later(id));
            }
        }
    }

    /// Makes one attempt, as far as that goes while the command is held.
    fn attempt(&self, id: u64, pending: &mut Pending) -> Attempt {
        let Request { shard, .. } = pending.request;
        let left = pending.until.saturating_duration_since(Instant::now());
        pending.attempts += 1;
        pending.request.time_left = left.as_millis() as Milliseconds;
        if let stadium_shard_wire::Command::Queue(Queue::Reserve { wait, .. }) = &mut pending.request.command
        {
            *wait = (*wait).min(left.saturating_sub(ASKED_FOR).as_millis() as Milliseconds);
        }
        match self.owners.of(shard) {
            Some(Owner::There { node, generation }) if !left.is_zero() => {
                pending.request.generation = generation;
                let target = Target { shard: shard.into(), generation };
                let attempt = self.request(id, &node, target, left, pending);
                pending.asked = Some(node);
                attempt
            }
            Some(Owner::Here) if !left.is_zero() && self.shards.is_served(shard) => {
                let command = pending.request.command.clone();
                Attempt::Here(shard, command.into_shard(pending.request.searches))
            }
            _ => Attempt::Later,
        }
    }

    fn request(
        &self,
        id: u64,
        node: &NodeName,
        target: Target,
        within: Duration,
        pending: &mut Pending,
    ) -> Attempt {
        let endpoint = self.endpoint.read();
        let Some(endpoint) = &*endpoint else { return Attempt::Later };
        let item = Item::Request(std::mem::replace(&mut pending.request, placeholder()));
        let sent = with_bytes(&item, |body| {
            endpoint.request(node, stadium_links::Lane::Data, within, Tag(id), Outgoing { target, body })
        });
        if let Item::Request(request) = item {
            pending.request = request;
        }
        match sent {
            Ok(Ok(())) => Attempt::Sent,
            Ok(Err(Refused::Down | Refused::NoSuchNode)) => Attempt::Later,
            Ok(Err(refused @ (Refused::Busy | Refused::NodeBusy))) => {
                Attempt::Refused(busy("CLU-211", 100, refused.to_string()))
            }
            Ok(Err(refused @ Refused::TooLong)) => Attempt::Refused(rejected("CLU-213", refused.to_string())),
            Err(refusal) => Attempt::Refused(refusal),
        }
    }

    /// Gives the answer of a shard of this node to a command that began elsewhere.
    fn answered_later(&self, id: u64) -> impl FnOnce(Result<Answer, Refusal>) + Send + 'static {
        let me = self.me.clone();
        move |answer| {
            if let Some(forwarder) = me.upgrade() {
                forwarder.answered(id, answer);
            }
        }
    }

    /// A shard has answered.
    pub(super) fn answered(&self, id: u64, answer: Result<Answer, Refusal>) {
        match answer {
            Err(refusal) if has_moved(&refusal) => self.again(id),
            Err(Refusal::Unknown { .. }) => self.is_unknown(id),
            // An earlier attempt may have happened: Busy would say that it did not.
            Err(Refusal::Busy { .. })
                if self.table.with(id, |pending| pending.is_unknown).unwrap_or_default() =>
            {
                self.again(id);
            }
            answer => self.finish(id, answer),
        }
    }

    /// It may have been carried out, and its answer is lost.
    pub(super) fn is_unknown(&self, id: u64) {
        let is_repeatable = self.table.with(id, |pending| {
            pending.is_unknown = true;
            pending.is_repeatable
        });
        match is_repeatable {
            Some(true) => self.again(id),
            Some(false) => {
                if let Some(pending) = self.table.take(id) {
                    self.end(pending);
                }
            }
            None => {}
        }
    }

    /// Has it asked again after a pause, unless its time is over.
    pub(super) fn again(&self, id: u64) {
        let now = Instant::now();
        let at = self.table.with(id, |pending| {
            let pause = PAUSE.0.saturating_mul(1 << pending.attempts.min(5)).min(PAUSE.1);
            // A search asks another node instead.
            (now + pause < pending.until && !pending.request.searches).then_some(now + pause)
        });
        match at {
            Some(Some(at)) if !self.ends.load(Ordering::Acquire) => self.table.later(id, at),
            Some(_) => {
                if let Some(pending) = self.table.take(id) {
                    self.end(pending);
                }
            }
            None => {}
        }
    }

    fn finish(&self, id: u64, mut answer: Result<Answer, Refusal>) {
        let Some(pending) = self.table.take(id) else {
            // Its asker has gone meanwhile: jobs that it would have had are given back.
            if let Ok(answer) = answer {
                self.shards.release_unclaimed(&answer);
            }
            return;
        };
        if let Ok(answer) = &mut answer {
            repeat::forget_ids(answer, &pending.given_ids);
        }
        pending.asker.answer(answer);
    }

    /// Ends one without an answer.
    fn end(&self, pending: Pending) {
        let Pending { request, asker, is_unknown, .. } = pending;
        let shard = request.shard;
        asker.answer(Err(if is_unknown {
            self.counts.unknown.fetch_add(1, Ordering::Relaxed);
            let reason = format!(
                "the owner of the shard {shard} went before it answered: it may have happened, ask again \
                 with the same id"
            );
            unknown(OUTCOME_UNKNOWN, 1_000, reason)
        } else {
            busy(UNREACHABLE, 1_000, format!("no node that is reached serves the shard {shard} now"))
        }));
    }

    /// Sends a letter about a shard to its owner. What does not arrive is made good by its sender.
    fn letter(&self, shard: u16, item: &Item) {
        if let Some(Owner::There { node, generation }) = self.owners.of(shard) {
            self.letter_to(&node, shard, generation, item);
        }
    }

    /// Sends a letter to a node. False where it did not leave, and may later.
    pub(super) fn letter_to(&self, node: &NodeName, shard: u16, generation: u64, item: &Item) -> bool {
        let endpoint = self.endpoint.read();
        let Some(endpoint) = &*endpoint else { return false };
        let target = Target { shard: shard.into(), generation };
        let sent = with_bytes(item, |body| {
            endpoint.letter(node, stadium_links::Lane::Data, Outgoing { target, body })
        });
        if let Ok(Err(Refused::TooLong)) | Err(_) = sent {
            tracing::warn!(%node, shard, "A message for another node is longer than a link carries (CLU-213)");
            return true;
        }
        matches!(sent, Ok(Ok(())))
    }
}

/// The result of an attempt to have a command carried out.
enum Attempt {
    Sent,
    /// It is for a shard that this node serves by now.
    Here(u16, Forwarded),
    /// Nobody can be asked now.
    Later,
    Refused(Refusal),
}

/// Stands where a request is while its bytes are made.
fn placeholder() -> Request {
    let command = Queue::Settle { leases: Vec::new() };
    let command = stadium_shard_wire::Command::Queue(command);
    Request { id: 0, shard: 0, generation: 0, time_left: 0, command, searches: false }
}

/// Whether the shard did not take the command because it is elsewhere, or about to be.
fn has_moved(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Busy { code, .. } if [MOVED, NOT_HERE, STOPPING].contains(code))
}

impl Elsewhere for Forwarder {
    fn ask(&self, shard: u16, command: Forwarded, asker: Asker) {
        self.counts.asked.fetch_add(1, Ordering::Relaxed);
        let searches = matches!(command, Forwarded::Queue { searches: true, .. });
        let bytes = command.bytes();
        if !self.table.has_room(bytes) {
            let reason = "more commands of this node wait for other nodes than may";
            return asker.answer(Err(busy("CLU-212", 100, reason)));
        }
        let mut command = match stadium_shard_wire::Command::try_from(command) {
            Ok(command) => command,
            Err(command) => {
                let reason = format!("{command:?} is only taken on the node of its shard");
                return asker.answer(Err(rejected("SHARD-009", reason)));
            }
        };
        let given_ids = repeat::give_ids(&mut command, || fastrand::u128(..));
        let wait = match &command {
            stadium_shard_wire::Command::Queue(Queue::Reserve { wait, .. }) => Some(*wait),
            _ => None,
        };
        let until = Instant::now() + ASKED_FOR + Duration::from_millis(wait.unwrap_or(0));
        let is_repeatable = repeat::is_repeatable(&command);
        let id = self.table.next();
        let request = Request { id, shard, generation: 0, time_left: 0, command, searches };
        let pending = Pending {
            request,
            asker,
            until,
            attempts: 0,
            is_repeatable,
            is_unknown: false,
            given_ids,
            asked: None,
            bytes,
        };
        self.table.insert(id, pending, wait.is_some());
        self.send(id);
    }

    fn deliver(&self, to: u16, delivery: Delivery) {
        let from = delivery.shard;
        let refused = delivery.confirmation(Err(busy(UNREACHABLE, 200, "the shard is on its way")));
        if let Some(Owner::There { node, generation }) = self.owners.of(to)
            && let Ok(delivery) = stadium_shard_wire::Delivery::new(to, generation, delivery)
            && self.letter_to(&node, to, generation, &Item::Delivery(delivery))
        {
            return;
        }
        // The owner that the map names may have gone: its successor is found by asking again.
        self.shards.take_confirmation(from, refused);
    }

    fn confirm(&self, to: u16, confirmation: Confirmation) {
        if let Some(confirmation) = stadium_shard_wire::Confirmation::new(to, confirmation) {
            self.letter(to, &Item::Confirmation(confirmation));
        }
    }

    fn release(&self, shard: u16, leases: Vec<Lease>) {
        self.letter(shard, &Item::Release(Release { shard, leases }));
    }

    fn vanished(&self, asker: u64) {
        for id in self.table.of_asker(asker) {
            if let Some(Pending { asked: Some(node), request, .. }) = self.table.take(id) {
                self.letter_to(&node, request.shard, request.generation, &Item::Abandoned(Abandoned { id }));
            }
        }
    }

    fn notify(&self, shard: u16, command: AnyCommand) {
        if let Ok(stadium_shard_wire::Command::Push(command)) = command.try_into() {
            self.letter(shard, &Item::Notice(Notice { shard, command }));
        }
    }

    fn spread(&self, shard: u16, queues: Vec<QueueName>) {
        let item = Item::SpreadQueues(SpreadQueues { shard, queues });
        for node in self.members.others() {
            self.letter_to(&node, shard, 0, &item);
        }
    }

    fn others(&self) -> Vec<u16> {
        self.owners.one_of_each()
    }
}
