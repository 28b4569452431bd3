//! Reads what the next transfers need into the processor's caches.
//!
//! A transfer looks up its id and its accounts: in a large ledger each is several places of memory, one
//! behind the other. Carried out one by one, transfers would wait for each; looked up several at a time,
//! without anything in between, the processor waits for them together.

use std::hint::black_box;

use crate::{Kind, Ledger, NewTransfer, WalletName};

/// Transfers that are looked up together: more than a processor has under way, and few enough that
/// all of it stays in its fastest cache.
pub(crate) const TOGETHER: usize = 16;

impl Ledger {
    /// For transfers that are carried out next. Changes nothing.
    pub(crate) fn prefetch(&self, transfers: &[NewTransfer]) {
        for transfer in transfers {
            black_box(self.find_remembered(transfer.id));
            if let Kind::Post { debit, credit, asset, .. } | Kind::Hold { debit, credit, asset, .. } =
                &transfer.kind
                && let Some(asset) = self.find_asset(asset)
            {
                self.prefetch_account(debit, asset);
                self.prefetch_account(credit, asset);
            }
        }
    }

    fn prefetch_account(&self, wallet: &WalletName, asset: u16) {
        // Parts of system wallets are few, and always at hand.
        if !wallet.is_system()
            && let Some(account) = self.find_account(wallet, asset)
        {
            // The entry may lie in two lines of the cache.
            black_box(self.accounts.at(account).opened);
        }
    }
}
