//! The dynamic table, RFC 7541, 2.3.2 and 4: the last fields that were sent, the newest first.
//!
//! Names and values stand one after the other in one buffer, oldest first. Evicted fields leave a
//! gap at its front, which is closed when it has grown as large as the table may be: each byte
//! moves once on average, and a warm table allocates nothing.

use std::collections::VecDeque;

use super::FIELD_BYTES;

#[derive(Debug)]
pub(super) struct Table {
    bytes: Vec<u8>,
    /// The oldest first.
    entries: VecDeque<Entry>,
    /// The sum of 4.1 over all entries.
    size: usize,
    size_max: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Where in `bytes` its name begins.
    start: u32,
    name: u32,
    value: u32,
    /// What [`Table::find`] compares first.
    hash: u32,
}

impl Entry {
    fn size(&self) -> usize {
        self.name as usize + self.value as usize + FIELD_BYTES
    }
}

impl Table {
    pub(super) fn new(size_max: usize) -> Table {
        Table { bytes: Vec::new(), entries: VecDeque::new(), size: 0, size_max }
    }

    pub(super) fn size_max(&self) -> usize {
        self.size_max
    }

    /// Changes the most it holds; the oldest entries go until it fits. 4.3.
    pub(super) fn resize(&mut self, size_max: usize) {
        self.size_max = size_max;
        self.evict(0);
    }

    /// Adds a field as the newest. One larger than the table empties it. 4.4.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8], hash: u32) {
        let size = name.len() + value.len() + FIELD_BYTES;
        self.evict(size);
        if size > self.size_max {
            return;
        }
        let gap = self.entries.front().map_or(self.bytes.len(), |entry| entry.start as usize);
        if gap == self.bytes.len() || gap >= self.size_max {
            self.bytes.drain(..gap);
            for entry in &mut self.entries {
                entry.start -= gap as u32;
            }
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_back(Entry { start, name: name.len() as u32, value: value.len() as u32, hash });
        self.size += size;
    }

    fn evict(&mut self, needed: usize) {
        while self.size + needed > self.size_max {
            let Some(entry) = self.entries.pop_front() else { return };
            self.size -= entry.size();
        }
    }

    /// The field of this age: 0 is the newest.
    pub(super) fn field(&self, age: usize) -> Option<(&[u8], &[u8])> {
        let place = self.entries.len().checked_sub(age + 1)?;
        Some(self.text(&self.entries[place]))
    }

    /// The age of this very field.
    pub(super) fn find(&self, name: &[u8], value: &[u8], hash: u32) -> Option<usize> {
        let same = |entry: &Entry| entry.hash == hash && self.text(entry) == (name, value);
        self.entries.iter().rev().position(same)
    }

    /// The age of a field with this name.
    pub(super) fn find_name(&self, name: &[u8]) -> Option<usize> {
        self.entries.iter().rev().position(|entry| self.text(entry).0 == name)
    }

    fn text(&self, entry: &Entry) -> (&[u8], &[u8]) {
        let text = &self.bytes[entry.start as usize..][..entry.name as usize + entry.value as usize];
        text.split_at(entry.name as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(table: &Table) -> Vec<String> {
        let name = |age| table.field(age).map(|(name, _)| String::from_utf8_lossy(name).into_owned());
        (0..).map_while(name).collect()
    }

    #[test]
    fn the_oldest_go_when_room_is_needed() {
        let mut table = Table::new(100);
        for name in ["a", "b", "c", "d"] {
            table.insert(name.as_bytes(), b"1", 0);
        }
        assert_eq!(names(&table), ["d", "c"]);
        assert_eq!(table.find(b"c", b"1", 0), Some(1));
        assert_eq!(table.find(b"b", b"1", 0), None);
        assert_eq!((table.find(b"c", b"2", 0), table.find_name(b"c")), (None, Some(1)));
        table.resize(40);
        assert_eq!(names(&table), ["d"]);
        table.insert(b"larger than the table", b"", 0);
        assert!(names(&table).is_empty());
        table.resize(0);
        table.insert(b"", b"", 0);
        assert!(names(&table).is_empty());
    }

    #[test]
    fn its_memory_stays_bounded_and_its_text_right_over_many_rounds() {
        let mut table = Table::new(1000);
        for round in 0..10_000u32 {
            let name = format!("name-{round}");
            table.insert(name.as_bytes(), &vec![b'v'; round as usize % 90], round);
            assert!(table.bytes.len() <= 3000, "{}", table.bytes.len());
        }
        for age in 0..table.entries.len() {
            let (name, value) = table.field(age).expect("within");
            let round = 9_999 - age;
            assert_eq!((name, value.len()), (format!("name-{round}").as_bytes(), round % 90));
        }
    }
}
