//! Two writers: the newer epoch wins, whatever the older one does and whenever.

use stadium_archive::{Archive, Books, Error, Progress};
use stadium_journal::Epoch;
use tokio::sync::Notify;

use crate::shard::{Shard, archive, no_grace, place, run, shard_archive, store};

/// A shard with some segments and a checkpoint.
fn written() -> Shard {
    let mut shard = Shard::new(1);
    shard.write(20);
    shard.checkpoint(100);
    shard
}

#[test]
fn an_older_epoch_is_refused_and_changes_nothing() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let mut shard = written();
    let old = shard.books();
    run(async {
        let mut older = shard_archive(to.path(), &no_grace()).await;
        store(&mut older, &old).await.expect("it is the first");
        shard = shard.restart();
        let mut newer = shard_archive(to.path(), &no_grace()).await;
        let manifest = store(&mut newer, &shard.books()).await.expect("it is newer");
        let error = store(&mut older, &old).await.expect_err("it is older");
        assert!(matches!(error, Error::Fenced { epoch, newer } if epoch < newer), "{error}");
        assert_eq!(older.newest().await.expect("it is read"), Some(manifest));
        let error = older.collect(old.epoch).await.expect_err("it is older");
        assert!(matches!(error, Error::Fenced { .. }), "{error}");
    });
}

#[test]
fn a_writer_that_slept_while_a_newer_one_wrote_is_refused() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let shard = written();
    let books = shard.books();
    let newer_books = Books { epoch: Epoch(books.epoch.0 + 1), ..books.clone() };
    run(async {
        let mut older = shard_archive(to.path(), &no_grace()).await;
        let mut newer = shard_archive(to.path(), &no_grace()).await;
        // The newer one writes while the older one uploads: after its first file.
        let (asleep, reported, awake) = <(Notify, Notify, Notify)>::default();
        let mut has_slept = false;
        let sleeping = async {
            let mut report = |progress: Progress| {
                if progress.bytes > 0 && !has_slept {
                    has_slept = true;
                    reported.notify_one();
                }
            };
            let stored = older.store(&books, &mut report);
            tokio::pin!(stored);
            tokio::select! {
                biased;
                () = reported.notified() => {}
                _ = &mut stored => panic!("it ends before its first file"),
            }
            asleep.notify_one();
            awake.notified().await;
            stored.await
        };
        let writing = async {
            asleep.notified().await;
            let mut manifests = Vec::new();
            for _ in 0..3 {
                manifests.push(store(&mut newer, &newer_books).await.expect("it is newer"));
                // Also the numbers that the older one read become free.
                newer.collect(newer_books.epoch).await.expect("it is its own");
            }
            awake.notify_one();
            manifests.pop().expect("three were written")
        };
        let (refused, manifest) = tokio::join!(sleeping, writing);
        let error = refused.expect_err("it is older");
        assert!(matches!(error, Error::Fenced { .. }), "{error}");
        assert_eq!(newer.newest().await.expect("it is read"), Some(manifest));
    });
}

#[test]
fn two_processes_of_one_epoch_are_told_apart() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let shard = written();
    let books = shard.books();
    run(async {
        let mut one = shard_archive(to.path(), &no_grace()).await;
        let mut other = shard_archive(to.path(), &no_grace()).await;
        let (one, other) = tokio::join!(store(&mut one, &books), store(&mut other, &books));
        let lost = one.as_ref().err().or(other.as_ref().err()).expect("one loses");
        assert!(matches!(lost, Error::Conflict(_)), "{lost}");
        assert!(one.is_ok() || other.is_ok(), "and one wins");
    });
}

#[test]
fn another_journal_is_refused() {
    let to = tempfile::tempdir().expect("a folder can be had");
    let (one, other) = (written(), written());
    run(async {
        let mut to = shard_archive(to.path(), &no_grace()).await;
        store(&mut to, &one.books()).await.expect("it is the first");
        let error = store(&mut to, &other.books()).await.expect_err("it is another");
        assert!(matches!(&error, Error::Foreign(what) if what.contains("another prefix")), "{error}");
    });
}

#[test]
fn another_number_of_shards_is_refused() {
    let to = tempfile::tempdir().expect("a folder can be had");
    run(async {
        archive(to.path(), &no_grace()).await;
        let place = place(to.path()).await;
        let error = Archive::create(place, 4, &no_grace()).await.expect_err("it has two");
        assert!(error.to_string().contains("2 shards, not 4"), "{error}");
    });
}
