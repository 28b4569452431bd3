//! The fuzz body of fuzz/, run on stable with a fixed seed. A failure prints what it ran.

use crate::queue_events;

/// Every kind of event about the jobs and the queue that the body makes.
fn some_events() -> Vec<Vec<u8>> {
    let name = |kind: u8, text: &str| [&[kind, text.len() as u8], text.as_bytes()].concat();
    let mut events = vec![name(1, "q"), name(1, "new"), name(2, "bob"), name(3, "why")];
    events.extend([name(4, "anna"), name(4, "")]);
    for job in 1..5 {
        events.extend([
            vec![17, job, 0, 2, 1, 200, 1],
            vec![18, job, 0],
            [&[19, job, 0][..], &name(0, "x")[1..], &[9]].concat(),
            vec![20, job, 0, 1, 50],
            vec![21, job, 0, 1, 0],
            vec![22, job, 0, 100],
            vec![23, job, 0],
            vec![24, job, 0, job % 3, 100],
            vec![25, job, 0, 0],
            vec![26, job, 0, 0xf2, 100, 4, 7, 3, 1, 0, 0, 0, 0, 9],
            vec![27, job, 0],
            vec![28, job, 0],
            vec![29, job, 0, 1, 0, 0, 0, 0, 9],
            [&[40, job, 0, job][..], &name(0, "x")[1..], &[0, 0, 4, 3, 0, 0, 0, 0, 0]].concat(),
        ]);
    }
    events.extend([
        vec![10],
        vec![11],
        vec![12],
        vec![13, 31, 3],
        vec![14],
        vec![16, 5, 16, 0, 4, 3, 1, 0, 0, 0, 0, 9],
        [&[16, 6, 3, 0, 4, 3][..], &name(0, "k")[1..], &[100, 1, 0, 0, 0, 0, 9]].concat(),
        [
            &[32][..],
            &name(0, "s")[1..],
            &name(0, "* * * * *")[1..],
            &name(0, "UTC")[1..],
            &[0, 0, 4, 3, 10, 0, 0, 0, 0, 0],
        ]
        .concat(),
        [&[33][..], &name(0, "s")[1..], &[0, 20, 0]].concat(),
        name(34, "s"),
        vec![41, 1, 1, 1],
        vec![42, 1],
        vec![43, 1, 1, 0, 0, 0, 0, 9],
        [&[44, 1][..], &name(0, "x")[1..], &[0, 0, 4, 3, 0, 0, 0, 0, 0]].concat(),
    ]);
    events
}

#[test]
fn any_events_are_taken_or_refused() {
    let mut random = fastrand::Rng::with_seed(0x5175_6575_6573_0001);
    let events = some_events();
    let mut records = Vec::new();
    queue_events::some_queues(&mut |record| records.push(record.to_vec()));
    let mut taken = 0;
    for round in 0..30_000 {
        let mut bytes = if round % 10 == 0 {
            records[random.usize(..2)].clone()
        } else {
            let count = random.usize(1..=6);
            let mut bytes = events[0].clone();
            (0..count).for_each(|_| bytes.extend(&events[random.usize(..events.len())]));
            bytes
        };
        // Damage to most of them, beginnings of others.
        for _ in 0..random.u8(..3) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        if random.u8(..8) == 0 {
            bytes.truncate(random.usize(..bytes.len()));
        }
        taken += usize::from(
            std::panic::catch_unwind(|| queue_events::queue_events(&bytes))
                .unwrap_or_else(|_| panic!("bytes: {bytes:02x?}")),
        );
    }
    assert!(taken > 3_000, "only {taken} were taken: this tests nothing");
}

#[test]
fn any_chunk_is_restored_or_refused() {
    let mut random = fastrand::Rng::with_seed(0x5175_6575_6573_0002);
    let chunks = queue_events::saved(&mut queue_events::some_queues(&mut |_| {}).0);
    let mut taken = 0;
    for round in 0..20_000 {
        let which = round % chunks.len();
        let mut bytes = [&[which as u8], &chunks[which][..]].concat();
        for _ in 0..random.u8(..3) {
            let at = random.usize(1..bytes.len());
            bytes[at] = random.u8(..);
        }
        if random.u8(..8) == 0 {
            bytes.truncate(random.usize(1..bytes.len()));
        }
        taken += usize::from(
            std::panic::catch_unwind(|| queue_events::queue_checkpoint(&bytes))
                .unwrap_or_else(|_| panic!("bytes: {bytes:02x?}")),
        );
    }
    assert!(taken > 3_000, "only {taken} were taken: this tests nothing");
}

#[test]
fn queues_that_come_back_write_behind_what_they_wrote() {
    // Found by libFuzzer: a lease ends in the saved queues, and once more in those that were restored.
    let data = [
        1, 1, 113, 9, 255, 255, 255, 255, 55, 232, 7, 53, 0, 8, 3, 3, 16, 36, 0, 250, 200, 0, 128, 144, 228,
        192, 4, 10, 0, 0, 0,
    ];
    assert!(queue_events::queue_events(&data));
}

#[test]
fn a_job_goes_on_under_a_number_that_a_shard_can_give() {
    // Found by libFuzzer in reading a history: the id had no room for the shard.
    let to = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    let forwarded = [&[1, 1, b'q', 19, 1, 8, 1, b'x'][..], &to].concat();
    assert!(!queue_events::queue_events(&forwarded));
}
