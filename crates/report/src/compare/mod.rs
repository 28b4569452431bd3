//! Two runs, or more: which differences are more than noise.
//!
//! The comparison covers the phases that both runs have by name, without those whose name begins
//! with *warm*. A difference counts where its 99% interval leaves out *none* and it is at least
//! [`SMALLEST`]: a histogram's buckets alone differ by 0.1%. The noise is that within the runs. How
//! much runs differ from day to day only repeats can show, and the page states this.

mod statistics;
mod view;

use crate::latency::Counts;
use crate::{Interval, Outcome, RunResult, Step, number};
use statistics::{Part, Sample, difference_interval, rank_interval, ratio_interval};
pub use view::{html, text};

/// The least relative difference that counts; smaller ones are none in practice.
pub const SMALLEST: f64 = 0.01;

/// A run beside which others are held.
#[derive(Debug, Clone)]
pub struct Comparison<'a> {
    /// The run that the others are compared with.
    pub baseline: &'a RunResult,
    /// Each other run.
    pub others: Vec<Compared<'a>>,
}

/// A run beside the baseline.
#[derive(Debug, Clone)]
pub struct Compared<'a> {
    /// The run.
    pub run: &'a RunResult,
    /// What makes the two hard to compare, in words.
    pub warnings: Vec<String>,
    /// Every figure that both have.
    pub differences: Vec<Difference>,
}

impl Compared<'_> {
    /// How many differences have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.differences.iter().filter(|difference| difference.verdict == verdict).count()
    }
}

/// A figure in two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Of what: `all requests`, `step vote`.
    pub subject: String,
    /// Which figure: `response p99`.
    pub figure: String,
    /// In the baseline, with its unit.
    pub before: String,
    /// In the other run.
    pub after: String,
    /// How much it changed.
    pub change: String,
    /// Between what the change lies with 99%; empty where the data does not suffice.
    pub interval: String,
    /// What that means.
    pub verdict: Verdict,
    /// Whether the two are far apart and yet show no difference: a few intervals of one run make
    /// it.
    pub hangs_on_few: bool,
}

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// More than noise, to the good.
    Better,
    /// More than noise, to the bad.
    Worse,
    /// More than noise, and neither good nor bad: what was offered.
    Changed,
    /// No difference that the data can show.
    Same,
    /// Too little data for a verdict.
    Unknown,
}

impl Verdict {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Changed => "changed",
            Verdict::Same => "no difference shown",
            Verdict::Unknown => "too little data",
        }
    }
}

/// Whether more of a figure is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    More,
    Less,
    Neither,
}

/// Holds runs beside a baseline.
pub fn compare<'a>(baseline: &'a RunResult, others: &'a [RunResult]) -> Comparison<'a> {
    Comparison { baseline, others: others.iter().map(|run| pair(baseline, run)).collect() }
}

fn pair<'a>(baseline: &RunResult, run: &'a RunResult) -> Compared<'a> {
    let mut warnings = warnings(baseline, run);
    let names: Vec<&str> = baseline
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .filter(|name| !is_warm_up(name) && run.phases.iter().any(|phase| phase.name == *name))
        .collect();
    if names.is_empty() {
        warnings.push("the runs have no phase in common: everything but warm-ups is compared".to_owned());
    }
    let (before, after) = (sample(baseline, &names), sample(run, &names));
    let mut pair = Pair { before, after, differences: Vec::new() };
    if !(pair.before.is_enough() && pair.after.is_enough()) {
        warnings.push("too few intervals to tell noise from difference: let the runs last longer".to_owned());
    }
    pair.whole();
    for step in &baseline.steps {
        let same = |other: &&Step| other.session == step.session && other.name == step.name;
        if let Some(other) = run.steps.iter().find(same) {
            pair.step(step, other);
        }
    }
    pair.messages(baseline, run);
    let offered = |sample: &Sample| sample.sum.rate(sample.sum.started);
    let (first, second) = (offered(&pair.before), offered(&pair.after));
    if first > 0.0 && (second / first - 1.0).abs() > SMALLEST {
        warnings.push(format!(
            "requests were begun at {} and at {}: times at different rates are hardly comparable",
            number::rate(first),
            number::rate(second)
        ));
    }
    let few = pair.differences.iter().filter(|one| one.hangs_on_few).map(|one| one.figure.as_str());
    let few: Vec<&str> = few.collect();
    if !few.is_empty() {
        warnings.push(format!(
            "{}: far apart, but by a few intervals that may not recur; look at the curves and repeat the runs",
            few.join(", ")
        ));
    }
    Compared { run, warnings, differences: pair.differences }
}

