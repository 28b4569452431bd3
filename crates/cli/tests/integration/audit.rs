//! `stadium audit` on what a server wrote: changes and refused logins, their chain, and forgeries.
//!
//! The rules of the log are tested in its own crate.

use crate::binary;

use binary::{Server, err, json, out, run};

#[test]
fn changes_and_refused_logins_are_in_a_chain_that_shows_forgeries() {
    let server = Server::trial();
    let made = server.client(&["key", "create", "billing", "--role", "sender", "--json"]);
    assert!(made.status.success(), "{}", err(&made));
    let wrong = format!("sk_{}", "A".repeat(43));
    let refused = server.client(&["key", "create", "mine", "--key", &wrong]);
    assert!(!refused.status.success(), "{}", out(&refused));

    let data = server.data().to_str().expect("UTF-8").to_owned();
    let verified = run(&["audit", "verify", &data]);
    assert!(verified.status.success(), "{}", err(&verified));
    assert!(out(&verified).contains("the chain is whole: 2 entries in 1 files"), "{}", out(&verified));
    let head = json(&run(&["audit", "verify", &data, "--json"]))["head"].as_str().expect("a head").to_owned();
    let exported = out(&run(&["audit", "export", &data]));
    let entries: Vec<serde_json::Value> =
        exported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let login = entries.last().expect("lines");
    assert_eq!((&login["key"], &login["code"]), (&"none".into(), &"HTTP-002".into()), "{login}");
    assert_eq!(login["address"], "127.0.0.1");
    let change = &entries[entries.len() - 2];
    assert_eq!((&change["route"], &change["role"]), (&"POST /api/keys".into(), &"admin".into()), "{change}");

    assert!(run(&["audit", "verify", &data, "--head", &head]).status.success());
    let other = run(&["audit", "verify", &data, "--head", &"0".repeat(64)]);
    assert_eq!(other.status.code(), Some(1));
    assert!(err(&other).contains("does not contain that head"), "{}", err(&other));
    let file = server.data().join("audit.ndjson");
    std::fs::write(&file, exported.replace("127.0.0.1", "127.0.0.2")).expect("it is written");
    let forged = run(&["audit", "verify", &data]);
    assert_eq!(forged.status.code(), Some(1));
    assert!(err(&forged).contains("audit.ndjson:2: it was changed"), "{}", err(&forged));
    let nowhere = run(&["audit", "verify", "/nowhere"]);
    assert_eq!(nowhere.status.code(), Some(1));
}
