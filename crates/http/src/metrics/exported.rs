//! The figures of a scrape as metrics for a collector: the same names, labels and values.
//!
//! They are read from the text of a scrape, so that no series can differ between the two ways. Name,
//! type, unit and help come from the table of definitions.

use std::collections::HashMap;
use std::sync::LazyLock;

use stadium_metrics::definition::{Definition, Kind, Unit};
use stadium_metrics::table::rows;
use stadium_telemetry::{Buckets, Metric, Point, Points, Quantiles};

use crate::metrics::scrape;
use crate::metrics::sources::Sources;

/// Reads the metrics of a port for a collector.
#[derive(Clone)]
pub struct MetricReader(Sources);

impl MetricReader {
    pub(crate) fn new(sources: Sources) -> Self {
        Self(sources)
    }

    /// All metrics as they are now.
    pub fn read(&self) -> Vec<Metric> {
        scrape::text(&self.0).map(|text| exported(&text)).unwrap_or_default()
    }
}

type Labels = Vec<(String, String)>;

/// The values of one series while they are collected.
#[derive(Default)]
struct Series {
    labels: Labels,
    value: f64,
    /// Bound and cumulative count, or quantile and value.
    parts: Vec<(f64, f64)>,
}

/// The metrics in a text of OpenMetrics that this server wrote.
fn exported(text: &str) -> Vec<Metric> {
    static KNOWN: LazyLock<HashMap<String, &Definition>> = LazyLock::new(|| {
        rows().flat_map(|row| row.series().into_iter().map(move |series| (series, row))).collect()
    });
    let mut metrics: Vec<(&Definition, Vec<Series>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, mut labels, value)) = sample(line) else { continue };
        let Some(row) = KNOWN.get(name) else { continue };
        let part = match row.kind {
            Kind::Histogram => taken(&mut labels, "le"),
            Kind::Summary => taken(&mut labels, "quantile"),
            Kind::Counter | Kind::Gauge | Kind::Info => None,
        };
        if !metrics.last().is_some_and(|(last, _)| std::ptr::eq(*last, *row)) {
            metrics.push((row, Vec::new()));
        }
        let Some((_, series)) = metrics.last_mut() else { continue };
        let is_new = match row.kind {
            Kind::Histogram | Kind::Summary => series.last().is_none_or(|last| last.labels != labels),
            Kind::Counter | Kind::Gauge | Kind::Info => true,
        };
        if is_new {
            series.push(Series { labels, ..Series::default() });
        }
        let Some(series) = series.last_mut() else { continue };
        match part {
            Some(part) => series.parts.push((number(&part), value)),
            // The count is that of the last bucket.
            None if name.ends_with("_count") && row.kind == Kind::Histogram => {}
            None => series.value = value,
        }
    }
    metrics.into_iter().map(|(row, series)| metric(row, series)).collect()
}

fn metric(row: &'static Definition, series: Vec<Series>) -> Metric {
    let plain = |series: Vec<Series>| {
        series.into_iter().map(|Series { labels, value, .. }| Point { labels, value }).collect()
    };
    let points = match row.kind {
        Kind::Counter => Points::Counter(plain(series)),
        Kind::Gauge | Kind::Info => Points::Gauge(plain(series)),
        Kind::Histogram => Points::Histogram(series.into_iter().map(histogram).collect()),
        Kind::Summary => Points::Summary(
            series
                .into_iter()
                .map(|Series { labels, parts, .. }| Point { labels, value: Quantiles { values: parts } })
                .collect(),
        ),
    };
    let unit = match row.unit {
        Some(Unit::Bytes) => "By",
        Some(Unit::Seconds) => "s",
        Some(Unit::Ratio) => "1",
        None => "",
    };
    Metric { name: row.family(), help: row.help, unit, points }
}

/// The buckets of the text are cumulative, and the last has no bound.
fn histogram(Series { labels, value, parts }: Series) -> Point<Buckets> {
    let mut before = 0.0;
    let mut counts = Vec::with_capacity(parts.len());
    for &(_, cumulative) in &parts {
        counts.push((cumulative - before).max(0.0) as u64);
        before = cumulative;
    }
    let bounds = parts.iter().map(|&(bound, _)| bound).filter(|bound| bound.is_finite()).collect();
    Point { labels, value: Buckets { bounds, counts, sum: value } }
}

/// Name, labels and value of a line.
fn sample(line: &str) -> Option<(&str, Labels, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, value) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    Some((name, labels, number(value.trim())))
}

/// The labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches(',');
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        rest = loop {
            match characters.next()? {
                (at, '"') => break &after[at + 1..],
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        labels.push((name.to_owned(), value));
    }
}

fn taken(labels: &mut Labels, name: &str) -> Option<String> {
    let at = labels.iter().position(|(label, _)| label == name)?;
    Some(labels.remove(at).1)
}

/// `+Inf` is read by the standard library too.
fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_becomes_metrics_with_the_same_names_and_values() {
        let text = "# HELP stadium_http_requests HTTP requests answered.\n# TYPE stadium_http_requests counter\n\
                    stadium_http_requests_total{route=\"GET /a\\\"b\",status=\"200\"} 7\n\
                    stadium_http_requests_total{route=\"other\",status=\"404\"} 1\n\
                    stadium_http_request_duration_seconds_sum{route=\"GET /a\"} 1.5\n\
                    stadium_http_request_duration_seconds_count{route=\"GET /a\"} 5\n\
                    stadium_http_request_duration_seconds_bucket{le=\"0.1\",route=\"GET /a\"} 3\n\
                    stadium_http_request_duration_seconds_bucket{le=\"1.0\",route=\"GET /a\"} 4\n\
                    stadium_http_request_duration_seconds_bucket{le=\"+Inf\",route=\"GET /a\"} 5\n\
                    stadium_uptime_seconds 2.5\nstadium_unheard_of 3\n# EOF\n";
        let metrics = exported(text);
        let [requests, duration, uptime] = &metrics[..] else { panic!("{metrics:?}") };
        assert_eq!((requests.name.as_str(), requests.unit), ("stadium_http_requests_total", ""));
        let Points::Counter(points) = &requests.points else { panic!("{requests:?}") };
        assert_eq!(points[0].labels[0], ("route".to_owned(), "GET /a\"b".to_owned()));
        assert_eq!((points[0].value, points[1].value), (7.0, 1.0));
        let Points::Histogram(points) = &duration.points else { panic!("{duration:?}") };
        let expected = Buckets { bounds: vec![0.1, 1.0], counts: vec![3, 1, 1], sum: 1.5 };
        assert_eq!(points[0].value, expected);
        assert_eq!((uptime.name.as_str(), uptime.unit), ("stadium_uptime_seconds", "s"));
        assert_eq!(uptime.points, Points::Gauge(vec![Point { labels: Vec::new(), value: 2.5 }]));
    }
}
