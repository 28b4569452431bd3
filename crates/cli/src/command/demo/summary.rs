//! The demo's figures: what they are, how a person reads them, and what a program gets.
//!
//! Two clocks are distinguished: the server's, from acceptance to acknowledgement, and the
//! devices', from the HTTP call to the receipt in another process on the same machine.

use serde::Serialize;
use stadium_load::swarm::BroadcastRow;

use super::vote::VoteFigures;
use crate::push_report::PushReport;
use crate::terminal::{Style, Terminal, count, short};

/// Everything the demo measured.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    /// Devices asked for.
    pub(super) devices: u32,
    /// Devices connected.
    pub(super) connected: u64,
    /// From the first socket accepted to the last device connected, in seconds.
    pub(super) connect_s: f64,
    /// Devices connected a second.
    pub(super) connects_per_second: f64,
    /// Event loops of the server.
    pub(super) loops: usize,
    /// Each push to everybody at QoS 1.
    pub(super) pushes: Vec<PushFigures>,
    /// Pushes at QoS 0 without a pause.
    pub(super) burst: Option<Burst>,
    /// The second act.
    pub(super) vote: Option<VoteFigures>,
    /// The live page.
    pub(super) live_url: String,
}

/// One push to everybody.
#[derive(Debug, Serialize)]
pub(super) struct PushFigures {
    /// The server's figures.
    server: PushReport,
    /// The devices' figures, where all were reported in time.
    devices: Option<BroadcastRow>,
    /// From acceptance to the last acknowledgement, in milliseconds.
    last_acknowledged_ms: f64,
    /// Acknowledged deliveries a second.
    acknowledged_per_second: f64,
}

/// Pushes in a row, handed over without waiting for their deliveries. The figures are the devices'.
#[derive(Debug, Serialize)]
pub(super) struct Burst {
    /// How many.
    pub(super) pushes: u32,
    /// Messages that devices received.
    pub(super) deliveries: u64,
    /// From the first HTTP call to the last device that had the last push, in seconds.
    pub(super) took_s: f64,
    /// Deliveries a second.
    pub(super) per_second: f64,
}

impl PushFigures {
    pub(super) fn new(server: PushReport, devices: Option<BroadcastRow>) -> Self {
        let last_acknowledged_ms = server.last_acknowledged_ms.unwrap_or_default();
        let acknowledged_per_second = server.acknowledged as f64 / (last_acknowledged_ms / 1_000.0).max(1e-6);
        Self { server, devices, last_acknowledged_ms, acknowledged_per_second }
    }

    /// One line for people.
    pub(super) fn line(&self, terminal: &Terminal, devices: u32) -> String {
        let complete = self.server.acknowledged >= u64::from(devices);
        let style = if complete { Style::Good } else { Style::Warning };
        let seen = self.devices.as_ref().map_or(String::new(), |row| {
            format!(", devices saw it after {} to {}", ms(row.to_first_ms), ms(row.to_last_ms))
        });
        format!(
            "{}    {} of {} acknowledged, the last after {}{}",
            terminal.err(style, "lit up  "),
            count(self.server.acknowledged),
            count(u64::from(devices)),
            terminal.err(Style::Strong, ms(self.last_acknowledged_ms)),
            terminal.err(Style::Faint, seen),
        )
    }
}

impl Burst {
    /// One line for people.
    pub(super) fn line(&self, terminal: &Terminal) -> String {
        format!(
            "{}    {} pushes in a row: {} deliveries in {}, {} a second",
            terminal.err(Style::Good, "burst   "),
            self.pushes,
            count(self.deliveries),
            short(self.took_s),
            terminal.err(Style::Strong, count(self.per_second as u64)),
        )
    }
}

impl Summary {
    /// The box at the end.
    pub(super) fn show(&self, terminal: &Terminal) {
        let median = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        let of = |pick: fn(&PushFigures) -> f64| median(self.pushes.iter().map(pick).collect());
        let mut rows = vec![
            ("connected", format!("{} devices in {}", count(self.connected), short(self.connect_s))),
            (
                "",
                format!(
                    "{} a second, each then with two subscriptions",
                    count(self.connects_per_second as u64)
                ),
            ),
            (
                "push to all",
                format!("last acknowledgement after {}", ms(of(|push| push.last_acknowledged_ms))),
            ),
            (
                "",
                format!(
                    "acknowledged p50 {}, p99 {}, max {}",
                    ms(of(|push| push.server.acknowledged_latency.p50_ms)),
                    ms(of(|push| push.server.acknowledged_latency.p99_ms)),
                    ms(of(|push| push.server.acknowledged_latency.max_ms)),
                ),
            ),
            (
                "",
                format!(
                    "{} acknowledged deliveries a second",
                    count(of(|push| push.acknowledged_per_second) as u64)
                ),
            ),
            (
                "burst",
                self.burst.as_ref().map_or("-".to_owned(), |burst| {
                    format!("{} deliveries a second at QoS 0", count(burst.per_second as u64))
                }),
            ),
        ];
        rows.extend(self.vote.iter().flat_map(VoteFigures::rows));
        let title = format!("{} loops, medians of {} pushes", self.loops, self.pushes.len());
        terminal.frame(&title, &rows);
    }
}

fn ms(milliseconds: f64) -> String {
    short(milliseconds / 1_000.0)
}
