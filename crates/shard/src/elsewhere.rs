//! The shards that other nodes of a cluster serve.
//!
//! A command for a shard that is not served here goes to an [`Elsewhere`], and so does what a shard
//! of this process sends to one of another node. The other half is here too: what other nodes send
//! is taken in by [`Shards`]. A standalone server has no [`Elsewhere`].

use std::sync::Arc;

use stadium_push::Platform;
use stadium_queue::{Command, Lease, QueueName, Spread};
use stadium_state_machine::Refusal;

use crate::answer::{Answer, Together};
use crate::core::{AnyCommand, Confirmation, Delivery, Request, Search};
use crate::error::not_here;
use crate::inner::Inner;
use crate::mailbox::{Item, Posted};
use crate::reply_slot::{Answered, Holder, One, Slot, Unclaimed as _};
use crate::{Shards, Ticket};

/// Reaches the shards that other nodes serve. Nothing here waits: it is called on the threads of
/// callers and of shards.
pub trait Elsewhere: Send + Sync {
    /// Asks the owner of a shard. It is answered once, sooner or later.
    fn ask(&self, shard: u16, command: Forwarded, asker: Asker);

    /// Sends a message to a shard. Where it does not arrive, the sender repeats it; where it cannot
    /// leave, [`Shards::take_confirmation`] may say so at once.
    fn deliver(&self, to: u16, delivery: Delivery);

    /// Tells a shard what became of its message. It is asked for again where it does not arrive.
    fn confirm(&self, to: u16, confirmation: Confirmation);

    /// Gives leases back to their shard. Those that do not arrive run out.
    fn release(&self, shard: u16, leases: Vec<Lease>);

    /// Nobody waits any more for the answer of this [`Asker::id`].
    fn vanished(&self, asker: u64);

    /// Gives a shard news of devices, which nobody waits for.
    fn notify(&self, shard: u16, command: AnyCommand);

    /// A shard of this node declares other queues spread than before: all that it does.
    fn spread(&self, shard: u16, queues: Vec<QueueName>);

    /// One shard of each other node that serves any.
    fn others(&self) -> Vec<u16>;
}

/// A command on its way to another node.
#[derive(Debug)]
pub enum Forwarded {
    /// To the queues of a shard. With `searches`, a reserve that any shard of that node may answer.
    Queue {
        /// The command.
        command: Command,
        /// Whether other shards of the node are asked too.
        searches: bool,
    },
    /// To another machine.
    Machine(AnyCommand),
    /// Transfers and jobs.
    Together(Together),
}

/// The right to answer a command that was forwarded. One that is dropped is answered with Busy.
pub struct Asker {
    holder: Holder,
    inner: Arc<Inner>,
}

impl Asker {
    /// Distinguishes those who are not answered. The parts of one search have the same.
    #[must_use]
    pub fn id(&self) -> u64 {
        use crate::core::Caller as _;
        self.holder.id()
    }

    /// Answers. Jobs that nobody waits for any more are given back.
    pub fn answer(self, answer: Result<Answer, Refusal>) {
        match self.holder.answer(answer) {
            Ok(Some(waker)) => waker.wake(),
            Ok(None) | Err(Err(_)) => {}
            Err(Ok(answer)) => {
                self.inner.release(&answer);
                Arc::clone(&self.inner).follow_up(&answer);
            }
        }
    }
}

impl Shards {
    /// Reaches the shards of other nodes by this from now on, or by nothing.
    pub fn set_elsewhere(&self, elsewhere: Option<Arc<dyn Elsewhere>>) {
        *self.inner.elsewhere.write() = elsewhere;
    }

    /// Whether this process serves the shard.
    pub fn is_served(&self, shard: u16) -> bool {
        self.inner.mailbox(shard).is_ok_and(|mailbox| mailbox.is_served())
    }

    /// Hands a command of another node to a shard. It is never passed on to another node: where the
    /// shard is not served here, that is refused (SHARD-016).
    pub fn ask_forwarded(&self, shard: u16, command: Forwarded) -> Ticket<Answer> {
        Ticket::one(self.inner.ask_here(shard, command), std::convert::identity)
    }

    /// Gives back what an answer that nobody takes has reserved.
    pub fn release_unclaimed(&self, answer: &Answer) {
        self.inner.release(answer);
    }

