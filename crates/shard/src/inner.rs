//! The state that the client and the shards' threads share: mailboxes, routes, the machines' kinds.
//!
//! Commands go into mailboxes, and so do the messages between shards.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use stadium_push::Transport;
use stadium_queue::{Command, Queues, Spreading as _};
use stadium_state_machine::{Leasing as _, Refusal, StateMachine};

use crate::answer::Answer;
use crate::core::{AnyCommand, Confirmation, Delivery, Direct as _, Kinds, NodeLease, Request, Search};
use crate::error::{busy, rejected};
use crate::mailbox::{Absence, Item, Mailbox};
use crate::reply_slot::{Holder, One, Slot, Unclaimed};
use crate::routes::Routes;
use crate::threads::{CHECKPOINTS_MAX, Threads};
use crate::{Error, Settings};

/// The shared state.
pub(crate) struct Inner {
    pub(crate) mailboxes: Vec<Mailbox>,
    pub(crate) routes: Routes,
    pub(crate) kinds: Kinds,
    pub(crate) threads: Threads,
    pub(crate) transport: OnceLock<Arc<dyn Transport>>,
    /// See [`crate::Shards::attach_lease`].
    pub(crate) lease: Mutex<Option<Arc<dyn NodeLease>>>,
    pub(crate) settings: Settings,
    /// The next shard that is asked to stop.
    pub(crate) stops_next: AtomicUsize,
}

impl Inner {
    /// Asks all shards to stop. They refuse requests at once, and as many as may write a checkpoint at
    /// once stop at a time.
    pub(crate) fn stop(&self) {
        if !self.threads.stop() {
            return;
        }
        for mailbox in &self.mailboxes {
            mailbox.refuse(Absence::Stopping);
            if self.mailboxes.len() > CHECKPOINTS_MAX {
                mailbox.post(Item::StopWaiting);
            }
        }
        for _ in 0..CHECKPOINTS_MAX {
            self.stop_next();
        }
    }

    /// Counts a shard that is about to be opened; commands wait for it from now on.
    ///
    /// # Errors
    ///
    /// It cannot be opened now.
    pub(crate) fn begin(&self, shard: u16) -> Result<(), Error> {
        let mailbox = self.mailboxes.get(usize::from(shard)).ok_or_else(|| self.no_shard(shard))?;
        self.threads.begin(shard, || mailbox.open())
    }

    /// As [`Self::begin`], of a shard whose owner is elsewhere.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`].
    pub(crate) fn begin_following(&self, shard: u16) -> Result<(), Error> {
        let mailbox = self.mailboxes.get(usize::from(shard)).ok_or_else(|| self.no_shard(shard))?;
        self.threads.begin(shard, || mailbox.follow())
    }

    fn no_shard(&self, shard: u16) -> Error {
        Error::NotNow(format!("there is no shard {shard}: there are {}", self.mailboxes.len()))
    }

    /// Asks one shard to stop, while the others go on.
    pub(crate) fn stop_one(&self, shard: u16) {
        if let Some(mailbox) = self.mailboxes.get(usize::from(shard)) {
            mailbox.refuse(Absence::NotHere);
            mailbox.post(Item::StopWaiting);
            mailbox.post(Item::Stop);
        }
    }

    /// Asks the next shard that is open to stop, if there is one.
    fn stop_next(&self) {
        while let Some(mailbox) = self.mailboxes.get(self.stops_next.fetch_add(1, Ordering::SeqCst)) {
            if mailbox.post(Item::Stop) {
                return;
            }
        }
    }

    /// A shard has ended, or could not be opened.
    pub(crate) fn has_ended(&self, shard: u16) {
        self.mailboxes[usize::from(shard)].close();
        if self.threads.is_stopping() {
            self.stop_next();
        }
        self.threads.has_ended(shard);
    }

    /// Asks the queues of one shard.
    pub(crate) fn ask_queues(
        self: &Arc<Self>,
        shard: u16,
        command: Command,
        search: Search,
    ) -> Result<One, Refusal> {
        let mailbox = self.mailbox(shard)?;
        let is_taken_back = matches!(command, Command::Reserve { .. });
        // It is passed on to no other one.
        let alone = matches!(search, Search::Here).then_some(shard);
        let slot = Slot::new();
        mailbox.queue_request(Request { caller: Holder::new(&slot), command, search })?;
        if !is_taken_back {
            return Ok(One::new(slot));
        }
        Ok(One::taken_back(slot, Arc::clone(self) as Arc<dyn Unclaimed>, alone))
    }

    /// Asks a machine of one shard.
    pub(crate) fn ask<M: StateMachine>(
        self: &Arc<Self>,
        shard: u16,
        command: M::Command,
    ) -> Result<One, Refusal> {
        self.ask_any(shard, AnyCommand::of::<M>(command))
    }

    fn ask_any(self: &Arc<Self>, shard: u16, command: AnyCommand) -> Result<One, Refusal> {
        self.kinds.known(command.machine()).map_err(|reason| rejected("SHARD-009", reason))?;
        let mailbox = self.mailbox(shard)?;
        let slot = Slot::new();
        let bytes = command.bytes();
        mailbox.request(Item::Command(Holder::new(&slot), command), bytes)?;
        Ok(One::followed(slot, Arc::clone(self) as Arc<dyn Unclaimed>))
    }

    pub(crate) fn mailbox(&self, shard: u16) -> Result<&Mailbox, Refusal> {
        self.mailboxes.get(usize::from(shard)).ok_or_else(|| {
            let reason =
                format!("a job of the shard {shard} cannot be here: there are {}", self.mailboxes.len());
            rejected("SHARD-009", reason)
        })
    }

    /// A shard found nothing to reserve: the next one is asked, or all at once.
    pub(crate) fn pass_on(&self, shard: u16, request: Request<Holder, Command>) {
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
                // One that is waited for nowhere would wait for ever; where some shards took it,
                // those answer.
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

impl Unclaimed for Inner {
    fn release(&self, answer: &Answer) {
        let leases = Queues::resolved(answer).map_or_else(Vec::new, Queues::leases);
        if let Some(first) = leases.first() {
            let shard = usize::from(first.job.shard());
            if let Some(mailbox) = self.mailboxes.get(shard) {
                mailbox.post(Item::Release(leases));
            }
        }
    }

    fn vanished(&self, caller: u64, alone: Option<u16>) {
        let asked = match alone {
            Some(shard) => self.mailboxes.get(usize::from(shard)).map_or(&[][..], std::slice::from_ref),
            None => &self.mailboxes,
        };
        for mailbox in asked {
            mailbox.post(Item::Vanished(caller));
        }
    }

    fn follow_up(self: Arc<Self>, answer: &Answer) {
        if let Answer::Machine(machine, answer) = answer {
            for (shard, command) in self.kinds.of(*machine).follow_up(&**answer, self.routes.shards()) {
                // One that has no room is asked when the command is given again: nobody was
                // answered.
                drop(self.ask_any(shard, command));
            }
        }
    }
}

fn answer(caller: &Holder, refusal: Refusal) {
    if let Ok(Some(waker)) = caller.answer(Err(refusal)) {
        waker.wake();
    }
}
