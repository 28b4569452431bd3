//! This process's loops, each on a thread of its own, turned so that its clients do what is due in
//! time.
//!
//! The system counts waits in whole milliseconds. Where clients are
//! [`Punctual`](Punctuality::Punctual) a loop sleeps only while the next thing is further away than
//! that, and polls for the rest: a rate is kept to some microseconds, for up to a whole processor.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use stadium_reactor::{Handler, Loop, LoopHandle, LoopSettings};

use super::devices;
use super::event::Event;
use super::order::{Io, Order};
use super::plan::Plan;
use super::users;
use crate::clock::monotonic_ns;
use crate::error::Error;
use crate::share::Share;

/// A wait of the system may be longer by so much, in nanoseconds: its grain and a wake-up.
const GRAIN_NS: u64 = 1_100_000;
/// The longest wait, so that a loop learns of the end even where nothing happens.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Answers that a punctual loop takes in one turn. Each may let a request begin, some 10 µs; what
/// is due meanwhile waits so long.
const PUNCTUAL_EVENTS_MAX: usize = 16;
/// Orders that may wait for a loop.
const ORDERS_MAX: usize = 64;

/// The run that all loops of a process share.
#[derive(Debug, Clone)]
pub(crate) enum Assignment {
    /// The users of a scenario, and the processors to pin loops to, in turn; empty leaves it to the
    /// system.
    Users(Arc<Plan>, Vec<usize>),
    /// The devices of a swarm, whose configuration has the same.
    Devices(Arc<devices::plan::Plan>),
}

/// The clients that one loop simulates: users with sessions of their own, or many devices of one
/// kind.
pub(super) trait Clients: Handler<Message = Order> + Send + 'static {
    /// How precisely they keep to their times.
    const PUNCTUALITY: Punctuality;

    /// Does what is due. Returns when something is due next; `None` while nothing is. The loop has
    /// worked for `worked_ns`.
    fn advance(&mut self, io: &mut Io, now_ns: u64, worked_ns: u64) -> Option<u64>;

    /// Whether the loop has nothing more to do.
    fn is_finished(&self) -> bool;

    /// The loop ends.
    fn conclude(&mut self, _now_ns: u64, _worked_ns: u64) {}
}

/// How precisely things are done at their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Punctuality {
    /// To some microseconds; the loop polls while something is due within a millisecond.
    Punctual,
    /// To a millisecond; the loop sleeps whenever it can, and leaves the processor to the target.
    Relaxed,
}

/// A loop of this process.
#[derive(Debug)]
pub(crate) struct Member {
    handle: LoopHandle<Order>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    /// Gives the loop an order.
    pub(crate) fn order(&self, order: Order) {
        // A full mailbox cannot be: nobody sends so many.
        let _ = self.handle.try_send(order);
    }

    /// Ends the loop without asking its clients.
    pub(crate) fn end(&self) {
        self.handle.stop();
    }

    /// Waits for the thread's end.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The loops of a process, of all those of a run: `first` to `first + count - 1` of `of`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) of: u32,
}

impl Shares {
    /// All loops of a run that one process makes.
    pub(crate) fn all(count: u32) -> Self {
        Shares { first: 0, count, of: count }
    }
}

/// Starts loops. They wait for [`Order::Start`].
pub(crate) fn start(
    assignment: &Assignment,
    shares: Shares,
    out: &Sender<Event>,
) -> Result<Vec<Member>, Error> {
    let Shares { first, count, of } = shares;
    let cpus = match assignment {
        Assignment::Users(_, cpus) => cpus,
        Assignment::Devices(plan) => &plan.config.cpus,
    };
    (first..first + count)
        .map(|index| {
            let share = Share { index, of };
            let cpu = (!cpus.is_empty()).then(|| cpus[index as usize % cpus.len()]);
            match assignment {
                Assignment::Users(plan, _) => {
                    start_one(users::Driver::new(plan.clone(), share, out.clone()), share, cpu, out)
                }
                Assignment::Devices(plan) => {
                    start_one(devices::Driver::new(plan.clone(), share, out.clone()), share, cpu, out)
                }
            }
        })
        .collect()
}

fn start_one<C: Clients>(
    clients: C,
    Share { index, .. }: Share,
    cpu: Option<usize>,
    out: &Sender<Event>,
) -> Result<Member, Error> {
    let defaults = LoopSettings::default();
    let settings = LoopSettings {
        name: format!("load-{index}"),
        mailbox_messages_max: ORDERS_MAX,
        events_max: match C::PUNCTUALITY {
            Punctuality::Punctual => PUNCTUAL_EVENTS_MAX,
            Punctuality::Relaxed => defaults.events_max,
        },
        ..defaults
    };
    let own = Loop::new(settings).map_err(Error::system(format!("making loop {index}")))?;
    let handle = own.handle();
    let events = out.clone();
    let thread = std::thread::Builder::new()
        .name(format!("load-{index}"))
        .spawn(move || {
            let result = pin(cpu).and_then(|()| turn(own, clients));
            let _ = events.send(Event::Ended { share: index, result });
        })
        .map_err(Error::system("starting a thread"))?;
    Ok(Member { handle, thread: Some(thread) })
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

/// Turns a loop until its clients are done.
fn turn<C: Clients>(own: Loop<Order>, clients: C) -> Result<(), Error> {
    let mut driven = own.drive(clients);
    let stats = driven.handle().stats().clone();
    while !driven.is_stopping() {
        let now_ns = monotonic_ns();
        let (clients, io) = driven.parts();
        let due_ns = clients.advance(io, now_ns, stats.busy_ns.value());
        if clients.is_finished() {
            clients.conclude(now_ns, stats.busy_ns.value());
            break;
        }
        let wait = due_ns.map_or(WAIT_MAX, |due_ns| {
            let ahead_ns = due_ns.saturating_sub(monotonic_ns());
            let asleep_ns = match C::PUNCTUALITY {
                Punctuality::Punctual => ahead_ns.saturating_sub(GRAIN_NS),
                Punctuality::Relaxed => ahead_ns,
            };
            Duration::from_nanos(asleep_ns).min(WAIT_MAX)
        });
        driven.turn(Some(wait)).map_err(Error::system("waiting for events"))?;
    }
    driven.finish();
    Ok(())
}
