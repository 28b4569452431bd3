//! Old periods of wallets that a running server moves to its backups: what goes on as before, what
//! reads them there, and what happens to a store that is away or was changed.
//!
//! Black box: the built binary, a folder as the store, and SIGKILL.

use crate::{backup, binary};

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use backup::restored;
use binary::{Server, err, json, out, run, stadium, wait_for};
use serde_json::{Value, json};

/// The wallets that transfers are for.
const WALLETS: [&str; 4] = ["w0", "w1", "w2", "w3"];
/// The id of the first transfer.
const FIRST: &str = "8f14e45f-ceea-467f-a0e6-2c0c2b1d9b1a";

/// A server that moves what is older than a second.
struct Bank {
    server: Option<Server>,
    store: tempfile::TempDir,
    /// Amounts that each wallet was given.
    given: i64,
}

fn arguments(store: &Path) -> Vec<String> {
    let url = format!("backup.to={}", url(store));
    let mut all = vec!["--trial".to_owned()];
    for setting in [
        "journal.segment_bytes=4194304",
        "journal.reserve_bytes=65536",
        "shards.count=2",
        "shards.checkpoint_journal_bytes=1048576",
        "wallet.seal_after_s=1",
        "backup.every_s=1",
        "backup.wallet_local_s=1",
        &url,
    ] {
        all.extend(["--set".to_owned(), setting.to_owned()]);
    }
    all
}

fn url(store: &Path) -> String {
    format!("file://{}/backups", store.display())
}

impl Bank {
    fn new() -> Self {
        let store = tempfile::tempdir().expect("a temporary directory can be made");
        let all = arguments(store.path());
        let server = Server::start(&all.iter().map(String::as_str).collect::<Vec<_>>());
        server.does(&["wallet", "asset", "EUR"]);
        server.does(&[&["wallet", "open", "EUR"][..], &WALLETS].concat());
        server.does(&["wallet", "transfer", "@bank", "w0", "7", "EUR", "--id", FIRST]);
        Self { server: Some(server), store, given: 0 }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    fn url(&self) -> String {
        url(self.store.path())
    }

    fn data(&self) -> String {
        self.server().data().display().to_string()
    }

    /// Ends the server with a signal, and starts it again.
    fn again(&mut self, signal: &str) {
        let server = self.server.take().expect("it runs");
        server.signal(signal);
        let all = arguments(self.store.path());
        self.server = Some(server.again(&all.iter().map(String::as_str).collect::<Vec<_>>()));
    }

    /// Gives each wallet so many amounts of 1, a record of about a kilobyte each.
    fn book(&mut self, each: i64) {
        let metadata = "m".repeat(1_000);
        let line = |to: &str| {
            let fields = json!({
                "debit": "@bank", "credit": to, "asset": "EUR", "amount": 1, "metadata": metadata,
            });
            format!("{fields}\n")
        };
        let lines: String = (0..each).flat_map(|_| WALLETS).map(line).collect();
        let data = self.data();
        let mut command = stadium(&["wallet", "transfer", "--lines", "--data", &data]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be run");
        child.stdin.take().expect("it is piped").write_all(lines.as_bytes()).expect("it reads");
        let booked = child.wait_with_output().expect("it ends");
        assert!(booked.status.success(), "{}", err(&booked));
        self.given += each;
    }

    /// The segments of all shards, by their paths.
    fn segments(&self) -> Vec<PathBuf> {
        let shards =
            (0..2).map(|shard| self.server().data().join(format!("shards/shard-{shard:04}/journal")));
        let files = shards.flat_map(|folder| fs::read_dir(folder).expect("it is there"));
        let paths = files.map(|file| file.expect("it is readable").path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "segment")).collect()
    }

    /// Segments that `moved.json` of a shard names and that are not in its folder.
    fn moved(&self, shard: u16) -> Vec<Value> {
        let folder = self.server().data().join(format!("shards/shard-{shard:04}"));
        let Ok(text) = fs::read(folder.join("moved.json")) else { return Vec::new() };
        let moved: Value = serde_json::from_slice(&text).expect("it is JSON");
        let segments = moved["segments"].as_array().expect("a list").clone();
        let name = |number: &Value| format!("journal/{:012}.segment", number.as_u64().expect("a number"));
        segments.into_iter().filter(|one| !folder.join(name(&one["number"])).exists()).collect()
    }

    /// Books until so many segments of each shard have moved.
    fn move_segments(&mut self, each: usize) {
        self.book(2_500);
        wait_for("the move of old segments", || {
            // Seals follow records.
            self.book(1);
            (0..2).all(|shard| self.moved(shard).len() >= each).then_some(())
        });
    }

    fn balance(&self, wallet: &str) -> i64 {
        let shown = self.server().answers(&["wallet", "show", wallet, "EUR"]);
        shown["posted"].as_i64().unwrap_or_else(|| panic!("{shown}"))
    }

    fn verify(&self) {
        let data = self.data();
        let verified = run(&["wallet", "verify", &data, "--backup", &self.url()]);
        assert!(verified.status.success(), "{} {}", out(&verified), err(&verified));
    }

    /// The objects of the store that are copies of moved segments of shard 0.
    fn object(&self, number: u64) -> PathBuf {
        let folder = self.store.path().join("backups/shard-0000/segments");
        let name = format!("{number:012}.");
        let files =
            fs::read_dir(folder).expect("it is there").map(|file| file.expect("it is readable").path());
        let is_it =
            |path: &PathBuf| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name));
        // An open segment was stored before under other names: the sealed one is the longest.
        files
            .filter(is_it)
            .max_by_key(|path| fs::metadata(path).map_or(0, |of| of.len()))
            .expect("it is stored")
    }
}

