//! The checker asks for the state of everything, when nothing is under way, and compares the
//! answers with the books.
//!
//! It asks as any client would. After it what each device is, and which pushes there are, is known without doubt.

use std::collections::BTreeMap;

use stadium_push::{
    Answer, Audience, Command, Counts, DeliveryView, DeviceView, Pace, PushId, PushView, Refusal,
    ScheduleView, Stage, State, When,
};

use super::asked::Answered;
use super::books::{Books, Is, OPEN, Scheduled, Who};
use super::dispatched::is_over;
use super::edge::Edge;
use super::facts::Facts;
use super::plan::PushPlan;
use super::states::Conditions;
use crate::clock::{Clock, Span};

/// What the checker asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    Device(Who),
    Pushes(usize),
    Deliveries(usize, PushId),
    Schedules(usize),
}

/// What the checker sees while it looks.
#[derive(Debug, Default)]
pub struct Look {
    answers: BTreeMap<Question, Answer>,
    /// A question was answered Busy: the checker looks again later.
    pub is_busy: bool,
}

impl Question {
    pub fn command(self, plan: &PushPlan) -> Command {
        let app = |at: usize| plan.apps[at].0.clone();
        match self {
            Question::Device(who) => Command::Device { app: app(who.0), device: plan.devices[who.1].clone() },
            Question::Pushes(at) => Command::Pushes { app: app(at), before: None, pushes_max: 1_000 },
            Question::Deliveries(at, push) => {
                Command::Deliveries { app: app(at), push, after: None, deliveries_max: 1_000 }
            }
            Question::Schedules(at) => Command::Schedules { app: app(at) },
        }
    }
}

impl Look {
    /// What is asked: all devices, all pushes, and of those that are not over who stands where.
    pub fn questions(plan: &PushPlan, books: &Books, is_thorough: bool) -> Vec<Question> {
        let mut questions: Vec<Question> = books.devices.keys().map(|who| Question::Device(*who)).collect();
        questions
            .extend((0..plan.apps.len()).flat_map(|app| [Question::Pushes(app), Question::Schedules(app)]));
        let open = books.pushes.iter().filter(|(_, push)| {
            // One by each device's clock may reach some more later.
            let is_whole = !matches!(push.new.when, When::Local(_));
            let is_settled = is_whole && !push.seen.is_empty() && push.seen.values().all(is_over);
            push.accepted != Is::No && (is_thorough || !is_settled)
        });
        questions.extend(open.map(|(&(app, push), _)| Question::Deliveries(app, push)));
        questions
    }

    /// An answer.
    ///
    /// # Errors
    ///
    /// It is none to the question.
    pub fn answered(&mut self, question: Question, answer: Answered, trouble: bool) -> Result<(), String> {
        match (question, answer) {
            (Question::Deliveries(..), Err(Refusal::Rejected { code: "PSH-021", .. })) => {}
            (_, Err(Refusal::Busy { .. })) if trouble => self.is_busy = true,
            (_, Ok(answer)) => {
                self.answers.insert(question, answer);
            }
            (question, answer) => return Err(format!("the question {question:?} is answered {answer:?}")),
        }
        Ok(())
    }

    /// Holds it against the books, which know more afterwards. `is_calm`: nothing is broken.
    /// `is_at_rest`: no message is between shards.
    ///
    /// # Errors
    ///
    /// The promise that was broken.
    pub fn check(
        &self,
        plan: &PushPlan,
        books: &mut Books,
        edge: &Edge,
        clock: &Clock,
        is_calm: bool,
        is_at_rest: bool,
    ) -> Result<(), String> {
        let conditions = Conditions { now: clock.now(), high: clock.high(), is_calm };
        for (question, answer) in &self.answers {
            match (question, answer) {
                (Question::Device(who), Answer::Device(view)) => {
                    device(plan, books, edge, *who, view.as_deref(), conditions)?
                }
                (Question::Pushes(app), Answer::Pushes(views)) => {
                    pushes(plan, books, *app, views, clock, conditions, is_at_rest)?;
                }
                (Question::Schedules(app), Answer::Schedules(views)) => schedules(books, *app, views)?,
                (Question::Deliveries(..), Answer::Deliveries(_)) => {}
                (question, answer) => {
                    return Err(format!("the question {question:?} is answered {answer:?}"));
                }
            }
        }
        // After all views: they list the pushes.
        for (question, answer) in &self.answers {
            if let (Question::Deliveries(app, id), Answer::Deliveries(views)) = (question, answer) {
                self.deliveries(plan, books, edge, *app, *id, views, conditions, is_at_rest)
                    .map_err(|what| format!("push {id} of {}: {what}", plan.apps[*app].0))?;
            }
        }
        self.inboxes(plan, books, conditions)?;
        for known in books.devices.values_mut() {
            known.since = known.now.clone();
            known.removals_before = known.removals;
        }
        Ok(())
    }

