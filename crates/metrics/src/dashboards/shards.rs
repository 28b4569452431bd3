//! Shards and their journals: load, disk, batches, recovery.

crate::dashboard::dashboard! { "shards-and-journal" "Shards and journal"
    "Shards" {
        Light "All serve" in "short" { "min(stadium_shard_serving{$})" => "serving" }
        Number "Longest recovery now" in "s" { "max(stadium_shard_recovery_expected_seconds{$})" => "recovery" }
        Number "State" in "bytes" { "sum(stadium_shard_state_bytes{$})" => "state" }
        Number "Segments" in "bytes" { "sum(stadium_shard_segments_size_bytes{$})" => "segments" }
        Lines "Commands a second" in "short" {
            "sum by (shard) (rate(stadium_shard_commands_total{$}[$]))" => "{shard}"
        }
        Lines "Refused a second" in "short" {
            "sum by (shard) (rate(stadium_shard_refusals_total{$}[$]))" => "refused {shard}",
            "sum by (shard) (rate(stadium_shard_mailbox_full_total{$}[$]))" => "mailbox full {shard}"
        }
        Lines "Mailboxes" in "short" { "sum by (shard) (stadium_shard_mailbox_commands{$})" => "{shard}" }
        Lines "Duration of a turn, p99" in "s" {
            "histogram_quantile(0.99, sum by (shard, le) (rate(stadium_shard_turn_duration_seconds_bucket{$}[$])))" => "{shard}"
        }
        Lines "Commands of a turn, mean" in "short" {
            "sum(rate(stadium_shard_turn_commands_sum{$}[$])) / sum(rate(stadium_shard_turn_commands_count{$}[$]))" => "commands"
        }
        Lines "Threads of shards, busy" in "percentunit" {
            "rate(stadium_shard_thread_busy_seconds_total{$}[$])" => "{instance} {thread}"
        }
    }
    "Journal" {
        Lines "Sync" in "s" {
            "histogram_quantile(0.5, sum by (le) (rate(stadium_journal_sync_seconds_bucket{$}[$])))" => "p50",
            "histogram_quantile(0.99, sum by (le) (rate(stadium_journal_sync_seconds_bucket{$}[$])))" => "p99"
        }
        Lines "From a turn to its answers, p99" in "s" {
            "histogram_quantile(0.99, sum by (shard, le) (rate(stadium_shard_durable_lag_seconds_bucket{$}[$])))" => "{shard}"
        }
        Lines "Records made durable together, mean" in "short" {
            "sum(rate(stadium_journal_commit_records_sum{$}[$])) / sum(rate(stadium_journal_commit_records_count{$}[$]))"
                => "records"
        }
        Lines "Appended a second" in "Bps" {
            "sum(rate(stadium_journal_appended_bytes_total{$}[$]))" => "appended",
            "sum(rate(stadium_shard_rewritten_bytes_total{$}[$]))" => "rewritten"
        }
        Lines "Records and commits a second" in "short" {
            "sum(rate(stadium_journal_records_total{$}[$]))" => "records",
            "sum(rate(stadium_journal_commits_total{$}[$]))" => "commits"
        }
        Lines "Payloads read a second" in "short" {
            "sum(rate(stadium_journal_reads_from_memory_total{$}[$]))" => "from memory",
            "sum(rate(stadium_journal_reads_from_disk_total{$}[$]))" => "from disk"
        }
        Lines "Journal after the checkpoint" in "bytes" { "sum by (shard) (stadium_shard_tail_bytes{$})" => "{shard}" }
        Lines "Checkpoints" in "short" {
            "sum(increase(stadium_shard_checkpoints_total{$}[$]))" => "written",
            "sum(increase(stadium_shard_checkpoints_failed_total{$}[$]))" => "failed"
        }
        Lines "Failures" in "short" {
            "sum(increase(stadium_shard_reopened_total{$}[$]))" => "journal opened again",
            "sum(increase(stadium_shard_payloads_damaged_total{$}[$]))" => "payloads damaged"
        }
    }
}
