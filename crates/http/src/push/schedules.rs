//! Schedules of pushes in requests and answers.
//!
//! The platform checks expressions and time zones.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use stadium_push::{Held, Missed, NewSchedule, PushId, ScheduleName, ScheduleView, Zone};
use stadium_registry::AppName;
use utoipa::ToSchema;

use crate::apps::views::milliseconds;
use crate::audiences::fields::audience_json;
use crate::platform::ids::random;
use crate::push::fields::{ContentReport, OptionsFields, PushFields};
use crate::push::views::Shown;
use crate::request::body::parse;
use crate::request::problem::Problem;
use crate::spelling::{field, timestamp};

/// A push at certain times.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PushScheduleFields {
    /// Minute, hour, day of month, month, day of week; also `@daily` and the like.
    #[schema(example = "0 9 * * MON-FRI")]
    cron: String,
    /// An IANA time zone, or `local` for each device's own clock; `UTC` by default.
    #[serde(default)]
    #[schema(example = "Europe/Berlin")]
    time_zone: Option<String>,
    /// Handling of an occurrence that passed while the server was down; `skip` by default.
    #[serde(default)]
    missed: Option<MissedField>,
    /// What is made: a push without `id` and `when`.
    #[schema(value_type = PushFields)]
    push: Box<RawValue>,
}

/// What becomes of a missed occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MissedField {
    /// Nothing.
    Skip,
    /// The newest one is sent late, where it is not older than so many seconds.
    LateS(u64),
}

impl PushScheduleFields {
    /// The schedule. One that is changed keeps the first part of its pushes' ids, so that no occurrence is sent twice.
    pub(crate) fn check(
        self,
        app: AppName,
        name: ScheduleName,
        known: Option<PushId>,
    ) -> Result<NewSchedule, Problem> {
        let push: PushFields =
            parse(self.push.get().as_bytes()).map_err(|problem| problem.within("push."))?;
        for (given, what) in [(push.id.is_some(), "id"), (push.has_when(), "when")] {
            if given {
                let detail = "a schedule gives each of its pushes one of its own";
                return Err(field(&format!("push.{what}"), detail));
            }
        }
        let id = known.map_or_else(|| random().map(|bytes| PushId(u128::from_be_bytes(bytes))), Ok)?;
        Ok(NewSchedule {
            name,
            cron: self.cron.into(),
            zone: match self.time_zone.as_deref() {
                Some("local") => Zone::Local,
                zone => Zone::Named(zone.unwrap_or("UTC").into()),
            },
            missed: match self.missed {
                None | Some(MissedField::Skip) => Missed::Skip,
                Some(MissedField::LateS(seconds)) => Missed::Late(milliseconds("missed.late_s", seconds)?),
            },
            push: push.check("push.", app, id)?,
        })
    }
}

/// A schedule, and what it did.
#[derive(Serialize, ToSchema)]
pub(crate) struct PushScheduleReport {
    /// Its name.
    name: String,
    /// Minute, hour, day of month, month, day of week.
    cron: String,
    /// An IANA time zone, or `local`.
    time_zone: String,
    /// What becomes of an occurrence that was missed.
    missed: MissedField,
    /// Whether it makes nothing until it is resumed.
    paused: bool,
    /// What it makes.
    push: ScheduledReport,
    /// Its next occurrences, at most 5; those of a local one by a clock in UTC.
    next: Vec<String>,
    /// Its last ones, newest first, at most 20.
    last: Vec<OccurrenceReport>,
    /// Occurrences that made a push.
    made: u64,
    /// Occurrences that were skipped.
    skipped: u64,
}

/// What a schedule makes.
#[derive(Serialize, ToSchema)]
struct ScheduledReport {
    /// Whom it is for.
    audience: Value,
    /// Its content. Only with the right `push.payload`.
    #[serde(flatten)]
    content: ContentReport,
    /// How.
    options: OptionsFields,
}

/// An occurrence, and the push that it made.
#[derive(Serialize, ToSchema)]
struct OccurrenceReport {
    /// When it was due.
    at: String,
    /// The push; none where it was skipped.
    push: Option<String>,
}

impl PushScheduleReport {
    pub(crate) fn of(view: &ScheduleView, shown: Shown) -> Self {
        let NewSchedule { name, cron, zone, missed, push } = &*view.schedule;
        Self {
            name: name.to_string(),
            cron: cron.to_string(),
            time_zone: match zone {
                Zone::Local => "local".to_owned(),
                Zone::Named(zone) => zone.to_string(),
            },
            missed: match missed {
                Missed::Skip => MissedField::Skip,
                Missed::Late(time) => MissedField::LateS(time / 1_000),
            },
            paused: view.held == Held::Paused,
            push: ScheduledReport {
                audience: audience_json(&push.audience),
                content: if shown.payload {
                    ContentReport::of(&push.content)
                } else {
                    ContentReport::default()
                },
                options: OptionsFields::of(&push.options),
            },
            next: view.next.iter().map(|at| timestamp(*at)).collect(),
            last: view
                .last
                .iter()
                .map(|(at, push)| OccurrenceReport {
                    at: timestamp(*at),
                    push: push.map(|push| push.to_string()),
                })
                .collect(),
            made: view.made,
            skipped: view.skipped,
        }
    }
}

/// The schedules of an app, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct PushSchedules {
    pub(crate) schedules: Vec<PushScheduleReport>,
}

/// A schedule's name out of the path.
pub(crate) fn schedule_name(text: &str) -> Result<ScheduleName, Problem> {
    crate::platform::in_path("schedule", ScheduleName::new(text))
}

/// The id of a schedule that is known.
pub(crate) fn known_id(schedules: &[ScheduleView], name: &ScheduleName) -> Option<PushId> {
    schedules.iter().find(|view| view.schedule.name == *name).map(|view| view.schedule.push.id)
}
