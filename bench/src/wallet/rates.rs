//! Debits as fast as answers come, and their latency at a fixed rate: all rows of one contender on one running server.
//!
//! Before anything is measured a contender shows that it does the work: an account is debited by everybody at once until it has
//! nothing left, with retries in between. Afterwards every balance is compared with the client's books.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::books::{ANSWER_MAX, Books};
use super::clients::Clients;
use super::designs::Design;
use super::dialogue::{Endpoint, Outcome, Request, caller};
use super::load::{self, Amount, Choice, Ids, Measured, Pace, Plan};
use super::zipf::Zipf;
use crate::services::Start;

/// The name of what a contender must show before and after it is measured.
pub(super) const WORK: &str = "work";
/// Each account's first credit: more than any row takes from one.
pub(super) const CREDIT: u64 = 1_000_000_000_000;
/// Accounts that the rows leave alone: the hot one and the one that is emptied, behind the others.
const EXTRA: u32 = 2;
/// What the account that is emptied has when it is, and how many try.
const LEFT: u64 = 500;
const TRIES: u64 = 1_000;
const TRIES_REPEAT_EVERY: u64 = 10;
/// A load before each measurement that is not looked at.
pub(super) const WARM: Duration = Duration::from_millis(500);
/// Who did less than this share of the rate as fast as it can does not come near it in this way either.
const CAPACITY_SHARE_MIN: f64 = 0.9;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    /// Many accounts, one debit a request, many requests on each connection.
    Single,
    /// The same with one request on each connection.
    SingleOne,
    /// All from one account.
    Hot,
    /// By a timetable.
    Latency,
    /// Many accounts, many debits a request.
    Batch,
}

impl Rate {
    /// All, in the order in which they are taken.
    pub(super) const ALL: [Self; 5] = [Self::Single, Self::SingleOne, Self::Hot, Self::Latency, Self::Batch];

    /// Name of the measurement.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::SingleOne => "single-one",
            Self::Hot => "hot",
            Self::Latency => "latency",
            Self::Batch => "batch",
        }
    }

    /// Requests under way on each connection, and debits of a request.
    pub(super) fn shape(self, clients: &Clients) -> (usize, usize) {
        match self {
            Self::Single | Self::Hot | Self::Latency => (clients.depth, 1),
            Self::SingleOne => (1, 1),
            Self::Batch => (1, clients.batch),
        }
    }
}

/// A contender with its accounts.
pub(super) struct Running<'a> {
    endpoint: Box<dyn Endpoint>,
    books: Books,
    ids: Ids,
    clients: &'a Clients,
    zipf: &'a Zipf,
}

impl<'a> Running<'a> {
    /// Starts it anew, opens the accounts, and has it show that it does the work.
    pub(super) fn start(
        design: Design,
        start: &Start<'_>,
        clients: &'a Clients,
        zipf: &'a Zipf,
    ) -> Result<Self> {
        let endpoint = design.start(start)?;
        let opened = Books::open(&*endpoint, clients.accounts + EXTRA, CREDIT);
        let books = endpoint.service().explain(opened).context("while accounts were opened")?;
        let mut running = Self { endpoint, books, ids: Ids::new(), clients, zipf };
        caller(&*running.endpoint)?.ask(Request::Loaded, ANSWER_MAX)?;
        let shown = running.show();
        running.endpoint.service().explain(shown)?;
        Ok(running)
    }

    /// Takes one row.
    pub(super) fn take(&mut self, rate: Rate, capacity: Option<f64>) -> Result<Vec<(String, f64)>> {
        let measured = self.measure(rate, capacity);
        self.endpoint.service().explain(measured)
    }

    fn measure(&mut self, rate: Rate, capacity: Option<f64>) -> Result<Vec<(String, f64)>> {
        let hot = self.clients.accounts;
        let choice = if rate == Rate::Hot { Choice::One(hot) } else { Choice::Zipf(self.zipf) };
        let (depth, batch) = rate.shape(self.clients);
        let mut plan = Plan { depth, batch, ..self.clients.plan(choice) };
        if rate == Rate::Latency {
            if let Some(capacity) = capacity
                && capacity < CAPACITY_SHARE_MIN * self.clients.rate
            {
                bail!("it does {capacity:.0} single debits/s, not {:.0}", self.clients.rate);
            }
            plan.pace = Pace::Open { per_second: self.clients.rate };
        }
        self.load(&Plan { amount: Amount::For(WARM), ..plan })?;
        let before = self.entries(hot)?;
        let measured = self.load(&plan)?;
        if measured.insufficient > 0 {
            bail!("{} debits were refused, although there was enough", measured.insufficient);
        }
        if rate == Rate::Hot {
            let entries = self.entries(hot)? - before;
            if entries != measured.posted {
                bail!("{} debits were booked, and {entries} stand in the account's history", measured.posted);
            }
        }
        let mut numbers = measured.numbers();
        if rate == Rate::Latency {
            let answered = (measured.posted + measured.duplicates) as f64 / measured.elapsed.as_secs_f64();
            numbers.push(("kept_up".to_owned(), answered / self.clients.rate));
        }
        Ok(numbers)
    }

    /// Everybody debits one account at once until it has nothing left: exactly what it had is booked, each once.
    fn show(&mut self) -> Result<()> {
        let account = self.clients.accounts + 1;
        let all = u64::try_from(self.books.balance(account))?;
        let entries = self.entries(account)?;
        self.books.spend(&*self.endpoint, &mut self.ids, account, all - LEFT)?;
        let plan = Plan {
            amount: Amount::Debits(TRIES),
            ones: true,
            repeat_every: TRIES_REPEAT_EVERY,
            ..self.clients.plan(Choice::One(account))
        };
        let Measured { posted, insufficient, duplicates, .. } = self.load(&plan)?;
        let entries = self.entries(account)? - entries;
        let expected = (LEFT, TRIES - LEFT, LEFT / TRIES_REPEAT_EVERY, LEFT + 1);
        if (posted, insufficient, duplicates, entries) != expected {
            bail!(
                "an account of {LEFT} was debited {TRIES} times: {posted} booked, {insufficient} refused, {duplicates} known, \
                 {entries} entries"
            );
        }
        Ok(())
    }

    fn load(&mut self, plan: &Plan<'_>) -> Result<Measured> {
        load::run(&*self.endpoint, plan, &mut self.books, &mut self.ids)
    }

    fn entries(&self, account: u32) -> Result<u64> {
        match caller(&*self.endpoint)?.ask(Request::Entries { account }, ANSWER_MAX)? {
            Outcome::Entries(entries) => Ok(entries),
            other => bail!("a question for entries was answered by {other:?}"),
        }
    }

    /// Compares all balances.
    pub(super) fn end(&self) -> Result<Vec<(String, f64)>> {
        self.endpoint.service().explain(self.books.agree(&*self.endpoint))?;
        Ok(Vec::new())
    }
}
