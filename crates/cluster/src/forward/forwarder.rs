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
use stadium_forward::{Bounds, Commands, Kept, Owner, Owners, Sent, Step};
use stadium_links::{Carrier as _, Endpoint, LinkFigures, NodeName, Outgoing, Reach, Refused, Tag, Target};
use stadium_membership::Error;
use stadium_membership_etcd::Snapshot;
use stadium_push::Transport;
use stadium_queue::{Command as Queue, Lease, QueueName, Refusal};
use stadium_shard::core::{AnyCommand, Confirmation, Delivery};
use stadium_shard::{Answer, Asker, Elsewhere, Forwarded, GivenUp, Shards, UNREACHABLE};
use stadium_shard_wire::{Abandoned, Item, Notice, Release, SpreadQueues};
use stadium_state_machine::{busy, rejected};
use stadium_telemetry::Tracer;

use super::alarm::Alarm;
use super::bytes::with_bytes;
use super::members::Members;
use super::questions::Questions;
use super::serving::Serving;
use super::settings::{BODY_BYTES_MAX, LinkSettings};
use crate::transport::{ClusterTransport, NodeSender};

/// The node of a cluster as others' commands reach it, and as its own reach others.
pub(crate) struct Forwarder {
    /// Itself, for what comes back later.
    pub(super) me: Weak<Forwarder>,
    pub(super) shards: Shards,
    owners: Owners,
    /// They changed since messages between shards were last sent again.
    has_other_owners: AtomicBool,
    pub(super) commands: Commands<Asker>,
    /// Of its thread.
    pub(super) alarm: Alarm,
    pub(super) members: Members,
    /// None before it listens, and after its end.
    pub(super) endpoint: RwLock<Option<Endpoint>>,
    /// Reserves of other nodes that are being carried out here, by node and id.
    pub(super) serving: Mutex<HashMap<(NodeName, u64), Weak<Serving>>>,
    /// The transport of pushes of this node, once it has one.
    pub(super) transport: OnceLock<Arc<ClusterTransport>>,
    pub(super) kept: Kept,
    pub(super) questions: Questions,
    pub(super) tracer: Tracer,
    ends: AtomicBool,
    pub(super) counts: Counts,
}

/// Counts since the start.
#[derive(Default)]
pub(super) struct Counts {
    asked: AtomicU64,
    given_back: AtomicU64,
    asked_again: AtomicU64,
    pub(super) served: AtomicU64,
    unknown: AtomicU64,
}

/// Figures of the commands that a node forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardFigures {
    /// Commands of this node for shards of others, since the start; those aside that its own shards
    /// had taken on.
    pub asked: u64,
    /// Commands that its own shards had taken on and gave back, to be asked again.
    pub given_back: u64,
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
            has_other_owners: AtomicBool::new(false),
            commands: Commands::new(Bounds::default(), fastrand::u64(..)),
            alarm: Alarm::default(),
            members: Members::new(me.clone()),
            endpoint: RwLock::new(None),
            serving: Mutex::default(),
            transport: OnceLock::new(),
            kept: Kept::default(),
            questions: Questions::default(),
            tracer: settings.tracer.clone(),
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
        forwarder.commands.close();
        forwarder.alarm.ring();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
        // Requests that are under way have their outcomes when it has ended.
        let endpoint = forwarder.endpoint.write().take();
        drop(endpoint);
        for step in forwarder.commands.end_all() {
            if let Step::Answered(asker, refusal) = step {
                forwarder.answer(asker, refusal);
            }
        }
    }
}

impl Forwarder {
    /// Follows the cluster: owners at once, links to members by its thread.
    pub(crate) fn follow(&self, snapshot: &Arc<Snapshot>) {
        let has_other_owners = self.owners.follow(&snapshot.view);
        if has_other_owners {
            self.has_other_owners.store(true, Ordering::Release);
        }
        if self.members.follow(snapshot) || has_other_owners {
            self.alarm.ring();
        }
    }

