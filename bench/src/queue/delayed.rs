//! Millions of jobs that wait for their time: what each costs in memory, and how late jobs come when their time has come.
//!
//! Most are due hours from now. A window of jobs comes due soon, at a fixed rate; some of the far ones are edited into that
//! window and some of the window's are cancelled before it begins, and must not come. Memory is the server's resident memory
//! after all of them were put, less that before the first, over their number.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::designs::{Setup, Stadium};
use super::harness::{
    Amount, Due, Endpoint as _, Manage, Measured, Outcome, Plan, Queues, Request, Tally, Token, caller, drive,
};
use crate::harness::{Caller, Clock};
use crate::machine;
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "delayed";
/// Bytes of a job's payload. Payloads are not in memory; small ones keep the disk free for others.
const PAYLOAD_BYTES: usize = 64;
const PUT_BATCH: usize = 200;
const WORKERS: usize = 50;
/// Jobs of the window, and how fast they come due.
const WINDOW_JOBS: u64 = 100_000;
const RATE: f64 = 10_000.0;
/// Of the window, cancelled; and of the others, edited into it.
const CANCELLED: usize = 10_000;
const EDITED: usize = 10_000;
/// Jobs of one call of either kind.
const CHANGE_BATCH: usize = 200;
/// Time to put, cancel and edit the last ones before the window begins.
const LEAD: Duration = Duration::from_secs(12);
/// The others are due so long from now.
const FAR: Duration = Duration::from_secs(4 * 3600);
/// Consumers' batch: more than ever comes due at once.
const RESERVE_BATCH: usize = 100;
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Puts all, changes some, and takes those that come due.
pub(super) fn take(start: &Start<'_>, jobs: u64) -> Result<Vec<(String, f64)>> {
    let stadium = Stadium::start(start, Setup::by_default())?;
    let clock = Clock::start();
    let mut tally = Tally::default();
    let before = machine::settled_resident_bytes(stadium.pid())?;

    let now_ms = || clock.unix_ns() / 1_000_000;
    let far = jobs.checked_sub(WINDOW_JOBS).context("more jobs than the window has")?;
    let far_from = now_ms() + u64::try_from(FAR.as_millis())?;
    let far = put(&stadium, &mut tally, far, Due { first_ms: far_from, per_second: RATE, ids_max: EDITED })?;
    let disk_mb = stadium.disk_bytes() as f64 / 1e6;
    eprintln!("    {:.0} jobs/s put; {disk_mb:.0} MB on disk", far.per_second());
    let full = machine::settled_resident_bytes(stadium.pid())?;

    let begins = now_ms() + u64::try_from(LEAD.as_millis())?;
    let due = Due { first_ms: begins, per_second: RATE, ids_max: CANCELLED };
    let soon = put(&stadium, &mut tally, WINDOW_JOBS, due)?;
    let mut caller = caller(&stadium)?;
    let cancels = cancel(&mut caller, &mut tally, &soon)?;
    let (edits, moved) = edit(&mut caller, &far, begins)?;
    if now_ms() > begins {
        bail!("putting, cancelling and editing took longer than {LEAD:?}");
    }
    let after = machine::settled_resident_bytes(stadium.pid())?;
    eprintln!("    {cancels:.0} cancels/s, {edits:.0} edits/s");

    let due = WINDOW_JOBS - soon.ids.len() as u64 + far.ids.len() as u64;
    let plan = Plan {
        producers: 0,
        consumers: 100,
        batch: RESERVE_BATCH,
        amount: Amount::Take(due),
        moved,
        ..Plan::default()
    };
    let taken = drive(&stadium, &plan, &mut tally)
        .with_context(|| format!("while jobs came due: {}", stadium.log()))?;
    if taken.early > 0 {
        bail!("{} jobs came before they were due", taken.early);
    }
    let late_ms = |quantile| taken.late_us.value_at_quantile(quantile) as f64 / 1e3;
    Ok([
        ("bytes_each", full.saturating_sub(before) as f64 / (jobs - WINDOW_JOBS) as f64),
        ("bytes_each_changed", after.saturating_sub(before) as f64 / jobs as f64),
        ("disk_mb", disk_mb),
        ("put_per_second", far.per_second()),
        ("cancels_per_second", cancels),
        ("edits_per_second", edits),
        ("late_p50_ms", late_ms(0.5)),
        ("late_p99_ms", late_ms(0.99)),
        ("late_p999_ms", late_ms(0.999)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec())
}

fn put(stadium: &Stadium, tally: &mut Tally, jobs: u64, due: Due) -> Result<Measured> {
    let plan = Plan {
        producers: WORKERS,
        consumers: 0,
        batch: PUT_BATCH,
        payload_bytes: PAYLOAD_BYTES,
        amount: Amount::Jobs(jobs),
        due: Some(due),
        ..Plan::default()
    };
    drive(stadium, &plan, tally).with_context(|| format!("while jobs were put: {}", stadium.log()))
}

/// Cancels the jobs whose ids were kept; how many a second.
fn cancel(caller: &mut Caller<Queues>, tally: &mut Tally, put: &Measured) -> Result<f64> {
    let started = Instant::now();
    for some in put.ids.chunks(CHANGE_BATCH) {
        let ids: Vec<Token> = some.iter().map(|(_, id)| *id).collect();
        done(caller.ask(Request::Manage(Manage::Cancel(&ids)), ANSWER_MAX)?)?;
        some.iter().for_each(|(serial, _)| tally.cancelled(*serial));
    }
    Ok(put.ids.len() as f64 / started.elapsed().as_secs_f64())
}

/// Edits the jobs whose ids were kept to come due in the window; how many a second, and their new stamps.
fn edit(caller: &mut Caller<Queues>, put: &Measured, begins_ms: u64) -> Result<(f64, HashMap<u64, u64>)> {
    let started = Instant::now();
    let mut moved = HashMap::new();
    let window_ms = (WINDOW_JOBS as f64 * 1e3 / RATE) as u64;
    for (index, some) in put.ids.chunks(CHANGE_BATCH).enumerate() {
        let chunk_ms = begins_ms + window_ms * (index * CHANGE_BATCH) as u64 / put.ids.len() as u64;
        let edits: Vec<(Token, u64)> =
            some.iter().zip(0..).map(|((_, id), at)| (*id, chunk_ms + at % 20)).collect();
        done(caller.ask(Request::Manage(Manage::Edit(&edits)), ANSWER_MAX)?)?;
        let stamps = edits.iter().map(|(_, due_ms)| due_ms * 1_000_000);
        moved.extend(some.iter().map(|(serial, _)| *serial).zip(stamps));
    }
    Ok((put.ids.len() as f64 / started.elapsed().as_secs_f64(), moved))
}

fn done(outcome: Outcome) -> Result<()> {
    match outcome {
        Outcome::Done => Ok(()),
        other => bail!("a change was answered by {other:?}"),
    }
}
