//! Fuzz body: any bytes as a message of a shard's replicated log, and as a log of messages. What is
//! read is written as the same bytes; a reader and an owner take any messages and never panic.
//!
//! An ordinary function, so that the stable test `fuzz` of crates/journal-log runs it as well.

use stadium_journal::mirror::Body;
use stadium_journal::{Epoch, Position};
use stadium_journal_log::{
    Claim, ClusterId, Effect, Header, Log, Mark, Offset, Owner, Reader, Rule, Sequence, WriterId,
};

const LOG: Log = Log { cluster: ClusterId(1), shard: 2 };

/// A byte in front of each message: what happens to the owner before it is read.
const EVENTS: u8 = 6;

/// Reads `data` in each way. The first byte chooses: 0 one message, otherwise a log of short
/// messages. Panics on a broken promise; returns how many messages and records were read.
pub fn log_messages(data: &[u8]) -> usize {
    let Some((&how, data)) = data.split_first() else { return 0 };
    if how != 0 {
        return log(data);
    }
    let Ok((header, body)) = Header::decode(data) else { return 0 };
    let mut written = Vec::new();
    header.encode(body, &mut written).expect("what is read may be written");
    assert_eq!(written, data);
    match Body::read(header.first, header.end, body) {
        Ok(body) => 1 + body.records().map(|record| record.body.len().min(1)).sum::<usize>(),
        Err(_) => 1,
    }
}

/// Six bytes are an event and a message: epoch, writer, sequence, first position, bytes.
fn log(data: &[u8]) -> usize {
    let open = || Reader::<Rule>::open(LOG, Mark::START, Offset(0)).expect("nothing is trimmed");
    let mut reader = open();
    let mut owner = Owner::claim(open(), WriterId(1));
    let mut taken = 0;
    for piece in data.chunks_exact(6) {
        let &[event, epoch, writer, sequence, first, bytes] = piece else { continue };
        let offset = reader.mark().offset;
        let answered = Offset(u64::from(first));
        match event % EVENTS {
            0 => owner.end(answered),
            1 => owner.appended(WriterId(u64::from(writer)), Sequence(u64::from(sequence)), answered),
            2 => owner.failed(WriterId(u64::from(writer)), Sequence(u64::from(sequence))),
            3 => {
                let _ =
                    owner.append(Position(u64::from(first)), Position(u64::from(first) + u64::from(bytes)));
            }
            4 => owner.claim_again(WriterId(u64::from(writer))),
            _ => {
                let message = Header {
                    log: LOG,
                    claim: Claim { epoch: Epoch(u64::from(epoch)), writer: WriterId(u64::from(writer)) },
                    sequence: Sequence(u64::from(sequence)),
                    first: Position(u64::from(first)),
                    end: Position(u64::from(first) + u64::from(bytes)),
                };
                let mark = reader.mark();
                taken += usize::from(reader.take(offset, &message).is_ok());
                assert!(reader.mark().claim.epoch >= mark.claim.epoch && reader.mark().end >= mark.end);
                let _ = owner.message(owner.reader().mark().offset, &message);
            }
        }
        while let Some(effect) = owner.next_effect() {
            assert!(
                !owner.has_ended() || !matches!(effect, Effect::Append(_)),
                "an owner that ended appends"
            );
        }
    }
    taken
}

/// Whole messages, and logs of many messages.
pub fn samples() -> Vec<Vec<u8>> {
    let claim = Claim { epoch: Epoch(3), writer: WriterId(1) };
    let records = Header { log: LOG, claim, sequence: Sequence(1), first: Position(8), end: Position(24) };
    let two = include_bytes!("../../crates/journal-replicated/tests/fixtures/v1/two-records.body");
    let end = Position(0x1000 + two.len() as u64 - 64);
    let whole = Header { first: Position(0x1000), end, ..records };
    let mut samples = Vec::new();
    for (header, body) in
        [(Header::fence(LOG, claim), &b""[..]), (records, &b"records"[..]), (whole, &two[..])]
    {
        let mut bytes = vec![0];
        header.encode(body, &mut bytes).expect("an owner may write it");
        samples.push(bytes);
    }
    // A claim that succeeds, messages, a failure, another claim, and a fence of another writer.
    samples.push(
        [
            &[1][..],
            &[0, 0, 0, 0, 0, 0],
            &[5, 1, 1, 0, 0, 0],
            &[3, 0, 0, 0, 8, 8],
            &[3, 0, 0, 0, 16, 8],
            &[1, 0, 1, 2, 1, 0],
            &[1, 0, 1, 1, 2, 0],
            &[5, 1, 1, 2, 16, 8],
            &[5, 1, 1, 1, 8, 8],
            &[2, 0, 1, 2, 0, 0],
            &[4, 0, 2, 0, 0, 0],
            &[0, 0, 0, 0, 3, 0],
            &[5, 2, 2, 0, 0, 0],
            &[5, 3, 3, 0, 0, 0],
            &[5, 3, 3, 1, 24, 8],
        ]
        .concat(),
    );
    samples
}
