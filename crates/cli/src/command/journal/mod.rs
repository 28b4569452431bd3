//! `stadium journal`: the journals of a data directory, looked at, repaired and copied without a server.
//!
//! `verify` and `dump` change nothing, and may look at what a server has open. `verify` also
//! replays what no server has open, as a start does. `repair` needs it closed, and destroys
//! nothing: damaged files are kept under another name. Where journals are is found in [`place`];
//! [`archive`] copies them into an object store and back.

pub(super) mod archive;
mod dump;
mod place;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use stadium_journal::inspect::Report;
use stadium_journal::repair::{Repaired, repair};
use stadium_node::replay::{Refused, Replayed};

use self::place::{PlaceArguments, Shard};
use crate::failure::{Context, Failure};
use crate::terminal::{Style, Terminal, count};

/// What to do with journals.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read and replay everything, and report what is damaged or would not start; exit code 1 where
    /// something is
    Verify {
        #[command(flatten)]
        place: PlaceArguments,
    },
    /// Print the records: when what happened to which job
    Dump(dump::Arguments),
    /// Go on without what is damaged; damaged files are kept beside the others
    Repair {
        #[command(flatten)]
        place: PlaceArguments,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Copy all shards of a stopped server into an archive: a folder, S3, Google or Azure
    Export(archive::ExportArguments),
    /// Write all shards of an archive into a data directory that has none
    Import(archive::ImportArguments),
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Verify { place } => verify(&place, terminal),
        Action::Dump(arguments) => dump::run(&arguments, terminal),
        Action::Repair { place, yes } => mend(&place, yes, terminal),
        Action::Export(arguments) => archive::export(&arguments, terminal),
        Action::Import(arguments) => archive::import(&arguments, terminal),
    }
}

fn verify(place: &PlaceArguments, terminal: &Terminal) -> Result<(), Failure> {
    let (mut damages, mut refused) = (0, 0);
    let mut reports = Vec::new();
    for shard in place.shards()? {
        let looked_at = LookedAt::at(&shard)?;
        damages += looked_at.report.damages.len();
        refused += usize::from(looked_at.is_refused());
        if terminal.is_json() {
            reports.push(as_json(&looked_at));
        } else {
            print_report(&looked_at, terminal)?;
        }
    }
    if terminal.is_json() {
        terminal.json(&json!({ "journals": reports }))?;
    }
    if refused > 0 && damages == 0 {
        return Err(Failure::new(cannot_start(refused)));
    }
    match damages {
        0 => Ok(()),
        _ => Err(Failure::new(format!(
            "damaged in {damages} places; `stadium journal repair {}` goes on without what is lost, once the server is \
             stopped; a copy of the directory first does no harm",
            place.directory.display()
        ))),
    }
}

/// A journal that was looked at.
struct LookedAt {
    checkpoint: u64,
    report: Report,
    /// Checkpoints that cannot be read.
    checkpoints: Vec<String>,
    /// None where a server has it open, or it is damaged anyway.
    replay: Option<Result<Replayed, Refused>>,
}

impl LookedAt {
    fn at(shard: &Shard) -> Result<Self, Failure> {
        let checkpoint = shard.checkpoint()?;
        let report = shard.inspect()?.verify(checkpoint).context(shard.shown())?;
        let is_whole = report.damages.is_empty() && report.in_use_by.is_none();
        Ok(Self {
            checkpoint: checkpoint.0,
            report,
            checkpoints: shard.damaged_checkpoints()?,
            replay: if is_whole { shard.replay() } else { None },
        })
    }

    fn is_refused(&self) -> bool {
        matches!(self.replay, Some(Err(_)))
    }
}

/// The message about journals whose records are whole and cannot be applied.
fn cannot_start(shards: usize) -> String {
    format!(
        "{shards} of the journals cannot be replayed: a server would not start. Nothing is damaged that repair could leave \
         out: keep a copy of the directory, start the version that wrote it, and report this"
    )
}

fn print_report(
    LookedAt { checkpoint, report, checkpoints, replay }: &LookedAt,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let verdict = match replay {
        Some(Err(_)) => terminal.out(Style::Bad, "refused"),
        _ if report.damages.is_empty() => terminal.out(Style::Good, "sound"),
        _ => terminal.out(Style::Bad, "damaged"),
    };
    let title = terminal.out(Style::Strong, format!("shard {}", report.shard));
    terminal.data(&format!("{title} {verdict}  {}", terminal.out(Style::Name, &report.place)))?;
    terminal.data(&format!(
        "  {} records in {} segments, up to position {}; checkpoint at {checkpoint:#x}",
        count(report.records),
        report.segments.len(),
        report.end
    ))?;
    if let Some(process) = report.in_use_by {
        let who = if process == 0 { "a server".to_owned() } else { format!("process {process}") };
        terminal.data(&format!("  {who} has it open: its end was not judged"))?;
    }
    if report.torn_bytes > 0 {
        terminal.data(&format!(
            "  {} bytes at the end were never finished; the next start cuts them, and nobody was promised them",
            count(report.torn_bytes)
        ))?;
    }
    for segment in &report.segments {
        terminal.data(&format!(
            "  {} to {}  {:<9}  {:>10} records  {}",
            segment.start,
            segment.end,
            segment.state.name(),
            count(segment.records),
            segment.file
        ))?;
    }
    for damage in &report.damages {
        terminal.data(&format!("  {} {damage}", terminal.out(Style::Bad, "damage:")))?;
    }
    for damage in checkpoints {
        terminal.data(&format!("  {} {damage}", terminal.out(Style::Warning, "checkpoint skipped:")))?;
    }
    match replay {
        Some(Ok(replayed)) => {
            terminal.data(&format!("  replayed: {} records behind the checkpoint", count(replayed.records)))
        }
        Some(Err(Refused { message, .. })) => {
            terminal.data(&format!("  {} {message}", terminal.out(Style::Bad, "a start would refuse:")))
        }
        None => Ok(()),
    }
}

