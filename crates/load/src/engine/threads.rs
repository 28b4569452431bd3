//! This process's loops, each on a thread of its own, turned so that what is due is done in time.
//!
//! The system counts waits in whole milliseconds. A loop therefore sleeps only while the next thing is further away than
//! that, and looks without sleeping for the rest: a rate is kept to some microseconds, for up to a whole processor.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use stadium_reactor::{Loop, LoopHandle, LoopSettings};

use super::event::Event;
use super::order::Order;
use super::plan::Plan;
use super::users::Driver;
use crate::clock::monotonic_ns;
use crate::error::Error;
use crate::share::Share;

/// A wait of the system may be longer by so much, in nanoseconds: its grain and a wake-up.
const GRAIN_NS: u64 = 1_100_000;
/// The longest wait, so that a loop hears of the end even where nothing happens.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Answers taken in one turn. Each may let a request begin, some 10 µs; what is due meanwhile waits so long.
const EVENTS_MAX: usize = 16;
/// Orders that may wait for a loop.
const ORDERS_MAX: usize = 64;

/// A loop of this process.
#[derive(Debug)]
pub(crate) struct Member {
    handle: LoopHandle<Order>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    /// Tells the loop something.
    pub(crate) fn order(&self, order: Order) {
        // A full mailbox cannot be: nobody sends so many.
        let _ = self.handle.try_send(order);
    }

    /// Waits for the thread's end.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts loops `first` to `first + count - 1` of `of`.
pub(crate) fn start(
    plan: &Arc<Plan>,
    first: u32,
    count: u32,
    of: u32,
    cpus: &[usize],
    out: &Sender<Event>,
) -> Result<Vec<Member>, Error> {
    let mut members = Vec::with_capacity(count as usize);
    for index in first..first + count {
        let share = Share { index, of };
        let settings = LoopSettings {
            name: format!("load-{index}"),
            mailbox_messages_max: ORDERS_MAX,
            events_max: EVENTS_MAX,
            ..LoopSettings::default()
        };
        let own = Loop::new(settings).map_err(Error::system(format!("making loop {index}")))?;
        let handle = own.handle();
        let driver = Driver::new(plan.clone(), share, out.clone());
        let events = out.clone();
        let cpu = (!cpus.is_empty()).then(|| cpus[(index - first) as usize % cpus.len()]);
        let thread = std::thread::Builder::new()
            .name(format!("load-{index}"))
            .spawn(move || {
                let result = pin(cpu).and_then(|()| turn(own, driver));
                let _ = events.send(Event::Ended { share: index, result });
            })
            .map_err(Error::system("starting a thread"))?;
        members.push(Member { handle, thread: Some(thread) });
    }
    Ok(members)
}

fn pin(cpu: Option<usize>) -> Result<(), Error> {
    let Some(cpu) = cpu else { return Ok(()) };
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| Error::System {
        doing: format!("pinning a loop to processor {cpu}"),
        error: error.into(),
    })
}

/// Turns a loop until its users are done.
fn turn(own: Loop<Order>, driver: Driver) -> Result<(), Error> {
    let mut driven = own.drive(driver);
    let stats = driven.handle().stats().clone();
    loop {
        let now_ns = monotonic_ns();
        let (driver, io) = driven.parts();
        let due_ns = driver.advance(io, now_ns, stats.busy_ns.value());
        if driver.is_finished() {
            driver.send_tally(stats.busy_ns.value(), now_ns, true);
            break;
        }
        let wait = due_ns.map_or(WAIT_MAX, |due_ns| match due_ns.saturating_sub(monotonic_ns()) {
            ahead_ns if ahead_ns <= GRAIN_NS => Duration::ZERO,
            ahead_ns => Duration::from_nanos(ahead_ns - GRAIN_NS).min(WAIT_MAX),
        });
        driven.turn(Some(wait)).map_err(Error::system("waiting for events"))?;
    }
    driven.finish();
    Ok(())
}
