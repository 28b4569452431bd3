//! A turn panics, or the journal breaks its promise, at every place where it may: every answer that
//! was given is true.
//!
//! An accepted job is there, also after a crash. A job that was answered Busy is not there, and
//! never comes. A job whose outcome is unknown, or that has no answer since the panic dropped its
//! caller, may be either.

use crate::fixture;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use fixture::fragile::{Asked, Plan, Workshop, Wrong};
use fixture::machine::Machine;
use fixture::{Data, LONG, of_text, put, queue, until};
use stadium_queue::{Answer, Command, Queues, Refusal, Time};
use stadium_shard::core::{Core, Output, Request, Search};

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
    fn check(&self, there: &[String], what: &str) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for (caller, payload) in &self.asked {
            let is_there = there.contains(payload);
            match self.answers.get(caller) {
                Some(Ok(())) => {
                    outcomes.accepted += 1;
                    assert!(is_there, "{what}: {payload} was accepted and is lost");
                }
                Some(Err(refusal)) if refusal.is_unknown() => outcomes.unknown += 1,
                Some(Err(refusal)) => {
                    outcomes.refused += 1;
                    assert!(!is_there, "{what}: {payload} is there, and was answered {refusal}");
                }
                None => outcomes.silent += 1,
            }
        }
        outcomes
    }
}

/// How many requests had each outcome.
#[derive(Default)]
struct Outcomes {
    accepted: usize,
    refused: usize,
    unknown: usize,
    /// Without an answer.
    silent: usize,
}

/// Goes through a test in which something goes wrong; returns the outcomes where it did.
fn go_through(asked: Asked, nth: usize, wrong: Wrong) -> Option<Outcomes> {
    let workshop = Workshop { machine: Machine::new(), plan: Plan::default() };
    let mut test = Behaviour::begin(workshop.clone());
    *workshop.plan.lock().expect("free") = Some((asked, nth, wrong));
    test.run();
    let has_happened = workshop.plan.lock().expect("free").take().is_none();
    let what = format!("{wrong:?} in {asked:?} {nth}");
    let there = test.there();
    let outcomes = test.check(&there, &what);
    // Also when the power fails: jobs that were cut stay away, accepted jobs are there.
    let Behaviour { core, asked: all, answers, .. } = test;
    drop(core);
    workshop.machine.crash(true);
    let mut again = Behaviour { asked: all, answers, ..Behaviour::begin(workshop) };
    let there = again.there();
    again.check(&there, &format!("{what}, after a crash"));
    has_happened.then_some(outcomes)
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
            let Some(outcomes) = go_through(asked, nth, wrong) else { break };
            let Outcomes { accepted, refused, silent, .. } = outcomes;
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

#[test]
fn a_log_that_can_be_followed_no_further_never_makes_an_answer_a_lie() {
    for asked in [Asked::Append, Asked::Commit, Asked::Durable] {
        let mut unknown = 0;
        for nth in 0..80 {
            let Some(outcomes) = go_through(asked, nth, Wrong::Unknown) else { break };
            assert!(outcomes.accepted > 0, "{asked:?} {nth}: the shard goes on");
            unknown += outcomes.unknown;
        }
        assert!(unknown > 0, "{asked:?}");
    }
}

/// Counts how often a shard has everybody arrive again.
#[derive(Default)]
struct Counting(AtomicUsize);

impl stadium_push::Transport for Counting {
    fn carry_out(&self, _: u16, _: Vec<stadium_push::TransportCommand>) {}

    fn announce_again(&self, _: u16) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn counted(&self, _: stadium_push::live::LiveToken, _: &stadium_push::live::LiveTally) {}
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
