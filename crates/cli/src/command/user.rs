//! `stadium user`: all that a server has of a named user, exported or erased, and receipts.
//!
//! A receipt is checked without the server.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::api::{Api, Ask, Method, encoded};
use crate::failure::{Context, Failure};
use crate::on::{On, ask};
use crate::shown::{Table, items, number, text};
use crate::terminal::{Terminal, count};

/// The time between two questions about the progress of an erasure.
const POLL: Duration = Duration::from_millis(100);

/// The end of a document that is whole.
const COMPLETE: &[u8] = b"\"complete\":true}\n";

/// The arguments of `stadium user`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium user export ada --output ada.json
  stadium user erase ada --dry-run
  stadium user erase ada --receipt receipt.json
  stadium user receipt verify receipt.json --user ada")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write all that the server has of a user into a file, as one JSON document
    Export(On<ExportArguments>),
    /// Remove all of a user that may be removed, and wait for the receipt
    Erase(On<EraseArguments>),
    /// Show how far an erasure is, or its receipt
    Erasure(On<ErasureArguments>),
    /// List erasures, and the key that signs their receipts
    Erasures(On<ErasuresArguments>),
    /// Have erasures of a cluster no longer wait for a node that never comes back
    ForgetNode(On<ForgetNodeArguments>),
    /// Look at receipts of erasures
    Receipt {
        #[command(subcommand)]
        action: ReceiptAction,
    },
}

#[derive(Debug, Subcommand)]
enum ReceiptAction {
    /// Check a receipt without the server
    Verify(VerifyArguments),
}

#[derive(Debug, Args)]
struct ExportArguments {
    /// The named user
    user: String,
    /// Into this file, which only you may read
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Leave out nodes of the cluster that do not answer; the document names them
    #[arg(long)]
    skip_away: bool,
}

#[derive(Debug, Args)]
struct EraseArguments {
    /// The named user
    user: String,
    /// Count what would be removed, remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Go on although accounts are not empty: they stay open
    #[arg(long)]
    keep_balances: bool,
    /// Write the receipt into this file
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// Do not wait until it has finished
    #[arg(long, conflicts_with = "receipt")]
    no_wait: bool,
    /// Makes the command safe to repeat: the same key is the same erasure
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
struct ErasureArguments {
    /// Its id
    id: String,
    /// Write the receipt into this file
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ErasuresArguments {
    /// So many at most, the newest
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    limit: u64,
}

#[derive(Debug, Args)]
struct ForgetNodeArguments {
    /// Its name
    node: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Args)]
struct VerifyArguments {
    /// The receipt
    file: PathBuf,
    /// It must be signed by this key: `public_key` of `stadium user erasures --json`, kept
    /// elsewhere
    #[arg(long, value_name = "HEX")]
    key: Option<String>,
    /// It must be about this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Export(on) => on.run(export, terminal),
        Action::Erase(on) => on.run(erase, terminal),
        Action::Erasure(on) => on.run(erasure, terminal),
        Action::Erasures(on) => on.run(erasures, terminal),
        Action::ForgetNode(on) => on.run(forget_node, terminal),
        Action::Receipt { action: ReceiptAction::Verify(verify) } => check(&verify, terminal),
    }
}

fn export(api: &Api, arguments: ExportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ExportArguments { user, output, skip_away } = arguments;
    let mut document = Vec::new();
    let away = if skip_away { "skip" } else { "refuse" };
    let path = format!("/api/users/{}/export?away={away}", encoded(&user));
    // In memory, so that a file which is there is replaced by a whole document only.
    let bytes = api.download(&path, &mut document)?;
    if !document.ends_with(COMPLETE) {
        return Err(Failure::new("the document is not complete; run it again"));
    }
    write_private(&output, &document)?;
    let document: Value = serde_json::from_slice(&document).context("the document is no JSON")?;
    if terminal.is_json() {
        let file = output.display().to_string();
        return terminal.json(&serde_json::json!({"user": user, "file": file, "bytes": bytes}));
    }
    let mut table = Table::new(&["found", "items>"]);
    let mut found = 0;
    for (name, list) in document.as_object().into_iter().flatten() {
        if let Some(list) = list.as_array().filter(|list| !list.is_empty()) {
            found += list.len();
            table.row(vec![name.replace('_', " "), count(list.len() as u64)]);
        }
    }
    for node in items(&document, "nodes_not_searched").filter_map(Value::as_str) {
        terminal.note(format_args!("the node {node} did not answer: what it alone has is not in the file"));
    }
    match found {
        0 => terminal.note(format_args!("the server has nothing of {user:?}")),
        _ => table.print(terminal)?,
    }
    terminal.data(&format!("{} bytes are in {}", count(bytes), output.display()))
}

