//! Why a device did or did not get a push: where the delivery stands, what happened, and the answer in a sentence.
//!
//! Sentences stand alone, for people who know the device's name and not how this works.

use stadium_registry::{AppName, DeviceId, Slot};

use crate::app::App;
use crate::clock::words;
use crate::execute::unknown;
use crate::log::What;
use crate::many::Many;
use crate::outcome::Outcome;
use crate::platform::{Platform, Spot};
use crate::single::{NEVER, Single};
use crate::split::lacked_value;
use crate::{
    Answer, Civil, ClickAction, ConnectionName, NewPush, PushId, Refusal, State, Time, Trace, TraceStep, When,
};

/// The words of [`TraceStep::what`]; `other` stands for one of a newer version.
pub const STEP_WORDS: &[&str] = &[
    "accepted",
    "scheduled",
    "started",
    "cancelled",
    "targeted",
    "sent",
    "acknowledged",
    "opened",
    "clicked",
    "expired",
    "collapsed",
    "crowded out",
    "refused",
    "too large",
    "other",
];

impl Platform {
    pub(crate) fn state_of_single(&self, app: &App, single: &Single) -> State {
        if single.click.is_some() {
            return State::Clicked;
        }
        if single.opened_after != NEVER {
            return State::Opened;
        }
        match single.outcome {
            Outcome::Scheduled => State::Scheduled,
            Outcome::NotRegistered => State::NotRegistered,
            Outcome::Waiting => State::Waiting(single.next_at),
            Outcome::Owed if single.in_flight => State::InFlight,
            Outcome::NoValue => {
                let push = single.push();
                State::NoValue(lacked_value(app, &push.content, single.slot).into())
            }
            outcome => plain(outcome),
        }
    }

    pub(crate) fn state_of_many(&self, app: &App, many: &Many, slot: u32, outcome: Outcome) -> State {
        if many.clicked.contains(slot) {
            return State::Clicked;
        }
        if many.opened.contains(slot) {
            return State::Opened;
        }
        match outcome {
            Outcome::Waiting => {
                let until =
                    many.waiting.iter().find(|(_, slots)| slots.contains(slot)).map(|(&until, _)| until);
                State::Waiting(until.unwrap_or(many.until))
            }
            Outcome::Owed if many.in_flight.contains(slot) => State::InFlight,
            Outcome::NoValue => State::NoValue(lacked_value(app, &many.push.content, slot).into()),
            outcome => plain(outcome),
        }
    }

    /// Of one delivery. Where the device lives on another shard, only whether the push has started is known here.
    pub(crate) fn trace(
        &self,
        now: Time,
        app: &AppName,
        push: PushId,
        device: &DeviceId,
    ) -> Result<Answer, Refusal> {
        let app_number = self.app_number(app)?;
        let app = &self.apps[&app_number];
        let lives_here = self.home_of(&app.name, device) == self.place.shard;
        let Some(spot) = self.find_id(app_number, push) else {
            return match self.cancelled.get(&(app_number, push)) {
                Some(&at) if lives_here => {
                    let mut test = Behaviour::new(now, at, device);
                    test.step(at, "cancelled", None);
                    let sentence = test.not("the push was cancelled before it started");
                    Ok(test.answer(push, State::Cancelled, sentence))
                }
                _ => Err(unknown(push)),
            };
        };
        let trace = match spot {
            Spot::Single(place) => self.trace_single(now, app, self.singles.at(place), device),
            Spot::Many(place) => self.trace_many(now, app, self.many(place), device, lives_here),
        };
        trace.ok_or_else(|| unknown(push))
    }

    fn trace_single(&self, now: Time, app: &App, single: &Single, device: &DeviceId) -> Option<Answer> {
        let push = single.push();
        let mut test = Behaviour::new(now, single.accepted_at, device);
        test.step(single.accepted_at, "accepted", None);
        if push.audience != crate::Audience::Device(device.clone()) {
            let sentence = test.not("the push was for another device alone");
            let state =
                State::NotMatched { path: String::new(), clause: "the one device that it is for".into() };
            return Some(test.answer(single.id, state, sentence));
        }
        let state = self.state_of_single(app, single);
        if single.is_scheduled() {
            let sentence = test.scheduled(single.next_at);
            return Some(test.answer(single.id, state, sentence));
        }
        test.started_at = single.started_at;
        test.step(single.started_at, if single.cancelled { "cancelled" } else { "started" }, None);
        test.sent = single.at(single.sent_after).map(|at| (at, single.connection));
        test.acknowledged = single.at(single.acknowledged_after);
        test.opened = single.at(single.opened_after);
        test.clicked = single.click.as_ref().and_then(|click| {
            let at = single.at(click.after)?;
            Some((at, click.action.clone()))
        });
        test.ended = single.at(single.ended_after);
        test.until = single.until;
        let sentence =
            test.sentence(app, &push, &state, app.connections.contains_key(&single.slot), single.cancelled);
        Some(test.answer(single.id, state, sentence))
    }

