//! Everything that can be checked in a data directory, checked.
//!
//! One shard after the other is recounted; then their common work is compared. The journals are
//! read up to the length at which verification began. While a server has them open, shards end at
//! slightly different times, and disagreements are reported as a remark.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::books::{Books, TRANSIT};
use crate::event::Event;
use crate::groups::{Groups, Together};
use crate::hex::HexHash;
use crate::problem::Spot;
use crate::section::Section;
use crate::source::{NotedSeal, Source};
use crate::walk::{Seen, Walk};
use crate::{Error, Kind, Problem, Progress};

/// Problems that a report lists; more are counted only.
const PROBLEMS_MAX: usize = 1_000;

/// How strict it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Within how many transfers of a shard an id may stand once only: the server's `wallet.transfers_remembered`. About 100 bytes
    /// of memory each.
    pub transfers_remembered: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { transfers_remembered: 20_000_000 }
    }
}

/// The content of the books, and the mistakes in them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Each shard, in their order.
    pub shards: Vec<ShardFigures>,
    /// Each asset, over all shards.
    pub assets: Vec<AssetFigures>,
    /// What is wrong, at most 1,000. Empty: the books hold.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub problems_more: u64,
    /// What is worth knowing and no mistake.
    pub remarks: Vec<String>,
    /// Transfers between shards, or linked over several.
    pub groups: u64,
    /// Of these: not decided yet, or not yet known on all their shards.
    pub groups_open: u64,
    /// Whether a server had the journals open.
    pub in_use: bool,
    #[serde(skip)]
    accounts: Vec<AccountFigures>,
}

/// The content of one shard's books.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShardFigures {
    /// Which.
    pub shard: u16,
    /// Records that are about wallets.
    pub records: u64,
    /// Transfers that moved an amount here.
    pub transfers: u64,
    /// Accounts.
    pub accounts: u64,
    /// Open holds.
    pub holds: u64,
    /// Seals.
    pub seals: u64,
    /// The root of the last seal; the beginning of the chain where there is none.
    pub root: HexHash,
    /// Records after the last seal's period.
    pub unsealed: u64,
    /// The chain value of the last record.
    pub chain: HexHash,
}

/// The books' content for an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssetFigures {
    /// Which.
    pub asset: String,
    /// Digits behind its point.
    pub scale: u8,
    /// Accounts; a system wallet's on each shard counts once for each.
    pub accounts: u64,
    /// Sum of all balances above zero. The balances of `@transit` on all shards count as one.
    pub credit: u128,
    /// Sum of all balances below zero, without its sign: as much as `credit`, or the books don't balance.
    pub debit: u128,
    /// Held, all in all.
    pub held: u128,
}

impl AssetFigures {
    /// Counts a balance.
    fn add(&mut self, posted: i128) {
        *if posted < 0 { &mut self.debit } else { &mut self.credit } += posted.unsigned_abs();
    }
}

/// The books' content for an account. A system wallet has one on each shard: see
/// [`Report::balances`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AccountFigures {
    /// Whose.
    pub wallet: String,
    /// Of what.
    pub asset: String,
    /// On which shard.
    pub shard: u16,
    /// What came in less what went out.
    pub posted: i128,
    /// Of that: held by open holds, or by transfers between shards that are not decided.
    pub held: u128,
    /// Entries in its history.
    pub entries: u64,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Every account on every shard, by wallet, asset and shard.
    pub fn accounts(&self) -> &[AccountFigures] {
        &self.accounts
    }

    /// What each wallet has of each asset, posted and held, a system wallet's shards together.
    pub fn balances(&self) -> impl Iterator<Item = (&str, &str, i128, u128)> {
        self.accounts.chunk_by(|a, b| (&a.wallet, &a.asset) == (&b.wallet, &b.asset)).map(|parts| {
            let posted = parts.iter().map(|part| part.posted).sum();
            let held = parts.iter().map(|part| part.held).sum();
            (parts[0].wallet.as_str(), parts[0].asset.as_str(), posted, held)
        })
    }

    fn add(&mut self, problem: Problem) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        } else {
            self.problems_more += 1;
        }
    }
}

