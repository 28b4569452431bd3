//! A thread that drives shards: those that have something to do take turns, one after the other.
//!
//! Each shard belongs to one thread. It takes a turn when its mailbox rings, when its alarm goes off,
//! or when it had more to do than one turn takes; in each round every such shard has one turn, so
//! none waits for more than a turn of each other. A shard whose turn can be long, since its journal
//! is opened again, has it with the [`Helpers`] and comes back. One that panicked rests; the others
//! go on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::alarms::Alarms;
use crate::bell::Bell;
use crate::blocking::Helpers;
use crate::drive::{Drive, Outcome, Turned, take_turn};

/// How long a thread spins for the end of a commit before it parks, where many answers wait for it:
/// to wake a halted processor takes long. The thread yields the core to others meanwhile.
const SPIN: Duration = Duration::from_millis(1);

/// With fewer answers that wait a thread does not spin.
const SPIN_ANSWERS_MIN: usize = 8;

/// The way of others to a thread that drives shards.
#[derive(Default)]
pub(crate) struct Desk {
    /// Shared with the mailboxes of its shards.
    pub(crate) bell: Arc<Bell>,
    arrivals: Mutex<Vec<Arrival>>,
    has_arrivals: AtomicBool,
    is_closing: AtomicBool,
    /// Microseconds that the thread has spent on turns.
    busy_us: AtomicU64,
}

/// A shard that comes, or comes back.
struct Arrival {
    drive: Box<dyn Drive>,
    outcome: Outcome,
}

impl Desk {
    /// Hands a shard to the thread, which drives it from now on.
    pub(crate) fn seat(&self, drive: Box<dyn Drive>) {
        let at_once = Turned { at_once: true, wait: Duration::ZERO, awaited: 0, is_stopped: false };
        self.arrive(drive, Outcome::Turned(at_once));
    }

    fn arrive(&self, drive: Box<dyn Drive>, outcome: Outcome) {
        self.arrivals.lock().push(Arrival { drive, outcome });
        self.has_arrivals.store(true, Ordering::SeqCst);
        self.bell.wake();
    }

    /// The thread ends when it drives no shard any more.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
        self.bell.wake();
    }

    /// Microseconds that the thread has spent on turns.
    pub(crate) fn busy_us(&self) -> u64 {
        self.busy_us.load(Ordering::Relaxed)
    }
}

/// A thread's state.
pub(crate) struct Worker {
    desk: Arc<Desk>,
    helpers: Arc<Helpers>,
    /// The number of threads: shard n is driven by thread n modulo that.
    threads: usize,
    seats: Vec<Seat>,
    /// Places of shards that have something to do, in the order in which they take turns.
    ready: VecDeque<usize>,
    alarms: Alarms,
    rung: Vec<u16>,
    arrived: Vec<Arrival>,
    /// When it last looked at the clock: after a turn, or before a round of them.
    now: Instant,
    /// Answers of all its shards that wait for a commit.
    awaited: usize,
    /// Shards that it drives, those that are with helpers included.
    driven: usize,
}

/// A shard's place at the thread.
#[derive(Default)]
struct Seat {
    /// None where there is no such shard, or it is with a helper.
    drive: Option<Box<dyn Drive>>,
    is_away: bool,
    /// Its mailbox rang while it was away.
    was_rung: bool,
    is_ready: bool,
    /// Until its alarm.
    rests: bool,
    awaited: usize,
}

impl Worker {
    /// The thread at this desk, one of so many, for shards below `count`.
    pub(crate) fn new(desk: Arc<Desk>, helpers: Arc<Helpers>, threads: usize, count: u16) -> Self {
        let places = usize::from(count).div_ceil(threads);
        Self {
            desk,
            helpers,
            threads,
            seats: std::iter::repeat_with(Seat::default).take(places).collect(),
            ready: VecDeque::with_capacity(places),
            alarms: Alarms::new(places),
            rung: Vec::with_capacity(2 * places),
            arrived: Vec::new(),
            now: Instant::now(),
            awaited: 0,
            driven: 0,
        }
    }

