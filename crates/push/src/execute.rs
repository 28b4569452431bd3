//! Commands that change something: checked, then written as events.
//!
//! A command that is refused has written nothing; an accepted one is applied at once, by the
//! functions that replay it.

use std::borrow::Cow;

use stadium_registry::{AppName, Changes, DeviceId};
use stadium_state_machine::Record;

use crate::events::{Event, Taken};
use crate::log::What;
use crate::outcome::Outcome;
use crate::platform::{DEFAULT_APP, Platform, Spot};
use crate::refusal::{
    APPS_FULL, AUDIENCE_UNKNOWN, COUNT, DEFAULT_APP as DEFAULT_APP_CODE, DEVICE_UNKNOWN, ID_CONTENT,
    MISDIRECTED, NAME_TAKEN, NAMES_FULL, NOT_SENT, NOT_WRITABLE, PUSH_UNKNOWN, PUSHES_FULL, STARTED, busy,
    rejected,
};
use crate::validate::check_settings;
use crate::{
    Accepted, Answer, AppSettings, Audience, Changed, ClickAction, Command, ConnectionName, NewPush,
    OwnRequest, PushId, Refusal, Time, TransportCommand,
};

/// Devices of one command.
pub(crate) const DEVICES_MAX: usize = 1_000;

impl Platform {
    pub(crate) fn carry_out(
        &mut self,
        now: Time,
        command: &Command,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        match command {
            Command::DeclareApp { app, settings } => self.declare(now, app, settings, record),
            Command::DropApp { app } => {
                if app.as_str() == DEFAULT_APP {
                    return Err(rejected(
                        DEFAULT_APP_CODE,
                        "the app `default` is always there; its devices can be removed",
                    ));
                }
                // A push that another shard has dropped already is dropped.
                if let Ok(app) = self.app_number(app) {
                    self.pass_over_all(app);
                    self.emit(now, record, &Event::AppDropped { app });
                }
                Ok(Answer::Done)
            }
            Command::Change { app, devices } => self.change(now, app, devices, record),
            Command::Remove { app, devices } => self.remove(now, app, devices, record),
            Command::Locate { app, sightings } => self.locate(now, app, sightings, record),
            Command::SaveAudience { app, name, audience } => {
                let number = self.app_number(app)?;
                let audiences = &self.apps[&number].audiences;
                if !audiences.contains_key(name) && audiences.len() >= self.bounds.names_max as usize {
                    let reason =
                        format!("app {:?} has {} saved audiences: drop one", app.as_str(), audiences.len());
                    return Err(busy(NAMES_FULL, 60_000, reason));
                }
                let selector = Cow::Borrowed(audience);
                self.emit(now, record, &Event::Audience { app: number, name: name.clone(), selector });
                Ok(Answer::Done)
            }
            Command::DropAudience { app, name } => {
                let number = self.app_number(app)?;
                if !self.apps[&number].audiences.contains_key(name) {
                    let reason = format!("app {:?} has no saved audience {:?}", app.as_str(), name.as_str());
                    return Err(rejected(AUDIENCE_UNKNOWN, reason));
                }
                self.emit(now, record, &Event::AudienceDropped { app: number, name: name.clone() });
                Ok(Answer::Done)
            }
            Command::Send { push } => self.accept(now, push, record),
            Command::SendLive { push, token } => self.send_live(now, push, *token),
            Command::Edit { push } => self.edit(now, push, record),
            Command::Cancel { app, push } => self.cancel_at_home(now, app, *push, record),
            Command::CancelElsewhere { app, push, below, message } => {
                self.cancel_elsewhere(now, app, *push, *below, *message, record)
            }
            Command::Forget { app, push } => Ok(self.forget_settled(now, app, *push, record)),
            Command::Opened { app, device, push } => self.open(now, app, device, *push, record),
            Command::Clicked { app, device, push, action } => {
                self.click(now, app, device, (*push, action.as_ref()), record)
            }
            Command::Own { app, device, request } => self.own(now, app, device, request, record),
            Command::Schedule { schedule } => self.put_schedule(now, schedule, record),
            Command::PauseSchedule { app, name, held } => {
                let app = self.app_number(app)?;
                self.hold_schedule(now, app, name, *held, record)
            }
            Command::Unschedule { app, name } => {
                let app = self.app_number(app)?;
                self.schedule(app, name)?;
                self.emit(now, record, &Event::Unscheduled { app, name: name.clone() });
                Ok(Answer::Done)
            }
            Command::Presence { arrived, left } => {
                self.presence(now, arrived, left, record);
                Ok(Answer::Done)
            }
            Command::Progress { steps } => {
                self.progress(now, steps, record);
                Ok(Answer::Done)
            }
            _ => Err(rejected(MISDIRECTED, "this command only looks something up")),
        }
    }

