//! The votes that people have, in Stadium's wallets: credited when they are paid for, moved when they are cast.
//!
//! The bank keeps no balance of its own. What it asks carries ids made of what it is for, so asking again is safe; questions
//! of many people travel in one call. A vote that was booked too late is returned before its voter
//! is notified.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use stadium_rpc::{CallError, Client, ServiceClient};

use crate::batcher::Batcher;
use crate::poll::{ASSET, Candidate, Poll, SHOP, TransferId, Voter, now_ms};
use crate::proto::{
    AccountList, AssetsRequest, BalanceAtRequest, DeclareAssetRequest, DeclareRequest, Direction,
    EntriesRequest, NewAccount, NewJob, NewTransfer, NotDone, OpenRequest, Post, PushRequest, QueueSettings,
    QueuedJob, TogetherRequest, TransferNamed, TransferRequest, Unit, UnitOutcome, WalletsNamed,
    new_transfer, push_request, queue, wallet,
};
use crate::stadium::{Stadium, call};

/// Where a job for each vote is put.
pub const BALLOTS: &str = "ballots";

/// Votes, balances or credits that travel in one call.
const BATCH_MAX: usize = 500;

/// Calls of one kind that are under way at once: enough that one waits for the disk while another is made.
const CALLS_MAX: usize = 4;

/// Voters whose account is known to be open; beyond it all are forgotten and asked for again.
const KNOWN_MAX: usize = 2_000_000;

/// How much earlier than Stadium's our clock may strike: a vote that we would take for late is asked for so long.
const CLOCKS_APART_MS: u64 = 1_000;

/// How long a vote is tried where Stadium is busy with that one.
const VOTE_PATIENCE: Duration = Duration::from_secs(10);

/// By which way a vote came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The HTTP API.
    Http,
    /// A device's publish.
    Mqtt,
}

impl Way {
    /// As on the ballot.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Way::Http => "http",
            Way::Mqtt => "mqtt",
        }
    }
}

/// A vote to be cast.
#[derive(Clone, Debug)]
pub struct Vote {
    /// By whom.
    pub voter: Voter,
    /// For whom, by the place on the ballot.
    pub candidate: usize,
    /// At most once.
    pub id: TransferId,
    /// How it came.
    pub way: Way,
}

/// A vote that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voted {
    /// When it was booked, by Stadium's clock.
    pub at_ms: u64,
    /// It had been cast before: nothing happened now.
    pub duplicate: bool,
}

/// Why a vote, a credit or a question came to nothing. Nothing has happened, but for `Busy`: then asking the same
/// again tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The voter has no vote left.
    NoCredit,
    /// Voting has closed.
    Closed,
    /// The id was used for another vote or payment.
    Reused,
    /// Stadium is busy or away.
    Busy(String),
    /// Stadium will never do it: its code, and why.
    Other(String, String),
}

/// The bank of one poll.
pub struct Bank {
    poll: Arc<Poll>,
    wallets: ServiceClient,
    queues: ServiceClient,
    /// Ends its thread when it goes.
    _client: Client,
    welcome: u64,
    known: Mutex<HashSet<Voter>>,
    welcomes: Batcher<Credit, Result<Voted, Refused>>,
    balances: Batcher<Voter, Result<i64, Refused>>,
    votes: Batcher<Vote, Result<UnitOutcome, Refused>>,
    /// The latest time of Stadium's clock that we have seen.
    server_ms: AtomicU64,
    under_way: AtomicU64,
    cast: Mutex<Cast>,
}

/// What became of the votes that this instance was asked to cast, since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cast {
    /// That counted; those that were sent again once.
    pub counted: u64,
    /// That were not paid for, or came too late.
    pub refused: u64,
    /// When the first one that counted was booked.
    pub first_at_ms: u64,
    /// And the last one.
    pub last_at_ms: u64,
}

/// Votes for somebody, at most once for the id.
#[derive(Clone, Debug)]
pub struct Credit {
    /// For whom; the account is opened where there is none.
    pub voter: Voter,
    /// How many; 0 only opens the account.
    pub votes: u64,
    /// At most once.
    pub id: TransferId,
    /// What the payment is called elsewhere.
    pub reference: String,
}

