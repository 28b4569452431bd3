//! Tables of data: CSV files, and rows written into the scenario.
//!
//! Each column becomes a variable, `table.column`, that every session sees.

use std::sync::Arc;

use super::Builder;
use super::reader::{Fields, Item};
use super::shape;
use crate::mistake::Mistake;
use crate::table::{Order, Rows, Table};
use crate::value::Value;

/// Columns of a table, at most.
const COLUMNS_MAX: usize = 1_000;

impl<'a> Builder<'a, '_> {
    pub(super) fn data(&mut self, fields: &Fields<'a>) {
        let Some(item) = fields.item("data") else {
            return;
        };
        for entry in self.reader.map(item) {
            let is_name = self.is_variable(entry.key, &entry.at);
            let Some(fields) = self.reader.fields(entry.item, &shape::DATA) else {
                continue;
            };
            let orders =
                [("sequential", Order::Sequential), ("random", Order::Random), ("unique", Order::Unique)];
            let order = fields
                .item("order")
                .and_then(|item| self.reader.word(item, &orders))
                .unwrap_or(Order::Sequential);
            let read = match (fields.item("file"), fields.item("rows")) {
                (Some(file), None) => self.csv(file, &fields),
                (None, Some(rows)) => self.rows(rows),
                (Some(_), Some(rows)) => {
                    self.reader.problem(rows.span(), "a table has a file or rows, not both");
                    None
                }
                (None, None) => {
                    let mistake =
                        Mistake::new(entry.at.clone(), format!("the table `{}` has no data", entry.key));
                    self.reader.note(mistake.hint("with `file = \"....csv\"` or `rows = [{ ... }]`"));
                    None
                }
            };
            let Some((columns, rows)) = read.filter(|_| is_name) else {
                continue;
            };
            if rows.is_empty() {
                self.reader.problem(entry.at.clone(), format!("the table `{}` has no rows", entry.key));
            }
            let mut slots = Vec::with_capacity(columns.len());
            for column in &columns {
                match self.variables.declare_everywhere(&format!("{}.{column}", entry.key)) {
                    Some(slot) => slots.push(slot),
                    None => return self.too_many_variables(entry.at),
                }
            }
            self.tables.push(Table {
                name: entry.key.to_owned(),
                columns: slots,
                order,
                rows: Arc::new(rows),
            });
        }
    }

    /// The bytes of a file that a value names.
    pub(super) fn file(&mut self, item: &'a Item<'a>) -> Option<Vec<u8>> {
        let path = self.reader.text(item)?;
        match (self.files)(path) {
            Ok(bytes) => Some(bytes),
            Err(reason) => {
                self.reader.problem(item.span(), format!("cannot read `{path}`: {reason}"));
                None
            }
        }
    }

    fn csv(&mut self, item: &'a Item<'a>, fields: &Fields<'a>) -> Option<(Vec<String>, Rows)> {
        let bytes = self.file(item)?;
        let named = match fields.item("columns") {
            Some(columns) => Some(self.column_names(columns)?),
            None => None,
        };
        let delimiter = match fields.item("delimiter") {
            Some(item) => self.delimiter(item)?,
            None => b',',
        };
        // A byte order mark belongs to no column.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(bytes);
        let path = self.reader.text(item)?;
        let mut columns = named;
        let mut rows = columns.as_ref().map(|columns| Rows::new(columns.len()));
        let mut record = csv::StringRecord::new();
        loop {
            match reader.read_record(&mut record) {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => {
                    let line = error.position().map_or(0, csv::Position::line);
                    let reason = match error.kind() {
                        csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
                        _ => error.to_string(),
                    };
                    self.reader.problem(item.span(), format!("`{path}`, line {line}: {reason}"));
                    return None;
                }
            }
            let line = record.position().map_or(0, csv::Position::line);
            let (Some(columns), Some(rows)) = (&columns, &mut rows) else {
                let names: Vec<String> = record.iter().map(|name| name.trim().to_owned()).collect();
                if let Some(reason) = wrong_columns(&names) {
                    self.reader.problem(item.span(), format!("`{path}`, line {line}: {reason}"));
                    return None;
                }
                rows = Some(Rows::new(names.len()));
                columns = Some(names);
                continue;
            };
            if record.len() != columns.len() {
                let message =
                    format!("`{path}`, line {line}: {} fields, but {} columns", record.len(), columns.len());
                self.reader.problem(item.span(), message);
                return None;
            }
            for field in &record {
                if rows.push_text(field).is_err() {
                    self.reader.problem(item.span(), format!("`{path}` has more than 4 GiB of text"));
                    return None;
                }
            }
        }
        match (columns, rows) {
            (Some(columns), Some(rows)) => Some((columns, rows)),
            _ => {
                self.reader.problem(item.span(), format!("`{path}` is empty"));
                None
            }
        }
    }

    fn column_names(&mut self, item: &'a Item<'a>) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for item in self.reader.list(item) {
            names.push(self.reader.text(item)?.to_owned());
        }
        match wrong_columns(&names) {
            Some(reason) => {
                self.reader.problem(item.span(), reason);
                None
            }
            None => Some(names),
        }
    }

    fn delimiter(&mut self, item: &'a Item<'a>) -> Option<u8> {
        match self.reader.text(item)?.as_bytes() {
            [byte] if !matches!(byte, b'"' | b'\n' | b'\r') => Some(*byte),
            _ => {
                self.reader.problem(item.span(), "a delimiter is one ASCII character, and no quote");
                None
            }
        }
    }

    fn rows(&mut self, item: &'a Item<'a>) -> Option<(Vec<String>, Rows)> {
        let items = self.reader.list(item);
        let mut columns: Vec<String> = Vec::new();
        let mut read: Vec<Vec<(usize, Value)>> = Vec::new();
        for item in items {
            let mut row = Vec::new();
            for entry in self.reader.map(item) {
                let column = columns.iter().position(|name| name == entry.key).unwrap_or_else(|| {
                    columns.push(entry.key.to_owned());
                    columns.len() - 1
                });
                row.push((column, self.reader.value(entry.item)?));
            }
            read.push(row);
        }
        if let Some(reason) = wrong_columns(&columns) {
            self.reader.problem(item.span(), reason);
            return None;
        }
        let mut rows = Rows::new(columns.len());
        for row in read {
            for column in 0..columns.len() {
                let value = row.iter().find(|(at, _)| *at == column).map_or(&Value::Null, |(_, value)| value);
                if rows.push(value).is_err() {
                    self.reader.problem(item.span(), "more than 4 GiB of text");
                    return None;
                }
            }
        }
        Some((columns, rows))
    }
}

fn wrong_columns(names: &[String]) -> Option<String> {
    if names.is_empty() {
        return Some("there are no columns".to_owned());
    }
    if names.len() > COLUMNS_MAX {
        return Some(format!("more than {COLUMNS_MAX} columns"));
    }
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Some(format!("column {} has no name", at + 1));
        }
        if names[..at].contains(name) {
            return Some(format!("two columns are called `{name}`"));
        }
    }
    None
}
