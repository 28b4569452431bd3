//! The report of a swarm, at its end and along the way.
//!
//! [`SwarmReport`] is JSON for programs and a table for people ([`SwarmReport::table`]). It is honest about the
//! swarm itself: [`SwarmReport::caveats`] names each figure that the generator may have spoiled.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::broadcast::{BroadcastReport, BroadcastRow};
use super::tally::{LatencyCounts, Now, Sums};
use crate::latency::Summary;

/// How far a swarm has come. Rates are those of the last interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Since the first device's time, in seconds.
    pub elapsed_s: f64,
    /// Devices of the swarm.
    pub devices: u32,
    /// What they are doing.
    pub now: Now,
    /// Whether all of them have been up, or have given up.
    pub settled: bool,
    /// Sums since the start.
    pub sums: Sums,
    /// Devices that came up, a second.
    pub connects_per_second: f64,
    /// Messages received, a second.
    pub deliveries_per_second: f64,
    /// Delivery latency of the last interval.
    pub delivery: Summary,
    /// From intended start to SUBACK, since the start.
    pub suback: Summary,
    /// The newest message of a stream, as far as it has come.
    pub broadcast: Option<BroadcastRow>,
    /// Refusals since the start, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Ends of connections since the start that the swarm did not want, by cause.
    pub lost_connections: BTreeMap<String, u64>,
}

/// What a swarm did and measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwarmReport {
    /// Devices asked for.
    pub devices: u32,
    /// Processes that held them.
    pub processes: u32,
    /// Loops in all.
    pub loops: u32,
    /// Why the run ended.
    pub ended: Ended,
    /// From the first device's time to the end, in seconds.
    pub elapsed_s: f64,
    /// Where devices stood at the end, before they disconnected.
    pub at_end: Now,
    /// From the first device's time until the last one was up for the first time, in seconds; `None` where some
    /// never were.
    pub all_up_s: Option<f64>,
    /// Devices that came up, a second, until the last one was.
    pub connects_per_second: f64,
    /// All sums.
    pub sums: Sums,
    /// Refusals in CONNACK by reason.
    pub refused: BTreeMap<String, u64>,
    /// Ends of connections that the swarm did not want, by cause. Each was followed by a reconnect.
    pub lost_connections: BTreeMap<String, u64>,
    /// How many devices have which profile; empty where there are none.
    #[serde(default)]
    pub profiles: BTreeMap<String, u32>,
    /// Latencies.
    pub latency: LatencyReport,
    /// The same whole, for code that adds them to others'.
    #[serde(skip)]
    pub histograms: LatencyCounts,
    /// Messages for many.
    pub broadcast: BroadcastReport,
    /// Storms.
    pub storms: Vec<StormReport>,
    /// What the generator itself needed.
    pub generator: GeneratorReport,
    /// Why figures may reflect the swarm more than the broker. Empty is good.
    pub caveats: Vec<String>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Its time was over.
    #[default]
    Complete,
    /// Somebody asked: the figures are those until then.
    Interrupted,
    /// A worker died: its figures are those until then.
    WorkerDied,
}

/// Latencies, from intended times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyReport {
    /// From a device's intended start to CONNACK.
    pub connack: Summary,
    /// From its intended start to SUBACK.
    pub suback: Summary,
    /// The same for devices that had been up before.
    pub reconnect: Summary,
    /// From a stamp to its receiver, where the receiver was there and awake.
    pub delivery: Summary,
    /// From a stamp to its receiver, where the message waited for it to wake.
    #[serde(default)]
    pub delivery_asleep: Summary,
    /// From a stamp to its receiver, where the message waited for it to come back.
    #[serde(default)]
    pub delivery_away: Summary,
    /// From a connection's silent death to the device's finding out.
    #[serde(default)]
    pub notice: Summary,
    /// From a connection's silent death to the device's being up again, times in the background left out.
    #[serde(default)]
    pub back: Summary,
    /// From an uplink's intended time to its acknowledgement.
    pub uplink: Summary,
    /// How late the swarm itself was.
    pub lateness: Summary,
}

