//! Bytes that no node writes, and items of newer nodes.
//!
//! Neither panics, nor takes more memory than its length allows, nor harms the items beside it.

use bytes::Bytes;
use proptest::prelude::*;
use stadium_shard::TOO_OLD;
use stadium_state_machine::Refusal;

use super::{Cases, Random};
use crate::value::{Value, put_head, put_value};
use crate::{BATCH_BYTES_MAX, Batch, ITEM_BYTES_MAX, Item, Machine, Received, encode};

fn received(batch: Vec<u8>) -> Vec<Result<Received, crate::Error>> {
    Batch::new(batch.into()).expect("it is short").collect()
}

/// A batch with one item of these bytes.
fn batch_of(item: &[u8]) -> Vec<u8> {
    let mut batch = Vec::new();
    put_head(1, item.len(), &mut batch);
    batch.extend_from_slice(item);
    batch
}

/// A field that is a message, with this content.
fn field(tag: u32, content: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    put_head(tag, content.len(), &mut field);
    field.extend_from_slice(content);
    field
}

/// A number as a field.
fn number(tag: u32, number: u64) -> Vec<u8> {
    let mut field = Vec::new();
    put_value(tag, &number, &mut field);
    field
}

/// A request with the id 9, for these bytes of a command.
fn request(command: &[u8]) -> Vec<u8> {
    batch_of(&field(1, &[number(1, 9), number(2, 3), field(5, command)].concat()))
}

fn reply(batch: Vec<u8>) -> Refusal {
    match received(batch).remove(0) {
        Ok(Received::Refused { reply: Item::Response(response), .. }) => {
            assert_eq!(response.id, 9);
            response.answer.expect_err("nothing was done")
        }
        other => panic!("it is refused: {other:?}"),
    }
}

#[test]
fn a_command_of_a_newer_node_is_refused_and_the_next_item_is_read() {
    for command in [
        field(99, &[]),                                                  // A new machine.
        field(1, &field(99, &[])),                                       // A new command to the queues.
        field(1, &field(12, &[field(1, b"q"), number(2, 77)].concat())), // A new state of jobs.
    ] {
        let mut batch = request(&command);
        encode(&Item::Abandoned(crate::Abandoned { id: 4 }), &mut batch).expect("it is short");
        assert!(matches!(received(batch).last(), Some(Ok(Received::Item(Item::Abandoned(_))))));
        let refusal = reply(request(&command));
        assert!(matches!(refusal, Refusal::Busy { code: TOO_OLD, .. }), "{refusal}");
        assert!(refusal.reason().starts_with("the shard's node is too old for it"), "{refusal}");
    }
}

#[test]
fn a_command_with_a_wrong_value_is_refused_by_itself() {
    let refusal = reply(request(&field(1, &field(13, &field(1, b"no such/name")))));
    assert!(matches!(refusal, Refusal::Rejected { code: TOO_OLD, .. }), "{refusal}");
    assert!(refusal.reason().contains("QueueCommand Pause, queue"), "{refusal}");
    let refusal = reply(request(&field(1, &field(13, &[]))));
    assert!(refusal.reason().ends_with("QueueCommand Pause, queue: it is missing"), "{refusal}");
}

#[test]
fn a_message_of_a_newer_node_is_sent_again_later() {
    let message = field(2, &field(99, &[]));
    let delivery = [number(1, 1), number(3, 7), number(4, 42), field(6, &message)].concat();
    match received(batch_of(&field(3, &delivery))).remove(0) {
        Ok(Received::Refused { reply: Item::Confirmation(confirmation), error }) => {
            assert!(error.is_newer());
            assert_eq!((confirmation.to, confirmation.number), (7, 42));
            assert_eq!(confirmation.machine, Machine::Wallet);
            assert!(matches!(confirmation.taken, Err(Refusal::Busy { code: TOO_OLD, .. })));
        }
        other => panic!("it is not taken: {other:?}"),
    }
}

#[test]
fn an_answer_of_a_newer_node_is_unknown_to_its_caller() {
    let answer = field(1, &field(1, &field(99, &[])));
    match received(batch_of(&field(2, &[number(1, 5), field(2, &answer)].concat()))).remove(0) {
        Ok(Received::Item(Item::Response(response))) => {
            assert_eq!(response.id, 5);
            let refusal = response.answer.expect_err("it cannot be read");
            assert!(matches!(refusal, Refusal::Unknown { code: TOO_OLD, .. }), "{refusal}");
        }
        other => panic!("the caller is answered: {other:?}"),
    }
}

#[test]
fn a_refusal_with_the_code_of_a_newer_node_keeps_its_kind_and_its_words() {
    let refusal = [number(1, 2), field(2, b"QUE-999"), field(4, b"the moon is full")].concat();
    match received(batch_of(&field(2, &[number(1, 5), field(2, &field(2, &refusal))].concat()))).remove(0) {
        Ok(Received::Item(Item::Response(response))) => {
            let refusal = response.answer.expect_err("it is refused");
            let reason = "the moon is full (QUE-999)".to_owned();
            assert_eq!(refusal, Refusal::Rejected { code: TOO_OLD, reason });
        }
        other => panic!("the caller is answered: {other:?}"),
    }
}

