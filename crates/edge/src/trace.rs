//! Live traces: the packets of one client, or of one topic, both ways, a line each.
//!
//! A trace begins and ends from outside ([`EdgeHandle::trace`](crate::EdgeHandle::trace)). While there is none, a packet costs one look
//! at a flag. A loop notes the beginning of what it reads and stages, and hands lines over when its turn ends; a
//! reader that is too slow misses lines, and the next one that it gets states how many. No line
//! holds a payload or a password.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;
use stadium_mqtt::describe;
use stadium_mqtt::packet::Version;
use stadium_mqtt::topic;
use stadium_reactor::ConnectionId;

use crate::device_loop::DeviceLoop;
use crate::handle::EdgeHandle;
use crate::message::{Kind, Message};

/// Traces at once. Each looks at every packet of every loop.
pub const TRACES_MAX: usize = 16;

/// Bytes of a packet that a loop keeps to show it: a head with all but the longest topic.
const HEAD_BYTES_MAX: usize = 1_024;

/// Packets that a loop notes in one turn; more are missed, and counted.
const NOTED_MAX: usize = 4_096;

/// The target of the log's lines for each packet, at the level TRACE.
const LOG_TARGET: &str = "stadium_edge::packets";

/// What is traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Traced {
    /// All packets of the client with this id, and its coming and going.
    Client(String),
    /// All PUBLISH packets whose topic this filter matches. One that names its topic by an alias is not seen.
    Topic(String),
}

/// Which way a packet went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client.
    In,
    /// To the client.
    Out,
    /// No packet: the client was let in, refused, or is gone.
    None,
}

/// A line of a trace.
#[derive(Debug, Clone)]
pub struct TraceLine {
    /// When.
    pub at: SystemTime,
    /// Whose packet it is.
    pub client_id: String,
    /// Which way it went.
    pub direction: Direction,
    /// The packet in words.
    pub text: String,
    /// Lines before this one that the reader was too slow for.
    pub missed: u64,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The reader will have it.
    Yes,
    /// The reader is too slow: it misses this one.
    Full,
    /// Nobody reads any more.
    Gone,
}

/// Takes the lines of a trace; called on the loops' threads, so it must never block.
pub type TraceSink = Box<dyn Fn(TraceLine) -> Taken + Send + Sync>;

/// A trace that goes on until this is dropped.
#[derive(Debug)]
pub struct TraceGuard {
    edge: EdgeHandle,
    trace: Arc<Trace>,
}

/// There are [`TRACES_MAX`] traces already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracesFull;

/// A trace, as loops see it.
pub(crate) struct Trace {
    traced: Traced,
    sink: TraceSink,
    missed: AtomicU64,
    /// Loops that look for it.
    loops: AtomicUsize,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("traced", &self.traced).finish_non_exhaustive()
    }
}

impl Trace {
    fn hand_over(&self, mut line: TraceLine) {
        line.missed = self.missed.swap(0, Ordering::Relaxed);
        let missed = line.missed;
        if (self.sink)(line) != Taken::Yes {
            self.missed.fetch_add(missed + 1, Ordering::Relaxed);
        }
    }
}

/// The traces of a node.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    list: Mutex<Vec<Arc<Trace>>>,
    /// Changes with the list.
    version: AtomicU64,
}

impl EdgeHandle {
    /// Traces a client or a topic until the guard is dropped. Once every loop looks for it, the sink gets a first line,
    /// `trace began`, with [`Direction::None`].
    ///
    /// # Errors
    ///
    /// [`TracesFull`] where there are [`TRACES_MAX`].
    pub fn trace(&self, traced: Traced, sink: TraceSink) -> Result<TraceGuard, TracesFull> {
        let trace = Arc::new(Trace { traced, sink, missed: AtomicU64::new(0), loops: AtomicUsize::new(0) });
        {
            let mut list = self.shared.traces.list.lock();
            if list.len() >= TRACES_MAX {
                return Err(TracesFull);
            }
            list.push(Arc::clone(&trace));
        }
        self.traces_changed();
        Ok(TraceGuard { edge: self.clone(), trace })
    }

