//! The public results: the standings as Stadium's books have them, four times a second.
//!
//! One task asks, all watchers get the same text. With a cache, instances share what one of them asked
//! ([`crate::cached`]). After the closing the standings are the balances at that time: they do not change
//! any more, whatever came later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::ballots::Counted;
use crate::bank::{Bank, Cast};
use crate::cached::{self, Cached, Look};
use crate::poll::now_ms;

/// Between two looks at the books.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Over how many looks the votes a second are taken.
const RATE_LOOKS: usize = 8;

/// How the poll stands.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// The poll.
    pub poll: String,
    /// Votes are taken, voting has closed, or every vote that came too late is back with its voter.
    pub state: State,
    /// When it closes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closes_at_ms: Option<u64>,
    /// When this was looked up.
    pub now_ms: u64,
    /// In the order of the ballot.
    pub candidates: Vec<Standing>,
    /// Votes of all candidates.
    pub total: i64,
    /// Votes a second, over the last two seconds.
    pub per_second: f64,
    /// What this instance was asked to cast.
    pub cast: Cast,
    /// All accounts with votes.
    pub books: Books,
    /// What the worker of the ballots' queue has seen.
    pub ballots: Counted,
    /// Why this is older than it should be, where Stadium does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Whether votes are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// They are.
    #[default]
    Open,
    /// Not any more; the standings are those of the closing.
    Closed,
    /// And votes that came too late went back.
    Settled,
}

/// A candidate's votes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// For programs.
    pub id: String,
    /// For people.
    pub name: String,
    /// How many.
    pub votes: i64,
}

/// Sums over all accounts with votes, decimal: what some have, others owe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Books {
    /// Of all balances above zero.
    pub credit: String,
    /// Of all below, without their sign.
    pub debit: String,
    /// Whether they are the same.
    pub balance: bool,
}

/// Results, and their text.
pub(crate) type Posted = (Arc<Results>, Arc<str>);

/// The newest ones.
pub(crate) type Board = watch::Receiver<Posted>;

/// The board before anybody has looked.
pub(crate) fn board(bank: &Bank) -> (watch::Sender<Posted>, Board) {
    let results = Results {
        poll: bank.poll().name().to_owned(),
        closes_at_ms: bank.poll().closes_ms(),
        ..Results::default()
    };
    watch::channel(posted(results))
}

fn posted(results: Results) -> Posted {
    let text = serde_json::to_string(&results).unwrap_or_default();
    (Arc::new(results), text.into())
}

/// Looks again and again, until it is dropped.
pub(crate) async fn keep(
    bank: Arc<Bank>,
    counted: Arc<Mutex<Counted>>,
    settled: Arc<AtomicBool>,
    cache: Option<Arc<Cached>>,
    board: watch::Sender<Posted>,
) {
    let mut looks: std::collections::VecDeque<(Instant, i64)> = std::collections::VecDeque::new();
    // Results that were read after the closing stay as they are.
    let mut closing: Option<Vec<i64>> = None;
    loop {
        let mut results = Results::clone(&board.borrow().0);
        // Before the look: votes that are settled by then are in it.
        let is_settled = settled.load(Ordering::Acquire);
        let has_closed = bank.has_closed();
        // Before the look, too: a vote that is counted here is in the standings, unless they are from a cache.
        let cast = bank.cast();
        let look = match (&closing, &cache) {
            // The result does not change any more, and is never the cache's.
            (Some(votes), _) => {
                cached::books(&bank).await.map(|books| Look { votes: votes.clone(), books, at_ms: now_ms() })
            }
            (None, Some(cache)) if !has_closed => cache.look(&bank).await,
            (None, _) => cached::look(&bank).await,
        };
        match look {
            Ok(Look { votes, books, at_ms }) => {
                results.now_ms = at_ms;
                if has_closed {
                    closing.get_or_insert_with(|| votes.clone());
                }
                let candidates = bank.poll().candidates().iter().zip(votes);
                results.candidates = candidates
                    .map(|(candidate, votes)| Standing {
                        id: candidate.id.clone(),
                        name: candidate.name.clone(),
                        votes,
                    })
                    .collect();
                results.total = results.candidates.iter().map(|standing| standing.votes).sum();
                results.books = books;
                results.trouble = None;
                results.state = match (has_closed, is_settled) {
                    (_, true) => State::Settled,
                    (true, false) => State::Closed,
                    (false, false) => State::Open,
                };
                looks.push_back((Instant::now(), results.total));
                if looks.len() > RATE_LOOKS + 1 {
                    looks.pop_front();
                }
                if let (Some((from, before)), Some((to, now))) = (looks.front(), looks.back()) {
                    let seconds = to.duration_since(*from).as_secs_f64();
                    results.per_second =
                        if seconds > 0.0 { (now - before).max(0) as f64 / seconds } else { 0.0 };
                }
            }
            Err(why) => {
                results.now_ms = now_ms();
                results.trouble = Some(format!("{why:?}"));
            }
        }
        results.ballots = counted.lock().clone();
        results.cast = cast;
        if board.send(posted(results)).is_err() {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
