//! Voters: wallets that vote through all nodes without a pause, each vote as soon as the one before is acknowledged.
//!
//! A vote is a transfer with an id. Without an answer the voter asks the next node for the same transfer, so a
//! vote is acknowledged in the end, once. What the voters remember is what [`super::books`] holds the cluster to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use super::asking::post;
use super::parts::PATIENCE;
use crate::api::{Api, Refused};
use crate::failure::{Context, Failure};

/// The asset of a vote.
pub(super) const ASSET: &str = "VOTE";

/// The candidates with the names of their wallets, and how many in ten votes each gets.
pub(super) const CANDIDATES: [(&str, &str, usize); 3] =
    [("ann", "Ann and the Bees", 5), ("ben", "Ben", 3), ("cleo", "Cleo", 2)];

/// Votes that each voter has: more than a demo takes.
pub(super) const CREDIT: u64 = 10_000_000;

/// Before the next node is asked.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The crowd while it votes. Dropping it lets each voter end with the vote that is under way.
pub(super) struct Voters {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<Ballots, Failure>>>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    acknowledged: AtomicU64,
}

/// The record of one voter.
#[derive(Debug)]
pub(super) struct Ballots {
    /// The voter's wallet.
    pub(super) wallet: String,
    /// Its acknowledged votes, in order.
    pub(super) votes: Vec<Vote>,
    /// How often it had to ask again, as a node was gone or did not know.
    pub(super) asked_again: u64,
}

/// An acknowledged vote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vote {
    /// Its number among those of the voter, from 0.
    pub(super) number: u64,
    /// From the first question to the answer.
    pub(super) took: Duration,
}

impl Ballots {
    /// The candidate of a vote of this number, as a place in [`CANDIDATES`].
    pub(super) fn candidate(number: u64) -> usize {
        let nth = usize::try_from(number % 10).unwrap_or_default();
        let shares = CANDIDATES.iter().scan(0, |sum, (_, _, share)| {
            *sum += share;
            Some(*sum)
        });
        shares.take_while(|until| *until <= nth).count()
    }
}

/// The wallet of a voter.
pub(super) fn wallet(voter: usize) -> String {
    format!("voter-{}", voter + 1)
}

/// The id of a voter's vote, the same whenever it is asked for again.
pub(super) fn id(voter: usize, number: u64) -> String {
    let hex = format!("{:032x}", (voter as u128 + 1) << 64 | u128::from(number));
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

impl Voters {
    /// Has `count` voters begin, each at another of the nodes. Their wallets have credit.
    pub(super) fn start(nodes: &[Arc<Api>], count: usize) -> Result<Self, Failure> {
        let shared = Arc::new(Shared::default());
        let mut threads = Vec::new();
        for voter in 0..count {
            let (shared, nodes) = (Arc::clone(&shared), nodes.to_vec());
            let thread = std::thread::Builder::new().name("voter".to_owned());
            let thread = thread.spawn(move || vote(voter, &nodes, &shared));
            threads.push(thread.context("the voters cannot start")?);
        }
        Ok(Self { shared, threads })
    }

    /// Votes that were acknowledged until now.
    pub(super) fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.load(Ordering::Relaxed)
    }

    /// Whether a voter gave up, which none should.
    pub(super) fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Ends the vote, and waits for the answers to the last votes.
    pub(super) fn finish(mut self) -> Result<Vec<Ballots>, Failure> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ended
            .into_iter()
            .map(|ended| ended.unwrap_or_else(|_| Err(Failure::new("a voter panicked; this is a bug"))))
            .collect()
    }
}

impl Drop for Voters {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

fn vote(voter: usize, nodes: &[Arc<Api>], shared: &Shared) -> Result<Ballots, Failure> {
    let mut ballots = Ballots { wallet: wallet(voter), votes: Vec::new(), asked_again: 0 };
    let mut at = voter % nodes.len();
    for number in 0..CREDIT {
        if shared.is_over.load(Ordering::Relaxed) {
            break;
        }
        let (candidate, _, _) = CANDIDATES[Ballots::candidate(number)];
        let transfer = json!({
            "id": id(voter, number), "debit": ballots.wallet, "credit": candidate, "asset": ASSET, "amount": 1,
        });
        let began = Instant::now();
        loop {
            match post(&nodes[at], "/api/transfers", &transfer) {
                Ok(_) => break,
                Err(Refused::Rejected { failure, .. }) => {
                    return Err(Failure::new(format!("a vote was refused: {failure}")));
                }
                Err(Refused::Unanswered(failure) | Refused::Busy { failure, .. }) => {
                    if began.elapsed() > PATIENCE {
                        let seconds = PATIENCE.as_secs();
                        return Err(Failure::new(format!(
                            "no node acknowledged a vote for {seconds} s; the last said: {failure}"
                        )));
                    }
                    ballots.asked_again += 1;
                    at = (at + 1) % nodes.len();
                    std::thread::sleep(ASK_AGAIN_AFTER);
                }
            }
        }
        ballots.votes.push(Vote { number, took: began.elapsed() });
        shared.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
    Ok(ballots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_get_their_shares_of_ten_votes() {
        let mut got = [0; CANDIDATES.len()];
        (0..10).for_each(|number| got[Ballots::candidate(number)] += 1);
        assert_eq!(got, CANDIDATES.map(|(_, _, share)| share));
    }

    #[test]
    fn ids_are_different_and_the_same_when_asked_again() {
        assert_eq!(id(0, 7), "00000000-0000-0001-0000-000000000007");
        assert!(id(0, 7) != id(1, 7) && id(0, 7) != id(0, 8));
    }
}
