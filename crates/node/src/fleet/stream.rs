//! Streams of topics, handed to the HTTP API; and the task that distributes messages to them.

use std::task::{Context, Poll};
use std::time::Duration;

use stadium_edge::{
    EdgeHandle, Gap, NoStream as EdgeNoStream, SendRetained, StreamItem as EdgeItem, StreamMessage,
    TopicStream as EdgeStream,
};
use stadium_http::fleet::{NoStream, StreamItem, StreamQuery, StreamStats, Tally, TopicStream};
use stadium_http::{TopicEvent, render_topic_event};

/// How often the ring is looked at where nothing is published.
const TICK: Duration = Duration::from_secs(1);

/// The shortest time between two distributions: a stream's messages of that time leave in one write.
const PAUSE: Duration = Duration::from_millis(2);

/// Begins a stream.
pub(super) fn begin(edge: &EdgeHandle, query: &StreamQuery) -> Result<Box<dyn TopicStream>, NoStream> {
    // A place that no node wrote is one of another process: the stream begins with a gap.
    let unknown = || "0-0".parse().expect("it is a place");
    let from = query.from.as_deref().map(|text| text.parse().unwrap_or_else(|()| unknown()));
    let retained = if query.retained { SendRetained::Yes } else { SendRetained::No };
    match edge.stream(&query.filters, from, retained) {
        Ok(stream) => Ok(Box::new(Shown(stream))),
        Err(EdgeNoStream::Full(max)) => Err(NoStream::Full(max)),
        Err(EdgeNoStream::Filters(max)) => Err(NoStream::Filters(max)),
        Err(EdgeNoStream::Filter(place, why)) => Err(NoStream::Filter(place, why)),
        Err(EdgeNoStream::Draining) => Err(NoStream::Draining),
    }
}

/// A stream, in the API's words.
struct Shown(EdgeStream);

impl TopicStream for Shown {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<StreamItem> {
        self.0.poll_next(cx).map(|item| match item {
            Some(EdgeItem::Message(message, place)) => {
                let place = place.map(|place| place.to_string());
                StreamItem::Message(message.rendered(|| render(&message, place.as_deref())))
            }
            Some(EdgeItem::Gap(Gap::Expired)) => StreamItem::Gap("expired"),
            Some(EdgeItem::Gap(Gap::Unwatched)) => StreamItem::Gap("unwatched"),
            Some(EdgeItem::Gap(Gap::Overload)) => StreamItem::Gap("overload"),
            Some(EdgeItem::RetainedLeftOut) => StreamItem::Gap("retained"),
            Some(EdgeItem::Slow) => StreamItem::End("slow"),
            Some(EdgeItem::Draining) | None => StreamItem::End("draining"),
        })
    }

    fn place(&self) -> String {
        self.0.place().to_string()
    }

    fn is_behind(&self) -> bool {
        self.0.is_behind()
    }
}

fn render(message: &StreamMessage, place: Option<&str>) -> bytes::Bytes {
    let properties = message.properties();
    render_topic_event(&TopicEvent {
        place,
        topic: message.topic(),
        payload: message.payload(),
        qos: message.qos(),
        retained: message.is_retained(),
        content_type: properties.content_type,
        response_topic: properties.response_topic,
        correlation_data: properties.correlation_data,
        user_properties: properties.user_properties.iter().collect(),
    })
}

/// Distributes what loops show, until it is dropped.
pub(crate) async fn distribute(edge: EdgeHandle) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = std::future::poll_fn(|cx| edge.streams().poll_shown(cx)) => {}
            _ = ticks.tick() => {}
        }
        edge.distribute_to_streams();
        tokio::time::sleep(PAUSE).await;
    }
}

/// The figures of streams.
pub(super) fn stats(edge: &EdgeHandle) -> StreamStats {
    let counts = edge.streams().counts();
    let [expired, unwatched, overload] = counts.gaps_total;
    let tally = |reason, total| Tally { reason, total };
    StreamStats {
        open: counts.open,
        open_max: edge.streams().streams_max() as u64,
        filters: counts.filters,
        ring_messages: counts.ring_messages,
        ring_bytes: counts.ring_bytes,
        messages_total: counts.messages_total,
        deliveries_total: counts.deliveries_total,
        lost_total: counts.lost_total,
        gaps: vec![tally("expired", expired), tally("unwatched", unwatched), tally("overload", overload)],
    }
}
