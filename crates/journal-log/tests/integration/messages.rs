//! The format of messages: what is written is read, and everything else is refused.

use proptest::prelude::*;
use stadium_journal::{Epoch, Position};
use stadium_journal_log::message::{BODY_BYTES_MAX, HEADER_BYTES, MESSAGE_BYTES_MAX, Unreadable};
use stadium_journal_log::{Claim, ClusterId, Header, Log, Sequence, WriterId};

use crate::script::{LOG, message_at};

fn encoded(header: &Header, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(body, &mut bytes).expect("an owner may write it");
    bytes
}

/// The bytes with a field changed and a checksum that fits.
fn changed(bytes: &[u8], at: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + field.len()].copy_from_slice(field);
    let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..68]), &bytes[HEADER_BYTES..]);
    bytes[68..72].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    let whole = encoded(&message_at("2/A#1", "@1"), b"records");
    let fence = encoded(&Header::fence(LOG, message_at("2/A#1", "@1").claim), b"");
    let (one, zero) = (1_u64.to_le_bytes(), 0_u64.to_le_bytes());
    let longer = [&whole[..], b"."].concat();
    for (bytes, refusal) in [
        (Vec::new(), Unreadable::Short { bytes: 0 }),
        (whole[..HEADER_BYTES - 1].to_vec(), Unreadable::Short { bytes: 71 }),
        (changed(&whole, 0, b"STADSEGM"), Unreadable::Magic),
        (whole[..whole.len() - 1].to_vec(), Unreadable::Checksum),
        (longer.clone(), Unreadable::Checksum),
        (changed(&whole, 8, &2_u32.to_le_bytes()), Unreadable::Version(2)),
        (changed(&whole, 8, &0_u32.to_le_bytes()), Unreadable::Version(0)),
        (changed(&longer, 8, &1_u32.to_le_bytes()), Unreadable::Length { stated: 7, found: 8 }),
        (changed(&whole, 64, &6_u32.to_le_bytes()), Unreadable::Length { stated: 6, found: 7 }),
        (changed(&whole, 24, &zero), Unreadable::Field("its epoch is 0")),
        (changed(&whole, 32, &zero), Unreadable::Field("its writer id is 0")),
        (changed(&whole, 40, &zero), Unreadable::Field("a fence has a body")),
        (
            changed(&whole, 48, &16_u64.to_le_bytes()),
            Unreadable::Field("its end is not behind its first record"),
        ),
        (changed(&whole, 56, &zero), Unreadable::Field("its end is not behind its first record")),
        (changed(&fence, 40, &one), Unreadable::Field("it is no fence and has no body")),
        (changed(&fence, 48, &one), Unreadable::Field("a fence has positions")),
        (changed(&fence, 56, &one), Unreadable::Field("a fence has positions")),
    ] {
        assert_eq!(Header::decode(&bytes), Err(refusal), "{refusal}");
    }
}

#[test]
fn an_owner_does_not_write_what_readers_refuse() {
    let message = message_at("2/A#1", "@1");
    let fence = Header::fence(LOG, message.claim);
    let mut into = vec![7];
    assert_eq!(message.encode(b"", &mut into), Err(Unreadable::Field("it is no fence and has no body")));
    assert_eq!(fence.encode(b"body", &mut into), Err(Unreadable::Field("a fence has a body")));
    let empty = Header { end: message.first, ..message };
    assert!(empty.encode(b"body", &mut into).is_err());
    assert_eq!(into, [7], "nothing is written");
}

#[test]
fn the_longest_body_is_taken_and_a_longer_one_is_not() {
    let message = message_at("2/A#1", "@1");
    let body = vec![0xB0; BODY_BYTES_MAX + 1];
    let whole = encoded(&message, &body[1..]);
    assert_eq!(whole.len(), MESSAGE_BYTES_MAX);
    assert_eq!(Header::decode(&whole), Ok((message, &body[1..])));
    assert_eq!(message.encode(&body, &mut Vec::new()), Err(Unreadable::Field("its body is too long")));
    // The longest record of a journal fits: 16 MiB and the header of its frame.
    const { assert!(BODY_BYTES_MAX > (16 << 20) + 4096) };
}

fn header() -> impl Strategy<Value = Header> {
    let log = (any::<u64>(), any::<u32>());
    let claim = (1_u64.., 1_u64..);
    (log, claim, 1_u64.., any::<u64>(), 1_u64..1 << 40).prop_map(
        |((cluster, shard), (epoch, writer), sequence, first, bytes)| Header {
            log: Log { cluster: ClusterId(cluster), shard },
            claim: Claim { epoch: Epoch(epoch), writer: WriterId(writer) },
            sequence: Sequence(sequence),
            first: Position(first.min(u64::MAX - bytes)),
            end: Position(first.min(u64::MAX - bytes) + bytes),
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(header in header(), body in proptest::collection::vec(any::<u8>(), 1..300)) {
        let bytes = encoded(&header, &body);
        prop_assert_eq!(bytes.len(), HEADER_BYTES + body.len());
        prop_assert_eq!(Header::decode(&bytes), Ok((header, &body[..])));
        let fence = Header::fence(header.log, header.claim);
        let bytes = encoded(&fence, b"");
        prop_assert_eq!(Header::decode(&bytes), Ok((fence, &b""[..])));
    }

    /// Damage of one bit, and a cut anywhere, never goes unnoticed.
    #[test]
    fn damage_is_noticed(header in header(), body in proptest::collection::vec(any::<u8>(), 1..60), bit in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&header, &body);
        let bit = bit.index(bytes.len() * 8);
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Header::decode(&flipped).is_err());
        prop_assert!(Header::decode(&bytes[..cut.index(bytes.len())]).is_err());
    }
}