    /// Drives shards until the desk is closed and none is left.
    pub(crate) fn run(mut self) {
        self.desk.bell.belongs_to(std::thread::current());
        loop {
            self.desk.bell.listen();
            self.now = Instant::now();
            self.welcome();
            self.take_rung();
            self.take_due();
            if self.ready.is_empty() {
                if self.driven == 0 && self.desk.is_closing.load(Ordering::SeqCst) {
                    return;
                }
                self.wait();
                continue;
            }
            let begun = self.now;
            for _ in 0..self.ready.len() {
                if let Some(place) = self.ready.pop_front() {
                    self.turn(place);
                }
            }
            self.desk.busy_us.fetch_add((self.now - begun).as_micros() as u64, Ordering::Relaxed);
        }
    }

    /// Shards that were opened, or come back from helpers.
    fn welcome(&mut self) {
        if !self.desk.has_arrivals.swap(false, Ordering::SeqCst) {
            return;
        }
        std::mem::swap(&mut *self.desk.arrivals.lock(), &mut self.arrived);
        while let Some(Arrival { drive, outcome }) = self.arrived.pop() {
            let place = usize::from(drive.shard()) / self.threads;
            let seat = &mut self.seats[place];
            self.driven += usize::from(!std::mem::take(&mut seat.is_away));
            seat.drive = Some(drive);
            let was_rung = std::mem::take(&mut seat.was_rung);
            self.after(place, outcome);
            if was_rung {
                make_ready(&mut self.seats, &mut self.ready, place);
            }
        }
    }

    fn take_rung(&mut self) {
        self.desk.bell.take(&mut self.rung);
        for shard in self.rung.drain(..) {
            let place = usize::from(shard) / self.threads;
            make_ready(&mut self.seats, &mut self.ready, place);
        }
    }

    fn take_due(&mut self) {
        let (seats, ready) = (&mut self.seats, &mut self.ready);
        self.alarms.take_due(self.now, |place| {
            seats[place].rests = false;
            make_ready(seats, ready, place);
        });
    }

    fn turn(&mut self, place: usize) {
        let seat = &mut self.seats[place];
        seat.is_ready = false;
        let Some(drive) = &mut seat.drive else { return };
        if !drive.recovers() {
            let outcome = take_turn(&mut **drive);
            self.now = Instant::now();
            self.after(place, outcome);
            return;
        }
        let Some(mut drive) = seat.drive.take() else { return };
        seat.is_away = true;
        self.alarms.clear(place);
        let desk = Arc::clone(&self.desk);
        self.helpers.run(Box::new(move || {
            let outcome = take_turn(&mut *drive);
            desk.arrive(drive, outcome);
        }));
    }

    /// Sees to what a shard wants after a turn.
    fn after(&mut self, place: usize, outcome: Outcome) {
        let seat = &mut self.seats[place];
        self.awaited -= seat.awaited;
        seat.awaited = 0;
        match outcome {
            Outcome::Turned(turned) if turned.is_stopped => {
                self.alarms.clear(place);
                self.driven -= 1;
                if let Some(drive) = seat.drive.take() {
                    self.helpers.run(Box::new(move || drive.end()));
                }
            }
            Outcome::Turned(turned) => {
                seat.awaited = turned.awaited;
                self.awaited += turned.awaited;
                if turned.at_once {
                    make_ready(&mut self.seats, &mut self.ready, place);
                } else {
                    self.alarms.set(place, turned.wait, self.now);
                }
            }
            Outcome::Rests(wait) => {
                seat.rests = true;
                self.alarms.set(place, wait, self.now);
            }
        }
    }

    /// Waits until there is something to do.
    fn wait(&mut self) {
        if self.desk.bell.was_rung()
            || self.awaited >= SPIN_ANSWERS_MIN && was_rung_meanwhile(&self.desk.bell)
        {
            return;
        }
        match self.alarms.next(self.now) {
            Some(next) => std::thread::park_timeout(next),
            None => std::thread::park(),
        }
    }
}

