//! A push to more than one device: what was asked for, and a set of devices for each way that a delivery can stand.
//!
//! Each targeted device is in exactly one of the sets, so counts are their lengths. A broadcast costs operations on sets. What happened to whom and
//! when stands in a log of its own ([`crate::log`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use compact_str::CompactString;
use roaring::RoaringBitmap;
use stadium_registry::Selector;
use stadium_state_machine::encoding::{Reader, corrupt, number, text};
use stadium_table::{Damaged, Entry};

use crate::encode::{
    bitmap, click_action, maybe, schedule_name, time, write_bitmap, write_maybe, write_time,
};
use crate::latency::Spread;
use crate::outcome::{Outcome, SETS};
use crate::{Audience, ClickAction, Corrupt, Counts, NewPush, Sample, ScheduleName, Stage, Time};

/// A push to more than one device, on one shard.
#[derive(Debug, Clone)]
pub(crate) struct Many {
    pub(crate) number: u64,
    pub(crate) app: u32,
    pub(crate) push: Arc<NewPush>,
    /// The saved audience that it names, as it was when it started.
    pub(crate) resolved: Option<Arc<Selector>>,
    pub(crate) schedule: Option<ScheduleName>,
    /// The number of the message that it came by; none at its app's home, and where version 2 of a
    /// checkpoint was read.
    pub(crate) message: Option<u64>,
    pub(crate) accepted_at: Time,
    pub(crate) started_at: Option<Time>,
    /// When it expires, once started.
    pub(crate) until: Time,
    /// When it starts; or when it is forgotten, once settled.
    pub(crate) next_at: Time,
    pub(crate) settled: bool,
    pub(crate) cancelled_at: Option<Time>,
    /// Registered when it started.
    pub(crate) devices: u64,
    pub(crate) sets: Sets,
    /// Owed: those in their quiet hours, by the time when these end.
    pub(crate) waiting: BTreeMap<Time, RoaringBitmap>,
    pub(crate) opened: RoaringBitmap,
    /// Among the opened.
    pub(crate) clicked: RoaringBitmap,
    /// Clicks by action, in the order in which the actions were clicked first; see [`ACTIONS_MAX`].
    pub(crate) actions: Vec<(ClickAction, u64)>,
    /// Of one that starts zone by zone.
    pub(crate) zones: Option<Zones>,
    pub(crate) sent: Spread,
    pub(crate) acknowledged: Spread,
    pub(crate) series: Vec<Sample>,
    /// Pieces of its log, the oldest first.
    pub(crate) log: Vec<u32>,
    pub(crate) log_bytes: u64,
    /// Bytes of what was asked for.
    pub(crate) body_bytes: u64,
    /// Not saved: dispatched, and nothing more heard.
    pub(crate) in_flight: RoaringBitmap,
    /// Not saved: bytes of memory when they were counted last.
    pub(crate) held_bytes: usize,
}

/// How far a push has come that starts zone by zone.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Zones {
    /// Those where it has started; empty for devices without one.
    pub(crate) fired: BTreeSet<CompactString>,
    /// Then no zone is left.
    pub(crate) over_at: Time,
    pub(crate) over: bool,
}

/// A set of devices for each outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sets([RoaringBitmap; SETS]);

impl Index<Outcome> for Sets {
    type Output = RoaringBitmap;

    fn index(&self, outcome: Outcome) -> &RoaringBitmap {
        &self.0[outcome as usize]
    }
}

impl IndexMut<Outcome> for Sets {
    fn index_mut(&mut self, outcome: Outcome) -> &mut RoaringBitmap {
        &mut self.0[outcome as usize]
    }
}

/// Actions of a push that are counted by name. Devices make up the names, so a bound there must be:
/// clicks on further ones count as clicks without an action.
pub(crate) const ACTIONS_MAX: usize = 16;

/// Seconds of a series before it goes on in minutes.
const SERIES_SECONDS: u64 = 600;
/// Samples of a series: ten minutes by the second, then a day by the minute.
const SERIES_MAX: usize = 600 + 1_440;

impl Many {
    pub(crate) fn new(number: u64, app: u32, push: Arc<NewPush>, accepted_at: Time, body_bytes: u64) -> Self {
        Self {
            number,
            app,
            push,
            resolved: None,
            schedule: None,
            message: None,
            accepted_at,
            started_at: None,
            until: Time(0),
            next_at: Time(0),
            settled: false,
            cancelled_at: None,
            devices: 0,
            sets: Sets::default(),
            waiting: BTreeMap::new(),
            opened: RoaringBitmap::new(),
            clicked: RoaringBitmap::new(),
            actions: Vec::new(),
            zones: None,
            sent: Spread::default(),
            acknowledged: Spread::default(),
            series: Vec::new(),
            log: Vec::new(),
            log_bytes: 0,
            body_bytes,
            in_flight: RoaringBitmap::new(),
            held_bytes: 0,
        }
    }

