//! Pushes: what is owed, under way, acknowledged, and what became of the rest.

crate::dashboard::dashboard! { "pushes" "Pushes"
    "Now" {
        Number "Registered devices" in "short" { "sum(stadium_push_devices{$})" => "devices" }
        Number "Online and reading" in "short" { "sum(stadium_push_connected{$})" => "online" }
        Number "Owed" in "short" { "sum(stadium_push_owed{$})" => "owed" }
        Number "Under way" in "short" { "sum(stadium_push_in_flight{$})" => "under way" }
        Number "Pushes being sent" in "short" { "sum(stadium_push_sending{$})" => "sending" }
        Number "Waiting for their time" in "short" { "sum(stadium_push_scheduled{$})" => "scheduled" }
    }
    "Deliveries" {
        Lines "Pushes a second" in "short" {
            "sum(rate(stadium_push_accepted_total{$}[$]))" => "kept",
            "sum(rate(stadium_pushes_total{$}[$]))" => "live",
            "sum(rate(stadium_pushes_refused_total{$}[$]))" => "refused"
        }
        Lines "Deliveries a second" in "short" {
            "sum(rate(stadium_push_deliveries_targeted_total{$}[$]))" => "targeted",
            "sum(rate(stadium_push_deliveries_dispatched_total{$}[$]))" => "dispatched",
            "sum(rate(stadium_push_deliveries_acknowledged_total{$}[$]))" => "acknowledged"
        }
        Lines "Deliveries that did not arrive, a second" in "short" {
            "sum(rate(stadium_push_deliveries_refused_total{$}[$]))" => "refused",
            "sum(rate(stadium_push_deliveries_returned_total{$}[$]))" => "returned",
            "sum(rate(stadium_push_deliveries_expired_total{$}[$]))" => "expired",
            "sum(rate(stadium_push_deliveries_collapsed_total{$}[$]))" => "collapsed",
            "sum(rate(stadium_push_deliveries_crowded_out_total{$}[$]))" => "crowded out"
        }
        Lines "Owed and under way" in "short" {
            "sum(stadium_push_owed{$})" => "owed",
            "sum(stadium_push_in_flight{$})" => "under way"
        }
        Lines "Opened and clicked a second" in "short" {
            "sum(rate(stadium_push_opened_total{$}[$]))" => "opened",
            "sum(rate(stadium_push_clicked_total{$}[$]))" => "clicked"
        }
        Lines "Live pushes: acceptance to last delivery" in "s" {
            "histogram_quantile(0.5, sum by (le) (rate(stadium_push_latency_seconds_bucket{$}[$])))" => "p50",
            "histogram_quantile(0.99, sum by (le) (rate(stadium_push_latency_seconds_bucket{$}[$])))" => "p99"
        }
        Lines "Apps, audiences, schedules" in "short" {
            "max(stadium_push_apps{$})" => "apps",
            "max(stadium_push_audiences{$})" => "audiences",
            "sum(stadium_push_schedules{$})" => "schedules"
        }
        Lines "Memory" in "bytes" {
            "sum(stadium_push_state_bytes{$})" => "pushes and devices",
            "sum(stadium_session_state_bytes{$})" => "kept sessions and retained messages"
        }
    }
}
