//! The nodes of a cluster, their links, and the object store.

crate::dashboard::dashboard! { "cluster" "Cluster"
    "Nodes" {
        Number "Nodes alive" in "short" { "max(stadium_cluster_nodes{$})" => "nodes" }
        Number "Shards without an owner" in "short" {
            "max(stadium_cluster_shards{$}) - sum(stadium_cluster_shards_served{$})" => "without an owner"
        }
        Light "All registered" in "short" { "min(stadium_cluster_registered{$})" => "registered" }
        Light "Leases certain" in "short" { "min(stadium_cluster_lease_certain{$})" => "certain" }
        Lines "Shards served" in "short" { "stadium_cluster_shards_served{$}" => "{instance}" }
        Lines "Commands between nodes a second" in "short" {
            "sum by (reason) (rate(stadium_cluster_commands_total{$}[$]))" => "{reason}"
        }
        Lines "Commands that wait" in "short" { "stadium_cluster_commands_waiting{$}" => "{instance}" }
    }
    "Links" {
        Lines "Up" in "short" { "min by (instance, node) (stadium_cluster_link_up{$})" => "{instance} to {node}" }
        Lines "Bytes a second" in "Bps" {
            "sum by (instance, direction) (rate(stadium_cluster_link_transferred_bytes_total{$}[$]))"
                => "{instance} {direction}"
        }
        Lines "Round trip" in "s" {
            "max by (instance, node) (stadium_cluster_link_round_trip_seconds{$})" => "{instance} to {node}"
        }
        Lines "Credit taken" in "bytes" {
            "sum by (instance, node) (stadium_cluster_link_credit_taken_bytes{$})" => "{instance} to {node}"
        }
        Lines "Failures" in "short" {
            "sum by (instance, node) (increase(stadium_cluster_link_failures_total{$}[$]))" => "{instance} to {node}"
        }
    }
    "Object store" {
        Lines "Longest wait" in "s" { "stadium_cluster_archive_wait_seconds{$}" => "{instance}" }
        Lines "Shards behind" in "short" { "stadium_cluster_archive_behind{$}" => "{instance}" }
        Lines "Shards failing" in "short" { "stadium_cluster_archive_failing{$}" => "{instance}" }
    }
}
