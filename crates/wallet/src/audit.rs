//! Counts everything again and compares.
//!
//! For tests, the simulator and a shard that wants to be sure. It looks at every account.

use std::collections::BTreeMap;

use crate::Ledger;
use crate::transaction::{Item, ItemKind, Party};

impl Ledger {
    /// Counts everything again and compares: sums, totals, held amounts, what is under way.
    ///
    /// # Errors
    ///
    /// What does not agree.
    pub fn audit(&self) -> Result<(), String> {
        let mut held: BTreeMap<u32, u128> = BTreeMap::new();
        let mut incoming: BTreeMap<u32, u128> = BTreeMap::new();
        for (_, hold) in self.holds.iter() {
            *held.entry(hold.debit).or_default() += u128::from(hold.amount);
        }
        let transactions = self.transactions.iter().flat_map(|(_, transaction)| &transaction.items);
        let prepared = self.prepared.iter().flat_map(|(_, prepared)| &prepared.items);
        for item in transactions.chain(prepared) {
            let (debit, credit) = self.needs(item);
            if let Some(account) = debit {
                *held.entry(account).or_default() += u128::from(item.amount);
            }
            if let Some(account) = credit {
                *incoming.entry(account).or_default() += u128::from(item.amount);
            }
        }
        let mut totals = vec![(0_u64, 0_u128, 0_u128, 0_u128); self.assets.len()];
        for (number, account) in self.accounts.iter() {
            let name = &account.name;
            let total = &mut totals[usize::from(account.asset)];
            total.0 += 1;
            let size = u128::from(account.posted.unsigned_abs());
            *(if account.posted >= 0 { &mut total.1 } else { &mut total.2 }) += size;
            total.3 += u128::from(account.held);
            let counted = held.get(&number).copied().unwrap_or(0);
            if counted != u128::from(account.held) {
                return Err(format!("{name} holds {}, and its holds are {counted}", account.held));
            }
            let extra = self.extra(account);
            let counted = incoming.get(&number).copied().unwrap_or(0);
            let has = extra.map_or(0, |extra| extra.incoming);
            if counted != u128::from(has) {
                return Err(format!("{has} are to come to {name}, and transactions bring {counted}"));
            }
            let available = i128::from(account.posted) - i128::from(account.held);
            if available < 0 && !account.may_overdraw() {
                return Err(format!("{name} is overdrawn: {available} are available"));
            }
            if self.find_account(name, account.asset) != Some(number) {
                return Err(format!("{name} is not found by its name"));
            }
        }
        for (asset, (accounts, credit, debit, held)) in self.assets.iter().zip(totals) {
            let code = &asset.code;
            if credit != debit {
                return Err(format!("the sum of all accounts of {code} is not zero: {credit} less {debit}"));
            }
            if (accounts, credit, debit, held) != (asset.accounts, asset.credit, asset.debit, asset.held) {
                return Err(format!("the totals of {code} are not what its accounts add up to"));
            }
        }
        Ok(())
    }

    /// The accounts on which a transaction's item holds its amount, and to which it is to come.
    fn needs(&self, item: &Item) -> (Option<u32>, Option<u32>) {
        let transit = self.assets[usize::from(item.asset)].transit;
        let side = |party: &Party, other: &Party| party.here().or_else(|| other.here().map(|_| transit));
        match item.kind {
            ItemKind::Void => (None, None),
            ItemKind::Hold => (item.debit.here(), None),
            ItemKind::Capture if item.debit.here().is_some() => (None, side(&item.credit, &item.debit)),
            ItemKind::Post | ItemKind::Reverse | ItemKind::Capture => {
                (side(&item.debit, &item.credit), side(&item.credit, &item.debit))
            }
        }
    }
}
