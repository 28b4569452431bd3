//! Pushes, durable and live: list, show, follow, cancel, and why a device did or did not get one.
//!
//! Each targeted device is counted in one place, so the lines of a push add up.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::api::{Api, Method};
use crate::failure::{Context, Failure};
use crate::of_app::AppFlag;
use crate::on::{Pages, ask, more};
use crate::shown::{Table, clean, items, number, text, when};
use crate::span;
use crate::terminal::{Style, Terminal, count};

/// Between two looks at a push that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
pub(super) struct PushArguments {
    /// The push's id
    push: String,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
pub(super) struct WatchArguments {
    /// The push's id
    pub(super) push: String,
    /// How long to follow it
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "1m")]
    pub(super) timeout: u64,
    #[command(flatten)]
    pub(super) app: AppFlag,
}

#[derive(Debug, Args)]
pub(super) struct TraceArguments {
    /// The push's id
    push: String,
    /// The device's id
    device: String,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
pub(super) struct DeliveriesArguments {
    /// The push's id
    push: String,
    /// How they are written [default: csv; ndjson with --json]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    app: AppFlag,
}

/// How a file looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::command) enum Format {
    /// Comma-separated values with a heading
    Csv,
    /// A JSON object on each line
    Ndjson,
}

impl Format {
    /// Its name, where one was chosen or not.
    pub(in crate::command) fn word(chosen: Option<Self>, terminal: &Terminal) -> &'static str {
        match (chosen, terminal.is_json()) {
            (Some(Self::Csv), _) | (None, false) => "csv",
            (Some(Self::Ndjson), _) | (None, true) => "ndjson",
        }
    }
}

/// Lists pushes.
pub(super) fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = arguments.app.path(api, "/pushes");
    let pages = Pages { path: &path, filter: "", field: "pushes", from: "before", limit: arguments.limit };
    let (pushes, next) = pages.read(api)?;
    if terminal.is_json() {
        return terminal.json(&json!({"pushes": pushes, "next": next}));
    }
    let mut table =
        Table::new(&["push", "accepted", "status", "targeted>", "delivered>", "owed>", "expired>", "title"]);
    for push in &pushes {
        let counts = push.get("counts").unwrap_or(&Value::Null);
        let owed = ["waiting", "owed", "in_flight"].iter().map(|field| number(counts, field)).sum();
        table.row(vec![
            text(push, "id").to_owned(),
            when(text(push, "accepted_at")),
            if is_live(push) {
                format!("{}, live", text(push, "status"))
            } else {
                text(push, "status").to_owned()
            },
            count(number(counts, "targeted")),
            count(number(counts, "delivered")),
            count(owed),
            count(number(counts, "expired")),
            clean(push.get("title").and_then(Value::as_str).unwrap_or_default(), 40),
        ]);
    }
    if table.is_empty() {
        terminal.note("nothing was pushed yet");
        return Ok(());
    }
    table.print(terminal)?;
    more(next.as_ref(), arguments.limit, terminal);
    Ok(())
}

/// Shows one.
pub(super) fn show(api: &Api, arguments: PushArguments, terminal: &Terminal) -> Result<(), Failure> {
    let push = ask(api, Method::Get, &arguments.app.named(api, "pushes", &arguments.push, ""), None)?;
    if terminal.is_json() {
        return terminal.json(&push);
    }
    summary(&push, terminal)
}

/// Ends one.
pub(super) fn cancel(api: &Api, arguments: PushArguments, terminal: &Terminal) -> Result<(), Failure> {
    let push = ask(api, Method::Post, &arguments.app.named(api, "pushes", &arguments.push, "/cancel"), None)?;
    if terminal.is_json() {
        return terminal.json(&push);
    }
    summary(&push, terminal)
}

/// Looks at a push until it is over, or the time is.
pub(super) fn watch(api: &Api, arguments: WatchArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = arguments.app.named(api, "pushes", &arguments.push, "");
    let deadline = Instant::now() + Duration::from_millis(arguments.timeout);
    let bar = terminal.progress(0, "delivered");
    let (push, over) = loop {
        let push = ask(api, Method::Get, &path, None)?;
        let counts = push.get("counts").unwrap_or(&Value::Null);
        bar.set_length(number(counts, "targeted"));
        bar.set_position(number(counts, "delivered"));
        bar.set_message(format!("{} owed", count(number(counts, "owed"))));
        if matches!(text(&push, "status"), "settled" | "cancelled") {
            break (push, true);
        }
        if Instant::now() >= deadline {
            break (push, false);
        }
        std::thread::sleep(LOOK_EVERY);
    };
    bar.finish_and_clear();
    if terminal.is_json() {
        terminal.json(&push)?;
    } else {
        summary(&push, terminal)?;
    }
    if over {
        return Ok(());
    }
    Err(Failure::new(format!(
        "push {} is not over after {}: whoever is owed it gets it on return, until it expires",
        arguments.push,
        span::shown(arguments.timeout)
    )))
}

/// Whether it is a live push, to devices that were connected.
fn is_live(push: &Value) -> bool {
    push.get("live").and_then(Value::as_bool) == Some(true)
}

