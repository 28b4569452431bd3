//! A slab of pages that can be saved while it changes.
//!
//! ```text
//! page 0             page 1             page 2
//! [e e . e e . . e]  [e . e e e e e e]  [e e e . . . . .]     e entry, . vacant
//!                     ^ cursor of a running checkpoint: what is left of it is saved
//! ```
//!
//! An entry right of the cursor that changes is saved first, and marked: its page is saved without it.
//! A restored table has only the pages that hold entries; the gaps are filled before it grows.

use crate::entry::{Damaged, Divided, take};
use crate::sparse::Sparse;

/// Entries of a page: the cursor's step, and the most that one slice can overshoot its limit by.
pub const PAGE_ENTRIES: usize = 256;

const WORDS: usize = PAGE_ENTRIES / 64;

/// One bit for each place of a page.
type Mask = [u64; WORDS];

/// The page number behind every page: the end of the list, and where the cursor of no checkpoint stands.
const NOWHERE: u32 = u32::MAX;

/// Pages of a table at most: 2^30 entries, which no setting of any machine exceeds.
const PAGES_MAX: usize = 1 << 22;

/// What a piece of a checkpoint begins with: a page number, a mask, and the page's entries in its order.
const PIECE_PAGE: u8 = 1;
/// A place's number, and the one entry that it held.
const PIECE_ENTRY: u8 = 2;
/// The number of all entries (u64): nothing follows.
const PIECE_END: u8 = 3;

/// Bytes that the outbox keeps allocated once a checkpoint is over.
const OUTBOX_BYTES_KEPT: usize = 64 << 10;

/// Entries in pages, by number. Numbers of removed entries are given out again.
///
/// `B` holds the parts of entries that are [`Divided`].
///
/// A page that became empty keeps its memory for the entries to come: a table is as large as it ever was since it was restored.
pub struct Table<T, B = ()> {
    pages: Sparse<Option<Page<T>>>,
    /// Parts of entries.
    beside: B,
    /// Pages that are there.
    pages_made: u32,
    /// One more than the highest number of a page.
    pages_end: u32,
    /// Left of it no page is missing.
    gap: u32,
    /// The first page with a vacant place; [`NOWHERE`] where all are full.
    vacant: u32,
    entries: u32,
    /// Pages left of it are in the running checkpoint. [`NOWHERE`] while none runs.
    cursor: u32,
    /// Pages that there were when it began; those behind are not part of it.
    pages_saved: u32,
    /// Entries that the running checkpoint holds so far.
    entries_saved: u64,
    /// Entries that changed before the cursor reached them, as they were. Emptied by each slice, so it
    /// holds at most one for each change since; all in all no more than the table's own entries.
    outbox: Vec<u8>,
}

/// Entries, and what is known about their places.
struct Page<T> {
    entries: Box<[T; PAGE_ENTRIES]>,
    occupied: Mask,
    /// Places that the running checkpoint has already, or need not have. All zero left of the cursor.
    saved: Mask,
    /// The next page with a vacant place, where this one has one.
    next: u32,
}

