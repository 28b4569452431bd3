//! Intervals as lines of a plot.
//!
//! A long run has more intervals than a screen has points: neighbours are then put together as histograms, so that a
//! percentile is still a percentile and the longest time of all still shows.

use std::collections::BTreeMap;

use crate::latency::Counts;
use crate::plot::{Across, Band, Line, Plot, Scale, Style, Unit};
use crate::{Interval, Phase, Scraped};

/// Points that a line has at most.
pub(crate) const POINTS_MAX: usize = 480;

/// Puts neighbours together until at most so many intervals are left.
pub(crate) fn thin_out(series: &[Interval], most: usize) -> Vec<Interval> {
    let together = series.len().div_ceil(most.max(1)).max(1);
    let fold = |group: &[Interval]| {
        let (first, rest) = group.split_first()?;
        let mut sum = first.clone();
        let (users, devices) = (group.iter().map(|i| i.users).max(), group.iter().map(|i| i.devices).max());
        rest.iter().for_each(|next| sum.append(next));
        (sum.users, sum.devices) = (users.unwrap_or(0), devices.unwrap_or(0));
        Some(sum)
    };
    series.chunks(together).filter_map(fold).collect()
}

/// A run's phases as bands.
pub(crate) fn bands(phases: &[Phase]) -> Vec<Band> {
    phases.iter().map(|phase| Band { name: phase.name.clone(), from: phase.from_s, to: phase.to_s }).collect()
}

/// Percentiles of a histogram over time.
pub(crate) fn percentiles(
    series: &[Interval],
    of: fn(&Interval) -> &Counts,
    which: &[(&str, f64, &'static str)],
) -> Vec<Line> {
    let line = |&(name, quantile, class): &(&str, f64, &'static str)| Line {
        name: name.to_owned(),
        class,
        values: series.iter().map(|interval| of(interval).quantile(quantile).map(|ns| ns as f64)).collect(),
    };
    which.iter().map(line).collect()
}

/// A figure over time.
pub(crate) fn line(
    series: &[Interval],
    name: &str,
    class: &'static str,
    of: impl Fn(&Interval) -> f64,
) -> Line {
    Line { name: name.to_owned(), class, values: series.iter().map(|interval| Some(of(interval))).collect() }
}

/// Classes of lines that are distinguished by colour and dashes, not by order.
pub(crate) const KINDS: [&str; 7] = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];

/// Failures a second by kind, those that came most often first; rare kinds are one line.
pub(crate) fn errors(series: &[Interval]) -> Vec<Line> {
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, count) in series.iter().flat_map(|interval| &interval.errors) {
        *totals.entry(kind).or_default() += count;
    }
    let mut kinds: Vec<(&str, u64)> = totals.into_iter().filter(|(_, count)| *count > 0).collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let rare = kinds.split_off(kinds.len().min(KINDS.len() - 1));
    let of = |interval: &Interval, kind: &str| interval.errors.get(kind).copied().unwrap_or(0);
    let mut lines: Vec<Line> = kinds
        .iter()
        .zip(KINDS)
        .map(|((kind, _), class)| line(series, kind, class, |interval| interval.rate(of(interval, kind))))
        .collect();
    if !rare.is_empty() {
        let name = format!("{} other kinds", rare.len());
        let sum = |interval: &Interval| rare.iter().map(|(kind, _)| of(interval, kind)).sum();
        lines.push(line(series, &name, KINDS[6], |interval| interval.rate(sum(interval))));
    }
    lines
}

/// Metrics of a target that a plot shows at most; the result holds them all.
const SCRAPED_LINES_MAX: usize = KINDS.len();

/// Published figures as small plots: one for each target and metric, a line for each of its labels.
pub(crate) fn scraped<'a>(scraped: &[Scraped], ends: (f64, f64), bands: &'a [Band]) -> Vec<Plot<'a>> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Scraped>> = BTreeMap::new();
    for one in scraped {
        let name = one.metric.split('{').next().unwrap_or_default();
        groups.entry((&one.target, name)).or_default().push(one);
    }
    groups.into_iter().map(|((target, name), group)| plot_of(target, name, &group, ends, bands)).collect()
}

