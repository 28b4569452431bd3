//! Owners and standbys on a calm topic: following, promotion, fencing, uncertain appends, restarts.
//!
//! Each test has one thing happen; `faults` has all of them happen at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stadium_journal::conformance::{append, make_durable, record};
use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Error, Journal, Opening, Position, Wake};
use stadium_journal_log::partition::{Event, Failure};
use stadium_journal_log::{Header, Offset, Partition, Topic};
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_journal_replicated::{ReplicatedJournal, ResumePoint, Standing};

use crate::place::{follow, follow_from, frames, options, owner, records};

type Records = Vec<(Position, Vec<u8>)>;

/// Appends so many records and makes them durable.
fn write(journal: &mut ReplicatedJournal, numbers: std::ops::Range<u64>) -> Records {
    let records = numbers
        .map(|number| {
            let body = record(number);
            (append(journal, &body), body)
        })
        .collect();
    make_durable(journal);
    records
}

fn poll(journal: &mut ReplicatedJournal) -> (Records, Result<Standing, Error>) {
    let mut records = Vec::new();
    let polled = journal.poll(&mut |record| records.push((record.position, record.body.to_vec())));
    (records, polled)
}

#[test]
fn a_standby_gets_each_record_as_it_is_acknowledged_and_is_promoted() {
    let topic = MemoryTopic::new(1);
    let (disk, other) = (MemoryDisk::new(1), MemoryDisk::new(2));
    let mut first = owner(&topic, &disk);
    let mut standby = follow(&topic, &other);
    let mut all = write(&mut first, 0..300);
    // Only `poll` takes them in, whatever else is called before.
    assert_eq!(standby.durable(), Ok(Position::START));
    assert_eq!(standby.wait(Duration::ZERO), Ok(Position::START));
    assert_eq!(poll(&mut standby), (all.clone(), Ok(Standing::Following)));
    assert_eq!(records(&standby), all);
    let end = first.resume_point().mark.end;
    assert_eq!(frames(&disk, &first, end), frames(&other, &standby, end));
    assert_eq!(standby.resume_point(), first.resume_point());
    // It does not append.
    assert!(matches!(standby.append(b"no"), Err(Error::Fenced { .. })));
    standby.claim();
    assert_eq!(poll(&mut standby), (Vec::new(), Ok(Standing::Serving)));
    all.extend(write(&mut standby, 300..400));
    // The former owner finds out at its next commit, and gives up what it had not sent.
    let lost = append(&mut first, b"too late");
    let fenced = first.commit().and_then(|()| first.durable());
    assert!(matches!(fenced, Err(Error::Fenced { .. })), "{fenced:?}");
    let durable = first.stop().expect("a fenced owner knows what became of its records");
    assert!(durable <= lost);
    first.follow_again().expect("it was fenced");
    assert_eq!(poll(&mut first), (all[300..].to_vec(), Ok(Standing::Following)));
    assert_eq!(records(&first), all);
    let end = first.resume_point().mark.end;
    assert_eq!(frames(&disk, &first, end), frames(&other, &standby, end));
}

#[test]
fn an_append_without_an_answer_is_found_or_sent_again_and_nobody_notices() {
    // What the topic does to the next calls: 0 does nothing, 1 and a fault have them fail.
    for fault in 1..5 {
        let topic = MemoryTopic::new(1);
        let disk = MemoryDisk::new(1);
        let mut journal = owner(&topic, &disk);
        let mut all = write(&mut journal, 0..10);
        let mut choices = vec![0, 0, fault].into_iter();
        topic.set_faults(Some(Box::new(move |_| choices.next().unwrap_or(1))));
        for number in 10..20 {
            let body = record(number);
            all.push((append(&mut journal, &body), body));
            journal.commit().expect("it works");
        }
        while journal.durable().expect("no failure is seen") < journal.end() {
            assert!(topic.step(), "fault {fault}: something is under way");
        }
        assert_eq!(records(&journal), all, "fault {fault}");
        assert!(journal.epoch() > stadium_journal::Epoch(1) || fault == 2, "it claimed again: {fault}");
    }
}

