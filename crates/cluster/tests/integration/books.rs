//! The audit of wallets on a replica's folder: of a node that runs, of one that stopped, and of one
//! that came back from the store.

use std::fs;
use std::sync::Arc;

use bytes::Bytes;
use stadium_audit::{Options, Report, verify};
use stadium_journal::SegmentNumber;
use stadium_journal::copy::segment_name;
use stadium_journal_log::Topic;
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_wallet::{AssetCode, Command, Kind, NewAccount, NewTransfer, Overdraft, TransferId, WalletName};

use crate::archive::{checkpoint_and_store, log_start, put_many};
use crate::fixture::{LONG, Node, until};

/// Wallets that get votes.
const FANS: u128 = 7;

/// Declares votes, and gives some to each of so many wallets.
fn book(node: &Node, first: u128, transfers: u128) {
    let wallet = |name: &str| WalletName::new(name).expect("a name");
    let votes = AssetCode::new("VOTE").expect("a code");
    let ask = |command| node.shards.submit_wallet(command).wait(LONG).expect("it is answered");
    ask(Command::Declare { asset: votes.clone(), scale: 0 }).expect("it is accepted");
    let fan = |number: u128| wallet(&format!("fan-{}", number % FANS));
    let account = |number| NewAccount {
        wallet: fan(number),
        asset: votes.clone(),
        overdraft: Overdraft::Never,
        ceiling: None,
    };
    ask(Command::Open { accounts: (0..FANS).map(account).collect() }).expect("it is accepted");
    for number in first..first + transfers {
        let kind =
            Kind::Post { debit: wallet("@bank"), credit: fan(number), asset: votes.clone(), amount: 3 };
        let (reference, metadata, effective) = (String::new(), Bytes::new(), None);
        let transfer = NewTransfer { id: TransferId(number), kind, reference, metadata, effective };
        let transfers = vec![transfer];
        ask(Command::Transfer { transfers, linked: false, principal: None }).expect("it is accepted");
    }
}

fn audit(node: &Node) -> Report {
    let folder = node.replica(0);
    verify(&folder, &Options::default(), &mut |_| ()).expect("the folder can be read")
}

#[test]
fn the_books_of_any_replica_can_be_verified() {
    let topic: Arc<dyn Topic> = Arc::new(MemoryTopic::new(1));
    let store = tempfile::tempdir().expect("a temporary folder");
    let (owner, standby) =
        (Node::with_store(&topic, 1, store.path()), Node::with_store(&topic, 1, store.path()));
    owner.follow(0);
    standby.follow(0);
    owner.own(0);
    book(&owner, 1, 100);
    until("the standby is in step", || standby.is_in_step(0) && audit(&standby).shards[0].transfers == 100);
    for node in [&owner, &standby] {
        let report = audit(node);
        assert!(report.is_sound() && report.in_use, "{:?}", report.problems);
        assert_eq!((report.shards.len(), report.shards[0].shard), (1, 0));
        assert_eq!(report.assets[0].credit, 300);
        assert!(report.remarks.iter().any(|remark| remark.contains("replica")), "{:?}", report.remarks);
    }
    // The log is trimmed behind all of them. Their records stay, since their segments are pinned.
    for name in ["first", "second"] {
        put_many(&owner, name);
        checkpoint_and_store(&owner);
    }
    until("the log is trimmed", || log_start(&topic).0 > 0);
    book(&owner, 101, 20);
    standby.close(0);
    fs::remove_dir_all(standby.replica(0)).expect("nobody has it open");
    standby.follow(0);
    until("the standby is in step", || standby.is_in_step(0) && audit(&standby).shards[0].transfers == 120);
    standby.close(0);
    owner.close(0);
    let [one, other] = [&owner, &standby].map(|node| {
        let report = audit(node);
        assert!(report.is_sound() && !report.in_use, "{:?}", report.problems);
        report
    });
    assert_eq!(one.shards, other.shards);
    assert_eq!(one.accounts(), other.accounts());
}

#[test]
fn a_changed_byte_on_a_replica_is_found() {
    let topic: Arc<dyn Topic> = Arc::new(MemoryTopic::new(1));
    let node = Node::new(&topic, 1);
    node.follow(0);
    node.own(0);
    book(&node, 1, 50);
    node.close(0);
    assert!(audit(&node).is_sound());
    let segment = node.replica(0).join("journal").join(segment_name(SegmentNumber(1)));
    let mut bytes = fs::read(&segment).expect("the first segment");
    let name = b"fan-3";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("a wallet's name");
    bytes[at + 4] = b'4';
    fs::write(&segment, bytes).expect("nobody has it open");
    assert!(!audit(&node).is_sound(), "a record was changed");
}
