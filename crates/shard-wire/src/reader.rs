//! Reads one message of Protocol Buffers out of a frame.
//!
//! Bytes are slices of the frame. Memory for lists and boxes is taken from a budget before it is
//! allocated, so that a short frame cannot ask for much of it; nesting is bounded too.

use std::cell::Cell;

use bytes::Bytes;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::Error;

/// Messages within each other. The deepest that a node writes is a selector of
/// `Selector::DEPTH_MAX` levels, which are two messages each.
const DEPTH_MAX: u32 = 64;

/// Memory that any frame may ask for, beside a multiple of its length.
const MEMORY_BASE: usize = 16 << 20;

/// Memory that a byte of a frame may ask for, on average: an outcome of two bytes is a value of 56.
const MEMORY_PER_BYTE: usize = 8;

/// The memory that is left for what a frame is decoded to, without its texts and bytes.
pub(crate) struct Budget(Cell<usize>);

impl Budget {
    pub(crate) fn of(frame_bytes: usize) -> Self {
        Self(Cell::new(MEMORY_BASE + frame_bytes * MEMORY_PER_BYTE))
    }
}

/// What is left of a message.
pub(crate) struct Reader<'a> {
    frame: &'a Bytes,
    rest: &'a [u8],
    budget: &'a Budget,
    depth: u32,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(frame: &'a Bytes, budget: &'a Budget) -> Self {
        Self { frame, rest: frame, budget, depth: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// All that is left.
    pub(crate) fn take_all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// All that is left, as a slice of the frame.
    pub(crate) fn take_bytes(&mut self) -> Bytes {
        self.frame.slice_ref(self.take_all())
    }

    /// The number and the wire type of the next field; none at the end.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Option<(u32, WireType)>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        Ok(Some(decode_key(&mut self.rest)?))
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        Ok(decode_varint(&mut self.rest)?)
    }

    pub(crate) fn fixed<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Error> {
        let (taken, rest) =
            self.rest.split_first_chunk().ok_or_else(|| Error::malformed("it ends within a number"))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The content of a field with a length.
    pub(crate) fn inner(&mut self) -> Result<Reader<'a>, Error> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::malformed(format!("more than {DEPTH_MAX} messages are within each other")));
        }
        let bytes = self.varint()?;
        let (inner, rest) =
            usize::try_from(bytes).ok().and_then(|bytes| self.rest.split_at_checked(bytes)).ok_or_else(
                || Error::malformed(format!("{bytes} bytes are announced, and {} follow", self.rest.len())),
            )?;
        self.rest = rest;
        Ok(Reader { rest: inner, depth: self.depth + 1, ..*self })
    }

    /// Passes over a field that this version does not know.
    pub(crate) fn skip(&mut self, tag: u32, wire: WireType) -> Result<(), Error> {
        Ok(skip_field(wire, tag, &mut self.rest, DecodeContext::default())?)
    }

    /// Takes memory for a `T` out of the budget.
    #[inline]
    pub(crate) fn allow<T>(&self) -> Result<(), Error> {
        let Budget(left) = self.budget;
        let rest = left.get().checked_sub(size_of::<T>());
        left.set(rest.ok_or_else(|| Error::malformed("it asks for more memory than its length allows"))?);
        Ok(())
    }
}
