//! Appending, being acknowledged and reading allocate nothing once warm.

use stadium_journal::Position;
use stadium_journal_log::{
    Effect, Header, IN_FLIGHT_MAX, Mark, Offset, Owner, Reader, Rule, Sequence, WriterId,
};

use crate::script::LOG;

/// Appends a batch of messages and has them acknowledged in order; returns the offset behind them.
fn batch(owner: &mut Owner, bytes: &mut Vec<u8>, writer: WriterId, mut offset: Offset) -> Offset {
    let first = owner.reader().mark().end;
    for place in 0..IN_FLIGHT_MAX as u64 {
        owner.append(first.plus(place * 8), first.plus(place * 8 + 8)).expect("it serves");
    }
    let mut sent = [Sequence::FENCE; IN_FLIGHT_MAX];
    for sequence in &mut sent {
        let Some(Effect::Append(header)) = owner.next_effect() else { panic!("it appends") };
        bytes.clear();
        header.encode(&[1; 1000], bytes).expect("an owner may write it");
        *sequence = header.sequence;
    }
    for sequence in sent {
        owner.appended(writer, sequence, offset);
        offset = offset.next();
        assert!(
            matches!(owner.next_effect(), Some(Effect::Durable { sequence: last, .. }) if last == sequence)
        );
    }
    assert_eq!(owner.next_effect(), None);
    offset
}

#[test]
fn a_warm_owner_allocates_nothing() {
    let writer = WriterId(7);
    let reader = Reader::open(LOG, Mark::START, Offset(0)).expect("nothing is trimmed");
    let mut owner: Owner = Owner::claim(reader, writer);
    owner.end(Offset(0));
    owner.appended(writer, Sequence::FENCE, Offset(0));
    while owner.next_effect().is_some() {}
    assert!(owner.is_serving());
    let mut bytes = Vec::new();
    let mut offset = batch(&mut owner, &mut bytes, writer, Offset(1));
    let counted = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            offset = batch(&mut owner, &mut bytes, writer, offset);
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(owner.reader().counts().accepted, 4_004);
}

#[test]
fn a_reader_allocates_nothing() {
    let reader = Reader::<Rule>::open(LOG, Mark::START, Offset(0)).expect("nothing is trimmed");
    let mut bytes = Vec::new();
    let claim = crate::script::message_at("1/A#1", "@0").claim;
    let header = Header { log: LOG, claim, sequence: Sequence(1), first: Position(0), end: Position(8) };
    header.encode(&[1; 1000], &mut bytes).expect("an owner may write it");
    let counted = allocation_counter::measure(|| {
        let mut reader = reader.clone();
        reader.take(Offset(0), &Header::fence(LOG, claim)).expect("it is dense");
        let (header, body) = Header::decode(&bytes).expect("it was just written");
        assert_eq!(body.len(), 1000);
        reader.take(Offset(1), &header).expect("it is dense");
        assert_eq!(reader.counts().accepted, 1);
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(counted.count_total, 1);
}
