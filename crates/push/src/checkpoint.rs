//! The state saved while it goes on changing, and taken back in.
//!
//! A chunk is a byte that names its kind, then a slice of a table, or an app's number and a slice
//! of its registry; the first chunk holds the small parts. Derived data (indexes, lists, timers,
//! counts of inboxes) is built anew.

use std::collections::{BTreeMap, VecDeque};

use stadium_registry::{AppName, Registry, Selector};
use stadium_state_machine::Checkpointed;
use stadium_state_machine::encoding::{Reader, corrupt, number, text};
use stadium_table::Restored;

use crate::app::{App, LAST_MAX, Schedule};
use crate::encode::{app as read_app, audience_name, held, id, maybe, write_held, write_id, write_maybe};
use crate::life::cost;
use crate::lists::List;
use crate::machine::Taken;
use crate::outcome::Outcome;
use crate::platform::{Due, Platform, Spot};
use crate::single::NONE;
use crate::slot_owners::SlotOwners;
use crate::{AppSettings, Corrupt, NewSchedule, PushId, ShardMessage, Time};

/// What the first chunk begins with: the version of what follows.
const VERSION: u8 = 5;
/// The first one: it does not know who had a slot before.
const VERSION_1: u8 = 1;
/// The second one: it knows of no messages that start nothing.
const VERSION_2: u8 = 2;

const META: u8 = 0;
const SINGLES: u8 = 1;
const MANIES: u8 = 2;
const LOGS: u8 = 3;
const REGISTRY: u8 = 4;
const TABLES: u8 = 3;

/// How far a checkpoint got.
#[derive(Default)]
pub(crate) struct Progress {
    runs: bool,
    /// The first chunk, made at the beginning.
    meta: Vec<u8>,
    /// The table that comes next; [`REGISTRY`] behind the last.
    table: u8,
    /// Apps whose registries are still to come, the last first.
    registries: Vec<u32>,
    /// Of those, the ones that were dropped meanwhile.
    dropped: BTreeMap<u32, Box<App>>,
    /// Of a restore: tables that are whole, bit n is table n.
    restored: u8,
}

impl Progress {
    /// An app goes: the part that a running checkpoint still has to save stays until then.
    pub(crate) fn keep_dropped(&mut self, number: u32, app: Box<App>) {
        if self.runs && self.registries.contains(&number) {
            self.dropped.insert(number, app);
        }
    }
}

impl Checkpointed for Platform {
    fn checkpoint_begin(&mut self) {
        self.checkpoint_abort();
        self.singles.checkpoint_begin();
        self.manies.checkpoint_begin();
        self.logs.checkpoint_begin();
        let mut meta = vec![META, VERSION];
        let out = &mut meta;
        for value in [u64::from(self.app_next), self.number_next, self.outbox.next, self.apps.len() as u64] {
            number(out, value);
        }
        for (&app_number, app) in &mut self.apps {
            app.registry.checkpoint_begin();
            number(out, app_number.into());
            encode_app(app, out);
        }
        number(out, self.outbox.len() as u64);
        for (message, shard, what) in self.outbox.range(0) {
            number(out, message);
            number(out, shard.into());
            what.encode(out);
        }
        number(out, self.taken.len() as u64);
        for (&shard, taken) in &self.taken {
            number(out, shard.into());
            number(out, taken.below);
            number(out, taken.numbers.len() as u64);
            taken.numbers.iter().for_each(|&message| number(out, message));
            number(out, taken.withdrawn.len() as u64);
            taken.withdrawn.iter().for_each(|&message| number(out, message));
        }
        number(out, self.cancelled.len() as u64);
        for (&(app, push), at) in &self.cancelled {
            number(out, app.into());
            write_id(out, push);
            number(out, at.0);
        }
        self.checkpoint = Progress {
            runs: true,
            meta,
            table: META,
            registries: self.apps.keys().rev().copied().collect(),
            ..Progress::default()
        };
    }

