//! The usual commands are written without an allocation, and read with one for each list.

use bytes::Bytes;
use stadium_queue::{NewJob, QueueName};
use stadium_shard_wire::{Batch, Command, Item, Received, Request, encode};

#[test]
fn a_put_allocates_for_its_list_of_jobs_alone() {
    let queue = QueueName::new("mail.out").expect("a name");
    let job = NewJob { payload: Bytes::from(vec![7; 100]), ..NewJob::default() };
    let principal = Some("k_0011223344556677".parse().expect("an id"));
    let command = Command::Queue(stadium_queue::Command::Put { queue, jobs: vec![job], principal });
    let item = Item::Request(Request {
        id: 1,
        shard: 2,
        generation: 3,
        time_left: 4,
        command,
        searches: false,
        trace: None,
    });
    let mut batch = Vec::new();
    encode(&item, &mut batch).expect("it is short");
    let written = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            batch.clear();
            encode(&item, &mut batch).expect("it is short");
        }
    });
    assert_eq!(written.count_total, 0);

    // A frame of its own, as a connection has read it: its first share allocates once.
    let frame = Bytes::from(batch);
    drop(frame.clone());
    let read = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            let mut items = Batch::new(frame.clone()).expect("it is short");
            assert!(matches!(items.next(), Some(Ok(Received::Item(_)))));
        }
    });
    assert_eq!(read.count_total, 1_000);
}
