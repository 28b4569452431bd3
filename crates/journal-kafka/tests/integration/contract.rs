//! The contract of a partition, by each client on real brokers.
//!
//! Each test has a topic of its own for each client.

use std::time::{Duration, Instant};

use stadium_journal_kafka::{Client, MESSAGE_BYTES_MAX, Replication, make_or_check, open};
use stadium_journal_log::Offset;
use stadium_journal_log::partition::{Call, Event};

use crate::stage::{self, PATIENCE, Player, brokers, for_each_client};

for_each_client!(
    appends_keep_their_order_and_have_dense_offsets,
    a_read_begins_at_its_offset_and_replaces_the_one_before,
    a_read_waits_at_the_end_and_hears_of_a_message_at_once,
    a_read_stops_at_its_bytes_and_holds_back_the_rest,
    the_longest_message_passes_and_a_longer_one_is_refused,
    a_message_that_the_topic_does_not_take_is_refused_by_the_broker,
    ends_are_fresh_and_trimming_moves_the_start,
    what_is_out_of_range_is_reported_and_never_skipped,
    many_partitions_are_read_and_written_at_a_time,
    writers_and_readers_of_one_partition_see_the_same_log,
    a_shard_without_a_partition_is_refused,
    too_many_waiting_calls_are_refused,
);

fn text(number: u64) -> Vec<u8> {
    format!("message {number}").into_bytes()
}

fn appends_keep_their_order_and_have_dense_offsets(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "order", 1);
    let mut player = Player::new(&topic, 0);
    const COUNT: u64 = 400;
    // Leaders that were just made know that they lead.
    assert_eq!(player.ends(), (0, 0));
    // As an owner does: four on their way at a time.
    let (mut sent, mut known) = (0, 0);
    while known < COUNT {
        while sent < COUNT && sent - known < 4 {
            player.append(sent, &text(sent));
            sent += 1;
        }
        let outcome = player.outcome();
        assert_eq!(outcome, Event::Appended { tag: known, offset: Offset(known) });
        known += 1;
    }
    let read = player.messages(0, COUNT as usize);
    for (number, (offset, message)) in (0..).zip(read) {
        assert_eq!((offset, &message[..]), (number, &text(number)[..]));
    }
}

fn a_read_begins_at_its_offset_and_replaces_the_one_before(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "replaced", 1);
    let mut player = Player::new(&topic, 0);
    for number in 0..100 {
        assert_eq!(player.appended(&text(number)), number);
    }
    // The read before may have brought messages, or be about to.
    for from in [50, 0, 99, 10, 11, 10] {
        player.read(from, usize::MAX);
        for offset in from..(from + 3).min(100) {
            assert_eq!(player.message(), (offset, text(offset).into()));
        }
    }
    player.read(0, usize::MAX);
    player.read(70, usize::MAX);
    assert_eq!(player.message().0, 70);
}

fn a_read_waits_at_the_end_and_hears_of_a_message_at_once(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "end", 1);
    let (mut owner, mut standby) = (Player::new(&topic, 0), Player::new(&topic, 0));
    standby.read(0, usize::MAX);
    standby.is_silent();
    owner.appended(b"first");
    assert_eq!(standby.message(), (0, "first".into()));
    let mut delays = Vec::new();
    for number in 1..50 {
        owner.appended(&text(number));
        let acknowledged = Instant::now();
        assert_eq!(standby.message(), (number, text(number).into()));
        delays.push(acknowledged.elapsed());
    }
    delays.sort_unstable();
    let median = delays[delays.len() / 2];
    println!("{client:?}: a standby hears of a message {median:?} after its owner (median)");
    assert!(median < Duration::from_millis(20), "a standby follows within ms: {delays:?}");
}

