//! `stadium apply FILE`: makes a server have what one file declares. `stadium export` writes such a
//! file.
//!
//! The file is read and checked whole, the server's state is read, and the difference is shown
//! before anything changes. All of it goes over the HTTP API, so that a key's rights, the audit log
//! and the server's own checks hold. The first change that fails ends the run; running it again
//! goes on there.

mod carry_out;
mod diff;
mod export;
mod file;
mod resource;
mod rules;
mod scheduled;
mod schema;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

pub(crate) use self::export::run as export;
use self::resource::{Action, Kind, Planned};
use crate::api::Api;
use crate::failure::Failure;
use crate::on::On;
use crate::server::ServerFlags;
use crate::terminal::{Style, Terminal};

/// The file, and how carefully.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium apply site.toml                    shows the difference, asks, makes it so
  stadium apply site.toml --dry-run          shows the difference
  stadium apply - --yes < site.toml
  stadium apply --schema > apply.schema.json
The file has the tables [assets.NAME], [apps.NAME], [queues.NAME] and [keys.NAME], and the list [[rules]]; their fields are those of the HTTP API.
Things that the file does not name stay as they are, unless --prune removes them. docs/apply.md describes the file.")]
pub(crate) struct Arguments {
    /// The file, TOML; `-` reads standard input
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Print the JSON schema of the file, for editors
    #[arg(long, exclusive = true)]
    schema: bool,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    server: ServerFlags,
}

#[derive(Debug, Clone, Args)]
struct How {
    /// Show the difference, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Remove what the file does not name: of each table that the file has, and of each app and
    /// queue that it names. Never the app `default`, queues whose names begin with `events.` or
    /// `stadium.`, assets, or keys of an admin
    #[arg(long)]
    prune: bool,
    /// Let keys with other rights than the file's be replaced: their secrets change
    #[arg(long)]
    replace_keys: bool,
    /// Write also what seems equal: the API does not show the secrets of webhooks
    #[arg(long)]
    rewrite: bool,
}

/// What `stadium export` takes: the server alone.
#[derive(Debug, Args)]
pub(crate) struct Nothing {}

/// The server to export.
pub(crate) type Export = On<Nothing>;

/// Reads, compares, asks and changes.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    if arguments.schema {
        return terminal.data(schema::text().trim_end());
    }
    let declared = file::read(&arguments.file.unwrap_or_default())?;
    let api = Api::open(&arguments.server)?;
    let how = arguments.how;
    let planned = resource::plan(&api, &declared, &how, terminal)?;
    let changes: Vec<&Planned> = planned.iter().filter(|planned| planned.action != Action::Keep).collect();
    if !terminal.is_json() {
        show(&changes, &planned, terminal)?;
    }
    if how.dry_run || changes.is_empty() {
        return if terminal.is_json() { report(&changes, 0, &[], terminal) } else { Ok(()) };
    }
    if !how.yes {
        terminal.confirm(&question(&changes))?;
    }
    let done = carry_out::all(&api, &changes, &declared)?;
    if terminal.is_json() {
        return report(&changes, done.count, &done.secrets, terminal);
    }
    for file in &done.secrets {
        terminal.note(format_args!("a secret is in {}", file.display()));
    }
    terminal.data(&format!("{} {} made", terminal.out(Style::Good, "done:"), counted(done.count, "change")))
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn question(changes: &[&Planned]) -> String {
    let removed = changes.iter().filter(|change| change.action == Action::Remove).count();
    let apps = changes.iter().any(|change| change.action == Action::Remove && change.kind == Kind::App);
    let devices = if apps { ", apps with all their devices among them" } else { "" };
    match removed {
        0 => format!("Make {}?", counted(changes.len(), "change")),
        _ => format!("Make {}, and remove {removed} for good{devices}?", counted(changes.len(), "change")),
    }
}

/// The difference, as people read it: `+` is made, `~` changed, `-` removed, `-/+` replaced.
fn show(changes: &[&Planned], planned: &[Planned], terminal: &Terminal) -> Result<(), Failure> {
    for change in changes {
        let (sign, style) = change.action.sign();
        let name = format!("{} {}", change.kind.word(), change.name);
        terminal.data(&format!(
            "{} {}",
            terminal.out(style, format!("{sign:>3}")),
            terminal.out(Style::Strong, name)
        ))?;
        for field in &change.fields {
            let text = match (&field.from, &field.to) {
                (None, to) => format!("{}: {}", field.path, diff::shown(&field.path, to)),
                (Some(from), to) => {
                    let (from, to) = (diff::shown(&field.path, from), diff::shown(&field.path, to));
                    format!("{}: {from} -> {to}", field.path)
                }
            };
            terminal.data(&format!("      {text}"))?;
        }
    }
    let count = |action: Action| changes.iter().filter(|change| change.action == action).count();
    let same = planned.len() - changes.len();
    if changes.is_empty() {
        return terminal
            .data(&format!("{} no changes: {same} as declared", terminal.out(Style::Good, "ok:")));
    }
    terminal.data(&format!(
        "{} to make, {} to change, {} to replace, {} to remove; {same} as declared",
        count(Action::Make),
        count(Action::Change),
        count(Action::Replace),
        count(Action::Remove)
    ))
}

fn report(
    changes: &[&Planned],
    made: usize,
    secrets: &[PathBuf],
    terminal: &Terminal,
) -> Result<(), Failure> {
    let shown = |change: &&Planned| {
        let fields: Vec<Value> = change
            .fields
            .iter()
            .map(|field| {
                let from = field.from.as_ref().map(|from| diff::hidden(&field.path, from));
                json!({"field": field.path, "from": from, "to": diff::hidden(&field.path, &field.to)})
            })
            .collect();
        json!({
            "action": change.action.word(), "kind": change.kind.word(), "name": change.name, "fields": fields,
        })
    };
    let changes: Vec<Value> = changes.iter().map(shown).collect();
    terminal.json(&json!({"changes": changes, "made": made, "secret_files": secrets}))
}
