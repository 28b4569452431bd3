//! The push platform between JSON and the shards: the forms of requests and of answers, files of
//! devices.
//!
//! Bounds of values are the platform's own to check, so that every interface has the same ones; here is checked what is JSON's
//! alone, and where in the body a mistake stands.

use serde_json::Value;
use stadium_push::live::LiveReach;
use stadium_push::{
    Accepted, Answer, AppView, AudienceName, Changed, Command, DeliveryView, DeviceView, InboxPage, Preview,
    PushView, Refusal, ScheduleView, Trace,
};
use stadium_registry::{AppName, Changes, InvalidName, Mistake, Selector};
use stadium_shard::{Shards, Ticket};

use crate::request::problem::{FIELD_WRONG, NAME_WRONG, Problem};
use crate::shards::{Asks, expected};

pub(crate) mod ids;
pub(crate) mod problems;
pub(crate) mod states;

impl Asks for Command {
    type Answer = Answer;

    fn submit(self, shards: &Shards) -> Ticket<Self::Answer> {
        shards.submit_push(self)
    }
}

expected! { Answer as Answer:
    Changed Vec<Result<Changed, Refusal>>;
    Removed u64;
    Apps Vec<AppView>;
    Device Option<Box<DeviceView>>;
    Devices Vec<DeviceView>;
    Inbox InboxPage;
    Settled Vec<bool>;
    Preview Box<Preview>;
    Audiences Vec<(AudienceName, Selector)>;
    Accepted Accepted;
    Live Box<LiveReach>;
    Push Option<Box<PushView>>;
    Pushes Vec<PushView>;
    Trace Box<Trace>;
    Deliveries Vec<DeliveryView>;
    Schedules Vec<ScheduleView>;
}

/// A name out of the path.
pub(crate) fn in_path<T>(what: &str, name: Result<T, InvalidName>) -> Result<T, Problem> {
    name.map_err(|error| Problem::new(NAME_WRONG, error.to_string()).at(what))
}

/// An app's name out of the path.
pub(crate) fn app_name(text: &str) -> Result<AppName, Problem> {
    in_path("app", AppName::new(text))
}

/// The problem of a mistake in a value that stands at `at` in the body: empty, or as in `devices[3]`.
pub(crate) fn mistake(at: &str, Mistake { path, reason }: Mistake) -> Problem {
    let dot = if at.is_empty() || path.is_empty() || path.starts_with('[') { "" } else { "." };
    Problem::new(FIELD_WRONG, reason).at(format!("{at}{dot}{path}"))
}

/// The selector that stands at `at`.
pub(crate) fn selector(at: &str, json: &Value) -> Result<Selector, Problem> {
    Selector::parse(json).map_err(|error| mistake(at, error))
}

/// The changes that stand at `at`. Credentials and revocation have routes of their own, which take an admin.
pub(crate) fn changes(at: &str, json: &Value) -> Result<Changes, Problem> {
    let changes = Changes::parse(json).map_err(|error| mistake(at, error))?;
    let elsewhere = |name: &str, route: &str| {
        let path = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        Problem::new(FIELD_WRONG, format!("that is changed by {route} of the device")).at(path)
    };
    if changes.credential.is_some() {
        return Err(elsewhere("credential", "POST .../credential"));
    }
    if changes.revoked.is_some() {
        return Err(elsewhere("revoked", "POST .../revoke"));
    }
    Ok(changes)
}
