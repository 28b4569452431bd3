//! Writing payloads again, so that the segment which held them can go.
//!
//! A scan over jobs, schedules and outgoing jobs, in steps of a bounded number of places.

use std::ops::Range;

use crate::events::{Event, JobEvent};
use crate::record::Writer;
use crate::{PayloadAt, Queues, Record, Time};

/// Places that one call looks at.
const PLACES: u32 = 8_192;

/// How far a scan of all payloads got, see [`Queues::move_payloads`].
#[derive(Debug, Clone, Default)]
pub struct MoveCursor {
    stage: Stage,
    next: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Jobs,
    Schedules,
    Outgoing,
    Done,
}

impl Queues {
    /// Writes payloads again whose records lie in `segment`: looks at some thousand places from the cursor on,
    /// and writes about `bytes_max` bytes of payloads (at least one). `read` appends a payload's bytes
    /// to the buffer; where it fails the payload stays where it is. Returns whether there is more to look at.
    #[expect(clippy::too_many_arguments, reason = "one call of one driver")]
    pub fn move_payloads(
        &mut self,
        at: u64,
        now: Time,
        segment: Range<u64>,
        cursor: &mut MoveCursor,
        read: &mut dyn FnMut(PayloadAt, &mut Vec<u8>) -> bool,
        record: &mut Record,
        bytes_max: usize,
    ) -> bool {
        self.advance(now);
        let mut writer = self.writer(record, at, now);
        let more = self.move_some(&mut writer, segment, cursor, read, bytes_max);
        self.scratch = writer.finish();
        more
    }

    fn move_some(
        &mut self,
        writer: &mut Writer<'_>,
        segment: Range<u64>,
        cursor: &mut MoveCursor,
        read: &mut dyn FnMut(PayloadAt, &mut Vec<u8>) -> bool,
        bytes_max: usize,
    ) -> bool {
        let end = writer.len() + bytes_max;
        let mut buffer = Vec::new();
        let mut bytes = |payload: PayloadAt, buffer: &mut Vec<u8>| {
            buffer.clear();
            segment.contains(&payload.record)
                && read(payload, buffer)
                && buffer.len() == payload.length as usize
        };
        for _ in 0..PLACES {
            if writer.len() >= end && writer.events() > 0 {
                return true;
            }
            let next = cursor.next;
            match cursor.stage {
                Stage::Jobs => {
                    if next >= u64::from(self.places_end) {
                        *cursor = MoveCursor { stage: Stage::Schedules, next: 0 };
                        continue;
                    }
                    let place = next as u32;
                    if let Some(job) = self.jobs.get(place)
                        && bytes(job.payload(), &mut buffer)
                    {
                        self.emit(writer, place, &JobEvent::Moved { payload: &buffer });
                    }
                }
                Stage::Schedules => {
                    if next as usize >= self.schedules.len() + self.bounds.schedules_max as usize {
                        *cursor = MoveCursor { stage: Stage::Outgoing, next: 0 };
                        continue;
                    }
                    let place = next as u32;
                    if let Some(schedule) = self.schedules.get(place)
                        && bytes(schedule.payload, &mut buffer)
                    {
                        let (queue, name) = (schedule.queue, schedule.name.clone());
                        self.enter(writer, queue);
                        let event = Event::ScheduleMoved { name: name.as_str(), payload: &buffer };
                        let payload = writer.write(&event);
                        self.apply_schedule_moved(place, payload);
                    }
                }
                Stage::Outgoing => {
                    let Some((&number, sent)) = self.outgoing.range(next..).next() else {
                        cursor.stage = Stage::Done;
                        return false;
                    };
                    if bytes(sent.payload, &mut buffer) {
                        let payload = writer.write(&Event::OutgoingMoved { number, payload: &buffer });
                        self.apply_outgoing_moved(number, payload);
                    }
                    cursor.next = number;
                }
                Stage::Done => return false,
            }
            cursor.next += 1;
        }
        true
    }
}
