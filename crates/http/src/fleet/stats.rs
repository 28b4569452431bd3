//! The fleet's counters and gauges at one time.
//!
//! Totals only grow while the process lives; rates and recent quantiles are made from two snapshots
//! by whoever shows them.

use std::time::Duration;

/// Whether new work should be sent here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Yes.
    Ready,
    /// No: it is leaving, and devices are being moved away.
    Draining,
    /// Not yet, for the given reason.
    Starting(String),
}

/// A snapshot of the fleet. Gauges are plain names, totals end in `_total`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetStats {
    /// One entry for each event loop, in order of its index.
    pub loops: Vec<LoopStats>,
    /// Devices with an open connection.
    pub connected: u64,
    /// Sessions, of connected devices and of those away.
    pub sessions: u64,
    /// Subscriptions of all sessions.
    pub subscriptions: u64,
    /// Retained messages.
    pub retained: u64,
    /// Messages that were to be retained and were not, because a bound was reached.
    pub retains_refused_total: u64,
    /// Messages that were to be retained and were not, because their principal reached its quota.
    pub retains_over_quota_total: u64,
    /// Subscriptions that were sent fewer retained messages than there are, because a bound was reached.
    pub retained_left_out_total: u64,
    /// Sockets accepted.
    pub accepts_total: u64,
    /// CONNECT packets answered with success.
    pub connects_total: u64,
    /// Messages that devices published.
    pub publishes_in_total: u64,
    /// Messages of applications that were published.
    pub application_messages_total: u64,
    /// Messages of applications that nobody got, or of which that is not known.
    pub application_messages_refused_total: u64,
    /// Messages written to devices' sockets, retries included.
    pub deliveries_total: u64,
    /// Deliveries that devices acknowledged.
    pub acknowledgements_total: u64,
    /// Pushes taken over.
    pub pushes_total: u64,
    /// Pushes refused as busy or rejected.
    pub pushes_refused_total: u64,
    /// Connections closed, by reason.
    pub closes: Vec<Tally>,
    /// Messages given up, by reason.
    pub drops: Vec<Tally>,
    /// Logins refused, by reason.
    pub auth_failures: Vec<Tally>,
    /// The cache of the authentication callback's answers; `None` where there is none.
    pub auth_cache: Option<AuthCacheStats>,
    /// Memory held, by what holds it.
    pub bytes_held: BytesHeld,
    /// From a message's arrival (or a push's acceptance) to the write to the device's socket.
    pub delivery_latency: Histogram,
    /// From a push's acceptance to its last delivery: acknowledged at QoS 1, written at QoS 0.
    pub push_latency: Histogram,
    /// Requests of devices to services.
    pub requests: RequestStats,
    /// Streams of topics.
    pub streams: StreamStats,
    /// Messages of devices taken for feeds, once for each feed.
    pub feed_messages_total: u64,
    /// Of those: no queue took them.
    pub feed_messages_dropped_total: u64,
    /// The services of this process; `None` where it serves none.
    pub services: Option<ServiceStats>,
    /// How finding services goes; `None` where it is off.
    pub discovery: Option<DiscoveryStats>,
    /// Locations that are taken from a service; `None` where none is watched.
    pub locations: Option<LocationStats>,
    /// Backups of this server; `None` where they are off.
    pub backup: Option<BackupStats>,
    /// Certificates from an ACME server; `None` where they come from elsewhere.
    pub acme: Option<AcmeStats>,
    /// The node's part in its cluster; `None` of a standalone server, and of a node that leaves.
    pub cluster: Option<ClusterStats>,
}

/// The counters of streams, and the memory that they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Streams that are open.
    pub open: u64,
    /// Streams at most.
    pub open_max: u64,
    /// Topic filters that are kept.
    pub filters: u64,
    /// Messages that streams may still read.
    pub ring_messages: u64,
    /// Their bytes.
    pub ring_bytes: u64,
    /// Messages that were kept for streams.
    pub messages_total: u64,
    /// Messages that were given to streams, each as often as it was.
    pub deliveries_total: u64,
    /// Messages that were lost to streams because the node was too busy.
    pub lost_total: u64,
    /// Gaps that were reported to streams, by reason.
    pub gaps: Vec<Tally>,
}

/// Backups of the server by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupStats {
    /// When the last one was stored, seconds since 1970; 0 before the first of this process.
    pub last_success_s: u64,
    /// How old the newest moment in the store is; before the first one, how long the process runs.
    pub behind: Duration,
    /// Records of all shards that no backup has.
    pub behind_records: u64,
    /// Backups stored.
    pub succeeded_total: u64,
    /// Attempts that failed.
    pub failed_total: u64,
    /// How long the last one took.
    pub took: Duration,
    /// The code of the last failure, until a backup is stored.
    pub failing: Option<&'static str>,
    /// Bytes of journal segments with records of wallets that only the store has.
    pub moved_bytes: u64,
}

