//! Topics over HTTP: messages of applications, and streams of topics as server-sent events.

crate::definition::section! { "Topics over HTTP"
    APPLICATION_MESSAGES = Counter "application_messages": "Messages that applications published to topics",
        rises "Applications publish more by `POST /api/publish`.",
        act "Nothing while loops have time; see `stadium_loop_busy_ratio`.";
    APPLICATION_MESSAGES_REFUSED = Counter "application_messages_refused":
        "Messages of applications that were refused, or whose outcome is unknown",
        rises "Messages come faster than loops take them, or a topic or a payload is wrong.",
        act "Look at the statuses in `stadium_http_requests_total`: 503 is load, 4xx are mistakes of the caller.",
        set by "limits.mailbox_max";
    TOPIC_STREAMS = Gauge "topic_streams": "Open streams of topics",
        rises "More pages read topics by server-sent events.",
        act "Compare it with `stadium_topic_streams_max`. At the bound, new streams are refused.",
        set by "http.topic_streams_max";
    TOPIC_STREAMS_MAX = Gauge "topic_streams_max": "Streams of topics at most",
        rises "The bound was raised.",
        act "Nothing.",
        set by "http.topic_streams_max";
    TOPIC_STREAM_FILTERS = Gauge "topic_stream_filters": "Topic filters that streams read, or did lately",
        rises "Streams read more different filters. Each has a subscription in the server.",
        act "Have pages share filters.",
        set by "http.topic_streams_max";
    TOPIC_RING_MESSAGES = Gauge "topic_ring_messages": "Messages that streams may still read",
        rises "More messages match the filters of streams.",
        act "Nothing: the ring is bounded in bytes and in time.",
        set by "http.topic_ring_bytes_max" "http.topic_ring_ms";
    TOPIC_RING = Gauge "topic_ring" in Bytes: "Memory of the messages that streams may still read",
        rises "More bytes match the filters of streams. At the bound, the oldest messages leave the ring early.",
        act "Raise the bound if `stadium_topic_stream_gaps_total` rises with it.",
        set by "http.topic_ring_bytes_max";
    TOPIC_MESSAGES = Counter "topic_messages": "Messages kept for streams",
        rises "More messages match the filters of streams.",
        act "Nothing.";
    TOPIC_STREAM_MESSAGES = Counter "topic_stream_messages": "Messages given to streams, once for each stream",
        rises "Streams are sent more messages.",
        act "Nothing.";
    TOPIC_MESSAGES_LOST = Counter "topic_messages_lost":
        "Messages that no stream gets because the node was too busy",
        rises "Messages for streams come faster than one thread keeps them. Streams get a `gap`.",
        act "Use narrower filters, or read these topics by MQTT over WebSocket.";
    TOPIC_STREAM_GAPS = Counter "topic_stream_gaps" by "reason": "Gaps that were reported to streams, by reason",
        rises "Streams reconnect later than the ring reaches back, or read too slowly.",
        act "Raise the ring's time or its bytes.",
        set by "http.topic_ring_bytes_max" "http.topic_ring_ms";
    TOPIC_STREAM_ENDS = Counter "topic_stream_ends" by "reason": "Streams that ended, by reason",
        rises "Pages close, read too slowly, or lose the right to a topic.",
        act "Find the reason that rises.";
}
