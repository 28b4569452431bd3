//! How everybody else reaches the wallets: which shard is asked what the wallets say themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use stadium_state_machine::Refusal;
use stadium_wallet::{Answer, AssetCode, Command, Seal};

use crate::answer::{Done, Reply, Together};
use crate::client::Inner;
use crate::gather::{Gather, Merge};
use crate::mailbox::Letter;
use crate::ticket::{Holder, One, Slot};
use crate::{Shards, Ticket};

impl Shards {
    /// Hands a command to the shard that decides it, or to several. Never waits, as [`Self::submit`].
    pub fn submit_wallet(&self, command: Command) -> Ticket<Answer> {
        let shards = self.inner.routes.shards();
        if let Some(shard) = command.sole_shard(shards) {
            let bytes = wallet_bytes(&command);
            return match self.inner.one_of(shard, bytes, |caller| Letter::Wallet(caller, command)) {
                Ok(one) => Ticket::one(one),
                Err(refusal) => Ticket::refused(refusal),
            };
        }
        let mut parts = command.parts(shards);
        let asked = std::mem::take(&mut parts.asked);
        let ask = |(shard, command)| {
            let bytes = wallet_bytes(&command);
            self.inner.one_of(shard, bytes, |caller| Letter::Wallet(caller, command))
        };
        gathered(asked.into_iter().map(ask).collect(), Some(Merge::Wallet(parts)))
    }

    /// Books linked transfers and puts jobs in one record: all or none. A duplicate (same transfer ids, same content) puts nothing again.
    pub fn submit_together(&self, together: Together) -> Ticket<Done> {
        let mut shards = together.shards(self.inner.routes.shards());
        let bytes = together_bytes(&together);
        let ask = |shard, together| {
            self.inner.one_of(shard, bytes, |caller| Letter::Together(caller, Box::new(together)))
        };
        let last = shards.pop().expect("a shard at least");
        let merge = (!shards.is_empty()).then_some(Merge::WhoKnows);
        let mut asked: Vec<_> = shards.into_iter().map(|shard| ask(shard, together.clone())).collect();
        asked.push(ask(last, together));
        gathered(asked, merge)
    }

    /// Seals over the books of one shard, or of all: of each those numbered above `after`, the oldest of them first, so many at most. The last
    /// 10,000 of a shard are remembered. All of them are durable.
    pub fn seals(&self, shard: Option<u16>, after: u64, seals_max: usize) -> Ticket<Vec<(u16, Seal)>> {
        let ask = |shard| self.inner.one_of(shard, 0, |caller| Letter::Seals(caller, after, seals_max));
        match shard {
            Some(shard) => gathered(vec![ask(shard)], None),
            None => gathered((0..self.inner.routes.shards()).map(ask).collect(), Some(Merge::Seals)),
        }
    }
}

impl Shards {
    /// Finishes what a crash left half done: an asset that only some shards know.
    pub(crate) fn finish_declaring(&self) {
        let shards = self.inner.routes.shards();
        if shards == 1 {
            return;
        }
        let ask = |shard| {
            let asked = self.inner.one_of(shard, 0, |caller| Letter::Wallet(caller, Command::Assets));
            gathered::<Answer>(vec![asked], None)
        };
        let tickets: Vec<_> = (0..shards).map(ask).collect();
        let mut known: BTreeMap<AssetCode, (u8, u16)> = BTreeMap::new();
        for ticket in tickets {
            // A shard that does not say so is not waited for: a declare that is asked again finishes it too.
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

/// How long to wait for a shard that was just started.
const STARTED: Duration = Duration::from_secs(10);

fn gathered<A: Reply>(mut parts: Vec<Result<One, Refusal>>, merge: Option<Merge>) -> Ticket<A> {
    match merge {
        Some(merge) => Ticket::many(Gather::new(parts, merge)),
        None => match parts.pop().expect("one shard was asked") {
            Ok(one) => Ticket::one(one),
            Err(refusal) => Ticket::refused(refusal),
        },
    }
}

impl Inner {
    pub(crate) fn one_of(
        &self,
        shard: u16,
        bytes: usize,
        letter: impl FnOnce(Holder) -> Letter,
    ) -> Result<One, Refusal> {
        let mailbox = self.mailbox(shard)?;
        let slot = Slot::new();
        mailbox.request(letter(Holder::new(&slot)), bytes)?;
        Ok(One::new(slot, None))
    }
}

/// Bytes that an item of a command keeps alive beside its texts.
const ITEM_BYTES: usize = 128;

fn wallet_bytes(command: &Command) -> usize {
    match command {
        Command::Transfer { transfers, .. } => {
            transfers.iter().map(|one| ITEM_BYTES + one.reference.len() + one.metadata.len()).sum()
        }
        Command::Open { accounts } => accounts.len() * ITEM_BYTES,
        _ => 0,
    }
}

fn together_bytes(together: &Together) -> usize {
    let transfers =
        together.transfers.iter().map(|one| ITEM_BYTES + one.reference.len() + one.metadata.len());
    let jobs = together.jobs.iter().map(|(_, job)| ITEM_BYTES + job.payload.len());
    transfers.chain(jobs).sum()
}
