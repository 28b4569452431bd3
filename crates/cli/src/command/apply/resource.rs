//! The things that a file declares, beside what the server has of them.
//!
//! A thing is made or changed by one `PUT` of its body, except keys, which are made anew. The order
//! of the plan is the order in which things may lean on each other; removals come last, in the
//! opposite order.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::How;
use super::diff::{self, Field};
use super::file::Declared;
use super::{rules, scheduled};
use crate::api::{Api, encoded};
use crate::failure::Failure;
use crate::on::Pages;
use crate::shown::{items, text};
use crate::terminal::{Style, Terminal};

/// The app that is always there.
const DEFAULT_APP: &str = "default";

/// Queues that the server makes for itself.
const RESERVED_QUEUES: [&str; 2] = ["events.", "stadium."];

/// The fields that the API takes and never shows.
const UNSEEN: [&str; 1] = ["secret"];

/// A sort of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rules,
    Asset,
    App,
    Audience,
    Queue,
    QueueSchedule,
    PushSchedule,
    Key,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Asset => "asset",
            Self::App => "app",
            Self::Audience => "audience",
            Self::Queue => "queue",
            Self::QueueSchedule => "queue schedule",
            Self::PushSchedule => "push schedule",
            Self::Key => "key",
        }
    }
}

/// The change that a thing needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Keep,
    Make,
    Change,
    Replace,
    Remove,
}

impl Action {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Make => "make",
            Self::Change => "change",
            Self::Replace => "replace",
            Self::Remove => "remove",
        }
    }

    pub(super) fn sign(self) -> (&'static str, Style) {
        match self {
            Self::Keep => ("", Style::Faint),
            Self::Make => ("+", Style::Good),
            Self::Change => ("~", Style::Warning),
            Self::Replace => ("-/+", Style::Bad),
            Self::Remove => ("-", Style::Bad),
        }
    }
}

/// A thing, and what is to happen to it.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) kind: Kind,
    /// As it is shown, such as `shop/vips`.
    pub(super) name: String,
    /// Its path in the API; a key's is that of the one that is there.
    pub(super) path: String,
    /// The body that makes it.
    pub(super) body: Value,
    pub(super) action: Action,
    pub(super) fields: Vec<Field>,
}

/// The plan so far.
struct Plan<'a> {
    how: &'a How,
    planned: Vec<Planned>,
    removals: Vec<Planned>,
}

impl Plan<'_> {
    /// A declared thing, beside the part of it that the server shows.
    fn add(&mut self, kind: Kind, name: String, path: String, body: Value, present: Option<&Value>) {
        let (action, fields) = match present {
            None => (Action::Make, diff::all(&body)),
            Some(present) => {
                let fields = match kind {
                    Kind::QueueSchedule => {
                        let (declared, present) = scheduled::comparable(&body, present);
                        diff::fields(&declared, &present, &UNSEEN)
                    }
                    _ => diff::fields(&body, present, &UNSEEN),
                };
                let is_same = fields.is_empty() && !self.how.rewrite;
                (if is_same { Action::Keep } else { Action::Change }, fields)
            }
        };
        self.planned.push(Planned { kind, name, path, body, action, fields });
    }

    /// Something that is there and not declared.
    fn prune(&mut self, kind: Kind, name: String, path: String) {
        if self.how.prune {
            let (body, fields) = (Value::Null, Vec::new());
            self.removals.push(Planned { kind, name, path, body, action: Action::Remove, fields });
        }
    }
}

/// Reads the server and compares.
pub(super) fn plan(
    api: &Api,
    declared: &Declared,
    how: &How,
    terminal: &Terminal,
) -> Result<Vec<Planned>, Failure> {
    let mut plan = Plan { how, planned: Vec::new(), removals: Vec::new() };
    if let Some(rules) = declared.list("rules") {
        plan.planned.push(rules::plan(rules, &api.get(rules::PATH)?, how.rewrite));
    }
    if let Some(assets) = declared.table("assets") {
        let present = by_name(&api.get("/api/assets")?, "assets", "asset");
        for (name, body) in assets {
            let path = format!("/api/assets/{}", encoded(name));
            plan.add(Kind::Asset, name.clone(), path, body.clone(), present.get(name));
        }
    }
    let mut schedules = Vec::new();
    if let Some(apps) = declared.table("apps") {
        plan_apps(api, apps, &mut plan, &mut schedules)?;
    }
    if let Some(queues) = declared.table("queues") {
        plan_queues(api, queues, &mut plan)?;
    }
    plan.planned.append(&mut schedules);
    if let Some(keys) = declared.table("keys") {
        plan_keys(api, keys, declared, &mut plan, terminal)?;
    }
    plan.planned.extend(plan.removals.into_iter().rev());
    Ok(plan.planned)
}

