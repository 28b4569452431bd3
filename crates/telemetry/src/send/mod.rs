//! One export to the collector, and what became of it.
//!
//! Which failures may be repeated is decided by the specification of OTLP: a collector that refuses
//! data for good would refuse it again.

mod delivery;
mod grpc;
mod http;

pub use delivery::Delivery;

pub(crate) use delivery::Request;

use crate::config::{Config, Protocol};
use crate::otlp::ExportTraceRequest;

/// Sends one empty export of spans, to see whether a collector answers. Blocks for the time-out of
/// the settings at most.
///
/// # Errors
/// The settings name no collector that can be asked, in words.
pub fn try_collector(config: &Config) -> Result<Delivery, String> {
    let mut sender = Sender::open(config)?;
    Ok(sender.send(&Request::Traces(ExportTraceRequest::default())))
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
