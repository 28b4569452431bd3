//! Live pushes of an app: accepted, found and traced.
//!
//! A push to registered devices is dispatched by the shards, one to a channel by the fleet alone.
//! The fleet counts the outcomes of both. The ids of the last ones are remembered, so that a
//! repeated request is not a second push ([`Ids`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stadium_push::live::{ClientId, LiveAudience, LivePush, LiveReach, LiveReport, Qos, TopicPush};
use stadium_push::{
    Accepted, Audience, Command, Content, Counts, DeviceView, NewPush, Preview, PushId, PushView, Refusal,
    State, Time, Trace, TraceStep, client_ids, refusal,
};
use stadium_registry::{DeviceId, Selector};
use stadium_telemetry::in_trace;

use crate::audiences::routes::{count, resolved};
use crate::fleet::{DeviceConnection, DeviceReport, Refusal as FleetRefusal};
use crate::push::fields::LiveFields;
use crate::request::app::App;
use crate::request::idempotency::{Ids, Known, RequestHash};
use crate::request::problem::Problem;
use crate::request::readiness::not_ready;
use crate::shards::ask_for;
use crate::spelling::timestamp;

/// How long a request waits that repeats one under way.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// Accepts a live push, or finds that it was accepted before. It goes on where the caller does not
/// wait for it any more. `named_by` is the request's hash where its client chose the id.
pub(crate) async fn accept(
    app: &Arc<App>,
    ids: &Arc<Mutex<Ids>>,
    push: LiveFields,
    named_by: Option<RequestHash>,
) -> Result<Accepted, Problem> {
    if let Some(problem) = not_ready(&app.fleet.readiness()) {
        return Err(problem);
    }
    let (of, id) = match &push {
        LiveFields::Registered(push) => (&push.app, push.id),
        LiveFields::Channel(push) => (&push.push.app, push.push.id),
    };
    let name = (of.clone(), id);
    let known = named_by.map(|hash| ids.lock().begin(&name, &hash, Instant::now()));
    match known {
        Some(Known::Accepted) => return Ok(Accepted::Before),
        Some(Known::OtherRequest) => return Err(reused(id)),
        Some(Known::UnderWay) => {
            let reason = "the same push is being accepted".to_owned();
            return Err(FleetRefusal::Busy { retry_after: UNDER_WAY, reason }.into());
        }
        Some(Known::New) | None => {}
    }
    let (app, ids) = (Arc::clone(app), Arc::clone(ids));
    let sent = tokio::spawn(in_trace(stadium_telemetry::current(), async move {
        let sent = match push {
            LiveFields::Registered(push) => dispatch(&app, *push).await,
            LiveFields::Channel(push) => to_channel(&app, *push).await,
        };
        match &sent {
            Err(problem) if !problem.is_unknown() => ids.lock().refused(&name),
            // Where nobody knows, the same request again must not push twice.
            _ => ids.lock().accepted(&name),
        }
        sent
    }));
    sent.await.map_err(|_| not_answered(id))??;
    Ok(Accepted::Now)
}

/// The task that sent it has ended early.
fn not_answered(id: PushId) -> Problem {
    FleetRefusal::Unknown { reason: format!("nobody knows whether push {id} was sent") }.into()
}

fn reused(id: PushId) -> Problem {
    let reason = format!("push {id} was accepted with another content: a new push needs a new id");
    Refusal::Rejected { code: refusal::ID_CONTENT, reason }.into()
}

async fn to_channel(app: &App, push: TopicPush) -> Result<(), Problem> {
    let LivePush { app: of, id, .. } = &push.push;
    let command = Command::Push { app: of.clone(), push: *id };
    let durable: Option<Box<PushView>> = ask_for(app, command).await?;
    if durable.is_some() {
        return Err(reused(*id));
    }
    Ok(app.fleet.push(push)?)
}

async fn dispatch(app: &App, mut push: NewPush) -> Result<(), Problem> {
    push.options.trace = stadium_telemetry::current().and_then(|trace| trace.sampled_context());
    if let Audience::Saved(_) = push.audience {
        push.audience = Audience::Selector(resolved(app, &push.app, push.audience).await?);
    }
    let token = app.fleet.open_push(LivePush {
        app: push.app.clone(),
        id: push.id,
        to: LiveAudience::Registered(push.audience.clone()),
        qos: Qos::of(push.options.qos),
        payload_bytes: push.content.bytes() as u64,
        title: match &push.content {
            Content::Notification(notification) => notification.words.title.clone(),
            Content::Raw { .. } => None,
        },
    })?;
    let reach: Result<Box<LiveReach>, Problem> =
        ask_for(app, Command::SendLive { push: Box::new(push), token }).await;
    match reach {
        Ok(reach) => {
            app.fleet.push_reached(token, *reach);
            Ok(())
        }
        // A shard may have dispatched it: its outcomes are counted on.
        Err(problem) if problem.is_unknown() => Err(problem),
        Err(problem) => {
            app.fleet.push_refused(token);
            Err(problem)
        }
    }
}

/// The refusal of a request that a live push cannot answer.
pub(crate) fn not_kept(id: PushId, what: &str) -> Problem {
    let reason = format!("push {id} is live: {what}");
    Refusal::Rejected { code: refusal::LIVE, reason }.into()
}

