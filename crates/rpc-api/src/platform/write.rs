//! Answers become messages.
//!
//! Each function takes the one kind of answer that its method expects, and gives `None` for another kind, which would be a mistake of the
//! shards. A value that is none in an answer is not set in its message; where nothing was found,
//! that is a refusal.

use stadium_push::refusal::{DEVICE_UNKNOWN, PUSH_UNKNOWN};
use stadium_push::{
    Accepted, Answer, Audience, Changed, ClickAction, Content, Counts, Held, Latency, Missed, NewPush,
    Notification, Options, Pace, PushId, PushView, QuietHours, ScheduleView, Stage, State, When, Words, Zone,
};
use stadium_rpc::Refusal;

use crate::{proto, request};

type Written<A> = Option<Result<A, Refusal>>;

pub(crate) fn done(answer: Answer) -> Written<()> {
    matches!(answer, Answer::Done).then_some(Ok(()))
}

pub(crate) fn receipt(answer: Answer) -> Written<proto::PushReceipt> {
    let Answer::Accepted(accepted) = answer else { return None };
    Some(Ok(proto::PushReceipt { duplicate: accepted == Accepted::Before }))
}

pub(crate) fn checked(answer: Answer) -> Written<()> {
    matches!(answer, Answer::Accepted(_)).then_some(Ok(()))
}

pub(crate) fn push(answer: Answer) -> Written<proto::PushReport> {
    let Answer::Push(push) = answer else { return None };
    let unknown = || Refusal::rejected(PUSH_UNKNOWN, "no push has that id, or it is not remembered any more");
    Some(push.map(|push| report(*push)).ok_or_else(unknown))
}

pub(crate) fn pushes(answer: Answer) -> Written<proto::PushReports> {
    let Answer::Pushes(pushes) = answer else { return None };
    Some(Ok(proto::PushReports { pushes: pushes.into_iter().map(report).collect() }))
}

fn report(view: PushView) -> proto::PushReport {
    let stage = match view.stage {
        Stage::Scheduled => proto::PushStage::Scheduled,
        Stage::Sending => proto::PushStage::Sending,
        Stage::Settled => proto::PushStage::Settled,
        Stage::Cancelled => proto::PushStage::Cancelled,
    };
    proto::PushReport {
        push: Some(of_push(*view.push)),
        stage: stage.into(),
        schedule: view.schedule.map(|name| name.to_string()).unwrap_or_default(),
        accepted_ms: view.accepted_at.0,
        started_ms: view.started_at.map(|at| at.0),
        counts: Some(of_counts(view.counts)),
        sent: Some(of_latency(view.sent)),
        acknowledged: Some(of_latency(view.acknowledged)),
        actions: view.actions.into_iter().map(of_action).collect(),
    }
}

fn of_action((action, clicks): (ClickAction, u64)) -> proto::PushAction {
    proto::PushAction { action: action.to_string(), clicks }
}

fn of_counts(counts: Counts) -> proto::PushCounts {
    proto::PushCounts {
        devices: counts.devices,
        matched: counts.matched,
        opted_out: counts.opted_out,
        held_out: counts.held_out,
        capped: counts.capped,
        quiet: counts.quiet,
        no_value: counts.no_value,
        targeted: counts.targeted,
        waiting: counts.waiting,
        owed: counts.owed,
        in_flight: counts.in_flight,
        delivered: counts.delivered,
        opened: counts.opened,
        clicked: counts.clicked,
        expired: counts.expired,
        collapsed: counts.collapsed,
        crowded_out: counts.crowded_out,
        refused: counts.refused,
        cancelled: counts.cancelled,
    }
}

fn of_latency(latency: Latency) -> proto::PushLatency {
    proto::PushLatency {
        count: latency.count,
        first_ms: latency.first_ms,
        p50_ms: latency.p50_ms,
        p99_ms: latency.p99_ms,
        last_ms: latency.last_ms,
    }
}

pub(crate) fn trace(answer: Answer) -> Written<proto::PushTrace> {
    let Answer::Trace(trace) = answer else { return None };
    let steps = trace.steps.into_iter().map(|step| proto::PushStep {
        at_ms: step.at.0,
        what: step.what.to_owned(),
        connection: step.connection.map(|name| name.to_string()).unwrap_or_default(),
        action: step.action.map(|action| action.to_string()).unwrap_or_default(),
    });
    Some(Ok(proto::PushTrace {
        state: state(&trace.state).into(),
        sentence: trace.sentence,
        steps: steps.collect(),
    }))
}

