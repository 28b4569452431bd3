//! Logs: key/value events on standard error, for people or as JSON.
//!
//! Set up once for the process, by the program rather than by [`crate::Node`], so that several
//! nodes can run in one test. Each crate decides what it logs and where. The level can be changed
//! while the process runs.
//!
//! Text for systemd's journal has the journal's priorities and no time, see [`crate::journald`].
//! As JSON, each line is one object, a panic included: the hook that prints panics is replaced.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::thread;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use crate::journald;
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

/// The filter in force, once the process logs.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Starts logging as the settings ask.
///
/// # Errors
/// When the filter is not one, or the process logs already.
pub fn start(log: &Log) -> Result<(), Error> {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|error| Error(format!("log.level = {:?} is not a filter: {error}", log.level)))?;
    let colours =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let (filter, handle) = reload::Layer::new(filter);
    let lines = tracing_subscriber::fmt::layer().with_ansi(colours);
    let lines = match log.format {
        LogFormat::Text if goes_to_journal() => {
            lines.with_writer(io::stderr).event_format(journald::Lines::new()).boxed()
        }
        LogFormat::Text => lines.with_writer(io::stderr).with_target(false).boxed(),
        LogFormat::Json => lines.with_writer(|| OfTrace(io::stderr())).json().boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init()
        .map_err(|error| Error(format!("the log cannot be started: {error}")))?;
    if log.format == LogFormat::Json {
        panic::set_hook(Box::new(log_panic));
    }
    // Only the first start gets here.
    let _ = FILTER.set(handle);
    Ok(())
}

/// Whether standard error, and with it the log, goes to systemd's journal.
#[must_use]
pub fn goes_to_journal() -> bool {
    journald::reads_standard_error()
}

/// Puts `trace_id` and `span_id` first into each line of JSON that is logged for a traced request.
struct OfTrace<W>(W);

impl<W: Write> Write for OfTrace<W> {
    /// Takes a whole line: that is how lines are written.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match (stadium_telemetry::current(), line.strip_prefix(b"{")) {
            (Some(trace), Some(rest)) => {
                let context = trace.context();
                let (trace_id, span_id) = (context.trace_id_hex(), context.span_id_hex());
                let mut whole =
                    format!("{{\"trace_id\":\"{trace_id}\",\"span_id\":\"{span_id}\",").into_bytes();
                whole.extend_from_slice(rest);
                self.0.write_all(&whole)?;
            }
            _ => self.0.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A panic as a line of the log, with its backtrace where `RUST_BACKTRACE` asks for one.
fn log_panic(what: &PanicHookInfo<'_>) {
    let message = what.payload_as_str().unwrap_or("a value that is no text");
    let place = what.location().map(ToString::to_string);
    let thread = thread::current();
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    tracing::error!(error = message, place, thread = thread.name(), backtrace, "A thread panicked");
}

/// Sets what is logged to a level or a filter, where one is wanted, and returns the most detailed
/// level in force.
///
/// # Errors
/// When it is no filter, or this process does not log.
pub(crate) fn level(wanted: Option<&str>) -> Result<String, String> {
    let Some(handle) = FILTER.get() else { return Err("this process does not log".to_owned()) };
    if let Some(wanted) = wanted {
        let filter = EnvFilter::try_new(wanted).map_err(|error| error.to_string())?;
        handle.reload(filter).map_err(|error| error.to_string())?;
        tracing::info!(level = wanted, "Log level set");
    }
    let level = handle.with_current(Layer::<Registry>::max_level_hint);
    Ok(level.map_err(|error| error.to_string())?.unwrap_or(LevelFilter::TRACE).to_string())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// The text that was logged.
    #[derive(Clone, Default)]
    pub(crate) struct Logged(Arc<Mutex<Vec<u8>>>);

    impl Logged {
        pub(crate) fn text(&self) -> String {
            let bytes = self.0.lock().expect("no test panics with it").clone();
            String::from_utf8(bytes).expect("text")
        }
    }

    impl Write for Logged {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no test panics with it").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_is_one_line_of_json() {
        let lines = Logged::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
        let before = panic::take_hook();
        panic::set_hook(Box::new(log_panic));
        let panicked = tracing::subscriber::with_default(subscriber, || {
            panic::catch_unwind(|| panic!("the first line\nthe second"))
        });
        panic::set_hook(before);
        assert!(panicked.is_err());
        let text = lines.text();
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(line["fields"]["error"], "the first line\nthe second");
        assert!(line["fields"]["place"].as_str().is_some_and(|place| place.contains("logging.rs")), "{line}");
    }
}
