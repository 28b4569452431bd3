//! Looking at assets, accounts, holds and transfers: nothing here changes anything.
//!
//! Lists are read page by page up to the number that was asked for, and show where there is more.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::amount::Scales;
use super::path_of;
use crate::api::{Api, Method, encoded};
use crate::failure::Failure;
use crate::on::{Pages, ask, more};
use crate::shown::{Table, clean, items, number, text, when};
use crate::terminal::{Style, Terminal, count};

/// Characters of a reference in a list.
const REFERENCE_CHARS: usize = 40;

#[derive(Debug, Args)]
pub(super) struct AssetsArguments {}

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// The wallet
    wallet: String,
    /// Only its account of this asset
    asset: Option<String>,
    /// The balance at this time, such as 2030-01-01T20:00:00Z
    #[arg(long, value_name = "TIMESTAMP", requires = "asset")]
    at: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Only wallets whose names begin with this
    #[arg(default_value = "")]
    prefix: String,
    /// Only accounts of this asset
    #[arg(long, value_name = "ASSET")]
    asset: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
}

/// Which entries of an account.
#[derive(Debug, Args)]
pub(super) struct EntryFlags {
    /// Booked at or after this time, such as 2030-01-01T00:00:00Z
    #[arg(long, value_name = "TIMESTAMP")]
    from: Option<String>,
    /// Booked before this time
    #[arg(long, value_name = "TIMESTAMP")]
    to: Option<String>,
}

impl EntryFlags {
    /// The flags, as the end of a query.
    pub(super) fn query(&self) -> String {
        filter(&[("from", self.from.as_deref()), ("to", self.to.as_deref())])
    }
}

#[derive(Debug, Args)]
pub(super) struct HistoryArguments {
    /// The wallet
    wallet: String,
    /// Which account
    asset: String,
    #[command(flatten)]
    entries: EntryFlags,
    /// Only what came in, or what went out
    #[arg(long, value_enum)]
    direction: Option<Direction>,
    /// Only what moved between it and this other wallet
    #[arg(long, value_name = "WALLET")]
    other: Option<String>,
    /// Only transfers with this reference
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
}

#[derive(Debug, Args)]
pub(super) struct HoldsArguments {
    /// The wallet
    wallet: String,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    limit: u64,
}

#[derive(Debug, Args)]
pub(super) struct FindArguments {
    /// The transfer's id
    transfer: String,
}

/// Whether an amount came in or went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Direction {
    /// It came in
    Credit,
    /// It went out
    Debit,
}

/// The given parts of a query, each with an `&` before it.
fn filter(given: &[(&str, Option<&str>)]) -> String {
    given
        .iter()
        .filter_map(|(name, value)| value.map(|value| format!("&{name}={}", encoded(value))))
        .collect()
}

/// Lists the assets.
pub(super) fn assets(api: &Api, _: AssetsArguments, terminal: &Terminal) -> Result<(), Failure> {
    let answer = ask(api, Method::Get, "/api/assets", None)?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let scales = Scales::read(api)?;
    let mut table = Table::new(&["asset", "digits>", "accounts>", "credit>", "debit>", "held>", "books"]);
    for asset in items(&answer, "assets") {
        let code = text(asset, "asset");
        let balanced = asset.get("balanced").and_then(Value::as_bool) == Some(true);
        table.row(vec![
            code.to_owned(),
            number(asset, "scale").to_string(),
            count(number(asset, "accounts")),
            scales.shown(asset.get("credit"), code),
            scales.shown(asset.get("debit"), code),
            scales.shown(asset.get("held"), code),
            if balanced { "balance" } else { "DO NOT BALANCE" }.to_owned(),
        ]);
    }
    if table.is_empty() {
        terminal.note("no asset is known; `stadium wallet asset EUR --scale 2` makes one known");
        return Ok(());
    }
    table.print(terminal)
}

/// Shows a wallet.
pub(super) fn show(api: &Api, arguments: ShowArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ShowArguments { wallet, asset, at } = arguments;
    if let (Some(asset), Some(at)) = (&asset, &at) {
        let path = format!("{}?at={}", path_of(&wallet, Some(asset), "/balance"), encoded(at));
        let balance = ask(api, Method::Get, &path, None)?;
        if terminal.is_json() {
            return terminal.json(&balance);
        }
        let posted = Scales::read(api)?.shown(balance.get("posted"), asset);
        return terminal.data(&format!("{} {asset}", terminal.out(Style::Strong, posted)));
    }
    let answer = ask(api, Method::Get, &path_of(&wallet, asset.as_deref(), ""), None)?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let accounts: Vec<&Value> = match asset {
        Some(_) => vec![&answer],
        None => items(&answer, "accounts").collect(),
    };
    if accounts.is_empty() {
        terminal.note(format_args!("{wallet} has no account"));
        return Ok(());
    }
    accounts_table(&accounts, &Scales::read(api)?).print(terminal)
}

/// Lists accounts.
pub(super) fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let prefix = (!arguments.prefix.is_empty()).then_some(arguments.prefix.as_str());
    let filter = filter(&[("prefix", prefix), ("asset", arguments.asset.as_deref())]);
    let pages = Pages {
        path: "/api/wallets",
        filter: &filter,
        field: "accounts",
        from: "after",
        limit: arguments.limit,
    };
    let (accounts, next) = pages.read(api)?;
    if terminal.is_json() {
        return terminal.json(&json!({"accounts": accounts, "next": next}));
    }
    if accounts.is_empty() {
        terminal.note("no account matches");
        return Ok(());
    }
    let accounts: Vec<&Value> = accounts.iter().collect();
    accounts_table(&accounts, &Scales::read(api)?).print(terminal)?;
    more(next.as_ref(), arguments.limit, terminal);
    Ok(())
}

