//! The client of the shards of this process.
//!
//! Each machine says which shards a command asks, and how their answers become one: [`Routed`], and the
//! queues' own [`Route`](stadium_queue::Route). The client asks, and puts the answers together ([`Gather`]).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stadium_push::Transport;
use stadium_queue::{Command, Place, Queues, Route as QueueRoute, Spreading as _};
use stadium_state_machine::{Merge as _, Refusal, Route, Routed, StateMachine};

use crate::answer::{Answer, of_machine, of_queues};
use crate::core::{AnyCommand, Confirmation, Delivery, Kinds, Progress, Request, Search};
use crate::error::{busy, rejected};
use crate::gather::{Gather, Step};
use crate::mailbox::{Item, Mailbox};
use crate::routes::Routes;
use crate::threads::Threads;
use crate::ticket::{Answered, Holder, One, Slot, Ticket};
use crate::{Error, Settings, ShardMetrics};

/// The shards of this process. Cheap to clone.
///
/// They run until [`Self::stop`]; dropping the last clone ends nothing.
#[derive(Clone)]
pub struct Shards {
    pub(crate) inner: Arc<Inner>,
}

/// What all who submit and all shards share.
pub(crate) struct Inner {
    pub(crate) mailboxes: Vec<Mailbox>,
    pub(crate) routes: Routes,
    pub(crate) kinds: Kinds,
    pub(crate) threads: Threads,
    pub(crate) transport: OnceLock<Arc<dyn Transport>>,
}

impl Shards {
    /// Starts all shards and waits until each has recovered. `progress` is told how far each one is, from its own
    /// thread, every few thousand records.
    ///
    /// # Errors
    ///
    /// The first shard that cannot start; the others are stopped again.
    pub fn open(
        settings: Settings,
        progress: impl Fn(u16, Progress) + Send + Sync + 'static,
    ) -> Result<Shards, Error> {
        let mailbox = |_| Mailbox::new(settings.mailbox_commands_max, settings.mailbox_bytes_max);
        let inner = Arc::new(Inner {
            mailboxes: (0..settings.count).map(mailbox).collect(),
            routes: Routes::new(settings.count),
            kinds: settings.core(Place { shard: 0, shards: settings.count, hash_seed: 0 }).kinds(),
            threads: Threads::new(settings.count),
            transport: OnceLock::new(),
        });
        crate::threads::start(&inner, settings, Arc::new(progress))?;
        let shards = Shards { inner };
        shards.finish_spreading();
        shards.finish_declaring();
        Ok(shards)
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
                Ticket::many(Gather::new(parts, Box::new(merging)), of_queues)
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
                Ticket::many(Gather::new(parts, Box::new(merging)), typed)
            }
        }
    }

    /// Hands a command to a shard that the caller knows. Never waits, as [`Self::submit`].
    pub fn ask_shard<M: StateMachine>(&self, shard: u16, command: M::Command) -> Ticket<M::Answer> {
        Ticket::one(self.inner.ask::<M>(shard, command), of_machine::<M>)
    }

    /// How many shards there are.
    pub fn count(&self) -> u16 {
        self.inner.routes.shards()
    }

    /// Figures of each shard, as they were at most a tenth of a second ago.
    pub fn metrics(&self) -> Vec<ShardMetrics> {
        let with_mailbox = |(mailbox, mut metrics): (&Mailbox, ShardMetrics)| {
            (metrics.mailbox_commands, metrics.mailbox_bytes, metrics.mailbox_full) = mailbox.figures();
            metrics
        };
        self.inner.mailboxes.iter().zip(self.inner.threads.metrics()).map(with_mailbox).collect()
    }

    /// Has each shard write a checkpoint now, beside its other work.
    pub fn checkpoint_soon(&self) {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Item::Checkpoint);
        }
    }

    /// Lets all consumers go that wait for a job, with nothing, and has none wait from now on: before a stop, so that nobody holds it up.
    pub fn stop_waiting(&self) {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Item::StopWaiting);
        }
    }

    /// Stops all shards: new commands are told Busy, waiting consumers get nothing, what was begun is finished, last checkpoints are
    /// written. Returns when their threads have ended, or after `at_most`; then false. May be called twice.
    pub fn stop(&self, at_most: Duration) -> bool {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Item::Stop);
        }
        self.inner.threads.join(at_most)
    }

    /// Finishes what a crash left half done: a queue that only some shards declare spread.
    fn finish_spreading(&self) {
        for queue in self.inner.routes.partly_spread() {
            let declared = self.inner.threads.declared(&queue);
            if let Some(settings) = declared {
                // Where it does not succeed consumers go on asking all shards.
                drop(self.submit(Command::Declare { queue, settings }));
            }
        }
    }
}

