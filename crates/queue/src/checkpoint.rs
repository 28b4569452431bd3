//! The state saved while it goes on changing, and taken back in.
//!
//! A chunk is a byte that names a table, then a slice of that table's own format; the first chunk
//! holds the state outside tables. Derived data (indexes, lists, timers) are in none.

use stadium_table::Restored;

use crate::decoding::sequence;
use crate::entries::{LanePlace, List, Sent};
use crate::job::NONE;
use crate::principals::Principals;
use crate::timers::{GATE_PLACE_MAX, PLACE_MAX, Timer};
use crate::{Corrupt, JobState, Queues, Time};
use stadium_state_machine::Checkpointed;
use stadium_state_machine::encoding::{Reader, corrupt, number};

/// What the first chunk begins with: the version of what follows.
const VERSION: u8 = 2;

/// The first version with principals.
const PRINCIPALS: u8 = 2;

const META: u8 = 0;
const JOBS: u8 = 1;
const FINISHED: u8 = 6;
const SCHEDULES: u8 = 7;
/// Behind the last table.
const END: u8 = 8;

/// How far a checkpoint got.
#[derive(Default)]
pub(crate) struct Progress {
    /// The first chunk, made at the beginning.
    meta: Vec<u8>,
    /// The table that comes next; [`END`] where none is left.
    table: u8,
    /// Tables that a restore has whole: bit n is table n.
    restored: u16,
}

macro_rules! with_table {
    ($queues:expr, $number:expr, |$table:ident| $body:expr) => {
        match $number {
            1 => Some({
                let $table = &mut $queues.jobs;
                $body
            }),
            2 => Some({
                let $table = &mut $queues.lanes;
                $body
            }),
            3 => Some({
                let $table = &mut $queues.queues;
                $body
            }),
            4 => Some({
                let $table = &mut $queues.extras;
                $body
            }),
            5 => Some({
                let $table = &mut $queues.remembered;
                $body
            }),
            6 => Some({
                let $table = &mut $queues.finished;
                $body
            }),
            7 => Some({
                let $table = &mut $queues.schedules;
                $body
            }),
            _ => None,
        }
    };
}

impl Checkpointed for Queues {
    fn checkpoint_begin(&mut self) {
        for number in JOBS..END {
            with_table!(self, number, |table| table.checkpoint_begin());
        }
        let mut meta = vec![META, VERSION];
        for value in [
            self.now.0,
            self.sequence,
            self.queues_made,
            u64::from(self.finished_next),
            self.outgoing_next,
            self.outgoing.len() as u64,
        ] {
            number(&mut meta, value);
        }
        for (&at, sent) in &self.outgoing {
            number(&mut meta, at);
            sent.encode(&mut meta);
        }
        number(&mut meta, self.incoming.len() as u64);
        for (&(shard, at), &job) in &self.incoming {
            number(&mut meta, u64::from(shard));
            number(&mut meta, at);
            number(&mut meta, job);
        }
        self.principals.encode(&mut meta);
        self.checkpoint = Progress { meta, table: META, restored: 0 };
    }

