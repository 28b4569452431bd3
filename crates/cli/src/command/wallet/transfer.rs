//! Moving amounts: transfers, holds, and what becomes of them.
//!
//! Each carries an id, the caller's or one that is made here, so that it is sent again where no answer came and is booked once.
//! Many come as lines of standard input and are sent in batches.

use std::io::{self, BufRead};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use super::account::reason;
use super::amount::Scales;
use crate::api::{Api, Ask, Method, Refused, encoded};
use crate::failure::{Context, Failure};
use crate::on::ask;
use crate::once::new_id;
use crate::shown::{items, text};
use crate::span;
use crate::terminal::{Style, Terminal, count};

/// Transfers that one request may hold.
const BATCH_MAX: usize = 1_000;

/// Attempts at a request whose answer does not come.
const ATTEMPTS_MAX: u32 = 5;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium wallet transfer alice @shop 12.50 EUR --reference order-7
  stadium wallet transfer --lines < payouts.ndjson         each line is a transfer, as POST /api/transfers takes it, amounts in
                                                           minor units:
      {\"id\": \"8f14e45f-...\", \"debit\": \"@prize\", \"credit\": \"alice\", \"asset\": \"EUR\", \"amount\": 1250}
Sent again under the same --id it is booked once; without one, an id is made and printed.")]
pub(super) struct TransferArguments {
    #[command(flatten)]
    moved: Option<Moved>,
    /// Each line of standard input is a transfer as a JSON object, 1,000 in a request
    #[arg(long, conflicts_with_all = ["debit", "id", "reference", "metadata", "effective"])]
    lines: bool,
    /// All lines or none, at most 1,000 of them
    #[arg(long, requires = "lines")]
    linked: bool,
    #[command(flatten)]
    what: WhatFlags,
}

/// Between whom how much of what.
#[derive(Debug, Args)]
struct Moved {
    /// From whom
    #[arg(required = false, required_unless_present = "lines")]
    debit: String,
    /// To whom
    #[arg(required = false, required_unless_present = "lines")]
    credit: String,
    /// How much, such as 12.50
    #[arg(required = false, required_unless_present = "lines")]
    amount: String,
    /// Of what, such as EUR
    #[arg(required = false, required_unless_present = "lines")]
    asset: String,
}

/// The other fields of a transfer.
#[derive(Debug, Args)]
struct WhatFlags {
    /// The transfer's id, a UUID: the same again is booked once
    #[arg(long, value_name = "UUID")]
    id: Option<String>,
    /// What an outside system calls it, at most 128 bytes
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// Anything, at most 1 KiB, shown in the history
    #[arg(long, value_name = "TEXT")]
    metadata: Option<String>,
    /// When it counts for the books, such as 2030-01-01T20:00:00Z
    #[arg(long, value_name = "TIMESTAMP")]
    effective: Option<String>,
}

impl WhatFlags {
    fn fields(&self) -> Result<Map<String, Value>, Failure> {
        let id = match &self.id {
            Some(id) => id.clone(),
            None => new_id()?,
        };
        let mut fields = Map::from_iter([("id".to_owned(), Value::String(id))]);
        let given =
            [("reference", &self.reference), ("metadata", &self.metadata), ("effective_at", &self.effective)];
        for (name, value) in given {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value.clone().into());
            }
        }
        Ok(fields)
    }
}

#[derive(Debug, Args)]
pub(super) struct HoldArguments {
    #[command(flatten)]
    moved: HeldFor,
    /// The hold ends by itself after so long, such as 10m: 1s to 366d
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    expires: u64,
    #[command(flatten)]
    what: WhatFlags,
}

/// Between whom how much of what is held.
#[derive(Debug, Args)]
struct HeldFor {
    /// From whom
    debit: String,
    /// To whom, once it is captured
    credit: String,
    /// How much, such as 12.50
    amount: String,
    /// Of what, such as EUR
    asset: String,
}

#[derive(Debug, Args)]
pub(super) struct CaptureArguments {
    /// The hold's id
    hold: String,
    /// How much of it, such as 12.50; the rest is available again [default: all]
    amount: Option<String>,
    #[command(flatten)]
    what: WhatFlags,
}

#[derive(Debug, Args)]
pub(super) struct OfArguments {
    /// The id of the hold, or of the transfer
    of: String,
    #[command(flatten)]
    what: WhatFlags,
}