    fn traces_changed(&self) {
        self.shared.traces.version.fetch_add(1, Ordering::Release);
        for index in 0..self.config.loops {
            // A loop whose mailbox is full has its next turn soon, and looks then.
            let _ = self.shared.handle(index).try_send(Message(Kind::TracesChanged));
        }
    }
}

impl Drop for TraceGuard {
    fn drop(&mut self) {
        self.edge.shared.traces.list.lock().retain(|trace| !Arc::ptr_eq(trace, &self.trace));
        self.edge.traces_changed();
    }
}

/// A packet that was noted.
#[derive(Debug)]
struct Noted {
    /// Whom it concerns; `None` for the log alone.
    traces: Vec<Arc<Trace>>,
    link: ConnectionId,
    direction: Direction,
    at: SystemTime,
    head: Vec<u8>,
    packet_id: Option<u16>,
}

/// What one loop traces.
#[derive(Debug, Default)]
pub(crate) struct Tracing {
    version: u64,
    list: Vec<Arc<Trace>>,
    /// Every packet is to be logged.
    logs: bool,
    /// Connections of traced clients.
    links: HashMap<ConnectionId, (Arc<str>, Version)>,
    noted: Vec<Noted>,
    missed: u64,
}

impl Tracing {
    /// Whether packets are to be looked at.
    pub(crate) fn is_on(&self) -> bool {
        self.logs || !self.list.is_empty()
    }

    /// A packet from a client, of which this is the beginning or all.
    pub(crate) fn received(&mut self, link: ConnectionId, bytes: &[u8]) {
        self.note(link, Direction::In, bytes, None);
    }

