//! `stadium schedule`: pushes that are made again and again, by a cron expression.
//!
//! The push is given as with `stadium push send`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::push::send::PushFlags;
use crate::api::{Api, Method};
use crate::failure::Failure;
use crate::of_app::{AppFlag, parse_audience};
use crate::on::{On, ask};
use crate::shown::{Table, items, number, text, when};
use crate::span;
use crate::terminal::{Style, Terminal, count};

/// What to do with schedules.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium schedule set morning '0 9 * * MON-FRI' tag:vip --zone Europe/Berlin --title 'Good morning, {{name|fan}}'
  stadium schedule set lunch '30 11 * * *' all --zone local --title 'Lunch?'      by each device's own clock
  stadium schedule list")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List schedules with their next and last occurrences
    List(On<ListArguments>),
    /// Make a push again and again; one of the same name is replaced
    Set(Box<On<SetArguments>>),
    /// Hold a schedule; what it misses meanwhile is skipped
    Pause(On<NameArguments>),
    /// Let a paused schedule go on
    Resume(On<NameArguments>),
    /// End a schedule; pushes that it made stay
    Drop(On<NameArguments>),
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
struct SetArguments {
    /// What it is called
    name: String,
    /// When: minute, hour, day, month, weekday, with seconds before them or not; or @hourly, @daily, ...
    cron: String,
    /// Whom: all, device:ID, tag:TAG, user:USER, list:LIST, saved:NAME, or JSON
    #[arg(value_parser = parse_audience)]
    audience: Value,
    /// The time zone that the expression is read in, or `local` for each device's own [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// An occurrence that was missed is sent late, where it is not older than this [default: it is
    /// skipped]
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    late: Option<u64>,
    #[command(flatten)]
    push: PushFlags,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
struct NameArguments {
    /// Which
    name: String,
    #[command(flatten)]
    app: AppFlag,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::List(on) => on.run(list, terminal),
        Action::Set(on) => on.run(set, terminal),
        Action::Pause(on) => {
            on.run(|api, which, terminal| change(api, which, ("/pause", "paused"), terminal), terminal)
        }
        Action::Resume(on) => {
            on.run(|api, which, terminal| change(api, which, ("/resume", "going on"), terminal), terminal)
        }
        Action::Drop(on) => on.run(end, terminal),
    }
}

fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let answer = ask(api, Method::Get, &arguments.app.path(api, "/schedules"), None)?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let mut table = Table::new(&["schedule", "when", "zone", "state", "next", "made>", "skipped>"]);
    for schedule in items(&answer, "schedules") {
        let paused = schedule.get("paused").and_then(Value::as_bool) == Some(true);
        let next = items(schedule, "next").next().and_then(Value::as_str).map_or("never".to_owned(), when);
        // What comes while it is paused is skipped.
        let next = if paused { "-".to_owned() } else { next };
        table.row(vec![
            text(schedule, "name").to_owned(),
            text(schedule, "cron").to_owned(),
            text(schedule, "time_zone").to_owned(),
            if paused { "paused" } else { "active" }.to_owned(),
            next,
            count(number(schedule, "made")),
            count(number(schedule, "skipped")),
        ]);
    }
    if table.is_empty() {
        terminal.note("there is no schedule; `stadium schedule set --help` shows how to make one");
        return Ok(());
    }
    table.print(terminal)
}

fn set(api: &Api, arguments: SetArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut body = json!({"cron": arguments.cron, "push": arguments.push.body(&arguments.audience)?});
    if let Some(zone) = &arguments.zone {
        body["time_zone"] = json!(zone);
    }
    if let Some(late) = arguments.late {
        body["missed"] = json!({"late_s": (late / 1_000).max(1)});
    }
    let path = arguments.app.named(api, "schedules", &arguments.name, "");
    let schedule = ask(api, Method::Put, &path, Some(&body))?;
    if terminal.is_json() {
        return terminal.json(&schedule);
    }
    let next = items(&schedule, "next").next().and_then(Value::as_str).map_or("never".to_owned(), when);
    terminal.data(&format!("{} is set; next {next}", terminal.out(Style::Name, arguments.name)))
}

fn change(
    api: &Api,
    which: NameArguments,
    (below, word): (&str, &str),
    terminal: &Terminal,
) -> Result<(), Failure> {
    ask(api, Method::Post, &which.app.named(api, "schedules", &which.name, below), None)?;
    if terminal.is_json() {
        return terminal.json(&json!({"name": which.name, "state": word}));
    }
    terminal.data(&format!("{} is {word}", terminal.out(Style::Name, which.name)))
}

fn end(api: &Api, which: NameArguments, terminal: &Terminal) -> Result<(), Failure> {
    ask(api, Method::Delete, &which.app.named(api, "schedules", &which.name, ""), None)?;
    if terminal.is_json() {
        return terminal.json(&json!({"name": which.name, "dropped": true}));
    }
    terminal.data(&format!("{} is ended", terminal.out(Style::Name, which.name)))
}
