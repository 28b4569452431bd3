//! Numbers for operators: operations by kind and ending, latencies, bytes, connects, ejections.
//!
//! They are counted under a lock that is held anyway, with times that are read anyway: an operation
//! costs some nanoseconds more and allocates nothing.

use std::fmt::Write as _;
use std::time::Duration;

use crate::address::Address;
use crate::error::Error;
use crate::protocol::{Answer, Outcome};

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Operation {
    /// `get`, `get_into`, `fetch`, and each key of `multiget`.
    Get,
    /// `gets`.
    Gets,
    /// `lookup`, and those of `read_through`.
    Lookup,
    /// `set` and its like.
    Set,
    /// `add`.
    Add,
    /// `replace`.
    Replace,
    /// `append`.
    Append,
    /// `prepend`.
    Prepend,
    /// `cas`.
    Cas,
    /// `incr`, `decr` and `arithmetic`.
    Arithmetic,
    /// `touch`.
    Touch,
    /// `delete`.
    Delete,
    /// `invalidate`.
    Invalidate,
    /// `stats`.
    Statistics,
    /// `versions`.
    Version,
    /// `lossy_get`, and each key of `lossy_multiget`.
    LossyGet,
}

impl Operation {
    /// Every one.
    pub const ALL: [Self; 16] = [
        Self::Get,
        Self::Gets,
        Self::Lookup,
        Self::Set,
        Self::Add,
        Self::Replace,
        Self::Append,
        Self::Prepend,
        Self::Cas,
        Self::Arithmetic,
        Self::Touch,
        Self::Delete,
        Self::Invalidate,
        Self::Statistics,
        Self::Version,
        Self::LossyGet,
    ];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Gets => "gets",
            Self::Lookup => "lookup",
            Self::Set => "set",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
            Self::Cas => "cas",
            Self::Arithmetic => "arithmetic",
            Self::Touch => "touch",
            Self::Delete => "delete",
            Self::Invalidate => "invalidate",
            Self::Statistics => "statistics",
            Self::Version => "version",
            Self::LossyGet => "lossy_get",
        }
    }
}

/// The way in which an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Ending {
    /// Done: for a read, a hit.
    Done,
    /// There is no such item: for a read, a miss.
    Missing,
    /// The condition of `add`, `replace`, `append` or `prepend` did not hold.
    NotStored,
    /// The item has another unique number (`cas`).
    Changed,
    /// [`Error::Busy`].
    Busy,
    /// [`Error::Timeout`].
    Timeout,
    /// [`Error::Disconnected`], and other reasons for which there is no connection.
    Disconnected,
    /// [`Error::Server`].
    Server,
    /// [`Error::Client`].
    Client,
    /// [`Error::Uncertain`].
    Uncertain,
    /// [`Error::Protocol`].
    Protocol,
    /// Refused before it was sent: too large, or not known to the classic protocol.
    Refused,
}

impl Ending {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::Done,
        Self::Missing,
        Self::NotStored,
        Self::Changed,
        Self::Busy,
        Self::Timeout,
        Self::Disconnected,
        Self::Server,
        Self::Client,
        Self::Uncertain,
        Self::Protocol,
        Self::Refused,
    ];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Missing => "missing",
            Self::NotStored => "not_stored",
            Self::Changed => "changed",
            Self::Busy => "busy",
            Self::Timeout => "timeout",
            Self::Disconnected => "disconnected",
            Self::Server => "server_error",
            Self::Client => "client_error",
            Self::Uncertain => "uncertain",
            Self::Protocol => "protocol",
            Self::Refused => "refused",
        }
    }

    pub(crate) fn of(result: &Result<Answer, Error>) -> Self {
        match result {
            Ok(answer) => match answer.outcome {
                Outcome::Done => Self::Done,
                Outcome::NotFound => Self::Missing,
                Outcome::NotStored => Self::NotStored,
                Outcome::Exists => Self::Changed,
            },
            Err(Error::Busy) => Self::Busy,
            Err(Error::Timeout) => Self::Timeout,
            Err(Error::Disconnected(_) | Error::Tls(_) | Error::Authentication(_)) => Self::Disconnected,
            Err(Error::Server(_)) => Self::Server,
            Err(Error::Client(_)) => Self::Client,
            Err(Error::Uncertain(_)) => Self::Uncertain,
            Err(Error::Protocol(_)) => Self::Protocol,
            Err(_) => Self::Refused,
        }
    }
}