impl<T: Divided<Beside = B>, B: Default> Default for Table<T, B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Divided<Beside = B>, B: Default> Table<T, B> {
    /// An empty table, which holds no memory yet.
    pub fn new() -> Self {
        Self {
            pages: Sparse::new(),
            beside: B::default(),
            pages_made: 0,
            pages_end: 0,
            gap: 0,
            vacant: NOWHERE,
            entries: 0,
            cursor: NOWHERE,
            pages_saved: 0,
            entries_saved: 0,
            outbox: Vec::new(),
        }
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.entries as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Bytes of memory that the table holds, not counting parts beside it and what entries own elsewhere.
    pub fn bytes(&self) -> usize {
        self.pages_made as usize * PAGE_ENTRIES * size_of::<T>() + self.pages.bytes() + self.outbox.capacity()
    }

    /// Puts an entry into a vacant place, and returns the place.
    ///
    /// # Panics
    ///
    /// With more than 2^30 entries, which no bound of ours allows.
    pub fn insert(&mut self, entry: T) -> u32 {
        if self.vacant == NOWHERE {
            self.grow();
        }
        let number = self.vacant as usize;
        let place = first_clear(&self.page(number).occupied).expect("a page on the list has a vacant place");
        let index = (number * PAGE_ENTRIES + place) as u32;
        self.before_change(index);
        let page = self.page_mut(number);
        set(&mut page.occupied, place);
        page.entries[place] = entry;
        if first_clear(&page.occupied).is_none() {
            self.vacant = page.next;
        }
        self.entries += 1;
        index
    }

    /// Takes an entry out; none where the place is vacant.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        if !self.contains(index) {
            return None;
        }
        self.before_change(index);
        let (number, place) = split(index);
        let vacant = self.vacant;
        let page = self.page_mut(number);
        let was_full = first_clear(&page.occupied).is_none();
        if was_full {
            page.next = vacant;
        }
        clear(&mut page.occupied, place);
        let entry = std::mem::replace(&mut page.entries[place], T::vacant());
        if was_full {
            self.vacant = number as u32;
        }
        self.entries -= 1;
        Some(entry)
    }

    /// Whether the place holds an entry.
    #[inline]
    pub fn contains(&self, index: u32) -> bool {
        let (page, place) = split(index);
        self.pages.page(page).and_then(Option::as_ref).is_some_and(|page| is_set(&page.occupied, place))
    }

    /// The entry there, if any.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        self.contains(index).then(|| self.at(index))
    }

    /// The entry there, if any, to be changed.
    #[inline]
    pub fn entry_mut(&mut self, index: u32) -> Option<&mut T> {
        if !self.contains(index) {
            return None;
        }
        Some(self.at_mut(index))
    }

    /// The entry there, known to be one: one look less than [`Self::get`].
    ///
    /// # Panics
    ///
    /// With a number that was never given out.
    #[inline]
    pub fn at(&self, index: u32) -> &T {
        debug_assert!(self.contains(index), "the caller knows that the place is occupied");
        let (page, place) = split(index);
        &self.page(page).entries[place]
    }

    /// The entry there, known to be one, to be changed.
    ///
    /// # Panics
    ///
    /// With a number that was never given out.
    #[inline]
    pub fn at_mut(&mut self, index: u32) -> &mut T {
        debug_assert!(self.contains(index), "the caller knows that the place is occupied");
        self.before_change(index);
        let (page, place) = split(index);
        &mut self.page_mut(page).entries[place]
    }

    /// The entry there, known to be one, and the parts of all: its own may be changed with it.
    ///
    /// # Panics
    ///
    /// With a number that was never given out.
    #[inline]
    pub fn divided_mut(&mut self, index: u32) -> (&mut T, &mut B) {
        debug_assert!(self.contains(index), "the caller knows that the place is occupied");
        self.before_change(index);
        let (number, place) = split(index);
        let page = self.pages.page_mut(number).and_then(Option::as_mut);
        let page = page.expect("a place that was given out has a page");
        (&mut page.entries[place], &mut self.beside)
    }

    /// The parts of entries.
    #[inline]
    pub fn beside(&self) -> &B {
        &self.beside
    }

    /// All entries with their numbers, in the order of these.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.pages.iter().filter_map(|(number, page)| Some((number, page.as_ref()?))).flat_map(
            |(number, page)| {
                page.entries
                    .iter()
                    .enumerate()
                    .filter(|&(place, _)| is_set(&page.occupied, place))
                    .map(move |(place, entry)| ((number * PAGE_ENTRIES + place) as u32, entry))
            },
        )
    }

    /// Removes all entries and gives the memory back. A running checkpoint is given up.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    #[inline]
    fn page(&self, number: usize) -> &Page<T> {
        self.pages.page(number).and_then(Option::as_ref).expect("a place that was given out has a page")
    }

    #[inline]
    fn page_mut(&mut self, number: usize) -> &mut Page<T> {
        self.pages.page_mut(number).and_then(Option::as_mut).expect("a place that was given out has a page")
    }

    /// Makes the first page that is missing, all of it vacant.
    fn grow(&mut self) {
        while self.pages.page(self.gap as usize).is_some_and(Option::is_some) {
            self.gap += 1;
        }
        let number = self.gap;
        assert!((number as usize) < PAGES_MAX, "a table holds at most 2^30 entries");
        let next = self.vacant;
        self.make_page(number).next = next;
        self.vacant = number;
    }

    /// The page of that number, made where it is missing.
    fn make_page(&mut self, number: u32) -> &mut Page<T> {
        let page = self.pages.reach(number as usize);
        if page.is_none() {
            self.pages_made += 1;
            self.pages_end = self.pages_end.max(number + 1);
        }
        page.get_or_insert_with(|| {
            let entries: Box<[T]> = (0..PAGE_ENTRIES).map(|_| T::vacant()).collect();
            let entries = entries.try_into().ok().expect("it was made with as many entries");
            Page { entries, occupied: [0; WORDS], saved: [0; WORDS], next: NOWHERE }
        })
    }
}