    fn trace_many(
        &self,
        now: Time,
        app: &App,
        many: &Many,
        device: &DeviceId,
        lives_here: bool,
    ) -> Option<Answer> {
        let id = many.push.id;
        let mut test = Behaviour::new(now, many.accepted_at, device);
        test.step(many.accepted_at, "accepted", None);
        let Some(started_at) = many.started_at else {
            return Some(match many.cancelled_at {
                Some(at) => {
                    test.step(at, "cancelled", None);
                    let sentence = test.not("the push was cancelled before it started");
                    test.answer(id, State::Cancelled, sentence)
                }
                None => {
                    let sentence = match many.push.when {
                        When::Local(civil) => test.by_its_clock(many.next_at, civil),
                        _ => test.scheduled(many.next_at),
                    };
                    test.answer(id, State::Scheduled, sentence)
                }
            });
        };
        if !lives_here {
            return None;
        }
        test.step(started_at, "started", None);
        test.started_at = started_at;
        test.until = many.until;
        let slot = app.registry.find(device);
        let registered = slot.and_then(|slot| app.registry.device(slot));
        let is_new = |at: Time| at.0 / 1_000 > started_at.0 / 1_000;
        let (Some(Slot(slot)), Some(registered)) = (slot, registered) else {
            let sentence = test.not("it is not registered");
            return Some(test.answer(id, State::NotRegistered, sentence));
        };
        let outcome = app.outcome(many, slot);
        let is_new = outcome.is_none() && is_new(registered.registered_at);
        if is_new || app.slot_owners.was_others(many.number, slot) {
            let since = words(registered.registered_at, started_at);
            let started = words(started_at, now);
            let sentence =
                test.not(&format!("it was registered at {since}, after the push started at {started}"));
            return Some(test.answer(id, State::NotRegistered, sentence));
        }
        let Some(outcome) = outcome else {
            let zones_open = many.zones.as_ref().is_some_and(|zones| !zones.over);
            let excluded =
                many.selector().and_then(|selector| app.registry.explain(selector, Slot(slot), started_at));
            let (state, sentence) = match excluded {
                Some(excluded) => {
                    let has = excluded.has.map(|has| format!(" ({has})")).unwrap_or_default();
                    let path = if excluded.path.is_empty() {
                        String::new()
                    } else {
                        format!(" at `{}`", excluded.path)
                    };
                    let why = format!(
                        "the audience asks for {}{path}, which does not hold now{has}",
                        excluded.clause
                    );
                    (State::NotMatched { path: excluded.path, clause: excluded.clause }, test.not(&why))
                }
                None if zones_open => {
                    let name = test.device.as_str().to_owned();
                    let sentence = format!(
                        "{name} has not got it yet: the time of the push has not come in its time zone."
                    );
                    (State::Scheduled, sentence)
                }
                None => {
                    let clause = "what it was when the push started".to_owned();
                    let why = "it matches the audience now, and did not when the push started";
                    (State::NotMatched { path: String::new(), clause }, test.not(why))
                }
            };
            return Some(test.answer(id, state, sentence));
        };
        if !outcome.is_left_out() {
            test.step(started_at, "targeted", None);
        }
        let steps = many.log.iter().flat_map(|&piece| self.logs.at(piece).steps());
        for step in steps.filter(|step| step.slot == slot) {
            let at = started_at.after(step.after);
            match step.what {
                What::Sent => test.sent = step.connection.map(|connection| (at, connection)),
                What::Acknowledged => test.acknowledged = Some(at),
                What::Opened => test.opened = Some(at),
                What::Clicked => test.clicked = Some((at, many.action(step.action).cloned())),
                What::Refused | What::TooLarge | What::Lost => test.ended = Some(at),
            }
        }
        let state = self.state_of_many(app, many, slot, outcome);
        if state == State::Cancelled {
            test.ended = many.cancelled_at;
        }
        let connected = app.connections.contains_key(&slot);
        let sentence = test.sentence(app, &many.push, &state, connected, many.cancelled_at.is_some());
        Some(test.answer(id, state, sentence))
    }
}

