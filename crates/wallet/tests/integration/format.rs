//! Fixtures of docs/formats/wallet-events.md: records and checkpoints of two shards, of each version.
//!
//! They stay for ever, and are read for ever: `v1` is of before a list notified the shards that
//! would decide its transfers alone, `v1-homes` of version 1, `v2` of today.
//! `STADIUM_WRITE_FIXTURE=1` writes `v2` anew, which is right only before version 2 is released.

use crate::harness;

use std::path::PathBuf;

use harness::{
    Harness, Place, Written, account, asset, capture, checkpoint, hold, post, restored, reverse, void, wallet,
};
use stadium_state_machine::Section;
use stadium_wallet::{
    Answer, Bounds, Change, Command, Delivery, Executed, Ledger, NewAccount, NewTransfer, Overdraft, Time,
};

/// Wallets that live on the shards 0 and 1 of two.
const HERE: [&str; 2] = ["alice", "carl"];
const THERE: [&str; 2] = ["bob", "dora"];

fn file(fixture: &str, shard: u16, kind: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
    folder.join(format!("shard-{shard}-{kind}"))
}

fn read(fixture: &str, shard: u16, kind: &str) -> Vec<u8> {
    std::fs::read(file(fixture, shard, kind)).expect("the fixture is there")
}

/// An id of which shard 1 decides when it comes alone between system wallets.
const BY_ID: u128 = 21;

fn place(shard: u16) -> Place {
    Place { shard, shards: 2, hash_seed: 7 }
}

/// Carries all messages, and their answers.
fn carry(harnesses: &mut [Harness; 2]) {
    for _ in 0..4 {
        for from in 0..2 {
            for (to, delivery) in harnesses[from].messages() {
                let taken = harnesses[usize::from(to)]
                    .record(|l, at, now, record| l.receive(at, now, &delivery, record));
                harnesses[from]
                    .record(|l, at, now, record| l.confirm(at, now, delivery.number, &taken, record));
            }
        }
    }
}

fn pending(harness: &mut Harness, transfers: Vec<NewTransfer>, linked: bool) {
    let principal = harness.principal.clone();
    let executed = harness.execute(&Command::Transfer { transfers, linked, principal });
    assert!(matches!(executed, Ok(Executed::Pending(_))), "{executed:?}");
}

