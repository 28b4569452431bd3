//! The history of a job: backwards through the journal, from its newest event on.
//!
//! Each event of a job names the record of the one before it. Where a segment is gone the history
//! says so and ends; it ends likewise where it would read too much.

use stadium_journal::{Error, Journal, Position};
use stadium_queue::{Attempt, HistoryEntry, JobId, Queues, Refusal, Time};

use super::fault::not_read;
use crate::error::rejected;
use crate::frame::{Frame, Machine};

/// Entries of a history at most: attempts are bounded by a thousand, extensions are not.
const ENTRIES_MAX: usize = 4_096;

/// Reads a job's history, newest first.
pub(super) fn read(
    journal: &impl Journal,
    queues: &Queues,
    job: JobId,
    start: Position,
    bytes_max: usize,
) -> Result<Vec<HistoryEntry>, Refusal> {
    let mut entries = Vec::new();
    let mut reader = journal.reader();
    let mut bytes = 0;
    let mut next = Some(start);
    let mut last = Time(0);
    while let Some(at) = next {
        if bytes > bytes_max || entries.len() >= ENTRIES_MAX {
            entries.push(HistoryEntry { at: last, what: Attempt::Trimmed });
            break;
        }
        let record = match reader.record(at) {
            Ok(record) => record,
            Err(Error::Gone(_)) => {
                entries.push(HistoryEntry { at: last, what: Attempt::Trimmed });
                break;
            }
            Err(error) => {
                let damaged =
                    |what| rejected("SHARD-010", format!("the history of job {job} cannot be read: {what}"));
                return Err(not_read(error, damaged));
            }
        };
        bytes += record.body.len();
        let corrupt = |what: String| {
            rejected("SHARD-010", format!("the record at position {at} cannot be read: {what}"))
        };
        let frame = Frame::parse(record.body).map_err(corrupt)?;
        next = None;
        for section in frame.sections().filter(|section| section.machine == Machine::Queue) {
            last = frame.time;
            next = queues
                .history(job, at.0, frame.time, section.offset, section.events, &mut entries)
                .map_err(|error| corrupt(error.reason))?
                .map(Position);
        }
    }
    Ok(entries)
}