impl Bank {
    /// Connects, and declares the asset and the queue of ballots. Each voter gets `welcome` votes with the first login.
    pub(crate) async fn open(stadium: &Stadium, poll: Arc<Poll>, welcome: u64) -> anyhow::Result<Self> {
        let client = stadium.client("voting-rpc")?;
        let wallets = client.service(wallet::NAME);
        let queues = client.service(queue::NAME);
        call(&wallets, &wallet::DECLARE, &DeclareAssetRequest { asset: ASSET.to_owned(), scale: 0 }).await?;
        // On all shards, so that a ballot stays on the shard of its vote.
        let settings = QueueSettings { spread: true, ..QueueSettings::default() };
        let ballots = DeclareRequest { queue: BALLOTS.to_owned(), settings: Some(settings) };
        call(&queues, &queue::DECLARE, &ballots).await?;

        let crediting = wallets.clone();
        let asking = wallets.clone();
        let (voting, voted_on) = (wallets.clone(), Arc::clone(&poll));
        Ok(Self {
            welcomes: Batcher::start(BATCH_MAX, CALLS_MAX, move |credits| credit(crediting.clone(), credits)),
            balances: Batcher::start(BATCH_MAX, CALLS_MAX, move |voters| balances(asking.clone(), voters)),
            votes: Batcher::start(BATCH_MAX, CALLS_MAX, move |votes: Vec<Vote>| {
                let units = votes.iter().map(|vote| ballot(&voted_on, vote)).collect();
                together(voting.clone(), units)
            }),
            poll,
            wallets,
            queues,
            _client: client,
            welcome,
            known: Mutex::default(),
            server_ms: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
            cast: Mutex::default(),
        })
    }

    /// The poll.
    pub(crate) fn poll(&self) -> &Arc<Poll> {
        &self.poll
    }

    /// Stadium's queues.
    pub(crate) fn queues(&self) -> &ServiceClient {
        &self.queues
    }

    /// Opens the voter's account with what everybody gets, where it is not open.
    ///
    /// # Errors
    /// See [`Refused`].
    pub async fn welcome(&self, voter: &Voter) -> Result<(), Refused> {
        if self.known.lock().contains(voter) {
            return Ok(());
        }
        let id = TransferId::of(&[b"welcome", voter.name().as_bytes()]);
        let credit =
            Credit { voter: voter.clone(), votes: self.welcome, id, reference: "welcome".to_owned() };
        self.credit(credit).await?;
        let mut known = self.known.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(voter.clone());
        Ok(())
    }

    /// Gives votes that were paid for.
    ///
    /// # Errors
    /// See [`Refused`].
    pub async fn credit(&self, credit: Credit) -> Result<Voted, Refused> {
        self.welcomes.ask(credit).await.unwrap_or_else(|| Err(ending()))
    }

    /// Votes that the voter can cast.
    ///
    /// # Errors
    /// See [`Refused`].
    pub async fn balance(&self, voter: &Voter) -> Result<i64, Refused> {
        self.balances.ask(voter.clone()).await.unwrap_or_else(|| Err(ending()))
    }

    /// Casts a vote. The time at which Stadium booked it decides whether it was in time.
    ///
    /// # Errors
    /// See [`Refused`]. After `Busy` the same vote may be cast again with the same id, and counts once.
    pub async fn vote(&self, vote: Vote) -> Result<Voted, Refused> {
        let voted = self.cast_vote(vote).await;
        let mut cast = self.cast.lock();
        match &voted {
            Ok(Voted { at_ms, duplicate: false }) => {
                cast.counted += 1;
                cast.first_at_ms = if cast.first_at_ms == 0 { *at_ms } else { cast.first_at_ms.min(*at_ms) };
                cast.last_at_ms = cast.last_at_ms.max(*at_ms);
            }
            Err(Refused::NoCredit | Refused::Closed) => cast.refused += 1,
            _ => {}
        }
        voted
    }

    /// What became of all votes so far.
    #[must_use]
    pub fn cast(&self) -> Cast {
        *self.cast.lock()
    }

