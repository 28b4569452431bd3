//! `stadium queue`: put jobs, work on them, look at them, and help those that failed.
//!
//! All of it goes through the HTTP API of a running server. Spans are written as in `90s` or `1h30m`, see
//! [`crate::span`]; how jobs look is in [`shown`].

mod change;
mod look;
mod put;
mod schedule;
mod shown;
mod work;

use clap::{Args, Subcommand, ValueEnum};

use crate::api::encoded;
use crate::failure::Failure;
use crate::on::On;
use crate::terminal::Terminal;

/// What to do with queues.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Put jobs into a queue
    Put(On<put::Arguments>),
    /// Run a command for each job
    Work(On<work::Arguments>),
    /// List the queues
    List(On<look::ListArguments>),
    /// Show a queue's figures and settings
    Stats(On<look::StatsArguments>),
    /// Look at a queue's jobs without touching them
    Peek(On<look::PeekArguments>),
    /// List a queue's dead jobs with what they died of
    Dead(On<look::DeadArguments>),
    /// Show one job
    Find(On<look::FindArguments>),
    /// Show what became of a job
    History(On<look::HistoryArguments>),
    /// Try dead jobs again, here or in another queue
    Redrive(On<change::RedriveArguments>),
    /// Try buried jobs again
    Kick(On<change::KickArguments>),
    /// Hand nothing out any more; puts go on
    Pause(On<change::QueueArguments>),
    /// Hand jobs out again
    Resume(On<change::QueueArguments>),
    /// Take all jobs in one state out of a queue
    Purge(On<change::PurgeArguments>),
    /// Take jobs out, whatever their state
    Delete(On<change::DeleteArguments>),
    /// Change a job that nobody works on
    Edit(On<change::EditArguments>),
    /// Make a queue, or give one other settings
    Declare(On<change::DeclareArguments>),
    /// Take an empty queue away with its schedules
    Drop(On<change::QueueArguments>),
    /// Put a job again and again
    Schedule(On<schedule::SetArguments>),
    /// List a queue's schedules
    Schedules(On<schedule::ListArguments>),
    /// End a schedule; jobs that it put stay
    Unschedule(On<schedule::EndArguments>),
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Put(on) => on.run(put::run, terminal),
        Action::Work(on) => on.run(work::run, terminal),
        Action::List(on) => on.run(look::list, terminal),
        Action::Stats(on) => on.run(look::stats, terminal),
        Action::Peek(on) => on.run(look::peek, terminal),
        Action::Dead(on) => on.run(look::dead, terminal),
        Action::Find(on) => on.run(look::find, terminal),
        Action::History(on) => on.run(look::history, terminal),
        Action::Redrive(on) => on.run(change::redrive, terminal),
        Action::Kick(on) => on.run(change::kick, terminal),
        Action::Pause(on) => on.run(change::pause, terminal),
        Action::Resume(on) => on.run(change::resume, terminal),
        Action::Purge(on) => on.run(change::purge, terminal),
        Action::Delete(on) => on.run(change::delete, terminal),
        Action::Edit(on) => on.run(change::edit, terminal),
        Action::Declare(on) => on.run(change::declare, terminal),
        Action::Drop(on) => on.run(change::drop_queue, terminal),
        Action::Schedule(on) => on.run(schedule::set, terminal),
        Action::Schedules(on) => on.run(schedule::list, terminal),
        Action::Unschedule(on) => on.run(schedule::end, terminal),
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// Its time has not come
    Delayed,
    /// It may be reserved
    Due,
    /// Somebody works on it
    Reserved,
    /// Set aside by a worker
    Buried,
    /// Its last attempt failed
    Dead,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Delayed => "delayed",
            Self::Due => "due",
            Self::Reserved => "reserved",
            Self::Buried => "buried",
            Self::Dead => "dead",
        }
    }
}

/// The path of a queue, and of what is below it.
fn path_of(queue: &str, below: &str) -> String {
    format!("/api/queues/{}{below}", encoded(queue))
}
