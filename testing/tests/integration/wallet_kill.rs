//! The server is killed with SIGKILL again and again while transfers run within and across its shards, and keeps its word.
//!
//! Acknowledged transfers moved exactly once, refused ones moved nothing, the books balance, and
//! the auditor's own reading of the journal agrees. Then the same with a full disk, and the finding
//! of an auditor where a byte is wrong.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use stadium_testing::deadline::{PATIENCE, until, until_true};
use stadium_testing::killable::{Killable, kills};
use stadium_testing::small_disk::SmallDisk;
use stadium_testing::wallets::{ASSET, Wallets, id, transfer, verified, verify};

/// Small segments, so that a start is quick and several fit on a small disk.
const SETTINGS: &str = "[journal]\nsegment_bytes = 9437184\nreserve_bytes = 262144\n[shards]\ncount = 3\n";

/// Time for the proof after the kills, and for each kill.
const BUDGET: Duration = Duration::from_secs(90);
const BUDGET_OF_KILL: Duration = Duration::from_secs(3);

/// Accounts that money moves between. Their names lie on all shards.
const PEOPLE: u64 = 24;

/// The credit of each at first; too little for everything that is asked, so that some is refused.
const CREDIT: u64 = 300;

/// Threads that transfer.
const CLIENTS: u64 = 4;

/// The amounts that one command moved, if it was carried out: from, to, how much.
type Moves = Vec<(String, String, u64)>;

/// The answers that clients got.
#[derive(Default)]
struct Answers {
    /// The balance that every account must hold, by the acknowledged transfers.
    balances: HashMap<String, i64>,
    /// Commands that were sent and not answered, with what they would move.
    open: Vec<(&'static str, Value, Moves)>,
    accepted: u64,
    refused: u64,
    /// Ids of transfers that were acknowledged, the latest.
    latest: Option<String>,
}

impl Answers {
    fn counts(&self) -> (u64, u64) {
        (self.accepted, self.refused)
    }

