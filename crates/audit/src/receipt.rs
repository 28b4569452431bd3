//! Receipts: that a transfer stands in the books under a root that was published, checked without the books.
//!
//! ```text
//! event ─path─▶ record's digest ─(chain before, time)─▶ chain value ─path─▶ period's tree ─(root before, number)─▶ root
//! ```
//!
//! A transfer's event names its accounts by number. So a receipt also proves the events that opened those accounts and declared
//! the asset. They are mostly in earlier periods: the trees of the periods in between lead from their root to the transfer's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::books::TRANSIT;
use crate::event::{Event, MoveKind};
use crate::hex::{Hex, HexHash};
use crate::source::Source;
use crate::tree::{Hash, climb};
use crate::walk::{Seen, Walk};
use crate::{Error, Kind, Problem, Progress, chain, id, tree};

/// The version of the receipt's format.
const VERSION: u32 = 1;

/// Periods that a receipt spans at most, so that it stays a file that one can mail: 64 bytes of
/// JSON each. About a week of a shard that is never idle. An older transfer needs its own root, see
/// [`check`].
const TREES_MAX: u64 = 10_000;

/// What proves that a transfer stands in the books. JSON, see docs/audit.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Of this format: 1.
    pub version: u32,
    /// Which transfer, as a UUID. Only a label: the proved content is read from the event.
    pub transfer: String,
    /// On which shard it was decided.
    pub shard: u16,
    /// The seal that covers it.
    pub seal: u64,
    /// The root that this seal published: to be compared with the published one.
    pub root: HexHash,
    /// Of the transfer's event, then of those that name its accounts and its asset.
    pub proofs: Vec<Proof>,
    /// The trees of periods up to `seal`, the last one its own: they lead from the root of an earlier proof to `root`.
    pub trees: Vec<HexHash>,
}

/// That an event stands under the root of a seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The event's bytes, without their length.
    pub event: Hex,
    /// Which event of its record it is, from 0.
    pub event_index: u64,
    /// Events of the record.
    pub events: u64,
    /// From the event to the record's digest.
    pub event_path: Vec<HexHash>,
    /// The record's time, milliseconds since 1970.
    pub time: u64,
    /// The chain value before the record.
    pub chain_before: HexHash,
    /// Which record of its period it is, from 0.
    pub record_index: u64,
    /// Records of the period.
    pub records: u64,
    /// From the record to the period's tree.
    pub record_path: Vec<HexHash>,
    /// The root before the seal.
    pub root_before: HexHash,
    /// The seal's number.
    pub seal: u64,
}

/// What a receipt proves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proved {
    /// The transfer's id, as a UUID.
    pub transfer: String,
    /// What it did: `post`, `hold`, ...
    pub kind: &'static str,
    /// From whom.
    pub debit: String,
    /// To whom.
    pub credit: String,
    /// Of what.
    pub asset: String,
    /// Digits behind the asset's point.
    pub scale: u8,
    /// In minor units.
    pub amount: u64,
    /// When it was booked, milliseconds since 1970.
    pub at: u64,
    /// On which shard.
    pub shard: u16,
    /// The seal whose root it stands under.
    pub seal: u64,
    /// That root.
    pub root: HexHash,
}

impl Proof {
    /// The root that this leads to, if it leads anywhere.
    fn root(&self) -> Option<Hash> {
        let hashes = |path: &[HexHash]| path.iter().map(|hash| hash.0).collect::<Vec<_>>();
        let leaf = chain::event_leaf(&self.event.0);
        let digest = climb(leaf, self.event_index, self.events, &hashes(&self.event_path))?;
        let value = chain::next(&self.chain_before.0, &digest, self.time);
        let leaf = chain::period_leaf(&value);
        let tree = climb(leaf, self.record_index, self.records, &hashes(&self.record_path))?;
        Some(chain::seal_root(&self.root_before.0, self.seal, &tree))
    }
}

