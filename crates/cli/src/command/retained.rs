//! `stadium retained`: list and remove the retained messages of a running server.
//!
//! A removal is several requests, each bounded by the server. One that was cut off is run again: a
//! removed message stays removed.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Api, Method, encoded};
use crate::failure::Failure;
use crate::on::{On, Pages, ask, more};
use crate::shown::{Table, clean, number, text, when};
use crate::terminal::{Terminal, count};

/// Characters of a topic that a list shows.
const TOPIC_CHARS_MAX: usize = 80;

/// The arguments of `stadium retained`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them with their owners, without their payloads
    List(On<ListArguments>),
    /// Remove all that match; subscribers are sent nothing
    Purge(On<PurgeArguments>),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only topics that match this topic filter
    #[arg(long)]
    filter: Option<String>,
    /// Only those that devices of this principal set; empty for anonymous devices
    #[arg(long)]
    principal: Option<String>,
    /// So many at most
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
}

#[derive(Debug, Args)]
struct PurgeArguments {
    /// Only topics that match this topic filter; # is all that do not begin with $
    #[arg(long, required_unless_present = "principal")]
    filter: Option<String>,
    /// Only those that devices of this principal set; empty for anonymous devices
    #[arg(long)]
    principal: Option<String>,
    /// Count them, remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::List(on) => on.run(list, terminal),
        Action::Purge(on) => on.run(purge, terminal),
    }
}

/// The query's parameters of a filter and a principal, each with an `&` before it.
fn which(filter: Option<&str>, principal: Option<&str>) -> String {
    let given = [("filter", filter), ("principal", principal)].into_iter();
    given.filter_map(|(name, value)| value.map(|value| format!("&{name}={}", encoded(value)))).collect()
}

fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ListArguments { filter, principal, limit } = arguments;
    let filter = which(filter.as_deref(), principal.as_deref());
    let pages = Pages { path: "/api/retained", filter: &filter, field: "messages", from: "from", limit };
    let (messages, next) = pages.read(api)?;
    if terminal.is_json() {
        return terminal.json(&json!({"messages": messages, "next": next}));
    }
    let mut table = Table::new(&["topic", "principal", "bytes>", "qos>", "set", "expires"]);
    for message in &messages {
        let time = |field| message.get(field).and_then(Value::as_str).map_or("-".to_owned(), when);
        let principal = match message.get("principal").and_then(Value::as_str) {
            None => "-".to_owned(),
            Some("") => "(anonymous)".to_owned(),
            Some(principal) => clean(principal, TOPIC_CHARS_MAX),
        };
        table.row(vec![
            clean(text(message, "topic"), TOPIC_CHARS_MAX),
            principal,
            count(number(message, "bytes")),
            number(message, "qos").to_string(),
            time("set_at"),
            time("expires_at"),
        ]);
    }
    if table.is_empty() {
        terminal.note("no retained message matches");
    } else {
        table.print(terminal)?;
    }
    more(next.as_ref(), limit, terminal);
    Ok(())
}

fn purge(api: &Api, arguments: PurgeArguments, terminal: &Terminal) -> Result<(), Failure> {
    let PurgeArguments { filter, principal, dry_run, yes } = arguments;
    if !yes && !dry_run {
        let given = [("filter", &filter), ("principal", &principal)].into_iter();
        let words: Vec<String> = given
            .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name} {value:?}")))
            .collect();
        terminal.confirm(&format!("Remove all retained messages with {}?", words.join(" and ")))?;
    }
    let which = which(filter.as_deref(), principal.as_deref());
    let path = format!("/api/retained?dry_run={dry_run}{which}");
    let (mut removed, mut refused, mut from) = (0, 0, String::new());
    loop {
        let answer = ask(api, Method::Delete, &format!("{path}{from}"), None)?;
        removed += number(&answer, "removed");
        refused += number(&answer, "refused");
        match answer.get("next").and_then(Value::as_str) {
            Some(next) => from = format!("&from={}", encoded(next)),
            None => break,
        }
    }
    if terminal.is_json() {
        terminal.json(&json!({"removed": removed, "refused": refused, "dry_run": dry_run}))?;
    } else {
        let noun = if removed == 1 { "retained message" } else { "retained messages" };
        let done = match (dry_run, removed) {
            (true, _) => "would be removed",
            (false, 1) => "is removed",
            (false, _) => "are removed",
        };
        terminal.data(&format!("{} {noun} {done}", count(removed)))?;
    }
    if refused > 0 {
        let detail = format!("the shards refused to remove {}; run it again", count(refused));
        return Err(Failure::new(detail));
    }
    Ok(())
}
