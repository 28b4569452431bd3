//! The order of a table's entries: their numbers, in chunks.
//!
//! The sort keys stand in the entries; here is only the order, about five bytes for each. A new one
//! is put into its chunk, and a chunk that is full is split, so no insertion moves more than a
//! chunk and the list of chunks.

use std::cmp::Ordering;

/// Numbers of a chunk.
const CHUNK: usize = 1_024;

/// Numbers, in an order that their owner knows.
#[derive(Default)]
pub struct Order {
    chunks: Vec<Vec<u32>>,
}

impl Order {
    /// Of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// From numbers that are in order.
    pub fn from_sorted(numbers: &[u32]) -> Self {
        let chunk = |numbers: &[u32]| {
            let mut chunk = Vec::with_capacity(CHUNK);
            chunk.extend_from_slice(numbers);
            chunk
        };
        Self { chunks: numbers.chunks(CHUNK * 3 / 4).map(chunk).collect() }
    }

    /// Puts a number in. `compare` compares another one with it.
    pub fn insert(&mut self, number: u32, compare: impl Fn(u32) -> Ordering) {
        let after = self.chunks.partition_point(|chunk| compare(chunk[0]).is_le());
        let at = after.saturating_sub(1);
        if self.chunks.is_empty() {
            self.chunks.push(Vec::new());
        }
        let chunk = &mut self.chunks[at];
        let place = match chunk.last() {
            Some(&last) if compare(last).is_gt() => chunk.partition_point(|&other| compare(other).is_lt()),
            _ => chunk.len(),
        };
        if chunk.len() < CHUNK {
            chunk.insert(place, number);
            return;
        }
        // They often come in order: then the full chunk stays full.
        let split = if place == CHUNK && at + 1 == self.chunks.len() { CHUNK } else { CHUNK / 2 };
        let chunk = &mut self.chunks[at];
        let mut behind = Vec::with_capacity(CHUNK);
        behind.extend_from_slice(&chunk[split..]);
        chunk.truncate(split);
        if place > split || split == CHUNK {
            behind.insert(place - split, number);
        } else {
            chunk.insert(place, number);
        }
        self.chunks.insert(at + 1, behind);
    }

    /// Takes a number out, where it is. `compare` compares another one with it.
    pub fn remove(&mut self, compare: impl Fn(u32) -> Ordering) {
        let after = self.chunks.partition_point(|chunk| compare(chunk[0]).is_le());
        let Some(at) = after.checked_sub(1) else { return };
        let chunk = &mut self.chunks[at];
        let place = chunk.partition_point(|&other| compare(other).is_lt());
        if chunk.get(place).is_some_and(|&other| compare(other).is_eq()) {
            chunk.remove(place);
        }
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
    }

    /// Those from the first on for which `is_before` is false.
    pub fn from(&self, is_before: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> + '_ {
        let behind = self.chunks.partition_point(|chunk| is_before(chunk[0]));
        let at = behind.saturating_sub(1);
        let skip = self.chunks.get(at).map_or(0, |chunk| chunk.partition_point(|&number| is_before(number)));
        self.chunks[at.min(self.chunks.len())..].iter().flatten().skip(skip).copied()
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum::<usize>() * size_of::<u32>()
            + self.chunks.capacity() * size_of::<Vec<u32>>()
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn numbers_come_back_in_order_however_they_were_put_in() {
        let mixed = |n: u32| n.wrapping_mul(2_654_435_761) >> 12;
        for numbers in
            [(0..5_000).collect::<Vec<u32>>(), (0..5_000).rev().collect(), (0..5_000).map(mixed).collect()]
        {
            let mut order = Order::new();
            for &number in &numbers {
                order.insert(number, |other| other.cmp(&number));
            }
            let mut sorted = numbers;
            sorted.sort_unstable();
            assert!(order.from(|_| false).eq(sorted.iter().copied()));
            let rebuilt = Order::from_sorted(&sorted);
            for begin in [0, 1, 767, 768, 2_500, 4_999, 2_000_000] {
                let expected: Vec<u32> = sorted.iter().copied().filter(|&n| n >= begin).collect();
                assert!(order.from(|n| n < begin).eq(expected.iter().copied()), "{begin}");
                assert!(rebuilt.from(|n| n < begin).eq(expected.iter().copied()), "{begin}");
            }
        }
        assert_eq!(Order::new().from(|_| true).count(), 0);
    }

    #[test]
    fn an_entry_taken_out_is_gone_and_all_else_stays() {
        let mut order = Order::from_sorted(&(0..5_000).collect::<Vec<u32>>());
        (0..5_000).filter(|n| n % 3 == 0).for_each(|n| order.remove(|other| other.cmp(&n)));
        order.remove(|other| other.cmp(&9_000));
        assert!(order.from(|_| false).eq((0..5_000).filter(|n| n % 3 != 0)));
        (0..5_000).filter(|n| n % 3 != 0).for_each(|n| order.remove(|other| other.cmp(&n)));
        assert_eq!(order.from(|_| false).count(), 0);
        order.insert(7, |other| other.cmp(&7));
        assert!(order.from(|_| false).eq([7]));
    }
}
