//! Answers get their payloads: read from the journal by position, checked, as bytes.
//!
//! A payload that cannot be read or whose checksum is wrong harms only its own job: one that was
//! reserved is buried with the reason; one that was looked at comes without its bytes. One that cannot be read for now, since the
//! process has no descriptors left, is due again later.

use bytes::{Buf, Bytes, BytesMut};
use stadium_journal::{Journal, Position};
use stadium_queue::{Answer, JobView, Lease, PayloadAt, Refusal};

use super::fault::FULL_RETRY;
use crate::error::{busy, rejected};

/// Small payloads share buffers of this size: one of them that is kept for long keeps as much alive.
const BUFFER_BYTES: usize = 16 << 10;

/// Bytes of the CRC-32C in front of each payload.
const CRC_BYTES: usize = 4;

/// Reads payloads.
#[derive(Default)]
pub(super) struct Payloads {
    buffer: BytesMut,
    pub(super) damaged: u64,
}

/// A reserved job that cannot be worked on.
pub(super) struct Spoilt {
    pub(super) lease: Lease,
    pub(super) unreadable: Unreadable,
}

/// Why a payload is not there.
pub(super) struct Unreadable {
    /// In words for an operator.
    pub(super) reason: String,
    pub(super) how: How,
}

/// For how long a payload is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    ForGood,
    ForNow,
}

impl Payloads {
    /// One payload.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn read(&mut self, journal: &impl Journal, at: PayloadAt) -> Result<Bytes, Unreadable> {
        if at.length == 0 {
            return Ok(Bytes::new());
        }
        let bytes = CRC_BYTES + at.length as usize;
        if self.buffer.capacity() < bytes {
            self.buffer = BytesMut::with_capacity(bytes.max(BUFFER_BYTES));
        }
        self.buffer.resize(bytes, 0);
        let mut payload = self.buffer.split_to(bytes);
        let read =
            journal.read_at(Position(at.record), at.offset.wrapping_sub(CRC_BYTES as u32), &mut payload);
        let checked = match read {
            Err(error) if error.is_temporary() => Err((error.to_string(), How::ForNow)),
            Err(error) => Err((error.to_string(), How::ForGood)),
            Ok(()) => {
                let crc = payload.get_u32_le();
                if crc == crc32c::crc32c(&payload) {
                    Ok(payload.freeze())
                } else {
                    Err(("its checksum is wrong".into(), How::ForGood))
                }
            }
        };
        checked.map_err(|(what, how): (String, How)| {
            self.damaged += u64::from(how == How::ForGood);
            let reason = format!(
                "the payload at position {}, byte {}, of {} bytes cannot be read: {what} (SHARD-008)",
                Position(at.record),
                at.offset,
                at.length
            );
            Unreadable { reason, how }
        })
    }

    /// An answer with its payloads. Jobs that cannot be worked on are left out, and put into `spoilt`.
    pub(super) fn fill(
        &mut self,
        journal: &impl Journal,
        answer: Answer<PayloadAt>,
        spoilt: &mut Vec<Spoilt>,
    ) -> Result<Answer<Bytes>, Refusal> {
        Ok(match answer {
            Answer::Reserved(jobs) => {
                let mut filled = Vec::with_capacity(jobs.len());
                for job in jobs {
                    match self.read(journal, job.payload) {
                        Ok(payload) => filled.push(job.with_payload(payload)),
                        Err(unreadable) => spoilt.push(Spoilt { lease: job.lease, unreadable }),
                    }
                }
                Answer::Reserved(filled)
            }
            Answer::Jobs(jobs) if jobs.len() == 1 => {
                let job = jobs.into_iter().next().expect("there is one");
                let payload = self.read(journal, job.payload).map_err(|Unreadable { reason, how }| {
                    let reason = format!("job {}: {reason}", job.job);
                    match how {
                        How::ForGood => rejected("SHARD-008", reason),
                        How::ForNow => busy("SHARD-014", FULL_RETRY, reason),
                    }
                })?;
                Answer::Jobs(vec![job.with_payload(payload)])
            }
            Answer::Jobs(jobs) => Answer::Jobs(jobs.into_iter().map(|job| self.look(journal, job)).collect()),
            Answer::Placed(placed) => Answer::Placed(placed),
            Answer::Given(given) => Answer::Given(given),
            Answer::Count(count) => Answer::Count(count),
            Answer::Done => Answer::Done,
            Answer::History(entries) => Answer::History(entries),
            Answer::Queues(queues) => Answer::Queues(queues),
            Answer::Schedules(schedules) => Answer::Schedules(schedules),
        })
    }

    fn look(&mut self, journal: &impl Journal, mut job: JobView<PayloadAt>) -> JobView<Bytes> {
        let payload = self.read(journal, job.payload).unwrap_or_else(|Unreadable { reason, .. }| {
            job.reason = Some(reason);
            Bytes::new()
        });
        job.with_payload(payload)
    }
}
