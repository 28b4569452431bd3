//! The shapes that metrics have: one value, one series for each label, histograms.
//!
//! Name, type, unit and help come from the metric's row in the table of definitions.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry;
use stadium_metrics::definition::{Definition, Kind, Unit};

use crate::fleet::{Histogram, LATENCY_BOUNDS_S, Tally};

/// Bound and count of each bucket, the last without a bound.
pub(crate) fn buckets(histogram: &Histogram) -> Vec<(f64, u64)> {
    let bounds = LATENCY_BOUNDS_S.into_iter().chain([f64::INFINITY]);
    bounds.zip(histogram.buckets).collect()
}

/// Writes metrics by their definitions.
pub(crate) struct Encoder<'a>(DescriptorEncoder<'a>);

impl<'a> Encoder<'a> {
    pub(crate) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// The head of a metric; its series follow.
    pub(crate) fn family(&mut self, row: &Definition) -> Result<Family<'_>, fmt::Error> {
        static RATIO: LazyLock<registry::Unit> = LazyLock::new(|| registry::Unit::Other("ratio".to_owned()));
        let unit: Option<&'static registry::Unit> = row.unit.map(|unit| match unit {
            Unit::Bytes => &registry::Unit::Bytes,
            Unit::Seconds => &registry::Unit::Seconds,
            Unit::Ratio => &*RATIO,
        });
        let kind = match row.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
            // The encoder has no summaries: `scrape::text` gives them their type.
            Kind::Summary => MetricType::Unknown,
            Kind::Info => MetricType::Info,
        };
        let encoder = self.0.encode_descriptor(row.name, row.help, unit, kind)?;
        Ok(Family { encoder, kind: row.kind })
    }

    /// The only series of a metric without labels.
    pub(crate) fn value(&mut self, row: &Definition, value: impl Into<Value>) -> fmt::Result {
        self.family(row)?.only(value)
    }

    pub(crate) fn tallies(&mut self, row: &Definition, tallies: &[Tally]) -> fmt::Result {
        let mut family = self.family(row)?;
        for tally in tallies {
            family.series(&[("reason", tally.reason)], tally.total)?;
        }
        Ok(())
    }

    pub(crate) fn by_loop(
        &mut self,
        row: &Definition,
        values: impl Iterator<Item = impl Into<Value>>,
    ) -> fmt::Result {
        let mut family = self.family(row)?;
        for (index, value) in values.enumerate() {
            family.series(&[("loop", index.to_string())], value)?;
        }
        Ok(())
    }

    pub(crate) fn histogram(&mut self, row: &Definition, histogram: &Histogram) -> fmt::Result {
        let mut one = self.family(row)?.encoder;
        one.encode_histogram::<NoLabelSet>(histogram.sum_s, histogram.count(), &buckets(histogram), None)
    }

    pub(crate) fn info(&mut self, row: &Definition, labels: &impl EncodeLabelSet) -> fmt::Result {
        self.family(row)?.encoder.encode_info(labels)
    }
}

/// A metric whose series are being written.
pub(crate) struct Family<'a> {
    encoder: MetricEncoder<'a>,
    kind: Kind,
}

impl Family<'_> {
    /// One series.
    pub(crate) fn series(&mut self, labels: &impl EncodeLabelSet, value: impl Into<Value>) -> fmt::Result {
        write(self.encoder.encode_family(labels)?, self.kind, value.into())
    }

    /// The only series, without labels.
    pub(crate) fn only(self, value: impl Into<Value>) -> fmt::Result {
        write(self.encoder, self.kind, value.into())
    }

    /// One series of a histogram: its buckets, the last without a bound, and the sum of what it counted.
    pub(crate) fn histogram(
        &mut self,
        labels: &impl EncodeLabelSet,
        buckets: &[(f64, u64)],
        sum: f64,
    ) -> fmt::Result {
        let count = buckets.iter().map(|(_, count)| count).sum();
        self.encoder.encode_family(labels)?.encode_histogram::<NoLabelSet>(sum, count, buckets, None)
    }
}

fn write(mut encoder: MetricEncoder<'_>, kind: Kind, value: Value) -> fmt::Result {
    match (kind, value) {
        (Kind::Counter, Value::Whole(value)) => encoder.encode_counter::<NoLabelSet, _, u64>(&value, None),
        (Kind::Counter, Value::Real(value)) => encoder.encode_counter::<NoLabelSet, _, u64>(&value, None),
        (_, Value::Whole(value)) => encoder.encode_gauge(&value),
        (_, Value::Real(value)) => encoder.encode_gauge(&value),
    }
}

/// A metric, and how its value is read from `T`.
pub(crate) type Reading<T> = (&'static Definition, fn(&T) -> Value);

/// The value of a series.
pub(crate) enum Value {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Whole(value.into())
    }
}

impl From<Duration> for Value {
    fn from(value: Duration) -> Self {
        Self::Real(value.as_secs_f64())
    }
}
