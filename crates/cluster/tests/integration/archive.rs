//! Checkpoints and segments in a store, a log that is trimmed behind them, and replicas that begin
//! with what is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stadium_journal_log::partition::Event;
use stadium_journal_log::{ClusterId, Offset, Topic};
use stadium_journal_replicated::memory::MemoryTopic;

use crate::fixture::{Node, until};

/// Bytes of a job: some fill a segment of these tests.
const JOB_BYTES: usize = 100 << 10;

fn topic(count: usize) -> Arc<dyn Topic> {
    Arc::new(MemoryTopic::new(count))
}

/// Puts jobs of more than two segments together. Returns them.
pub fn put_many(node: &Node, name: &str) -> Vec<String> {
    let job = |number| format!("{name} {number} {}", "x".repeat(JOB_BYTES));
    let jobs: Vec<String> = (0..25).map(job).collect();
    for job in &jobs {
        node.put(job).expect("it is accepted");
    }
    jobs
}

/// The offset at which the log of a shard begins.
pub fn log_start(topic: &Arc<dyn Topic>) -> Offset {
    let mut partition = topic.partition(0).expect("the topic has it");
    partition.find_ends();
    match partition.next_event() {
        Some(Event::Ends { start, .. }) => start,
        other => panic!("a calm topic answers at once: {other:?}"),
    }
}

/// Has an owner write a checkpoint, and waits until it is stored.
pub fn checkpoint_and_store(node: &Node) {
    node.checkpoint(0);
    until("the checkpoint is stored", || {
        let figures = node.archived();
        figures.shards.get(&0).is_some_and(|shard| shard.stored == node.newest_checkpoint(0))
    });
}

/// An owner whose log was trimmed, and the jobs that it has.
fn trimmed(topic: &Arc<dyn Topic>, store: &Path) -> (Node, Vec<String>) {
    let owner = Node::with_store(topic, 1, store);
    owner.follow(0);
    owner.own(0);
    let mut jobs = put_many(&owner, "first");
    checkpoint_and_store(&owner);
    assert_eq!(log_start(topic), Offset(0), "one checkpoint is not enough");
    jobs.extend(put_many(&owner, "second"));
    checkpoint_and_store(&owner);
    until("the log is trimmed", || log_start(topic) > Offset(0));
    jobs.extend(put_many(&owner, "behind the checkpoint"));
    (owner, jobs)
}

/// Files below a folder of the store.
fn stored(store: &Path, folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(store.join("shard-0000").join(folder)).expect("there is one");
    files.map(|file| file.expect("it can be listed").path()).collect()
}

#[test]
fn a_standby_without_its_folder_comes_back_from_the_store_although_the_log_was_trimmed() {
    let topic = topic(1);
    let store = tempfile::tempdir().expect("a temporary folder");
    let (owner, mut jobs) = trimmed(&topic, store.path());
    assert!(!stored(store.path(), "segments").is_empty(), "segments are stored");
    let figures = owner.archived();
    let shard = &figures.shards[&0];
    assert_eq!((shard.bytes_behind(), shard.behind_since, &shard.error), (0, None, &None));
    assert!(shard.untrimmed_bytes() > 0 && shard.trimmed.is_some(), "{shard:?}");
    assert!(figures.last_success.is_some() && figures.last_error.is_none(), "{figures:?}");

    let standby = Node::with_store(&topic, 1, store.path());
    standby.follow(0);
    until("the standby is in step", || standby.is_in_step(0));
    standby.close(0);
    fs::remove_dir_all(standby.replica(0)).expect("nobody has it open");
    standby.follow(0);
    until("the standby is in step again", || standby.is_in_step(0));
    assert_eq!(standby.newest_checkpoint(0), shard.stored, "it has the checkpoint of the store");

    // The same state, and payloads of the store's segments as well as of the log.
    owner.checkpoint(0);
    let state = owner.state_of_checkpoint(0);
    standby.own(0);
    assert!(standby.there() == jobs, "jobs are missing, or others are there");
    standby.checkpoint(0);
    assert!(standby.state_of_checkpoint(0) == state, "the states differ");

    // The new owner stores under its own epoch, and the former one stores nothing any more.
    jobs.extend(put_many(&standby, "of the second owner"));
    checkpoint_and_store(&standby);
    // The log tells the former owner at its next command.
    owner.put("too late").expect_err("another owner serves");
    owner.until_in_step(0);
    until("it stores nothing", || owner.archived().shards.is_empty());
    owner.close(0);
    fs::remove_dir_all(owner.replica(0)).expect("nobody has it open");
    owner.follow(0);
    until("it is in step again", || owner.is_in_step(0));
    owner.own(0);
    assert!(owner.there() == jobs, "jobs are missing, or others are there");
}