fn is_warm_up(name: &str) -> bool {
    name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("warm"))
}

/// The intervals of the phases named, or all but warm-ups; a last one that is cut short is left out.
fn sample(run: &RunResult, names: &[&str]) -> Sample {
    let mut lengths: Vec<f64> = run.series.iter().map(|interval| interval.length_s).collect();
    lengths.sort_by(f64::total_cmp);
    let whole = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0) * 0.5;
    let full = |interval: &&Interval| interval.length_s > 0.0 && interval.length_s >= whole;
    let phases: Vec<Vec<&Interval>> = if names.is_empty() {
        let warm = |interval: &&Interval| {
            run.phases.iter().any(|phase| is_warm_up(&phase.name) && phase.holds(interval))
        };
        vec![run.series.iter().filter(full).filter(|interval| !warm(interval)).collect()]
    } else {
        let inside = |name: &&str| {
            let phase = run.phases.iter().find(|phase| phase.name == **name);
            let held = |interval: &&Interval| phase.is_some_and(|phase| phase.holds(interval));
            run.series.iter().filter(full).filter(held).collect()
        };
        names.iter().map(inside).collect()
    };
    Sample::new(&phases)
}

struct Pair {
    before: Sample,
    after: Sample,
    differences: Vec<Difference>,
}

/// The seeds of both runs' draws: fixed, so that an answer can be had again, and not the same, so that they are apart.
const SEEDS: [u64; 2] = [1, 2];

/// How many events an interval has of a kind.
type Events = fn(&Interval) -> u64;
/// Which of an interval's histograms.
type Times = for<'a> fn(&'a Interval) -> &'a Counts;

impl Pair {
    fn whole(&mut self) {
        let enough = self.before.is_enough() && self.after.is_enough();
        let draws = [self.before.draws(SEEDS[0]), self.after.draws(SEEDS[1])];
        let mut found = Vec::new();
        let rates: [(&str, Events, Wanted); 3] = [
            ("begun", |interval| interval.started, Wanted::Neither),
            ("answered", |interval| interval.answered, Wanted::More),
            ("messages received", |interval| interval.messages, Wanted::More),
        ];
        for (figure, of, wanted) in rates {
            let ends = [&self.before.sum, &self.after.sum].map(|sum| sum.rate(of(sum)));
            if ends == [0.0, 0.0] {
                continue;
            }
            let interval =
                ratio_interval(&self.before.rates(&draws[0], of), &self.after.rates(&draws[1], of));
            let texts = ends.map(number::rate);
            found.push(of_ratio("all", figure, ends, texts, interval.filter(|_| enough), wanted));
        }
        let times: [(&str, Times, &[f64]); 3] = [
            ("response", |interval| &interval.response, &[0.5, 0.9, 0.99, 0.999]),
            ("service", |interval| &interval.service, &[0.5, 0.99]),
            ("message latency", |interval| &interval.message_latency, &[0.5, 0.99]),
        ];
        for (name, of, quantiles) in times {
            for &quantile in quantiles {
                let ends =
                    [of(&self.before.sum), of(&self.after.sum)].map(|counts| counts.quantile(quantile));
                let [Some(before), Some(after)] = ends else { continue };
                let interval = ratio_interval(
                    &self.before.quantiles(&draws[0], of, quantile),
                    &self.after.quantiles(&draws[1], of, quantile),
                );
                let ends = [before as f64, after as f64];
                let figure = format!("{name} p{}", number::number(quantile * 100.0));
                let interval = interval.filter(|_| enough);
                found.push(of_ratio("all", &figure, ends, ends.map(number::time), interval, Wanted::Less));
            }
        }
        let parts = [&self.before, &self.after].map(|sample| Part {
            part: sample.sum.failed().min(sample.sum.started),
            whole: sample.sum.started,
            clumping: self.clumping_of_failures(sample),
        });
        if parts.iter().all(|part| part.whole > 0) {
            found.push(of_shares("all", "failed", parts, enough));
        }
        self.differences.append(&mut found);
    }

