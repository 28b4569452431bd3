//! The HTTP port.

crate::definition::section! { "HTTP port"
    HTTP_CONNECTIONS = Gauge "http_connections": "Open HTTP connections",
        rises "More clients are connected, or they do not reuse connections.",
        act "Compare it with `stadium_http_connections_max`.",
        set by "http.connections_max";
    HTTP_CONNECTIONS_MAX = Gauge "http_connections_max": "HTTP connections at most",
        rises "Only by a change of the setting.",
        act "Nothing.",
        set by "http.connections_max";
    HTTP_CONNECTIONS_TURNED_AWAY = Counter "http_connections_turned_away":
        "HTTP connections over the bound, which were closed",
        rises "More clients connect than may, in all or from one address.",
        act "Have clients reuse connections, or raise the bound.",
        set by "http.connections_max" "http.connections_per_address_max";
    HTTP_LIVE_VIEWS = Gauge "http_live_views": "Open live views",
        rises "More people have the console open.",
        act "Nothing below the bound.",
        set by "http.live_views_max";
    HTTP_REQUESTS = Counter "http_requests" by "route" "status": "HTTP requests answered",
        rises "The API is used. 4xx are mistakes of callers, 429 and 503 are load, 500 and 504 are faults of the server.",
        act "For 500, read the log. For 503, look at shards and loops. Each error's code is in its body.",
        set by "http.request_ms" "http.keyless_requests_per_second_max";
    HTTP_REQUEST_DURATION = Histogram "http_request_duration" in Seconds by "route":
        "From a request's head to its answer's",
        rises "Requests are slower: shards are busy, the disk syncs slowly, or audiences are larger.",
        act "Look at `stadium_shard_durable_lag_seconds` and `stadium_journal_sync_seconds`. Requests that wait for jobs are long.",
        set by "http.request_ms";
}
