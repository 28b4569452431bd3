//! A shard whose direct machine is not the queues: the core drives whichever machine has the
//! capabilities.
//!
//! The machine is a box of notes. A command that takes a note waits until there is one, and gets it
//! under a lease. The text of a note stays in the journal, and moves out of old segments.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::fmt;

use bytes::Bytes;
use stadium_journal::Journal as _;
use stadium_shard::Answer;
use stadium_shard::core::{Core, Direct, Kind, MachineId, Output, Request, Search};
use stadium_state_machine::encoding::{Reader, corrupt, number};
use stadium_state_machine::{
    Checkpointed, Corrupt, Description, Executed, Leasing, Line, Lookup, MachineState, Milliseconds,
    MovePayloads, PayloadAt, PayloadChange, Record, Refusal, Section, StateMachine, Time, Unreadable,
    Waitable,
};

use crate::fixture::machine::Machine;

/// Bytes of the checksum in front of a payload.
const CRC_BYTES: usize = 4;

/// Bytes of an event beside the text of a note.
const EVENT_BYTES: usize = 64;

/// Bytes of the longest text.
const TEXT_BYTES_MAX: usize = 8 << 10;

#[derive(Debug)]
enum Command {
    Write(String),
    /// Takes the oldest note; waits for one, so long at most.
    Take(Milliseconds),
    /// Notes that nobody has read are in the box again.
    PutBack(Vec<NoteId>),
    Tear(NoteId),
    /// Notes that are in the box, and commands that wait for one.
    Count,
}

#[derive(Debug, PartialEq)]
enum Noted<P> {
    Done,
    Note(Option<(NoteId, P)>),
    Count { notes: usize, waiting: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NoteId(u64);

impl fmt::Display for NoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Default)]
struct Notes {
    next: u64,
    in_box: VecDeque<u64>,
    taken: BTreeSet<u64>,
    places: BTreeMap<u64, PayloadAt>,
    changes: Vec<PayloadChange>,
    is_ready: bool,
}

const WRITTEN: u8 = 1;
const TAKEN: u8 = 2;
const PUT_BACK: u8 = 3;
const TORN: u8 = 4;
const MOVED: u8 = 5;

impl Notes {
    /// Applies an event; that of a note that was written, or moved, has the place of its text.
    fn applied(&mut self, kind: u8, note: u64, place: PayloadAt) -> Result<(), Corrupt> {
        match kind {
            WRITTEN => {
                self.next = note + 1;
                self.is_at(note, Some(place));
                self.in_box.push_back(note);
                self.is_ready = true;
            }
            TAKEN => {
                let first = self.in_box.pop_front().filter(|&first| first == note);
                let first = first.ok_or_else(|| corrupt("another note is the first"))?;
                self.taken.insert(first);
            }
            PUT_BACK => {
                if !self.taken.remove(&note) {
                    return Err(corrupt("nobody took the note"));
                }
                self.in_box.push_front(note);
                self.is_ready = true;
            }
            TORN => {
                self.taken.remove(&note);
                self.in_box.retain(|&other| other != note);
                self.is_at(note, None);
            }
            _ => self.is_at(note, Some(place)),
        }
        Ok(())
    }

    /// The text of a note stands there now, or is not needed any more.
    fn is_at(&mut self, note: u64, place: Option<PayloadAt>) {
        let before = match place {
            Some(place) => self.places.insert(note, place),
            None => self.places.remove(&note),
        };
        let change =
            |at: PayloadAt, sign| PayloadChange { record: at.record, bytes: sign * i64::from(at.length) };
        self.changes.extend(before.map(|at| change(at, -1)));
        self.changes.extend(place.map(|at| change(at, 1)));
    }

    /// Writes the text of a note, and applies that.
    fn write(&mut self, record: &mut Record, at: u64, kind: u8, note: u64, text: &[u8]) {
        let out = record.events_mut();
        out.push(kind);
        number(out, note);
        number(out, text.len() as u64);
        out.extend_from_slice(&crc32c::crc32c(text).to_le_bytes());
        let place = PayloadAt { record: at, offset: out.len() as u32, length: text.len() as u32 };
        out.extend_from_slice(text);
        self.applied(kind, note, place).expect("it was decided by this state");
    }

