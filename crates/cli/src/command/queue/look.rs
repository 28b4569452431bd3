//! Looking at queues and jobs: nothing here changes anything.
//!
//! Lists are read page by page up to the number that was asked for, and show where there is more.

use clap::Args;
use serde_json::{Value, json};

use super::{State, path_of, shown};
use crate::api::{Api, Method, encoded};
use crate::failure::Failure;
use crate::on::{Pages, ask, more};
use crate::shown::{Table, clean, items, number, text, when};
use crate::span;
use crate::terminal::{Style, Terminal, count};

/// Characters of a reason in a list.
const REASON_CHARS: usize = 80;

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Only queues whose name contains this
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
}

#[derive(Debug, Args)]
pub(super) struct StatsArguments {
    /// The queue
    queue: String,
}

#[derive(Debug, Args)]
pub(super) struct PeekArguments {
    /// The queue
    queue: String,
    /// Only jobs in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Only jobs with this key
    #[arg(long = "job-key", value_name = "KEY")]
    job_key: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
}

#[derive(Debug, Args)]
pub(super) struct DeadArguments {
    /// The queue
    queue: String,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
}

#[derive(Debug, Args)]
pub(super) struct FindArguments {
    /// The job's id
    job: u64,
    /// Only its payload, byte for byte
    #[arg(long)]
    payload: bool,
}

#[derive(Debug, Args)]
pub(super) struct HistoryArguments {
    /// The job's id
    job: u64,
}

/// Lists the queues.
pub(super) fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let search = arguments.search.as_deref().map(|search| format!("&search={}", encoded(search)));
    let (queues, next) = pages(api, "/api/queues", &search.unwrap_or_default(), "queues", arguments.limit)?;
    if terminal.is_json() {
        return terminal.json(&json!({"queues": queues, "next": next}));
    }
    if queues.is_empty() {
        terminal.note("no queue matches");
        return Ok(());
    }
    let mut table =
        Table::new(&["queue", "due>", "delayed>", "reserved>", "buried>", "dead>", "oldest due", "workers>"]);
    for queue in &queues {
        let jobs = queue.get("jobs").unwrap_or(&Value::Null);
        let of = |state: State| count(number(jobs, state.word()));
        let paused = queue.get("paused").and_then(Value::as_bool) == Some(true);
        table.row(vec![
            format!("{}{}", text(queue, "name"), if paused { " (paused)" } else { "" }),
            of(State::Due),
            of(State::Delayed),
            of(State::Reserved),
            of(State::Buried),
            of(State::Dead),
            queue.get("oldest_due_at").and_then(Value::as_str).map_or_else(|| "-".to_owned(), when),
            count(number(queue, "waiting")),
        ]);
    }
    table.print(terminal)?;
    more(next.as_ref(), arguments.limit, terminal);
    Ok(())
}

/// Shows a queue.
pub(super) fn stats(api: &Api, arguments: StatsArguments, terminal: &Terminal) -> Result<(), Failure> {
    let queue = ask(api, Method::Get, &path_of(&arguments.queue, ""), None)?;
    if terminal.is_json() {
        return terminal.json(&queue);
    }
    let paused = match queue.get("paused").and_then(Value::as_bool) {
        Some(true) => format!("  {}", terminal.out(Style::Warning, "paused")),
        _ => String::new(),
    };
    terminal.data(&format!("{}{paused}", terminal.out(Style::Strong, text(&queue, "name"))))?;
    let jobs = queue.get("jobs").unwrap_or(&Value::Null);
    for state in [State::Due, State::Delayed, State::Reserved, State::Buried, State::Dead] {
        let jobs = count(number(jobs, state.word()));
        let word = shown::state(terminal, state.word());
        let padding = " ".repeat(10 - state.word().len());
        let since = match (state, queue.get("oldest_due_at").and_then(Value::as_str)) {
            (State::Due, Some(time)) => format!("  the oldest since {}", when(time)),
            _ => String::new(),
        };
        terminal.data(&format!("  {word}{padding}{jobs:>12}{since}"))?;
    }
    let totals = queue.get("totals").unwrap_or(&Value::Null);
    let total = |name: &str| count(number(totals, name));
    terminal.data(&format!(
        "  since it was made: {} put, {} handed out, {} settled, {} tried again, {} died, {} duplicates",
        total("put"),
        total("handed_out"),
        total("settled"),
        total("retried"),
        total("died"),
        total("duplicates")
    ))?;
    terminal.data(&format!("  {} consumers wait", count(number(&queue, "waiting"))))?;
    settings(queue.get("settings").unwrap_or(&Value::Null), terminal)
}

