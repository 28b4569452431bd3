//! The server as a whole: its version, its readiness, the process and its disk.

crate::definition::section! { "Server and process"
    BUILD = Info "build" by "version": "The version of the server",
        rises "Always 1. The label has the version.",
        act "Use it to see which nodes of a cluster are upgraded.";
    UPTIME = Gauge "uptime" in Seconds: "Time since the HTTP port started",
        rises "Always. A fall is a restart.",
        act "After an unexpected restart, read the end of the log before it.";
    READY = Gauge "ready": "1 when new work should be sent here, else 0",
        rises "0 while the server starts, drains or has lost what it needs.",
        act "`GET /readyz` and the log name the reason.",
        set by "server.grace_period_s";
    PROCESS_CPU = Counter "process_cpu" in Seconds: "Processor time of the process, user and system",
        rises "The server works. Its rate is the number of cores in use.",
        act "Near the number of cores, add cores or nodes.",
        set by "server.loops" "shards.threads";
    PROCESS_RESIDENT_MEMORY = Gauge "process_resident_memory" in Bytes: "Resident memory of the process",
        rises "The server holds more. `stadium_memory_held_bytes` and `stadium_shard_state_bytes` say where.",
        act "Keep a third of the machine's memory free: a checkpoint and a wave of reconnects need some.",
        set by "limits.connections_max" "shards.waiting_total_bytes_max";
    PROCESS_OPEN_FDS = Gauge "process_open_fds": "Open file descriptors of the process",
        rises "More connections, or more segments of journals are open.",
        act "Raise the limit of the service (`LimitNOFILE=` of systemd) before the bound is reached.",
        set by "limits.connections_max" "shards.open_segments_max";
    PROCESS_MAX_FDS = Gauge "process_max_fds": "File descriptors that the process may open",
        rises "Only by a restart with another limit.",
        act "It should exceed `limits.connections_max` by a thousand.",
        set by "limits.connections_max";
    PROCESS_START_TIME = Gauge "process_start_time" in Seconds: "Start of the process, in Unix time",
        rises "The process was started again.",
        act "After an unexpected restart, read the end of the log before it.";
    DATA_DISK_FREE = Gauge "data_disk_free" in Bytes: "Room on the disk of the data directory for this user",
        rises "A fall means that journals, checkpoints or other programs fill the disk.",
        act "Make room, or move the data directory to a larger disk. A full disk refuses puts (SHARD-002) and loses nothing.",
        set by "server.data" "journal.reserve_bytes";
    DATA_DISK_SIZE = Gauge "data_disk_size" in Bytes: "Size of the disk of the data directory",
        rises "Only when the disk is enlarged.",
        act "Nothing.",
        set by "server.data";
}
