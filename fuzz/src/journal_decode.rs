//! Fuzz body: any bytes in the place of a segment's frames. Looking at them, repairing, opening and reading never panic; what
//! is read was written; after a repair the journal opens.
//!
//! An ordinary function, so that the stable test `fuzz` of crates/journal runs it as well.

use std::sync::Arc;

use stadium_journal::inspect::Inspection;
use stadium_journal::memory::MemoryDisk;
use stadium_journal::repair::repair_on;
use stadium_journal::{Disk as _, Error, FileJournal, Journal as _, Options, Position, Reader};

/// What stands in the journal before anything is changed.
const RECORDS: [&[u8]; 4] = [b"one", b"the second record", &[3; 300], b"4"];
const SEGMENT: &str = "000000000001.segment";

/// Writes `data` over the frames and looks at what comes of it. The first byte decides how. Panics on a broken
/// promise; returns how many records were read after the repair.
pub fn journal_decode(data: &[u8]) -> usize {
    let Some((&how, data)) = data.split_first() else { return 0 };
    let options = Options {
        segment_bytes: 64 << 10,
        reserve_bytes: 64 << 10,
        record_bytes_max: 8 << 10,
        waiting_bytes_max: 16 << 10,
        tail_bytes: 32 << 10,
        ..Options::default()
    };
    let disk = MemoryDisk::new(1);
    let shared: Arc<MemoryDisk> = Arc::new(disk.clone());
    let (mut journal, stepper) = FileJournal::open_stepped(shared.clone(), &options).expect("a new journal");
    for record in RECORDS {
        journal.append(record).expect("there is room");
        journal.commit().expect("no fault");
        while stepper.commit() {}
    }
    disk.kill();
    drop(journal);

    let file = disk.open(SEGMENT).expect("it is there");
    if how % 2 == 0 {
        file.write_at(data, 4096).expect("no fault");
    } else {
        // Pieces: two bytes are the position, one is the change.
        for piece in data.chunks_exact(3) {
            let at = 4096 + u64::from(u16::from_le_bytes([piece[0], piece[1]]) % 700);
            let mut byte = [0];
            file.read_at(&mut byte, at).expect("no fault");
            file.write_at(&[byte[0] ^ piece[2]], at).expect("no fault");
        }
    }
    if let Ok(inspection) = Inspection::open_on(shared.clone()) {
        let _ = inspection.verify(Position::START).map(|report| report.damages.len());
        if let Ok(mut reader) = inspection.reader() {
            count(&mut *reader);
        }
    }
    match FileJournal::open_stepped(shared.clone(), &options) {
        Ok((journal, _)) => drop(count(&mut *journal.reader())),
        Err(Error::Corrupt(_) | Error::Foreign(_)) => {}
        Err(error) => panic!("another error: {error}"),
    }
    disk.kill();
    repair_on(&disk, Position::START).expect("any frames can be repaired");
    let (journal, _) = FileJournal::open_stepped(shared, &options).expect("after a repair it opens");
    let (records, error) = count(&mut *journal.reader());
    assert_eq!(error, None, "after a repair all is readable");
    records
}

fn count(reader: &mut dyn Reader) -> (usize, Option<Error>) {
    let mut records = 0;
    loop {
        match reader.next() {
            Ok(Some(record)) => {
                assert!(RECORDS.contains(&record.body), "nobody wrote {:?}", record.body);
                records += 1;
            }
            Ok(None) => return (records, None),
            Err(error) => return (records, Some(error)),
        }
    }
}