    fn declare(
        &mut self,
        now: Time,
        app: &AppName,
        settings: &AppSettings,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        check_settings(settings)?;
        let home = self.is_home(app);
        let (number, version) = match self.by_name.get(app) {
            // Its home writes to the others; they only have to know that it is there.
            Some(_) if !home => return Ok(Answer::Done),
            Some(number) => {
                let known = &self.apps[number];
                if known.settings == *settings && known.version > 0 {
                    return Ok(Answer::Done);
                }
                (*number, known.version + 1)
            }
            None if self.apps.len() >= self.bounds.apps_max as usize => {
                let reason = format!("there are {} apps: drop one, or raise the bound", self.apps.len());
                return Err(busy(APPS_FULL, 60_000, reason));
            }
            None => {
                // A device of that name may be connected, registered or not: it had the topics that
                // are the new app's devices' from now on.
                if let Ok(device) = DeviceId::new(app.as_str()) {
                    let app = AppName::default();
                    self.to_transport.push(TransportCommand::Disconnect { app, device });
                }
                (self.app_next, u64::from(home))
            }
        };
        let event = Event::App { app: number, name: app.clone(), version, settings: settings.clone() };
        self.emit(now, record, &event);
        Ok(Answer::Done)
    }

    fn change(
        &mut self,
        now: Time,
        app: &AppName,
        devices: &[(DeviceId, Changes)],
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let number = self.app_number(app)?;
        check_count(devices.len())?;
        let outcomes =
            devices.iter().map(|(device, changes)| self.change_one(now, number, device, changes, record));
        Ok(Answer::Changed(outcomes.collect()))
    }

    fn change_one(
        &mut self,
        now: Time,
        number: u32,
        device: &DeviceId,
        changes: &Changes,
        record: &mut Record,
    ) -> Result<Changed, Refusal> {
        let app = &self.apps[&number];
        if self.home_of(&app.name, device) != self.place.shard {
            let reason = format!("device {:?} lives on another shard", device.as_str());
            return Err(rejected(MISDIRECTED, reason));
        }
        let known = app.registry.find(device).is_some();
        if !known && self.is_named_as_app(&app.name, device) {
            let name = device.as_str();
            let reason = format!("{name:?} is the name of an app: a device of `default` needs another");
            return Err(rejected(NAME_TAKEN, reason));
        }
        let mut changes = Cow::Borrowed(changes);
        if !known && changes.opt_in.is_none() {
            changes.to_mut().opt_in = Some(app.settings.opted_in);
        }
        app.registry.check(device, &changes)?;
        let revoked = changes.revoked == Some(true);
        self.emit(now, record, &Event::Device { app: number, device: Cow::Borrowed(device), changes });
        if !known {
            self.arrive_late(now, number, device, record);
        }
        if revoked {
            self.cut(number, device);
        }
        Ok(if known { Changed::Updated } else { Changed::Registered })
    }

    /// Carries out a device's request about itself.
    fn own(
        &mut self,
        now: Time,
        app: &AppName,
        device: &DeviceId,
        request: &OwnRequest,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let (number, slot) = self.find_own(app, device)?;
        let known = &self.apps[&number];
        match request {
            OwnRequest::Opened(push) => self.open(now, app, device, *push, record),
            OwnRequest::Clicked(push, action) => {
                self.click(now, app, device, (*push, action.as_ref()), record)
            }
            OwnRequest::Settle(pushes) => self.settle_own(now, number, slot, pushes, record),
            OwnRequest::Change(changes) => {
                if let Some(refused) = known.settings.device_writable.first_refused(changes) {
                    let reason = format!("app {:?} does not let its devices change {refused}", app.as_str());
                    return Err(rejected(NOT_WRITABLE, reason));
                }
                self.change_one(now, number, device, changes, record).map(|_| Answer::Done)
            }
        }
    }

    fn remove(
        &mut self,
        now: Time,
        app: &AppName,
        devices: &[DeviceId],
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let app = self.app_number(app)?;
        check_count(devices.len())?;
        let mut removed = 0;
        for device in devices {
            if self.apps[&app].registry.find(device).is_some() {
                self.cut(app, device);
                self.emit(now, record, &Event::Removed { app, device: Cow::Borrowed(device) });
                removed += 1;
            }
        }
        Ok(Answer::Removed(removed))
    }

