//! Schedules: a job that is put again and again, by a cron expression in a time zone.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::path_of;
use super::put::with_payload;
use crate::api::{Api, Method, encoded};
use crate::failure::Failure;
use crate::on::ask;
use crate::shown::{Table, items, text, when};
use crate::terminal::{Style, Terminal};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium queue schedule mails reminder 'game tonight' --cron '0 20 * * FRI' --zone Europe/Berlin
  stadium queue schedule chores sweep '' --cron @hourly --missed skip")]
pub(super) struct SetArguments {
    /// The queue that jobs are put into
    queue: String,
    /// What the schedule is called; one of the same name is replaced
    name: String,
    /// What the worker gets
    payload: String,
    /// When: minute, hour, day, month, weekday; or six fields with seconds first; or @hourly, @daily, ...
    #[arg(long, value_name = "EXPRESSION")]
    cron: String,
    /// The time zone that the expression is read in, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Handling of occurrences that passed while the server was down
    #[arg(long, value_enum, default_value_t = Missed::Once)]
    missed: Missed,
    /// Which goes first of those that are due: 0 to 9, 9 first [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    priority: Option<u8>,
    /// Jobs of one key run one after another, in their order
    #[arg(long = "job-key", value_name = "KEY")]
    job_key: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// The queue
    queue: String,
}

#[derive(Debug, Args)]
pub(super) struct EndArguments {
    /// The queue
    queue: String,
    /// The schedule
    name: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Missed {
    /// One job for all of them
    Once,
    /// None
    Skip,
    /// One for each, at most 100
    All,
}

/// Makes a schedule, or another one of it.
pub(super) fn set(api: &Api, arguments: SetArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut job = with_payload(Map::new(), arguments.payload.into_bytes());
    if let Some(priority) = arguments.priority {
        job.insert("priority".to_owned(), priority.into());
    }
    if let Some(key) = arguments.job_key {
        job.insert("key".to_owned(), key.into());
    }
    let missed = match arguments.missed {
        Missed::Once => "once",
        Missed::Skip => "skip",
        Missed::All => "all",
    };
    let mut body = json!({"cron": arguments.cron, "missed": missed, "job": job});
    if let Some(zone) = arguments.zone {
        body["time_zone"] = zone.into();
    }
    let path = path_of(&arguments.queue, &format!("/schedules/{}", encoded(&arguments.name)));
    ask(api, Method::Put, &path, Some(&body))?;
    let all = ask(api, Method::Get, &path_of(&arguments.queue, "/schedules"), None)?;
    let made = items(&all, "schedules").find(|schedule| text(schedule, "name") == arguments.name);
    if terminal.is_json() {
        return terminal.json(&made);
    }
    let next = made.and_then(|schedule| schedule.get("next_at")).and_then(Value::as_str);
    let next = next.map(|time| format!(", next at {time}, {}", when(time))).unwrap_or_default();
    terminal.data(&format!("{} is scheduled{next}", terminal.out(Style::Name, &arguments.name)))
}

/// Lists schedules.
pub(super) fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let answer = ask(api, Method::Get, &path_of(&arguments.queue, "/schedules"), None)?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let mut table = Table::new(&["schedule", "cron", "zone", "missed", "next", "last", "last job"]);
    let mut any = false;
    for schedule in items(&answer, "schedules") {
        let time =
            |field: &str| schedule.get(field).and_then(Value::as_str).map_or_else(|| "-".to_owned(), when);
        table.row(vec![
            text(schedule, "name").to_owned(),
            text(schedule, "cron").to_owned(),
            text(schedule, "time_zone").to_owned(),
            text(schedule, "missed").to_owned(),
            time("next_at"),
            time("last_at"),
            text(schedule, "last_job").to_owned(),
        ]);
        any = true;
    }
    if !any {
        terminal.note("no schedule puts into this queue");
        return Ok(());
    }
    table.print(terminal)
}

/// Ends a schedule.
pub(super) fn end(api: &Api, arguments: EndArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = path_of(&arguments.queue, &format!("/schedules/{}", encoded(&arguments.name)));
    ask(api, Method::Delete, &path, None)?;
    if terminal.is_json() {
        return terminal.json(&json!({"name": arguments.name, "ended": true}));
    }
    terminal.data(&format!("{} puts no more jobs", terminal.out(Style::Name, &arguments.name)))
}
