//! `stadium journal export` and `import`: the shards of a stopped server, into an archive and back.
//!
//! Credentials come from the environment, as the provider's own tools read it, and never from
//! arguments, which other users of the machine can see.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use stadium_archive::{Access, Error, Imported, Progress, Settings};

use crate::failure::Failure;
use crate::shown::timestamp;
use crate::span;
use crate::terminal::{ProgressBar, Style, Terminal, count};

/// The source and the place of an export.
#[derive(Debug, Args)]
#[command(after_help = "\
URLs:
  s3://BUCKET/PREFIX      AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL
  gs://BUCKET/PREFIX      GOOGLE_APPLICATION_CREDENTIALS
  az://CONTAINER/PREFIX   AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY
  file:///FOLDER          a folder of this machine

The server must be stopped. An interrupted export leaves the one before it as it was: repeat it. Segments that an earlier
export stored are not sent again.

Examples:
  stadium journal export /var/lib/stadium --to s3://backups/stadium
  stadium journal export /var/lib/stadium --to file:///mnt/backup/stadium --upload-bytes-per-second 20000000")]
pub(super) struct ExportArguments {
    /// A stopped server's data directory
    directory: PathBuf,
    /// Where to: a URL, see below
    #[arg(long, value_name = "URL")]
    to: String,
    /// Send at most so many bytes a second, on average
    #[arg(long, value_name = "BYTES")]
    upload_bytes_per_second: Option<NonZeroU64>,
    /// Keep what nothing names any more for so long: longer than an import takes that may be running
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "1h")]
    grace: u64,
}

/// The archive and the directory of an import.
#[derive(Debug, Args)]
#[command(after_help = "\
URLs and their variables are those of `stadium journal export`. All checksums are verified. A damaged checkpoint is left out
where an older one is whole. Keys, certificates and other files of a data directory are not in an archive: copy them yourself.

Examples:
  stadium journal import /var/lib/stadium --from s3://backups/stadium
  stadium wallet verify /var/lib/stadium")]
pub(super) struct ImportArguments {
    /// A data directory that has no shards yet
    directory: PathBuf,
    /// Where from: the URL that was exported to
    #[arg(long, value_name = "URL")]
    from: String,
}

/// Copies the shards into an archive.
pub(super) fn export(arguments: &ExportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let settings = Settings {
        grace: Duration::from_millis(arguments.grace),
        upload_bytes_per_second: arguments.upload_bytes_per_second,
        ..Settings::default()
    };
    let bar = terminal.progress(0, "export");
    let exported = stadium_archive::export(
        &shards_of(&arguments.directory),
        &arguments.to,
        &Access::default(),
        &settings,
        &mut transferring(&bar),
    );
    bar.finish_and_clear();
    let exported = exported.map_err(failure)?;
    if terminal.is_json() {
        return terminal.json(&json!({
            "cut": exported.cut,
            "shards": exported.shards,
            "bytes": exported.bytes,
            "removed_objects": exported.removed.objects,
            "removed_bytes": exported.removed.bytes,
        }));
    }
    terminal.data(&format!(
        "exported {} shards, {} bytes, as cut {}",
        exported.shards,
        count(exported.bytes),
        exported.cut
    ))
}

/// Writes the shards of an archive.
pub(super) fn import(arguments: &ImportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let bar = terminal.progress(0, "import");
    let imported = stadium_archive::import(
        &arguments.directory.join("shards"),
        &arguments.from,
        &Access::default(),
        &mut transferring(&bar),
    );
    bar.finish_and_clear();
    let imported = imported.map_err(failure)?;
    for why in imported.shards.iter().flat_map(|shard| &shard.left_out) {
        terminal.note(format_args!("{} {why}", terminal.err(Style::Warning, "checkpoint left out:")));
    }
    if terminal.is_json() {
        return terminal.json(&as_json(&imported));
    }
    terminal.data(&format!(
        "imported {} shards from cut {} of {}",
        imported.shards.len(),
        imported.cut,
        timestamp(imported.stored_ms)
    ))
}

fn as_json(imported: &Imported) -> Value {
    let shards: Vec<Value> = imported
        .shards
        .iter()
        .map(|shard| {
            json!({
                "manifest": shard.manifest,
                "epoch": shard.epoch.0,
                "checkpoint": shard.checkpoint.0,
                "left_out": shard.left_out,
            })
        })
        .collect();
    json!({ "cut": imported.cut, "stored_ms": imported.stored_ms, "shards": shards })
}

/// The folder of all shards: in a data directory, or the directory itself.
fn shards_of(directory: &Path) -> PathBuf {
    let inner = directory.join("shards");
    if inner.is_dir() { inner } else { directory.to_owned() }
}

/// Shows the progress of a shard.
pub(in crate::command) fn transferring(bar: &ProgressBar) -> impl FnMut(Progress) + use<'_> {
    |progress| {
        bar.set_length(progress.of_bytes);
        bar.set_position(progress.bytes);
        bar.set_message(format!("bytes, shard {}", progress.shard));
    }
}

pub(in crate::command) fn failure(error: Error) -> Failure {
    match error.code() {
        "ARC-001" => Failure::Usage(error.to_string()),
        _ => Failure::new(error.to_string()),
    }
}
