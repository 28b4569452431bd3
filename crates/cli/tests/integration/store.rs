//! `shards.store`: a server whose shards are in memory, as people start one for their tests.

use crate::binary;

use std::fs;
use std::path::Path;

use binary::device::Device;
use binary::{SMALL, Server, err, out, stadium};

const IN_MEMORY: [&str; 4] = ["--set", "shards.count=2", "--set", "shards.store=memory"];

/// Names of all files and folders below a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let entry = entry.expect("it can be read");
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().expect("it can be read").is_dir() {
            names.extend(self::names(&entry.path()));
        }
    }
    names
}

#[test]
fn shards_in_memory_serve_and_leave_no_files() {
    let mut server = Server::start(&[&["--trial"], IN_MEMORY.as_slice()].concat());
    // Queues, wallets and devices: all that shards hold.
    server.does(&["queue", "put", "mails", "to seat 1", "to seat 2"]);
    let data = server.data().display().to_string();
    let work = stadium(&["queue", "work", "mails", "--once", "--data", &data, "--", "cat"]).output();
    let worked = work.expect("the binary can be run");
    assert!(worked.status.success(), "{}", err(&worked));
    assert_eq!(out(&worked), "to seat 1");
    let mails = server.answers(&["queue", "stats", "mails"]);
    assert_eq!((&mails["totals"]["settled"], &mails["jobs"]["due"]), (&1.into(), &1.into()), "{mails}");
    server.does(&["wallet", "asset", "VOTES"]);
    let mut device = Device::connect(&server.address("mqtt"), "kiosk-7");
    device.subscribe("inbox/kiosk-7");
    server.does(&["push", "device:kiosk-7", "hello"]);
    assert_eq!(device.message(), ("inbox/kiosk-7".to_owned(), "hello".to_owned()));
    let of_shards = |name: &String| {
        name.starts_with("shard") || name.ends_with(".segment") || name.ends_with(".checkpoint")
    };
    let found = names(server.data());
    assert!(!found.iter().any(of_shards), "{found:?}");
    server.signal("TERM");
    assert!(server.ended().success());
    let found = names(server.data());
    assert!(!found.iter().any(of_shards), "{found:?}");
    // The next one begins with nothing.
    let server = server.again(&[&["--trial"], IN_MEMORY.as_slice()].concat());
    let list = server.answers(&["queue", "list"]);
    let queues: Vec<_> =
        list["queues"].as_array().expect("a list").iter().map(|queue| &queue["name"]).collect();
    assert_eq!(queues, ["stadium.pushes"], "the server's own");
}

#[test]
fn memory_is_refused_beside_shards_in_files() {
    let mut server = Server::trial();
    server.signal("TERM");
    assert!(server.ended().success());
    let data = server.data().display().to_string();
    let listen = ["--mqtt", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rpc", "127.0.0.1:0"];
    let serve = stadium(&[&["serve", "--data", &data], IN_MEMORY.as_slice(), &listen].concat()).output();
    let refused = serve.expect("the binary can be run");
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("holds shards in files"), "{}", err(&refused));
    drop(server.again(&[&["--trial"], SMALL.as_slice()].concat()));
}

#[test]
fn memory_has_room_for_a_recovery() {
    let few = ["--set", "shards.memory_bytes_max=67108864"];
    let serve = stadium(&[&["serve"], IN_MEMORY.as_slice(), &few].concat()).output();
    let refused = serve.expect("the binary can be run");
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    let message = err(&refused);
    assert!(message.contains("shards.memory_bytes_max") && message.contains("268435456"), "{message}");
}