    fn checkpoint_next(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> bool {
        if self.checkpoint.table == META {
            out.append(&mut self.checkpoint.meta);
            self.checkpoint.table = JOBS;
            return true;
        }
        let number = self.checkpoint.table;
        if number >= END {
            return false;
        }
        out.push(number);
        let more = with_table!(self, number, |table| table.checkpoint_next(out, bytes_max));
        if more != Some(true) {
            self.checkpoint.table += 1;
        }
        self.checkpoint.table < END
    }

    fn checkpoint_abort(&mut self) {
        for number in JOBS..END {
            with_table!(self, number, |table| table.checkpoint_abort());
        }
        self.checkpoint = Progress { table: END, ..Progress::default() };
    }

    fn restore(&mut self, chunk: &[u8]) -> Result<(), Corrupt> {
        let (&number, slice) = chunk.split_first().ok_or_else(|| corrupt("an empty chunk"))?;
        if number == META {
            return self.restore_meta(slice);
        }
        let restored = with_table!(self, number, |table| table.restore(slice))
            .ok_or_else(|| {
                corrupt(format!("chunk of table {number}, which is none: a newer version wrote it"))
            })?
            .map_err(|damaged| corrupt(format!("table {number}: {damaged}")))?;
        if restored == Restored::Complete {
            self.checkpoint.restored |= 1 << number;
        }
        Ok(())
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        if self.checkpoint.restored != (1 << END) - 1 {
            return Err(corrupt("the checkpoint is not whole"));
        }
        self.checkpoint = Progress { table: END, ..Progress::default() };
        self.changes.clear();
        self.rebuild_queues()?;
        self.rebuild_lanes()?;
        self.rebuild_schedules()?;
        self.rebuild_small()?;
        self.timers.restart(self.now);
        self.rebuild_jobs()?;
        self.rebuild_timers()
    }
}

impl Queues {
    fn restore_meta(&mut self, slice: &[u8]) -> Result<(), Corrupt> {
        let input = &mut Reader::new(slice);
        let version = input.byte()?;
        if !(1..=VERSION).contains(&version) {
            return Err(corrupt(format!(
                "version {version} of the queues' checkpoint: this one reads up to {VERSION}"
            )));
        }
        self.now = Time(input.number()?);
        self.sequence = sequence(input.number()?)?;
        self.queues_made = input.number()?;
        self.finished_next = input.small()?;
        self.outgoing_next = input.number()?;
        for _ in 0..input.number()? {
            let at = input.number()?;
            self.outgoing.insert(at, Sent::decode(input, version >= PRINCIPALS)?);
        }
        for _ in 0..input.number()? {
            let shard = input.small()?;
            let at = input.number()?;
            self.incoming.insert((shard, at), input.number()?);
        }
        if version >= PRINCIPALS {
            self.principals = Principals::decode(input)?;
        }
        self.checkpoint.restored |= 1 << META;
        Ok(())
    }

    fn rebuild_queues(&mut self) -> Result<(), Corrupt> {
        let places: Vec<u32> = self.queues.iter().map(|(place, _)| place).collect();
        for place in places {
            within(place, GATE_PLACE_MAX)?;
            if self.find_queue(self.queues.at(place).name.as_str()).is_some() {
                return Err(corrupt("two queues of one name"));
            }
            self.index_queue_at(place);
            if self.queues.at(place).purge.is_some() {
                self.purges.push_back(place);
            }
        }
        Ok(())
    }

    fn rebuild_lanes(&mut self) -> Result<(), Corrupt> {
        let places: Vec<u32> = self.lanes.iter().map(|(place, _)| place).collect();
        for place in places {
            within(place, GATE_PLACE_MAX)?;
            if !self.queues.contains(self.lanes.at(place).queue) {
                return Err(corrupt("a lane of no queue"));
            }
            self.index_lane(place);
        }
        Ok(())
    }

    fn rebuild_schedules(&mut self) -> Result<(), Corrupt> {
        for (place, schedule) in self.schedules.iter() {
            let queue =
                self.queues.entry_mut(schedule.queue).ok_or_else(|| corrupt("a schedule of no queue"))?;
            queue.schedules += 1;
            self.by_schedule.insert((schedule.queue, schedule.name.clone()), place);
            if let Some(next) = schedule.next {
                self.schedule_times.insert((next, place));
            }
        }
        Ok(())
    }

    fn rebuild_small(&mut self) -> Result<(), Corrupt> {
        let places: Vec<u32> = self.remembered.iter().map(|(place, _)| place).collect();
        places.into_iter().for_each(|place| self.index_remembered(place));
        let table = &self.finished;
        let places = table.len() as u32;
        if table.iter().any(|(place, _)| place >= places) {
            return Err(corrupt("finished jobs with gaps between them"));
        }
        let next = self.finished_next.min(places);
        self.by_finished.begin(places, (next..places).chain(0..next), |of| table.at(of).sequence);
        Ok(())
    }

