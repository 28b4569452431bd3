//! The export of traces and metrics to a collector of OpenTelemetry.

crate::definition::section! { "Telemetry"
    TELEMETRY_SPANS = Counter "telemetry_spans" when Telemetry: "Spans that the collector took",
        rises "Requests are traced.",
        act "Nothing. For fewer, lower the sampled part.",
        set by "telemetry.sample_ratio";
    TELEMETRY_SPANS_DROPPED = Counter "telemetry_spans_dropped" by "reason" when Telemetry:
        "Spans that were dropped: `queue_full`, `refused` by the collector, `expired` after 5 minutes of failures, `stopped` with the server",
        rises "The collector is away or too slow, or refuses what it gets. Nothing else is slower by it.",
        act "Look at the log for the collector's answer. Lower the sampled part, or give the collector more room.",
        set by "telemetry.queue_spans_max" "telemetry.sample_ratio" "telemetry.endpoint";
    TELEMETRY_SPANS_QUEUED = Gauge "telemetry_spans_queued" when Telemetry:
        "Spans that wait for the next export",
        rises "The collector is away, or slower than spans are made.",
        act "At the bound, spans are dropped. Look at `stadium_telemetry_failing`.",
        set by "telemetry.queue_spans_max" "telemetry.spans_interval_ms";
    TELEMETRY_METRICS = Counter "telemetry_metrics_exports" when Telemetry:
        "Exports of all metrics that the collector took",
        rises "Once each interval.",
        act "Nothing.",
        set by "telemetry.metrics_interval_s";
    TELEMETRY_EXPORTS = Counter "telemetry_exports" when Telemetry: "Exports that were tried, of spans and of metrics",
        rises "Spans and metrics are exported.",
        act "Nothing.",
        set by "telemetry.spans_interval_ms" "telemetry.metrics_interval_s";
    TELEMETRY_EXPORTS_FAILED = Counter "telemetry_exports_failed" when Telemetry:
        "Exports that failed, in whole or in part; each attempt counts",
        rises "The collector is away, too slow, full, or refuses what it gets.",
        act "Look at the log for the collector's answer, or ask `stadium doctor`.",
        set by "telemetry.endpoint" "telemetry.timeout_ms";
    TELEMETRY_FAILING = Gauge "telemetry_failing" when Telemetry:
        "1 while the last export failed; the log has the reason",
        rises "The last export failed.",
        act "Look at the log. The server tries again by itself.",
        set by "telemetry.endpoint";
}
