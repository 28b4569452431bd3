//! What can be wrong with the books, and where.
//!
//! Each kind has a stable code; docs/reference/errors/audit.md describes the remedy.

use std::fmt;

use serde::Serialize;

/// Something that is wrong with the books.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What sort of thing.
    pub kind: Kind,
    /// In whose journal.
    pub shard: u16,
    /// The record's position in it; none where it is about the shard as a whole.
    pub position: Option<u64>,
    /// What is wrong with what.
    pub what: String,
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) shard: u16,
    pub(crate) position: u64,
}

impl Spot {
    pub(crate) fn problem(self, kind: Kind, what: impl Into<String>) -> Problem {
        Problem { kind, shard: self.shard, position: Some(self.position), what: what.into() }
    }
}

macro_rules! kinds {
    ($($(#[$docs:meta])* $name:ident = $code:literal, $title:literal;)*) => {
        /// What sort of thing is wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$docs])* $name,)*
        }

        impl Kind {
            /// The stable code.
            pub fn code(self) -> &'static str {
                match self {
                    $(Kind::$name => $code,)*
                }
            }

            /// Its name in a few words.
            pub fn title(self) -> &'static str {
                match self {
                    $(Kind::$name => $title,)*
                }
            }

            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$name,)*];
        }
    };
}

kinds! {
    /// The journal itself is damaged: a checksum is wrong, a segment is missing.
    Damage = "ADT-010", "journal damaged";
    /// A record or an event that cannot be read.
    Unreadable = "ADT-011", "record not readable";
    /// A chain value that does not follow from what is before it.
    Chain = "ADT-012", "chain broken";
    /// A seal whose number, tree or root is not what its period's records give.
    Seal = "ADT-013", "seal wrong";
    /// An event about an asset, account, hold or transfer that is not there, or not any more.
    Unknown = "ADT-014", "event about nothing";
    /// Numbers that do not follow each other: accounts, assets, entries.
    Order = "ADT-015", "number out of order";
    /// A balance after an entry, or an amount held, that is not what the entries give.
    Balance = "ADT-016", "balance wrong";
    /// An account that may not be overdrawn has less than nothing available.
    Overdrawn = "ADT-017", "overdrawn";
    /// An account holds more than it may.
    Ceiling = "ADT-018", "above the ceiling";
    /// Something was booked on a closed account.
    Closed = "ADT-019", "booked on a closed account";
    /// The balances of an asset are not zero in all.
    Sum = "ADT-020", "sum not zero";
    /// A hold that ended twice, too early, or with more than it held.
    Hold = "ADT-021", "hold wrong";
    /// A transfer that was reversed twice, or not with what it moved.
    Reversal = "ADT-022", "reversal wrong";
    /// An id that was booked twice while it was remembered.
    Twice = "ADT-023", "booked twice";
    /// A transfer between shards that is not the same on all of them.
    Group = "ADT-024", "shards disagree";
    /// An account that lives on a shard where its name does not belong.
    Home = "ADT-025", "account on the wrong shard";
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}", self.shard)?;
        if let Some(position) = self.position {
            write!(f, ", record {position:#x}")?;
        }
        write!(f, ": {} ({}): {}", self.kind.title(), self.kind.code(), self.what)
    }
}
