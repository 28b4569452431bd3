//! Writing payloads again, so that the segment which held them can go.
//!
//! A scan over jobs, schedules and outgoing jobs, in steps of a bounded number of places.

use stadium_state_machine::{MoveCursor, MovePayloads};

use crate::events::{Event, JobEvent};
use crate::record::Writer;
use crate::{PayloadAt, Queues, Record, Time};

/// Places that one call looks at.
const PLACES: u32 = 8_192;

// The tables of a scan, in their order.
const JOBS: u8 = 0;
const SCHEDULES: u8 = 1;
const OUTGOING: u8 = 2;
const DONE: u8 = 3;

impl Queues {
    /// Writes payloads again whose records lie in a range: looks at some thousand places from the
    /// cursor on. Returns whether there is more to look at.
    pub(crate) fn write_again(
        &mut self,
        at: u64,
        now: Time,
        moving: &mut MovePayloads<'_>,
        record: &mut Record,
    ) -> bool {
        self.advance(now);
        let mut writer = self.writer(record, at, now);
        let more = self.write_some(&mut writer, moving);
        self.scratch = writer.finish();
        more
    }

    fn write_some(&mut self, writer: &mut Writer<'_>, moving: &mut MovePayloads<'_>) -> bool {
        let MovePayloads { range, cursor, read, bytes_max } = moving;
        let end = writer.len() + *bytes_max;
        let mut buffer = Vec::new();
        let mut bytes = |payload: PayloadAt, buffer: &mut Vec<u8>| {
            buffer.clear();
            range.contains(&payload.record)
                && read(payload, buffer)
                && buffer.len() == payload.length as usize
        };
        for _ in 0..PLACES {
            if writer.len() >= end && writer.events() > 0 {
                return true;
            }
            let next = cursor.next;
            match cursor.table {
                JOBS => {
                    if next >= u64::from(self.places_end) {
                        **cursor = MoveCursor { table: SCHEDULES, next: 0 };
                        continue;
                    }
                    let place = next as u32;
                    if let Some(job) = self.jobs.get(place)
                        && bytes(job.payload(), &mut buffer)
                    {
                        self.emit(writer, place, &JobEvent::Moved { payload: &buffer });
                    }
                }
                SCHEDULES => {
                    if next as usize >= self.schedules.len() + self.bounds.schedules_max as usize {
                        **cursor = MoveCursor { table: OUTGOING, next: 0 };
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
                OUTGOING => {
                    let Some((&number, sent)) = self.outgoing.range(next..).next() else {
                        cursor.table = DONE;
                        return false;
                    };
                    if bytes(sent.payload, &mut buffer) {
                        let payload = writer.write(&Event::OutgoingMoved { number, payload: &buffer });
                        self.apply_outgoing_moved(number, payload);
                    }
                    cursor.next = number;
                }
                _ => return false,
            }
            cursor.next += 1;
        }
        true
    }
}
