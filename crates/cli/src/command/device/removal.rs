//! Registered devices are forgotten: one, or all that match, page by page.
//!
//! A page is one request that the server bounds. A removal that was cut off is run again: a removed
//! device stays removed.

use clap::Args;
use serde_json::{Value, json};

use super::registered::done;
use crate::api::{Api, Method, encoded};
use crate::failure::Failure;
use crate::of_app::{AppFlag, parse_audience};
use crate::on::ask;
use crate::terminal::{Terminal, count};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The device's id
    #[arg(required_unless_present_any = ["prefix", "audience", "user"], conflicts_with_all = ["prefix", "audience", "user"])]
    id: Option<String>,
    /// All whose ids begin so
    #[arg(long)]
    prefix: Option<String>,
    /// All that match: all, tag:TAG, list:LIST, or a selector as JSON
    #[arg(long, value_parser = parse_audience)]
    audience: Option<Value>,
    /// All of a named user
    #[arg(long)]
    user: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    app: AppFlag,
}

pub(super) fn run(api: &Api, arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let Arguments { id, prefix, audience, user, yes, app } = arguments;
    if let Some(id) = id {
        ask(api, Method::Delete, &app.named(api, "devices", &id, ""), None)?;
        return done(&id, "forgotten", terminal);
    }
    let audience = audience.as_ref().map(Value::to_string);
    let given = [("prefix", &prefix), ("audience", &audience), ("named_user", &user)];
    let given = given.iter().filter_map(|(name, value)| value.as_ref().map(|value| (*name, value.as_str())));
    let which: Vec<(&str, &str)> = given.collect();
    if !yes {
        let words: Vec<String> = which.iter().map(|(name, value)| format!("{name} {value}")).collect();
        terminal.confirm(&format!(
            "Forget all devices of {} with {}?",
            app.name(api),
            words.join(" and ")
        ))?;
    }
    let bar = terminal.progress(0, "removing");
    let removed = remove(api, &app, &which, &mut |removed| bar.set_position(removed));
    bar.finish_and_clear();
    let removed = removed?;
    if terminal.is_json() {
        return terminal.json(&json!({ "removed": removed }));
    }
    let noun = if removed == 1 { "device is" } else { "devices are" };
    terminal.data(&format!("{} {noun} forgotten", count(removed)))
}

/// Removes all devices that match these parameters of the query; returns how many. `watch` hears
/// how far it is.
pub(crate) fn remove(
    api: &Api,
    app: &AppFlag,
    which: &[(&str, &str)],
    watch: &mut dyn FnMut(u64),
) -> Result<u64, Failure> {
    let query: Vec<String> = which.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let path = format!("{}?{}", app.path(api, "/devices"), query.join("&"));
    let (mut removed, mut after) = (0, String::new());
    loop {
        let answer = ask(api, Method::Delete, &format!("{path}{after}"), None)?;
        removed += answer.get("removed").and_then(Value::as_u64).unwrap_or_default();
        watch(removed);
        match answer.get("next").and_then(Value::as_str) {
            Some(next) => after = format!("&after={}", encoded(next)),
            None => return Ok(removed),
        }
    }
}
