//! Requests of clients and the edge to the push platform, and the effects of the answers on the
//! books.
//!
//! A command is noted when it leaves, since it may happen from then on; its answer shows what did.

use stadium_push::live::{LiveReach, LiveToken};
use stadium_push::{
    Accepted, Answer, AppName, Authenticated, ClickAction, Command, DeviceId, NewPush, NewSchedule,
    OwnRequest, PushId, Refusal, ScheduleName, Zone,
};

use super::books::{Books, Is, Live, Push, Scheduled, Who};
use super::facts::{Change, Facts};
use super::plan::PushPlan;
use crate::clock::{Clock, Span};

/// What came of a command.
pub type Answered = Result<Answer, Refusal>;

/// Something that is asked.
#[derive(Debug, Clone)]
pub enum Ask {
    /// An app is declared, before anything goes wrong.
    Declare(usize),
    /// A push, for the first time or again.
    Send {
        app: usize,
        push: Box<NewPush>,
    },
    /// A live push, under this token.
    Live {
        push: Box<NewPush>,
        token: u64,
    },
    /// An id that is used, with other content.
    Reuse {
        push: Box<NewPush>,
    },
    Cancel {
        app: usize,
        push: PushId,
    },
    Change {
        who: Who,
        change: Change,
    },
    Remove {
        who: Who,
    },
    Opened {
        who: Who,
        push: PushId,
    },
    Clicked {
        who: Who,
        push: PushId,
        /// See [`ACTIONS`].
        action: u8,
    },
    /// A device has pushes of its inbox.
    Settle {
        who: Who,
        pushes: Vec<PushId>,
    },
    /// The schedule that makes ids with this first half.
    Schedule(u64),
    /// The names of a schedule.
    Unschedule {
        app: usize,
        name: u8,
    },
    /// A device wants to connect.
    Connect {
        who: Who,
    },
    /// Requests to which every answer but a refusal is right.
    Question(Command),
    /// What must be refused with this code.
    Wrong(Command, &'static str),
}

/// A command that is under way.
#[derive(Debug, Clone)]
pub struct Asked {
    pub ask: Ask,
    /// The state of the push when it was asked for.
    pub was: Is,
    /// The times that the clock showed since.
    pub during: Span,
    /// Something was broken meanwhile that may make a shard busy.
    pub may_be_busy: bool,
}

/// The cron expression of a schedule's period, in seconds.
pub fn cron(every_s: u64) -> &'static str {
    if every_s == 60 { "* * * * *" } else { "*/5 * * * *" }
}

/// Actions of clicks: more than a push counts by name, and 0 for none.
pub const ACTIONS: u8 = 20;

fn click_action(number: u8) -> Option<ClickAction> {
    (number > 0).then(|| ClickAction::new(&format!("action {number}")).expect("a name"))
}

/// The name of a schedule.
pub fn schedule_name(name: u8) -> ScheduleName {
    ScheduleName::new(&format!("s{name}")).expect("a name")
}