    /// Whom it is for; none where a saved audience is not resolved yet, or there is none of that name.
    pub(crate) fn selector(&self) -> Option<&Selector> {
        match &self.push.audience {
            Audience::Selector(selector) => Some(selector),
            Audience::Saved(_) => self.resolved.as_deref(),
            Audience::Device(_) => None,
        }
    }

    /// Whether anybody is owed it.
    pub(crate) fn is_open(&self) -> bool {
        !self.sets[Outcome::Owed].is_empty() || !self.waiting.is_empty()
    }

    /// Whether nothing more can come of it.
    pub(crate) fn is_done(&self) -> bool {
        let started = self.started_at.is_some() && self.zones.as_ref().is_none_or(|zones| zones.over);
        !self.is_open() && (started || self.cancelled_at.is_some())
    }

    /// Everybody who is owed it.
    pub(crate) fn owed(&self) -> RoaringBitmap {
        self.waiting.values().fold(self.sets[Outcome::Owed].clone(), |all, more| all | more)
    }

    /// Those of these who are owed it.
    pub(crate) fn owed_among(&self, slots: &RoaringBitmap) -> RoaringBitmap {
        self.waiting.values().fold(&self.sets[Outcome::Owed] & slots, |all, more| all | (more & slots))
    }

    /// Whether that device is owed it.
    pub(crate) fn is_owed(&self, slot: u32) -> bool {
        self.sets[Outcome::Owed].contains(slot) || self.waiting.values().any(|waiting| waiting.contains(slot))
    }

    /// Everybody whom it was matched with so far.
    pub(crate) fn matched(&self) -> RoaringBitmap {
        Outcome::sets().fold(self.owed(), |all, outcome| all | &self.sets[outcome])
    }

    /// Where that device stands: none where it was not matched.
    pub(crate) fn outcome(&self, slot: u32) -> Option<Outcome> {
        let waiting =
            || self.waiting.values().any(|waiting| waiting.contains(slot)).then_some(Outcome::Waiting);
        Outcome::sets().find(|&outcome| self.sets[outcome].contains(slot)).or_else(waiting)
    }

    /// Takes those out of what is owed, wherever they are, into another set. `over` is called with
    /// each time for which no device waits any more.
    pub(crate) fn end(&mut self, slots: &RoaringBitmap, outcome: Outcome, mut over: impl FnMut(Time)) {
        self.sets[Outcome::Owed] -= slots;
        self.waiting.retain(|&until, waiting| {
            *waiting -= slots;
            if waiting.is_empty() {
                over(until);
            }
            !waiting.is_empty()
        });
        self.sets[outcome] |= slots;
    }

    /// Takes one out of what is owed, as [`Self::end`] does. Returns whether it was.
    pub(crate) fn end_one(&mut self, slot: u32, outcome: Outcome, mut over: impl FnMut(Time)) -> bool {
        let mut was = self.sets[Outcome::Owed].remove(slot);
        if !was && !self.waiting.is_empty() {
            self.waiting.retain(|&until, waiting| {
                was |= waiting.remove(slot);
                if waiting.is_empty() {
                    over(until);
                }
                !waiting.is_empty()
            });
        }
        if was {
            self.sets[outcome].insert(slot);
        }
        was
    }

