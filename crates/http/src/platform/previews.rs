//! Previews: how many devices an audience reaches, who is kept out by what, and how long a push to it takes.
//!
//! Counts are exact at the moment at which each shard counts; who comes and goes meanwhile is counted where they were.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stadium_push::{Pace, Preview};
use utoipa::ToSchema;

use super::notification::PaceField;

/// An audience to be previewed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewFields {
    /// As in a push.
    #[schema(example = json!({"and": [{"tag": "vip"}, {"platform": "ios"}]}))]
    pub(crate) audience: Value,
    /// Device ids to show, 0 to 100; 10 unless said otherwise.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 100)]
    pub(crate) sample: Option<u32>,
    /// How fast it would go out: `expected_s` says how long that takes.
    #[serde(default)]
    pub(crate) pace: Option<PaceField>,
}

/// How many an audience reaches.
#[derive(Serialize, ToSchema)]
pub(crate) struct PreviewReport {
    /// Registered devices.
    devices: u64,
    /// Those that match.
    matched: u64,
    /// Of those: not opted in, or revoked.
    opted_out: u64,
    /// Of the rest: in their quiet hours now.
    quiet: u64,
    /// Of the rest: had their fill, by the app's cap.
    capped: u64,
    /// Who would get it: matched and opted in.
    reached: u64,
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
        Self {
            devices: preview.devices,
            matched: preview.matched,
            opted_out: preview.opted_out,
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
