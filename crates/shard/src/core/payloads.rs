//! Answers get their payloads: read from the journal by position, checked, as bytes.
//!
//! A payload that cannot be read or whose checksum is wrong harms only its own item: the machine
//! sets one aside that was handed out, with the reason. One that cannot be read for now, since the
//! process has no descriptors left, is handed out again later.

use bytes::{Buf, Bytes, BytesMut};
use stadium_journal::{Journal, Position};
use stadium_state_machine::{Leasing, PayloadAt, Refusal, Unreadable};

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
        let reason = |what: &str| {
            format!(
                "the payload at position {}, byte {}, of {} bytes cannot be read: {what} (SHARD-008)",
                Position(at.record),
                at.offset,
                at.length
            )
        };
        match read {
            Err(error) if error.is_temporary() => Err(Unreadable::Temporary(reason(&error.to_string()))),
            Err(error) => {
                self.damaged += 1;
                Err(Unreadable::Permanent(reason(&error.to_string())))
            }
            Ok(()) => {
                let crc = payload.get_u32_le();
                if crc == crc32c::crc32c(&payload) {
                    return Ok(payload.freeze());
                }
                self.damaged += 1;
                Err(Unreadable::Permanent(reason("its checksum is wrong")))
            }
        }
    }

    /// An answer with its payloads. Items that cannot be worked on are left out, and their leases
    /// are put into `unreadable`.
    pub(super) fn resolve<M: Leasing>(
        &mut self,
        journal: &impl Journal,
        answer: M::Answer,
        unreadable: &mut Vec<(M::Lease, Unreadable)>,
    ) -> Result<M::Resolved, Refusal> {
        M::resolve(answer, &mut |at| self.read(journal, at), unreadable).map_err(
            |unreadable| match unreadable {
                Unreadable::Permanent(reason) => rejected("SHARD-008", reason),
                Unreadable::Temporary(reason) => busy("SHARD-014", FULL_RETRY, reason),
            },
        )
    }
}
