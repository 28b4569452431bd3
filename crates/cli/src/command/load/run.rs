//! `stadium load run`: a scenario, from its first user to its report.
//!
//! It is seen in the terminal, as lines or on a page; its result is printed, kept in a folder, copied to an object store.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use stadium_load::results::{self, Access};
use stadium_load::run::{Control, Progress, RunOptions};
use stadium_load::scrape::{self, Scrape};
use stadium_load::view::{self, Lines, Page, Wish};
use stadium_load::workers::Workers;
use stadium_load::{Error, conceal, on_interrupt};
use stadium_report::{Outcome, RunResult};
use stadium_scenario::secret::Secrets;

use super::read::Scenario;
use super::workers::{WorkerFlags, start};
use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// What is run.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    scenario: Scenario,
    #[command(flatten)]
    generator: Generator,

    /// Folder for the result and its report; otherwise only the summary is printed
    #[arg(long, value_name = "FOLDER", help_heading = "Results")]
    out: Option<PathBuf>,

    /// Where to copy the result's files: s3://BUCKET/FOLDER, gs://, az://, file:///FOLDER; the run's id is added
    #[arg(long, value_name = "URL", help_heading = "Results")]
    upload: Option<String>,

    /// A live page for browsers, such as 127.0.0.1:7910; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", help_heading = "Progress")]
    page: Option<SocketAddr>,

    /// Lines of progress instead of the live view
    #[arg(long, help_heading = "Progress")]
    plain: bool,

    /// No progress at all
    #[arg(long, short, help_heading = "Progress")]
    quiet: bool,
}

/// What makes the load.
#[derive(Debug, Args)]
pub(super) struct Generator {
    /// Loops (threads) that make the load [default: one a processor]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    loops: u32,
    /// Processors to pin loops to, such as 0,1
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    cpus: Vec<usize>,
    #[command(flatten)]
    workers: WorkerFlags,
}

impl Generator {
    pub(super) fn options(&self) -> RunOptions {
        RunOptions {
            loops: self.loops,
            cpus: self.cpus.clone(),
            command: std::env::args().collect(),
            ..RunOptions::default()
        }
    }

    /// The workers, where this process does not make the load itself.
    pub(super) fn workers(&self, terminal: &Terminal) -> Result<Option<Workers>, Failure> {
        self.workers.connect(self.loops, terminal)
    }
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    if arguments.upload.is_some() && !results::CAN_UPLOAD {
        return Err(Failure::new("--upload: this program was built without the feature `lab-upload`"));
    }
    let program = arguments.scenario.read(terminal)?;
    let secrets = Secrets::of(&program);
    let options = RunOptions { folder: arguments.scenario.folder(), ..arguments.generator.options() };
    let group = arguments.generator.workers(terminal)?;
    let mut views = Views::open(arguments, terminal)?;
    let sources = scrape::sources(&program);
    let run = start(program, &options, group.as_ref()).map_err(failure)?;
    let scrape = Scrape::start(sources, Instant::now()).context("asking targets for their figures")?;
    let control = run.control();
    stop_on_interrupt(control.clone())?;
    let ran = run.wait(&mut |progress| views.show(progress, &control, terminal));
    views.close();
    let mut result = ran.map_err(failure)?;
    let scrapes = scrape.finish();
    result.scraped = scrapes.series;
    conceal(&mut result, &secrets);
    scrapes.complaints.iter().for_each(|complaint| terminal.note(complaint));
    views.end(&result);
    keep(arguments, &result, terminal)?;
    if terminal.is_json() {
        terminal.json(&result)?;
    } else {
        terminal.data(stadium_report::text::summary(&result).trim_end())?;
    }
    verdict(&result)
}

/// Writes and copies the result's files, as far as that was asked for.
fn keep(arguments: &Arguments, result: &RunResult, terminal: &Terminal) -> Result<(), Failure> {
    let files = match (&arguments.out, &arguments.upload) {
        (Some(folder), _) => keep_result(result, folder, terminal)?,
        (None, None) => return Ok(()),
        (None, Some(url)) => {
            let folder = tempfile::tempdir().context("making a folder for what is uploaded")?;
            let files = results::write(result, folder.path()).context("writing what is uploaded")?;
            return upload(&files, url, result, terminal);
        }
    };
    arguments.upload.as_ref().map_or(Ok(()), |url| upload(&files, url, result, terminal))
}

