//! Who holds the devices: loops in threads of this process, or workers that this binary makes of itself.
//!
//! Both take the same [`Order`]s and send the same [`Event`]s. A worker reads one line of JSON a command and writes
//! one a message; its standard input is its lifeline: when it closes, the worker ends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use stadium_reactor::{Loop, LoopHandle, LoopSettings};

use crate::engine::devices::Driver;
use crate::engine::devices::plan::Plan;
use crate::engine::event::Event;
use crate::engine::order::Order;
use crate::error::Error;
use crate::share::Share;
use crate::swarm::Tally;
use crate::swarm::config::{Processes, SwarmConfig};

/// What a worker is made with: the arguments that the binary's command line has for it.
pub const WORKER_ARGUMENTS: [&str; 2] = ["load", "swarm-worker"];
/// Orders that a loop's mailbox holds: there are never more than a handful a second.
const ORDERS_MAX: usize = 1_024;

/// The first line that a worker reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The swarm; its processes are the worker's own business no more.
    pub(crate) config: SwarmConfig,
    /// Which of the workers this one is.
    pub(crate) worker: u32,
    /// How many there are.
    pub(crate) workers: u32,
}

/// A line that a worker writes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// It has read its assignment and waits for the start.
    Ready,
    /// What happened.
    Tally(Box<Tally>),
    /// It could not do its part, and ends.
    Failed(String),
}

/// A part of the swarm that takes orders.
pub(crate) enum Member {
    /// A loop of this process.
    Thread { handle: LoopHandle<Order>, thread: Option<JoinHandle<()>> },
    /// A worker process.
    Worker { child: Child, stdin: Option<ChildStdin>, reader: Option<JoinHandle<()>> },
}

impl Member {
    /// Tells it something. A member that has ended hears nothing more, and says so by its own event.
    pub(crate) fn order(&mut self, order: Order) {
        match self {
            Member::Thread { handle, .. } => {
                let _ = handle.try_send(order);
            }
            Member::Worker { stdin: Some(stdin), .. } => {
                let _ = write_line(stdin, &order);
            }
            Member::Worker { .. } => {}
        }
    }

    /// Its process's id, where it has one of its own.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Member::Thread { .. } => None,
            Member::Worker { child, .. } => Some(child.id()),
        }
    }

    /// Waits for its end, which it was asked for or has told of.
    pub(crate) fn join(&mut self) {
        match self {
            Member::Thread { thread, .. } => {
                let _ = thread.take().map(JoinHandle::join);
            }
            Member::Worker { child, stdin, reader } => {
                *stdin = None;
                let _ = child.wait();
                let _ = reader.take().map(JoinHandle::join);
            }
        }
    }

    /// Ends it without asking.
    pub(crate) fn end(&mut self) {
        match self {
            Member::Thread { handle, .. } => handle.stop(),
            Member::Worker { child, .. } => {
                let _ = child.kill();
            }
        }
    }
}

/// Makes this process's loops: `count` of them, the shares from `first` on of `of`.
pub(crate) fn start_loops(
    plan: Plan,
    first: u32,
    of: u32,
    out: &Sender<Event>,
) -> Result<Vec<Member>, Error> {
    let plan = Arc::new(plan);
    let mut members = Vec::with_capacity(plan.config.loops);
    for at in 0..plan.config.loops as u32 {
        let share = Share { index: first + at, of };
        let cpus = &plan.config.cpus;
        let settings = LoopSettings {
            name: format!("swarm-{}", share.index),
            cpu: (!cpus.is_empty()).then(|| cpus[share.index as usize % cpus.len()]),
            mailbox_messages_max: ORDERS_MAX,
            ..LoopSettings::default()
        };
        let name = settings.name.clone();
        let own = Loop::new(settings).map_err(Error::system(format!("making the loop {name}")))?;
        let handle = own.handle();
        let driver = Driver::new(plan.clone(), share, out.clone());
        let events = out.clone();
        let member = members.len() as u32;
        let thread = std::thread::Builder::new()
            .name(name.clone())
            .spawn(move || {
                let result =
                    own.run(driver).map(drop).map_err(Error::system(format!("running the loop {name}")));
                let _ = events.send(Event::Ended { share: member, result });
            })
            .map_err(Error::system("starting a thread"))?;
        members.push(Member::Thread { handle, thread: Some(thread) });
    }
    Ok(members)
}

/// Starts workers, each with its assignment; [`Event::Ready`] follows from each.
pub(crate) fn start_workers(
    config: &SwarmConfig,
    workers: u32,
    out: &Sender<Event>,
) -> Result<Vec<Member>, Error> {
    let binary = std::env::current_exe().map_err(Error::system("finding this binary"))?;
    let mut members = Vec::with_capacity(workers as usize);
    for worker in 0..workers {
        match start_worker(&binary, config, worker, workers, out) {
            Ok(member) => members.push(member),
            Err(error) => {
                members.iter_mut().for_each(|member: &mut Member| {
                    member.end();
                    member.join();
                });
                return Err(error);
            }
        }
    }
    Ok(members)
}

fn start_worker(
    binary: &std::path::Path,
    config: &SwarmConfig,
    worker: u32,
    workers: u32,
    out: &Sender<Event>,
) -> Result<Member, Error> {
    let mut child = Command::new(binary)
        .args(WORKER_ARGUMENTS)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // A group of its own: Ctrl-C is the parent's, which then asks for the last figures.
        .process_group(0)
        .spawn()
        .map_err(Error::system(format!("starting {}", binary.display())))?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::Worker("it has no pipes".to_owned()));
    };
    let config = SwarmConfig { processes: Processes::Here, ..config.clone() };
    let assigned = write_line(&mut stdin, &Assignment { config, worker, workers });
    let events = out.clone();
    let member = worker;
    let reader = std::thread::Builder::new()
        .name(format!("worker-{worker}"))
        .spawn(move || {
            let result = listen(BufReader::new(stdout), &events);
            let _ = events.send(Event::Ended { share: member, result });
        })
        .map_err(Error::system("starting a thread"))?;
    let mut member = Member::Worker { child, stdin: Some(stdin), reader: Some(reader) };
    if let Err(error) = assigned {
        member.end();
        member.join();
        return Err(Error::System { doing: "giving a worker its assignment".to_owned(), error });
    }
    Ok(member)
}

/// Passes on what a worker writes, until it ends.
fn listen(lines: impl BufRead, events: &Sender<Event>) -> Result<(), Error> {
    for line in lines.lines() {
        let line = line.map_err(Error::system("reading from a worker"))?;
        let parsed = serde_json::from_str(&line).map_err(|error| {
            Error::Worker(format!("wrote what is no message of a worker ({error}): {line:.80}"))
        })?;
        let event = match parsed {
            Line::Ready => Event::Ready,
            Line::Tally(tally) => Event::Devices(tally),
            Line::Failed(text) => return Err(Error::Worker(text)),
        };
        if events.send(event).is_err() {
            break;
        }
    }
    Ok(())
}

/// Writes a message as one line of JSON.
pub(crate) fn write_line(out: &mut impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}
