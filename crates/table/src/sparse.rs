//! Pages by number, of which any may be missing: missing pages cost nothing.
//!
//! ```text
//! blocks   [ . . # . . # ]          # a block of up to 256 pages, . none
//! block 2  [ p . . p ]              p a page
//! ```
//!
//! A number that a damaged checkpoint names must not cost memory by its height. One page costs the list of blocks up to its own
//! (24 bytes for each 256 pages), and its block up to its own place.

/// Pages of a block.
const BLOCK: usize = 256;

/// Pages by number. `P::default()` is a page that is missing.
pub(crate) struct Sparse<P> {
    blocks: Vec<Vec<P>>,
}

impl<P: Default> Sparse<P> {
    pub(crate) const fn new() -> Self {
        Self { blocks: Vec::new() }
    }

    #[inline]
    pub(crate) fn page(&self, number: usize) -> Option<&P> {
        self.blocks.get(number / BLOCK)?.get(number % BLOCK)
    }

    #[inline]
    pub(crate) fn page_mut(&mut self, number: usize) -> Option<&mut P> {
        self.blocks.get_mut(number / BLOCK)?.get_mut(number % BLOCK)
    }

    /// The page of that number, as a place to put it where it is missing.
    pub(crate) fn reach(&mut self, page: usize) -> &mut P {
        let (block, place) = (page / BLOCK, page % BLOCK);
        if self.blocks.len() <= block {
            self.blocks.resize_with(block + 1, Vec::new);
        }
        let block = &mut self.blocks[block];
        if block.len() <= place {
            block.resize_with(place + 1, P::default);
        }
        &mut block[place]
    }

    /// The first page from `from` on for which `is`, with its number.
    pub(crate) fn next(&self, from: usize, is: impl Fn(&P) -> bool) -> Option<usize> {
        let mut skip = from % BLOCK;
        for (number, block) in self.blocks.iter().enumerate().skip(from / BLOCK) {
            let rest = block.get(skip..).unwrap_or_default();
            if let Some(at) = rest.iter().position(&is) {
                return Some(number * BLOCK + skip + at);
            }
            skip = 0;
        }
        None
    }

    /// All places for pages that were made, with their numbers.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &P)> {
        self.blocks.iter().enumerate().flat_map(|(number, block)| {
            block.iter().enumerate().map(move |(place, page)| (number * BLOCK + place, page))
        })
    }

    pub(crate) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (usize, &mut P)> {
        self.blocks.iter_mut().enumerate().flat_map(|(number, block)| {
            block.iter_mut().enumerate().map(move |(place, page)| (number * BLOCK + place, page))
        })
    }

    /// Bytes of the lists, without what pages own elsewhere.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Vec<P>>()
            + self.blocks.iter().map(Vec::capacity).sum::<usize>() * size_of::<P>()
    }
}
