//! `stadium config`: check, show and document the configuration.
//!
//! All of it is generated from the definitions in `stadium_node::settings`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use stadium_node::check::{self, Finding, Scope, Severity};
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
    /// Report everything that is wrong with the configuration and with what it names on this
    /// machine: files, certificates, ports, the data folder, limits. Changes nothing; exits with 1
    /// where there is an error, with 0 where there are only warnings
    Check {
        /// Look at the settings alone, not at this machine: the check runs elsewhere than the server will
        #[arg(long)]
        offline: bool,
        /// Do not try ports: another server has them for now
        #[arg(long, conflicts_with = "offline")]
        no_ports: bool,
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
        Action::Check { offline, no_ports, file, flags } => {
            let scope = match (offline, no_ports) {
                (true, _) => None,
                (_, true) => Some(Scope::WithoutPorts),
                _ => Some(Scope::Machine),
            };
            check(file, *flags, scope, terminal)
        }
        Action::Show { changed, flags } => show(changed, &flags, terminal),
        Action::Reference => terminal.data(reference::markdown().trim_end()),
        Action::Sample => terminal.data(reference::sample().trim_end()),
    }
}

fn check(
    file: Option<PathBuf>,
    mut flags: SettingsFlags,
    scope: Option<Scope>,
    terminal: &Terminal,
) -> Result<(), Failure> {
    if file.is_some() {
        flags.common.config = file;
    }
    let loaded = flags.load()?;
    let changed = loaded.effective.iter().filter(|effective| effective.origin != Origin::Default).count();
    let file = loaded.file.as_ref().map(|path| path.display().to_string());
    let findings = scope.map(|scope| check::check(&loaded, scope)).unwrap_or_default();
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let errors = count(Severity::Error);
    if terminal.is_json() {
        let findings: Vec<_> = findings.iter().map(shown).collect();
        terminal.json(&json!({
            "ok": errors == 0, "file": file, "settings": loaded.effective.len(), "changed": changed, "findings": findings,
        }))?;
        return if errors == 0 { Ok(()) } else { Err(Failure::Shown) };
    }
    for finding in &findings {
        let style = match finding.severity {
            Severity::Error => Style::Bad,
            Severity::Warning => Style::Warning,
            Severity::Note => Style::Faint,
        };
        let word = terminal.err(style, format!("{}:", finding.severity.word()));
        terminal.note(format_args!("{word} {finding}"));
    }
    let warnings = match count(Severity::Warning) {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        count => format!(", {count} warnings"),
    };
    if errors > 0 {
        let noun = if errors == 1 { "error" } else { "errors" };
        return Err(Failure::new(format!("the configuration has {errors} {noun}{warnings}")));
    }
    let file = file.unwrap_or_else(|| "no file".to_owned());
    terminal.data(&format!(
        "{} {file}, {changed} of {} settings changed{warnings}",
        terminal.out(Style::Good, "ok:"),
        loaded.effective.len()
    ))
}

fn shown(finding: &Finding) -> serde_json::Value {
    json!({
        "severity": finding.severity.word(),
        "code": finding.code.id(),
        "setting": finding.setting,
        "value": finding.value,
        "from": finding.origin.to_string(),
        "file": finding.file,
        "message": finding.message,
        "remedy": finding.remedy,
    })
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
