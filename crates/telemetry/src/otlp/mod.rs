//! The messages of OTLP 1, as far as the server sends them, and how spans and metrics become these.
//!
//! Field numbers are those of `opentelemetry/proto`; fields that the server never sets are left out.

mod messages;
mod metrics;
mod traces;

pub(crate) use messages::{
    ExportMetricsRequest, ExportResponse, ExportTraceRequest, InstrumentationScope, Resource,
};

use crate::config::Config;
use crate::metric::Metric;
use crate::span::Span;
use messages::{KeyValue, ResourceMetrics, ResourceSpans, ScopeMetrics, ScopeSpans};

/// Contents of each export: the process and the product.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    resource: Resource,
    scope: InstrumentationScope,
    /// When the process began to count, nanoseconds since 1970.
    start_ns: u64,
}

impl Origin {
    pub(crate) fn of(config: &Config, start_ns: u64) -> Self {
        let attributes = config.resource.iter().map(|(key, value)| KeyValue::text(key, value)).collect();
        let scope = InstrumentationScope { name: "stadium".to_owned(), version: config.version.clone() };
        Self { resource: Resource { attributes }, scope, start_ns }
    }

    /// An export of spans.
    pub(crate) fn spans(&self, spans: Vec<Span>) -> ExportTraceRequest {
        let spans = spans.into_iter().map(traces::span).collect();
        let scope_spans = vec![ScopeSpans { scope: Some(self.scope.clone()), spans }];
        let resource = Some(self.resource.clone());
        ExportTraceRequest { resource_spans: vec![ResourceSpans { resource, scope_spans }] }
    }

    /// An export of metrics as they were then.
    pub(crate) fn metrics(&self, metrics: Vec<Metric>, now_ns: u64) -> ExportMetricsRequest {
        let metrics =
            metrics.into_iter().map(|metric| metrics::metric(metric, self.start_ns, now_ns)).collect();
        let scope_metrics = vec![ScopeMetrics { scope: Some(self.scope.clone()), metrics }];
        let resource = Some(self.resource.clone());
        ExportMetricsRequest { resource_metrics: vec![ResourceMetrics { resource, scope_metrics }] }
    }
}
