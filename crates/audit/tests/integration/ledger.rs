//! The audit beside the ledger that it audits: three shards write real journals, with groups,
//! crashes and lost cross-shard messages, and both must come to the same balances; receipts lead to
//! the ledger's own roots; a flipped byte is reported with its record.

use crate::harness;
use crate::house;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use harness::{HEADER, Harness, Log, Place};
use house::{ASSETS, House, Random};
use stadium_audit::{HexHash, Options, Report, check, receipt, roots, verify};
use stadium_journal::{FileJournal, Journal as _, Room};
use stadium_wallet::{Bounds, Record, Time};

const SHARDS: u16 = 3;

/// A shard's journal on disk.
struct Paper {
    journal: FileJournal,
}

impl Paper {
    fn new(all: &Path, shard: u16) -> Self {
        let folder = all.join(format!("shard-{shard:04}/journal"));
        std::fs::create_dir_all(&folder).expect("made");
        let options = stadium_journal::Options {
            shard: u32::from(shard),
            segment_bytes: 256 << 10,
            reserve_bytes: 64 << 10,
            record_bytes_max: 64 << 10,
            ..stadium_journal::Options::default()
        };
        Self { journal: FileJournal::open(&folder, &options).expect("a journal") }
    }

    fn sync(&mut self) {
        self.journal.commit().expect("no fault");
        self.journal.wait(Duration::from_secs(60)).expect("no fault");
    }
}

impl Log for Paper {
    fn next(&mut self) -> u64 {
        // The next segment may still be in the making.
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match self.journal.make_room(32 << 10, Room::Ordinary) {
                Ok(position) => return position.0,
                Err(error) => assert!(error.is_temporary() && Instant::now() < deadline, "{error}"),
            }
            self.sync();
        }
    }

    fn append(&mut self, time: Time, record: &mut Record) {
        let length = (record.bytes().len() - HEADER) as u32;
        let header = record.header_mut();
        header.fill(0);
        (header[0], header[1], header[16], header[17]) = (1, 1, 2, 1);
        header[8..16].copy_from_slice(&time.0.to_le_bytes());
        header[20..24].copy_from_slice(&length.to_le_bytes());
        self.journal.append(record.bytes()).expect("there is room");
    }
}

struct Books {
    folder: tempfile::TempDir,
    house: House<Paper>,
}

impl Books {
    fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let all = folder.path().join("data/shards");
        std::fs::create_dir_all(&all).expect("made");
        std::fs::write(all.join("shards"), format!("version = 1\ncount = {SHARDS}\n")).expect("written");
        let harness = |shard| {
            let place = Place { shard, shards: SHARDS, hash_seed: seed };
            Harness::on(Bounds::default(), place, Paper::new(&all, shard))
        };
        Self { house: House::new((0..SHARDS).map(harness).collect(), seed, false), folder }
    }

    /// A copy of the data directory as it is now, which nobody has open.
    fn copy(&mut self) -> PathBuf {
        self.house.harnesses.iter_mut().for_each(|harness| harness.log_mut().sync());
        let to = self.folder.path().join("copy");
        if to.exists() {
            std::fs::remove_dir_all(&to).expect("it is ours");
        }
        copy(&self.folder.path().join("data"), &to);
        to
    }

    /// The audit's report about a copy, which must match the ledgers.
    fn audit(&mut self) -> (PathBuf, Report) {
        let copy = self.copy();
        let report = verify(&copy, &Options::default(), &mut |_| {}).expect("it can be read");
        assert!(
            report.is_sound() && report.remarks.is_empty(),
            "{:#?} {:#?}",
            report.problems,
            report.remarks
        );
        let names: Vec<String> = self.house.wallets.iter().map(ToString::to_string).collect();
        let names = names.iter().map(String::as_str).chain(["@mint", "@shop", "@transit"]);
        let mut accounts = 0;
        for name in names {
            for (shard, harness) in self.house.harnesses.iter_mut().enumerate() {
                for view in harness.accounts(name) {
                    let is = |one: &&stadium_audit::AccountFigures| {
                        one.wallet == name
                            && one.asset == view.asset.as_str()
                            && usize::from(one.shard) == shard
                    };
                    let counted = report.accounts().iter().find(is).expect("the audit knows it");
                    let figures =
                        (i128::from(view.balance.posted), u128::from(view.balance.held), view.entries);
                    assert_eq!(
                        (counted.posted, counted.held, counted.entries),
                        figures,
                        "{name} on shard {shard}"
                    );
                    accounts += 1;
                }
            }
        }
        assert_eq!(report.accounts().len(), accounts, "and no other");
        (copy, report)
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("it can be listed") {
        let entry = entry.expect("it can be listed");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("it has one").is_dir() {
            copy(&entry.path(), &target);
        } else {
            // The next segment may get its name just now; it is empty.
            match std::fs::copy(entry.path(), target) {
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
            }
        }
    }
}

