//! The open streams of a connection: a table of 20 bytes a stream, allocated with the first one.
//!
//! Open addressing with linear probing, and no tombstones: a removal moves back what follows it. The ids of
//! a peer are its own choice, so a request whose id would make the table slow is refused: no id costs more
//! than [`PROBES_MAX`] looks.

use crate::frame::{Interaction, REQUEST_N_MAX, StreamId};

use super::event::{Role, Tag};

/// Slots that a search may look at. Ids in sequence need one or two; 256 are 5 KB, and come only from ids
/// that were chosen to collide.
const PROBES_MAX: usize = 256;

/// Slots of the first table.
const SLOTS_MIN: usize = 8;

/// One open stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// 0 in a free slot.
    pub id: StreamId,
    /// The driver's.
    pub tag: Tag,
    /// Payloads that the peer lets us send. [`REQUEST_N_MAX`] is as many as we like.
    pub credit: u32,
    /// Payloads that we let the peer send. [`REQUEST_N_MAX`] is as many as it likes.
    pub demand: u32,
    pub interaction: Interaction,
    pub state: State,
}

/// What has happened on a stream, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State(u8);

impl State {
    /// The peer sent the request, and nothing has happened since.
    pub const NEW: Self = Self(0);
    /// We sent the request.
    pub const REQUESTER: Self = Self(1);
    /// We send no more values.
    pub const SENT_ALL: Self = Self(2);
    /// The peer sends no more values.
    pub const HEARD_ALL: Self = Self(4);
    /// Fragments of a payload are being reassembled.
    pub const REASSEMBLING: Self = Self(8);
    /// Fragments of a payload are being handed out.
    pub const PIECING: Self = Self(16);
    /// The driver does not know of this request yet.
    pub const UNDELIVERED: Self = Self(32);
    /// The driver wants payloads in pieces.
    pub const PIECES: Self = Self(64);
    /// We are sending fragments of a payload.
    pub const SENDING: Self = Self(128);

    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[inline]
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[inline]
    pub fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    #[inline]
    pub fn clear(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

impl Stream {
    /// A free slot.
    pub const NONE: Self = Self {
        id: StreamId::CONNECTION,
        tag: Tag(0),
        credit: 0,
        demand: 0,
        interaction: Interaction::RequestResponse,
        state: State::NEW,
    };

    #[inline]
    pub const fn is_some(&self) -> bool {
        self.id.0 != 0
    }

    #[inline]
    pub const fn role(&self) -> Role {
        if self.state.has(State::REQUESTER) { Role::Requester } else { Role::Responder }
    }

    /// Whether nothing more can be sent or received.
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.state.has(State(State::SENT_ALL.0 | State::HEARD_ALL.0))
    }

    /// Adds to a credit or a demand; the sum stays at its greatest value.
    #[inline]
    pub const fn add(sum: u32, n: u32) -> u32 {
        let sum = sum.saturating_add(n);
        if sum > REQUEST_N_MAX { REQUEST_N_MAX } else { sum }
    }

    /// Takes one of a credit or a demand that is not 0.
    #[inline]
    pub const fn take(sum: u32) -> u32 {
        if sum == REQUEST_N_MAX { sum } else { sum - 1 }
    }
}

/// The table was not the place for that id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Collides;

/// The open streams.
#[derive(Debug)]
pub(super) struct Streams {
    /// As many as a power of two, or none.
    slots: Box<[Stream]>,
    len: u32,
    /// 32 minus the logarithm of the slots.
    shift: u32,
}

impl Streams {
    pub fn new() -> Self {
        Self { slots: Box::default(), len: 0, shift: 32 }
    }

    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Where the search for `id` begins. Fibonacci hashing: ids in sequence fall far apart.
    #[inline]
    const fn home(&self, id: StreamId) -> usize {
        (id.0.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    #[inline]
    fn find(&self, id: StreamId) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = self.home(id) & mask;
        loop {
            let slot = &self.slots[at];
            if slot.id == id {
                return Some(at);
            }
            if !slot.is_some() {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Reads the slots where searches for these ids begin.
    #[inline]
    pub fn prefetch(&self, ids: impl Iterator<Item = StreamId>) {
        let Some(mask) = self.slots.len().checked_sub(1) else { return };
        std::hint::black_box(ids.fold(0, |sum, id| sum ^ self.slots[self.home(id) & mask].credit));
    }

    #[inline]
    pub fn stream(&self, id: StreamId) -> Option<&Stream> {
        if id == StreamId::CONNECTION {
            return None;
        }
        self.find(id).map(|at| &self.slots[at])
    }

    #[inline]
    pub fn stream_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        if id == StreamId::CONNECTION {
            return None;
        }
        self.find(id).map(|at| &mut self.slots[at])
    }

    /// Adds a stream that is not in the table.
    #[inline]
    pub fn insert(&mut self, stream: Stream) -> Result<(), Collides> {
        // Full at four fifths.
        if (self.len as usize + 1) * 5 > self.slots.len() * 4 {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = self.home(stream.id) & mask;
        let mut probes = 0;
        while self.slots[at].is_some() {
            debug_assert_ne!(self.slots[at].id, stream.id, "a stream is inserted once");
            at = (at + 1) & mask;
            probes += 1;
            if probes > PROBES_MAX {
                return Err(Collides);
            }
        }
        self.slots[at] = stream;
        self.len += 1;
        Ok(())
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, vec![Stream::NONE; slots].into_boxed_slice());
        self.shift = 32 - slots.trailing_zeros();
        let mask = slots - 1;
        for stream in old.iter().filter(|stream| stream.is_some()) {
            let mut at = self.home(stream.id) & mask;
            while self.slots[at].is_some() {
                at = (at + 1) & mask;
            }
            self.slots[at] = *stream;
        }
    }

    #[inline]
    pub fn remove(&mut self, id: StreamId) -> Option<Stream> {
        if id == StreamId::CONNECTION {
            return None;
        }
        let mut hole = self.find(id)?;
        let removed = self.slots[hole];
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let next = self.slots[at];
            if !next.is_some() {
                break;
            }
            // It may move back if its home is not between the hole and where it stands.
            let from_home = at.wrapping_sub(self.home(next.id)) & mask;
            let from_hole = at.wrapping_sub(hole) & mask;
            if from_home >= from_hole {
                self.slots[hole] = next;
                hole = at;
            }
        }
        self.slots[hole].id = StreamId::CONNECTION;
        self.len -= 1;
        Some(removed)
    }

    /// Gives the memory back if no stream is open.
    pub fn shrink(&mut self) {
        if self.len == 0 && !self.slots.is_empty() {
            *self = Self::new();
        }
    }

    /// Bytes of the table.
    pub fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<Stream>()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.slots.iter().filter(|stream| stream.is_some())
    }
}

// 1,000,000 streams are 20 MB of slots, and at four fifths full 25 MB of table.
const _: () = assert!(size_of::<Stream>() == 20);
