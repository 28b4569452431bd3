//! The figures of topics over HTTP: messages of applications, and streams with what is kept for them.

use std::fmt;

use stadium_metrics::table::topics as table;

use crate::fleet::FleetStats;
use crate::metrics::encoder::Encoder;
use crate::topics::stream::StreamEnds;

/// All of them.
pub(crate) fn encode(to: &mut Encoder<'_>, stats: &FleetStats, ends: &StreamEnds) -> fmt::Result {
    to.value(table::APPLICATION_MESSAGES, stats.application_messages_total)?;
    to.value(table::APPLICATION_MESSAGES_REFUSED, stats.application_messages_refused_total)?;
    let streams = &stats.streams;
    to.value(table::TOPIC_STREAMS, streams.open)?;
    to.value(table::TOPIC_STREAMS_MAX, streams.open_max)?;
    to.value(table::TOPIC_STREAM_FILTERS, streams.filters)?;
    to.value(table::TOPIC_RING_MESSAGES, streams.ring_messages)?;
    to.value(table::TOPIC_RING, streams.ring_bytes)?;
    to.value(table::TOPIC_MESSAGES, streams.messages_total)?;
    to.value(table::TOPIC_STREAM_MESSAGES, streams.deliveries_total)?;
    to.value(table::TOPIC_MESSAGES_LOST, streams.lost_total)?;
    to.tallies(table::TOPIC_STREAM_GAPS, &streams.gaps)?;
    to.tallies(table::TOPIC_STREAM_ENDS, &ends.tallies())
}
