//! `stadium load report` and `stadium load compare`: results read again.

use std::path::{Path, PathBuf};

use clap::Args;
use stadium_load::results;
use stadium_report::{RunResult, compare};

use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// Which report.
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// A result.json, or the folder with it
    result: PathBuf,
    /// The HTML file to write; otherwise a summary is printed
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Which results.
#[derive(Debug, Args)]
pub(super) struct CompareArguments {
    /// What to compare with: a result.json, or the folder with it
    before: PathBuf,
    /// What is compared
    after: PathBuf,
    /// The HTML file to write besides
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes a report.
pub(super) fn report(arguments: &ReportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let result = read(&arguments.result)?;
    match &arguments.output {
        Some(output) => {
            std::fs::write(output, stadium_report::html::report(&result))
                .context(format!("writing {}", output.display()))?;
            terminal.note(format!("wrote {}", output.display()));
            Ok(())
        }
        None => terminal.data(stadium_report::text::summary(&result).trim_end()),
    }
}

/// Compares two results.
pub(super) fn difference(arguments: &CompareArguments, terminal: &Terminal) -> Result<(), Failure> {
    let (before, after) = (read(&arguments.before)?, [read(&arguments.after)?]);
    let comparison = compare::compare(&before, &after);
    if let Some(output) = &arguments.output {
        std::fs::write(output, compare::html(&comparison))
            .context(format!("writing {}", output.display()))?;
        terminal.note(format!("wrote {}", output.display()));
    }
    terminal.data(compare::text(&comparison).trim_end())
}

fn read(path: &Path) -> Result<RunResult, Failure> {
    results::read(path).map_err(|error| Failure::new(error.to_string()))
}