    fn checkpoint_next(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> bool {
        if !self.checkpoint.runs {
            return false;
        }
        let table = self.checkpoint.table;
        if table == META {
            out.append(&mut self.checkpoint.meta);
            self.checkpoint.table = SINGLES;
            return true;
        }
        out.push(table);
        if table < REGISTRY {
            let more = match table {
                SINGLES => self.singles.checkpoint_next(out, bytes_max),
                MANIES => self.manies.checkpoint_next(out, bytes_max),
                _ => self.logs.checkpoint_next(out, bytes_max),
            };
            if !more {
                self.checkpoint.table += 1;
            }
        } else if let Some(&app_number) = self.checkpoint.registries.last() {
            out.extend_from_slice(&app_number.to_le_bytes());
            let app = match self.apps.get_mut(&app_number) {
                Some(app) => Some(app),
                None => self.checkpoint.dropped.get_mut(&app_number),
            };
            if !app.is_some_and(|app| app.registry.checkpoint_next(out, bytes_max)) {
                self.checkpoint.registries.pop();
                self.checkpoint.dropped.remove(&app_number);
            }
        }
        // There is an app at least, so the last chunk is a registry's.
        if self.checkpoint.table == REGISTRY && self.checkpoint.registries.is_empty() {
            self.checkpoint = Progress::default();
            return false;
        }
        true
    }

    fn checkpoint_abort(&mut self) {
        self.singles.checkpoint_abort();
        self.manies.checkpoint_abort();
        self.logs.checkpoint_abort();
        self.apps.values_mut().for_each(|app| app.registry.checkpoint_abort());
        self.checkpoint = Progress::default();
    }

    fn restore(&mut self, chunk: &[u8]) -> Result<(), Corrupt> {
        let (&kind, slice) = chunk.split_first().ok_or_else(|| corrupt("an empty chunk"))?;
        let restored = match kind {
            META => {
                self.restore_meta(slice)?;
                Ok(Restored::Complete)
            }
            SINGLES => self.singles.restore(slice),
            MANIES => self.manies.restore(slice),
            LOGS => self.logs.restore(slice),
            REGISTRY => {
                let (app, slice) =
                    slice.split_first_chunk().ok_or_else(|| corrupt("a registry of no app"))?;
                let app = u32::from_le_bytes(*app);
                return self.app_at_mut(app)?.registry.restore(slice);
            }
            _ => {
                return Err(corrupt(format!(
                    "chunk of kind {kind}, which is none: a newer version wrote it"
                )));
            }
        };
        if restored.map_err(|damaged| corrupt(format!("table {kind}: {damaged}")))? == Restored::Complete {
            self.checkpoint.restored |= 1 << kind;
        }
        Ok(())
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        if self.checkpoint.restored != (1 << (TABLES + 1)) - 1 {
            return Err(corrupt("the checkpoint is not whole"));
        }
        self.checkpoint = Progress::default();
        let apps: Vec<u32> = self.apps.keys().copied().collect();
        for app_number in apps {
            let app = self.app_at_mut(app_number)?;
            app.registry.restore_finish()?;
            let end = app.registry.devices().max().map_or(0, |slot| slot + 1);
            self.slots_end = self.slots_end.max(end);
            let app = self.app_at(app_number)?;
            let due: Vec<_> = app
                .schedules
                .iter()
                .filter_map(|(name, schedule)| Some((schedule.due()?, name.clone())))
                .collect();
            self.due.extend(due.into_iter().map(|(at, name)| (at, Due::Occurrence(app_number, name))));
        }
        self.pushes_bytes = 0;
        self.rebuild_manies()?;
        self.rebuild_singles()
    }
}

impl Platform {
    fn restore_meta(&mut self, slice: &[u8]) -> Result<(), Corrupt> {
        let input = &mut Reader::new(slice);
        let version = input.byte()?;
        if !(VERSION_1..=VERSION).contains(&version) {
            return Err(corrupt(format!(
                "version {version} of the pushes' checkpoint: this one reads {VERSION_1} to {VERSION}"
            )));
        }
        self.apps.clear();
        self.by_name.clear();
        self.app_next = input.small()?;
        self.number_next = input.number()?;
        self.outbox.next = input.number()?;
        for _ in 0..input.number()? {
            let app_number: u32 = input.small()?;
            let registry = Registry::new(self.bounds.devices, self.place.hash_seed ^ u64::from(app_number));
            let app = decode_app(input, registry, version)?;
            let twice = self.by_name.insert(app.name.clone(), app_number).is_some();
            if self.apps.insert(app_number, Box::new(app)).is_some() || twice || app_number >= self.app_next {
                return Err(corrupt(format!("app {app_number} is there twice")));
            }
        }
        for _ in 0..input.number()? {
            let message = input.number()?;
            let shard = input.small()?;
            self.outbox.insert(message, shard, ShardMessage::decode(input)?);
        }
        for _ in 0..input.number()? {
            let shard = input.small()?;
            let mut taken = Taken { below: input.number()?, ..Taken::default() };
            for _ in 0..input.number()? {
                taken.numbers.insert(input.number()?);
            }
            if version > VERSION_2 {
                for _ in 0..input.number()? {
                    taken.withdrawn.insert(input.number()?);
                }
            }
            self.taken.insert(shard, taken);
        }
        for _ in 0..input.number()? {
            let app = input.small()?;
            let push = id(input)?;
            self.cancelled.insert((app, push), Time(input.number()?));
        }
        if !input.is_empty() {
            return Err(corrupt("something follows the apps"));
        }
        Ok(())
    }