#[test]
fn a_batch_is_one_message_and_long_batches_are_several() {
    let topic = MemoryTopic::new(1);
    let mut options = options(Opening::default());
    options.journal.segment_bytes = 32 << 20;
    options.journal.waiting_bytes_max = 8 << 20;
    options.journal.record_bytes_max = 12 << 20;
    let partition = topic.partition(0).expect("the topic has it");
    let disk = Arc::new(MemoryDisk::new(1));
    let mut journal = ReplicatedJournal::open(partition, disk, &options).expect("it opens");
    for number in 0..50 {
        append(&mut journal, &record(number));
    }
    make_durable(&mut journal);
    // The fence, and the batch.
    assert_eq!(topic.messages(0).len(), 2);
    for _ in 0..5 {
        append(&mut journal, &vec![1; 500_000]);
    }
    append(&mut journal, &vec![2; 12 << 20]);
    make_durable(&mut journal);
    let lengths: Vec<usize> = topic.messages(0)[2..].iter().map(|message| message.len()).collect();
    assert_eq!(lengths.len(), 4, "{lengths:?}");
    assert!(lengths[..3].iter().all(|bytes| *bytes <= (1 << 20) + 200), "{lengths:?}");
}

#[test]
fn a_restart_reads_on_from_the_last_note() {
    let topic = MemoryTopic::new(1);
    let disk = MemoryDisk::new(1);
    let mut journal = owner(&topic, &disk);
    let mut all = Vec::new();
    for round in 0..5_u64 {
        all.extend((0..100).map(|number| {
            let mut body = record(round * 100 + number);
            body.resize(6_000, 3);
            (append(&mut journal, &body), body)
        }));
        make_durable(&mut journal);
    }
    let end = journal.end();
    drop(journal);
    // The power is lost, and with it all that was not synced.
    disk.crash(&mut |_| 0);
    let mut journal = follow(&topic, &disk);
    let noted = journal.resume_point().mark;
    assert!(noted.end > Position(1 << 20), "only {} was noted", noted.end);
    assert!(noted.end < end, "the rest comes from the log");
    let (rest, standing) = poll(&mut journal);
    assert_eq!(standing, Ok(Standing::Following));
    let known = all.iter().take_while(|(position, _)| *position < noted.end).count();
    assert!(rest == all[known..], "the records behind the note come once");
    assert!(records(&journal) == all);
    // One that was stopped reads nothing again.
    journal.claim();
    assert_eq!(poll(&mut journal).1, Ok(Standing::Serving));
    assert_eq!(journal.stop(), Some(journal.resume_point().mark.end));
    drop(journal);
    // The files reach the end: nothing is left to be read.
    let journal = follow(&topic, &disk);
    assert_eq!(journal.end(), end);
}

#[test]
fn notes_are_taken_in_another_thread_where_there_is_one() {
    let topic = MemoryTopic::new(1);
    let disk = MemoryDisk::new(1);
    let mut given = options(Opening::default());
    given.spawn = Some(Arc::new(|job| drop(std::thread::spawn(job))));
    let partition = topic.partition(0).expect("the topic has it");
    let mut journal = ReplicatedJournal::open(partition, Arc::new(disk.clone()), &given).expect("it opens");
    let mut all = Vec::new();
    for number in 0..1_000 {
        let mut body = record(number);
        body.resize(6_000, 3);
        all.push((append(&mut journal, &body), body));
        if number % 100 == 99 {
            make_durable(&mut journal);
            // It waits for a note that is on its way.
            journal.trim(all[all.len() - 60].0).expect("it works");
        }
    }
    assert!(journal.stop().is_some());
    let (start, end) = (journal.start(), journal.end());
    drop(journal);
    disk.crash(&mut |_| 0);
    let journal = follow_from(&topic, &disk, start);
    // Files that were removed may be there again, as with every journal.
    assert!(journal.start() <= start && journal.end() == end);
    let start = journal.start();
    let kept = all.iter().position(|(position, _)| *position >= start).expect("some are left");
    assert!(records(&journal) == all[kept..]);
}

