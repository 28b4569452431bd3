//! The node's figures: what loops, devices and authentication count, in the API's words.
//!
//! Reading is cheap: published counters are added up. Two things need memory between readings, and
//! [`Observer`] keeps them: how busy each loop was lately, and the pushes whose end is still to be
//! counted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stadium_edge::{CLOSES, Counts, DROPS, EdgeHandle, LATENCY_BUCKETS, PushRecord, latency_bucket_bound_us};
use stadium_http::fleet::{AuthCacheStats, BytesHeld, FleetStats, Histogram, LoopStats, RequestStats, Tally};
use stadium_push::live::{LiveToken, Progress};
use stadium_reactor::CloseReason;

/// Pushes whose end is awaited for the histogram; the oldest is given up for one more. As many as
/// are remembered by default.
const PUSHES_WATCHED_MAX: usize = 1_024;

/// The least time that a loop's share of work is measured over.
const BUSY_OVER: Duration = Duration::from_secs(1);

/// Ends of connections that the edge itself asked for: it counts them under better names, see
/// [`CLOSES`].
const ASKED_BY_EDGE: [&str; 2] = ["asked", "aborted"];

/// What is remembered between two readings.
#[derive(Default)]
pub(super) struct Observer {
    pushes: Mutex<Pushes>,
    busy: Mutex<Busy>,
}

#[derive(Default)]
struct Pushes {
    accepted: u64,
    refused: u64,
    watched: VecDeque<Arc<PushRecord>>,
    ended: Histogram,
}

/// Working time of each loop at two times, the older at least [`BUSY_OVER`] ago once it can be.
#[derive(Default)]
struct Busy {
    older: Option<(Instant, Vec<u64>)>,
    newer: Option<(Instant, Vec<u64>)>,
}

impl Observer {
    /// A push was accepted.
    pub(super) fn accepted(&self, record: Arc<PushRecord>) {
        let mut pushes = self.pushes.lock();
        pushes.accepted += 1;
        if pushes.watched.len() >= PUSHES_WATCHED_MAX {
            pushes.watched.pop_front();
        }
        pushes.watched.push_back(record);
    }

    /// A push that was accepted is refused by the shards.
    pub(super) fn withdrawn(&self, token: LiveToken) {
        let mut pushes = self.pushes.lock();
        pushes.accepted = pushes.accepted.saturating_sub(1);
        pushes.refused += 1;
        pushes.watched.retain(|record| record.token() != token);
    }

    /// A push was refused.
    pub(super) fn refused(&self) {
        self.pushes.lock().refused += 1;
    }

    /// Everything, now.
    pub(super) fn stats(&self, edge: &EdgeHandle) -> FleetStats {
        let counts = edge.counts();
        let sockets = edge.loop_stats();
        let busy_ns: Vec<u64> = sockets.iter().map(|stats| stats.busy_ns.value()).collect();
        let busy_ratios = self.busy.lock().ratios(Instant::now(), busy_ns);
        let mut all = Counts::default();
        for each in &counts {
            all.add(each);
        }
        let sum = |pick: fn(&stadium_reactor::LoopStats) -> u64| {
            sockets.iter().map(|stats| pick(stats)).sum::<u64>()
        };
        let (retained, retained_bytes) = edge.retained();
        let auth = edge.auth_counts();
        let mut pushes = self.pushes.lock();
        pushes.count_ended();
        FleetStats {
            loops: sockets
                .iter()
                .zip(&counts)
                .zip(busy_ratios)
                .map(|((sockets, counts), busy_ratio)| LoopStats {
                    busy_ratio,
                    connections: sockets.connections.value(),
                    bytes_in_total: sockets.bytes_in.value(),
                    bytes_out_total: sockets.bytes_out.value(),
                    turns_total: sockets.turns.value(),
                    events_total: sockets.events.value(),
                    deliveries_total: counts.deliveries_total(),
                    publishes_in_total: counts.publishes_in_total(),
                    // A mailbox is emptied each turn; a loop that has too much shows as commands
                    // that wait to enter its mailbox.
                    mailbox_depth: counts.forwards_waiting,
                })
                .collect(),
            streams: super::stream::stats(edge),
            connected: all.connected,
            sessions: all.sessions,
            subscriptions: all.subscriptions,
            retained: retained as u64,
            retains_refused_total: all.retains_refused,
            retains_over_quota_total: all.retains_over_quota,
            retained_left_out_total: all.replays_cut,
            accepts_total: sum(|stats| stats.accepts.value()),
            connects_total: all.connects,
            publishes_in_total: all.publishes_in_total(),
            application_messages_total: all.application_messages,
            application_messages_refused_total: all.application_messages_refused,
            deliveries_total: all.deliveries_total(),
            acknowledgements_total: all.acknowledgements,
            pushes_total: pushes.accepted,
            pushes_refused_total: pushes.refused,
            closes: closes(&all, &sockets),
            drops: DROPS.iter().zip(all.drops).map(|(reason, total)| Tally { reason, total }).collect(),
            auth_failures: auth
                .denied
                .iter()
                .map(|(reason, total)| Tally { reason: reason.as_str(), total: *total })
                .chain([Tally { reason: "busy", total: auth.busy }])
                .collect(),
            auth_cache: auth.cache.as_ref().map(|cache| AuthCacheStats {
                events: cache
                    .events
                    .iter()
                    .map(|(event, total)| Tally { reason: event, total: *total })
                    .collect(),
                ejected_servers: cache.ejected_now as u64,
            }),
            bytes_held: BytesHeld {
                connections: sum(|stats| stats.connection_bytes.value()),
                sessions: all.session_bytes,
                write_queues: sum(|stats| stats.write_queue_bytes.value()),
                carry_buffers: sum(|stats| stats.carry_bytes.value()),
                retained: retained_bytes as u64,
            },
            delivery_latency: histogram(&all),
            push_latency: pushes.ended.clone(),
            requests: RequestStats {
                in_flight: all.requests_in_flight,
                taken_total: all.requests,
                refused_total: all.requests_refused,
                answers_total: all.answers,
                answers_dropped_total: all.answers_dropped,
            },
            feed_messages_total: all.uplinks,
            feed_messages_dropped_total: all.uplinks_dropped,
            services: None,
            discovery: None,
            locations: None,
            backup: None,
            acme: None,
            cluster: None,
        }
    }
}

