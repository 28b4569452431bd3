//! `stadium load import`: scenarios from recordings and other tools.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use stadium_scenario::import;

use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// From what.
#[derive(Debug, Subcommand)]
pub(super) enum Import {
    /// From a HAR file, as browsers' developer tools export it
    Har(Source),
    /// From a Tsung scenario (XML)
    Tsung(Source),
}

/// From where, to where.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The file
    file: PathBuf,
    /// The scenario to write; otherwise it is printed
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Translates, and lists what could not be.
pub(super) fn run(from: &Import, terminal: &Terminal) -> Result<(), Failure> {
    let (Import::Har(source) | Import::Tsung(source)) = from;
    let name = source.file.display();
    let text = std::fs::read_to_string(&source.file).context(format!("reading {name}"))?;
    let imported = match from {
        Import::Har(_) => import::har(&text),
        Import::Tsung(_) => import::tsung(&text),
    }
    .map_err(|error| Failure::Input(format!("{name}:{}: {}", error.line, error.message)))?;
    for left in &imported.left_out {
        terminal.note(format!("{name}:{}: not translated: {}", left.line, left.what));
    }
    match &source.output {
        None => terminal.data(imported.text.trim_end()),
        Some(output) => {
            std::fs::write(output, &imported.text).context(format!("writing {}", output.display()))?;
            terminal.note(format!(
                "wrote {}; `stadium load check {0}` reports whether it runs",
                output.display()
            ));
            Ok(())
        }
    }
}
