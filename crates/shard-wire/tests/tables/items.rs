//! What is read is what was written, for every case of every type.
//! Each machine has its own part of the tables; these are the items that carry them.

use std::fmt::Debug;

use bytes::Bytes;
use proptest::prelude::*;

use super::{Cases, Random};
use crate::reader::{Budget, Reader};
use crate::value::Value;
use crate::{Answer, Batch, Command, Item, Message, Received, encode};

/// Writes a value and reads it back. Not all types can be compared, so their texts are, and their
/// bytes: these have what a text leaves out.
fn assert_returns<V: Value + Debug>(value: &V) {
    let mut bytes = Vec::new();
    value.put(&mut bytes);
    assert_eq!(bytes.len(), value.bytes(), "{value:?}");
    let bytes = Bytes::from(bytes);
    let budget = Budget::of(bytes.len());
    let read =
        V::take(&mut Reader::new(&bytes, &budget)).unwrap_or_else(|error| panic!("{error}: {value:?}"));
    assert_eq!(format!("{read:?}"), format!("{value:?}"));
    let mut again = Vec::new();
    read.put(&mut again);
    assert_eq!(again, bytes, "{value:?}");
}

/// Each case of an enum, each from many strings of bytes.
fn assert_all_return<V: Cases + Value + Debug>() {
    for (place, (_, make)) in V::CASES.iter().enumerate() {
        for seed in 0..60 {
            assert_returns(&make(&mut Random::seeded(seed * 1_000 + place as u64, 600)));
        }
    }
}

#[test]
fn every_case_returns() {
    assert_all_return::<Item>();
    assert_all_return::<Command>();
    assert_all_return::<Answer>();
    assert_all_return::<Message>();
    assert_all_return::<crate::TransportCommand>();
    assert_all_return::<stadium_queue::Command>();
    assert_all_return::<stadium_queue::Answer<Bytes>>();
    assert_all_return::<stadium_queue::Attempt>();
    assert_all_return::<stadium_wallet::Command>();
    assert_all_return::<stadium_wallet::Kind>();
    assert_all_return::<stadium_wallet::Answer>();
    assert_all_return::<stadium_wallet::ShardMessage>();
    assert_all_return::<stadium_push::Command>();
    assert_all_return::<stadium_push::Content>();
    assert_all_return::<stadium_push::OwnRequest>();
    assert_all_return::<stadium_push::Answer>();
    assert_all_return::<stadium_push::State>();
    assert_all_return::<stadium_push::ShardMessage>();
    assert_all_return::<stadium_registry::Selector>();
    assert_all_return::<stadium_registry::Comparison>();
    assert_all_return::<stadium_session::Command>();
    assert_all_return::<stadium_session::Change>();
    assert_all_return::<stadium_session::Answer>();
}

#[test]
fn selectors_return_at_their_greatest_depth() {
    use stadium_registry::Selector;
    let mut selector = Selector::All;
    for _ in 1..Selector::DEPTH_MAX {
        selector = Selector::And(vec![Selector::Not(Box::new(Selector::OptedIn(true))), selector]);
    }
    let app = stadium_registry::AppName::default();
    let command = stadium_push::Command::Preview { app, audience: selector, sample_max: 1, push: None };
    let request = crate::Request {
        id: 1,
        shard: 2,
        generation: 3,
        time_left: 4,
        searches: false,
        trace: None,
        command: Command::Push(command),
    };
    assert_returns(&Item::Request(request));
}

#[test]
fn payloads_are_slices_of_the_batch() {
    let payload = Bytes::from(vec![7; 1_000]);
    let job = stadium_queue::NewJob { payload, ..Default::default() };
    let queue = stadium_queue::QueueName::new("q").expect("a name");
    let message = Message::Queue(stadium_queue::ShardMessage { queue, job, principal: None });
    let delivery = crate::Delivery { to: 1, generation: 1, from: 2, number: 3, confirmed_below: 1, message };
    let mut batch = Vec::new();
    encode(&Item::Delivery(delivery), &mut batch).expect("it is short");
    let batch = Bytes::from(batch);
    let Some(Ok(Received::Item(Item::Delivery(read)))) =
        Batch::new(batch.clone()).expect("it is short").next()
    else {
        panic!("it is a delivery");
    };
    let Message::Queue(message) = read.message else { panic!("it is the queues'") };
    assert!(batch.as_ptr_range().contains(&message.job.payload.as_ptr()));
}

#[test]
fn what_a_shard_hands_over_comes_back() {
    for seed in 0..300 {
        let mut random = Random::seeded(seed, 600);
        let delivery = crate::Delivery::sample(&mut random);
        let text = format!("{delivery:?}");
        let (to, generation) = (delivery.to, delivery.generation);
        let again = crate::Delivery::new(to, generation, delivery.into_shard()).expect("a known machine");
        assert_eq!(format!("{again:?}"), text);

        let confirmation = crate::Confirmation::sample(&mut random);
        let text = format!("{confirmation:?}");
        let again = crate::Confirmation::new(confirmation.to, confirmation.into_shard());
        assert_eq!(format!("{:?}", again.expect("a known machine")), text);

        let answer = Answer::sample(&mut random);
        let text = format!("{answer:?}");
        let again = Answer::try_from(stadium_shard::Answer::from(answer)).expect("a known machine");
        assert_eq!(format!("{again:?}"), text);
    }
}

#[test]
fn a_command_of_a_shard_is_that_of_its_machine() {
    use stadium_shard::core::AnyCommand;
    for seed in 0..100 {
        let mut random = Random::seeded(seed, 600);
        let (wallet, push, session) =
            (Value::sample(&mut random), Value::sample(&mut random), Value::sample(&mut random));
        let texts = (format!("{wallet:?}"), format!("{push:?}"), format!("{session:?}"));
        match Command::try_from(AnyCommand::of::<stadium_wallet::Ledger>(wallet)) {
            Ok(Command::Wallet(command)) => assert_eq!(format!("{command:?}"), texts.0),
            other => panic!("it is the wallets': {other:?}"),
        }
        match Command::try_from(AnyCommand::of::<stadium_push::Platform>(push)) {
            Ok(Command::Push(command)) => assert_eq!(format!("{command:?}"), texts.1),
            other => panic!("it is the push platform's: {other:?}"),
        }
        match Command::try_from(AnyCommand::of::<stadium_session::Sessions>(session)) {
            Ok(Command::Session(command)) => assert_eq!(format!("{command:?}"), texts.2),
            other => panic!("it is the sessions': {other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn batches_return(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..800), 0..6)) {
        let items: Vec<Item> = all.into_iter().map(|bytes| Item::sample(&mut Random::new(bytes))).collect();
        let mut batch = Vec::new();
        for item in &items {
            assert_returns(item);
            encode(item, &mut batch).expect("it is short");
        }
        let read: Vec<_> = Batch::new(batch.into()).expect("it is short").collect();
        prop_assert_eq!(read.len(), items.len());
        for (read, item) in read.iter().zip(&items) {
            let Ok(Received::Item(read)) = read else { panic!("{read:?} is {item:?}") };
            prop_assert_eq!(format!("{read:?}"), format!("{item:?}"));
        }
    }
}