#[test]
fn a_deleted_mirror_starts_from_the_point_of_a_checkpoint() {
    let topic = MemoryTopic::new(1);
    let mut journal = owner(&topic, &MemoryDisk::new(1));
    write(&mut journal, 0..100);
    let point = journal.resume_point();
    let checkpoint = journal.end();
    let bytes = point.encode();
    let after = write(&mut journal, 100..700);
    // The log is trimmed up to the checkpoint's point.
    journal.trim_log(&point);
    let mut given = options(Opening { checkpoint, ..Opening::default() });
    given.start = Some(ResumePoint::decode(&bytes).expect("it was encoded"));
    let open = |given: &_| {
        let partition = topic.partition(0).expect("the topic has it");
        ReplicatedJournal::open(partition, Arc::new(MemoryDisk::new(2)), given)
    };
    let mut replica = open(&given).expect("it opens");
    assert_eq!(records(&replica), after);
    let more = write(&mut replica, 700..710);
    assert_eq!(records(&replica)[after.len()..], more);
    // Without the point the log is not there to its beginning.
    given.start = None;
    match open(&given).map(drop) {
        Err(Error::Failed { what, .. }) => assert!(what.contains("trimmed"), "{what}"),
        other => panic!("the log is trimmed: {other:?}"),
    }
}

#[test]
fn an_owner_of_a_mirror_without_the_last_segment_goes_on_in_it() {
    let topic = MemoryTopic::new(1);
    let disk = MemoryDisk::new(1);
    let mut journal = owner(&topic, &disk);
    write(&mut journal, 0..100);
    let point = journal.resume_point();
    drop(journal);
    let mut given = options(Opening { checkpoint: point.mark.end, ..Opening::default() });
    given.start = Some(point);
    let other = MemoryDisk::new(2);
    let partition = topic.partition(0).expect("the topic has it");
    let mut journal = ReplicatedJournal::open(partition, Arc::new(other.clone()), &given).expect("it opens");
    let after = write(&mut journal, 100..110);
    assert_eq!(records(&journal), after);
    // The node with the whole mirror reads them behind what it has, in the same segment.
    let mut whole = follow(&topic, &disk);
    assert_eq!(poll(&mut whole).1, Ok(Standing::Following));
    let segments = whole.segmented().expect("it has some").segments();
    assert_eq!(segments.len(), 1, "{segments:?}");
    assert_eq!(records(&whole)[100..], after);
}

/// A partition that takes appends and refuses to acknowledge them for good.
struct Refusing {
    inner: Box<dyn Partition>,
    refuses: Arc<AtomicBool>,
}

impl Partition for Refusing {
    fn append(&mut self, tag: u64, message: &[u8]) {
        self.inner.append(tag, message);
    }

    fn find_ends(&mut self) {
        self.inner.find_ends();
    }

    fn read(&mut self, from: Offset, bytes_max: usize) {
        self.inner.read(from, bytes_max);
    }

    fn trim(&mut self, below: Offset) {
        self.inner.trim(below);
    }

    fn next_event(&mut self) -> Option<Event> {
        match self.inner.next_event()? {
            Event::Appended { tag, .. } if self.refuses.load(Ordering::Relaxed) => {
                let what = "the node may not write there".to_owned();
                let failure = Failure { is_temporary: false, is_certain: false, what };
                Some(Event::NotAppended { tag, failure })
            }
            event => Some(event),
        }
    }

    fn on_event(&mut self, wake: Wake) {
        self.inner.on_event(wake);
    }
}

#[test]
fn a_log_that_cannot_be_followed_leaves_what_was_sent_unknown_and_the_rest_undone() {
    let topic = MemoryTopic::new(1);
    let refuses = Arc::new(AtomicBool::new(false));
    let inner = topic.partition(0).expect("the topic has it");
    let partition = Box::new(Refusing { inner, refuses: Arc::clone(&refuses) });
    let disk = MemoryDisk::new(1);
    let mut journal =
        ReplicatedJournal::open(partition, Arc::new(disk.clone()), &options(Opening::default()))
            .expect("it opens");
    let mut all = write(&mut journal, 0..10);
    let durable = journal.durable().expect("it works");
    refuses.store(true, Ordering::Relaxed);
    all.push((append(&mut journal, b"sent"), b"sent".to_vec()));
    let outcome = journal.commit().and_then(|()| journal.wait(Duration::from_secs(5)));
    match outcome {
        Err(Error::Unknown { durable: at, ref what }) => {
            assert_eq!(at, durable);
            assert!(what.contains("may not write"), "{what}");
        }
        other => panic!("its outcome is unknown: {other:?}"),
    }
    assert_eq!(journal.stop(), None);
    assert!(matches!(journal.append(b"more"), Err(Error::Unknown { .. })));
    drop(journal);
    // In truth it counts, as the next owner finds out.
    disk.kill();
    let next = owner(&topic, &disk);
    assert_eq!(records(&next), all);
}

