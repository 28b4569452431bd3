//! Compares bookings with a bill from outside, a CSV: rows in both, rows missing on a side,
//! differing rows.
//!
//! Rows and bookings meet by the transfer's id, or by its reference where the file has no ids. A
//! reference may stand for several transfers: then those of equal amount meet first, and the rest
//! meets in order.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

use serde::Serialize;

use crate::Error;
use crate::amount;

/// One transfer of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Booking {
    /// Its id, as a UUID.
    pub transfer: String,
    /// What an outside system calls it; empty: nothing.
    pub reference: String,
    /// Of what.
    pub asset: String,
    /// In minor units.
    pub amount: u64,
    /// From whom.
    pub debit: String,
    /// To whom.
    pub credit: String,
    /// When it was booked, milliseconds since 1970.
    pub at: u64,
}

/// How a file is to be read. Names of columns are compared without regard to case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    /// The column of transfers' ids; else one of `id`, `transfer`, `transfer_id`, `idempotency_key`.
    pub id: Option<String>,
    /// The column of references; else one of `reference`, `order`, `order_id`, `transaction_id`, `external_id`. Used where there is no
    /// column of ids, or where it was named.
    pub reference: Option<String>,
    /// The column of amounts; else `amount`, `total` or `gross`.
    pub amount: Option<String>,
    /// The column of assets; else `asset` or `currency`.
    pub asset: Option<String>,
    /// The column of dates; else `date`, `time`, `booked_at` or `created`. It may be missing, and is only shown.
    pub date: Option<String>,
    /// The asset of all rows, where the file has no column of assets.
    pub asset_of_all: Option<String>,
    /// What stands between fields; else whichever of comma, semicolon and tab the first line has most of.
    pub delimiter: Option<char>,
}

/// One row of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its line in the file, from 1.
    pub line: u64,
    /// Its id or reference.
    pub key: String,
    /// Of what.
    pub asset: String,
    /// In minor units; bills show refunds as negative amounts, and only the size is compared.
    pub amount: u64,
    /// As it stands there.
    pub date: String,
}

/// A row and a booking that belong together and are not the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Different {
    /// The value in the file.
    pub row: Row,
    /// The value in the books.
    pub booking: Booking,
    /// What differs: `amount`, `asset`.
    pub what: Vec<&'static str>,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Reconciliation {
    /// Rows that have their booking.
    pub matched: u64,
    /// What these are together, in minor units, by asset.
    pub matched_amounts: BTreeMap<String, u128>,
    /// Rows and bookings that belong together and differ, by line.
    pub different: Vec<Different>,
    /// Rows without a booking, by line.
    pub missing_here: Vec<Row>,
    /// Bookings without a row, oldest first.
    pub missing_there: Vec<Booking>,
}

impl Reconciliation {
    /// Whether both sides agree.
    pub fn agrees(&self) -> bool {
        self.different.is_empty() && self.missing_here.is_empty() && self.missing_there.is_empty()
    }
}

/// Compares bookings with a CSV. `scales` has the number of digits behind the point of each asset.
///
/// # Errors
///
/// [`Error::Csv`], with the line, where the file cannot be read; nothing is guessed.
pub fn reconcile(
    bookings: impl IntoIterator<Item = Booking>,
    scales: &BTreeMap<String, u8>,
    mut file: impl Read,
    columns: &Columns,
) -> Result<Reconciliation, Error> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)
        .map_err(|error| wrong("ADT-040", None, format!("the file cannot be read: {error}")))?;
    let text = std::str::from_utf8(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text))
        .map_err(|error| wrong("ADT-040", line_at(&text, error.valid_up_to()), "the text is not UTF-8"))?;
    let (keyed_by, rows) = read(text, scales, columns)?;
    let mut ours: BTreeMap<String, VecDeque<Booking>> = BTreeMap::new();
    let mut without_key = Vec::new();
    for booking in bookings {
        match keyed_by.key(&booking) {
            Some(key) => ours.entry(key).or_default().push_back(booking),
            None => without_key.push(booking),
        }
    }
    let mut theirs: BTreeMap<String, VecDeque<Row>> = BTreeMap::new();
    for row in rows {
        theirs.entry(row.key.clone()).or_default().push_back(row);
    }
    let mut result = Reconciliation::default();
    for (key, rows) in theirs {
        let bookings = ours.remove(&key).unwrap_or_default();
        result.meet(rows, bookings);
    }
    result.missing_there.extend(ours.into_values().flatten().chain(without_key));
    result.missing_there.sort_by(|a, b| (a.at, &a.transfer).cmp(&(b.at, &b.transfer)));
    result.missing_here.sort_by_key(|row| row.line);
    result.different.sort_by_key(|different| different.row.line);
    Ok(result)
}

impl Reconciliation {
    /// Rows and bookings of one key.
    fn meet(&mut self, rows: VecDeque<Row>, mut bookings: VecDeque<Booking>) {
        let mut left = VecDeque::new();
        for row in rows {
            let same = |booking: &Booking| booking.amount == row.amount && booking.asset == row.asset;
            match bookings.iter().position(same) {
                Some(at) => {
                    bookings.remove(at);
                    self.matched += 1;
                    *self.matched_amounts.entry(row.asset).or_default() += u128::from(row.amount);
                }
                None => left.push_back(row),
            }
        }
        for row in left {
            let Some(booking) = bookings.pop_front() else {
                self.missing_here.push(row);
                continue;
            };
            let mut what = Vec::new();
            if booking.amount != row.amount {
                what.push("amount");
            }
            if booking.asset != row.asset {
                what.push("asset");
            }
            self.different.push(Different { row, booking, what });
        }
        self.missing_there.extend(bookings);
    }
}