#[test]
fn old_periods_move_to_the_backups_and_the_books_go_on() {
    let mut bank = Bank::new();
    let first = wait_for("a first backup", || backup::newest(&bank.url()));
    bank.move_segments(1);
    assert!(bank.segments().iter().all(|path| !path.ends_with("000000000001.segment")));
    let metrics = bank.server().prints(&["api", "GET", "/metrics"]);
    assert!(metrics.contains("backup_wallet_moved"), "{metrics}");

    // In memory, as before.
    assert_eq!((bank.balance("w0"), bank.balance("w1")), (bank.given + 7, bank.given));
    let again = bank.server().answers(&["wallet", "transfer", "@bank", "w0", "7", "EUR", "--id", FIRST]);
    assert_eq!(again["duplicate"], true, "{again}");
    assert_eq!(bank.balance("w0"), bank.given + 7);
    // Old records are elsewhere, and the answer names the way to them.
    bank.server().fails(1, &["wallet", "find", FIRST], "WAL-035");
    let newest = bank.server().answers(&["wallet", "history", "w1", "EUR", "--limit", "10"]);
    assert_eq!(newest["entries"].as_array().map(Vec::len), Some(10), "{newest}");
    bank.server().fails(1, &["wallet", "history", "w1", "EUR", "--limit", "100000"], "--backup");

    // The audit reads both parts.
    let data = bank.data();
    let alone = run(&["wallet", "verify", &data]);
    assert_eq!(alone.status.code(), Some(1));
    assert!(err(&alone).contains("--backup"), "{}", err(&alone));
    bank.verify();
    let stored = run(&["wallet", "verify", &bank.url()]);
    assert!(stored.status.success(), "{} {}", out(&stored), err(&stored));
    let receipt = bank.store.path().join("receipt.json").display().to_string();
    let made = run(&["wallet", "receipt", &data, FIRST, "--backup", &bank.url(), "--output", &receipt]);
    assert!(made.status.success(), "{}", err(&made));
    let text: Value = serde_json::from_slice(&fs::read(&receipt).expect("it is there")).expect("it is JSON");
    let root = text["root"].as_str().expect("a root").to_owned();
    let roots = run(&["wallet", "roots", "--from", &bank.url(), "--limit", "1000", "--json"]);
    assert!(out(&roots).contains(&root), "{}", out(&roots));
    let proved = run(&["wallet", "check", &receipt, "--root", &root]);
    assert!(proved.status.success(), "{}", err(&proved));

    // A crash, and more of the same.
    bank.again("KILL");
    assert_eq!((bank.balance("w0"), bank.balance("w1")), (bank.given + 7, bank.given));
    bank.move_segments(2);
    bank.verify();

    // Every moment has the whole history again.
    let before = bank.store.path().join("before");
    restored(&bank.url(), &before, &["--backup", &first.to_string()]);
    let after = bank.store.path().join("after");
    restored(&bank.url(), &after, &[]);
    for copy in [&before, &after] {
        let verified = run(&["wallet", "verify", &copy.display().to_string()]);
        assert!(verified.status.success(), "{}", err(&verified));
    }
    let elsewhere = format!("file://{}/elsewhere", bank.store.path().display());
    bank.server().signal("TERM");
    let stopped = bank.server.take().expect("it runs").into_data();
    let stopped = stopped.path().display().to_string();
    // Removing old backups leaves moved segments, and a stopped server's backup names them again.
    let created = run(&["backup", "create", &stopped, "--to", &bank.url()]);
    assert!(created.status.success(), "{}", err(&created));
    let pruned = run(&["backup", "prune", &bank.url(), "--keep", "1", "--grace", "0s", "--json"]);
    assert_eq!(json(&pruned)["kept"], 1, "{}", err(&pruned));
    for books in [vec![stopped.as_str(), "--backup"], Vec::new()] {
        let url = bank.url();
        let verified = run(&[&["wallet", "verify"][..], &books, &[&url]].concat());
        assert!(verified.status.success(), "{} {}", out(&verified), err(&verified));
    }
    // Another store would not have them.
    let created = run(&["backup", "create", &stopped, "--to", &elsewhere]);
    assert!(err(&created).contains("ARC-022"), "{}", err(&created));
    let exported = run(&["journal", "export", &stopped, "--to", &elsewhere]);
    assert!(err(&exported).contains("ARC-022"), "{}", err(&exported));
}

