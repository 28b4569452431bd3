//! A node is killed under load, again and again: the drill `kill` of crates/cluster, which holds what
//! is there against a model of what was acknowledged.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::Numbers;
use crate::figure::median;
use crate::process::{Cores, Owned, lines};

/// Name of the measurement.
pub(super) const NAME: &str = "kills";

/// Time for a line: a round takes less.
const LINE_WITHIN: Duration = Duration::from_secs(180);

/// How long a node is away at least, for the drill: others own its shards before it comes back.
const AWAY: &str = "1s";

/// Has the drill kill nodes so often, and adds up its reports.
pub(super) fn take(drills: &Path, rounds: usize) -> Result<Numbers> {
    let mut command = Cores::Both.command(drills);
    // Where cargo runs tests.
    command.current_dir("crates/cluster").args(["--drill", "kill", "--for", AWAY]).stdin(Stdio::null());
    command.env("STADIUM_KILLS", (2 * rounds).to_string()).stdout(Stdio::piped());
    let mut drill = Owned::start(&mut command)?;
    let (mut pauses, mut acknowledged, mut wrong, mut is_good) = (Vec::new(), 0.0, 0.0, false);
    let lines = lines(&mut drill)?;
    while let Ok(line) = lines.recv_timeout(LINE_WITHIN) {
        if let Some(report) = Report::read(&line) {
            eprintln!("    round {}: {}", pauses.len() + 1, line.trim());
            pauses.push(report.pause_s);
            acknowledged += report.acknowledged;
            wrong += report.wrong;
        }
        is_good |= line.contains("test result: ok");
    }
    ensure!(is_good, "the drill failed: `STADIUM_KILLS={} cargo xtask drill kill`", 2 * rounds);
    ensure!(pauses.len() == rounds, "{} rounds of {rounds} were reported", pauses.len());
    let numbers = [
        ("lost", wrong),
        ("pause_s", pauses.iter().copied().fold(0.0, f64::max)),
        ("median_pause_s", median(&pauses).context("no round")?),
        ("acknowledged", acknowledged),
    ];
    Ok(numbers.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

/// The last line of a round.
struct Report {
    acknowledged: f64,
    pause_s: f64,
    wrong: f64,
}

impl Report {
    /// `N acknowledged, ...; longest pause 2.31s; against the model N wrong`
    fn read(line: &str) -> Option<Self> {
        let parts: Vec<&str> = line.trim().split("; ").collect();
        let [counts, pause, model] = parts[..] else { return None };
        let pause = pause.strip_prefix("longest pause ")?;
        let pause_s = match pause.strip_suffix("ms") {
            Some(ms) => ms.parse::<f64>().ok()? / 1e3,
            None => pause.strip_suffix('s')?.parse().ok()?,
        };
        let wrong = model.strip_prefix("against the model ")?.strip_suffix(" wrong")?.parse().ok()?;
        Some(Self { acknowledged: counts.split_once(" acknowledged")?.0.parse().ok()?, pause_s, wrong })
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn the_report_of_a_round_is_read() {
        let line = "             9123 acknowledged, 3 refused, 0 unknown; longest pause 2.31s; against the model 1 wrong";
        let report = Report::read(line).expect("a report");
        assert!((report.acknowledged, report.pause_s, report.wrong) == (9123.0, 2.31, 1.0));
        let report = Report::read(&line.replace("2.31s", "640.00ms")).expect("a report");
        assert!((report.pause_s - 0.64).abs() < 1e-9);
        assert!(Report::read("0.02 s  a is killed").is_none());
    }
}
