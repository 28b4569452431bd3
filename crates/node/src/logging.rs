//! Logs: key/value events on standard error, for people or as JSON.
//!
//! Set up once for the process, by the program rather than by [`crate::Node`], so that several nodes can run in one
//! test. What is logged and where is each crate's own.

use std::fmt;
use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::settings::{Log, LogFormat};

/// The log cannot be set up.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Starts logging as the settings ask.
///
/// # Errors
/// When the filter is not one, or the process logs already.
pub fn start(log: &Log) -> Result<(), Error> {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|error| Error(format!("log.level = {:?} is not a filter: {error}", log.level)))?;
    let colours =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    match log.format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    }
    .map_err(|error| Error(format!("the log cannot be started: {error}")))
}
