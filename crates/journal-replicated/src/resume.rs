//! A place to read the log on from, with all that a replica must know there.
//!
//! A checkpoint keeps one, and the mirror notes some. docs/formats/log-resume.md has the layout.

use std::fmt;

use stadium_journal::mirror::{BODY_HEADER_BYTES, Point, PointSegment};
use stadium_journal::{Epoch, JournalId, Position};
use stadium_journal_log::{Claim, ClusterId, Log, Mark, Offset, Sequence, WriterId};

/// Bytes of an encoded [`ResumePoint`].
pub const RESUME_BYTES: usize = 136;

const MAGIC: &[u8; 8] = b"STADMARK";
/// The version that this code writes and reads.
const VERSION: u32 = 1;
const SEGMENT_AT: usize = 64;
const FLAGS_AT: usize = SEGMENT_AT + BODY_HEADER_BYTES;
const SUM_AT: usize = FLAGS_AT + 4;
const HAS_SEGMENT: u32 = 1;
const IS_SEALED: u32 = 2;

/// Where reading goes on: the reader's mark, and the segment that is written there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResumePoint {
    /// The log.
    pub log: Log,
    /// The state of the reader.
    pub mark: Mark,
    /// The segment in which the last frame before the mark's end stands; `None` where the log has
    /// no records.
    pub segment: Option<PointSegment>,
}

/// Why bytes are no resume point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// Their number is another.
    Length(usize),
    /// They do not begin with the magic bytes.
    Magic,
    /// The checksum is wrong.
    Checksum,
    /// Another version wrote them.
    Version(u32),
    /// A field has a value that is never written.
    Field(&'static str),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(bytes) => {
                write!(f, "a resume point has {RESUME_BYTES} bytes, and these are {bytes}")
            }
            Self::Magic => f.write_str("the resume point does not begin with the magic bytes"),
            Self::Checksum => f.write_str("the checksum of the resume point is wrong"),
            Self::Version(version) => {
                write!(f, "the resume point has version {version}, this program knows {VERSION}")
            }
            Self::Field(what) => write!(f, "the resume point is invalid: {what}"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl ResumePoint {
    /// The beginning of a log.
    #[must_use]
    pub const fn start(log: Log) -> Self {
        Self { log, mark: Mark::START, segment: None }
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; RESUME_BYTES] {
        let mut bytes = [0; RESUME_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.log.shard.to_le_bytes());
        let Mark { offset, claim, next, end } = self.mark;
        let numbers = [self.log.cluster.0, offset.0, claim.epoch.0, claim.writer.0, next.0, end.0];
        for (place, number) in bytes[16..SEGMENT_AT].as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        let mut flags = 0;
        if let Some(segment) = &self.segment {
            bytes[SEGMENT_AT..FLAGS_AT].copy_from_slice(&segment.header);
            flags = HAS_SEGMENT | if segment.is_sealed { IS_SEALED } else { 0 };
        }
        bytes[FLAGS_AT..SUM_AT].copy_from_slice(&flags.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..SUM_AT]);
        bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads its bytes.
    ///
    /// # Errors
    /// Why this version did not write them.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let Ok(bytes) = <&[u8; RESUME_BYTES]>::try_from(bytes) else {
            return Err(Unreadable::Length(bytes.len()));
        };
        if &bytes[..8] != MAGIC {
            return Err(Unreadable::Magic);
        }
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        if crc32c::crc32c(&bytes[..SUM_AT]) != word(SUM_AT) {
            return Err(Unreadable::Checksum);
        }
        if word(8) != VERSION {
            return Err(Unreadable::Version(word(8)));
        }
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let flags = word(FLAGS_AT);
        let mark = Mark {
            offset: Offset(number(24)),
            claim: Claim { epoch: Epoch(number(32)), writer: WriterId(number(40)) },
            next: Sequence(number(48)),
            end: Position(number(56)),
        };
        let segment = (flags & HAS_SEGMENT != 0).then(|| PointSegment {
            header: bytes[SEGMENT_AT..FLAGS_AT].try_into().expect("as many bytes as a header has"),
            is_sealed: flags & IS_SEALED != 0,
        });
        match () {
            () if flags & !(HAS_SEGMENT | IS_SEALED) != 0 => Err(Unreadable::Field("unknown flags")),
            () if segment.is_none() && (flags != 0 || mark.end > Position::START) => {
                Err(Unreadable::Field("records without a segment"))
            }
            () => {
                let log = Log { cluster: ClusterId(number(16)), shard: word(12) };
                Ok(Self { log, mark, segment })
            }
        }
    }

    /// The place in the mirror.
    pub(crate) fn point(&self) -> Point {
        Point { end: self.mark.end, segment: self.segment }
    }
}

/// The id of the journal of a log: each replica has the same, so that their files are equal.
#[must_use]
pub fn journal_id(log: Log) -> JournalId {
    JournalId(log.cluster.0.wrapping_add(u64::from(log.shard)))
}
