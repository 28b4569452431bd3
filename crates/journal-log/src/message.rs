//! A message of the log: a header of fixed size, and the records of a commit as its body.
//!
//! The layout is in docs/formats/log-message.md. The checksum covers header and body, so a damaged
//! message is an error and is never passed over: an acknowledged one may stand there.

use std::fmt;

use stadium_journal::{Epoch, Position};

use crate::claim::{Claim, ClusterId, Log, Sequence, WriterId};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 72;

/// The most bytes of a message: `max.message.bytes` of the topic is 17 MiB, of which 4 KiB are left
/// for the framing of the broker.
pub const MESSAGE_BYTES_MAX: usize = (17 << 20) - (4 << 10);

/// The most bytes of a body. The longest record of a journal fits with room to spare.
pub const BODY_BYTES_MAX: usize = MESSAGE_BYTES_MAX - HEADER_BYTES;

/// The version that this code writes and reads.
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"STADLOGM";
/// Where the checksum stands: behind all that it covers of the header.
const SUM_AT: usize = 68;

/// The statements of a message about itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// The log that it is for.
    pub log: Log,
    /// The claim under which it was written.
    pub claim: Claim,
    /// Its number within the claim.
    pub sequence: Sequence,
    /// The position of its first record; 0 in a fence.
    pub first: Position,
    /// The position after its last record; 0 in a fence.
    pub end: Position,
}

/// Why bytes are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// They are fewer than a header has.
    Short {
        /// Their number.
        bytes: usize,
    },
    /// They do not begin with the magic bytes.
    Magic,
    /// The checksum is wrong.
    Checksum,
    /// A newer version wrote them.
    Version(u32),
    /// The body is longer or shorter than the header states.
    Length {
        /// The length in the header, bytes.
        stated: u32,
        /// Bytes behind the header.
        found: usize,
    },
    /// A field has a value that no owner writes.
    Field(&'static str),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { bytes } => {
                write!(f, "a message of {bytes} bytes is shorter than its header of {HEADER_BYTES}")
            }
            Self::Magic => f.write_str("the message does not begin with the magic bytes"),
            Self::Checksum => f.write_str("the checksum of the message is wrong"),
            Self::Version(version) => {
                write!(f, "the message has version {version}, this program knows {VERSION}")
            }
            Self::Length { stated, found } => {
                write!(f, "the message has a body of {found} bytes, its header states {stated}")
            }
            Self::Field(what) => write!(f, "the header of the message is invalid: {what}"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Header {
    /// The header of a fence.
    #[must_use]
    pub const fn fence(log: Log, claim: Claim) -> Self {
        Self { log, claim, sequence: Sequence::FENCE, first: Position::START, end: Position::START }
    }

    /// Whether two messages are copies of one: the same number of the same claim.
    #[must_use]
    pub fn is_copy_of(&self, other: &Self) -> bool {
        self.claim == other.claim && self.sequence == other.sequence
    }

    /// Appends the message to `into`. Allocates nothing where `into` has room.
    ///
    /// A fence has an empty body; a body has at most [`BODY_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// What a reader would refuse; nothing is appended then.
    pub fn encode(&self, body: &[u8], into: &mut Vec<u8>) -> Result<(), Unreadable> {
        self.check(body.len())?;
        let length = u32::try_from(body.len()).expect("a body that was checked has at most 17 MiB");
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&self.log.shard.to_le_bytes());
        header[16..24].copy_from_slice(&self.log.cluster.0.to_le_bytes());
        header[24..32].copy_from_slice(&self.claim.epoch.0.to_le_bytes());
        header[32..40].copy_from_slice(&self.claim.writer.0.to_le_bytes());
        header[40..48].copy_from_slice(&self.sequence.0.to_le_bytes());
        header[48..56].copy_from_slice(&self.first.0.to_le_bytes());
        header[56..64].copy_from_slice(&self.end.0.to_le_bytes());
        header[64..68].copy_from_slice(&length.to_le_bytes());
        let sum = sum(&header[..SUM_AT], body);
        header[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        into.reserve(HEADER_BYTES + body.len());
        into.extend_from_slice(&header);
        into.extend_from_slice(body);
        Ok(())
    }

    /// Reads a message: its header, and its body.
    ///
    /// # Errors
    /// Why the bytes are no whole, undamaged message of this version.
    pub fn decode(message: &[u8]) -> Result<(Self, &[u8]), Unreadable> {
        let Some((header, body)) = message.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Unreadable::Short { bytes: message.len() });
        };
        if &header[..8] != MAGIC {
            return Err(Unreadable::Magic);
        }
        // Magic, version and checksum have the same places in all versions. So damage is not taken
        // for a newer version.
        if sum(&header[..SUM_AT], body) != u32_at(header, SUM_AT) {
            return Err(Unreadable::Checksum);
        }
        let version = u32_at(header, 8);
        if version != VERSION {
            return Err(Unreadable::Version(version));
        }
        let stated = u32_at(header, 64);
        if stated as usize != body.len() {
            return Err(Unreadable::Length { stated, found: body.len() });
        }
        let header = Self {
            log: Log { cluster: ClusterId(u64_at(header, 16)), shard: u32_at(header, 12) },
            claim: Claim { epoch: Epoch(u64_at(header, 24)), writer: WriterId(u64_at(header, 32)) },
            sequence: Sequence(u64_at(header, 40)),
            first: Position(u64_at(header, 48)),
            end: Position(u64_at(header, 56)),
        };
        header.check(body.len())?;
        Ok((header, body))
    }

    /// Whether the fields are such as an owner writes.
    fn check(&self, body_bytes: usize) -> Result<(), Unreadable> {
        let is_fence = self.sequence == Sequence::FENCE;
        let has_records = self.first < self.end;
        let has_positions = (self.first, self.end) != (Position::START, Position::START);
        let wrong = match () {
            () if self.claim.epoch.0 == 0 => "its epoch is 0",
            () if self.claim.writer.0 == 0 => "its writer id is 0",
            () if is_fence && body_bytes > 0 => "a fence has a body",
            () if is_fence && has_positions => "a fence has positions",
            () if !is_fence && body_bytes == 0 => "it is no fence and has no body",
            () if !is_fence && !has_records => "its end is not behind its first record",
            () if body_bytes > BODY_BYTES_MAX => "its body is too long",
            () => return Ok(()),
        };
        Err(Unreadable::Field(wrong))
    }
}

/// The checksum of a message: over its header up to the checksum, and its body.
fn sum(header: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(header), body)
}

fn u32_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"))
}
