//! All shards of a stopped server as one state: export, import, and interrupted ones.

use std::fs;
use std::path::Path;

use stadium_archive::{Error, Imported, Settings, export, import};
use stadium_journal::{copy, shards};
use stadium_objects::Access;

use crate::shard::{Shard, files_in, no_grace};

fn access() -> Access {
    Access { environment: Vec::new(), ..Access::default() }
}

fn url(to: &Path) -> String {
    format!("file://{}/books", to.display())
}

/// The shards of a server: two, with or without checkpoints.
fn server(folder: &Path) {
    for number in 0..2 {
        let at = shards::folder(folder, number);
        fs::create_dir_all(&at).expect("it is made");
        let place = tempfile::Builder::new().prefix("keep").tempdir_in(&at).expect("a folder can be had");
        let mut shard = Shard::at(number.into(), place);
        shard.write(20);
        if number == 1 {
            shard.checkpoint(100);
            shard.write(5);
        }
        let written = shard.stop();
        for part in ["journal", "checkpoints"] {
            fs::rename(written.path().join(part), at.join(part)).expect("it is moved");
        }
    }
    shards::write(folder, 2).expect("it is written");
}

fn exported(from: &Path, to: &Path, settings: &Settings) -> Result<stadium_archive::Exported, Error> {
    export(from, &url(to), &access(), settings, &mut |_| {})
}

fn imported(from: &Path, into: &Path) -> Result<Imported, Error> {
    import(into, &url(from), &access(), &mut |_| {})
}

#[test]
fn a_server_s_shards_come_back_as_they_were() {
    let (data, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let all = data.path().join("shards");
    server(&all);
    let first = exported(&all, to.path(), &no_grace()).expect("it is stored");
    assert_eq!((first.cut, first.shards), (1, 2));
    let back = to.path().join("back");
    let restored = imported(to.path(), &back).expect("it is whole");
    assert_eq!(restored.shards.len(), 2);
    assert_eq!(shards::count(&back).expect("it is stated"), 2);
    for number in 0..2 {
        let (was, is) = (shards::folder(&all, number), shards::folder(&back, number));
        assert_eq!(files_in(&is), files_in(&was));
        let (was, is) = (copy::identity(&was.join("journal")), copy::identity(&is.join("journal")));
        assert_eq!(is.expect("it is a journal"), was.expect("it is a journal"));
    }
    let error = imported(to.path(), &back).expect_err("it is not empty");
    assert!(matches!(error, Error::NotEmpty(_)), "{error}");
    // The objects of the first export that the second one replaced are garbage.
    let second = exported(&all, to.path(), &no_grace()).expect("it is stored again");
    assert_eq!(second.cut, 2);
    assert!(second.removed.manifests == 2 && second.removed.objects > 0, "{second:?}");
    imported(to.path(), &to.path().join("again")).expect("nothing is missing");
}

#[test]
fn an_export_without_its_cut_is_not_imported() {
    let (data, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let all = data.path().join("shards");
    server(&all);
    let error = imported(to.path(), &to.path().join("back")).expect_err("there is nothing");
    assert!(error.to_string().contains("no archive"), "{error}");
    exported(&all, to.path(), &Settings::default()).expect("it is stored");
    fs::remove_dir_all(to.path().join("books/cuts")).expect("as if it had been killed before");
    let error = imported(to.path(), &to.path().join("back")).expect_err("it is half");
    assert!(matches!(&error, Error::Incomplete(what) if what.contains("no cut")), "{error}");
    assert!(!to.path().join("back").exists());
}

#[test]
fn a_journal_that_is_in_use_or_damaged_is_refused() {
    let (data, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let all = data.path().join("shards");
    server(&all);
    let journal = shards::folder(&all, 1).join("journal");
    let held = copy::hold(&journal).expect("nobody has it");
    let error = exported(&all, to.path(), &Settings::default()).expect_err("it is held");
    assert!(error.to_string().contains("JRN-006"), "{error}");
    drop(held);
    let segment = journal.join("000000000001.segment");
    let mut bytes = fs::read(&segment).expect("it is read");
    bytes[20_000] ^= 1;
    fs::write(&segment, bytes).expect("it is written");
    let error = exported(&all, to.path(), &Settings::default()).expect_err("it is damaged");
    assert!(error.to_string().contains("JRN-009"), "{error}");
    assert!(!to.path().join("books/cuts").exists(), "nothing of it was stored");
}
