//! Queues by name. At most a hundred have series of their own; the others are summed as `(other)`.

crate::definition::section! { "Queues"
    QUEUES = Gauge "queues": "Queues",
        rises "Queues were declared, or made by a first put.",
        act "Drop those that are no longer used.",
        set by "queue.queues_max";
    QUEUE_JOBS = Gauge "queue_jobs" by "queue" "state": "Jobs by where they stand",
        rises "`due` rises while workers are too few or too slow, `reserved` with slow work, `dead` with work that fails.",
        act "For `due`, start workers. For `dead`, read the last error (`stadium queue dead`), mend it, and redrive.",
        set by "queue.jobs_max";
    QUEUE_OLDEST_DUE_AGE = Gauge "queue_oldest_due_age" in Seconds by "queue":
        "How long the oldest job that is due has been due; 0 where none is",
        rises "Jobs wait for workers.",
        act "Start workers, or see whether the queue is paused.",
        set by "queue.jobs_max";
    QUEUE_WAITING_CONSUMERS = Gauge "queue_waiting_consumers" by "queue": "Consumers that wait for a job",
        rises "More workers are idle.",
        act "Nothing. At 0 with due jobs, workers are missing or all busy.",
        set by "shards.consumers_max";
    QUEUE_PAUSED = Gauge "queue_paused" by "queue":
        "1 while nothing is handed out; of `(other)` how many",
        rises "Someone paused the queue.",
        act "Resume it: `stadium queue resume`. The audit log says who paused it.";
    QUEUE_PUT = Counter "queue_put" by "queue": "Jobs put",
        rises "Producers put more.",
        act "Compare its rate with `stadium_queue_settled_total`.",
        set by "queue.payload_bytes_max";
    QUEUE_HANDED_OUT = Counter "queue_handed_out" by "queue": "Jobs handed out, each attempt counted",
        rises "Workers take jobs.",
        act "If it rises faster than `stadium_queue_settled_total`, attempts fail or leases expire.";
    QUEUE_SETTLED = Counter "queue_settled" by "queue": "Jobs done, forwarded ones included",
        rises "Work is done.",
        act "Nothing.";
    QUEUE_RETRIED = Counter "queue_retried" by "queue": "Attempts that ended in another try",
        rises "Workers fail, or hold jobs longer than the lease.",
        act "Read the errors of the jobs: `stadium queue history`. Extend leases that are too short for the work.";
    QUEUE_DIED = Counter "queue_died" by "queue": "Jobs whose last attempt failed",
        rises "Jobs failed as often as they may. They stay in the queue as `dead`.",
        act "Read the last error (`stadium queue dead`), mend it, and redrive them.";
    QUEUE_DUPLICATES = Counter "queue_duplicates" by "queue": "Puts of a dedup id that was known",
        rises "Producers send jobs again, after a time-out for instance. Each job is there once.",
        act "Nothing, unless the rate is high: producers then time out too early.",
        set by "queue.dedups_max";
}