fn a_read_stops_at_its_bytes_and_holds_back_the_rest(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "bound", 1);
    let mut player = Player::new(&topic, 0);
    const LENGTH: usize = 64 * 1024;
    for number in 0..32_u8 {
        player.appended(&[number; LENGTH]);
    }
    let mut next = 0;
    for count in [1, 4, 27] {
        // One byte more than so many less one have.
        player.read(next, (count - 1) * LENGTH + 1);
        for _ in 0..count {
            let (offset, message) = player.message();
            assert_eq!((offset, message.len(), u64::from(message[0])), (next, LENGTH, next));
            next += 1;
        }
        assert_eq!(player.of_read(), Event::ReadEnded { next: Offset(next) });
        player.is_silent();
    }
    // At least one message, however long.
    player.read(0, 1);
    assert_eq!(player.message().0, 0);
    assert_eq!(player.of_read(), Event::ReadEnded { next: Offset(1) });
}

fn the_longest_message_passes_and_a_longer_one_is_refused(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "longest", 1);
    let mut player = Player::new(&topic, 0);
    let mut longest = vec![7; MESSAGE_BYTES_MAX];
    longest[MESSAGE_BYTES_MAX - 1] = 8;
    assert_eq!(player.appended(&longest), 0);
    assert_eq!(player.appended(b"short"), 1);
    let read = player.messages(0, 2);
    assert!(read[0].1 == longest, "the longest message is another one");
    assert_eq!(read[1], (1, "short".into()));

    player.append(9, &vec![0; MESSAGE_BYTES_MAX + 1]);
    let Event::NotAppended { tag: 9, failure } = player.outcome() else { panic!("it was appended") };
    assert!(failure.is_certain && !failure.is_temporary && failure.what.contains("(KFK-009)"), "{failure}");
    assert_eq!(player.ends(), (0, 2));
}

fn a_message_that_the_topic_does_not_take_is_refused_by_the_broker(client: Client) {
    let kafka = brokers();
    let settings = stage::settings(&kafka, client, "narrow");
    stage::make(&kafka, &[(settings.topic(), 1, 3, vec![("max.message.bytes", "1000")])]);
    let topic = open(client, &settings, 1).expect("opened");
    let mut player = Player::new(&topic, 0);
    player.append(1, &[0; 2000]);
    let Event::NotAppended { failure, .. } = player.outcome() else { panic!("it was appended") };
    assert!(failure.is_certain && !failure.is_temporary && failure.what.contains("(KFK-009)"), "{failure}");
    assert_eq!(player.appended(&[0; 500]), 0);
}

fn ends_are_fresh_and_trimming_moves_the_start(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "trim", 1);
    let mut player = Player::new(&topic, 0);
    assert_eq!(player.ends(), (0, 0));
    for number in 0..20 {
        player.appended(&text(number));
        assert_eq!(player.ends(), (0, number + 1), "as new as the call");
    }
    let mut trimmed = |below| {
        player.trim(below);
        match player.event("a trim", |event| matches!(event, Event::Trimmed { .. } | Event::Failed { .. })) {
            Event::Trimmed { start } => Ok(start.0),
            Event::Failed { call: Call::Trim, failure } => Err(failure),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(trimmed(7), Ok(7));
    assert_eq!(trimmed(3), Ok(7), "what is gone does no harm");
    assert!(!trimmed(21).expect_err("it is behind the end").is_temporary);
    assert_eq!(trimmed(20), Ok(20));
    assert_eq!(player.ends(), (20, 20));
    assert_eq!(player.appended(b"goes on"), 20);
    assert_eq!(player.messages(20, 1), [(20, "goes on".into())]);
}

fn what_is_out_of_range_is_reported_and_never_skipped(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "range", 1);
    let mut player = Player::new(&topic, 0);
    for number in 0..10 {
        player.appended(&text(number));
    }
    player.trim(5);
    player.event("the trim", |event| *event == Event::Trimmed { start: Offset(5) });
    for from in [4, 0, 11, 1000] {
        player.read(from, usize::MAX);
        assert_eq!(player.of_read(), Event::OutOfRange { start: Offset(5), end: Offset(10) }, "from {from}");
    }
    assert_eq!(player.messages(5, 5).last(), Some(&(9, text(9).into())));
    // At the end is in range.
    player.read(10, usize::MAX);
    player.is_silent();
    player.appended(&text(10));
    assert_eq!(player.message().0, 10);
}