/// An outcome that needs no further detail.
fn plain(outcome: Outcome) -> State {
    match outcome {
        Outcome::OptedOut => State::OptedOut,
        Outcome::Revoked => State::Revoked,
        Outcome::HeldOut => State::HeldOut,
        Outcome::Capped => State::Capped,
        Outcome::Quiet => State::Quiet,
        Outcome::Delivered => State::Delivered,
        Outcome::Expired => State::Expired,
        Outcome::Collapsed => State::Collapsed,
        Outcome::CrowdedOut => State::CrowdedOut,
        Outcome::Refused => State::Refused,
        Outcome::TooLarge => State::TooLarge,
        Outcome::Cancelled => State::Cancelled,
        Outcome::Scheduled => State::Scheduled,
        Outcome::NotRegistered => State::NotRegistered,
        Outcome::NoValue | Outcome::Waiting | Outcome::Owed => State::Owed,
    }
}

/// What is known of a delivery.
struct Behaviour<'a> {
    now: Time,
    device: &'a DeviceId,
    steps: Vec<TraceStep>,
    started_at: Time,
    sent: Option<(Time, ConnectionName)>,
    acknowledged: Option<Time>,
    opened: Option<Time>,
    clicked: Option<(Time, Option<ClickAction>)>,
    ended: Option<Time>,
    until: Time,
}

impl<'a> Behaviour<'a> {
    fn new(now: Time, accepted_at: Time, device: &'a DeviceId) -> Self {
        Self {
            now,
            device,
            steps: Vec::new(),
            started_at: accepted_at,
            sent: None,
            acknowledged: None,
            opened: None,
            clicked: None,
            ended: None,
            until: Time(0),
        }
    }

    fn step(&mut self, at: Time, what: &'static str, connection: Option<ConnectionName>) {
        debug_assert!(STEP_WORDS.contains(&what), "a word of the list: {what}");
        self.steps.push(TraceStep { at, what, connection, action: None });
    }

    fn clock(&self, at: Time) -> String {
        words(at, self.now)
    }

    fn not(&self, why: &str) -> String {
        format!("{} did not get it: {why}.", self.device.as_str())
    }

    fn scheduled(&mut self, at: Time) -> String {
        self.step(at, "scheduled", None);
        format!(
            "It has not started: it does at {}, and reaches {} then if it matches.",
            self.clock(at),
            self.device.as_str()
        )
    }

    /// The shard that knows when zones are looked at need not be the one that knows the device's.
    fn by_its_clock(&mut self, first: Time, civil: Civil) -> String {
        self.step(first, "scheduled", None);
        let shown = civil.as_utc().map(|utc| self.clock(utc).replace(" UTC", "")).unwrap_or_default();
        let device = self.device.as_str();
        format!(
            "It has not started for {device}: it does when clocks in its time zone show {shown}, and reaches it then if it matches."
        )
    }

    fn answer(mut self, push: PushId, state: State, sentence: String) -> Answer {
        if let Some((at, connection)) = self.sent {
            self.step(at, "sent", Some(connection));
        }
        for (at, what) in [(self.acknowledged, "acknowledged"), (self.opened, "opened")] {
            if let Some(at) = at {
                self.step(at, what, None);
            }
        }
        if let Some((at, action)) = self.clicked.take() {
            self.steps.push(TraceStep { at, what: "clicked", connection: None, action });
        }
        let ended = match state {
            State::Expired => Some((self.ended.unwrap_or(self.until), "expired")),
            State::Collapsed => self.ended.map(|at| (at, "collapsed")),
            State::CrowdedOut => self.ended.map(|at| (at, "crowded out")),
            State::Refused => self.ended.map(|at| (at, "refused")),
            State::TooLarge => self.ended.map(|at| (at, "too large")),
            State::Cancelled => self.ended.map(|at| (at, "cancelled")),
            _ => None,
        };
        if let Some((at, what)) = ended
            && self.steps.iter().all(|step| step.what != what)
        {
            self.step(at, what, None);
        }
        Answer::Trace(Box::new(Trace {
            push,
            device: self.device.clone(),
            state,
            steps: self.steps,
            sentence,
        }))
    }