    fn rebuild_manies(&mut self) -> Result<(), Corrupt> {
        let places: Vec<u32> = self.manies.iter().map(|(place, _)| place).collect();
        for place in places {
            let many = self.manies.at(place).many();
            let app = self.apps.get_mut(&many.app).ok_or_else(|| corrupt("a push of no app"))?;
            app.order.insert((many.accepted_at, many.number));
            if let Some(at) = many.started_at {
                app.started.insert((at, place));
            }
            let owed = many.owed();
            if !owed.is_empty() {
                app.inboxes.add(&owed);
                app.open.insert((9 - many.push.options.priority, many.number, place));
                self.ends.insert((many.until, many.number));
                if many.push.options.qos == 0 {
                    self.orphans.insert(many.number);
                }
            }
            self.due.extend(many.waiting.keys().map(|&until| (until, Due::Release(many.number))));
            if many.settled {
                self.forgets.insert((many.next_at, many.number));
            } else if many.started_at.is_none() {
                self.due.insert((many.next_at, Due::Start(many.number)));
            } else if many.zones.as_ref().is_some_and(|zones| !zones.over) {
                self.due.insert((many.next_at, Due::Zone(many.number)));
            }
            if many.log.iter().any(|&piece| !self.logs.contains(piece)) {
                return Err(corrupt("a push without its log"));
            }
            if !many.log.is_empty() {
                self.logged.insert(many.number);
            }
            self.pushes_bytes += cost(many) + many.log_bytes;
            let bytes = many.bytes();
            self.manies.at_mut(place).many_mut().held_bytes = bytes;
            self.many_bytes += bytes;
            self.fits(Spot::Many(place))?;
            self.index(Spot::Many(place));
        }
        Ok(())
    }

    fn rebuild_singles(&mut self) -> Result<(), Corrupt> {
        let mut places: Vec<(Time, u64, u32)> =
            self.singles.iter().map(|(place, single)| (single.started_at, single.number, place)).collect();
        places.sort_unstable();
        for (_, push, place) in places {
            let single = self.singles.at(place);
            let (app_number, slot, outcome) = (single.app, single.slot, single.outcome);
            if outcome.is_open() && (slot == NONE || !self.has_slot(app_number, slot)) {
                return Err(corrupt("a push that nobody is owed"));
            }
            let app = self.apps.get_mut(&app_number).ok_or_else(|| corrupt("a push of no app"))?;
            app.order.insert((single.accepted_at, push));
            self.pushes_bytes += single.cost();
            let (until, next_at) = (single.until, single.next_at);
            match outcome {
                Outcome::Scheduled => drop(self.due.insert((next_at, Due::Start(push)))),
                Outcome::Waiting => {
                    self.due.insert((next_at, Due::Release(push)));
                    self.ends.insert((until, push));
                }
                Outcome::Owed => drop(self.ends.insert((until, push))),
                _ => drop(self.forgets.insert((next_at, push))),
            }
            if slot != NONE {
                List::All.append(&mut self.singles, app, slot, place);
            }
            if outcome.is_open() {
                List::Owed.append(&mut self.singles, app, slot, place);
                app.inboxes.add_one(slot);
                if self.singles.at(place).qos == 0 {
                    self.orphans.insert(push);
                }
            }
            self.fits(Spot::Single(place))?;
            self.index(Spot::Single(place));
        }
        Ok(())
    }

    /// Whether nothing else has the name and number of a push that is not indexed yet.
    fn fits(&self, spot: Spot) -> Result<(), Corrupt> {
        let (app, id) = self.name_at(spot);
        let push = self.number_at(spot);
        if push >= self.number_next || self.find_number(push).is_some() || self.find_id(app, id).is_some() {
            return Err(corrupt(format!("push {push} is there twice")));
        }
        Ok(())
    }
}

fn encode_app(app: &App, out: &mut Vec<u8>) {
    text(out, app.name.as_str());
    number(out, app.version);
    app.settings.encode(out);
    number(out, app.audiences.len() as u64);
    for (name, selector) in &app.audiences {
        text(out, name.as_str());
        selector.encode(out);
    }
    number(out, app.schedules.len() as u64);
    for schedule in app.schedules.values() {
        schedule.new.encode(out);
        write_held(out, schedule.held);
        write_maybe(out, schedule.next.map(|at| at.0));
        number(out, schedule.made);
        number(out, schedule.skipped);
        number(out, schedule.last.len() as u64);
        for &(at, push) in &schedule.last {
            number(out, at.0);
            out.push(u8::from(push.is_some()));
            write_id(out, push.unwrap_or(PushId(0)));
        }
    }
    app.slot_owners.encode(out);
}

fn decode_app(input: &mut Reader<'_>, registry: Registry, written: u8) -> Result<App, Corrupt> {
    let name: AppName = read_app(input)?;
    let version = input.number()?;
    let settings = AppSettings::decode(input)?;
    let mut app = App::new(name, version, settings, registry);
    for _ in 0..input.number()? {
        let name = audience_name(input)?;
        app.audiences.insert(name, Selector::decode(input)?);
    }
    for _ in 0..input.number()? {
        let new = NewSchedule::decode(input)?;
        let held = held(input)?;
        let next = maybe(input)?.map(Time);
        let (made, skipped) = (input.number()?, input.number()?);
        let mut last = VecDeque::new();
        for _ in 0..input.small::<usize>()?.min(LAST_MAX) {
            let at = Time(input.number()?);
            let made = input.byte()? != 0;
            let push = id(input)?;
            last.push_back((at, made.then_some(push)));
        }
        app.schedules.insert(new.name.clone(), Schedule { new, held, next, last, made, skipped });
    }
    if written > VERSION_1 {
        app.slot_owners = SlotOwners::decode(input)?;
    }
    Ok(app)
}
