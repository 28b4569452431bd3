//! A timer wheel: any number of timers by the tick in which they fire, three words for each.
//!
//! Level 0 holds the next 256 ticks, one slot each; three more levels of 256 slots cover every
//! 32-bit tick. Arming and disarming are a few stores; a timer less than 256 ticks away is never
//! moved, one far away is moved down at most three times before it fires. The wheel only ever names
//! indexes: the links live in the implementor of [`Links`], beside the state that they are for. The
//! owner defines the length of a tick. No clock is read here.

/// No timer, or the end of a list.
const NONE: u32 = u32::MAX;
/// Set in `previous` where it names a slot instead of a timer.
const SLOT: u32 = 1 << 31;
const LEVELS: usize = 4;
const SLOTS: usize = 256;

/// A timer's part of the wheel, 12 bytes. One that is armed must stay at its index.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    at: u32,
    next: u32,
    /// `NONE` means that it is not armed.
    previous: u32,
}

impl Link {
    /// A timer that is not armed.
    pub const IDLE: Link = Link { at: 0, next: NONE, previous: NONE };

    /// Whether it is armed.
    pub fn armed(&self) -> bool {
        self.previous != NONE
    }

    /// The tick for which it was last armed.
    pub fn at(&self) -> u32 {
        self.at
    }
}

impl Default for Link {
    fn default() -> Self {
        Link::IDLE
    }
}

/// Where the links live.
pub trait Links {
    /// The link of the timer at an index that was armed. Indexes are below 2^31.
    fn link(&mut self, index: u32) -> &mut Link;
}

/// Lists of timers by when they fire; 4 KB, however many there are. All calls of one wheel go with
/// the same links.
///
/// ```
/// use stadium_wheel::{Link, Links, Wheel};
///
/// struct Streams(Vec<Link>);
/// impl Links for Streams {
///     fn link(&mut self, index: u32) -> &mut Link {
///         &mut self.0[index as usize]
///     }
/// }
///
/// let mut streams = Streams(vec![Link::IDLE; 3]);
/// let (mut wheel, mut fired) = (Wheel::new(), Vec::new());
/// wheel.arm(&mut streams, 2, 40);
/// assert_eq!(wheel.next(), Some(40));
/// wheel.advance(&mut streams, 40, &mut fired);
/// assert_eq!(fired, [2]);
/// ```
pub struct Wheel {
    /// Everything before this tick has fired.
    now: u32,
    /// Whether tick zero follows the last one.
    around: bool,
    armed: usize,
    /// The level from which timers are still to be moved down to `now`; 0 where none are.
    moving: usize,
    /// Timers of tick `now` have fired, and others of it have not.
    amid: bool,
    heads: Box<[u32; LEVELS * SLOTS]>,
}

impl Default for Wheel {
    fn default() -> Self {
        Wheel::new()
    }
}

impl Wheel {
    /// An empty wheel at tick zero. One that starts later is advanced first, which costs nothing
    /// while no timer is armed.
    pub fn new() -> Wheel {
        Wheel {
            now: 0,
            around: false,
            armed: 0,
            moving: 0,
            amid: false,
            heads: Box::new([NONE; LEVELS * SLOTS]),
        }
    }

    /// An empty wheel whose ticks go around: after the last 32-bit tick comes zero, so it never ends.
    /// A tick within the next 2^31 is ahead, any other has passed: who needs longer arms again.
    pub fn around(start: u32) -> Wheel {
        Wheel { now: start, around: true, ..Wheel::new() }
    }

    /// Everything before this tick has fired.
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Ticks until then; none where it has passed.
    fn ahead(&self, at: u32) -> u32 {
        let ticks = at.wrapping_sub(self.now);
        let passed = if self.around { ticks >= 1 << 31 } else { at < self.now };
        if passed { 0 } else { ticks }
    }

    /// Timers that are armed.
    pub fn armed(&self) -> usize {
        self.armed
    }

