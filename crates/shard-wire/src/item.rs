//! What one node sends to another for a shard.
//!
//! The table of machines is here: [`Command`], [`Answer`] and [`Message`] have a case for each
//! machine, and are made of the shard's types and into them. A machine that is not in it stays on
//! its node.

use bytes::Bytes;
use stadium_push::Platform;
use stadium_queue::{Lease, QueueName, Queues};
use stadium_session::Sessions;
use stadium_shard::core::{self, AnyCommand, MachineId};
use stadium_shard::{Done, Forwarded, Together};
use stadium_state_machine::{Milliseconds, Refusal, TraceContext};
use stadium_wallet::Ledger;

use crate::transport::{AnnounceAgain, LiveCounts, TransportBatch};

/// One thing that a node sends to another.
#[derive(Debug)]
pub enum Item {
    /// A command for a shard.
    Request(Request),
    /// The answer to a request.
    Response(Response),
    /// A message from shard to shard.
    Delivery(Delivery),
    /// What became of a delivery.
    Confirmation(Confirmation),
    /// A reserve that waits is given up; everything else that is abandoned happens all the same.
    Abandoned(Abandoned),
    /// Leases of a consumer that is gone.
    Release(Release),
    /// News of devices for a shard, which nobody waits for.
    Notice(Notice),
    /// The queues that a shard declares spread.
    SpreadQueues(SpreadQueues),
    /// Commands of a shard to another node's transport of pushes.
    Transport(TransportBatch),
    /// A shard is to hear of its connected devices again.
    AnnounceAgain(AnnounceAgain),
    /// Outcomes of a live push that another node accepted.
    LiveCounts(LiveCounts),
    /// A question to the node itself, about what it alone has.
    Question(Question),
    /// The answer to a question.
    Reply(NodeReply),
}

/// A command for a shard of another node.
#[derive(Debug)]
pub struct Request {
    /// Distinguishes it from all other requests of this sender that are not answered.
    pub id: u64,
    /// Which shard it is for.
    pub shard: u16,
    /// Of the shard's entry in the map, as the sender knows it.
    pub generation: u64,
    /// Milliseconds that the caller goes on waiting, from when it was sent.
    pub time_left: Milliseconds,
    /// What is asked for. The principal that asks is a part of those commands that record one.
    pub command: Command,
    /// Of a reserve: any shard of the node may answer it.
    pub searches: bool,
    /// The trace of the request that it is a part of, where that is sampled.
    pub trace: Option<TraceContext>,
}

/// A command, by the machine that carries it out.
#[derive(Debug, Clone)]
pub enum Command {
    /// Of the queues.
    Queue(stadium_queue::Command),
    /// Of the wallets.
    Wallet(stadium_wallet::Command),
    /// Of the push platform.
    Push(stadium_push::Command),
    /// Of the sessions.
    Session(stadium_session::Command),
    /// Of wallets and queues, in one record.
    Together(Together),
}

/// The answer to a request.
#[derive(Debug)]
pub struct Response {
    /// The request's id.
    pub id: u64,
    /// What came of it.
    pub answer: Result<Answer, Refusal>,
}

/// An answer, by the machine that gave it.
#[derive(Debug)]
pub enum Answer {
    /// Of the queues, with payloads.
    Queue(stadium_queue::Answer<Bytes>),
    /// Of the wallets.
    Wallet(stadium_wallet::Answer),
    /// Of the push platform.
    Push(stadium_push::Answer),
    /// Of the sessions.
    Session(stadium_session::Answer),
    /// Of wallets and queues, in one record.
    Together(Done),
}

/// A message from one shard to another. It is sent until it is confirmed, and taken in once.
#[derive(Debug)]
pub struct Delivery {
    /// The shard that takes it in.
    pub to: u16,
    /// Of that shard's entry in the map, as the sender knows it.
    pub generation: u64,
    /// The shard that sends it.
    pub from: u16,
    /// Its number there.
    pub number: u64,
    /// Messages of that sender below this number are confirmed.
    pub confirmed_below: u64,
    /// The content.
    pub message: Message,
}

/// The content of a delivery, by its machine. The sessions send none.
#[derive(Debug)]
pub enum Message {
    /// Of the queues.
    Queue(stadium_queue::ShardMessage),
    /// Of the wallets.
    Wallet(stadium_wallet::ShardMessage),
    /// Of the push platform.
    Push(stadium_push::ShardMessage),
}

