//! Histories: that pages continue each other, and that all entries together are the booked transfers, each once.
//!
//! A history is read from the journal, backwards by the pointers in it; so this proves more than a balance that is right.

use std::collections::{BTreeMap, BTreeSet};

use stadium_wallet::{AssetCode, Direction, Entry, EntryPage, Kind, TransferId, WalletName};

use super::books::{AccountNumber, Books, Outcome};
use crate::ledger::Violation;

/// The entries of an account on one shard, oldest first, as they must follow each other.
///
/// # Errors
///
/// A number or a balance that does not follow from the entry before.
pub fn follows(page: &EntryPage) -> Result<(), Violation> {
    for pair in page.entries.windows(2) {
        let [later, earlier] = pair else { continue };
        continues(earlier, later)?;
    }
    Ok(())
}

fn continues(earlier: &Entry, later: &Entry) -> Result<(), Violation> {
    if later.number != earlier.number + 1 {
        return Violation::new(format!("entry {} follows entry {}", later.number, earlier.number));
    }
    if i128::from(later.balance) != i128::from(earlier.balance) + moved(later) {
        return Violation::new(format!(
            "entry {} has balance {} after {:?} {}, the one before had {}",
            later.number, later.balance, later.direction, later.transfer.amount, earlier.balance
        ));
    }
    Ok(())
}

fn moved(entry: &Entry) -> i128 {
    let amount = i128::from(entry.transfer.amount);
    match entry.direction {
        Direction::Credit => amount,
        Direction::Debit => -amount,
    }
}

/// All histories, as they are read.
#[derive(Debug, Default)]
pub struct Pages {
    /// By account and shard, newest first.
    entries: BTreeMap<(WalletName, AssetCode, u16), Vec<Entry>>,
}

impl Pages {
    /// The next page of an account on a shard. Returns where the one after it begins.
    ///
    /// # Errors
    ///
    /// It does not continue the one before.
    pub fn add(
        &mut self,
        wallet: &WalletName,
        asset: &AssetCode,
        shard: u16,
        page: EntryPage,
    ) -> Result<Option<u64>, Violation> {
        follows(&page)?;
        let all = self.entries.entry((wallet.clone(), asset.clone(), shard)).or_default();
        if let (Some(later), Some(earlier)) = (all.last(), page.entries.first()) {
            continues(earlier, later)?;
        }
        all.extend(page.entries);
        if page.before.is_none()
            && let Some(first) = all.last()
            && (first.number != 1 || i128::from(first.balance) != moved(first))
        {
            return Violation::new(format!(
                "the history of {wallet} {asset} on shard {shard} begins with entry {}, balance {}",
                first.number, first.balance
            ));
        }
        Ok(page.before)
    }

    /// Holds all of them against the books.
    ///
    /// # Errors
    ///
    /// A transfer that is missing, there twice, or was never booked.
    pub fn check(&self, books: &Books) -> Result<(), Violation> {
        let mut wanted: BTreeMap<AccountNumber, BTreeSet<TransferId>> = BTreeMap::new();
        for (id, transfer) in &books.transfers {
            if transfer.outcome == Outcome::Open {
                continue;
            }
            for account in books.leg(&transfer.kind).into_iter().flat_map(|leg| [leg.debit, leg.credit]) {
                wanted.entry(account).or_default().insert(*id);
            }
        }
        for ((wallet, asset, shard), entries) in &self.entries {
            let Some(account) = books.number(wallet, asset) else { continue };
            let wanted = wanted.entry(account).or_default();
            for entry in entries {
                let id = entry.transfer.transfer;
                if !wanted.remove(&id) {
                    return Violation::new(format!(
                        "{id} stands in the history of {wallet} {asset} on shard {shard}, again or without being booked"
                    ));
                }
                let is_credit = entry.transfer.credit == *wallet;
                if is_credit != (entry.direction == Direction::Credit) {
                    return Violation::new(format!("{id} stands as {:?} in {wallet}", entry.direction));
                }
                if books.accounts[account].is_bound() && entry.balance < 0 {
                    return Violation::new(format!(
                        "{wallet} {asset} was overdrawn by {id}: {}",
                        entry.balance
                    ));
                }
                books.seen_in_history(id, entry, *shard)?;
            }
        }
        for (account, missing) in &wanted {
            if let Some(id) = missing.first() {
                let account = &books.accounts[*account];
                return Violation::new(format!(
                    "{id} is booked and missing in the history of {} {}",
                    account.wallet, account.asset
                ));
            }
        }
        Ok(())
    }
}

impl Books {
    fn seen_in_history(&self, id: TransferId, entry: &Entry, shard: u16) -> Result<(), Violation> {
        let known = &self.transfers[&id];
        // The shard that decides a transfer books its entry at the time that it answers. Another shard books later, at a time of
        // its own: the amount was between shards until then. Which shard decides a list of several is not known here.
        if self.travels(id) && self.decided_by(id) != Some(shard) {
            let view = stadium_wallet::TransferView {
                at: match known.outcome {
                    Outcome::Booked(at) => at,
                    Outcome::Open => entry.transfer.at,
                },
                ..entry.transfer.clone()
            };
            return self.seen(id, &view);
        }
        self.seen(id, &entry.transfer)
    }

    /// The shard that decides a transfer that is sent alone; none of one in a list of several shards.
    fn decided_by(&self, id: TransferId) -> Option<u16> {
        let transfer = self.transfers.get(&id).filter(|transfer| !transfer.is_in_transaction)?;
        match &transfer.kind {
            Kind::Post { debit, credit, .. } | Kind::Hold { debit, credit, .. } => {
                debit.home(self.shards).or_else(|| credit.home(self.shards))
            }
            Kind::Capture { hold, .. } | Kind::Void { hold } => self.decided_by(*hold),
            Kind::Reverse { transfer } => self.decided_by(*transfer),
        }
    }
}
