//! The figures of the backups that the server makes of itself.
//!
//! The lag is the age of the newest moment in the store: what would be lost with the machine.

use std::fmt;

use stadium_metrics::table::backups as table;

use crate::fleet::BackupStats;
use crate::metrics::encoder::Encoder;

pub(crate) fn encode(to: &mut Encoder<'_>, stats: &BackupStats) -> fmt::Result {
    to.value(table::BACKUP_LAG, stats.behind)?;
    to.value(table::BACKUP_LAG_RECORDS, stats.behind_records)?;
    to.value(table::BACKUP_LAST_SUCCESS, stats.last_success_s as f64)?;
    to.value(table::BACKUPS, stats.succeeded_total)?;
    to.value(table::BACKUP_FAILURES, stats.failed_total)?;
    to.value(table::BACKUP_DURATION, stats.took)?;
    to.value(table::BACKUP_FAILING, stats.failing.is_some())?;
    to.value(table::BACKUP_MOVED, stats.moved_bytes)
}
