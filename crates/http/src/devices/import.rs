//! Devices from a file: CSV or NDJSON, of any length, in bounded memory.
//!
//! The body is cut into records as it arrives, and records become batches. A batch is answered, on
//! disk, before the next one is read, so a client that sends faster than the disk takes is slowed
//! down by TCP. A record that is wrong is skipped and reported by its line; all others count.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};
use stadium_push::{Changed, Command, Refusal};
use stadium_registry::{AppName, Changes, DeviceId};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use utoipa::ToSchema;

use crate::csv_text::unmarked;
use crate::devices::views::{MADE, imported};
use crate::request::app::App;
use crate::request::problem::{BODY_NOT_JSON, FIELD_WRONG, Problem};
use crate::shards::{ask_for, strange};

/// Bytes of one record: a device with all the tags and attributes it may have is far below.
const RECORD_BYTES_MAX: usize = 64 << 10;

/// Devices in one batch, and bytes of their records.
const BATCH_DEVICES_MAX: usize = 500;
const BATCH_BYTES_MAX: usize = 256 << 10;

/// Wrong records that the report shows; all are counted.
const MISTAKES_MAX: usize = 100;

/// How long a busy shard is asked again before the import stops.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the client may send nothing.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// How a file of devices looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// RFC 4180 with a heading: see [`Columns`].
    Csv,
    /// An object on each line, as the API shows a device.
    Ndjson,
}

/// What became of a file.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct ImportReport {
    /// Records in it; headings and empty lines are none.
    records: u64,
    /// Devices that are new.
    registered: u64,
    /// Devices that were known.
    updated: u64,
    /// Records that were skipped.
    failed: u64,
    /// The first hundred of those.
    mistakes: Vec<MistakeReport>,
}

/// A record that was skipped.
#[derive(Serialize, ToSchema)]
struct MistakeReport {
    /// Where it begins, from 1.
    line: u64,
    /// What is wrong with it.
    reason: String,
}

/// Reads a body to its end and registers its records.
pub(crate) async fn run(
    app: &App,
    of: &AppName,
    format: Format,
    body: Body,
) -> Result<ImportReport, Problem> {
    let mut import = Import {
        app,
        of,
        format,
        columns: None,
        batch: Vec::new(),
        batch_bytes: 0,
        report: ImportReport::default(),
    };
    let mut records = Records::new(format);
    let mut stream = body.into_data_stream();
    while let Some(bytes) = next(&mut stream).await? {
        records.push(&bytes);
        import.take(&mut records).await?;
    }
    records.finish();
    import.take(&mut records).await?;
    import.send().await?;
    Ok(import.report)
}

async fn next(stream: &mut BodyDataStream) -> Result<Option<Bytes>, Problem> {
    match tokio::time::timeout(SILENCE_MAX, stream.next()).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(bytes))) => Ok(Some(bytes)),
        Ok(Some(Err(error))) => Err(Problem::new(BODY_NOT_JSON, format!("the body ended early: {error}"))),
        Err(_) => {
            Err(Problem::new(BODY_NOT_JSON, "the body stopped coming for 30 s; what had come was imported"))
        }
    }
}

struct Import<'a> {
    app: &'a App,
    of: &'a AppName,
    format: Format,
    /// Of CSV, once its heading was read.
    columns: Option<Columns>,
    batch: Vec<(u64, DeviceId, Changes)>,
    batch_bytes: usize,
    report: ImportReport,
}

