//! `stadium queue work QUEUE -- COMMAND`: runs a command for each job.
//!
//! Each of the `--jobs` threads reserves a job, runs the command on it, and reports how it ended,
//! again and again. One supervisor thread extends the leases of all that runs, stops what takes too
//! long, and stops what lost its lease. The first signal ends reserving and waits for what runs;
//! the second stops that as well. The reports to the server are in [`leases`], how a command runs
//! in [`command`].

mod command;
mod leases;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};

use self::command::{Ended, Group, Output, Task};
use self::leases::{Found, Job, Leases, Reported};
use crate::api::Api;
use crate::failure::{Context, Failure};
use crate::span;
use crate::terminal::{Style, Terminal, count, short};

/// Exit code of a command that asks to bury its job, because it will never work. EX_DATAERR of
/// sysexits.h.
const BURY_ON: u8 = 65;

/// How often the supervisor looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Time between asking a command to end and ending it.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to work, and on what.
#[derive(Debug, Args)]
#[command(after_help = "\
The command gets the payload on standard input, and in its environment STADIUM_JOB_ID, STADIUM_JOB_QUEUE,
STADIUM_JOB_ATTEMPT, STADIUM_JOB_KEY, STADIUM_JOB_PRIORITY, STADIUM_JOB_PUT_AT, STADIUM_JOB_DUE_AT and STADIUM_JOB_LEASE.
Exit code 0 settles the job. 65 buries it (--bury-on). Any other code, or a signal, releases it: it is tried again after the
queue's back-off, with the last line of the command's standard error as the error in its history. The lease is extended
while the command runs; where the job is deleted meanwhile, or its lease lost, the command gets SIGTERM.
Ctrl-C or SIGTERM waits for what runs and reserves no more; a second one stops that too, and its attempts don't count.

Examples:
  stadium queue work mails -- ./send-mail
  stadium queue work thumbnails -j 4 --timeout 5m -- sh -c 'convert - -resize 200x200 \"out/$STADIUM_JOB_ID.png\"'
  stadium queue work chores --drain -- xargs -n 1 touch")]
pub(super) struct Arguments {
    /// The queue
    queue: String,
    /// Commands that run at once
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Until no job is due and nothing runs, then exit
    #[arg(long)]
    drain: bool,
    /// One job, then exit: with 0 where it was settled
    #[arg(long, conflicts_with = "drain")]
    once: bool,
    /// How long a lease is, 3s to 12h; it is extended each third of it while the command runs
    #[arg(long, value_name = "SPAN", value_parser = parse_lease, default_value = "30s")]
    lease: u64,
    /// A command that takes longer gets SIGTERM, and ten seconds later SIGKILL; its job is released
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    timeout: Option<u64>,
    /// The exit code that buries a job
    #[arg(long, value_name = "CODE", default_value_t = BURY_ON, value_parser = clap::value_parser!(u8).range(1..))]
    bury_on: u8,
    /// The worker's name, for the history of jobs [default: host and process id]
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// Print nothing about jobs that were settled
    #[arg(short, long)]
    quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn parse_lease(text: &str) -> Result<u64, String> {
    match span::parse(text)? {
        lease @ 3_000..=43_200_000 => Ok(lease),
        _ => Err("a lease is 3s to 12h".to_owned()),
    }
}

/// Works until a signal, or until what was asked for is done.
pub(super) fn run(api: &Api, arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut signals =
        signal_hook::iterator::Signals::new([SIGTERM, SIGINT]).context("signals cannot be listened for")?;
    let ear = signals.handle();
    let worker = arguments.worker.clone().unwrap_or_else(default_worker);
    let lease = Duration::from_millis(arguments.lease);
    let slots = if arguments.once { 1 } else { arguments.jobs };
    let work = Work {
        leases: Leases::new(api, &arguments.queue, worker, lease),
        arguments: &arguments,
        terminal,
        state: Mutex::default(),
        changed: Condvar::new(),
    };
    thread::scope(|scope| {
        let supervisor = scope.spawn(|| work.supervise());
        scope.spawn(|| signals.forever().for_each(|signal| work.signalled(signal)));
        let slots: Vec<_> = (0..slots).map(|_| scope.spawn(|| work.slot())).collect();
        for slot in slots {
            // A panic of a slot is raised again when the scope ends.
            let _ = slot.join();
        }
        work.state().over = true;
        work.changed.notify_all();
        let _ = supervisor.join();
        ear.close();
    });
    work.ended()
}

/// `HOST-PID`.
fn default_worker() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().take(40).collect();
    format!("{host}-{}", std::process::id())
}

