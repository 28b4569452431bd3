//! A backup of a cluster that works, and the cluster that is made of it after all else was lost.
//!
//! etcd and Kafka are real ones; stores are folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use stadium_audit::{Options, verify};
use stadium_cluster_admin::{Admin, Backup, Error, NewCluster, RestoreMode, Settings};
use stadium_membership::{Error as Membership, Shard};
use stadium_queue::{Answer, Command, NewJob, QueueName, Refusal};
use stadium_shard::Shards;
use stadium_testing::deadline::{LONG, must_find, must_hold};
use stadium_testing::etcd;
use stadium_testing::small_disk::SmallDisk;
use stadium_wallet::{
    AssetCode, Command as Book, Kind, NewAccount, NewTransfer, Overdraft, TransferId, WalletName,
};

use crate::fixture::{Nodes, admin, node, settings};

const SHARDS: u32 = 2;

fn url(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

fn queue() -> QueueName {
    QueueName::new("mail").expect("a name")
}

/// Puts a job. False where it is not acknowledged.
fn put(shards: &Shards, name: &str) -> bool {
    let job = NewJob { payload: Bytes::copy_from_slice(name.as_bytes()), ..NewJob::default() };
    let put = Command::Put { queue: queue(), jobs: vec![job], principal: None };
    matches!(shards.submit(put).wait(LONG), Some(Ok(_)))
}

/// The jobs, once the shard is open on the node: its map can say so a moment earlier.
fn jobs(shards: &Shards) -> Vec<String> {
    must_find("the jobs of an open shard", || {
        let peek = Command::Peek { queue: queue(), state: None, key: None, after: None, jobs_max: 1_000 };
        match shards.submit(peek).wait(LONG) {
            Some(Ok(Answer::Jobs(jobs))) => {
                Some(jobs.iter().map(|job| String::from_utf8_lossy(&job.payload).into_owned()).collect())
            }
            Some(Err(Refusal::Busy { .. })) => None,
            other => panic!("{other:?}"),
        }
    })
}

/// Gives eight wallets of both shards 10 votes each.
fn book(shards: &Shards) {
    let ask = |command| shards.submit_wallet(command).wait(LONG).expect("answered").expect("accepted");
    let votes = AssetCode::new("VOTE").expect("a code");
    let wallet = |name: &str| WalletName::new(name).expect("a name");
    ask(Book::Declare { asset: votes.clone(), scale: 0 });
    for number in 0..8_u128 {
        let fan = wallet(&format!("fan-{number}"));
        let account = NewAccount {
            wallet: fan.clone(),
            asset: votes.clone(),
            overdraft: Overdraft::Never,
            ceiling: None,
        };
        ask(Book::Open { accounts: vec![account] });
        let kind = Kind::Post { debit: wallet("@bank"), credit: fan, asset: votes.clone(), amount: 10 };
        let (id, reference, metadata) = (TransferId(number), String::new(), Bytes::new());
        let transfers = vec![NewTransfer { id, kind, reference, metadata, effective: None }];
        ask(Book::Transfer { transfers, linked: false, principal: None });
    }
}

/// Waits until a node serves all shards.
fn until_served(admin: &mut Admin, name: &str) {
    let owner = Some(node(name));
    must_find("owners of all shards", || {
        let status = admin.status().ok()?;
        status.owners.iter().all(|one| *one == owner).then_some(())
    });
}

fn restore(
    settings: &Settings,
    store: &Path,
    from: &Path,
) -> Result<stadium_cluster_admin::FilledReport, Error> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    admin(settings).restore(
        Some(url(store)),
        &url(from),
        scratch.path(),
        |_| Ok(BTreeMap::new()),
        &mut |_| (),
    )
}

/// Any file of the backup whose path has this in it.
fn object(backup: &Path, part: &str) -> std::path::PathBuf {
    let mut folders = vec![backup.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(part) {
                return path;
            }
        }
    }
    panic!("no object has {part} in its name");
}

