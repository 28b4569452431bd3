//! Writes wallets' records by hand, as docs/formats/wallet-events.md has them, into real journals.
//!
//! It keeps the books as it goes, so that its records are right; a test then makes one thing wrong.

#![allow(dead_code, reason = "each suite uses a part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use stadium_journal::{FileJournal, Journal as _, Options, Room};

pub const START: u64 = 1_800_000_000_000;

type Hash = [u8; 32];

pub fn sha256(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

/// RFC 9162, 2.1.1, over hashes of leaves.
pub fn tree(leaves: &[Hash]) -> Hash {
    if leaves.len() == 1 {
        return leaves[0];
    }
    let mut left = 1;
    while left * 2 < leaves.len() {
        left *= 2;
    }
    sha256(&[&[1], &tree(&leaves[..left]), &tree(&leaves[left..])])
}

pub fn number(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut value = value;
    while value > 127 {
        out.push((value % 128) as u8 + 128);
        value /= 128;
    }
    out.push(value as u8);
    out
}

pub fn signed(value: i64) -> Vec<u8> {
    number(if value < 0 { ((-(value + 1)) as u64) * 2 + 1 } else { value as u64 * 2 })
}

pub fn text(text: &str) -> Vec<u8> {
    [number(text.len() as u64), text.as_bytes().to_vec()].concat()
}

/// One shard's journal, and the books that stand in it.
pub struct Page {
    journal: FileJournal,
    shard: u16,
    pub chain: Hash,
    pub root: Hash,
    pub seals: u64,
    leaves: Vec<Hash>,
    /// Balance, entries, where the last one stands, where every 64th stands: by account.
    lines: BTreeMap<u64, (i64, u64, u64, Vec<u64>)>,
    accounts: u64,
    assets: u64,
}

pub struct Scribe {
    pub folder: tempfile::TempDir,
    pub pages: Vec<Page>,
    pub now: u64,
}

impl Scribe {
    /// Empty books of so many shards.
    pub fn new(shards: u16) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let all = folder.path().join("shards");
        std::fs::create_dir_all(&all).expect("made");
        std::fs::write(all.join("shards"), format!("version = 1\ncount = {shards}\n")).expect("written");
        let pages = (0..shards).map(|shard| Page::new(&all, shard)).collect();
        Self { folder, pages, now: START }
    }

    pub fn directory(&self) -> &Path {
        self.folder.path()
    }

    /// One asset VOTE, and accounts of it on a shard; `@` ones may be overdrawn.
    pub fn open(&mut self, shard: u16, wallets: &[&str]) {
        let now = self.now;
        let page = &mut self.pages[usize::from(shard)];
        let mut events = Vec::new();
        if page.assets == 0 {
            events.push([&[1][..], &number(0), &[0], &text("VOTE")].concat());
            page.assets = 1;
        }
        for wallet in wallets {
            let rules = u8::from(wallet.starts_with('@'));
            events.push([&[2][..], &number(page.accounts), &number(0), &[rules], &text(wallet)].concat());
            page.accounts += 1;
        }
        page.write(now, &events);
    }

    /// A transfer in a record of its own.
    pub fn post(&mut self, shard: u16, id: u128, debit: u64, credit: u64, amount: u64) {
        self.now += 1;
        let now = self.now;
        let page = &mut self.pages[usize::from(shard)];
        let event = page.transfer(&Transfer { id, debit, credit, amount, ..Transfer::default() });
        page.write(now, &[event]);
    }

    pub fn seal(&mut self, shard: u16) {
        self.now += 60_000;
        let now = self.now;
        let page = &mut self.pages[usize::from(shard)];
        let event = page.seal();
        page.write(now, &[event]);
    }

    /// Makes everything durable, closes the journals, and hands out the folder.
    pub fn close(self) -> tempfile::TempDir {
        for mut page in self.pages {
            page.journal.commit().expect("no fault");
            page.journal.wait(Duration::from_secs(60)).expect("no fault");
        }
        self.folder
    }
}

/// The parts of a `transfer` event.
#[derive(Clone, Default)]
pub struct Transfer<'a> {
    pub kind: u8,
    pub id: u128,
    pub debit: u64,
    pub credit: u64,
    pub amount: u64,
    pub of: Option<u128>,
    pub other: Option<&'a str>,
    pub reference: &'a str,
    pub of_group: bool,
}