/// Saving while it changes.
impl<T: Divided<Beside = B>, B: Default> Table<T, B> {
    /// Begins a checkpoint of the table as it stands now. One that still ran is given up.
    pub fn checkpoint_begin(&mut self) {
        self.checkpoint_abort();
        self.cursor = 0;
        self.pages_saved = self.pages_end;
        self.entries_saved = 0;
    }

    /// Whether a checkpoint was begun and not encoded to its end.
    pub fn checkpoint_runs(&self) -> bool {
        self.cursor != NOWHERE
    }

    /// Appends the next slice of the running checkpoint: whole pieces, until `bytes_max` are
    /// exceeded or it is complete. Returns whether there is more. A slice is a unit of
    /// [`Self::restore`].
    ///
    /// First comes what changed meanwhile, however much it is; then pages, of which the last may go beyond `bytes_max`.
    pub fn checkpoint_next(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> bool {
        if self.cursor == NOWHERE {
            return false;
        }
        let start = out.len();
        out.extend_from_slice(&self.outbox);
        self.outbox.clear();
        while self.cursor < self.pages_saved {
            if out.len() - start >= bytes_max {
                return true;
            }
            self.save_page(out);
        }
        out.push(PIECE_END);
        out.extend_from_slice(&self.entries_saved.to_le_bytes());
        self.cursor = NOWHERE;
        self.outbox.shrink_to(OUTBOX_BYTES_KEPT);
        false
    }

    /// Gives up the running checkpoint, if any.
    pub fn checkpoint_abort(&mut self) {
        if self.cursor == NOWHERE {
            return;
        }
        for (_, page) in self.pages.iter_mut() {
            if let Some(page) = page {
                page.saved = [0; WORDS];
            }
        }
        self.cursor = NOWHERE;
        self.outbox.clear();
        self.outbox.shrink_to(OUTBOX_BYTES_KEPT);
    }

    /// Saves the rest of the next page; missing pages are skipped.
    fn save_page(&mut self, out: &mut Vec<u8>) {
        let next = self.pages.next(self.cursor as usize, Option::is_some);
        let Some(number) = next.filter(|&number| number < self.pages_saved as usize) else {
            self.cursor = self.pages_saved;
            return;
        };
        self.cursor = number as u32 + 1;
        let page = self.pages.page_mut(number).and_then(Option::as_mut).expect("it was found just now");
        let mut mask = page.occupied;
        for (word, saved) in mask.iter_mut().zip(&mut page.saved) {
            *word &= !*saved;
            *saved = 0;
        }
        if mask == [0; WORDS] {
            return;
        }
        out.push(PIECE_PAGE);
        out.extend_from_slice(&(number as u32).to_le_bytes());
        for word in mask {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for (number, mut word) in mask.into_iter().enumerate() {
            while word != 0 {
                page.entries[number * 64 + word.trailing_zeros() as usize].encode(&self.beside, out);
                word &= word - 1;
            }
        }
        self.entries_saved += mask.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
    }

    /// Everything that changes an entry passes here first.
    #[inline]
    fn before_change(&mut self, index: u32) {
        if index >> 8 >= self.cursor {
            self.save_before_change(index);
        }
    }

    #[cold]
    fn save_before_change(&mut self, index: u32) {
        let (number, place) = split(index);
        if number as u32 >= self.pages_saved {
            return;
        }
        let page = self.pages.page_mut(number).and_then(Option::as_mut).expect("what changes has a page");
        if is_set(&page.saved, place) {
            return;
        }
        set(&mut page.saved, place);
        if is_set(&page.occupied, place) {
            self.outbox.push(PIECE_ENTRY);
            self.outbox.extend_from_slice(&index.to_le_bytes());
            page.entries[place].encode(&self.beside, &mut self.outbox);
            self.entries_saved += 1;
        }
    }
}

/// Coming back.
impl<T: Divided<Beside = B>, B: Default> Table<T, B> {
    /// Takes in one slice of a checkpoint, in the order in which they were written, into a table
    /// that was empty before the first. Returns whether it was the last one.
    ///
    /// # Errors
    ///
    /// Bytes that no checkpoint holds; the table is of no use afterwards.
    pub fn restore(&mut self, mut slice: &[u8]) -> Result<Restored, Damaged> {
        let input = &mut slice;
        while let Some((&kind, rest)) = input.split_first() {
            *input = rest;
            match kind {
                PIECE_PAGE => self.restore_page(input)?,
                PIECE_ENTRY => {
                    let index = u32::from_le_bytes(take(input)?);
                    let entry = T::decode(input, &mut self.beside)?;
                    self.restore_entry(index, entry)?;
                }
                PIECE_END => {
                    if u64::from_le_bytes(take(input)?) != u64::from(self.entries) {
                        return Err(Damaged("entries are missing"));
                    }
                    if !input.is_empty() {
                        return Err(Damaged("something follows the end"));
                    }
                    self.link_vacant();
                    return Ok(Restored::Complete);
                }
                _ => return Err(Damaged("a piece of an unknown kind")),
            }
        }
        Ok(Restored::MoreToCome)
    }

    fn restore_page(&mut self, input: &mut &[u8]) -> Result<(), Damaged> {
        let number = u32::from_le_bytes(take(input)?);
        let mut mask: Mask = [0; WORDS];
        for word in &mut mask {
            *word = u64::from_le_bytes(take(input)?);
        }
        in_range(number)?;
        self.make_page(number);
        let page = self.pages.page_mut(number as usize).and_then(Option::as_mut);
        let page = page.expect("it was made just now");
        let mut restored = 0;
        for (number, &word) in mask.iter().enumerate() {
            if page.occupied[number] & word != 0 {
                return Err(Damaged("an entry occurs twice"));
            }
            let mut left = word;
            while left != 0 {
                page.entries[number * 64 + left.trailing_zeros() as usize] =
                    T::decode(input, &mut self.beside)?;
                left &= left - 1;
            }
            page.occupied[number] |= word;
            restored += word.count_ones();
        }
        self.entries += restored;
        Ok(())
    }

    /// Pages come nearly in their order, except that changed entries may come far ahead of theirs.
    fn restore_entry(&mut self, index: u32, entry: T) -> Result<(), Damaged> {
        let (number, place) = split(index);
        in_range(number as u32)?;
        let page = self.make_page(number as u32);
        if is_set(&page.occupied, place) {
            return Err(Damaged("an entry occurs twice"));
        }
        set(&mut page.occupied, place);
        page.entries[place] = entry;
        self.entries += 1;
        Ok(())
    }

    /// Links the pages that have room, the first one first.
    fn link_vacant(&mut self) {
        self.vacant = NOWHERE;
        for (number, page) in self.pages.iter_mut().rev() {
            if let Some(page) = page
                && first_clear(&page.occupied).is_some()
            {
                page.next = self.vacant;
                self.vacant = number as u32;
            }
        }
    }
}

fn in_range(page: u32) -> Result<(), Damaged> {
    if page as usize >= PAGES_MAX { Err(Damaged("a page number out of range")) } else { Ok(()) }
}

/// Whether a slice was a checkpoint's last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// The table is whole.
    Complete,
    /// Slices are missing yet.
    MoreToCome,
}

fn split(index: u32) -> (usize, usize) {
    ((index >> 8) as usize, (index & 0xff) as usize)
}

fn first_clear(mask: &Mask) -> Option<usize> {
    let word = mask.iter().position(|&word| word != u64::MAX)?;
    Some(word * 64 + mask[word].trailing_ones() as usize)
}

fn is_set(mask: &Mask, place: usize) -> bool {
    mask[place / 64] >> (place % 64) & 1 == 1
}

fn set(mask: &mut Mask, place: usize) {
    mask[place / 64] |= 1 << (place % 64);
}

fn clear(mask: &mut Mask, place: usize) {
    mask[place / 64] &= !(1 << (place % 64));
}