/// Certificates from an ACME server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcmeStats {
    /// When the certificate ends, seconds since 1970; 0 while there is none.
    pub expires_s: u64,
    /// Certificates obtained by this process.
    pub obtained_total: u64,
    /// Orders that failed.
    pub failed_total: u64,
    /// Why the last one failed, until one succeeds.
    pub failing: Option<String>,
}

/// The cache of the authentication callback's answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthCacheStats {
    /// Events by name: `hit`, `miss`, `renewal`, `wait`, `failure`, `forgery`, `rest`.
    pub events: Vec<Tally>,
    /// memcached servers that are left alone now because they do not answer.
    pub ejected_servers: u64,
}

/// A node's part in its cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterStats {
    /// Whether it is registered in etcd now.
    pub registered: bool,
    /// Whether it is certain that its lease is valid, so that reads need no commit.
    pub certain: bool,
    /// Nodes that are alive, this one included.
    pub nodes: u64,
    /// Shards of the cluster.
    pub shards: u64,
    /// Shards that this node serves.
    pub served: u64,
    /// Commands between this node and others: `asked`, `given_back`, `asked_again`, `served`,
    /// `unknown`.
    pub commands: Vec<Tally>,
    /// Commands of this node that wait for the answer of another.
    pub waiting: u64,
    /// The links that this node dials.
    pub links: Vec<LinkStats>,
    /// How far storing the shards of this node is; `None` where no object store is configured.
    pub archive: Option<ArchiveStats>,
}

/// A link to another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStats {
    /// The other node.
    pub node: String,
    /// Its purpose and its loop: `data-0`, `control-0`.
    pub link: String,
    /// Whether it is up.
    pub up: bool,
    /// Bytes written and received.
    pub bytes: [u64; 2],
    /// Attempts to connect that failed, and connections that were lost.
    pub failures_total: u64,
    /// Bytes of credit that are taken.
    pub credit_taken_bytes: u64,
    /// The last round trip; zero before the first.
    pub round_trip: Duration,
}

/// How far storing shards in the object store is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveStats {
    /// Shards whose newest checkpoint is not stored.
    pub behind: u64,
    /// For how long the one that has waited longest has.
    pub behind_for: Duration,
    /// Shards whose last attempt failed.
    pub failing: u64,
}

/// Locations of devices, as a service reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocationStats {
    /// Instances that report locations.
    pub sources: u64,
    /// Events taken.
    pub events_total: u64,
    /// What became of them: `moved`, `unmoved`, `older`, `unknown` (not registered), `replaced` by
    /// a newer one, `refused`, `lost`.
    pub outcomes: Vec<Tally>,
    /// Devices whose locations wait to be written.
    pub waiting: u64,
    /// How long the oldest event of the last batch was here before it was durable.
    pub lag: Duration,
}

/// Requests of devices to services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestStats {
    /// Requests whose answer has not left.
    pub in_flight: u64,
    /// Requests taken.
    pub taken_total: u64,
    /// Requests refused as busy, or because there is no such service.
    pub refused_total: u64,
    /// Answers given to devices.
    pub answers_total: u64,
    /// Answers dropped: the device was gone or had not subscribed.
    pub answers_dropped_total: u64,
}

/// The services of this process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceStats {
    /// Open connections of callers.
    pub connections: u64,
    /// Requests that are being worked on.
    pub inflight: u64,
    /// How many may be worked on at once.
    pub limit: u64,
    /// Requests that wait for admission.
    pub queued: u64,
    /// Open streams and channels.
    pub streams: u64,
    /// The load factor that callers are sent: 0 is idle, 1 is all that admission allows.
    pub load: f64,
    /// Connections closed as they came, because `rpc.connections_max` was reached.
    pub connections_refused_total: u64,
    /// Connections that the server cut, by reason: `unfinished` (frames and fragments beyond
    /// `rpc.partial_bytes_max`) and `slow_reader`.
    pub connections_cut: Vec<Tally>,
    /// One entry for each method.
    pub methods: Vec<MethodStats>,
}

/// A method of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodStats {
    /// `SERVICE/METHOD`.
    pub route: String,
    /// How its requests ended.
    pub outcomes: Vec<Tally>,
    /// Half of the requests took at most this.
    pub latency_p50: Duration,
    /// 99 of a hundred took at most this.
    pub latency_p99: Duration,
}

/// How finding services goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoveryStats {
    /// Whether the backend answers, or none is needed.
    pub connected: bool,
    /// Registrations that are wanted.
    pub registrations: u64,
    /// Of these, how many the backend is known to hold.
    pub registered: u64,
    /// What went wrong and was mended, by what it was.
    pub troubles: Vec<Tally>,
}