/// Why a device did or did not get a live push, as far as its audience, the device's connection and
/// the push's counts show it.
pub(crate) async fn trace(app: &App, live: &LiveReport, device: DeviceId) -> Result<Trace, Problem> {
    let report = connected(app, live, &device).await;
    let connection = report.as_ref().and_then(|report| report.connection.as_ref());
    let (state, sentence) = match excluded(app, live, &device, report.as_ref()).await? {
        Some(excluded) => excluded,
        None => judged(live, &device, connection),
    };
    let mut steps =
        vec![TraceStep { at: live.accepted_at, what: "accepted", connection: None, action: None }];
    if let Some(at) = connection.and_then(connected_at) {
        let at = TraceStep { at, what: "connected", connection: None, action: None };
        steps.insert(usize::from(at.at > live.accepted_at), at);
    }
    Ok(Trace { push: live.push.id, device, state, steps, sentence })
}

/// The device at the fleet: of its client ids the one that is connected.
async fn connected(app: &App, live: &LiveReport, device: &DeviceId) -> Option<DeviceReport> {
    let mut found = None;
    for id in client_ids(&live.push.app, device).filter_map(|id| ClientId::new(id).ok()) {
        match app.fleet.device(id).await {
            Some(report) if report.connection.is_some() => return Some(report),
            report => found = found.or(report),
        }
    }
    found
}

fn connected_at(connection: &DeviceConnection) -> Option<Time> {
    let since = connection.connected_at.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Time(u64::try_from(since.as_millis()).ok()?))
}

/// Whether the audience leaves the device out, by what is known of it now.
async fn excluded(
    app: &App,
    live: &LiveReport,
    device: &DeviceId,
    report: Option<&DeviceReport>,
) -> Result<Option<(State, String)>, Problem> {
    let not_matched = |clause: String| {
        let sentence = format!("{device} did not get it: the audience is {clause}.");
        Some((State::NotMatched { path: String::new(), clause }, sentence))
    };
    let of = &live.push.app;
    match &live.push.to {
        LiveAudience::Clients(ids) => {
            let is_named = client_ids(of, device).any(|id| ids.iter().any(|named| named.as_str() == id));
            Ok(if is_named { None } else { not_matched("a list of clients without it".to_owned()) })
        }
        LiveAudience::Channel(name) => {
            let topic = name.topic();
            let may_match = |filter: &str| filter == topic || filter.contains(['+', '#']);
            let subscribes =
                report.is_none_or(|report| report.subscriptions.iter().any(|held| may_match(&held.filter)));
            Ok(if subscribes { None } else { not_matched(format!("the subscribers of {topic}")) })
        }
        LiveAudience::Registered(audience) => {
            let view: Option<Box<DeviceView>> =
                ask_for(app, Command::Device { app: of.clone(), device: device.clone() }).await?;
            if view.is_none() {
                let sentence = format!("{device} did not get it: it is not registered.");
                return Ok(Some((State::NotRegistered, sentence)));
            }
            let (selector, is_one) = match audience {
                Audience::Device(named) => (Selector::Device(named.clone()), true),
                other => (resolved(app, of, other.clone()).await?, false),
            };
            let both = Selector::And(vec![Selector::Device(device.clone()), selector]);
            let preview: Box<Preview> = count(app, of, Audience::Selector(both), 0, None).await?;
            if preview.matched == 0 {
                return Ok(not_matched("one that it does not match now".to_owned()));
            }
            if !is_one && preview.opted_out > 0 {
                let sentence = format!("{device} did not get it: it has not opted in.");
                return Ok(Some((State::OptedOut, sentence)));
            }
            Ok(None)
        }
    }
}

/// The state of a device of the audience, from the counts of the push.
fn judged(live: &LiveReport, device: &DeviceId, connection: Option<&DeviceConnection>) -> (State, String) {
    let counts @ Counts { targeted, delivered, in_flight, .. } = live.counts();
    let accepted = timestamp(live.accepted_at);
    let since = connection.and_then(connected_at);
    if let Some(at) = since.filter(|&at| at >= live.accepted_at) {
        let since = timestamp(at);
        let sentence = format!(
            "{device} did not get it on this connection: it connected at {since}, after the live push at {accepted}."
        );
        return (State::Counted, sentence);
    }
    if !live.counting && delivered + in_flight + counts.owed == 0 {
        let sentence = format!("{device} did not get it: no connection took the live push at {accepted}.");
        return (State::Expired, sentence);
    }
    // The fleet knows the second in which a connection began.
    let was_connected = since.is_some_and(|at| at.after(1_000) <= live.accepted_at);
    if !live.counting && delivered == targeted && was_connected {
        let got = if live.push.qos == Qos::AtLeastOnce { "acknowledged it" } else { "were sent it" };
        return (State::Delivered, format!("{device} got it: all {targeted} targeted devices {got}."));
    }
    let is_connected = match since {
        Some(at) => format!("has been connected since {}", timestamp(at)),
        None => "is not connected now".to_owned(),
    };
    let sentence = format!(
        "{device} {is_connected}; the live push at {accepted} targeted {targeted} and reached {delivered} devices. Which ones is not kept."
    );
    (State::Counted, sentence)
}