/// Apps with their audiences; push schedules, which may name audiences, are collected for later.
fn plan_apps(
    api: &Api,
    apps: &Map<String, Value>,
    plan: &mut Plan<'_>,
    schedules: &mut Vec<Planned>,
) -> Result<(), Failure> {
    let present = listed(api, "/api/apps", "apps", "app")?;
    for (name, app) in &present {
        if !apps.contains_key(name) && name != DEFAULT_APP {
            plan.prune(Kind::App, name.clone(), format!("/api/apps/{}", encoded(text(app, "app"))));
        }
    }
    for (app, entry) in apps {
        let path = format!("/api/apps/{}", encoded(app));
        let [body, audiences, app_schedules] = split(entry, ["audiences", "schedules"]);
        let there = present.get(app);
        plan.add(Kind::App, app.clone(), path.clone(), body, there.and_then(|app| app.get("settings")));
        let of_app = |below: &str, field: &str| match there {
            Some(_) => Ok(by_name(&api.get(&format!("{path}/{below}"))?, field, "name")),
            None => Ok::<_, Failure>(BTreeMap::new()),
        };
        let saved = of_app("audiences", "audiences")?;
        let path_of = |what: &str, name: &str| format!("{path}/{what}/{}", encoded(name));
        for (name, selector) in audiences.as_object().into_iter().flatten() {
            let body = json!({"audience": selector});
            let shown = format!("{app}/{name}");
            plan.add(Kind::Audience, shown, path_of("audiences", name), body, saved.get(name));
        }
        for name in saved.keys().filter(|name| audiences.get(name).is_none()) {
            plan.prune(Kind::Audience, format!("{app}/{name}"), path_of("audiences", name));
        }
        let running = of_app("schedules", "schedules")?;
        let made_before = plan.planned.len();
        for (name, body) in app_schedules.as_object().into_iter().flatten() {
            let shown = format!("{app}/{name}");
            plan.add(Kind::PushSchedule, shown, path_of("schedules", name), body.clone(), running.get(name));
        }
        schedules.extend(plan.planned.drain(made_before..));
        for name in running.keys().filter(|name| app_schedules.get(name).is_none()) {
            plan.prune(Kind::PushSchedule, format!("{app}/{name}"), path_of("schedules", name));
        }
    }
    Ok(())
}

fn plan_queues(api: &Api, queues: &Map<String, Value>, plan: &mut Plan<'_>) -> Result<(), Failure> {
    let present = listed(api, "/api/queues", "queues", "name")?;
    let path_of = |name: &str| format!("/api/queues/{}", encoded(name));
    for name in present.keys().filter(|name| !queues.contains_key(*name)) {
        if !RESERVED_QUEUES.iter().any(|reserved| name.starts_with(reserved)) {
            plan.prune(Kind::Queue, name.clone(), path_of(name));
        }
    }
    for (queue, entry) in queues {
        let [body, schedules, _] = split(entry, ["schedules", ""]);
        let there = present.get(queue);
        let settings = there.and_then(|queue| queue.get("settings"));
        plan.add(Kind::Queue, queue.clone(), path_of(queue), body, settings);
        if let (Some(settings), Some(planned)) = (settings, plan.planned.last_mut()) {
            // A `PUT` of a queue gives settings that are left out their defaults; here they stay.
            planned.body = overlaid(settings.clone(), &planned.body);
        }
        let running = match there {
            Some(_) => by_name(&api.get(&format!("{}/schedules", path_of(queue)))?, "schedules", "name"),
            None => BTreeMap::new(),
        };
        let schedule_path = |name: &str| format!("{}/schedules/{}", path_of(queue), encoded(name));
        for (name, body) in schedules.as_object().into_iter().flatten() {
            let shown = format!("{queue}/{name}");
            plan.add(Kind::QueueSchedule, shown, schedule_path(name), body.clone(), running.get(name));
        }
        for name in running.keys().filter(|name| schedules.get(name).is_none()) {
            plan.prune(Kind::QueueSchedule, format!("{queue}/{name}"), schedule_path(name));
        }
    }
    Ok(())
}

