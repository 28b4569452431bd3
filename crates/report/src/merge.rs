//! Results of several workers become one.
//!
//! Counts and histograms add, maxima stay maxima, and the figures that show how well a generator
//! did are the worst of any: a share that one machine lost must not vanish in the mean of four.
//! Shares of intervals are weighted by loops. Merging does not depend on the order, but for texts:
//! texts that are reported once (scenario, machine) are those of the first one.

use std::collections::BTreeMap;

use crate::latency::Counts;
use crate::{
    Check, Fleet, Generator, Interval, Messages, Outcome, Phase, Requests, RunResult, Scraped, Session, Step,
};

/// Adding what another worker measured at the same time.
pub trait Merge {
    /// Takes in what the other one measured.
    fn merge(&mut self, other: &Self);
}

impl Merge for Counts {
    fn merge(&mut self, other: &Self) {
        Counts::merge(self, other);
    }
}

/// Adds counts by kind.
pub(crate) fn add_kinds(ours: &mut BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) {
    for (kind, count) in theirs {
        match ours.get_mut(kind) {
            Some(sum) => *sum += count,
            None => drop(ours.insert(kind.clone(), *count)),
        }
    }
}

impl Merge for Requests {
    fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.answered += other.answered;
        add_kinds(&mut self.errors, &other.errors);
        add_kinds(&mut self.statuses, &other.statuses);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
    }
}

impl Merge for Messages {
    fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.latency.merge(&other.latency);
    }
}

/// The same step; its checks are distinguished by their text.
impl Merge for Step {
    fn merge(&mut self, other: &Self) {
        self.requests.merge(&other.requests);
        merge_by(&mut self.checks, &other.checks, |check| check.text.clone());
        if self.protocol.is_empty() {
            self.protocol.clone_from(&other.protocol);
        }
    }
}

impl Merge for Check {
    fn merge(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The same kind of session.
impl Merge for Session {
    fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.duration.merge(&other.duration);
    }
}

/// The same fleet, a part of it in each worker.
///
/// The most that were connected at once is the sum of each part's most: never too low, too high
/// where the parts' peaks were not at the same time.
impl Merge for Fleet {
    fn merge(&mut self, other: &Self) {
        self.devices += other.devices;
        self.connected_max += other.connected_max;
        self.connects += other.connects;
        add_kinds(&mut self.lost_connections, &other.lost_connections);
        add_kinds(&mut self.refused, &other.refused);
        self.connect.merge(&other.connect);
        self.messages.merge(&other.messages);
        for fact in &other.facts {
            if !self.facts.contains(fact) {
                self.facts.push(fact.clone());
            }
        }
    }
}

/// The same stretch of time in another worker. See [`Interval::append`] for the next stretch of the same one.
impl Merge for Interval {
    fn merge(&mut self, other: &Self) {
        self.at_s = self.at_s.max(other.at_s);
        self.length_s = self.length_s.max(other.length_s);
        self.users += other.users;
        self.devices += other.devices;
        self.add_events(other);
        self.busy = self.busy.max(other.busy);
        self.machine_busy = self.machine_busy.max(other.machine_busy);
        self.steal = self.steal.max(other.steal);
    }
}

impl Interval {
    /// Takes in the interval that came after this one: users and devices are those at its end.
    pub fn append(&mut self, next: &Interval) {
        let (ours, theirs) = (self.length_s.max(0.0), next.length_s.max(0.0));
        let whole = if ours + theirs > 0.0 { ours + theirs } else { 1.0 };
        let weigh = |left: f64, right: f64| (left * ours + right * theirs) / whole;
        self.busy = weigh(self.busy, next.busy);
        self.machine_busy = weigh(self.machine_busy, next.machine_busy);
        self.steal = weigh(self.steal, next.steal);
        self.at_s = next.at_s;
        self.length_s = ours + theirs;
        self.users = next.users;
        self.devices = next.devices;
        self.add_events(next);
    }

