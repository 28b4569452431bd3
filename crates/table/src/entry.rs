//! The entries of a table, and their form as bytes.

use std::fmt;

/// What a table holds.
///
/// Entries of a fixed size encode fastest when they build one array and append it at once:
///
/// ```
/// use stadium_table::{Damaged, Entry, take};
///
/// struct Score(u64);
///
/// impl Entry for Score {
///     fn vacant() -> Self {
///         Score(0)
///     }
///
///     fn encode(&self, out: &mut Vec<u8>) {
///         out.extend_from_slice(&self.0.to_le_bytes());
///     }
///
///     fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
///         Ok(Score(u64::from_le_bytes(take(input)?)))
///     }
/// }
/// ```
pub trait Entry: Sized {
    /// The entry in a free place. It should own no memory: a page is filled with them.
    fn vacant() -> Self;

    /// Appends the entry. It must be possible to find its end again: the bytes behind it are
    /// another entry.
    fn encode(&self, out: &mut Vec<u8>);

    /// Takes one entry off the front of the input.
    ///
    /// # Errors
    ///
    /// Bytes that `encode` cannot have written.
    fn decode(input: &mut &[u8]) -> Result<Self, Damaged>;
}

/// An entry of which a part stands beside the table, because most entries do without it.
///
/// The table owns these parts, so that it saves an entry whole before it changes. Who removes an
/// entry takes its part out first, see [`Table::divided_mut`](crate::Table::divided_mut). Every
/// [`Entry`] is one that has no such part.
pub trait Divided: Sized {
    /// The parts of all entries.
    type Beside: Default;

    /// The entry in a free place, see [`Entry::vacant`]. It has no part beside the table.
    fn vacant() -> Self;

    /// Appends the entry and its part, see [`Entry::encode`].
    fn encode(&self, beside: &Self::Beside, out: &mut Vec<u8>);

    /// Takes one entry off the front of the input and stores its part, see [`Entry::decode`].
    ///
    /// # Errors
    ///
    /// Bytes that `encode` cannot have written.
    fn decode(input: &mut &[u8], beside: &mut Self::Beside) -> Result<Self, Damaged>;
}

impl<T: Entry> Divided for T {
    type Beside = ();

    fn vacant() -> Self {
        Entry::vacant()
    }

    #[inline]
    fn encode(&self, (): &(), out: &mut Vec<u8>) {
        Entry::encode(self, out);
    }

    #[inline]
    fn decode(input: &mut &[u8], (): &mut ()) -> Result<Self, Damaged> {
        Entry::decode(input)
    }
}

/// Bytes of a checkpoint that no table wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged(pub &'static str);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "damaged checkpoint: {}", self.0)
    }
}

impl std::error::Error for Damaged {}

/// Takes so many bytes off the front of the input.
///
/// # Errors
///
/// An input that is shorter.
pub fn take<const BYTES: usize>(input: &mut &[u8]) -> Result<[u8; BYTES], Damaged> {
    let (taken, rest) = input.split_first_chunk::<BYTES>().ok_or(Damaged("it ends within an entry"))?;
    *input = rest;
    Ok(*taken)
}
