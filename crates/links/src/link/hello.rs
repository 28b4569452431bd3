//! The introduction of a node: in the SETUP of the half that dials, and in the first payload of the
//! other.
//!
//! ```text
//! 1 | cluster u64 | incarnation u64 | versions u16 u16 | levels u32 u32 | lane u8 | loop u16
//!   | credit: messages u32, bytes u64 | name u8 + bytes
//! ```
//! Integers are big-endian. The first byte is the format; the versions are those of the messages.
//! The credit is what the sender of the hello lets the other half have on its way.

use std::fmt;
use std::sync::Arc;

use stadium_journal_log::ClusterId;

use super::message::Fields;
use super::settings::Bounds;

/// The format of a hello.
const FORMAT: u8 = 1;

/// The versions of the messages on a link that this code speaks.
pub const VERSIONS: Range<u16> = Range { first: 1, last: 1 };

/// The MIME type of both payloads of SETUP.
pub(crate) const MIME: &str = "application/vnd.stadium.link";

/// A node's name: 1 to 63 letters, digits, dots and hyphens in lower case. A certificate carries it
/// as its only DNS name. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeName(Arc<str>);

/// The text is no name of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName(String);

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule =
            "1 to 63 letters a-z, digits, dots and hyphens, beginning and ending with a letter or digit";
        write!(f, "{:?} is no name of a node: {rule}", self.0)
    }
}

impl std::error::Error for InvalidName {}

impl NodeName {
    /// Checks a name.
    ///
    /// # Errors
    ///
    /// The text has other characters, or is too long or empty.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let is_end = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'));
        let bytes = text.as_bytes();
        let is_name = bytes.len() <= 63
            && is_end(bytes.first())
            && is_end(bytes.last())
            && bytes.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'));
        if is_name { Ok(Self(text.into())) } else { Err(InvalidName(text.chars().take(80).collect())) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Counts the starts of a node: a greater one is later. The cluster's store gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u64);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The values from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<T> {
    /// The least one.
    pub first: T,
    /// The greatest one.
    pub last: T,
}

impl<T: Ord + Copy> Range<T> {
    /// The greatest value that both ranges have.
    pub fn common(&self, other: &Self) -> Option<T> {
        let last = self.last.min(other.last);
        (self.first.max(other.first) <= last).then_some(last)
    }
}

impl<T: fmt::Display> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last)
    }
}

/// The purpose of a connection between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// The data of one loop.
    Data,
    /// The control connection: small messages that never wait behind data.
    Control,
}

impl Lane {
    /// Stable name for metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Control => "control",
        }
    }
}

/// A node's introduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Its cluster.
    pub cluster: ClusterId,
    /// Its name.
    pub node: NodeName,
    /// Which of its starts.
    pub incarnation: Incarnation,
    /// Versions of the messages that it reads and writes.
    pub versions: Range<u16>,
    /// Feature levels that it reads and writes.
    pub levels: Range<u32>,
    /// The purpose of this connection.
    pub lane: Lane,
    /// The number of its loop.
    pub loop_index: u16,
    /// What it lets the other half have on its way here.
    pub credit: Bounds,
}

impl Hello {
    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(FORMAT);
        out.extend_from_slice(&self.cluster.0.to_be_bytes());
        out.extend_from_slice(&self.incarnation.0.to_be_bytes());
        out.extend_from_slice(&self.versions.first.to_be_bytes());
        out.extend_from_slice(&self.versions.last.to_be_bytes());
        out.extend_from_slice(&self.levels.first.to_be_bytes());
        out.extend_from_slice(&self.levels.last.to_be_bytes());
        out.push(match self.lane {
            Lane::Data => 0,
            Lane::Control => 1,
        });
        out.extend_from_slice(&self.loop_index.to_be_bytes());
        out.extend_from_slice(&self.credit.messages.to_be_bytes());
        out.extend_from_slice(&self.credit.bytes.to_be_bytes());
        // A name has at most 63 bytes.
        out.push(self.node.as_str().len() as u8);
        out.extend_from_slice(self.node.as_str().as_bytes());
    }

    /// Reads it; `None` where the bytes are none. A later format may append fields.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        if fields.u8()? < FORMAT {
            return None;
        }
        let cluster = ClusterId(fields.u64()?);
        let incarnation = Incarnation(fields.u64()?);
        let versions = Range { first: fields.u16()?, last: fields.u16()? };
        let levels = Range { first: fields.u32()?, last: fields.u32()? };
        let lane = match fields.u8()? {
            0 => Lane::Data,
            1 => Lane::Control,
            _ => return None,
        };
        let loop_index = fields.u16()?;
        let credit = Bounds { messages: fields.u32()?, bytes: fields.u64()? };
        let length = usize::from(fields.u8()?);
        let node = NodeName::new(std::str::from_utf8(fields.bytes(length)?).ok()?).ok()?;
        Some(Self { cluster, node, incarnation, versions, levels, lane, loop_index, credit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            cluster: ClusterId(7),
            node: NodeName::new("node-1.example").expect("a name"),
            incarnation: Incarnation(3),
            versions: VERSIONS,
            levels: Range { first: 1, last: 4 },
            lane: Lane::Control,
            loop_index: 2,
            credit: Bounds { messages: 10, bytes: 1_000 },
        }
    }

    #[test]
    fn a_hello_is_read_as_it_was_written_and_no_part_of_it_is_one() {
        let mut bytes = Vec::new();
        hello().encode(&mut bytes);
        assert_eq!(Hello::decode(&bytes), Some(hello()));
        assert!((0..bytes.len()).all(|end| Hello::decode(&bytes[..end]).is_none()));
        bytes.extend_from_slice(b"a later field");
        assert_eq!(Hello::decode(&bytes), Some(hello()));
    }

    #[test]
    fn names_are_those_that_a_certificate_can_carry() {
        for good in ["a", "node-1", "n1.zone-2.example"] {
            assert!(NodeName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "a b", "A", "ä", &"a".repeat(64)] {
            assert!(NodeName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_have_their_greatest_value_in_common() {
        let range = |first, last| Range { first, last };
        assert_eq!(range(1, 3).common(&range(2, 5)), Some(3));
        assert_eq!(range(1, 3).common(&range(4, 5)), None);
        assert_eq!(range(2, 2).common(&range(1, 9)), Some(2));
    }
}
