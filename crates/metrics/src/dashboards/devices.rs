//! Devices: connections and why they end, logins, messages, memory, loops.

crate::dashboard::dashboard! { "devices" "Devices"
    "Connections" {
        Lines "Devices online" in "short" { "sum by (instance) (stadium_connections{$})" => "{instance}" }
        Lines "Sessions and subscriptions" in "short" {
            "sum(stadium_sessions{$})" => "sessions",
            "sum(stadium_subscriptions{$})" => "subscriptions"
        }
        Lines "Accepts and logins a second" in "short" {
            "sum(rate(stadium_accepts_total{$}[$]))" => "sockets accepted",
            "sum(rate(stadium_connects_total{$}[$]))" => "logins"
        }
        Lines "Connections closed a second, by reason" in "short" {
            "sum by (reason) (rate(stadium_closes_total{$}[$])) > 0" => "{reason}"
        }
        Lines "Logins refused a second, by reason" in "short" {
            "sum by (reason) (rate(stadium_auth_failures_total{$}[$]))" => "{reason}"
        }
        Lines "Memory held" in "bytes" { "sum by (by) (stadium_memory_held_bytes{$})" => "{by}" }
    }
    "Messages" {
        Lines "Messages a second" in "short" {
            "sum(rate(stadium_publishes_in_total{$}[$]))" => "published",
            "sum(rate(stadium_deliveries_total{$}[$]))" => "delivered",
            "sum(rate(stadium_acknowledgements_total{$}[$]))" => "acknowledged"
        }
        Lines "Messages given up a second" in "short" { "sum by (reason) (rate(stadium_drops_total{$}[$]))" => "{reason}" }
        Lines "Delivery latency" in "s" {
            "histogram_quantile(0.5, sum by (le) (rate(stadium_delivery_latency_seconds_bucket{$}[$])))" => "p50",
            "histogram_quantile(0.99, sum by (le) (rate(stadium_delivery_latency_seconds_bucket{$}[$])))" => "p99"
        }
        Lines "Retained messages" in "short" {
            "sum(stadium_retained_messages{$})" => "retained",
            "sum(rate(stadium_retains_refused_total{$}[$]))" => "refused a second"
        }
        Lines "Messages for feeds a second" in "short" {
            "sum(rate(stadium_feed_messages_total{$}[$]))" => "taken",
            "sum(rate(stadium_feed_messages_dropped_total{$}[$]))" => "dropped"
        }
        Lines "Requests of devices a second" in "short" {
            "sum(rate(stadium_device_requests_total{$}[$]))" => "taken",
            "sum(rate(stadium_device_requests_refused_total{$}[$]))" => "refused",
            "sum(rate(stadium_device_answers_total{$}[$]))" => "answered"
        }
    }
    "Event loops" {
        Lines "Busy" in "percentunit" { "stadium_loop_busy_ratio{$}" => "{instance} {loop}" }
        Lines "Mailboxes" in "short" { "stadium_loop_mailbox_depth{$}" => "{instance} {loop}" }
        Lines "Bytes a second" in "Bps" {
            "sum(rate(stadium_loop_read_bytes_total{$}[$]))" => "read",
            "sum(rate(stadium_loop_written_bytes_total{$}[$]))" => "written"
        }
    }
}