impl Import<'_> {
    async fn take(&mut self, records: &mut Records) -> Result<(), Problem> {
        while let Some((line, record)) = records.next() {
            let record = match record {
                Ok(record) => record,
                Err(reason) => {
                    self.report.records += 1;
                    self.mistake(line, reason);
                    continue;
                }
            };
            if record.trim().is_empty() {
                continue;
            }
            self.batch_bytes += record.len();
            let device = match (self.format, &self.columns) {
                (Format::Ndjson, _) => serde_json::from_str(&record)
                    .map_err(|error| format!("it is no JSON: {error}"))
                    .and_then(|json| imported(json).map_err(|problem| problem.in_words())),
                (Format::Csv, None) => {
                    self.columns = Some(Columns::read(&record)?);
                    continue;
                }
                (Format::Csv, Some(columns)) => columns.device(&record),
            };
            self.report.records += 1;
            match device {
                Ok((device, changes)) => self.batch.push((line, device, changes)),
                Err(reason) => self.mistake(line, reason),
            }
            if self.batch.len() >= BATCH_DEVICES_MAX || self.batch_bytes >= BATCH_BYTES_MAX {
                self.send().await?;
            }
        }
        Ok(())
    }

    /// Has the batch registered, and waits where the shards are busy.
    async fn send(&mut self) -> Result<(), Problem> {
        let mut batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let since = Instant::now();
        while !batch.is_empty() {
            let devices =
                batch.iter().map(|(_, device, changes)| (device.clone(), changes.clone())).collect();
            let command = Command::Change { app: self.of.clone(), devices };
            let asked: Result<Vec<Result<Changed, Refusal>>, Problem> = ask_for(self.app, command).await;
            let patient = since.elapsed() < PATIENCE;
            let outcomes = match asked {
                Ok(outcomes) if outcomes.len() == batch.len() => outcomes,
                Ok(_) => return Err(strange()),
                Err(problem) if problem.may_be_repeated() && patient => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
                Err(problem) => {
                    let line = batch.first().map_or(0, |(line, ..)| *line);
                    return Err(problem.adding(&format!(
                        "what stands before line {line} was imported; send the rest again"
                    )));
                }
            };
            let mut again = Vec::new();
            for (one, outcome) in batch.into_iter().zip(outcomes) {
                match outcome {
                    Ok(Changed::Registered) => self.report.registered += 1,
                    Ok(Changed::Updated) => self.report.updated += 1,
                    // To register a device again changes nothing.
                    Err(Refusal::Busy { .. } | Refusal::Unknown { .. }) if patient => again.push(one),
                    Err(refusal) => self.mistake(one.0, Problem::from(refusal).in_words()),
                }
            }
            batch = again;
            if !batch.is_empty() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Ok(())
    }

    fn mistake(&mut self, line: u64, reason: String) {
        self.report.failed += 1;
        if self.report.mistakes.len() < MISTAKES_MAX {
            self.report.mistakes.push(MistakeReport { line, reason });
        }
    }
}

/// Cuts bytes into records: lines, of which in CSV quoted ones go on.
struct Records {
    format: Format,
    bytes: Vec<u8>,
    /// How far `bytes` was looked at without finding an end.
    looked: usize,
    quoted: bool,
    /// Line at which `bytes` begins, from 1, and at which `looked` is.
    line: u64,
    line_at: u64,
    /// Whether the record that is being cut is too long: the rest of it is skipped.
    too_long: bool,
    ended: bool,
}

