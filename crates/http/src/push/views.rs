//! Pushes as answers show them: what was asked for, and what became of it.
//!
//! Each targeted device is counted in one place: `targeted` is the sum of `waiting` to `cancelled`,
//! `opened` and `clicked` aside.

use serde::Serialize;
use serde_json::{Value, json};
use stadium_grants::Verb;
use stadium_push::live::{ClientId, LiveAudience, LiveReport};
use stadium_push::{Accepted, Counts, Latency, PushView, Sample, Stage};
use stadium_registry::AppName;
use utoipa::ToSchema;

use crate::audiences::fields::audience_json;
use crate::audiences::views::PreviewReport;
use crate::push::fields::{ContentReport, OptionsFields, WhenField};
use crate::push::rendered::RenderedReport;
use crate::request::access::Caller;
use crate::spelling::timestamp;

/// A push that was taken over.
#[derive(Serialize, ToSchema)]
pub(crate) struct AcceptedPushReport {
    /// The push.
    #[schema(example = "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b")]
    pub(crate) id: String,
    /// `accepted`: it is on disk, or a live push is under way. With `dry_run`: `valid`, and nothing
    /// happened.
    pub(crate) status: &'static str,
    /// Whether the same push was accepted before: nothing happened now.
    pub(crate) duplicate: bool,
    /// Where to see how far it has come.
    pub(crate) url: String,
    /// Whom it would reach, of a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) preview: Option<PreviewReport>,
    /// The texts that `device` would get, of a dry run that names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rendered: Option<RenderedReport>,
}

impl AcceptedPushReport {
    pub(crate) fn of(id: String, url: String, accepted: Accepted) -> Self {
        Self {
            id,
            status: "accepted",
            duplicate: accepted == Accepted::Before,
            url,
            preview: None,
            rendered: None,
        }
    }
}

/// A push, and what became of it.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlatformPushReport {
    /// The push.
    id: String,
    /// Whose.
    app: String,
    /// Whether it is a live push: to devices that were connected, kept nowhere. Its counts go when
    /// the server stops.
    live: bool,
    /// The schedule that made it.
    schedule: Option<String>,
    /// `scheduled`, `sending`, `settled` (nobody is owed it any more) or `cancelled`.
    #[schema(example = "settled")]
    pub(crate) status: &'static str,
    /// When it was accepted (RFC 3339).
    accepted_at: String,
    /// When it started.
    started_at: Option<String>,
    /// When it was to start.
    when: WhenField,
    /// Whom it is for.
    audience: Value,
    /// The first line of it. Only with the right `push.payload`.
    title: Option<String>,
    /// Its content; only where one push is shown. Only with the right `push.payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ContentReport>,
    /// How it is made.
    options: OptionsFields,
    /// How many devices stand where.
    counts: CountsReport,
    /// Clicks on its actions: those that came with the name of one. At least the first 16 names are
    /// counted. Only where one push is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    actions: Option<Vec<ActionReport>>,
    /// From the start to the write.
    sent: LatencyReport,
    /// From the start to the acknowledgement.
    acknowledged: LatencyReport,
    /// What happened in each second since the start, at most 600, then in each minute; only where
    /// one push is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<Vec<SampleReport>>,
}

/// Clicks on one action of a push, such as a button.
#[derive(Serialize, ToSchema)]
#[schema(as = PushAction)]
pub(crate) struct ActionReport {
    /// The action, as devices name it.
    #[schema(example = "buy")]
    action: String,
    /// The devices whose first click it was.
    clicks: u64,
}

/// How many devices stand where.
#[derive(Serialize, ToSchema)]
pub(crate) struct CountsReport {
    /// Registered when it started.
    devices: u64,
    /// Matched by its audience.
    matched: u64,
    /// Left out: not opted in, or revoked.
    opted_out: u64,
    /// Left out: held out.
    held_out: u64,
    /// Left out: had their fill.
    capped: u64,
    /// Left out: in their quiet hours.
    quiet: u64,
    /// Left out: a text needs a value that the device has not.
    no_value: u64,
    /// Everybody who was matched and not left out.
    targeted: u64,
    /// Owed still, when their quiet hours are over.
    waiting: u64,
    /// Owed still: for their return, or for the push's pace.
    owed: u64,
    /// Owed still: sent, and not acknowledged.
    in_flight: u64,
    /// Acknowledged; at QoS 0: sent.
    delivered: u64,
    /// Their users opened it; counted among the delivered too.
    opened: u64,
    /// Their users clicked it, or an action of it; counted among the opened too.
    clicked: u64,
    /// The push expired before they came.
    expired: u64,
    /// A newer push took its place.
    collapsed: u64,
    /// Their inbox was full.
    crowded_out: u64,
    /// They refused it, or it was too large for them.
    refused: u64,
    /// It was cancelled first, or the device was removed.
    cancelled: u64,
}