    /// Takes pushes to devices of all nodes by a transport of this node, which takes them to its
    /// own.
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
        let Counts { asked, given_back, asked_again, served, unknown } = &self.counts;
        ForwardFigures {
            asked: asked.load(Ordering::Relaxed),
            given_back: given_back.load(Ordering::Relaxed),
            asked_again: asked_again.load(Ordering::Relaxed),
            served: served.load(Ordering::Relaxed),
            unknown: unknown.load(Ordering::Relaxed),
            pending: self.commands.len() as u64,
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
            let next = self.commands.take_due(Instant::now(), &mut due);
            if due.is_empty() {
                self.alarm.wait(next);
            }
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
            // Messages between shards may be lost with a link, and with an owner.
            if self.has_other_owners.swap(false, Ordering::AcqRel)
                || news.has_lost
                || !news.reached.is_empty()
            {
                self.shards.send_again();
            }
            if news.has_lost {
                self.shards.lose_notices();
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
        let is_served = |shard| self.shards.is_served(shard);
        let send =
            |node: &NodeName, target, within, item: &Item| self.request(id, node, target, within, item);
        let step = self.commands.attempt(id, Instant::now(), &self.owners, is_served, send);
        self.take_step(id, step);
    }

    /// Does what the table of commands asks for.
    pub(super) fn take_step(&self, id: u64, step: Step<Asker>) {
        match step {
            Step::Nothing => {}
            Step::Later { is_first } => {
                if is_first {
                    self.alarm.ring();
                }
            }
            // The thread that answers holds it; a node that has ended answers nobody.
            Step::Here(shard, command) => {
                Serving::start(self.shards.ask_forwarded(shard, command), self.answered_later(id));
            }
            Step::Answered(asker, answer) => self.answer(asker, answer),
            // Its asker has gone meanwhile: jobs that it would have had are given back.
            Step::Unclaimed(answer) => self.shards.release_unclaimed(&answer),
        }
    }

    fn answer(&self, asker: Asker, answer: Result<Answer, Refusal>) {
        let is_unknown = answer.as_ref().is_err_and(Refusal::is_unknown);
        self.counts.unknown.fetch_add(is_unknown.into(), Ordering::Relaxed);
        asker.answer(answer);
    }

    fn request(&self, id: u64, node: &NodeName, target: Target, within: Duration, item: &Item) -> Sent {
        let endpoint = self.endpoint.read();
        let Some(endpoint) = &*endpoint else { return Sent::Later };
        let sent = with_bytes(item, |body| {
            endpoint.request(node, stadium_links::Lane::Data, within, Tag(id), Outgoing { target, body })
        });
        match sent {
            Ok(Ok(())) => Sent::OnItsWay,
            Ok(Err(Refused::Down | Refused::NoSuchNode)) => Sent::Later,
            Ok(Err(refused @ (Refused::Busy | Refused::NodeBusy))) => {
                Sent::Refused(busy("CLU-211", 100, refused.to_string()))
            }
            Ok(Err(refused @ Refused::TooLong)) => Sent::Refused(rejected("CLU-213", refused.to_string())),
            Err(refusal) => Sent::Refused(refusal),
        }
    }

    /// Gives the answer of a shard of this node to a command that began elsewhere.
    fn answered_later(&self, id: u64) -> impl FnOnce(Result<Answer, Refusal>) + Send + 'static {
        let me = self.me.clone();
        move |answer| {
            if let Some(forwarder) = me.upgrade() {
                let step = forwarder.commands.answered(id, answer, Instant::now());
                forwarder.take_step(id, step);
            }
        }
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

impl Elsewhere for Forwarder {
    fn ask(&self, shard: u16, command: Forwarded, asker: Asker) {
        self.counts.asked.fetch_add(1, Ordering::Relaxed);
        match self.commands.enter(shard, command, asker, Instant::now()) {
            Ok(id) => self.send(id),
            Err((asker, refusal)) => asker.answer(Err(refusal)),
        }
    }

    fn ask_again(&self, shard: u16, command: Forwarded, asker: Asker, given_up: GivenUp) {
        self.counts.given_back.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        match self.commands.enter_again(shard, command, asker, given_up, now) {
            Ok(id) => self.take_step(id, self.commands.again(id, now)),
            Err((asker, refusal)) => self.answer(asker, Err(refusal)),
        }
    }

    fn identify(&self, command: &mut Queue) {
        self.commands.identify(command);
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
        for (id, node, Target { shard, generation }) in self.commands.gone(asker) {
            self.letter_to(&node, shard as u16, generation, &Item::Abandoned(Abandoned { id }));
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
