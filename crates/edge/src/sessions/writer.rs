//! Hands changes of sessions to their shards, and gets their outcomes.
//!
//! A change that is confirmed to a client only once it is durable can fail: the broker gets the
//! failure and the client is refused. A change that has happened already (an acknowledgement, the
//! end of a session) cannot fail: it is handed over again until the shard takes it, and nothing
//! overtakes it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use stadium_mqtt::broker::{Persisted, Then};
use stadium_reactor::{ConnectionId, LoopHandle};
use stadium_session::{Answer, Change, Command, Outcome, Refusal};
use stadium_shard::{Shards, Ticket};

use crate::alarm::Alarm;
use crate::message::Message;

/// Bytes of events that a batch has, if it is of more than one change. Half a megabyte is written in about the time that a sync takes.
const BATCH_BYTES_MAX: usize = 512 << 10;

/// Bytes of changes that wait before publishers are read more slowly.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// Bytes of waiting changes beyond which a change that can fail is refused: what a turn reads while
/// publishers are being held back, and more.
const FULL_BYTES: usize = 64 << 20;

/// When a shard that was busy is asked again, in milliseconds, where it gives no delay.
const RETRY_MS: u64 = 50;

/// The longest that a shard can ask to be left alone, in milliseconds.
const RETRY_MS_MAX: u64 = 1_000;

/// A loop's way to the shards that keep its sessions.
pub(crate) struct SessionWriter {
    shards: Shards,
    lanes: Box<[Lane]>,
    alarm: Arc<Alarm>,
    waker: Waker,
    /// Bytes of changes that wait, all in all.
    waiting_bytes: usize,
    /// What failed before it was handed over.
    failed: Vec<Then>,
    /// Of messages that are durable: receivers who knew them already, by their places.
    pub(crate) partly: Vec<(Then, Box<[u32]>)>,
    /// Connections that were let in and are to be read on.
    pub(crate) entered: Vec<ConnectionId>,
}

/// The changes for one shard.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<Waiting>,
    under_way: Option<UnderWay>,
    /// Not before this time, in the node's milliseconds.
    retry_at_ms: u64,
    /// The last batch was refused: changes that take room travel apart from the others, which a
    /// full disk may still take.
    apart: bool,
}

struct Waiting {
    change: Change,
    then: Then,
    bytes: usize,
    /// Somebody waits to hear whether it was taken. Else it is handed over until it is.
    can_fail: bool,
}

struct UnderWay {
    state: State,
    sent: Vec<Sent>,
}

enum State {
    Asked(Ticket<Answer>),
    Answered(Result<Answer, Refusal>),
}

struct Sent {
    then: Then,
    /// What must be handed over again if it was not taken.
    again: Option<Waiting>,
}

impl std::fmt::Debug for SessionWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionWriter").field("waiting_bytes", &self.waiting_bytes).finish_non_exhaustive()
    }
}

impl SessionWriter {
    pub(crate) fn new(shards: Shards, handle: LoopHandle<Message>) -> Self {
        let alarm = Alarm::new(handle);
        Self {
            lanes: (0..shards.count()).map(|_| Lane::default()).collect(),
            shards,
            waker: Waker::from(Arc::clone(&alarm)),
            alarm,
            waiting_bytes: 0,
            failed: Vec::new(),
            partly: Vec::new(),
            entered: Vec::new(),
        }
    }

    pub(crate) fn shard_of(&self, name: &str) -> u16 {
        stadium_session::home(name, self.shards.count())
    }

    pub(crate) fn shards(&self) -> u16 {
        self.shards.count()
    }

