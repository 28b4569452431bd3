//! The state that the client and the shards' threads share: mailboxes, routes, the machines' kinds.
//!
//! Commands go into mailboxes, and so do the messages between shards.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use stadium_push::Transport;
use stadium_queue::{Command, Queues, Spreading as _};
use stadium_state_machine::{Leasing as _, Refusal, StateMachine};

use crate::answer::Answer;
use crate::core::{
    AnyCommand, Caller as _, Confirmation, Delivery, Direct as _, GivenBack, Kinds, NodeLease, Request,
    Search, SegmentHold, SegmentMoves,
};
use crate::elsewhere::{Asker, Elsewhere, Forwarded, GivenUp};
use crate::error::{STOPPING, busy, not_here, rejected};
use crate::frame::MachineId;
use crate::mailbox::{Absence, Item, Mailbox, Posted};
use crate::reply_slot::{Holder, One, Slot, Unclaimed, answer};
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
    /// The shards of other nodes.
    pub(crate) elsewhere: RwLock<Option<Arc<dyn Elsewhere>>>,
    /// Whether there is one, to be looked at for each command.
    pub(crate) has_elsewhere: AtomicBool,
    /// See [`crate::Shards::attach_lease`].
    pub(crate) lease: Mutex<Option<Arc<dyn NodeLease>>>,
    pub(crate) settings: Settings,
    /// Of each shard, the segments that stay for a backup.
    pub(crate) holds: Vec<SegmentHold>,
    /// Of each shard, the segments that may move to an object store.
    pub(crate) moves: Vec<SegmentMoves>,
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
    pub(crate) fn has_ended(self: &Arc<Self>, shard: u16) {
        self.mailboxes[usize::from(shard)].close(|item, refusal| self.refuse(shard, item, refusal));
        if self.threads.is_stopping() {
            self.stop_next();
        }
        self.threads.has_ended(shard);
    }

    /// Asks the queues of one shard.
    pub(crate) fn ask_queues(
        self: &Arc<Self>,
        shard: u16,
        mut command: Command,
        search: Search,
    ) -> Result<One, Refusal> {
        let mailbox = self.mailbox(shard)?;
        let slot = match search {
            Search::Here => self.slot(),
            // Another node is searched instead.
            Search::Then { .. } | Search::Everywhere(_) => Slot::new(),
        };
        if matches!(command, Command::Put { .. })
            && self.has_elsewhere.load(Ordering::Relaxed)
            && let Some(elsewhere) = &*self.elsewhere.read()
        {
            elsewhere.identify(&mut command);
        }
        slot.trace(Some(MachineId::of::<Queues>()), shard);
        let caller = Holder::new(&slot);
        let one = self.one_of_queues(shard, &command, &search, slot);
        self.taken(shard, mailbox.queue_request(Request { caller, command, search }))?;
        Ok(one)
    }

    /// The caller's end of a request to the queues.
    pub(crate) fn one_of_queues(
        self: &Arc<Self>,
        shard: u16,
        command: &Command,
        search: &Search,
        slot: Arc<Slot>,
    ) -> One {
        if !matches!(command, Command::Reserve { .. }) {
            return One::new(slot);
        }
        // It is passed on to no other one.
        let alone = matches!(search, Search::Here).then_some(shard);
        One::taken_back(slot, Arc::clone(self) as Arc<dyn Unclaimed>, alone)
    }

    /// The caller's end of a command that other shards may have to follow.
    pub(crate) fn one_followed(self: &Arc<Self>, slot: Arc<Slot>) -> One {
        One::followed(slot, Arc::clone(self) as Arc<dyn Unclaimed>)
    }

    /// Passes on what is not for a shard of this process.
    pub(crate) fn taken(self: &Arc<Self>, shard: u16, posted: Posted) -> Result<(), Refusal> {
        match posted {
            Posted::Taken => Ok(()),
            Posted::Refused(refusal) => Err(refusal),
            Posted::NotHere(item) => self.pass_elsewhere(shard, item),
        }
    }

    /// Refuses a command for a machine that the shards do not have.
    pub(crate) fn known(&self, command: &AnyCommand) -> Result<(), Refusal> {
        self.kinds.known(command.machine()).map(|_| ()).map_err(|reason| rejected("SHARD-009", reason))
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
        self.known(&command)?;
        let mailbox = self.mailbox(shard)?;
        let slot = self.slot();
        slot.trace(Some(command.machine()), shard);
        let bytes = command.bytes();
        self.taken(shard, mailbox.request(Item::Command(Holder::new(&slot), command), bytes))?;
        Ok(self.one_followed(slot))
    }

    pub(crate) fn mailbox(&self, shard: u16) -> Result<&Mailbox, Refusal> {
        self.mailboxes.get(usize::from(shard)).ok_or_else(|| {
            let reason =
                format!("a job of the shard {shard} cannot be here: there are {}", self.mailboxes.len());
            rejected("SHARD-009", reason)
        })
    }

    /// A shard found nothing to reserve: the next one of this process is asked, or all of them at
    /// once.
    pub(crate) fn pass_on(&self, shard: u16, request: Request<Holder, Command>) {
        let Request { caller, command, search } = request;
        match search {
            Search::Then { shards: 0 } | Search::Here | Search::Everywhere(_) => {
                let claim = crate::core::Claim::new();
                let (mut is_taken, mut refused) = (false, None);
                for mailbox in &self.mailboxes {
                    let search = Search::Everywhere(claim.clone());
                    let request = Request { caller: caller.clone(), command: command.clone(), search };
                    match mailbox.queue_request(request) {
                        Posted::Taken => is_taken = true,
                        Posted::Refused(refusal) => refused = Some(refusal),
                        Posted::NotHere(_) => {}
                    }
                }
                // One that is waited for nowhere would wait for ever; where some shards took it,
                // those answer.
                let refused = refused.or_else(|| (!is_taken).then(not_here));
                if let Some(refusal) = refused
                    && claim.take()
                {
                    answer(&caller, Err(refusal));
                }
            }
            Search::Then { shards: left } => {
                let kept = caller.clone();
                let mut request = Request { caller, command, search };
                for step in 1..=left {
                    let next = (usize::from(shard) + usize::from(step)) % self.mailboxes.len();
                    request.search = Search::Then { shards: left - step };
                    match self.mailboxes[next].queue_request(request) {
                        Posted::Taken => return,
                        Posted::Refused(refusal) => return answer(&kept, Err(refusal)),
                        Posted::NotHere(Item::Request(back)) => request = back,
                        Posted::NotHere(_) => unreachable!("what was not taken comes back"),
                    }
                }
                // All others are elsewhere: this one decides alone.
                request.search = Search::Then { shards: 0 };
                match self.mailboxes[usize::from(shard)].queue_request(request) {
                    Posted::Taken => {}
                    Posted::Refused(refusal) => answer(&kept, Err(refusal)),
                    Posted::NotHere(_) => answer(&kept, Err(not_here())),
                }
            }
        }
    }

    /// A message for another shard. Where that has stopped, the answer comes back.
    pub(crate) fn deliver(&self, from: u16, to: u16, delivery: Delivery) {
        // A job goes where its queue lives by now.
        let job = delivery.of::<Queues>();
        let shard = job.map_or(to, |job| job.message.shard(&self.routes));
        let stopped = |shard: u16| busy(STOPPING, 5_000, format!("the shard {shard} has stopped"));
        let confirmation = delivery.confirmation(Err(stopped(shard)));
        if let Some(elsewhere) = self.elsewhere_of(shard) {
            return elsewhere.deliver(shard, delivery);
        }
        let is_posted = self
            .mailboxes
            .get(usize::from(shard))
            .is_some_and(|mailbox| mailbox.post(Item::Delivery(delivery)));
        if !is_posted {
            self.confirm(from, confirmation);
        }
    }

    /// The way to a shard of another node; none where this process serves it, or is alone.
    pub(crate) fn elsewhere_of(&self, shard: u16) -> Option<Arc<dyn Elsewhere>> {
        let elsewhere = self.elsewhere.read();
        let elsewhere = elsewhere.as_ref()?;
        let is_served = self.mailboxes.get(usize::from(shard)).is_some_and(Mailbox::is_served);
        (!is_served).then(|| Arc::clone(elsewhere))
    }

    pub(crate) fn confirm(&self, to: u16, confirmation: Confirmation) {
        if let Some(elsewhere) = self.elsewhere_of(to) {
            return elsewhere.confirm(to, confirmation);
        }
        if let Some(mailbox) = self.mailboxes.get(usize::from(to)) {
            mailbox.post(Item::Confirmation(confirmation));
        }
    }
}