    /// Packets to a client.
    pub(crate) fn sent(&mut self, link: ConnectionId, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.note(link, Direction::Out, bytes, None);
            let Ok(Some(total)) = stadium_mqtt::decode::frame_len(bytes) else { return };
            bytes = bytes.get(total..).unwrap_or_default();
        }
    }

    /// A packet to a client that shares its bytes with others but for the packet id.
    pub(crate) fn sent_with_id(&mut self, link: ConnectionId, bytes: &[u8], packet_id: u16) {
        self.note(link, Direction::Out, bytes, Some(packet_id));
    }

    fn note(&mut self, link: ConnectionId, direction: Direction, bytes: &[u8], packet_id: Option<u16>) {
        let client = self.links.get(&link).map(|(client_id, _)| client_id);
        let is_wanted = |trace: &&Arc<Trace>| match &trace.traced {
            Traced::Client(id) => client.is_some_and(|client| **client == **id),
            Traced::Topic(filter) => describe::topic_of(bytes)
                .is_some_and(|topic| !topic.is_empty() && topic::matches(filter, topic)),
        };
        let traces: Vec<Arc<Trace>> = self.list.iter().filter(is_wanted).cloned().collect();
        if traces.is_empty() && !self.logs {
            return;
        }
        if self.noted.len() >= NOTED_MAX {
            self.missed += 1;
            for trace in traces {
                trace.missed.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        let head = bytes[..bytes.len().min(HEAD_BYTES_MAX)].to_vec();
        self.noted.push(Noted { traces, link, direction, at: SystemTime::now(), head, packet_id });
    }

    /// A client's connection is looked at from now on, if the client is traced. Returns whether it
    /// was not before.
    pub(crate) fn begin(&mut self, link: ConnectionId, client_id: &str, version: Version) -> bool {
        let is_client = |trace: &Arc<Trace>| matches!(&trace.traced, Traced::Client(id) if id == client_id);
        self.list.iter().any(is_client) && self.links.insert(link, (client_id.into(), version)).is_none()
    }

    /// Something happened to a client that is no packet.
    pub(crate) fn say(&self, client_id: &str, direction: Direction, text: impl FnOnce() -> String) {
        let is_client = |trace: &&Arc<Trace>| matches!(&trace.traced, Traced::Client(id) if id == client_id);
        let mut concerned = self.list.iter().filter(is_client).peekable();
        if concerned.peek().is_none() {
            return;
        }
        let line = TraceLine {
            at: SystemTime::now(),
            client_id: client_id.to_owned(),
            direction,
            text: text(),
            missed: 0,
        };
        concerned.for_each(|trace| trace.hand_over(line.clone()));
    }
}

impl DeviceLoop {
    /// Looks whether other traces than before are wanted.
    pub(crate) fn look_at_traces(&mut self) {
        self.around.tracing.logs = tracing::enabled!(target: LOG_TARGET, tracing::Level::TRACE);
        let version = self.around.shared.traces.version.load(Ordering::Acquire);
        if version == self.around.tracing.version {
            return;
        }
        self.hand_traces_over();
        let list = self.around.shared.traces.list.lock().clone();
        let tracing = &mut self.around.tracing;
        tracing.version = version;
        tracing.links.clear();
        let before = std::mem::replace(&mut tracing.list, list);
        for trace in tracing.list.clone() {
            if let Traced::Client(client_id) = &trace.traced
                && let Some(view) = self.broker.find(client_id).and_then(|key| self.broker.view(key))
                && let Some(link) = view.link
            {
                tracing.begin(link, client_id, view.version);
            }
            let is_new = !before.iter().any(|other| Arc::ptr_eq(other, &trace));
            if is_new && trace.loops.fetch_add(1, Ordering::AcqRel) + 1 == self.config.loops {
                let client_id = match &trace.traced {
                    Traced::Client(client_id) => client_id.clone(),
                    Traced::Topic(_) => String::new(),
                };
                let (at, text) = (SystemTime::now(), "trace began".to_owned());
                trace.hand_over(TraceLine { at, client_id, direction: Direction::None, text, missed: 0 });
            }
        }
    }

    /// Hands over what was noted in this turn.
    pub(crate) fn hand_traces_over(&mut self) {
        if self.around.tracing.noted.is_empty() {
            return;
        }
        let noted = std::mem::take(&mut self.around.tracing.noted);
        let missed = std::mem::take(&mut self.around.tracing.missed);
        for Noted { traces, link, direction, at, head, packet_id } in noted {
            let (client_id, version) = match self.around.tracing.links.get(&link) {
                Some((client_id, version)) => (client_id.to_string(), *version),
                None => {
                    let key = self.devices.session(link);
                    let client_id = self.broker.client_id(key).unwrap_or_default().to_owned();
                    (client_id, self.broker.version(key).unwrap_or(Version::V5))
                }
            };
            let text = describe::line(version, &head, packet_id);
            if self.around.tracing.logs {
                let direction = direction.name();
                tracing::trace!(target: LOG_TARGET, client_id, direction, packet = text, "Packet");
            }
            let line = TraceLine { at, client_id, direction, text, missed: 0 };
            for trace in traces {
                trace.hand_over(line.clone());
            }
        }
        if missed > 0 && self.around.tracing.logs {
            tracing::trace!(target: LOG_TARGET, missed, "More packets in one turn than the log shows");
        }
    }

    /// A connection is gone.
    pub(crate) fn end_trace(&mut self, link: ConnectionId, reason: &str) {
        if !self.around.tracing.is_on() {
            return;
        }
        self.hand_traces_over();
        if let Some((client_id, _)) = self.around.tracing.links.remove(&link) {
            self.around.tracing.say(&client_id, Direction::None, || format!("disconnected: {reason}"));
        }
    }
}

impl Direction {
    /// `in`, `out` or `none`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::None => "none",
        }
    }
}
