//! `stadium backup`: states of a server in an object store, listed, proved and removed; a stopped
//! server's directory is backed up by `create`, a running server backs itself up.
//!
//! Credentials come from the environment, as for archives, and never from arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use stadium_archive::{
    Access, Archive, Backup, Keep, Moment, SecretsKey, Settings, create_stopped, list, prune,
};

use super::journal::archive::{failure, transferring};
use super::restore::{prove, report};
use crate::failure::{Context, Failure};
use crate::settings_flags::ConfigFlags;
use crate::shown::{Table, timestamp};
use crate::span;
use crate::terminal::{Terminal, count};

/// The time of grace of a prune by hand: longer than a backup by another process may take.
const GRACE: &str = "1d";

/// Backups of a server, in an object store.
#[derive(Debug, Args)]
#[command(after_help = "\
URLs:
  s3://BUCKET/PREFIX      AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL
  gs://BUCKET/PREFIX      GOOGLE_APPLICATION_CREDENTIALS
  az://CONTAINER/PREFIX   AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY
  file:///FOLDER          a folder of this machine

A running server backs itself up: see the settings [backup].")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Back up a stopped server's data directory
    Create(CreateArguments),
    /// List the backups at a URL, newest last
    List {
        /// Where they are
        url: String,
        /// So many of the newest
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Restore a backup into a scratch directory, replay it, print its wallet roots, and remove it again
    Verify(VerifyArguments),
    /// Remove old backups, and what no kept one needs
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
struct CreateArguments {
    /// A stopped server's data directory
    directory: PathBuf,
    /// Where to
    #[arg(long, value_name = "URL")]
    to: String,
    /// Seal files with secrets by the secret in this file; without it they are left out
    #[arg(long, value_name = "FILE")]
    secrets_key: Option<PathBuf>,
    /// Store this configuration too, and the files that it names
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct VerifyArguments {
    /// Where the backups are
    url: String,
    /// Another backup than the newest
    #[arg(long, value_name = "N")]
    backup: Option<u64>,
    /// A folder with room for a whole copy; that of temporary files if none is named
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct PruneArguments {
    /// Where the backups are
    url: String,
    /// Keep so many of the newest
    #[arg(long, value_name = "N", required_unless_present = "keep_for")]
    keep: Option<u32>,
    /// Keep each moment of this time before the newest
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    keep_for: Option<u64>,
    /// Leave objects that are younger: longer than a backup or a restore takes that may be running
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = GRACE)]
    grace: u64,
}

/// Runs one of them.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match &arguments.action {
        Action::Create(arguments) => create(arguments, terminal),
        Action::List { url, limit } => show_list(url, *limit, terminal),
        Action::Verify(arguments) => verify(arguments, terminal),
        Action::Prune(arguments) => remove(arguments, terminal),
    }
}

/// Reads the key of secrets.
pub(super) fn read_key(path: Option<&PathBuf>) -> Result<Option<SecretsKey>, Failure> {
    path.map(|path| SecretsKey::read(path).map_err(failure)).transpose()
}

fn create(arguments: &CreateArguments, terminal: &Terminal) -> Result<(), Failure> {
    let key = read_key(arguments.secrets_key.as_ref())?;
    let configuration = match &arguments.config {
        Some(file) => stadium_node::configured(&ConfigFlags::of_file(file).load()?),
        None => Vec::new(),
    };
    let bar = terminal.progress(0, "backup");
    let (access, settings) = (Access::default(), Settings::default());
    let created = create_stopped(
        &arguments.directory,
        &arguments.to,
        (&access, &settings),
        (key.as_ref(), configuration),
        env!("CARGO_PKG_VERSION"),
        &mut transferring(&bar),
    );
    bar.finish_and_clear();
    let backup = created.map_err(failure)?;
    if terminal.is_json() {
        return terminal.json(&as_json(&backup));
    }
    terminal.data(&format!(
        "backup {} of {} shards as of {}",
        backup.number,
        backup.shards.len(),
        timestamp(backup.moment_ms)
    ))?;
    for name in &backup.left_out {
        let why = match key {
            Some(_) => "it cannot be read",
            None => "a secret (see --secrets-key), or it cannot be read",
        };
        terminal.note(format_args!("left out: {name}, {why}"));
    }
    Ok(())
}

fn show_list(url: &str, limit: usize, terminal: &Terminal) -> Result<(), Failure> {
    let (backups, all) = list(url, &Access::default(), limit).map_err(failure)?;
    if terminal.is_json() {
        let backups: Vec<Value> = backups.iter().map(as_json).collect();
        return terminal.json(&json!({ "backups": backups, "all": all }));
    }
    let mut table = Table::new(&["backup>", "moment", "shards>", "files>", "version"]);
    for backup in &backups {
        table.row(vec![
            backup.number.to_string(),
            timestamp(backup.moment_ms),
            backup.shards.len().to_string(),
            backup.files.len().to_string(),
            backup.version.clone(),
        ]);
    }
    table.print(terminal)?;
    if all > backups.len() {
        terminal.note(format_args!("{} older ones are not shown", count((all - backups.len()) as u64)));
    }
    Ok(())
}

fn verify(arguments: &VerifyArguments, terminal: &Terminal) -> Result<(), Failure> {
    let parent = arguments.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::Builder::new().prefix("stadium-verify-").tempdir_in(&parent);
    let scratch = scratch.context(parent.display())?;
    let moment = arguments.backup.map_or(Moment::Newest, Moment::Backup);
    let bar = terminal.progress(0, "verify");
    let mut replayed = Vec::new();
    let restored = stadium_archive::restore(
        &scratch.path().join("data"),
        &arguments.url,
        (&Access::default(), None),
        moment,
        stadium_node::replay::record_time,
        &mut transferring(&bar),
        &mut |data, restoration| {
            replayed = prove(data, restoration)?;
            Ok(())
        },
    );
    bar.finish_and_clear();
    report("verified", &restored.map_err(failure)?, &replayed, terminal)
}

fn remove(arguments: &PruneArguments, terminal: &Terminal) -> Result<(), Failure> {
    let keep = Keep { count: arguments.keep, age_ms: arguments.keep_for };
    let settings = Settings { grace: Duration::from_millis(arguments.grace), ..Settings::default() };
    let pruned = Archive::at(&arguments.url, &Access::default(), &settings, async |archive| {
        prune(&archive, keep).await
    });
    let pruned = pruned.map_err(failure)?;
    if terminal.is_json() {
        return terminal.json(&json!({
            "backups": pruned.backups,
            "kept": pruned.kept,
            "objects": pruned.objects,
            "bytes": pruned.bytes,
        }));
    }
    terminal.data(&format!(
        "removed {} backups and {} objects, {} bytes; {} backups are left",
        count(pruned.backups),
        count(pruned.objects),
        count(pruned.bytes),
        count(pruned.kept)
    ))
}

fn as_json(backup: &Backup) -> Value {
    json!({
        "number": backup.number,
        "moment_ms": backup.moment_ms,
        "stored_ms": backup.stored_ms,
        "history": backup.history,
        "version": backup.version,
        "shards": backup.shards.len(),
        "files": backup.files.iter().map(|file| &file.name).collect::<Vec<_>>(),
        "left_out": backup.left_out,
        "configuration": backup.configuration.iter().map(|part| &part.setting).collect::<Vec<_>>(),
    })
}