fn upload(files: &[PathBuf], url: &str, result: &RunResult, terminal: &Terminal) -> Result<(), Failure> {
    let url = format!("{}/{}/", url.trim_end_matches('/'), result.id);
    let bar = terminal.progress(0, "uploading");
    let stored = results::upload(files, &url, &Access::default(), &mut |sent| {
        bar.set_length(sent.of_bytes);
        bar.set_position(sent.bytes);
    });
    bar.finish_and_clear();
    for place in stored.context(format!("copying the result to {url}"))? {
        terminal.note(format!("stored {place}"));
    }
    Ok(())
}

/// How the run is seen.
struct Views {
    live: Option<view::Terminal>,
    lines: Option<Lines>,
    page: Option<Page>,
}

/// Seconds between two lines of progress.
const LINES_EVERY_S: f64 = 5.0;

impl Views {
    fn open(arguments: &Arguments, terminal: &Terminal) -> Result<Self, Failure> {
        let page = match arguments.page {
            None => None,
            Some(address) => {
                let page = Page::open(address).context(format!("the page cannot listen at {address}"))?;
                terminal.note(format!("live page: {}", page.url()));
                Some(page)
            }
        };
        let silent = arguments.quiet || terminal.is_json();
        let live = !silent && !arguments.plain && view::Terminal::watched();
        Ok(Views {
            live: if live { Some(view::Terminal::open().context("taking the terminal over")?) } else { None },
            lines: (!silent && !live).then(|| Lines::new(LINES_EVERY_S)),
            page,
        })
    }

    fn show(&mut self, progress: &Progress<'_>, control: &Control, terminal: &Terminal) {
        if let Some(live) = &mut self.live {
            match live.key() {
                Some(Wish::Finish) => control.finish(),
                Some(Wish::Stop) => control.stop(),
                None => {}
            }
            if live.show(progress).is_err() {
                // The terminal is gone; the run is not.
                self.live = None;
            }
        }
        if let Some(lines) = &mut self.lines
            && let Some(line) = lines.hear(progress)
        {
            terminal.note(line);
        }
        if let Some(page) = &mut self.page {
            page.show(progress);
        }
    }

    /// Gives the terminal back, before anything else is written to it.
    fn close(&mut self) {
        self.live = None;
    }

    /// Gives the result to the page, for those who still look.
    fn end(self, result: &RunResult) {
        if let Some(page) = self.page {
            page.end(result);
        }
    }
}

/// What the result means for whoever started the run.
pub(super) fn verdict(result: &RunResult) -> Result<(), Failure> {
    match &result.outcome {
        Outcome::Interrupted => return Err(Failure::Signalled(2)),
        Outcome::Failed { reason } => return Err(Failure::new(reason.clone())),
        Outcome::Completed => {}
    }
    let broken: Vec<String> = result
        .thresholds
        .iter()
        .filter(|threshold| !threshold.passed)
        .map(|threshold| format!("{} (measured: {})", threshold.text, threshold.observed))
        .collect();
    if !broken.is_empty() {
        return Err(Failure::Threshold(format!("thresholds that do not hold: {}", broken.join("; "))));
    }
    if result.total.started > 0 && result.total.answered == 0 {
        return Err(Failure::new("nothing was ever answered: is the target there?"));
    }
    Ok(())
}

/// Writes the result's files into a folder.
pub(super) fn keep_result(
    result: &RunResult,
    folder: &Path,
    terminal: &Terminal,
) -> Result<Vec<PathBuf>, Failure> {
    let files = results::write(result, folder).map_err(|error| Failure::new(error.to_string()))?;
    for file in &files {
        terminal.note(format!("wrote {}", file.display()));
    }
    Ok(files)
}

/// What a scenario asked for and cannot be is wrong usage; anything else is a failure.
pub(super) fn failure(error: Error) -> Failure {
    match error {
        Error::Config(text) => Failure::Usage(text),
        other => Failure::new(other.to_string()),
    }
}

/// The run that Ctrl-C ends.
static CURRENT: Mutex<Option<Control>> = Mutex::new(None);
static LISTENING: AtomicBool = AtomicBool::new(false);

/// The first Ctrl-C ends the run with a report of what there is so far, the second ends the process.
pub(super) fn stop_on_interrupt(control: Control) -> Result<(), Failure> {
    if let Ok(mut current) = CURRENT.lock() {
        *current = Some(control);
    }
    if LISTENING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    on_interrupt(|| {
        if let Ok(current) = CURRENT.lock()
            && let Some(control) = &*current
        {
            control.stop();
        }
    })
    .context("Ctrl-C cannot be listened for")
}
