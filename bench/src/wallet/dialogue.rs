//! What a wallet is asked in this bench, and what it answers.
//!
//! Accounts are numbered from 0. A debit moves an amount from an account to the shop, at most once for its id, and never more than
//! the account has.

use std::time::Duration;

use anyhow::Result;

use crate::harness::{self, Caller, Dialogue, Lane};
use crate::services::Service;

/// An amount to be moved to the shop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Debit {
    /// Made by the client.
    pub(crate) id: u128,
    /// Whose.
    pub(crate) account: u32,
    /// How much.
    pub(crate) amount: u64,
}

/// What a worker asks for.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    /// Open the accounts from `first` on, each with this credit.
    Open { first: u32, count: u32, credit: u64 },
    /// All accounts are open: what the server does by itself after a load, it does now.
    Loaded,
    /// Each of these by itself, durably.
    Debit(&'a [Debit]),
    /// Balances of the accounts from `first` on.
    Look { first: u32, count: u32 },
    /// How long an account's history is.
    Entries { account: u32 },
    /// The books: sums of all balances above and below zero. Only asked of the product.
    Totals,
}

/// What became of one debit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was booked, durably.
    Posted,
    /// It had been booked before.
    Duplicate,
    /// There is not as much on the account.
    Insufficient,
}

impl Verdict {
    /// From a digit, as the peers' procedures write it.
    pub(crate) fn from_digit(digit: u8) -> Result<Self> {
        match digit {
            b'0' => Ok(Self::Posted),
            b'1' => Ok(Self::Duplicate),
            b'2' => Ok(Self::Insufficient),
            b'3' => anyhow::bail!("a transfer's id was used with another content"),
            b'4' => anyhow::bail!("an account is unknown"),
            other => anyhow::bail!("a verdict of {other}"),
        }
    }
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is done, durably.
    Done,
    /// One for each debit.
    Debited(Vec<Verdict>),
    /// One for each account.
    Balances(Vec<i64>),
    /// So many entries.
    Entries(u64),
    /// Sums above and below zero, the latter without its sign.
    Totals { credit: u128, debit: u128 },
    /// Not done, or not all of it: the same again after a pause.
    Again(Duration),
}

/// What is asked of wallets.
pub(crate) struct Wallets;

impl Dialogue for Wallets {
    type Request<'a> = Request<'a>;
    type Outcome = Outcome;

    fn again(outcome: &Outcome) -> Option<Duration> {
        match outcome {
            Outcome::Again(pause) => Some(*pause),
            _ => None,
        }
    }
}

/// A lane's report to the harness.
pub(crate) type Event = harness::Event<Outcome>;

/// A running implementation.
pub(crate) trait Endpoint {
    /// Its server.
    fn service(&self) -> &Service;
    /// A connection that takes any number of requests at a time.
    fn lane(&self) -> Box<dyn Lane<Wallets>>;
}

/// One worker of an implementation's, to be asked directly.
pub(crate) fn caller(endpoint: &dyn Endpoint) -> Result<Caller<Wallets>> {
    Caller::connect(&[endpoint.service().address()], endpoint.lane())
}
