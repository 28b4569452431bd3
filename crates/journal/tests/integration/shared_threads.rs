//! Many journals on few threads: all become durable, and one whose disk hangs stops no other one.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use stadium_journal::conformance::{append, make_durable, read_all};
use stadium_journal::memory::MemoryDisk;
use stadium_journal::{
    Disk, DiskFile, Error, FileJournal, Journal as _, JournalThreads, LockError, LockGuard, Options,
    Position, Segmented as _, ThreadCounts,
};

const LONG: Duration = Duration::from_secs(60);

fn options(shard: u32) -> Options {
    Options {
        shard,
        segment_bytes: 64 << 10,
        reserve_bytes: 64 << 10,
        record_bytes_max: 256 << 10,
        waiting_bytes_max: 64 << 10,
        tail_bytes: 0,
        ..Options::default()
    }
}

fn threads(writers: usize, makers: usize) -> JournalThreads {
    JournalThreads::start(ThreadCounts { writers, makers }).expect("they start")
}

/// Whether its syncs, and its allocations, wait.
#[derive(Default)]
struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, is_closed: bool) {
        *self.is_closed.lock().expect("nothing panics here") = is_closed;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let is_closed = self.is_closed.lock().expect("nothing panics here");
        drop(self.opened.wait_while(is_closed, |is_closed| *is_closed).expect("nothing panics here"));
    }
}

/// A disk that hangs while its gate is closed.
struct HangingDisk(Arc<dyn Disk>, Arc<Gate>);

struct HangingFile(Arc<dyn DiskFile>, Arc<Gate>);

impl HangingDisk {
    fn file(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(HangingFile(file, Arc::clone(&self.1)))
    }
}

impl Disk for HangingDisk {
    fn place(&self) -> String {
        self.0.place()
    }

    fn lock(&self) -> Result<LockGuard, LockError> {
        self.0.lock()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.0.open(name).map(|file| self.file(file))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.0.create(name).map(|file| self.file(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename_new(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.1.pass();
        self.0.sync_folder()
    }

    fn random(&self) -> u64 {
        self.0.random()
    }
}

impl DiskFile for HangingFile {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.1.pass();
        self.0.sync()
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.0.allocate(bytes)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.0.truncate(bytes)
    }
}

fn of_this_process(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|comm| comm.trim() == name).count()
}

fn open(folder: &Path, shard: u32, threads: &JournalThreads) -> FileJournal {
    let folder = folder.join(format!("{shard}"));
    FileJournal::open_with(&folder, &options(shard), threads.clone()).expect("it opens")
}

#[test]
fn two_hundred_journals_share_three_threads_and_all_is_there_afterwards() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shared = threads(2, 1);
    let mut journals: Vec<_> = (0..200).map(|shard| open(folder.path(), shard, &shared)).collect();
    for round in 0..5_u8 {
        for journal in &mut journals {
            append(journal, &[round; 3_000]);
            journal.commit().expect("the disk works");
        }
        for journal in &mut journals {
            make_durable(journal);
        }
    }
    // The two kinds have threads of their own; other tests of this process have some too.
    assert!(
        of_this_process("journal-2") + of_this_process("maintenance-1") == 0,
        "no more than were asked for"
    );
    drop(journals);
    for shard in 0..200 {
        let journal = open(folder.path(), shard, &shared);
        let found = read_all(&mut *journal.reader(), Position::START);
        let rounds: Vec<_> = found.iter().map(|(_, body)| body[0]).collect();
        assert_eq!(rounds, [0, 1, 2, 3, 4], "journal {shard}");
    }
}

#[test]
fn a_journal_whose_disk_hangs_keeps_one_thread_and_the_others_go_on() {
    let shared = threads(2, 2);
    let gate = Arc::new(Gate::default());
    let hanging = HangingDisk(Arc::new(MemoryDisk::new(1)), Arc::clone(&gate));
    let mut stuck =
        FileJournal::open_on_with(Arc::new(hanging), &options(0), shared.clone()).expect("it opens");
    append(&mut stuck, b"before");
    make_durable(&mut stuck);
    gate.set(true);
    append(&mut stuck, b"while it hangs");
    stuck.commit().expect("the disk has not failed");
    let disks: Vec<_> = (1..6).map(MemoryDisk::new).collect();
    let opened = disks.iter().map(|disk| {
        FileJournal::open_on_with(Arc::new(disk.clone()), &options(0), shared.clone()).expect("it opens")
    });
    let mut others: Vec<_> = opened.collect();
    for round in 0..40_u8 {
        for other in &mut others {
            // Through some segments: they are made while the other one is stuck, too.
            append(other, &[round; 9_000]);
            make_durable(other);
        }
    }
    assert!(others.iter().all(|other| other.segments().len() > 4));
    assert_ne!(stuck.durable().expect("the disk has not failed"), stuck.end(), "it still hangs");
    // A journal is closed while another one hangs.
    drop(others);
    gate.set(false);
    make_durable(&mut stuck);
    assert_eq!(stuck.durable(), Ok(stuck.end()));
}

#[test]
fn a_record_longer_than_a_segment_gets_one_of_its_size() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shared = threads(1, 1);
    let bodies = [vec![1; 100], vec![2; 200 << 10], vec![3; 100], vec![4; 256 << 10], vec![5; 100]];
    let mut journal = open(folder.path(), 0, &shared);
    let deadline = Instant::now() + LONG;
    let mut positions = Vec::new();
    for body in &bodies {
        let position = loop {
            match journal.append(body) {
                Ok(position) => break position,
                Err(Error::Busy { .. }) if Instant::now() < deadline => make_durable(&mut journal),
                Err(error) => panic!("{error}"),
            }
        };
        positions.push(position);
    }
    let longest = journal.append(&vec![6; (256 << 10) + 1]);
    assert!(matches!(longest, Err(Error::TooLarge { .. })), "{longest:?}");
    make_durable(&mut journal);
    let sizes: Vec<_> = journal.segments().iter().map(|segment| segment.bytes >> 10).collect();
    assert_eq!(sizes.iter().filter(|&&size| size > 64).count(), 2, "only those two are larger: {sizes:?}");
    drop(journal);
    let journal = open(folder.path(), 0, &shared);
    let found = read_all(&mut *journal.reader(), Position::START);
    assert_eq!(found, positions.into_iter().zip(bodies).collect::<Vec<_>>());
}