    pub(crate) fn stage(&self) -> Stage {
        match (self.cancelled_at, self.started_at) {
            (Some(_), _) => Stage::Cancelled,
            (None, None) => Stage::Scheduled,
            (None, Some(_)) if self.settled => Stage::Settled,
            (None, Some(_)) => Stage::Sending,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let len = |outcome| self.sets[outcome].len();
        let waiting = self.waiting.values().map(RoaringBitmap::len).sum();
        let in_flight = self.in_flight.len();
        let left_out: u64 = Outcome::sets().filter(|outcome| outcome.is_left_out()).map(len).sum();
        let targeted =
            Outcome::sets().filter(|outcome| !outcome.is_left_out()).map(len).sum::<u64>() + waiting;
        Counts {
            devices: self.devices,
            matched: targeted + left_out,
            opted_out: len(Outcome::OptedOut) + len(Outcome::Revoked),
            held_out: len(Outcome::HeldOut),
            capped: len(Outcome::Capped),
            quiet: len(Outcome::Quiet),
            no_value: len(Outcome::NoValue),
            targeted,
            waiting,
            owed: len(Outcome::Owed) - in_flight,
            in_flight,
            delivered: len(Outcome::Delivered),
            opened: self.opened.len(),
            clicked: self.clicked.len(),
            expired: len(Outcome::Expired),
            collapsed: len(Outcome::Collapsed),
            crowded_out: len(Outcome::CrowdedOut),
            refused: len(Outcome::Refused) + len(Outcome::TooLarge),
            cancelled: len(Outcome::Cancelled),
        }
    }

    /// Counts a click on an action. Returns the action's place among those of the push, from 1; 0
    /// where it is none, or there are too many.
    pub(crate) fn count_action(&mut self, action: Option<&ClickAction>) -> u32 {
        let Some(action) = action else { return 0 };
        let place = self.actions.iter().position(|(known, _)| known == action).or_else(|| {
            let has_room = self.actions.len() < ACTIONS_MAX;
            has_room.then(|| {
                self.actions.push((action.clone(), 0));
                self.actions.len() - 1
            })
        });
        let Some(place) = place else { return 0 };
        self.actions[place].1 += 1;
        place as u32 + 1
    }

    /// The action that [`Self::count_action`] gave this place.
    pub(crate) fn action(&self, place: u32) -> Option<&ClickAction> {
        let place = (place as usize).checked_sub(1)?;
        self.actions.get(place).map(|(action, _)| action)
    }

    /// The sample that a time belongs to; none where the series is full.
    pub(crate) fn sample(&mut self, at: Time) -> Option<&mut Sample> {
        let second = at.0.saturating_sub(self.started_at?.0) / 1_000;
        let from = if second < SERIES_SECONDS { second } else { second / 60 * 60 };
        let from_s = u32::try_from(from).ok()?;
        let place = match self.series.binary_search_by_key(&from_s, |sample| sample.from_s) {
            Ok(place) => place,
            Err(_) if self.series.len() >= SERIES_MAX => return None,
            Err(place) => {
                self.series.insert(place, Sample { from_s, ..Sample::default() });
                place
            }
        };
        Some(&mut self.series[place])
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let sets = Outcome::sets().map(|outcome| self.sets[outcome].serialized_size()).sum::<usize>();
        let waiting = self.waiting.values().map(|waiting| waiting.serialized_size() + 64).sum::<usize>();
        let zones = self.zones.as_ref().map_or(0, |zones| zones.fired.len() * 48);
        size_of::<Self>()
            + self.push.bytes()
            + sets
            + waiting
            + zones
            + self.opened.serialized_size()
            + self.clicked.serialized_size()
            + self.actions.capacity() * size_of::<(ClickAction, u64)>()
            + self.in_flight.serialized_size()
            + self.sent.bytes()
            + self.acknowledged.bytes()
            + self.series.capacity() * size_of::<Sample>()
            + self.log.capacity() * 4
    }

    fn encode_all(&self, out: &mut Vec<u8>) {
        number(out, self.number);
        number(out, u64::from(self.app));
        self.push.encode(out);
        out.push(u8::from(self.resolved.is_some()));
        if let Some(resolved) = &self.resolved {
            resolved.encode(out);
        }
        text(out, self.schedule.as_ref().map_or("", ScheduleName::as_str));
        write_time(out, self.accepted_at);
        write_maybe(out, self.started_at.map(|at| at.0));
        write_time(out, self.until);
        // When to look at time zones again follows from the clock alone and is in no record: a recovery looks at once.
        let looks_at_once = self.started_at.filter(|_| self.zones.is_some() && !self.settled);
        write_time(out, looks_at_once.unwrap_or(self.next_at));
        out.push(u8::from(self.settled));
        write_maybe(out, self.cancelled_at.map(|at| at.0));
        number(out, self.devices);
        Outcome::sets().for_each(|outcome| write_bitmap(out, &self.sets[outcome]));
        number(out, self.waiting.len() as u64);
        for (&at, waiting) in &self.waiting {
            write_time(out, at);
            write_bitmap(out, waiting);
        }
        write_bitmap(out, &self.opened);
        out.push(u8::from(self.zones.is_some()));
        if let Some(zones) = &self.zones {
            number(out, zones.fired.len() as u64);
            zones.fired.iter().for_each(|zone| text(out, zone));
            write_time(out, zones.over_at);
            out.push(u8::from(zones.over));
        }
        self.sent.encode(out);
        self.acknowledged.encode(out);
        number(out, self.series.len() as u64);
        for sample in &self.series {
            for value in [sample.from_s, sample.sent, sample.acknowledged, sample.opened] {
                number(out, u64::from(value));
            }
        }
        number(out, self.log.len() as u64);
        self.log.iter().for_each(|&piece| number(out, u64::from(piece)));
        number(out, self.log_bytes);
        number(out, self.body_bytes);
        write_maybe(out, self.message);
        write_bitmap(out, &self.clicked);
        self.series.iter().for_each(|sample| number(out, u64::from(sample.clicked)));
        number(out, self.actions.len() as u64);
        for (action, clicks) in &self.actions {
            text(out, action.as_str());
            number(out, *clicks);
        }
    }

    fn decode_all(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let number = input.number()?;
        let app = input.small()?;
        let push = Arc::new(NewPush::decode(input)?);
        let mut many = Many::new(number, app, push, Time(0), 0);
        if input.byte()? != 0 {
            many.resolved = Some(Arc::new(Selector::decode(input)?));
        }
        let mut name = *input;
        many.schedule = if name.text()?.is_empty() {
            *input = name;
            None
        } else {
            Some(schedule_name(input)?)
        };
        many.accepted_at = time(input)?;
        many.started_at = maybe(input)?.map(Time);
        many.until = time(input)?;
        many.next_at = time(input)?;
        many.settled = input.byte()? != 0;
        many.cancelled_at = maybe(input)?.map(Time);
        many.devices = input.number()?;
        for outcome in Outcome::sets() {
            many.sets[outcome] = bitmap(input)?;
        }
        for _ in 0..input.number()? {
            let at = time(input)?;
            many.waiting.insert(at, bitmap(input)?);
        }
        many.opened = bitmap(input)?;
        if input.byte()? != 0 {
            let mut zones = Zones::default();
            for _ in 0..input.number()? {
                zones.fired.insert(input.text()?.into());
            }
            zones.over_at = time(input)?;
            zones.over = input.byte()? != 0;
            many.zones = Some(zones);
        }
        many.sent = Spread::decode(input)?;
        many.acknowledged = Spread::decode(input)?;
        for _ in 0..input.number()? {
            let (from_s, sent) = (input.small()?, input.small()?);
            let (acknowledged, opened) = (input.small()?, input.small()?);
            many.series.push(Sample { from_s, sent, acknowledged, opened, clicked: 0 });
        }
        for _ in 0..input.number()? {
            many.log.push(input.small()?);
        }
        many.log_bytes = input.number()?;
        many.body_bytes = input.number()?;
        // Version 2 ends here.
        if !input.is_empty() {
            many.message = maybe(input)?;
        }
        // Version 3 ends here.
        if !input.is_empty() {
            many.clicked = bitmap(input)?;
            for sample in &mut many.series {
                sample.clicked = input.small()?;
            }
            let actions = input.small::<usize>()?;
            if actions > ACTIONS_MAX {
                return Err(corrupt("more actions than a push counts"));
            }
            for _ in 0..actions {
                let action = click_action(input)?.ok_or_else(|| corrupt("an action without a name"))?;
                many.actions.push((action, input.number()?));
            }
        }
        Ok(many)
    }
}

/// A place for a push to many.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Option<Box<Many>>);

impl Kept {
    pub(crate) fn many(&self) -> &Many {
        self.0.as_ref().expect("an occupied place holds a push")
    }

    pub(crate) fn many_mut(&mut self) -> &mut Many {
        self.0.as_mut().expect("an occupied place holds a push")
    }
}

impl Entry for Kept {
    fn vacant() -> Self {
        Kept(None)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 8]);
        self.many().encode_all(out);
        let bytes = (out.len() - start - 8) as u64;
        out[start..start + 8].copy_from_slice(&bytes.to_le_bytes());
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let bytes = usize::try_from(u64::from_le_bytes(stadium_table::take(input)?));
        let split = bytes.ok().and_then(|bytes| input.split_at_checked(bytes));
        let (push, rest) = split.ok_or(Damaged("it ends within a push"))?;
        *input = rest;
        let mut reader = Reader::new(push);
        let many = Many::decode_all(&mut reader).map_err(|_| Damaged("a push that is none"))?;
        if !reader.is_empty() {
            return Err(Damaged("something follows a push"));
        }
        Ok(Kept(Some(Box::new(many))))
    }
}
