//! How far each push has come, shared by the loops that deliver it and those who ask.
//!
//! A loop adds to a record once a turn, not once a delivery: see [`super::receipts`]. Records are
//! remembered up to a number, the oldest is forgotten first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use stadium_mqtt::packet::QoS;

use super::receipts::Tally;
use super::{Audience, NewPush, PushId};

/// How far a push has come, at one moment.
#[derive(Clone, Debug)]
pub struct PushProgress {
    /// Its id.
    pub id: PushId,
    /// When it was accepted.
    pub accepted_at: SystemTime,
    /// Whom it was for.
    pub to: Audience,
    /// Its QoS.
    pub qos: QoS,
    /// Bytes of its message.
    pub payload_bytes: usize,
    /// Sessions with a matching subscription.
    pub targeted: u64,
    /// Written to connections.
    pub sent: u64,
    /// Of those, the ones to subscriptions at QoS 0, which no acknowledgement answers.
    pub unanswered: u64,
    /// Acknowledged by devices.
    pub acknowledged: u64,
    /// Kept for devices that are away or busy, whether or not they got it since.
    pub queued: u64,
    /// Given up because their time was over.
    pub expired: u64,
    /// Given up for another reason.
    pub dropped: u64,
    /// Devices named that have no session here, or none that reads its inbox.
    pub not_connected: u64,
    /// Loops that have not handled it yet.
    pub loops_left: u64,
    /// First and last write, after acceptance.
    pub sent_between: Option<(Duration, Duration)>,
    /// First and last acknowledgement, after acceptance.
    pub acknowledged_between: Option<(Duration, Duration)>,
    /// Acceptance to write, in microseconds.
    pub sent_latency_us: Histogram<u32>,
    /// Acceptance to acknowledgement, in microseconds.
    pub acknowledged_latency_us: Histogram<u32>,
}

/// The shared record of a push.
#[derive(Debug)]
pub struct PushRecord {
    id: PushId,
    to: Audience,
    qos: QoS,
    payload_bytes: usize,
    accepted_at: SystemTime,
    accepted: Instant,
    loops_left: AtomicU64,
    sums: Mutex<Sums>,
}

#[derive(Debug)]
struct Sums {
    targeted: u64,
    unanswered: u64,
    queued: u64,
    expired: u64,
    dropped: u64,
    not_connected: u64,
    sent: Histogram<u32>,
    acknowledged: Histogram<u32>,
    sent_between: Option<(Duration, Duration)>,
    acknowledged_between: Option<(Duration, Duration)>,
}

/// Ten minutes in microseconds: a later acknowledgement is counted as this.
const LATENCY_US_MAX: u64 = 600_000_000;

fn latencies() -> Histogram<u32> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 2).expect("bounds that the histogram's rules allow")
}

impl PushRecord {
    fn new(id: PushId, push: &NewPush, loops: usize) -> Self {
        Self {
            id,
            to: push.to.clone(),
            qos: push.qos,
            payload_bytes: push.payload.len(),
            accepted_at: SystemTime::now(),
            accepted: Instant::now(),
            loops_left: AtomicU64::new(loops as u64),
            sums: Mutex::new(Sums {
                targeted: 0,
                unanswered: 0,
                queued: 0,
                expired: 0,
                dropped: 0,
                not_connected: 0,
                sent: latencies(),
                acknowledged: latencies(),
                sent_between: None,
                acknowledged_between: None,
            }),
        }
    }

    /// Its id.
    pub fn id(&self) -> PushId {
        self.id
    }

    /// A loop has routed it.
    pub(crate) fn handled_by_a_loop(&self) {
        self.loops_left.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn add_not_connected(&self, devices: u64) {
        if devices > 0 {
            self.sums.lock().not_connected += devices;
        }
    }

    /// Adds what a loop has counted until `now`. Latencies are counted as of now: no delivery took longer.
    pub(super) fn add(&self, tally: &Tally, now: Instant) {
        let after = |at: Instant| at.saturating_duration_since(self.accepted);
        let took = after(now);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).clamp(1, LATENCY_US_MAX);
        let mut sums = self.sums.lock();
        sums.targeted += tally.targeted;
        sums.unanswered += tally.unanswered;
        sums.queued += tally.queued;
        sums.expired += tally.expired;
        sums.dropped += tally.dropped;
        if tally.sent > 0 {
            sums.sent.saturating_record_n(us, u32::try_from(tally.sent).unwrap_or(u32::MAX));
            let first = tally.first_sent.map_or(took, after);
            sums.sent_between = Some(widened(sums.sent_between, (first, took)));
        }
        if tally.acknowledged > 0 {
            sums.acknowledged.saturating_record_n(us, u32::try_from(tally.acknowledged).unwrap_or(u32::MAX));
            let first = tally.first_acknowledged.map_or(took, after);
            sums.acknowledged_between = Some(widened(sums.acknowledged_between, (first, took)));
        }
    }

    /// How far it has come.
    pub fn progress(&self) -> PushProgress {
        let sums = self.sums.lock();
        PushProgress {
            id: self.id,
            accepted_at: self.accepted_at,
            to: self.to.clone(),
            qos: self.qos,
            payload_bytes: self.payload_bytes,
            targeted: sums.targeted,
            sent: sums.sent.len(),
            unanswered: sums.unanswered,
            acknowledged: sums.acknowledged.len(),
            queued: sums.queued,
            expired: sums.expired,
            dropped: sums.dropped,
            not_connected: sums.not_connected,
            loops_left: self.loops_left.load(Ordering::Acquire),
            sent_between: sums.sent_between,
            acknowledged_between: sums.acknowledged_between,
            sent_latency_us: sums.sent.clone(),
            acknowledged_latency_us: sums.acknowledged.clone(),
        }
    }
}

fn widened(between: Option<(Duration, Duration)>, more: (Duration, Duration)) -> (Duration, Duration) {
    between.map_or(more, |(first, last)| (first.min(more.0), last.max(more.1)))
}

/// The pushes that are remembered.
#[derive(Debug)]
pub(crate) struct Pushes {
    by_id: Mutex<BTreeMap<PushId, Arc<PushRecord>>>,
    next: AtomicU64,
    pub(super) remembered_max: usize,
}

impl Pushes {
    pub(crate) fn new(remembered_max: usize) -> Self {
        // Ids start at the time, so that those of the process before are not given again.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let first = u64::try_from(now.as_millis()).unwrap_or(1) << 10;
        Self { by_id: Mutex::default(), next: AtomicU64::new(first), remembered_max: remembered_max.max(1) }
    }

    pub(crate) fn begin(&self, push: &NewPush, loops: usize) -> Arc<PushRecord> {
        let id = PushId(self.next.fetch_add(1, Ordering::Relaxed));
        let record = Arc::new(PushRecord::new(id, push, loops));
        let mut by_id = self.by_id.lock();
        by_id.insert(id, Arc::clone(&record));
        while by_id.len() > self.remembered_max {
            by_id.pop_first();
        }
        record
    }

    pub(crate) fn forget(&self, id: PushId) {
        self.by_id.lock().remove(&id);
    }

    pub(crate) fn find(&self, id: PushId) -> Option<Arc<PushRecord>> {
        self.by_id.lock().get(&id).cloned()
    }

    pub(crate) fn newest(&self, limit: usize) -> Vec<Arc<PushRecord>> {
        self.by_id.lock().values().rev().take(limit).cloned().collect()
    }
}
