//! Devices: connections, sessions, messages, logins, memory, requests and feeds.

crate::definition::section! { "Devices and messages"
    CONNECTIONS = Gauge "connections": "Devices with an open connection",
        rises "More devices are online. At the bound, new connections are closed.",
        act "Compare it with the bound before an event. Add a node, or raise the bound and the open-file limit together.",
        set by "limits.connections_max";
    SESSIONS = Gauge "sessions": "Sessions, of connected devices and of those away",
        rises "More devices ask for sessions that outlive their connections.",
        act "Lower `limits.session_expiry_s_max` if most of these devices never return.",
        set by "limits.sessions_max" "limits.session_expiry_s_max";
    SUBSCRIPTIONS = Gauge "subscriptions": "Subscriptions of all sessions",
        rises "Devices subscribe to more topics. Each subscription takes memory.",
        act "Use filters with wildcards in place of many topics for each device.",
        set by "limits.subscriptions_per_session_max";
    RETAINED_MESSAGES = Gauge "retained_messages": "Retained messages",
        rises "More topics have a retained message. At the bound, further ones are not kept.",
        act "Remove messages of topics that are no longer used: `stadium retained purge`.",
        set by "limits.retained_messages_max" "limits.retained_bytes_max";
    RETAINS_REFUSED = Counter "retains_refused": "Messages that were not retained because a bound was reached",
        rises "The server holds as many retained messages, or as many bytes of them, as it may.",
        act "Remove retained messages that nobody needs, or raise the bound.",
        set by "limits.retained_messages_max" "limits.retained_bytes_max";
    RETAINS_OVER_QUOTA = Counter "retains_over_quota":
        "Messages that were not retained because their principal reached its quota",
        rises "One principal retains messages on more topics than its quota allows.",
        act "Look for a device with topics that contain a counter or a time. Raise the quota where the topics are needed.",
        set by "limits.retained_messages_per_principal_max" "limits.retained_bytes_per_principal_max";
    RETAINED_LEFT_OUT = Counter "retained_left_out": "Subscriptions that were not sent all retained messages",
        rises "Filters match more retained messages than one subscription may be sent.",
        act "Have devices subscribe to narrower filters, or raise the bound.",
        set by "limits.retained_per_subscription_max";
    ACCEPTS = Counter "accepts": "Sockets accepted",
        rises "Connections are made. Far more accepts than connects means that handshakes or logins fail.",
        act "Compare it with `stadium_connects_total`; the difference is in `stadium_closes_total` by reason.",
        set by "limits.accepts_per_second" "limits.accepts_per_address_per_second";
    CONNECTS = Counter "connects": "CONNECT packets answered with success",
        rises "Devices log in. A high rate with steady connections means that devices reconnect in a loop.",
        act "Look at `stadium_closes_total`: a leading `taken_over` means that two devices share a client id.",
        set by "limits.connects_per_second";
    PUBLISHES_IN = Counter "publishes_in": "Messages that devices published",
        rises "Devices publish more.",
        act "Nothing while loops have time; see `stadium_loop_busy_ratio`.",
        set by "limits.messages_per_second_per_connection";
    DELIVERIES = Counter "deliveries": "Messages written to devices' sockets",
        rises "More messages leave. One publish to a popular topic makes one delivery for each subscriber.",
        act "Nothing while `stadium_delivery_latency_seconds` is low.";
    ACKNOWLEDGEMENTS = Counter "acknowledgements": "Deliveries that devices acknowledged",
        rises "Devices acknowledge messages of QoS 1 and 2.",
        act "If it stays far behind the deliveries of QoS 1, devices are slow or hang.",
        set by "limits.inflight_max" "limits.receive_maximum";
    CLOSES = Counter "closes" by "reason": "Connections closed, by reason",
        rises "Connections end. `keep_alive`, `reset` and `unresponsive` are networks, `slow_reader` and `write_stall` are \
               devices that do not read, `protocol_violation` is a faulty client, `busy` and `overloaded` are this server.",
        act "Find the reason that rises. For `taken_over`, look for two devices with one client id.",
        set by "limits.write_stall_ms" "limits.keep_alive_s_max";
    DROPS = Counter "drops" by "reason": "Messages given up, by reason",
        rises "Messages are lost for their receivers: `queue_full` and `slow_reader` are devices that read too slowly, \
               `expired` came too late, `too_large` exceeds the packet that the device takes, `denied` lacks a right.",
        act "For `queue_full`, use QoS 1 with a session, or raise the bound at the cost of memory.",
        set by "limits.queued_max" "limits.write_queue_bytes_max";
    AUTH_FAILURES = Counter "auth_failures" by "reason": "Logins refused, by reason",
        rises "Devices show wrong or old credentials, or someone guesses them. `busy` is a slow callback or password pool.",
        act "For `token_expired`, check the clocks of devices. For many `bad_password` of one address, see the log; bans follow.",
        set by "auth.failures_per_address_max" "auth.failures_ban_s";
    AUTH_CACHE = Counter "auth_cache" by "reason" when AuthCache:
        "Events of the cache of the callback's answers, by kind",
        rises "Logins ask the shared cache. A rising share of misses or errors sends more calls to your server.",
        act "Check that memcached runs and has memory: `stadium memcache stats`.",
        set by "cache.servers" "auth.callback.cache_s";
    AUTH_CACHE_EJECTED_SERVERS = Gauge "auth_cache_ejected_servers" when AuthCache:
        "Servers of that cache that are left alone now",
        rises "A memcached server failed several times and gets no requests for a while.",
        act "Restart that server, or take it out of `cache.servers`.",
        set by "cache.servers" "cache.timeout_ms";
    MEMORY_HELD = Gauge "memory_held" in Bytes by "by": "Memory held, by what holds it",
        rises "Connections, sessions, write queues or retained messages take more memory.",
        act "Find the holder that rises. `write_queues` are slow devices; `sessions` are messages for devices that are away.",
        set by "limits.write_queue_bytes_max" "limits.session_bytes_max" "limits.retained_bytes_max";
    DELIVERY_LATENCY = Histogram "delivery_latency" in Seconds:
        "From a message's arrival or a push's acceptance to the write to the device's socket",
        rises "Messages wait in the server: loops are busy, or devices read slowly.",
        act "Look at `stadium_loop_busy_ratio`. Above 0.8, add cores or nodes.",
        set by "server.loops";
    PUSHES = Counter "pushes": "Pushes taken over",
        rises "Applications push more.",
        act "Nothing.",
        set by "limits.pushes_max";
    PUSHES_REFUSED = Counter "pushes_refused": "Pushes refused as busy or rejected",
        rises "Pushes come faster than loops take them, or they are wrong.",
        act "Look at the statuses in `stadium_http_requests_total`: 429 and 503 are load, 4xx are mistakes of the caller.",
        set by "limits.mailbox_max" "limits.pushes_max";
    PUSH_LATENCY = Histogram "push_latency" in Seconds: "From a push's acceptance to its last delivery",
        rises "Pushes take longer to reach their last device.",
        act "Look at `stadium_loop_busy_ratio` and at the size of the audiences.",
        set by "server.loops";
    DEVICE_REQUESTS_IN_FLIGHT = Gauge "device_requests_in_flight": "Requests of devices whose answer has not left",
        rises "Services answer devices more slowly, or devices ask more.",
        act "Look at `stadium_rpc_latency_seconds` of the service that is asked.",
        set by "rpc.devices.in_flight_max" "rpc.devices.per_device_max";
    DEVICE_REQUESTS = Counter "device_requests": "Requests of devices to services, taken",
        rises "Devices ask services more.",
        act "Nothing.",
        set by "rpc.devices.enabled";
    DEVICE_REQUESTS_REFUSED = Counter "device_requests_refused":
        "Requests of devices refused: a bound was reached, or no such service",
        rises "Services are too slow for their requests, or devices name services that do not exist.",
        act "Start more instances of the service, or raise the bound.",
        set by "rpc.devices.in_flight_max" "rpc.devices.per_device_max";
    DEVICE_ANSWERS = Counter "device_answers": "Answers of services given to devices",
        rises "Services answer devices.",
        act "Nothing.";
    DEVICE_ANSWERS_DROPPED = Counter "device_answers_dropped":
        "Answers dropped: the device was gone or had not subscribed",
        rises "Devices leave before their answer, or do not subscribe to their response topic.",
        act "Have devices subscribe to the response topic before they ask.",
        set by "rpc.devices.answer_expiry_s";
    FEED_MESSAGES = Counter "feed_messages": "Messages of devices taken for feeds",
        rises "Devices publish to topics that feeds collect.",
        act "Nothing while the queues of the feeds are worked on.";
    FEED_MESSAGES_DROPPED = Counter "feed_messages_dropped": "Messages of devices that no feed's queue took",
        rises "The queue of a feed refuses messages: it is full, or its shard does not serve.",
        act "Look at `stadium_queue_jobs` of the feed's queue and start more workers.",
        set by "queue.jobs_max" "limits.forwards_waiting_max";
}
