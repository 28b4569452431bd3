//! A real S3 server in this process, with its signatures, parts and busy hours.
//!
//! Answers of a provider's own servers beyond S3's rules are not covered.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use stadium_archive::{Archive, Error, Health, Settings};
use stadium_objects::s3_server::S3Server;
use stadium_objects::{Access, Error as StoreError, Place};

use crate::shard::{Shard, files_in, mark, newest, run, store};

fn access(store: &S3Server) -> Access {
    Access { retry_for: Duration::from_secs(10), environment: store.environment() }
}

async fn archive(store: &S3Server, settings: &Settings) -> Archive {
    let place = Place::find("s3://books/spring", &access(store)).await.expect("it is there");
    Archive::create(place, 2, settings).await.expect("it can be written")
}

/// A checkpoint needs three parts, and the shard has sealed segments.
fn written() -> Shard {
    let mut shard = Shard::new(1);
    shard.write(20);
    shard.checkpoint(1000);
    shard.write(20);
    shard.checkpoint(20 << 20);
    shard
}

#[test]
fn a_shard_comes_back_from_s3_byte_for_byte() {
    let server = S3Server::start("books");
    let shard = written();
    run(async {
        let archive = archive(&server, &Settings::default()).await;
        let mut to = archive.shard(1).expect("there are two");
        let mut seen = Vec::new();
        let manifest =
            to.store(&shard.books(), &mut |progress| seen.push(progress)).await.expect("it is stored");
        assert!(seen.windows(2).all(|pair| pair[0].bytes <= pair[1].bytes), "{seen:?}");
        let last = seen.last().expect("it is reported");
        assert!(last.bytes == last.of_bytes && last.bytes > 20 << 20, "{last:?}");
        let [_, older] = manifest.checkpoints() else { panic!("two are kept: {manifest:?}") };
        assert_eq!(manifest.trim_to(), Some(&mark(older.position)[..]));

        let parent = tempfile::tempdir().expect("a folder can be had");
        let folder = parent.path().join("shard-0001");
        let restored = to.restore(&folder, &mut |_| {}).await.expect("it is restored");
        assert_eq!(files_in(&folder), shard.files());
        assert_eq!(restored.checkpoint, newest(&folder, 1));
        assert_eq!(restored.mark, mark(restored.checkpoint));
        assert!(restored.left_out.is_empty(), "{restored:?}");
    });
}

#[test]
fn a_file_that_is_stored_is_not_sent_again() {
    let server = S3Server::start("books");
    let mut shard = written();
    run(async {
        let archive = archive(&server, &Settings::default()).await;
        let mut to = archive.shard(1).expect("there are two");
        store(&mut to, &shard.books()).await.expect("it is stored");
        let before = server.names("books/spring/shard-0001/segments");
        shard.write(20);
        shard.checkpoint(10);
        store(&mut to, &shard.books()).await.expect("it is stored");
        let after = server.names("books/spring/shard-0001/segments");
        let sealed = shard.books().segments.len();
        assert!(before.iter().all(|name| after.contains(name)), "{before:?} {after:?}");
        assert_eq!(after.len(), sealed, "one object for each segment");
    });
}

#[test]
fn a_store_that_is_busy_is_asked_again() {
    let server = S3Server::start("books");
    let shard = written();
    run(async {
        let mut to = archive(&server, &Settings::default()).await.shard(1).expect("there are two");
        server.slow_down(3);
        store(&mut to, &shard.books()).await.expect("it is stored in the end");
    });
}

#[test]
fn a_store_that_is_away_is_reported_until_it_is_back() {
    let server = S3Server::start("books");
    let shard = written();
    run(async {
        let place =
            Place::find("s3://books/spring", &Access { retry_for: Duration::ZERO, ..access(&server) })
                .await
                .expect("it is there");
        let archive = Archive::create(place, 2, &Settings::default()).await.expect("it can be written");
        let mut to = archive.shard(1).expect("there are two");
        let health = Health::default();
        assert_eq!(health.failing_since(), None);
        server.slow_down(2);
        let mut seen = 0;
        let listed = shard.books();
        let mut books = || {
            seen += usize::from(health.failing_since().is_some());
            Ok(listed.clone())
        };
        to.store_patiently(&mut books, &health, &mut |_| {}).await.expect("it is stored in the end");
        assert!(seen > 0, "the failure was seen");
        assert_eq!(health.failing_since(), None, "and ended");
        assert!(health.reasons().is_empty());
        // A shard that moves to another node fails here no longer.
        server.slow_down(1_000);
        let mut books = || Ok(listed.clone());
        let mut ignore = |_| {};
        let storing = to.store_patiently(&mut books, &health, &mut ignore);
        let failing = async {
            while health.failing_since().is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            _ = storing => panic!("the store is away"),
            () = failing => {}
        }
        assert_eq!(health.failing_since(), None);
    });
}

#[test]
fn uploads_keep_to_their_bandwidth() {
    let server = S3Server::start("books");
    let shard = written();
    run(async {
        let settings = Settings { upload_bytes_per_second: NonZeroU64::new(20 << 20), ..Settings::default() };
        let mut to = archive(&server, &settings).await.shard(1).expect("there are two");
        let began = Instant::now();
        store(&mut to, &shard.books()).await.expect("it is stored");
        // The last part may travel faster.
        assert!(began.elapsed() >= Duration::from_millis(600), "{:?}", began.elapsed());
    });
}

#[test]
fn a_bucket_and_rights_that_are_missing_are_named() {
    let server = S3Server::start("books");
    run(async {
        let place = Place::find("s3://other/spring", &access(&server)).await.expect("it is only a name");
        let error = Archive::create(place, 2, &Settings::default()).await.expect_err("there is none");
        assert!(matches!(&error, Error::Store(StoreError::NoBucket(name)) if name == "other"), "{error}");
        let mut wrong = access(&server);
        wrong.environment[1].1 = "another secret".into();
        let place = Place::find("s3://books/spring", &wrong).await.expect("nothing is asked yet");
        let error = Archive::create(place, 2, &Settings::default()).await.expect_err("it is false");
        assert_eq!(error.code(), "ARC-002", "{error}");
        assert!(!error.to_string().contains("another secret"), "no secret in an error: {error}");
        let place = Place::find("s3://books/nothing", &access(&server)).await.expect("it is only a name");
        let error = Archive::open(place, &Settings::default()).await.expect_err("there is none");
        assert!(matches!(error, Error::Incomplete(_)), "{error}");
    });
}