fn settings(settings: &Value, terminal: &Terminal) -> Result<(), Failure> {
    let spanned = |value: &Value, name: &str| span::shown(number(value, name));
    let backoff = settings.get("backoff").unwrap_or(&Value::Null);
    let real = |value: &Value, name: &str| value.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let limit = |name: &str| match settings.get(name).filter(|limit| limit.is_object()) {
        None => "none".to_owned(),
        Some(limit) => format!("{}/s, {} at once", real(limit, "rate"), count(number(limit, "burst"))),
    };
    let dead_letter = match settings.get("dead_letter") {
        Some(Value::Object(to)) => {
            format!("into {}", to.get("queue").and_then(Value::as_str).unwrap_or("-"))
        }
        Some(Value::String(word)) if word == "discard" => "discarded".to_owned(),
        _ => format!("kept for {}", spanned(settings, "dead_ttl_ms")),
    };
    let rows = [
        ("lease", spanned(settings, "lease_ms")),
        ("attempts", count(number(settings, "attempts_max"))),
        (
            "back-off",
            format!(
                "{} x {}, at most {}, {:.0}% of it random",
                spanned(backoff, "first_ms"),
                real(backoff, "factor"),
                spanned(backoff, "max_ms"),
                real(backoff, "jitter") * 100.0
            ),
        ),
        ("dead jobs", dead_letter),
        ("dedup ids", format!("remembered for {}", spanned(settings, "dedup_window_ms"))),
        ("jobs", format!("at most {}", count(number(settings, "jobs_max")))),
        ("limit", limit("limit")),
        ("each key", limit("key_limit")),
        (
            "order",
            match text(settings, "spread") {
                "all_shards" => "within a key; it lives on all shards".to_owned(),
                _ => "strict; it lives on one shard".to_owned(),
            },
        ),
    ];
    for (name, value) in rows {
        terminal.data(&format!("  {:<10}{value}", terminal.out(Style::Faint, format!("{name:<10}"))))?;
    }
    Ok(())
}

/// Lists jobs.
pub(super) fn peek(api: &Api, arguments: PeekArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut filter = String::new();
    if let Some(state) = arguments.state {
        filter.push_str(&format!("&state={}", state.word()));
    }
    if let Some(key) = &arguments.job_key {
        filter.push_str(&format!("&key={}", encoded(key)));
    }
    let path = path_of(&arguments.queue, "/jobs");
    let (jobs, next) = pages(api, &path, &filter, "jobs", arguments.limit)?;
    if terminal.is_json() {
        return terminal.json(&json!({"jobs": jobs, "next": next}));
    }
    if jobs.is_empty() {
        terminal.note("no job matches");
        return Ok(());
    }
    let mut table = Table::new(&["job", "state", "due", "attempts>", "key", "payload"]);
    for job in &jobs {
        table.row(vec![
            text(job, "id").to_owned(),
            text(job, "state").to_owned(),
            when(text(job, "due_at")),
            format!("{}/{}", number(job, "attempts"), number(job, "attempts_max")),
            clean(text(job, "key"), 24),
            shown::payload(job),
        ]);
    }
    table.print(terminal)?;
    more(next.as_ref(), arguments.limit, terminal);
    Ok(())
}

/// Lists dead jobs.
pub(super) fn dead(api: &Api, arguments: DeadArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = path_of(&arguments.queue, "/jobs");
    let (jobs, next) = pages(api, &path, "&state=dead", "jobs", arguments.limit)?;
    if terminal.is_json() {
        return terminal.json(&json!({"jobs": jobs, "next": next}));
    }
    if jobs.is_empty() {
        terminal.note("no job is dead");
        return Ok(());
    }
    let mut table = Table::new(&["job", "put", "attempts>", "reason", "payload"]);
    for job in &jobs {
        table.row(vec![
            text(job, "id").to_owned(),
            when(text(job, "put_at")),
            number(job, "attempts").to_string(),
            clean(text(job, "reason"), REASON_CHARS),
            shown::payload(job),
        ]);
    }
    table.print(terminal)?;
    more(next.as_ref(), arguments.limit, terminal);
    terminal.note(format_args!("`stadium queue redrive {}` tries them again", arguments.queue));
    Ok(())
}

