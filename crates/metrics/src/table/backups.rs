//! Backups that a server makes of itself.

crate::definition::section! { "Backups"
    BACKUP_LAG = Gauge "backup_lag" in Seconds when Backup:
        "Age of the newest moment that a backup has: what would be lost with the machine",
        rises "Backups fail, take longer than their interval, or the object store does not answer.",
        act "Look at `stadium_backup_failing` and at the log, which has the code of the failure.",
        set by "backup.every_s";
    BACKUP_LAG_RECORDS = Gauge "backup_lag_records" when Backup: "Records of all shards that no backup has",
        rises "Records are written since the last backup. It falls when a backup is stored.",
        act "If it does not fall, look at `stadium_backup_failing`.",
        set by "backup.every_s" "backup.hold_bytes_max";
    BACKUP_LAST_SUCCESS = Gauge "backup_last_success_timestamp" in Seconds when Backup:
        "When the last backup of this process was stored, seconds since 1970; 0 before the first",
        rises "A backup was stored.",
        act "Nothing.",
        set by "backup.every_s";
    BACKUPS = Counter "backups" when Backup: "Backups stored",
        rises "Backups are stored.",
        act "Nothing.",
        set by "backup.every_s";
    BACKUP_FAILURES = Counter "backup_failures" when Backup: "Attempts to store a backup that failed",
        rises "The object store refuses, does not answer, or is full.",
        act "Look at the log, which has the code of the failure. The server tries again by itself.",
        set by "backup.to";
    BACKUP_DURATION = Gauge "backup_duration" in Seconds when Backup: "How long the last backup took",
        rises "More records are written between two backups, or the object store is slower.",
        act "Compare it with the interval of backups.",
        set by "backup.every_s";
    BACKUP_FAILING = Gauge "backup_failing" when Backup:
        "1 while the last attempt to store a backup failed; the log has the reason",
        rises "The last attempt failed.",
        act "Look at the log. Segments are kept until a backup has them, up to the bound.",
        set by "backup.to" "backup.hold_bytes_max";
    BACKUP_MOVED = Gauge "backup_wallet_moved" in Bytes when Backup:
        "Bytes of journal segments with records of wallets that are in the backups only",
        rises "Segments grow older than `backup.wallet_local_s`.",
        act "Keep the store: the backups are the books of that time.",
        set by "backup.wallet_local_s";
}