impl Records {
    fn new(format: Format) -> Self {
        Self {
            format,
            bytes: Vec::new(),
            looked: 0,
            quoted: false,
            line: 1,
            line_at: 1,
            too_long: false,
            ended: false,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(&mut self) {
        self.ended = true;
    }

    /// The next whole record and the line at which it begins; else what is wrong with it.
    fn next(&mut self) -> Option<(u64, Result<String, String>)> {
        while self.looked < self.bytes.len() {
            let byte = self.bytes[self.looked];
            self.looked += 1;
            match byte {
                b'"' if self.format == Format::Csv && !self.too_long => self.quoted = !self.quoted,
                b'\n' => {
                    self.line_at += 1;
                    if !self.quoted {
                        return Some(self.cut());
                    }
                }
                _ => {}
            }
            if self.looked > RECORD_BYTES_MAX {
                // A quote that nobody closed ends with its line here, so that it takes no more than this record with it.
                (self.too_long, self.quoted) = (true, false);
                self.bytes.drain(..self.looked);
                self.looked = 0;
            }
        }
        (self.ended && (self.too_long || !self.bytes.is_empty())).then(|| self.cut())
    }

    fn cut(&mut self) -> (u64, Result<String, String>) {
        let line = std::mem::replace(&mut self.line, self.line_at);
        let mut record: Vec<u8> = self.bytes.drain(..self.looked).collect();
        self.looked = 0;
        while record.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            record.pop();
        }
        if line == 1 && record.starts_with(b"\xef\xbb\xbf") {
            record.drain(..3);
        }
        if std::mem::take(&mut self.too_long) {
            return (line, Err(format!("it is longer than {RECORD_BYTES_MAX} bytes")));
        }
        (line, String::from_utf8(record).map_err(|_| "it is no UTF-8 text".to_owned()))
    }
}

/// The meaning of the columns of a CSV file, from its heading.
///
/// `device` must be there; `platform`, `app_version`, `language`, `country`, `time_zone`, `named_user`, `opt_in`, `quiet_hours` (`22:00-07:00`),
/// `latitude`, `longitude`, `tags` and `lists` (several apart by `;`), and `text:NAME`, `number:NAME`, `date:NAME` for
/// attributes may. An empty cell leaves what is known.
pub(crate) struct Columns(Vec<Column>);

enum Column {
    Device,
    /// A field that is its cell's text.
    Field(&'static str),
    OptIn,
    QuietHours,
    Latitude,
    Longitude,
    Tags,
    Lists,
    Attribute(Kind, String),
    PassedOver,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Date,
}

/// Fields of a device that are a text in a column of the same name.
pub(crate) const TEXTS: [&str; 6] =
    ["platform", "app_version", "language", "country", "time_zone", "named_user"];

impl Columns {
    fn read(heading: &str) -> Result<Self, Problem> {
        let names = fields(heading).map_err(|reason| Problem::new(FIELD_WRONG, reason).at("line 1"))?;
        let column = |name: &String| {
            let name = name.trim();
            if let Some(text) = TEXTS.iter().find(|text| **text == name) {
                return Ok(Column::Field(text));
            }
            let attribute = |kind, name: &str| Ok(Column::Attribute(kind, name.to_owned()));
            match name.split_once(':') {
                Some(("text", name)) => return attribute(Kind::Text, name),
                Some(("number", name)) => return attribute(Kind::Number, name),
                Some(("date", name)) => return attribute(Kind::Date, name),
                _ => {}
            }
            match name {
                "device" => Ok(Column::Device),
                "opt_in" => Ok(Column::OptIn),
                "quiet_hours" => Ok(Column::QuietHours),
                "latitude" => Ok(Column::Latitude),
                "longitude" => Ok(Column::Longitude),
                "tags" => Ok(Column::Tags),
                "lists" => Ok(Column::Lists),
                "revoked" => Ok(Column::PassedOver),
                made if MADE.contains(&made) => Ok(Column::PassedOver),
                other => {
                    let detail = format!(
                        "there is no column {other:?}; there are device, {}, opt_in, quiet_hours, latitude, longitude, tags, lists, \
                         text:NAME, number:NAME, date:NAME",
                        TEXTS.join(", ")
                    );
                    Err(Problem::new(FIELD_WRONG, detail).at("line 1"))
                }
            }
        };
        let columns: Vec<Column> = names.iter().map(column).collect::<Result<_, _>>()?;
        if !columns.iter().any(|column| matches!(column, Column::Device)) {
            let detail = "the first line names the columns, and `device` is one of them";
            return Err(Problem::new(FIELD_WRONG, detail).at("line 1"));
        }
        Ok(Self(columns))
    }

