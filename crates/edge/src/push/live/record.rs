//! The records of live pushes, shared by the loops that deliver them and by those who ask.
//!
//! A loop adds to a record once a turn, not once a delivery: see [`super::receipts`]. Records are
//! remembered up to a number; the oldest is forgotten first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use stadium_push::live::{
    Away, LatencySummary, LiveAudience, LivePush, LiveReach, LiveReport, LiveTally, LiveTimes, LiveToken,
};
use stadium_push::{AppName, PushId, Time};

use super::receipts::Tally;
use crate::push::transport::wall;

/// The record of a live push.
#[derive(Debug)]
pub struct PushRecord {
    token: LiveToken,
    push: Arc<LivePush>,
    away: Away,
    accepted_at: Time,
    accepted: Instant,
    loops_left: AtomicU64,
    sums: Mutex<Sums>,
}

#[derive(Debug)]
struct Sums {
    counts: LiveTally,
    reach: Option<LiveReach>,
    sent: Histogram<u32>,
    acknowledged: Histogram<u32>,
    sent_between: Option<(Duration, Duration)>,
    acknowledged_between: Option<(Duration, Duration)>,
}

/// Time within which the shards' dispatches reach the loops. A shard that starts over loses some.
const COUNTING_MAX: Duration = Duration::from_secs(60);

/// Ten minutes in microseconds: a later acknowledgement is counted as this.
const LATENCY_US_MAX: u64 = 600_000_000;

fn latencies() -> Histogram<u32> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 2).expect("bounds that the histogram's rules allow")
}

impl PushRecord {
    fn new(token: LiveToken, push: LivePush, away: Away, loops: usize) -> Self {
        Self {
            token,
            push: Arc::new(push),
            away,
            accepted_at: wall(),
            accepted: Instant::now(),
            loops_left: AtomicU64::new(loops as u64),
            sums: Mutex::new(Sums {
                counts: LiveTally::default(),
                reach: None,
                sent: latencies(),
                acknowledged: latencies(),
                sent_between: None,
                acknowledged_between: None,
            }),
        }
    }

    /// Its name towards the shards and the loops.
    pub fn token(&self) -> LiveToken {
        self.token
    }

    /// A loop has routed it.
    pub(crate) fn handled_by_a_loop(&self) {
        self.loops_left.fetch_sub(1, Ordering::AcqRel);
    }

    /// Adds devices that have no connection, or none that reads its inbox.
    pub(crate) fn add_not_connected(&self, devices: u64) {
        if devices > 0 {
            self.sums.lock().counts.not_connected += devices;
        }
    }

    /// The shards have dispatched it to the connections of these devices.
    pub fn reached(&self, reach: LiveReach) {
        let mut sums = self.sums.lock();
        sums.counts.not_connected += reach.targeted.saturating_sub(reach.connected);
        sums.reach = Some(reach);
    }

    /// Adds the counts of a loop up to `now`, which is also the latency of each: no delivery took
    /// longer.
    pub(super) fn add(&self, tally: &Tally, now: Instant) {
        let after = |at: Instant| at.saturating_duration_since(self.accepted);
        let took = after(now);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).clamp(1, LATENCY_US_MAX);
        let more = &tally.counts;
        let mut sums = self.sums.lock();
        let counts = &mut sums.counts;
        counts.targeted += more.targeted;
        counts.sent += more.sent;
        counts.unanswered += more.unanswered;
        counts.acknowledged += more.acknowledged;
        counts.queued += more.queued;
        counts.expired += more.expired;
        counts.dropped += more.dropped;
        if more.sent > 0 {
            sums.sent.saturating_record_n(us, u32::try_from(more.sent).unwrap_or(u32::MAX));
            let first = tally.first_sent.map_or(took, after);
            sums.sent_between = Some(widened(sums.sent_between, (first, took)));
        }
        if more.acknowledged > 0 {
            sums.acknowledged.saturating_record_n(us, u32::try_from(more.acknowledged).unwrap_or(u32::MAX));
            let first = tally.first_acknowledged.map_or(took, after);
            sums.acknowledged_between = Some(widened(sums.acknowledged_between, (first, took)));
        }
    }

    /// How far it has come.
    pub fn report(&self) -> LiveReport {
        let sums = self.sums.lock();
        let found = sums.counts.targeted + sums.counts.not_connected;
        let is_counting = match (&self.push.to, &sums.reach) {
            (LiveAudience::Registered(_), reach) => {
                reach.is_none_or(|reach| reach.targeted > found) && self.accepted.elapsed() < COUNTING_MAX
            }
            _ => self.loops_left.load(Ordering::Acquire) > 0,
        };
        let times = LiveTimes {
            sent: sums.sent_between,
            acknowledged: sums.acknowledged_between,
            sent_latency: summary(&sums.sent),
            acknowledged_latency: summary(&sums.acknowledged),
        };
        let keeps = matches!(self.away, Away::Queue(_));
        let push = Arc::clone(&self.push);
        LiveReport::of(push, self.accepted_at, &sums.counts, is_counting, keeps, sums.reach, times)
    }
}