fn many_partitions_are_read_and_written_at_a_time(client: Client) {
    let kafka = brokers();
    const SHARDS: u32 = 48;
    let topic = stage::topic(&kafka, client, "many", SHARDS);
    let mut players: Vec<_> = (0..SHARDS).map(|shard| Player::new(&topic, shard)).collect();
    for (shard, player) in (0..).zip(&mut players) {
        player.read(0, usize::MAX);
        assert_eq!(player.appended(b"its first"), 0);
        player.append(shard, &text(shard));
    }
    for (shard, player) in (0..).zip(&mut players) {
        assert_eq!(player.outcome(), Event::Appended { tag: shard, offset: Offset(1) });
        assert_eq!(player.message(), (0, "its first".into()));
        assert_eq!(player.message(), (1, text(shard).into()));
        assert_eq!(player.ends(), (0, 2));
    }
}

fn writers_and_readers_of_one_partition_see_the_same_log(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "two", 2);
    let (mut one, mut other) = (Player::new(&topic, 0), Player::new(&topic, 0));
    for number in 0..20 {
        let writer = if number % 3 == 0 { &mut one } else { &mut other };
        assert_eq!(writer.appended(&text(number)), number, "each hears of its own offsets");
    }
    let log = one.messages(0, 20);
    assert_eq!(other.messages(0, 20), log);
    // A reader that went leaves its place to the next, who begins anew.
    for _ in 0..10 {
        drop(one);
        one = Player::new(&topic, 0);
        assert_eq!(one.messages(0, 20), log);
    }
    let mut third = Player::new(&topic, 0);
    assert_eq!(third.messages(15, 5), log[15..]);
    assert_eq!(Player::new(&topic, 1).ends(), (0, 0), "the other partition has a log of its own");
}

fn a_shard_without_a_partition_is_refused(client: Client) {
    let kafka = brokers();
    let settings = stage::settings(&kafka, client, "none");
    let topic = open(client, &settings, 2).expect("opened");
    let failure = topic.partition(2).err().expect("it has none");
    assert!(!failure.is_temporary && failure.what.contains("(KFK-007)"), "{failure}");
    // The topic does not exist yet, and is not made by asking.
    let mut player = Player::new(&topic, 1);
    player.find_ends();
    match player.event("an answer", |event| matches!(event, Event::Failed { .. })) {
        Event::Failed { call: Call::FindEnds, failure } => assert!(failure.is_temporary, "{failure}"),
        other => panic!("{other:?}"),
    }
    make_or_check(&settings, 2, Replication::Three).expect("a topic");
    let deadline = Instant::now() + PATIENCE;
    loop {
        player.append(1, b"now");
        match player.outcome() {
            Event::Appended { offset, .. } => break assert_eq!(offset, Offset(0)),
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
    }
}

fn too_many_waiting_calls_are_refused(client: Client) {
    let kafka = brokers();
    let topic = stage::topic(&kafka, client, "calls", 1);
    let mut player = Player::new(&topic, 0);
    assert_eq!(player.ends(), (0, 0));
    const CALLS: usize = 200;
    for _ in 0..CALLS {
        player.find_ends();
    }
    let mut refused = 0;
    for _ in 0..CALLS {
        match player.event("an answer", |event| matches!(event, Event::Ends { .. } | Event::Failed { .. })) {
            Event::Failed { failure, .. } => {
                assert!(failure.is_temporary && failure.what.contains("(KFK-013)"), "{failure}");
                refused += 1;
            }
            answer => assert_eq!(answer, Event::Ends { start: Offset(0), end: Offset(0) }),
        }
    }
    assert!(refused > 0 && refused < CALLS, "{refused} of {CALLS}");
    player.is_silent();
}
