//! `stadium device trace`: what a device, or a topic, sends and gets, as it happens.
//!
//! The server sends events; each becomes a line, or a JSON object with `--json`. The trace ends with the command.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use crate::api::{Api, encoded};
use crate::failure::Failure;
use crate::terminal::{Style, Terminal};

/// What to follow.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The device's id (its MQTT client identifier)
    #[arg(required_unless_present = "topic", conflicts_with = "topic")]
    id: Option<String>,
    /// All messages whose topic this filter matches, whoever sends and gets them
    #[arg(long, value_name = "FILTER")]
    topic: Option<String>,
    /// End after so many seconds
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
    /// End after so many lines
    #[arg(long, value_name = "N")]
    lines: Option<u64>,
}

/// Follows it.
pub(super) fn follow(api: &Api, arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = match (&arguments.id, &arguments.topic) {
        (_, Some(filter)) => format!("/api/trace?topic={}", encoded(filter)),
        (Some(id), None) => format!("/api/trace?device={}", encoded(id)),
        (None, None) => return Err(Failure::Usage("name a device, or a topic with --topic".to_owned())),
    };
    let mut lines = Lines {
        out: io::stdout().lock(),
        terminal,
        until: arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        left: arguments.lines.unwrap_or(u64::MAX),
        partial: Vec::new(),
    };
    api.download(&path, &mut lines)?;
    Ok(())
}

/// Prints the events of a stream as they come. A broken pipe ends the stream in order, whichever end it is.
struct Lines<'a, W> {
    out: W,
    terminal: &'a Terminal,
    until: Option<Instant>,
    left: u64,
    /// The beginning of a line.
    partial: Vec<u8>,
}

impl<W: Write> Write for Lines<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial);
                self.print(&line)?;
            }
        }
        // The server speaks every 15 seconds at least, so that the time is looked at.
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Lines<'_, W> {
    fn print(&mut self, line: &[u8]) -> io::Result<()> {
        let Some(data) = line.strip_prefix(b"data:") else { return Ok(()) };
        let Ok(event) = serde_json::from_slice::<Value>(data) else { return Ok(()) };
        let line = if self.terminal.is_json() { event.to_string() } else { shown(&event, self.terminal) };
        writeln!(self.out, "{line}").and_then(|()| self.out.flush())?;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }
}

/// An event in one line. Names are those that clients gave themselves: control characters are escaped.
fn shown(event: &Value, terminal: &Terminal) -> String {
    let text = |field: &str| event.get(field).and_then(Value::as_str).unwrap_or_default();
    let arrow = match text("direction") {
        "in" => "->",
        "out" => "<-",
        _ => "--",
    };
    let time = text("at").split_once('T').map_or(text("at"), |(_, time)| time);
    let device = text("device").escape_debug().to_string();
    let mut line = format!("{} {device} {arrow} {}", terminal.out(Style::Faint, time), text("line"));
    if let Some(missed) = event.get("missed").and_then(Value::as_u64) {
        line.push_str(&format!(" ({missed} lines before it were missed)"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_and_names_cannot_break_it() {
        let terminal = Terminal::new(true);
        let event = serde_json::json!({
            "at": "2026-11-23T18:00:01.250Z", "device": "a\nb", "direction": "in", "line": "PINGREQ", "missed": 3,
        });
        let line = shown(&event, &terminal);
        assert!(line.contains("18:00:01.250Z") && line.contains("a\\nb -> PINGREQ (3 lines"), "{line}");
    }

    #[test]
    fn events_are_found_however_they_are_cut() {
        let terminal = Terminal::new(true);
        let bytes = b"event: packet\ndata: {\"line\":\"PINGREQ\"}\n\n: keep alive\n\ndata: {\"line\":\"PINGRESP\"}\n\n";
        for size in 1..bytes.len() {
            let (out, partial) = (Vec::new(), Vec::new());
            let mut lines = Lines { out, terminal: &terminal, until: None, left: 2, partial };
            let written = bytes.chunks(size).try_for_each(|part| lines.write_all(part));
            assert_eq!(
                written.map_err(|error| error.kind()),
                Err(io::ErrorKind::BrokenPipe),
                "two lines are enough"
            );
            let printed = String::from_utf8(lines.out).expect("JSON is UTF-8");
            assert_eq!(printed, "{\"line\":\"PINGREQ\"}\n{\"line\":\"PINGRESP\"}\n");
        }
    }
}