fn plot_of<'a>(
    target: &str,
    name: &str,
    group: &[&Scraped],
    ends: (f64, f64),
    bands: &'a [Band],
) -> Plot<'a> {
    let counter = group.iter().any(|one| one.counter);
    let shown = &group[..group.len().min(SCRAPED_LINES_MAX)];
    let points: Vec<BTreeMap<u64, f64>> = shown
        .iter()
        .map(|one| {
            let points = if one.counter { rates(&one.points) } else { one.points.clone() };
            let every = points.len().div_ceil(POINTS_MAX).max(1);
            points.into_iter().step_by(every).map(|(at, value)| (at.to_bits(), value)).collect()
        })
        .collect();
    // Times are not negative, so their bits are in the order of their values.
    let mut times: Vec<u64> = points.iter().flat_map(|line| line.keys().copied()).collect();
    times.sort_unstable();
    times.dedup();
    let labels = |one: &Scraped| match one.metric.split_once('{') {
        Some((_, labels)) => labels.trim_end_matches('}').to_owned(),
        None => name.to_owned(),
    };
    let lines = shown.iter().zip(&points).zip(KINDS).map(|((one, points), class)| Line {
        name: labels(one),
        class,
        values: times.iter().map(|at| points.get(at).copied()).collect(),
    });
    let hidden = group.len() - shown.len();
    let more = if hidden > 0 { format!(", {hidden} more in the result") } else { String::new() };
    let unit = match (name.contains("bytes"), counter) {
        (true, true) => Unit::ByteRate,
        (false, true) => Unit::Rate,
        (_, false) => Unit::Plain,
    };
    Plot {
        title: name.to_owned(),
        note: format!("{target}{}{more}", if counter { ", a second" } else { "" }),
        unit,
        scale: Scale::Linear,
        style: Style::Lines,
        across: Across::Time,
        ends,
        lines: lines.collect(),
        at: times.into_iter().map(f64::from_bits).collect(),
        bands,
        size: "small",
    }
}

/// A counter's growth a second between its points; where it fell, the target began anew and nothing is known.
fn rates(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let each = points.windows(2).filter_map(|pair| {
        let [(from, before), (to, after)] = [pair[0], pair[1]];
        (to > from && after >= before).then(|| (to, (after - before) / (to - from)))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_events_and_the_longest_time() {
        let series: Vec<Interval> = (1..=1001_u64)
            .map(|at| Interval {
                at_s: at as f64,
                length_s: 1.0,
                users: if at == 500 { 9 } else { 1 },
                started: 2,
                response: Counts::from_buckets(vec![(if at == 777 { 1_000_000_000 } else { 1_000_000 }, 1)]),
                ..Interval::default()
            })
            .collect();
        let few = thin_out(&series, 100);
        assert!(few.len() <= 100);
        assert_eq!(few.iter().map(|interval| interval.started).sum::<u64>(), 2002);
        assert_eq!(few.iter().filter_map(|interval| interval.response.max()).max(), Some(1_000_000_000));
        assert_eq!(few.iter().map(|interval| interval.users).max(), Some(9));
        assert_eq!(few.last().map(|interval| interval.at_s), Some(1001.0));
        assert!(thin_out(&[], 100).is_empty());
    }

    #[test]
    fn a_counter_that_began_anew_has_no_rate_there() {
        assert_eq!(rates(&[(0.0, 5.0), (2.0, 9.0), (3.0, 1.0), (4.0, 2.0)]), [(2.0, 2.0), (4.0, 1.0)]);
    }

    #[test]
    fn rare_kinds_of_errors_are_one_line() {
        let errors = (0..20_u64).map(|kind| (format!("kind {kind}"), 20 - kind)).collect();
        let series = [Interval { length_s: 1.0, errors, ..Interval::default() }];
        let lines = super::errors(&series);
        assert_eq!(lines.len(), 7);
        assert_eq!(lines[6].name, "14 other kinds");
        let sum: f64 = lines.iter().filter_map(|line| line.values[0]).sum();
        assert_eq!(sum, 210.0);
    }
}
