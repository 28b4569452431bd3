//! Metrics as OTLP has them: counters and histograms are cumulative since the start of the process.

use super::messages::{
    Gauge, Histogram, HistogramPoint, KeyValue, Metric, MetricData, NumberPoint, Sum, Summary, SummaryPoint,
    ValueAtQuantile,
};
use crate::metric::{self as plain, Point, Points};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: i32 = 2;

pub(super) fn metric(metric: plain::Metric, start: u64, now: u64) -> Metric {
    let number = |point: Point<f64>, start| NumberPoint {
        start_time_unix_nano: start,
        time_unix_nano: now,
        as_double: Some(point.value),
        attributes: attributes(&point.labels),
    };
    let data = match metric.points {
        Points::Gauge(points) => {
            let data_points = points.into_iter().map(|point| number(point, 0)).collect();
            MetricData::Gauge(Gauge { data_points })
        }
        Points::Counter(points) => {
            let data_points = points.into_iter().map(|point| number(point, start)).collect();
            MetricData::Sum(Sum { data_points, aggregation_temporality: CUMULATIVE, is_monotonic: true })
        }
        Points::Histogram(points) => {
            let point = |point: Point<plain::Buckets>| HistogramPoint {
                start_time_unix_nano: start,
                time_unix_nano: now,
                count: point.value.counts.iter().sum(),
                sum: Some(point.value.sum),
                bucket_counts: point.value.counts,
                explicit_bounds: point.value.bounds,
                attributes: attributes(&point.labels),
            };
            let data_points = points.into_iter().map(point).collect();
            MetricData::Histogram(Histogram { data_points, aggregation_temporality: CUMULATIVE })
        }
        Points::Summary(points) => {
            let at = |&(quantile, value): &(f64, f64)| ValueAtQuantile { quantile, value };
            let point = |point: Point<plain::Quantiles>| SummaryPoint {
                start_time_unix_nano: start,
                time_unix_nano: now,
                quantile_values: point.value.values.iter().map(at).collect(),
                attributes: attributes(&point.labels),
            };
            MetricData::Summary(Summary { data_points: points.into_iter().map(point).collect() })
        }
    };
    Metric {
        name: metric.name,
        description: metric.help.to_owned(),
        unit: metric.unit.to_owned(),
        data: Some(data),
    }
}

fn attributes(labels: &[(String, String)]) -> Vec<KeyValue> {
    labels.iter().map(|(key, value)| KeyValue::text(key, value)).collect()
}
