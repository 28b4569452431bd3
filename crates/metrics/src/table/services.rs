//! Services over RSocket, discovery, and the locations that a service reports.

crate::definition::section! { "Services and discovery"
    RPC_CONNECTIONS = Gauge "rpc_connections" when Services: "Open connections of callers",
        rises "More callers are connected.",
        act "Nothing below the bound.",
        set by "rpc.connections_max";
    RPC_CONNECTIONS_REFUSED = Counter "rpc_connections_refused" when Services:
        "Connections of callers over the bound, which were closed",
        rises "More callers connect than may.",
        act "Let callers share connections, or raise the bound.",
        set by "rpc.connections_max";
    RPC_CONNECTIONS_CUT = Counter "rpc_connections_cut" by "reason" when Services:
        "Connections of callers that were cut, by reason",
        rises "`unfinished`: a caller holds too many bytes of incomplete payloads. `slow_reader`: it does not read its answers.",
        act "Look for a faulty or overloaded caller.",
        set by "rpc.partial_bytes_max";
    RPC_INFLIGHT = Gauge "rpc_inflight" when Services: "Requests that services work on",
        rises "More requests, or slower ones.",
        act "Compare it with `stadium_rpc_inflight_limit`.",
        set by "rpc.concurrency_max";
    RPC_INFLIGHT_LIMIT = Gauge "rpc_inflight_limit" when Services: "Requests that services may work on at once",
        rises "The limit adapts to the latency: a fall means that requests became slower.",
        act "Find the slow method with `stadium_rpc_latency_seconds`.",
        set by "rpc.concurrency_initial" "rpc.concurrency_min" "rpc.concurrency_max";
    RPC_QUEUED = Gauge "rpc_queued" when Services: "Requests that wait for admission",
        rises "Requests come faster than they are answered.",
        act "Start more instances, or have callers back off.",
        set by "rpc.queue_max";
    RPC_STREAMS = Gauge "rpc_streams" when Services: "Open streams and channels",
        rises "Callers open more streams.",
        act "Nothing below the bound.",
        set by "rpc.streams_max";
    RPC_LOAD = Gauge "rpc_load" in Ratio when Services: "The load factor that callers get",
        rises "Callers that balance by load send less here.",
        act "At 1 on all instances, start more.",
        set by "rpc.concurrency_max";
    RPC_REQUESTS = Counter "rpc_requests" by "route" "outcome" when Services: "Requests by their end",
        rises "`ok` is work done. `busy` and `expired` are load, `rejected` is the caller's mistake, `failed` is the service's.",
        act "For `failed`, read the service's log. For `busy`, start more instances.",
        set by "rpc.queue_max" "rpc.deadline_ms";
    RPC_LATENCY = Summary "rpc_latency" in Seconds by "route" "quantile" when Services:
        "From reading a request to its answer, since the start",
        rises "The method became slower.",
        act "Compare the methods: if all rise, the machine is busy; if one does, its work is slow.",
        set by "rpc.concurrency_max";
    DISCOVERY_CONNECTED = Gauge "discovery_connected" when Services:
        "1 when discovery's backend answers, or none is needed and every name of the list is found",
        rises "0 while etcd or ZooKeeper does not answer, or a name of the list is unknown. Known addresses stay in use.",
        act "Check the backend and `stadium service list`.",
        set by "discovery.backend" "discovery.endpoints";
    DISCOVERY_REGISTRATIONS = Gauge "discovery_registrations" when Services: "Registrations that are wanted",
        rises "More services of this process are to be found by others.",
        act "Nothing.",
        set by "discovery.advertise";
    DISCOVERY_REGISTERED = Gauge "discovery_registered" when Services: "Registrations that the backend holds",
        rises "A fall below `stadium_discovery_registrations` means that callers do not find this server.",
        act "Check the backend, its users and `discovery.advertise`.",
        set by "discovery.session_ttl_s" "discovery.advertise";
    DISCOVERY_TROUBLES = Counter "discovery_troubles" by "reason" when Services:
        "What went wrong in discovery and was mended",
        rises "The backend is slow, restarts, or sessions expire.",
        act "Check the backend, and the network to it.",
        set by "discovery.session_ttl_s" "discovery.retry_delay_max_ms";
    LOCATION_SOURCES = Gauge "location_sources" when Locations: "Instances that report where devices are",
        rises "More instances of the service are followed; 0 means that none is found.",
        act "At 0, check that the service runs and is registered.",
        set by "push.locations.service";
    LOCATION_EVENTS = Counter "location_events" when Locations: "Locations that were taken from a service",
        rises "Devices move.",
        act "Nothing.",
        set by "push.locations.minor_m";
    LOCATION_OUTCOMES = Counter "location_outcomes" by "reason" when Locations: "What became of locations",
        rises "Locations were written, or ignored because they are old, close to the last, or of unregistered devices.",
        act "If most are of unregistered devices, the service and Stadium name devices differently.",
        set by "push.locations.minor_m";
    LOCATIONS_WAITING = Gauge "locations_waiting" when Locations: "Devices whose locations wait to be written",
        rises "Locations come faster than shards write them. At the bound, the service is read more slowly.",
        act "Raise `push.locations.minor_m` so that small moves are ignored.",
        set by "push.locations.waiting_max" "push.locations.batch_ms";
    LOCATION_LAG = Gauge "location_lag" in Seconds when Locations:
        "How long the oldest location of the last batch was here before it was durable",
        rises "Selectors with a location see devices where they were this long ago.",
        act "Look at `stadium_shard_durable_lag_seconds`.",
        set by "push.locations.batch_ms";
}