#[test]
fn a_store_that_is_away_holds_up_nothing_but_the_trimming() {
    let topic = topic(1);
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Nothing can be made below a file.
    let place = folder.path().join("store");
    fs::write(&place, "in the way").expect("the folder takes it");
    let owner = Node::with_store(&topic, 1, &place);
    owner.follow(0);
    owner.own(0);
    let mut jobs = Vec::new();
    for name in ["first", "second"] {
        jobs.extend(put_many(&owner, name));
        owner.checkpoint(0);
    }
    until("a failure is told", || owner.archived().last_error.is_some());
    let figures = owner.archived();
    assert!(figures.shards[&0].error.as_ref().is_some_and(|what| what.contains("ARC-")), "{figures:?}");
    assert!(figures.bytes_behind() > 0 && !figures.behind().is_zero(), "{figures:?}");
    assert_eq!(log_start(&topic), Offset(0), "nothing is trimmed");
    // A replica without data begins with the log.
    let standby = Node::with_store(&topic, 1, &place);
    standby.follow(0);
    until("the standby is in step", || standby.is_in_step(0));
    fs::remove_file(&place).expect("it is there");
    until("it is stored", || owner.archived().bytes_behind() == 0);
    jobs.extend(put_many(&owner, "third"));
    checkpoint_and_store(&owner);
    until("the log is trimmed", || log_start(&topic) > Offset(0));
    assert!(owner.there() == jobs, "jobs are missing, or others are there");
}

#[test]
fn a_trimmed_log_without_a_store_is_refused_with_its_remedy() {
    let topic = topic(1);
    let store = tempfile::tempdir().expect("a temporary folder");
    let (_owner, _) = trimmed(&topic, store.path());
    let other = Node::new(&topic, 1);
    let refused = other.try_follow(0).expect_err("the log has no beginning").to_string();
    assert!(refused.contains("CLU-301") && refused.contains("no store is configured"), "{refused}");
    let empty = tempfile::tempdir().expect("a temporary folder");
    let other = Node::with_store(&topic, 1, empty.path());
    let refused = other.try_follow(0).expect_err("the store has nothing").to_string();
    assert!(refused.contains("CLU-301") && refused.contains("has nothing of the shard"), "{refused}");
}

#[test]
fn the_store_of_another_cluster_is_refused() {
    let topic = topic(1);
    let [store, others] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let (_owner, _) = trimmed(&topic, store.path());
    let elsewhere: Arc<dyn Topic> = Arc::new(MemoryTopic::new(1));
    let of_other = Node::of_cluster(ClusterId(8), &elsewhere, 1, others.path());
    of_other.follow(0);
    of_other.own(0);
    put_many(&of_other, "of another cluster");
    checkpoint_and_store(&of_other);
    let node = Node::with_store(&topic, 1, others.path());
    let refused = node.try_follow(0).expect_err("the store is another cluster's").to_string();
    assert!(refused.contains("CLU-302") && refused.contains("ARC-007"), "{refused}");
    assert_eq!(node.newest_checkpoint(0), None, "nothing of it is in place");
}

#[test]
fn half_a_restore_is_never_taken_for_a_whole_one() {
    let topic = topic(1);
    let store = tempfile::tempdir().expect("a temporary folder");
    let (owner, jobs) = trimmed(&topic, store.path());
    let standby = Node::with_store(&topic, 1, store.path());
    // A restore that ends after the segments, before the checkpoints.
    let checkpoints = store.path().join("shard-0000/checkpoints");
    let away = store.path().join("shard-0000/away");
    fs::rename(&checkpoints, &away).expect("nobody writes there now");
    let refused = standby.try_follow(0).expect_err("a part is missing").to_string();
    assert!(refused.contains("CLU-302") && refused.contains("ARC-009"), "{refused}");
    let unfinished = standby.replica(0).with_file_name("shard-0.restored.unfinished");
    assert!(fs::read_dir(unfinished.join("journal")).expect("it is there").count() > 1, "it began");
    assert_eq!(standby.newest_checkpoint(0), None, "nothing of it is in place");
    let refused = standby.try_follow(0).expect_err("a part is missing still").to_string();
    assert!(refused.contains("CLU-302"), "{refused}");
    fs::rename(&away, &checkpoints).expect("nobody writes there now");
    standby.follow(0);
    until("the standby is in step", || standby.is_in_step(0));
    standby.close(0);
    // A crash after the restore was whole, and before, between and after the renames.
    let [folder, whole, replaced] = ["shard-0", "shard-0.restored", "shard-0.replaced"]
        .map(|name| standby.replica(0).with_file_name(name));
    fs::rename(&folder, &whole).expect("nobody has it open");
    fs::create_dir_all(folder.join("journal")).expect("the folder takes it");
    standby.follow(0);
    assert!(standby.newest_checkpoint(0).is_some() && !whole.exists() && !replaced.exists());
    standby.close(0);
    fs::rename(&folder, &whole).expect("nobody has it open");
    fs::create_dir(&replaced).expect("the folder takes it");
    standby.follow(0);
    assert!(standby.newest_checkpoint(0).is_some() && !whole.exists() && !replaced.exists());
    until("the standby is in step", || standby.is_in_step(0));
    drop(owner);
    standby.own(0);
    assert!(standby.there() == jobs, "jobs are missing, or others are there");
}

#[test]
fn a_standby_that_the_log_left_behind_is_restored_over_its_own_folder() {
    let topic = topic(1);
    let store = tempfile::tempdir().expect("a temporary folder");
    let standby = Node::with_store(&topic, 1, store.path());
    standby.follow(0);
    until("the standby is in step", || standby.is_in_step(0));
    standby.close(0);
    let (_owner, jobs) = trimmed(&topic, store.path());
    standby.follow(0);
    until("the standby is in step", || standby.is_in_step(0));
    assert!(standby.newest_checkpoint(0).is_some(), "it has the checkpoint of the store");
    standby.own(0);
    assert!(standby.there() == jobs, "jobs are missing, or others are there");
}
