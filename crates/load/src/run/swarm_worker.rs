//! A worker process: holds its part of a swarm's devices for the process that started it.
//!
//! Standard input brings an assignment and then orders, standard output takes what happened, a line of JSON each.
//! When standard input closes the worker says goodbye for its devices and ends: it never outlives its parent.

use std::io::BufRead;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use super::members::{Assignment, Line, Member, start_loops, write_line};
use crate::engine::devices::plan::Plan;
use crate::engine::event::Event;
use crate::engine::order::Order;
use crate::error::Error;
use crate::swarm::config::devices_per_process;

pub use super::members::WORKER_ARGUMENTS;

/// How long devices may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(5);

/// Runs this process as a worker; the command line's hidden `load swarm-worker` is this and nothing else.
///
/// # Errors
/// What the parent was told too: an assignment that cannot be read or carried out.
pub fn run() -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let result = work(&mut out);
    if let Err(error) = &result {
        // The parent may be gone.
        let _ = write_line(&mut out, &Line::Failed(error.to_string()));
    }
    result
}

fn work(out: &mut impl std::io::Write) -> Result<(), Error> {
    let mut first = String::new();
    std::io::stdin().lock().read_line(&mut first).map_err(Error::system("reading the assignment"))?;
    let assignment: Assignment = serde_json::from_str(&first)
        .map_err(|error| Error::Worker(format!("standard input holds no assignment: {error}")))?;
    // Raises the limit of open files of this process.
    devices_per_process();
    let plan = Plan::new(assignment.config)?;
    let loops = plan.config.loops as u32;
    let (sender, events) = mpsc::channel();
    let mut members = start_loops(plan, assignment.worker * loops, assignment.workers * loops, &sender)?;
    std::thread::Builder::new()
        .name("orders".to_owned())
        .spawn(move || take_orders(&sender))
        .map_err(Error::system("starting a thread"))?;
    let told = write_line(out, &Line::Ready).and_then(|()| serve(&mut members, &events, out));
    for member in &mut members {
        member.end();
        member.join();
    }
    told.map_err(Error::system("telling the parent"))
}

fn take_orders(sender: &Sender<Event>) {
    for line in std::io::stdin().lock().lines() {
        let order = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        // A line that is no order means that the parent is not who we think: end.
        let Some(order) = order else { break };
        if sender.send(Event::Order(order)).is_err() {
            return;
        }
    }
    let _ = sender.send(Event::Order(Order::Stop));
}

fn serve(
    members: &mut [Member],
    events: &mpsc::Receiver<Event>,
    out: &mut impl std::io::Write,
) -> std::io::Result<()> {
    let mut running = members.len();
    let mut deadline: Option<Instant> = None;
    while running > 0 {
        let event = match deadline {
            None => events.recv().ok(),
            Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())).ok(),
        };
        match event {
            Some(Event::Devices(tally)) => write_line(out, &Line::Tally(tally))?,
            Some(Event::Order(order)) => {
                members.iter_mut().for_each(|member| member.order(order));
                if order == Order::Stop {
                    deadline = deadline.or(Some(Instant::now() + GOODBYE));
                }
            }
            Some(Event::Ended { result, .. }) => {
                running -= 1;
                if let Err(error) = result {
                    write_line(out, &Line::Failed(error.to_string()))?;
                }
            }
            Some(_) => {}
            // Nothing came within the time for goodbyes.
            None => break,
        }
    }
    Ok(())
}
