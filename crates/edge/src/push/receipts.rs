//! A loop's side of the records of pushes.
//!
//! The loop counts deliveries of the push at hand in plain integers, and adds them to the push's record
//! when its turn ends or it meets another push: ten thousand deliveries cost one visit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use stadium_mqtt::broker::Progress;
use stadium_mqtt::packet::QoS;

use super::PushId;
use super::record::{PushRecord, Pushes};

/// What a loop has counted for one push.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) targeted: u64,
    pub(super) sent: u64,
    /// Of those, the ones that no acknowledgement answers.
    pub(super) unanswered: u64,
    pub(super) acknowledged: u64,
    pub(super) queued: u64,
    pub(super) expired: u64,
    pub(super) dropped: u64,
}

/// A loop's side of the records: what it has counted and not added yet.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    token: u64,
    tally: Tally,
    dirty: bool,
    /// Records this loop met before. Bounded: it is emptied when it holds more than the node remembers.
    records: HashMap<u64, Option<Arc<PushRecord>>>,
}

impl Receipts {
    pub(crate) fn report(&mut self, pushes: &Pushes, token: u64, progress: Progress) {
        if token != self.token {
            self.settle(pushes);
            self.token = token;
        }
        self.dirty = true;
        let tally = &mut self.tally;
        match progress {
            Progress::Targeted => tally.targeted += 1,
            Progress::Sent(qos) => {
                tally.sent += 1;
                tally.unanswered += u64::from(qos == QoS::AtMostOnce);
            }
            Progress::Acknowledged => tally.acknowledged += 1,
            Progress::Queued => tally.queued += 1,
            Progress::Expired => tally.expired += 1,
            Progress::Dropped(_) => tally.dropped += 1,
        }
    }

    /// Adds what was counted to its record.
    pub(crate) fn settle(&mut self, pushes: &Pushes) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let tally = std::mem::take(&mut self.tally);
        if self.records.len() > pushes.remembered_max {
            self.records.clear();
        }
        let record = self.records.entry(self.token).or_insert_with(|| pushes.find(PushId(self.token)));
        if let Some(record) = record {
            record.add(&tally, Instant::now());
        }
    }
}
