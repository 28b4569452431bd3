//! A stopped server is exported, its data directory deleted and imported: jobs and wallets are
//! there.
//!
//! Exports are killed with SIGKILL in between. Then the archive is that of the export before, byte
//! for byte, or none at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::killable::Killable;
use stadium_testing::server::binary;
use stadium_testing::wallets::{Wallets, verified};

const SETTINGS: &str = "[journal]\nsegment_bytes = 9437184\nreserve_bytes = 262144\n[shards]\ncount = 2\n";
const WALLETS: [&str; 3] = ["alice", "bob", "carol"];
/// Slow enough to be killed between two files.
const SLOW: [&str; 2] = ["--upload-bytes-per-second", "20"];

/// An archive in a folder, and the command that uses it.
struct Archive {
    folder: PathBuf,
}

impl Archive {
    fn command(&self, action: &str, flag: &str, data: &Path) -> Result<Command> {
        let mut command = Command::new(binary()?);
        command.args(["journal", action]).arg(data);
        command.arg(flag).arg(format!("file://{}", self.folder.display()));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    fn export(&self, data: &Path) -> Result<()> {
        must(&self.command("export", "--to", data)?.output()?, "exported 2 shards")
    }

    fn import(&self, data: &Path) -> Result<()> {
        must(&self.command("import", "--from", data)?.output()?, "imported 2 shards")
    }

    /// Begins an export and kills it after it has stored a file.
    fn killed_export(&self, data: &Path) -> Result<()> {
        let before = self.files()?;
        let mut child = self.command("export", "--to", data)?.args(SLOW).spawn()?;
        let stored = until_true(PATIENCE, "a file to be stored", || Ok(self.files()? > before));
        ensure!(child.try_wait()?.is_none(), "it ended before it was killed");
        child.kill()?;
        child.wait()?;
        stored
    }

    /// The number of segments that the archive has.
    fn files(&self) -> Result<usize> {
        let mut files = 0;
        for shard in 0..2 {
            let Ok(listed) = fs::read_dir(self.folder.join(format!("shard-{shard:04}/segments"))) else {
                continue;
            };
            for entry in listed {
                let name = entry?.file_name();
                files += usize::from(name.to_string_lossy().ends_with(".segment"));
            }
        }
        Ok(files)
    }
}

fn must(output: &Output, says: &str) -> Result<()> {
    let printed = printed(output);
    ensure!(output.status.success() && printed.contains(says), "{}: {printed}", output.status);
    Ok(())
}

fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Segments and checkpoints of all shards of a data directory, by name.
fn books(data: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut books = BTreeMap::new();
    for shard in 0..2 {
        for part in ["journal", "checkpoints"] {
            let folder = data.join(format!("shards/shard-{shard:04}")).join(part);
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                let is_kept = path.extension().is_some_and(|kind| kind == "segment" || kind == "checkpoint");
                if is_kept {
                    books.insert(path.strip_prefix(data)?.to_owned(), fs::read(&path)?);
                }
            }
        }
    }
    Ok(books)
}

/// Puts jobs and books transfers, numbered from `first`.
fn work(server: &Killable, first: u64) -> Result<()> {
    let wallets = Wallets::of(server.api())?;
    if first == 0 {
        wallets.open(&WALLETS.map(str::to_owned))?;
    }
    for number in first..first + 10 {
        let job = json!({"payload": number.to_string()});
        let (status, answer) = wallets.api().post(&format!("/api/queues/mail-{}/jobs", number % 3), &job)?;
        ensure!(status == 201 || status == 200, "{status}: {answer}");
        wallets.book(number + 1, "@bank", WALLETS[number as usize % 3], 100 + number)?;
    }
    Ok(())
}