    /// Whether a push is another one's again; refused where its content differs.
    fn accepted_before(&self, app: u32, push: &NewPush) -> Result<bool, Refusal> {
        let same = match self.find_id(app, push.id) {
            None => return Ok(false),
            Some(Spot::Single(place)) => self.singles.at(place).push().is_same(push),
            Some(Spot::Many(place)) => self.many(place).push.is_same(push),
        };
        if same {
            return Ok(true);
        }
        let reason = format!("push {} was accepted with another content: a new push needs a new id", push.id);
        Err(rejected(ID_CONTENT, reason))
    }

    /// Whether a push could be accepted now, and was not before.
    pub(crate) fn check_send(&self, now: Time, push: &NewPush) -> Result<Accepted, Refusal> {
        let number = self.app_number(&push.app)?;
        if self.accepted_before(number, push)? {
            return Ok(Accepted::Before);
        }
        self.check_push(now, &self.apps[&number], push)?;
        let shard = match &push.audience {
            Audience::Device(device) => self.home_of(&push.app, device),
            Audience::Selector(_) | Audience::Saved(_) => crate::app_home(&push.app, self.place.shards),
        };
        if shard != self.place.shard {
            return Err(rejected(MISDIRECTED, format!("push {} belongs to shard {shard}", push.id)));
        }
        if self.forgets.is_empty() {
            self.check_room(push)?;
        }
        let is_many = !matches!(push.audience, Audience::Device(_));
        if is_many && self.outbox.len() >= self.bounds.pushes_max as usize {
            let reason = format!(
                "{} messages about pushes wait for other shards, which have no room: ask again later",
                self.outbox.len()
            );
            return Err(busy(PUSHES_FULL, 1_000, reason));
        }
        Ok(Accepted::Now)
    }

    /// Whether there is room for another push.
    pub(crate) fn check_room(&self, push: &NewPush) -> Result<(), Refusal> {
        if !self.is_full(push) {
            return Ok(());
        }
        let reason = format!(
            "{} pushes are remembered, and devices are owed all of them: ask again when some have been delivered or have expired",
            self.singles.len() + self.manies.len()
        );
        Err(busy(PUSHES_FULL, 1_000, reason))
    }

    fn is_full(&self, push: &NewPush) -> bool {
        self.singles.len() + self.manies.len() >= self.bounds.pushes_max as usize
            || self.pushes_bytes + 1_024 + push.bytes() as u64 > self.bounds.pushes_bytes_max
    }

    /// Makes room for another push: logs go first, then what is settled, the oldest first.
    pub(crate) fn make_room(&mut self, now: Time, push: &NewPush, record: &mut Record) {
        // Each push frees at least about as much as one takes; large ones are few.
        for _ in 0..ROOM_EVENTS_MAX {
            if !self.is_full(push) {
                return;
            }
            let many = self.singles.len() + self.manies.len() >= self.bounds.pushes_max as usize;
            match (self.logged.first().copied(), self.forgets.first().copied()) {
                (Some(push), _) if !many => self.emit(now, record, &Event::LogDropped { push }),
                (_, Some((_, push))) => {
                    self.emit(now, record, &Event::Forgotten { pushes: Cow::Borrowed(&[push]) });
                }
                _ => return,
            }
        }
    }

    fn accept(&mut self, now: Time, push: &NewPush, record: &mut Record) -> Result<Answer, Refusal> {
        if self.check_send(now, push)? == Accepted::Before {
            return Ok(Answer::Accepted(Accepted::Before));
        }
        self.make_room(now, push, record);
        let app = self.app_number(&push.app)?;
        let mut body = std::mem::take(&mut self.scratch);
        body.clear();
        push.encode(&mut body);
        self.emit(now, record, &Event::Accepted { app, push: Cow::Borrowed(push), body: &body });
        self.scratch = body;
        Ok(Answer::Accepted(Accepted::Now))
    }

