//! Uploads to a real S3 server in this process, and to a folder.
//!
//! What a provider's own servers answer beyond S3's rules is not covered: no account of ours is on them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::{Attribute, ObjectStore, ObjectStoreExt as _};

use stadium_objects::PART_BYTES;
use stadium_objects::s3_server::S3Server;

use super::*;

fn access(environment: Vec<(String, String)>) -> Access {
    Access { retry_for: Duration::from_millis(1_500), environment }
}

/// A run's files: a small one, and a result that needs two parts and a bit.
fn files(folder: &Path) -> Vec<PathBuf> {
    let result = folder.join("result.json");
    let text: String = (0..PART_BYTES / 4).map(|number| format!("{number:08},")).collect();
    fs::write(&result, text).expect("it is written");
    let series = folder.join("series.csv");
    fs::write(&series, "at_s,users\r\n1,2\r\n").expect("it is written");
    vec![result, series]
}

fn ignore(_: Sent<'_>) {}

fn content_type(name: &str) -> &'static str {
    if name.ends_with(".json") { "application/json" } else { "text/csv; charset=utf-8" }
}

#[test]
fn what_is_uploaded_is_listed_and_read_back_the_same() {
    let store = S3Server::start("runs");
    let folder = tempfile::tempdir().expect("a folder can be had");
    let files = files(folder.path());
    let mut seen: Vec<(String, u64, u64)> = Vec::new();
    let copies = upload(&files, "s3://runs/spring/run-1/", &access(store.environment()), &mut |sent| {
        seen.push((sent.file.to_owned(), sent.bytes, sent.of_bytes));
    })
    .expect("it is uploaded");
    assert_eq!(copies, ["s3://runs/spring/run-1/series.csv", "s3://runs/spring/run-1/result.json"]);
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).expect("it is there").len()).sum();
    assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{seen:?}");
    assert_eq!(seen.first(), Some(&("series.csv".to_owned(), 0, bytes)));
    assert_eq!(seen.last(), Some(&("result.json".to_owned(), bytes, bytes)));
    assert!(seen.len() >= 6, "each part is reported: {seen:?}");

    // As any other client of S3 sees it.
    let mut client = AmazonS3Builder::new().with_bucket_name("runs").with_allow_http(true);
    for (name, value) in store.environment() {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            client = client.with_config(key, value);
        }
    }
    let client = client.build().expect("the settings are whole");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be had");
    runtime.block_on(async {
        let listed = client.list_with_delimiter(Some(&"spring/run-1".into())).await.expect("it is listed");
        let names: Vec<_> = listed.objects.iter().filter_map(|object| object.location.filename()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        for file in &files {
            let name = file.file_name().and_then(|name| name.to_str()).expect("it has a name");
            let read = client.get(&format!("spring/run-1/{name}").into()).await.expect("it is there");
            let kind = read.attributes.get(&Attribute::ContentType).map(|kind| kind.to_string());
            assert_eq!(kind.as_deref(), Some(content_type(name)));
            let read = read.bytes().await.expect("it is read");
            assert!(read == fs::read(file).expect("it is read"), "{name} came back otherwise");
        }
    });
}

#[test]
fn a_bucket_that_is_not_there_is_named() {
    let store = S3Server::start("runs");
    let folder = tempfile::tempdir().expect("a folder can be had");
    let error = upload(&files(folder.path()), "s3://other/x", &access(store.environment()), &mut ignore)
        .expect_err("there is no such bucket");
    assert!(matches!(&error, Error::NoBucket(name) if name == "other"), "{error}");
    assert!(error.to_string().contains("create it first"), "{error}");
}