/// Writes a file that nobody else may read.
fn write_private(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    let write = || {
        drop(fs::remove_file(&fresh));
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    };
    write().context(format_args!("{} cannot be written", path.display()))
}

fn erase(api: &Api, arguments: EraseArguments, terminal: &Terminal) -> Result<(), Failure> {
    let EraseArguments { user, dry_run, yes, keep_balances, receipt, no_wait, idempotency_key } = arguments;
    let balances = if keep_balances { "keep" } else { "refuse" };
    let path = format!("/api/users/{}/erase?balances={balances}", encoded(&user));
    if dry_run || !yes {
        let plan = ask(api, Method::Post, &format!("{path}&dry_run=true"), None)?;
        if dry_run && terminal.is_json() {
            return terminal.json(&plan);
        }
        show_plan(&plan, terminal)?;
    }
    if dry_run {
        return Ok(());
    }
    if !yes {
        terminal.confirm_by_name(&format!("Erase the user {user:?} for ever?"), &user)?;
    }
    let begin =
        Ask { method: Method::Post, path: &path, body: None, idempotency_key: idempotency_key.as_deref() };
    let mut answer = api.ask(begin)?;
    let id = text(&answer, "id").to_owned();
    if no_wait {
        return match terminal.is_json() {
            true => terminal.json(&answer),
            false => terminal.data(&id),
        };
    }
    let mut waits_for = String::new();
    while text(&answer, "state") != "finished" {
        sleep(POLL);
        answer = ask(api, Method::Get, &format!("/api/erasures/{id}"), None)?;
        let reason = answer.get("waits_for").and_then(Value::as_str).unwrap_or_default();
        if reason != waits_for {
            reason.clone_into(&mut waits_for);
            terminal.note(format_args!("erasure {id} is tried again: {reason}"));
        }
    }
    finished(&answer, receipt.as_deref(), terminal)
}

fn erasure(api: &Api, arguments: ErasureArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ErasureArguments { id, receipt } = arguments;
    let answer = ask(api, Method::Get, &format!("/api/erasures/{}", encoded(&id)), None)?;
    if text(&answer, "state") == "finished" {
        return finished(&answer, receipt.as_deref(), terminal);
    }
    if receipt.is_some() {
        return Err(Failure::new(format!("erasure {id} has no receipt yet: it is under way")));
    }
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let mut table = Table::new(&["step", "done"]);
    for step in items(&answer, "steps") {
        let done = step.get("done").and_then(Value::as_bool) == Some(true);
        table.row(vec![text(step, "step").replace('_', " "), if done { "yes" } else { "no" }.to_owned()]);
    }
    table.print(terminal)?;
    if let Some(reason) = answer.get("waits_for").and_then(Value::as_str) {
        terminal.note(format_args!("it is tried again: {reason}"));
    }
    Ok(())
}

fn erasures(api: &Api, arguments: ErasuresArguments, terminal: &Terminal) -> Result<(), Failure> {
    let answer = ask(api, Method::Get, &format!("/api/erasures?limit={}", arguments.limit), None)?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let mut table = Table::new(&["erasure", "state", "finished"]);
    for erasure in items(&answer, "erasures") {
        let finished = erasure.get("finished_at").and_then(Value::as_str).unwrap_or("-");
        table.row(vec![text(erasure, "id").into(), text(erasure, "state").into(), finished.into()]);
    }
    if table.is_empty() {
        terminal.note("no user was erased");
    } else {
        table.print(terminal)?;
    }
    terminal.data(&format!("receipts are signed by {}", text(&answer, "public_key")))
}

