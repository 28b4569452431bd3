//! Resume points and bodies as version 1 wrote them, byte by byte: they are read for ever.

use std::sync::Arc;

use stadium_journal::mirror::{Body, PointSegment};
use stadium_journal::{Epoch, Journal, Position};
use stadium_journal_log::{Claim, ClusterId, Header, Log, Mark, Offset, Sequence, Topic, WriterId};
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_journal_replicated::{ReplicatedJournal, ResumePoint, Unreadable};

use crate::place::{LOG, options};

const START: &[u8] = include_bytes!("../fixtures/v1/start.resume");
const RECORDS: &[u8] = include_bytes!("../fixtures/v1/records.resume");
const BODY: &[u8] = include_bytes!("../fixtures/v1/two-records.body");

#[test]
fn resume_points_of_version_1_are_read_and_written() {
    let log = Log { cluster: ClusterId(0x1122_3344_5566_7788), shard: 63 };
    let mut header = [0; 64];
    header.iter_mut().zip(1..).for_each(|(byte, number)| *byte = number);
    let records = ResumePoint {
        log,
        mark: Mark {
            offset: Offset(0x0102_0304),
            claim: Claim { epoch: Epoch(9), writer: WriterId(0x99AA_BBCC_DDEE_FF01) },
            next: Sequence(6),
            end: Position(0x1_0000_1020),
        },
        segment: Some(PointSegment { header, is_sealed: true }),
    };
    for (bytes, point) in [(START, ResumePoint::start(log)), (RECORDS, records)] {
        assert_eq!(ResumePoint::decode(bytes), Ok(point));
        assert_eq!(point.encode(), bytes);
    }
}

#[test]
fn each_flipped_bit_of_a_resume_point_is_seen() {
    for bit in 0..RECORDS.len() * 8 {
        let mut bytes = RECORDS.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let decoded = ResumePoint::decode(&bytes);
        assert!(matches!(decoded, Err(Unreadable::Magic | Unreadable::Checksum)), "bit {bit}: {decoded:?}");
    }
    assert_eq!(ResumePoint::decode(&RECORDS[1..]), Err(Unreadable::Length(RECORDS.len() - 1)));
}

#[test]
fn a_body_of_version_1_is_read_and_written() {
    let (first, end) = (Position(0x1000), Position(0x1000 + 24 + 16 + 24));
    let body = Body::read(first, end, BODY).expect("version 1 wrote it");
    let records: Vec<_> = body.records().map(|record| (record.position.0, record.body.to_vec())).collect();
    assert_eq!(records, [(0x1018, b"one".to_vec()), (0x1028, b"two is longer".to_vec())]);
    let topic = MemoryTopic::new(1);
    let partition = topic.partition(0).expect("the topic has it");
    let disk = Arc::new(stadium_journal::memory::MemoryDisk::new(1));
    let mut journal =
        ReplicatedJournal::open(partition, disk, &options(Default::default())).expect("it opens");
    journal.append(b"one").expect("there is room");
    journal.append(b"two is longer").expect("there is room");
    journal.commit().expect("it works");
    let message = topic.messages(0).pop().expect("it was sent");
    let (header, written) = Header::decode(&message).expect("it is whole");
    assert_eq!((header.log, header.first, header.end), (LOG, first, end));
    assert_eq!(written, BODY);
}

#[test]
fn a_damaged_body_is_refused_whatever_byte_it_is() {
    let (first, end) = (Position(0x1000), Position(0x1000 + 24 + 16 + 24));
    // The padding behind the first record is not covered: docs/formats/journal.md, "A frame".
    let padding = 64 + 24 + 11..64 + 24 + 16;
    let padding_too = 64 + 24 + 16 + 21..64 + 24 + 16 + 24;
    for byte in (0..BODY.len()).filter(|byte| !padding.contains(byte) && !padding_too.contains(byte)) {
        let mut bytes = BODY.to_vec();
        bytes[byte] ^= 1;
        assert!(Body::read(first, end, &bytes).is_err(), "byte {byte}");
    }
    for length in 0..BODY.len() {
        let end = first.plus(length.saturating_sub(64) as u64);
        let is_whole = Body::read(first, end, &BODY[..length]).is_ok();
        assert!(!is_whole, "{length} bytes are no whole batch");
    }
}