    fn clumping_of_failures(&self, sample: &Sample) -> f64 {
        sample.clumping(Interval::failed, |interval| interval.started)
    }

    /// A step has no series of its own: its histograms are compared, as clumped as the whole run is.
    fn step(&mut self, before: &Step, after: &Step) {
        let enough = self.before.is_enough() && self.after.is_enough();
        let subject = format!("step {}", before.name);
        for quantile in [0.5, 0.99] {
            let counts = [&before.requests.response, &after.requests.response];
            let [Some(first), Some(second)] = counts.map(|counts| counts.quantile(quantile)) else {
                continue;
            };
            let clumping = [&self.before, &self.after].map(|sample| {
                let edge = sample.sum.response.quantile(quantile).unwrap_or(0);
                let above = |interval: &Interval| {
                    interval
                        .response
                        .buckets()
                        .iter()
                        .filter(|bucket| bucket.0 > edge)
                        .map(|bucket| bucket.1)
                        .sum()
                };
                sample.clumping(above, |interval| interval.response.len())
            });
            let interval = rank_interval((counts[0], clumping[0]), (counts[1], clumping[1]), quantile);
            let ends = [first as f64, second as f64];
            let figure = format!("response p{}", number::number(quantile * 100.0));
            let interval = interval.filter(|_| enough);
            self.differences.push(of_ratio(
                &subject,
                &figure,
                ends,
                ends.map(number::time),
                interval,
                Wanted::Less,
            ));
        }
        let parts = [(before, &self.before), (after, &self.after)]
            .map(|(step, sample)| Part::failed(&step.requests, self.clumping_of_failures(sample)));
        if parts.iter().all(|part| part.whole > 0) {
            self.differences.push(of_shares(&subject, "failed", parts, enough));
        }
    }

    /// Losses come in clumps of unknown size, and none is something else than few: only that is judged.
    fn messages(&mut self, before: &RunResult, after: &RunResult) {
        let runs = [&before.messages, &after.messages];
        if runs.iter().any(|messages| messages.sent + messages.received == 0) {
            return;
        }
        for (figure, of) in [
            ("lost", (|m| m.lost) as fn(&crate::Messages) -> u64),
            ("duplicates", |m| m.duplicates),
            ("reordered", |m| m.reordered),
        ] {
            let [first, second] = runs.map(of);
            let verdict = match (first, second) {
                (0, 0) => Verdict::Same,
                (0, _) => Verdict::Worse,
                (_, 0) => Verdict::Better,
                _ => Verdict::Unknown,
            };
            let change = i128::from(second) - i128::from(first);
            self.differences.push(Difference {
                subject: "messages".to_owned(),
                figure: figure.to_owned(),
                before: number::count(first),
                after: number::count(second),
                change: if change == 0 { "none".to_owned() } else { format!("{change:+}") },
                interval: String::new(),
                verdict,
                hangs_on_few: false,
            });
        }
    }
}

/// How many times one figure is the other before it is odd that no difference shows.
const FAR: f64 = 1.5;

