//! A delayed job takes a bounded number of bytes, whatever the machine did before.
//!
//! Memory is what the allocator gave and did not get back: what a job takes in tables, lists, timers and
//! indexes, and what these hold in reserve.

use bytes::Bytes;
use stadium_queue::{Answer, Command, Lease, NewJob, PayloadAt, QueueName, When};
use stadium_state_machine::{MachineState as _, MoveCursor, MovePayloads};

use crate::driver::{Driver, PLACE, bounds};
use crate::harness::{checkpoint, queue, restored};

/// Bytes that a delayed job may take: 48 of its own, 8 in its list, 12 of its timer, 4 in the index of
/// sequences, and its share of what pages, runs and an empty machine take for themselves.
const BYTES_MAX: f64 = 75.0;

const JOBS: u64 = 260_000;

const BATCH: u64 = 1_000;

impl Driver {
    fn put(&mut self, queue: &QueueName, when: When) {
        let job = NewJob { payload: Bytes::from_static(b"payload"), when, ..NewJob::default() };
        let jobs = vec![job; BATCH as usize];
        self.ask(&Command::Put { queue: queue.clone(), jobs, principal: None });
    }

    /// Puts delayed jobs; bytes that each of them took.
    fn put_delayed(&mut self, queue: &QueueName) -> f64 {
        let info = allocation_counter::measure(|| {
            for n in 0..JOBS / BATCH {
                self.put(queue, When::After(3_600_000 + n));
            }
        });
        assert_eq!(self.queues.jobs(), JOBS);
        info.bytes_current as f64 / JOBS as f64
    }
}

#[test]
fn a_delayed_job_takes_less_than_its_bound() {
    let mut driver = Driver::new();
    let each = driver.put_delayed(&queue("reminders"));
    assert!(each < BYTES_MAX, "a delayed job takes {each:.1} bytes");
}

#[test]
fn jobs_that_were_reserved_before_leave_nothing_behind_for_delayed_ones() {
    let mut driver = Driver::new();
    let work = queue("work");
    for _ in 0..JOBS / BATCH {
        driver.put(&work, When::Now);
        let reserve = Command::Reserve {
            queue: work.clone(),
            jobs_max: BATCH as u32,
            lease: None,
            wait: 0,
            worker: None,
        };
        let Answer::Reserved(reserved) = driver.ask(&reserve) else { panic!("another answer") };
        let leases: Vec<Lease> = reserved.iter().map(|reserved| reserved.lease).collect();
        assert_eq!(leases.len() as u64, BATCH);
        driver.ask(&Command::Settle { leases });
    }
    let before = driver.queues.bytes();
    let each = driver.put_delayed(&queue("reminders"));
    let all = each + before as f64 / JOBS as f64;
    assert!(all < BYTES_MAX, "a delayed job takes {each:.1} bytes, {all:.1} with what was there");
}

#[test]
fn a_delayed_job_takes_no_more_once_it_was_restored() {
    let mut driver = Driver::new();
    driver.put_delayed(&queue("reminders"));
    let chunks = checkpoint(&mut driver.queues, 1 << 20);
    let mut back = None;
    let info = allocation_counter::measure(|| back = Some(restored(PLACE, &bounds(), &chunks)));
    assert_eq!(back.unwrap().jobs(), JOBS);
    let each = info.bytes_current as f64 / JOBS as f64;
    assert!(each < BYTES_MAX, "a delayed job takes {each:.1} bytes");
}

#[test]
fn a_delayed_job_takes_no_more_once_its_payload_was_moved() {
    let mut driver = Driver::new();
    driver.put_delayed(&queue("reminders"));
    let (before, segment) = (driver.queues.bytes(), 0..driver.at);
    let mut read = |_: PayloadAt, into: &mut Vec<u8>| {
        into.extend(b"payload");
        true
    };
    let mut cursor = MoveCursor::default();
    let mut more = true;
    while more {
        driver.record.begin(16);
        let (range, read) = (segment.clone(), &mut read);
        let mut moving = MovePayloads { range, cursor: &mut cursor, read, bytes_max: 100_000 };
        more = driver.queues.move_payloads(driver.at, driver.now, &mut moving, &mut driver.record);
        driver.at += driver.record.bytes().len() as u64;
    }
    driver.queues.live_payloads(&mut |payload| assert!(payload.record >= segment.end, "it was moved"));
    let more = driver.queues.bytes() - before;
    assert!(more < 64 << 10, "{more} bytes more for {JOBS} jobs");
}
