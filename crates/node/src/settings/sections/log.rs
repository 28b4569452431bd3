//! `[log]`: the log of the process.
//!
//! Figures are metrics instead, on the HTTP port.

use crate::settings::define::group;
use crate::settings::value::words;

words! {
    /// How a log line is written.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

group! {
    /// Structured logs, on standard error.
    pub struct Log {
        /// What is logged: `error`, `warn`, `info`, `debug`, `trace`, or a filter such as
        /// `info,stadium_edge=debug`.
        level: String = "info".to_owned(), cost "debug and trace log each connection and packet";
        /// How a line is written. With `json` each line on standard error is one object, from the
        /// first to the last: addresses, errors at the start, steps of the drain and panics too.
        /// Errors in the command line itself stay text.
        format: LogFormat = LogFormat::Text;
    }
}