    fn sentence(&self, app: &App, push: &NewPush, state: &State, connected: bool, cancelled: bool) -> String {
        let name = self.device.as_str();
        let over = |connection: ConnectionName| format!("connection {connection}");
        let sent =
            self.sent.map(|(at, connection)| format!("sent at {} over {}", self.clock(at), over(connection)));
        let until = self.clock(self.until);
        match state {
            State::Delivered | State::Opened | State::Clicked => {
                let mut sentence = match (&sent, self.sent, self.acknowledged) {
                    (Some(sent), Some((sent_at, _)), Some(at)) => {
                        format!("It was {sent} and acknowledged {} ms later", at.0.saturating_sub(sent_at.0))
                    }
                    (Some(sent), _, None) if push.options.qos == 0 => format!("It was {sent}, at most once"),
                    (None, _, Some(at)) => format!("{name} acknowledged it at {}", self.clock(at)),
                    _ => format!("{name} has it; when it was sent is not remembered any more"),
                };
                if let Some(at) = self.opened {
                    sentence += &format!("; it was opened at {}", self.clock(at));
                }
                if let Some((at, action)) = &self.clicked {
                    let action = action.as_ref().map_or("it", |action| action.as_str());
                    sentence += &format!("; {action} was clicked at {}", self.clock(*at));
                }
                sentence + "."
            }
            State::InFlight => match &sent {
                Some(sent) => format!("It was {sent}; {name} has not acknowledged it yet."),
                None => format!("It is on its way to {name}."),
            },
            State::Owed if connected => {
                format!(
                    "{name} has not got it yet: it is connected, and gets it when it is its turn, until {until}."
                )
            }
            State::Owed => format!(
                "{name} has not got it yet: it is not connected; it gets it when it comes until {until}."
            ),
            State::Waiting(end) => {
                format!("{name} has not got it yet: its quiet hours end at {}.", self.clock(*end))
            }
            State::Expired => match &sent {
                Some(sent) => self
                    .not(&format!("it was {sent}, and not acknowledged until the push expired at {until}")),
                None if push.options.qos == 0 => {
                    self.not("it was not connected, or its connection took nothing, when the push was sent, which was at most once")
                }
                None => self.not(&format!("it was not connected until the push expired at {until}")),
            },
            State::OptedOut => self.not("it has not opted in"),
            State::Revoked => self.not("it was revoked"),
            State::HeldOut => self.not(&format!(
                "it was held out on purpose, as {} per cent of the audience",
                push.options.holdout
            )),
            State::Capped => match push.options.cap.or(app.settings.cap) {
                Some(cap) => {
                    let hours = cap.within as f64 / 3_600_000.0;
                    self.not(&format!("it had its fill, which is {} pushes in {hours:.1} hours", cap.pushes))
                }
                None => self.not("it had its fill"),
            },
            State::Quiet => self.not("it was in its quiet hours, and the push leaves out who is"),
            State::NoValue(value) => {
                self.not(&format!("it has no value for {{{{{value}}}}}, which its words need"))
            }
            State::Collapsed => {
                let key = push.options.collapse.as_ref().map_or("", |key| key.as_str());
                self.not(&format!("a newer push with the collapse key {key:?} took its place"))
            }
            State::CrowdedOut => self.not(&format!(
                "its inbox was full, which holds {}, and this was the oldest of the lowest priority",
                app.settings.inbox_max
            )),
            State::Refused => self.not("it refused it"),
            State::TooLarge => self.not("it is larger than the device takes"),
            State::Cancelled if cancelled => match self.ended {
                Some(at) => self.not(&format!("the push was cancelled at {}", self.clock(at))),
                None => self.not("the push was cancelled"),
            },
            State::Cancelled => self.not("it was removed from the app"),
            State::NotRegistered => self.not(&format!(
                "it was not registered when the push started at {}",
                self.clock(self.started_at)
            )),
            State::NotMatched { clause, .. } => self.not(&format!("the audience asks for {clause}")),
            State::Scheduled => format!("{name} has not got it yet: it has not started."),
            State::Counted => format!("Outcomes of the push are counted, and not kept for {name}."),
        }
    }
}
