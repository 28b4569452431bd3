//! Slots that another device had before: the data that a push keeps of such a slot is about that
//! device, not about the present one.
//!
//! A push keeps slots, and a slot is given to the next device that is registered. Times do not
//! distinguish the two: both may lie in one second, and a clock may be set back. The numbers of
//! pushes do.

use std::collections::{BTreeMap, BTreeSet};

use roaring::RoaringBitmap;
use stadium_state_machine::encoding::{Reader, number};

use crate::Corrupt;

/// Slots of an app whose devices went.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SlotOwners {
    /// Pushes below this number had to do with a device that is gone.
    below: BTreeMap<u32, u64>,
    /// The same slots.
    slots: RoaringBitmap,
    /// Pushes below it that reached the device of now: they had been accepted, or begun in other zones, before.
    later: BTreeSet<(u64, u32)>,
    /// Slots when they were looked through last.
    looked_at: usize,
}

/// Slots that are not worth looking for those that no push knows any more.
const FEW: usize = 1_024;

impl SlotOwners {
    /// A device goes, and has its slot no more: pushes below that number were its own.
    pub(crate) fn vacate(&mut self, slot: u32, below: u64) {
        self.below.insert(slot, below);
        self.slots.insert(slot);
        self.later.retain(|&(_, of)| of != slot);
    }

    /// Whether what that push keeps of the slot is about a device that is gone.
    pub(crate) fn was_others(&self, push: u64, slot: u32) -> bool {
        self.below.get(&slot).is_some_and(|&below| push < below) && !self.later.contains(&(push, slot))
    }

    /// Of these slots of a push, those that are about the devices of now.
    pub(crate) fn without(&self, push: u64, mut slots: RoaringBitmap) -> RoaringBitmap {
        let others = &slots & &self.slots;
        others.iter().filter(|&slot| self.was_others(push, slot)).for_each(|slot| {
            slots.remove(slot);
        });
        slots
    }

    /// A push reaches these now.
    pub(crate) fn reached(&mut self, push: u64, slots: &RoaringBitmap) {
        let newer = (slots & &self.slots).into_iter().filter(|slot| push < self.below[slot]);
        self.later.extend(newer.map(|slot| (push, slot)));
    }

    /// A push is remembered no more.
    pub(crate) fn forget(&mut self, push: u64) {
        while let Some(&first) = self.later.range((push, 0)..=(push, u32::MAX)).next() {
            self.later.remove(&first);
        }
    }

    /// Whether so many slots came since they were looked through that it is worth doing again.
    pub(crate) fn is_long(&self) -> bool {
        self.below.len() > 2 * self.looked_at + FEW
    }

    /// Lets go of slots that no push knows from before: the oldest one that is remembered has this number.
    pub(crate) fn prune(&mut self, oldest: u64) {
        self.below.retain(|_, below| *below > oldest);
        self.slots = self.below.keys().copied().collect();
        self.looked_at = self.below.len();
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        (self.below.len() + self.later.len()) * 24
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.below.len() as u64);
        for (&slot, &below) in &self.below {
            number(out, slot.into());
            number(out, below);
        }
        number(out, self.later.len() as u64);
        for &(push, slot) in &self.later {
            number(out, push);
            number(out, slot.into());
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let mut owners = SlotOwners::default();
        for _ in 0..input.number()? {
            let slot = input.small()?;
            owners.below.insert(slot, input.number()?);
            owners.slots.insert(slot);
        }
        for _ in 0..input.number()? {
            let push = input.number()?;
            owners.later.insert((push, input.small()?));
        }
        owners.looked_at = owners.below.len();
        Ok(owners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_no_push_knows_are_let_go() {
        let mut owners = SlotOwners::default();
        (0..2_000).for_each(|slot| owners.vacate(slot, u64::from(slot) + 1));
        assert!(owners.is_long());
        owners.prune(1_500);
        assert!(!owners.is_long());
        assert!(owners.was_others(1_500, 1_999) && !owners.was_others(1_500, 1_400));
        assert_eq!(owners.below.len(), 500);
        let mut bytes = Vec::new();
        owners.encode(&mut bytes);
        assert_eq!(SlotOwners::decode(&mut Reader::new(&bytes)).unwrap().below, owners.below);
    }

    #[test]
    fn a_push_that_reaches_the_next_device_is_that_ones() {
        let mut owners = SlotOwners::default();
        owners.vacate(3, 10);
        owners.reached(7, &RoaringBitmap::from_iter([3, 4]));
        assert!(!owners.was_others(7, 3) && owners.was_others(8, 3));
        assert_eq!(owners.without(8, RoaringBitmap::from_iter([2, 3])), RoaringBitmap::from_iter([2]));
        owners.vacate(3, 12);
        assert!(owners.was_others(7, 3));
        owners.reached(7, &RoaringBitmap::from_iter([3]));
        owners.forget(7);
        assert!(owners.later.is_empty());
    }
}