    /// Who stands where with one push.
    #[expect(clippy::too_many_arguments, reason = "what a look sees, and what it is held against")]
    fn deliveries(
        &self,
        plan: &PushPlan,
        books: &mut Books,
        edge: &Edge,
        app: usize,
        id: PushId,
        views: &[DeliveryView],
        conditions: Conditions,
        is_at_rest: bool,
    ) -> Result<(), String> {
        let mut stands = BTreeMap::new();
        for view in views {
            let Some(device) = plan.device(&view.device) else {
                return Err(format!("nobody is {}", view.device));
            };
            if stands.insert(device, view.state.clone()).is_some() {
                return Err(format!("{} stands in two places", view.device));
            }
        }
        let push = &books.pushes[&(app, id)];
        let has_started = self.view(app, id).is_some_and(|view| view.started_at.is_some());
        for (device, name) in plan.devices.iter().enumerate() {
            let who = (app, device);
            let known = &books.devices[&who];
            let is_other = push.is_other(device, known);
            let Some(state) = stands.get(&device) else {
                let (_, must) = push.means(device, name.as_str());
                // A cancelled push may never have started there.
                let must = must && push.new.when == When::Now && push.cancelled == Is::No && !is_other;
                if must && has_started && is_at_rest {
                    return Err(format!("{name} is in its audience, and nowhere to be found"));
                }
                if let Some(before) = push.seen.get(&device)
                    && !is_other
                    && !matches!(before, State::Scheduled)
                {
                    return Err(format!("{name} was {before:?} and is nowhere to be found"));
                }
                continue;
            };
            books.check_state(plan, push, who, state, conditions).map_err(|what| format!("{name} {what}"))?;
            // A device that is there gets at once the pushes that it is owed.
            let link = edge.links.get(&who).filter(|link| link.is_known && !link.is_slow);
            // At QoS 0 it goes to those who were there when it started.
            let goes_at_once = push.options().pace == Pace::AtOnce && push.options().qos > 0;
            if *state == State::Owed && link.is_some() && goes_at_once && conditions.is_calm && !is_other {
                return Err(format!("{name} is connected, reads its inbox, is owed it and does not get it"));
            }
        }
        // What each place counts.
        if let Some(view) = self.view(app, id)
            && !(0..plan.devices.len()).any(|device| push.is_other(device, &books.devices[&(app, device)]))
        {
            counts(&view.counts, &stands)?;
        }
        let push = books.pushes.get_mut(&(app, id)).expect("it was there above");
        push.seen = stands;
        let listed: Vec<usize> = push
            .seen
            .iter()
            .filter(|(_, state)| **state != State::Scheduled)
            .map(|(device, _)| *device)
            .collect();
        push.closed.extend(listed);
        Ok(())
    }

    fn view(&self, app: usize, id: PushId) -> Option<&PushView> {
        let Some(Answer::Pushes(views)) = self.answers.get(&Question::Pushes(app)) else { return None };
        views.iter().find(|view| view.push.id == id)
    }

