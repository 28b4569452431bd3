//! `stadium restore`: a data directory as the server was at a moment, proved by a replay.
//!
//! The state moves to its place only after every shard was replayed, and after the wallet roots that
//! the backup names were found in the restored books.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use stadium_archive::{Access, Error, Moment, Restoration};
use stadium_node::replay::{Contents, Replayed, record_time, replay};

use super::backup::read_key;
use super::journal::archive::{failure, transferring};
use crate::failure::Failure;
use crate::shown::{Table, parse_timestamp, timestamp};
use crate::terminal::{Style, Terminal, count};

/// Restores a data directory from backups.
#[derive(Debug, Args)]
#[command(after_help = "\
URLs and their variables are those of `stadium backup`. The newest backup is restored unless a moment is named; every moment
from the oldest backup to the newest one can be. All shards are cut at the same time.

Examples:
  stadium restore s3://backups/stadium --data /var/lib/stadium
  stadium restore s3://backups/stadium --data copy --at 2026-11-27T09:30:00Z
  stadium restore s3://backups/stadium --data copy --at-record 0:0x1a40")]
pub(crate) struct Arguments {
    /// Where the backups are
    from: String,
    /// An empty data directory, or one that does not exist
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// To this time: every record that is not later
    #[arg(long, value_name = "TIMESTAMP", value_parser = parse_timestamp, group = "moment")]
    at: Option<u64>,
    /// To the time of the record at this position of a shard, that record included
    #[arg(long, value_name = "SHARD:POSITION", value_parser = parse_record, group = "moment")]
    at_record: Option<(u16, u64)>,
    /// To the moment of this backup
    #[arg(long, value_name = "N", group = "moment")]
    backup: Option<u64>,
    /// Open files with secrets by the secret in this file
    #[arg(long, value_name = "FILE")]
    secrets_key: Option<PathBuf>,
}

fn parse_record(text: &str) -> Result<(u16, u64), String> {
    let wrong = || format!("{text:?} is no SHARD:POSITION, such as 0:0x1a40");
    let (shard, position) = text.split_once(':').ok_or_else(wrong)?;
    let position = match position.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => position.parse(),
    };
    Ok((shard.parse().map_err(|_| wrong())?, position.map_err(|_| wrong())?))
}

/// Restores.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let key = read_key(arguments.secrets_key.as_ref())?;
    let moment = match (arguments.at, arguments.at_record, arguments.backup) {
        (Some(time_ms), ..) => Moment::At(time_ms),
        (_, Some((shard, position)), _) => Moment::Record { shard, position },
        (.., Some(number)) => Moment::Backup(number),
        _ => Moment::Newest,
    };
    let bar = terminal.progress(0, "restore");
    let mut replayed = Vec::new();
    let restored = stadium_archive::restore(
        &arguments.data,
        &arguments.from,
        (&Access::default(), key.as_ref()),
        moment,
        record_time,
        &mut transferring(&bar),
        &mut |data, restoration| {
            replayed = prove(data, restoration)?;
            let noted = stadium_node::restored(data, restoration.moment_ms);
            noted.map_err(|error| Error::Unproved(format!("the erasures cannot be noted: {error}")))
        },
    );
    bar.finish_and_clear();
    let restored = restored.map_err(failure)?;
    report("restored", &restored, &replayed, terminal)?;
    for part in restored.backup.configuration.iter().filter(|part| part.stored.is_some()) {
        let name = format!("configuration.{}", part.setting);
        if !restored.sealed.contains(&name) {
            let was = part.path.as_ref().map_or_else(String::new, |path| format!(", was {path}"));
            terminal.note(format_args!(
                "restored for you to put in its place: configuration/{}{was}",
                part.setting
            ));
        }
    }
    for name in &restored.backup.left_out {
        terminal.note(format_args!("{} {name}", terminal.err(Style::Warning, "not in the backup:")));
    }
    for name in &restored.sealed {
        let why = terminal.err(Style::Warning, "not restored, sealed (see --secrets-key):");
        terminal.note(format_args!("{why} {name}"));
    }
    Ok(())
}