    fn take(&mut self, status: u16, answer: &Value, moves: &Moves, body: &Value) -> Result<()> {
        match status {
            200 | 201 => {
                for (from, to, amount) in moves {
                    let amount = i64::try_from(*amount)?;
                    *self.balances.entry(from.clone()).or_default() -= amount;
                    *self.balances.entry(to.clone()).or_default() += amount;
                }
                self.accepted += 1;
                let first = body["transfers"].get(0).unwrap_or(body);
                self.latest = first["id"].as_str().map(str::to_owned);
            }
            409 => {
                let code = answer["code"].as_str().unwrap_or_default();
                ensure!(matches!(code, "WAL-023" | "WAL-032"), "{status}: {answer}");
                self.refused += 1;
            }
            _ => bail!("a transfer that is right was answered {status}: {answer}"),
        }
        Ok(())
    }
}

#[derive(Clone)]
struct Load {
    answers: Arc<Mutex<Answers>>,
    answered: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Load {
    fn new() -> Self {
        Self { answers: Arc::default(), answered: Arc::default(), stop: Arc::default() }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().expect("no client panics with it")
    }

    /// Transfers until it is stopped. Transfers that were not answered are sent again with the same
    /// ids.
    fn run(&self, wallets: &Wallets, client: u64) -> Result<()> {
        // Numbers that differ from client to client and are the same in each run.
        let mut random = client + 1;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        for command in 0_u64.. {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let number = 10_000_000 * (client + 1) + command * 10;
            let from = next(PEOPLE);
            let to = (from + 1 + next(PEOPLE - 1)) % PEOPLE;
            let third = (to + 1 + next(PEOPLE - 1)) % PEOPLE;
            let amount = 1 + next(40);
            let (from, to, third) = (person(from), person(to), person(third));
            let (path, body, moves) = match next(6) {
                // A vote: to the house.
                0 => {
                    let to = format!("@candidate:{}", amount % 3);
                    let body = transfer(number, &from, &to, amount);
                    ("/api/transfers", body, vec![(from, to, amount)])
                }
                // All or none, over up to three shards.
                1 if third != to => {
                    let transfers =
                        [transfer(number, &from, &to, amount), transfer(number + 1, &to, &third, amount)];
                    let body = json!({"linked": true, "transfers": transfers});
                    ("/api/transfers/batch", body, vec![(from, to.clone(), amount), (to, third, amount)])
                }
                // From one to another, on whichever shards they live.
                _ => {
                    let body = transfer(number, &from, &to, amount);
                    ("/api/transfers", body, vec![(from, to, amount)])
                }
            };
            match wallets.settle(path, &body, || self.stop.load(Ordering::Relaxed))? {
                Some((status, answer)) => {
                    self.answers().take(status, &answer, &moves, &body)?;
                    self.answered.fetch_add(1, Ordering::Relaxed);
                }
                None => self.answers().open.push((path, body, moves)),
            }
        }
        Ok(())
    }

    /// Learns of everything that is open; then every balance must be what was acknowledged, and the books balance.
    fn prove(&self, wallets: &Wallets) -> Result<()> {
        let open = std::mem::take(&mut self.answers().open);
        let deadline = Instant::now() + PATIENCE;
        for (path, body, moves) in open {
            let settled = wallets.settle(path, &body, || Instant::now() > deadline)?;
            let (status, answer) = settled.with_context(|| format!("no answer to {body}"))?;
            self.answers().take(status, &answer, &moves, &body)?;
        }
        let answers = self.answers();
        for (wallet, expected) in &answers.balances {
            let account = wallets.account(wallet)?;
            ensure!(wallets.posted(wallet)? == *expected, "{wallet} must have {expected}: {account}");
            ensure!(wallet.starts_with('@') || *expected >= 0, "{wallet} is overdrawn: {expected}");
            ensure!(account["held"] == 0, "{wallet} has something held that nobody holds: {account}");
        }
        let sum: i64 = answers.balances.values().sum();
        ensure!(sum == 0, "the sum of what was acknowledged is {sum}: a mistake of this suite");
        wallets.balanced(PATIENCE)?;
        Ok(())
    }
}

fn person(number: u64) -> String {
    format!("person-{number}")
}

/// Opens the accounts and gives everybody the first credit.
fn begin(wallets: &Wallets, load: &Load) -> Result<()> {
    let people: Vec<String> = (0..PEOPLE).map(person).collect();
    wallets.open(&people)?;
    for (number, name) in (1..).zip(&people) {
        let body = transfer(number, "@shop", name, CREDIT);
        let (status, answer) = wallets.api().post("/api/transfers", &body)?;
        load.answers().take(status, &answer, &vec![("@shop".to_owned(), name.clone(), CREDIT)], &body)?;
    }
    Ok(())
}

fn start(load: &Load, wallets: &Wallets) -> Vec<std::thread::JoinHandle<Result<()>>> {
    let client = |client| {
        let (load, wallets) = (load.clone(), wallets.clone());
        std::thread::spawn(move || load.run(&wallets, client))
    };
    (0..CLIENTS).map(client).collect()
}

fn end(load: &Load, threads: Vec<std::thread::JoinHandle<Result<()>>>) -> Result<()> {
    load.stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
    }
    load.stop.store(false, Ordering::Relaxed);
    Ok(())
}

#[test]
fn kills_create_and_lose_nothing() -> Result<()> {
    let kills = kills()?;
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    let mut server = Killable::new(place.path(), &data, SETTINGS)?;
    server.start()?;
    let began = Instant::now();
    let wallets = Wallets::of(server.api())?;
    let load = Load::new();
    begin(&wallets, &load)?;
    let threads = start(&load, &wallets);
    for kill in 0..kills {
        // Another time in each life: after so many answers.
        let until_count = load.answered.load(Ordering::Relaxed) + u64::from(kill * 37 % 61);
        let answered = || Ok(load.answered.load(Ordering::Relaxed) >= until_count);
        until_true(PATIENCE, "answers", answered).with_context(|| server.log())?;
        server.kill()?;
        let latest = load.answers().latest.clone();
        server.start().with_context(|| format!("after {} kills", kill + 1))?;
        if let Some(latest) = latest {
            let found = until(PATIENCE, "the latest transfer", || {
                let (status, answer) = wallets.api().read(&format!("/api/transfers/{latest}"))?;
                Ok((!matches!(status, 503 | 504)).then_some((status, answer)))
            })?;
            ensure!(found.0 == 200, "{latest} was acknowledged, then the server was killed: {found:?}");
        }
    }
    end(&load, threads)?;
    load.prove(&wallets).with_context(|| server.log())?;
    let (accepted, refused) = load.answers().counts();
    ensure!(accepted > 10 * u64::from(kills), "only {accepted} were accepted: the load was none");
    ensure!(refused > 0, "nothing was refused: nobody ran out of credit");

    let status = server.terminate(PATIENCE)?;
    ensure!(status.code() == Some(0), "it ended with {status}: {}", server.log());
    verified(&data)?;
    // And nothing of it is gone or done twice after an orderly start.
    server.start()?;
    load.prove(&wallets)?;
    eprintln!("{kills} kills, {accepted} accepted, {refused} refused, {:?}", began.elapsed());
    let budget = BUDGET + BUDGET_OF_KILL * kills;
    ensure!(began.elapsed() < budget, "it took {:?}", began.elapsed());
    Ok(())
}

#[test]
fn a_full_disk_refuses_keeps_its_word_and_books_again_when_there_is_room() -> Result<()> {
    let place = tempfile::tempdir()?;
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk)?;
    let _mounted = SmallDisk::mount(&disk)?;
    let data = disk.join("data");
    let mut server = Killable::new(place.path(), &data, &SETTINGS.replace("count = 3", "count = 2"))?;
    server.start()?;
    let wallets = Wallets::of(server.api())?;
    let load = Load::new();
    begin(&wallets, &load)?;
    // Somebody else fills the disk.
    let ballast = disk.join("ballast");
    let filled = std::fs::write(&ballast, vec![1; 64 << 20]);
    ensure!(filled.is_err(), "the disk is larger than it should be");

