//! The rows of the bench: ratios of a server with backups to one without, and what a backup costs.

use super::measurement::{NAME, Server};
use crate::figure::Better;
use crate::ratio::Row;

use Better::{Higher, Lower};

/// The side without backups.
const PLAIN: &[Server] = &[Server::Plain];

/// Every row.
pub(super) const ROWS: &[Row<Server>] = &[
    Row {
        figure: "put + reserve + settle, each durable, 100 producers and 100 consumers: jobs/s with backups over without",
        must: Some(0.95),
        aim: Some(0.99),
        ..ratio("per_second", Higher)
    },
    Row {
        figure: "the same: 99th percentile of a put, with backups over without",
        ..ratio("put_p99_ms", Lower)
    },
    Row {
        figure: "the same: 99th percentile of a settle, with backups over without",
        ..ratio("settle_p99_ms", Lower)
    },
    Row {
        figure: "the same: server's CPU time for a million jobs, with backups over without",
        ..ratio("server_cpu_s_per_million", Lower)
    },
    Row { figure: "a backup: CPU time of its threads", unit: "s", ..value("backup_cpu_s", Lower) },
    Row { figure: "a backup: written to the store", unit: "MB", ..value("backup_mb", Lower) },
    Row {
        figure: "restore of the newest backup, replay included",
        unit: "MB/s",
        ..value("restore_mb_per_second", Higher)
    },
];

const fn ratio(value: &'static str, better: Better) -> Row<Server> {
    Row { unit: "times", over: PLAIN, ..self::value(value, better) }
}

const fn value(value: &'static str, better: Better) -> Row<Server> {
    Row {
        figure: "",
        unit: "",
        better,
        measurement: NAME,
        value,
        ours: Server::BackedUp,
        over: &[],
        over_in: NAME,
        must: None,
        aim: None,
    }
}

#[cfg(test)]
mod tests {
    use super::ROWS;
    use crate::ratio;

    #[test]
    fn each_row_has_a_value_of_its_own() {
        assert_eq!(ratio::names(ROWS), ROWS.len());
    }
}
