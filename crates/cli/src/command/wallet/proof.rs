//! Proofs that a transfer stands in the books: published roots, receipts, and checking one.
//!
//! With a root from one day any later receipt can be checked against it, without this server and
//! without its journals.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use stadium_audit::{HexHash, Receipt, Root, show_amount};

use super::amount::grouped;
use super::books::walking;
use super::journals::BackupFlags;
use crate::api::{Api, Method};
use crate::failure::{Context, Failure};
use crate::on::{On, ask};
use crate::shown::{Table, items, number, text, timestamp};
use crate::terminal::{Style, Terminal, count};

/// Roots asked for in one request.
const PAGE: u64 = 1_000;

#[derive(Debug, Args)]
pub(super) struct RootsArguments {
    /// Read them from this data directory, or from the URL of backups, instead of asking a server
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    #[command(flatten)]
    backup: BackupFlags,
    /// At most so many of each shard, the newest
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    limit: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  stadium wallet receipt /var/lib/stadium 8f14e45f-ceea-467f-a0e6-2c0c2b1d9b1a --output receipt.json
  stadium wallet check receipt.json --root $ROOT           with a root that was published and kept")]
pub(super) struct ReceiptArguments {
    /// A server's data directory, or the URL of backups
    directory: PathBuf,
    #[command(flatten)]
    backup: BackupFlags,
    /// The transfer's id
    transfer: String,
    /// Into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// The receipt, JSON; `-` reads it from standard input
    receipt: PathBuf,
    /// A root that was published, 64 hexadecimal digits; several where there are
    #[arg(long, value_name = "ROOT", required_unless_present = "roots")]
    root: Vec<HexHash>,
    /// Published roots that were kept: what `stadium wallet roots --json` printed
    #[arg(long, value_name = "FILE")]
    roots: Option<PathBuf>,
}

impl CheckArguments {
    /// The roots that are believed.
    fn published(&self) -> Result<Vec<HexHash>, Failure> {
        let mut published = self.root.clone();
        if let Some(file) = &self.roots {
            let shown = file.display();
            let kept = fs::read_to_string(file).context(format_args!("the roots {shown} cannot be read"))?;
            let kept: Value = serde_json::from_str(&kept).context(format_args!("{shown} is no JSON"))?;
            for root in items(&kept, "roots") {
                let root = text(root, "root").parse().context(format_args!("a root in {shown}"))?;
                published.push(root);
            }
        }
        Ok(published)
    }
}

/// Lists roots.
pub(super) fn roots(on: On<RootsArguments>, terminal: &Terminal) -> Result<(), Failure> {
    match on.what().from.clone() {
        Some(directory) => {
            let bar = terminal.progress(0, "roots");
            let journals = on.what().backup.open(&directory)?;
            let roots = stadium_audit::roots(journals.source(), &mut walking(&bar));
            bar.finish_and_clear();
            let roots = newest(roots.context(directory.display())?, on.what().limit);
            if terminal.is_json() {
                return terminal.json(&json!({ "roots": roots }));
            }
            let mut table = table();
            for root in &roots {
                table.row(vec![
                    root.shard.to_string(),
                    count(root.seal),
                    timestamp(root.at),
                    count(root.records),
                    root.root.to_string(),
                ]);
            }
            print(&table, terminal)
        }
        None if on.what().backup.is_given() => {
            Err(Failure::Usage("--backup needs --from: a server knows its newest roots by itself".to_owned()))
        }
        None => on.run(asked, terminal),
    }
}

/// The last seal's number, by shard.
fn last_of_each(seals: impl Iterator<Item = (u64, u64)>) -> BTreeMap<u64, u64> {
    let mut last = BTreeMap::new();
    for (shard, seal) in seals {
        let known = last.entry(shard).or_insert(seal);
        *known = seal.max(*known);
    }
    last
}

/// Whether a seal is one of its shard's newest; their numbers follow each other.
fn is_new(last: &BTreeMap<u64, u64>, (shard, seal): (u64, u64), limit: u64) -> bool {
    last.get(&shard).is_some_and(|last| last - seal < limit)
}

/// The newest of each shard, oldest first.
fn newest(mut roots: Vec<Root>, limit: u64) -> Vec<Root> {
    let seal = |root: &Root| (u64::from(root.shard), root.seal);
    let last = last_of_each(roots.iter().map(seal));
    roots.retain(|root| is_new(&last, seal(root), limit));
    roots
}

fn asked(api: &Api, arguments: RootsArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut roots = page(api, None, 0)?;
    let shards: BTreeSet<u64> = roots.iter().map(|root| number(root, "shard")).collect();
    for shard in shards {
        loop {
            let of_shard = roots.iter().filter(|root| number(root, "shard") == shard);
            let (known, last) =
                of_shard.fold((0_u64, 0), |(known, _), root| (known + 1, number(root, "number")));
            if !known.is_multiple_of(PAGE) {
                break;
            }
            let more = page(api, Some(shard), last)?;
            if more.is_empty() {
                break;
            }
            roots.extend(more);
        }
    }
    let seals = |root: &Value| (number(root, "shard"), number(root, "number"));
    let last = last_of_each(roots.iter().map(seals));
    let newest: Vec<&Value> =
        roots.iter().filter(|root| is_new(&last, seals(root), arguments.limit)).collect();
    if terminal.is_json() {
        return terminal.json(&json!({ "roots": newest }));
    }
    let mut table = table();
    for root in newest {
        table.row(vec![
            number(root, "shard").to_string(),
            count(number(root, "number")),
            text(root, "sealed_at").to_owned(),
            count(number(root, "records")),
            text(root, "root").to_owned(),
        ]);
    }
    print(&table, terminal)
}

/// Roots of a shard, or the first ones of each, numbered above `after`, oldest first.
fn page(api: &Api, shard: Option<u64>, after: u64) -> Result<Vec<Value>, Failure> {
    let shard = shard.map(|shard| format!("&shard={shard}")).unwrap_or_default();
    let path = format!("/api/wallets/roots?limit={PAGE}&after={after}{shard}");
    Ok(items(&ask(api, Method::Get, &path, None)?, "roots").cloned().collect())
}

fn table() -> Table {
    Table::new(&["shard>", "seal>", "sealed", "records>", "root"])
}

fn print(table: &Table, terminal: &Terminal) -> Result<(), Failure> {
    if table.is_empty() {
        terminal.note("nothing is sealed yet: the first root comes a while after the first transfer");
        return Ok(());
    }
    table.print(terminal)
}

/// Writes a receipt.
pub(super) fn receipt(arguments: &ReceiptArguments, terminal: &Terminal) -> Result<(), Failure> {
    let bar = terminal.progress(0, "receipt");
    let journals = arguments.backup.open(&arguments.directory)?;
    let receipt = stadium_audit::receipt(journals.source(), &arguments.transfer, &mut walking(&bar));
    bar.finish_and_clear();
    let receipt = receipt.context(arguments.directory.display())?;
    let Some(file) = &arguments.output else { return terminal.json(&receipt) };
    let text = serde_json::to_string_pretty(&receipt).context("the receipt cannot be written as JSON")?;
    fs::write(file, text + "\n").context(format_args!("{} cannot be written", file.display()))?;
    terminal.note(format_args!(
        "{} proves transfer {} by the root of seal {} of shard {}: {}",
        file.display(),
        receipt.transfer,
        receipt.seal,
        receipt.shard,
        receipt.root
    ));
    Ok(())
}

/// Checks a receipt.
pub(super) fn check(arguments: &CheckArguments, terminal: &Terminal) -> Result<(), Failure> {
    let file = &arguments.receipt;
    let text = match file.as_os_str().to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => fs::read_to_string(file),
    };
    let text = text.context(format_args!("the receipt {} cannot be read", file.display()))?;
    let receipt: Receipt =
        serde_json::from_str(&text).context(format_args!("{} is no receipt", file.display()))?;
    let proved = stadium_audit::check(&receipt, &arguments.published()?).context(file.display())?;
    if terminal.is_json() {
        return terminal.json(&proved);
    }
    let amount = grouped(&show_amount(i128::from(proved.amount), proved.scale));
    terminal.data(&format!(
        "{} transfer {}: {} of {} {} from {} to {}, booked {}",
        terminal.out(Style::Good, "proved:"),
        proved.transfer,
        proved.kind,
        amount,
        proved.asset,
        terminal.out(Style::Name, &proved.debit),
        terminal.out(Style::Name, &proved.credit),
        timestamp(proved.at),
    ))?;
    terminal.data(&format!("  by the root of seal {} of shard {}", count(proved.seal), proved.shard))
}
