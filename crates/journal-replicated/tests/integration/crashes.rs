//! Power fails after each operation of a mirror's disk. The mirror opens again, and the log gives
//! what the disk has lost.

use fastrand::Rng;
use stadium_journal::Journal;
use stadium_journal::conformance::record;
use stadium_journal::memory::MemoryDisk;
use stadium_journal_log::Topic;
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_journal_replicated::{ReplicatedJournal, Standing};

use crate::place::{follow, options, owner, records};

/// Opens, writes, seals, is opened again, and writes again, until an operation fails.
fn write(topic: &MemoryTopic, disk: &MemoryDisk) -> Option<()> {
    for round in 0..2 {
        let partition = topic.partition(0).ok()?;
        let mirror = std::sync::Arc::new(disk.clone());
        let mut journal = ReplicatedJournal::open(partition, mirror, &options(Default::default())).ok()?;
        for number in 0..240 {
            let mut body = record(round * 1_000 + number);
            body.resize(6_000, 1);
            while let Err(error) = journal.append(&body) {
                error.is_temporary().then_some(())?;
                journal.commit().ok()?;
                journal.durable().ok()?;
            }
            if number % 100 == 50 {
                journal.segmented_mut()?.seal().ok()?;
            }
            journal.commit().ok()?;
        }
        journal.durable().ok()?;
        if round == 0 {
            journal.stop()?;
        }
    }
    Some(())
}

#[test]
fn a_mirror_opens_again_whenever_power_fails() {
    let whole = MemoryDisk::new(7);
    write(&MemoryTopic::new(1), &whole).expect("no fault");
    let operations = whole.operations();
    assert!(operations > 500, "{operations} operations");
    for stop in (0..operations).filter(|stop| stop % 5 == 0 || *stop < 40) {
        let mut random = Rng::with_seed(stop);
        let topic = MemoryTopic::new(1);
        let disk = MemoryDisk::new(7);
        disk.stop_after(stop);
        assert!(write(&topic, &disk).is_none(), "power fails at operation {stop}");
        disk.names_in_any_order(random.bool());
        disk.crash(&mut |below| random.usize(..below));
        let journal = owner(&topic, &disk);
        let mut fresh = follow(&topic, &MemoryDisk::new(8));
        assert_eq!(fresh.poll(&mut |_| ()), Ok(Standing::Following));
        assert!(records(&journal) == records(&fresh), "power fails at operation {stop}");
    }
}
