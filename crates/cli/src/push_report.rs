//! How far a push has come, as the API reports it, and following it to its end.
//!
//! Used by `stadium push --watch` and by the demo. The fields are those of `GET /api/pushes/{id}`.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::api::Api;
use crate::failure::{Context, Failure};

/// Between two looks at a push: short enough to draw progress, long enough to cost the server nothing.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// A latency distribution in milliseconds; all 0 when `count` is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// Deliveries it describes.
    pub(crate) count: u64,
    /// Half took at most this.
    pub(crate) p50_ms: f64,
    /// 99 in 100.
    pub(crate) p99_ms: f64,
    /// The longest.
    pub(crate) max_ms: f64,
}

/// What the server knows of a push. Counts are deliveries; `_ms` count from acceptance.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PushReport {
    /// The push.
    pub(crate) id: String,
    /// `accepted`, `sending` or `settled`.
    pub(crate) status: String,
    /// 0 or 1.
    pub(crate) qos: u8,
    /// Loops are still finding devices: `targeted` grows.
    #[serde(default)]
    pub(crate) counting: bool,
    /// Devices found for it.
    pub(crate) targeted: u64,
    /// Written to a device's socket.
    pub(crate) sent: u64,
    /// Acknowledged by a device; 0 at QoS 0.
    pub(crate) acknowledged: u64,
    /// Given up because it expired.
    pub(crate) expired: u64,
    /// Given up for another reason.
    pub(crate) dropped: u64,
    /// Devices that were not connected.
    pub(crate) not_connected: u64,
    /// Of those, kept for their return.
    pub(crate) queued: u64,
    /// The first write to a socket.
    pub(crate) first_sent_ms: Option<f64>,
    /// The last write to a socket.
    pub(crate) last_sent_ms: Option<f64>,
    /// The first acknowledgement.
    pub(crate) first_acknowledged_ms: Option<f64>,
    /// The last acknowledgement.
    pub(crate) last_acknowledged_ms: Option<f64>,
    /// From acceptance to the write.
    pub(crate) sent_latency: Latency,
    /// From acceptance to the acknowledgement.
    pub(crate) acknowledged_latency: Latency,
}

impl PushReport {
    /// Whether nothing more will happen.
    pub(crate) fn is_settled(&self) -> bool {
        self.status == "settled"
    }

    /// Deliveries that reached their end: acknowledged at QoS 1, sent at QoS 0.
    pub(crate) fn done(&self) -> u64 {
        if self.qos == 0 { self.sent } else { self.acknowledged }
    }

    /// When the last delivery reached its end, in milliseconds.
    pub(crate) fn last_done_ms(&self) -> Option<f64> {
        if self.qos == 0 { self.last_sent_ms } else { self.last_acknowledged_ms }
    }
}

/// How following a push ended.
#[derive(Debug)]
pub(crate) enum Followed {
    /// Nothing more will happen to it.
    Settled(PushReport),
    /// The deadline passed first.
    Unfinished(PushReport),
}

/// Looks at a push until it is settled or `patience` is over, and gives each look to `seen`.
pub(crate) fn follow(
    api: &Api,
    id: &str,
    patience: Duration,
    mut seen: impl FnMut(&PushReport),
) -> Result<Followed, Failure> {
    let deadline = Instant::now() + patience;
    loop {
        let report: PushReport = serde_json::from_value(api.get(&format!("/api/pushes/{id}"))?)
            .context("the server's report of the push cannot be read")?;
        seen(&report);
        if report.is_settled() {
            return Ok(Followed::Settled(report));
        }
        if Instant::now() >= deadline {
            return Ok(Followed::Unfinished(report));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