/// What became of a delivery.
#[derive(Debug)]
pub struct Confirmation {
    /// The shard that sent the delivery.
    pub to: u16,
    /// The machine whose message it was.
    pub machine: Machine,
    /// The sender's number of it.
    pub number: u64,
    /// As [`stadium_shard::core::Confirmation::taken`].
    pub taken: Result<(), Refusal>,
}

/// A state machine of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// The queues.
    Queue,
    /// The wallets.
    Wallet,
    /// The push platform.
    Push,
    /// The sessions.
    Session,
}

/// Leases that nobody took, to be given back.
#[derive(Debug)]
pub struct Release {
    /// The shard that gave them.
    pub shard: u16,
    /// The leases.
    pub leases: Vec<Lease>,
}

/// News of devices for a shard. What is lost is made good when the shard has them announced again.
#[derive(Debug)]
pub struct Notice {
    /// The shard.
    pub shard: u16,
    /// The news.
    pub command: stadium_push::Command,
}

/// The queues that a shard declares spread: all of them.
#[derive(Debug)]
pub struct SpreadQueues {
    /// The shard.
    pub shard: u16,
    /// Their names.
    pub queues: Vec<QueueName>,
}

/// Nobody waits any more for the answer to a request.
#[derive(Debug)]
pub struct Abandoned {
    /// The request's id.
    pub id: u64,
}

/// A question to a node. Its bytes are the business of those who ask and answer.
#[derive(Debug)]
pub struct Question {
    /// The content.
    pub body: Bytes,
}

/// A node's answer to a question.
#[derive(Debug)]
pub struct NodeReply {
    /// The content.
    pub body: Bytes,
}

enumeration! {
    Machine = "Machine" { 1 Queue, 2 Wallet, 3 Push, 4 Session }
}

message! {
    Request = "Request" { 1 id, 2 shard, 3 generation, 4 time_left, 5 command, 6 searches, 7 trace }
    Response = "Response" { 1 id, 2 answer }
    Delivery = "Delivery" { 1 to, 2 generation, 3 from, 4 number, 5 confirmed_below, 6 message }
    Confirmation = "Confirmation" { 1 to, 2 machine, 3 number, 4 taken }
    Abandoned = "Abandoned" { 1 id }
    Release = "Release" { 1 shard, 2 leases }
    Notice = "Notice" { 1 shard, 2 command }
    SpreadQueues = "SpreadQueues" { 1 shard, 2 queues }
    Together = "Together" { 1 transfers, 2 jobs, 3 principal }
    Done = "TogetherDone" { 1 booked, 2 placed }
    Question = "NodeQuestion" { 1 body }
    NodeReply = "NodeReply" { 1 body }
}

oneof! {
    Item = "Item" {
        1 Request[request],
        2 Response[response],
        3 Delivery[delivery],
        4 Confirmation[confirmation],
        5 Abandoned[abandoned],
        6 Release[release],
        7 Notice[notice],
        8 SpreadQueues[spread_queues],
        9 Transport[batch],
        10 AnnounceAgain[announce_again],
        11 LiveCounts[counts],
        12 Question[question],
        13 Reply[reply],
    }
    Command = "Command" { 1 Queue[queue], 2 Wallet[wallet], 3 Push[push], 4 Session[session], 5 Together[together] }
    Answer = "Answer" { 1 Queue[queue], 2 Wallet[wallet], 3 Push[push], 4 Session[session], 5 Together[together] }
    Message = "Message" { 1 Queue[queue], 2 Wallet[wallet], 3 Push[push] }
}

impl TryFrom<Forwarded> for Command {
    type Error = AnyCommand;

    /// The command; where it is for a machine that stays on its node, that comes back.
    fn try_from(command: Forwarded) -> Result<Self, AnyCommand> {
        match command {
            Forwarded::Queue { command, .. } => Ok(Command::Queue(command)),
            Forwarded::Machine(command) => command.try_into(),
            Forwarded::Together(together) => Ok(Command::Together(together)),
        }
    }
}

impl Command {
    /// The command as a shard takes it. `searches` as in [`Request::searches`].
    pub fn into_shard(self, searches: bool) -> Forwarded {
        match self {
            Command::Queue(command) => Forwarded::Queue { command, searches },
            Command::Wallet(command) => Forwarded::Machine(AnyCommand::of::<Ledger>(command)),
            Command::Push(command) => Forwarded::Machine(AnyCommand::of::<Platform>(command)),
            Command::Session(command) => Forwarded::Machine(AnyCommand::of::<Sessions>(command)),
            Command::Together(together) => Forwarded::Together(together),
        }
    }
}

