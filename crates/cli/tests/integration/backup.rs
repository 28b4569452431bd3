//! A server that backs itself up while it works, and the directory that comes back: jobs, wallets
//! with their root, keys. Black box: the built binary and its public answers.

use crate::binary;

use std::path::Path;

use binary::{Server, err, json, run, wait_for};
use serde_json::Value;

/// Small files, and a backup each second.
pub fn settings(to: &str) -> Vec<String> {
    let url = format!("backup.to={to}");
    let mut all = vec!["--trial".to_owned()];
    for setting in [
        "journal.segment_bytes=16777216",
        "journal.reserve_bytes=65536",
        "shards.count=2",
        "wallet.seal_after_s=1",
        "backup.every_s=1",
        &url,
    ] {
        all.extend(["--set".to_owned(), setting.to_owned()]);
    }
    all
}

/// The number of the newest backup; none before the first.
pub fn newest(url: &str) -> Option<u64> {
    let listed = run(&["backup", "list", url, "--json"]);
    listed.status.success().then(|| json(&listed)["backups"].as_array()?.last()?["number"].as_u64())?
}

/// Waits for a backup that was begun after this call.
fn backed_up(url: &str) -> u64 {
    let before = newest(url).unwrap_or(0);
    // The next one may have been begun before.
    wait_for("a backup", || newest(url).filter(|number| *number >= before + 2))
}

pub fn restored(url: &str, to: &Path, more: &[&str]) -> Value {
    let data = to.display().to_string();
    let done = run(&[&["restore", url, "--data", &data, "--json"], more].concat());
    assert!(done.status.success(), "{}", err(&done));
    json(&done)
}

pub fn jobs(restored: &Value) -> u64 {
    let shards = restored["shards"].as_array().expect("a list");
    shards.iter().map(|shard| shard["jobs"].as_u64().expect("a number")).sum()
}

#[test]
fn a_running_server_comes_back_from_its_backups_at_a_moment() {
    let store = tempfile::tempdir().expect("a temporary directory can be made");
    let url = format!("file://{}/backups", store.path().display());
    let arguments = settings(&url);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut server = Server::start(&arguments);
    server.does(&["queue", "put", "mails", "one", "two"]);
    server.does(&["wallet", "asset", "EUR"]);
    server.does(&["wallet", "open", "EUR", "alice", "bob"]);
    let first = backed_up(&url);
    server.does(&["queue", "put", "mails", "three"]);
    let second = backed_up(&url);
    server.signal("TERM");
    assert!(server.ended().success());

    let at_first = restored(&url, &store.path().join("first"), &["--backup", &first.to_string()]);
    let at_second = restored(&url, &store.path().join("second"), &["--backup", &second.to_string()]);
    assert_eq!(jobs(&at_first) + 1, jobs(&at_second), "{at_first} {at_second}");
    assert!(at_second["left_out"].as_array().expect("a list").contains(&"admin.key".into()));
    let verified = run(&["backup", "verify", &url, "--json"]);
    assert!(verified.status.success(), "{}", err(&verified));
    let data = store.path().join("second").display().to_string();
    let books = run(&["wallet", "verify", &data]);
    assert!(books.status.success(), "{}", err(&books));
    let again = run(&["restore", &url, "--data", &data]);
    assert_eq!(again.status.code(), Some(1));
    assert!(err(&again).contains("ARC-010"), "{}", err(&again));
    // A restored directory is another history.
    let created = run(&["backup", "create", &data, "--to", &url]);
    assert!(err(&created).contains("ARC-016"), "{}", err(&created));
    let pruned = run(&["backup", "prune", &url, "--keep", "1", "--grace", "0s", "--json"]);
    assert!(pruned.status.success(), "{}", err(&pruned));
    assert_eq!(json(&pruned)["kept"], 1);
    restored(&url, &store.path().join("third"), &[]);
}
