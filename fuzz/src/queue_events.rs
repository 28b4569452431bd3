//! Fuzz body: any bytes as events of the queues and as the first chunk of their checkpoint. What is taken must leave a machine that
//! works and can be saved; everything else is refused. Nothing panics.
//!
//! An ordinary function, so that the stable test `fuzz` of crates/queue runs it as well.

use stadium_queue::{
    Bounds, Command, JobId, Key, NewJob, Place, QueueName, Queues, Record, Time, When, describe,
};

const PLACE: Place = Place { shard: 0, shards: 2, hash_seed: 1 };
const NOW: Time = Time(1_800_000_000_000);

/// Queues with a job in each of some states, and the position behind their last record.
pub fn some_queues(record_of: &mut dyn FnMut(&[u8])) -> (Queues, u64) {
    let mut queues = Queues::new(PLACE, Bounds { finished_max: 8, ..Bounds::default() });
    let mut record = Record::new();
    let mut at = 100;
    let queue = QueueName::new("q").expect("a name");
    let job = |key: Option<&str>, when| NewJob {
        payload: vec![1, 2, 3].into(),
        key: key.map(|key| Key::new(key).expect("a key")),
        when,
        time_to_live: Some(50_000),
        ..NewJob::default()
    };
    let jobs = vec![
        job(None, When::Now),
        job(Some("k"), When::Now),
        job(Some("k"), When::Now),
        job(None, When::After(1_000)),
    ];
    let reserve = Command::Reserve { queue: queue.clone(), jobs_max: 2, lease: None, wait: 0, worker: None };
    for command in [Command::Put { queue, jobs }, reserve] {
        record.begin(0);
        queues.execute(at, NOW, 1, &command, &mut record).expect("it is allowed");
        record_of(record.bytes());
        at += 1_000;
    }
    (queues, at)
}

/// Reads `data` in every way. Panics on a broken promise; tells whether the events were taken.
pub fn queue_events(data: &[u8]) -> bool {
    let (mut queues, at) = some_queues(&mut |_| {});
    describe(PLACE, at, NOW, 0, data).for_each(drop);
    let mut entries = Vec::new();
    let _ = queues.history(JobId::new(0, 1), at, NOW, 0, data, &mut entries);
    // Chunks of tables are guarded by the checkpoint's checksums; only the first one is read here.
    if data.first() == Some(&0) {
        let mut restored = Queues::new(PLACE, Bounds::default());
        assert!(restored.restore(data).and_then(|()| restored.restore_finish()).is_err(), "it is not whole");
    }
    if queues.apply(at, NOW.after(1), 0, data).is_err() {
        return false;
    }
    works(&mut queues, at);
    queues.checkpoint_begin();
    let mut back = Queues::new(PLACE, Bounds::default());
    let mut chunk = Vec::new();
    loop {
        let more = queues.checkpoint_next(&mut chunk, 100);
        back.restore(&chunk).expect("our own chunk");
        chunk.clear();
        if !more {
            break;
        }
    }
    back.restore_finish().expect("our own checkpoint");
    assert_eq!(back.jobs(), queues.jobs());
    works(&mut back, at);
    true
}

fn works(queues: &mut Queues, at: u64) {
    let mut record = Record::new();
    let queue = QueueName::new("q").expect("a name");
    for (at, now) in
        [(at + 1_000, NOW.after(2)), (at + 2_000, NOW.after(40_000)), (at + 3_000, NOW.after(80_000))]
    {
        record.begin(0);
        queues.tick(at, now, 1, &mut record, 100);
        let command =
            Command::Reserve { queue: queue.clone(), jobs_max: 10, lease: None, wait: 0, worker: None };
        queues.execute(at, now, 1, &command, &mut record).expect("a reserve is never refused");
        queues.next_deadline();
    }
}