/// Every event of version 2, once at least.
fn test() -> [Harness; 2] {
    let mut harnesses = [0, 1].map(|shard| Harness::with(Bounds::default(), place(shard)));
    assert_eq!(post(BY_ID, "@shop", "@bank", "EUR", 1).home(2), Some(1));
    for (harness, names) in harnesses.iter_mut().zip([HERE, THERE]) {
        assert!(names.iter().all(|name| wallet(name).home(2) == Some(harness.place.shard)), "{names:?}");
        harness.declare("EUR", 2);
        harness.declare("VOTE", 0);
        let rich = NewAccount { ceiling: Some(1_000), ..account(names[0], "EUR") };
        let house = NewAccount { overdraft: Overdraft::Allowed, ..account(names[1], "EUR") };
        assert!(harness.open(vec![rich, house]).iter().all(Result::is_ok));
        let id = 100 * u128::from(harness.place.shard);
        harness.book(post(id + 1, "@bank", names[0], "EUR", 500)).unwrap();
    }
    // From here on with principals, but for the last transfer of shard 1.
    harnesses[0].be("k_0011223344556677");
    let harness = &mut harnesses[0];
    let change = Change { ceiling: Some(Some(900)), closed: Some(false), ..Change::default() };
    harness.ask(Command::Change { wallet: wallet("alice"), asset: asset("EUR"), change }).unwrap();
    let noted = NewTransfer {
        reference: String::from("order 7 é"),
        metadata: vec![1, 2, 3].into(),
        effective: Some(Time(1_700_000_000_000)),
        ..post(2, "alice", "carl", "EUR", 7)
    };
    harness.book(noted).unwrap();
    harness.book(hold(3, "alice", "carl", "EUR", 40, 60_000)).unwrap();
    harness.book(capture(4, 3, Some(30))).unwrap();
    harness.book(reverse(5, 2)).unwrap();
    harness.book(hold(6, "alice", "bob", "EUR", 11, 60_000)).unwrap();
    harness.book(void(7, 6)).unwrap();
    harness.book(hold(8, "alice", "@shop", "EUR", 12, 5_000)).unwrap();
    // Long enough for a jump.
    for number in 0..70 {
        harness.book(post(1_000 + number, "carl", "@shop", "EUR", 1)).unwrap();
    }
    harnesses.iter_mut().for_each(|harness| harness.pass(60_000));
    let harness = &mut harnesses[0];
    harness.book(hold(9, "alice", "bob", "EUR", 25, 3_600_000)).unwrap();
    harness.be("oidc:jürgen");
    harness.book(hold(10, "alice", "@shop", "EUR", 5, 3_600_000)).unwrap();
    pending(harness, vec![post(11, "alice", "bob", "EUR", 20)], false);
    carry(&mut harnesses);
    let list = vec![
        capture(12, 9, None),
        void(13, 10),
        hold(14, "alice", "dora", "EUR", 6, 3_600_000),
        reverse(15, 11),
        post(16, "dora", "bob", "EUR", 3),
        post(17, "@shop", "carl", "EUR", 2),
        post(BY_ID, "@shop", "@bank", "EUR", 1),
    ];
    pending(&mut harnesses[0], list, true);
    carry(&mut harnesses);
    // One that is refused, and one that nobody answers.
    pending(&mut harnesses[0], vec![post(18, "carl", "bob", "EUR", 900)], false);
    carry(&mut harnesses);
    pending(&mut harnesses[0], vec![post(19, "carl", "bob", "EUR", 1)], false);
    harnesses[0].pass(30_000);
    carry(&mut harnesses);
    // And one that is under way when it ends: each shard asks the other.
    pending(&mut harnesses[0], vec![post(20, "carl", "bob", "EUR", 4)], false);
    pending(&mut harnesses[1], vec![post(120, "bob", "carl", "EUR", 5)], false);
    let (to, delivery) = harnesses[0].messages().remove(0);
    harnesses[usize::from(to)].record(|l, at, now, record| l.receive(at, now, &delivery, record)).unwrap();
    harnesses
}

/// Records as one file: position, time and length of each section (8 bytes each, little-endian), then the section.
fn to_file(records: &[Written]) -> Vec<u8> {
    let mut file = Vec::new();
    for Written { at, time, section } in records {
        for word in [*at, time.0, section.len() as u64] {
            file.extend(word.to_le_bytes());
        }
        file.extend(section);
    }
    file
}

fn chunks_to_file(chunks: &[Vec<u8>]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| [&(chunk.len() as u64).to_le_bytes()[..], chunk].concat()).collect()
}

fn word(file: &mut &[u8]) -> Option<u64> {
    let (word, rest) = file.split_first_chunk::<8>()?;
    *file = rest;
    Some(u64::from_le_bytes(*word))
}

fn part<'f>(file: &mut &'f [u8], bytes: u64) -> &'f [u8] {
    let (part, rest) = file.split_at(bytes as usize);
    *file = rest;
    part
}

fn from_records(shard: u16, mut file: &[u8]) -> Ledger {
    let mut ledger = Ledger::new(place(shard), Bounds::default());
    while let Some(at) = word(&mut file) {
        let (time, bytes) = (Time(word(&mut file).unwrap()), word(&mut file).unwrap());
        ledger.apply(at, time, part(&mut file, bytes)).unwrap();
    }
    ledger
}

fn from_chunks(shard: u16, mut file: &[u8]) -> Ledger {
    let mut chunks = Vec::new();
    while let Some(bytes) = word(&mut file) {
        chunks.push(part(&mut file, bytes).to_vec());
    }
    restored(place(shard), &Bounds::default(), &chunks)
}

