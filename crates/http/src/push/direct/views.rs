//! Live pushes as `GET /api/pushes` shows them.
//!
//! Counts are deliveries; a latency counts from the time at which the push was accepted.

use std::time::Duration;

use serde::Serialize;
use stadium_push::live::{ChannelName, LatencySummary, LiveAudience, LiveReport, Progress};
use utoipa::ToSchema;

use crate::audiences::fields::audience_json;
use crate::spelling::timestamp;

/// A push that was taken over.
#[derive(Serialize, ToSchema)]
pub(crate) struct AcceptedPush {
    /// The push.
    #[schema(example = "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b")]
    pub(crate) id: String,
    /// Always `accepted`: the server owns it now.
    #[schema(example = "accepted")]
    pub(crate) status: &'static str,
    /// Where to see how far it has come.
    #[schema(example = "/api/pushes/0190a1b2c3d47e5f8a9b0c1d2e3f4a5b")]
    pub(crate) url: String,
}

/// How far a push has come. Counts are deliveries; `..._ms` count from `accepted_at`.
#[derive(Serialize, ToSchema)]
pub(crate) struct PushView {
    /// The push.
    #[schema(example = "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b")]
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
    /// Registered devices of an app: an audience as in the app's pushes.
    Registered(serde_json::Value),
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
    pub(crate) fn of(report: &LiveReport) -> Self {
        let (push, times) = (&report.push, &report.times);
        Self {
            id: push.id.to_string(),
            status: match report.progress {
                Progress::Accepted => "accepted",
                Progress::Sending => "sending",
                Progress::Settled => "settled",
            },
            accepted_at: timestamp(report.accepted_at),
            to: match &push.to {
                LiveAudience::Clients(ids) => match &**ids {
                    [id] => AudienceView::Device(id.to_string()),
                    ids => AudienceView::DeviceCount(ids.len()),
                },
                LiveAudience::Channel(name) if *name == ChannelName::everybody() => AudienceView::Everybody,
                LiveAudience::Channel(name) => AudienceView::Channel(name.to_string()),
                LiveAudience::Registered(audience) => AudienceView::Registered(audience_json(audience)),
            },
            qos: push.qos.number(),
            payload_bytes: push.payload_bytes,
            counting: report.counting,
            targeted: report.targeted,
            sent: report.sent,
            acknowledged: report.acknowledged,
            expired: report.expired,
            dropped: report.dropped,
            not_connected: report.not_connected,
            queued: report.queued,
            first_sent_ms: times.sent.map(|(first, _)| ms(first)),
            last_sent_ms: times.sent.map(|(_, last)| ms(last)),
            first_acknowledged_ms: times.acknowledged.map(|(first, _)| ms(first)),
            last_acknowledged_ms: times.acknowledged.map(|(_, last)| ms(last)),
            sent_latency: SummaryView::of(&times.sent_latency),
            acknowledged_latency: SummaryView::of(&times.acknowledged_latency),
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
