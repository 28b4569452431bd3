//! The shapes that metrics have: counters, gauges, histograms, one series for each loop or reason.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use crate::fleet::{Histogram, LATENCY_BOUNDS_S, Tally};

/// Bound and count of each bucket, the last without a bound.
pub(crate) fn buckets(histogram: &Histogram) -> Vec<(f64, u64)> {
    let bounds = LATENCY_BOUNDS_S.into_iter().chain([f64::INFINITY]);
    bounds.zip(histogram.buckets).collect()
}

/// The few shapes that our metrics have.
pub(crate) struct Encoder<'a>(pub(crate) DescriptorEncoder<'a>);

impl Encoder<'_> {
    pub(crate) fn info(&mut self, name: &str, help: &str, version: &str) -> fmt::Result {
        let mut info = self.0.encode_descriptor(name, help, None, MetricType::Info)?;
        info.encode_info(&[("version", version)])
    }

    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    pub(crate) fn gauge_f64(&mut self, name: &str, help: &str, unit: Unit, value: f64) -> fmt::Result {
        self.0.encode_descriptor(name, help, Some(&unit), MetricType::Gauge)?.encode_gauge(&value)
    }

    pub(crate) fn counter(&mut self, name: &str, help: &str, total: u64) -> fmt::Result {
        let mut counter = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        counter.encode_counter::<NoLabelSet, _, u64>(&total, None)
    }

    pub(crate) fn tallies(&mut self, name: &str, help: &str, tallies: &[Tally]) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for tally in tallies {
            let labels = [("reason", tally.reason)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&tally.total, None)?;
        }
        Ok(())
    }

    pub(crate) fn by_loop(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        unit: Option<&Unit>,
        values: &[u64],
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit, kind)?;
        for (index, value) in values.iter().enumerate() {
            let labels = [("loop", index.to_string())];
            let mut one = family.encode_family(&labels)?;
            match kind {
                MetricType::Counter => one.encode_counter::<NoLabelSet, _, u64>(value, None)?,
                _ => one.encode_gauge(value)?,
            }
        }
        Ok(())
    }

    pub(crate) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) -> fmt::Result {
        let mut one = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        one.encode_histogram::<NoLabelSet>(histogram.sum_s, histogram.count(), &buckets(histogram), None)
    }
}