#[test]
fn without_credentials_and_with_false_ones_it_names_what_to_set() {
    let store = S3Server::start("runs");
    let folder = tempfile::tempdir().expect("a folder can be had");
    let files = files(folder.path());
    // Nobody answers where a machine of Amazon would ask for a role.
    let mut environment = store.environment();
    environment.retain(|(name, _)| name.contains("ENDPOINT"));
    environment.push(("AWS_METADATA_ENDPOINT".into(), "http://127.0.0.1:9".into()));
    let error = upload(&files, "s3://runs/x", &access(environment), &mut ignore).expect_err("nobody may");
    assert!(error.to_string().contains("set AWS_ACCESS_KEY_ID"), "{error}");
    let mut environment = store.environment();
    environment[1].1 = "another secret".into();
    let error = upload(&files, "s3://runs/x", &access(environment), &mut ignore).expect_err("it is false");
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
    assert!(!error.to_string().contains("another secret"), "no secret in an error: {error}");
    assert_eq!(store.names("runs"), [] as [&str; 0]);
}

#[test]
fn a_store_that_is_busy_is_asked_again() {
    let store = S3Server::start("runs");
    let folder = tempfile::tempdir().expect("a folder can be had");
    let file = folder.path().join("series.csv");
    fs::write(&file, "at_s\r\n").expect("it is written");
    store.slow_down(2);
    let access = Access { retry_for: Duration::from_secs(20), ..access(store.environment()) };
    upload(&[file], "s3://runs", &access, &mut ignore).expect("it is uploaded in the end");
    assert_eq!(fs::read_to_string(store.object("runs/series.csv")).expect("it is there"), "at_s\r\n");
    assert!(store.requests() >= 3, "{} requests", store.requests());
}

#[test]
fn a_store_that_vanishes_ends_it_without_a_result() {
    let mut store = S3Server::start("runs");
    let folder = tempfile::tempdir().expect("a folder can be had");
    let files = files(folder.path());
    let environment = store.environment();
    let mut parts = 0;
    let error = upload(&files, "s3://runs/x", &access(environment), &mut |sent| {
        parts += u32::from(sent.file == "result.json" && sent.bytes > PART_BYTES as u64);
        if parts == 1 {
            store.vanish();
        }
    })
    .expect_err("the store is gone");
    assert!(matches!(&error, Error::Refused { object, .. } if object == "result.json"), "{error}");
    assert!(store.names("runs/x").contains(&"series.csv".to_owned()));
    assert!(!store.names("runs/x").contains(&"result.json".to_owned()), "half a result is no result");
    assert!(files.iter().all(|file| file.exists()));
}

#[test]
fn a_folder_is_a_store_too() {
    let folder = tempfile::tempdir().expect("a folder can be had");
    let files = files(folder.path());
    let url = format!("file://{}/kept/run%201", folder.path().display());
    upload(&files, &url, &access(Vec::new()), &mut ignore).expect("it is copied");
    for file in &files {
        let copy = folder.path().join("kept/run 1").join(file.file_name().expect("it has a name"));
        assert!(fs::read(copy).expect("it is there") == fs::read(file).expect("it is there"));
    }
}

#[test]
fn a_url_that_means_nothing_is_explained() {
    let folder = tempfile::tempdir().expect("a folder can be had");
    let files = files(folder.path());
    for (url, says) in [
        ("runs/x", "is no URL"),
        ("s3://", "names no bucket"),
        ("ftp://runs/x", "scheme that is not known"),
        ("file://folder/x", "three slashes"),
        ("file:///", "three slashes"),
        ("s3://runs/x?versionId=3", "mean nothing here"),
        ("s3://key:secret@runs/x", "mean nothing here"),
        ("s3://runs/a/../b", "bad path"),
    ] {
        let error = upload(&files, url, &access(Vec::new()), &mut ignore).expect_err(url).to_string();
        assert!(error.contains(says) && error.contains("s3://BUCKET"), "{url}: {error}");
    }
    let missing = vec![folder.path().join("none.json")];
    let error =
        upload(&missing, "file:///tmp/x", &access(Vec::new()), &mut ignore).expect_err("it is not there");
    assert!(error.to_string().contains("none.json"), "{error}");
}
