//! The types of the queues.

use bytes::Bytes;
use stadium_queue::{
    Answer, Attempt, Backoff, Command, Cron, DeadLetter, Dedup, Edit, Given, HistoryEntry, JobId, JobSet,
    JobState, JobView, Key, Lease, Limit, Missed, NewJob, Placed, QueueName, QueueSettings, QueueStats,
    Reserved, Retry, ScheduleView, ShardMessage, Spread, When, WorkerName,
};

newtype!(JobId(u64));

text! {
    QueueName = QueueName::new, ["q", "mail.out", "A-b_9"];
    Key = Key::new, ["k", "order 7"];
    WorkerName = WorkerName::new, ["w", "worker-3"];
}

enumeration! {
    JobState = "JobState" { 1 Delayed, 2 Due, 3 Reserved, 4 Buried, 5 Dead }
    Given = "Given" { 1 Done, 2 Already, 3 Dead }
    Spread = "Spread" { 1 OneShard, 2 AllShards }
    Missed = "QueueMissed" { 1 Once, 2 Skip, 3 All }
}

message! {
    NewJob = "NewJob" {
        1 payload, 2 when, 3 priority, 4 time_to_live, 5 dedup, 6 key, 7 attempts_max,
    }
    Dedup = "Dedup" { 1 id, 2 window }
    Lease = "Lease" { 1 job, 2 reservation }
    Edit = "Edit" { 1 payload, 2 when, 3 priority, 4 time_to_live, 5 attempts_max }
    QueueSettings = "QueueSettings" {
        1 lease, 2 attempts_max, 3 backoff, 4 dead_letter, 5 dead_time_to_live, 6 dedup_window, 7 jobs_max,
        8 limit, 9 key_limit, 10 spread,
    }
    Backoff = "Backoff" { 1 first, 2 factor, 3 max, 4 jitter }
    Limit = "Limit" { 1 rate, 2 burst }
    Cron = "Cron" { 1 expression, 2 time_zone, 3 missed }
    Placed = "Placed" { 1 job, 2 duplicate }
    Reserved<Bytes> = "Reserved" {
        1 lease, 2 until, 3 attempt, 4 put_at, 5 due, 6 priority, 7 key, 8 payload,
    }
    JobView<Bytes> = "JobView" {
        1 job, 2 queue, 3 state, 4 put_at, 5 due, 6 lease_until, 7 expires, 8 attempts, 9 attempts_max,
        10 priority, 11 key, 12 reason, 13 principal, 14 payload,
    }
    HistoryEntry = "HistoryEntry" { 1 at, 2 what }
    QueueStats = "QueueStats" {
        1 queue, 2 settings, 3 paused, 4 delayed, 5 due, 6 reserved, 7 buried, 8 dead, 9 oldest_due, 10 put,
        11 handed_out, 12 settled, 13 retried, 14 died, 15 duplicates, 16 waiting,
    }
    ScheduleView<Bytes> = "QueueScheduleView" {
        1 name, 2 cron, 3 next, 4 last, 5 principal, 6 priority, 7 attempts_max, 8 key, 9 time_to_live,
        10 payload,
    }
    ShardMessage = "QueueMessage" { 1 queue, 2 job, 3 principal }
}

oneof! {
    Command = "QueueCommand" {
        1 Put { 1 queue, 2 jobs, 3 principal },
        2 Reserve { 1 queue, 2 jobs_max, 3 lease, 4 wait, 5 worker },
        3 Settle { 1 leases },
        4 Forward { 1 lease, 2 queue, 3 job, 4 principal },
        5 Release { 1 leases, 2 retry, 3 error },
        6 Extend { 1 leases, 2 lease },
        7 Bury { 1 leases, 2 reason },
        8 Kick { 1 queue, 2 jobs },
        9 Redrive { 1 queue, 2 jobs, 3 to },
        10 Delete { 1 jobs },
        11 Edit { 1 job, 2 edit },
        12 Purge { 1 queue, 2 state },
        13 Pause { 1 queue },
        14 Resume { 1 queue },
        15 Declare { 1 queue, 2 settings },
        16 Drop { 1 queue },
        17 Schedule { 1 queue, 2 name, 3 cron, 4 job, 5 principal },
        18 Unschedule { 1 queue, 2 name },
        19 Peek { 1 queue, 2 state, 3 key, 4 after, 5 jobs_max },
        20 Find { 1 job },
        21 History { 1 job },
        22 Stats { 1 queue },
        23 List { 1 after, 2 queues_max },
        24 Schedules { 1 queue },
    }
    When = "QueueWhen" { 1 Now, 2 After[span], 3 At[time] }
    Retry = "Retry" { 1 Backoff, 2 After[span], 3 NotTried[span] }
    JobSet = "JobSet" { 1 Ids(1 jobs), 2 Oldest[jobs_max] }
    DeadLetter = "DeadLetter" { 1 Keep, 2 Queue[queue], 3 Discard }
    Answer<Bytes> = "QueueAnswer" {
        1 Placed(1 jobs),
        2 Reserved(1 jobs),
        3 Given(1 outcomes),
        4 Count[count],
        5 Done,
        6 Jobs(1 jobs),
        7 History(1 entries),
        8 Queues(1 queues),
        9 Schedules(1 schedules),
    }
    Attempt = "Attempt" {
        1 Put { 1 queue, 2 due, 3 principal },
        2 Reserved { 1 attempt, 2 worker, 3 until },
        3 Extended { 1 until },
        4 Released { 1 due, 2 error },
        5 LeaseExpired { 1 due },
        6 Buried { 1 reason },
        7 Revived { 1 queue },
        8 Dead { 1 reason },
        9 Edited,
        10 Settled,
        11 Forwarded { 1 queue, 2 job },
        12 Deleted,
        13 Expired,
        14 Trimmed,
    }
}