    fn emit(&mut self, record: &mut Record, kind: u8, note: u64) {
        record.events_mut().push(kind);
        number(record.events_mut(), note);
        self.applied(kind, note, PayloadAt::default()).expect("it was decided by this state");
    }
}

impl Checkpointed for Notes {
    fn checkpoint_begin(&mut self) {}

    fn checkpoint_next(&mut self, _chunk: &mut Vec<u8>, _bytes_max: usize) -> bool {
        false
    }

    fn checkpoint_abort(&mut self) {}

    fn restore(&mut self, _chunk: &[u8]) -> Result<(), Corrupt> {
        Ok(())
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        Ok(())
    }
}

impl MachineState for Notes {
    fn apply(&mut self, at: u64, _time: Time, offset: u32, events: &[u8]) -> Result<(), Corrupt> {
        let mut input = Reader::new(events);
        while !input.is_empty() {
            let (kind, note) = (input.byte()?, input.number()?);
            let mut place = PayloadAt::default();
            if kind == WRITTEN || kind == MOVED {
                let length = input.small::<u32>()?;
                input.take(CRC_BYTES)?;
                place = PayloadAt { record: at, offset: offset + input.position() as u32, length };
                input.take(length as usize)?;
            }
            self.applied(kind, note, place)?;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }

    fn next_deadline(&self) -> Option<Time> {
        None
    }

    fn take_payload_changes(&mut self, into: &mut Vec<PayloadChange>) {
        into.append(&mut self.changes);
    }

    fn live_payloads(&self, each: &mut dyn FnMut(PayloadAt)) {
        self.places.values().for_each(|&place| each(place));
    }

    fn move_bytes_max(&self, bytes_max: usize) -> Option<usize> {
        Some(bytes_max + EVENT_BYTES + TEXT_BYTES_MAX)
    }

    fn move_payloads(
        &mut self,
        at: u64,
        _: Time,
        moving: &mut MovePayloads<'_>,
        record: &mut Record,
    ) -> bool {
        let next = self.places.range(moving.cursor.next..).next();
        let Some((&note, &place)) = next else { return false };
        let mut text = Vec::new();
        if moving.range.contains(&place.record) && (moving.read)(place, &mut text) {
            self.write(record, at, MOVED, note, &text);
        }
        moving.cursor.next = note + 1;
        true
    }
}

impl StateMachine for Notes {
    type Command = Command;
    type Answer = Noted<PayloadAt>;
    type Message = ();
    type Walk = Infallible;

    const CODE: u8 = 201;

    fn is_read(command: &Command) -> bool {
        matches!(command, Command::Count)
    }

    fn record_bytes_max(&self, command: &Command) -> usize {
        let text = if let Command::Write(text) = command { text.len() } else { 0 };
        EVENT_BYTES + text
    }

    fn read(&mut self, _: Time, _: &Command) -> Result<Lookup<Self::Answer, Infallible>, Refusal> {
        Ok(Lookup::Answer(Noted::Count { notes: self.in_box.len(), waiting: 0 }))
    }

    fn execute(
        &mut self,
        at: u64,
        _now: Time,
        _random: u64,
        command: &Command,
        record: &mut Record,
    ) -> Result<Executed<Self::Answer>, Refusal> {
        match command {
            Command::Write(text) => self.write(record, at, WRITTEN, self.next, text.as_bytes()),
            Command::Take(_) => {
                let Some(&note) = self.in_box.front() else {
                    return Ok(Executed::Done(Noted::Note(None)));
                };
                self.emit(record, TAKEN, note);
                return Ok(Executed::Done(Noted::Note(Some((NoteId(note), self.places[&note])))));
            }
            Command::PutBack(notes) => notes.iter().for_each(|note| self.emit(record, PUT_BACK, note.0)),
            Command::Tear(note) => self.emit(record, TORN, note.0),
            Command::Count => unreachable!("it is a read"),
        }
        Ok(Executed::Done(Noted::Done))
    }

