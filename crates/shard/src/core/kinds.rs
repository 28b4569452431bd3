//! The kinds of state machines that a shard runs.
//!
//! A machine is added by a row of this table: [`Kind::of`]. Nothing else in the core knows which
//! machines there are.

use std::fmt;
use std::sync::Arc;

use stadium_state_machine::{Corrupt, Description, Place, Refusal, Section, StateMachine};

use super::slot::{AnyCommand, Slot};
use crate::error::unknown;
use crate::frame::MachineId;

/// A kind of state machine.
#[derive(Clone)]
pub struct Kind {
    /// Its id in records.
    pub(crate) id: MachineId,
    /// Its records are never removed.
    pub(super) records_stay: bool,
    /// A rejection is an answer to its messages.
    pub(super) rejection_answers: bool,
    pending_refusal: fn() -> Option<Refusal>,
    describe: Describe,
    follow_up: FollowUp,
    empty: Arc<dyn Fn(Place) -> Box<dyn Slot> + Send + Sync>,
}

type Describe = fn(Section<'_>, &mut Vec<Description>) -> Result<(), Corrupt>;
type FollowUp = fn(&(dyn std::any::Any + Send), u16) -> Vec<(u16, AnyCommand)>;

impl Kind {
    /// That of `M`, of which `empty` makes one without anything in it.
    pub fn of<M: StateMachine>(empty: impl Fn(Place) -> M + Send + Sync + 'static) -> Self {
        Self {
            id: MachineId::of::<M>(),
            records_stay: M::RECORDS_STAY,
            rejection_answers: M::REJECTION_ANSWERS,
            pending_refusal: M::pending_refusal,
            describe: M::describe,
            follow_up: follow_up::<M>,
            empty: Arc::new(move |place| Box::new(empty(place))),
        }
    }

    /// A machine of this kind without anything in it.
    pub(super) fn empty(&self, place: Place) -> Box<dyn Slot> {
        (self.empty)(place)
    }

    /// The refusal of a pending command when the shard starts over.
    pub(super) fn pending_refusal(&self) -> Refusal {
        (self.pending_refusal)().unwrap_or_else(unknown)
    }

    /// Describes the events of a section.
    pub(crate) fn describe(&self, section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
        (self.describe)(section, into)
    }

    /// Commands for other shards that follow from an answer which nobody takes.
    pub(crate) fn follow_up(
        &self,
        answer: &(dyn std::any::Any + Send),
        shards: u16,
    ) -> Vec<(u16, AnyCommand)> {
        (self.follow_up)(answer, shards)
    }
}

fn follow_up<M: StateMachine>(answer: &(dyn std::any::Any + Send), shards: u16) -> Vec<(u16, AnyCommand)> {
    let answer = answer.downcast_ref::<M::Answer>();
    let commands = answer.map_or_else(Vec::new, |answer| M::follow_up(answer, shards));
    commands.into_iter().map(|(shard, command)| (shard, AnyCommand::of::<M>(command))).collect()
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

/// The kinds of a shard's state machines, in the order of their ids. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Kinds(Arc<[Kind]>);

impl Kinds {
    /// These, each with an id of its own.
    pub(crate) fn new(mut kinds: Vec<Kind>) -> Self {
        kinds.sort_by_key(|kind| kind.id);
        let is_own = |pair: &[Kind]| !pair[0].id.is_machine(pair[1].id);
        assert!(
            kinds.windows(2).all(is_own),
            "each state machine of a shard has a code of its own: {kinds:?}"
        );
        Kinds(kinds.into())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Kind> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The place of a machine among them.
    pub(crate) fn index(&self, id: MachineId) -> Option<usize> {
        self.0.iter().position(|kind| kind.id == id)
    }

    /// The place of a machine that a record or a checkpoint names.
    ///
    /// # Errors
    ///
    /// This version does not have it, or not in that version.
    pub(crate) fn known(&self, id: MachineId) -> Result<usize, String> {
        self.index(id)
            .ok_or_else(|| id.not_known(self.iter().map(|kind| kind.id).find(|known| known.is_machine(id))))
    }

    pub(crate) fn get(&self, index: usize) -> &Kind {
        &self.0[index]
    }

    /// That of a machine which the shard has.
    pub(crate) fn of(&self, id: MachineId) -> &Kind {
        self.get(self.index(id).expect("the shard has this machine"))
    }
}
