//! What other nodes send to shards of this one, and what decides that a command goes elsewhere.
//!
//! [`Elsewhere`] is the other half.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stadium_push::Platform;
use stadium_queue::{Lease, QueueName, Spread};

use crate::answer::Answer;
use crate::client::Shards;
use crate::core::{AnyCommand, Confirmation, Delivery};
use crate::elsewhere::{Elsewhere, Forwarded};
use crate::error::not_here;
use crate::mailbox::Item;
use crate::reply_slot::{Holder, Slot, Unclaimed as _};
use crate::ticket::Ticket;

impl Shards {
    /// Reaches the shards of other nodes by this from now on, or by nothing.
    pub fn set_elsewhere(&self, elsewhere: Option<Arc<dyn Elsewhere>>) {
        let mut current = self.inner.elsewhere.write();
        self.inner.has_elsewhere.store(elsewhere.is_some(), Ordering::Relaxed);
        *current = elsewhere;
    }

    /// Has each shard of this process send all messages again that other shards have not confirmed:
    /// some may have been lost on their way. Shards do so by themselves when a confirmation is overdue.
    pub fn send_again(&self) {
        for mailbox in &self.inner.mailboxes {
            mailbox.post(Item::SendAgain);
        }
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
