//! The timer wheel: one timer a connection, three words of it inside the connection's slab entry.
//!
//! Four levels of 256 slots cover every 32-bit tick. Arming and disarming are a few stores; a timer
//! far away is moved down at most three times before it fires. The wheel only ever names indexes:
//! the links live in whatever implements [`Links`].

/// No timer, or the end of a list.
const NONE: u32 = u32::MAX;
/// Set in `previous` where it names a slot instead of a timer.
const SLOT: u32 = 1 << 31;
const LEVELS: usize = 4;
const SLOTS: usize = 256;

/// A timer's part of the wheel. `previous == NONE` means that it is not armed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// The tick at which it fires.
    pub(crate) at: u32,
    next: u32,
    previous: u32,
}

impl Link {
    pub(crate) const IDLE: Link = Link { at: 0, next: NONE, previous: NONE };

    pub(crate) fn armed(&self) -> bool {
        self.previous != NONE
    }
}

/// Where the links live. Indexes are below 2^31.
pub(crate) trait Links {
    fn link(&mut self, index: u32) -> &mut Link;
}

/// Lists of timers by when they fire.
pub(crate) struct Wheel {
    /// Everything before this tick has fired.
    now: u32,
    armed: usize,
    heads: Box<[u32; LEVELS * SLOTS]>,
}

impl Wheel {
    pub(crate) fn new() -> Wheel {
        Wheel { now: 0, armed: 0, heads: Box::new([NONE; LEVELS * SLOTS]) }
    }

    /// Arms `index` to fire at tick `at`, or in the next tick where that has passed. It must not be armed.
    pub(crate) fn arm(&mut self, links: &mut impl Links, index: u32, at: u32) {
        debug_assert!(!links.link(index).armed(), "a timer is armed once");
        self.armed += 1;
        links.link(index).at = at;
        self.insert(links, index);
    }

    /// Disarms `index` where it is armed.
    pub(crate) fn disarm(&mut self, links: &mut impl Links, index: u32) {
        let link = *links.link(index);
        if !link.armed() {
            return;
        }
        self.armed -= 1;
        if link.previous & SLOT != 0 {
            self.heads[(link.previous & !SLOT) as usize] = link.next;
        } else {
            links.link(link.previous).next = link.next;
        }
        if link.next != NONE {
            links.link(link.next).previous = link.previous;
        }
        *links.link(index) = Link { at: link.at, ..Link::IDLE };
    }

    fn insert(&mut self, links: &mut impl Links, index: u32) {
        let at = links.link(index).at.max(self.now);
        // The highest byte in which the tick differs from now tells the level.
        let level = match (at ^ self.now).leading_zeros() {
            24.. => 0,
            16..24 => 1,
            8..16 => 2,
            _ => 3,
        };
        let slot = level * SLOTS + ((at >> (8 * level)) & 0xff) as usize;
        let head = self.heads[slot];
        if head != NONE {
            links.link(head).previous = index;
        }
        let link = links.link(index);
        link.next = head;
        link.previous = slot as u32 | SLOT;
        self.heads[slot] = index;
    }

    /// Moves to tick `to`, appending every timer due at or before it to `fired`, disarmed.
    pub(crate) fn advance(&mut self, links: &mut impl Links, to: u32, fired: &mut Vec<u32>) {
        while self.now <= to {
            if self.armed == 0 {
                self.now = to + 1;
                return;
            }
            self.take(links, (self.now & 0xff) as usize, fired);
            self.now += 1;
            let mut level = 1;
            while level < LEVELS && (self.now >> (8 * (level - 1))) & 0xff == 0 {
                self.cascade(links, level);
                level += 1;
            }
        }
    }

    fn take(&mut self, links: &mut impl Links, slot: usize, fired: &mut Vec<u32>) {
        let mut index = std::mem::replace(&mut self.heads[slot], NONE);
        while index != NONE {
            let link = links.link(index);
            let next = link.next;
            *link = Link { at: link.at, ..Link::IDLE };
            self.armed -= 1;
            fired.push(index);
            index = next;
        }
    }

    fn cascade(&mut self, links: &mut impl Links, level: usize) {
        let slot = level * SLOTS + ((self.now >> (8 * level)) & 0xff) as usize;
        let mut index = std::mem::replace(&mut self.heads[slot], NONE);
        while index != NONE {
            let next = links.link(index).next;
            self.insert(links, index);
            index = next;
        }
    }

    /// The tick by which [`Wheel::advance`] must be called next: of the next timer where it is near,
    /// otherwise of the next move down. `None` where nothing is armed.
    pub(crate) fn next(&self) -> Option<u32> {
        if self.armed == 0 {
            return None;
        }
        let from = self.now & 0xff;
        let near = (from..SLOTS as u32).find(|slot| self.heads[*slot as usize] != NONE);
        Some((self.now & !0xff) + near.unwrap_or(0xff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Links for Vec<Link> {
        fn link(&mut self, index: u32) -> &mut Link {
            &mut self[index as usize]
        }
    }

    /// A small generator of our own: the wheel must hold for any times, and a failure must repeat.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, bound: u32) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % u64::from(bound)) as u32
        }
    }

    #[test]
    fn timers_fire_in_their_tick_whatever_the_distance() {
        let mut links = vec![Link::IDLE; 2_000];
        let mut wheel = Wheel::new();
        let mut numbers = Numbers(7);
        let mut due = Vec::new();
        for index in 0..links.len() as u32 {
            let at = match index % 4 {
                0 => numbers.below(256),
                1 => numbers.below(65_536),
                2 => numbers.below(1 << 20),
                _ => numbers.below(1 << 26),
            };
            wheel.arm(&mut links, index, at);
            due.push(at);
        }
        for index in (0..links.len() as u32).step_by(5) {
            wheel.disarm(&mut links, index);
            due[index as usize] = u32::MAX;
        }
        let mut fired = Vec::new();
        let mut now = 0;
        while let Some(next) = wheel.next() {
            assert!(next >= now, "the wheel never asks for the past");
            wheel.advance(&mut links, next, &mut fired);
            for index in fired.drain(..) {
                assert_eq!(due[index as usize], next, "timer {index} fired in another tick");
                due[index as usize] = u32::MAX;
            }
            now = next + 1;
        }
        assert!(due.iter().all(|at| *at == u32::MAX), "every timer fired");
    }

    #[test]
    fn a_timer_in_the_past_fires_at_once() {
        let mut links = vec![Link::IDLE; 2];
        let mut wheel = Wheel::new();
        let mut fired = Vec::new();
        wheel.advance(&mut links, 1_000, &mut fired);
        wheel.arm(&mut links, 1, 3);
        assert_eq!(wheel.next(), Some(1_001));
        wheel.advance(&mut links, 1_001, &mut fired);
        assert_eq!(fired, [1]);
    }

    #[test]
    fn neighbours_in_a_slot_survive_a_disarm() {
        let mut links = vec![Link::IDLE; 3];
        let mut wheel = Wheel::new();
        for index in 0..3 {
            wheel.arm(&mut links, index, 70_000);
        }
        wheel.disarm(&mut links, 1);
        let mut fired = Vec::new();
        wheel.advance(&mut links, 70_000, &mut fired);
        fired.sort_unstable();
        assert_eq!(fired, [0, 2]);
    }
}