fn widened(between: Option<(Duration, Duration)>, more: (Duration, Duration)) -> (Duration, Duration) {
    between.map_or(more, |(first, last)| (first.min(more.0), last.max(more.1)))
}

/// A histogram of microseconds in a few numbers.
fn summary(latency_us: &Histogram<u32>) -> LatencySummary {
    if latency_us.is_empty() {
        return LatencySummary::default();
    }
    let at = |part: f64| Duration::from_micros(latency_us.value_at_quantile(part));
    LatencySummary {
        count: latency_us.len(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: Duration::from_micros(latency_us.max()),
    }
}

/// The pushes that are remembered.
#[derive(Debug)]
pub(crate) struct Pushes {
    records: Mutex<Records>,
    next: AtomicU64,
    pub(super) remembered_max: usize,
}

#[derive(Debug, Default)]
struct Records {
    by_token: BTreeMap<LiveToken, Arc<PushRecord>>,
    by_id: HashMap<(AppName, PushId), LiveToken>,
    /// Pushes of the same millisecond are in the order of their ids, as on the shards.
    in_order: BTreeSet<(Time, PushId, LiveToken)>,
}

impl Records {
    fn remove(&mut self, token: LiveToken) {
        if let Some(record) = self.by_token.remove(&token) {
            self.in_order.remove(&(record.accepted_at, record.push.id, token));
            let name = (record.push.app.clone(), record.push.id);
            if self.by_id.get(&name) == Some(&token) {
                self.by_id.remove(&name);
            }
        }
    }
}

impl Pushes {
    pub(crate) fn new(remembered_max: usize) -> Self {
        Self { records: Mutex::default(), next: AtomicU64::new(1), remembered_max: remembered_max.max(1) }
    }

    /// Opens the record of a push that so many loops route.
    pub(crate) fn begin(&self, push: LivePush, away: Away, loops: usize) -> Arc<PushRecord> {
        let token = LiveToken(self.next.fetch_add(1, Ordering::Relaxed));
        let name = (push.app.clone(), push.id);
        let record = Arc::new(PushRecord::new(token, push, away, loops));
        let mut records = self.records.lock();
        records.in_order.insert((record.accepted_at, record.push.id, token));
        records.by_token.insert(token, Arc::clone(&record));
        records.by_id.insert(name, token);
        while records.by_token.len() > self.remembered_max {
            let Some(oldest) = records.by_token.keys().next().copied() else { break };
            records.remove(oldest);
        }
        record
    }

    pub(crate) fn forget(&self, token: LiveToken) {
        self.records.lock().remove(token);
    }

    pub(crate) fn find(&self, token: LiveToken) -> Option<Arc<PushRecord>> {
        self.records.lock().by_token.get(&token).cloned()
    }

    pub(crate) fn find_id(&self, app: &AppName, id: PushId) -> Option<Arc<PushRecord>> {
        let records = self.records.lock();
        records.by_id.get(&(app.clone(), id)).and_then(|token| records.by_token.get(token)).cloned()
    }

    /// The newest first, of one app or of all, before a time and id where one is given.
    pub(crate) fn newest(
        &self,
        app: Option<&AppName>,
        before: Option<(Time, PushId)>,
        limit: usize,
    ) -> Vec<Arc<PushRecord>> {
        let records = self.records.lock();
        let newest_first = match before {
            Some((at, id)) => records.in_order.range(..(at, id, LiveToken::default())),
            None => records.in_order.range(..),
        };
        let found = newest_first.rev().filter_map(|(_, _, token)| records.by_token.get(token));
        found.filter(|record| app.is_none_or(|app| record.push.app == *app)).take(limit).cloned().collect()
    }
}
