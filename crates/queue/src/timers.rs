//! What is to happen when: one wheel of milliseconds for jobs, extras, dedup ids and gates.
//!
//! A tick is the low half of a timestamp in milliseconds, so the wheel goes around every 49 days
//! and never ends. A timer that is further away than 2^30 ms is armed for then and armed again when
//! it fires. A *gate* is a queue or a lane that waits for a token.

use stadium_wheel::{Link, Links, Wheel};

use crate::Time;
use stadium_table::Paged;

/// The furthest a timer is armed, in milliseconds.
pub(crate) const AHEAD_MAX: u64 = 1 << 30;

/// Whose timer it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    Job(u32),
    Extra(u32),
    Dedup(u32),
    Lane(u32),
    Queue(u32),
}

const KIND: u32 = 29;
const PLACE: u32 = (1 << KIND) - 1;

/// The highest place of a job, an extra or a dedup id that has a timer of its own.
pub(crate) const PLACE_MAX: u32 = PLACE;
/// The highest place of a lane or a queue that has one.
pub(crate) const GATE_PLACE_MAX: u32 = PLACE >> 1;

impl Timer {
    #[inline]
    fn index(self) -> u32 {
        match self {
            Timer::Job(place) => place,
            Timer::Extra(place) => 1 << KIND | place,
            Timer::Dedup(place) => 2 << KIND | place,
            Timer::Lane(place) => 3 << KIND | place << 1,
            Timer::Queue(place) => 3 << KIND | place << 1 | 1,
        }
    }

    #[inline]
    pub(crate) fn of(index: u32) -> Timer {
        let place = index & PLACE;
        match index >> KIND {
            0 => Timer::Job(place),
            1 => Timer::Extra(place),
            2 => Timer::Dedup(place),
            _ if place & 1 == 0 => Timer::Lane(place >> 1),
            _ => Timer::Queue(place >> 1),
        }
    }
}

struct Places([Paged<Link>; 4]);

impl Links for Places {
    #[inline]
    fn link(&mut self, index: u32) -> &mut Link {
        &mut self.0[(index >> KIND) as usize][index & PLACE]
    }
}

pub(crate) struct Timers {
    wheel: Wheel,
    places: Places,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self { wheel: Wheel::around(0), places: Places([(); 4].map(|()| Paged::new())) }
    }

    /// Empties it; the next tick is that of `now`.
    pub(crate) fn restart(&mut self, now: Time) {
        self.wheel = Wheel::around(now.0 as u32);
        self.places.0.iter_mut().for_each(Paged::clear);
    }

    /// Arms a timer, or arms it again, relative to `now`.
    #[inline]
    pub(crate) fn arm(&mut self, timer: Timer, at: Time, now: Time) {
        let index = timer.index();
        self.places.0[(index >> KIND) as usize].reach(index & PLACE);
        self.wheel.disarm(&mut self.places, index);
        // A timer that is long overdue must not look as if it were ahead.
        let tick = at.0.clamp(now.0, now.0.saturating_add(AHEAD_MAX)) as u32;
        self.wheel.arm(&mut self.places, index, tick);
    }

    #[inline]
    pub(crate) fn disarm(&mut self, timer: Timer) {
        let index = timer.index();
        if self.places.0[(index >> KIND) as usize].has(index & PLACE) {
            self.wheel.disarm(&mut self.places, index);
        }
    }

    /// Fires what is due up to `now` in so many steps at most, and takes off those that it took.
    pub(crate) fn advance(&mut self, now: Time, fired: &mut Vec<u32>, steps: &mut usize) {
        self.wheel.advance_some(&mut self.places, now.0 as u32, fired, steps);
    }

    /// Whether some timers of a millisecond have fired and others of it have not.
    pub(crate) fn is_amid(&self) -> bool {
        self.wheel.is_amid()
    }

    /// Whether every tick up to `now` has fired.
    #[inline]
    pub(crate) fn reached(&self, now: Time) -> bool {
        self.wheel.now() == (now.0 as u32).wrapping_add(1)
    }

    /// When it wants to be advanced next; `now` is the time to which it was.
    pub(crate) fn next(&self, now: Time) -> Option<Time> {
        let ahead = self.wheel.next()?.wrapping_sub(now.0 as u32) as i32;
        Some(now.after(u64::try_from(ahead).unwrap_or(0)))
    }

    pub(crate) fn bytes(&self) -> usize {
        4_096 + self.places.0.iter().map(Paged::bytes).sum::<usize>()
    }
}
