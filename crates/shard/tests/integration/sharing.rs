//! Many shards on few threads: none waits for another one's disk, panic, recovery or load.
//!
//! That they take turns fairly is tested in `worker.rs`, with shards that are told what to do.

use crate::fixture;

use std::collections::HashMap;
use std::process::Command as Process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use fixture::{Data, LONG, placed, put, queue, reserve, reserved, soon, until};
use stadium_journal::memory::{HangingDisk, Kept, MemoryDisk};
use stadium_journal::{
    Checkpoints, Disk, Error as JournalError, FileCheckpoints, FileJournal, JournalId, JournalThreads,
    Opening, Options, ThreadCounts,
};
use stadium_queue::{Answer, Place, Refusal};
use stadium_shard::core::Store;
use stadium_shard::{Error, Settings, Shards};

/// Journal and checkpoints of a shard on disks in memory.
#[derive(Clone)]
struct DiskStore {
    journal: HangingDisk,
    /// Its faults.
    disk: MemoryDisk,
    checkpoints: MemoryDisk,
    shard: u16,
    threads: JournalThreads,
    /// Held by a test, it lets no opening go on.
    gate: Arc<Mutex<()>>,
    openings: Arc<AtomicUsize>,
}

impl DiskStore {
    fn new(shard: u16, threads: &JournalThreads) -> Self {
        let disk = MemoryDisk::new(u64::from(shard));
        Self {
            journal: HangingDisk::new(disk.clone()),
            disk,
            checkpoints: MemoryDisk::new(u64::from(shard)),
            shard,
            threads: threads.clone(),
            gate: Arc::default(),
            openings: Arc::default(),
        }
    }
}

impl Store for DiskStore {
    type Journal = FileJournal;

    fn open(&mut self, opening: Opening) -> Result<FileJournal, JournalError> {
        self.openings.fetch_add(1, Ordering::SeqCst);
        let _passed = self.gate.lock().expect("no test panics while it holds it");
        let options = Options {
            shard: u32::from(self.shard),
            opening,
            segment_bytes: 1 << 20,
            reserve_bytes: 64 << 10,
            ..Options::default()
        };
        FileJournal::open_on_with(Arc::new(self.journal.clone()), &options, self.threads.clone())
    }

    fn checkpoints(&mut self, journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, JournalError> {
        let disk: Arc<dyn Disk> = Arc::new(self.checkpoints.clone());
        Ok(Box::new(FileCheckpoints::open_on(disk, u32::from(self.shard), journal)?))
    }
}

/// So many shards on one thread, open on their stores.
fn on_one_thread(count: u16) -> (Shards, Vec<DiskStore>) {
    let threads = JournalThreads::start(ThreadCounts { writers: 2, makers: 2 }).expect("they start");
    let settings = Settings { threads: 1, ..Settings::in_directory("nowhere", count) };
    let shards = Shards::open_none(settings).expect("a thread starts");
    let stores: Vec<_> = (0..count).map(|shard| DiskStore::new(shard, &threads)).collect();
    for store in &stores {
        shards.open_shard(store.shard, store.clone(), |_| ()).expect("it opens");
    }
    (shards, stores)
}

/// A queue that lives on a shard.
fn on_shard(shard: u16, count: u16) -> String {
    let names = (0..).map(|number| format!("q{number}"));
    names
        .into_iter()
        .find(|name| Place::home(&queue(name), count) == shard)
        .expect("names spread over shards")
}

fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|words| words.starts_with("planned")) {
                usual(info);
            }
        }));
    });
}

#[test]
fn a_shard_whose_disk_hangs_does_not_stop_the_others_of_its_thread() {
    let (shards, stores) = on_one_thread(3);
    let names: Vec<_> = (0..3).map(|shard| on_shard(shard, 3)).collect();
    for name in &names {
        placed(&shards, put(name, "before"));
    }
    stores[0].journal.hang(true);
    let stuck = shards.submit(put(&names[0], "while it hangs"));
    for round in 0..50 {
        for name in &names[1..] {
            placed(&shards, put(name, &format!("{round}")));
        }
    }
    // One can be closed and opened meanwhile, too.
    assert!(shards.close_shard(2, LONG), "it closes");
    shards.open_shard(2, stores[2].clone(), |_| ()).expect("it opens again");
    assert_eq!(reserved(&shards, reserve(&names[2], 100)).len(), 51);
    assert!(!shards.close_shard(0, Duration::from_millis(50)), "that one cannot: its disk hangs");
    stores[0].journal.hang(false);
    assert!(stuck.wait(LONG).expect("an answer").is_ok());
    assert!(shards.stop(LONG), "they stop");
}