fn judge(interval: Option<(f64, f64)>, none: f64, small: bool, wanted: Wanted) -> Verdict {
    let Some((low, high)) = interval else { return Verdict::Unknown };
    if small || (low <= none && none <= high) {
        return Verdict::Same;
    }
    match (wanted, low > none) {
        (Wanted::Neither, _) => Verdict::Changed,
        (Wanted::More, true) | (Wanted::Less, false) => Verdict::Better,
        _ => Verdict::Worse,
    }
}

fn of_ratio(
    subject: &str,
    figure: &str,
    ends: [f64; 2],
    texts: [String; 2],
    interval: Option<(f64, f64)>,
    wanted: Wanted,
) -> Difference {
    let ratio = ends[1] / ends[0];
    let small = (ratio - 1.0).abs() < SMALLEST;
    let [before, after] = texts;
    let verdict = judge(interval, 1.0, small, wanted);
    Difference {
        subject: subject.to_owned(),
        figure: figure.to_owned(),
        before,
        after,
        change: number::change(ratio),
        interval: interval.map_or_else(String::new, |(low, high)| {
            format!("{} to {}", number::change(low), number::change(high))
        }),
        verdict,
        hangs_on_few: verdict == Verdict::Same && !(1.0 / FAR..FAR).contains(&ratio),
    }
}

fn of_shares(subject: &str, figure: &str, parts: [Part; 2], enough: bool) -> Difference {
    let interval = difference_interval(parts[0], parts[1]).filter(|_| enough);
    let [first, second] = parts.map(Part::share);
    let points = |value: f64| {
        let sign = if value < 0.0 { "-" } else { "+" };
        format!("{sign}{}", number::share(value.abs()))
    };
    Difference {
        subject: subject.to_owned(),
        figure: figure.to_owned(),
        before: number::share(first),
        after: number::share(second),
        change: format!("{} of all", points(second - first)),
        interval: interval
            .map_or_else(String::new, |(low, high)| format!("{} to {} of all", points(low), points(high))),
        verdict: judge(interval, 0.0, false, Wanted::Less),
        hangs_on_few: false,
    }
}

/// What makes two runs hard to compare.
fn warnings(first: &RunResult, second: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    for (run, which) in [(first, "the baseline"), (second, "the other run")] {
        if run.refused() {
            warnings.push(format!("the generator refuses the figures of {which}"));
        } else if !run.generator.doubts.is_empty() {
            warnings.push(format!("the generator has doubts about {which}: see its report"));
        }
        match &run.outcome {
            Outcome::Completed => {}
            Outcome::Interrupted => warnings.push(format!("{which} was stopped before its end")),
            Outcome::Failed { reason } => warnings.push(format!("{which} failed: {reason}")),
        }
    }
    let (a, b) = (&first.machine, &second.machine);
    let facts = [
        ("host", a.host.clone(), b.host.clone()),
        ("processor", a.cpu.clone(), b.cpu.clone()),
        ("number of processors", a.processors.to_string(), b.processors.to_string()),
        ("memory", number::bytes(a.memory_bytes as f64), number::bytes(b.memory_bytes as f64)),
        ("system", a.system.clone(), b.system.clone()),
        ("version of Stadium", a.version.clone(), b.version.clone()),
        ("number of workers", first.workers.len().to_string(), second.workers.len().to_string()),
        ("number of loops", first.generator.loops.to_string(), second.generator.loops.to_string()),
    ];
    for (what, one, other) in facts.into_iter().filter(|(_, one, other)| one != other) {
        warnings.push(format!("the {what} differs: {one} and {other}"));
    }
    if first.scenario.trim() != second.scenario.trim() {
        warnings.push("the scenarios differ".to_owned());
    }
    let planned = |run: &RunResult| {
        run.phases.iter().map(|phase| (phase.name.clone(), phase.arrivals.clone())).collect::<Vec<_>>()
    };
    if planned(first) != planned(second) {
        warnings.push("the phases differ in name or in what arrives".to_owned());
    }
    warnings
}

#[cfg(test)]
mod tests;