    fn tick(&mut self, _: u64, _: Time, _: u64, _: &mut Record, _: u32) -> bool {
        false
    }

    fn tick_bytes_max(&self, _events_max: u32) -> usize {
        0
    }

    fn describe(_: Section<'_>, _: &mut Vec<Description>) -> Result<(), Corrupt> {
        Ok(())
    }
}

impl Waitable for Notes {
    type Key = ();

    fn line(command: &Command) -> Option<Line<'_, ()>> {
        if let Command::Take(wait) = command { Some(Line { key: &(), wait: *wait }) } else { None }
    }

    fn is_nothing(answer: &Self::Answer) -> bool {
        *answer == Noted::Note(None)
    }

    fn nothing() -> Self::Answer {
        Noted::Note(None)
    }

    fn take_ready(&mut self, into: &mut Vec<()>) {
        if std::mem::take(&mut self.is_ready) {
            into.push(());
        }
    }

    fn note_waiting(answer: &mut Self::Answer, commands: impl Fn(&()) -> u64) {
        if let Noted::Count { waiting, .. } = answer {
            *waiting = commands(&());
        }
    }
}

impl Leasing for Notes {
    type Lease = NoteId;
    type Resolved = Noted<Bytes>;

    fn resolve(
        answer: Self::Answer,
        read: &mut impl FnMut(PayloadAt) -> Result<Bytes, Unreadable>,
        unreadable: &mut Vec<(NoteId, Unreadable)>,
    ) -> Result<Noted<Bytes>, Unreadable> {
        Ok(match answer {
            Noted::Done => Noted::Done,
            Noted::Count { notes, waiting } => Noted::Count { notes, waiting },
            Noted::Note(note) => Noted::Note(note.and_then(|(note, place)| match read(place) {
                Ok(text) => Some((note, text)),
                Err(reason) => {
                    unreadable.push((note, reason));
                    None
                }
            })),
        })
    }

    fn leases(answer: &Noted<Bytes>) -> Vec<NoteId> {
        if let Noted::Note(Some((note, _))) = answer { vec![*note] } else { Vec::new() }
    }

    fn take_back(leases: Vec<NoteId>, _after: Milliseconds) -> Command {
        Command::PutBack(leases)
    }

    fn set_aside(lease: NoteId, _reason: String) -> Command {
        Command::Tear(lease)
    }
}

impl Direct for Notes {
    type Placement = ();

    fn placement(_command: &Command) -> Option<()> {
        None
    }

    fn check_placement(&self, _now: Time, _command: &Command) -> Result<(), Refusal> {
        Ok(())
    }

    fn answer(resolved: Noted<Bytes>) -> Answer {
        Answer::Machine(MachineId::of::<Notes>(), Box::new(resolved))
    }

    fn resolved(answer: &Answer) -> Option<&Noted<Bytes>> {
        if let Answer::Machine(_, answer) = answer { answer.downcast_ref() } else { None }
    }
}

struct Shard {
    core: Core<Machine, u64, Notes>,
    machine: Machine,
    output: Output<u64, Notes>,
    now: u64,
}

impl Shard {
    fn boot(machine: Machine) -> Self {
        let mut settings = machine.settings();
        settings.more_machines = vec![Kind::of(|_| Notes::default())];
        let core = Core::open(machine.clone(), settings, Time(1_000), &mut |_| ());
        Self { core: core.expect("it starts"), machine, output: Output::default(), now: 1_000 }
    }

    fn submit(&mut self, caller: u64, command: Command) {
        self.core.submit(Request { caller, command, search: Search::Here });
    }

    /// Turns until all that can be answered is: the callers and their answers.
    fn answered(&mut self) -> Vec<(u64, Answer)> {
        for _ in 0..20 {
            self.now += 1;
            self.core.turn(Time(self.now), &mut self.output);
            while self.machine.step() {}
        }
        let replies = self.output.replies.drain(..);
        replies.map(|reply| (reply.caller, reply.answer.expect("no refusal"))).collect()
    }