    /// The device of a record.
    fn device(&self, record: &str) -> Result<(DeviceId, Changes), String> {
        let cells = fields(record)?;
        if cells.len() != self.0.len() {
            return Err(format!("it has {} cells, and the heading {}", cells.len(), self.0.len()));
        }
        let mut device = Map::new();
        let mut attributes = Map::new();
        let mut location = Map::new();
        for (column, cell) in self.0.iter().zip(cells) {
            let cell = unmarked(&cell);
            if cell.is_empty() {
                continue;
            }
            match column {
                Column::Device => drop(device.insert("device".into(), cell.into())),
                Column::Field(name) => drop(device.insert((*name).into(), cell.into())),
                Column::OptIn => {
                    let opt_in = match cell.to_ascii_lowercase().as_str() {
                        "true" | "yes" | "1" => true,
                        "false" | "no" | "0" => false,
                        _ => return Err(format!("opt_in: it is true or false, not {cell:?}")),
                    };
                    device.insert("opt_in".into(), opt_in.into());
                }
                Column::QuietHours => {
                    let Some((from, to)) = cell.split_once('-') else {
                        return Err(format!("quiet_hours: they are as in 22:00-07:00, not {cell:?}"));
                    };
                    device.insert("quiet_hours".into(), json!({"from": from.trim(), "to": to.trim()}));
                }
                Column::Latitude => drop(location.insert("latitude".into(), number("latitude", cell)?)),
                Column::Longitude => drop(location.insert("longitude".into(), number("longitude", cell)?)),
                Column::Tags => drop(device.insert("tags".into(), several(cell))),
                Column::Lists => drop(device.insert("lists".into(), several(cell))),
                Column::Attribute(kind, name) => {
                    let value = match kind {
                        Kind::Text => cell.into(),
                        Kind::Number => number(name, cell)?,
                        Kind::Date => json!({"date": cell}),
                    };
                    attributes.insert(name.clone(), value);
                }
                Column::PassedOver => {}
            }
        }
        if !attributes.is_empty() {
            device.insert("attributes".into(), attributes.into());
        }
        if !location.is_empty() {
            device.insert("location".into(), location.into());
        }
        imported(Value::Object(device)).map_err(|problem| problem.in_words())
    }
}

/// What stands in a cell apart by `;`.
fn several(cell: &str) -> Value {
    cell.split(';').map(str::trim).filter(|one| !one.is_empty()).collect()
}

fn number(name: &str, cell: &str) -> Result<Value, String> {
    let number = cell.trim().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
    number.map(Value::Number).ok_or_else(|| format!("{name}: {cell:?} is no number"))
}

/// The cells of a CSV record (RFC 4180).
fn fields(record: &str) -> Result<Vec<String>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .buffer_capacity(record.len().max(64))
        .from_reader(record.as_bytes());
    let mut cells = csv::StringRecord::new();
    match reader.read_record(&mut cells) {
        Ok(_) => Ok(cells.iter().map(ToOwned::to_owned).collect()),
        Err(error) => Err(format!("it is no CSV: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(format: Format, text: &[u8], piece: usize) -> Vec<(u64, Result<String, String>)> {
        let mut records = Records::new(format);
        let mut found = Vec::new();
        for bytes in text.chunks(piece) {
            records.push(bytes);
            found.extend(std::iter::from_fn(|| records.next()));
        }
        records.finish();
        found.extend(std::iter::from_fn(|| records.next()));
        found
    }

    #[test]
    fn records_are_the_same_however_the_bytes_arrive() {
        let text = "\u{feff}device,tags\r\n\"a\",\"x;\ny\"\nb,\n\nc,\"say \"\"hi\"\"\"";
        let expected =
            [(1, "device,tags"), (2, "\"a\",\"x;\ny\""), (4, "b,"), (5, ""), (6, "c,\"say \"\"hi\"\"\"")];
        for piece in 1..text.len() {
            let found = cut(Format::Csv, text.as_bytes(), piece);
            let found: Vec<_> =
                found.iter().map(|(line, record)| (*line, record.as_deref().expect("it is text"))).collect();
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_record_too_long_takes_no_other_with_it_and_no_memory() {
        let long = format!("a\n\"{}\nb\n", "x".repeat(3 * RECORD_BYTES_MAX));
        let found = cut(Format::Csv, long.as_bytes(), 1_000);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!((found[0].0, found[2].0), (1, 3));
        assert!(found[1].1.as_ref().is_err_and(|reason| reason.contains("longer than 65536 bytes")));
        assert_eq!(found[2].1.as_deref(), Ok("b"));
        assert!(cut(Format::Ndjson, b"\xff\n", 1)[0].1.is_err(), "no text");
    }
}
