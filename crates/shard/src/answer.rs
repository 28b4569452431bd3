//! What comes of a request, whichever machine it was for.
//!
//! A shard answers all of them alike; who asked gets back what he asked for ([`Reply`]).

use bytes::Bytes;
use stadium_queue::{NewJob, Placed, QueueName};
use stadium_wallet::{Booked, NewTransfer, Seal, linked_shard};

/// Transfers and jobs that are done together, in one record: all or none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Together {
    /// Booked as a linked list: their accounts live on one shard, system wallets aside.
    pub transfers: Vec<NewTransfer>,
    /// Put where the transfers are booked, or sent from there to the queue's shard.
    pub jobs: Vec<(QueueName, NewJob)>,
}

impl Together {
    /// The shards, of so many, that are asked to do this: one, or all where the transfers name only
    /// ids, and the one that knows them does it.
    pub fn shards(&self, shards: u16) -> Vec<u16> {
        match linked_shard(&self.transfers, shards) {
            Some(shard) => vec![shard],
            None => (0..shards.max(1)).collect(),
        }
    }
}

/// What came of [`Together`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// One for each transfer, in its order.
    pub booked: Vec<Booked>,
    /// One for each job, in its order; none where all transfers had been booked before, so that nothing was put now.
    ///
    /// A job on its way to another shard has the id 0 of the shard that sends it: it gets its own where it arrives.
    pub placed: Vec<Placed>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Of a command to the queues.
    Queue(stadium_queue::Answer<Bytes>),
    /// Of a command to the wallets.
    Wallet(stadium_wallet::Answer),
    /// Of a command to the push platform.
    Push(stadium_push::Answer),
    /// Of a command to the MQTT sessions.
    Session(stadium_session::Answer),
    /// Of transfers and jobs together.
    Together(Done),
    /// Seals over the wallets' books, with the shard of each.
    Seals(Vec<(u16, Seal)>),
}

/// What a [`Ticket`](crate::Ticket) can be for.
pub trait Reply: Sized {
    /// The answer, as whoever asked expects it.
    #[doc(hidden)]
    fn of(answer: Answer) -> Self;
}

macro_rules! reply {
    ($kind:ident, $answer:ty) => {
        impl Reply for $answer {
            fn of(answer: Answer) -> Self {
                match answer {
                    Answer::$kind(answer) => answer,
                    other => unreachable!("a request is answered in its own kind, not {other:?}"),
                }
            }
        }
    };
}

reply!(Queue, stadium_queue::Answer<Bytes>);
reply!(Wallet, stadium_wallet::Answer);
reply!(Push, stadium_push::Answer);
reply!(Session, stadium_session::Answer);
reply!(Together, Done);
reply!(Seals, Vec<(u16, Seal)>);
