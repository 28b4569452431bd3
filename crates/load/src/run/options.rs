//! How a scenario is run.

use std::path::PathBuf;

/// How a scenario is run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Loops (threads) of this process; zero for one a processor.
    pub loops: u32,
    /// Processors to pin loops to, in turn; empty leaves it to the system.
    pub cpus: Vec<usize>,
    /// The folder that file names in the scenario are relative to.
    pub folder: PathBuf,
    /// The command line, for the report.
    pub command: Vec<String>,
}