/// A push in a few lines.
fn summary(push: &Value, terminal: &Terminal) -> Result<(), Failure> {
    let status = text(push, "status");
    let style = match status {
        "settled" => Style::Good,
        "cancelled" => Style::Bad,
        _ => Style::Warning,
    };
    terminal.data(&format!(
        "{}{} {}, accepted {}",
        if is_live(push) { "live push " } else { "" },
        terminal.out(Style::Strong, text(push, "id")),
        terminal.out(style, status),
        when(text(push, "accepted_at")),
    ))?;
    let counts = push.get("counts").unwrap_or(&Value::Null);
    let figure = |field: &str| count(number(counts, field));
    let delivered = terminal.out(Style::Strong, figure("delivered"));
    // A live push to a channel or to clients asks no registry.
    let matched = match number(counts, "devices") {
        0 if is_live(push) => String::new(),
        _ => format!("{} of {} devices matched, ", figure("matched"), figure("devices")),
    };
    let opened = if is_live(push) {
        String::new()
    } else {
        format!(", {} opened, {} clicked", figure("opened"), figure("clicked"))
    };
    terminal.data(&format!("  {matched}{} targeted, {delivered} delivered{opened}", figure("targeted")))?;
    for action in push.get("actions").and_then(Value::as_array).into_iter().flatten() {
        terminal.data(&format!(
            "  {} clicked {:?}",
            count(number(action, "clicks")),
            text(action, "action")
        ))?;
    }
    if push.get("started_at").is_some_and(|at| !at.is_null()) && number(counts, "targeted") == 0 {
        let why = if number(counts, "matched") == 0 {
            "no device matched"
        } else {
            "every device that matched was left out"
        };
        terminal.data(&format!("  {} {why}: nobody gets it", terminal.out(Style::Warning, "warning:")))?;
    }
    for (field, what) in [
        ("in_flight", "sent and not acknowledged yet"),
        ("owed", "owed still"),
        ("waiting", "wait for the end of their quiet hours"),
        ("expired", "expired"),
        ("collapsed", "gave way to a newer push"),
        ("crowded_out", "had a full inbox"),
        ("refused", "refused"),
        ("cancelled", "cancelled"),
        ("opted_out", "left out: not opted in"),
        ("held_out", "left out: held out"),
        ("capped", "left out: had their fill"),
        ("quiet", "left out: quiet hours"),
        ("no_value", "left out: a text needs a value that they lack"),
    ] {
        if number(counts, field) > 0 {
            terminal.data(&format!("  {} {what}", figure(field)))?;
        }
    }
    for (field, what) in [("sent", "sent"), ("acknowledged", "acknowledged")] {
        let latency = push.get(field).unwrap_or(&Value::Null);
        if number(latency, "count") > 0 {
            let ms = |name: &str| format!("{} ms", count(number(latency, name)));
            terminal.data(&format!(
                "  {what}: first {}, p50 {}, p99 {}, last {}",
                ms("first_ms"),
                ms("p50_ms"),
                ms("p99_ms"),
                ms("last_ms")
            ))?;
        }
    }
    Ok(())
}

/// Gives the reason.
pub(super) fn trace(api: &Api, arguments: TraceArguments, terminal: &Terminal) -> Result<(), Failure> {
    let below = format!("/devices/{}", crate::api::encoded(&arguments.device));
    let trace = ask(api, Method::Get, &arguments.app.named(api, "pushes", &arguments.push, &below), None)?;
    if terminal.is_json() {
        return terminal.json(&trace);
    }
    terminal.data(&format!("{}", terminal.out(Style::Strong, clean(text(&trace, "sentence"), 1_000))))?;
    for step in items(&trace, "steps") {
        let connection = step.get("connection").and_then(Value::as_str);
        let over = connection.map(|connection| format!(" over {connection}")).unwrap_or_default();
        terminal.data(&format!("  {}  {}{over}", text(step, "at"), text(step, "what")))?;
    }
    Ok(())
}

/// Writes what became of it for each device.
pub(super) fn deliveries(
    api: &Api,
    arguments: DeliveriesArguments,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let format = Format::word(arguments.format, terminal);
    let path = arguments.app.named(api, "pushes", &arguments.push, &format!("/deliveries?format={format}"));
    download(api, &path, arguments.output.as_ref(), terminal)
}

/// Writes what a path answers to a file, with progress, or to standard output.
pub(in crate::command) fn download(
    api: &Api,
    path: &str,
    output: Option<&PathBuf>,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let Some(file) = output else {
        return api.download(path, &mut io::stdout().lock()).map(|_| ());
    };
    // Asked first: where the server refuses, an old file stays as it was.
    let part = file.with_extension("part");
    let out = File::create(&part).context(part.display())?;
    let bar = terminal.progress(0, "bytes");
    let written = api.download(path, &mut bar.wrap_write(&out));
    bar.finish_and_clear();
    let finished = written.and_then(|bytes| {
        out.sync_all().context(part.display())?;
        std::fs::rename(&part, file).context(file.display())?;
        Ok(bytes)
    });
    if finished.is_err() {
        // What was begun is nobody's file.
        let _ = std::fs::remove_file(&part);
    }
    terminal.note(format_args!("{} bytes in {}", count(finished?), file.display()));
    Ok(())
}
