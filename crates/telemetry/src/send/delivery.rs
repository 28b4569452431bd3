//! An export, and its outcome.
//!
//! Both protocols answer with the same message.

use std::time::Duration;

use prost::Message as _;

use crate::otlp::{ExportMetricsRequest, ExportResponse, ExportTraceRequest};

/// The outcome of an export.
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

/// An export.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Traces(ExportTraceRequest),
    Metrics(ExportMetricsRequest),
}

impl Delivery {
    pub(super) fn later(reason: impl Into<String>) -> Self {
        Self::Later { reason: reason.into(), after: None }
    }

    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    pub(super) fn taken(response: ExportResponse) -> Self {
        let part = response.partial_success.unwrap_or_default();
        Self::Taken { rejected: u64::try_from(part.rejected).unwrap_or(0), reason: part.error_message }
    }

    /// The answer of a collector, as bytes.
    pub(super) fn read(bytes: &[u8]) -> Self {
        ExportResponse::decode(bytes).map_or_else(
            |_| Self::refused("the answer is none of a collector: it cannot be decoded"),
            Self::taken,
        )
    }
}

/// Longest `Retry-After` that is heeded: beyond it a batch would be dropped in any case.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
