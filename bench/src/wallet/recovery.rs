//! A server with millions of transfers is killed, its checkpoints are deleted, and it is started again: how long until all
//! balances are there, rebuilt from nothing but the journal, and are they what they were?

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::books::{ANSWER_MAX, Books};
use super::clients::Clients;
use super::designs::Stadium;
use super::dialogue::{Endpoint as _, Outcome, Request, caller};
use super::load::{self, Amount, Choice, Ids, Plan};
use super::zipf::Zipf;
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "recovery";
/// Transfers of the published row.
pub(super) const TRANSFERS: u64 = 10_000_000;
/// Each account's first credit: more than the row takes from one.
const CREDIT: u64 = 1_000_000_000_000;
/// Given up after this.
const RECOVERY_MAX: Duration = Duration::from_secs(300);
/// Between two looks whether it answers.
const LOOK_EACH: Duration = Duration::from_millis(10);
/// Where a shard keeps its checkpoints, and how they are called.
const CHECKPOINTS: &str = "checkpoints";
const CHECKPOINT: &str = "checkpoint";

/// Books, kills, deletes, waits, compares. First credits count as transfers.
pub(super) fn take(
    start: &Start<'_>,
    clients: &Clients,
    zipf: &Zipf,
    transfers: u64,
) -> Result<Vec<(String, f64)>> {
    let debits = transfers.checked_sub(clients.accounts.into()).context("fewer transfers than accounts")?;
    let mut stadium = Stadium::start(start)?;
    let mut books = Books::open(&stadium, clients.accounts, CREDIT)?;
    let plan = Plan {
        depth: 1,
        batch: clients.batch,
        amount: Amount::Debits(debits),
        repeat_every: 0,
        ..clients.plan(Choice::Zipf(zipf))
    };
    let filled = load::run(&stadium, &plan, &mut books, &mut Ids::new());
    let filled = stadium.service().explain(filled).context("while debits were booked")?;
    if filled.posted != debits {
        bail!("{} of {debits} debits were booked", filled.posted);
    }
    let disk_mb = stadium.server().disk_bytes() as f64 / 1e6;
    stadium.server_mut().kill();
    let deleted = delete_checkpoints(&stadium.server().data())?;
    eprintln!(
        "    {:.0} debits/s booked; {disk_mb:.0} MB on disk; {deleted} checkpoints deleted",
        filled.per_second()
    );
    let started = Instant::now();
    stadium.server_mut().kill_and_start()?;
    let (credit, debit) = loop {
        // Totals are answered by all shards, so all of them have recovered.
        match caller(&stadium).and_then(|mut caller| caller.ask(Request::Totals, ANSWER_MAX)) {
            Ok(Outcome::Totals { credit, debit }) => break (credit, debit),
            Ok(other) => bail!("totals were answered by {other:?}"),
            Err(error) if started.elapsed() > RECOVERY_MAX => {
                return stadium.service().explain(Err(error));
            }
            Err(_) => std::thread::sleep(LOOK_EACH),
        }
    };
    let all_there_s = started.elapsed().as_secs_f64();
    eprintln!("    all there after {all_there_s:.2} s");
    if credit != debit {
        bail!("the books do not balance: {credit} above zero, {debit} below");
    }
    let (differ, first) = books.compare(&stadium)?;
    if let Some(first) = first {
        eprintln!("    {first}");
    }
    Ok([
        ("all_there_s", all_there_s),
        ("transfers_per_second", transfers as f64 / all_there_s),
        ("fill_per_second", filled.per_second()),
        ("disk_mb", disk_mb),
        ("differ", differ as f64),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec())
}

/// Deletes the checkpoints of all shards; how many there were.
fn delete_checkpoints(data: &Path) -> Result<usize> {
    let mut deleted = 0;
    for shard in fs::read_dir(data)? {
        let folder = shard?.path().join(CHECKPOINTS);
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == CHECKPOINT) {
                fs::remove_file(path)?;
                deleted += 1;
            }
        }
    }
    Ok(deleted)
}