/// Replays each shard as a start does, and finds the wallet roots that the backup names.
///
/// # Errors
/// `Unproved`.
pub(super) fn prove(data: &Path, restoration: &Restoration) -> Result<Vec<Replayed>, Error> {
    let all = data.join("shards");
    let mut proved = Vec::new();
    for (shard, backup) in (0..).zip(&restoration.backup.shards) {
        let replayed = replay(&all, shard)
            .map_err(|refused| Error::Unproved(format!("shard {shard}: {}", refused.message)))?;
        let is_whole = restoration.moment_ms == restoration.backup.moment_ms;
        if let (true, Some(promised)) = (is_whole, &backup.seal) {
            let seals = &replayed.contents.seals;
            let found = seals.iter().find(|seal| seal.number == promised.number);
            if found.is_none_or(|found| hex(&found.root) != promised.root) {
                return Err(Error::Unproved(format!(
                    "shard {shard}: the wallet root of seal {} is not {}",
                    promised.number, promised.root
                )));
            }
        }
        proved.push(replayed);
    }
    Ok(proved)
}

/// Prints what the shards hold and their wallet roots.
pub(super) fn report(
    done: &str,
    restored: &Restoration,
    replayed: &[Replayed],
    terminal: &Terminal,
) -> Result<(), Failure> {
    let root = |contents: &Contents| contents.seals.last().map(|seal| (seal.number, hex(&seal.root)));
    if terminal.is_json() {
        let shards: Vec<Value> = replayed
            .iter()
            .map(|Replayed { records, contents, .. }| {
                let root = root(contents).map(|(seal, root)| json!({"seal": seal, "root": root}));
                json!({
                    "records": records,
                    "jobs": contents.jobs,
                    "accounts": contents.accounts,
                    "apps": contents.apps,
                    "devices": contents.devices,
                    "sessions": contents.sessions,
                    "retained": contents.retained,
                    "wallet_root": root,
                })
            })
            .collect();
        return terminal.json(&json!({
            "moment_ms": restored.moment_ms,
            "backup": restored.backup.number,
            "shards": shards,
            "left_out": restored.backup.left_out,
            "sealed": restored.sealed,
            "configuration": restored.backup.configuration.iter().filter_map(|part| {
                part.stored.as_ref().map(|_| json!({"setting": part.setting, "was": part.path}))
            }).collect::<Vec<_>>(),
        }));
    }
    let at = timestamp(restored.moment_ms);
    terminal.data(&format!("{done} as of {at}, from backup {}", restored.backup.number))?;
    let mut table =
        Table::new(&["shard>", "replayed>", "jobs>", "accounts>", "devices>", "sessions>", "retained>"]);
    for (shard, Replayed { records, contents, .. }) in replayed.iter().enumerate() {
        let counts = [
            *records,
            contents.jobs,
            contents.accounts,
            contents.devices,
            contents.sessions,
            contents.retained,
        ];
        table.row(std::iter::once(shard.to_string()).chain(counts.map(count)).collect());
    }
    table.print(terminal)?;
    for (shard, replayed) in replayed.iter().enumerate() {
        if let Some((seal, root)) = root(&replayed.contents) {
            terminal.data(&format!("wallet root of shard {shard}, seal {seal}: {root}"))?;
        }
    }
    for why in restored.shards.iter().flat_map(|shard| &shard.left_out) {
        terminal.note(format_args!("{} {why}", terminal.err(Style::Warning, "checkpoint left out:")));
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_named_by_shard_and_position() {
        assert_eq!(parse_record("3:0x1a40"), Ok((3, 0x1a40)));
        assert_eq!(parse_record("0:64"), Ok((0, 64)));
        for wrong in ["", "3", "x:1", "3:", "3:0xg", "70000:1"] {
            assert!(parse_record(wrong).is_err(), "{wrong}");
        }
    }
}
