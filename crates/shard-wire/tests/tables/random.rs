//! Values out of a string of bytes: the same bytes give the same value.
//!
//! Behind the last byte all are zero, which ends lists and chooses first cases, so that values are
//! finite.

/// Levels of lists and enums within each other, behind which first cases and empty lists follow.
const DEPTH_MAX: u32 = 9;

/// Bytes that values are made of.
pub(crate) struct Random {
    bytes: Vec<u8>,
    at: usize,
    depth: u32,
    /// Nothing is left out and nothing is zero.
    is_full: bool,
}

/// The name of an enum's case, and how a value of it is made.
pub(crate) type Case<T> = (&'static str, fn(&mut Random) -> T);

/// The cases of an enum.
pub(crate) trait Cases: Sized + 'static {
    const CASES: &'static [Case<Self>];
}

impl Random {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0, depth: 0, is_full: false }
    }

    /// So many bytes that look random: xorshift64*.
    pub(crate) fn seeded(seed: u64, bytes: usize) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 56) as u8
        };
        Self::new((0..bytes).map(|_| next()).collect())
    }

    /// For values in which all that may be missing is there, and each list has an item.
    pub(crate) fn full(seed: u64, bytes: usize) -> Self {
        Self { is_full: true, ..Self::seeded(seed, bytes) }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    pub(crate) fn flips(&mut self) -> bool {
        self.byte() & 1 == 1 || self.is_full
    }

    /// Zero, small, of any size, or the greatest.
    pub(crate) fn number(&mut self) -> u64 {
        if self.is_full {
            return 1 + u64::from(self.byte() % 200);
        }
        match self.byte() % 4 {
            0 => 0,
            1 => self.byte().into(),
            2 => (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte())) >> (self.byte() % 64),
            _ => u64::MAX,
        }
    }

    /// A text, which may be empty.
    pub(crate) fn text(&mut self) -> String {
        let letters = if self.is_full { 1 + self.byte() % 4 } else { self.byte() % 8 };
        (0..letters)
            .map(|_| ['a', 'Z', '7', ' ', 'é', '\n', '中', '{'][usize::from(self.byte() % 8)])
            .collect()
    }

    /// A list of few items, one level deeper.
    pub(crate) fn deeper<T>(&mut self, list: impl FnOnce(&mut Self, u8) -> T) -> T {
        let items = if self.depth >= DEPTH_MAX {
            0
        } else if self.is_full {
            1
        } else {
            self.byte() % 3
        };
        self.depth += 1;
        let list = list(self, items);
        self.depth -= 1;
        list
    }

    /// One of so many cases, one level deeper.
    pub(crate) fn case<T>(&mut self, cases: usize, make: impl FnOnce(&mut Self, usize) -> T) -> T {
        let case = if self.depth < DEPTH_MAX { usize::from(self.byte()) % cases } else { 0 };
        self.depth += 1;
        let value = make(self, case);
        self.depth -= 1;
        value
    }
}