    /// Whether so much waits that publishers should be read more slowly.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting_bytes > WAITING_BYTES_MAX
    }

    /// Takes a change into the next batch for a shard.
    pub(crate) fn put(&mut self, shard: u16, change: Change, then: Then) {
        let can_fail = can_fail(&change);
        if self.waiting_bytes > FULL_BYTES && can_fail {
            self.failed.push(then);
            return;
        }
        self.push(shard, change, then, can_fail);
    }

    /// The same for a change whose refusal cannot be reported to anybody.
    pub(crate) fn put_for_certain(&mut self, shard: u16, change: Change, then: Then) {
        self.push(shard, change, then, false);
    }

    fn push(&mut self, shard: u16, change: Change, then: Then, can_fail: bool) {
        let bytes = change.record_bytes_max();
        self.waiting_bytes += bytes;
        self.lanes[usize::from(shard)].waiting.push_back(Waiting { change, then, bytes, can_fail });
    }

    /// What was answered since the last time.
    pub(crate) fn collect(&mut self, now_ms: u64, into: &mut Vec<(Then, Persisted)>) {
        self.alarm.heard();
        into.extend(self.failed.drain(..).map(|then| (then, Persisted::Busy)));
        for lane in &mut self.lanes {
            lane.poll(&self.waker);
            let Some(UnderWay { state: State::Answered(answer), sent }) =
                lane.under_way.take_if(|under_way| matches!(under_way.state, State::Answered(_)))
            else {
                continue;
            };
            match answer {
                Ok(Answer::Batch(outcomes)) => {
                    lane.apart = false;
                    let partly = &mut self.partly;
                    into.extend(sent.iter().zip(outcomes).map(|(one, outcome)| {
                        let persisted = match outcome {
                            Outcome::Done => Persisted::Done,
                            Outcome::Partly(known) => {
                                partly.push((one.then, known));
                                Persisted::Done
                            }
                            Outcome::PartlyFull(known) => {
                                partly.push((one.then, known));
                                Persisted::Full
                            }
                            Outcome::Known => Persisted::Known,
                            Outcome::Full => Persisted::Full,
                        };
                        (one.then, persisted)
                    }));
                }
                Ok(Answer::Page(_) | Answer::Figures(_)) => {
                    tracing::error!("A batch of sessions was answered by something else");
                    into.extend(sent.iter().map(|one| (one.then, Persisted::Unknown)));
                }
                Err(refusal) => {
                    lane.apart = true;
                    let persisted = persisted(&refusal);
                    if let Some(retry_after) = refusal.retry_after() {
                        lane.retry_at_ms = now_ms + retry_after.clamp(RETRY_MS, RETRY_MS_MAX);
                    }
                    tracing::debug!(%refusal, changes = sent.len(), "Changes of sessions were not taken");
                    for one in sent.into_iter().rev() {
                        match one.again {
                            Some(waiting) => {
                                self.waiting_bytes += waiting.bytes;
                                lane.waiting.push_front(waiting);
                            }
                            None => into.push((one.then, persisted)),
                        }
                    }
                }
            }
        }
    }

    /// Hands over what waits, where a shard has answered before. Returns whether one answered at
    /// once.
    pub(crate) fn submit(&mut self, now_ms: u64) -> bool {
        let mut at_once = false;
        for (shard, lane) in self.lanes.iter_mut().enumerate() {
            if lane.waiting.is_empty() || lane.under_way.is_some() || now_ms < lane.retry_at_ms {
                continue;
            }
            let mut bytes = 0;
            let mut changes = Vec::new();
            let mut sent = Vec::new();
            while let Some(first) = lane.waiting.front() {
                if !changes.is_empty() && bytes + first.bytes > BATCH_BYTES_MAX {
                    break;
                }
                let other = |begun: &Change| begun.takes_room() != first.change.takes_room();
                if lane.apart && changes.first().is_some_and(other) {
                    break;
                }
                let Some(waiting) = lane.waiting.pop_front() else { break };
                bytes += waiting.bytes;
                let again =
                    (!waiting.can_fail).then(|| Waiting { change: waiting.change.clone(), ..waiting });
                sent.push(Sent { then: waiting.then, again });
                changes.push(waiting.change);
            }
            self.waiting_bytes -= bytes;
            let ticket = self.shards.submit_session(shard as u16, Command::Batch(changes));
            lane.under_way = Some(UnderWay { state: State::Asked(ticket), sent });
            at_once |= lane.poll(&self.waker);
        }
        at_once
    }

    /// When a shard that was busy is asked again, in the node's milliseconds.
    pub(crate) fn retry_at_ms(&self) -> Option<u64> {
        let waits = |lane: &&Lane| !lane.waiting.is_empty() && lane.under_way.is_none();
        self.lanes.iter().filter(waits).map(|lane| lane.retry_at_ms).min()
    }
}

impl Lane {
    /// Returns whether the batch under way is answered.
    fn poll(&mut self, waker: &Waker) -> bool {
        let Some(under_way) = &mut self.under_way else { return false };
        if let State::Asked(ticket) = &mut under_way.state
            && let Poll::Ready(answer) = Future::poll(Pin::new(ticket), &mut Context::from_waker(waker))
        {
            under_way.state = State::Answered(answer);
        }
        matches!(under_way.state, State::Answered(_))
    }
}

/// What the broker hears of changes that a shard did not take, or may have taken.
pub(crate) fn persisted(refusal: &Refusal) -> Persisted {
    match refusal {
        Refusal::Busy { .. } => Persisted::Busy,
        Refusal::Rejected { .. } => Persisted::Full,
        Refusal::Unknown { .. } => Persisted::Unknown,
    }
}

/// Whether the event of a change has not happened yet: somebody waits for the answer.
fn can_fail(change: &Change) -> bool {
    change.takes_room() || matches!(change, Change::Ask { .. })
}