    fn rebuild_jobs(&mut self) -> Result<(), Corrupt> {
        let (mut due, mut set_aside, mut timed) = (Vec::new(), Vec::new(), Vec::new());
        self.by_sequence.begin(self.sequence, self.jobs.iter().map(|(_, job)| job.sequence()));
        for (place, job) in self.jobs.iter() {
            within(place, PLACE_MAX)?;
            if job.sequence() > self.sequence {
                return Err(corrupt(format!("job {} was never put", job.sequence())));
            }
            let Some(lane) = self.lanes.entry_mut(job.lane) else {
                return Err(corrupt(format!("job {} stands in no lane", job.sequence())));
            };
            let extra = job.rest(self.jobs.beside()).extra;
            if extra != NONE && self.extras.get(extra).is_none_or(|extra| extra.job != place) {
                return Err(corrupt(format!("job {} has another one's extra", job.sequence())));
            }
            if !self.principals.take_again(job.principal()) {
                return Err(corrupt(format!("job {} was put by nobody", job.sequence())));
            }
            lane.jobs += 1;
            self.queues.at_mut(lane.queue).jobs += 1;
            self.places_end = self.places_end.max(place + 1);
            let jobs = &self.jobs;
            self.by_sequence.insert(job.sequence(), place, |of| jobs.at(of).sequence());
            match job.state() {
                JobState::Due => due.push(place),
                JobState::Buried | JobState::Dead => set_aside.push(place),
                JobState::Delayed | JobState::Reserved => timed.push(place),
            }
        }
        // Retries are pushed to the front, so they come last. Mostly all are in order as they are.
        let turn = |&place: &u32| {
            let job = self.jobs.at(place);
            (job.lane, job.retry(), job.due(), job.sequence())
        };
        if !due.is_sorted_by_key(turn) {
            due.sort_unstable_by_key(turn);
        }
        set_aside.sort_unstable_by_key(|&place| {
            let job = self.jobs.at(place);
            (self.rest(job).last, job.sequence())
        });
        // Holders first: a lane that must wait never stands in a ring.
        for place in timed {
            let state = self.jobs.at(place).state();
            self.attach(place, state);
        }
        for place in set_aside.into_iter().chain(due) {
            let state = self.jobs.at(place).state();
            self.attach(place, state);
        }
        Ok(())
    }

    fn rebuild_timers(&mut self) -> Result<(), Corrupt> {
        let now = self.now;
        for (place, extra) in self.extras.iter() {
            within(place, PLACE_MAX)?;
            if self.jobs.get(extra.job).is_none_or(|job| self.rest(job).extra != place) {
                return Err(corrupt("an extra of no job"));
            }
            if extra.expires.0 != 0 {
                self.timers.arm(Timer::Extra(place), extra.expires, now);
            }
        }
        for (place, entry) in self.remembered.iter() {
            within(place, PLACE_MAX)?;
            self.timers.arm(Timer::Dedup(place), entry.until, now);
        }
        let idle: Vec<u32> = self
            .lanes
            .iter()
            .filter(|(_, lane)| lane.key.is_some() && lane.jobs == 0)
            .map(|(place, _)| place)
            .collect();
        idle.into_iter().for_each(|place| self.remove_lane(place));
        debug_assert!(
            self.lanes.iter().all(|(_, lane)| lane.place != LanePlace::Out || is_empty(lane.ready))
        );
        Ok(())
    }
}

/// Whether the wheel has a place for the timer of what stands there.
fn within(place: u32, max: u32) -> Result<(), Corrupt> {
    if place > max { Err(corrupt(format!("place {place} is beyond what any bound allows"))) } else { Ok(()) }
}

fn is_empty(list: List) -> bool {
    list.head == NONE
}

const _: () =
    assert!(SCHEDULES + 1 == END && FINISHED + 1 == SCHEDULES, "the tables are numbered without gaps");