fn state(state: &State) -> proto::DeliveryState {
    use proto::DeliveryState as Word;
    match state {
        State::Scheduled => Word::Scheduled,
        State::NotRegistered => Word::NotRegistered,
        State::NotMatched { .. } => Word::NotMatched,
        State::OptedOut => Word::OptedOut,
        State::Revoked => Word::Revoked,
        State::HeldOut => Word::HeldOut,
        State::Capped => Word::Capped,
        State::Quiet => Word::Quiet,
        State::NoValue(_) => Word::NoValue,
        State::Waiting(_) => Word::Waiting,
        State::Owed => Word::Owed,
        State::InFlight => Word::InFlight,
        State::Delivered => Word::Delivered,
        State::Opened => Word::Opened,
        State::Clicked => Word::Clicked,
        State::Expired => Word::Expired,
        State::Collapsed => Word::Collapsed,
        State::CrowdedOut => Word::CrowdedOut,
        State::Refused => Word::Refused,
        State::TooLarge => Word::TooLarge,
        State::Cancelled => Word::Cancelled,
        State::Counted => Word::Counted,
    }
}

pub(crate) fn preview(answer: Answer) -> Written<proto::AudiencePreview> {
    let Answer::Preview(preview) = answer else { return None };
    let clauses = preview.clauses.into_iter().map(|clause| proto::AudienceClause {
        path: clause.path,
        clause: clause.clause,
        matches: clause.matches,
        keeps_out: clause.keeps_out,
    });
    Some(Ok(proto::AudiencePreview {
        devices: preview.devices,
        matched: preview.matched,
        opted_out: preview.opted_out,
        quiet: preview.quiet,
        capped: preview.capped,
        reached: preview.reached,
        connected: preview.connected,
        clauses: clauses.collect(),
        sample: preview.sample.iter().map(ToString::to_string).collect(),
        took_us: preview.took_us,
    }))
}

pub(crate) fn changed(answer: Answer) -> Written<proto::DeviceOutcomes> {
    let Answer::Changed(outcomes) = answer else { return None };
    let outcome = |outcome| match outcome {
        Ok(changed) => proto::DeviceOutcome { registered: changed == Changed::Registered, refused: None },
        Err(refusal) => proto::DeviceOutcome { registered: false, refused: Some(not_changed(refusal)) },
    };
    Some(Ok(proto::DeviceOutcomes { outcomes: outcomes.into_iter().map(outcome).collect() }))
}

fn not_changed(refusal: stadium_push::Refusal) -> proto::DeviceNotChanged {
    let (code, reason, retry_after_ms, may_have_happened) = request::of_an_item(refusal);
    proto::DeviceNotChanged { code, reason, retry_after_ms, may_have_happened }
}

/// The outcome of the one device that was to be changed.
pub(crate) fn admitted(answer: Answer) -> Written<()> {
    let Answer::Changed(outcomes) = answer else { return None };
    let outcome = outcomes.into_iter().next()?;
    Some(outcome.map(|_| ()).map_err(request::refusal))
}

pub(crate) fn removed(answer: Answer) -> Written<proto::DevicesRemoved> {
    let Answer::Removed(devices) = answer else { return None };
    Some(Ok(proto::DevicesRemoved { devices }))
}

pub(crate) fn device(answer: Answer) -> Written<proto::DeviceReport> {
    let Answer::Device(device) = answer else { return None };
    let Some(view) = device else {
        return Some(Err(Refusal::rejected(DEVICE_UNKNOWN, "no device has that id")));
    };
    let inbox = view.inbox.iter().map(|owed| proto::OwedPush {
        push: id(owed.push),
        since_ms: owed.since.0,
        until_ms: owed.until.map(|until| until.0),
        priority: owed.priority.into(),
    });
    let newest = view.newest.iter().map(|(push, at, was)| proto::NewestPush {
        push: id(*push),
        at_ms: at.0,
        state: state(was).into(),
    });
    Some(Ok(proto::DeviceReport {
        device: view.device.to_json().to_string(),
        connection: view.connection.map(|name| name.to_string()).unwrap_or_default(),
        inbox: inbox.collect(),
        newest: newest.collect(),
    }))
}