    fn add_events(&mut self, other: &Interval) {
        self.arrived += other.arrived;
        self.started += other.started;
        self.answered += other.answered;
        add_kinds(&mut self.errors, &other.errors);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.messages += other.messages;
        self.message_latency.merge(&other.message_latency);
        self.bytes[0] += other.bytes[0];
        self.bytes[1] += other.bytes[1];
        self.lateness.merge(&other.lateness);
    }
}

/// The worst of both; `saturated`, a share of intervals, is weighted by loops.
impl Merge for Generator {
    fn merge(&mut self, other: &Self) {
        let loops = f64::from(self.loops) + f64::from(other.loops);
        self.saturated = if loops > 0.0 {
            (self.saturated * f64::from(self.loops) + other.saturated * f64::from(other.loops)) / loops
        } else {
            self.saturated.max(other.saturated)
        };
        self.loops += other.loops;
        self.lateness.merge(&other.lateness);
        self.busy = self.busy.max(other.busy);
        self.machine_busy = self.machine_busy.max(other.machine_busy);
        self.steal = self.steal.max(other.steal);
        self.exhausted += other.exhausted;
        self.sent_again += other.sent_again;
        self.not_begun += other.not_begun;
        for doubt in &other.doubts {
            if !self.doubts.contains(doubt) {
                self.doubts.push(doubt.clone());
            }
        }
    }
}

/// The worse of both: failed, then interrupted, then completed.
impl Merge for Outcome {
    fn merge(&mut self, other: &Self) {
        let weight = |outcome: &Outcome| match outcome {
            Outcome::Completed => 0,
            Outcome::Interrupted => 1,
            Outcome::Failed { .. } => 2,
        };
        if weight(other) > weight(self) {
            self.clone_from(other);
        }
    }
}

/// The same phase: from where the first began it to where the last ended it.
impl Merge for Phase {
    fn merge(&mut self, other: &Self) {
        self.from_s = self.from_s.min(other.from_s);
        self.to_s = self.to_s.max(other.to_s);
    }
}

/// Everything of another worker of the same run.
///
/// Intervals are matched by the slot of time that their middle lies in, so workers need not have
/// cut time at exactly the same times. Thresholds are forgotten: those of a part mean nothing for
/// the whole, so evaluate them again.
impl Merge for RunResult {
    fn merge(&mut self, other: &Self) {
        self.duration_s = self.duration_s.max(other.duration_s);
        self.measured_s = self.measured_s.max(other.measured_s);
        self.outcome.merge(&other.outcome);
        merge_by(&mut self.phases, &other.phases, |phase| phase.name.clone());
        self.phases.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
        self.total.merge(&other.total);
        merge_by(&mut self.steps, &other.steps, |step| (step.session.clone(), step.name.clone()));
        merge_by(&mut self.sessions, &other.sessions, |session| session.name.clone());
        self.messages.merge(&other.messages);
        merge_by(&mut self.fleets, &other.fleets, |fleet| fleet.name.clone());
        merge_series(&mut self.series, &other.series);
        merge_by(&mut self.scraped, &other.scraped, |scraped| {
            (scraped.target.clone(), scraped.metric.clone())
        });
        self.generator.merge(&other.generator);
        self.workers.extend(other.workers.iter().cloned());
        self.thresholds.clear();
    }
}

/// The same metric of the same target: the one with more points is believed, as both read the same
/// thing.
impl Merge for Scraped {
    fn merge(&mut self, other: &Self) {
        if other.points.len() > self.points.len() {
            self.points.clone_from(&other.points);
        }
    }
}

fn merge_by<T: Merge + Clone, K: Ord>(ours: &mut Vec<T>, theirs: &[T], key: impl Fn(&T) -> K) {
    let mut places: BTreeMap<K, usize> =
        ours.iter().enumerate().map(|(place, item)| (key(item), place)).collect();
    for item in theirs {
        match places.get(&key(item)) {
            Some(&place) => ours[place].merge(item),
            None => {
                places.insert(key(item), ours.len());
                ours.push(item.clone());
            }
        }
    }
}

fn merge_series(ours: &mut Vec<Interval>, theirs: &[Interval]) {
    let Some(slot_s) = usual_length(ours.iter().chain(theirs)) else {
        ours.extend_from_slice(theirs);
        return;
    };
    let slot = |interval: &Interval| (interval.middle_s() / slot_s).floor() as i64;
    let mut slots: BTreeMap<i64, Interval> = BTreeMap::new();
    for side in [ours.as_slice(), theirs] {
        // Two intervals of one worker in one slot follow each other: they must not count as two workers' users.
        let mut own: BTreeMap<i64, Interval> = BTreeMap::new();
        for interval in side {
            match own.get_mut(&slot(interval)) {
                Some(before) => before.append(interval),
                None => drop(own.insert(slot(interval), interval.clone())),
            }
        }
        for (slot, interval) in own {
            match slots.get_mut(&slot) {
                Some(sum) => sum.merge(&interval),
                None => drop(slots.insert(slot, interval)),
            }
        }
    }
    *ours = slots.into_values().collect();
}

/// The length that most intervals have: the middle one in order of length.
fn usual_length<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Option<f64> {
    let mut lengths: Vec<f64> =
        intervals.map(|interval| interval.length_s).filter(|length| *length > 0.0).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Doubt, Threshold, Worker};