/// Shows a job.
pub(super) fn find(api: &Api, arguments: FindArguments, terminal: &Terminal) -> Result<(), Failure> {
    let job = ask(api, Method::Get, &format!("/api/jobs/{}", arguments.job), None)?;
    if arguments.payload {
        return raw_payload(&job);
    }
    if terminal.is_json() {
        return terminal.json(&job);
    }
    terminal.data(&format!(
        "{} {} in {}",
        terminal.out(Style::Strong, text(&job, "id")),
        shown::state(terminal, text(&job, "state")),
        terminal.out(Style::Name, text(&job, "queue"))
    ))?;
    let times =
        [("put", "put_at"), ("due", "due_at"), ("lease ends", "lease_until"), ("expires", "expires_at")];
    for (name, field) in times {
        if let Some(time) = job.get(field).and_then(Value::as_str) {
            terminal.data(&format!("  {name:<11}{time}, {}", when(time)))?;
        }
    }
    terminal.data(&format!(
        "  attempts   {} of {}",
        number(&job, "attempts"),
        number(&job, "attempts_max")
    ))?;
    terminal.data(&format!("  priority   {}", number(&job, "priority")))?;
    if job.get("key").is_some() {
        terminal.data(&format!("  key        {}", clean(text(&job, "key"), 128)))?;
    }
    if let Some(principal) = job.get("principal").and_then(Value::as_str) {
        terminal.data(&format!("  principal  {}", clean(principal, 260)))?;
    }
    if job.get("reason").is_some() {
        terminal.data(&format!("  reason     {}", clean(text(&job, "reason"), 1_024)))?;
    }
    let bytes = count(number(&job, "payload_bytes"));
    terminal.data(&format!("  payload    {bytes} bytes: {}", shown::payload(&job)))
}

/// The payload as it was put.
fn raw_payload(job: &Value) -> Result<(), Failure> {
    use base64::Engine as _;
    use std::io::Write as _;
    let bytes = match (job.get("payload").and_then(Value::as_str), job.get("payload_base64")) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(Value::String(base64))) => base64::engine::general_purpose::STANDARD
            .decode(base64)
            .map_err(|error| Failure::new(format!("the server's base64 cannot be read: {error}")))?,
        _ => Vec::new(),
    };
    match std::io::stdout().lock().write_all(&bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Shows what became of a job.
pub(super) fn history(api: &Api, arguments: HistoryArguments, terminal: &Terminal) -> Result<(), Failure> {
    let history = ask(api, Method::Get, &format!("/api/jobs/{}/history", arguments.job), None)?;
    if terminal.is_json() {
        return terminal.json(&history);
    }
    for event in items(&history, "events") {
        let word = text(event, "event");
        let style = match word {
            "settled" | "forwarded" => Style::Good,
            "dead" | "lease_expired" => Style::Bad,
            "released" | "buried" => Style::Warning,
            _ => Style::Strong,
        };
        let padding = " ".repeat(14_usize.saturating_sub(word.len()));
        let word = terminal.out(style, word);
        terminal.data(&format!("{}  {word}{padding}{}", text(event, "at"), event_details(event)))?;
    }
    Ok(())
}

/// The other fields of an event of a history.
fn event_details(event: &Value) -> String {
    let mut parts = Vec::new();
    let word = text(event, "event");
    if let Some(attempt) = event.get("attempt").and_then(Value::as_u64) {
        parts.push(format!("attempt {attempt}"));
    }
    for (field, words) in [
        ("worker", "by"),
        ("principal", "by"),
        ("queue", "in"),
        ("job", "as"),
        ("due_at", "due"),
        ("lease_until", "until"),
    ] {
        if let Some(value) = event.get(field).and_then(Value::as_str) {
            let words = if word == "forwarded" && field == "queue" { "to" } else { words };
            parts.push(format!("{words} {}", clean(value, 128)));
        }
    }
    if let Some(reason) = event.get("reason").and_then(Value::as_str) {
        parts.push(clean(reason, 1_024));
    }
    parts.join(", ")
}

/// Items of a list of the API until there are `limit` of them, and where the next would begin.
fn pages(
    api: &Api,
    path: &str,
    filter: &str,
    field: &str,
    limit: u64,
) -> Result<(Vec<Value>, Option<String>), Failure> {
    Ok(Pages { path, filter, field, from: "after", limit }.read(api)?)
}
