//! Once warm, a job costs no allocation: not to put it, not to hand it out, not to settle it.
//!
//! A whole command allocates the list in its answer and nothing else, however many jobs it is
//! about.

use bytes::Bytes;
use stadium_queue::{Answer, Command, Key, Lease, NewJob, QueueName, When, WorkerName};

use crate::driver::Driver;

impl Driver {
    fn measured(&mut self, command: &Command) -> (Answer, u64) {
        let mut answer = None;
        let info = allocation_counter::measure(|| answer = Some(self.ask(command)));
        (answer.unwrap(), info.count_total)
    }
}

#[test]
fn a_warm_machine_allocates_nothing_for_a_job() {
    let mut driver = Driver::new();
    let queue = QueueName::new("mail").unwrap();
    let payload = Bytes::from(vec![7; 200]);
    let job = |n: usize| NewJob {
        payload: payload.clone(),
        when: if n.is_multiple_of(2) { When::Now } else { When::After(5) },
        key: (n.is_multiple_of(3)).then(|| Key::new(&format!("key {}", n % 30)).unwrap()),
        time_to_live: (n.is_multiple_of(5)).then_some(1_000_000),
        ..NewJob::default()
    };
    let principal = Some("k_0123456789abcdef".parse().unwrap());
    let put = Command::Put { queue: queue.clone(), jobs: (0..100).map(job).collect(), principal };
    let worker = Some(WorkerName::new("worker-1").unwrap());
    let reserve = Command::Reserve { queue, jobs_max: 100, lease: None, wait: 0, worker };
    for round in 0..400 {
        let (_, put_count) = driver.measured(&put);
        driver.now = driver.now.after(7);
        let (mut handed_out, mut settled, mut commands) = (0, 0, 0);
        let mut count = 0;
        while handed_out < 100 {
            let (answer, reserve_count) = driver.measured(&reserve);
            let Answer::Reserved(reserved) = answer else { panic!("another answer") };
            let leases: Vec<Lease> = reserved.iter().map(|reserved| reserved.lease).collect();
            handed_out += leases.len();
            let (answer, settle_count) = driver.measured(&Command::Settle { leases });
            let Answer::Given(given) = answer else { panic!("another answer") };
            settled += given.len();
            commands += 2;
            count += reserve_count + settle_count;
        }
        assert_eq!((handed_out, settled), (100, 100));
        if round >= 300 {
            assert!(put_count <= 1, "{put_count} allocations for a put of 100 jobs");
            assert!(count <= commands, "{count} allocations for {commands} commands");
        }
    }
}
