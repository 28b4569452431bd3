//! The figures of the export of traces and metrics.

use std::fmt;

use stadium_metrics::table::telemetry as table;
use stadium_telemetry::Counts;

use crate::metrics::encoder::Encoder;

pub(crate) fn encode(to: &mut Encoder<'_>, counts: &Counts) -> fmt::Result {
    to.value(table::TELEMETRY_SPANS, counts.spans_exported())?;
    let mut dropped = to.family(table::TELEMETRY_SPANS_DROPPED)?;
    for (reason, total) in counts.spans_dropped() {
        dropped.series(&[("reason", reason)], total)?;
    }
    to.value(table::TELEMETRY_SPANS_QUEUED, counts.spans_queued())?;
    to.value(table::TELEMETRY_METRICS, counts.metrics_exported())?;
    to.value(table::TELEMETRY_EXPORTS, counts.exports())?;
    to.value(table::TELEMETRY_EXPORTS_FAILED, counts.exports_failed())?;
    to.value(table::TELEMETRY_FAILING, counts.is_failing())
}