    /// What devices are owed all in all: no more than their inbox holds, and one of each collapse key.
    fn inboxes(&self, plan: &PushPlan, books: &Books, conditions: Conditions) -> Result<(), String> {
        for &who in books.devices.keys() {
            let name = format!("{}/{}", plan.apps[who.0].0, plan.devices[who.1]);
            let Some(Answer::Device(Some(view))) = self.answers.get(&Question::Device(who)) else { continue };
            let inbox_max = usize::from(plan.apps[who.0].1.inbox_max);
            if view.inbox.len() > inbox_max {
                return Err(format!("{name} is owed {} pushes; {inbox_max} are allowed", view.inbox.len()));
            }
            let mut keys = Vec::new();
            for owed in &view.inbox {
                let Some(push) = books.pushes.get(&(who.0, owed.push)) else {
                    return Err(format!("{name} is owed {}, which nobody asked for", owed.push));
                };
                if owed.priority != push.options().priority {
                    return Err(format!("{name} is owed {} at priority {}", owed.push, owed.priority));
                }
                let stands = push.seen.get(&who.1);
                let is_other = push.is_other(who.1, &books.devices[&who]);
                if !is_other
                    && !push.seen.is_empty()
                    && !matches!(stands, Some(State::Owed | State::InFlight | State::Waiting(_)))
                {
                    return Err(format!("{name} is owed {}, which is {stands:?}", owed.push));
                }
                if matches!(stands, Some(State::Owed | State::Waiting(_)))
                    && let Some(key) = &push.options().collapse
                {
                    if keys.contains(&key) {
                        return Err(format!("{name} is owed two pushes of the collapse key {key}"));
                    }
                    keys.push(key);
                }
            }
            let pairs = view.inbox.windows(2);
            if let Some(pair) = pairs.into_iter().find(|pair| pair[0].priority < pair[1].priority) {
                return Err(format!(
                    "{name} is owed {} before {}, which has a higher priority",
                    pair[0].push, pair[1].push
                ));
            }
            let owed = books.pushes.values().filter(|push| {
                let stands = push.seen.get(&who.1);
                push.app == who.0 && matches!(stands, Some(State::Owed | State::InFlight | State::Waiting(_)))
            });
            let missing = owed
                .filter(|push| !push.is_other(who.1, &books.devices[&who]))
                .find(|push| !view.inbox.iter().any(|owed| owed.push == push.new.id));
            if let Some(push) = missing.filter(|_| view.inbox.len() < 100 && conditions.is_calm) {
                return Err(format!("{name} is owed {} and it is not in its inbox", push.new.id));
            }
        }
        Ok(())
    }
}

/// The registry's entry of a device.
fn device(
    plan: &PushPlan,
    books: &mut Books,
    edge: &Edge,
    who: Who,
    view: Option<&DeviceView>,
    conditions: Conditions,
) -> Result<(), String> {
    let name = format!("{}/{}", plan.apps[who.0].0, plan.devices[who.1]);
    let Some(facts) = Facts::of(view.map(|view| &view.device)) else {
        return Err(format!("{name} is what nobody made it: {view:?}"));
    };
    let known = books.device(who);
    if !known.now.contains(&facts) {
        return Err(format!("{name} is {facts:?}; it can be one of {:?}", known.now));
    }
    known.now = vec![facts];
    let linked = edge.links.get(&who).filter(|link| link.is_known).map(|link| link.name);
    let is_seen = view.and_then(|view| view.connection);
    if conditions.is_calm && facts.registered && linked.is_some() && linked != is_seen {
        return Err(format!("{name} is connected on {linked:?}; {is_seen:?} is reported"));
    }
    let is_unsure = edge.unheard.contains(&who);
    if conditions.is_calm && is_seen.is_some() && !edge.links.contains_key(&who) && !is_unsure {
        return Err(format!("{name} has left; {is_seen:?} is reported"));
    }
    Ok(())
}

