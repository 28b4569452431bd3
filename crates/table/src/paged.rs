//! Small values beside the entries of a table, by the same numbers.
//!
//! They grow a page at a time, so that no growth copies more than a page, and are built anew after
//! a restore: lasting state stands in tables. Pages that were never used cost nothing.

use std::ops::{Index, IndexMut};

use crate::sparse::Sparse;

/// Values of a page.
const PAGE: usize = 256;

/// Values by number, in pages.
pub struct Paged<T> {
    /// A page has room for all its values, and holds those up to the highest that was reached for.
    pages: Sparse<Vec<T>>,
    /// Values that pages have room for.
    capacity: usize,
}

impl<T: Default> Default for Paged<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Default> Paged<T> {
    /// None.
    pub const fn new() -> Self {
        Self { pages: Sparse::new(), capacity: 0 }
    }

    /// Makes sure that there is a value of that number.
    #[inline]
    pub fn reach(&mut self, index: u32) {
        if !self.has(index) {
            self.grow(index);
        }
    }

    #[cold]
    fn grow(&mut self, index: u32) {
        let page = self.pages.reach(index as usize / PAGE);
        self.capacity -= page.capacity();
        if page.capacity() == 0 {
            // At once: what a growing page would leave behind is too small for the next one.
            page.reserve_exact(PAGE);
        }
        page.resize_with(index as usize % PAGE + 1, T::default);
        self.capacity += page.capacity();
    }

    /// Whether there is a value of that number.
    #[inline]
    pub fn has(&self, index: u32) -> bool {
        self.get(index).is_some()
    }

    /// The value of that number, if there is one.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        self.pages.page(index as usize / PAGE)?.get(index as usize % PAGE)
    }

    /// Lets all go.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Bytes of memory that they take, without what the values own elsewhere.
    pub fn bytes(&self) -> usize {
        self.pages.bytes() + self.capacity * size_of::<T>()
    }
}

impl<T: Default> Index<u32> for Paged<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        self.get(index).expect("the caller reached for it")
    }
}

impl<T: Default> IndexMut<u32> for Paged<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        let page = self.pages.page_mut(index as usize / PAGE).expect("the caller reached for it");
        &mut page[index as usize % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::Paged;

    #[test]
    fn a_high_number_costs_no_more_than_its_own_page() {
        let mut values: Paged<u64> = Paged::new();
        values.reach(1 << 29);
        values[1 << 29] = 7;
        values.reach(3);
        values[3] = 8;
        assert!(!values.has(4) && !values.has(1 << 20) && !values.has((1 << 29) - 300));
        values.reach(70_000);
        assert_eq!((values[1 << 29], values[3], values[70_000]), (7, 8, 0));
        assert!(values.bytes() < 1 << 20, "{} bytes for three values", values.bytes());
        values.clear();
        assert!(!values.has(3));
    }
}