#[test]
fn a_moved_segment_that_was_changed_in_the_store_is_named() {
    let mut bank = Bank::new();
    bank.move_segments(1);
    bank.server().signal("TERM");
    let moved = bank.moved(0)[0].clone();
    let (url, object) = (bank.url(), bank.object(moved["number"].as_u64().expect("a number")));
    let data = bank.server.take().expect("it runs").into_data();
    let data = data.path().display().to_string();
    let found = |what: &str| {
        let verified = run(&["wallet", "verify", &data, "--backup", &url, "--json"]);
        assert_eq!(verified.status.code(), Some(1), "{}", err(&verified));
        // The report, then the error.
        let text = out(&verified);
        let report: Value = serde_json::from_str(text.lines().next().expect("a report")).expect("JSON");
        let problems = report["problems"].as_array().expect("a list");
        let problem =
            problems.iter().find(|problem| problem["what"].as_str().is_some_and(|is| is.contains(what)));
        let problem = problem.unwrap_or_else(|| panic!("{report}"));
        assert_eq!((&problem["kind"], &problem["shard"]), (&json!("ADT-010"), &json!(0)), "{problem}");
        assert_eq!(problem["position"], moved["base"], "{problem}");
        assert!(problem["what"].as_str().is_some_and(|is| is.contains("positions")), "{problem}");
    };
    let whole = fs::read(&object).expect("it is there");
    let mut altered = whole.clone();
    let middle = altered.len() / 2;
    altered[middle] ^= 1;
    fs::write(&object, &altered).expect("it is written");
    found("checksum");
    fs::remove_file(&object).expect("it is there");
    found("missing");
    fs::write(&object, &whole).expect("it is written");
    let verified = run(&["wallet", "verify", &data, "--backup", &url]);
    assert!(verified.status.success(), "{}", err(&verified));
    let away = run(&["wallet", "verify", &data, "--backup", "file:///nowhere/at/all"]);
    assert_eq!(away.status.code(), Some(1));
    assert!(err(&away).contains("ARC-0"), "{}", err(&away));
}

#[test]
fn nothing_is_removed_while_the_store_is_away() {
    let mut bank = Bank::new();
    wait_for("a first backup", || backup::newest(&bank.url()));
    let (there, away) = (bank.store.path().join("backups"), bank.store.path().join("away"));
    fs::rename(&there, &away).expect("it is there");
    fs::write(&there, "no folder").expect("it is written");
    bank.book(2_500);
    wait_for("a backup that fails", || {
        let metrics = bank.server().prints(&["api", "GET", "/metrics"]);
        metrics.lines().any(|line| line.contains("backup_failing") && line.ends_with('1')).then_some(())
    });
    bank.again("KILL");
    let firsts = bank.segments().iter().filter(|path| path.ends_with("000000000001.segment")).count();
    assert_eq!(firsts, 2, "{:?}", bank.segments());
    fs::remove_file(&there).expect("it is there");
    fs::rename(&away, &there).expect("it is there");
    bank.move_segments(1);
    bank.verify();
}
