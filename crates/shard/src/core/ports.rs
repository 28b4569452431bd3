//! Inputs and outputs of a shard's core, and the parts that it stands on.
//!
//! A driver owns threads, mailboxes and clocks; the core sees requests, the time, and a journal. A
//! thread drives it in production, a simulator in tests.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use stadium_journal::{Checkpoints, Following, Journal, JournalId, Opening};
use stadium_state_machine::{Effects, Milliseconds, Refusal, StateMachine, Time};

use super::composition::carried::Beside;
use super::direct::Direct;
use super::slot::{AnyCommand, AnyMessage};
use crate::Answer;
use crate::error::{MOVED, STOPPING};
use crate::frame::MachineId;

/// Where a shard's journal and its checkpoints are.
pub trait Store: Send {
    /// The journal that it opens.
    type Journal: Journal;

    /// Takes the [mark](Journal::mark) that the newest checkpoint keeps; empty where it keeps none.
    /// Called before [`Self::open`].
    fn resume(&mut self, _mark: &[u8]) {}

    /// Opens the journal. Called again after a failure, when the handle before was dropped.
    ///
    /// # Errors
    ///
    /// As the journal's own opening: in use, corrupt, foreign, or the disk's.
    fn open(&mut self, opening: Opening) -> Result<Self::Journal, stadium_journal::Error>;

    /// The checkpoints beside it. First without the journal's id, to read the newest one, whose
    /// position [`Self::open`] gets: nothing may be changed then, since somebody else may have the
    /// journal open. Then with its id, to be written to.
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    fn checkpoints(
        &mut self,
        journal: Option<JournalId>,
    ) -> Result<Box<dyn Checkpoints>, stadium_journal::Error>;
}

/// The place of a shard's replica, whose log several nodes keep.
///
/// [`Store::open`] opens the journal as its owner: it claims the log, and waits for that.
pub trait ReplicaStore: Store<Journal: Following> {
    /// Makes sure that the folder can be followed from. Called before its checkpoints are read, while
    /// no handle has its journal open. May take as long as a copy of the whole shard.
    ///
    /// # Errors
    ///
    /// The folder does not suffice, and cannot be made to.
    fn prepare(&mut self) -> Result<(), stadium_journal::Error> {
        Ok(())
    }

    /// Opens the journal as a follower.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    fn follow(&mut self, opening: Opening) -> Result<Self::Journal, stadium_journal::Error>;
}

/// The lease of a node that owns shards whose logs several nodes keep.
pub trait NodeLease: fmt::Debug + Send + Sync {
    /// Whether it is certain that no other node has served this shard since this node last began to.
    /// Called once in each turn that answers from memory; never blocks.
    fn is_certain(&self, shard: u16) -> bool;
}

/// Who asked: what the driver wants back with the answer.
pub trait Caller: Send {
    /// Distinguishes this request from all others that are not answered yet.
    fn id(&self) -> u64;

    /// Nobody waits for the answer any more.
    fn is_gone(&self) -> bool;

    /// Whether a command of its that is not carried out here, or whose outcome the shard does not know,
    /// is to come back: [`Output::given_back`]. The shard keeps the command until it is answered.
    /// Not for one whose [`Search`] goes beyond this shard.
    fn comes_back(&self) -> bool {
        false
    }
}

impl Caller for u64 {
    fn id(&self) -> u64 {
        *self
    }

    fn is_gone(&self) -> bool {
        false
    }
}

/// A command `Q` to the direct machine, and who is to get the answer.
#[derive(Debug)]
pub struct Request<C, Q> {
    /// Who asked.
    pub caller: C,
    /// What for.
    pub command: Q,
    /// For a command that waits: where else its items may be.
    pub search: Search,
}

/// Where a command that waits looks for items.
#[derive(Debug, Clone)]
pub enum Search {
    /// In this shard only.
    Here,
    /// Here, and where nothing is due, in so many other shards: see [`Output::forwarded`].
    Then {
        /// Shards that were not asked.
        shards: u16,
    },
    /// In all shards at once: a shard that has an item takes the claim.
    Everywhere(Claim),
}

