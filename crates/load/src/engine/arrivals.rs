//! When users come: the phases of a scenario as times that are fixed before the run.
//!
//! An open phase is a rate that goes in a straight line from one value to another; its integral is
//! the number of users that have come by a time, and the inverse of that when the k-th one does.
//! Loops deal the users among themselves like cards (constant spacing), or each draws a Poisson
//! process of its part of the rate by stretching time (Çinlar, *Introduction to Stochastic
//! Processes*, 1975), so that all of them together are what the scenario states, however many there
//! are.

use stadium_scenario::program::{Arrivals, Phase, Spacing};

use crate::share::Share;

/// A second in nanoseconds.
const SECOND_NS: f64 = 1e9;

/// Users that come, one after the other.
#[derive(Debug)]
pub(crate) struct Schedule {
    phases: Vec<Span>,
    share: Share,
    random: fastrand::Rng,
    /// The phase that is being drawn.
    phase: usize,
    /// Users of this phase that have come, over all loops.
    count: f64,
    next: Option<Arrival>,
}

#[derive(Debug)]
struct Span {
    start_ns: u64,
    duration_ns: u64,
    arrivals: Arrivals,
}

/// A user who comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// When, from the run's start.
    pub(crate) due_ns: u64,
    /// In which phase.
    pub(crate) phase: usize,
}

impl Schedule {
    /// The users of one share of the loops.
    pub(crate) fn new(phases: &[Phase], share: Share, seed: u64) -> Self {
        let mut start_ns = 0;
        let phases = phases
            .iter()
            .map(|phase| {
                let span = Span { start_ns, duration_ns: phase.duration_ns, arrivals: phase.arrivals };
                start_ns += phase.duration_ns;
                span
            })
            .collect();
        let mut schedule = Schedule {
            phases,
            share,
            random: fastrand::Rng::with_seed(seed ^ (u64::from(share.index) << 32)),
            phase: 0,
            count: 0.0,
            next: None,
        };
        schedule.begin_phase();
        schedule.draw();
        schedule
    }

    /// The next user, who stays the next until [`Schedule::take`].
    pub(crate) fn peek(&self) -> Option<Arrival> {
        self.next
    }

    /// The next user.
    pub(crate) fn take(&mut self) -> Option<Arrival> {
        let arrival = self.next.take()?;
        self.draw();
        Some(arrival)
    }

    /// When the last phase ends.
    pub(crate) fn end_ns(&self) -> u64 {
        self.phases.last().map_or(0, |span| span.start_ns + span.duration_ns)
    }

    /// The phase at a time; the last one after its end.
    pub(crate) fn phase_at(&self, at_ns: u64) -> usize {
        let next = self.phases.partition_point(|span| span.start_ns <= at_ns);
        next.saturating_sub(1)
    }

    /// How many users of a closed model this share has at a time; `None` where the phase is not
    /// closed.
    pub(crate) fn level(&self, at_ns: u64) -> Option<u32> {
        if at_ns >= self.end_ns() {
            return None;
        }
        let span = &self.phases[self.phase_at(at_ns)];
        let Arrivals::Closed { from, to } = span.arrivals else { return None };
        let part = (at_ns - span.start_ns) as f64 / span.duration_ns.max(1) as f64;
        let users = (from + (to - from) * part).round() as u32;
        Some(self.share.part(users))
    }

    fn begin_phase(&mut self) {
        // With constant spacing, this share's first user is the one of its number.
        self.count = f64::from(self.share.index);
        let poisson = matches!(
            self.phases.get(self.phase).map(|span| span.arrivals),
            Some(Arrivals::Open { spacing: Spacing::Poisson, .. })
        );
        if poisson {
            self.count = self.exponential();
        }
    }

    /// Finds the next user, in this phase or a later one.
    fn draw(&mut self) {
        while let Some(span) = self.phases.get(self.phase) {
            if let Arrivals::Open { from, to, spacing } = span.arrivals
                && let Some(at_ns) = time_of(from, to, span.duration_ns, self.count)
            {
                self.next = Some(Arrival { due_ns: span.start_ns + at_ns, phase: self.phase });
                self.count += match spacing {
                    Spacing::Constant => f64::from(self.share.of),
                    Spacing::Poisson => self.exponential(),
                };
                return;
            }
            self.phase += 1;
            self.begin_phase();
        }
    }

