//! All shards of a cluster as those of a standalone server, and a cluster made of them.
//! Records, jobs and wallets are compared, and the wallets audited.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use bytes::Bytes;
use stadium_audit::{Options, verify};
use stadium_cluster::{ArchiveSettings, CopyError, CopySettings, ShardCopied, copy_in, copy_out};
use stadium_journal::copy::segment_name;
use stadium_journal::{SegmentNumber, shards};
use stadium_journal_log::{ClusterId, Offset, Topic};
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_queue::{Answer, Command};
use stadium_shard::{Settings, Shards};
use stadium_wallet::{
    AssetCode, Command as Book, Kind, NewAccount, NewTransfer, Overdraft, TransferId, WalletName,
};

use crate::archive::{checkpoint_and_store, log_start, put_many};
use crate::fixture::{CLUSTER, LONG, Node, options, peek, until};

/// Shards of the clusters of most of these tests.
const SHARDS: u16 = 3;

/// The cluster that a copy becomes.
const OTHER: ClusterId = ClusterId(8);

fn settings(topic: &Arc<dyn Topic>, cluster: ClusterId, count: u16, store: Option<&Path>) -> CopySettings {
    let archive = store.map(|store| ArchiveSettings::new(format!("file://{}", store.display())));
    CopySettings { topic: Arc::clone(topic), cluster, shards: count, archive }
}

fn own_all(node: &Node, count: u16) {
    for shard in 0..count {
        node.follow(shard);
        node.own(shard);
    }
}

fn ask(shards: &Shards, command: Book) {
    shards.submit_wallet(command).wait(LONG).expect("it is answered").expect("it is accepted");
}

fn wallet(number: u128) -> WalletName {
    WalletName::new(&format!("fan-{number}")).expect("a name")
}

fn votes() -> AssetCode {
    AssetCode::new("VOTE").expect("a code")
}

/// Gives some wallets a hundred votes each.
fn open_wallets(shards: &Shards, wallets: u128) {
    ask(shards, Book::Declare { asset: votes(), scale: 0 });
    for number in 0..wallets {
        let account =
            NewAccount { wallet: wallet(number), asset: votes(), overdraft: Overdraft::Never, ceiling: None };
        ask(shards, Book::Open { accounts: vec![account] });
        let bank = WalletName::new("@bank").expect("a name");
        ask(shards, transfer(number, bank, wallet(number), 100));
    }
}

fn transfer(id: u128, debit: WalletName, credit: WalletName, amount: u64) -> Book {
    let kind = Kind::Post { debit, credit, asset: votes(), amount };
    let (reference, metadata, effective) = (String::new(), Bytes::new(), None);
    let transfers = vec![NewTransfer { id: TransferId(id), kind, reference, metadata, effective }];
    Book::Transfer { transfers, linked: false, principal: None }
}

