//! Receipts prove their statements and nothing else; the Python of docs/audit.md comes to the same.
//!
//! Each receipt is made from a journal that the real ledger wrote.

use crate::scribe;

use std::process::Command;

use scribe::{Scribe, Transfer, held};
use stadium_audit::{Error, Hex, HexHash, Proved, Receipt, check, receipt, roots, verify};

fn uuid(id: u128) -> String {
    let hex = format!("{id:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Three sealed periods and one that is open; transfers 1 to 50, each in a record of its own but for 20 to 24.
fn books() -> tempfile::TempDir {
    let mut scribe = Scribe::new(2);
    scribe.open(0, &["@mint", "@shop"]);
    scribe.open(1, &["@mint", "@shop"]);
    for id in 1..=50 {
        match id {
            20 => {
                let (page, now) = (&mut scribe.pages[1], scribe.now);
                let post = |id| Transfer {
                    id,
                    debit: 0,
                    credit: 1,
                    amount: 5,
                    reference: "five",
                    ..Transfer::default()
                };
                let events: Vec<_> = (20..25).map(|id| page.transfer(&post(id))).collect();
                page.write(now, &events);
            }
            21..25 => {}
            _ => scribe.post(1, id, 0, 1, id as u64),
        }
        if id % 15 == 0 {
            scribe.seal(1);
        }
    }
    let now = scribe.now;
    scribe.pages[1].write(now, &[held(60, 3, 1, 0, 9_000)]);
    scribe.close()
}

fn of(folder: &tempfile::TempDir, id: u128) -> Result<Receipt, Error> {
    receipt(folder.path(), &uuid(id), &mut |_| {})
}

fn published(folder: &tempfile::TempDir) -> Vec<HexHash> {
    roots(folder.path(), &mut |_| {}).expect("they can be read").iter().map(|root| root.root).collect()
}

#[test]
fn a_receipt_proves_its_transfer() {
    let folder = books();
    assert!(
        verify(folder.path(), &stadium_audit::Options::default(), &mut |_| {}).expect("readable").is_sound()
    );
    let roots = published(&folder);
    assert_eq!(roots.len(), 3);
    for id in 1..=45 {
        let receipt = of(&folder, id).expect("it is sealed");
        let json = serde_json::to_string(&receipt).expect("it is JSON");
        let back: Receipt = serde_json::from_str(&json).expect("it comes back");
        assert_eq!(back, receipt);
        let period = roots[usize::try_from(id - 1).expect("small") / 15];
        let proved = check(&back, &[period]).unwrap_or_else(|error| panic!("{id}: {error}"));
        let Proved { transfer, debit, credit, asset, amount, kind, shard, .. } = proved;
        assert_eq!((transfer, kind, shard), (uuid(id), "post", 1));
        assert_eq!((debit.as_str(), credit.as_str(), asset.as_str()), ("@mint", "@shop", "VOTE"));
        assert_eq!(amount, if (20..25).contains(&id) { 5 } else { id as u64 });
    }
}

#[test]
fn a_receipt_waits_for_its_seal() {
    let folder = books();
    assert!(matches!(of(&folder, 46), Err(Error::NotSealed)));
    assert!(matches!(of(&folder, 60), Err(Error::NotSealed)));
    assert!(matches!(of(&folder, 99), Err(Error::NoTransfer(_))));
    assert!(matches!(receipt(folder.path(), "no id", &mut |_| {}), Err(Error::NoTransfer(_))));
}

#[test]
fn whatever_is_changed_in_a_receipt_proves_nothing() {
    let folder = books();
    let receipt = of(&folder, 40).expect("it is sealed");
    let root = [receipt.root];
    check(&receipt, &root).expect("as it is it does");
    let refused = |what: &str, change: &dyn Fn(&mut Receipt)| {
        let mut changed = receipt.clone();
        change(&mut changed);
        assert!(changed != receipt, "{what}");
        let error = check(&changed, &root).expect_err(what);
        assert_eq!(error.code(), "ADT-033", "{what}");
    };
    for proof in 0..receipt.proofs.len() {
        for byte in 0..receipt.proofs[proof].event.0.len() {
            refused("event", &|receipt| receipt.proofs[proof].event.0[byte] ^= 1);
        }
        refused("index", &|receipt| receipt.proofs[proof].event_index += 1);
        refused("time", &|receipt| receipt.proofs[proof].time += 1);
        refused("chain", &|receipt| receipt.proofs[proof].chain_before.0[0] ^= 1);
        refused("record", &|receipt| receipt.proofs[proof].record_index ^= 1);
        refused("records", &|receipt| receipt.proofs[proof].records = u64::MAX);
        refused("root before", &|receipt| receipt.proofs[proof].root_before.0[31] ^= 1);
        refused("seal", &|receipt| receipt.proofs[proof].seal += 1);
        refused("end of time", &|receipt| receipt.proofs[proof].seal = u64::MAX);
        refused("shorter", &|receipt| {
            let _ = receipt.proofs[proof].record_path.pop();
        });
    }
    refused("events", &|receipt| receipt.proofs[0].events += 1);
    refused("tree", &|receipt| receipt.trees[0].0[0] ^= 1);
    refused("no trees", &|receipt| receipt.trees.clear());
    refused("more trees", &|receipt| receipt.trees.push(HexHash([0; 32])));
    refused("no proofs", &|receipt| receipt.proofs.clear());
    refused("no names", &|receipt| receipt.proofs.truncate(1));
    refused("other order", &|receipt| receipt.proofs.swap(0, 1));
    refused("version", &|receipt| receipt.version = 2);
    refused("root", &|receipt| receipt.root.0[3] ^= 1);
    refused("bytes", &|receipt| receipt.proofs[0].event = Hex(Vec::new()));
    assert!(check(&receipt, &[]).is_err(), "no root, no proof");
    assert!(check(&receipt, &published(&folder)[..1]).is_err(), "another seal's root");
}

#[test]
fn names_need_their_own_root_where_the_way_is_too_long() {
    let folder = books();
    let mut receipt = of(&folder, 40).expect("it is sealed");
    receipt.trees.clear();
    let roots = published(&folder);
    assert!(check(&receipt, &[receipt.root]).is_err());
    assert!(check(&receipt, &roots).is_ok(), "with the older root it is proved");
}

#[test]
fn the_python_of_the_page_comes_to_the_same() {
    let page = include_str!("../../../../docs/audit.md");
    let python =
        page.split("```python").nth(1).and_then(|rest| rest.split("```").next()).expect("it is on the page");
    let folder = books();
    for id in [1, 22, 40] {
        let receipt = of(&folder, id).expect("it is sealed");
        let file = folder.path().join("receipt.json");
        std::fs::write(&file, serde_json::to_string(&receipt).expect("JSON")).expect("written");
        let run = |root: &str| {
            let ran = Command::new("python3").arg("-c").arg(python).arg(&file).arg(root).output();
            ran.expect("python3 is installed").status.success()
        };
        assert!(run(&receipt.root.to_string()), "{id}");
        assert!(!run(&HexHash([1; 32]).to_string()), "{id}");
    }
}

#[test]
fn a_broken_chain_makes_no_receipts() {
    let mut scribe = Scribe::new(1);
    scribe.open(0, &["@mint", "@shop"]);
    scribe.post(0, 1, 0, 1, 5);
    let (page, now) = (&mut scribe.pages[0], scribe.now);
    let (event, chain) = (
        page.transfer(&Transfer { id: 2, debit: 0, credit: 1, amount: 7, ..Transfer::default() }),
        page.chain,
    );
    page.write_with(now, &[event], &chain);
    scribe.seal(0);
    let folder = scribe.close();
    assert!(matches!(of(&folder, 1), Err(Error::Broken(_))));
}
