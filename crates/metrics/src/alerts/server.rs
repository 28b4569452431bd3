//! The server as a process, its disk and its HTTP port.

crate::alert::alerts! { "Server"
    StadiumDown Critical if r#"up{job="stadium"} == 0"# for "1m": "{instance} does not answer",
        means "Prometheus cannot read `/metrics`: the server has ended, its machine is away, or its key is wrong.",
        act "Run `stadium health` on the machine, then read the log's last lines. An answer 401 means that the bearer key \
             of prometheus.yml is revoked or lacks `node.read`.",
        fires r#"up{job="stadium", instance="a"}"# = "0x120",
        silent r#"up{job="stadium", instance="a"}"# = "1x120";
    StadiumNotReady Critical if "stadium_ready == 0" for "5m": "{instance} takes no new work",
        means "The server runs, but `/readyz` is red: it starts, drains, or has lost what it needs.",
        act "`GET /readyz` names the reason. A start that takes long is a recovery: see `stadium_shard_recovery_seconds`.",
        fires r#"stadium_ready{instance="a"}"# = "0x120",
        silent r#"stadium_ready{instance="a"}"# = "1x100 0 0 1x18";
    StadiumRestarts Warning if "changes(process_start_time_seconds{job=\"stadium\"}[30m]) > 2" for "0m":
        "{instance} was started three times within 30 minutes",
        means "The process ends again and again. Devices reconnect each time.",
        act "Read the end of the log before each start, and the kernel's log for the out-of-memory killer.",
        fires r#"process_start_time_seconds{job="stadium", instance="a"}"# = "1x70 2x5 3x5 4x40",
        silent r#"process_start_time_seconds{job="stadium", instance="a"}"# = "1x70 2x50";
    StadiumFileDescriptors Warning if "process_open_fds{job=\"stadium\"} / process_max_fds{job=\"stadium\"} > 0.85" for "5m":
        "{instance} has used 85% of its file descriptors",
        means "Without free descriptors the server accepts no connection and opens no segment.",
        act "Raise `LimitNOFILE=` of the service and restart it, or lower `limits.connections_max`.",
        fires r#"process_open_fds{job="stadium", instance="a"}"# = "900x120"
              r#"process_max_fds{job="stadium", instance="a"}"# = "1000x120",
        silent r#"process_open_fds{job="stadium", instance="a"}"# = "800x120"
               r#"process_max_fds{job="stadium", instance="a"}"# = "1000x120";
    StadiumDiskFills Warning if "stadium_data_disk_free_bytes / stadium_data_disk_size_bytes < 0.15" for "10m":
        "The data disk of {instance} has less than 15% left",
        means "Journals, checkpoints or another program fill the disk.",
        act "See which directory grows. Settle or purge jobs with large payloads, or enlarge the disk.",
        fires r#"stadium_data_disk_free_bytes{instance="a"}"# = "10x120"
              r#"stadium_data_disk_size_bytes{instance="a"}"# = "100x120",
        silent r#"stadium_data_disk_free_bytes{instance="a"}"# = "20x120"
               r#"stadium_data_disk_size_bytes{instance="a"}"# = "100x120";
    StadiumDiskFull Critical if "stadium_data_disk_free_bytes / stadium_data_disk_size_bytes < 0.03" for "1m":
        "The data disk of {instance} is full",
        means "Puts are refused with SHARD-002. Reads, settles and deletes go on in room that was set aside. Nothing \
               acknowledged is lost.",
        act "Make room. The shards accept puts again by themselves.",
        fires r#"stadium_data_disk_free_bytes{instance="a"}"# = "2x120"
              r#"stadium_data_disk_size_bytes{instance="a"}"# = "100x120",
        silent r#"stadium_data_disk_free_bytes{instance="a"}"# = "4x120"
               r#"stadium_data_disk_size_bytes{instance="a"}"# = "100x120";
    StadiumHttpErrors Critical if "sum by (job, instance) (rate(stadium_http_requests_total{status=~\"5..\"}[5m])) / \
        sum by (job, instance) (rate(stadium_http_requests_total[5m])) > 0.05" for "5m":
        "More than 5% of HTTP answers of {instance} are errors of the server",
        means "Callers get 500, 503 or 504. For 503 they should try again after `Retry-After`.",
        act "Split `stadium_http_requests_total` by route and status. 503 is load or a stop: look at shards and loops. For \
             500, read the log.",
        fires r#"stadium_http_requests_total{instance="a", route="POST /api/push", status="503"}"# = "0+60x120"
              r#"stadium_http_requests_total{instance="a", route="POST /api/push", status="202"}"# = "0+300x120",
        silent r#"stadium_http_requests_total{instance="a", route="POST /api/push", status="503"}"# = "0+1x120"
               r#"stadium_http_requests_total{instance="a", route="POST /api/push", status="202"}"# = "0+300x120";
    StadiumHttpTurnsAway Warning if "rate(stadium_http_connections_turned_away_total[5m]) > 0.1" for "5m":
        "{instance} closes HTTP connections over its bound",
        means "More clients connect than `http.connections_max` or `http.connections_per_address_max` allow.",
        act "Have clients reuse connections. Raise the bound if they do.",
        fires r#"stadium_http_connections_turned_away_total{instance="a"}"# = "0+60x120",
        silent r#"stadium_http_connections_turned_away_total{instance="a"}"# = "0x60 3x60";
    StadiumCertificateEnds Critical if "stadium_acme_certificate_expiry_timestamp_seconds - time() < 259200" for "30m":
        "The certificate of {instance} ends within three days, or there is none",
        means "Renewals have failed since two thirds of its life. Once it has ended, no device and no browser connects.",
        act "The log has the reason. `stadium doctor` looks too. Port 80 of each domain must reach `acme.listen`.",
        fires r#"stadium_acme_certificate_expiry_timestamp_seconds{instance="a"}"# = "86400x120",
        silent r#"stadium_acme_certificate_expiry_timestamp_seconds{instance="a"}"# = "8640000x120";
    StadiumCertificateFails Warning if "stadium_acme_failing > 0" for "1h":
        "Orders of a certificate for {instance} fail",
        means "The certificate of before stays in force until it ends. The server tries again by itself.",
        act "The log has the reason. Port 80 of each domain must reach `acme.listen`.",
        fires r#"stadium_acme_failing{instance="a"}"# = "1x120",
        silent r#"stadium_acme_failing{instance="a"}"# = "0x120";
}
