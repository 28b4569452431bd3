//! A small number for each device, in bitmaps: one for each binary digit.
//!
//! So adding one for a million devices costs a few operations on bitmaps, as adding a column of
//! numbers by hand does: the carry goes to the next digit. That is how inboxes are counted and
//! bounded, and how often devices were pushed to.

use roaring::RoaringBitmap;

/// A number for each slot; 0 where nothing was added.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sliced {
    /// The lowest digit first. The last one is never empty.
    digits: Vec<RoaringBitmap>,
}

impl Sliced {
    /// One more for each of these.
    pub(crate) fn add(&mut self, slots: &RoaringBitmap) {
        let mut carried = slots.clone();
        for digit in &mut self.digits {
            if carried.is_empty() {
                return;
            }
            let next = &*digit & &carried;
            *digit ^= &carried;
            carried = next;
        }
        if !carried.is_empty() {
            self.digits.push(carried);
        }
    }

    /// One less for each of these, which have at least one.
    pub(crate) fn subtract(&mut self, slots: &RoaringBitmap) {
        let mut borrowed = slots.clone();
        for digit in &mut self.digits {
            if borrowed.is_empty() {
                break;
            }
            let next = &borrowed - &*digit;
            *digit ^= &borrowed;
            borrowed = next;
        }
        debug_assert!(borrowed.is_empty(), "what is subtracted was added");
        self.shorten();
    }

    /// One more for a slot.
    pub(crate) fn add_one(&mut self, slot: u32) {
        for digit in &mut self.digits {
            if digit.insert(slot) {
                return;
            }
            digit.remove(slot);
        }
        self.digits.push(RoaringBitmap::from_iter([slot]));
    }

    /// One less for a slot that has at least one.
    pub(crate) fn subtract_one(&mut self, slot: u32) {
        for digit in &mut self.digits {
            if digit.remove(slot) {
                self.shorten();
                return;
            }
            digit.insert(slot);
        }
        debug_assert!(false, "what is subtracted was added");
    }

    /// The slot's number.
    pub(crate) fn of(&self, slot: u32) -> u64 {
        let digits = self.digits.iter().enumerate();
        digits.map(|(place, digit)| u64::from(digit.contains(slot)) << place).sum()
    }

    /// The slots that have at least so many, which is not 0.
    pub(crate) fn at_least(&self, number: u64) -> RoaringBitmap {
        debug_assert!(number > 0, "everybody has none");
        if number >> self.digits.len() != 0 {
            return RoaringBitmap::new();
        }
        // From the highest digit down: the devices that are greater already, and those that are
        // equal so far.
        let mut greater = RoaringBitmap::new();
        let mut equal: Option<RoaringBitmap> = None;
        for (place, digit) in self.digits.iter().enumerate().rev() {
            if number >> place & 1 == 1 {
                equal = Some(equal.map_or_else(|| digit.clone(), |equal| equal & digit));
            } else {
                match &mut equal {
                    // No higher digit was asked for: a device that has the digit is greater.
                    None => greater |= digit,
                    Some(equal) => {
                        greater |= &*equal & digit;
                        *equal -= digit;
                    }
                }
            }
        }
        greater | equal.unwrap_or_default()
    }

    /// The sum of all.
    pub(crate) fn sum(&self) -> u64 {
        self.digits.iter().enumerate().map(|(place, digit)| digit.len() << place).sum()
    }

    fn shorten(&mut self) {
        while self.digits.last().is_some_and(RoaringBitmap::is_empty) {
            self.digits.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_count_as_numbers_do() {
        let mut random = fastrand::Rng::with_seed(11);
        let (mut sliced, mut plain) = (Sliced::default(), [0_u64; 300]);
        for _ in 0..2_000 {
            let slot = random.u32(0..300);
            match random.u8(0..4) {
                0 => {
                    sliced.add_one(slot);
                    plain[slot as usize] += 1;
                }
                1 if plain[slot as usize] > 0 => {
                    sliced.subtract_one(slot);
                    plain[slot as usize] -= 1;
                }
                2 => {
                    let slots: RoaringBitmap = (0..300).filter(|_| random.u8(0..10) == 0).collect();
                    sliced.add(&slots);
                    slots.iter().for_each(|slot| plain[slot as usize] += 1);
                }
                _ => {
                    let slots: RoaringBitmap =
                        (0..300).filter(|&slot| plain[slot as usize] > 0 && random.u8(0..8) == 0).collect();
                    sliced.subtract(&slots);
                    slots.iter().for_each(|slot| plain[slot as usize] -= 1);
                }
            }
            let bound = random.u64(1..40);
            let expected: RoaringBitmap = (0..300).filter(|&slot| plain[slot as usize] >= bound).collect();
            assert_eq!(sliced.at_least(bound), expected, "at least {bound}");
            assert_eq!(sliced.of(slot), plain[slot as usize]);
            assert_eq!(sliced.sum(), plain.iter().sum::<u64>());
        }
    }
}