impl Ask {
    /// As the platform is asked.
    pub fn command(&self, plan: &PushPlan, books: &Books) -> Command {
        let app = |at: usize| -> AppName { plan.apps[at].0.clone() };
        let device = |who: Who| -> DeviceId { plan.devices[who.1].clone() };
        match self {
            Ask::Declare(at) => Command::DeclareApp { app: app(*at), settings: plan.apps[*at].1.clone() },
            Ask::Send { push, .. } | Ask::Reuse { push } => Command::Send { push: push.clone() },
            Ask::Live { push, token } => Command::SendLive { push: push.clone(), token: LiveToken(*token) },
            Ask::Cancel { app: at, push } => Command::Cancel { app: app(*at), push: *push },
            Ask::Change { who, change } => {
                Command::Change { app: app(who.0), devices: vec![(device(*who), change.changes())] }
            }
            Ask::Remove { who } => Command::Remove { app: app(who.0), devices: vec![device(*who)] },
            Ask::Opened { who, push } => {
                Command::Opened { app: app(who.0), device: device(*who), push: *push }
            }
            Ask::Clicked { who, push, action } => {
                let action = click_action(*action);
                Command::Clicked { app: app(who.0), device: device(*who), push: *push, action }
            }
            Ask::Settle { who, pushes } => {
                let request = OwnRequest::Settle(pushes.clone());
                Command::Own { app: app(who.0), device: device(*who), request }
            }
            Ask::Schedule(half) => {
                let Scheduled { push, every_s, name, .. } = books.schedules[half].clone();
                Command::Schedule {
                    schedule: Box::new(NewSchedule {
                        name: schedule_name(name),
                        cron: cron(every_s).into(),
                        zone: Zone::Named("UTC".into()),
                        missed: [stadium_push::Missed::Skip, stadium_push::Missed::Late(3_600_000)]
                            [usize::from(name) % 2],
                        push,
                    }),
                }
            }
            Ask::Unschedule { app: at, name } => {
                Command::Unschedule { app: app(*at), name: schedule_name(*name) }
            }
            Ask::Connect { who } => {
                Command::Authenticate { app: app(who.0), device: device(*who), secret: None }
            }
            Ask::Question(command) | Ask::Wrong(command, _) => command.clone(),
        }
    }

    /// The books note that it may happen from now on. What was known of its push before.
    pub fn begin(&self, books: &mut Books, clock: &Clock) -> Is {
        match self {
            Ask::Send { app, push } => {
                if let Some(known) = books.pushes.get_mut(&(*app, push.id)) {
                    let was = known.accepted;
                    known.asks += 1;
                    known.accepted = was.max(Is::Maybe);
                    if was == Is::No {
                        // As if it were asked for the first time.
                        let Push { asks, cancels, cancelled, .. } = *known;
                        books.pushes.remove(&(*app, push.id));
                        let known = books.add(*app, (**push).clone(), clock, None);
                        (known.asks, known.cancels, known.cancelled) = (asks, cancels, cancelled);
                    }
                    return was;
                }
                books.add(*app, (**push).clone(), clock, None);
                Is::No
            }
            Ask::Cancel { app, push } => {
                let known = books.pushes.get_mut(&(*app, *push)).expect("clients cancel what they asked for");
                known.cancelled = known.cancelled.max(Is::Maybe);
                known.cancels += 1;
                known.accepted
            }
            Ask::Change { who, change } => {
                books.may_be(*who, |facts| facts.changed(change));
                books.device(*who).busy = true;
                Is::Maybe
            }
            Ask::Remove { who } => {
                books.may_be(*who, |_| Facts::default());
                let known = books.device(*who);
                known.busy = true;
                known.removals += 1;
                Is::Maybe
            }
            Ask::Opened { who, push } => {
                let known = books.pushes.get_mut(&(who.0, *push)).expect("devices open what they got");
                known.reports.entry(who.1).or_default().opened = true;
                Is::Maybe
            }
            Ask::Clicked { who, push, .. } => {
                let reports = books.reports(*who, *push);
                // A click opens.
                (reports.opened, reports.clicked) = (true, true);
                Is::Maybe
            }
            Ask::Settle { who, pushes } => {
                for push in pushes {
                    books.reports(*who, *push).settled = true;
                }
                Is::Maybe
            }
            Ask::Schedule(half) => {
                let scheduled = books.schedules[half].clone();
                for one in books.schedules.values_mut().filter(|one| one.is_named_as(&scheduled)) {
                    one.there = one.there.min(Is::Maybe);
                }
                let turn = books.next_turn(scheduled.app, scheduled.name);
                books.schedules.insert(*half, Scheduled { there: Is::Maybe, turn, ..scheduled });
                Is::Maybe
            }
            Ask::Unschedule { app, name } => {
                books.next_turn(*app, *name);
                for scheduled in
                    books.schedules.values_mut().filter(|one| one.app == *app && one.name == *name)
                {
                    scheduled.there = scheduled.there.min(Is::Maybe);
                }
                Is::Maybe
            }
            Ask::Live { .. }
            | Ask::Reuse { .. }
            | Ask::Declare(_)
            | Ask::Connect { .. }
            | Ask::Question(_)
            | Ask::Wrong(..) => Is::Yes,
        }
    }