    async fn cast_vote(&self, vote: Vote) -> Result<Voted, Refused> {
        // Before the look at the clock: the sweep after the closing looks in the other order.
        let _under_way = UnderWay::begin(&self.under_way);
        if self.has_closed() {
            // It may be one that counted, asked for again.
            return self.find(vote.id).await;
        }
        let deadline = Instant::now() + VOTE_PATIENCE;
        let outcome = loop {
            let outcome = self.votes.ask(vote.clone()).await.unwrap_or_else(|| Err(ending()))?;
            match &outcome.refused {
                Some(NotDone { retry_after_ms, reason, .. }) if *retry_after_ms > 0 => {
                    let wait = Duration::from_millis(*retry_after_ms);
                    if Instant::now() + wait >= deadline {
                        return Err(Refused::Busy(reason.clone()));
                    }
                    tokio::time::sleep(wait).await;
                }
                Some(not_done) => return Err(refused(not_done)),
                None => break outcome,
            }
        };
        let Some(booked) = outcome.transfers.first() else {
            return Err(Refused::Busy("Stadium's answer lacks the transfer".to_owned()));
        };
        self.server_ms.fetch_max(booked.booked_at_ms, Ordering::Relaxed);
        if self.poll.is_late(booked.booked_at_ms) {
            // Where that fails, the sweep after the closing does it: see `closing`.
            let _ = self.give_back(vec![(vote.voter, vote.candidate, vote.id)]).await;
            return Err(Refused::Closed);
        }
        Ok(Voted { at_ms: booked.booked_at_ms, duplicate: booked.duplicate })
    }

    /// Votes that were asked for and not answered.
    pub(crate) fn votes_under_way(&self) -> u64 {
        self.under_way.load(Ordering::SeqCst)
    }

    /// Whether the closing time has passed for certain: on Stadium's clock, or on ours by more than
    /// clocks are apart.
    #[must_use]
    pub fn has_closed(&self) -> bool {
        self.poll.is_late(self.server_ms.load(Ordering::Relaxed))
            || self.poll.is_late(now_ms().saturating_sub(CLOCKS_APART_MS))
    }

    /// A vote that was cast before.
    async fn find(&self, id: TransferId) -> Result<Voted, Refused> {
        match call(&self.wallets, &wallet::FIND, &TransferNamed { transfer: id.0.to_vec() }).await {
            Ok(found) if !self.poll.is_late(found.at_ms) => Ok(Voted { at_ms: found.at_ms, duplicate: true }),
            Ok(_) => Err(Refused::Closed),
            Err(CallError::Rejected { .. }) => Err(Refused::Closed),
            Err(error) => Err(failed(error)),
        }
    }

    /// Moves votes that came too late back to their voters, each at most once, and notifies their
    /// devices.
    pub(crate) async fn give_back(&self, late: Vec<(Voter, usize, TransferId)>) -> Result<(), Refused> {
        let units = late
            .iter()
            .map(|(voter, candidate, vote)| {
                let candidate = &self.poll.candidates()[*candidate];
                let id = TransferId::of(&[b"late", &vote.0]);
                let text = json!({
                    "poll": self.poll.name(),
                    "vote": vote.to_string(),
                    "candidate": candidate.id,
                    "status": "too late, returned",
                });
                Unit {
                    transfers: vec![post(
                        id,
                        candidate.wallet.clone(),
                        voter.wallet(),
                        1,
                        format!("late {vote}"),
                    )],
                    jobs: Vec::new(),
                    pushes: vec![push(voter, text.to_string())],
                }
            })
            .collect();
        for outcome in together(self.wallets.clone(), units).await {
            if let Some(not_done) = &outcome?.refused {
                return Err(refused(not_done));
            }
        }
        Ok(())
    }

    /// Votes that a candidate was given at or after the closing, a page of them: voter, id; and where the next page begins.
    pub(crate) async fn late_votes(
        &self,
        candidate: &Candidate,
        before: Option<u64>,
    ) -> Result<(Vec<(Voter, TransferId)>, Option<u64>), Refused> {
        let request = EntriesRequest {
            wallet: candidate.wallet.clone(),
            asset: ASSET.to_owned(),
            from_ms: self.poll.closes_ms(),
            direction: Direction::Credit.into(),
            before,
            entries_max: 1_000,
            ..EntriesRequest::default()
        };
        let page = match call(&self.wallets, &wallet::HISTORY, &request).await {
            Ok(page) => page,
            // Nobody voted for this candidate.
            Err(CallError::Rejected { code, .. }) if code == "WAL-021" => return Ok((Vec::new(), None)),
            Err(error) => return Err(failed(error)),
        };
        let late = page.entries.into_iter().filter_map(|entry| {
            let transfer = entry.transfer?;
            let voter = Voter::new(transfer.debit.strip_prefix("voter:")?).ok()?;
            Some((voter, TransferId(transfer.transfer.try_into().ok()?)))
        });
        Ok((late.collect(), page.before))
    }

