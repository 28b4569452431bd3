//! Devices in files: import and export, with progress.
//!
//! The server reads and writes them; here they are only forwarded, so that nothing is held in
//! memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::api::{Api, encoded};
use crate::command::push::look::{Format, download};
use crate::failure::{Context, Failure};
use crate::of_app::{AppFlag, parse_audience};
use crate::shown::{clean, items, number, text};
use crate::terminal::{Style, Terminal, count};

#[derive(Debug, Args)]
#[command(after_help = "\
CSV has a heading: device, and any of platform, app_version, language, country, time_zone,
named_user, opt_in, quiet_hours (22:00-07:00), latitude, longitude, tags and lists (apart by ;),
text:NAME, number:NAME, date:NAME. An empty cell leaves what is known. NDJSON has an object on
each line: `device`, and what changes as in the API.")]
pub(super) struct ImportArguments {
    /// The file; `-` reads standard input
    file: PathBuf,
    /// How it looks [default: ndjson where its name ends so, else csv]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    /// Only these: all, tag:TAG, user:USER, list:LIST, or a selector as JSON
    #[arg(long, value_parser = parse_audience)]
    audience: Option<Value>,
    /// How it looks [default: csv; ndjson with --json]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    app: AppFlag,
}

/// Sends a file, and reports the result.
pub(super) fn import(api: &Api, arguments: ImportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let named = arguments.file.extension().is_some_and(|ending| ending == "ndjson" || ending == "jsonl");
    let format = match (arguments.format, named) {
        (Some(Format::Ndjson), _) | (None, true) => "ndjson",
        (Some(Format::Csv), _) | (None, false) => "csv",
    };
    let path = arguments.app.path(api, &format!("/devices/import?format={format}"));
    let (bytes, mut file): (u64, Box<dyn Read>) = if arguments.file == Path::new("-") {
        (0, Box::new(io::stdin().lock()))
    } else {
        let file = File::open(&arguments.file).context(arguments.file.display())?;
        (file.metadata().map_or(0, |about| about.len()), Box::new(file))
    };
    let bar = terminal.progress(bytes, "bytes sent");
    let report = api.upload(&path, &mut bar.wrap_read(&mut file));
    bar.finish_and_clear();
    let report = report?;
    let failed = number(&report, "failed");
    if terminal.is_json() {
        terminal.json(&report)?;
    } else {
        terminal.data(&format!(
            "{} records: {} registered, {} updated, {} wrong",
            count(number(&report, "records")),
            terminal.out(Style::Good, count(number(&report, "registered"))),
            count(number(&report, "updated")),
            count(failed),
        ))?;
        for mistake in items(&report, "mistakes") {
            let line = number(mistake, "line");
            terminal.note(format_args!("line {line}: {}", clean(text(mistake, "reason"), 300)));
        }
    }
    if failed == 0 {
        return Ok(());
    }
    Err(Failure::new(format!("{} records were skipped; all others are registered", count(failed))))
}

/// Writes a file.
pub(super) fn export(api: &Api, arguments: ExportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let format = Format::word(arguments.format, terminal);
    let audience = arguments.audience.map(|audience| format!("&audience={}", encoded(&audience.to_string())));
    let below = format!("/devices/export?format={format}{}", audience.unwrap_or_default());
    download(api, &arguments.app.path(api, &below), arguments.output.as_ref(), terminal)
}
