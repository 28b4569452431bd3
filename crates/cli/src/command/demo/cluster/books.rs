//! The comparison at the end: the votes that were acknowledged, with the transfers in the voters' histories.
//!
//! A vote is lost if it was acknowledged and is in no history, and counted twice if it is there twice. The sums
//! must agree too: what candidates have is what voters spent, and credits are debits.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::asking::insist;
use super::parts::until;
use super::voters::{ASSET, Ballots, CANDIDATES, CREDIT, id, wallet};
use crate::api::{Api, Method};
use crate::failure::Failure;
use crate::interrupted::Interrupted;

/// Entries of a history that are read at once: the most that a page has.
const PAGE: usize = 1_000;

/// The state of the books.
#[derive(Debug, Default, Serialize)]
pub(super) struct Books {
    /// Votes that voters were told are counted.
    pub(super) acknowledged: u64,
    /// Votes in the voters' histories.
    pub(super) counted: u64,
    /// Acknowledged, and in no history.
    pub(super) lost: u64,
    /// More than once in a history.
    pub(super) twice: u64,
    /// In a history, and acknowledged to nobody. Voters ask until they have an answer, so there is none.
    pub(super) unasked: u64,
    /// Votes of each candidate.
    pub(super) candidates: Vec<Candidate>,
    /// The sum of all accounts above zero.
    pub(super) credit: u64,
    /// The debt of all accounts below zero.
    pub(super) debit: u64,
    /// Whether all of it agrees.
    pub(super) balance: bool,
}

/// A candidate's result.
#[derive(Debug, Serialize)]
pub(super) struct Candidate {
    /// The name.
    pub(super) name: String,
    /// Votes.
    pub(super) votes: u64,
}

/// Opens the accounts, and gives each of so many voters its credit.
pub(super) fn open(interrupted: &Interrupted, api: &Api, voters: usize) -> Result<(), Failure> {
    let path = format!("/api/assets/{ASSET}");
    insist(interrupted, api, Method::Put, &path, Some(&json!({"scale": 0})))?;
    let wallets = (0..voters).map(wallet).chain(CANDIDATES.map(|(id, _, _)| id.to_owned()));
    let accounts: Vec<Value> = wallets.map(|wallet| json!({"wallet": wallet, "asset": ASSET})).collect();
    let accounts = json!({ "accounts": accounts });
    each(&insist(interrupted, api, Method::Post, "/api/wallets", Some(&accounts))?)?;
    let credit = |voter| {
        // Votes have smaller numbers.
        let id = id(voter, CREDIT);
        json!({"id": id, "debit": "@issue", "credit": wallet(voter), "asset": ASSET, "amount": CREDIT})
    };
    let credits = json!({ "transfers": (0..voters).map(credit).collect::<Vec<_>>() });
    each(&insist(interrupted, api, Method::Post, "/api/transfers/batch", Some(&credits))?)
}

/// Fails with the first outcome that is an error.
pub(super) fn each(answer: &Value) -> Result<(), Failure> {
    let results = answer["results"].as_array().map_or(&[][..], Vec::as_slice);
    match results.iter().find(|result| result.get("error").is_some_and(|error| !error.is_null())) {
        Some(refused) => Err(Failure::new(format!("the cluster refused: {}", refused["error"]))),
        None => Ok(()),
    }
}

/// Compares the voters' memory with the wallets, read through each of these nodes in turn.
pub(super) fn compare(
    ballots: &[Ballots],
    nodes: &[&Api],
    interrupted: &Interrupted,
) -> Result<Books, Failure> {
    let mut books = Books::default();
    for (voter, own) in ballots.iter().enumerate() {
        let mut times: BTreeMap<String, u64> = BTreeMap::new();
        let seen = |id| *times.entry(id).or_default() += 1;
        history(interrupted, nodes[voter % nodes.len()], &own.wallet, seen)?;
        books.acknowledged += own.votes.len() as u64;
        books.counted += times.values().sum::<u64>();
        for vote in &own.votes {
            match times.remove(&id(voter, vote.number)) {
                None => books.lost += 1,
                Some(1) => {}
                Some(_) => books.twice += 1,
            }
        }
        books.unasked += times.len() as u64;
    }
    // A transfer between shards reaches its candidate after it was acknowledged.
    let mut last = None;
    let settled = until(interrupted, "the books do not balance", || {
        let is_settled = sums(interrupted, nodes[0], &mut books)?;
        last = Some(());
        Ok(is_settled.then_some(()))
    });
    // Books that do not balance are a result; a cluster that does not answer is a failure.
    if last.is_none() || interrupted.is_set() {
        settled?;
    }
    books.balance = books.lost + books.twice + books.unasked == 0 && sums_agree(&books);
    Ok(books)
}

/// Reads the sums; whether they agree.
fn sums(interrupted: &Interrupted, api: &Api, books: &mut Books) -> Result<bool, Failure> {
    books.candidates.clear();
    for (wallet, name, _) in CANDIDATES {
        let account = read(interrupted, api, &format!("/api/wallets/{wallet}/{ASSET}"))?;
        let votes = amount(&account["posted"])?;
        books.candidates.push(Candidate { name: name.to_owned(), votes });
    }
    let assets = read(interrupted, api, "/api/assets")?;
    let asset = assets["assets"].as_array().and_then(|all| all.iter().find(|asset| asset["asset"] == ASSET));
    let asset = asset.ok_or_else(|| Failure::new(format!("the cluster has no asset {ASSET}")))?;
    (books.credit, books.debit) = (amount(&asset["credit"])?, amount(&asset["debit"])?);
    Ok(asset["balanced"] == true && sums_agree(books))
}

fn sums_agree(books: &Books) -> bool {
    let votes: u64 = books.candidates.iter().map(|candidate| candidate.votes).sum();
    votes == books.counted && books.credit == books.debit
}

/// Gives each transfer that left a wallet to `seen`.
fn history(
    interrupted: &Interrupted,
    api: &Api,
    wallet: &str,
    mut seen: impl FnMut(String),
) -> Result<(), Failure> {
    let first = format!("/api/wallets/{wallet}/{ASSET}/history?direction=debit&limit={PAGE}");
    let mut before = None::<String>;
    loop {
        let page = match &before {
            Some(before) => read(interrupted, api, &format!("{first}&before={before}"))?,
            None => read(interrupted, api, &first)?,
        };
        for entry in page["entries"].as_array().into_iter().flatten() {
            seen(entry["transfer"]["id"].as_str().unwrap_or_default().to_owned());
        }
        match page["next"].as_str() {
            Some(next) => before = Some(next.to_owned()),
            None => return Ok(()),
        }
    }
}

fn read(interrupted: &Interrupted, api: &Api, path: &str) -> Result<Value, Failure> {
    insist(interrupted, api, Method::Get, path, None)
}

/// An amount: a number, or a text where it is large.
fn amount(value: &Value) -> Result<u64, Failure> {
    let text = value.as_str().and_then(|text| text.parse().ok());
    value.as_u64().or(text).ok_or_else(|| Failure::new(format!("the cluster has {value} for an amount")))
}