/// A shard takes a turn in the next round, unless it rests or is not here.
fn make_ready(seats: &mut [Seat], ready: &mut VecDeque<usize>, place: usize) {
    let seat = &mut seats[place];
    if seat.drive.is_none() {
        seat.was_rung = true;
    } else if !seat.rests && !std::mem::replace(&mut seat.is_ready, true) {
        ready.push_back(place);
    }
}

/// Spins for a while; true as soon as the bell was rung.
fn was_rung_meanwhile(bell: &Bell) -> bool {
    let until = Instant::now() + SPIN;
    while Instant::now() < until {
        if bell.was_rung() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// What a shard of a test does in its turns.
    struct Shard {
        number: u16,
        turns: Sender<u16>,
        /// It has more to do, so many turns long.
        left: usize,
        recovers: Option<Receiver<()>>,
        panics: bool,
        ended: Sender<u16>,
    }

    impl Drive for Shard {
        fn shard(&self) -> u16 {
            self.number
        }

        fn recovers(&self) -> bool {
            self.recovers.is_some()
        }

        fn turn(&mut self) -> Turned {
            if let Some(go_on) = self.recovers.take() {
                go_on.recv_timeout(LONG).expect("the test lets it go on");
            }
            let _ = self.turns.send(self.number);
            assert!(!std::mem::take(&mut self.panics), "planned");
            let is_stopped = self.left == 0;
            self.left = self.left.saturating_sub(1);
            Turned { at_once: true, wait: LONG, awaited: 0, is_stopped }
        }

        fn start_over(&mut self) {}

        fn end(self: Box<Self>) {
            let _ = self.ended.send(self.number);
        }
    }

    struct Test {
        desk: Arc<Desk>,
        turns: Receiver<u16>,
        ended: Receiver<u16>,
        to: (Sender<u16>, Sender<u16>),
    }

    impl Test {
        fn new() -> Self {
            let (turn, turns) = channel();
            let (end, ended) = channel();
            Self { desk: Arc::default(), turns, ended, to: (turn, end) }
        }

        fn shard(&self, number: u16, turns: usize) -> Shard {
            let (turn, end) = self.to.clone();
            Shard { number, turns: turn, left: turns, recovers: None, panics: false, ended: end }
        }

        /// Has a thread drive them until all have ended; returns whose turns they were.
        fn run(self, shards: Vec<Shard>, meanwhile: impl FnOnce()) -> Vec<u16> {
            let count = shards.len();
            for shard in shards {
                self.desk.seat(Box::new(shard));
            }
            let worker = Worker::new(Arc::clone(&self.desk), Arc::new(Helpers::new(2)), 1, 8);
            let thread = std::thread::spawn(move || worker.run());
            meanwhile();
            for _ in 0..count {
                self.ended.recv_timeout(LONG).expect("it ends");
            }
            self.desk.close();
            thread.join().expect("it does not panic");
            self.turns.try_iter().collect()
        }
    }

    #[test]
    fn shards_that_all_have_more_to_do_take_turns() {
        let test = Test::new();
        let shards = (0..3).map(|number| test.shard(number, 50)).collect();
        let turns = test.run(shards, || ());
        assert_eq!(turns.len(), 3 * 51);
        for round in turns.chunks(3) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, [0, 1, 2]);
        }
    }

    #[test]
    fn others_have_their_turns_while_one_recovers_or_rests() {
        let test = Test::new();
        let (go_on, recovers) = channel();
        let recovering = Shard { recovers: Some(recovers), ..test.shard(0, 2) };
        let resting = Shard { panics: true, ..test.shard(1, 2) };
        let last = test.shard(2, 100);
        let begun = Instant::now();
        let turns = test.run(vec![recovering, resting, last], || {
            std::thread::sleep(Duration::from_millis(20));
            go_on.send(()).expect("it waits");
        });
        let last_of = |number: u16| turns.iter().rposition(|turn| *turn == number).expect("it had turns");
        assert!(last_of(2) < last_of(0) && last_of(2) < last_of(1), "{turns:?}");
        assert_eq!(turns.iter().filter(|turn| **turn == 1).count(), 4, "it goes on after its rest");
        assert!(begun.elapsed() >= Duration::from_millis(900), "it rested");
    }
}
