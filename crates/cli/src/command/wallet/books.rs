//! `stadium wallet verify`: a second implementation counts the books of a data directory again.
//!
//! It reads the journals from their first record, by itself, and believes nothing that the server
//! wrote beside them. A directory that a server has open may be read. A problem is named with the
//! record where it stands.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use stadium_audit::{Options, Progress, Report, show_amount};

use super::amount::{Scales, grouped};
use super::journals::BackupFlags;
use crate::api::Api;
use crate::failure::{Context, Failure};
use crate::on::Pages;
use crate::server::ServerFlags;
use crate::shown::{Table, text};
use crate::terminal::{ProgressBar, Style, Terminal, count};

/// Problems that are printed; all are counted.
const PROBLEMS_SHOWN: usize = 20;

/// The wallet that stands for other shards; it is the server's own.
const TRANSIT: &str = "@transit";

#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 0: every chain value, seal, balance, hold and rule is as the records give it, and all sums are zero. 1: something is
not, and its record is named. The directory may be a copy, or one that a server has open.

Examples:
  stadium wallet verify /var/lib/stadium
  stadium wallet verify /var/lib/stadium --backup s3://backups/stadium
  stadium wallet verify s3://backups/stadium               the newest backup alone
  stadium wallet verify /var/lib/stadium --compare         its server's answers are held against the journals, too")]
pub(super) struct Arguments {
    /// A server's data directory, the folder `shard-NUMBER` of a replica of a cluster's node, or
    /// the URL of backups, whose newest one is read
    directory: PathBuf,
    #[command(flatten)]
    backup: BackupFlags,
    /// Also ask the running server for every balance, and compare; transfers meanwhile look like
    /// differences
    #[arg(long)]
    compare: bool,
    /// Within how many transfers of a shard an id may stand once only: what
    /// wallet.transfers_remembered was
    #[arg(long, value_name = "N", default_value_t = Options::default().transfers_remembered)]
    remembered: usize,
    #[command(flatten)]
    server: ServerFlags,
}

/// Shows how far a walk through the journals is.
pub(super) fn walking<'a>(bar: &'a ProgressBar) -> impl FnMut(Progress) + use<'a> {
    |progress| {
        bar.set_length(progress.bytes_all);
        bar.set_position(progress.bytes_done);
        bar.set_message(format!("bytes, shard {}", progress.shard));
    }
}

/// Verifies.
pub(super) fn verify(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let bar = terminal.progress(0, "verify");
    let options = Options { transfers_remembered: arguments.remembered };
    let journals = arguments.backup.open(directory)?;
    let report = stadium_audit::verify(journals.source(), &options, &mut walking(&bar));
    bar.finish_and_clear();
    let report = report.context(directory.display())?;
    let differences = match arguments.compare {
        true => compared(&report, &with_data(arguments))?,
        false => Vec::new(),
    };
    if terminal.is_json() {
        let mut fields = json!(report);
        fields["sound"] = report.is_sound().into();
        if arguments.compare {
            fields["differences"] = differences.as_slice().into();
        }
        terminal.json(&fields)?;
    } else {
        print_report(&report, &differences, arguments.compare, terminal)?;
    }
    let problems = report.problems.len() as u64 + report.problems_more;
    match (problems, differences.len()) {
        (0, 0) => Ok(()),
        (0, differences) => Err(Failure::new(format!(
            "the server and its journals differ in {} balances; ask again when nothing is booked",
            count(differences as u64)
        ))),
        (problems, _) => Err(Failure::new(format!(
            "the books of {} are not sound: {} problems; the first: {}",
            directory.display(),
            count(problems),
            report.problems.first().map(ToString::to_string).unwrap_or_default()
        ))),
    }
}

/// The server of the directory, unless another one was named.
fn with_data(arguments: &Arguments) -> ServerFlags {
    let mut server = arguments.server.clone();
    server.data.get_or_insert_with(|| arguments.directory.clone());
    server
}

fn print_report(
    report: &Report,
    differences: &[String],
    compared: bool,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let mut table = Table::new(&["asset", "accounts>", "credit>", "debit>", "held>", ""]);
    for asset in &report.assets {
        let amount =
            |size: u128| grouped(&show_amount(i128::try_from(size).unwrap_or(i128::MAX), asset.scale));
        table.row(vec![
            asset.asset.clone(),
            count(asset.accounts),
            amount(asset.credit),
            amount(asset.debit),
            amount(asset.held),
            if asset.credit == asset.debit { "" } else { "DOES NOT BALANCE" }.to_owned(),
        ]);
    }
    if !table.is_empty() {
        table.print(terminal)?;
    }
    for shard in &report.shards {
        terminal.data(&format!(
            "shard {}: {} transfers in {} records, {} seals, {} records behind the last; root {}",
            shard.shard,
            count(shard.transfers),
            count(shard.records),
            count(shard.seals),
            count(shard.unsealed),
            terminal.out(Style::Faint, shard.root),
        ))?;
    }
    if report.groups > 0 {
        let open = match report.groups_open {
            0 => String::new(),
            open => format!(", {} of them not decided", count(open)),
        };
        terminal.data(&format!("{} transfers between shards{open}", count(report.groups)))?;
    }
    for remark in &report.remarks {
        terminal.note(remark);
    }
    for problem in report.problems.iter().take(PROBLEMS_SHOWN) {
        terminal.data(&format!("{} {problem}", terminal.out(Style::Bad, "wrong:")))?;
    }
    let more = (report.problems.len() as u64 + report.problems_more).saturating_sub(PROBLEMS_SHOWN as u64);
    if more > 0 {
        terminal.data(&format!("and {} more", count(more)))?;
    }
    for difference in differences.iter().take(PROBLEMS_SHOWN) {
        terminal.data(&format!("{} {difference}", terminal.out(Style::Bad, "different:")))?;
    }
    if report.is_sound() {
        let too = if compared && differences.is_empty() { ", and the server agrees" } else { "" };
        terminal.data(&format!("{}{too}", terminal.out(Style::Good, "the books balance")))?;
    }
    Ok(())
}

/// The differences between a running server and the journals.
fn compared(report: &Report, server: &ServerFlags) -> Result<Vec<String>, Failure> {
    let api = Api::open(server)?;
    let scales = Scales::read(&api)?;
    let pages = Pages { path: "/api/wallets", filter: "", field: "accounts", from: "after", limit: u64::MAX };
    let (accounts, _) = pages.read(&api)?;
    let served: BTreeMap<(&str, &str), &Value> =
        accounts.iter().map(|account| ((text(account, "wallet"), text(account, "asset")), account)).collect();
    let mut differences = Vec::new();
    let mut seen = 0;
    for (wallet, asset, posted, held) in report.balances().filter(|(wallet, ..)| *wallet != TRANSIT) {
        let Some(account) = served.get(&(wallet, asset)) else {
            differences.push(format!("{wallet} has no account of {asset} at the server"));
            continue;
        };
        seen += 1;
        let here = [json!(posted.to_string()), json!(held.to_string())];
        for (field, here) in ["posted", "held"].into_iter().zip(here) {
            let (here, there) = (scales.shown(Some(&here), asset), scales.shown(account.get(field), asset));
            if here != there {
                differences.push(format!(
                    "{wallet}, {asset}, {field}: {there} at the server, {here} in the journals"
                ));
            }
        }
    }
    let others = served.keys().filter(|(wallet, _)| *wallet != TRANSIT).count();
    if others > seen {
        differences.push(format!("{} accounts of the server are in no journal", others - seen));
    }
    Ok(differences)
}