/// A cut of all connections, or of a share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StormReport {
    /// Connections cut.
    pub cut: u32,
    /// Devices that were up again.
    pub back: u32,
    /// From the cut to the last device that was up again, in seconds.
    pub all_back_s: f64,
}

/// What the generator itself needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorReport {
    /// Processor time of all loops, in seconds.
    pub cpu_s: f64,
    /// Of one processor, on average.
    pub cpu_share: f64,
    /// Of the loops' quarter seconds, those in which a loop hardly waited.
    pub saturated_share: f64,
    /// Of the machine's time, that in which all processors were busy (idle below 3%); `None` where
    /// the system does not report it.
    pub machine_busy_share: Option<f64>,
    /// Anonymous memory of all processes with devices, in bytes: everything but the program itself.
    /// The kernel's memory for sockets is not in it.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Its growth since there was no device, for each device: an upper bound, as buffers that
    /// are used later count too. `None` where not all devices have been up, or the system does not
    /// report it.
    #[serde(default)]
    pub memory_per_device: Option<f64>,
}

impl SwarmReport {
    /// For people: what happened, how fast, and what to doubt.
    pub fn table(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_table(&mut text);
        text
    }

    fn write_table(&self, out: &mut String) -> std::fmt::Result {
        let sums = &self.sums;
        let row = |out: &mut String, name: &str, value: String| writeln!(out, "  {name:<26}{value}");
        writeln!(
            out,
            "Swarm of {}: {}, {}, {:.1} s ({})",
            counted(self.devices, "device", "devices"),
            counted(self.processes, "process", "processes"),
            counted(self.loops, "loop", "loops"),
            self.elapsed_s,
            match self.ended {
                Ended::Complete => "complete",
                Ended::Interrupted => "interrupted: figures until then",
                Ended::WorkerDied => "a worker died: figures are incomplete",
            }
        )?;
        row(out, "up at the end", grouped(u64::from(self.at_end.up)))?;
        if let Some(all_up_s) = self.all_up_s {
            row(
                out,
                "all up after",
                format!("{all_up_s:.2} s, {} a second", grouped(self.connects_per_second as u64)),
            )?;
        }
        row(out, "attempts, connected", format!("{}, {}", grouped(sums.attempts), grouped(sums.connected)))?;
        for (name, count) in &self.profiles {
            row(out, "profile", format!("{} {name}", grouped(u64::from(*count))))?;
        }
        if sums.sessions_resumed > 0 {
            row(out, "sessions resumed", grouped(sums.sessions_resumed))?;
        }
        for (reason, count) in &self.refused {
            row(out, "refused", format!("{} {reason}", grouped(*count)))?;
        }
        for (cause, count) in &self.lost_connections {
            row(out, "connections lost", format!("{} {cause}", grouped(*count)))?;
        }
        let counts = [
            ("devices that gave up", u64::from(self.at_end.given_up)),
            ("subscriptions refused", sums.subscriptions_refused),
            ("deliveries", sums.deliveries),
            ("payload bytes", sums.payload_bytes),
            ("duplicates", sums.duplicates),
            ("lost", sums.lost),
            ("missed while away", sums.missed_away),
            ("uplinks", sums.uplinks),
            ("uplinks acknowledged", sums.uplinks_acknowledged),
            ("uplinks refused", sums.uplinks_refused),
            ("uplinks skipped", sums.uplinks_skipped),
            ("uplinks deferred by sleep", sums.uplinks_deferred),
            ("uplinks lost", sums.uplinks_lost),
            ("answers", sums.answers),
            ("answers acknowledged", sums.answers_acknowledged),
            ("answers lost", sums.answers_lost),
            ("broadcasts", sums.broadcasts),
            ("broadcasts skipped", sums.broadcasts_skipped),
            ("radio fell asleep", sums.slept),
            ("streams culled", sums.culled),
            ("addresses changed", sums.addresses_changed),
            ("gone to the background", sums.backgrounded),
            ("of them silently", sums.backgrounded_silently),
            ("asleep at the end", u64::from(self.at_end.asleep)),
            ("severed at the end", u64::from(self.at_end.severed)),
            ("in background at the end", u64::from(self.at_end.background)),
            ("malformed packets", sums.malformed),
        ];
        for (name, count) in counts {
            let always = name == "deliveries" || name == "lost" && sums.deliveries > 0;
            if count > 0 || always {
                row(out, name, grouped(count))?;
            }
        }
        for storm in &self.storms {
            let cut = grouped(u64::from(storm.cut));
            let back = grouped(u64::from(storm.back));
            row(out, "storm", format!("{cut} cut, {back} back after {:.3} s", storm.all_back_s))?;
        }
        writeln!(out)?;
        writeln!(
            out,
            "  {:<26}{:>10} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "milliseconds", "count", "p50", "p90", "p99", "p99.9", "max"
        )?;
        let latencies = [
            ("start to CONNACK", &self.latency.connack),
            ("start to SUBACK", &self.latency.suback),
            ("reconnect to SUBACK", &self.latency.reconnect),
            ("delivery", &self.latency.delivery),
            ("delivery, was asleep", &self.latency.delivery_asleep),
            ("delivery, was away", &self.latency.delivery_away),
            ("dead stream to noticed", &self.latency.notice),
            ("dead stream to back", &self.latency.back),
            ("broadcast, first device", &self.broadcast.to_first),
            ("broadcast, last device", &self.broadcast.to_last),
            ("uplink to its answer", &self.latency.uplink),
            ("the swarm's own lateness", &self.latency.lateness),
        ];
        for (name, summary) in latencies {
            if summary.count > 0 {
                writeln!(
                    out,
                    "  {name:<26}{:>10} {:>9} {:>9} {:>9} {:>9} {:>9}",
                    grouped(summary.count),
                    short(summary.p50_ms),
                    short(summary.p90_ms),
                    short(summary.p99_ms),
                    short(summary.p999_ms),
                    short(summary.max_ms)
                )?;
            }
        }
        writeln!(out)?;
        row(
            out,
            "generator",
            format!(
                "{:.1} s of processor time ({:.0}% of one processor)",
                self.generator.cpu_s,
                self.generator.cpu_share * 100.0
            ),
        )?;
        if self.generator.memory_bytes > 0 {
            let megabytes = self.generator.memory_bytes as f64 / 1e6;
            let each = self
                .generator
                .memory_per_device
                .map_or(String::new(), |bytes| format!(", {bytes:.0} bytes for each device"));
            row(out, "generator's memory", format!("{megabytes:.1} MB{each}"))?;
        }
        for caveat in &self.caveats {
            row(out, "caveat", caveat.clone())?;
        }
        Ok(())
    }
}