/// Moves an amount, or many.
pub(super) fn transfer(api: &Api, arguments: TransferArguments, terminal: &Terminal) -> Result<(), Failure> {
    let TransferArguments { moved, lines, linked, what } = arguments;
    if lines {
        return if linked { all_or_none(api, terminal) } else { one_by_one(api, terminal) };
    }
    let Some(Moved { debit, credit, amount, asset }) = moved else {
        return Err(Failure::Usage(
            "name the giver, the taker, the amount and the asset; or --lines".to_owned(),
        ));
    };
    let mut fields = what.fields()?;
    fields.extend(movement(api, &HeldFor { debit, credit, amount, asset })?);
    book(api, "/api/transfers", &fields, "booked", terminal)
}

/// Sets an amount aside.
pub(super) fn hold(api: &Api, arguments: HoldArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut fields = arguments.what.fields()?;
    fields.extend(movement(api, &arguments.moved)?);
    fields.insert("kind".to_owned(), "hold".into());
    fields.insert("expires_after_ms".to_owned(), arguments.expires.into());
    book(api, "/api/transfers", &fields, "held", terminal)
}

fn movement(api: &Api, moved: &HeldFor) -> Result<Map<String, Value>, Failure> {
    let HeldFor { debit, credit, amount, asset } = moved;
    let amount = Scales::read(api)?.minor(amount, asset)?;
    let fields = json!({"debit": debit, "credit": credit, "asset": asset, "amount": amount});
    Ok(fields.as_object().cloned().unwrap_or_default())
}

/// Moves what was held.
pub(super) fn capture(api: &Api, arguments: CaptureArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut fields = arguments.what.fields()?;
    if let Some(amount) = &arguments.amount {
        // How many digits the amount may have follows from what is held.
        let hold = ask(api, Method::Get, &path(&arguments.hold, ""), None)?;
        let amount = Scales::read(api)?.minor(amount, text(&hold, "asset"))?;
        fields.insert("amount".to_owned(), amount.into());
    }
    book(api, &path(&arguments.hold, "/capture"), &fields, "captured", terminal)
}

/// Lets a hold go.
pub(super) fn void(api: &Api, arguments: OfArguments, terminal: &Terminal) -> Result<(), Failure> {
    book(api, &path(&arguments.of, "/void"), &arguments.what.fields()?, "voided", terminal)
}

/// Moves a transfer back.
pub(super) fn reverse(api: &Api, arguments: OfArguments, terminal: &Terminal) -> Result<(), Failure> {
    book(api, &path(&arguments.of, "/reverse"), &arguments.what.fields()?, "reversed", terminal)
}

fn path(transfer: &str, below: &str) -> String {
    format!("/api/transfers/{}{below}", encoded(transfer))
}

/// Posts one that may be posted twice, as often as it takes to hear an answer.
fn sent(api: &Api, path: &str, body: &Value) -> Result<Value, Failure> {
    let text = body.to_string();
    let ask = Ask { method: Method::Post, path, body: Some(&text), idempotency_key: None };
    let mut attempts = 1;
    loop {
        match api.ask(ask) {
            Ok(answer) => return Ok(answer),
            Err(Refused::Unanswered(failure)) if attempts == ATTEMPTS_MAX => {
                return Err(Failure::new(format!(
                    "{failure}; what became of it is unknown: the same ids can be sent again"
                )));
            }
            Err(Refused::Unanswered(_)) => {
                thread::sleep(Duration::from_millis(100 << attempts));
                attempts += 1;
            }
            Err(refused) => return Err(refused.into()),
        }
    }
}

fn book(
    api: &Api,
    path: &str,
    fields: &Map<String, Value>,
    words: &str,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let answer = sent(api, path, &Value::Object(fields.clone()))?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let id = text(&answer, "id");
    terminal.data(&format!("{id} {} {}", terminal.out(Style::Good, words), text(&answer, "booked_at")))?;
    if answer.get("duplicate").and_then(Value::as_bool) == Some(true) {
        terminal.note(format_args!("{id} had been booked before; nothing happened now"));
    }
    Ok(())
}

/// A line's transfer, with an id.
fn parsed(number: usize, line: &str) -> Result<Value, Failure> {
    let wrong = |why: String| Failure::new(format!("line {number}: {why}"));
    let parsed: Value =
        serde_json::from_str(line).map_err(|error| wrong(format!("this is no JSON: {error}")))?;
    let Value::Object(mut fields) = parsed else {
        return Err(wrong("this is no JSON object such as {\"debit\": \"alice\", ...}".to_owned()));
    };
    if !fields.contains_key("id") {
        fields.insert("id".to_owned(), new_id()?.into());
    }
    Ok(Value::Object(fields))
}

