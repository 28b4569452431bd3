//! One look at the whole: is it well, who is connected, how much is done, and what is near its bound.

crate::dashboard::dashboard! { "overview" "Overview"
    "Health" {
        Light "Ready" in "short" { "min(stadium_ready{$})" => "ready" }
        Number "Devices online" in "short" { "sum(stadium_connections{$})" => "devices" }
        Number "Deliveries a second" in "short" { "sum(rate(stadium_deliveries_total{$}[$]))" => "deliveries" }
        Number "Jobs due" in "short" { "sum(stadium_queue_jobs{$, state=\"due\"})" => "due" }
        Light "Shards serving" in "short" { "min(stadium_shard_serving{$})" => "serving" }
        Number "Uptime" in "s" { "min(stadium_uptime_seconds{$})" => "uptime" }
    }
    "Load" {
        Lines "Devices online" in "short" { "sum by (instance) (stadium_connections{$})" => "{instance}" }
        Lines "Messages a second" in "short" {
            "sum by (instance) (rate(stadium_publishes_in_total{$}[$]))" => "in {instance}",
            "sum by (instance) (rate(stadium_deliveries_total{$}[$]))" => "out {instance}"
        }
        Lines "HTTP requests a second, by status" in "short" {
            "sum by (status) (rate(stadium_http_requests_total{$}[$]))" => "{status}"
        }
        Lines "Delivery latency" in "s" {
            "histogram_quantile(0.5, sum by (le) (rate(stadium_delivery_latency_seconds_bucket{$}[$])))" => "p50",
            "histogram_quantile(0.99, sum by (le) (rate(stadium_delivery_latency_seconds_bucket{$}[$])))" => "p99"
        }
        Lines "Commands of shards a second" in "short" {
            "sum by (instance) (rate(stadium_shard_commands_total{$}[$]))" => "{instance}"
        }
        Lines "Journal sync, p99" in "s" {
            "histogram_quantile(0.99, sum by (instance, le) (rate(stadium_journal_sync_seconds_bucket{$}[$])))" => "{instance}"
        }
    }
    "Bounds" {
        Lines "Cores in use" in "short" { "rate(process_cpu_seconds_total{$}[$])" => "{instance}" }
        Lines "Resident memory" in "bytes" { "process_resident_memory_bytes{$}" => "{instance}" }
        Lines "File descriptors" in "percentunit" { "process_open_fds{$} / process_max_fds{$}" => "{instance}" }
        Lines "Disk used" in "percentunit" {
            "1 - stadium_data_disk_free_bytes{$} / stadium_data_disk_size_bytes{$}" => "{instance}"
        }
        Lines "Busiest loop" in "percentunit" { "max by (instance) (stadium_loop_busy_ratio{$})" => "{instance}" }
        Lines "Busiest thread of shards" in "percentunit" {
            "max by (instance) (rate(stadium_shard_thread_busy_seconds_total{$}[$]))" => "{instance}"
        }
    }
}