fn plan_keys(
    api: &Api,
    keys: &Map<String, Value>,
    declared: &Declared,
    plan: &mut Plan<'_>,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let list = api.get("/api/keys")?;
    for (name, entry) in keys {
        let mut body = entry.clone();
        body["name"] = json!(name);
        let file = declared.path(entry.get("secret_file").and_then(Value::as_str).unwrap_or_default());
        let there: Vec<&Value> = items(&list, "keys").filter(|key| text(key, "name") == name).collect();
        let path_of = |key: &Value| format!("/api/keys/{}", encoded(text(key, "id")));
        let (action, fields, path) = match &*there {
            [] if file.exists() => {
                return Err(Failure::new(format!(
                    "the key {name} would be made, and its secret file {} is there already: move it away",
                    file.display()
                )));
            }
            [] => (Action::Make, diff::all(entry), "/api/keys".to_owned()),
            [key] => {
                // Roles, apps and grants are all of its rights; its end counts from the time when
                // it was made.
                let rights = |field: &str| entry.get(field).cloned().unwrap_or_else(|| json!([]));
                let rights =
                    json!({"roles": rights("roles"), "apps": rights("apps"), "grants": rights("grants")});
                let fields = diff::fields(&rights, key, &[]);
                if fields.is_empty() && !file.exists() {
                    terminal.note(format_args!(
                        "note: the secret of the key {name} is not in {}; `stadium key rotate {}` makes another",
                        file.display(),
                        text(key, "id")
                    ));
                }
                let action = if fields.is_empty() { Action::Keep } else { Action::Replace };
                (action, fields, path_of(key))
            }
            several => {
                return Err(Failure::new(format!(
                    "there are {} keys with the name {name}: revoke all but one (`stadium key list`)",
                    several.len()
                )));
            }
        };
        if action == Action::Replace && !plan.how.replace_keys && !plan.how.dry_run {
            return Err(Failure::new(format!(
                "the key {name} has other rights, and a key's rights never change: --replace-keys makes another with a new \
                 secret and revokes this one; nothing was changed"
            )));
        }
        plan.planned.push(Planned { kind: Kind::Key, name: name.clone(), path, body, action, fields });
    }
    let is_admin = |key: &Value| items(key, "roles").any(|role| role == "admin");
    for key in items(&list, "keys").filter(|key| !keys.contains_key(text(key, "name")) && !is_admin(key)) {
        let path = format!("/api/keys/{}", encoded(text(key, "id")));
        plan.prune(Kind::Key, format!("{} ({})", text(key, "name"), text(key, "id")), path);
    }
    Ok(())
}

/// An entry without its inner tables, and each of those.
fn split(entry: &Value, inner: [&str; 2]) -> [Value; 3] {
    let mut body = entry.clone();
    let mut take =
        |name: &str| body.as_object_mut().and_then(|fields| fields.remove(name)).unwrap_or_default();
    let [first, second] = inner.map(&mut take);
    [body, first, second]
}

/// `under`, with the fields of `over` in the places of its own.
fn overlaid(under: Value, over: &Value) -> Value {
    match (under, over) {
        (Value::Object(mut fields), Value::Object(over)) => {
            for (name, value) in over {
                let under = fields.remove(name).unwrap_or_default();
                fields.insert(name.clone(), overlaid(under, value));
            }
            Value::Object(fields)
        }
        (_, over) => over.clone(),
    }
}

/// The items of an answer by one of their fields.
fn by_name(answer: &Value, field: &str, name: &str) -> BTreeMap<String, Value> {
    items(answer, field).map(|item| (text(item, name).to_owned(), item.clone())).collect()
}

/// All items of a list that comes in pages, by one of their fields.
pub(super) fn listed(
    api: &Api,
    path: &str,
    field: &str,
    name: &str,
) -> Result<BTreeMap<String, Value>, Failure> {
    let pages = Pages { path, filter: "", field, from: "after", limit: u64::MAX };
    let (found, _) = pages.read(api)?;
    Ok(found.into_iter().map(|item| (text(&item, name).to_owned(), item)).collect())
}
