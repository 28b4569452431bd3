//! Services over RSocket, the HTTP port, and discovery.

crate::dashboard::dashboard! { "rpc" "RPC and HTTP"
    "Services" {
        Lines "Requests a second, by route" in "short" {
            "sum by (route) (rate(stadium_rpc_requests_total{$}[$])) > 0" => "{route}"
        }
        Lines "Requests a second, by outcome" in "short" {
            "sum by (outcome) (rate(stadium_rpc_requests_total{$}[$]))" => "{outcome}"
        }
        Lines "Latency, p99 since the start" in "s" {
            "max by (route) (stadium_rpc_latency_seconds{$, quantile=\"0.99\"}) > 0" => "{route}"
        }
        Lines "In flight, limit and queue" in "short" {
            "sum(stadium_rpc_inflight{$})" => "in flight",
            "sum(stadium_rpc_inflight_limit{$})" => "limit",
            "sum(stadium_rpc_queued{$})" => "queued"
        }
        Lines "Connections and streams" in "short" {
            "sum(stadium_rpc_connections{$})" => "connections",
            "sum(stadium_rpc_streams{$})" => "streams",
            "sum(rate(stadium_rpc_connections_refused_total{$}[$]))" => "refused a second"
        }
        Lines "Load" in "percentunit" { "stadium_rpc_load_ratio{$}" => "{instance}" }
    }
    "HTTP" {
        Lines "Requests a second, by route" in "short" {
            "sum by (route) (rate(stadium_http_requests_total{$}[$]))" => "{route}"
        }
        Lines "Errors a second, by route and status" in "short" {
            "sum by (route, status) (rate(stadium_http_requests_total{$, status=~\"[45]..\"}[$]))" => "{status} {route}"
        }
        Lines "Duration, p99 by route" in "s" {
            "histogram_quantile(0.99, sum by (route, le) (rate(stadium_http_request_duration_seconds_bucket{$}[$])))"
                => "{route}"
        }
        Lines "Connections" in "short" {
            "sum(stadium_http_connections{$})" => "open",
            "sum(stadium_http_connections_max{$})" => "at most",
            "sum(stadium_http_live_views{$})" => "live views"
        }
    }
    "Discovery" {
        Light "Backend answers" in "short" { "min(stadium_discovery_connected{$})" => "connected" }
        Lines "Registrations" in "short" {
            "sum(stadium_discovery_registrations{$})" => "wanted",
            "sum(stadium_discovery_registered{$})" => "held"
        }
        Lines "Troubles a second" in "short" { "sum by (reason) (rate(stadium_discovery_troubles_total{$}[$]))" => "{reason}" }
    }
}