#[test]
fn a_shard_that_recovers_delays_no_other_one_of_its_thread() {
    let (shards, stores) = on_one_thread(2);
    let names: Vec<_> = (0..2).map(|shard| on_shard(shard, 2)).collect();
    placed(&shards, put(&names[0], "before"));
    // Its commit fails, and opening the journal again takes as long as the gate is held.
    let gate = stores[0].gate.lock().expect("no test panics while it holds it");
    stores[0].disk.fail_sync(0, Kept::Nothing);
    let failed = shards.submit(put(&names[0], "cut"));
    until("the journal is being opened again", || stores[0].openings.load(Ordering::SeqCst) == 2);
    for round in 0..50 {
        placed(&shards, put(&names[1], &format!("{round}")));
    }
    let late = shards.submit(put(&names[0], "while it recovers"));
    drop(gate);
    let answer = failed.wait(LONG).expect("nobody waits for ever");
    assert!(matches!(answer, Err(Refusal::Busy { .. })), "{answer:?}");
    assert!(late.wait(LONG).expect("nobody waits for ever").is_ok(), "it waited in the mailbox");
    assert!(shards.stop(LONG), "they stop");
}

struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        panic!("planned, in a waker");
    }
}

/// A caller's waker panics on the shard's thread: that shard rests for a second. The others of its
/// thread do not.
#[test]
fn a_shard_that_panics_repeatedly_does_not_delay_the_others_of_its_thread() {
    quiet();
    let (shards, _stores) = on_one_thread(2);
    let names: Vec<_> = (0..2).map(|shard| on_shard(shard, 2)).collect();
    let waker = Waker::from(Arc::new(Panicking));
    for round in 1..=3 {
        let mut fatal = Box::pin(shards.submit(put(&names[0], "fatal")));
        // It may have been answered already: then its waker is not called, and another one has to.
        while let Poll::Ready(answer) = fatal.as_mut().poll(&mut Context::from_waker(&waker)) {
            answer.expect("it is accepted");
            fatal = Box::pin(shards.submit(put(&names[0], "fatal")));
        }
        let mut meanwhile = 0;
        until("the shard has started over", || {
            placed(&shards, put(&names[1], "meanwhile"));
            meanwhile += 1;
            shards.metrics()[0].reopened >= round
        });
        assert!(meanwhile > 20, "while the shard rests for a second the other one takes {meanwhile} puts");
        until("it serves again", || soon(&shards, put(&names[0], "after")).is_ok());
    }
    assert!(shards.stop(LONG), "they stop");
}

#[test]
fn a_directory_opens_with_another_number_of_threads() {
    let mut data = Data::new(8);
    for (round, threads) in [1, 3, 8, 2].into_iter().enumerate() {
        data = data.changed(|settings| {
            settings.threads = threads;
            settings.journal_threads = threads;
        });
        let shards = data.open();
        assert_eq!(shards.thread_metrics().len(), usize::from(threads));
        for shard in 0..8 {
            let name = on_shard(shard, 8);
            placed(&shards, put(&name, &format!("{round}")));
            assert_eq!(fixture::stats(&shards, &name).due, round as u64 + 1, "{name}");
        }
        data.stop(shards);
    }
}

#[test]
fn shards_are_opened_and_closed_while_others_serve() {
    let threads = JournalThreads::start(ThreadCounts { writers: 1, makers: 1 }).expect("they start");
    let settings = Settings { threads: 2, ..Settings::in_directory("nowhere", 4) };
    let shards = Shards::open_none(settings).expect("threads start");
    let stores: Vec<_> = (0..4).map(|shard| DiskStore::new(shard, &threads)).collect();
    let names: Vec<_> = (0..4).map(|shard| on_shard(shard, 4)).collect();
    let is_not_here = |name: &str| match soon(&shards, put(name, "nobody takes it")) {
        Err(refusal @ Refusal::Busy { .. }) => refusal.code() == "SHARD-016",
        _ => false,
    };
    let open = |shard: usize| shards.open_shard(shard as u16, stores[shard].clone(), |_| ());
    assert!(names.iter().all(|name| is_not_here(name)));
    for (shard, name) in names.iter().enumerate().take(3) {
        open(shard).expect("it opens");
        placed(&shards, put(name, "here"));
        assert!(shards.metrics()[shard].serving);
    }
    assert!(is_not_here(&names[3]));
    assert!(matches!(open(1), Err(Error::NotNow(_))), "it is open");
    assert!(matches!(shards.open_shard(4, stores[3].clone(), |_| ()), Err(Error::NotNow(_))));
    for round in 0..3 {
        let waiting = shards.submit(fixture::wait_for("nothing-here", 1, 60_000));
        let home = usize::from(Place::home(&queue("nothing-here"), 4));
        let closed = if home < 3 { home } else { 1 };
        if home == closed {
            until("the consumer waits", || shards.metrics()[home].waiting_consumers == 1);
        }
        assert!(shards.close_shard(closed as u16, LONG), "it closes");
        if home == closed {
            assert_eq!(waiting.wait(LONG), Some(Ok(Answer::Reserved(Vec::new()))), "nobody waits for it");
        }
        assert!(shards.close_shard(closed as u16, LONG), "it is closed");
        assert!(is_not_here(&names[closed]) && !shards.metrics()[closed].serving);
        for (shard, name) in names.iter().enumerate().take(3).filter(|(shard, _)| *shard != closed) {
            placed(&shards, put(name, &format!("{round} {shard}")));
        }
        open(closed).expect("it opens again");
        assert_eq!(fixture::stats(&shards, &names[closed]).due, 1, "its job is there");
        assert_eq!(shards.metrics()[closed].tail_records, 0, "it was closed with a checkpoint");
    }
    // One that cannot be opened refuses as before, and can be opened later.
    let held = stores[3].disk.clone();
    let guard = held.lock().expect("it is free");
    assert!(matches!(open(3), Err(Error::Journal(JournalError::InUse { .. }))));
    assert!(is_not_here(&names[3]));
    drop(guard);
    open(3).expect("it is free now");
    placed(&shards, put(&names[3], "here"));
    assert!(shards.close_shard(0, LONG), "it closes");
    assert!(shards.stop(LONG), "those that are open stop");
    assert!(matches!(open(0), Err(Error::NotNow(_))), "the server has stopped");
}