/// Which pushes there are, and how far they have come.
fn pushes(
    plan: &PushPlan,
    books: &mut Books,
    app: usize,
    views: &[PushView],
    clock: &Clock,
    conditions: Conditions,
    is_at_rest: bool,
) -> Result<(), String> {
    for view in views {
        let id = view.push.id;
        let name = |what: String| format!("push {id} of {}: {what}", plan.apps[app].0);
        books.discover(app, id, clock).map_err(|what| name(format!("it is there, and {what}")))?;
        let push = books.pushes.get_mut(&(app, id)).expect("it was found just now");
        push.accepted = Is::Yes;
        if !push.is_occurrence && *view.push != push.new {
            return Err(name(format!("it is {:?}; asked for was {:?}", view.push, push.new)));
        }
        if view.schedule.is_some() != push.is_occurrence {
            return Err(name(format!("that a schedule made it is wrong: {:?}", view.schedule)));
        }
        if push.accepted_at.is_some_and(|before| before != view.accepted_at) {
            return Err(name(format!(
                "it was accepted at {:?}; {:?} is reported",
                push.accepted_at, view.accepted_at
            )));
        }
        push.accepted_at = Some(view.accepted_at);
        sum(&view.counts).map_err(name)?;
        // Each device counts for one action at most, that of its first click.
        if view.actions.iter().map(|(_, clicks)| clicks).sum::<u64>() > view.counts.clicked {
            return Err(name(format!("{:?} of {} clicks", view.actions, view.counts.clicked)));
        }
        let is_due = match push.new.when {
            When::Now => true,
            When::At(at) => at <= conditions.now,
            When::Local(_) => false,
        };
        if view.stage == Stage::Scheduled && is_due && conditions.is_calm && is_at_rest {
            return Err(name("it is its time, and it has not started".into()));
        }
        let may_start = push.start.min <= conditions.high || matches!(push.new.when, When::Local(_));
        if view.started_at.is_some() && !may_start && view.stage != Stage::Cancelled {
            return Err(name(format!("it has started at {:?}, before its time", view.started_at)));
        }
        if push.cancelled == Is::Yes && view.stage != Stage::Cancelled {
            return Err(name(format!("it was cancelled, and is {:?}", view.stage)));
        }
        let is_everywhere =
            view.started_at.is_some() && is_at_rest && !matches!(push.new.when, When::Local(_));
        if is_everywhere && push.start.max == OPEN {
            push.start = Span { max: clock.high(), ..push.start };
            push.closed.extend(0..plan.devices.len());
        }
        if let Audience::Device(_) = push.new.audience
            && view.counts.targeted > 1
        {
            return Err(name(format!("it is for one device, and {} are targeted", view.counts.targeted)));
        }
    }
    // Accepted pushes are there; others never were.
    for push in books.pushes.values_mut().filter(|push| push.app == app) {
        let is_there = views.iter().any(|view| view.push.id == push.new.id);
        match (is_there, push.accepted) {
            (false, Is::Yes) => {
                return Err(format!("push {} was accepted, and is not there", push.new.id));
            }
            (false, _) => {
                // A cancellation that was lost found nothing either.
                (push.accepted, push.cancelled, push.cancels) = (Is::No, Is::No, 0);
            }
            (true, _) => {}
        }
    }
    Ok(())
}

/// Each targeted device is in one place.
fn sum(counts: &Counts) -> Result<(), String> {
    let places = counts.waiting
        + counts.owed
        + counts.in_flight
        + counts.delivered
        + counts.expired
        + counts.collapsed
        + counts.crowded_out
        + counts.refused
        + counts.cancelled;
    let left_out = counts.opted_out + counts.held_out + counts.capped + counts.quiet + counts.no_value;
    let is_sound = places == counts.targeted
        && counts.matched == counts.targeted + left_out
        && counts.opened <= counts.delivered
        && counts.clicked <= counts.opened;
    if is_sound { Ok(()) } else { Err(format!("its counts don't add up: {counts:?}")) }
}