    let metadata = "m".repeat(1_000);
    let mut number = 1_000_000;
    let refusal = until(PATIENCE, "the full disk to be noticed", || {
        // The house lives on all shards: nobody else has to agree.
        let transfers: Vec<Value> = (0..100)
            .map(|at| {
                let mut one = transfer(number + at, "@shop", "person-0", 1);
                one["metadata"] = json!({ "filler": metadata });
                one
            })
            .collect();
        number += 100;
        let body = json!({"linked": true, "transfers": transfers});
        let (status, answer) = wallets.api().post("/api/transfers/batch", &body)?;
        if status == 503 {
            return Ok(Some(answer));
        }
        load.answers().take(
            status,
            &answer,
            &vec![("@shop".to_owned(), "person-0".to_owned(), 100)],
            &body,
        )?;
        Ok(None)
    });
    let refusal = refusal.with_context(|| server.log())?;
    ensure!(refusal["code"] == "SHARD-002", "{refusal}");
    // Reads go on.
    wallets.account("person-0")?;

    // Killed while it is full, and there is room again.
    server.kill()?;
    std::fs::remove_file(&ballast)?;
    server.start()?;
    let body = transfer(2, "person-0", "person-1", 0);
    let (status, answer) = wallets.api().post("/api/transfers", &body)?;
    ensure!(status == 422 && answer["code"] == "WAL-002", "{status}: {answer}");
    // A transfer that was answered Busy did not happen, or its outcome was unknown: sent again, it
    // happens once.
    for number in [number, number + 1] {
        let body = transfer(3_000_000 + number, "person-2", "person-3", 1);
        let settled = wallets.settle("/api/transfers", &body, || false)?.context("no answer")?;
        let moves = vec![("person-2".to_owned(), "person-3".to_owned(), 1)];
        load.answers().take(settled.0, &settled.1, &moves, &body)?;
    }
    load.prove(&wallets).with_context(|| server.log())?;
    let status = server.terminate(PATIENCE)?;
    ensure!(status.code() == Some(0), "it ended with {status}: {}", server.log());
    verified(&data)?;
    Ok(())
}