impl Inner {
    /// The slot of a command of this node. Where there are other nodes the command comes back to be
    /// asked again; a command of another node is asked again by that one.
    pub(crate) fn slot(&self) -> Arc<Slot> {
        Slot::coming_back(self.has_elsewhere.load(Ordering::Relaxed))
    }

    /// Hands a request that its mailbox did not take to another node.
    pub(crate) fn pass_elsewhere(self: &Arc<Self>, shard: u16, item: Item) -> Result<(), Refusal> {
        let Some(elsewhere) = self.elsewhere.read().clone() else {
            return Err(not_here());
        };
        if let Some((command, holder)) = forwarded(item) {
            elsewhere.ask(shard, command, Asker::new(holder, Arc::clone(self) as Arc<dyn Unclaimed>));
        }
        Ok(())
    }

    /// Refuses a request that a shard of this process had taken, unless it is asked again.
    pub(crate) fn refuse(self: &Arc<Self>, shard: u16, item: Item, refusal: Refusal) {
        let Some((command, caller)) = forwarded(item) else { return };
        if caller.comes_back() {
            self.ask_again(shard, command, caller, GivenUp { refusal, held: Duration::ZERO });
        } else {
            answer(&caller, Err(refusal));
        }
    }

    /// Asks for a command again that a shard gave back.
    pub(crate) fn given_back(self: &Arc<Self>, shard: u16, given_back: GivenBack<Holder, Command>) {
        let (caller, command, given_up) = given_back.into_parts();
        self.ask_again(shard, command, caller, given_up);
    }

