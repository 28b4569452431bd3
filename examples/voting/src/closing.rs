//! The closing time: a vote that was booked after it goes back to its voter, also one that an
//! instance that died has left.
//!
//! A vote counts if Stadium booked it before the closing. Most late ones are refused without asking, those that were on their
//! way are returned by [`Bank::vote`](crate::bank::Bank::vote); this sweep reads the candidates' histories from the closing on and
//! returns what is left. Returning is at most once for a vote, so sweeps may overlap.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::bank::{Bank, Refused};
use crate::poll::{TransferId, now_ms};

/// Between two sweeps after the closing.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Between two looks at the clock before it.
const LOOK_EVERY_MS: u64 = 1_000;

/// Votes that go back in one call.
const BACK_MAX: usize = 200;

/// Waits for the closing, sweeps until nothing is under way and nothing was left, and reports it in
/// `settled`.
pub(crate) async fn settle(bank: Arc<Bank>, settled: Arc<AtomicBool>) {
    let Some(closes_ms) = bank.poll().closes_ms() else { return };
    while let Some(left_ms) = closes_ms.checked_sub(now_ms()).filter(|left_ms| *left_ms > 0) {
        tokio::time::sleep(Duration::from_millis(left_ms.min(LOOK_EVERY_MS))).await;
    }
    let mut returned = HashSet::new();
    loop {
        // In this order: a vote that is not under way any more has left its traces.
        let is_quiet = bank.has_closed() && bank.votes_under_way() == 0;
        match sweep(&bank, &mut returned).await {
            Ok(0) if is_quiet => break,
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "Votes that came too late are with their voters"),
            Err(why) => tracing::warn!(?why, "Late votes cannot be looked for now"),
        }
        tokio::time::sleep(SWEEP_EVERY).await;
    }
    settled.store(true, Ordering::Release);
    tracing::info!(poll = bank.poll().name(), late = returned.len(), "The poll is settled");
}

/// Returns every late vote that was not returned by this sweep before; returns how many.
async fn sweep(bank: &Bank, returned: &mut HashSet<TransferId>) -> Result<usize, Refused> {
    let mut count = 0;
    for (place, candidate) in bank.poll().candidates().iter().enumerate() {
        let mut before = None;
        loop {
            let (late, next) = bank.late_votes(candidate, before).await?;
            let late: Vec<_> = late.into_iter().filter(|(_, vote)| !returned.contains(vote)).collect();
            for portion in late.chunks(BACK_MAX) {
                bank.give_back(portion.iter().map(|(voter, vote)| (voter.clone(), place, *vote)).collect())
                    .await?;
                returned.extend(portion.iter().map(|(_, vote)| *vote));
                count += portion.len();
            }
            match next {
                Some(next) => before = Some(next),
                None => break,
            }
        }
    }
    Ok(count)
}