impl Pushes {
    /// Moves pushes that came to their end into the histogram.
    fn count_ended(&mut self) {
        let ended = &mut self.ended;
        self.watched.retain(|record| {
            let report = record.report();
            if report.progress != Progress::Settled {
                return true;
            }
            if let Some((_, took)) = report.times.acknowledged.or(report.times.sent) {
                ended.record(took);
            }
            false
        });
    }
}

impl Busy {
    /// Each loop's share of work since the older time, 0 to 1.
    fn ratios(&mut self, now: Instant, busy_ns: Vec<u64>) -> Vec<f64> {
        let due = |reading: &Option<(Instant, Vec<u64>)>| {
            reading.as_ref().is_none_or(|(at, _)| now.duration_since(*at) >= BUSY_OVER)
        };
        if due(&self.newer) {
            self.older = self.newer.replace((now, busy_ns.clone()));
        }
        let Some((at, before)) = &self.older else { return vec![0.0; busy_ns.len()] };
        let elapsed_ns = now.duration_since(*at).as_nanos().max(1) as f64;
        busy_ns
            .iter()
            .zip(before)
            .map(|(now_ns, before_ns)| {
                (now_ns.saturating_sub(*before_ns) as f64 / elapsed_ns).clamp(0.0, 1.0)
            })
            .collect()
    }
}

/// Ends of connections: the edge's reasons, then the sockets' own.
fn closes(all: &Counts, sockets: &[Arc<stadium_reactor::LoopStats>]) -> Vec<Tally> {
    let by_edge = CLOSES.iter().zip(all.closes).map(|(reason, total)| Tally { reason, total });
    let by_socket = CloseReason::NAMES.iter().enumerate().map(|(index, reason)| Tally {
        reason,
        total: sockets.iter().map(|stats| stats.closes[index].value()).sum(),
    });
    by_edge.chain(by_socket.filter(|tally| !ASKED_BY_EDGE.contains(&tally.reason))).collect()
}

/// The edge's latency buckets in the API's; a count goes where its upper bound belongs.
fn histogram(counts: &Counts) -> Histogram {
    let mut histogram = Histogram::default();
    for bucket in 0..LATENCY_BUCKETS {
        if counts.latency[bucket] > 0 {
            let bound = Duration::from_secs_f64(latency_bucket_bound_us(bucket) / 1e6);
            histogram.record_many(bound, counts.latency[bucket]);
        }
    }
    histogram.sum_s = counts.latency_sum_us as f64 / 1e6;
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_share_is_measured_over_at_least_a_second() {
        let mut busy = Busy::default();
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(busy.ratios(at(0), vec![0]), [0.0]);
        assert_eq!(busy.ratios(at(500), vec![500_000_000]), [0.0], "nothing to compare with yet");
        assert_eq!(busy.ratios(at(1_000), vec![500_000_000]), [0.5]);
        assert_eq!(busy.ratios(at(2_000), vec![500_000_000]), [0.0], "the last second was idle");
        assert_eq!(busy.ratios(at(2_500), vec![1_000_000_000]), [1.0 / 3.0], "since a second and a half");
    }

    #[test]
    fn latencies_keep_their_count_and_sum() {
        let mut counts = Counts { latency_sum_us: 3_000_000, ..Counts::default() };
        counts.latency[0] = 2;
        counts.latency[20] = 3;
        let histogram = histogram(&counts);
        assert_eq!((histogram.count(), histogram.sum_s), (5, 3.0));
    }
}
