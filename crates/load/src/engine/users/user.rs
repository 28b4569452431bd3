//! One simulated user: where it is in its session, and its variables.

use smallvec::SmallVec;
use stadium_reactor::ConnectionId;
use stadium_scenario::value::Value;

use crate::engine::cookies::Cookies;
use crate::engine::protocol::talk::Lane;

/// What a user is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody is here.
    Free,
    /// Its session goes on as soon as its op is done.
    Running,
    /// It waits for its time.
    Thinking,
    /// It waits for a connection.
    Connecting,
    /// It waits for one of the connections that it shares.
    Queued,
    /// It waits for an answer.
    Waiting,
}

/// One simulated user.
#[derive(Debug)]
pub(super) struct User {
    pub(super) state: State,
    /// Whether it is one of a closed phase.
    pub(super) closed: bool,
    /// Whether what is due was due at a time that was fixed before.
    pub(super) scheduled: bool,
    pub(super) session: u32,
    pub(super) op: u32,
    /// The step that is under way.
    pub(super) step: u32,
    /// Its number over the whole run.
    pub(super) number: u64,
    /// How often that was sent again.
    pub(super) again: u8,
    /// When its session was due.
    pub(super) began_ns: u64,
    /// When what it does now, or does next, was due.
    pub(super) due_ns: u64,
    /// When its step was sent.
    pub(super) sent_ns: u64,
    /// When its step has taken too long.
    pub(super) deadline_ns: u64,
    /// When its pace lets it go on; zero before the first time.
    pub(super) pace_ns: u64,
    pub(super) variables: Vec<Value>,
    pub(super) cookies: Cookies,
    pub(super) random: fastrand::Rng,
    /// The connection that its step is on.
    pub(super) on: ConnectionId,
    /// Connections of its own, by target and lane.
    pub(super) lines: SmallVec<[(u32, Lane, ConnectionId); 2]>,
}

impl User {
    pub(super) fn new() -> Self {
        User {
            state: State::Free,
            closed: false,
            scheduled: false,
            session: 0,
            op: 0,
            step: 0,
            again: 0,
            number: 0,
            began_ns: 0,
            due_ns: 0,
            sent_ns: 0,
            deadline_ns: 0,
            pace_ns: 0,
            variables: Vec::new(),
            cookies: Cookies::default(),
            random: fastrand::Rng::with_seed(0),
            on: ConnectionId::NONE,
            lines: SmallVec::new(),
        }
    }

    /// Its connection to a target.
    pub(super) fn line(&self, target: u32, lane: Lane) -> Option<ConnectionId> {
        self.lines.iter().find(|(own, way, _)| *own == target && *way == lane).map(|&(.., id)| id)
    }

    /// Forgets a connection.
    pub(super) fn forget(&mut self, id: ConnectionId) {
        self.lines.retain(|(.., own)| *own != id);
    }
}
