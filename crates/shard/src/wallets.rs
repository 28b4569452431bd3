//! Commands to the wallets, and transfers together with jobs.
//!
//! The wallets determine themselves which shards a command asks.

use std::collections::BTreeMap;

use stadium_wallet::{Answer, AssetCode, Command, Ledger, Seal};

use crate::answer::{Done, Together, of_machine, of_together};
use crate::client::STARTED;
use crate::mailbox::Item;
use crate::reply_slot::{Holder, One};
use crate::scatter_gather::{ScatterGather, Step};
use crate::{Shards, Ticket};

impl Shards {
    /// Hands a command to the shard that decides it, or to several. Never waits, as [`Self::submit`].
    pub fn submit_wallet(&self, command: Command) -> Ticket<Answer> {
        self.ask::<Ledger>(command)
    }

    /// Seals over the books of one shard, or of all: of each those numbered above `after`, the
    /// oldest of them first, so many at most. The last 10,000 of a shard are remembered. All of
    /// them are durable.
    pub fn seals(&self, shard: Option<u16>, after: u64, seals_max: usize) -> Ticket<Vec<(u16, Seal)>> {
        self.ask_as::<Ledger, _>(Command::Seals { shard, after, seals_max }, |answer| {
            match of_machine::<Ledger>(answer) {
                Answer::Seals(seals) => seals,
                other => unreachable!("seals are answered with seals, not {other:?}"),
            }
        })
    }

    /// Books linked transfers and puts jobs in one record: all or none. A duplicate (same transfer ids, same content) puts nothing again.
    pub fn submit_together(&self, together: Together) -> Ticket<Done> {
        let mut shards = together.shards(self.count());
        let bytes = together.bytes();
        let ask = |shard, together| {
            let mailbox = self.inner.mailbox(shard)?;
            let slot = self.inner.slot();
            slot.trace(None, shard);
            let item = Item::Together(Holder::new(&slot), Box::new(together));
            self.inner.taken(shard, mailbox.request(item, bytes))?;
            Ok(One::new(slot))
        };
        let last = shards.pop().expect("a shard at least");
        if shards.is_empty() {
            return Ticket::one(ask(last, together), of_together);
        }
        let mut asked: Vec<_> = shards.into_iter().map(|shard| ask(shard, together.clone())).collect();
        asked.push(ask(last, together));
        let merging = |answers| Step::Done(stadium_wallet::who_knows(answers));
        Ticket::many(ScatterGather::new(asked, Box::new(merging)), of_together)
    }
}

impl Shards {
    /// Finishes what a crash left half done: an asset that only some shards know.
    pub(crate) fn finish_declaring(&self) {
        let shards = self.count();
        if shards == 1 {
            return;
        }
        let ask = |shard| self.ask_shard::<Ledger>(shard, Command::Assets);
        let tickets: Vec<_> = (0..shards).map(ask).collect();
        let mut known: BTreeMap<AssetCode, (u8, u16)> = BTreeMap::new();
        for ticket in tickets {
            // A shard that does not answer with its assets is not waited for: a repeated declare
            // finishes it too.
            let Some(Ok(Answer::Assets(assets))) = ticket.wait(STARTED) else { return };
            for view in assets {
                known.entry(view.asset).or_insert((view.scale, 0)).1 += 1;
            }
        }
        for (asset, (scale, count)) in known {
            if count < shards {
                drop(self.submit_wallet(Command::Declare { asset, scale }));
            }
        }
    }
}