    /// The texts of the notes that callers got; none for nothing.
    fn notes(&mut self) -> Vec<(u64, Option<String>)> {
        let texts = |(caller, answer): (u64, Answer)| match Notes::resolved(&answer) {
            Some(Noted::Note(note)) => {
                let text = note.as_ref().map(|(_, text)| String::from_utf8_lossy(text).into_owned());
                Some((caller, text))
            }
            _ => None,
        };
        self.answered().into_iter().filter_map(texts).collect()
    }

    fn count(&mut self) -> (usize, u64) {
        self.submit(99, Command::Count);
        match self.answered().pop() {
            Some((99, answer)) => match Notes::resolved(&answer) {
                Some(&Noted::Count { notes, waiting }) => (notes, waiting),
                other => panic!("a count, not {other:?}"),
            },
            other => panic!("one answer, not {other:?}"),
        }
    }
}

fn note(text: &str) -> Option<String> {
    Some(text.into())
}

#[test]
fn commands_to_any_direct_machine_wait_in_line_and_get_payloads_from_the_journal() {
    let mut shard = Shard::boot(Machine::new());
    shard.submit(1, Command::Take(60_000));
    shard.submit(2, Command::Take(60_000));
    shard.submit(3, Command::Take(0));
    assert_eq!(shard.notes(), [(3, None)], "who does not wait gets nothing");
    assert_eq!(shard.count(), (0, 2));
    shard.submit(4, Command::Write("first".into()));
    shard.submit(5, Command::Write("second".into()));
    assert_eq!(shard.notes(), [(1, note("first")), (2, note("second"))]);
    shard.submit(6, Command::Take(5));
    assert_eq!(shard.notes(), [(6, None)], "its time is over");
}

#[test]
fn an_item_whose_caller_has_gone_is_handed_out_again() {
    let mut shard = Shard::boot(Machine::new());
    shard.submit(1, Command::Write("kept".into()));
    shard.submit(2, Command::Take(0));
    let answers = shard.answered();
    let (_, answer) = answers.into_iter().find(|(caller, _)| *caller == 2).expect("it is answered");
    assert_eq!(shard.count(), (0, 0));
    shard.core.undelivered(&Ok(answer));
    assert_eq!(shard.count(), (1, 0));
    shard.submit(3, Command::Take(0));
    assert_eq!(shard.notes(), [(3, note("kept"))]);
    assert_eq!(shard.core.metrics().released_unsent, 1);
}

#[test]
fn records_of_any_direct_machine_are_replayed() {
    let mut shard = Shard::boot(Machine::new());
    for (caller, text) in [(1, "one"), (2, "two")] {
        shard.submit(caller, Command::Write(text.into()));
    }
    shard.submit(3, Command::Take(0));
    assert_eq!(shard.notes(), [(3, note("one"))]);
    let machine = shard.machine.clone();
    assert!(shard.core.journal().is_some_and(|journal| journal.durable().is_ok()));
    drop(shard);
    machine.crash(false);
    let mut shard = Shard::boot(machine);
    shard.submit(4, Command::Take(0));
    assert_eq!(shard.notes(), [(4, note("two"))]);
}

#[test]
fn payloads_of_any_machine_are_written_again_so_that_segments_can_go() {
    let mut shard = Shard::boot(Machine::new());
    let text = |number: usize| format!("{number} {}", "x".repeat(TEXT_BYTES_MAX - 8));
    // The first of a hundred notes is kept: it stands in the first of three segments.
    for number in 0..100 {
        shard.submit(1, Command::Write(text(number)));
        shard.answered();
        if number > 0 {
            shard.submit(2, Command::Tear(NoteId(number as u64)));
            shard.answered();
        }
    }
    shard.core.checkpoint_soon();
    for _ in 0..5 {
        // Beyond the time after which it looks for segments that may go.
        shard.now += 2_000;
        shard.answered();
    }
    let metrics = shard.core.metrics();
    assert_eq!(metrics.rewritten_bytes, text(0).len() as u64, "the note that is kept moved");
    assert!(metrics.segments_removed >= 2, "{} were removed", metrics.segments_removed);
    shard.submit(3, Command::Take(0));
    assert_eq!(shard.notes(), [(3, Some(text(0)))]);
}
