//! Devices, deliveries, pushes and services.

crate::alert::alerts! { "Devices, pushes and services"
    StadiumLoopBusy Warning if "stadium_loop_busy_ratio > 0.9" for "5m": "Loop {loop} of {instance} has no time left",
        means "Messages wait behind each other. The latency of deliveries rises, and pushes are answered *busy* at last.",
        act "Spread devices over more loops or nodes. Look for one channel with very many subscribers and publishes.",
        fires r#"stadium_loop_busy_ratio{instance="a", loop="0"}"# = "0.97x120",
        silent r#"stadium_loop_busy_ratio{instance="a", loop="0"}"# = "0.97x50 0.5x70";
    StadiumDeliveriesSlow Warning if "histogram_quantile(0.99, sum by (job, instance, le) \
        (rate(stadium_delivery_latency_seconds_bucket[5m]))) > 1" for "5m":
        "1% of deliveries of {instance} take more than a second",
        means "Messages wait in the server before they are written to devices' sockets.",
        act "Look at `stadium_loop_busy_ratio` and `stadium_memory_held_bytes{by=\"write_queues\"}`: busy loops, or devices \
             that read slowly.",
        fires r#"stadium_delivery_latency_seconds_bucket{instance="a", le="1.0"}"# = "0+10x120"
              r#"stadium_delivery_latency_seconds_bucket{instance="a", le="5.0"}"# = "0+100x120"
              r#"stadium_delivery_latency_seconds_bucket{instance="a", le="+Inf"}"# = "0+100x120",
        silent r#"stadium_delivery_latency_seconds_bucket{instance="a", le="1.0"}"# = "0+100x120"
               r#"stadium_delivery_latency_seconds_bucket{instance="a", le="5.0"}"# = "0+100x120"
               r#"stadium_delivery_latency_seconds_bucket{instance="a", le="+Inf"}"# = "0+100x120";
    StadiumMessagesDropped Warning if "sum by (job, instance, reason) \
        (rate(stadium_drops_total{reason=~\"queue_full|slow_reader\"}[5m])) > 1" for "10m":
        "{instance} gives messages up: {reason}",
        means "Devices read more slowly than messages for them come, and lose the oldest.",
        act "Send less to them, use QoS 1 with a session, or raise `limits.queued_max` at the cost of memory.",
        fires r#"stadium_drops_total{instance="a", reason="queue_full"}"# = "0+600x120",
        silent r#"stadium_drops_total{instance="a", reason="expired"}"# = "0+600x120";
    StadiumLoginsRefused Warning if "sum by (job, instance) (rate(stadium_auth_failures_total[5m])) > 1 and \
        sum by (job, instance) (rate(stadium_auth_failures_total[5m])) > sum by (job, instance) \
        (rate(stadium_connects_total[5m]))" for "10m":
        "{instance} refuses more logins than it accepts",
        means "Credentials have expired, the authentication callback fails, or someone guesses passwords.",
        act "Split `stadium_auth_failures_total` by reason. `callback` and `busy` are your own server, `token_expired` often a \
             clock.",
        fires r#"stadium_auth_failures_total{instance="a", reason="bad_password"}"# = "0+600x120"
              r#"stadium_connects_total{instance="a"}"# = "0+60x120",
        silent r#"stadium_auth_failures_total{instance="a", reason="bad_password"}"# = "0+600x120"
               r#"stadium_connects_total{instance="a"}"# = "0+6000x120";
    StadiumTakeovers Warning if "rate(stadium_closes_total{reason=\"taken_over\"}[5m]) > 5" for "10m":
        "Devices of {instance} take each other's client id over",
        means "Two devices with one client id disconnect each other for ever.",
        act "The log at level debug names the client ids. Give each device an id of its own, or use `auth.token.client_id`.",
        fires r#"stadium_closes_total{instance="a", reason="taken_over"}"# = "0+600x120",
        silent r#"stadium_closes_total{instance="a", reason="taken_over"}"# = "0+60x120";
    StadiumAuthCacheServers Warning if "stadium_auth_cache_ejected_servers > 0" for "10m":
        "{instance} leaves {value} memcached servers alone",
        means "Answers of the authentication callback are not shared through these servers: your callback is asked more.",
        act "Restart them or remove them from `cache.servers`: `stadium memcache stats`.",
        fires r#"stadium_auth_cache_ejected_servers{instance="a"}"# = "1x120",
        silent r#"stadium_auth_cache_ejected_servers{instance="a"}"# = "0x120";
    StadiumFeedMessagesDropped Critical if "rate(stadium_feed_messages_dropped_total[5m]) > 0" for "5m":
        "{instance} loses messages of devices for feeds",
        means "The queue of a feed refuses messages. At QoS 1 the device is asked to send again; at QoS 0 they are lost.",
        act "Start more workers of the feed's queue, or raise `queue.jobs_max`. `stadium queue stats` shows which is full.",
        fires r#"stadium_feed_messages_dropped_total{instance="a"}"# = "0+10x120",
        silent r#"stadium_feed_messages_dropped_total{instance="a"}"# = "5x120";
    StadiumPushesStuck Critical if "sum by (job, instance) (stadium_push_in_flight) > 100 and \
        sum by (job, instance) (rate(stadium_push_deliveries_acknowledged_total[10m])) == 0" for "10m":
        "Devices of {instance} acknowledge no pushes",
        means "More than 100 deliveries are under way, and none was acknowledged for ten minutes.",
        act "Explain one of them: `stadium push trace PUSH DEVICE`. Devices that hang do not answer; check their last version.",
        fires r#"stadium_push_in_flight{instance="a", shard="0"}"# = "500x120"
              r#"stadium_push_deliveries_acknowledged_total{instance="a", shard="0"}"# = "7x120",
        silent r#"stadium_push_in_flight{instance="a", shard="0"}"# = "500x120"
               r#"stadium_push_deliveries_acknowledged_total{instance="a", shard="0"}"# = "0+7x120";
    StadiumInboxesOverflow Warning if "sum by (job, instance) \
        (rate(stadium_push_deliveries_crowded_out_total[15m])) > 1" for "15m":
        "Inboxes of devices that are away overflow on {instance}",
        means "Devices are owed more pushes than an inbox holds; the oldest are given up.",
        act "Use collapse keys or a shorter time to live, or raise the app's size of the inbox.",
        fires r#"stadium_push_deliveries_crowded_out_total{instance="a", shard="0"}"# = "0+600x120",
        silent r#"stadium_push_deliveries_crowded_out_total{instance="a", shard="0"}"# = "0+6x120";
    StadiumRpcFails Warning if "sum by (job, instance, route) (rate(stadium_rpc_requests_total{outcome=\"failed\"}[5m])) / \
        sum by (job, instance, route) (rate(stadium_rpc_requests_total[5m])) > 0.05" for "5m":
        "More than 5% of the requests of {route} on {instance} fail",
        means "The method ends with errors of its own.",
        act "Read the log of the service.",
        fires r#"stadium_rpc_requests_total{instance="a", route="s/M", outcome="failed"}"# = "0+60x120"
              r#"stadium_rpc_requests_total{instance="a", route="s/M", outcome="ok"}"# = "0+300x120",
        silent r#"stadium_rpc_requests_total{instance="a", route="s/M", outcome="failed"}"# = "0x120"
               r#"stadium_rpc_requests_total{instance="a", route="s/M", outcome="ok"}"# = "0+300x120";
    StadiumRpcOverloaded Warning if "sum by (job, instance) \
        (rate(stadium_rpc_requests_total{outcome=~\"busy|expired\"}[5m])) / \
        sum by (job, instance) (rate(stadium_rpc_requests_total[5m])) > 0.1" for "5m":
        "More than 10% of the requests of {instance} are refused or too late",
        means "Services get more requests than they answer in time.",
        act "Start more instances. `stadium_rpc_latency_seconds` shows which method is slow.",
        fires r#"stadium_rpc_requests_total{instance="a", route="s/M", outcome="busy"}"# = "0+60x120"
              r#"stadium_rpc_requests_total{instance="a", route="s/M", outcome="ok"}"# = "0+300x120",
        silent r#"stadium_rpc_requests_total{instance="a", route="s/M", outcome="busy"}"# = "0+6x120"
               r#"stadium_rpc_requests_total{instance="a", route="s/M", outcome="ok"}"# = "0+300x120";
    StadiumDiscoveryAway Warning if "stadium_discovery_connected == 0" for "5m":
        "Discovery of {instance} has no answer",
        means "etcd or ZooKeeper is away, or a name of the static list is unknown. Known addresses stay in use.",
        act "Check the backend and `discovery.endpoints`; `stadium service list` shows what is known.",
        fires r#"stadium_discovery_connected{instance="a"}"# = "0x120",
        silent r#"stadium_discovery_connected{instance="a"}"# = "1x120";
    StadiumNotRegistered Warning if "stadium_discovery_registered < stadium_discovery_registrations" for "5m":
        "Callers do not find the services of {instance}",
        means "The backend holds fewer registrations of this server than it should.",
        act "Check the backend, its user's rights and `discovery.advertise`.",
        fires r#"stadium_discovery_registered{instance="a"}"# = "0x120"
              r#"stadium_discovery_registrations{instance="a"}"# = "1x120",
        silent r#"stadium_discovery_registered{instance="a"}"# = "1x120"
               r#"stadium_discovery_registrations{instance="a"}"# = "1x120";
}