/// The lines of standard input that are not empty, with their numbers.
fn lines() -> impl Iterator<Item = Result<(usize, String), Failure>> {
    let numbered = io::stdin().lock().lines().enumerate();
    let read = numbered.map(|(place, line)| Ok((place + 1, line.context("standard input cannot be read")?)));
    read.filter(|line| !matches!(line, Ok((_, line)) if line.trim().is_empty()))
}

/// Books lines, all or none.
fn all_or_none(api: &Api, terminal: &Terminal) -> Result<(), Failure> {
    let mut transfers = Vec::new();
    for line in lines() {
        let (number, line) = line?;
        transfers.push(parsed(number, &line)?);
    }
    let batch = json!({"linked": true, "transfers": transfers});
    let answer = sent(api, "/api/transfers/batch", &batch)?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let booked = items(&answer, "results").count();
    terminal.data(&format!("{} {}, all together", count(booked as u64), terminal.out(Style::Good, "booked")))
}

/// What became of lines.
#[derive(Debug, Default)]
struct Sums {
    booked: u64,
    duplicates: u64,
    refused: u64,
    first_refused: Option<String>,
}

/// Books lines, each by itself.
fn one_by_one(api: &Api, terminal: &Terminal) -> Result<(), Failure> {
    let mut sums = Sums::default();
    let mut batch: Vec<(usize, Value)> = Vec::new();
    let bar = terminal.progress(0, "transfers");
    for line in lines() {
        let read = line.and_then(|(number, line)| Ok((number, parsed(number, &line)?)));
        let line = read.map_err(|failure| {
            Failure::new(format!("{failure}; {} before it were booked", count(sums.booked)))
        })?;
        batch.push(line);
        if batch.len() == BATCH_MAX {
            send(api, &mut batch, &mut sums)?;
            bar.set_length(sums.booked + sums.refused);
            bar.set_position(sums.booked + sums.refused);
        }
    }
    send(api, &mut batch, &mut sums)?;
    bar.finish_and_clear();
    let Sums { booked, duplicates, refused, first_refused } = sums;
    if terminal.is_json() {
        terminal.json(&json!({
            "booked": booked - duplicates,
            "duplicates": duplicates,
            "refused": refused,
            "first_refused": first_refused,
        }))?;
    } else {
        let known = match duplicates {
            0 => String::new(),
            known => format!(", {} of them before", count(known)),
        };
        terminal.data(&format!("{} {}{known}", count(booked), terminal.out(Style::Good, "booked")))?;
    }
    match first_refused {
        None => Ok(()),
        Some(first) => Err(Failure::new(format!("{} were refused; {first}", count(refused)))),
    }
}

fn send(api: &Api, batch: &mut Vec<(usize, Value)>, sums: &mut Sums) -> Result<(), Failure> {
    if batch.is_empty() {
        return Ok(());
    }
    let (numbers, transfers): (Vec<usize>, Vec<Value>) = std::mem::take(batch).into_iter().unzip();
    let answer =
        sent(api, "/api/transfers/batch", &json!({ "transfers": transfers })).map_err(|failure| {
            let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
            Failure::new(format!(
                "lines {first} to {last}: {failure}; {} were booked before",
                count(sums.booked)
            ))
        })?;
    for (number, result) in numbers.iter().zip(items(&answer, "results")) {
        match result.get("error") {
            Some(error) => {
                sums.refused += 1;
                let words = || format!("line {number}: {} ({})", reason(error), text(error, "code"));
                sums.first_refused.get_or_insert_with(words);
            }
            None => {
                sums.booked += 1;
                let known = result.get("duplicate").and_then(Value::as_bool) == Some(true);
                sums.duplicates += u64::from(known);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_where_a_line_has_none() {
        let made = parsed(1, r#"{"debit":"a"}"#).expect("a transfer");
        let id = text(&made, "id");
        assert!(id.len() == 36 && id.as_bytes()[14] == b'4', "{id}");
        assert_ne!(id, text(&parsed(1, r#"{"debit":"a"}"#).expect("a transfer"), "id"));
        assert_eq!(text(&parsed(2, r#"{"id":"x"}"#).expect("a transfer"), "id"), "x");
        assert!(parsed(3, "[1]").expect_err("no object").to_string().starts_with("line 3:"));
    }
}
