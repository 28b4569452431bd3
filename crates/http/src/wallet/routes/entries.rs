//! An account as the journal has it: its history, its balance at a time, its statement; and the
//! roots.
//!
//! A history is read backwards, newest first. It is never removed and never slows a debit.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stadium_wallet::{Balance, Bounds, Command, Direction, EntryPage, Range, Seal, Time, WalletName};
use utoipa::ToSchema;

use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::request::query::{Names, Query, wrong};
use crate::shards::{ask_for, running};
use crate::spelling::{hex, parse_timestamp, timestamp};
use crate::wallet::description::MoneyLookProblems;
use crate::wallet::routes::accounts::{account_of, asset_code, asset_of, wallet_name};
use crate::wallet::statement::{Format, Statement};
use crate::wallet::views::{BalanceReport, EntryPageReport, EntryReport};

/// Entries on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 100;

/// Parameters that choose entries.
const CHOICE: [&str; 5] = ["from", "to", "direction", "other", "reference"];

/// The values of `direction`.
const DIRECTIONS: [(&str, Direction); 2] = [("credit", Direction::Credit), ("debit", Direction::Debit)];

/// The values of `format`, with the content type and the end of the file's name.
const FORMATS: [(&str, (Format, &str, &str)); 2] = [
    ("csv", (Format::Csv, "text/csv; charset=utf-8; header=present", "csv")),
    ("json", (Format::Json, "application/json", "json")),
];

/// An account's history, newest first.
#[utoipa::path(get, operation_id = "account_history", path = "/api/wallets/{wallet}/{asset}/history", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    params(("wallet" = String, Path, description = "The wallet."), ("asset" = String, Path, description = "The asset."),
           ("from" = Option<String>, Query, description = "Booked at this time (RFC 3339) or after."),
           ("to" = Option<String>, Query, description = "Booked before this time (RFC 3339)."),
           ("direction" = Option<String>, Query, description = "Only `credit` (came in) or `debit` (went out)."),
           ("other" = Option<String>, Query, description = "Only with this other wallet."),
           ("reference" = Option<String>, Query, description = "Only with this reference."),
           ("before" = Option<String>, Query, description = "Only entries before this one: `next` of the page before."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries on the page; 100 by default.")),
    responses((status = 200, description = "A page of entries.", body = EntryPageReport), MoneyLookProblems))]
pub(crate) async fn history(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(wallet, asset): Names,
    uri: Uri,
) -> Result<Json<EntryPageReport>, Problem> {
    let (wallet, asset) = (wallet_name(&wallet)?, asset_code(&asset)?);
    let known: Vec<&str> = CHOICE.into_iter().chain(["before", "limit"]).collect();
    let query = Query::read(&uri, &known)?;
    let mut range = range_of(&query)?;
    range.entries_max = query.limit(PAGE_DEFAULT, Bounds::ITEMS_MAX)? as u32;
    range.before = query.number("before")?;
    let page: EntryPage = ask_for(&app, Command::History { wallet, asset, range }).await?;
    let entries = page.entries.iter().map(EntryReport::of).collect();
    Ok(Json(EntryPageReport { entries, next: page.before.map(|before| before.to_string()) }))
}

/// The entries that a query chooses.
fn range_of(query: &Query) -> Result<Range, Problem> {
    let time = |name: &str| -> Result<Option<Time>, Problem> {
        let time = query.value(name).map(parse_timestamp).transpose();
        time.map_err(|detail| wrong(name, detail))
    };
    let other = query.value("other").map(WalletName::new).transpose();
    Ok(Range {
        from: time("from")?,
        to: time("to")?,
        direction: match query.value("direction") {
            None => None,
            Some(_) => Some(query.one_of("direction", &DIRECTIONS)?),
        },
        other: other.map_err(|error| wrong("other", error.to_string()))?,
        reference: query.value("reference").map(ToOwned::to_owned),
        ..Range::default()
    })
}

/// The balance of an account, now or at a time in the past.
///
/// Of the past only `posted` is known, by the time at which each transfer was booked.
#[utoipa::path(get, operation_id = "account_balance", path = "/api/wallets/{wallet}/{asset}/balance", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    params(("wallet" = String, Path, description = "The wallet."), ("asset" = String, Path, description = "The asset."),
           ("at" = Option<String>, Query, description = "The time (RFC 3339), its own transfers included; now by default.")),
    responses((status = 200, description = "The balance.", body = BalanceReport), MoneyLookProblems))]
