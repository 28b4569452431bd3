//! Direct pushes as the API shows them.
//!
//! Counts are deliveries; a latency counts from the time at which the push was accepted.

use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::fleet::{Audience, LatencySummary, Progress, PushReport};
use crate::rfc3339;

/// A push that was taken over.
#[derive(Serialize, ToSchema)]
pub(crate) struct AcceptedPush {
    /// The push.
    #[schema(example = "p000000000192f00d")]
    pub(crate) id: String,
    /// Always `accepted`: the server owns it now.
    #[schema(example = "accepted")]
    pub(crate) status: &'static str,
    /// Where to see how far it has come.
    #[schema(example = "/api/pushes/p000000000192f00d")]
    pub(crate) url: String,
}

/// How far a push has come. Counts are deliveries; `..._ms` count from `accepted_at`.
#[derive(Serialize, ToSchema)]
pub(crate) struct PushView {
    /// The push.
    #[schema(example = "p000000000192f00d")]
    id: String,
    /// `accepted`, `sending` or `settled`.
    #[schema(example = "settled")]
    status: &'static str,
    /// When it was accepted (RFC 3339).
    accepted_at: String,
    /// Who it is for.
    to: AudienceView,
    /// 0 or 1.
    qos: u8,
    /// Bytes of one message.
    payload_bytes: u64,
    /// The event loops are still finding devices: `targeted` and `not_connected` grow.
    counting: bool,
    /// Devices found for it: so far, while `counting`.
    targeted: u64,
    /// Written to a device's socket.
    sent: u64,
    /// Acknowledged by a device; 0 at QoS 0.
    acknowledged: u64,
    /// Given up because it expired.
    expired: u64,
    /// Given up for another reason.
    dropped: u64,
    /// Devices that were not connected.
    not_connected: u64,
    /// Of those, kept for their return.
    queued: u64,
    /// The first write to a socket.
    first_sent_ms: Option<f64>,
    /// The last write to a socket.
    last_sent_ms: Option<f64>,
    /// The first acknowledgement.
    first_acknowledged_ms: Option<f64>,
    /// The last acknowledgement.
    last_acknowledged_ms: Option<f64>,
    /// From acceptance to the write.
    sent_latency: SummaryView,
    /// From acceptance to the acknowledgement.
    acknowledged_latency: SummaryView,
}

/// Who a push is for, as it is shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AudienceView {
    /// One device.
    Device(String),
    /// So many devices.
    DeviceCount(usize),
    /// A channel.
    Channel(String),
    /// Everybody.
    Everybody,
}

/// A latency distribution in milliseconds.
#[derive(Serialize, ToSchema)]
pub(crate) struct SummaryView {
    /// Deliveries it describes; the rest is 0 when this is.
    count: u64,
    /// Half took at most this.
    p50_ms: f64,
    /// Nine in ten.
    p90_ms: f64,
    /// 99 in 100.
    p99_ms: f64,
    /// 999 in 1,000.
    p999_ms: f64,
    /// The longest.
    max_ms: f64,
}

impl SummaryView {
    fn of(summary: &LatencySummary) -> Self {
        Self {
            count: summary.count,
            p50_ms: ms(summary.p50),
            p90_ms: ms(summary.p90),
            p99_ms: ms(summary.p99),
            p999_ms: ms(summary.p999),
            max_ms: ms(summary.max),
        }
    }
}

impl PushView {
    pub(crate) fn of(report: &PushReport) -> Self {
        Self {
            id: report.id.to_string(),
            status: match report.progress {
                Progress::Accepted => "accepted",
                Progress::Sending => "sending",
                Progress::Settled => "settled",
            },
            accepted_at: rfc3339::format(report.accepted_at),
            to: match &report.to {
                Audience::Device(id) => AudienceView::Device(id.to_string()),
                Audience::Devices(ids) => AudienceView::DeviceCount(ids.len()),
                Audience::Channel(name) => AudienceView::Channel(name.to_string()),
                Audience::Everybody => AudienceView::Everybody,
            },
            qos: report.qos.number(),
            payload_bytes: report.payload_bytes,
            counting: report.counting,
            targeted: report.targeted,
            sent: report.sent,
            acknowledged: report.acknowledged,
            expired: report.expired,
            dropped: report.dropped,
            not_connected: report.not_connected,
            queued: report.queued,
            first_sent_ms: report.first_sent.map(ms),
            last_sent_ms: report.last_sent.map(ms),
            first_acknowledged_ms: report.first_acknowledged.map(ms),
            last_acknowledged_ms: report.last_acknowledged.map(ms),
            sent_latency: SummaryView::of(&report.sent_latency),
            acknowledged_latency: SummaryView::of(&report.acknowledged_latency),
        }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// Pushes, the newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct PushList {
    pub(crate) pushes: Vec<PushView>,
}