impl Page {
    fn new(all: &Path, shard: u16) -> Self {
        let folder: PathBuf = all.join(format!("shard-{shard:04}/journal"));
        std::fs::create_dir_all(&folder).expect("made");
        let options = Options {
            shard: u32::from(shard),
            segment_bytes: 64 << 10,
            reserve_bytes: 64 << 10,
            record_bytes_max: 16 << 10,
            waiting_bytes_max: 1 << 20,
            tail_bytes: 2 << 20,
            ..Options::default()
        };
        let journal = FileJournal::open(&folder, &options).expect("a journal");
        let chain = sha256(&[&[3], &shard.to_le_bytes()]);
        Self {
            journal,
            shard,
            chain,
            root: chain,
            seals: 0,
            leaves: Vec::new(),
            lines: BTreeMap::new(),
            accounts: 0,
            assets: 0,
        }
    }

    /// Where the next record will stand.
    pub fn next(&mut self) -> u64 {
        // The next segment may still be in the making.
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match self.journal.make_room(8 << 10, Room::Ordinary) {
                Ok(position) => return position.0,
                Err(error) => assert!(error.is_temporary() && Instant::now() < deadline, "{error}"),
            }
            self.sync();
        }
    }

    /// Appends a record of these events, with the right chain value.
    pub fn write(&mut self, time: u64, events: &[Vec<u8>]) -> u64 {
        let leaves: Vec<Hash> = events.iter().map(|event| sha256(&[&[0], event])).collect();
        self.chain = sha256(&[&[2], &self.chain, &tree(&leaves), &time.to_le_bytes()]);
        let chain = self.chain;
        self.leaves.push(sha256(&[&[0], &chain]));
        self.write_with(time, events, &chain)
    }

    /// Appends a record of these events, whatever its chain value.
    pub fn write_with(&mut self, time: u64, events: &[Vec<u8>], chain: &Hash) -> u64 {
        self.next();
        let mut section: Vec<u8> = Vec::new();
        for event in events {
            section.extend(number(event.len() as u64));
            section.extend(event);
        }
        section.extend(chain);
        let mut body = vec![1, 1, 0, 0, 0, 0, 0, 0];
        body.extend(time.to_le_bytes());
        body.extend([2, 1, 0, 0]);
        body.extend((section.len() as u32).to_le_bytes());
        body.extend(section);
        self.append(&body)
    }

    pub fn append(&mut self, body: &[u8]) -> u64 {
        let at = self.journal.append(body).expect("there is room");
        self.journal.commit().expect("no fault");
        at.0
    }

    pub fn sync(&mut self) {
        self.journal.commit().expect("no fault");
        self.journal.wait(Duration::from_secs(60)).expect("no fault");
    }

    fn entry(&mut self, account: u64, amount: i64, at: u64) -> Vec<u8> {
        let (balance, entries, last, marks) = self.lines.entry(account).or_default();
        *balance += amount;
        *entries += 1;
        let distance = |position: u64| if position == 0 { 0 } else { at - position };
        let mut out = [number(*entries), signed(*balance), number(distance(*last))].concat();
        for jump in [64, 4_096] {
            if *entries % jump == 0 {
                let before = (*entries - jump) / 64;
                out.extend(number(if before == 0 { 0 } else { distance(marks[before as usize - 1]) }));
            }
        }
        *last = at;
        if *entries % 64 == 0 {
            marks.push(at);
        }
        out
    }

    /// A `transfer` event for the next record; the books take it in.
    pub fn transfer(&mut self, of: &Transfer<'_>) -> Vec<u8> {
        let at = self.next();
        let flags = u8::from(of.of.is_some())
            | u8::from(!of.reference.is_empty()) << 1
            | u8::from(of.other.is_some()) << 4
            | u8::from(of.of_group) << 5;
        let mut out = vec![4, flags, of.kind];
        out.extend(of.id.to_be_bytes());
        if !of.of_group {
            out.extend([7; 8]);
        }
        out.extend(number(of.amount));
        out.extend(number(of.debit));
        out.extend(self.entry(of.debit, -(of.amount as i64), at));
        out.extend(number(of.credit));
        out.extend(self.entry(of.credit, of.amount as i64, at));
        out.extend(of.of.iter().flat_map(|id| id.to_be_bytes()));
        out.extend(of.other.iter().flat_map(|other| text(other)));
        if !of.reference.is_empty() {
            out.extend(text(of.reference));
        }
        out
    }

    /// A `seal` event for the next record, of all before it.
    pub fn seal(&mut self) -> Vec<u8> {
        self.seals += 1;
        let tree = tree(&self.leaves);
        self.root = sha256(&[&[4], &self.root, &self.seals.to_le_bytes(), &tree]);
        let event = [&[8][..], &number(self.seals), &number(self.leaves.len() as u64), &self.root].concat();
        self.leaves.clear();
        event
    }

    pub fn shard(&self) -> u16 {
        self.shard
    }
}

