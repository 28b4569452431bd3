//! `stadium export`: a file of `stadium apply` that declares what a server has now.
//!
//! Secrets are not in it: those of webhooks stay on the server, and keys name the files that theirs
//! would be written to. A schedule whose job this caller may not see stands in a comment.

use serde_json::{Map, Value, json};

use super::Nothing;
use super::resource::listed;
use super::rules;
use crate::api::{Api, encoded};
use crate::failure::{Context, Failure};
use crate::on::On;
use crate::shown::{items, text};
use crate::terminal::Terminal;

const HEAD: &str = "\
# The state of this server, by `stadium export`; `stadium apply FILE` makes another server have it.
# Secrets of webhooks are left out: where a feed is there already, its own stays.
";

/// Reads and writes.
pub(crate) fn run(arguments: On<Nothing>, terminal: &Terminal) -> Result<(), Failure> {
    arguments.run(export, terminal)
}

fn export(api: &Api, _: Nothing, terminal: &Terminal) -> Result<(), Failure> {
    let (mut assets, mut apps, mut queues, mut keys) = (Map::new(), Map::new(), Map::new(), Map::new());
    let mut left_out = Vec::new();
    for asset in items(&api.get("/api/assets")?, "assets") {
        assets.insert(text(asset, "asset").to_owned(), only(asset, &["scale"]));
    }
    for (name, app) in listed(api, "/api/apps", "apps", "app")? {
        let path = format!("/api/apps/{}", encoded(&name));
        let mut entry = app.get("settings").cloned().unwrap_or_default();
        let audiences = api.get(&format!("{path}/audiences"))?;
        let audiences =
            items(&audiences, "audiences").map(|one| (text(one, "name").to_owned(), one["audience"].clone()));
        entry["audiences"] = Value::Object(audiences.collect());
        let schedules = api.get(&format!("{path}/schedules"))?;
        let fields = ["cron", "time_zone", "missed", "push"];
        let schedules =
            items(&schedules, "schedules").map(|one| (text(one, "name").to_owned(), only(one, &fields)));
        entry["schedules"] = Value::Object(schedules.collect());
        apps.insert(name, entry);
    }
    for (name, queue) in listed(api, "/api/queues", "queues", "name")? {
        if name.starts_with("events.") || name.starts_with("stadium.") {
            continue;
        }
        let schedules = api.get(&format!("/api/queues/{}/schedules", encoded(&name)))?;
        let mut entry = queue.get("settings").cloned().unwrap_or_default();
        for schedule in items(&schedules, "schedules") {
            let (of, cron) = (text(schedule, "name"), text(schedule, "cron"));
            let job = schedule.get("job").cloned().unwrap_or_default();
            if job.get("payload").or(job.get("payload_base64")).is_none() {
                left_out.push(format!("# {name}/{of}: {cron}, {}", text(schedule, "time_zone")));
                continue;
            }
            entry["schedules"][of] = only(schedule, &["cron", "time_zone", "missed", "job"]);
        }
        queues.insert(name, entry);
    }
    for key in items(&api.get("/api/keys")?, "keys") {
        let name = text(key, "name");
        if items(key, "roles").any(|role| role == "admin") {
            continue;
        }
        let mut entry = only(key, &["roles", "apps", "grants"]);
        entry["secret_file"] = json!(format!("keys/{}.key", name.replace(['/', ' '], "-")));
        keys.insert(name.to_owned(), entry);
    }
    let mut state = json!({"assets": assets, "apps": apps, "queues": queues, "keys": keys});
    let rules = api.get(rules::PATH)?;
    if rules["trial"] != true {
        state["rules"] = rules["rules"].clone();
    }
    if terminal.is_json() {
        return terminal.json(&without_nulls(state));
    }
    let tables = toml::to_string_pretty(&without_nulls(state)).context("the state is no TOML")?;
    terminal.data(&format!("{HEAD}\n{}", tables.trim_end()))?;
    if !left_out.is_empty() {
        terminal
            .data("\n# The jobs of these queue schedules are not shown to this key; they are left out:")?;
    }
    left_out.iter().try_for_each(|line| terminal.data(line))
}

/// These fields of it.
fn only(value: &Value, fields: &[&str]) -> Value {
    let kept = fields.iter().filter_map(|name| Some(((*name).to_owned(), value.get(*name)?.clone())));
    Value::Object(kept.collect())
}

/// TOML has no null: a field that is none is left out.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