/// By what rows and bookings meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyedBy {
    Id,
    Reference,
}

impl KeyedBy {
    fn key(self, booking: &Booking) -> Option<String> {
        match self {
            KeyedBy::Id => Some(booking.transfer.clone()),
            KeyedBy::Reference => (!booking.reference.is_empty()).then(|| booking.reference.clone()),
        }
    }
}

fn wrong(code: &'static str, line: Option<u64>, what: impl Into<String>) -> Error {
    Error::Csv { line, what: what.into(), code }
}

fn line_at(text: &[u8], at: usize) -> Option<u64> {
    Some(1 + text[..at].iter().filter(|&&byte| byte == b'\n').count() as u64)
}

/// Where each column stands in a row.
struct Header {
    keyed_by: KeyedBy,
    key: usize,
    amount: usize,
    asset: Option<usize>,
    date: Option<usize>,
}

impl Header {
    fn of(names: &csv::StringRecord, columns: &Columns) -> Result<Self, Error> {
        let find = |wanted: &str| names.iter().position(|name| name.trim().eq_ignore_ascii_case(wanted));
        let missing = |what: &str| {
            let there: Vec<&str> = names.iter().collect();
            wrong("ADT-041", Some(1), format!("there is no column {what}; there are: {}", there.join(", ")))
        };
        let column = |named: &Option<String>, usual: &[&str]| match named {
            Some(name) => find(name).map(Some).ok_or_else(|| missing(&format!("{name:?}"))),
            None => Ok(usual.iter().find_map(|name| find(name))),
        };
        let id = column(&columns.id, &["id", "transfer", "transfer_id", "idempotency_key"])?;
        let usual = ["reference", "order", "order_id", "transaction_id", "external_id"];
        let reference = column(&columns.reference, &usual)?;
        let is_reference_named = columns.reference.is_some() && columns.id.is_none();
        let (keyed_by, key) = match (id, reference) {
            (_, Some(at)) if is_reference_named => (KeyedBy::Reference, at),
            (Some(at), _) => (KeyedBy::Id, at),
            (None, Some(at)) => (KeyedBy::Reference, at),
            (None, None) => return Err(missing("of ids (id) or references (reference): name one")),
        };
        let amount = column(&columns.amount, &["amount", "total", "gross"])?
            .ok_or_else(|| missing("of amounts (amount): name one"))?;
        let asset = column(&columns.asset, &["asset", "currency"])?;
        if asset.is_none() && columns.asset_of_all.is_none() {
            return Err(missing("of assets (asset, currency): name one, or give the asset of all rows"));
        }
        let date = column(&columns.date, &["date", "time", "booked_at", "created"])?;
        Ok(Self { keyed_by, key, amount, asset, date })
    }
}

fn delimiter(text: &str, columns: &Columns) -> Result<u8, Error> {
    if let Some(delimiter) = columns.delimiter {
        return u8::try_from(delimiter)
            .ok()
            .filter(u8::is_ascii)
            .ok_or_else(|| wrong("ADT-041", None, format!("{delimiter:?} cannot stand between fields")));
    }
    let first = text.lines().next().unwrap_or_default();
    let times = |delimiter: u8| first.bytes().filter(|&byte| byte == delimiter).count();
    Ok([b',', b';', b'\t']
        .into_iter()
        .rev()
        .max_by_key(|&delimiter| times(delimiter))
        .expect("there are three"))
}

fn read(text: &str, scales: &BTreeMap<String, u8>, columns: &Columns) -> Result<(KeyedBy, Vec<Row>), Error> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter(text, columns)?)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| {
        let line = error.position().map(csv::Position::line);
        let what = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("it has {len} fields, and the first line names {expected_len}")
            }
            _ => error.to_string(),
        };
        wrong("ADT-040", line, what)
    };
    let header = Header::of(reader.headers().map_err(unreadable)?, columns)?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |at: usize| record.get(at).unwrap_or_default();
        let asset = match (header.asset, &columns.asset_of_all) {
            (Some(at), _) => field(at),
            (None, Some(asset)) => asset,
            (None, None) => "",
        };
        let Some(&scale) = scales.get(asset) else {
            return Err(wrong("ADT-042", Some(line), format!("there is no asset {asset:?} in the books")));
        };
        let amount =
            amount::parse(field(header.amount), scale).map_err(|what| wrong("ADT-043", Some(line), what))?;
        let key = match (header.keyed_by, field(header.key)) {
            (_, "") => return Err(wrong("ADT-044", Some(line), "the id or reference is empty")),
            (KeyedBy::Id, id) => crate::id::parse(id).map_err(|what| wrong("ADT-044", Some(line), what))?,
            (KeyedBy::Reference, reference) => reference.to_owned(),
        };
        let date = header.date.map(field).unwrap_or_default().to_owned();
        rows.push(Row { line, key, asset: asset.to_owned(), amount: amount.unsigned_abs(), date });
    }
    Ok((header.keyed_by, rows))
}