    fn ask_again(self: &Arc<Self>, shard: u16, command: Forwarded, caller: Holder, given_up: GivenUp) {
        let elsewhere = self.elsewhere.read().clone().filter(|_| !self.threads.is_stopping());
        match elsewhere {
            Some(elsewhere) => {
                let asker = Asker::new(caller, Arc::clone(self) as Arc<dyn Unclaimed>);
                elsewhere.ask_again(shard, command, asker, given_up);
            }
            None => answer(&caller, Err(given_up.refusal)),
        }
    }

    /// Asks a shard that must be served here.
    pub(crate) fn ask_here(self: &Arc<Self>, shard: u16, command: Forwarded) -> Result<One, Refusal> {
        let mailbox = self.mailbox(shard)?;
        let slot = Slot::new();
        slot.trace(command.machine(), shard);
        let caller = Holder::new(&slot);
        let (posted, one) = match command {
            Forwarded::Queue { command, searches } => {
                let search = match searches {
                    true => Search::Then { shards: self.settings.count - 1 },
                    false => Search::Here,
                };
                let one = self.one_of_queues(shard, &command, &search, slot);
                (mailbox.queue_request(Request { caller, command, search }), one)
            }
            Forwarded::Machine(command) => {
                self.known(&command)?;
                let bytes = command.bytes();
                (mailbox.request(Item::Command(caller, command), bytes), self.one_followed(slot))
            }
            Forwarded::Together(together) => {
                let bytes = together.bytes();
                let item = Item::Together(caller, Box::new(together));
                (mailbox.request(item, bytes), One::new(slot))
            }
        };
        match posted {
            Posted::Taken => Ok(one),
            Posted::Refused(refusal) => Err(refusal),
            Posted::NotHere(_) => Err(not_here()),
        }
    }

    /// Tells the other nodes which queues a shard of this one declares spread.
    pub(crate) fn tell_spread(&self, shard: u16) {
        if let Some(elsewhere) = self.elsewhere.read().clone() {
            elsewhere.spread(shard, self.routes.spread_of(shard));
        }
    }
}

/// A request as other nodes are asked, and who asked; none for items that nobody waits for.
fn forwarded(item: Item) -> Option<(Forwarded, Holder)> {
    match item {
        Item::Request(Request { caller, command, search }) => {
            let searches = !matches!(search, Search::Here);
            Some((Forwarded::Queue { command, searches }, caller))
        }
        Item::Command(caller, command) => Some((Forwarded::Machine(command), caller)),
        Item::Together(caller, together) => Some((Forwarded::Together(*together), caller)),
        _ => None,
    }
}

impl Unclaimed for Inner {
    fn release(&self, answer: &Answer) {
        let leases = Queues::resolved(answer).map_or_else(Vec::new, Queues::leases);
        if let Some(first) = leases.first() {
            let shard = first.job.shard();
            if let Some(elsewhere) = self.elsewhere_of(shard) {
                elsewhere.release(shard, leases);
            } else if let Some(mailbox) = self.mailboxes.get(usize::from(shard)) {
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
        if let Some(elsewhere) = &*self.elsewhere.read() {
            elsewhere.vanished(caller);
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
