//! A turn panics, or the journal breaks its promise, at every place where it may: every answer that
//! was given is true.
//!
//! An accepted job is there, also after a crash. A job that was answered Busy is not there, and
//! never comes. A job whose outcome is unknown, or that has no answer since the panic dropped its
//! caller, may be either. The journal of these behaviours finishes the work that it was handed
//! before it stops, as a thread of its own does.

use crate::fixture;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fixture::machine::Machine;
use fixture::{Data, LONG, of_text, put, queue, until};
use stadium_journal::{
    Checkpoints, Epoch, Error, FileJournal, Journal, JournalId, Metrics, Opening, Position, Reader, Room,
    Segmented, Stepper,
};
use stadium_queue::{Answer, Command, Queues, Refusal, Time};
use stadium_shard::UNKNOWN;
use stadium_shard::core::{Core, Output, Request, Search, Store};

/// The operations of a journal in which something may go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Room,
    Append,
    Commit,
    Durable,
    Read,
    End,
}

/// What goes wrong there, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Panic,
    /// A record is refused for which room was made.
    NoRoom,
}

/// At which of the calls what goes wrong; none once it did.
type Plan = Arc<Mutex<Option<(Asked, usize, Wrong)>>>;

#[derive(Clone)]
struct Workshop {
    machine: Machine,
    plan: Plan,
}

impl Store for Workshop {
    type Journal = Fragile;

    fn open(&mut self, opening: Opening) -> Result<Fragile, Error> {
        let inner = self.machine.open(opening)?;
        let stepper = self.machine.stepper.lock().expect("no test panics in it").clone();
        Ok(Fragile { inner, stepper: stepper.expect("it was made just now"), plan: self.plan.clone() })
    }

    fn checkpoints(&mut self, journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        self.machine.checkpoints(journal)
    }
}

/// A journal with which something goes wrong as planned.
struct Fragile {
    inner: FileJournal,
    stepper: Stepper,
    plan: Plan,
}

impl Fragile {
    fn asked(&self, what: Asked) -> Result<(), Error> {
        let mut plan = self.plan.lock().expect("nothing panics while it is held");
        let Some((planned, left, wrong)) = &mut *plan else { return Ok(()) };
        if *planned != what {
            return Ok(());
        }
        if *left > 0 {
            *left -= 1;
            return Ok(());
        }
        let wrong = *wrong;
        *plan = None;
        drop(plan);
        match wrong {
            Wrong::Panic => panic!("planned, in {what:?}"),
            Wrong::NoRoom => Err(Error::Full),
        }
    }