/// One event loop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoopStats {
    /// The part of the last second that the loop worked rather than waited, 0 to 1.
    pub busy_ratio: f64,
    /// Connections it owns.
    pub connections: u64,
    /// Bytes read from sockets.
    pub bytes_in_total: u64,
    /// Bytes written to sockets.
    pub bytes_out_total: u64,
    /// Turns: waits for events that returned.
    pub turns_total: u64,
    /// Events those waits returned.
    pub events_total: u64,
    /// Messages written to devices' sockets.
    pub deliveries_total: u64,
    /// Messages that devices published.
    pub publishes_in_total: u64,
    /// Commands waiting in its mailbox.
    pub mailbox_depth: u64,
}

/// How often something happened for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// A short stable word, `snake_case`: it becomes a metric's label.
    pub reason: &'static str,
    /// Times since the process began.
    pub total: u64,
}

/// Bytes of memory by what holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytesHeld {
    /// Connections' own state, without their buffers.
    pub connections: u64,
    /// Sessions with their subscriptions and queued messages.
    pub sessions: u64,
    /// Bytes accepted and not yet taken by a socket.
    pub write_queues: u64,
    /// Parts of packets waiting for their rest.
    pub carry_buffers: u64,
    /// Retained messages.
    pub retained: u64,
}

/// Upper bounds of a [`Histogram`]'s buckets in seconds, 50 µs to a minute, about ten to a decade.
pub const LATENCY_BOUNDS_S: [f64; 40] = [
    0.000_05, 0.000_1, 0.000_15, 0.000_2, 0.000_3, 0.000_4, 0.000_5, 0.000_7, 0.001, 0.001_5, 0.002, 0.002_5,
    0.003, 0.004, 0.005, 0.007, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3,
    0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0,
];

/// A latency histogram over [`LATENCY_BOUNDS_S`].
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Durations in each bucket (not cumulative); the last bucket is everything over the last bound.
    pub buckets: [u64; LATENCY_BOUNDS_S.len() + 1],
    /// The sum of all durations in seconds.
    pub sum_s: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; LATENCY_BOUNDS_S.len() + 1], sum_s: 0.0 }
    }
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&mut self, took: Duration) {
        self.record_many(took, 1);
    }

    /// Counts one duration `times` times.
    pub fn record_many(&mut self, took: Duration, times: u64) {
        let seconds = took.as_secs_f64();
        self.buckets[Self::bucket(seconds)] += times;
        self.sum_s += seconds * times as f64;
    }

    /// The bucket of a duration in seconds: the first whose bound is not below it.
    pub fn bucket(seconds: f64) -> usize {
        LATENCY_BOUNDS_S.partition_point(|bound| *bound < seconds)
    }

    /// Adds another histogram's counts, for example those of another loop.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += theirs;
        }
        self.sum_s += other.sum_s;
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// What was counted since an earlier snapshot of the same histogram.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut recent = self.clone();
        for (now, before) in recent.buckets.iter_mut().zip(earlier.buckets) {
            *now = now.saturating_sub(before);
        }
        recent.sum_s = (self.sum_s - earlier.sum_s).max(0.0);
        recent
    }

    /// The duration in seconds that the given part of all counts does not exceed, interpolated
    /// inside its bucket; `None` when nothing was counted. `part` is between 0 and 1.
    pub fn quantile_s(&self, part: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let wanted = (part.clamp(0.0, 1.0) * count as f64).max(1.0);
        let mut below = 0.0;
        for (index, in_bucket) in self.buckets.iter().enumerate() {
            let in_bucket = *in_bucket as f64;
            if in_bucket > 0.0 && below + in_bucket >= wanted {
                let low = if index == 0 { 0.0 } else { LATENCY_BOUNDS_S[index - 1] };
                let high = LATENCY_BOUNDS_S.get(index).copied().unwrap_or(low);
                return Some(low + (high - low) * (wanted - below) / in_bucket);
            }
            below += in_bucket;
        }
        LATENCY_BOUNDS_S.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_fall_into_the_bucket_that_holds_them() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_s(0.5), None);
        histogram.record_many(Duration::from_millis(2), 98);
        histogram.record_many(Duration::from_millis(400), 2);
        let half = histogram.quantile_s(0.5).expect("it holds counts");
        assert!(half > 0.001_5 && half <= 0.002, "{half}");
        let late = histogram.quantile_s(0.99).expect("it holds counts");
        assert!(late > 0.3 && late <= 0.4, "{late}");
        assert_eq!(histogram.count(), 100);
    }

    #[test]
    fn a_difference_of_snapshots_holds_only_the_values_between() {
        let mut histogram = Histogram::default();
        histogram.record(Duration::from_millis(1));
        let earlier = histogram.clone();
        histogram.record(Duration::from_secs(90));
        let recent = histogram.since(&earlier);
        assert_eq!(recent.count(), 1);
        assert_eq!(recent.quantile_s(0.5), Some(60.0), "over the last bound it is the last bound");
    }

    #[test]
    fn bounds_rise() {
        assert!(LATENCY_BOUNDS_S.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