    fn worker(name: &str, shift_s: f64, users: u64) -> RunResult {
        let second = |at: u32| Interval {
            at_s: f64::from(at) + shift_s,
            length_s: 1.0,
            users,
            started: 10,
            answered: 9,
            response: Counts::from_buckets(vec![(u64::from(at) * 1_000_000, 9)]),
            busy: shift_s * 10.0,
            ..Interval::default()
        };
        RunResult {
            duration_s: 5.0 + shift_s,
            phases: vec![Phase {
                name: "peak".to_owned(),
                from_s: 0.0,
                to_s: 5.0 + shift_s,
                ..Phase::default()
            }],
            total: Requests { started: 50, answered: 45, ..Requests::default() },
            steps: vec![
                Step { session: "a".to_owned(), name: "vote".to_owned(), ..Step::default() },
                Step { session: name.to_owned(), name: "vote".to_owned(), ..Step::default() },
            ],
            series: (1..=5).map(second).collect(),
            generator: Generator { loops: 2, steal: shift_s, saturated: shift_s, ..Generator::default() },
            workers: vec![Worker { name: name.to_owned(), ..Worker::default() }],
            thresholds: vec![Threshold { passed: true, ..Threshold::default() }],
            ..RunResult::default()
        }
    }

    #[test]
    fn two_workers_become_one_run() {
        let mut whole = worker("one", 0.0, 5);
        whole.merge(&worker("two", 0.08, 7));

        assert_eq!((whole.total.started, whole.total.answered), (100, 90));
        assert_eq!(whole.duration_s, 5.08);
        assert_eq!(whole.phases.len(), 1);
        assert_eq!(whole.phases[0].to_s, 5.08);
        let steps: Vec<_> = whole.steps.iter().map(|step| step.session.as_str()).collect();
        assert_eq!(steps, ["a", "one", "two"]);
        assert_eq!(whole.series.len(), 5, "times that differ a little are the same interval");
        for (index, interval) in whole.series.iter().enumerate() {
            assert_eq!((interval.users, interval.started, interval.response.len()), (12, 20, 18), "{index}");
            assert_eq!(interval.length_s, 1.0);
            assert!((interval.busy - 0.8).abs() < 1e-9);
        }
        assert_eq!(whole.generator.steal, 0.08);
        assert_eq!(whole.generator.saturated, 0.04);
        assert_eq!(whole.workers.len(), 2);
        assert!(whole.thresholds.is_empty(), "a part's thresholds mean nothing for the whole");
    }

    #[test]
    fn a_worker_that_died_early_leaves_the_rest_as_it_was() {
        let mut whole = worker("one", 0.0, 5);
        let mut dead = worker("two", 0.0, 7);
        dead.series.truncate(2);
        dead.outcome = Outcome::Failed { reason: "connection reset".to_owned() };
        dead.generator.doubts.push(Doubt { refuse: true, text: "a worker was lost".to_owned() });
        whole.merge(&dead);
        let users: Vec<u64> = whole.series.iter().map(|interval| interval.users).collect();
        assert_eq!(users, [12, 12, 5, 5, 5]);
        assert_eq!(whole.outcome, dead.outcome);
        assert_eq!(whole.generator.doubts.len(), 1);
    }

    #[test]
    fn the_order_of_merging_does_not_matter() {
        let (one, two, three) = (worker("one", 0.0, 5), worker("two", 0.03, 7), worker("one", 0.05, 1));
        let merged = |order: [&RunResult; 3]| {
            let mut whole = order[0].clone();
            whole.merge(order[1]);
            whole.merge(order[2]);
            whole
        };
        let (left, right) = (merged([&one, &two, &three]), merged([&three, &one, &two]));
        assert_eq!(left.series, right.series);
        assert_eq!(left.total, right.total);
    }

    #[test]
    fn an_interval_that_follows_is_not_another_worker() {
        let series = worker("one", 0.0, 5).series;
        let mut sum = series[0].clone();
        sum.append(&series[1]);
        assert_eq!((sum.users, sum.started, sum.length_s, sum.at_s), (5, 20, 2.0, 2.0));
    }
}
