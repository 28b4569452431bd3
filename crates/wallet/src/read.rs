//! What is answered from memory: accounts, holds, assets.
//!
//! [`crate::history`] reads the data that stand in the journal only.

use std::ops::Bound;

use stadium_state_machine::rejected;
use stadium_table::Order;

use crate::plan::count;
use crate::refusal::{ACCOUNT_UNKNOWN, MISDIRECTED};
use crate::{
    AccountView, Answer, AssetCode, AssetView, Balance, Command, HoldView, Ledger, Refusal, Time, WalletName,
};

/// Accounts that a listing looks at before it answers with what it has.
const LOOKED_AT_MAX: usize = 20_000;

impl Ledger {
    /// Answers Wallet, Accounts, Holds, Assets and Seals from memory.
    ///
    /// # Errors
    ///
    /// Unknown wallets; MISDIRECTED for every other command.
    pub fn read(&self, _now: Time, command: &Command) -> Result<Answer, Refusal> {
        match command {
            Command::Wallet { wallet } => {
                let views: Vec<_> = self.accounts_of(wallet).map(|number| self.view(number)).collect();
                if views.is_empty() {
                    return Err(unknown_wallet(wallet));
                }
                Ok(Answer::Accounts(views))
            }
            Command::Accounts { prefix, asset, after, accounts_max } => {
                count(*accounts_max as usize, "accounts of a page")?;
                let asset = asset.as_ref().map(|asset| self.known_asset(asset)).transpose()?;
                Ok(Answer::Accounts(self.list(prefix, asset, after.as_ref(), *accounts_max as usize)))
            }
            Command::Holds { wallet, holds_max } => {
                count(*holds_max as usize, "holds of a page")?;
                if self.accounts_of(wallet).next().is_none() {
                    return Err(unknown_wallet(wallet));
                }
                Ok(Answer::Holds(self.list_holds(wallet, *holds_max as usize)))
            }
            Command::Assets => Ok(Answer::Assets(
                self.assets
                    .iter()
                    .map(|asset| AssetView {
                        asset: asset.code.clone(),
                        scale: asset.scale,
                        accounts: asset.accounts,
                        credit: asset.credit,
                        debit: asset.debit,
                        transit: self
                            .accounts
                            .get(asset.transit)
                            .map_or(0, |account| i128::from(account.posted)),
                        held: asset.held,
                    })
                    .collect(),
            )),
            Command::Seals { after, seals_max, .. } => {
                let seals = self.seals().filter(|seal| seal.number > *after).take(*seals_max);
                Ok(Answer::Seals(seals.map(|&seal| (self.place.shard, seal)).collect()))
            }
            _ => Err(rejected(MISDIRECTED, "it is not answered from memory")),
        }
    }

    /// A wallet's accounts, in the order of their assets.
    fn accounts_of<'a>(&'a self, wallet: &'a WalletName) -> impl Iterator<Item = u32> + 'a {
        (0..self.assets.len() as u16).filter_map(move |asset| self.find_account(wallet, asset))
    }

    pub(crate) fn view(&self, number: u32) -> AccountView {
        let account = self.accounts.at(number);
        let rules = account.rules(self.extra(account));
        AccountView {
            wallet: account.name.clone(),
            asset: self.assets[usize::from(account.asset)].code.clone(),
            balance: Balance { posted: account.posted, held: account.held },
            overdraft: rules.overdraft,
            ceiling: rules.ceiling,
            closed: rules.closed,
            entries: account.entries,
            opened: account.opened,
        }
    }

    /// Accounts by name, then asset.
    fn list(
        &self,
        prefix: &str,
        asset: Option<u16>,
        after: Option<&(WalletName, AssetCode)>,
        accounts_max: usize,
    ) -> Vec<AccountView> {
        let begin = match after {
            Some((wallet, asset)) if wallet.as_str() >= prefix => {
                Bound::Excluded((wallet.as_str(), asset.as_str()))
            }
            _ => Bound::Included((prefix, "")),
        };
        let is_before = |number: u32| match begin {
            Bound::Excluded(after) => self.key(number) <= after,
            Bound::Included(from) => self.key(number) < from,
            Bound::Unbounded => false,
        };
        // Only between a replay and the first tick is there something that is not in the order yet.
        let sorted;
        let order = if self.unordered.is_empty() {
            &self.order
        } else {
            sorted = Order::from_sorted(&self.sorted_accounts());
            &sorted
        };
        let mut views = Vec::new();
        for (looked_at, number) in order.from(is_before).enumerate() {
            let account = self.accounts.at(number);
            if views.len() == accounts_max || !account.name.as_str().starts_with(prefix) {
                break;
            }
            if asset.is_none_or(|asset| account.asset == asset) {
                views.push(self.view(number));
            } else if looked_at >= LOOKED_AT_MAX && !views.is_empty() {
                break;
            }
        }
        views
    }

    fn list_holds(&self, wallet: &WalletName, holds_max: usize) -> Vec<HoldView> {
        let mut places: Vec<(u64, u32)> = self
            .accounts_of(wallet)
            .flat_map(|account| {
                let of = (account, 0, 0)..(account + 1, 0, 0);
                self.holds_of.range(of).take(holds_max).map(|&(_, number, place)| (number, place))
            })
            .collect();
        places.sort_unstable();
        places.truncate(holds_max);
        places
            .into_iter()
            .map(|(_, place)| {
                let hold = self.holds.at(place);
                let debit = self.accounts.at(hold.debit);
                HoldView {
                    transfer: hold.id,
                    debit: debit.name.clone(),
                    credit: self.name_of(hold.credit).0.clone(),
                    asset: self.assets[usize::from(debit.asset)].code.clone(),
                    amount: hold.amount,
                    at: hold.at,
                    expires: hold.expires,
                }
            })
            .collect()
    }
}

fn unknown_wallet(wallet: &WalletName) -> Refusal {
    rejected(ACCOUNT_UNKNOWN, format!("the wallet {:?} has no accounts", wallet.as_str()))
}
