//! Messages as version 1 wrote them, byte by byte: they are read for ever.

use stadium_journal::{Epoch, Position};
use stadium_journal_log::{Claim, ClusterId, Header, Log, Sequence, WriterId};

const FENCE: &[u8] = include_bytes!("../fixtures/v1/fence.message");
const RECORDS: &[u8] = include_bytes!("../fixtures/v1/records.message");

const LOG: Log = Log { cluster: ClusterId(0x1122_3344_5566_7788), shard: 63 };
const CLAIM: Claim = Claim { epoch: Epoch(9), writer: WriterId(0x99AA_BBCC_DDEE_FF01) };

#[test]
fn messages_of_version_1_are_read_and_written() {
    let records = Header {
        log: LOG,
        claim: CLAIM,
        sequence: Sequence(5),
        first: Position(0x1_0000_1000),
        end: Position(0x1_0000_1020),
    };
    for (bytes, header, body) in
        [(FENCE, Header::fence(LOG, CLAIM), &b""[..]), (RECORDS, records, b"two records")]
    {
        assert_eq!(Header::decode(bytes), Ok((header, body)));
        let mut written = Vec::new();
        header.encode(body, &mut written).expect("an owner may write it");
        assert_eq!(written, bytes);
    }
}