#[test]
fn both_come_to_the_same_balances() {
    let (mut groups, mut open) = (0, 0);
    for seed in 0..6 {
        let mut books = Books::new(seed);
        for _ in 0..4 {
            for _ in 0..150 {
                books.house.step();
            }
            open += books.audit().1.groups_open;
        }
        books.house.check();
        let (_, report) = books.audit();
        assert_eq!(report.groups_open, 0, "all is settled");
        groups += report.groups;
        for asset in &report.assets {
            assert_eq!(asset.credit, asset.debit, "the books balance");
            assert!(ASSETS.contains(&asset.asset.as_str()));
        }
    }
    assert!(groups > 100 && open > 0, "{groups} groups, {open} seen open: this tests little");
}

#[test]
fn receipts_lead_to_the_ledgers_own_roots() {
    let mut books = Books::new(77);
    for _ in 0..5 {
        (0..100).for_each(|_| books.house.step());
        books.house.harnesses.iter_mut().for_each(|harness| harness.pass(61_000));
    }
    books.house.check();
    books.house.harnesses.iter_mut().for_each(|harness| harness.pass(61_000));
    let (copy, _) = books.audit();
    let mut published = Vec::new();
    for (shard, harness) in books.house.harnesses.iter().enumerate() {
        published.extend(harness.ledger.seals().map(|seal| (shard as u16, seal.number, HexHash(seal.root))));
    }
    let found: Vec<_> = roots(&copy, &mut |_| {}).expect("they can be read");
    let found: Vec<_> = found.iter().map(|root| (root.shard, root.seal, root.root)).collect();
    assert_eq!(found, published);
    let mut proved = 0;
    for asked in books.house.asked.iter().step_by(7) {
        let Some(Ok(outcomes)) = &asked.answered else { continue };
        for (new, _) in asked.list.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok()) {
            let Ok(receipt) = receipt(&copy, &new.id.to_string(), &mut |_| {}) else {
                // Holds of a group, and their ends, have no event of their own.
                continue;
            };
            let root =
                published.iter().find(|(shard, seal, _)| (*shard, *seal) == (receipt.shard, receipt.seal));
            let content = check(&receipt, &[root.expect("it was published").2]).expect("it proves it");
            assert_eq!(content.transfer, new.id.to_string());
            if let stadium_wallet::Kind::Post { debit, credit, asset, amount } = &new.kind {
                let is =
                    (content.debit.as_str(), content.credit.as_str(), content.asset.as_str(), content.amount);
                assert_eq!(is, (debit.as_str(), credit.as_str(), asset.as_str(), *amount));
            }
            proved += 1;
        }
    }
    assert!(proved > 10, "only {proved} were proved");
}

#[test]
fn a_flipped_byte_is_reported_with_its_record() {
    [5, 6].into_iter().for_each(flipped_bytes_are_reported);
}

fn flipped_bytes_are_reported(seed: u64) {
    let mut books = Books::new(seed);
    (0..300).for_each(|_| books.house.step());
    let mut random = Random(99);
    for _ in 0..25 {
        let (copy, _) = books.audit();
        let shard = random.below(u64::from(SHARDS)) as usize;
        let records = &books.house.harnesses[shard].records;
        let record = &records[random.below(records.len() as u64 - 1) as usize];
        let byte = record.at + 8 + random.below((HEADER + record.section.len()) as u64);
        flip(&copy.join(format!("shards/shard-{shard:04}/journal")), byte);
        let report = verify(&copy, &Options::default(), &mut |_| {}).expect("it can be read");
        let first = report.problems.first();
        let is_reported =
            first.is_some_and(|first| (usize::from(first.shard), first.position) == (shard, Some(record.at)));
        // The last commit of a journal may be cut by a crash: all that can be reported is that it
        // is no whole one.
        let tail = format!("shard {shard}: the ");
        let is_cut = report.remarks.iter().any(|remark| {
            remark.starts_with(&tail) && remark.contains("no whole commit") && record.at >= cut_from(remark)
        });
        assert!(is_reported || is_cut, "shard {shard}, {:#x}: {first:?}, {:?}", record.at, report.remarks);
    }
}

/// The position that a remark about a journal's end names.
fn cut_from(remark: &str) -> u64 {
    let (_, position) = remark.split_once("bytes from 0x").expect("it names one");
    let (digits, _) = position.split_once(' ').expect("words follow");
    u64::from_str_radix(digits, 16).expect("it is hexadecimal")
}

/// Flips a bit at a position of a journal: in the segment whose base is the nearest before.
fn flip(journal: &Path, position: u64) {
    let mut segments: Vec<(u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(journal).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.extension().is_some_and(|extension| extension == "segment") {
            let bytes = std::fs::read(&path).expect("it can be read");
            segments.push((u64::from_le_bytes(bytes[32..40].try_into().expect("eight bytes")), path));
        }
    }
    segments.sort();
    let (base, path) = segments.iter().rev().find(|(base, _)| *base <= position).expect("a segment holds it");
    let mut bytes = std::fs::read(path).expect("it can be read");
    bytes[(position - base) as usize] ^= 0x10;
    std::fs::write(path, bytes).expect("written");
}