    /// Arms `index` to fire at tick `at`, or with the next [`Wheel::advance`] where that has passed.
    /// It must not be armed.
    pub fn arm(&mut self, links: &mut impl Links, index: u32, at: u32) {
        debug_assert!(!links.link(index).armed(), "a timer is armed once");
        self.armed += 1;
        links.link(index).at = at;
        self.insert(links, index);
    }

    /// Disarms `index` where it is armed.
    pub fn disarm(&mut self, links: &mut impl Links, index: u32) {
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
        let ahead = self.ahead(links.link(index).at);
        let at = self.now.wrapping_add(ahead);
        // A slot of a level is emptied when its time begins, so it may hold its next time from then on.
        let level = match ahead {
            0..0x100 => 0,
            0x100..0x1_0000 => 1,
            0x1_0000..0x100_0000 => 2,
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

    /// Moves to tick `to`, appending every timer due at or before it to `fired`, disarmed: earlier
    /// ticks first, those of one tick in any order. Where it moved there before, nothing happens.
    pub fn advance(&mut self, links: &mut impl Links, to: u32, fired: &mut Vec<u32>) {
        self.advance_some(links, to, fired, &mut { usize::MAX });
    }

    /// Like [`Wheel::advance`] in so many steps at most: each timer that fires or is moved down is one. Takes
    /// off what it used, and returns whether it came to tick `to`. It may stop within a tick, see [`Wheel::is_amid`].
    pub fn advance_some(
        &mut self,
        links: &mut impl Links,
        to: u32,
        fired: &mut Vec<u32>,
        steps: &mut usize,
    ) -> bool {
        if !self.move_down(links, steps) {
            return false;
        }
        while self.ahead(to) > 0 || self.now == to {
            if self.armed == 0 {
                self.amid = false;
                self.now = to.wrapping_add(1);
                return true;
            }
            if *steps == 0 {
                return false;
            }
            let (start, left) = ((self.now & 0xff) as usize, self.ahead(to));
            let occupied = self.heads[start..SLOTS].iter().position(|head| *head != NONE);
            match occupied.map(|ticks| ticks as u32).filter(|ticks| *ticks <= left) {
                Some(ticks) => {
                    self.now = self.now.wrapping_add(ticks);
                    self.amid = !self.take(links, start + ticks as usize, fired, steps);
                    if self.amid {
                        return false;
                    }
                    self.now = self.now.wrapping_add(1);
                }
                // Nothing for a long while: a round of rounds at once.
                None if self.now & 0xffff == 0 && left >= 0x1_0000 && self.none_near() => {
                    self.now = self.now.wrapping_add(0x1_0000);
                }
                // Nothing more fires in this round, or not by then.
                None => self.now = self.now.wrapping_add(left.min((SLOTS - 1 - start) as u32) + 1),
            }
            self.amid = false;
            self.moving = self.level_behind(0);
            if !self.move_down(links, steps) {
                return false;
            }
        }
        true
    }

    /// Whether some timers of tick [`Wheel::now`] have fired and others of it have not.
    pub fn is_amid(&self) -> bool {
        self.amid && self.heads[(self.now & 0xff) as usize] != NONE
    }

    /// The level behind this one whose next slot begins with tick `now`; 0 for none.
    fn level_behind(&self, level: usize) -> usize {
        if level + 1 < LEVELS && (self.now >> (8 * level)) & 0xff == 0 { level + 1 } else { 0 }
    }

    /// Moves timers down whose slots begin now. While some are left nothing is armed in those slots, for
    /// they are less than a round away. Returns whether it moved all.
    fn move_down(&mut self, links: &mut impl Links, steps: &mut usize) -> bool {
        while self.moving > 0 {
            if !self.cascade(links, self.moving, steps) {
                return false;
            }
            self.moving = self.level_behind(self.moving);
        }
        true
    }

    /// Whether nothing is armed within the next 2^16 ticks that begin now.
    fn none_near(&self) -> bool {
        self.heads[..2 * SLOTS].iter().all(|head| *head == NONE)
    }

    /// Takes the timers of a slot out, and returns whether those were all.
    fn take(&mut self, links: &mut impl Links, slot: usize, fired: &mut Vec<u32>, steps: &mut usize) -> bool {
        let mut index = self.heads[slot];
        while index != NONE && *steps > 0 {
            *steps -= 1;
            let link = links.link(index);
            let next = link.next;
            *link = Link { at: link.at, ..Link::IDLE };
            self.armed -= 1;
            fired.push(index);
            index = next;
        }
        self.begin_with(links, slot, index)
    }

    /// Moves the timers of the slot of a level that begins now, and returns whether those were all.
    fn cascade(&mut self, links: &mut impl Links, level: usize, steps: &mut usize) -> bool {
        let slot = level * SLOTS + ((self.now >> (8 * level)) & 0xff) as usize;
        let mut index = self.heads[slot];
        while index != NONE && *steps > 0 {
            *steps -= 1;
            let next = links.link(index).next;
            self.insert(links, index);
            index = next;
        }
        self.begin_with(links, slot, index)
    }

    /// The rest of a slot begins with this timer. Returns whether nothing is left.
    fn begin_with(&mut self, links: &mut impl Links, slot: usize, index: u32) -> bool {
        self.heads[slot] = index;
        if index != NONE {
            links.link(index).previous = slot as u32 | SLOT;
        }
        index == NONE
    }

    /// The tick for which [`Wheel::advance`] must be called next: of the next timer where it is near,
    /// otherwise of the next move down, at most 256 ticks away. `None` where nothing is armed. Looks
    /// at 256 slots at most.
    pub fn next(&self) -> Option<u32> {
        if self.armed == 0 {
            return None;
        }
        if self.moving > 0 {
            return Some(self.now);
        }
        let start = (self.now & 0xff) as usize;
        // Slots from now to the end of the round, then those of the next round that are near already.
        let this_round = self.heads[start..SLOTS].iter().position(|head| *head != NONE);
        if let Some(ticks) = this_round {
            return Some(self.now.wrapping_add(ticks as u32));
        }
        let last = self.now | 0xff;
        let round = last.wrapping_add(1);
        if self.moves_down(round) {
            return Some(last);
        }
        let next_round = self.heads[..start].iter().position(|head| *head != NONE);
        Some(next_round.map_or(last, |ticks| round.wrapping_add(ticks as u32)))
    }

    /// Whether timers move down when the round begins that starts with this tick.
    fn moves_down(&self, round: u32) -> bool {
        (1..LEVELS).any(|level| {
            let begins = round.trailing_zeros() as usize >= 8 * level;
            begins && self.heads[level * SLOTS + ((round >> (8 * level)) & 0xff) as usize] != NONE
        })
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
    fn timers_armed_on_the_way_fire_in_their_tick() {
        for seed in 0..20 {
            let mut numbers = Numbers(seed);
            let mut links = vec![Link::IDLE; 64];
            let mut due = vec![None; links.len()];
            let mut wheel = Wheel::new();
            let mut fired = Vec::new();
            let mut now = numbers.below(1 << 20);
            wheel.advance(&mut links, now, &mut fired);
            for _ in 0..20_000 {
                let index = numbers.below(links.len() as u32);
                match (numbers.below(4), due[index as usize]) {
                    (0, _) => {
                        wheel.disarm(&mut links, index);
                        due[index as usize] = None;
                    }
                    (1 | 2, None) => {
                        let within = [10, 256, 300, 70_000, 1 << 25][numbers.below(5) as usize];
                        let at = now + 1 + numbers.below(within);
                        wheel.arm(&mut links, index, at);
                        due[index as usize] = Some(at);
                    }
                    _ => {
                        let Some(next) = wheel.next() else { continue };
                        assert!(next > now, "seed {seed}: the wheel never asks for the past");
                        let to = (now + numbers.below(400)).max(now + 1).min(next);
                        wheel.advance(&mut links, to, &mut fired);
                        now = to;
                        for index in fired.drain(..) {
                            assert_eq!(due[index as usize].take(), Some(now), "seed {seed}");
                        }
                        assert!(
                            due.iter().flatten().all(|at| *at > now),
                            "seed {seed}: one was left at {now}"
                        );
                    }
                }
                assert_eq!(wheel.armed(), due.iter().flatten().count());
            }
        }
    }

    #[test]
    fn a_near_timer_of_the_next_round_is_asked_for_at_its_own_tick() {
        let mut links = vec![Link::IDLE; 2];
        let (mut wheel, mut fired) = (Wheel::new(), Vec::new());
        wheel.advance(&mut links, 199, &mut fired);
        wheel.arm(&mut links, 0, 400);
        assert_eq!(wheel.next(), Some(400), "nothing is moved on the way to it");
        wheel.arm(&mut links, 1, 500);
        assert_eq!(wheel.next(), Some(255), "the other one is");
        wheel.advance(&mut links, 255, &mut fired);
        assert_eq!((wheel.next(), fired.len()), (Some(400), 0));
    }

    /// Advances in so many steps at a time, and returns how many times.
    fn advance_in_steps(
        wheel: &mut Wheel,
        links: &mut Vec<Link>,
        to: u32,
        fired: &mut Vec<u32>,
        steps: usize,
    ) -> usize {
        for times in 1.. {
            let (before, mut left) = (fired.len(), steps);
            let is_there = wheel.advance_some(links, to, fired, &mut left);
            assert!(fired.len() - before <= steps - left, "each that fires is a step");
            if is_there {
                return times;
            }
            assert_eq!(left, 0, "it stops for its steps alone");
        }
        unreachable!("it comes to its tick");
    }

    #[test]
    fn many_timers_of_one_tick_fire_and_move_in_bounded_steps() {
        const MANY: u32 = 10_000;
        // One round away, two rounds away and three: they are moved once, twice and three times.
        for at in [200, 300, 70_000, 20_000_000] {
            let mut links = vec![Link::IDLE; MANY as usize + 1];
            let (mut wheel, mut fired) = (Wheel::new(), Vec::new());
            (0..MANY).for_each(|index| wheel.arm(&mut links, index, at));
            assert!(advance_in_steps(&mut wheel, &mut links, at - 1, &mut fired, 64) < 1_000_000);
            assert!(fired.is_empty());
            let mut steps = 64;
            assert!(!wheel.advance_some(&mut links, at, &mut fired, &mut steps));
            assert_eq!((steps, fired.len(), wheel.is_amid()), (0, 64, true));
            assert_eq!(wheel.next(), Some(at));
            // One that is armed and one that is disarmed meanwhile.
            wheel.arm(&mut links, MANY, at);
            let rest = (0..MANY).find(|index| links[*index as usize].armed()).expect("most are");
            wheel.disarm(&mut links, rest);
            advance_in_steps(&mut wheel, &mut links, at, &mut fired, 64);
            assert_eq!((fired.len(), wheel.is_amid(), wheel.armed()), (MANY as usize, false, 0));
            assert!(fired.contains(&MANY) && !fired.contains(&rest));
        }
    }

    #[test]
    fn in_steps_the_same_timers_fire_in_the_same_ticks() {
        for seed in 0..20 {
            let mut numbers = Numbers(seed);
            let mut links = vec![Link::IDLE; 200];
            let mut due = vec![None; links.len()];
            let mut wheel = Wheel::around(u32::MAX - 100_000);
            let mut fired = Vec::new();
            let mut now = wheel.now();
            wheel.advance(&mut links, now, &mut fired);
            for _ in 0..5_000 {
                let index = numbers.below(links.len() as u32);
                if due[index as usize].is_none() {
                    let within = [2, 256, 70_000, 1 << 25][numbers.below(4) as usize];
                    let at = now.wrapping_add(1 + numbers.below(within));
                    wheel.arm(&mut links, index, at);
                    due[index as usize] = Some(at);
                }
                let far = [3, 600, 70_000][numbers.below(3) as usize];
                let to = now.wrapping_add(1 + numbers.below(far));
                // Armed and disarmed while it is on its way as well.
                let mut steps = numbers.below(4) as usize;
                wheel.advance_some(&mut links, to, &mut fired, &mut steps);
                let other = numbers.below(links.len() as u32);
                if links[other as usize].armed() {
                    wheel.disarm(&mut links, other);
                    due[other as usize] = None;
                }
                advance_in_steps(&mut wheel, &mut links, to, &mut fired, 1 + numbers.below(5) as usize);
                for index in fired.drain(..) {
                    let at = due[index as usize].take().expect("it was armed");
                    assert!(at.wrapping_sub(now) <= to.wrapping_sub(now), "seed {seed}");
                }
                now = to;
                assert!(
                    due.iter().flatten().all(|at| at.wrapping_sub(now) < 1 << 31 && *at != now),
                    "seed {seed}: one was left at {now}"
                );
                assert_eq!(wheel.armed(), due.iter().flatten().count());
            }
        }
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
    fn ticks_that_go_around_never_end() {
        let mut links = vec![Link::IDLE; 3];
        let mut wheel = Wheel::around(u32::MAX - 1_000);
        wheel.arm(&mut links, 0, u32::MAX);
        wheel.arm(&mut links, 1, 70_000);
        wheel.arm(&mut links, 2, u32::MAX - 5_000);
        let (mut fired, mut order) = (Vec::new(), Vec::new());
        while let Some(next) = wheel.next() {
            wheel.advance(&mut links, next, &mut fired);
            order.extend(fired.drain(..).map(|index| (index, next)));
        }
        assert_eq!(order, [(2, u32::MAX - 1_000), (0, u32::MAX), (1, 70_000)]);
    }

    #[test]
    fn a_long_way_is_gone_in_leaps_and_nothing_is_skipped() {
        let mut links = vec![Link::IDLE; 100];
        let mut wheel = Wheel::around(5);
        let mut due: Vec<u32> = (0..100).map(|index| 70_000 + index * index * 4_099).collect();
        for (index, at) in due.iter().enumerate() {
            wheel.arm(&mut links, index as u32, *at);
        }
        let (mut fired, mut order) = (Vec::new(), Vec::new());
        for to in (0..60_000_000).step_by(999_983) {
            let before = wheel.now();
            wheel.advance(&mut links, to, &mut fired);
            for index in fired.drain(..) {
                let at = due[index as usize];
                assert!((before..=to).contains(&at), "{at} fired between {before} and {to}");
                order.push(at);
            }
        }
        due.sort_unstable();
        assert_eq!(order, due);
    }

    #[test]
    fn a_bounded_advance_stops_within_a_tick_and_goes_on() {
        let mut links = vec![Link::IDLE; 10];
        let mut wheel = Wheel::new();
        for index in 0..10 {
            wheel.arm(&mut links, index, 10 + index / 2);
        }
        let mut fired = Vec::new();
        assert!(!wheel.advance_some(&mut links, 100, &mut fired, &mut 3));
        assert_eq!((fired.len(), wheel.now(), wheel.is_amid()), (3, 11, true));
        assert!(!wheel.advance_some(&mut links, 100, &mut fired, &mut 1));
        assert_eq!((fired.len(), wheel.now(), wheel.is_amid()), (4, 12, false));
        assert!(wheel.advance_some(&mut links, 100, &mut fired, &mut { usize::MAX }));
        assert_eq!((fired.len(), wheel.now()), (10, 101));
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
