//! What is sent to a loop's mailbox.

use std::net::SocketAddr;
use std::sync::Arc;

use stadium_mqtt::broker::{GroupMessage, Origin, Part, Publication, ReplyTo, Then, Verdict};
use stadium_push::live::ClientId;
use stadium_reactor::{ConnectionId, ListenerTag};

use crate::auth::Late;
use crate::limits::HeldPart;
use crate::publishes::Publishing;
use crate::push::PushRecord;
use crate::query::Query;

/// A command or a word for a loop of the edge. Only the edge makes and reads them.
#[derive(Debug)]
pub struct Message(pub(crate) Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    /// Accompanies a connection that was handed to this loop, the home of its client id.
    Arrived(Arrived),
    /// QueuedItem from authentication about a waiting connection.
    Decided { connection: ConnectionId, late: Late },
    /// QueuedItem from other loops, in the order in which it was sent.
    Forwards(Vec<Forward>),
    /// A push, in the parts that each loop has to do.
    Push(Vec<(usize, PushPart)>),
    /// Messages of an application.
    Publish(Publishing),
    /// A question from outside the loops.
    Query(Query),
    /// Stop accepting, and move everybody away within this time.
    Drain { within_ms: u64, server_reference: Option<Arc<str>> },
    /// Something lies on the loop's queue.
    Platform,
    /// Shards have answered: what waited until it was durable goes on.
    Kept,
    /// Answers of services wait in the loop's outbox.
    Answers,
    /// The rules of authorisation have changed.
    RulesChanged,
    /// Other traces than before are wanted: the loop looks at each turn, this only has it take one.
    TracesChanged,
}

/// A connection that has not identified itself yet.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub peer: SocketAddr,
    pub listener: ListenerTag,
    /// When it must have been authenticated, in the node's milliseconds.
    pub until_ms: u64,
    /// Its part of the bytes that the node holds for large CONNECTs.
    pub held: Option<HeldPart>,
}

/// What a push is to one loop.
#[derive(Clone, Debug)]
pub(crate) struct PushPart {
    pub to: PushTo,
    pub publication: Arc<Publication>,
    pub record: Arc<PushRecord>,
}

/// Whom a part of a push is for.
#[derive(Clone, Debug)]
pub(crate) enum PushTo {
    /// The subscribers of the publication's topic.
    Subscribers,
    /// The inboxes of these devices, whose home this is. The publication's topic is the prefix.
    Inboxes(Vec<ClientId>),
}

/// The messages between loops.
#[derive(Debug)]
pub(crate) enum Forward {
    Publish(Arc<Publication>),
    /// The same, and the sending loop is notified when it is kept for those to whom it is owed.
    Keep(Arc<Publication>, Option<Origin>, ReplyTo),
    /// The outcome of such a message.
    Kept(Then, Part),
    /// The verdict on the part of such a message that waits for its other parts.
    Verdict(Then, Verdict),
    Group(GroupMessage),
    Push(PushPart),
}
