//! Spans of deliveries to single devices: from the PUBLISH to the acknowledgement.
//!
//! The first devices of a sampled push have one, so few that a loop looks for theirs one by one. A
//! loop without any reads one length for each receipt. The names and attributes are those of the
//! semantic conventions for messaging.

use stadium_mqtt::broker::{Drop, Progress};
use stadium_mqtt::packet::QoS;
use stadium_reactor::ConnectionId;
use stadium_telemetry::{Kind, Span, TraceContext, Tracer};

/// Deliveries with a span under way on a loop; the oldest ends when one more begins. They are those
/// that devices have not acknowledged, of 64 pushes by default.
const DELIVERIES_MAX: usize = 1_024;

/// The user property of a traced delivery, as W3C Trace Context names its header.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// A traced delivery that is not acknowledged.
#[derive(Debug)]
struct Delivery {
    token: u64,
    link: ConnectionId,
    span: Span,
}

/// Traced deliveries of a loop.
#[derive(Debug, Default)]
pub(crate) struct TracedDeliveries {
    tracer: Tracer,
    under_way: Vec<Delivery>,
}

impl TracedDeliveries {
    pub(crate) fn new(tracer: Tracer) -> Self {
        Self { tracer, under_way: Vec::new() }
    }

    /// The number of spans for so many recipients of a dispatch.
    pub(super) fn devices(&self, push: Option<TraceContext>, recipients: usize) -> usize {
        push.map_or(0, |push| self.tracer.devices(push, recipients))
    }

    /// Begins the span of a delivery; returns what the message carries.
    pub(super) fn begin(
        &mut self,
        push: TraceContext,
        token: u64,
        link: ConnectionId,
        client_id: &str,
        qos: QoS,
    ) -> TraceContext {
        let span = delivery(push, "publish inbox/{device}", client_id, qos)
            .with("messaging.destination.template", "inbox/{device}")
            .with("messaging.destination.name", format!("inbox/{client_id}"));
        let context = span.context;
        self.add(token, link, span);
        context
    }

    /// A delivery begins whose span has begun.
    pub(crate) fn add(&mut self, token: u64, link: ConnectionId, span: Span) {
        if self.under_way.len() >= DELIVERIES_MAX {
            let oldest = self.under_way.remove(0);
            self.end(oldest, Some("not acknowledged while many others began"));
        }
        self.under_way.push(Delivery { token, link, span });
    }

    /// A delivery that was begun was not taken: it has no span.
    pub(super) fn cancel(&mut self, token: u64, link: ConnectionId) {
        self.under_way.retain(|one| (one.token, one.link) != (token, link));
    }

    /// The progress of a delivery.
    pub(crate) fn progressed(&mut self, token: u64, link: Option<ConnectionId>, progress: Progress) {
        if self.under_way.is_empty() {
            return;
        }
        let is_it = |one: &Delivery| one.token == token && Some(one.link) == link;
        let Some(at) = self.under_way.iter().position(is_it) else { return };
        let error = match progress {
            Progress::Targeted | Progress::Queued => return,
            Progress::Sent(qos) => {
                self.under_way[at].span.happened("sent");
                if qos != QoS::AtMostOnce {
                    return;
                }
                None
            }
            Progress::Acknowledged => {
                self.under_way[at].span.happened("acknowledged");
                None
            }
            Progress::Expired => Some("expired"),
            Progress::Dropped(Drop::TooLarge) => Some("larger than the device takes"),
            Progress::Dropped(_) => Some("given up"),
        };
        let done = self.under_way.swap_remove(at);
        self.end(done, error);
    }

    /// A connection is gone.
    pub(crate) fn disconnected(&mut self, link: ConnectionId) {
        while let Some(at) = self.under_way.iter().position(|one| one.link == link) {
            let done = self.under_way.swap_remove(at);
            self.end(done, Some("the connection ended before the acknowledgement"));
        }
    }

    fn end(&self, delivery: Delivery, error: Option<&'static str>) {
        let mut span = delivery.span.ended();
        span.error = error.map(Into::into);
        self.tracer.record(span);
    }
}

/// The span of a delivery to a client, which begins now.
pub(crate) fn delivery(parent: TraceContext, name: &'static str, client_id: &str, qos: QoS) -> Span {
    Span::below(parent, name, Kind::Producer)
        .with("messaging.system", "mqtt")
        .with("messaging.operation.type", "send")
        .with("messaging.operation.name", "publish")
        .with("messaging.client.id", client_id.to_owned())
        .with("messaging.mqtt.qos", i64::from(qos as u8))
}