    /// Whether its command is about one device that others leave alone meanwhile.
    pub fn device(&self) -> Option<Who> {
        match self {
            Ask::Change { who, .. } | Ask::Remove { who } => Some(*who),
            _ => None,
        }
    }
}

impl Asked {
    /// The effect of its answer on the books.
    ///
    /// # Errors
    ///
    /// The answer cannot be true.
    pub fn answered(&self, books: &mut Books, answer: &Answered, plan: &PushPlan) -> Result<(), String> {
        if let Some(who) = self.ask.device() {
            books.device(who).busy = false;
        }
        match answer {
            Err(refusal @ Refusal::Busy { .. }) if !self.may_be_busy => {
                return Err(format!("is answered busy without any need: {refusal}"));
            }
            Err(Refusal::Busy { .. }) => {
                if let Ask::Cancel { app, push } = &self.ask {
                    books.push(*app, *push).was_not_cancelled();
                }
                return Ok(());
            }
            Err(Refusal::Unknown { .. }) => return Ok(()),
            _ => {}
        }
        let wrong = || Err(format!("is answered {answer:?}"));
        match (&self.ask, answer) {
            (Ask::Wrong(_, code), Err(refusal)) if refusal.code() == *code => Ok(()),
            (Ask::Wrong(..), _) => wrong(),
            (Ask::Declare(_), Ok(Answer::Done)) => Ok(()),
            (Ask::Send { app, push }, answer) => {
                let known =
                    books.pushes.get_mut(&(*app, push.id)).expect("it was noted when it was asked for");
                sent(known, self.was, answer)
            }
            (Ask::Live { token, .. }, Ok(Answer::Live(reach))) => {
                let live = books.lives.get_mut(token).expect("it was noted when it was asked for");
                reached(live, reach)
            }
            (Ask::Reuse { .. }, Err(refusal)) if refusal.code() == "PSH-025" => Ok(()),
            (Ask::Cancel { app, push }, answer) => {
                let known = books.push(*app, *push);
                match answer {
                    Ok(Answer::Done) => {
                        known.cancelled = Is::Yes;
                        Ok(())
                    }
                    Err(refusal)
                        if refusal.code() == "PSH-027"
                            || refusal.code() == "PSH-021" && self.was != Is::Yes =>
                    {
                        known.was_not_cancelled();
                        Ok(())
                    }
                    _ => wrong(),
                }
            }
            (Ask::Change { who, change }, Ok(Answer::Changed(outcomes))) => match outcomes.as_slice() {
                [Ok(_)] => {
                    if books.is(*who, |facts| facts.changed(change) == *facts) {
                        return Ok(());
                    }
                    Err(format!("is answered {answer:?}, and {} cannot be so", plan.devices[who.1]))
                }
                _ => wrong(),
            },
            (Ask::Remove { who }, Ok(Answer::Removed(_))) => {
                // Connected devices are cut, and may not come back before this was answered. Where
                // connecting registers, one that arrived meanwhile is there again.
                if !plan.apps[who.0].1.register_at_connect {
                    books.is(*who, |facts| !facts.registered);
                }
                Ok(())
            }
            (Ask::Clicked { who, push, .. }, Ok(Answer::Done)) => {
                books.reports(*who, *push).click_is_durable = true;
                Ok(())
            }
            (Ask::Settle { who, pushes }, Ok(Answer::Settled(settled))) if settled.len() == pushes.len() => {
                for (push, _) in pushes.iter().zip(settled).filter(|(_, was_owed)| **was_owed) {
                    let reports = books.reports(*who, *push);
                    (reports.acknowledged, reports.is_durable) = (true, true);
                }
                Ok(())
            }
            (Ask::Settle { .. }, Err(refusal)) if matches!(refusal.code(), "PSH-022" | "PSH-032") => Ok(()),
            (Ask::Opened { .. }, Ok(Answer::Done)) => Ok(()),
            (Ask::Opened { .. } | Ask::Clicked { .. }, Err(refusal))
                if matches!(refusal.code(), "PSH-028" | "PSH-022" | "PSH-021") =>
            {
                Ok(())
            }
            (Ask::Schedule(half), Ok(Answer::Done)) => {
                let scheduled = books.schedules[half].clone();
                // Another one of its name, or that it goes, may have been asked for meanwhile.
                let is_last = books.turns.get(&(scheduled.app, scheduled.name)) == Some(&scheduled.turn);
                for one in books.schedules.values_mut().filter(|one| one.is_named_as(&scheduled)) {
                    let is_it = is_last && one.push.id == scheduled.push.id;
                    one.there = if is_it { Is::Yes } else { one.there.min(Is::Maybe) };
                }
                Ok(())
            }
            (Ask::Unschedule { app, name }, Ok(Answer::Done)) => {
                for one in books.schedules.values_mut().filter(|one| one.app == *app && one.name == *name) {
                    one.there = one.there.min(Is::Maybe);
                }
                Ok(())
            }
            (Ask::Unschedule { .. }, Err(refusal)) if refusal.code() == "PSH-024" => Ok(()),
            (Ask::Connect { who }, Ok(Answer::Authenticated(outcome))) => {
                let known = &books.devices[who];
                let may = known.now.iter().any(|facts| match outcome {
                    Authenticated::Revoked { proved } => facts.revoked && !proved,
                    Authenticated::Unknown => !facts.revoked,
                    // No device has a credential here, nor the name of an app.
                    Authenticated::Yes | Authenticated::No | Authenticated::NamedAsApp => false,
                });
                if may { Ok(()) } else { wrong() }
            }
            (Ask::Question(_), Ok(_)) => Ok(()),
            // The requested push may not be there.
            (Ask::Question(_), Err(refusal)) if matches!(refusal.code(), "PSH-021" | "PSH-022") => Ok(()),
            _ => wrong(),
        }
    }
}

