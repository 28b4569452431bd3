//! The shards that other nodes of a cluster serve.
//!
//! A command for a shard that is not served here goes to an [`Elsewhere`], and so does what a shard
//! of this process sends to one of another node. A standalone server has none.

use std::sync::Arc;
use std::time::Duration;

use stadium_queue::{Command, Lease, QueueName, Queues};
use stadium_state_machine::{Refusal, StateMachine as _};
use stadium_telemetry::TraceContext;

use crate::answer::{Answer, Together};
use crate::core::{AnyCommand, Body, Caller as _, Confirmation, Delivery, GivenBack};
use crate::frame::MachineId;
use crate::reply_slot::{Holder, Unclaimed};

/// Reaches the shards that other nodes serve. Nothing here waits: it is called on the threads of
/// callers and of shards.
pub trait Elsewhere: Send + Sync {
    /// Asks the owner of a shard. It is answered once, sooner or later.
    fn ask(&self, shard: u16, command: Forwarded, asker: Asker);

    /// Asks the owner of a shard again, some time later: a shard of this node had taken the command on.
    /// It is answered once: where it cannot be asked again, with that refusal.
    fn ask_again(&self, shard: u16, command: Forwarded, asker: Asker, given_up: GivenUp);

    /// Gives ids to the jobs of a put that have none, so that it can be asked again.
    fn identify(&self, command: &mut Command);

    /// Sends a message to a shard. Where it does not arrive, the sender repeats it; where it cannot
    /// leave, [`Shards::take_confirmation`](crate::Shards::take_confirmation) may say so at once.
    fn deliver(&self, to: u16, delivery: Delivery);

    /// Tells a shard what became of its message. It is asked for again where it does not arrive.
    fn confirm(&self, to: u16, confirmation: Confirmation);

    /// Gives leases back to their shard. Those that do not arrive run out.
    fn release(&self, shard: u16, leases: Vec<Lease>);

    /// Nobody waits any more for the answer of this [`Asker::id`].
    fn vanished(&self, asker: u64);

    /// Gives a shard news of devices, which nobody waits for.
    fn notify(&self, shard: u16, command: AnyCommand);

    /// A shard of this node declares other queues spread than before: all that it does.
    fn spread(&self, shard: u16, queues: Vec<QueueName>);

    /// One shard of each other node that serves any.
    fn others(&self) -> Vec<u16>;
}

/// The refusal of a command that a shard of this node had taken on.
#[derive(Debug)]
pub struct GivenUp {
    /// The refusal.
    pub refusal: Refusal,
    /// How long the shard had the command.
    pub held: Duration,
}

/// A command on its way to another node.
#[derive(Debug)]
pub enum Forwarded {
    /// To the queues of a shard. With `searches`, a reserve that any shard of that node may answer.
    Queue {
        /// The command.
        command: Command,
        /// Whether other shards of the node are asked too.
        searches: bool,
    },
    /// To another machine.
    Machine(AnyCommand),
    /// Transfers and jobs.
    Together(Together),
}

impl Forwarded {
    /// The machine that it is for; none for several.
    pub(crate) fn machine(&self) -> Option<MachineId> {
        match self {
            Forwarded::Queue { .. } => Some(MachineId::of::<Queues>()),
            Forwarded::Machine(command) => Some(command.machine()),
            Forwarded::Together(_) => None,
        }
    }

    /// Bytes of memory that it keeps alive while it waits.
    pub fn bytes(&self) -> usize {
        match self {
            Forwarded::Queue { command, .. } => Queues::command_bytes(command),
            Forwarded::Machine(command) => command.bytes(),
            Forwarded::Together(together) => together.bytes(),
        }
    }
}

impl<C> GivenBack<C, Command> {
    /// Its caller, the command, and the refusal.
    pub fn into_parts(self) -> (C, Forwarded, GivenUp) {
        let GivenBack { caller, refusal, held_ms, body } = self;
        let command = match body {
            Body::Direct(command) => Forwarded::Queue { command, searches: false },
            Body::Machine(command) => Forwarded::Machine(command),
            Body::Together(beside) => Forwarded::Together(beside.into_together()),
        };
        (caller, command, GivenUp { refusal, held: Duration::from_millis(held_ms) })
    }
}

/// The right to answer a command that was forwarded. One that is dropped is answered with Busy.
pub struct Asker {
    holder: Holder,
    shards: Arc<dyn Unclaimed>,
}

impl Asker {
    pub(crate) fn new(holder: Holder, shards: Arc<dyn Unclaimed>) -> Self {
        Self { holder, shards }
    }

    /// Distinguishes those who are not answered. The parts of one search have the same.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.holder.id()
    }

    /// Notes in the span of a traced command that another node is asked, and returns what belongs to
    /// the command there.
    #[must_use]
    pub fn forwarded(&self) -> Option<TraceContext> {
        self.holder.forwarded()
    }

    /// Whether nobody waits for the answer any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.holder.is_gone()
    }

    /// Answers. Jobs that nobody waits for any more are given back.
    pub fn answer(self, answer: Result<Answer, Refusal>) {
        match self.holder.answer(answer) {
            Ok(Some(waker)) => waker.wake(),
            Ok(None) | Err(Err(_)) => {}
            Err(Ok(answer)) => {
                self.shards.release(&answer);
                self.shards.follow_up(&answer);
            }
        }
    }
}