    /// Votes of each candidate, in the order of the ballot: now, or as they were at the closing once it has passed.
    pub(crate) async fn standings(&self) -> Result<Vec<i64>, Refused> {
        let candidates = self.poll.candidates();
        let closes_ms = self.poll.closes_ms().filter(|closes_ms| self.has_closed() || now_ms() >= *closes_ms);
        if let Some(closes_ms) = closes_ms {
            let mut votes = Vec::with_capacity(candidates.len());
            for candidate in candidates {
                let request = BalanceAtRequest {
                    wallet: candidate.wallet.clone(),
                    asset: ASSET.to_owned(),
                    // The last millisecond that counts.
                    at_ms: closes_ms - 1,
                };
                votes.push(match call(&self.wallets, &wallet::BALANCE_AT, &request).await {
                    Ok(balance) => balance.posted,
                    Err(CallError::Rejected { code, .. }) if code == "WAL-021" => 0,
                    Err(error) => return Err(failed(error)),
                });
            }
            return Ok(votes);
        }
        let wallets = candidates.iter().map(|candidate| candidate.wallet.clone()).collect();
        let list = call(&self.wallets, &wallet::WALLET, &WalletsNamed { wallets }).await.map_err(failed)?;
        let posted = by_wallet(list, |balance| balance.posted);
        Ok(candidates.iter().map(|candidate| posted.get(&candidate.wallet).copied().unwrap_or(0)).collect())
    }

    /// The sums of all accounts with votes, above and below zero: the same, or the books do not balance.
    pub(crate) async fn books(&self) -> Result<(String, String), Refused> {
        let list = call(&self.wallets, &wallet::ASSETS, &AssetsRequest {}).await.map_err(failed)?;
        let asset = list.assets.into_iter().find(|asset| asset.asset == ASSET);
        Ok(asset.map_or_else(|| ("0".to_owned(), "0".to_owned()), |asset| (asset.credit, asset.debit)))
    }
}

/// Counts a vote while it is asked for, also where its asker goes away meanwhile.
struct UnderWay<'a>(&'a AtomicU64);