/// Makes the receipt of a transfer, a hold or its end: of one between shards, as the first of its shards has it.
///
/// # Errors
///
/// `NoTransfer`, `NotSealed`; `Broken` where the shard's journal is damaged or its chain does not hold.
pub fn receipt(
    source: impl Into<Source>,
    transfer: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<Receipt, Error> {
    let wanted = id::number(transfer).map_err(Error::NoTransfer)?;
    let source = source.into();
    let mut walk = Walk::open(&source)?;
    for shard in walk.shards() {
        let mut search = Search::default();
        walk.shard(shard, progress, &mut |seen| match seen {
            Seen::Problem(problem) => drop(search.broken.get_or_insert(problem)),
            Seen::Record { spot, section, .. } => {
                for (index, event) in section.events.iter().enumerate() {
                    if let Ok(event) = Event::parse(event, section.time) {
                        search.event(&event, (spot.position, index), wanted);
                    }
                }
            }
        })?;
        if search.found.is_none() {
            continue;
        }
        search.broken.map_or(Ok(()), |problem| Err(Error::Broken(problem)))?;
        let mut proofs = Proofs::new(shard, search.found.into_iter().flatten().collect());
        Walk::open(&source)?.shard(shard, &mut |_| {}, &mut |seen| match seen {
            Seen::Problem(problem) => drop(proofs.broken.get_or_insert(problem)),
            Seen::Record { spot, section, before } => proofs.record(spot.position, section, before),
        })?;
        return proofs.finish(wanted);
    }
    Err(Error::NoTransfer(id::show(wanted)))
}

/// Where an event stands: its record's position, and which one it is in it.
type Stand = (u64, usize);

/// Looks for a transfer, and for the events that name its accounts.
#[derive(Default)]
struct Search {
    assets: Vec<Stand>,
    /// Where an account was opened, and of which asset.
    accounts: Vec<(Stand, u32)>,
    /// The transfer, then the rest.
    found: Option<Vec<Stand>>,
    broken: Option<Problem>,
}

impl Search {
    fn event(&mut self, event: &Event<'_>, stand: Stand, wanted: u128) {
        let parties = match event {
            Event::Asset { .. } => return self.assets.push(stand),
            Event::Opened { asset, .. } => return self.accounts.push((stand, *asset)),
            Event::Transfer(moved) if moved.id == wanted => [Some(moved.debit), Some(moved.credit)],
            Event::Held { hold: promise, .. } | Event::Voided(promise) if promise.id == wanted => {
                [Some(promise.debit), promise.credit]
            }
            _ => return,
        };
        if self.found.is_some() {
            return;
        }
        let accounts: Vec<&(Stand, u32)> =
            parties.iter().flatten().filter_map(|&account| self.accounts.get(account as usize)).collect();
        let asset = accounts.first().and_then(|(_, asset)| self.assets.get(*asset as usize));
        let names = accounts.iter().map(|(stand, _)| *stand).chain(asset.copied());
        self.found = Some([stand].into_iter().chain(names).collect());
    }
}

/// Collects the proofs of some events while their shard is walked again.
struct Proofs {
    wanted: Vec<Stand>,
    shard: u16,
    /// Those whose period is not sealed.
    open: Vec<(usize, Proof)>,
    done: BTreeMap<usize, Proof>,
    leaves: Vec<Hash>,
    trees: Vec<Hash>,
    root: Hash,
    broken: Option<Problem>,
}

impl Proofs {
    fn new(shard: u16, wanted: Vec<Stand>) -> Self {
        let root = chain::beginning(shard);
        let (open, done, leaves, trees) = (Vec::new(), BTreeMap::new(), Vec::new(), Vec::new());
        Self { wanted, shard, open, done, leaves, trees, root, broken: None }
    }

    fn record(&mut self, position: u64, section: &crate::section::Section<'_>, before: Hash) {
        if self.done.contains_key(&0) {
            return;
        }
        for event in &section.events {
            if let Ok(Event::Seal { number, root, .. }) = Event::parse(event, section.time) {
                self.seal(position, number, root);
            }
        }
        let leaves: Vec<Hash> = section.events.iter().map(|event| chain::event_leaf(event)).collect();
        for (which, &(at, index)) in self.wanted.iter().enumerate() {
            if at == position {
                let proof = Proof {
                    event: Hex(section.events[index].to_vec()),
                    event_index: index as u64,
                    events: leaves.len() as u64,
                    event_path: tree::path(&leaves, index).into_iter().map(HexHash).collect(),
                    time: section.time,
                    chain_before: HexHash(before),
                    record_index: self.leaves.len() as u64,
                    records: 0,
                    record_path: Vec::new(),
                    root_before: HexHash(self.root),
                    seal: 0,
                };
                self.open.push((which, proof));
            }
        }
        self.leaves.push(chain::period_leaf(&section.chain));
    }

    fn seal(&mut self, position: u64, number: u64, root: Hash) {
        let tree = match self.leaves.as_slice() {
            [] => Hash::default(),
            leaves => tree::root(leaves),
        };
        for (which, mut proof) in self.open.drain(..) {
            let index = usize::try_from(proof.record_index).expect("it counted leaves");
            proof.record_path = tree::path(&self.leaves, index).into_iter().map(HexHash).collect();
            proof.records = self.leaves.len() as u64;
            proof.seal = number;
            self.done.insert(which, proof);
        }
        let is_next = number == self.trees.len() as u64 + 1 && !self.leaves.is_empty();
        if !is_next || chain::seal_root(&self.root, number, &tree) != root {
            let what = format!("the root of seal {number} is not that of its records");
            let problem = Problem { kind: Kind::Seal, shard: self.shard, position: Some(position), what };
            self.broken.get_or_insert(problem);
        }
        self.trees.push(tree);
        self.leaves.clear();
        self.root = root;
    }

    fn finish(self, transfer: u128) -> Result<Receipt, Error> {
        if let Some(problem) = self.broken {
            return Err(Error::Broken(problem));
        }
        let Some(seal) = self.done.get(&0).map(|proof| proof.seal) else { return Err(Error::NotSealed) };
        let proofs: Vec<Proof> = self.done.into_values().collect();
        let first = proofs.iter().map(|proof| proof.seal).min().unwrap_or(seal);
        let trees = usize::try_from((seal - first).min(TREES_MAX)).expect("10,000 at most");
        let trees = self.trees[self.trees.len() - trees..].iter().copied().map(HexHash).collect();
        let receipt = Receipt {
            version: VERSION,
            transfer: id::show(transfer),
            shard: self.shard,
            seal,
            root: HexHash(self.root),
            proofs,
            trees,
        };
        Ok(receipt)
    }
}

/// Checks a receipt against roots that were published: that of its seal, and where the receipt
/// needs them, those of earlier ones.
///
/// # Errors
///
/// [`Error::Receipt`], with what does not fit: the receipt proves nothing then.
pub fn check(receipt: &Receipt, published: &[HexHash]) -> Result<Proved, Error> {
    let wrong = |what: String| Error::Receipt(what);
    if receipt.version != VERSION {
        return Err(wrong(format!("it has version {}; known is {VERSION}", receipt.version)));
    }
    if !published.contains(&receipt.root) {
        return Err(wrong(format!("its root {} is none that was published", receipt.root)));
    }
    for (index, proof) in receipt.proofs.iter().enumerate() {
        let root =
            proof.root().ok_or_else(|| wrong(format!("proof {index} has a path of the wrong length")))?;
        if !published.contains(&HexHash(root)) && receipt.climb(root, proof.seal) != Some(receipt.root.0) {
            let what = if index > 0 && proof.seal < receipt.first_tree() {
                format!("proof {index} needs the root of seal {}, which was not given", proof.seal)
            } else {
                format!("proof {index} does not lead to the root of seal {}", receipt.seal)
            };
            return Err(wrong(what));
        }
    }
    receipt.read().map_err(wrong)
}

impl Receipt {
    /// The number of the first seal whose tree it holds.
    fn first_tree(&self) -> u64 {
        self.seal.saturating_add(1).saturating_sub(self.trees.len() as u64)
    }

    /// From the root of an earlier seal to that of ours.
    fn climb(&self, root: Hash, seal: u64) -> Option<Hash> {
        let mut root = root;
        for number in seal.checked_add(1)?..=self.seal {
            let tree = usize::try_from(number.checked_sub(self.first_tree())?).ok()?;
            root = chain::seal_root(&root, number, &self.trees.get(tree)?.0);
        }
        (seal <= self.seal).then_some(root)
    }

    /// The content of its events. They were proved before.
    fn read(&self) -> Result<Proved, String> {
        let events = self.proofs.iter().map(|proof| Event::parse(&proof.event.0, proof.time));
        let events = events.collect::<Result<Vec<_>, _>>()?;
        let (kind, of, amount, debit, credit, other) = match events.first() {
            Some(Event::Transfer(moved)) => {
                let kind = match moved.kind {
                    MoveKind::Post => "post",
                    MoveKind::Capture => "capture",
                    MoveKind::Reverse => "reverse",
                };
                (kind, moved.id, moved.amount, moved.debit, Some(moved.credit), moved.more.other)
            }
            Some(Event::Held { hold, .. }) => {
                ("hold", hold.id, hold.amount, hold.debit, hold.credit, hold.more.other)
            }
            Some(Event::Voided(void)) => {
                ("void", void.id, void.amount, void.debit, void.credit, void.more.other)
            }
            _ => return Err("its first proof is of no transfer".to_owned()),
        };
        let opened = |wanted: u32| {
            let names = events.iter().find_map(|event| match event {
                Event::Opened { account, asset, wallet, .. } if *account == wanted => Some((*wallet, *asset)),
                _ => None,
            });
            names.ok_or_else(|| format!("nothing proves whose account {wanted} is"))
        };
        let truly = |wallet: &str| match other {
            Some(other) if wallet == TRANSIT => other.to_owned(),
            _ => wallet.to_owned(),
        };
        let (from, asset) = opened(debit)?;
        let to = match credit {
            Some(account) => truly(opened(account)?.0),
            None => other.unwrap_or_default().to_owned(),
        };
        let declared = events.iter().find_map(|event| match event {
            Event::Asset { asset: number, scale, code } if *number == asset => Some((*code, *scale)),
            _ => None,
        });
        let (asset, scale) = declared.ok_or_else(|| format!("nothing proves what asset {asset} is"))?;
        let (transfer, debit, credit, asset) = (id::show(of), truly(from), to, asset.to_owned());
        let Receipt { shard, seal, root, .. } = *self;
        Ok(Proved {
            transfer,
            kind,
            debit,
            credit,
            asset,
            scale,
            amount,
            at: self.proofs[0].time,
            shard,
            seal,
            root,
        })
    }
}
