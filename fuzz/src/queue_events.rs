//! Fuzz bodies: any bytes as events of the queues, and as a chunk of their checkpoint. Input that is
//! taken must leave a machine that works and can be saved; all other input is refused. Nothing panics.
//!
//! Ordinary functions, so that the stable test `fuzz` of crates/queue runs them as well.

use stadium_queue::{Bounds, Command, JobId, Key, NewJob, Place, QueueName, Queues, Record, Time, When};
use stadium_state_machine::{Checkpointed as _, Section};

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
    let principal = Some("k_0011223344556677".parse().expect("an id"));
    for command in [Command::Put { queue, jobs, principal }, reserve] {
        record.begin(0);
        queues.execute(at, NOW, 1, &command, &mut record).expect("it is allowed");
        record_of(record.bytes());
        at += 1_000;
    }
    (queues, at)
}

/// A whole checkpoint of these queues, in chunks.
pub fn saved(queues: &mut Queues) -> Vec<Vec<u8>> {
    queues.checkpoint_begin();
    let mut chunks = Vec::new();
    loop {
        let mut chunk = Vec::new();
        let more = queues.checkpoint_next(&mut chunk, 100);
        chunks.push(chunk);
        if !more {
            return chunks;
        }
    }
}

fn restored(chunks: &[Vec<u8>], bounds: Bounds) -> Result<Queues, stadium_queue::Corrupt> {
    let mut queues = Queues::new(PLACE, bounds);
    chunks.iter().try_for_each(|chunk| queues.restore(chunk))?;
    queues.restore_finish()?;
    Ok(queues)
}

/// Restores a checkpoint in which `data` replaces a chunk: its first byte chooses which. Returns whether
/// it was taken. The checkpoint's checksums guard chunks, so a chunk that is damaged and still taken may hold
/// jobs with impossible positions: such queues must only be bounded in memory, listed and saved again.
pub fn queue_checkpoint(data: &[u8]) -> bool {
    let Some((&which, chunk)) = data.split_first() else { return false };
    let (mut queues, _) = some_queues(&mut |_| {});
    let mut chunks = saved(&mut queues);
    let which = usize::from(which) % chunks.len();
    chunks[which] = chunk.to_vec();
    let Ok(mut queues) = restored(&chunks, Bounds { finished_max: 8, ..Bounds::default() }) else {
        return false;
    };
    queues.next_deadline();
    let again = saved(&mut queues);
    restored(&again, Bounds::default()).expect("our own checkpoint");
    true
}

/// Reads `data` in every way. Panics on a broken promise; returns whether the events were taken.
pub fn queue_events(data: &[u8]) -> bool {
    let (mut queues, at) = some_queues(&mut |_| {});
    let section = Section { shard: PLACE.shard, at, time: NOW, offset: 0, events: data };
    let _ = Queues::describe(section, &mut Vec::new());
    let mut entries = Vec::new();
    let _ = queues.history(JobId::new(0, 1), at, NOW, 0, data, &mut entries);
    if queues.apply(at, NOW.after(1), 0, data).is_err() {
        return false;
    }
    works(&mut queues, at);
    let mut back = restored(&saved(&mut queues), Bounds::default()).expect("our own checkpoint");
    assert_eq!(back.jobs(), queues.jobs());
    // Records go on behind those that the saved queues wrote.
    works(&mut back, at + 3_000);
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
        record.begin(0);
        queues.execute(at, now, 1, &command, &mut record).expect("a reserve is never refused");
        queues.next_deadline();
    }
}