/// Everything that can be seen from memory, in words.
fn seen(shard: u16, ledger: &Ledger) -> String {
    ledger.audit().unwrap();
    let now = ledger.now();
    let all = Command::Accounts { prefix: String::new(), asset: None, after: None, accounts_max: 1_000 };
    let Ok(Answer::Accounts(accounts)) = ledger.read(now, &all) else { panic!("accounts are listed") };
    let mut seen: String = accounts.iter().map(|account| format!("{account:?}\n")).collect();
    seen += &format!("{:?}\n", ledger.read(now, &Command::Assets));
    for account in &accounts {
        let holds = Command::Holds { wallet: account.wallet.clone(), holds_max: 100 };
        seen += &format!("{:?}\n", ledger.read(now, &holds));
    }
    let confirmed_below = ledger.outgoing_first();
    ledger.outgoing(0, &mut |to, number, message| {
        seen += &format!("to {to}: {:?}\n", Delivery { shard, number, confirmed_below, message });
    });
    ledger.seals().for_each(|seal| seen += &format!("{seal:?}\n"));
    let figures = stadium_wallet::Figures { booked: 0, refused: 0, ..ledger.figures() };
    seen += &format!("{figures:?}\n");
    // Messages had none when the files of version 1 were written.
    seen.replace(" principal: None,", "")
}

/// A fixture's files hold the state that was seen when they were written.
fn is_read(fixture: &str, shard: u16) {
    let expected = String::from_utf8(read(fixture, shard, "seen.txt")).unwrap();
    assert_eq!(
        seen(shard, &from_chunks(shard, &read(fixture, shard, "checkpoint.bin"))),
        expected,
        "from the checkpoint"
    );
    let records = read(fixture, shard, "records.bin");
    assert_eq!(seen(shard, &from_records(shard, &records)), expected, "from the records");
    assert_eq!(in_words(&records), String::from_utf8(read(fixture, shard, "words.txt")).unwrap());
}

fn in_words(mut file: &[u8]) -> String {
    let mut words = String::new();
    while let Some(_at) = word(&mut file) {
        let (time, bytes) = (Time(word(&mut file).unwrap()), word(&mut file).unwrap());
        let section = Section { shard: 0, at: 0, time, offset: 0, events: part(&mut file, bytes) };
        let mut described = Vec::new();
        Ledger::describe(section, &mut described).unwrap();
        described.iter().for_each(|one| words += &format!("{}\n", one.text));
    }
    words
}

#[test]
fn version_1_records_from_before_homes_were_sent_are_read() {
    (0..2).for_each(|shard| is_read("v1", shard));
}

#[test]
fn files_of_version_1_are_read() {
    (0..2).for_each(|shard| is_read("v1-homes", shard));
}

#[test]
fn files_of_version_2_are_read() {
    const FIXTURE: &str = "v2";
    for mut harness in test() {
        let shard = harness.place.shard;
        let chunks = checkpoint(&mut harness.ledger, 1 << 16);
        if std::env::var_os("STADIUM_WRITE_FIXTURE").is_some() {
            let name = |kind: &str| file(FIXTURE, shard, kind);
            std::fs::create_dir_all(name("").parent().unwrap()).unwrap();
            std::fs::write(name("records.bin"), to_file(&harness.records)).unwrap();
            std::fs::write(name("checkpoint.bin"), chunks_to_file(&chunks)).unwrap();
            std::fs::write(name("seen.txt"), seen(harness.place.shard, &harness.ledger)).unwrap();
            std::fs::write(name("words.txt"), in_words(&to_file(&harness.records))).unwrap();
        }
        is_read(FIXTURE, shard);
        // Decisions of today are written as they were then.
        assert!(
            to_file(&harness.records) == read(FIXTURE, shard, "records.bin"),
            "the records of shard {shard} differ"
        );
        assert!(
            chunks_to_file(&chunks) == read(FIXTURE, shard, "checkpoint.bin"),
            "the checkpoint of shard {shard} differs"
        );
    }
}