/// Recounts all wallets of a data directory from the first record on, or those of one shard in the
/// folder of its replica.
///
/// # Errors
///
/// Where it cannot be read at all; mistakes in the part that was read are in the report.
pub fn verify(
    source: impl Into<Source>,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, Error> {
    let mut walk = Walk::open(&source.into())?;
    let mut report = Report { in_use: walk.in_use(), remarks: walk.torn().collect(), ..Report::default() };
    let mut groups = Groups::default();
    let mut assets: BTreeMap<String, AssetFigures> = BTreeMap::new();
    let mut transit: BTreeMap<String, i128> = BTreeMap::new();
    for shard in walk.shards() {
        let mut books = Books::new(shard, walk.count(), options.transfers_remembered);
        let mut noted = Noted::new(walk.seals(shard));
        walk.shard(shard, progress, &mut |seen| match seen {
            Seen::Problem(problem) => report.add(problem),
            Seen::Record { spot, section, .. } => {
                noted.record(spot, section, &mut |problem| report.add(problem));
                books.record(spot, section, &mut groups, &mut |problem| report.add(problem));
            }
        })?;
        noted.finish(shard, &mut |problem| report.add(problem));
        books.finish(&mut |problem| report.add(problem));
        report.take(&books, shard, &mut assets, &mut transit);
    }
    for (asset, &posted) in &transit {
        if let Some(asset) = assets.get_mut(asset) {
            asset.add(posted);
        }
    }
    report.assets = assets.into_values().collect();
    report.accounts.sort();
    match walk.count() {
        Some(_) => report.compare(&groups, transit),
        None => report
            .remarks
            .push("a replica of one shard was read: its work with other shards is not judged".to_owned()),
    }
    Ok(report)
}

/// Seals that a journal must have, by their numbers: those that were not read yet.
struct Noted(BTreeMap<u64, Vec<NotedSeal>>);

impl Noted {
    fn new(seals: &[NotedSeal]) -> Self {
        let mut by_number: BTreeMap<u64, Vec<NotedSeal>> = BTreeMap::new();
        for seal in seals {
            by_number.entry(seal.number).or_default().push(seal.clone());
        }
        Self(by_number)
    }

    /// Compares the seals of a record.
    fn record(&mut self, spot: Spot, section: &Section<'_>, report: &mut dyn FnMut(Problem)) {
        if self.0.is_empty() {
            return;
        }
        for event in &section.events {
            let Ok(Event::Seal { number, root, .. }) = Event::parse(event, section.time) else { continue };
            for noted in self.0.remove(&number).unwrap_or_default() {
                if noted.root.0 != root {
                    let (noted_root, by) = (noted.root, noted.by);
                    let what = format!(
                        "seal {number} has the root {} here, and {noted_root} in {by}",
                        HexHash(root)
                    );
                    report(spot.problem(Kind::Seal, what));
                }
            }
        }
    }

    fn finish(self, shard: u16, report: &mut dyn FnMut(Problem)) {
        for noted in self.0.into_values().flatten() {
            let what = format!("the journal has no seal {}, and {} names it", noted.number, noted.by);
            report(Problem { kind: Kind::Seal, shard, position: None, what });
        }
    }
}

impl Report {
    /// The figures of a shard that was read.
    fn take(
        &mut self,
        books: &Books,
        shard: u16,
        assets: &mut BTreeMap<String, AssetFigures>,
        transit: &mut BTreeMap<String, i128>,
    ) {
        for one in &books.assets {
            let empty = AssetFigures {
                asset: one.code.clone(),
                scale: one.scale,
                accounts: 0,
                credit: 0,
                debit: 0,
                held: 0,
            };
            let known = assets.entry(one.code.clone()).or_insert(empty);
            if known.scale != one.scale {
                let what =
                    format!("{} has {} digits here and {} elsewhere", one.code, one.scale, known.scale);
                self.add(Problem { kind: Kind::Order, shard, position: None, what });
            }
        }
        for one in &books.accounts {
            let code = books.assets.get(one.asset as usize).map_or("?", |asset| asset.code.as_str());
            let held = one.held + one.going;
            if let Some(asset) = assets.get_mut(code) {
                asset.accounts += 1;
                asset.held += held;
                if one.wallet != TRANSIT {
                    asset.add(one.posted);
                }
            }
            if one.wallet == TRANSIT {
                *transit.entry(code.to_owned()).or_default() += one.posted;
            }
            self.accounts.push(AccountFigures {
                wallet: one.wallet.clone(),
                asset: code.to_owned(),
                shard,
                posted: one.posted,
                held,
                entries: one.entries,
            });
        }
        self.shards.push(ShardFigures {
            shard,
            records: books.records,
            transfers: books.transfers,
            accounts: books.accounts.len() as u64,
            holds: books.open_holds() as u64,
            seals: books.seals,
            root: HexHash(books.root),
            unsealed: books.unsealed() as u64,
            chain: HexHash(books.chain),
        });
    }

    /// What the shards did together.
    fn compare(&mut self, groups: &Groups, transit: BTreeMap<String, i128>) {
        let mut problems = Vec::new();
        let Together { groups, open, transit: on_the_way } =
            groups.finish(&mut |problem| problems.push(problem));
        (self.groups, self.groups_open) = (groups, open);
        for (asset, posted) in transit {
            let missing = on_the_way.get(&asset).copied().unwrap_or_default();
            if posted + missing != 0 {
                let what = format!(
                    "{TRANSIT} has {posted} of {asset} over all shards, and {missing} is on its way: it should come to zero"
                );
                problems.push(Problem { kind: Kind::Group, shard: 0, position: None, what });
            }
        }
        if self.in_use {
            self.remarks.push(
                "a server has the journals open: the latest work between shards is not judged".to_owned(),
            );
            self.remarks.extend(problems.iter().map(Problem::to_string));
        } else {
            problems.into_iter().for_each(|problem| self.add(problem));
        }
    }
}