    /// A step of a unit Poisson process, as long as this share's part of the rate makes it.
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.random.f64()).ln() * f64::from(self.share.of)
    }
}

/// When so many users have come at a rate that goes from `from` to `to` in `duration_ns`; `None` where they never do.
fn time_of(from: f64, to: f64, duration_ns: u64, count: f64) -> Option<u64> {
    let duration = duration_ns as f64 / SECOND_NS;
    let slope = (to - from) / duration;
    let at = if slope.abs() < 1e-9 {
        count / from
    } else {
        // from * t + slope / 2 * t^2 = count, in the form that does not cancel.
        let root = from * from + 2.0 * slope * count;
        if root < 0.0 {
            return None;
        }
        let below = from + root.sqrt();
        if below <= 0.0 { 0.0 } else { 2.0 * count / below }
    };
    (at < duration).then_some((at * SECOND_NS) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(seconds: u64, arrivals: Arrivals) -> Phase {
        Phase {
            name: String::new(),
            duration_ns: seconds * 1_000_000_000,
            arrivals,
            measured: true,
            mix: vec![1.0],
        }
    }

    fn open(from: f64, to: f64, spacing: Spacing) -> Arrivals {
        Arrivals::Open { from, to, spacing }
    }

    fn all(phases: &[Phase], of: u32) -> Vec<u64> {
        let mut times: Vec<u64> = (0..of)
            .flat_map(|index| {
                let mut schedule = Schedule::new(phases, Share { index, of }, 7);
                std::iter::from_fn(move || schedule.take()).map(|arrival| arrival.due_ns).collect::<Vec<_>>()
            })
            .collect();
        times.sort_unstable();
        times
    }

    #[test]
    fn users_come_evenly_however_many_loops_deal_them() {
        let phases = [phase(10, open(100.0, 100.0, Spacing::Constant))];
        let alone = all(&phases, 1);
        assert_eq!(alone.len(), 1_000);
        assert_eq!(alone[17], 170_000_000);
        assert_eq!(all(&phases, 3), alone);
    }

    #[test]
    fn a_ramp_brings_the_area_under_it() {
        let phases = [
            phase(10, open(0.0, 200.0, Spacing::Constant)),
            phase(5, Arrivals::None),
            phase(10, open(200.0, 0.0, Spacing::Constant)),
        ];
        let times = all(&phases, 2);
        assert!((1_998..=2_002).contains(&times.len()), "{}", times.len());
        let half = times.iter().filter(|&&at| at < 5_000_000_000).count();
        assert!((249..=251).contains(&half), "{half} in the first half of the ramp");
        assert!(!times.iter().any(|at| (10_000_000_000..15_000_000_000).contains(at)));
    }

    #[test]
    fn a_poisson_process_has_its_rate_and_its_spread() {
        let phases = [phase(100, open(200.0, 200.0, Spacing::Poisson))];
        for of in [1, 4] {
            let times = all(&phases, of);
            let count = times.len() as f64;
            // Five standard deviations.
            assert!((count - 20_000.0).abs() < 5.0 * 20_000_f64.sqrt(), "{count}");
            let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            let spread = variance.sqrt() / mean;
            assert!((0.95..1.05).contains(&spread), "an exponential's spread is its mean: {spread}");
        }
    }

    #[test]
    fn a_closed_phase_has_a_level() {
        let phases = [
            phase(10, Arrivals::Closed { from: 0.0, to: 100.0 }),
            phase(10, open(1.0, 1.0, Spacing::Constant)),
        ];
        let level =
            |index, at_s: u64| Schedule::new(&phases, Share { index, of: 3 }, 1).level(at_s * 1_000_000_000);
        assert_eq!([level(0, 5), level(1, 5), level(2, 5)], [Some(17), Some(17), Some(16)]);
        assert_eq!(level(0, 0), Some(0));
        assert_eq!(level(0, 12), None, "an open phase has none");
        assert_eq!(level(0, 25), None, "nor has the time after the end");
    }
}