impl<'a> UnderWay<'a> {
    fn begin(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What happens with a vote, all or nothing.
fn ballot(poll: &Poll, vote: &Vote) -> Unit {
    let candidate = &poll.candidates()[vote.candidate];
    let (name, id) = (poll.name(), vote.id.to_string());
    let job = json!({
        "poll": name, "vote": id, "voter": vote.voter.name(), "candidate": candidate.id, "way": vote.way.name(),
    });
    let confirmation = json!({ "poll": name, "vote": id, "candidate": candidate.id, "status": "counted" });
    Unit {
        transfers: vec![post(
            vote.id,
            vote.voter.wallet(),
            candidate.wallet.clone(),
            1,
            format!("{name} {}", vote.way.name()),
        )],
        jobs: vec![QueuedJob {
            queue: BALLOTS.to_owned(),
            job: Some(NewJob { payload: job.to_string().into(), ..NewJob::default() }),
        }],
        pushes: vec![push(&vote.voter, confirmation.to_string())],
    }
}

fn post(id: TransferId, debit: String, credit: String, amount: u64, reference: String) -> NewTransfer {
    NewTransfer {
        id: id.0.to_vec(),
        reference,
        kind: Some(new_transfer::Kind::Post(Post { debit, credit, asset: ASSET.to_owned(), amount })),
        ..NewTransfer::default()
    }
}

fn push(voter: &Voter, text: String) -> PushRequest {
    PushRequest {
        to: Some(push_request::To::Device(voter.name().to_owned())),
        message: text.into(),
        content_type: "application/json".to_owned(),
        ..PushRequest::default()
    }
}

type Answers<A> = Pin<Box<dyn Future<Output = Vec<A>> + Send>>;

/// One call for all units; each has an answer of its own.
fn together(wallets: ServiceClient, units: Vec<Unit>) -> Answers<Result<UnitOutcome, Refused>> {
    Box::pin(async move {
        let count = units.len();
        match call(&wallets, &wallet::TOGETHER, &TogetherRequest { units }).await {
            Ok(answer) if answer.outcomes.len() == count => answer.outcomes.into_iter().map(Ok).collect(),
            Ok(_) => vec![Err(Refused::Busy("Stadium's answer lacks units".to_owned())); count],
            Err(error) => vec![Err(failed(error)); count],
        }
    })
}

/// Opens accounts and credits them, each account and id once in a call.
fn credit(wallets: ServiceClient, credits: Vec<Credit>) -> Answers<Result<Voted, Refused>> {
    Box::pin(async move {
        let accounts = credits
            .iter()
            .map(|credit| NewAccount {
                wallet: credit.voter.wallet(),
                asset: ASSET.to_owned(),
                ..NewAccount::default()
            })
            .collect();
        let opened = match call(&wallets, &wallet::OPEN, &OpenRequest { accounts }).await {
            Ok(opened) if opened.outcomes.len() == credits.len() => opened.outcomes,
            Ok(_) => {
                return vec![Err(Refused::Busy("Stadium's answer lacks accounts".to_owned())); credits.len()];
            }
            Err(error) => return vec![Err(failed(error)); credits.len()],
        };
        // The same id may be asked for by two at once, and may stand in a command once.
        let mut transfers: Vec<NewTransfer> = Vec::new();
        let mut place: HashMap<TransferId, (usize, Credit)> = HashMap::new();
        for (credit, opened) in credits.iter().zip(&opened) {
            if credit.votes > 0 && opened.refused.is_none() && !place.contains_key(&credit.id) {
                place.insert(credit.id, (transfers.len(), credit.clone()));
                let reference = credit.reference.clone();
                transfers.push(post(
                    credit.id,
                    SHOP.to_owned(),
                    credit.voter.wallet(),
                    credit.votes,
                    reference,
                ));
            }
        }
        let count = transfers.len();
        let booked = if count == 0 {
            Ok(Vec::new())
        } else {
            let request = TransferRequest { transfers, linked: false };
            match call(&wallets, &wallet::TRANSFER, &request).await {
                Ok(answer) if answer.outcomes.len() == count => Ok(answer.outcomes),
                Ok(_) => Err(Refused::Busy("Stadium's answer lacks transfers".to_owned())),
                Err(error) => Err(failed(error)),
            }
        };
        let outcome = |credit: &Credit, opened: &Option<NotDone>| {
            if let Some(not_done) = opened {
                return Err(refused(not_done));
            }
            let Some((at, first)) = place.get(&credit.id) else {
                return Ok(Voted { at_ms: 0, duplicate: false });
            };
            if (&first.voter, first.votes) != (&credit.voter, credit.votes) {
                return Err(Refused::Reused);
            }
            let booked = &booked.as_ref().map_err(Clone::clone)?[*at];
            match &booked.refused {
                Some(not_done) => Err(refused(not_done)),
                None => Ok(Voted { at_ms: booked.booked_at_ms, duplicate: booked.duplicate }),
            }
        };
        credits.iter().zip(&opened).map(|(credit, opened)| outcome(credit, &opened.refused)).collect()
    })
}

/// What voters have, in one call.
fn balances(wallets: ServiceClient, voters: Vec<Voter>) -> Answers<Result<i64, Refused>> {
    Box::pin(async move {
        let asked = WalletsNamed { wallets: voters.iter().map(Voter::wallet).collect() };
        match call(&wallets, &wallet::WALLET, &asked).await {
            Ok(list) => {
                let available = by_wallet(list, |balance| balance.available);
                asked.wallets.iter().map(|wallet| Ok(available.get(wallet).copied().unwrap_or(0))).collect()
            }
            Err(error) => vec![Err(failed(error)); voters.len()],
        }
    })
}

fn by_wallet(list: AccountList, pick: fn(&crate::proto::Balance) -> i64) -> HashMap<String, i64> {
    let of_votes = list.accounts.into_iter().filter(|account| account.asset == ASSET);
    of_votes.map(|account| (account.wallet, account.balance.as_ref().map_or(0, pick))).collect()
}

/// Why one of several was not done, in our words.
fn refused(not_done: &NotDone) -> Refused {
    let NotDone { code, reason, retry_after_ms, .. } = not_done;
    match code.as_str() {
        _ if *retry_after_ms > 0 => Refused::Busy(reason.clone()),
        // No account is no credit.
        "WAL-021" | "WAL-023" => Refused::NoCredit,
        "WAL-026" => Refused::Reused,
        _ => Refused::Other(code.clone(), reason.clone()),
    }
}

/// Why a whole call failed. Only a rejection is for ever.
fn failed(error: CallError) -> Refused {
    match error {
        CallError::Rejected { code, reason } => Refused::Other(code, reason),
        other => Refused::Busy(other.to_string()),
    }
}

fn ending() -> Refused {
    Refused::Busy("this service is ending".to_owned())
}
