//! The figures of streams of topics: what is open, what is kept for them, what was lost.

use std::fmt;

use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use crate::fleet::StreamStats;
use crate::metrics::encoder::Encoder;
use crate::topics::stream::StreamEnds;

/// All of them.
pub(crate) fn encode(to: &mut Encoder<'_>, stats: &StreamStats, ends: &StreamEnds) -> fmt::Result {
    to.gauge("topic_streams", "Open streams of topics", stats.open)?;
    to.gauge("topic_streams_max", "Streams of topics at most", stats.open_max)?;
    to.gauge("topic_stream_filters", "Topic filters that streams read, or did lately", stats.filters)?;
    to.gauge("topic_ring_messages", "Messages that streams may still read", stats.ring_messages)?;
    let mut family = to.0.encode_descriptor(
        "topic_ring",
        "Memory of the messages that streams may still read",
        Some(&Unit::Bytes),
        MetricType::Gauge,
    )?;
    family.encode_gauge(&stats.ring_bytes)?;
    to.counter("topic_messages", "Messages kept for streams", stats.messages_total)?;
    to.counter(
        "topic_stream_messages",
        "Messages given to streams, once for each stream",
        stats.deliveries_total,
    )?;
    to.counter(
        "topic_messages_lost",
        "Messages that no stream gets because the node was too busy",
        stats.lost_total,
    )?;
    to.tallies("topic_stream_gaps", "Gaps that streams were told of, by reason", &stats.gaps)?;
    to.tallies("topic_stream_ends", "Streams that ended, by reason", &ends.tallies())
}
