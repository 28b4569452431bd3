//! `stadium wallet statement`: all entries of an account as a file, however many they are.
//!
//! The server writes them; here they are only forwarded, so that nothing is held in memory.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::look::EntryFlags;
use super::path_of;
use crate::api::Api;
use crate::failure::{Context, Failure};
use crate::terminal::{Terminal, count};

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  stadium wallet statement alice EUR --from 2030-01-01T00:00:00Z --to 2030-02-01T00:00:00Z --output january.csv")]
pub(super) struct Arguments {
    /// The wallet
    wallet: String,
    /// Which account
    asset: String,
    #[command(flatten)]
    entries: EntryFlags,
    /// How it is written [default: csv; json with --json]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line of comma-separated values for each entry
    Csv,
    /// A JSON document
    Json,
}

/// Writes it.
pub(super) fn run(api: &Api, arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let format = match (arguments.format, terminal.is_json()) {
        (Some(Format::Csv), _) | (None, false) => "csv",
        (Some(Format::Json), _) | (None, true) => "json",
    };
    let path = path_of(&arguments.wallet, Some(&arguments.asset), "/statement");
    let path = format!("{path}?format={format}{}", arguments.entries.query());
    let Some(file) = &arguments.output else {
        return api.download(&path, &mut io::stdout().lock()).map(|_| ());
    };
    // Asked first: where the server refuses, an old file stays as it was.
    let mut out = Late { path: file, file: None };
    let bytes = api.download(&path, &mut out)?;
    out.file.map_or(Ok(()), |file| file.sync_all()).context(file.display())?;
    terminal.note(format_args!("{} bytes in {}", count(bytes), file.display()));
    Ok(())
}

/// A file that is made when the first bytes come.
struct Late<'a> {
    path: &'a PathBuf,
    file: Option<File>,
}

impl Write for Late<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = Some(File::create(self.path)?);
        }
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}
