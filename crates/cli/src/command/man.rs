//! `stadium man DIRECTORY`: the manual pages of section 1, one for each command.
//!
//! Generated from the same definitions as the parser and its help, so a page knows every flag.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use serde_json::json;

use crate::failure::{Context as _, Failure};
use crate::terminal::Terminal;

/// Writes the pages.
pub(crate) fn run(directory: &Path, terminal: &Terminal) -> Result<(), Failure> {
    let attempt = format!("the manual pages cannot be written to {}", directory.display());
    fs::create_dir_all(directory).context(&attempt)?;
    clap_mangen::generate_to(crate::arguments::Arguments::command(), directory).context(&attempt)?;
    if terminal.is_json() {
        return terminal.json(&json!({"directory": directory}));
    }
    let shown = directory.display();
    terminal.note(format_args!("Wrote the manual pages; read the first with `man {shown}/stadium.1`"));
    Ok(())
}
