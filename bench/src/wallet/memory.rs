//! Millions of accounts that do nothing: what each costs in memory.
//!
//! The server's resident memory after all of them were opened, less that before the first, over their number; then the same with a
//! first credit for each, which adds what is remembered of the transfer's id.

use anyhow::Result;

use super::books::Books;
use super::designs::Stadium;
use super::dialogue::Endpoint as _;
use crate::machine;
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "memory";
/// Accounts of the published row.
pub(super) const ACCOUNTS: u32 = 5_000_000;

/// Opens all, then credits all.
pub(super) fn take(start: &Start<'_>, accounts: u32) -> Result<Vec<(String, f64)>> {
    let stadium = Stadium::start(start)?;
    // What grows once, with the first accounts, is no account's.
    Books::open(&stadium, super::books::BATCH, 0)?;
    let before = machine::settled_resident_bytes(stadium.server().pid())?;
    let each = |credit: u64| -> Result<f64> {
        stadium.service().explain(Books::open(&stadium, accounts, credit))?;
        let now = machine::settled_resident_bytes(stadium.server().pid())?;
        Ok(now.saturating_sub(before) as f64 / f64::from(accounts))
    };
    let opened = each(0)?;
    let disk_mb = stadium.server().disk_bytes() as f64 / 1e6;
    let credited = each(1)?;
    Ok([("bytes_each", opened), ("bytes_each_credited", credited), ("disk_mb", disk_mb)]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec())
}
