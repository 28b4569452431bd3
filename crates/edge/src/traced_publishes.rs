//! Spans of the messages that devices publish: from the PUBLISH to its answer, and below it those
//! of the first deliveries to subscribers, on all loops.
//!
//! A message is sampled by its user property `traceparent`, or by the ratio where it has none; its
//! end decides nothing. One that is not sampled costs a look for the property and a random number;
//! while telemetry is off, one branch.

use std::sync::Arc;

use parking_lot::Mutex;
use stadium_mqtt::packet::{Publish, QoS};
use stadium_mqtt::reason::ReasonCode;
use stadium_telemetry::{Kind, Span, TraceContext, Tracer};

use crate::push::transport::{TRACEPARENT, delivery};

/// The bit of the receipt tokens of such messages.
const PUBLISH_RECEIPT: u64 = 1 << 61;

/// Messages whose further deliveries have spans: as many as are routed within a turn or two of all
/// loops. Later deliveries of older ones have none.
const RECENT_MAX: usize = 1_024;

/// Messages of one loop that are not answered and have a span. For one more the oldest ends: its
/// shard is behind.
const UNANSWERED_MAX: usize = 1_024;

/// Bytes of a topic that are exported; what follows is left out.
const TOPIC_BYTES_MAX: usize = 256;

/// Whether a receipt token is that of a message of a device.
pub(crate) fn is_of_publish(token: u64) -> bool {
    token & PUBLISH_RECEIPT != 0
}

/// The messages of all loops that further deliveries belong to.
#[derive(Debug, Default)]
pub(crate) struct RecentPublishes(Mutex<Recents>);

#[derive(Debug, Default)]
struct Recents {
    /// The number of the next message.
    next: u32,
    /// By the number of the message, modulo [`RECENT_MAX`].
    places: Vec<Recent>,
}

#[derive(Debug)]
struct Recent {
    token: u64,
    context: TraceContext,
    topic: Arc<str>,
    /// Deliveries that may still have a span.
    left: u32,
}

fn place(token: u64) -> usize {
    token as u32 as usize % RECENT_MAX
}

impl RecentPublishes {
    /// Enters a message. Returns its token.
    fn enter(&self, context: TraceContext, topic: Arc<str>, deliveries_max: u32) -> u64 {
        let mut recents = self.0.lock();
        let number = recents.next;
        recents.next = number.wrapping_add(1);
        let token = PUBLISH_RECEIPT | u64::from(number);
        let recent = Recent { token, context, topic, left: deliveries_max };
        match recents.places.get_mut(place(token)) {
            Some(place) => *place = recent,
            None => recents.places.push(recent),
        }
        token
    }

    /// The message of a delivery that may have a span.
    fn take_one(&self, token: u64) -> Option<(TraceContext, Arc<str>)> {
        let mut recents = self.0.lock();
        let recent = recents.places.get_mut(place(token))?;
        if recent.token != token || recent.left == 0 {
            return None;
        }
        recent.left -= 1;
        Some((recent.context, Arc::clone(&recent.topic)))
    }
}

/// The spans of one loop.
#[derive(Debug, Default)]
pub(crate) struct TracedPublishes {
    tracer: Tracer,
    /// Messages that are not answered, by their tokens.
    unanswered: Vec<(u64, Span)>,
    /// The last message whose deliveries have no more spans: a message to many is looked up once.
    exhausted: u64,
}

impl TracedPublishes {
    pub(crate) fn new(tracer: Tracer) -> Self {
        Self { tracer, ..Self::default() }
    }

    /// Begins the span of a message, where it is sampled. Returns its receipt token, else 0.
    pub(crate) fn begin(
        &mut self,
        recent: &RecentPublishes,
        client_id: &str,
        publish: &Publish<'_>,
        topic: &str,
    ) -> u64 {
        if !self.tracer.is_on() {
            return 0;
        }
        let mut properties = publish.properties.user_properties.iter();
        let caller = properties.find(|(name, _)| *name == TRACEPARENT);
        let caller = caller.and_then(|(_, value)| TraceContext::parse(value));
        let Some(span) = self.tracer.begin_sampled("process {topic}", Kind::Consumer, caller) else {
            return 0;
        };
        let topic = &topic[..topic.floor_char_boundary(TOPIC_BYTES_MAX)];
        let span = span
            .with("messaging.system", "mqtt")
            .with("messaging.operation.type", "process")
            .with("messaging.operation.name", "process")
            .with("messaging.destination.name", topic.to_owned())
            .with("messaging.client.id", client_id.to_owned())
            .with("messaging.mqtt.qos", i64::from(publish.qos as u8))
            .with("messaging.message.body.size", i64::try_from(publish.payload.len()).unwrap_or(i64::MAX));
        let token = recent.enter(span.context, topic.into(), self.tracer.devices_max());
        if self.unanswered.len() >= UNANSWERED_MAX {
            let (_, oldest) = self.unanswered.remove(0);
            self.end(oldest, Some("not answered while many others began"));
        }
        self.unanswered.push((token, span));
        token
    }

    /// The publisher of a message is answered.
    pub(crate) fn answered(&mut self, token: u64, reason: ReasonCode) {
        let Some(at) = self.unanswered.iter().position(|(one, _)| *one == token) else { return };
        let (_, mut span) = self.unanswered.swap_remove(at);
        span.set("stadium.mqtt.reason_code", i64::from(reason as u8));
        self.end(span, reason.is_error().then_some("refused"));
    }

    /// The span of a delivery of a message, unless others have had all spans of it.
    pub(crate) fn delivery(
        &mut self,
        recent: &RecentPublishes,
        token: u64,
        client_id: &str,
        qos: QoS,
    ) -> Option<Span> {
        if token == self.exhausted {
            return None;
        }
        let Some((context, topic)) = recent.take_one(token) else {
            self.exhausted = token;
            return None;
        };
        let span = delivery(context, "publish {topic}", client_id, qos);
        Some(span.with("messaging.destination.name", topic.to_string()))
    }

    fn end(&self, span: Span, error: Option<&'static str>) {
        let mut span = span.ended();
        span.error = error.map(Into::into);
        self.tracer.record(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(number: u64) -> TraceContext {
        TraceContext { trace_id: [1; 16], span_id: number.to_be_bytes(), flags: TraceContext::SAMPLED }
    }

    #[test]
    fn a_message_gives_spans_to_its_first_deliveries() {
        let recent = RecentPublishes::default();
        let (one, other) = (recent.enter(context(1), "a".into(), 2), recent.enter(context(2), "b".into(), 0));
        assert!(is_of_publish(one) && one != other);
        assert_eq!(recent.take_one(one), Some((context(1), "a".into())));
        assert!(recent.take_one(one).is_some() && recent.take_one(one).is_none());
        assert_eq!(recent.take_one(other), None);
    }

    #[test]
    fn an_old_message_is_forgotten() {
        let recent = RecentPublishes::default();
        let first = recent.enter(context(1), "a".into(), 2);
        let second = recent.enter(context(2), "b".into(), 2);
        (1..RECENT_MAX).for_each(|_| {
            recent.enter(context(3), "c".into(), 2);
        });
        assert_eq!(recent.take_one(first), None);
        assert!(recent.take_one(second).is_some());
    }
}