impl CountsReport {
    fn of(counts: &Counts) -> Self {
        Self {
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
}

/// A distribution of milliseconds; all 0 when `count` is.
#[derive(Serialize, ToSchema)]
#[schema(as = PushLatency)]
pub(crate) struct LatencyReport {
    /// Deliveries it describes.
    count: u64,
    /// The first.
    first_ms: u64,
    /// Half took at most this.
    p50_ms: u64,
    /// 99 in 100.
    p99_ms: u64,
    /// The last.
    last_ms: u64,
}

impl LatencyReport {
    fn of(latency: &Latency) -> Self {
        Self {
            count: latency.count,
            first_ms: latency.first_ms,
            p50_ms: latency.p50_ms,
            p99_ms: latency.p99_ms,
            last_ms: latency.last_ms,
        }
    }
}

/// What happened in a second or a minute.
#[derive(Serialize, ToSchema)]
#[schema(as = PushSample)]
pub(crate) struct SampleReport {
    /// Its beginning, seconds from the start of the push.
    from_s: u32,
    /// Written.
    sent: u32,
    /// Acknowledged.
    acknowledged: u32,
    /// Opened.
    opened: u32,
    /// Clicked.
    clicked: u32,
}

impl SampleReport {
    fn of(sample: &Sample) -> Self {
        let Sample { from_s, sent, acknowledged, opened, clicked } = *sample;
        Self { from_s, sent, acknowledged, opened, clicked }
    }
}

/// How much of a push is shown.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// Whether its content and series are: not where it is one of many.
    pub(crate) whole: bool,
    /// Whether the caller may see payloads: its title and its content.
    pub(crate) payload: bool,
}

impl Shown {
    /// One push, to a caller.
    pub(crate) fn one(caller: &Caller, of: &AppName) -> Self {
        Self { whole: true, payload: caller.allows(Verb::PushPayload, of.as_str()) }
    }

    /// One of many, to a caller.
    pub(crate) fn listed(caller: &Caller, of: &AppName) -> Self {
        Self { whole: false, ..Self::one(caller, of) }
    }
}

/// Whether nothing will happen to it any more.
pub(crate) fn is_over(stage: Stage) -> bool {
    matches!(stage, Stage::Settled | Stage::Cancelled)
}

impl PlatformPushReport {
    /// Whether its id, its title where that is shown, its schedule or its audience contains this,
    /// which is in lower case.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        let given = [self.title.as_deref(), self.schedule.as_deref()].into_iter().flatten();
        let mut texts = std::iter::once(self.id.as_str()).chain(given);
        texts.any(|each| each.to_lowercase().contains(text))
            || self.audience.to_string().to_lowercase().contains(text)
    }

    pub(crate) fn of(view: &PushView, shown: Shown) -> Self {
        let push = &view.push;
        let Shown { whole, payload } = shown;
        Self {
            id: push.id.to_string(),
            app: push.app.to_string(),
            live: false,
            schedule: view.schedule.as_ref().map(ToString::to_string),
            status: status(view.stage),
            accepted_at: timestamp(view.accepted_at),
            started_at: view.started_at.map(timestamp),
            when: WhenField::of(push.when),
            audience: audience_json(&push.audience),
            title: match &push.content {
                stadium_push::Content::Notification(notification) if payload => {
                    notification.words.title.clone()
                }
                _ => None,
            },
            content: (whole && payload).then(|| ContentReport::of(&push.content)),
            options: OptionsFields::of(&push.options),
            counts: CountsReport::of(&view.counts),
            actions: whole.then(|| {
                let report = |(action, clicks): &(stadium_push::ClickAction, u64)| ActionReport {
                    action: action.to_string(),
                    clicks: *clicks,
                };
                view.actions.iter().map(report).collect()
            }),
            sent: LatencyReport::of(&view.sent),
            acknowledged: LatencyReport::of(&view.acknowledged),
            series: whole.then(|| view.series.iter().map(SampleReport::of).collect()),
        }
    }
}

impl PlatformPushReport {
    /// The same of a live push.
    pub(crate) fn of_live(report: &LiveReport, shown: Shown) -> Self {
        let push = &report.push;
        let accepted_at = timestamp(report.accepted_at);
        Self {
            id: push.id.to_string(),
            app: push.app.to_string(),
            live: true,
            schedule: None,
            status: status(report.stage()),
            started_at: Some(accepted_at.clone()),
            accepted_at,
            when: WhenField::Now,
            audience: match &push.to {
                LiveAudience::Registered(audience) => audience_json(audience),
                LiveAudience::Channel(name) => json!({"channel": name.as_str()}),
                LiveAudience::Clients(ids) => match &**ids {
                    [id] => json!({"device": id.as_str()}),
                    ids => json!({"devices": ids.iter().map(ClientId::as_str).collect::<Vec<_>>()}),
                },
            },
            title: push.title.clone().filter(|_| shown.payload),
            content: None,
            options: OptionsFields::of_live(push.qos.number()),
            counts: CountsReport::of(&report.counts()),
            actions: None,
            sent: LatencyReport::of(&report.sent_latency()),
            acknowledged: LatencyReport::of(&report.acknowledged_latency()),
            series: None,
        }
    }
}

/// A stage's word.
fn status(stage: Stage) -> &'static str {
    match stage {
        Stage::Scheduled => "scheduled",
        Stage::Sending => "sending",
        Stage::Settled => "settled",
        Stage::Cancelled => "cancelled",
    }
}

/// A page of pushes, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlatformPushPage {
    pub(crate) pushes: Vec<PlatformPushReport>,
    /// `before` of the next page; none on the last one.
    pub(crate) next: Option<String>,
}