fn forget_node(api: &Api, arguments: ForgetNodeArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ForgetNodeArguments { node, yes } = arguments;
    if !yes {
        let question = format!("Give up the sessions and retained messages of the node {node:?} for ever?");
        terminal.confirm_by_name(&question, &node)?;
    }
    ask(api, Method::Delete, &format!("/api/erasures/nodes/{}", encoded(&node)), None)?;
    terminal.data(&format!("erasures no longer wait for {node}"))
}

fn check(arguments: &VerifyArguments, terminal: &Terminal) -> Result<(), Failure> {
    let shown = arguments.file.display();
    let file = fs::read_to_string(&arguments.file).context(format_args!("{shown} cannot be read"))?;
    let (receipt, key) =
        stadium_node::verify_receipt(&file, arguments.key.as_deref(), arguments.user.as_deref())
            .map_err(|wrong| Failure::new(format!("{shown}: {wrong}")))?;
    if terminal.is_json() {
        return terminal.json(&serde_json::json!({"genuine": true, "public_key": key, "receipt": receipt}));
    }
    show_receipt(&receipt, terminal)?;
    terminal.data(&format!("the receipt is genuine, signed by {key}"))?;
    if arguments.key.is_none() {
        terminal.note("compare the key with the one that you kept, or give it as --key");
    }
    Ok(())
}

/// Shows the receipt of a finished erasure, and writes it into a file.
fn finished(answer: &Value, file: Option<&Path>, terminal: &Terminal) -> Result<(), Failure> {
    let signed = answer.get("receipt").unwrap_or(&Value::Null);
    if let Some(file) = file {
        let text = serde_json::to_string_pretty(signed).context("the receipt")?;
        write_private(file, format!("{text}\n").as_bytes())?;
    }
    if terminal.is_json() {
        return terminal.json(answer);
    }
    show_receipt(signed.get("receipt").unwrap_or(&Value::Null), terminal)
}

fn show_receipt(receipt: &Value, terminal: &Terminal) -> Result<(), Failure> {
    terminal.data(&format!(
        "erasure {} finished at {}",
        text(receipt, "id"),
        text(receipt, "finished_at")
    ))?;
    let mut table = Table::new(&["removed", "items>"]);
    for removed in items(receipt, "removed") {
        table.row(vec![text(removed, "kind").replace('_', " "), count(number(removed, "count"))]);
    }
    table.print(terminal)?;
    show_kept(receipt, terminal)
}

fn show_plan(plan: &Value, terminal: &Terminal) -> Result<(), Failure> {
    let mut table = Table::new(&["would be removed", "items>"]);
    for (kind, found) in plan.get("found").and_then(Value::as_object).into_iter().flatten() {
        table.row(vec![kind.replace('_', " "), count(found.as_u64().unwrap_or_default())]);
    }
    table.print(terminal)?;
    for left in items(plan, "balances") {
        let place = format!("{}/{}", text(left, "wallet"), text(left, "asset"));
        let posted = left.get("posted").and_then(Value::as_i64).unwrap_or_default();
        terminal.note(format_args!("{place} is not empty: {posted} posted, {} held", number(left, "held")));
    }
    show_kept(plan, terminal)
}

fn show_kept(of: &Value, terminal: &Terminal) -> Result<(), Failure> {
    for kept in items(of, "kept") {
        let number = kept.get("count").and_then(Value::as_u64).map(|number| format!("{} ", count(number)));
        let kind = text(kept, "kind").replace('_', " ");
        terminal.data(&format!("kept: {}{kind}: {}", number.unwrap_or_default(), text(kept, "why")))?;
    }
    Ok(())
}