/// All jobs and transfers of numbers below `end` are there.
fn all_is_there(server: &Killable, end: u64) -> Result<()> {
    let wallets = Wallets::of(server.api())?;
    for (index, wallet) in WALLETS.iter().enumerate() {
        let booked: u64 = (0..end).filter(|number| *number as usize % 3 == index).map(|n| 100 + n).sum();
        ensure!(wallets.posted(wallet)? == i64::try_from(booked)?, "{wallet} does not hold {booked}");
        let (status, reserved) =
            wallets.api().post(&format!("/api/queues/mail-{index}/reserve"), &json!({"max": 100}))?;
        ensure!(status == 200, "{status}: {reserved}");
        let jobs = reserved["jobs"].as_array().context("no jobs")?;
        let payloads = jobs.iter().filter_map(|job| job["payload"].as_str());
        let mut numbers: Vec<u64> = payloads.map(str::parse).collect::<Result<_, _>>()?;
        numbers.sort_unstable();
        let put: Vec<u64> = (0..end).filter(|number| *number as usize % 3 == index).collect();
        ensure!(numbers == put, "mail-{index} has {numbers:?}, not {put:?}");
    }
    wallets.balanced(PATIENCE)?;
    Ok(())
}

#[test]
fn a_deleted_data_directory_comes_back_from_an_archive() -> Result<()> {
    let place = tempfile::tempdir()?;
    let (data, copy) = (place.path().join("data"), place.path().join("copy"));
    let archive = Archive { folder: place.path().join("archive") };
    let mut server = Killable::new(place.path(), &data, SETTINGS)?;
    server.start()?;
    work(&server, 0)?;
    let in_use = archive.command("export", "--to", &data)?.output()?;
    ensure!(!in_use.status.success() && printed(&in_use).contains("JRN-006"), "{}", printed(&in_use));
    server.terminate(PATIENCE)?;

    archive.killed_export(&data)?;
    let half = archive.command("import", "--from", &copy)?.output()?;
    ensure!(!half.status.success() && printed(&half).contains("ARC-008"), "{}", printed(&half));
    ensure!(!copy.join("shards").exists(), "half an archive was imported");
    archive.export(&data)?;
    let first = books(&data)?;

    server.start()?;
    work(&server, 10)?;
    server.terminate(PATIENCE)?;
    archive.killed_export(&data)?;
    archive.import(&copy)?;
    ensure!(books(&copy)? == first, "the killed export changed the archive");
    verified(&copy)?;
    archive.export(&data)?;

    let second = books(&data)?;
    fs::remove_dir_all(&data)?;
    archive.import(&data)?;
    ensure!(books(&data)? == second, "the import differs from what was exported");
    verified(&data)?;
    server.start()?;
    all_is_there(&server, 20)?;
    server.terminate(PATIENCE)?;
    verified(&data)?;
    Ok(())
}

#[test]
fn what_an_export_cannot_do_is_explained() -> Result<()> {
    let place = tempfile::tempdir()?;
    for (arguments, code, says) in [
        (["export", "nowhere", "--to", "file:///tmp/never"], 1, "ARC-011"),
        (["import", "copy", "--from", "books/spring"], 2, "is no URL"),
        (["import", "copy", "--from", "s3://key:secret@books/spring"], 2, "mean nothing here"),
        (["import", "copy", "--from", "file:///tmp/stadium-never-was"], 1, "ARC-008"),
        (["import", "copy", "--from", "s3://books/spring"], 1, "AWS_ACCESS_KEY_ID"),
    ] {
        let mut command = Command::new(binary()?);
        command.current_dir(place.path()).arg("journal").args(arguments).stdin(Stdio::null());
        // Nobody answers where a machine of Amazon would ask for a role.
        let names = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("AWS_"));
        names.for_each(|name| {
            command.env_remove(name);
        });
        let output = command.env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9").output()?;
        ensure!(output.status.code() == Some(code), "{arguments:?}: {}: {}", output.status, printed(&output));
        ensure!(printed(&output).contains(says), "{arguments:?}: {}", printed(&output));
        ensure!(!printed(&output).contains("key:secret"), "credentials are repeated: {}", printed(&output));
    }
    Ok(())
}
