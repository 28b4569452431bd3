//! `stadium doctor`: examines what a server stands on, and names a remedy for each problem.
//!
//! The machine, its limits and clock, the disk below the data directory, the configuration with all
//! that it names, the services that it depends on, and the server if it runs. Nothing is changed;
//! the disk is measured with a file that is removed again. `stadium config check` has the findings
//! about the configuration alone.

mod configuration;
mod disk;
mod machine;
mod ports;
mod remote;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;
use crate::settings_flags::SettingsFlags;
use crate::table::broken;
use crate::terminal::{Style, Terminal};

/// Characters before the text of a finding: its verdict and its area.
const INDENT: usize = 19;

/// The narrowest text of a finding, however narrow the terminal is.
const TEXT_CHARS_MIN: usize = 30;

/// The configuration whose server is examined.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 healthy, warnings or not; 1 a problem was found.
Examples:
  stadium doctor
  stadium doctor --config /etc/stadium/stadium.toml --brief
  stadium doctor --json | jq '.checks[] | select(.verdict == \"problem\")'")]
pub(crate) struct Arguments {
    /// Show problems and warnings only
    #[arg(long)]
    brief: bool,
    /// Write nothing to measure the disk with
    #[arg(long)]
    no_disk: bool,
    #[command(flatten)]
    settings: SettingsFlags,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// As it should be.
    Ok,
    /// It works, and less well or less safely than it could.
    Warning,
    /// It does not work, or soon will not.
    Problem,
}

/// One check.
#[derive(Debug, Serialize)]
struct Check {
    area: &'static str,
    verdict: Verdict,
    /// The fact.
    found: String,
    /// The remedy; empty where all is well.
    remedy: String,
}

/// The checks so far.
#[derive(Debug, Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn ok(&mut self, area: &'static str, found: impl Into<String>) {
        self.add(area, Verdict::Ok, found, "");
    }

    fn warning(&mut self, area: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(area, Verdict::Warning, found, remedy);
    }

    fn problem(&mut self, area: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(area, Verdict::Problem, found, remedy);
    }

    fn add(
        &mut self,
        area: &'static str,
        verdict: Verdict,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.0.push(Check { area, verdict, found: found.into(), remedy: remedy.into() });
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.0.iter().filter(|check| check.verdict == verdict).count()
    }
}

/// Examines everything.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let loaded = arguments.settings.load()?;
    let mut checks = Checks::default();
    machine::examine(&loaded, &mut checks);
    disk::examine(&loaded.settings.server.data, !arguments.no_disk, &mut checks);
    configuration::examine(&loaded, &mut checks);
    remote::examine(arguments, &loaded, &mut checks);
    let (problems, warnings) = (checks.count(Verdict::Problem), checks.count(Verdict::Warning));
    if terminal.is_json() {
        terminal.json(&json!({"problems": problems, "warnings": warnings, "checks": checks.0}))?;
    } else {
        show(&checks, arguments.brief, terminal)?;
        let ends = |count: usize| if count == 1 { "" } else { "s" };
        let (p, w) = (ends(problems), ends(warnings));
        terminal.data(&format!(
            "{problems} problem{p}, {warnings} warning{w}, {} ok",
            checks.count(Verdict::Ok)
        ))?;
    }
    if problems == 0 { Ok(()) } else { Err(Failure::Shown) }
}

fn show(checks: &Checks, brief: bool, terminal: &Terminal) -> Result<(), Failure> {
    let width = terminal.width().map_or(usize::MAX, |width| width.saturating_sub(INDENT).max(TEXT_CHARS_MIN));
    for check in checks.0.iter().filter(|check| !brief || check.verdict != Verdict::Ok) {
        let (word, style) = match check.verdict {
            Verdict::Ok => ("ok", Style::Good),
            Verdict::Warning => ("warning", Style::Warning),
            Verdict::Problem => ("problem", Style::Bad),
        };
        let word = terminal.out(style, format!("{word:<7}"));
        let mut lines = broken(&check.found, width).into_iter();
        terminal.data(&format!("{word}  {:<8}  {}", check.area, lines.next().unwrap_or_default()))?;
        let remedy = Some(&check.remedy).filter(|remedy| !remedy.is_empty());
        let remedy = remedy.map(|remedy| broken(&format!("-> {remedy}"), width)).unwrap_or_default();
        for line in lines.chain(remedy) {
            terminal.data(&format!("{:INDENT$}{line}", ""))?;
        }
    }
    Ok(())
}
