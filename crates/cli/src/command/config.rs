//! `stadium config`: check, show and document the configuration.
//!
//! All of it is generated from the definitions in `stadium_node::settings`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use stadium_node::settings::{Origin, reference};

use crate::failure::Failure;
use crate::settings_flags::SettingsFlags;
use crate::terminal::{Style, Terminal};

/// What to do with the configuration.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say everything that is wrong with the configuration
    Check {
        /// The file; like --config
        #[arg(value_name = "FILE", conflicts_with = "config")]
        file: Option<PathBuf>,
        #[command(flatten)]
        flags: Box<SettingsFlags>,
    },
    /// Show each setting in force, and where it came from
    Show {
        /// Only what something has set
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        flags: Box<SettingsFlags>,
    },
    /// Print the reference of all settings, as Markdown
    Reference,
    /// Print a stadium.toml with every setting commented out at its default
    Sample,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Check { file, flags } => check(file, *flags, terminal),
        Action::Show { changed, flags } => show(changed, &flags, terminal),
        Action::Reference => terminal.data(reference::markdown().trim_end()),
        Action::Sample => terminal.data(reference::sample().trim_end()),
    }
}

fn check(file: Option<PathBuf>, mut flags: SettingsFlags, terminal: &Terminal) -> Result<(), Failure> {
    if file.is_some() {
        flags.config = file;
    }
    let loaded = flags.load()?;
    let changed = loaded.effective.iter().filter(|effective| effective.origin != Origin::Default).count();
    let file = loaded.file.as_ref().map(|path| path.display().to_string());
    if terminal.is_json() {
        return terminal.json(
            &json!({"ok": true, "file": file, "settings": loaded.effective.len(), "changed": changed}),
        );
    }
    let file = file.unwrap_or_else(|| "no file".to_owned());
    terminal.data(&format!(
        "{} {file}, {changed} of {} settings changed",
        terminal.out(Style::Good, "ok:"),
        loaded.effective.len()
    ))
}

fn show(changed: bool, flags: &SettingsFlags, terminal: &Terminal) -> Result<(), Failure> {
    let loaded = flags.load()?;
    let shown: Vec<_> =
        loaded.effective.iter().filter(|effective| !changed || effective.origin != Origin::Default).collect();
    if terminal.is_json() {
        let entries: Vec<_> = shown
            .iter()
            .map(|effective| {
                json!({"setting": effective.name, "value": effective.value, "from": effective.origin.to_string()})
            })
            .collect();
        return terminal.json(&entries);
    }
    let mut table = "";
    for effective in shown {
        let (this_table, key) = effective.name.rsplit_once('.').unwrap_or(("", &effective.name));
        if this_table != table {
            let gap = if table.is_empty() { "" } else { "\n" };
            terminal.data(&format!("{gap}[{}]", terminal.out(Style::Strong, this_table)))?;
            table = this_table;
        }
        let assignment = format!("{key} = {}", effective.value);
        let origin = match &effective.origin {
            Origin::Default => terminal.out(Style::Faint, format!("# {}", Origin::Default)),
            origin => terminal.out(Style::Name, format!("# {origin}")),
        };
        terminal.data(&format!("{assignment:<52} {origin}"))?;
    }
    Ok(())
}