/// A node's biggest number of shards, in a process of its own with the usual limit of descriptors.
#[test]
fn a_thousand_shards_start_serve_stop_and_recover_with_few_threads() {
    const NAME: &str = "sharing::a_thousand_shards_start_serve_stop_and_recover_with_few_threads";
    if std::env::var_os("SHARD_THOUSAND").is_some() {
        return a_thousand();
    }
    let mut child = Process::new("sh");
    // To remove so many files takes a disk a minute.
    if std::path::Path::new("/dev/shm").is_dir() {
        child.env("TMPDIR", "/dev/shm");
    }
    let child = child
        .args(["-c", "ulimit -n 20000 && SHARD_THOUSAND=1 exec \"$1\" --exact \"$2\" --nocapture", "sh"])
        .arg(std::env::current_exe().expect("a test has a binary"))
        .arg(NAME)
        .output()
        .expect("there is a shell");
    let output =
        String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{output}");
    assert!(output.contains("1 passed"), "it ran: {output}");
    println!("{output}");
}

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).expect("Linux").count()
}

fn a_thousand() {
    const COUNT: u16 = 1_024;
    let before = entries("/proc/self/task");
    let data = Data::with(COUNT, |settings| {
        settings.journal.segment_bytes = 64 << 10;
        settings.journal.reserve_bytes = 64 << 10;
    });
    let names: Vec<_> = {
        let mut by_shard = HashMap::new();
        for number in 0.. {
            let name = format!("q{number}");
            by_shard.entry(Place::home(&queue(&name), COUNT)).or_insert(name);
            if by_shard.len() == usize::from(COUNT) {
                break;
            }
        }
        by_shard.into_values().collect()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Those that drive shards, write, make segments, write checkpoints, and help: helpers of the round
    // before stay for a second, and the system shows some that have ended.
    let threads_max = before + cores + 8 + 4 + 32 + 2 * cores.max(8) + 8;
    for round in 0..2 {
        let begun = Instant::now();
        let shards = data.open();
        println!("open after {:?}", begun.elapsed());
        let tickets: Vec<_> =
            names.iter().map(|name| shards.submit(put(name, &format!("{round}")))).collect();
        for ticket in tickets {
            ticket.wait(LONG).expect("an answer").expect("it is placed");
        }
        let (threads, files) = (entries("/proc/self/task"), entries("/proc/self/fd"));
        println!("{threads} threads, {files} descriptors");
        assert!(threads <= threads_max, "{threads} threads, and {threads_max} may be");
        assert!(files as u64 <= 64 + data.settings().descriptors(), "{files} descriptors");
        let due: u64 = names.iter().map(|name| fixture::stats(&shards, name).due).sum();
        assert_eq!(due, u64::from(COUNT) * (round + 1));
        let begun = Instant::now();
        let mut most = 0;
        let stopper = std::thread::spawn(move || shards.stop(LONG));
        while !stopper.is_finished() {
            most = most.max(entries("/proc/self/task"));
        }
        assert!(stopper.join().expect("it does not panic"), "they stop");
        println!("stopped after {:?}", begun.elapsed());
        assert!(most <= threads_max + 1, "{most} threads while it stops, and {threads_max} may be");
    }
}