/// The state that all threads share.
struct Work<'a> {
    leases: Leases<'a>,
    arguments: &'a Arguments,
    terminal: &'a Terminal,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Commands that run, and those whose end is being reported, by their lease.
    running: HashMap<String, Running>,
    /// Nothing more is reserved.
    leaving: bool,
    /// All threads that work have ended.
    over: bool,
    /// Signals that came, and the last one's number.
    signals: u32,
    signal: u8,
    /// Why it ended, where that is a failure.
    failure: Option<Failure>,
    /// Whether the server has answered at all.
    met: bool,
    /// Whether the server's absence was reported, so that it is reported once.
    reported_away: bool,
    /// Jobs by how they ended.
    settled: u64,
    unsettled: u64,
}

/// A job that this process has the lease of.
struct Running {
    began: Instant,
    /// When the lease was last extended, or begun.
    extended: Instant,
    /// The command, once it was started and until it ended.
    group: Option<Group>,
    /// Why it was asked to end, and when.
    stopped: Option<(Why, Instant)>,
}

/// Why a command is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Its lease is somebody else's, or its job is gone.
    Lost,
    /// It took too long.
    Slow,
    /// A second signal.
    Signal,
}

impl Work<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked ends the whole command; its state is whole enough to stop the
        // rest.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread's life: a job after the other.
    fn slot(&self) {
        loop {
            let (leaving, busy) = {
                let state = self.state();
                (state.leaving, !state.running.is_empty())
            };
            if leaving {
                return;
            }
            let wait = match (self.arguments.drain, busy) {
                (false, _) => leases::WAIT,
                (true, true) => leases::WAIT_WHILE_OTHERS_RUN,
                (true, false) => Duration::ZERO,
            };
            match self.leases.reserve(wait) {
                Found::Job(job) => self.take(*job),
                // Jobs that still run may put more.
                Found::Nothing if self.arguments.drain && self.state().running.is_empty() => self.leave(),
                Found::Nothing => self.answered(),
                Found::Busy { after, why } => self.away(after, &why),
                // A server that never answered is more likely misspelt than away.
                Found::Unanswered(failure) if !self.state().met => self.fail(failure),
                Found::Unanswered(failure) => self.away(leases::AGAIN_AFTER, &failure),
                Found::Never(failure) => self.fail(failure),
            }
        }
    }

    fn leave(&self) {
        self.state().leaving = true;
        self.changed.notify_all();
    }

    fn fail(&self, failure: Failure) {
        let mut state = self.state();
        state.leaving = true;
        state.failure.get_or_insert(failure);
        self.changed.notify_all();
    }

    /// The server answers.
    fn answered(&self) {
        let mut state = self.state();
        state.met = true;
        if std::mem::take(&mut state.reported_away) {
            self.terminal.note("the server answers again");
        }
    }

    /// The server does not answer, or is busy: waits, unless a signal comes.
    fn away(&self, after: Duration, why: &Failure) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.reported_away, true) {
            self.terminal.note(format_args!("waiting for the server: {why}"));
        }
        let waited = self.changed.wait_timeout_while(state, after, |state| !state.leaving);
        drop(waited);
    }

    /// Runs the command on a job, and reports how it ended.
    fn take(&self, job: Job) {
        self.answered();
        let now = Instant::now();
        {
            let mut state = self.state();
            if state.leaving {
                drop(state);
                return self.leases.give_back(&job);
            }
            let running = Running { began: now, extended: now, group: None, stopped: None };
            state.running.insert(job.lease.clone(), running);
        }
        let output = if self.terminal.is_json() { Output::ToStandardError } else { Output::Inherited };
        let task = match Task::start(&self.arguments.command, &self.arguments.queue, &job, output) {
            Ok(task) => task,
            Err(error) => {
                self.state().running.remove(&job.lease);
                self.leases.give_back(&job);
                let program = self.arguments.command[0].to_string_lossy();
                return self.fail(Failure::new(format!(
                    "{program:?} cannot be run: {error}; job {} went back uncounted",
                    job.id
                )));
            }
        };
        if let Some(running) = self.state().running.get_mut(&job.lease) {
            running.group = Some(task.group());
        }
        let ended = task.wait();
        let stopped = {
            let mut state = self.state();
            let running = state.running.get_mut(&job.lease);
            running.and_then(|running| {
                running.group = None;
                running.stopped.map(|(why, _)| why)
            })
        };
        // The lease is kept alive until the server has answered.
        let reported = self.report_end(&job, &ended, stopped);
        self.state().running.remove(&job.lease);
        self.changed.notify_all();
        self.report(&job, &ended, &reported, now.elapsed());
        if self.arguments.once {
            if reported.word != "settled" {
                let why = reported.error.as_deref().unwrap_or("the server would not have it");
                self.fail(Failure::new(format!(
                    "job {} was not settled, it is {}: {why}",
                    job.id, reported.word
                )));
            }
            self.leave();
        }
    }

    /// Reports to the server how a command ended.
    fn report_end(&self, job: &Job, ended: &Ended, stopped: Option<Why>) -> Reported {
        let limit = || span::shown(self.arguments.timeout.unwrap_or_default());
        match (stopped, ended.code) {
            (Some(Why::Lost), _) => Reported::lost("the lease was lost while the command ran"),
            // It ended well before the signal reached it.
            (_, Some(0)) => self.leases.settle(job),
            (Some(Why::Signal), _) => self.leases.release_untried(job, "the worker was stopped"),
            (Some(Why::Slow), _) => self.leases.release(job, &format!("it took longer than {}", limit())),
            (None, Some(code)) if code == i32::from(self.arguments.bury_on) => {
                self.leases.bury(job, &ended.in_words())
            }
            (None, _) => self.leases.release(job, &ended.in_words()),
        }
    }

    fn report(&self, job: &Job, ended: &Ended, reported: &Reported, took: Duration) {
        let settled = reported.word == "settled";
        {
            let mut state = self.state();
            if settled { state.settled += 1 } else { state.unsettled += 1 }
        }
        if self.terminal.is_json() {
            let written = self.terminal.json(&json!({
                "job": job.id,
                "attempt": job.attempt,
                "outcome": reported.word,
                "exit_code": ended.code,
                "signal": ended.signal,
                "seconds": took.as_secs_f64(),
                "error": reported.error,
            }));
            if let Err(failure) = written {
                self.fail(failure);
            }
            return;
        }
        if settled && self.arguments.quiet {
            return;
        }
        let style = match reported.word {
            "settled" => Style::Good,
            "released" => Style::Warning,
            _ => Style::Bad,
        };
        let why = reported.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
        let attempt = if job.attempt > 1 { format!(", attempt {}", job.attempt) } else { String::new() };
        let word = self.terminal.err(style, reported.word);
        let took = short(took.as_secs_f64());
        self.terminal.note(format_args!("{} {word} after {took}{attempt}{why}", job.id));
    }

    /// The supervisor: extends leases, and stops what must not go on.
    fn supervise(&self) {
        let third = Duration::from_millis(self.arguments.lease) / 3;
        let mut state = self.state();
        while !state.over {
            let now = Instant::now();
            self.stop_slow(&mut state, now);
            let due: Vec<String> = state
                .running
                .iter()
                .filter(|(_, running)| now.duration_since(running.extended) >= third)
                .map(|(lease, _)| lease.clone())
                .collect();
            if !due.is_empty() {
                drop(state);
                let lost = self.leases.extend(&due);
                state = self.state();
                self.extended(&mut state, &due, lost, now);
            }
            let waited = self.changed.wait_timeout(state, LOOK_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes the outcome of an extension of leases; `None` where the server did not answer.
    fn extended(&self, state: &mut State, due: &[String], lost: Option<Vec<String>>, now: Instant) {
        // Without an answer it is tried again at the next look, for as long as it takes.
        let Some(lost) = lost else { return };
        for lease in due {
            let Some(running) = state.running.get_mut(lease) else { continue };
            if !lost.contains(lease) {
                running.extended = now;
            } else if running.stopped.is_none() {
                running.stop(Why::Lost, now);
            }
        }
    }

    fn stop_slow(&self, state: &mut State, now: Instant) {
        let timeout = self.arguments.timeout.map(Duration::from_millis);
        for running in state.running.values_mut() {
            match running.stopped {
                None if timeout.is_some_and(|timeout| now.duration_since(running.began) >= timeout) => {
                    running.stop(Why::Slow, now);
                }
                Some((_, since)) if now.duration_since(since) >= PATIENCE => {
                    if let Some(group) = running.group {
                        group.kill();
                    }
                }
                _ => {}
            }
        }
    }

    fn signalled(&self, signal: i32) {
        let mut state = self.state();
        state.signals += 1;
        state.signal = u8::try_from(signal).unwrap_or(u8::MAX);
        state.leaving = true;
        self.changed.notify_all();
        if state.signals == 1 {
            let running = state.running.len();
            if running > 0 && !self.terminal.is_json() {
                self.terminal.note(format_args!(
                    "finishing the {} that run; a second signal stops them",
                    count(running as u64)
                ));
            }
            return;
        }
        let now = Instant::now();
        for running in state.running.values_mut().filter(|running| running.stopped.is_none()) {
            running.stop(Why::Signal, now);
        }
    }

    /// How the whole ended.
    fn ended(&self) -> Result<(), Failure> {
        let mut state = self.state();
        if self.arguments.drain && !self.terminal.is_json() {
            let (settled, unsettled) = (count(state.settled), count(state.unsettled));
            self.terminal.note(format_args!("settled {settled}, not settled {unsettled}"));
        }
        match state.failure.take() {
            Some(failure) => Err(failure),
            None if state.signals > 1 => Err(Failure::Signalled(state.signal)),
            None => Ok(()),
        }
    }
}

impl Running {
    fn stop(&mut self, why: Why, now: Instant) {
        self.stopped = Some((why, now));
        if let Some(group) = self.group {
            group.terminate();
        }
    }
}
