//! Columns: one value of each device side by side, so that a comparison reads a few bytes a device.
//!
//! A column is in chunks of 4,096 slots. A chunk in which few devices have a value holds those only; when they become many it
//! holds a place for each. Columns are rebuilt from the devices after a restore.

use roaring::RoaringBitmap;

/// Slots of a chunk.
const CHUNK: usize = 4_096;
/// Values with which a chunk becomes dense, and a fourth of it with which it becomes sparse again.
const DENSE_MIN: usize = 768;

/// What stands in a column.
pub(crate) trait Cell: Copy + PartialEq {
    /// The value of a device that has none. No value equals it, or lies in any range.
    const ABSENT: Self;

    fn is_absent(self) -> bool;
}

impl Cell for f64 {
    const ABSENT: Self = f64::NAN;

    fn is_absent(self) -> bool {
        self.is_nan()
    }
}

impl Cell for i64 {
    const ABSENT: Self = i64::MIN;

    fn is_absent(self) -> bool {
        self == Self::ABSENT
    }
}

impl Cell for u32 {
    const ABSENT: Self = u32::MAX;

    fn is_absent(self) -> bool {
        self == Self::ABSENT
    }
}

enum Chunk<T> {
    Sparse { places: Vec<u16>, values: Vec<T> },
    Dense { values: Box<[T]>, used: u16 },
}

impl<T: Cell> Chunk<T> {
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Chunk::Sparse { places, values } => {
                    places.capacity() * size_of::<u16>() + values.capacity() * size_of::<T>()
                }
                Chunk::Dense { values, .. } => values.len() * size_of::<T>(),
            }
    }
}

/// A value of each device that has one.
pub(crate) struct Column<T> {
    chunks: Vec<Chunk<T>>,
    used: u32,
    bytes: usize,
}

impl<T: Cell> Column<T> {
    pub(crate) fn new() -> Self {
        Self { chunks: Vec::new(), used: 0, bytes: 0 }
    }

    /// Puts a value, or takes it away: [`Cell::ABSENT`].
    pub(crate) fn set(&mut self, slot: u32, value: T) {
        let (number, place) = (slot as usize / CHUNK, slot as usize % CHUNK);
        if self.chunks.len() <= number {
            if value.is_absent() {
                return;
            }
            self.chunks.resize_with(number + 1, || Chunk::Sparse { places: Vec::new(), values: Vec::new() });
        }
        let chunk = &mut self.chunks[number];
        self.bytes -= chunk.bytes().min(self.bytes);
        let change = chunk.set(place, value);
        self.bytes += chunk.bytes();
        self.used = self.used.wrapping_add_signed(change);
        if self.used == 0 {
            *self = Self::new();
        }
    }

    /// The devices whose value passes. [`Cell::ABSENT`] must not.
    pub(crate) fn scan(&self, passes: impl Fn(T) -> bool) -> RoaringBitmap {
        let mut bits = vec![0_u8; self.chunks.len() * CHUNK / 8];
        for (chunk, bits) in self.chunks.iter().zip(bits.chunks_exact_mut(CHUNK / 8)) {
            match chunk {
                Chunk::Sparse { places, values } => {
                    for (&place, &value) in places.iter().zip(values) {
                        bits[usize::from(place / 8)] |= u8::from(passes(value)) << (place % 8);
                    }
                }
                Chunk::Dense { values, .. } => {
                    for (eight, byte) in values.as_chunks::<8>().0.iter().zip(bits) {
                        let mut passed = 0;
                        for (place, &value) in eight.iter().enumerate() {
                            passed |= u8::from(passes(value)) << place;
                        }
                        *byte = passed;
                    }
                }
            }
        }
        RoaringBitmap::from_lsb0_bytes(0, &bits)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<T: Cell> Chunk<T> {
    /// Returns by how many the values became more.
    fn set(&mut self, place: usize, value: T) -> i32 {
        match self {
            Chunk::Sparse { places, values } => {
                let found = places.binary_search(&(place as u16));
                let change = match (found, value.is_absent()) {
                    (Ok(at), true) => {
                        places.remove(at);
                        values.remove(at);
                        -1
                    }
                    (Ok(at), false) => {
                        values[at] = value;
                        0
                    }
                    (Err(_), true) => 0,
                    (Err(at), false) => {
                        places.insert(at, place as u16);
                        values.insert(at, value);
                        1
                    }
                };
                if places.is_empty() {
                    *self = Chunk::Sparse { places: Vec::new(), values: Vec::new() };
                } else if places.len() >= DENSE_MIN {
                    let mut dense = vec![T::ABSENT; CHUNK].into_boxed_slice();
                    places
                        .iter()
                        .zip(&*values)
                        .for_each(|(&place, &value)| dense[usize::from(place)] = value);
                    *self = Chunk::Dense { used: places.len() as u16, values: dense };
                }
                change
            }
            Chunk::Dense { values, used } => {
                let was = values[place].is_absent();
                values[place] = value;
                let change = i32::from(was) - i32::from(value.is_absent());
                *used = used.wrapping_add_signed(change as i16);
                if usize::from(*used) <= DENSE_MIN / 4 {
                    let kept = values.iter().enumerate().filter(|(_, value)| !value.is_absent());
                    let (places, values) = kept.map(|(place, &value)| (place as u16, value)).unzip();
                    *self = Chunk::Sparse { places, values };
                }
                change
            }
        }
    }
}
