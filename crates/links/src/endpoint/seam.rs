//! What the rest of a node sees of its links: a trait to send by, and one to be called by.

use std::time::Duration;

use crate::link::{
    From, Incarnation, Lane, Letter, NodeName, Outcome, Outgoing, Reach, Refused, Reply, Request, Tag,
};

/// Sends to other nodes, from any thread. Nothing here waits for the network.
///
/// Messages to one shard leave on one connection, in the order in which they were taken.
pub trait Carrier: Send + Sync {
    /// Sends a request. Its outcome comes by [`Receiver::completed`] under `tag`, at the latest
    /// soon after `within`, and exactly once. The caller chooses tags that are not under way.
    ///
    /// # Errors
    ///
    /// It was not taken: nothing happened, and no outcome follows. After [`Refused::Busy`] and
    /// [`Refused::NodeBusy`] there is a call of [`Receiver::room`].
    fn request(
        &self,
        to: &NodeName,
        lane: Lane,
        within: Duration,
        tag: Tag,
        message: Outgoing<'_>,
    ) -> Result<(), Refused>;

    /// Sends a letter, which nobody answers. It is lost where the link breaks: senders that need
    /// more repeat it until the receiver confirms it by a letter of its own.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    fn letter(&self, to: &NodeName, lane: Lane, message: Outgoing<'_>) -> Result<(), Refused>;

    /// How many of the other nodes this node reaches.
    fn reach(&self) -> Reach;
}

/// Is called on the threads of the links' loops: an implementation hands over and returns, and
/// never waits. It may call the [`Carrier`].
pub trait Receiver: Send + Sync + 'static {
    /// A request of another node. A `reply` that is dropped makes its outcome unknown at the
    /// caller. The receiver refuses a target whose generation is over by an answer of its own.
    fn request(&self, from: From<'_>, request: Request<'_>, reply: Reply);

    /// A letter of another node. Where there is no room for it, it is dropped here: its sender
    /// repeats it.
    fn letter(&self, from: From<'_>, letter: Letter<'_>);

    /// A request has its outcome.
    fn completed(&self, tag: Tag, outcome: Outcome<'_>);

    /// There is room again for senders that were refused: by the link to `node`, or by the bound of
    /// the whole node.
    fn room(&self, node: Option<&NodeName>) {
        let _ = node;
    }

    /// A link to a node is up: it is that incarnation that answers.
    fn up(&self, node: &NodeName, incarnation: Incarnation, lane: Lane) {
        let _ = (node, incarnation, lane);
    }
}
