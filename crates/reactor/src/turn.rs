//! What one turn of the loop is about to write.
//!
//! Bytes are encoded once into one arena; each delivery is an element of 20 bytes in a chain that
//! starts at its connection's entry. Arena and elements are emptied at the end of the turn and used
//! again, so nothing is allocated once warm.

use std::sync::Arc;

use crate::slab::{Entry, NONE};

/// Above this much the turn is written before more is staged, in bytes: what a cache holds with room for sockets.
pub(crate) const ARENA_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Above this many deliveries the turn is written before more is staged: 20 MB of elements.
pub(crate) const ELEMENTS_MAX: usize = 1024 * 1024;
/// What the arena keeps between turns, in bytes.
const ARENA_BYTES_KEPT: usize = 2 * ARENA_BYTES_MAX;

/// No patch.
const UNPATCHED: u32 = u32::MAX;

/// Bytes staged in this turn. It is valid until the turn's end or the next [`crate::Io::reserve_turn`];
/// delivering it later does nothing and is counted as a bug in debug builds.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub(crate) offset: u32,
    pub(crate) length: u32,
    pub(crate) epoch: u32,
}

impl Segment {
    /// Bytes in it.
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether nothing was staged.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// One delivery.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    /// Place in the arena, or of a shared payload.
    offset: u32,
    length: u32,
    pub(crate) next: u32,
    patch_at: u32,
    patch: u16,
    shared: u16,
}

const _: () = assert!(size_of::<Element>() == 20);

/// What an element stands for.
pub(crate) enum Bytes<'a> {
    Plain(&'a [u8]),
    /// Two bytes at the place are this connection's own.
    Patched(&'a [u8], usize, [u8; 2]),
    Shared(&'a Arc<[u8]>),
}

impl Bytes<'_> {
    /// Shows the bytes in order, in as many pieces as they lie in.
    pub(crate) fn each(&self, mut show: impl FnMut(&[u8])) {
        match self {
            Bytes::Plain(bytes) => show(bytes),
            Bytes::Shared(bytes) => show(bytes),
            Bytes::Patched(bytes, at, value) => {
                show(&bytes[..*at]);
                show(value);
                show(&bytes[at + 2..]);
            }
        }
    }

    pub(crate) fn append_to(&self, buffer: &mut Vec<u8>) {
        match self {
            Bytes::Plain(bytes) => buffer.extend_from_slice(bytes),
            Bytes::Shared(bytes) => buffer.extend_from_slice(bytes),
            Bytes::Patched(bytes, at, value) => {
                let start = buffer.len();
                buffer.extend_from_slice(bytes);
                buffer[start + at..start + at + 2].copy_from_slice(value);
            }
        }
    }
}

/// The turn's arena, elements and shared payloads.
#[derive(Default)]
pub(crate) struct Turn {
    pub(crate) arena: Vec<u8>,
    elements: Vec<Element>,
    shared: Vec<Arc<[u8]>>,
    pub(crate) epoch: u32,
}

impl Turn {
    pub(crate) fn is_full(&self) -> bool {
        self.arena.len() > ARENA_BYTES_MAX || self.elements.len() > ELEMENTS_MAX
    }

    /// The arena must stay within 32-bit offsets; a handler that never reserves is stopped here.
    pub(crate) fn is_overfull(&self) -> bool {
        self.arena.len() > 1 << 30 || self.elements.len() > 1 << 30
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.capacity() + self.elements.capacity() * size_of::<Element>()
    }

    pub(crate) fn stage(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Segment {
        let start = self.arena.len();
        encode(&mut self.arena);
        debug_assert!(self.arena.len() >= start, "an encoder appends");
        Segment { offset: start as u32, length: (self.arena.len() - start) as u32, epoch: self.epoch }
    }

    /// The bytes of a segment of this turn; none of another's.
    pub(crate) fn staged(&self, segment: Segment) -> &[u8] {
        if segment.epoch != self.epoch {
            return &[];
        }
        let start = segment.offset as usize;
        self.arena.get(start..start + segment.length as usize).unwrap_or_default()
    }

    /// Adds a segment to a connection's chain.
    pub(crate) fn push(&mut self, entry: &mut Entry, segment: Segment) {
        if let Some(tail) = self.elements.get_mut(entry.tail as usize)
            && tail.patch_at == UNPATCHED
            && tail.shared == 0
            && tail.offset + tail.length == segment.offset
        {
            // The two lie side by side: one element does for both.
            tail.length += segment.length;
            return;
        }
        self.link(entry, segment, UNPATCHED, 0, 0);
    }

    pub(crate) fn push_patched(&mut self, entry: &mut Entry, segment: Segment, at: u32, value: u16) {
        self.link(entry, segment, at, value, 0);
    }

    pub(crate) fn push_shared(&mut self, entry: &mut Entry, bytes: &Arc<[u8]>) {
        // A payload for ten thousand connections is usually the one before.
        if !self.shared.last().is_some_and(|last| Arc::ptr_eq(last, bytes)) {
            self.shared.push(bytes.clone());
        }
        let segment =
            Segment { offset: self.shared.len() as u32 - 1, length: bytes.len() as u32, epoch: self.epoch };
        self.link(entry, segment, UNPATCHED, 0, 1);
    }

    fn link(&mut self, entry: &mut Entry, segment: Segment, patch_at: u32, patch: u16, shared: u16) {
        let place = self.elements.len() as u32;
        self.elements.push(Element {
            offset: segment.offset,
            length: segment.length,
            next: NONE,
            patch_at,
            patch,
            shared,
        });
        match self.elements.get_mut(entry.tail as usize) {
            Some(tail) => tail.next = place,
            None => entry.head = place,
        }
        entry.tail = place;
    }

    pub(crate) fn element(&self, place: u32) -> Element {
        self.elements[place as usize]
    }

    /// What an element stands for.
    pub(crate) fn bytes_of(&self, element: &Element) -> Bytes<'_> {
        if element.shared != 0 {
            return Bytes::Shared(&self.shared[element.offset as usize]);
        }
        let bytes = &self.arena[element.offset as usize..(element.offset + element.length) as usize];
        match element.patch_at {
            UNPATCHED => Bytes::Plain(bytes),
            at => Bytes::Patched(bytes, at as usize, element.patch.to_be_bytes()),
        }
    }

    /// The elements of a chain in order.
    pub(crate) fn chain(&self, head: u32) -> Chain<'_> {
        Chain { turn: self, next: head }
    }

    /// Forgets everything; segments of this turn are void.
    pub(crate) fn clear(&mut self) {
        self.arena.clear();
        if self.arena.capacity() > ARENA_BYTES_KEPT {
            self.arena.shrink_to(ARENA_BYTES_KEPT);
        }
        self.elements.clear();
        self.shared.clear();
        self.epoch = self.epoch.wrapping_add(1);
    }
}

impl Element {
    pub(crate) fn len(&self) -> usize {
        self.length as usize
    }
}

/// Iterates over a chain.
pub(crate) struct Chain<'a> {
    turn: &'a Turn,
    next: u32,
}

impl<'a> Iterator for Chain<'a> {
    type Item = Bytes<'a>;

    fn next(&mut self) -> Option<Bytes<'a>> {
        if self.next == NONE {
            return None;
        }
        let element = &self.turn.elements[self.next as usize];
        self.next = element.next;
        Some(self.turn.bytes_of(element))
    }
}