/// The counts are those of the deliveries.
fn counts(counts: &Counts, stands: &BTreeMap<usize, State>) -> Result<(), String> {
    let count = |is: fn(&State) -> bool| stands.values().filter(|state| is(state)).count() as u64;
    let places = [
        (counts.opted_out, count(|state| matches!(state, State::OptedOut | State::Revoked)), "opted out"),
        (counts.held_out, count(|state| *state == State::HeldOut), "held out"),
        (counts.capped, count(|state| *state == State::Capped), "capped"),
        (counts.quiet, count(|state| *state == State::Quiet), "quiet"),
        (counts.no_value, count(|state| matches!(state, State::NoValue(_))), "without a value"),
        (counts.waiting, count(|state| matches!(state, State::Waiting(_))), "waiting"),
        (counts.owed, count(|state| *state == State::Owed), "owed"),
        (counts.in_flight, count(|state| *state == State::InFlight), "in flight"),
        (
            counts.delivered,
            count(|state| matches!(state, State::Delivered | State::Opened | State::Clicked)),
            "delivered",
        ),
        (counts.opened, count(|state| matches!(state, State::Opened | State::Clicked)), "opened"),
        (counts.clicked, count(|state| *state == State::Clicked), "clicked"),
        (counts.expired, count(|state| *state == State::Expired), "expired"),
        (counts.collapsed, count(|state| *state == State::Collapsed), "collapsed"),
        (counts.crowded_out, count(|state| *state == State::CrowdedOut), "crowded out"),
        (counts.refused, count(|state| matches!(state, State::Refused | State::TooLarge)), "refused"),
        (counts.cancelled, count(|state| *state == State::Cancelled), "cancelled"),
    ];
    match places.iter().find(|(reported, seen, _)| reported != seen) {
        None => Ok(()),
        Some((reported, seen, what)) => {
            Err(format!("{reported} devices are reported as {what}; {seen} are seen: {stands:?}"))
        }
    }
}

/// Each occurrence of a schedule made one push, and records which.
fn schedules(books: &Books, app: usize, views: &[ScheduleView]) -> Result<(), String> {
    for scheduled in books.schedules.values().filter(|one| one.app == app && one.there == Is::Yes) {
        if !views.iter().any(|view| view.schedule.push.id == scheduled.push.id) {
            return Err(format!("the schedule s{} was made, and is not there", scheduled.name));
        }
    }
    for view in views {
        let name = &view.schedule.name;
        let half = (view.schedule.push.id.0 >> 64) as u64;
        let Some(scheduled) = books.schedules.get(&half).filter(|one| one.app == app) else {
            return Err(format!("nobody made the schedule {name}"));
        };
        for (at, push) in &view.last {
            // The schedule may have had another push, and other times, before.
            let named = books.schedules.values().filter(|one| one.is_named_as(scheduled));
            let half = push.map(|push| (push.0 >> 64) as u64);
            let is_of = |one: &&Scheduled| half.is_none_or(|half| half == (one.push.id.0 >> 64) as u64);
            let comes_then = |one: &Scheduled| (at.0 / 1_000).is_multiple_of(one.every_s);
            if !named.filter(is_of).any(comes_then) {
                return Err(format!("{name} had an occurrence at {}, which made {push:?}", at.0));
            }
            if push.is_some_and(|push| push.0 as u64 != at.0 / 1_000) {
                return Err(format!("{name}'s occurrence at {} made {push:?}", at.0));
            }
        }
        let mut times: Vec<_> = view.last.iter().map(|(at, _)| *at).collect();
        times.dedup();
        if times.len() < view.last.len() {
            return Err(format!("{name} had an occurrence twice: {:?}", view.last));
        }
        let lost = view
            .last
            .iter()
            .filter_map(|(_, push)| *push)
            .find(|push| !books.pushes.contains_key(&(app, *push)));
        if let Some(push) = lost {
            return Err(format!("{name} made {push}, which is not there"));
        }
        let there =
            books.pushes.keys().filter(|(of, push)| *of == app && (push.0 >> 64) as u64 == half).count()
                as u64;
        if there > view.made {
            return Err(format!("{name} reports that it made {} pushes; {there} are there", view.made));
        }
        let listed = view.last.iter().filter(|(_, push)| push.is_some()).count() as u64;
        if view.made < listed || (view.last.len() < 20 && view.made != listed) {
            return Err(format!("{name} reports that it made {} pushes: {:?}", view.made, view.last));
        }
    }
    Ok(())
}
