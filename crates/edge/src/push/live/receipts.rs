//! A loop's side of the records of pushes.
//!
//! The loop counts deliveries of the push at hand in plain integers, and adds them to the push's record
//! when its turn ends or it meets another push: ten thousand deliveries cost one visit. The clock is read at the first delivery and at
//! the end: a device may answer before the turn that wrote to it has ended.

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
    /// When the first of `sent` was written, and when the first of `acknowledged` was read.
    pub(super) first_sent: Option<Instant>,
    pub(super) first_acknowledged: Option<Instant>,
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
                tally.first_sent.get_or_insert_with(Instant::now);
                tally.sent += 1;
                tally.unanswered += u64::from(qos == QoS::AtMostOnce);
            }
            Progress::Acknowledged => {
                tally.first_acknowledged.get_or_insert_with(Instant::now);
                tally.acknowledged += 1;
            }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::push::{Audience, NewPush};

    #[test]
    fn the_first_write_is_as_early_as_it_was_and_not_when_the_turn_ends() {
        let push = NewPush {
            to: Audience::Everybody,
            payload: Arc::from(&b"x"[..]),
            qos: QoS::AtLeastOnce,
            expiry: None,
            content_type: None,
            user_properties: Vec::new(),
        };
        let pushes = Pushes::new(8);
        let record = pushes.begin(&push, 1);
        let accepted = Instant::now();
        let mut receipts = Receipts::default();
        let turn = Duration::from_millis(3);
        // A turn of a large fan-out: the first write, work for a while, the last write.
        for progress in [Progress::Sent(QoS::AtLeastOnce), Progress::Acknowledged] {
            receipts.report(&pushes, record.id().0, progress);
        }
        let first = accepted.elapsed();
        while accepted.elapsed() < first + turn {
            std::hint::spin_loop();
        }
        for progress in [Progress::Sent(QoS::AtLeastOnce), Progress::Acknowledged] {
            receipts.report(&pushes, record.id().0, progress);
        }
        receipts.settle(&pushes);
        let seen = record.progress();
        assert_eq!((seen.sent, seen.acknowledged), (2, 2));
        for between in [seen.sent_between, seen.acknowledged_between] {
            let (earliest, last) = between.expect("both were counted");
            assert!(earliest + turn <= last, "{earliest:?} to {last:?}");
        }
    }
}