    fn edit(&mut self, now: Time, push: &NewPush, record: &mut Record) -> Result<Answer, Refusal> {
        let app = self.app_number(&push.app)?;
        let spot = self.find_id(app, push.id).ok_or_else(|| unknown(push.id))?;
        let started = |what: &str| {
            let reason = format!("push {} {what}: it cannot be changed any more", push.id);
            Err(rejected(STARTED, reason))
        };
        let same_kind = match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                if single.cancelled {
                    return started("was cancelled");
                }
                if !single.is_scheduled() {
                    return started("has started");
                }
                single.push().audience == push.audience
            }
            Spot::Many(place) => {
                let many = self.many(place);
                if many.cancelled_at.is_some() {
                    return started("was cancelled");
                }
                if many.started_at.is_some() {
                    return started("has started");
                }
                !matches!(push.audience, Audience::Device(_))
            }
        };
        if !same_kind {
            let reason = format!(
                "push {} goes to one device or to many, and that stays: cancel it and send another one",
                push.id
            );
            return Err(rejected(crate::refusal::OPTIONS, reason));
        }
        self.check_push(now, &self.apps[&app], push)?;
        let number = self.number_at(spot);
        let mut body = Vec::new();
        push.encode(&mut body);
        self.emit(now, record, &Event::Edited { push: number, new: Cow::Borrowed(push), body: &body });
        Ok(Answer::Done)
    }

    fn open(
        &mut self,
        now: Time,
        app: &AppName,
        device: &DeviceId,
        push: PushId,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let reported = self.find_reported(app, device, push)?;
        if !reported.opened {
            self.report(now, &[reported.step(What::Opened, now)], record);
        }
        Ok(Answer::Done)
    }

    /// A click is an opening too, where the device did not report that before.
    fn click(
        &mut self,
        now: Time,
        app: &AppName,
        device: &DeviceId,
        (push, action): (PushId, Option<&ClickAction>),
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let reported = self.find_reported(app, device, push)?;
        let mut click = reported.step(What::Clicked, now);
        click.action = action.cloned().map(Box::new);
        match (reported.opened, reported.clicked) {
            (_, true) => {}
            (true, false) => self.report(now, &[click], record),
            (false, false) => self.report(now, &[reported.step(What::Opened, now), click], record),
        }
        Ok(Answer::Done)
    }

    /// Writes what a device reports of a push that it has.
    fn report(&mut self, now: Time, steps: &[Taken], record: &mut Record) {
        self.emit(now, record, &Event::Steps(Cow::Borrowed(steps)));
        for step in steps {
            match step.what {
                What::Clicked => self.counted.clicked += 1,
                _ => self.counted.opened += 1,
            }
            self.note_step(step);
        }
    }

    /// The delivery that a device reports as opened or clicked: refused unless it was sent the push.
    fn find_reported(&self, app: &AppName, device: &DeviceId, push: PushId) -> Result<Reported, Refusal> {
        let app_number = self.app_number(app)?;
        let app = &self.apps[&app_number];
        let Some(slot) = app.registry.find(device).map(|slot| slot.0) else {
            return Err(unknown_device(&app.name, device));
        };
        let spot = self.find_id(app_number, push).ok_or_else(|| unknown(push))?;
        let (opened, clicked) = match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                (single.opened_after != crate::single::NEVER, single.click.is_some())
            }
            Spot::Many(place) => {
                let many = self.many(place);
                (many.opened.contains(slot), many.clicked.contains(slot))
            }
        };
        if !matches!(self.outcome_at(app, spot, slot), Some(Outcome::Owed | Outcome::Delivered)) {
            let reason =
                format!("push {push} was not sent to device {:?}: its trace has the reason", device.as_str());
            return Err(rejected(NOT_SENT, reason));
        }
        Ok(Reported { push: self.number_at(spot), slot, opened, clicked })
    }
}

/// A delivery that its device reports on, and the reports so far.
struct Reported {
    push: u64,
    slot: u32,
    opened: bool,
    clicked: bool,
}

impl Reported {
    fn step(&self, what: What, at: Time) -> Taken {
        let connection = ConnectionName::default();
        Taken { push: self.push, slot: self.slot, what, at, connection, action: None }
    }
}

/// Events that make room for one push.
pub(crate) const ROOM_EVENTS_MAX: usize = 16;

pub(crate) fn check_count(count: usize) -> Result<(), Refusal> {
    if (1..=DEVICES_MAX).contains(&count) {
        return Ok(());
    }
    Err(rejected(COUNT, format!("a command names {count} devices; 1 to {DEVICES_MAX} are allowed")))
}

pub(crate) fn unknown_device(app: &AppName, device: &DeviceId) -> Refusal {
    rejected(DEVICE_UNKNOWN, format!("app {:?} has no device {:?}", app.as_str(), device.as_str()))
}

pub(crate) fn unknown(push: PushId) -> Refusal {
    rejected(PUSH_UNKNOWN, format!("push {push} is not known, or not remembered any more"))
}
