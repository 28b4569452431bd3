//! Shards and their journals, one series for each shard, and the threads that drive them.
//!
//! A histogram of each shard has series of its own up to 64 shards; beyond, one series `(all)`
//! stands for them.

crate::definition::section! { "Shards and journals"
    SHARD_SERVING = Gauge "shard_serving" by "shard": "1 while it takes commands",
        rises "0 while the shard recovers, or its journal cannot be opened.",
        act "The log names the error. `stadium journal verify` examines the journal of a stopped server.";
    SHARD_JOBS = Gauge "shard_jobs" by "shard": "Jobs, in whatever state",
        rises "Jobs are put faster than they are settled.",
        act "Look at `stadium_queue_jobs`.",
        set by "queue.jobs_max";
    SHARD_MAILBOX_COMMANDS = Gauge "shard_mailbox_commands" by "shard": "Commands in the mailbox",
        rises "Commands come faster than the shard takes them. At the bound, callers get SHARD-001.",
        act "Put several jobs in one command; see `stadium_journal_sync_seconds` for a slow disk.",
        set by "shards.waiting_max" "shards.waiting_total_max";
    SHARD_MAILBOX = Gauge "shard_mailbox" in Bytes by "shard": "Payloads in the mailbox",
        rises "As for the commands, by their payloads.",
        act "As for the commands.",
        set by "shards.waiting_bytes_max" "shards.waiting_total_bytes_max";
    SHARD_PENDING_ANSWERS = Gauge "shard_pending_answers" by "shard": "Answers that wait for a commit",
        rises "The disk syncs more slowly than commands come.",
        act "Look at `stadium_journal_sync_seconds`.",
        set by "shards.waiting_max";
    SHARD_WAITING_CONSUMERS = Gauge "shard_waiting_consumers" by "shard": "Consumers that wait for a job",
        rises "More workers are idle. At the bound, callers get SHARD-005.",
        act "Let each worker ask for several jobs.",
        set by "shards.consumers_max";
    SHARD_STATE = Gauge "shard_state" in Bytes by "shard": "Memory that the state holds",
        rises "More jobs, accounts, devices or pushes are kept.",
        act "Compare the sum with `process_resident_memory_bytes`.",
        set by "queue.jobs_max" "wallet.accounts_max" "push.devices_max";
    SHARD_CHECKPOINT = Gauge "shard_checkpoint" in Bytes by "shard": "The newest checkpoint",
        rises "The state is larger.",
        act "Nothing. The disk keeps two of them.",
        set by "shards.checkpoint_journal_bytes";
    SHARD_CHECKPOINT_DURATION = Gauge "shard_checkpoint_duration" in Seconds by "shard": "How long it took",
        rises "The state is larger, or the disk is slower.",
        act "Nothing: a checkpoint is written beside the running shard.",
        set by "shards.checkpoint_journal_bytes";
    SHARD_TAIL = Gauge "shard_tail" in Bytes by "shard": "Journal after the newest checkpoint",
        rises "A recovery would read more. It falls with each checkpoint.",
        act "If it only rises, checkpoints fail: see `stadium_shard_checkpoints_failed_total`.",
        set by "shards.checkpoint_journal_bytes" "shards.recovery_bytes_max";
    SHARD_RECOVERY_EXPECTED = Gauge "shard_recovery_expected" in Seconds by "shard":
        "How long a recovery would take now",
        rises "A restart after a crash takes longer.",
        act "Lower `shards.checkpoint_journal_bytes`, or use more shards in a new data directory.",
        set by "shards.checkpoint_journal_bytes" "shards.recovery_bytes_max";
    SHARD_RECOVERY = Gauge "shard_recovery" in Seconds by "shard": "How long the last recovery took",
        rises "The last start read more.",
        act "As for `stadium_shard_recovery_expected_seconds`.",
        set by "shards.checkpoint_journal_bytes";
    SHARD_SEGMENTS = Gauge "shard_segments" by "shard": "Segments of the journal",
        rises "More live payloads, or segments that cannot be removed yet.",
        act "Compare `stadium_shard_payloads_alive_bytes` with `stadium_shard_segments_size_bytes`.",
        set by "journal.segment_bytes" "shards.open_segments_max";
    SHARD_SEGMENTS_SIZE = Gauge "shard_segments_size" in Bytes by "shard": "Disk that they take",
        rises "Jobs with payloads wait. Segments without live payloads are removed after a checkpoint.",
        act "Settle or purge jobs; see `stadium_data_disk_free_bytes`.",
        set by "journal.segment_bytes" "journal.tail_bytes";
    SHARD_PAYLOADS_ALIVE = Gauge "shard_payloads_alive" in Bytes by "shard": "Payloads that are alive in them",
        rises "More or larger payloads wait in queues.",
        act "Start workers, or keep large payloads elsewhere and put their address.",
        set by "queue.payload_bytes_max";
    JOURNAL_WAITING = Gauge "journal_waiting" in Bytes by "shard": "Appended and not yet on disk",
        rises "The disk is slower than the commands. This much would be lost by a crash; none of it was acknowledged.",
        act "Use a disk with a faster sync; see `stadium_journal_sync_seconds`.",
        set by "journal.unsynced_bytes_max";
    SHARD_COMMANDS = Counter "shard_commands" by "shard": "Commands taken on, reads included",
        rises "The shard is used.",
        act "Nothing. Shards that differ much have keys that differ much.";
    SHARD_REFUSALS = Counter "shard_refusals" by "shard": "Commands refused, busy or rejected",
        rises "Callers make mistakes, or bounds are reached.",
        act "The answers' codes say why; `stadium_shard_mailbox_full_total` is the part that is load.";
    SHARD_MAILBOX_FULL = Counter "shard_mailbox_full" by "shard": "Commands refused because the mailbox was full",
        rises "Commands come faster than the shard takes them; callers get SHARD-001 and try again.",
        act "Put several jobs in one command, use a faster disk, or more shards in a new data directory.",
        set by "shards.waiting_max" "shards.waiting_bytes_max";
    SHARD_TURNS = Counter "shard_turns" by "shard": "Turns",
        rises "The shard works. With load, each turn takes more commands.",
        act "Nothing.";
    SHARD_RELEASED_UNSENT = Counter "shard_released_unsent" by "shard": "Jobs handed out whose consumer had gone",
        rises "Workers leave while they wait for jobs. The jobs are handed out again at once.",
        act "If it is frequent, workers time out before the server answers.";
    SHARD_PAYLOADS_DAMAGED = Counter "shard_payloads_damaged" by "shard": "Payloads damaged on disk",
        rises "The disk changed data after it was written (SHARD-008).",
        act "Replace the disk. `stadium journal verify` on a copy shows what else is damaged.";
    SHARD_DELIVERIES = Counter "shard_deliveries" by "shard": "Jobs sent to other shards",
        rises "Jobs are forwarded to queues of other shards.",
        act "Nothing.";
    SHARD_CHECKPOINTS = Counter "shard_checkpoints" by "shard": "Checkpoints written",
        rises "The journal grows.",
        act "Nothing.",
        set by "shards.checkpoint_journal_bytes";
    SHARD_CHECKPOINTS_FAILED = Counter "shard_checkpoints_failed" by "shard": "Checkpoints that failed",
        rises "The disk is full or fails. Nothing is lost, but the journal grows and recovery takes longer.",
        act "The log has the error. Make room, or replace the disk.",
        set by "server.data";
    SHARD_SEGMENTS_REMOVED = Counter "shard_segments_removed" by "shard": "Segments removed",
        rises "Disk is freed.",
        act "Nothing.",
        set by "journal.segment_bytes";
    SHARD_REWRITTEN = Counter "shard_rewritten" in Bytes by "shard":
        "Payloads written again to free segments",
        rises "Few long-lived jobs hold segments; their payloads are moved.",
        act "If it nears `stadium_journal_appended_bytes_total`, keep long-lived jobs in a queue of their own data directory.",
        set by "journal.segment_bytes" "journal.tail_bytes";
    SHARD_REOPENED = Counter "shard_reopened" by "shard": "Times that the journal failed and was opened again",
        rises "A write or a sync failed (SHARD-003). Nothing acknowledged is lost.",
        act "The log has the system's error. Check the disk.";
    JOURNAL_RECORDS = Counter "journal_records" by "shard": "Records appended",
        rises "Commands change state.",
        act "Nothing.";
    JOURNAL_APPENDED = Counter "journal_appended" in Bytes by "shard": "Appended, frames included",
        rises "Commands change state.",
        act "Compare the rate with what the disk can write.";
    JOURNAL_COMMITS = Counter "journal_commits" by "shard": "Batches that became durable",
        rises "Commands are made durable, one sync for each batch.",
        act "Nothing.";
    JOURNAL_READS_FROM_MEMORY = Counter "journal_reads_from_memory" by "shard": "Payloads read from memory",
        rises "Jobs are handed out soon after they are put.",
        act "Nothing.",
        set by "journal.tail_bytes" "shards.journal_memory_bytes_max";
    JOURNAL_READS_FROM_DISK = Counter "journal_reads_from_disk" by "shard": "Payloads read from disk",
        rises "Jobs are handed out long after they were put.",
        act "If latency matters, raise the memory for journals.",
        set by "journal.tail_bytes" "shards.journal_memory_bytes_max";
    SHARD_TURN_COMMANDS = Histogram "shard_turn_commands" by "shard": "Commands of a turn",
        rises "Turns take more commands at once: the shard batches under load.",
        act "Nothing.";
    SHARD_TURN_DURATION = Histogram "shard_turn_duration" in Seconds by "shard": "How long a turn took",
        rises "Commands are more expensive, or the thread gets less time of its core.",
        act "Look for commands over large audiences, and for other programs on the machine.",
        set by "shards.threads";
    SHARD_DURABLE_LAG = Histogram "shard_durable_lag" in Seconds by "shard":
        "From a turn to the time its answers left",
        rises "Answers wait for the disk.",
        act "Look at `stadium_journal_sync_seconds`.",
        set by "shards.journal_threads";
    SHARD_CHECKPOINT_PAUSE = Histogram "shard_checkpoint_pause" in Seconds by "shard":
        "What a turn spent on a checkpoint",
        rises "A checkpoint takes more of each turn.",
        act "Nothing below 5 ms.",
        set by "shards.checkpoint_journal_bytes";
    JOURNAL_SYNC = Histogram "journal_sync" in Seconds by "shard":
        "How long the disk took to make a batch durable",
        rises "The disk is slower: another program writes, or a cloud disk is throttled.",
        act "Above 50 ms, move the data directory to a disk of its own with a power-safe cache.",
        set by "server.data" "shards.journal_threads";
    JOURNAL_COMMIT_RECORDS = Histogram "journal_commit_records" by "shard":
        "Records that became durable together",
        rises "More commands share a sync: the group commit works.",
        act "Nothing.";
    SHARD_THREAD_BUSY = Counter "shard_thread_busy" in Seconds by "thread":
        "What a thread that drives shards has spent on turns",
        rises "Its rate is the part of the thread's time that is used.",
        act "Above 0.8, use more threads where cores are free.",
        set by "shards.threads";
}
