//! Metrics on their way to a collector: plain values that the caller has read.

/// A metric and its series now.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// As in the text format of Prometheus.
    pub name: String,
    /// The thing that is counted or measured.
    pub help: &'static str,
    /// The unit as UCUM writes it; empty for none.
    pub unit: &'static str,
    /// Its series.
    pub points: Points,
}

/// The series of a metric, by its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// Since the start of the process.
    Counter(Vec<Point<f64>>),
    /// Now.
    Gauge(Vec<Point<f64>>),
    /// Since the start of the process.
    Histogram(Vec<Point<Buckets>>),
    /// Quantiles that the server computed.
    Summary(Vec<Point<Quantiles>>),
}

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point<V> {
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// Its value.
    pub value: V,
}

/// A histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    /// The upper bound of each bucket but the last.
    pub bounds: Vec<f64>,
    /// The count of each bucket: one more than bounds.
    pub counts: Vec<u64>,
    /// The sum of what was counted.
    pub sum: f64,
}

/// Quantiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantiles {
    /// Quantile, 0 to 1, and its value.
    pub values: Vec<(f64, f64)>,
}