#[test]
fn an_auditor_finds_a_flipped_byte_and_names_the_record() -> Result<()> {
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    let settings = SETTINGS.replace("count = 3", "count = 1");
    let mut server = Killable::new(place.path(), &data, &settings)?;
    server.start()?;
    let wallets = Wallets::of(server.api())?;
    wallets.open(&["ann".to_owned(), "ben".to_owned()])?;
    wallets.book(1, "@shop", "ann", 500)?;
    for number in 2..102 {
        let mut body = transfer(number, "ann", "ben", 1);
        body["reference"] = format!("bill-{number}").into();
        let (status, answer) = wallets.api().post("/api/transfers", &body)?;
        ensure!(status == 201, "{status}: {answer}");
    }
    ensure!(server.terminate(PATIENCE)?.code() == Some(0), "{}", server.log());

    let copy = place.path().join("copy");
    copy_folder(&data, &copy)?;
    let printed = verified(&copy)?;
    ensure!(printed.contains(ASSET) && printed.contains("balance"), "{printed}");

    // The reference of one transfer becomes another one: nothing that a balance would show.
    let (file, at) = find(&copy, b"bill-50").context("no file of the copy holds the transfer")?;
    let mut bytes = std::fs::read(&file)?;
    bytes[at + 6] ^= 1;
    std::fs::write(&file, bytes)?;
    let shown = verify(&copy)?;
    let printed =
        format!("{}{}", String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    ensure!(shown.status.code() == Some(1), "verify ended with {}: {printed}", shown.status);
    let names = named_positions(&printed);
    ensure!(!names.is_empty(), "it names no record: {printed}");
    // The record begins before the byte, and not far: one command is one record.
    let base = segment_base(&file)?;
    let wrong = base + u64::try_from(at)?;
    ensure!(
        names.iter().any(|position| (wrong.saturating_sub(4_096)..=wrong).contains(position)),
        "the byte at {wrong} is wrong, and these are named: {names:?} in {printed}"
    );
    // The original is as it was.
    verified(&data)?;
    Ok(())
}

/// Numbers that are named in a text, hexadecimal or decimal: the record's position is one of them.
fn named_positions(printed: &str) -> Vec<u64> {
    let words = printed.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter_map(|word| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        })
        .collect()
}

/// The position of a segment's first byte: bytes 32 to 40 of its header (docs/formats/journal.md).
fn segment_base(file: &Path) -> Result<u64> {
    let bytes = std::fs::read(file)?;
    let base = bytes.get(32..40).and_then(|base| base.try_into().ok()).context("no header")?;
    Ok(u64::from_le_bytes(base))
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().context("an entry has a name")?);
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// The segment that holds these bytes, and where in the file.
fn find(folder: &Path, wanted: &[u8]) -> Option<(PathBuf, usize)> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if let Some(found) = find(&path, wanted) {
                return Some(found);
            }
        } else if path.extension().is_some_and(|extension| extension == "segment") {
            let bytes = std::fs::read(&path).ok()?;
            if let Some(at) = bytes.windows(wanted.len()).position(|window| window == wanted) {
                return Some((path, at));
            }
        }
    }
    None
}

#[test]
fn ids_are_written_as_uuids() {
    assert_eq!(id(1), "00000000-0000-0001-5ad1-000000000000");
}