    /// The work of a thread of its own before it ends.
    fn finish(&self) {
        while self.stepper.commit() {}
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Journal for Fragile {
    fn append(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.asked(Asked::Append)?;
        self.inner.append(record)
    }

    fn append_reserved(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.asked(Asked::Append)?;
        self.inner.append_reserved(record)
    }

    fn make_room(&mut self, bytes: usize, room: Room) -> Result<Position, Error> {
        self.asked(Asked::Room)?;
        self.inner.make_room(bytes, room)
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.asked(Asked::Commit)?;
        self.inner.commit()
    }

    fn durable(&mut self) -> Result<Position, Error> {
        self.asked(Asked::Durable)?;
        self.inner.durable()
    }

    fn wait(&mut self, timeout: Duration) -> Result<Position, Error> {
        self.inner.wait(timeout)
    }

    fn stop(&mut self) -> Option<Position> {
        self.finish();
        self.inner.stop()
    }

    fn on_durable(&mut self, wake: stadium_journal::Wake) {
        self.inner.on_durable(wake);
    }

    fn end(&self) -> Position {
        if let Err(error) = self.asked(Asked::End) {
            panic!("only panics are planned here: {error}");
        }
        self.inner.end()
    }

    fn read_at(&self, record: Position, offset: u32, into: &mut [u8]) -> Result<(), Error> {
        self.asked(Asked::Read)?;
        self.inner.read_at(record, offset, into)
    }

    fn reader(&self) -> Box<dyn Reader> {
        self.inner.reader()
    }

    fn start(&self) -> Position {
        self.inner.start()
    }

    fn trim(&mut self, below: Position) -> Result<(), Error> {
        self.inner.trim(below)
    }

    fn segmented(&self) -> Option<&dyn Segmented> {
        self.inner.segmented()
    }

    fn segmented_mut(&mut self) -> Option<&mut dyn Segmented> {
        self.inner.segmented_mut()
    }

    fn room(&self) -> Option<Room> {
        self.inner.room()
    }

    fn id(&self) -> JournalId {
        self.inner.id()
    }

    fn epoch(&self) -> Epoch {
        self.inner.epoch()
    }

    fn metrics(&self) -> Metrics {
        self.inner.metrics()
    }
}

/// A shard whose journal has a plan, and all answers that were given.
struct Behaviour {
    core: Core<Workshop, u64, Queues>,
    workshop: Workshop,
    now: u64,
    output: Output<u64, Queues>,
    asked: BTreeMap<u64, String>,
    answers: BTreeMap<u64, Result<(), Refusal>>,
}

impl Behaviour {
    fn begin(workshop: Workshop) -> Self {
        let settings = workshop.machine.settings();
        let core = Core::open(workshop.clone(), settings, Time(1_000_000), &mut |_| ());
        Self {
            core: core.expect("the shard starts"),
            workshop,
            now: 1_000_000,
            output: Output::default(),
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
        }
    }

    fn submit(&mut self, caller: u64, command: Command) {
        self.core.submit(Request { caller, command, search: Search::Here });
    }

    fn turn(&mut self, milliseconds: u64) -> bool {
        self.now += milliseconds;
        let next = self.core.turn(Time(self.now), &mut self.output);
        for reply in self.output.replies.drain(..) {
            let twice = self.answers.insert(reply.caller, reply.answer.map(drop));
            assert!(twice.is_none(), "caller {} is answered twice", reply.caller);
        }
        next.at_once || next.awaited > 0
    }

    /// Puts, and looks at what is there; the journal is behind by some steps all the time.
    fn run(&mut self) {
        for round in 0..12_u64 {
            if round == 6 {
                // Beyond the time after which a shard that panicked is recovered.
                self.turn(2_000);
            }
            for one in 0..3 {
                let caller = round * 10 + one;
                let payload = format!("job {caller}");
                self.submit(caller, put("mail", &payload));
                self.asked.insert(caller, payload);
            }
            let all =
                Command::Peek { queue: queue("mail"), state: None, key: None, after: None, jobs_max: 100 };
            self.submit(round * 10 + 9, all);
            self.turn(1);
            for _ in 0..round % 4 {
                self.workshop.machine.step();
            }
        }
        for _ in 0..200 {
            let goes_on = self.turn(500);
            if !self.workshop.machine.step() && !goes_on && self.core.queues().is_some() {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    /// Payloads of all jobs.
    fn there(&mut self) -> Vec<String> {
        let all =
            Command::Peek { queue: queue("mail"), state: None, key: None, after: None, jobs_max: 1_000 };
        self.submit(5_000, all);
        for _ in 0..100 {
            self.now += 1;
            self.core.turn(Time(self.now), &mut self.output);
            self.workshop.machine.step();
            if let Some(reply) = self.output.replies.pop() {
                return match reply.answer {
                    Ok(stadium_shard::Answer::Queue(Answer::Jobs(jobs))) => {
                        jobs.iter().map(|job| of_text(&job.payload)).collect()
                    }
                    // Nothing was ever put.
                    Err(Refusal::Rejected { .. }) => Vec::new(),
                    other => panic!("{other:?}"),
                };
            }
        }
        panic!("no answer");
    }

    /// All answers are true.
    fn check(&self, there: &[String], what: &str) -> (usize, usize) {
        let (mut accepted, mut refused) = (0, 0);
        for (caller, payload) in &self.asked {
            let is_there = there.contains(payload);
            match self.answers.get(caller) {
                Some(Ok(())) => {
                    accepted += 1;
                    assert!(is_there, "{what}: {payload} was accepted and is lost");
                }
                Some(Err(refusal)) if refusal.code() == UNKNOWN => {}
                Some(Err(refusal)) => {
                    refused += 1;
                    assert!(!is_there, "{what}: {payload} is there, and was answered {refusal}");
                }
                None => {}
            }
        }
        (accepted, refused)
    }
}

/// Goes through a test in which something goes wrong; returns whether it did, and how many were
/// accepted, refused and left without an answer.
fn go_through(asked: Asked, nth: usize, wrong: Wrong) -> Option<(usize, usize, usize)> {
    let workshop = Workshop { machine: Machine::new(), plan: Plan::default() };
    let mut test = Behaviour::begin(workshop.clone());
    *workshop.plan.lock().expect("free") = Some((asked, nth, wrong));
    test.run();
    let has_happened = workshop.plan.lock().expect("free").take().is_none();
    let what = format!("{wrong:?} in {asked:?} {nth}");
    let there = test.there();
    let (accepted, refused) = test.check(&there, &what);
    // Also when the power fails: jobs that were cut stay away, accepted jobs are there.
    let Behaviour { core, asked: all, answers, .. } = test;
    drop(core);
    workshop.machine.crash(true);
    let mut again = Behaviour { asked: all, answers, ..Behaviour::begin(workshop) };
    let there = again.there();
    again.check(&there, &format!("{what}, after a crash"));
    let silent = again.asked.keys().filter(|caller| !again.answers.contains_key(caller)).count();
    has_happened.then_some((accepted, refused, silent))
}

fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_planned = info.payload_as_str().is_some_and(|words| words.starts_with("planned"));
            if !is_planned {
                usual(info);
            }
        }));
    });
}