#[test]
fn items_of_a_newer_node_are_passed_over() {
    assert!(matches!(received(batch_of(&field(99, b"new"))).remove(0), Ok(Received::PassedOver(_))));
    assert!(received(field(2, b"not an item")).is_empty(), "a new field of the batch");
}

#[test]
fn unknown_fields_are_passed_over_wherever_they_are() {
    for (name, make) in Item::CASES {
        let item = make(&mut Random::seeded(3, 400));
        let mut bytes = Vec::new();
        item.put(&mut bytes);
        // The item's only field is its case, whose fields come behind a new one.
        let content = &bytes[bytes.len() - bytes_of_case(&bytes)..];
        let new = [number(1_000, 7), field(1_001, b"new"), vec![0xd5, 0x3e, 1, 2, 3, 4]].concat();
        let with_new = batch_of(&field(u32::from(bytes[0] >> 3), &[&new, content].concat()));
        match received(with_new).remove(0) {
            Ok(Received::Item(read)) => assert_eq!(format!("{read:?}"), format!("{item:?}")),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Bytes of an item's case: behind a key of one byte and a length.
fn bytes_of_case(item: &[u8]) -> usize {
    let mut rest = &item[1..];
    prost::encoding::decode_varint(&mut rest).expect("a length") as usize
}

#[test]
fn damage_ends_a_batch() {
    for damaged in [
        vec![0x0a, 5, 1],                                                 // Cut off.
        vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], // A length of 63 bits.
        vec![0x08, 1],                                                    // An item that is a number.
        batch_of(&[0x0a]),                                                // A request that is cut off.
        batch_of(&field(5, &[0x0a, 1, 0])),                               // An id that is a text.
        batch_of(&[]),                                                    // An item that is nothing.
    ] {
        let mut batch = damaged.clone();
        encode(&Item::Abandoned(crate::Abandoned { id: 4 }), &mut batch).expect("it is short");
        let read = received(batch);
        assert!(read.len() == 1 && read[0].is_err(), "{damaged:?}: {read:?}");
    }
}

#[test]
fn a_short_item_cannot_ask_for_much_memory() {
    // Changes that register a device, two bytes each, are 300 times as large in memory.
    let changes = [0x12, 0x00].repeat(4 << 20);
    let item = request(&field(3, &field(4, &[field(1, b"default"), changes].concat())));
    let peak = allocation_counter::measure(|| drop(received(item))).bytes_max;
    assert!(peak < 200 << 20, "{peak} bytes");
}

#[test]
fn selectors_are_not_read_to_any_depth() {
    let mut selector = field(1, &[]);
    for _ in 0..100_000 {
        let mut outer = Vec::new();
        put_head(19, selector.len(), &mut outer);
        if outer.len() + selector.len() > 4_000 {
            break;
        }
        outer.extend_from_slice(&selector);
        selector = outer;
    }
    let preview = [field(1, b"default"), field(2, &selector)].concat();
    let refusal = reply(request(&field(3, &field(10, &preview))));
    assert!(refusal.reason().contains("are within each other"), "{refusal}");
}

#[test]
fn what_is_too_long_is_not_written_and_not_read() {
    let payload = Bytes::from(vec![0; ITEM_BYTES_MAX]);
    let job = stadium_queue::NewJob { payload, ..Default::default() };
    let queue = stadium_queue::QueueName::new("q").expect("a name");
    let message = crate::Message::Queue(stadium_queue::ShardMessage { queue, job, principal: None });
    let delivery = crate::Delivery { to: 1, generation: 1, from: 2, number: 3, confirmed_below: 1, message };
    let mut batch = vec![0x0a, 0x00];
    let error = encode(&Item::Delivery(delivery), &mut batch).expect_err("it is too long");
    assert!(error.to_string().ends_with("at most 33554432 are allowed"), "{error}");
    assert_eq!(batch, [0x0a, 0x00], "nothing is appended");
    let long = Bytes::from(vec![0; BATCH_BYTES_MAX + 1]);
    assert!(Batch::new(long).is_err());
    assert!(received(batch_of(&vec![0; ITEM_BYTES_MAX + 1])).remove(0).is_err());
}

proptest! {
    #[test]
    fn damaged_items_never_panic(
        sample in prop::collection::vec(any::<u8>(), 0..400),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut batch = Vec::new();
        encode(&Item::sample(&mut Random::new(sample)), &mut batch).expect("it is short");
        let at = at.index(batch.len());
        if cut {
            batch.truncate(at);
        } else {
            batch[at] = with;
        }
        for read in received(batch).into_iter().flatten() {
            if let Received::Item(item) | Received::Refused { reply: item, .. } = read {
                encode(&item, &mut Vec::new()).expect("what is read can be written");
            }
        }
    }
}