/// Times from the submission of operations to their answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latency {
    /// Operations that took up to 1,024 ns, up to twice that, and so on; the last bucket has the rest.
    pub buckets: [u64; Self::BUCKETS],
    /// The sum of all times, in nanoseconds.
    pub sum_ns: u64,
}

impl Latency {
    /// The number of buckets: the last but one ends at 2^31 ns, some 2 s.
    pub const BUCKETS: usize = 23;

    /// The greatest time of a bucket, the last one excepted.
    pub fn bucket_end(bucket: usize) -> Duration {
        Duration::from_nanos(1 << (10 + bucket.min(Self::BUCKETS - 2)))
    }

    /// Operations that were measured.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The end of the bucket that has this share of the operations below it, from 0 to 1. Zero where
    /// nothing was measured.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count() as f64 * share.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut below = 0;
        let at = self.buckets.iter().position(|count| {
            below += count;
            below >= wanted
        });
        at.map_or(Duration::ZERO, Self::bucket_end)
    }

    pub(crate) fn note(&mut self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        // A bucket has its end: 1,024 ns are in the first one.
        let doublings = u64::BITS - (ns.saturating_sub(1) >> 10).leading_zeros();
        self.buckets[(doublings as usize).min(Self::BUCKETS - 1)] += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }
}

/// Numbers of one server since the client began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    counts: [[u64; Ending::ALL.len()]; Operation::ALL.len()],
    /// Reads, from their submission to the answer or the end of the caller's patience.
    pub reads: Latency,
    /// Writes, the same way: also those that no caller waits for.
    pub writes: Latency,
    /// Bytes that were written.
    pub bytes_sent: u64,
    /// Bytes that were read.
    pub bytes_received: u64,
    /// Calls of the kernel that wrote them.
    pub sends: u64,
    /// Calls of the kernel that read them.
    pub receives: u64,
    /// Connections that were made.
    pub connects: u64,
    /// Tries to connect that failed.
    pub connect_failures: u64,
    /// Connections that ended, for any reason.
    pub disconnects: u64,
    /// Times that the server was ejected.
    pub ejections: u64,
}

impl Figures {
    /// Operations of a kind that ended in a way. One that no caller waits for is counted as well. Not
    /// counted are those that never came to a server: bad keys, bad flags, those of an ejected server.
    pub fn count(&self, operation: Operation, ending: Ending) -> u64 {
        self.counts[operation as usize][ending as usize]
    }

    /// Operations that ended in a way.
    pub fn ended(&self, ending: Ending) -> u64 {
        self.counts.iter().map(|row| row[ending as usize]).sum()
    }

    pub(crate) fn note(&mut self, operation: Operation, ending: Ending, is_write: bool, took: Duration) {
        self.counts[operation as usize][ending as usize] += 1;
        if is_write {
            self.writes.note(took);
        } else {
            self.reads.note(took);
        }
    }
}

/// One server of [`Metrics`].
#[derive(Debug, Clone)]
pub struct ServerMetrics {
    /// Its address.
    pub address: Address,
    /// True while there is a connection.
    pub is_connected: bool,
    /// True while it is ejected.
    pub is_ejected: bool,
    /// Operations that are not done, or whose result was not taken; see
    /// [`Config::operations_max`](crate::Config::operations_max).
    pub operations: usize,
    /// Bytes that wait for it; see [`Config::unsent_bytes_max`](crate::Config::unsent_bytes_max).
    pub unsent_bytes: usize,
    /// Its numbers.
    pub figures: Figures,
}

/// A metric without other labels: its name, its description, and its value.
type Family = (&'static str, &'static str, fn(&ServerMetrics) -> u64);

/// The numbers of a client, from [`Client::metrics`](crate::Client::metrics).
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Its servers, in their order in the settings.
    pub servers: Vec<ServerMetrics>,
}

