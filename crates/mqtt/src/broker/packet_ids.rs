//! A set of packet ids of one session.
//!
//! A client has a handful of QoS 2 messages unreleased, as a rule: they stand in a short list. A 3.1.1
//! client may have all 65,535 ids unreleased, because that version has no Receive Maximum; above
//! [`LISTED_MAX`] the set becomes a bitmap of 8 KB, and a list again when few are left.

/// Ids that are kept as a list. A scan of 64 ids reads two cache lines.
const LISTED_MAX: usize = 64;

/// A bitmap that holds no more than this becomes a list again: half, so that a set whose size moves about
/// the bound does not change its form with each id.
const LISTED_AGAIN: usize = LISTED_MAX / 2;

/// 64-bit words of a bit for each packet id.
const WORDS: usize = (1 << 16) / 64;

/// Packet ids, each at most once.
#[derive(Debug, Default)]
pub(super) struct PacketIds {
    /// All of them while there is no bitmap; else empty.
    listed: Vec<u16>,
    bitmap: Option<Box<Bitmap>>,
}

#[derive(Debug)]
struct Bitmap {
    words: [u64; WORDS],
    len: usize,
}

impl PacketIds {
    /// Ids in the set.
    pub fn len(&self) -> usize {
        self.bitmap.as_ref().map_or(self.listed.len(), |bitmap| bitmap.len)
    }

    pub fn contains(&self, id: u16) -> bool {
        match &self.bitmap {
            Some(bitmap) => bitmap.words[usize::from(id) / 64] & bit(id) != 0,
            None => self.listed.contains(&id),
        }
    }

    /// Adds an id; `false` if it was there.
    pub fn insert(&mut self, id: u16) -> bool {
        if self.contains(id) {
            return false;
        }
        if self.bitmap.is_none() && self.listed.len() >= LISTED_MAX {
            let mut bitmap = Box::new(Bitmap { words: [0; WORDS], len: 0 });
            for listed in std::mem::take(&mut self.listed) {
                bitmap.words[usize::from(listed) / 64] |= bit(listed);
                bitmap.len += 1;
            }
            self.bitmap = Some(bitmap);
        }
        match &mut self.bitmap {
            Some(bitmap) => {
                bitmap.words[usize::from(id) / 64] |= bit(id);
                bitmap.len += 1;
            }
            None => self.listed.push(id),
        }
        true
    }

    /// Takes an id out; `false` if it was not there.
    pub fn remove(&mut self, id: u16) -> bool {
        let Some(bitmap) = &mut self.bitmap else {
            let Some(at) = self.listed.iter().position(|&listed| listed == id) else { return false };
            self.listed.swap_remove(at);
            return true;
        };
        let word = &mut bitmap.words[usize::from(id) / 64];
        if *word & bit(id) == 0 {
            return false;
        }
        *word &= !bit(id);
        bitmap.len -= 1;
        if bitmap.len <= LISTED_AGAIN {
            self.listed = self.iter().collect();
            self.bitmap = None;
        }
        true
    }

    /// All of them, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        let words = self.bitmap.iter().flat_map(|bitmap| bitmap.words.iter().enumerate());
        let marked = words.flat_map(|(at, &word)| {
            (0..64_usize)
                .filter(move |bit| word >> bit & 1 != 0)
                .map(move |bit| u16::try_from(at * 64 + bit).expect("1,024 words of 64 bits are 65,536 ids"))
        });
        self.listed.iter().copied().chain(marked)
    }
}

impl FromIterator<u16> for PacketIds {
    fn from_iter<T: IntoIterator<Item = u16>>(ids: T) -> Self {
        let mut all = Self::default();
        for id in ids {
            all.insert(id);
        }
        all
    }
}

fn bit(id: u16) -> u64 {
    1 << (id % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_id_is_in_the_set_once() {
        let mut ids = PacketIds::default();
        for id in 1..=u16::MAX {
            assert!(!ids.contains(id) && ids.insert(id) && !ids.insert(id));
            assert_eq!(ids.len(), usize::from(id));
        }
        assert!(ids.iter().eq(1..=u16::MAX));
        for id in 1..=u16::MAX {
            assert!(ids.contains(id) && ids.remove(id) && !ids.remove(id), "{id}");
            assert_eq!(ids.len(), usize::from(u16::MAX - id));
        }
        assert_eq!(ids.iter().count(), 0);
    }

    #[test]
    fn a_set_that_shrinks_gives_its_bitmap_back() {
        let mut ids: PacketIds = (1..=1_000).collect();
        assert!(ids.bitmap.is_some());
        for id in 1..=995 {
            assert!(ids.remove(id));
        }
        assert!(ids.bitmap.is_none());
        let mut left: Vec<u16> = ids.iter().collect();
        left.sort_unstable();
        assert_eq!(left, [996, 997, 998, 999, 1_000]);
    }
}
