//! The client's own books: what each account must have, by what was answered.
//!
//! A row counts only while they agree with the server's.

use std::time::Duration;

use anyhow::{Result, bail};

use super::dialogue::{Debit, Endpoint, Outcome, Request, Verdict, caller};
use super::load::Ids;
use super::sweep;

/// Accounts of one request.
pub(super) const BATCH: u32 = 1_000;
/// Requests under way at a time.
const WORKERS: usize = 32;
/// A server that takes longer for one request has failed.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Balances by account.
pub(super) struct Books {
    balances: Vec<i64>,
}

impl Books {
    /// Opens so many accounts at a server, each with this credit.
    pub(super) fn open(endpoint: &dyn Endpoint, accounts: u32, credit: u64) -> Result<Self> {
        let mut parts = parts(accounts);
        sweep::run(
            endpoint,
            WORKERS,
            || parts.next().map(|(first, count)| Request::Open { first, count, credit }),
            |_, outcome| match outcome {
                Outcome::Done => Ok(()),
                other => bail!("an open was answered by {other:?}"),
            },
        )?;
        Ok(Self { balances: vec![i64::try_from(credit)?; accounts as usize] })
    }

    /// One was booked: an error where there was not enough.
    pub(super) fn debit(&mut self, debit: &Debit) -> Result<()> {
        let balance = &mut self.balances[debit.account as usize];
        let amount = i64::try_from(debit.amount)?;
        if amount > *balance {
            bail!("account {} has {balance} and was debited {amount}", debit.account);
        }
        *balance -= amount;
        Ok(())
    }

    /// Takes so much from an account, at once.
    pub(super) fn spend(
        &mut self,
        endpoint: &dyn Endpoint,
        ids: &mut Ids,
        account: u32,
        amount: u64,
    ) -> Result<()> {
        let debit = Debit { id: ids.next(), account, amount };
        match caller(endpoint)?.ask(Request::Debit(&[debit]), ANSWER_MAX)? {
            Outcome::Debited(verdicts) if verdicts == [Verdict::Posted] => self.debit(&debit),
            other => bail!("{debit:?} was answered by {other:?}"),
        }
    }

    /// How many accounts have another balance at the server, and the first of them.
    pub(super) fn compare(&self, endpoint: &dyn Endpoint) -> Result<(u64, Option<String>)> {
        let mut parts = parts(u32::try_from(self.balances.len())?);
        let (mut differ, mut first_one) = (0, None);
        sweep::run(
            endpoint,
            WORKERS,
            || parts.next().map(|(first, count)| Request::Look { first, count }),
            |request, outcome| {
                let (Request::Look { first, .. }, Outcome::Balances(there)) = (request, outcome) else {
                    bail!("a look was answered by something else")
                };
                for (account, there) in (first..).zip(there) {
                    let here = self.balances[account as usize];
                    if here != there {
                        differ += 1;
                        first_one.get_or_insert_with(|| {
                            format!("account {account} has {there} instead of {here}")
                        });
                    }
                }
                Ok(())
            },
        )?;
        Ok((differ, first_one))
    }

    /// An error unless every account has what it must have.
    pub(super) fn agree(&self, endpoint: &dyn Endpoint) -> Result<()> {
        match self.compare(endpoint)? {
            (0, _) => Ok(()),
            (differ, first) => bail!("{differ} balances differ: {}", first.unwrap_or_default()),
        }
    }

    /// Of an account.
    pub(super) fn balance(&self, account: u32) -> i64 {
        self.balances[account as usize]
    }
}

/// First account and count of each request.
fn parts(accounts: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..accounts).step_by(BATCH as usize).map(move |first| (first, BATCH.min(accounts - first)))
}
