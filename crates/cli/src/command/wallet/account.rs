//! Assets and accounts: declared, opened, changed, closed.
//!
//! They ask a running server; refusals are printed with their code.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::amount::Scales;
use super::path_of;
use crate::api::{Api, Method, encoded};
use crate::failure::Failure;
use crate::on::ask;
use crate::shown::{items, text};
use crate::terminal::{Style, Terminal, count};

/// Accounts that one request may open.
const ACCOUNTS_MAX: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct AssetArguments {
    /// What it is called, such as EUR or VOTE: upper-case letters, digits and _
    asset: String,
    /// Digits behind the point: 2 for euros, 0 for votes; it never changes
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=18))]
    scale: u8,
}

#[derive(Debug, Args)]
pub(super) struct OpenArguments {
    /// Of which asset
    asset: String,
    /// Whose; `-` reads names from standard input, one a line. Names that begin with @ need not be opened
    #[arg(required = true)]
    wallet: Vec<String>,
    /// Whether they may be overdrawn
    #[arg(long, value_enum, default_value_t = Overdraft::Never)]
    overdraft: Overdraft,
    /// The most that each may hold
    #[arg(long, value_name = "AMOUNT")]
    ceiling: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ChangeArguments {
    /// Whose
    wallet: String,
    /// Which account
    asset: String,
    /// Whether it may be overdrawn
    #[arg(long, value_enum)]
    overdraft: Option<Overdraft>,
    /// The most that it may hold; `none` takes the bound away
    #[arg(long, value_name = "AMOUNT")]
    ceiling: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct CloseArguments {
    /// Whose
    wallet: String,
    /// Which account
    asset: String,
}

/// Whether an account may be overdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Overdraft {
    /// The available amount never falls below zero
    Never,
    /// Without limit
    Allowed,
}

impl Overdraft {
    fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Allowed => "allowed",
        }
    }
}

/// Makes an asset known.
pub(super) fn declare(api: &Api, arguments: AssetArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = format!("/api/assets/{}", encoded(&arguments.asset));
    let answer = ask(api, Method::Put, &path, Some(&json!({"scale": arguments.scale})))?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let name = terminal.out(Style::Name, &arguments.asset);
    terminal.data(&format!("{name} is known, with {} digits behind the point", arguments.scale))
}

/// Opens accounts.
pub(super) fn open(api: &Api, arguments: OpenArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ceiling = match &arguments.ceiling {
        Some(most) => Some(Scales::read(api)?.minor(most, &arguments.asset)?),
        None => None,
    };
    let mut wallets = Vec::new();
    for wallet in &arguments.wallet {
        match wallet.as_str() {
            "-" => wallets.extend(names()?),
            _ => wallets.push(wallet.clone()),
        }
    }
    let account = |wallet: &String| {
        json!({
            "wallet": wallet,
            "asset": arguments.asset,
            "overdraft": arguments.overdraft.word(),
            "ceiling": ceiling,
        })
    };
    let mut results: Vec<Value> = Vec::new();
    let bar = terminal.progress(wallets.len() as u64, "accounts");
    for some in wallets.chunks(ACCOUNTS_MAX) {
        let accounts: Vec<Value> = some.iter().map(account).collect();
        let answer = ask(api, Method::Post, "/api/wallets", Some(&json!({ "accounts": accounts })))?;
        results.extend(items(&answer, "results").cloned());
        bar.set_position(results.len() as u64);
    }
    bar.finish_and_clear();
    print_results(&results, terminal)
}

fn names() -> Result<Vec<String>, Failure> {
    let lines = std::io::stdin().lines().collect::<Result<Vec<_>, _>>();
    let lines = lines.map_err(|error| Failure::new(format!("standard input cannot be read: {error}")))?;
    Ok(lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect())
}

/// Prints the result for each account, and fails where one was not opened.
fn print_results(results: &[Value], terminal: &Terminal) -> Result<(), Failure> {
    let failed: Vec<&Value> = results.iter().filter(|result| result.get("error").is_some()).collect();
    if terminal.is_json() {
        terminal.json(&json!({ "results": results }))?;
    } else {
        let is = |result: &&Value, opened| result.get("opened").and_then(Value::as_bool) == Some(opened);
        let opened = results.iter().filter(|result| is(result, true)).count();
        let there = results.iter().filter(|result| is(result, false)).count();
        let mut line = format!("{} {}", count(opened as u64), terminal.out(Style::Good, "opened"));
        if there > 0 {
            line.push_str(&format!(", {} were there with the same rules", count(there as u64)));
        }
        terminal.data(&line)?;
    }
    match failed.as_slice() {
        [] => Ok(()),
        [first, ..] => {
            let error = first.get("error").unwrap_or(&Value::Null);
            Err(Failure::new(format!(
                "{} of {} were not opened; {}: {} ({})",
                failed.len(),
                results.len(),
                text(first, "wallet"),
                reason(error),
                text(error, "code")
            )))
        }
    }
}

/// The text of a problem.
pub(super) fn reason(problem: &Value) -> &str {
    match text(problem, "detail") {
        "-" => text(problem, "title"),
        detail => detail,
    }
}

/// Changes an account's rules.
pub(super) fn change(api: &Api, arguments: ChangeArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut fields = Map::new();
    if let Some(overdraft) = arguments.overdraft {
        fields.insert("overdraft".to_owned(), overdraft.word().into());
    }
    if let Some(ceiling) = &arguments.ceiling {
        let ceiling = match ceiling.as_str() {
            "none" => Value::Null,
            most => Scales::read(api)?.minor(most, &arguments.asset)?.into(),
        };
        fields.insert("ceiling".to_owned(), ceiling);
    }
    if fields.is_empty() {
        return Err(Failure::Usage("name what becomes different: --overdraft or --ceiling".to_owned()));
    }
    patch(api, &arguments.wallet, &arguments.asset, &fields.into(), "is changed", terminal)
}

/// Closes an account.
pub(super) fn close(api: &Api, arguments: CloseArguments, terminal: &Terminal) -> Result<(), Failure> {
    patch(api, &arguments.wallet, &arguments.asset, &json!({"closed": true}), "is closed", terminal)
}

/// Opens a closed account again.
pub(super) fn reopen(api: &Api, arguments: CloseArguments, terminal: &Terminal) -> Result<(), Failure> {
    patch(api, &arguments.wallet, &arguments.asset, &json!({"closed": false}), "is open again", terminal)
}

fn patch(
    api: &Api,
    wallet: &str,
    asset: &str,
    fields: &Value,
    words: &str,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let answer = ask(api, Method::Patch, &path_of(wallet, Some(asset), ""), Some(fields))?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    terminal.data(&format!("the {asset} account of {} {words}", terminal.out(Style::Name, wallet)))
}