/// A `held` event: nothing named by flags but what is given.
pub fn held(id: u128, amount: u64, debit: u64, credit: u64, expires_after: i64) -> Vec<u8> {
    let mut out = vec![5, 0];
    out.extend(id.to_be_bytes());
    out.extend([7; 8]);
    out.extend([number(amount), number(debit), number(credit), signed(expires_after)].concat());
    out
}

pub fn voided(id: u128, of: u128, amount: u64, debit: u64, credit: u64) -> Vec<u8> {
    let mut out = vec![6, 1];
    out.extend(id.to_be_bytes());
    out.extend([7; 8]);
    out.extend([number(amount), number(debit), number(credit)].concat());
    out.extend(of.to_be_bytes());
    out
}

/// One side of a transfer of a group.
#[derive(Clone, Copy)]
pub enum Party<'a> {
    Here(u64),
    There(u16, &'a str),
}

impl Party<'_> {
    fn bytes(self) -> Vec<u8> {
        match self {
            Party::Here(account) => [number(0), number(account)].concat(),
            Party::There(shard, wallet) => [number(u64::from(shard) + 1), text(wallet)].concat(),
        }
    }
}

/// One post as an item of a group.
pub fn item(id: u128, amount: u64, debit: Party<'_>, credit: Party<'_>, with_content: bool) -> Vec<u8> {
    let mut out = vec![0, 0];
    out.extend(id.to_be_bytes());
    if with_content {
        out.extend([7; 8]);
    }
    out.extend([number(amount), number(0), debit.bytes(), credit.bytes()].concat());
    out
}

/// One post as it is sent to another shard that would decide it alone.
pub fn item_at_home(id: u128, amount: u64, debit: Party<'_>, credit: Party<'_>, content: u8) -> Vec<u8> {
    let mut out = item(id, amount, debit, credit, true);
    out[0] = 64;
    out[18..26].fill(content);
    out
}

/// One post between system wallets, which another shard would decide alone.
pub fn item_of(home: u16, id: u128, amount: u64, debit: u64, credit: u64) -> Vec<u8> {
    let mut out = item(id, amount, Party::Here(debit), Party::Here(credit), true);
    out[0] = 128;
    out.extend(number(u64::from(home)));
    out
}

pub fn began(group: u64, items: &[Vec<u8>]) -> Vec<u8> {
    [&[16][..], &number(group), &[0], &number(items.len() as u64), &items.concat()].concat()
}

pub fn voted(message: u64) -> Vec<u8> {
    [&[17][..], &number(message)].concat()
}

pub fn decided(group: u64, booked: bool) -> Vec<u8> {
    let outcome = [&[18][..], &number(group), &[u8::from(booked)]].concat();
    if booked { outcome } else { [outcome, number(0), text("WAL-023"), text("no")].concat() }
}

pub fn confirmed(message: u64) -> Vec<u8> {
    [&[19][..], &number(message)].concat()
}

pub fn prepared(from: u16, message: u64, group: u64, items: &[Vec<u8>]) -> Vec<u8> {
    let head = [number(u64::from(from)), number(message), number(1), number(group)].concat();
    [&[24][..], &head, &number(items.len() as u64), &items.concat()].concat()
}

pub fn settled(from: u16, message: u64, prepare: u64, group: u64, booked: bool) -> Vec<u8> {
    let head = [number(u64::from(from)), number(message), number(1), number(prepare), number(group)].concat();
    [&[26][..], &head, &[u8::from(booked)]].concat()
}

/// The same, of a group of which a transfer would be decided here alone: booked at the time that it
/// states.
pub fn settled_at(from: u16, message: u64, prepare: u64, group: u64, ago: i64) -> Vec<u8> {
    let mut out = settled(from, message, prepare, group, true);
    out.pop();
    out.push(2);
    out.extend(signed(-ago));
    out
}
