//! The data directory that version 1 left is served, and everything is found in it.
//!
//! `testing/fixtures/data-v1.tar.gz` was written by the binary of version 1 and stays for ever. Only a
//! format that was never released may be made anew: `STADIUM_MAKE_FIXTURE=1 cargo test -p stadium-testing --test integration upgrade::`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::api::Api;
use stadium_testing::deadline::PATIENCE;
use stadium_testing::killable::Killable;

/// As the fixture was made.
const SETTINGS: &str = "[journal]\nsegment_bytes = 9437184\nreserve_bytes = 65536\n[shards]\ncount = 1\n";

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/data-v1.tar.gz")
}

fn tar(arguments: &[&str], archive: &Path, folder: &Path) -> Result<()> {
    let mut command = Command::new("tar");
    command.args(arguments).arg(archive).arg("-C").arg(folder);
    if arguments.contains(&"-czf") {
        // The rest, keys above all, belongs to the machine that made it.
        command.arg("data/shards");
    }
    ensure!(command.status().context("cannot run tar")?.success(), "tar failed");
    Ok(())
}

fn post(api: &Api, path: &str, body: &serde_json::Value) -> Result<serde_json::Value> {
    let (status, answer) = api.post(path, body)?;
    ensure!((200..300).contains(&status), "{path}: {status}: {answer}");
    Ok(answer)
}

/// Jobs in a checkpoint, and jobs in records after it.
fn make() -> Result<()> {
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    let mut server = Killable::new(place.path(), &data, SETTINGS)?;
    server.start()?;
    let api = server.api();
    for number in 0..20 {
        let key = format!("k{}", number % 3);
        let job = json!({"payload": format!("early {number}"), "key": key, "dedup_id": format!("d{number}")});
        post(&api, "/api/queues/mail/jobs", &job)?;
    }
    let reserved = post(&api, "/api/queues/mail/reserve", &json!({"max": 1}))?;
    let lease = reserved["jobs"][0]["lease"].as_str().context("no lease")?.to_owned();
    post(&api, &format!("/api/leases/{lease}/settle"), &json!({}))?;
    ensure!(server.terminate(PATIENCE)?.success(), "it did not stop: {}", server.log());
    server.start()?;
    for number in 0..5 {
        let job = json!({"payload": format!("late {number}"), "delay_ms": 365_u64 * 24 * 3_600_000});
        post(&api, "/api/queues/later/jobs", &job)?;
    }
    server.kill()?;
    std::fs::create_dir_all(fixture().parent().context("it is in a folder")?)?;
    tar(&["-czf"], &fixture(), place.path())
}

#[test]
fn the_data_of_version_1_is_served() -> Result<()> {
    if std::env::var_os("STADIUM_MAKE_FIXTURE").is_some() {
        make()?;
    }
    let place = tempfile::tempdir()?;
    tar(&["-xzf"], &fixture(), place.path())?;
    let mut server = Killable::new(place.path(), &place.path().join("data"), SETTINGS)?;
    server.start()?;
    let api = server.api();

    let mut found = Vec::new();
    for _ in 0..20 {
        let reserved = post(&api, "/api/queues/mail/reserve", &json!({"max": 100}))?;
        for job in reserved["jobs"].as_array().context("no jobs")? {
            found.push(job["payload"].as_str().context("no payload")?.to_owned());
            let lease = job["lease"].as_str().context("no lease")?;
            post(&api, &format!("/api/leases/{lease}/settle"), &json!({}))?;
        }
    }
    found.sort();
    // The first one was settled by the version that made it.
    let mut expected: Vec<String> = (1..20).map(|number| format!("early {number}")).collect();
    expected.sort();
    ensure!(found == expected, "found {found:?}");
    let (status, later) = api.read("/api/queues/later/jobs")?;
    let later = later["jobs"].as_array().context("no jobs")?.len();
    ensure!(status == 200 && later == 5, "{status}: {later} delayed jobs of 5");
    Ok(())
}