/// A live push is answered.
fn reached(live: &mut Live, reach: &LiveReach) -> Result<(), String> {
    let LiveReach { devices, matched, opted_out, held_out, capped, quiet, no_value, targeted, connected } =
        *reach;
    let left_out = opted_out + held_out + capped + quiet + no_value;
    if matched != left_out + targeted || connected > targeted {
        return Err(format!("is answered {reach:?}, whose counts do not add up"));
    }
    if matched > devices {
        return Err(format!("is answered {reach:?}, with more matched devices than there are"));
    }
    live.connected = Some(connected);
    Ok(())
}

/// A push is answered.
fn sent(known: &mut Push, was: Is, answer: &Answered) -> Result<(), String> {
    match answer {
        Ok(Answer::Accepted(Accepted::Now)) if was == Is::Yes => {
            Err("is accepted as new, and was accepted before".into())
        }
        Ok(Answer::Accepted(Accepted::Now)) if known.accepted_now => {
            Err("is accepted as new for the second time".into())
        }
        Ok(Answer::Accepted(Accepted::Before)) if known.asks < 2 => {
            Err("is reported as known, and nobody asked for it before".into())
        }
        Ok(Answer::Accepted(how)) => {
            known.accepted = Is::Yes;
            known.accepted_now |= *how == Accepted::Now;
            Ok(())
        }
        other => Err(format!("is answered {other:?}")),
    }
}