/// The right to answer a request that several shards hold.
///
/// A shard that looks whether it has an item tries the claim meanwhile, and keeps it or gives it
/// back. Another one that comes by meanwhile does not know yet: it waits, and looks again.
#[derive(Debug, Clone, Default)]
pub struct Claim(Arc<AtomicU8>);

/// What a shard learns that wants to try a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// The claim is its own: until it gives it back, or for ever.
    Mine,
    /// Another shard tries; it may give the claim back.
    Others,
    /// Another shard answers.
    Over,
}

const FREE: u8 = 0;
const TRIED: u8 = 1;
const TAKEN: u8 = 2;

impl Claim {
    /// One that nobody has taken.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes it for ever; false where another shard has it, who answers, or waits and answers later.
    pub fn take(&self) -> bool {
        self.0.compare_exchange(FREE, TAKEN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Takes it until [`keep`](Self::keep) or [`give_back`](Self::give_back).
    pub fn try_out(&self) -> Trial {
        match self.0.compare_exchange(FREE, TRIED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Trial::Mine,
            Err(TRIED) => Trial::Others,
            Err(_) => Trial::Over,
        }
    }

    /// Keeps it for ever, by who tries it.
    pub fn keep(&self) {
        self.0.store(TAKEN, Ordering::Release);
    }

    /// Gives it back, by who tries it.
    pub fn give_back(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}

/// An answer whose turn to leave has come: everything that it may have seen is durable.
#[derive(Debug)]
pub struct Reply<C> {
    /// Who asked.
    pub caller: C,
    /// What came of it.
    pub answer: Result<Answer, Refusal>,
}

/// A command that comes back to be asked again: another owner has the shard, or is about to, or the
/// outcome is unknown. `Q` are the commands of the direct machine.
pub struct GivenBack<C, Q> {
    /// The caller.
    pub caller: C,
    /// The refusal that the caller hears if the command is not asked again.
    pub refusal: Refusal,
    /// Milliseconds since the shard took it on.
    pub held_ms: Milliseconds,
    pub(crate) body: Body<Q>,
}

/// A command without its caller.
pub(crate) enum Body<Q> {
    Direct(Q),
    Machine(AnyCommand),
    Together(Box<Beside>),
}

/// What turns produced for others. The driver empties it.
pub struct Output<C, M: Direct> {
    /// Answers.
    pub replies: Vec<Reply<C>>,
    /// Commands to be asked again, of callers who [want that](Caller::comes_back).
    pub given_back: Vec<GivenBack<C, M::Command>>,
    /// Commands that found nothing here: for the next shard where some are left to ask, and else,
    /// where they want to wait, for all shards, this one included, with one claim.
    pub forwarded: Vec<Request<C, M::Command>>,
    /// Messages to other shards. Each is answered by [`Confirmation`], and sent again until it is.
    pub deliveries: Vec<(u16, Delivery)>,
    /// Answers to deliveries of other shards, by the shard that they came from.
    pub confirmations: Vec<(u16, Confirmation)>,
    /// Effects of machines on other parts of the process, by machine.
    pub effects: Vec<(MachineId, Effects)>,
    /// Changes of the shards on which items of a key are placed.
    pub placements: Vec<M::Placement>,
}

impl<C, M: Direct> Default for Output<C, M> {
    fn default() -> Self {
        Self {
            replies: Vec::new(),
            given_back: Vec::new(),
            forwarded: Vec::new(),
            deliveries: Vec::new(),
            confirmations: Vec::new(),
            effects: Vec::new(),
            placements: Vec::new(),
        }
    }
}

impl<C: Caller, M: Direct> Output<C, M> {
    /// Refuses a command that was taken on so long ago; gives it back where its caller wants that, and
    /// the refusal leaves something to be asked again.
    pub(super) fn refuse(
        &mut self,
        caller: C,
        body: Option<Body<M::Command>>,
        refusal: Refusal,
        held_ms: Milliseconds,
    ) {
        let leaves_something = || refusal.is_unknown() || [MOVED, STOPPING].contains(&refusal.code());
        let body = body.filter(|_| caller.comes_back() && leaves_something());
        self.set_aside(caller, body, refusal, held_ms);
    }

    /// Notes a refusal, with the command if there is one.
    pub(super) fn set_aside(
        &mut self,
        caller: C,
        body: Option<Body<M::Command>>,
        refusal: Refusal,
        held_ms: Milliseconds,
    ) {
        match body {
            Some(body) => self.given_back.push(GivenBack { caller, refusal, held_ms, body }),
            None => self.replies.push(Reply { caller, answer: Err(refusal) }),
        }
    }

    /// Takes over refusals that were set aside, as `refusal_of` makes them.
    pub(super) fn take_given_up(
        &mut self,
        given_up: &mut Output<C, M>,
        refusal_of: impl Fn(Refusal) -> Refusal,
    ) {
        let refusals = given_up.replies.drain(..);
        self.replies
            .extend(refusals.map(|reply| Reply { answer: reply.answer.map_err(&refusal_of), ..reply }));
        for GivenBack { caller, refusal, held_ms, body } in given_up.given_back.drain(..) {
            self.refuse(caller, Some(body), refusal_of(refusal), held_ms);
        }
        self.confirmations.append(&mut given_up.confirmations);
    }
}

/// A message from one shard to another, taken in once however often it arrives.
pub struct Delivery {
    /// The machine that takes it in; it was sent by the same one of the other shard.
    pub machine: MachineId,
    /// The shard that sends it.
    pub shard: u16,
    /// Its number there.
    pub number: u64,
    message: Box<dyn AnyMessage>,
}

impl Delivery {
    pub(super) fn new(machine: MachineId, shard: u16, number: u64, message: Box<dyn AnyMessage>) -> Self {
        Delivery { machine, shard, number, message }
    }

    /// A delivery to `M`.
    pub fn to_machine<M: StateMachine>(delivery: stadium_state_machine::Delivery<M::Message>) -> Self {
        let (shard, number) = (delivery.shard, delivery.number);
        Self::new(MachineId::of::<M>(), shard, number, Box::new(delivery))
    }

    /// The delivery as its machine sees it.
    ///
    /// # Errors
    ///
    /// It is for another machine than `M`: it comes back.
    pub fn into_machine<M: StateMachine>(self) -> Result<stadium_state_machine::Delivery<M::Message>, Self> {
        if self.of::<M>().is_none() {
            return Err(self);
        }
        let message = self.message.into_any().downcast();
        Ok(*message.expect("it was looked at"))
    }

    /// As its machine sees it; none where that is not `M`.
    pub fn of<M: StateMachine>(&self) -> Option<&stadium_state_machine::Delivery<M::Message>> {
        (self.machine == MachineId::of::<M>()).then(|| self.message.any().downcast_ref())?
    }

    pub(super) fn message(&self) -> &dyn AnyMessage {
        &*self.message
    }

    /// The answer of its receiver.
    pub fn confirmation(&self, taken: Result<(), Refusal>) -> Confirmation {
        Confirmation { machine: self.machine, number: self.number, taken }
    }
}

impl Clone for Delivery {
    fn clone(&self) -> Self {
        Delivery { message: self.message.cloned(), ..*self }
    }
}

impl PartialEq for Delivery {
    fn eq(&self, other: &Self) -> bool {
        self.machine == other.machine && self.message.is_same(&*other.message)
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The machine whose message it was.
    pub machine: MachineId,
    /// The sender's number for it.
    pub number: u64,
    /// Taken in, durably. Busy: not now, and it is sent again. Rejected, where that is an answer:
    /// it was taken in, and that is the answer.
    pub taken: Result<(), Refusal>,
}

/// When a core wants its next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Next {
    /// At once: there was more to do than fits into one turn.
    pub at_once: bool,
    /// Else at this time, or when there is input, or when the journal wakes it.
    pub deadline: Option<Time>,
    /// Answers that wait for a commit.
    pub awaited: usize,
    /// After [`Core::stop`](super::Core::stop): the last checkpoint is written, nothing is left to do. Or another owner has
    /// the shard.
    pub stopped: bool,
}
