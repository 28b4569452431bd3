//! The conformance suite, on a calm topic in memory: mirrors in memory and in a folder.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use stadium_journal::conformance::{Place, run, segmented};
use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Disk, Error, FolderDisk, Holder, Journal, Opening};
use stadium_journal_log::Topic;
use stadium_journal_replicated::ReplicatedJournal;
use stadium_journal_replicated::memory::MemoryTopic;

use crate::place::options;

/// A log, and the mirrors of its owners. One that fences is another node, with another mirror.
struct Cluster<M> {
    topic: MemoryTopic,
    mirrors: Mutex<Vec<Arc<dyn Disk>>>,
    mirror: M,
}

impl<M: Fn(usize) -> Arc<dyn Disk>> Cluster<M> {
    fn new(mirror: M) -> Self {
        let mirrors = Mutex::new(vec![mirror(0)]);
        Self { topic: MemoryTopic::new(1), mirrors, mirror }
    }
}

impl<M: Fn(usize) -> Arc<dyn Disk>> Place for Cluster<M> {
    fn open(&self, opening: Opening) -> Result<Box<dyn Journal>, Error> {
        let mut mirrors = self.mirrors.lock().expect("nobody panicked");
        if opening.holder == Holder::Fence {
            let next = (self.mirror)(mirrors.len());
            mirrors.push(next);
        }
        let disk = Arc::clone(mirrors.last().expect("there is one"));
        let partition = self.topic.partition(0).expect("the topic has it");
        Ok(Box::new(ReplicatedJournal::open(partition, disk, &options(opening))?))
    }
}

#[test]
fn a_replicated_journal_with_its_mirror_in_memory_keeps_its_promises() {
    let fresh = || Cluster::new(|number| Arc::new(MemoryDisk::new(number as u64)) as Arc<dyn Disk>);
    run(fresh);
    segmented::run(fresh);
}

#[test]
fn a_replicated_journal_with_its_mirror_in_a_folder_keeps_its_promises() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let count = std::cell::Cell::new(0);
    let mirror = |parent: PathBuf| {
        move |number: usize| {
            let disk = FolderDisk::create(&parent.join(number.to_string())).expect("a folder is made");
            Arc::new(disk) as Arc<dyn Disk>
        }
    };
    let place = |folder: &Path| {
        count.set(count.get() + 1);
        folder.join(format!("cluster-{}", count.get()))
    };
    run(|| Cluster::new(mirror(place(folder.path()))));
    segmented::run(|| Cluster::new(mirror(place(folder.path()))));
}
