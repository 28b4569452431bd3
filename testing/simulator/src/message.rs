//! Payloads of jobs in a simulation: each identifies itself.
//!
//! A payload names its message and version, and every further byte follows from these. So a job
//! that is handed out identifies its put, whatever the answer to that put was, and a wrong byte is
//! noticed.

use std::fmt;

use bytes::Bytes;
use stadium_queue::PrincipalId;

/// One message: what one put brought in, wherever it goes from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

/// One of three principals, or none: the same for the same number.
#[must_use]
pub fn principal_of(number: u128) -> Option<PrincipalId> {
    let number = number % 4;
    let principal = || PrincipalId::new(&format!("k_{number:016x}")).expect("an id of a key");
    (number > 0).then(principal)
}

/// A message's payload as it was at some time: an edit makes the next version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Whose.
    pub tag: Tag,
    /// 0 as it was put, one more with each edit that changes the payload.
    pub version: u8,
}

/// First byte of each payload.
const MARK: u8 = 0xA7;

/// Bytes that identify it: mark, version, tag, length of the whole.
pub const HEAD_BYTES: usize = 10;

impl Content {
    /// The payload with so many bytes, at least [`HEAD_BYTES`].
    #[must_use]
    pub fn payload(self, bytes: usize) -> Bytes {
        let bytes = bytes.max(HEAD_BYTES);
        let length = u32::try_from(bytes).expect("payloads of a simulation are small");
        let mut payload = Vec::with_capacity(bytes);
        payload.push(MARK);
        payload.push(self.version);
        payload.extend_from_slice(&self.tag.0.to_le_bytes());
        payload.extend_from_slice(&length.to_le_bytes());
        payload.extend((HEAD_BYTES..bytes).map(|at| self.filler(at)));
        payload.into()
    }

    /// Whose payload this is.
    ///
    /// # Errors
    ///
    /// The mistake in it, where it is none that was ever made.
    pub fn read(payload: &[u8]) -> Result<Content, String> {
        let wrong = || format!("{} bytes that nobody put, they begin {:02x?}", payload.len(), start(payload));
        let head: &[u8; HEAD_BYTES] = payload.first_chunk().ok_or_else(wrong)?;
        let &[MARK, version, t0, t1, t2, t3, l0, l1, l2, l3] = head else { return Err(wrong()) };
        let content = Content { tag: Tag(u32::from_le_bytes([t0, t1, t2, t3])), version };
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length != payload.len() {
            return Err(format!("{} bytes of the {length} of {} v{version}", payload.len(), content.tag));
        }
        let bad = (HEAD_BYTES..length).find(|&at| payload[at] != content.filler(at));
        match bad {
            Some(at) => Err(format!("byte {at} of {} v{version} is not what was put", content.tag)),
            None => Ok(content),
        }
    }

    fn filler(self, at: usize) -> u8 {
        (self.tag.0 as usize).wrapping_mul(31).wrapping_add(at).wrapping_add(usize::from(self.version)) as u8
    }
}

fn start(payload: &[u8]) -> &[u8] {
    &payload[..payload.len().min(16)]
}

#[cfg(test)]
mod tests {
    use super::{Content, Tag};

    #[test]
    fn a_payload_identifies_its_job() {
        for bytes in [0, 10, 11, 700] {
            let content = Content { tag: Tag(70_000), version: 3 };
            assert_eq!(Content::read(&content.payload(bytes)), Ok(content));
        }
    }

    #[test]
    fn a_payload_with_a_flipped_bit_is_noticed_wherever_it_is() {
        let content = Content { tag: Tag(5), version: 0 };
        let payload = content.payload(40);
        for bit in 0..40 * 8 {
            let mut flipped = payload.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Content::read(&flipped), Ok(content), "bit {bit}");
        }
    }
}