pub(crate) async fn balance(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(wallet, asset): Names,
    uri: Uri,
) -> Result<Json<BalanceReport>, Problem> {
    let (wallet, asset) = (wallet_name(&wallet)?, asset_code(&asset)?);
    let query = Query::read(&uri, &["at"])?;
    let Some(text) = query.value("at") else {
        return Ok(Json(BalanceReport::now(&account_of(&app, wallet, &asset).await?)));
    };
    let at = parse_timestamp(text).map_err(|detail| wrong("at", detail))?;
    let (name, code) = (wallet.to_string(), asset.to_string());
    let balance: Balance = ask_for(&app, Command::BalanceAt { wallet, asset, at }).await?;
    Ok(Json(BalanceReport::at(name, code, timestamp(at), balance)))
}

/// All entries of an account as a file, newest first, however long.
///
/// CSV has a heading and amounts as decimals, negative where they went out. JSON is one object that ends with `entry_count`.
/// A statement that breaks off ends the connection early.
#[utoipa::path(get, operation_id = "account_statement", path = "/api/wallets/{wallet}/{asset}/statement", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:{wallet}"))),
    params(("wallet" = String, Path, description = "The wallet."), ("asset" = String, Path, description = "The asset."),
           ("format" = Option<String>, Query, description = "`csv` or `json`; `csv` by default."),
           ("from" = Option<String>, Query, description = "Booked at this time (RFC 3339) or after."),
           ("to" = Option<String>, Query, description = "Booked before this time (RFC 3339)."),
           ("direction" = Option<String>, Query, description = "Only `credit` (came in) or `debit` (went out)."),
           ("other" = Option<String>, Query, description = "Only with this other wallet."),
           ("reference" = Option<String>, Query, description = "Only with this reference.")),
    responses((status = 200, description = "The statement.", content((String = "text/csv"), (EntryPageReport = "application/json")),
               headers(("Content-Disposition" = String, description = "`attachment` with a file name."))),
              MoneyLookProblems))]
pub(crate) async fn statement(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(wallet, asset): Names,
    uri: Uri,
) -> Result<Response, Problem> {
    let (wallet, asset) = (wallet_name(&wallet)?, asset_code(&asset)?);
    let known: Vec<&str> = CHOICE.into_iter().chain(["format"]).collect();
    let query = Query::read(&uri, &known)?;
    let (format, kind, ending) = query.one_of("format", &FORMATS)?;
    let range = range_of(&query)?;
    let scale = asset_of(&app, &asset).await?.scale;
    // Braces, colons and the like are fine in a wallet's name and not in every file system's.
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let file: String = wallet.as_str().chars().map(safe).collect();
    let disposition = format!("attachment; filename=\"{file}-{asset}.{ending}\"");
    let disposition = HeaderValue::from_str(&disposition).expect("letters, digits and few signs");
    let statement = Statement { app, wallet, asset, scale, range, format, entries: 0 };
    let headers =
        [(header::CONTENT_TYPE, HeaderValue::from_static(kind)), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, statement.begin().await?).into_response())
}

/// A seal: its root fixes all records of its shard's chain before it.
#[derive(Serialize, ToSchema)]
pub(crate) struct RootReport {
    /// Which shard's chain.
    shard: u16,
    /// The seal's number in it, from 1, one higher each time.
    number: u64,
    /// When it was made.
    sealed_at: String,
    /// Records of its period.
    records: u64,
    /// SHA-256, in hexadecimal digits. Keep it elsewhere: receipts are checked against it.
    #[schema(min_length = 64, max_length = 64)]
    root: String,
}

impl RootReport {
    pub(crate) fn of(shard: u16, seal: &Seal) -> Self {
        Self {
            shard,
            number: seal.number,
            sealed_at: timestamp(seal.at),
            records: seal.records,
            root: hex(&seal.root),
        }
    }
}

/// Roots of the shards' hash chains.
#[derive(Serialize, ToSchema)]
pub(crate) struct Roots {
    roots: Vec<RootReport>,
}

/// The roots of the shards' hash chains, each shard's oldest first.
///
/// With a kept one anybody can check with a receipt that a transfer stands in the books, without
/// this server.
#[utoipa::path(get, operation_id = "list_roots", path = "/api/wallets/roots", tag = "Wallets",
    extensions(("x-right" = json!("wallet.read:*"))),
    params(("shard" = Option<u16>, Query, description = "Only of this shard."),
           ("after" = Option<u64>, Query, description = "Only seals with a higher number."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Of each shard; 100 by default.")),
    responses((status = 200, description = "The roots.", body = Roots), MoneyLookProblems))]
pub(crate) async fn roots(_: Caller, State(app): State<Arc<App>>, uri: Uri) -> Result<Json<Roots>, Problem> {
    let query = Query::read(&uri, &["shard", "after", "limit"])?;
    let limit = query.limit(PAGE_DEFAULT, Bounds::ITEMS_MAX)?;
    let shard = query.number("shard")?;
    let after = query.number("after")?.unwrap_or_default();
    let seals = running(&app)?.seals(shard, after, limit).await?;
    Ok(Json(Roots { roots: seals.iter().map(|(shard, seal)| RootReport::of(*shard, seal)).collect() }))
}