pub(crate) fn schedules(answer: Answer) -> Written<proto::PushSchedules> {
    let Answer::Schedules(schedules) = answer else { return None };
    Some(Ok(proto::PushSchedules { schedules: schedules.into_iter().map(schedule).collect() }))
}

fn schedule(view: ScheduleView) -> proto::PushScheduleReport {
    let made = *view.schedule;
    let zone = match made.zone {
        Zone::Local => String::new(),
        Zone::Named(name) => name.into(),
    };
    let late_ms = match made.missed {
        Missed::Skip => 0,
        Missed::Late(late) => late,
    };
    let last = view
        .last
        .into_iter()
        .map(|(at, push)| proto::PushOccurrence { at_ms: at.0, push: push.map(id).unwrap_or_default() });
    proto::PushScheduleReport {
        schedule: Some(proto::NewPushSchedule {
            name: made.name.to_string(),
            cron: made.cron.into(),
            zone,
            late_ms,
            push: Some(of_push(made.push)),
        }),
        paused: view.held == Held::Paused,
        next_ms: view.next.iter().map(|at| at.0).collect(),
        last: last.collect(),
        made: view.made,
        skipped: view.skipped,
    }
}

/// A push as it was asked for.
pub(crate) fn of_push(push: NewPush) -> proto::NewPush {
    use proto::new_push::{Audience as Whom, Content as What, When as Start};
    proto::NewPush {
        app: push.app.to_string(),
        id: id(push.id),
        audience: Some(match push.audience {
            Audience::Device(device) => Whom::Device(device.to_string()),
            Audience::Saved(name) => Whom::Saved(name.to_string()),
            Audience::Selector(selector) => Whom::Selector(selector.to_json().to_string()),
        }),
        content: Some(match push.content {
            Content::Notification(notification) => What::Notification(of_notification(*notification)),
            Content::Raw { payload, content_type, properties } => What::Message(proto::RawMessage {
                payload,
                content_type: content_type.map(String::from).unwrap_or_default(),
                user_properties: properties
                    .into_iter()
                    .map(|(name, value)| proto::UserProperty { name: name.into(), value: value.into() })
                    .collect(),
            }),
        }),
        options: Some(of_options(&push.options)),
        when: match push.when {
            When::Now => None,
            When::At(at) => Some(Start::AtMs(at.0)),
            When::Local(at) => Some(Start::LocalS(at.0)),
        },
    }
}

fn of_notification(notification: Notification) -> proto::Notification {
    let words = |words: Words| proto::Words { title: words.title, body: words.body, data: words.data };
    let variants = |variants: Vec<(_, Words)>| {
        let variant =
            |(of, texts): (_, Words)| proto::WordsVariant { of: String::from(of), words: Some(words(texts)) };
        variants.into_iter().map(variant).collect()
    };
    proto::Notification {
        words: Some(words(notification.words)),
        platforms: variants(notification.platforms),
        languages: variants(notification.languages),
    }
}

fn of_options(options: &Options) -> proto::PushOptions {
    use proto::push_options::Pace as Given;
    let quiet_hours = match options.quiet_hours {
        QuietHours::Wait => proto::QuietHours::Wait,
        QuietHours::Skip => proto::QuietHours::Skip,
        QuietHours::Ignore => proto::QuietHours::Ignore,
    };
    proto::PushOptions {
        expiry_ms: options.expiry,
        priority: Some(options.priority.into()),
        collapse_key: options.collapse.as_ref().map(ToString::to_string).unwrap_or_default(),
        pace: match options.pace {
            Pace::AtOnce => None,
            Pace::PerSecond(devices) => Some(Given::PerSecond(devices)),
            Pace::Over(time) => Some(Given::OverMs(time)),
        },
        cap: options.cap.map(|cap| proto::PushCap { pushes: cap.pushes.into(), within_ms: cap.within }),
        quiet_hours: quiet_hours.into(),
        at_most_once: options.qos == 0,
        holdout_percent: options.holdout.into(),
    }
}

fn id(id: PushId) -> Vec<u8> {
    id.0.to_be_bytes().to_vec()
}