impl Metrics {
    /// In the text format of Prometheus, each metric with the label `server`.
    pub fn prometheus(&self) -> String {
        let mut out = String::with_capacity(4_096 * self.servers.len());
        let gauges: [Family; 4] = [
            ("connected", "1 while there is a connection", |one| one.is_connected.into()),
            ("ejected", "1 while the server is ejected", |one| one.is_ejected.into()),
            ("operations", "Operations under way", |one| one.operations as u64),
            ("unsent_bytes", "Bytes that wait for the server", |one| one.unsent_bytes as u64),
        ];
        for family in gauges {
            self.family(&mut out, "gauge", family);
        }
        let counters: [Family; 8] = [
            ("sent_bytes_total", "Bytes written", |one| one.figures.bytes_sent),
            ("received_bytes_total", "Bytes read", |one| one.figures.bytes_received),
            ("sends_total", "System calls that wrote", |one| one.figures.sends),
            ("receives_total", "System calls that read", |one| one.figures.receives),
            ("connects_total", "Connections made", |one| one.figures.connects),
            ("connect_failures_total", "Failed tries to connect", |one| one.figures.connect_failures),
            ("disconnects_total", "Connections that ended", |one| one.figures.disconnects),
            ("ejections_total", "Ejections of the server", |one| one.figures.ejections),
        ];
        for family in counters {
            self.family(&mut out, "counter", family);
        }
        head(&mut out, "counter", "operations_total", "Operations by kind and ending");
        for server in &self.servers {
            for operation in Operation::ALL {
                for ending in Ending::ALL {
                    let count = server.figures.count(operation, ending);
                    if count > 0 {
                        let (operation, ending) = (operation.name(), ending.name());
                        let server = label(&server.address);
                        let _ = writeln!(
                            out,
                            "{PREFIX}operations_total{{server=\"{server}\",operation=\"{operation}\",\
                             ending=\"{ending}\"}} {count}"
                        );
                    }
                }
            }
        }
        head(&mut out, "histogram", "latency_seconds", "Time from submission to the answer");
        for server in &self.servers {
            latency(&mut out, &server.address, "read", &server.figures.reads);
            latency(&mut out, &server.address, "write", &server.figures.writes);
        }
        out
    }

    fn family(&self, out: &mut String, kind: &str, (name, help, value): Family) {
        head(out, kind, name, help);
        for server in &self.servers {
            let _ =
                writeln!(out, "{PREFIX}{name}{{server=\"{}\"}} {}", label(&server.address), value(server));
        }
    }
}

const PREFIX: &str = "stadium_memcache_";

fn head(out: &mut String, kind: &str, name: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {PREFIX}{name} {help}.\n# TYPE {PREFIX}{name} {kind}");
}

fn latency(out: &mut String, address: &Address, kind: &str, latency: &Latency) {
    let labels = format!("server=\"{}\",kind=\"{kind}\"", label(address));
    let mut below = 0;
    for (at, count) in latency.buckets.iter().enumerate() {
        below += count;
        let end = if at + 1 < Latency::BUCKETS {
            Latency::bucket_end(at).as_secs_f64().to_string()
        } else {
            "+Inf".to_owned()
        };
        let _ = writeln!(out, "{PREFIX}latency_seconds_bucket{{{labels},le=\"{end}\"}} {below}");
    }
    let sum = latency.sum_ns as f64 / 1e9;
    let _ = writeln!(out, "{PREFIX}latency_seconds_sum{{{labels}}} {sum}");
    let _ = writeln!(out, "{PREFIX}latency_seconds_count{{{labels}}} {below}");
}

/// An address as the value of a label.
fn label(address: &Address) -> String {
    address.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_fit() {
        assert!(Operation::ALL.iter().enumerate().all(|(at, one)| *one as usize == at));
        assert!(Ending::ALL.iter().enumerate().all(|(at, one)| *one as usize == at));
    }

    #[test]
    fn latencies_fall_into_buckets_of_doubled_width() {
        let mut latency = Latency::default();
        let cases = [(0, 0), (1, 0), (1_024, 0), (1_025, 1), (2_048, 1), (2_049, 2), (1 << 31, 21)];
        for (ns, bucket) in cases {
            let mut one = Latency::default();
            one.note(Duration::from_nanos(ns));
            assert_eq!(one.buckets[bucket], 1, "{ns}");
            assert!(Duration::from_nanos(ns) <= Latency::bucket_end(bucket));
        }
        latency.note(Duration::MAX);
        assert_eq!(latency.buckets[Latency::BUCKETS - 1], 1);
        let mut latency = Latency::default();
        assert_eq!(latency.quantile(0.5), Duration::ZERO);
        (0..99).for_each(|_| latency.note(Duration::from_micros(20)));
        latency.note(Duration::from_millis(50));
        assert_eq!(latency.quantile(0.5), Duration::from_nanos(32_768));
        assert_eq!(latency.quantile(0.99), Duration::from_nanos(32_768));
        assert_eq!(latency.quantile(1.0), Duration::from_nanos(1 << 26));
    }
}
