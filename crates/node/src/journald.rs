//! Lines for systemd's journal: no time, which the journal has, and a priority, which
//! `journalctl --priority` selects by.
//!
//! systemd sets `JOURNAL_STREAM` to device and inode of the socket that standard error was when the
//! service started, systemd.exec(5). A line begins with its priority as `<N>`, sd-daemon(3).

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The variable with device and inode.
const VARIABLE: &str = "JOURNAL_STREAM";

/// Whether standard error goes to the journal.
pub(crate) fn reads_standard_error() -> bool {
    let Ok(named) = std::env::var(VARIABLE) else { return false };
    fs::metadata("/proc/self/fd/2").is_ok_and(|file| named == format!("{}:{}", file.dev(), file.ino()))
}

/// The format of a line.
pub(crate) struct Lines(Format<Full, ()>);

impl Lines {
    /// As the text for people, without the time.
    pub(crate) fn new() -> Self {
        Self(Format::default().with_target(false).with_ansi(false).without_time())
    }
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        write!(writer, "<{}>", priority(*event.metadata().level()))?;
        self.0.format_event(context, writer, event)
    }
}

/// The priority of syslog(3).
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use crate::logging::tests::Logged;

    #[test]
    fn a_line_has_its_priority_and_no_time() {
        let logged = Logged::default();
        let writer = logged.clone();
        let format = tracing_subscriber::fmt().with_ansi(false).event_format(Lines::new());
        tracing::subscriber::with_default(format.with_writer(move || writer.clone()).finish(), || {
            tracing::warn!(devices = 3, "Node is draining");
            tracing::info!("Node runs");
        });
        let text = logged.text();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines, ["<4> WARN Node is draining devices=3", "<6> INFO Node runs"]);
    }
}