/// `1 loop`, `2 loops`.
fn counted(number: u32, one: &str, many: &str) -> String {
    format!("{} {}", grouped(u64::from(number)), if number == 1 { one } else { many })
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Milliseconds with about three digits that matter.
fn short(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.3}"),
        ms if ms < 1_000.0 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_what_happened_and_hides_what_did_not() {
        let report = SwarmReport {
            devices: 12_000,
            all_up_s: Some(2.0),
            connects_per_second: 6_000.0,
            sums: Sums { attempts: 12_001, connected: 12_000, deliveries: 1_234_567, ..Sums::default() },
            refused: [("server busy".to_owned(), 1)].into(),
            caveats: vec!["the loops were saturated".to_owned()],
            ..SwarmReport::default()
        };
        let table = report.table();
        for wanted in ["12,000 devices", "6,000 a second", "1,234,567", "1 server busy", "caveat", "complete"]
        {
            assert!(table.contains(wanted), "{wanted:?} is not in\n{table}");
        }
        for hides in ["uplinks", "storm", "duplicates"] {
            assert!(!table.contains(hides), "{hides:?} is in\n{table}");
        }
    }

    #[test]
    fn a_report_survives_json() {
        let report = SwarmReport { all_up_s: Some(1.5), ended: Ended::Interrupted, ..SwarmReport::default() };
        let text = serde_json::to_string(&report).expect("a report is JSON");
        assert_eq!(serde_json::from_str::<SwarmReport>(&text).expect("and comes back"), report);
    }
}
