//! A log that has lost acknowledged messages gets them again from the mirror of a stopped node.

use std::fs;
use std::sync::Arc;

use stadium_cluster::{LogRestored, RestoreMode, restore_log};
use stadium_journal::Error;
use stadium_journal_log::{Log, Offset, Topic};
use stadium_journal_replicated::memory::MemoryTopic;

use crate::archive::put_many;
use crate::fixture::{CLUSTER, Node, options};

fn restore(topic: &MemoryTopic, node: &Node, mode: RestoreMode) -> Result<LogRestored, Error> {
    let log = Log { cluster: CLUSTER, shard: 0 };
    restore_log(topic, &node.replica(0), log, &options(), mode)
}

#[test]
fn a_log_gets_back_from_a_mirror_what_it_lost() {
    let memory = MemoryTopic::new(1);
    let topic: Arc<dyn Topic> = Arc::new(memory.clone());
    let node = Node::new(&topic, 1);
    node.follow(0);
    node.own(0);
    let mut jobs = put_many(&node, "before");
    node.checkpoint(0);
    jobs.extend(put_many(&node, "after"));
    let refused = restore(&memory, &node, RestoreMode::DryRun).expect_err("a node has it open");
    assert!(matches!(refused, Error::InUse { .. }), "{refused}");
    node.close(0);
    // The log has all, so there is nothing to restore.
    for mode in [RestoreMode::DryRun, RestoreMode::Append] {
        let refused = restore(&memory, &node, mode).expect_err("the log is whole").to_string();
        assert!(refused.contains("CLU-303"), "{refused}");
    }
    let messages = memory.messages(0).len() as u64;
    // Also messages before the resume points of the checkpoints.
    let left = messages - 40;
    memory.lose(0, Offset(left));
    let notes = || fs::read(node.replica(0).join("journal/marks")).expect("a mirror has notes");
    let before = notes();
    let looked = restore(&memory, &node, RestoreMode::DryRun).expect("the mirror has it");
    assert_eq!((memory.messages(0).len() as u64, looked.epoch), (left, None));
    assert!(looked.lost.records >= 30 && looked.lost.to > looked.lost.from, "{looked}");
    assert!(looked.to_string().contains("would be appended again"), "{looked}");
    assert_eq!(notes(), before, "a look changes nothing");
    let restored = restore(&memory, &node, RestoreMode::Append).expect("the mirror has it");
    assert_eq!(restored.lost, looked.lost);
    assert!(restored.epoch.is_some() && restored.to_string().contains("appended again"), "{restored}");
    let refused = restore(&memory, &node, RestoreMode::Append).expect_err("it is whole").to_string();
    assert!(refused.contains("CLU-303"), "{refused}");
    // The node goes on with its checkpoint, whose resume point names an offset that was lost.
    node.follow(0);
    node.own(0);
    assert!(node.there() == jobs, "jobs are missing, or others are there");
    node.close(0);
    // A node without data reads all of it from the log.
    let other = Node::new(&topic, 1);
    other.follow(0);
    other.own(0);
    assert!(other.there() == jobs, "jobs are missing, or others are there");
}
