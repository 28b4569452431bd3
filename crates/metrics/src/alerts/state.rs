//! Shards, journals, queues and wallets.

crate::alert::alerts! { "Shards, queues and wallets"
    StadiumShardNotServing Critical if "stadium_shard_serving == 0" for "2m":
        "Shard {shard} of {instance} takes no commands",
        means "Queues, wallets, pushes and sessions of this shard's keys are answered 503.",
        act "The log names the error. On a full or failing disk, see SHARD-002 and SHARD-003.",
        fires r#"stadium_shard_serving{instance="a", shard="0"}"# = "0x120",
        silent r#"stadium_shard_serving{instance="a", shard="0"}"# = "1x120";
    StadiumShardBusy Warning if "rate(stadium_shard_mailbox_full_total[5m]) > 0" for "5m":
        "Shard {shard} of {instance} refuses commands: its mailbox is full",
        means "Callers get SHARD-001 and try again. Nothing is lost.",
        act "Look at `stadium_journal_sync_seconds`: a slow disk. Else put several jobs in one command.",
        fires r#"stadium_shard_mailbox_full_total{instance="a", shard="0"}"# = "0+60x120",
        silent r#"stadium_shard_mailbox_full_total{instance="a", shard="0"}"# = "9x120";
    StadiumJournalSlow Warning if "histogram_quantile(0.99, sum by (job, instance, le) \
        (rate(stadium_journal_sync_seconds_bucket[5m]))) > 0.1" for "10m":
        "1% of the syncs of {instance} take more than 100 ms",
        means "Each durable answer waits for the disk that long.",
        act "Find other programs that write to this disk. On a cloud disk, see whether it is throttled.",
        fires r#"stadium_journal_sync_seconds_bucket{instance="a", shard="0", le="0.1"}"# = "0+10x120"
              r#"stadium_journal_sync_seconds_bucket{instance="a", shard="0", le="1.0"}"# = "0+100x120"
              r#"stadium_journal_sync_seconds_bucket{instance="a", shard="0", le="+Inf"}"# = "0+100x120",
        silent r#"stadium_journal_sync_seconds_bucket{instance="a", shard="0", le="0.1"}"# = "0+100x120"
               r#"stadium_journal_sync_seconds_bucket{instance="a", shard="0", le="1.0"}"# = "0+100x120"
               r#"stadium_journal_sync_seconds_bucket{instance="a", shard="0", le="+Inf"}"# = "0+100x120";
    StadiumJournalReopened Critical if "increase(stadium_shard_reopened_total[1h]) > 0" for "0m":
        "The journal of shard {shard} of {instance} failed and was opened again",
        means "A write or a sync failed (SHARD-003). Nothing acknowledged is lost.",
        act "The log has the system's error. Check the disk before it fails again.",
        fires r#"stadium_shard_reopened_total{instance="a", shard="0"}"# = "0x60 1x60",
        silent r#"stadium_shard_reopened_total{instance="a", shard="0"}"# = "1x120";
    StadiumCheckpointsFail Warning if "increase(stadium_shard_checkpoints_failed_total[1h]) > 0" for "0m":
        "Checkpoints of shard {shard} of {instance} fail",
        means "Nothing is lost, but the journal grows, and the next recovery takes longer.",
        act "The log has the error. Make room, or check the disk.",
        fires r#"stadium_shard_checkpoints_failed_total{instance="a", shard="0"}"# = "0x60 1x60",
        silent r#"stadium_shard_checkpoints_failed_total{instance="a", shard="0"}"# = "1x120";
    StadiumPayloadsDamaged Critical if "increase(stadium_shard_payloads_damaged_total[1h]) > 0" for "0m":
        "The disk of {instance} has damaged payloads of shard {shard}",
        means "The disk changed data after it was written (SHARD-008).",
        act "Replace the disk. `stadium journal verify` on a copy shows what else is damaged.",
        fires r#"stadium_shard_payloads_damaged_total{instance="a", shard="0"}"# = "0x60 1x60",
        silent r#"stadium_shard_payloads_damaged_total{instance="a", shard="0"}"# = "1x120";
    StadiumRecoveryLong Warning if "stadium_shard_recovery_expected_seconds > 120" for "30m":
        "A restart of {instance} would take more than two minutes for shard {shard}",
        means "The journal after the newest checkpoint is long.",
        act "See whether checkpoints fail. Lower `shards.checkpoint_journal_bytes`.",
        fires r#"stadium_shard_recovery_expected_seconds{instance="a", shard="0"}"# = "200x120",
        silent r#"stadium_shard_recovery_expected_seconds{instance="a", shard="0"}"# = "5x120";
    StadiumQueueStalls Warning if "stadium_queue_oldest_due_age_seconds > 300 unless on (job, instance, queue) \
        (stadium_queue_paused > 0)" for "5m":
        "Jobs of the queue {queue} wait for more than five minutes",
        means "Workers are too few, too slow, or gone. Paused queues do not count.",
        act "`stadium queue stats` shows waiting consumers and jobs by state. Start workers.",
        fires r#"stadium_queue_oldest_due_age_seconds{instance="a", queue="mail"}"# = "400x120"
              r#"stadium_queue_paused{instance="a", queue="mail"}"# = "0x120",
        silent r#"stadium_queue_oldest_due_age_seconds{instance="a", queue="mail"}"# = "400x120"
               r#"stadium_queue_paused{instance="a", queue="mail"}"# = "1x120";
    StadiumJobsDie Warning if "increase(stadium_queue_died_total[15m]) > 0" for "0m":
        "Jobs of the queue {queue} failed for the last time",
        means "They failed as often as they may, and stay in the queue as dead.",
        act "`stadium queue dead` shows the last errors. Mend the cause, then `stadium queue redrive`.",
        fires r#"stadium_queue_died_total{instance="a", queue="mail"}"# = "0x80 3x40",
        silent r#"stadium_queue_died_total{instance="a", queue="mail"}"# = "3x120";
    StadiumWalletUnbalanced Critical if "stadium_wallet_asset_balanced == 0" for "1m":
        "The books of {asset} on {instance} do not add up",
        means "The sum of all balances is not zero: a bug, or a broken disk.",
        act "Stop paying out, copy the data directory, and run `stadium wallet verify` on the copy.",
        fires r#"stadium_wallet_asset_balanced{instance="a", asset="EUR"}"# = "0x120",
        silent r#"stadium_wallet_asset_balanced{instance="a", asset="EUR"}"# = "1x120";
    StadiumTransfersStuck Warning if "min_over_time(stadium_wallet_pending[15m]) > 0" for "15m":
        "Transfers between shards of {instance} are not decided",
        means "For 15 minutes, transfers have waited for another shard. Their amounts are set aside.",
        act "Look at `stadium_shard_serving`, in a cluster also at `stadium cluster status`.",
        fires r#"stadium_wallet_pending{instance="a", shard="0"}"# = "2x120",
        silent r#"stadium_wallet_pending{instance="a", shard="0"}"# = "2 0 2 0 2x5 0x10 2 0 2x5 0x9 1x5 0x10 2x5 0x60";
}