fn everywhere(asked: &[Asked], wrong: Wrong) {
    quiet();
    for &asked in asked {
        let (mut runs, mut refusals) = (0, 0);
        for nth in 0..80 {
            let Some((accepted, refused, silent)) = go_through(asked, nth, wrong) else { break };
            assert!(accepted > 0, "{wrong:?} in {asked:?} {nth}: the shard goes on");
            assert!(silent <= 1, "{wrong:?} in {asked:?} {nth}: {silent} have no answer");
            (runs, refusals) = (runs + 1, refusals + refused);
        }
        assert!(runs > 5 && refusals > 0, "{asked:?}: {runs} runs, {refusals} refusals");
    }
}

#[test]
fn a_panic_in_a_turn_never_makes_an_answer_a_lie() {
    let all = [Asked::Room, Asked::Append, Asked::Commit, Asked::Durable, Asked::Read, Asked::End];
    everywhere(&all, Wrong::Panic);
}

#[test]
fn a_record_without_its_room_never_makes_an_answer_a_lie() {
    everywhere(&[Asked::Append], Wrong::NoRoom);
}

/// Counts how often a shard has everybody arrive again.
#[derive(Default)]
struct Counting(AtomicUsize);

impl stadium_push::Transport for Counting {
    fn carry_out(&self, _: u16, _: Vec<stadium_push::TransportCommand>) {}

    fn announce_again(&self, _: u16) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        panic!("planned, in a waker");
    }
}

/// A caller's waker panics on the shard's thread, between turns: all other callers are answered,
/// the shard starts over, and reports it.
#[test]
fn a_panic_between_turns_loses_no_answer_and_devices_arrive_again() {
    quiet();
    let data = Data::new(1);
    let shards = data.open();
    let transport = Arc::new(Counting::default());
    shards.attach_transport(transport.clone());
    for round in 1..=2 {
        let mut fatal = Box::pin(shards.submit(put("mail", "fatal")));
        let waker = Waker::from(Arc::new(Panicking));
        // It may have been answered already: then its waker is not called, and another one has to.
        while let Poll::Ready(answer) = fatal.as_mut().poll(&mut Context::from_waker(&waker)) {
            answer.expect("it is accepted");
            fatal = Box::pin(shards.submit(put("mail", "fatal")));
        }
        let others: Vec<_> = (0..50).map(|number| shards.submit(put("mail", &format!("{number}")))).collect();
        for other in others {
            match other.wait(LONG).expect("nobody waits for ever") {
                Ok(_) => {}
                Err(refusal) => assert!(!matches!(refusal, Refusal::Rejected { .. }), "{refusal}"),
            }
        }
        until("the shard has everybody arrive again", || transport.0.load(Ordering::SeqCst) >= round);
    }
    until("the shard serves again", || {
        shards.submit(put("mail", "after")).wait(LONG).is_some_and(|answer| answer.is_ok())
    });
    data.stop(shards);
}
