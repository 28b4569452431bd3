//! Runs `backup`, `restore`, `export`, `import` and `restore-log`, and shows how far they are.
//!
//! Credentials of stores come from the environment, as for `stadium journal export`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use stadium_cluster_admin::{Admin, Backup, Error, Progress, RestoreMode};
use stadium_membership::Shard;
use tempfile::TempDir;

use super::act::{open_with_store, show};
use super::copy_flags::{
    BackupArguments, ExportArguments, ImportArguments, RestoreArguments, RestoreLogArguments, ScratchFlags,
    StoreFlags,
};
use super::look;
use super::pace::failed;
use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// How often the removal of a folder is tried in which files still appear.
const REMOVALS_MAX: u32 = 100;

pub(super) fn backup(arguments: BackupArguments, terminal: &Terminal) -> Result<(), Failure> {
    let BackupArguments { to: url, upload_bytes_per_second, grace, scratch, store } = arguments;
    let backup = Backup { url, grace: Duration::from_millis(grace), upload_bytes_per_second };
    let scratch = scratch.make()?;
    let report = store
        .run("backup", terminal, |admin, store, tell| admin.backup(store, &backup, scratch.path(), tell))?;
    show(&report, terminal, look::copied)
}

pub(super) fn restore(arguments: RestoreArguments, terminal: &Terminal) -> Result<(), Failure> {
    let RestoreArguments { from, erasures, scratch, store } = arguments;
    let scratch = scratch.make()?;
    let shared = |moment_ms| match &erasures {
        Some(data) => stadium_node::erased_after(data, moment_ms).map_err(|error| error.to_string()),
        None => Ok(BTreeMap::new()),
    };
    let report = store.run("restore", terminal, |admin, store, tell| {
        admin.restore(store, &from, scratch.path(), shared, tell)
    })?;
    show(&report, terminal, look::filled)
}

pub(super) fn export(arguments: ExportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ExportArguments { directory, store } = arguments;
    let report = store.run("export", terminal, |admin, store, tell| admin.export(store, &directory, tell))?;
    show(&report, terminal, look::copied)
}

pub(super) fn import(arguments: ImportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ImportArguments { directory, scratch, store } = arguments;
    let scratch = scratch.make()?;
    let report = store.run("import", terminal, |admin, store, tell| {
        admin.import(store, &directory, scratch.path(), tell)
    })?;
    show(&report, terminal, look::filled)
}

pub(super) fn restore_log(arguments: RestoreLogArguments, terminal: &Terminal) -> Result<(), Failure> {
    let RestoreLogArguments { shard, mirror, append, config } = arguments;
    let (mut admin, _) = open_with_store(&config)?;
    let mode = if append { RestoreMode::Append } else { RestoreMode::DryRun };
    let report = admin.restore_log(Shard(shard), &mirror, mode).map_err(failed)?;
    show(&report, terminal, look::restored_log)
}

impl ScratchFlags {
    fn make(&self) -> Result<TempDir, Failure> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("stadium-cluster-");
        let (made, folder) = match &self.scratch {
            Some(folder) => (builder.tempdir_in(folder), folder.clone()),
            None => (builder.tempdir(), std::env::temp_dir()),
        };
        let made = made.context(format_args!("no folder can be made in {}", folder.display()))?;
        remove_on_signal(made.path().to_owned())?;
        Ok(made)
    }
}

/// Has the folder removed where a signal ends the command: it has copies of shards.
fn remove_on_signal(folder: PathBuf) -> Result<(), Failure> {
    let listening = "signals cannot be listened for";
    let mut signals = Signals::new([SIGINT, SIGTERM]).context(listening)?;
    let waits = move || {
        let Some(signal) = signals.forever().next() else { return };
        // The copy goes on writing there meanwhile, so files may appear again.
        let _gone = (0..REMOVALS_MAX).find(|_| fs::remove_dir_all(&folder).is_ok() && !folder.exists());
        // It ends the process.
        _ = emulate_default_handler(signal);
    };
    thread::Builder::new().name("signals".to_owned()).spawn(waits).map(|_| ()).context(listening)
}

impl StoreFlags {
    /// Runs a copy, with a bar while a person watches, and a line for each step otherwise.
    fn run<T>(
        self,
        label: &str,
        terminal: &Terminal,
        mut act: impl FnMut(&mut Admin, Option<String>, &mut (dyn FnMut(&Progress) + Send)) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let (mut admin, configured) = open_with_store(&self.config)?;
        let bar = terminal.progress(1, label);
        let mut last = String::new();
        let is_told = !terminal.is_watched() && !terminal.is_json();
        let mut tell = |progress: &Progress| {
            bar.set_length(progress.all as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(progress.step.clone());
            if is_told && progress.step != last {
                terminal.note(&progress.step);
                last.clone_from(&progress.step);
            }
        };
        let done = act(&mut admin, self.store.or(configured), &mut tell);
        bar.finish_and_clear();
        done.map_err(failed)
    }
}