/// The payloads of a standalone server's jobs.
fn jobs(shards: &Shards) -> Vec<String> {
    match shards.submit(peek()).wait(LONG).expect("it is answered") {
        Ok(Answer::Jobs(jobs)) => {
            jobs.iter().map(|job| String::from_utf8_lossy(&job.payload).into_owned()).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn standalone(directory: &Path, count: u16) -> Shards {
    let mut settings = Settings::in_directory(directory, count);
    settings.journal = options();
    Shards::open(settings, |_, _| ()).expect("a server starts on it")
}

/// Audits a folder of shards. Returns the votes that were given out.
fn audited(directory: &Path) -> u128 {
    let report = verify(directory, &Options::default(), &mut |_| ()).expect("the folder can be read");
    assert!(report.is_sound(), "{:?}", report.problems);
    report.assets[0].credit
}

fn out(settings: &CopySettings, directory: &Path) -> Vec<ShardCopied> {
    copy_out(settings, directory, &mut |_| ()).expect("the logs can be read")
}

fn into(settings: &CopySettings, directory: &Path) -> Result<Vec<ShardCopied>, CopyError> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let copied = copy_in(settings, directory, scratch.path(), &mut |_| ());
    assert_eq!(fs::read_dir(scratch.path()).expect("it is there").count(), 0, "nothing is left");
    copied
}

#[test]
fn a_cluster_whose_logs_are_trimmed_becomes_a_server_and_a_cluster_again() {
    let topic: Arc<dyn Topic> = Arc::new(MemoryTopic::new(1));
    let [store, other_store, folder] = [(); 3].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let node = Node::with_store(&topic, 1, store.path());
    own_all(&node, 1);
    open_wallets(&node.shards, 7);
    let mut there = Vec::new();
    for name in ["first", "second"] {
        there.extend(put_many(&node, name));
        checkpoint_and_store(&node);
    }
    until("the log is trimmed", || log_start(&topic) > Offset(0));
    there.extend(put_many(&node, "behind the checkpoint"));

    let of_cluster = settings(&topic, CLUSTER, 1, Some(store.path()));
    let directory = folder.path().join("data/shards");
    fs::create_dir(folder.path().join("data")).expect("the folder takes it");
    let copied = out(&of_cluster, &directory);
    assert!(copied[0].checkpoint.0 > 0 && copied[0].position > copied[0].checkpoint, "{copied:?}");
    let refused = copy_out(&of_cluster, &directory, &mut |_| ()).expect_err("it is not empty").to_string();
    assert!(refused.contains("ARC-010"), "{refused}");

    // The owner hears of the claim at its next command, and nothing of it happened.
    node.put("too late").expect_err("the log was claimed");
    node.until_in_step(0);
    node.own(0);
    assert!(node.there() == there, "jobs are missing, or others are there");
    node.put("later").expect("it serves again");
    // A second copy has what came since, and a greater epoch.
    let second = out(&of_cluster, &folder.path().join("second"));
    assert!(second[0].position > copied[0].position && second[0].epoch > copied[0].epoch, "{second:?}");

    assert_eq!(audited(&directory), 700);
    let server = standalone(&directory, 1);
    assert!(jobs(&server) == there, "jobs are missing, or others are there");
    server.stop(LONG);
    drop(server);
    assert_eq!(audited(&directory), 700);

    // The server's shards, with what its opening has changed, become a cluster.
    let elsewhere: Arc<dyn Topic> = Arc::new(MemoryTopic::new(1));
    let of_other = settings(&elsewhere, OTHER, 1, Some(other_store.path()));
    into(&of_other, &directory).expect("logs and store are empty");
    let refused = into(&of_other, &directory).expect_err("there is one").to_string();
    assert!(refused.contains("has messages") && refused.contains("CLU-305"), "{refused}");
    let first = Node::of_cluster(OTHER, &elsewhere, 1, other_store.path());
    own_all(&first, 1);
    assert!(first.there() == there, "jobs are missing, or others are there");
    assert_eq!(audited(&first.replica(0)), 700);
    there.extend(put_many(&first, "of the other cluster"));
    // The log goes on behind what it was given, and is stored and trimmed as any other.
    checkpoint_and_store(&first);
    there.extend(put_many(&first, "more"));
    checkpoint_and_store(&first);
    until("the log is trimmed", || log_start(&elsewhere) > Offset(1));
    first.close(0);
    let other = Node::of_cluster(OTHER, &elsewhere, 1, other_store.path());
    own_all(&other, 1);
    assert!(other.there() == there, "jobs are missing, or others are there");
    assert_eq!(audited(&other.replica(0)), 700);
}

#[test]
fn a_replica_of_a_filled_cluster_never_begins_with_the_empty_log() {
    let topic: Arc<dyn Topic> = Arc::new(MemoryTopic::new(1));
    let [folder, store] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let directory = folder.path().join("shards");
    let server = standalone(&directory, 1);
    server.stop(LONG);
    drop(server);
    into(&settings(&topic, OTHER, 1, Some(store.path())), &directory).expect("logs and store are empty");
    let refused = Node::new(&topic, 1).try_follow(0).expect_err("its cluster is another one").to_string();
    assert!(refused.contains("CLU-301"), "{refused}");
    // The store is away, or its objects are lost.
    let lost = tempfile::tempdir().expect("a temporary folder");
    let node = Node::of_cluster(OTHER, &topic, 1, lost.path());
    let refused = node.try_follow(0).expect_err("the store has nothing").to_string();
    assert!(refused.contains("CLU-301"), "{refused}");
}

#[test]
fn transfers_between_shards_are_whole_in_a_copy_that_is_made_meanwhile() {
    let topic: Arc<dyn Topic> = Arc::new(MemoryTopic::new(SHARDS.into()));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let node = Node::new(&topic, SHARDS);
    own_all(&node, SHARDS);
    open_wallets(&node.shards, 12);
    let (ends, next, confirmed) = (AtomicBool::new(false), AtomicU64::new(1_000), AtomicU64::new(0));
    let directory = folder.path().join("shards");
    let acknowledged = thread::scope(|scope| {
        for worker in 0..4_u64 {
            let (ends, next, confirmed, shards) = (&ends, &next, &confirmed, node.shards.clone());
            scope.spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    let id = next.fetch_add(1, Ordering::Relaxed);
                    let [debit, credit] = [id % 12, (id + 1 + worker) % 12].map(|at| wallet(at.into()));
                    let ticket = shards.submit_wallet(transfer(id.into(), debit, credit, 1));
                    if matches!(ticket.wait(LONG), Some(Ok(_))) {
                        confirmed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        until("transfers are under way", || confirmed.load(Ordering::Relaxed) > 200);
        let before = confirmed.load(Ordering::Relaxed);
        out(&settings(&topic, CLUSTER, SHARDS, None), &directory);
        ends.store(true, Ordering::Relaxed);
        before
    });
    // A server finishes what was between its shards.
    let server = standalone(&directory, SHARDS);
    server.stop(LONG);
    drop(server);
    let report = verify(&directory, &Options::default(), &mut |_| ()).expect("the folder can be read");
    assert!(report.is_sound(), "{:?}", report.problems);
    let transfers: u64 = report.shards.iter().map(|shard| shard.transfers).sum();
    assert!(transfers >= 12 + acknowledged, "{transfers} of {acknowledged}: acknowledged ones are missing");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let topic: Arc<dyn Topic> = Arc::new(MemoryTopic::new(2));
    let [folder, store] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let directory = folder.path().join("shards");
    let server = standalone(&directory, 2);
    let put = Command::Put {
        queue: crate::fixture::queue(),
        jobs: vec![stadium_queue::NewJob { payload: Bytes::from(vec![7; 1_000]), ..Default::default() }; 50],
        principal: None,
    };
    server.submit(put).wait(LONG).expect("it is answered").expect("it is accepted");
    let of = |count, store| settings(&topic, OTHER, count, store);
    let refused = into(&of(2, Some(store.path())), &directory).expect_err("a server has it open").to_string();
    assert!(refused.contains("JRN-"), "{refused}");
    server.stop(LONG);
    drop(server);
    let refused = into(&of(1, Some(store.path())), &directory).expect_err("two shards").to_string();
    assert!(refused.contains("has 2 shards") && refused.contains("CLU-305"), "{refused}");
    let refused = into(&of(2, None), &directory).expect_err("no store").to_string();
    assert!(refused.contains("cluster.store") && refused.contains("CLU-305"), "{refused}");

    // A damaged record of the last shard with some.
    let damaged = (0..2).find_map(|shard| {
        let segment = shards::folder(&directory, shard).join("journal").join(segment_name(SegmentNumber(1)));
        let bytes = fs::read(&segment).expect("the first segment");
        let at = bytes.windows(500).position(|window| window.iter().all(|&byte| byte == 7))?;
        Some((segment, bytes, at))
    });
    let (segment, whole, at) = damaged.expect("one shard has the jobs");
    let mut bytes = whole.clone();
    bytes[at + 9] = 8;
    fs::write(&segment, bytes).expect("nobody has it open");
    let refused = into(&of(2, Some(store.path())), &directory).expect_err("a record is damaged").to_string();
    assert!(refused.contains("JRN-") || refused.contains("ARC-013"), "{refused}");
    fs::write(&segment, whole).expect("nobody has it open");

    assert_eq!(fs::read_dir(store.path()).expect("it is there").count(), 0, "the store is as it was");
    // The store of another cluster.
    let used: Arc<dyn Topic> = Arc::new(MemoryTopic::new(2));
    into(&settings(&used, CLUSTER, 2, Some(store.path())), &directory).expect("logs and store are empty");
    let refused = into(&of(2, Some(store.path())), &directory).expect_err("the store is used").to_string();
    assert!(refused.contains("already") && refused.contains("CLU-305"), "{refused}");
    let fresh = tempfile::tempdir().expect("a temporary folder");
    into(&of(2, Some(fresh.path())), &directory).expect("its logs are as they were");
}