#[test]
fn a_cluster_is_made_of_a_backup_after_all_else_was_lost() {
    let [store, backup, other_store, third_store, data] =
        [(); 5].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let first = etcd::Cluster::start(1);
    let of_first = Settings { standbys: 0, ..settings("saved", &first) };
    let mut operator = admin(&of_first);
    let made = operator.init(NewCluster { shards: SHARDS, id: None }).expect("a cluster");
    let mut nodes = Nodes::storing(&of_first, &made.cluster, store.path());
    nodes.start("a");
    until_served(&mut operator, "a");
    must_hold("it takes commands", || put(nodes.shards("a"), "first"));
    book(nodes.shards("a"));
    let mut acknowledged: Vec<String> = (0..40).map(|number| format!("before {number}")).collect();
    acknowledged.iter().for_each(|name| assert!(put(nodes.shards("a"), name), "{name} is not accepted"));

    for is_scratch in [true, false] {
        let small = tempfile::tempdir().expect("a temporary folder");
        let _disk = SmallDisk::mount(small.path()).expect("root mounts");
        // All of it: the write that fails has filled the rest.
        assert!(fs::write(small.path().join("others"), vec![7; 65 << 20]).is_err());
        let large = tempfile::tempdir().expect("a temporary folder");
        let (scratch, backup) =
            if is_scratch { (small.path(), large.path()) } else { (large.path(), small.path()) };
        let to =
            Backup { url: url(backup), grace: Duration::from_secs(3_600), upload_bytes_per_second: None };
        let failed =
            operator.backup(Some(url(store.path())), &to, scratch, &mut |_| ()).expect_err("no room");
        assert!(failed.to_string().to_lowercase().contains("no space left"), "{failed}");
        must_hold("it takes commands after a backup that failed", || put(nodes.shards("a"), "between"));
    }

    // The node works while it is copied, and serves again by itself.
    let to =
        Backup { url: url(backup.path()), grace: Duration::from_secs(3_600), upload_bytes_per_second: None };
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let ends = AtomicBool::new(false);
    let mut steps = Vec::new();
    let report = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                put(nodes.shards("a"), &format!("meanwhile {number}"));
            }
        });
        let report = operator.backup(Some(url(store.path())), &to, scratch.path(), &mut |progress| {
            if steps.last() != Some(&progress.step) {
                steps.push(progress.step.clone());
            }
        });
        ends.store(true, Ordering::Relaxed);
        report
    });
    let report = report.expect("a backup");
    assert_eq!((report.cluster.clone(), report.shards.len()), (made.cluster.clone(), SHARDS as usize));
    assert!(report.shards.iter().any(|shard| shard.position > 0 && shard.offset > 40), "{report:?}");
    assert!(steps.iter().any(|step| step == "claiming the logs"), "{steps:?}");
    assert_eq!(report.archive.map(|archive| archive.cut), Some(1));
    must_hold("it takes commands again", || put(nodes.shards("a"), "after"));

    // A cluster that exists is not restored over, and its logs are restored by nobody while it
    // lives.
    let refused = restore(&of_first, other_store.path(), backup.path()).expect_err("it exists").to_string();
    assert!(refused.contains("CLU-102"), "{refused}");
    let refused = operator.restore_log(Shard(0), data.path(), RestoreMode::DryRun).expect_err("a is alive");
    assert!(refused.to_string().contains("stop a first"), "{refused}");
    nodes.stop("a");
    drop((nodes, first));
    fs::remove_dir_all(store.path()).expect("nobody writes there");

    let second = etcd::Cluster::start(1);
    let of_second = Settings { standbys: 0, ..settings("restored", &second) };
    // A damaged object and half a backup are refused, and nothing is made.
    let segment = object(backup.path(), ".segment");
    let whole = fs::read(&segment).expect("it can be read");
    let mut damaged = whole.clone();
    *damaged.last_mut().expect("it has bytes") ^= 1;
    fs::write(&segment, damaged).expect("it can be written");
    let refused = restore(&of_second, other_store.path(), backup.path()).expect_err("damage").to_string();
    assert!(refused.contains("ARC-009"), "{refused}");
    fs::write(&segment, whole).expect("it can be written");
    let cut = object(backup.path(), ".cut");
    let aside = data.path().join("cut");
    fs::rename(&cut, &aside).expect("one file system");
    let refused = restore(&of_second, other_store.path(), backup.path()).expect_err("half").to_string();
    assert!(refused.contains("ARC-008"), "{refused}");
    fs::rename(&aside, &cut).expect("one file system");
    let missing = admin(&of_second).status().expect_err("nothing was made");
    assert!(matches!(missing, Error::Membership(Membership::Missing(_))), "{missing}");

    let restored = restore(&of_second, other_store.path(), backup.path()).expect("a cluster");
    assert_ne!(restored.cluster.id, made.cluster.id);
    assert_eq!(restored.cluster.shards, SHARDS);
    let mut nodes = Nodes::storing(&of_second, &restored.cluster, other_store.path());
    nodes.start("b");
    let mut operator = admin(&of_second);
    until_served(&mut operator, "b");
    let there = jobs(nodes.shards("b"));
    acknowledged.push("first".to_owned());
    for name in &acknowledged {
        let times = there.iter().filter(|one| *one == name).count();
        assert_eq!(times, 1, "{name} is there {times} times");
    }
    assert!(there.iter().all(|name| name != "after"), "it was put after the backup");
    assert!(put(nodes.shards("b"), "goes on"));
    nodes.stop("b");

    // Out to a standalone server's directory, and in to a third cluster.
    let exported = operator.export(Some(url(other_store.path())), data.path(), &mut |_| ()).expect("a copy");
    let audit = verify(data.path(), &Options::default(), &mut |_| ()).expect("the folder can be read");
    assert!(audit.is_sound(), "{:?}", audit.problems);
    assert_eq!(audit.assets[0].credit, 80);
    let of_third = Settings { standbys: 0, ..settings("imported", &second) };
    let mut operator = admin(&of_third);
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let imported = operator.import(Some(url(third_store.path())), data.path(), scratch.path(), &mut |_| ());
    let imported = imported.expect("a cluster");
    let reach = |shards: &[stadium_cluster_admin::CopiedShard]| -> Vec<u64> {
        shards.iter().map(|shard| shard.checkpoint).collect()
    };
    assert_eq!(reach(&imported.shards), reach(&exported.shards));
    let mut nodes = Nodes::storing(&of_third, &imported.cluster, third_store.path());
    nodes.start("c");
    until_served(&mut operator, "c");
    let mut expected = there;
    expected.push("goes on".to_owned());
    assert_eq!(jobs(nodes.shards("c")), expected);
}
