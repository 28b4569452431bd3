//! OpenTelemetry: traces of the server's work, and their way to a collector.
//!
//! A [`Tracer`] decides which requests are traced and takes their [`Span`]s into a bounded queue; the
//! [`Exporter`]'s own thread sends them, and the metrics of the server, over OTLP. Nothing that
//! serves ever waits for the collector: a span that does not fit is dropped and counted. While
//! telemetry is off, a part of the server that could record a span reads one flag.
//!
//! The meaning of spans is their callers' business; docs/telemetry.md lists them.

mod budget;
mod config;
mod counts;
mod current;
mod exporter;
mod metric;
mod otlp;
mod queue;
mod send;
mod span;
mod tracer;

pub use config::{Config, Header, Protocol, Sampling};
pub use counts::Counts;
pub use current::{InTrace, current, enter, in_trace};
pub use exporter::{Exporter, MetricSource, StartError};
pub use metric::{Buckets, Metric, Point, Points, Quantiles};
pub use send::{Delivery, try_collector};
pub use span::{Kind, Span, Value};
pub use stadium_state_machine::TraceContext;
pub use tracer::{Outcome, Root, Trace, Tracer};
