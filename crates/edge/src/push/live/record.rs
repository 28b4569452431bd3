//! The records of live pushes, shared by the loops that deliver them and by those who ask.
//!
//! A loop adds to a record once a turn, not once a delivery: see [`super::receipts`]. Records are
//! remembered up to a number; the oldest is forgotten first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use stadium_push::live::{
    Away, LatencySummary, LiveAudience, LivePush, LiveReach, LiveReport, LiveTally, LiveTimes, LiveToken,
};
use stadium_push::{AppName, LiveOrigins, PushId, Time};

use super::elsewhere::{Elsewhere, RemoteRecord};
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
        sums.counts.add(more);
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
///
/// Loops name a push by its number alone. A push that another node accepted gets a number of this
/// node too.
#[derive(Debug)]
pub(crate) struct Pushes {
    records: Mutex<Records>,
    elsewhere: Elsewhere,
    origins: OnceLock<Arc<dyn LiveOrigins>>,
    /// Of this node, see [`EdgeHandle::set_node`](crate::EdgeHandle::set_node).
    node: AtomicU32,
    next: AtomicU32,
    pub(super) remembered_max: usize,
}

/// What counts the deliveries of a push here.
#[derive(Debug, Clone)]
pub(crate) enum Counted {
    /// The push's record.
    Here(Arc<PushRecord>),
    /// Counts for the node that has the record.
    Elsewhere(Arc<RemoteRecord>),
}

#[derive(Debug, Default)]
struct Records {
    by_number: BTreeMap<u32, Arc<PushRecord>>,
    by_id: HashMap<(AppName, PushId), LiveToken>,
    /// Pushes of the same millisecond are in the order of their ids, as on the shards.
    in_order: BTreeSet<(Time, PushId, LiveToken)>,
}

impl Records {
    /// The number that was given first, where `newest` was given last: numbers begin again behind
    /// the greatest one.
    fn oldest(&self, newest: u32) -> Option<u32> {
        let behind = self.by_number.range(newest.wrapping_add(1)..).next();
        behind.or_else(|| self.by_number.first_key_value()).map(|(&number, _)| number)
    }

    fn remove(&mut self, number: u32) {
        if let Some(record) = self.by_number.remove(&number) {
            let token = record.token;
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
        let remembered_max = remembered_max.max(1);
        Self {
            records: Mutex::default(),
            elsewhere: Elsewhere::new(remembered_max),
            origins: OnceLock::new(),
            node: AtomicU32::new(0),
            next: AtomicU32::new(1),
            remembered_max,
        }
    }

    pub(crate) fn set_node(&self, node: u32) {
        self.node.store(node, Ordering::Release);
    }

    /// Sends the counts of pushes that other nodes accepted this way from now on. Only the first
    /// call counts.
    pub(crate) fn set_origins(&self, origins: Arc<dyn LiveOrigins>) {
        let _ = self.origins.set(origins);
    }

    /// A number that no push of this process has which is remembered. 0 is none.
    fn number(&self) -> u32 {
        match self.next.fetch_add(1, Ordering::Relaxed) {
            0 => self.next.fetch_add(1, Ordering::Relaxed),
            number => number,
        }
    }

    /// The number by which loops count the deliveries of a push, whichever node accepted it.
    pub(crate) fn number_of(&self, token: LiveToken) -> u32 {
        let is_ours = [0, self.node.load(Ordering::Acquire)].contains(&token.node());
        if is_ours { token.number() } else { self.elsewhere.number_of(token, || self.number()) }
    }

    /// What counts deliveries of the push of this number.
    pub(super) fn counted(&self, number: u32) -> Option<Counted> {
        let here = || self.records.lock().by_number.get(&number).cloned().map(Counted::Here);
        here().or_else(|| self.elsewhere.find(number).map(Counted::Elsewhere))
    }

    /// Adds what a loop has counted of a push.
    pub(super) fn add(&self, counted: &Counted, tally: &Tally) {
        match counted {
            Counted::Here(record) => record.add(tally, Instant::now()),
            Counted::Elsewhere(record) => self.elsewhere.add(record, &tally.counts, self.origins.get()),
        }
    }

    /// Offers counts again that could not be sent to other nodes.
    pub(super) fn offer_again(&self) {
        if let Some(origins) = self.origins.get() {
            self.elsewhere.offer_again(&**origins);
        }
    }

    /// Adds devices of a push that have no connection, or none that reads its inbox.
    pub(crate) fn add_not_connected(&self, number: u32, devices: u64) {
        if devices > 0
            && let Some(counted) = self.counted(number)
        {
            let counts = LiveTally { not_connected: devices, ..LiveTally::default() };
            self.add(&counted, &Tally { counts, ..Tally::default() });
        }
    }

    /// Adds what another node has counted of a push that this one accepted.
    pub(crate) fn add_remote(&self, token: LiveToken, counts: &LiveTally) {
        if let Some(record) = self.find(token) {
            // Its clock is another one: the deliveries took until now at most.
            record.add(&Tally { counts: *counts, ..Tally::default() }, Instant::now());
        }
    }

    /// Opens the record of a push that so many loops route.
    pub(crate) fn begin(&self, push: LivePush, away: Away, loops: usize) -> Arc<PushRecord> {
        let token = LiveToken::new(self.node.load(Ordering::Acquire), self.number());
        let name = (push.app.clone(), push.id);
        let record = Arc::new(PushRecord::new(token, push, away, loops));
        let mut records = self.records.lock();
        records.in_order.insert((record.accepted_at, record.push.id, token));
        records.by_number.insert(token.number(), Arc::clone(&record));
        records.by_id.insert(name, token);
        while records.by_number.len() > self.remembered_max {
            let Some(oldest) = records.oldest(token.number()) else { break };
            records.remove(oldest);
        }
        record
    }

    pub(crate) fn forget(&self, token: LiveToken) {
        self.records.lock().remove(token.number());
    }

    pub(crate) fn find(&self, token: LiveToken) -> Option<Arc<PushRecord>> {
        let record = self.records.lock().by_number.get(&token.number()).cloned();
        record.filter(|record| record.token == token)
    }

    pub(crate) fn find_id(&self, app: &AppName, id: PushId) -> Option<Arc<PushRecord>> {
        let records = self.records.lock();
        let token = records.by_id.get(&(app.clone(), id))?;
        records.by_number.get(&token.number()).cloned()
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
        let found = newest_first.rev().filter_map(|(_, _, token)| records.by_number.get(&token.number()));
        found.filter(|record| app.is_none_or(|app| record.push.app == *app)).take(limit).cloned().collect()
    }
}