fn as_json(LookedAt { checkpoint, report, checkpoints, replay }: &LookedAt) -> Value {
    let replay = replay.as_ref().map(|replay| match replay {
        Ok(replayed) => json!({"records": replayed.records}),
        Err(Refused { position, what, .. }) => json!({"position": position, "what": what}),
    });
    let segments: Vec<Value> = report
        .segments
        .iter()
        .map(|segment| {
            json!({
                "file": segment.file,
                "start": segment.start.0,
                "end": segment.end.0,
                "bytes": segment.bytes,
                "records": segment.records,
                "batches": segment.batches,
                "state": segment.state.name(),
            })
        })
        .collect();
    let damages: Vec<Value> = report
        .damages
        .iter()
        .map(|damage| {
            json!({
                "file": damage.file,
                "offset": damage.offset,
                "position": damage.position.0,
                "what": damage.what,
            })
        })
        .collect();
    json!({
        "shard": report.shard,
        "place": report.place,
        "in_use_by": report.in_use_by,
        "records": report.records,
        "end": report.end.0,
        "checkpoint": checkpoint,
        "torn_bytes": report.torn_bytes,
        "segments": segments,
        "damages": damages,
        "damaged_checkpoints": checkpoints,
        "replay": replay,
    })
}

fn mend(place: &PlaceArguments, yes: bool, terminal: &Terminal) -> Result<(), Failure> {
    let mut damaged: Vec<(Shard, usize)> = Vec::new();
    let mut refused = 0;
    for shard in place.shards()? {
        let looked_at = LookedAt::at(&shard)?;
        refused += usize::from(looked_at.is_refused());
        if let Some(Err(Refused { message, .. })) = &looked_at.replay {
            terminal.note(format_args!(
                "{} {}: {message}",
                terminal.err(Style::Bad, "refused"),
                shard.shown()
            ));
        }
        if !looked_at.report.damages.is_empty() {
            damaged.push((shard, looked_at.report.damages.len()));
        }
    }
    if !yes && !damaged.is_empty() {
        let places: usize = damaged.iter().map(|(_, damages)| damages).sum();
        terminal.confirm(&format!(
            "Go on without what is lost in {places} places? The damaged files are kept under another name."
        ))?;
    }
    let mut results = Vec::new();
    for (shard, _) in &damaged {
        let repaired = repair(&shard.journal, shard.checkpoint()?).context(shard.shown())?;
        if terminal.is_json() {
            results.push(repaired_json(shard, &repaired));
        } else {
            print_repaired(shard, &repaired, terminal)?;
        }
    }
    for (shard, _) in &damaged {
        if let Some(Err(Refused { message, .. })) = shard.replay() {
            refused += 1;
            terminal.note(format_args!(
                "{} {}: {message}",
                terminal.err(Style::Bad, "refused"),
                shard.shown()
            ));
        }
    }
    if terminal.is_json() {
        terminal.json(&json!({ "repaired": results }))?;
    } else if damaged.is_empty() && refused == 0 {
        terminal.data("nothing is damaged, nothing was done")?;
    }
    match refused {
        0 => Ok(()),
        refused => Err(Failure::new(cannot_start(refused))),
    }
}

fn print_repaired(shard: &Shard, repaired: &Repaired, terminal: &Terminal) -> Result<(), Failure> {
    terminal.data(&format!("{} {}", terminal.out(Style::Strong, "repaired"), shard.shown()))?;
    for lost in &repaired.lost {
        terminal.data(&format!("  lost from {} to {}: {}", lost.from, lost.until, lost.what))?;
    }
    for kept in &repaired.kept {
        terminal.data(&format!("  kept as it was: {kept}"))?;
    }
    for written in &repaired.written {
        terminal.data(&format!("  written anew: {written}"))?;
    }
    Ok(())
}

fn repaired_json(shard: &Shard, repaired: &Repaired) -> Value {
    let lost: Vec<Value> = repaired
        .lost
        .iter()
        .map(|lost| json!({"from": lost.from.0, "until": lost.until.0, "what": lost.what}))
        .collect();
    json!({"place": shard.shown(), "lost": lost, "kept": repaired.kept, "written": repaired.written})
}