#[test]
fn an_owner_that_stops_says_whether_all_is_known() {
    let topic = MemoryTopic::new(1);
    let mut journal = owner(&topic, &MemoryDisk::new(1));
    write(&mut journal, 0..10);
    append(&mut journal, b"never committed");
    let durable = journal.durable().expect("it works");
    assert_eq!(journal.stop(), Some(durable), "what was not sent did not happen");
    let mut journal = owner(&topic, &MemoryDisk::new(2));
    topic.set_faults(Some(Box::new(|_| 0)));
    append(&mut journal, b"on its way");
    journal.commit().expect("it works");
    assert_eq!(journal.stop(), None, "it may arrive yet");
}

#[test]
fn a_message_that_nobody_of_ours_wrote_is_refused() {
    let topic = MemoryTopic::new(1);
    let mut journal = owner(&topic, &MemoryDisk::new(1));
    write(&mut journal, 0..10);
    // A message with a damaged body, by an owner at fault.
    let (header, body) = {
        let message = topic.messages(0).pop().expect("there is one");
        let (header, body) = Header::decode(&message).expect("it is whole");
        (header, body.to_vec())
    };
    let mut damaged = body;
    *damaged.last_mut().expect("it is long") ^= 1;
    damaged[80] ^= 1;
    let next = Header {
        sequence: header.sequence.next(),
        first: header.end,
        end: header.end.plus(header.end.since(header.first)),
        ..header
    };
    let mut message = Vec::new();
    next.encode(&damaged, &mut message).expect("the header is right");
    topic.partition(0).expect("the topic has it").append(1, &message);
    let mut standby = follow_from(&topic, &MemoryDisk::new(2), Position::START);
    let (seen, polled) = poll(&mut standby);
    assert_eq!(seen.len(), 10);
    assert!(matches!(polled, Err(Error::Foreign(_))), "{polled:?}");
}

/// A partition whose answers about the log's ends arrive after all messages.
struct LateEnds {
    partition: Box<dyn Partition>,
    late: Vec<Event>,
}

impl Partition for LateEnds {
    fn append(&mut self, tag: u64, message: &[u8]) {
        self.partition.append(tag, message);
    }

    fn find_ends(&mut self) {
        self.partition.find_ends();
    }

    fn read(&mut self, from: Offset, bytes_max: usize) {
        self.partition.read(from, bytes_max);
    }

    fn trim(&mut self, below: Offset) {
        self.partition.trim(below);
    }

    fn next_event(&mut self) -> Option<Event> {
        loop {
            match self.partition.next_event() {
                Some(ends @ Event::Ends { .. }) => self.late.push(ends),
                None => return self.late.pop(),
                other => return other,
            }
        }
    }

    fn on_event(&mut self, wake: Wake) {
        self.partition.on_event(wake);
    }
}

#[test]
fn messages_that_arrive_before_an_older_answer_about_the_end_are_no_loss() {
    let topic = MemoryTopic::new(1);
    let (disk, other) = (MemoryDisk::new(1), MemoryDisk::new(2));
    let mut first = owner(&topic, &disk);
    let mut all = write(&mut first, 0..10);
    let partition = topic.partition(0).expect("the topic has it");
    let late = Box::new(LateEnds { partition, late: Vec::new() });
    let opened = ReplicatedJournal::follow(late, Arc::new(other), &options(Opening::default()));
    let mut standby = opened.expect("the mirror opens");
    assert_eq!(poll(&mut standby), (all.clone(), Ok(Standing::Following)));
    // It asks for the end, and the owner writes before the answer is there.
    standby.look_for_end();
    let more = write(&mut first, 10..20);
    assert_eq!(poll(&mut standby), (more.clone(), Ok(Standing::Following)));
    all.extend(more);
    assert_eq!(records(&standby), all);
    // An end that is before what it had read when it asked is a loss all the same.
    topic.lose(0, Offset(2));
    standby.look_for_end();
    let lost = poll(&mut standby).1;
    assert!(matches!(lost, Err(Error::Failed { .. })), "{lost:?}");
}
