//! Appending, committing and being acknowledged allocates nothing once warm.

use std::collections::VecDeque;
use std::sync::Arc;

use stadium_journal::{FolderDisk, Journal, Options, Wake};
use stadium_journal_log::partition::Event;
use stadium_journal_log::{Offset, Partition};
use stadium_journal_replicated::{ReplicatedJournal, ReplicatedOptions};

use crate::place::LOG;

/// Acknowledges each message in order and keeps none, as far as the journal can see.
struct Acknowledging {
    end: u64,
    events: VecDeque<Event>,
}

impl Partition for Acknowledging {
    fn append(&mut self, tag: u64, _message: &[u8]) {
        self.events.push_back(Event::Appended { tag, offset: Offset(self.end) });
        self.end += 1;
    }

    fn find_ends(&mut self) {
        self.events.push_back(Event::Ends { start: Offset(0), end: Offset(self.end) });
    }

    fn read(&mut self, _from: Offset, _bytes_max: usize) {}

    fn trim(&mut self, _below: Offset) {}

    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn on_event(&mut self, wake: Wake) {
        wake();
    }
}

#[test]
fn a_warm_journal_allocates_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = FolderDisk::create(&folder.path().join("mirror")).expect("a folder is made");
    let journal = Options { segment_bytes: 8 << 20, reserve_bytes: 64 << 10, ..Options::default() };
    let journal = Options { record_bytes_max: 1 << 20, ..journal };
    let options = ReplicatedOptions { journal, ..ReplicatedOptions::new(LOG) };
    let partition = Acknowledging { end: 0, events: VecDeque::with_capacity(16) };
    let mut journal =
        ReplicatedJournal::open(Box::new(partition), Arc::new(disk), &options).expect("it opens");
    let record = [7; 200];
    let mut turns = |count: usize| {
        for _ in 0..count {
            // Several commits before the first answer is looked at, as on a busy shard.
            for _ in 0..6 {
                journal.append(&record).expect("there is room");
                journal.append(&record).expect("there is room");
                journal.commit().expect("it works");
            }
            while journal.durable().expect("it works") < journal.end() {}
        }
    };
    turns(20);
    // Less than a MiB, so that no point is noted meanwhile.
    let counted = allocation_counter::measure(|| turns(200));
    assert_eq!(counted.count_total, 0);
}
