//! `[telemetry]`: traces and metrics for a collector of OpenTelemetry.
//!
//! docs/telemetry.md describes the spans. Headers may hold secrets, so their file alone is a setting.

use std::path::PathBuf;

use crate::settings::define::group;
use crate::settings::value::{Bounds, Misfit, Raw, Value, words};

words! {
    /// The protocol of the export.
    pub enum TelemetryProtocol {
        /// Protocol Buffers over HTTP.
        Http = "http/protobuf",
        /// gRPC.
        Grpc = "grpc",
    }
}

/// A part of a whole: 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio(pub f64);

impl Value for Ratio {
    fn read(raw: &Raw, _: &Bounds) -> Result<Self, Misfit> {
        let expected = || Misfit::Kind("expected a number such as 0.05".to_owned());
        let ratio = match raw {
            Raw::Decimal(decimal) => *decimal,
            Raw::Integer(integer) => *integer as f64,
            Raw::Text(text) => text.trim().parse().map_err(|_| expected())?,
            _ => return Err(expected()),
        };
        if !(0.0..=1.0).contains(&ratio) {
            return Err(Misfit::Bounds("must be 0 to 1".to_owned()));
        }
        Ok(Self(ratio))
    }

    fn shown(&self) -> toml::Value {
        toml::Value::Float(self.0)
    }

    fn kind() -> String {
        "number from 0 to 1".to_owned()
    }
}

group! {
    /// Traces and metrics over OTLP, to a collector of OpenTelemetry or to whatever else takes it. On
    /// when `endpoint` names one.
    pub struct Telemetry {
        /// The collector: `http://HOST:4318`, or `http://HOST:4317` with `grpc`; `https://` for TLS.
        /// Over HTTP, `/v1/traces` and `/v1/metrics` are appended.
        endpoint: Option<String> = None;
        /// The protocol of the export.
        protocol: TelemetryProtocol = TelemetryProtocol::Http;
        /// File with headers for each export, `NAME: VALUE` a line, such as the token of a vendor.
        /// Without it, `OTEL_EXPORTER_OTLP_HEADERS` of the environment is used.
        headers_file: Option<PathBuf> = None;
        /// File with the authorities, as PEM, that the collector's certificate is checked against.
        /// Without it they are those of the system.
        authorities: Option<PathBuf> = None;
        /// Longest that one export may take.
        timeout_ms: u32 = 10_000, unit "ms", in 100..=120_000, cost "a longer wait for a collector that hangs";
        /// Name of this service in traces: `service.name`.
        service_name: String = "stadium".to_owned();
        /// Further attributes of the process, each `NAME=VALUE`:
        /// `["deployment.environment.name=production"]`.
        resource_attributes: Vec<String> = Vec::new();
        /// Part of the requests that begin a trace here which is sampled. A request that comes with a
        /// `traceparent` is sampled as its caller decided.
        sample_ratio: Ratio = Ratio(0.05), cost "each sampled request has a few spans to be sent and stored";
        /// Export requests that fail by the server's fault (status 5xx) although they are not sampled.
        sample_errors: bool = true, cost "the spans of each request are kept until its end";
        /// Export requests that take longer although they are not sampled; 0 for none.
        sample_slow_ms: u32 = 1_000, unit "ms", in 0..=3_600_000, cost "the spans of each request are kept until its end";
        /// Deliveries to single devices that have a span, for each sampled push and node.
        devices_per_push_max: u32 = 16, unit "devices", in 0..=1_000, cost "a span each";
        /// Spans that wait for the collector; more are dropped and counted.
        queue_spans_max: u32 = 8_192, unit "spans", in 512..=1_000_000, cost "memory for them while the collector is away";
        /// Time from one export of spans to the next, unless 512 wait before.
        spans_interval_ms: u32 = 1_000, unit "ms", in 10..=60_000, cost "spans arrive later";
        /// Time from one export of metrics to the next; 0 exports none.
        metrics_interval_s: u32 = 60, unit "s", in 0..=3_600, cost "figures arrive later";
    }
}