impl Inner {
    /// Asks the queues of one shard.
    fn ask_queues(self: &Arc<Self>, shard: u16, command: Command, search: Search) -> Result<One, Refusal> {
        let mailbox = self.mailbox(shard)?;
        let taken_back = matches!(command, Command::Reserve { .. }).then(|| Arc::clone(self));
        let slot = Slot::new();
        mailbox.queue_request(Request { caller: Holder::new(&slot), command, search })?;
        Ok(One::new(slot, taken_back))
    }

    /// Asks a machine of one shard.
    fn ask<M: StateMachine>(self: &Arc<Self>, shard: u16, command: M::Command) -> Result<One, Refusal> {
        self.ask_any(shard, AnyCommand::of::<M>(command))
    }

    fn ask_any(self: &Arc<Self>, shard: u16, command: AnyCommand) -> Result<One, Refusal> {
        self.kinds.known(command.machine()).map_err(|reason| rejected("SHARD-009", reason))?;
        let mailbox = self.mailbox(shard)?;
        let slot = Slot::new();
        let bytes = command.bytes();
        mailbox.request(Item::Command(Holder::new(&slot), command), bytes)?;
        Ok(One::followed(slot, Arc::clone(self)))
    }

    /// Shards that follow an answer do so although nobody takes it.
    pub(crate) fn follow_up(self: &Arc<Self>, answer: &Answer) {
        if let Answer::Machine(machine, answer) = answer {
            for (shard, command) in self.kinds.of(*machine).follow_up(&**answer, self.routes.shards()) {
                // One that has no room is asked when the command is given again: nobody was answered.
                drop(self.ask_any(shard, command));
            }
        }
    }

    pub(crate) fn mailbox(&self, shard: u16) -> Result<&Mailbox, Refusal> {
        self.mailboxes.get(usize::from(shard)).ok_or_else(|| {
            let reason =
                format!("a job of the shard {shard} cannot be here: there are {}", self.mailboxes.len());
            rejected("SHARD-009", reason)
        })
    }

    /// Nobody waits for this request any more.
    pub(crate) fn vanished(&self, caller: u64) {
        for mailbox in &self.mailboxes {
            mailbox.post(Item::Vanished(caller));
        }
    }

    /// What an answer reserved goes back, since nobody took it.
    pub(crate) fn release(&self, answer: &Answer) {
        let Answer::Queue(stadium_queue::Answer::Reserved(jobs)) = answer else {
            return;
        };
        if let Some(first) = jobs.first() {
            let shard = usize::from(first.lease.job.shard());
            let leases = jobs.iter().map(|job| job.lease).collect();
            if let Some(mailbox) = self.mailboxes.get(shard) {
                mailbox.post(Item::Release(leases));
            }
        }
    }

    /// A shard found nothing to reserve: the next one is asked, or all at once.
    pub(crate) fn pass_on(&self, shard: u16, request: Request<Holder>) {
        let Request { caller, command, search } = request;
        match search {
            Search::Then { shards: 0 } | Search::Here | Search::Everywhere(_) => {
                let claim = crate::core::Claim::new();
                let mut refused = None;
                for mailbox in &self.mailboxes {
                    let search = Search::Everywhere(claim.clone());
                    let request = Request { caller: caller.clone(), command: command.clone(), search };
                    refused = mailbox.queue_request(request).err().or(refused);
                }
                // One that is waited for nowhere would wait for ever; where some shards took it, those answer.
                if let Some(refusal) = refused
                    && claim.take()
                {
                    answer(&caller, refusal);
                }
            }
            Search::Then { shards } => {
                let next = (usize::from(shard) + 1) % self.mailboxes.len();
                let search = Search::Then { shards: shards - 1 };
                let kept = caller.clone();
                if let Err(refusal) = self.mailboxes[next].queue_request(Request { caller, command, search })
                {
                    answer(&kept, refusal);
                }
            }
        }
    }

    /// A message for another shard. Where that has stopped, the answer comes back.
    pub(crate) fn deliver(&self, from: u16, to: u16, delivery: Delivery) {
        // A job goes where its queue lives by now.
        let job = delivery.of::<Queues>();
        let shard = job.map_or(to, |job| job.message.shard(&self.routes));
        let stopped = |shard: u16| busy("SHARD-004", 5_000, format!("the shard {shard} has stopped"));
        let confirmation = delivery.confirmation(Err(stopped(shard)));
        let is_posted = self
            .mailboxes
            .get(usize::from(shard))
            .is_some_and(|mailbox| mailbox.post(Item::Delivery(delivery)));
        if !is_posted {
            self.confirm(from, confirmation);
        }
    }

    pub(crate) fn confirm(&self, to: u16, confirmation: Confirmation) {
        if let Some(mailbox) = self.mailboxes.get(usize::from(to)) {
            mailbox.post(Item::Confirmation(confirmation));
        }
    }
}

fn answer(caller: &Holder, refusal: Refusal) {
    if let Ok(Some(waker)) = caller.answer(Err(refusal)) {
        waker.wake();
    }
}
