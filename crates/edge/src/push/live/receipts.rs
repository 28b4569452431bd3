//! A loop's side of the records of pushes.
//!
//! The loop counts deliveries of the push at hand in plain integers, and adds them to the push's record
//! when its turn ends or it meets another push: ten thousand deliveries cost one visit. The clock is read at the first delivery and at
//! the end: a device may answer before the turn that wrote to it has ended.

use std::collections::HashMap;
use std::time::Instant;

use stadium_mqtt::broker::Progress;
use stadium_mqtt::packet::QoS;
use stadium_push::live::LiveTally;

use super::record::{Counted, Pushes};

/// The counts of a loop for one push since it added to the record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) counts: LiveTally,
    /// When the first of `sent` was written, and when the first of `acknowledged` was read.
    pub(super) first_sent: Option<Instant>,
    pub(super) first_acknowledged: Option<Instant>,
}

/// A loop's side of the records: what it has counted and not added yet.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    /// Of the push at hand.
    number: u32,
    tally: Tally,
    dirty: bool,
    /// Records this loop met before, by the numbers of their pushes. Bounded: it is emptied when it
    /// holds more than the node remembers.
    records: HashMap<u32, Option<Counted>>,
}

impl Receipts {
    pub(crate) fn report(&mut self, pushes: &Pushes, number: u32, progress: Progress) {
        if number != self.number {
            self.add(pushes);
            self.number = number;
        }
        self.dirty = true;
        let tally = &mut self.tally;
        match progress {
            Progress::Targeted => tally.counts.targeted += 1,
            Progress::Sent(qos) => {
                tally.first_sent.get_or_insert_with(Instant::now);
                tally.counts.sent += 1;
                tally.counts.unanswered += u64::from(qos == QoS::AtMostOnce);
            }
            Progress::Acknowledged => {
                tally.first_acknowledged.get_or_insert_with(Instant::now);
                tally.counts.acknowledged += 1;
            }
            Progress::Queued => tally.counts.queued += 1,
            Progress::Expired => tally.counts.expired += 1,
            Progress::Dropped(_) => tally.counts.dropped += 1,
        }
    }

    /// The end of a turn: adds what was counted to its record.
    pub(crate) fn settle(&mut self, pushes: &Pushes) {
        self.add(pushes);
        pushes.offer_again();
    }

    fn add(&mut self, pushes: &Pushes) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let tally = std::mem::take(&mut self.tally);
        if self.records.len() > pushes.remembered_max {
            self.records.clear();
        }
        let record = self.records.entry(self.number).or_insert_with(|| pushes.counted(self.number));
        if let Some(record) = record {
            pushes.add(record, &tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stadium_push::live::{Away, ChannelName, LiveAudience, LivePush, Qos};
    use stadium_push::{AppName, PushId};

    use super::*;

    #[test]
    fn the_first_write_is_as_early_as_it_was_and_not_when_the_turn_ends() {
        let push = LivePush {
            app: AppName::default(),
            id: PushId(7),
            to: LiveAudience::Channel(ChannelName::everybody()),
            qos: Qos::AtLeastOnce,
            payload_bytes: 1,
            title: None,
        };
        let pushes = Pushes::new(8);
        let record = pushes.begin(push, Away::Skip, 1);
        let accepted = Instant::now();
        let mut receipts = Receipts::default();
        let turn = Duration::from_millis(3);
        // A turn of a large fan-out: the first write, work for a while, the last write.
        for progress in [Progress::Sent(QoS::AtLeastOnce), Progress::Acknowledged] {
            receipts.report(&pushes, record.token().number(), progress);
        }
        let first = accepted.elapsed();
        while accepted.elapsed() < first + turn {
            std::hint::spin_loop();
        }
        for progress in [Progress::Sent(QoS::AtLeastOnce), Progress::Acknowledged] {
            receipts.report(&pushes, record.token().number(), progress);
        }
        receipts.settle(&pushes);
        let seen = record.report();
        assert_eq!((seen.sent, seen.acknowledged), (2, 2));
        for between in [seen.times.sent, seen.times.acknowledged] {
            let (earliest, last) = between.expect("both were counted");
            assert!(earliest + turn <= last, "{earliest:?} to {last:?}");
        }
    }
}
