//! One export to the collector, and what became of it.
//!
//! Which failures may be repeated is decided by the specification of OTLP: a collector that refuses
//! data for good would refuse it again.

mod grpc;
mod http;

use std::time::Duration;

use prost::Message as _;

use crate::config::{Config, Protocol};
use crate::otlp::{ExportMetricsRequest, ExportResponse, ExportTraceRequest};

/// What became of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The collector took it, but for so many spans or points.
    Taken {
        /// Spans or points that it rejected.
        rejected: u64,
        /// Its reason for that.
        reason: String,
    },
    /// It did not take it now: to be tried again.
    Later {
        /// In words.
        reason: String,
        /// When the collector wants it again, if it named a time.
        after: Option<Duration>,
    },
    /// It will never take it.
    Refused {
        /// In words.
        reason: String,
    },
}

/// Sends one empty export of spans, to see whether a collector answers. Blocks for the time-out of
/// the settings at most.
///
/// # Errors
/// The settings name no collector that can be asked, in words.
pub fn try_collector(config: &Config) -> Result<Delivery, String> {
    let mut sender = Sender::open(config)?;
    Ok(sender.send(&Request::Traces(ExportTraceRequest::default())))
}

/// What is exported.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Traces(ExportTraceRequest),
    Metrics(ExportMetricsRequest),
}

/// A way to the collector.
pub(crate) enum Sender {
    Http(http::Http),
    Grpc(grpc::Grpc),
}

impl Sender {
    pub(crate) fn open(config: &Config) -> Result<Self, String> {
        Ok(match config.protocol {
            Protocol::Http => Self::Http(http::Http::new(config)),
            Protocol::Grpc => Self::Grpc(grpc::Grpc::open(config)?),
        })
    }

    /// Sends, and waits for the answer as long as the time-out allows.
    pub(crate) fn send(&mut self, request: &Request) -> Delivery {
        match self {
            Self::Http(http) => http.send(request),
            Self::Grpc(grpc) => grpc.send(request),
        }
    }
}

impl Delivery {
    fn later(reason: impl Into<String>) -> Self {
        Self::Later { reason: reason.into(), after: None }
    }

    fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    fn taken(response: ExportResponse) -> Self {
        let part = response.partial_success.unwrap_or_default();
        Self::Taken { rejected: u64::try_from(part.rejected).unwrap_or(0), reason: part.error_message }
    }

    /// The answer of a collector, as bytes.
    fn read(bytes: &[u8]) -> Self {
        ExportResponse::decode(bytes).map_or_else(
            |_| Self::refused("the answer is none of a collector: it cannot be decoded"),
            Self::taken,
        )
    }
}

/// Longest `Retry-After` that is heeded: beyond it a batch would be dropped in any case.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
