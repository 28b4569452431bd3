//! Previews: how many devices an audience or a push reaches, which are left out and why, and how
//! long the push takes.
//!
//! Counts are exact at the time at which each shard counts; a device that comes or goes meanwhile
//! is counted where they were.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stadium_push::{Pace, Preview};
use utoipa::ToSchema;

use crate::audiences::fields::PaceField;

/// An audience to be previewed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewFields {
    /// As in a push.
    #[schema(example = json!({"and": [{"tag": "vip"}, {"platform": "ios"}]}))]
    pub(crate) audience: Value,
    /// Device ids to show, 0 to 100; 10 by default.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 100)]
    pub(crate) sample: Option<u32>,
    /// How fast it would go out: `expected_s` is how long that takes.
    #[serde(default)]
    pub(crate) pace: Option<PaceField>,
}

/// How many an audience reaches, or a push to it: `matched` is the sum of those left out and of those reached.
#[derive(Serialize, ToSchema)]
pub(crate) struct PreviewReport {
    /// Registered devices.
    devices: u64,
    /// Those that match.
    matched: u64,
    /// Matched devices that were evaluated. Fewer than `matched` where very many devices match a push whose texts need values: the
    /// counts below are then estimates from a random sample of this size.
    evaluated: u64,
    /// Of the matched: not opted in, or revoked.
    opted_out: u64,
    /// Of the rest: held out of the push.
    held_out: u64,
    /// Of the rest: a text of the push needs a value that they lack.
    no_value: u64,
    /// Of those, by the first value that each lacks; the most frequent first, at most 20.
    missing_values: Vec<MissingValueReport>,
    /// Of the rest: in their quiet hours now. A push with `quiet_hours` `skip` leaves them out, any other reaches them.
    quiet: u64,
    /// Of the rest: had their fill, by the push's cap or the app's.
    capped: u64,
    /// Who would get it: matched, and not left out for any of these reasons.
    reached: u64,
    /// Why nobody would get it; missing where somebody would.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        example = "it would reach nobody: of 179 devices that match, 179 lack a value for `first_name`"
    )]
    warning: Option<String>,
    /// Of those, connected now.
    connected: u64,
    /// What each clause matches by itself, and keeps out.
    clauses: Vec<ClauseReport>,
    /// Some of those reached.
    sample: Vec<String>,
    /// How long the connected take at the given pace; none at once, where the network decides.
    expected_s: Option<f64>,
    /// How long a shard took to count, at most.
    took_us: u64,
}

/// A value that a push's texts need, and how many devices it leaves out for the lack of it.
#[derive(Serialize, ToSchema)]
struct MissingValueReport {
    /// The attribute or built-in field.
    #[schema(example = "first_name")]
    name: String,
    /// Devices that lack it.
    devices: u64,
}

/// What a clause does in an audience.
#[derive(Serialize, ToSchema)]
struct ClauseReport {
    /// Where it stands: `and[1]`; empty for all of it.
    path: String,
    /// What it asks for.
    #[schema(example = "tag \"vip\"")]
    clause: String,
    /// Devices that it means by itself.
    matches: u64,
    /// Devices for which it is the first clause that they fail.
    keeps_out: u64,
}

impl PreviewReport {
    pub(crate) fn of(preview: &Preview, pace: Pace) -> Self {
        let clause = |clause: &stadium_registry::ClauseCount| ClauseReport {
            path: clause.path.clone(),
            clause: clause.clause.clone(),
            matches: clause.matches,
            keeps_out: clause.keeps_out,
        };
        let missing = |value: &stadium_push::MissingValue| MissingValueReport {
            name: value.name.to_string(),
            devices: value.devices,
        };
        Self {
            devices: preview.devices,
            matched: preview.matched,
            evaluated: preview.evaluated,
            opted_out: preview.opted_out,
            held_out: preview.held_out,
            no_value: preview.no_value,
            missing_values: preview.missing.iter().map(missing).collect(),
            warning: warning(preview),
            quiet: preview.quiet,
            capped: preview.capped,
            reached: preview.reached,
            connected: preview.connected,
            clauses: preview.clauses.iter().map(clause).collect(),
            sample: preview.sample.iter().map(ToString::to_string).collect(),
            expected_s: match pace {
                Pace::AtOnce => None,
                Pace::PerSecond(devices) => Some(preview.connected as f64 / f64::from(devices.max(1))),
                Pace::Over(time) => Some(time as f64 / 1_000.0),
            },
            took_us: preview.took_us,
        }
    }
}

/// Why nobody would get it, in words; none where somebody would.
fn warning(preview: &Preview) -> Option<String> {
    if preview.reached > 0 {
        return None;
    }
    if preview.devices == 0 {
        return Some("it would reach nobody: the app has no registered device".to_owned());
    }
    if preview.matched == 0 {
        let devices = preview.devices;
        return Some(format!("it would reach nobody: none of {devices} registered devices matches"));
    }
    let named =
        preview.missing.iter().map(|value| (value.devices, format!("lack a value for `{}`", value.name)));
    let named_sum: u64 = preview.missing.iter().map(|value| value.devices).sum();
    let rest = [
        (preview.no_value.saturating_sub(named_sum), "lack another value"),
        (preview.opted_out, "are not opted in"),
        (preview.held_out, "are held out"),
        (preview.capped, "had their fill"),
        (preview.quiet, "are in their quiet hours"),
    ];
    let rest = rest.into_iter().map(|(devices, why)| (devices, why.to_owned()));
    let why: Vec<String> = named
        .chain(rest)
        .filter(|(devices, _)| *devices > 0)
        .map(|(devices, why)| format!("{devices} {why}"))
        .collect();
    let matched = preview.matched;
    Some(format!("it would reach nobody: of {matched} devices that match, {}", why.join(", ")))
}

/// A saved audience.
#[derive(Serialize, ToSchema)]
pub(crate) struct AudienceReport {
    /// Its name.
    pub(crate) name: String,
    /// Its selector.
    pub(crate) audience: Value,
}

/// The saved audiences of an app, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct AudienceList {
    pub(crate) audiences: Vec<AudienceReport>,
}

/// An audience to be saved.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AudienceFields {
    /// A selector.
    #[schema(example = json!({"tag": "vip"}))]
    pub(crate) audience: Value,
}

/// Devices that come onto a static list, or leave it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListFields {
    /// Up to 1,000 ids. One that is not registered gets an error of its own.
    pub(crate) devices: Vec<String>,
}
