//! Cutting a copied journal at a time: records that are later go, as a crash would have lost them.
//!
//! The file of the segment in which the first later record stands is zero from there on, and later
//! segments go. No frame before it claims that something after it was durable, so the ordinary
//! recovery takes the end for a torn one.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use stadium_journal::Position;
use stadium_journal::copy::{segment_head, segment_name, segments};
use stadium_journal::inspect::Inspection;

use super::moment::TimeOf;
use crate::Error;

/// Cuts the journal in a shard's folder. Returns the position after the last record that stays.
///
/// # Errors
/// `ClockSetBack` where a record after the cut has an earlier time; `Journal`, `File`, `Damaged`.
pub(super) fn cut(folder: &Path, from: Position, time_ms: u64, time_of: TimeOf) -> Result<Position, Error> {
    let journal = folder.join("journal");
    let mut reader = Inspection::open(&journal)?.reader()?;
    reader.seek(from)?;
    let (mut end, mut first_later) = (from, None);
    while let Some(record) = reader.next()? {
        let time = time_of(record.body).ok_or_else(|| {
            Error::Damaged(format!("the record at {} has no time: a newer version wrote it", record.position))
        })?;
        match first_later {
            None if time > time_ms => first_later = Some(record.position),
            None => end = record.end,
            Some(position) if time <= time_ms => {
                return Err(Error::ClockSetBack(format!(
                    "the record at {} is later than the one at {position} and has an earlier time: the clock was set back, \
                     so no state belongs to that moment; choose another one",
                    record.position
                )));
            }
            Some(_) => {}
        }
    }
    drop(reader);
    if let Some(position) = first_later {
        remove_from(&journal, position)?;
    }
    Ok(end)
}

fn remove_from(journal: &Path, position: Position) -> Result<(), Error> {
    for number in segments(journal)? {
        let (head, bytes) = segment_head(journal, number)?;
        let path = journal.join(segment_name(number));
        if head.base > position {
            fs::remove_file(&path).map_err(Error::file(&path))?;
        } else if position < head.base.plus(head.capacity) {
            let zero = || {
                let file = OpenOptions::new().write(true).open(&path)?;
                file.set_len(position.since(head.base))?;
                // An opening after a crash seals the segment where it is, and its file is shorter
                // then. Without the seal it must be as long as before.
                file.set_len(bytes.max(head.capacity))?;
                file.sync_all()
            };
            zero().map_err(Error::file(&path))?;
        }
    }
    File::open(journal).and_then(|folder| folder.sync_all()).map_err(Error::file(journal))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use stadium_journal::{FileJournal, FolderDisk, Journal as _, Options};

    use super::*;

    /// Opens a journal that ends as a process does that is killed: nothing more is written.
    fn open(folder: &Path) -> FileJournal {
        let disk = FolderDisk::create(&folder.join("journal")).expect("a folder can be had");
        let options = Options {
            segment_bytes: 64 << 10,
            reserve_bytes: 64 << 10,
            record_bytes_max: 16 << 10,
            ..Options::default()
        };
        FileJournal::open_stepped(Arc::new(disk), &options).expect("it opens").0
    }

    fn write(journal: &mut FileJournal, times: &[u64]) {
        for time in times {
            journal.append(&time.to_le_bytes()).expect("there is room");
        }
        journal.commit().expect("the disk works");
        journal.wait(Duration::from_secs(60)).expect("the disk works");
    }

    fn time_of(body: &[u8]) -> Option<u64> {
        body.first_chunk().map(|time| u64::from_le_bytes(*time))
    }

    #[test]
    fn a_segment_that_was_sealed_after_a_crash_can_be_cut() {
        let data = tempfile::tempdir().expect("a folder can be had");
        write(&mut open(data.path()), &[10, 20, 30]);
        write(&mut open(data.path()), &[40]);
        cut(data.path(), Position::START, 20, time_of).expect("it is whole");
        let mut reader = open(data.path()).reader();
        reader.seek(Position::START).expect("it is there");
        let mut times = Vec::new();
        while let Some(record) = reader.next().expect("it is whole") {
            times.extend(time_of(record.body));
        }
        assert_eq!(times, [10, 20]);
    }
}
