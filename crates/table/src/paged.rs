//! Small values beside the entries of a table, by the same numbers.
//!
//! They grow a page at a time, so that no growth copies what is there, and are built anew after a
//! restore: what must last stands in tables.

use std::ops::{Index, IndexMut};

/// Values of a page.
const PAGE: usize = 4_096;

/// Values by number, in pages.
pub struct Paged<T> {
    pages: Vec<Box<[T]>>,
}

impl<T: Copy + Default> Default for Paged<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + Default> Paged<T> {
    /// None.
    pub fn new() -> Self {
        Self { pages: Vec::new() }
    }

    /// Makes sure that there is a value of that number.
    #[inline]
    pub fn reach(&mut self, index: u32) {
        let page = index as usize / PAGE;
        while self.pages.len() <= page {
            self.pages.push(vec![T::default(); PAGE].into_boxed_slice());
        }
    }

    /// Whether there is a value of that number.
    pub fn has(&self, index: u32) -> bool {
        (index as usize) < self.pages.len() * PAGE
    }

    /// Lets all go.
    pub fn clear(&mut self) {
        self.pages.clear();
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        self.pages.len() * PAGE * size_of::<T>() + self.pages.capacity() * size_of::<Box<[T]>>()
    }
}

impl<T> Index<u32> for Paged<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.pages[index as usize / PAGE][index as usize % PAGE]
    }
}

impl<T> IndexMut<u32> for Paged<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.pages[index as usize / PAGE][index as usize % PAGE]
    }
}
