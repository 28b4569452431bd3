//! `stadium audience`: saved audiences, and whom a selector reaches.
//!
//! An audience is JSON as in the API, or short for the usual ones, see [`crate::of_app`].

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Api, Method};
use crate::failure::Failure;
use crate::of_app::{AppFlag, parse_audience};
use crate::on::{On, ask};
use crate::shown::{Table, clean, items, number, text};
use crate::terminal::{Style, Terminal, count, short};

/// What to do with audiences.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium audience preview tag:vip
  stadium audience preview '{\"and\": [{\"tag\": \"vip\"}, {\"platform\": \"ios\"}]}' --per-second 500
  stadium audience save vips tag:vip
  stadium push send saved:vips --title 'Doors open at eight'")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List saved audiences
    List(On<ListArguments>),
    /// Save a selector under a name
    Save(On<SaveArguments>),
    /// Forget a saved audience
    Drop(On<DropArguments>),
    /// Count the devices that an audience reaches, and those that are left out, by reason
    Preview(On<PreviewArguments>),
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
struct SaveArguments {
    /// Under which name
    name: String,
    /// Whom: all, tag:TAG, user:USER, list:LIST, or JSON
    #[arg(value_parser = parse_audience)]
    audience: Value,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
struct DropArguments {
    /// Which
    name: String,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
struct PreviewArguments {
    /// Whom: all, tag:TAG, user:USER, list:LIST, saved:NAME, or JSON
    #[arg(value_parser = parse_audience)]
    audience: Value,
    /// Devices to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    sample: u32,
    /// How fast a push would go out: shows how long that takes
    #[arg(long, value_name = "N")]
    per_second: Option<u32>,
    #[command(flatten)]
    app: AppFlag,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::List(on) => on.run(list, terminal),
        Action::Save(on) => on.run(save, terminal),
        Action::Drop(on) => on.run(drop_audience, terminal),
        Action::Preview(on) => on.run(preview, terminal),
    }
}

fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let answer = ask(api, Method::Get, &arguments.app.path(api, "/audiences"), None)?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let mut table = Table::new(&["audience", "selector"]);
    for audience in items(&answer, "audiences") {
        let selector = audience.get("audience").map(Value::to_string).unwrap_or_default();
        table.row(vec![text(audience, "name").to_owned(), selector]);
    }
    if table.is_empty() {
        terminal.note("no audience is saved; `stadium audience save vips tag:vip` saves one");
        return Ok(());
    }
    table.print(terminal)
}

fn save(api: &Api, arguments: SaveArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = arguments.app.named(api, "audiences", &arguments.name, "");
    let saved = ask(api, Method::Put, &path, Some(&json!({"audience": arguments.audience})))?;
    if terminal.is_json() {
        return terminal.json(&saved);
    }
    terminal.data(&format!("{} is saved", terminal.out(Style::Name, arguments.name)))
}

fn drop_audience(api: &Api, arguments: DropArguments, terminal: &Terminal) -> Result<(), Failure> {
    ask(api, Method::Delete, &arguments.app.named(api, "audiences", &arguments.name, ""), None)?;
    if terminal.is_json() {
        return terminal.json(&json!({"name": arguments.name, "dropped": true}));
    }
    terminal.data(&format!("{} is forgotten", terminal.out(Style::Name, arguments.name)))
}

fn preview(api: &Api, arguments: PreviewArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut body = json!({"audience": arguments.audience, "sample": arguments.sample});
    if let Some(devices) = arguments.per_second {
        body["pace"] = json!({"per_second": devices});
    }
    let preview = ask(api, Method::Post, &arguments.app.path(api, "/audiences/preview"), Some(&body))?;
    if terminal.is_json() {
        return terminal.json(&preview);
    }
    show_preview(&preview, terminal)
}

/// Whom an audience reaches, in a few lines.
pub(super) fn show_preview(preview: &Value, terminal: &Terminal) -> Result<(), Failure> {
    let figure = |field: &str| count(number(preview, field));
    if let Some(warning) = preview.get("warning").and_then(Value::as_str) {
        terminal.data(&format!("{} {warning}", terminal.out(Style::Warning, "warning:")))?;
    }
    terminal.data(&format!(
        "{} of {} devices: {} matched, {} of those not opted in; {} connected now",
        terminal.out(Style::Strong, figure("reached")),
        figure("devices"),
        figure("matched"),
        figure("opted_out"),
        figure("connected"),
    ))?;
    for value in items(preview, "missing_values") {
        terminal.data(&format!(
            "  {} left out: they lack a value for `{}`, and a text needs it",
            count(number(value, "devices")),
            clean(text(value, "name"), 64)
        ))?;
    }
    let left_out = [("held_out", "left out: held out"), ("capped", "left out: had their fill")];
    for (field, what) in left_out.into_iter().chain([("quiet", "in their quiet hours now")]) {
        if number(preview, field) > 0 {
            terminal.data(&format!("  {} {what}", figure(field)))?;
        }
    }
    if number(preview, "evaluated") < number(preview, "matched") {
        terminal.data(&format!("  estimated from a random sample of {}", figure("evaluated")))?;
    }
    if let Some(seconds) = preview.get("expected_s").and_then(Value::as_f64) {
        terminal.data(&format!("  the connected ones take {}", short(seconds)))?;
    }
    let mut table = Table::new(&["matches>", "keeps out>", "clause", "where"]);
    for clause in items(preview, "clauses") {
        table.row(vec![
            count(number(clause, "matches")),
            count(number(clause, "keeps_out")),
            text(clause, "clause").to_owned(),
            text(clause, "path").to_owned(),
        ]);
    }
    if !table.is_empty() {
        table.print(terminal)?;
    }
    let sample: Vec<&str> = items(preview, "sample").filter_map(Value::as_str).collect();
    if !sample.is_empty() {
        terminal.data(&format!("{} {}", terminal.out(Style::Faint, "such as"), sample.join(", ")))?;
    }
    Ok(())
}