    /// Takes in a message of another node's shard. It is confirmed through [`Elsewhere::confirm`].
    pub fn take_delivery(&self, to: u16, delivery: Delivery) {
        let from = delivery.shard;
        let confirmation = delivery.confirmation(Err(not_here()));
        let taken = self.inner.mailbox(to).is_ok_and(|mailbox| {
            // A shard that follows its owner must not take it in.
            mailbox.is_served() && mailbox.post(Item::Delivery(delivery))
        });
        if !taken {
            self.inner.confirm(from, confirmation);
        }
    }

    /// Takes in what became of a message that a shard of this node sent.
    pub fn take_confirmation(&self, to: u16, confirmation: Confirmation) {
        if let Ok(mailbox) = self.inner.mailbox(to) {
            mailbox.post(Item::Confirmation(confirmation));
        }
    }

    /// Takes leases back that a consumer of another node does not want.
    pub fn take_release(&self, shard: u16, leases: Vec<Lease>) {
        if let Ok(mailbox) = self.inner.mailbox(shard) {
            mailbox.post(Item::Release(leases));
        }
    }

    /// Takes news of the devices of another node.
    pub fn take_notice(&self, shard: u16, command: stadium_push::Command) {
        if let Ok(mailbox) = self.inner.mailbox(shard)
            && mailbox.is_served()
        {
            let command = AnyCommand::of::<Platform>(command);
            let bytes = command.bytes();
            mailbox.notify(Item::Command(Holder::new(&Slot::new()), command), bytes);
        }
    }

    /// News of devices may have been lost on their way from another node, or dispatches on their way to
    /// it: the shards that are served here forget all connections, and have them announced again.
    pub fn lose_notices(&self) {
        for mailbox in self.inner.mailboxes.iter().filter(|mailbox| mailbox.is_served()) {
            mailbox.lose_notices();
        }
    }

    /// Takes the queues that a shard of another node declares spread: all of them.
    pub fn take_spread(&self, shard: u16, queues: &[QueueName]) {
        if shard < self.count() && !self.is_served(shard) {
            self.inner.routes.forget(shard);
            for queue in queues {
                self.inner.routes.declared(shard, queue, Spread::AllShards);
            }
        }
    }

    /// The queues that a shard declares spread, as far as this process knows.
    pub fn spread_queues(&self, shard: u16) -> Vec<QueueName> {
        self.inner.routes.spread_of(shard)
    }
}

impl Inner {
    /// Hands a request that its mailbox did not take to another node.
    pub(crate) fn pass_elsewhere(self: &Arc<Self>, shard: u16, item: Item) -> Result<(), Refusal> {
        let Some(elsewhere) = self.elsewhere.read().clone() else {
            return Err(not_here());
        };
        let (command, holder) = match item {
            Item::Request(Request { caller, command, search }) => {
                let searches = !matches!(search, Search::Here);
                (Forwarded::Queue { command, searches }, caller)
            }
            Item::Command(caller, command) => (Forwarded::Machine(command), caller),
            Item::Together(caller, together) => (Forwarded::Together(*together), caller),
            // Nobody waits for them.
            _ => return Ok(()),
        };
        elsewhere.ask(shard, command, Asker { holder, inner: Arc::clone(self) });
        Ok(())
    }

    /// As [`Self::pass_elsewhere`]; a caller that cannot be passed on is refused.
    pub(crate) fn pass_or_refuse(self: &Arc<Self>, shard: u16, item: Item) {
        let caller = item.caller().cloned();
        if let Err(refusal) = self.pass_elsewhere(shard, item)
            && let Some(caller) = caller
        {
            answer(&caller, Err(refusal));
        }
    }

    /// Asks a shard that must be served here.
    fn ask_here(self: &Arc<Self>, shard: u16, command: Forwarded) -> Result<One, Refusal> {
        let mailbox = self.mailbox(shard)?;
        let slot = Slot::new();
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
                let bytes = crate::wallets::together_bytes(&together);
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

/// Answers a caller, and wakes it.
pub(crate) fn answer(caller: &Holder, answered: Answered) {
    if let Ok(Some(waker)) = caller.answer(answered) {
        waker.wake();
    }
}
