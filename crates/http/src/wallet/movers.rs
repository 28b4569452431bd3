//! The accounts that move most: a tally of the last five minutes of transfers that this port
//! booked.
//!
//! It is for people who look at the console, so it is bounded and may forget: where a minute has more accounts than it
//! keeps, the half of them that moved least leaves. A remaining account is counted from its first
//! transfer on since.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stadium_wallet::{AssetCode, Kind, NewTransfer, WalletName};

/// How long a transfer is in the tally, give or take a minute.
pub(crate) const WINDOW: Duration = Duration::from_secs(300);

/// Time that one part of the tally covers; parts leave as a whole.
const PART: Duration = Duration::from_secs(60);

/// Accounts that a part keeps. At 120 bytes each, all parts together take 1.5 MB.
const ACCOUNTS_MAX: usize = 2_048;

/// What an account moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Transfers.
    pub(crate) transfers: u64,
    /// What came in.
    pub(crate) credit: u128,
    /// What went out.
    pub(crate) debit: u128,
}

impl Moved {
    fn add(&mut self, more: &Moved) {
        self.transfers += more.transfers;
        self.credit += more.credit;
        self.debit += more.debit;
    }
}

/// An account: whose, of what.
pub(crate) type Account = (WalletName, AssetCode);

/// The tally.
#[derive(Default)]
pub(crate) struct Movers {
    parts: Mutex<VecDeque<Part>>,
}

struct Part {
    began: Instant,
    accounts: HashMap<Account, Moved>,
}

impl Movers {
    /// Counts transfers that were booked now; those that move nothing yet, or name no account, are not counted.
    pub(crate) fn booked<'a>(&self, transfers: impl Iterator<Item = &'a NewTransfer>, now: Instant) {
        let mut parts = self.parts.lock();
        leave(&mut parts, now);
        if parts.back().is_none_or(|part| now.saturating_duration_since(part.began) >= PART) {
            parts.push_back(Part { began: now, accounts: HashMap::new() });
        }
        let part = parts.back_mut().expect("one was made where there was none");
        for transfer in transfers {
            let Kind::Post { debit, credit, asset, amount } = &transfer.kind else { continue };
            let amount = u128::from(*amount);
            part.add(debit, asset, Moved { transfers: 1, credit: 0, debit: amount });
            part.add(credit, asset, Moved { transfers: 1, credit: amount, debit: 0 });
        }
    }

    /// The accounts that `rank` puts highest, at most so many, of one asset or of all.
    pub(crate) fn top(
        &self,
        asset: Option<&AssetCode>,
        rank: fn(&Moved) -> u128,
        accounts_max: usize,
        now: Instant,
    ) -> Vec<(Account, Moved)> {
        let mut all: HashMap<Account, Moved> = HashMap::new();
        {
            let mut parts = self.parts.lock();
            leave(&mut parts, now);
            for part in &*parts {
                for (account, moved) in &part.accounts {
                    if asset.is_none_or(|asset| *asset == account.1) {
                        all.entry(account.clone()).or_default().add(moved);
                    }
                }
            }
        }
        let mut top: Vec<_> = all.into_iter().collect();
        top.sort_unstable_by(|(one, moved), (other, more)| {
            rank(more).cmp(&rank(moved)).then_with(|| one.cmp(other))
        });
        top.truncate(accounts_max);
        top
    }
}

/// Lets the parts go whose time is over.
fn leave(parts: &mut VecDeque<Part>, now: Instant) {
    while parts.front().is_some_and(|part| now.saturating_duration_since(part.began) >= WINDOW) {
        parts.pop_front();
    }
}

impl Part {
    fn add(&mut self, wallet: &WalletName, asset: &AssetCode, moved: Moved) {
        let account = (wallet.clone(), asset.clone());
        if self.accounts.len() >= ACCOUNTS_MAX && !self.accounts.contains_key(&account) {
            let mut by_transfers: Vec<_> = self.accounts.drain().collect();
            by_transfers.sort_unstable_by_key(|(_, moved)| Reverse(moved.transfers));
            by_transfers.truncate(ACCOUNTS_MAX / 2);
            self.accounts.extend(by_transfers);
        }
        self.accounts.entry(account).or_default().add(&moved);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use stadium_wallet::TransferId;

    use super::*;

    fn post(debit: &str, credit: &str, amount: u64) -> NewTransfer {
        let wallet = |name| WalletName::new(name).expect("a name");
        let asset = AssetCode::new("EUR").expect("a code");
        NewTransfer {
            id: TransferId(0),
            kind: Kind::Post { debit: wallet(debit), credit: wallet(credit), asset, amount },
            reference: String::new(),
            metadata: Bytes::new(),
            effective: None,
        }
    }

    fn names(top: &[(Account, Moved)]) -> Vec<&str> {
        top.iter().map(|((wallet, _), _)| wallet.as_str()).collect()
    }

    #[test]
    fn the_account_that_moved_most_is_first_and_is_forgotten_after_a_while() {
        let (movers, start) = (Movers::default(), Instant::now());
        movers.booked([post("a", "@shop", 5), post("b", "@shop", 700)].iter(), start);
        movers.booked([post("a", "@shop", 5)].iter(), start + PART);
        let now = start + PART;
        assert_eq!(names(&movers.top(None, |moved| moved.transfers.into(), 2, now)), ["@shop", "a"]);
        let by_amount = movers.top(None, |moved| moved.credit + moved.debit, 9, now);
        assert_eq!(names(&by_amount), ["@shop", "b", "a"]);
        assert_eq!(by_amount[0].1, Moved { transfers: 3, credit: 710, debit: 0 });
        let other = AssetCode::new("VOTE").expect("a code");
        assert!(movers.top(Some(&other), |_| 0, 9, now).is_empty());

        let later = movers.top(None, |moved| moved.transfers.into(), 9, start + WINDOW);
        assert_eq!(later[0].1.transfers, 1, "only what was booked a minute later");
        assert!(movers.top(None, |_| 0, 9, start + WINDOW + PART).is_empty());
    }

    #[test]
    fn a_part_is_bounded_and_keeps_the_busiest() {
        let (movers, now) = (Movers::default(), Instant::now());
        for n in 0..20_000 {
            movers.booked([post(&format!("w{n}"), "@shop", 1), post("busy", "@shop", 1)].iter(), now);
        }
        let top = movers.top(None, |moved| moved.transfers.into(), 2, now);
        assert_eq!(names(&top), ["@shop", "busy"]);
        assert_eq!(top[0].1.transfers, 40_000);
        assert!(movers.parts.lock()[0].accounts.len() <= ACCOUNTS_MAX);
    }
}
