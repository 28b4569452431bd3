//! The settings of telemetry: plain values that the node reads and explains.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The collector that telemetry is exported to, and the ways to reach it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The collector: `http://HOST:PORT` or `https://HOST:PORT`, with a path prefix for OTLP over HTTP.
    pub endpoint: String,
    /// The protocol.
    pub protocol: Protocol,
    /// Sent with each request, such as the token of a vendor.
    pub headers: Vec<Header>,
    /// PEM certificates of the authorities that a collector behind TLS is checked against.
    pub authorities: Arc<[u8]>,
    /// Longest that one export may take.
    pub timeout: Duration,
    /// Spans that wait for the exporter at most; more are dropped and counted.
    pub queue_spans_max: usize,
    /// Time from one export of spans to the next, unless a batch is full before.
    pub spans_every: Duration,
    /// Time from one export of metrics to the next; zero exports none.
    pub metrics_every: Duration,
    /// Which requests are traced.
    pub sampling: Sampling,
    /// Spans of deliveries to single devices that one push makes at most, on this node.
    pub devices_per_push_max: u32,
    /// The attributes of the process: `service.name` and others.
    pub resource: Vec<(String, String)>,
    /// The version of the product.
    pub version: String,
}

/// A header of each export. Its value is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// The name, in lower case.
    pub name: String,
    /// The value.
    pub value: String,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The protocol of the export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Protocol Buffers over HTTP/1.1.
    Http,
    /// gRPC.
    Grpc,
}

/// Which requests are traced.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// The part of the requests that begin a trace here which is sampled, 0 to 1. A caller's decision
    /// holds for requests that belong to its trace.
    pub ratio: f64,
    /// Whether spans of requests that fail by the server's fault are exported in any case.
    pub errors: bool,
    /// Spans of requests that take longer are exported in any case.
    pub slower_than: Option<Duration>,
}

impl Sampling {
    /// Whether the end of a request may still decide that it is exported.
    pub(crate) fn decides_late(&self) -> bool {
        self.errors || self.slower_than.is_some()
    }

    /// Whether a trace that begins here is sampled: by its id, so that every server which is asked
    /// decides the same (W3C Trace Context 2, 3.2.2.3: the last seven bytes are random).
    pub(crate) fn takes(&self, trace_id: &[u8; 16]) -> bool {
        let random = trace_id[9..].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        (random as f64) < self.ratio * (1_u64 << 56) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_takes_about_its_part_of_the_traces() {
        let mut random = fastrand::Rng::with_seed(7);
        for (ratio, least, most) in [(0.0, 0, 0), (0.1, 850, 1_150), (1.0, 10_000, 10_000)] {
            let sampling = Sampling { ratio, errors: false, slower_than: None };
            let taken = (0..10_000).filter(|_| sampling.takes(&random.u128(1..).to_be_bytes())).count();
            assert!((least..=most).contains(&taken), "{ratio}: {taken}");
        }
    }

    #[test]
    fn a_header_never_shows_its_value() {
        let header = Header { name: "authorization".to_owned(), value: "Bearer geheim".to_owned() };
        assert!(!format!("{header:?}").contains("geheim"));
    }
}
