//! Queues and wallets.

crate::dashboard::dashboard! { "queues-and-wallets" "Queues and wallets"
    "Queues" {
        Lines "Jobs due" in "short" { "sum by (queue) (stadium_queue_jobs{$, state=\"due\"})" => "{queue}" }
        Lines "Jobs by state" in "short" { "sum by (state) (stadium_queue_jobs{$})" => "{state}" }
        Lines "Age of the oldest job that is due" in "s" {
            "max by (queue) (stadium_queue_oldest_due_age_seconds{$})" => "{queue}"
        }
        Lines "Jobs a second" in "short" {
            "sum(rate(stadium_queue_put_total{$}[$]))" => "put",
            "sum(rate(stadium_queue_handed_out_total{$}[$]))" => "handed out",
            "sum(rate(stadium_queue_settled_total{$}[$]))" => "settled"
        }
        Lines "Failures a second" in "short" {
            "sum by (queue) (rate(stadium_queue_retried_total{$}[$]))" => "retried {queue}",
            "sum by (queue) (rate(stadium_queue_died_total{$}[$]))" => "died {queue}"
        }
        Lines "Consumers that wait" in "short" {
            "sum by (queue) (stadium_queue_waiting_consumers{$})" => "{queue}"
        }
        Lines "Duplicates a second" in "short" { "sum by (queue) (rate(stadium_queue_duplicates_total{$}[$]))" => "{queue}" }
        Lines "Paused" in "short" { "sum by (queue) (stadium_queue_paused{$})" => "{queue}" }
        Lines "Payloads on disk" in "bytes" {
            "sum(stadium_shard_payloads_alive_bytes{$})" => "alive",
            "sum(stadium_shard_segments_size_bytes{$})" => "segments"
        }
    }
    "Wallets" {
        Light "Books balance" in "short" { "min(stadium_wallet_asset_balanced{$})" => "balanced" }
        Number "Accounts" in "short" { "sum(stadium_wallet_accounts{$})" => "accounts" }
        Number "Open holds" in "short" { "sum(stadium_wallet_holds{$})" => "holds" }
        Number "Undecided transfers" in "short" { "sum(stadium_wallet_pending{$})" => "pending" }
        Lines "Transfers a second" in "short" {
            "sum(rate(stadium_wallet_booked_total{$}[$]))" => "booked",
            "sum(rate(stadium_wallet_refused_total{$}[$]))" => "refused"
        }
        Lines "In circulation, minor units" in "short" {
            "sum by (asset) (stadium_wallet_asset_credit{$})" => "{asset}",
            "sum by (asset) (stadium_wallet_asset_held{$})" => "{asset} held"
        }
        Lines "Records without a seal" in "short" { "sum by (instance) (stadium_wallet_unsealed{$})" => "{instance}" }
    }
}
