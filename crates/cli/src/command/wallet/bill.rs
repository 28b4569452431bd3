//! `stadium wallet reconcile`: the transfers of a data directory beside a bill from outside.
//!
//! Rows and transfers meet by id, or by reference. A row or transfer that is on one side only, or
//! differs, is reported with the line of the file.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use stadium_audit::{Columns, Reconciliation, Selection, show_amount};

use super::amount::grouped;
use super::books::walking;
use super::journals::BackupFlags;
use crate::failure::{Context, Failure};
use crate::shown::{Table, clean, parse_timestamp, timestamp};
use crate::terminal::{Style, Terminal, count};

/// Rows of each kind that are printed; all are in the JSON.
const ROWS_SHOWN: usize = 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 0: both sides are the same. 1: something is missing or different.

Example:
  stadium wallet reconcile /var/lib/stadium bill.csv --wallet @store --from 2030-01-01T00:00:00Z --to 2030-02-01T00:00:00Z

bill.csv:
  order_id,amount,currency,date
  order-7,12.50,EUR,2030-01-03")]
pub(super) struct Arguments {
    /// A server's data directory, or the URL of backups
    directory: PathBuf,
    #[command(flatten)]
    backup: BackupFlags,
    /// The bill: CSV whose first line names the columns; `-` reads it from standard input
    bill: PathBuf,
    #[command(flatten)]
    which: WhichFlags,
    #[command(flatten)]
    columns: ColumnFlags,
}

/// Which transfers are on the bill.
#[derive(Debug, Args)]
#[command(next_help_heading = "Transfers")]
struct WhichFlags {
    /// Only those that this wallet gave or got
    #[arg(long, value_name = "WALLET")]
    wallet: Option<String>,
    /// Only those of this asset; the bill's rows are of it where it has no column of assets
    #[arg(long, value_name = "ASSET")]
    asset: Option<String>,
    /// Only those booked at or after this time, such as 2030-01-01T00:00:00Z
    #[arg(long, value_name = "TIMESTAMP", value_parser = parse_timestamp)]
    from: Option<u64>,
    /// Only those booked before this time
    #[arg(long, value_name = "TIMESTAMP", value_parser = parse_timestamp)]
    to: Option<u64>,
}

/// What the bill's columns are called.
#[derive(Debug, Args)]
#[command(next_help_heading = "Columns")]
struct ColumnFlags {
    /// Transfers' ids [default: id, transfer, transfer_id or idempotency_key]
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,
    /// References, where there are no ids [default: reference, order, order_id, transaction_id or external_id]
    #[arg(long, value_name = "NAME")]
    reference_column: Option<String>,
    /// Amounts, decimal [default: amount, total or gross]
    #[arg(long, value_name = "NAME")]
    amount_column: Option<String>,
    /// Assets [default: asset or currency]
    #[arg(long, value_name = "NAME")]
    asset_column: Option<String>,
    /// Dates, only shown [default: date, time, booked_at or created]
    #[arg(long, value_name = "NAME")]
    date_column: Option<String>,
    /// What stands between fields [default: comma, semicolon or tab, whichever the first line has most of]
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<char>,
}

/// Compares.
pub(super) fn reconcile(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let Arguments { directory, backup, bill, which, columns } = arguments;
    let columns = Columns {
        id: columns.id_column.clone(),
        reference: columns.reference_column.clone(),
        amount: columns.amount_column.clone(),
        asset: columns.asset_column.clone(),
        date: columns.date_column.clone(),
        asset_of_all: which.asset.clone(),
        delimiter: columns.delimiter,
    };
    let selection = Selection {
        wallet: which.wallet.clone(),
        asset: which.asset.clone(),
        from: which.from,
        to: which.to,
    };
    let bar = terminal.progress(0, "reconcile");
    let journals = backup.open(directory)?;
    let scales = stadium_audit::scales(journals.source(), &mut walking(&bar)).context(directory.display())?;
    let bookings = stadium_audit::bookings(journals.source(), &selection, &mut walking(&bar));
    bar.finish_and_clear();
    let bookings = bookings.context(directory.display())?;
    let result = if bill.as_os_str() == "-" {
        stadium_audit::reconcile(bookings, &scales, std::io::stdin().lock(), &columns)
    } else {
        let file = File::open(bill).context(format_args!("{} cannot be opened", bill.display()))?;
        stadium_audit::reconcile(bookings, &scales, file, &columns)
    };
    let result = result.context(bill.display())?;
    let shown = |amount: u128, asset: &str| {
        let amount = i128::try_from(amount).unwrap_or(i128::MAX);
        grouped(&show_amount(amount, scales.get(asset).copied().unwrap_or(0)))
    };
    if terminal.is_json() {
        terminal.json(&result)?;
    } else {
        print_result(&result, &shown, terminal)?;
    }
    if result.agrees() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the bill and the books differ: {} rows differ, {} are on the bill only, {} in the books only",
        count(result.different.len() as u64),
        count(result.missing_here.len() as u64),
        count(result.missing_there.len() as u64)
    )))
}

fn print_result(
    result: &Reconciliation,
    shown: &dyn Fn(u128, &str) -> String,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let sums: Vec<String> =
        result.matched_amounts.iter().map(|(asset, sum)| format!("{} {asset}", shown(*sum, asset))).collect();
    let sums = if sums.is_empty() { String::new() } else { format!(", {} in all", sums.join(", ")) };
    terminal.data(&format!("{} {}{sums}", count(result.matched), terminal.out(Style::Good, "match")))?;
    let mut table = Table::new(&["", "line>", "key", "bill>", "books>", "asset", "date", "transfer"]);
    for different in result.different.iter().take(ROWS_SHOWN) {
        let (row, booking) = (&different.row, &different.booking);
        table.row(vec![
            format!("{} differs", different.what.join(", ")),
            row.line.to_string(),
            clean(&row.key, 40),
            shown(row.amount.into(), &row.asset),
            shown(booking.amount.into(), &booking.asset),
            booking.asset.clone(),
            clean(&row.date, 32),
            booking.transfer.clone(),
        ]);
    }
    for row in result.missing_here.iter().take(ROWS_SHOWN) {
        table.row(vec![
            "not in the books".to_owned(),
            row.line.to_string(),
            clean(&row.key, 40),
            shown(row.amount.into(), &row.asset),
            "-".to_owned(),
            row.asset.clone(),
            clean(&row.date, 32),
            "-".to_owned(),
        ]);
    }
    for booking in result.missing_there.iter().take(ROWS_SHOWN) {
        table.row(vec![
            "not on the bill".to_owned(),
            "-".to_owned(),
            clean(&booking.reference, 40),
            "-".to_owned(),
            shown(booking.amount.into(), &booking.asset),
            booking.asset.clone(),
            timestamp(booking.at),
            booking.transfer.clone(),
        ]);
    }
    if table.is_empty() {
        return Ok(());
    }
    table.print(terminal)?;
    let most = result.different.len().max(result.missing_here.len()).max(result.missing_there.len());
    if most > ROWS_SHOWN {
        terminal.note(format_args!("{ROWS_SHOWN} of each kind are shown; --json has all"));
    }
    Ok(())
}
