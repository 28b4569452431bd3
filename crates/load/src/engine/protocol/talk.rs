//! One *talk* for each connection: begins steps, reads the answers, reports which users' steps are
//! done.
//!
//! A talk touches no socket and no user: bytes go to it and from it, into an [`Output`]. An [`Ask`]
//! holds everything that a step needs.

use stadium_scenario::program::{Action, Step};
use stadium_scenario::scope::Scope;

use crate::engine::cookies::Cookies;
use crate::engine::planned::{PlannedStep, PlannedTarget};
use crate::engine::reply::{Failure, Reply};
use crate::engine::tally::MessageCounter;

/// A step that a user wants done.
pub(crate) struct Ask<'a> {
    /// The user whose step it is.
    pub(crate) user: u32,
    pub(crate) step: &'a Step,
    pub(crate) planned: &'a PlannedStep,
    pub(crate) target: &'a PlannedTarget,
    pub(crate) headers: &'a [(String, stadium_scenario::template::Template)],
    pub(crate) path: &'a str,
    /// The user's cookies, where the target has them kept.
    pub(crate) cookies: Option<&'a Cookies>,
    /// When it was due: the time in a stamp.
    pub(crate) due_ns: u64,
    pub(crate) scope: Scope<'a>,
}

/// Where a talk puts its bytes and the steps that are done.
pub(crate) struct Output<'a> {
    /// Bytes for the target.
    pub(crate) bytes: &'a mut Vec<u8>,
    /// Steps that are done.
    pub(crate) done: &'a mut Vec<Done>,
    /// Replies to use again.
    pub(crate) spare: &'a mut Vec<Reply>,
    pub(crate) messages: &'a mut MessageCounter,
}

impl Output<'_> {
    /// An empty reply.
    pub(crate) fn reply(&mut self) -> Reply {
        self.spare.pop().unwrap_or_default()
    }

    /// Keeps a reply that nobody will see, to use it again.
    pub(crate) fn put_back(&mut self, reply: Option<Reply>) {
        if let Some(mut reply) = reply {
            reply.clear();
            self.spare.push(reply);
        }
    }
}

/// A step that is done.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) user: u32,
    pub(crate) result: Result<Reply, Failure>,
    /// Whether the connection takes another step.
    pub(crate) reusable: bool,
    /// Of a failure: whether the step may be sent again, on another connection.
    pub(crate) again: bool,
}

impl Done {
    /// Done with this, for good.
    pub(crate) fn of(user: u32, result: Result<Reply, Failure>, reusable: bool) -> Self {
        Done { user, result, reusable, again: false }
    }
}

/// The state of a step that was begun.
#[derive(Debug)]
pub(crate) enum Begun {
    /// Its end will be in [`Output::done`].
    Waiting,
    /// It is done with what was sent, or with what had come before.
    Done(Reply),
    /// The connection is to be closed, and the step is done with that.
    Close,
}

/// The protocol of a connection.
pub(crate) trait Talk: Send {
    /// Whether it takes a step now. Only a protocol that multiplexes takes one while another is
    /// under way.
    fn has_room(&self) -> bool;

    /// Whether it will ever take another step. One that will not is not asked to, and another is
    /// opened.
    fn takes_more(&self) -> bool {
        true
    }

    /// The connection stands: writes the bytes that precede any step.
    fn connected(&mut self, _output: &mut Output<'_>) {}

    /// Begins a step. A failure leaves the connection as it was.
    fn begin(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure>;

    /// Bytes came, beginning with what the last call left. Returns how many were used. After a
    /// failure the connection is closed.
    fn received(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure>;

    /// The target closed the connection in an orderly way: steps that end with it are done.
    fn ended(&mut self, _output: &mut Output<'_>) {}

    /// A user waits no longer. Returns whether the connection can be used on.
    fn abandon(&mut self, _user: u32, _output: &mut Output<'_>) -> bool {
        false
    }

    /// Does what is due by time: keep-alive. It is called when the connection stands, and next at
    /// the time that it returns (in [`crate::clock::monotonic_ns`]), which is kept to some tens of
    /// milliseconds; `None` is never. After a failure the connection is closed.
    fn tick(&mut self, _now_ns: u64, _output: &mut Output<'_>) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    /// Users whose steps are under way.
    fn waiting(&self, into: &mut Vec<u32>);

    /// Whether what is under way may be sent again on another connection, now that this one is
    /// lost.
    fn may_send_again(&self) -> bool {
        false
    }
}

/// The one of a user's connections to a target that a step goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// That of the target: requests, MQTT, RSocket, bytes.
    Main,
    /// One for its event stream beside it: never shared, always HTTP/1.1.
    Events,
    /// One for its WebSocket beside it: never shared, kept from step to step.
    WebSocket,
}

impl Lane {
    pub(crate) fn of(action: &Action) -> Self {
        match action {
            Action::Events { .. } => Lane::Events,
            Action::WebSocket(_) => Lane::WebSocket,
            _ => Lane::Main,
        }
    }
}