fn accounts_table(accounts: &[&Value], scales: &Scales) -> Table {
    let mut table =
        Table::new(&["wallet", "asset", "posted>", "held>", "available>", "entries>", "opened", "rules"]);
    for account in accounts {
        let asset = text(account, "asset");
        let amount = |field: &str| scales.shown(account.get(field), asset);
        let mut rules = Vec::new();
        if account.get("closed").and_then(Value::as_bool) == Some(true) {
            rules.push("closed".to_owned());
        }
        if text(account, "overdraft") == "allowed" {
            rules.push("may be overdrawn".to_owned());
        }
        if account.get("ceiling").is_some_and(|most| !most.is_null()) {
            rules.push(format!("at most {}", amount("ceiling")));
        }
        table.row(vec![
            text(account, "wallet").to_owned(),
            asset.to_owned(),
            amount("posted"),
            amount("held"),
            amount("available"),
            count(number(account, "entries")),
            when(text(account, "opened_at")),
            rules.join(", "),
        ]);
    }
    table
}

/// Lists an account's entries.
pub(super) fn history(api: &Api, arguments: HistoryArguments, terminal: &Terminal) -> Result<(), Failure> {
    let direction = arguments.direction.map(|direction| match direction {
        Direction::Credit => "credit",
        Direction::Debit => "debit",
    });
    let given = [
        ("direction", direction),
        ("other", arguments.other.as_deref()),
        ("reference", arguments.reference.as_deref()),
    ];
    let pages = Pages {
        path: &path_of(&arguments.wallet, Some(&arguments.asset), "/history"),
        filter: &(arguments.entries.query() + &filter(&given)),
        field: "entries",
        from: "before",
        limit: arguments.limit,
    };
    let (entries, next) = pages.read(api)?;
    if terminal.is_json() {
        return terminal.json(&json!({"entries": entries, "next": next}));
    }
    if entries.is_empty() {
        terminal.note("no entry matches");
        return Ok(());
    }
    let scales = Scales::read(api)?;
    let mut table =
        Table::new(&["entry>", "booked", "amount>", "balance>", "other", "state", "transfer", "reference"]);
    for entry in &entries {
        let transfer = entry.get("transfer").unwrap_or(&Value::Null);
        let sign = if text(entry, "direction") == "debit" { "-" } else { "+" };
        let reference = transfer.get("reference").and_then(Value::as_str).unwrap_or_default();
        table.row(vec![
            count(number(entry, "number")),
            text(transfer, "booked_at").to_owned(),
            format!("{sign}{}", scales.shown(entry.get("amount"), &arguments.asset)),
            scales.shown(entry.get("balance"), &arguments.asset),
            text(entry, "other").to_owned(),
            text(transfer, "state").to_owned(),
            text(transfer, "id").to_owned(),
            clean(reference, REFERENCE_CHARS),
        ]);
    }
    table.print(terminal)?;
    more(next.as_ref(), arguments.limit, terminal);
    Ok(())
}

/// Lists open holds.
pub(super) fn holds(api: &Api, arguments: HoldsArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = format!("{}?limit={}", path_of(&arguments.wallet, None, "/holds"), arguments.limit);
    let answer = ask(api, Method::Get, &path, None)?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let scales = Scales::read(api)?;
    let mut table = Table::new(&["hold", "amount>", "asset", "for", "expires"]);
    for hold in items(&answer, "holds") {
        let asset = text(hold, "asset");
        table.row(vec![
            text(hold, "id").to_owned(),
            scales.shown(hold.get("amount"), asset),
            asset.to_owned(),
            text(hold, "credit").to_owned(),
            when(text(hold, "expires_at")),
        ]);
    }
    if table.is_empty() {
        terminal.note(format_args!("{} has no open hold", arguments.wallet));
        return Ok(());
    }
    table.print(terminal)
}

/// Shows a transfer.
pub(super) fn find(api: &Api, arguments: FindArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = format!("/api/transfers/{}", encoded(&arguments.transfer));
    let transfer = ask(api, Method::Get, &path, None)?;
    if terminal.is_json() {
        return terminal.json(&transfer);
    }
    let asset = text(&transfer, "asset");
    let amount = Scales::read(api)?.shown(transfer.get("amount"), asset);
    terminal.data(&format!(
        "{} {}: {} {asset} from {} to {}",
        terminal.out(Style::Strong, text(&transfer, "id")),
        state(terminal, text(&transfer, "state")),
        terminal.out(Style::Strong, amount),
        terminal.out(Style::Name, text(&transfer, "debit")),
        terminal.out(Style::Name, text(&transfer, "credit")),
    ))?;
    let given = |field: &str| transfer.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    for (name, field) in [("booked", "booked_at"), ("effective", "effective_at")] {
        if let Some(time) = given(field) {
            terminal.data(&format!("  {name:<11}{time}, {}", when(time)))?;
        }
    }
    let notes = [
        ("of", "of"),
        ("reference", "reference"),
        ("metadata", "metadata"),
        ("metadata", "metadata_base64"),
        ("principal", "principal"),
    ];
    for (name, field) in notes {
        if let Some(text) = given(field) {
            terminal.data(&format!("  {name:<11}{}", clean(text, 1_024)))?;
        }
    }
    Ok(())
}

fn state<'a>(terminal: &Terminal, word: &'a str) -> crate::terminal::Styled<&'a str> {
    let style = match word {
        "posted" | "captured" => Style::Good,
        "held" | "pending" => Style::Warning,
        _ => Style::Faint,
    };
    terminal.out(style, word)
}