impl TryFrom<AnyCommand> for Command {
    type Error = AnyCommand;

    /// The command, unless it is for a machine that stays on its node: then it comes back.
    fn try_from(command: AnyCommand) -> Result<Self, AnyCommand> {
        command
            .into_machine::<Queues>()
            .map(Command::Queue)
            .or_else(|command| command.into_machine::<Ledger>().map(Command::Wallet))
            .or_else(|command| command.into_machine::<Platform>().map(Command::Push))
            .or_else(|command| command.into_machine::<Sessions>().map(Command::Session))
    }
}

impl TryFrom<stadium_shard::Answer> for Answer {
    type Error = stadium_shard::Answer;

    /// The answer, unless it is of a machine that stays on its node: then it comes back.
    fn try_from(answer: stadium_shard::Answer) -> Result<Self, stadium_shard::Answer> {
        match answer {
            stadium_shard::Answer::Queue(answer) => Ok(Answer::Queue(answer)),
            stadium_shard::Answer::Together(done) => Ok(Answer::Together(done)),
            answer @ stadium_shard::Answer::Machine(..) => answer
                .from_machine::<Ledger>()
                .map(Answer::Wallet)
                .or_else(|answer| answer.from_machine::<Platform>().map(Answer::Push))
                .or_else(|answer| answer.from_machine::<Sessions>().map(Answer::Session)),
        }
    }
}

impl From<Answer> for stadium_shard::Answer {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Queue(answer) => Self::Queue(answer),
            Answer::Wallet(answer) => Self::of::<Ledger>(answer),
            Answer::Push(answer) => Self::of::<Platform>(answer),
            Answer::Session(answer) => Self::of::<Sessions>(answer),
            Answer::Together(done) => Self::Together(done),
        }
    }
}

impl Delivery {
    /// A shard's delivery to the shard `to`, of which the sender knows this generation.
    ///
    /// # Errors
    ///
    /// It is of a machine that stays on its node: it comes back.
    pub fn new(to: u16, generation: u64, delivery: core::Delivery) -> Result<Self, core::Delivery> {
        let wired = |sent: stadium_state_machine::Delivery<Message>| {
            let stadium_state_machine::Delivery { shard: from, number, confirmed_below, message } = sent;
            Self { to, generation, from, number, confirmed_below, message }
        };
        delivery
            .into_machine::<Queues>()
            .map(|sent| sent.map(Message::Queue))
            .or_else(|delivery| delivery.into_machine::<Ledger>().map(|sent| sent.map(Message::Wallet)))
            .or_else(|delivery| delivery.into_machine::<Platform>().map(|sent| sent.map(Message::Push)))
            .map(wired)
    }

    /// The delivery as the shard that takes it in sees it.
    pub fn into_shard(self) -> core::Delivery {
        let Self { to: _, generation: _, from: shard, number, confirmed_below, message } = self;
        let sent = stadium_state_machine::Delivery { shard, number, confirmed_below, message: () };
        match message {
            Message::Queue(message) => core::Delivery::to_machine::<Queues>(sent.map(|()| message)),
            Message::Wallet(message) => core::Delivery::to_machine::<Ledger>(sent.map(|()| message)),
            Message::Push(message) => core::Delivery::to_machine::<Platform>(sent.map(|()| message)),
        }
    }
}

impl Confirmation {
    /// A confirmation for the shard `to`; none of a machine that stays on its node.
    pub fn new(to: u16, confirmation: core::Confirmation) -> Option<Self> {
        let core::Confirmation { machine, number, taken } = confirmation;
        Some(Self { to, machine: Machine::of(machine)?, number, taken })
    }

    /// The confirmation as the shard that sent the delivery sees it.
    pub fn into_shard(self) -> core::Confirmation {
        let Self { to: _, machine, number, taken } = self;
        core::Confirmation { machine: machine.id(), number, taken }
    }
}

impl Machine {
    const ALL: [Machine; 4] = [Machine::Queue, Machine::Wallet, Machine::Push, Machine::Session];

    /// That of an id; none where it stays on its node.
    fn of(id: MachineId) -> Option<Self> {
        Self::ALL.into_iter().find(|machine| machine.id() == id)
    }

    /// Its id in a shard of this version.
    pub fn id(self) -> MachineId {
        match self {
            Machine::Queue => MachineId::of::<Queues>(),
            Machine::Wallet => MachineId::of::<Ledger>(),
            Machine::Push => MachineId::of::<Platform>(),
            Machine::Session => MachineId::of::<Sessions>(),
        }
    }
}
