//! Retained messages leave for a new subscription (MQTT 5.0 sections 3.3.1.3 and 3.8.4).
//!
//! A subscription may match every retained message there is, so they leave in pieces: a loop spends a
//! bounded share of a turn on them, and other clients are served in between. What is remembered of a
//! [`Replay`] is its place in the order of topics, not what it found. A replay rests while its client reads
//! slowly, has its window full or is away, and goes on when that is over; it ends with its subscription.
//!
//! A topic's message is sent as it is when the replay gets there: one that was replaced meanwhile arrives as
//! it was published and once more as the retained one, never an older one behind a newer one.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Broker;
use super::deliver::{Parcel, Terms};
use super::durable::Persisted;
use super::filters::{FilterId, Filters, Subscriber};
use super::host::{Action, Client, Event, Host};
use super::publication::Publication;
use super::retained::{Allowance, Place};
use super::session::{Session, SessionKey, SharedId};
use crate::packet::QoS;
use crate::topic;

/// Steps that the replays of a loop take in one turn. A step looks at one topic, which costs 50 to 300 ns; a message that is sent counts
/// for more, see [`Allowance`]. So a turn spends 1 ms on them as a rule, and at most 5.
const TURN_STEPS: u32 = 4_096;

/// Of these, what one session takes in one turn. It bounds what a turn adds to a connection's write queue to 128 messages and
/// 256 KiB and one more, half of what is free in a queue that is not congested.
const SESSION_STEPS: u32 = 1_024;

/// The retained messages that a subscription is still to get.
#[derive(Debug)]
pub(super) struct Replay {
    pub filter: FilterId,
    place: Place,
    /// How many it may get.
    left: usize,
    /// The SUBACK among the answers that are held back; it goes first.
    behind: Option<u32>,
}

/// The replays of one session, in the order of its subscriptions.
#[derive(Debug, Default)]
pub(super) struct Replays {
    waiting: VecDeque<Replay>,
    /// The session stands in the line of those that go on.
    in_line: bool,
    /// Messages on their way to be durably owed, which are not in flight yet.
    keeping: u32,
}

impl Replays {
    /// The subscription is gone.
    pub fn end(&mut self, filter: FilterId) {
        self.waiting.retain(|replay| replay.filter != filter);
    }
}

/// What becomes of a replay.
enum Step {
    /// There is more to do.
    On,
    /// Something must happen first, or nothing is left.
    Rest,
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Retained messages are to be sent for a subscription, behind its SUBACK. One that goes on for the same filter begins anew.
    pub(super) fn begin_replay(&mut self, key: SessionKey, filter: FilterId, behind: Option<u32>) {
        let left = match self.config.retained_per_subscription_max {
            0 => usize::MAX,
            most => most,
        };
        let Some(session) = self.session_mut(key) else { return };
        let replays = &mut session.rare().replays;
        replays.end(filter);
        replays.waiting.push_back(Replay { filter, place: Place::default(), left, behind });
        self.wake_replays(key);
    }

    /// Something changed for which the replays of a session may have waited.
    pub(super) fn wake_replays(&mut self, key: SessionKey) {
        let Some(rare) = self.session_mut(key).and_then(|session| session.rare.as_mut()) else { return };
        if !rare.replays.waiting.is_empty() && !rare.replays.in_line {
            rare.replays.in_line = true;
            self.replaying.push_back(key);
        }
    }

    /// What waited for a slow client has left.
    pub fn drained(&mut self, key: SessionKey) {
        self.wake_replays(key);
    }

    /// Whether [`Broker::replay`] has something to do at once.
    pub fn has_replays(&self) -> bool {
        !self.replaying.is_empty()
    }

    /// Sends retained messages for new subscriptions, as many as one turn of a loop has time for.
    /// Call it once in each turn. Returns how many steps it took: topics looked at, and what was
    /// sent by its size.
    pub fn replay<H>(&mut self, host: &mut H) -> u32
    where
        H: Host<Link = L, Identity = I>,
    {
        let mut left = TURN_STEPS;
        // Each session once: what it was sent in this turn does not count as congestion yet.
        for _ in 0..self.replaying.len() {
            if left == 0 {
                break;
            }
            let Some(key) = self.replaying.pop_front() else { break };
            let share = left.min(SESSION_STEPS);
            let mut steps = share;
            let step = self.replay_some(host, key, &mut steps);
            // One that had nothing to do counts as well.
            left -= (share - steps).max(1);
            let Some(rare) = self.session_mut(key).and_then(|session| session.rare.as_mut()) else {
                continue;
            };
            match step {
                Step::On => self.replaying.push_back(key),
                Step::Rest => rare.replays.in_line = false,
            }
        }
        TURN_STEPS - left
    }

    /// Goes on with a session's replays for so many steps.
    fn replay_some<H>(&mut self, host: &mut H, key: SessionKey, steps: &mut u32) -> Step
    where
        H: Host<Link = L, Identity = I>,
    {
        loop {
            let Self { sessions, filters, retained, of_server, scratch, .. } = self;
            let session = sessions.get_mut(key.index as usize);
            let Some(session) = session.filter(|session| session.generation == key.generation) else {
                return Step::Rest;
            };
            let Some(link) = session.link.filter(|&link| !host.congested(link)) else { return Step::Rest };
            let waiting = &session.rare().replays.waiting;
            let Some(filter) = waiting.front().map(|first| first.filter) else { return Step::Rest };
            let Some(terms) = find(session, filters, filter) else {
                session.rare().replays.waiting.pop_front();
                continue;
            };
            let room = if terms.qos() == QoS::AtMostOnce { usize::MAX } else { window(session) };
            let rare = session.rare();
            let answered = |place: u32| rare.held_first.wrapping_sub(place) as i32 > 0;
            let Some(first) = rare.replays.waiting.front_mut() else { return Step::Rest };
            if room == 0 || first.behind.is_some_and(|place| !answered(place)) {
                return Step::Rest;
            }
            if *steps == 0 {
                return Step::On;
            }
            let mut found = std::mem::take(&mut scratch.retained);
            let mut allowed = Allowance { steps: *steps, messages: room.min(first.left) };
            let text = filters.text(filter);
            let store = of_server.as_ref().filter(|_| topic::is_of_server(text)).unwrap_or(retained);
            let mut over = store.take(text, &mut first.place, host.now_ms(), &mut allowed, &mut found);
            *steps = allowed.steps;
            first.left -= found.len();
            if !over && first.left == 0 {
                host.count(Event::ReplayCut);
                over = true;
            }
            if over {
                rare.replays.waiting.pop_front();
            }
            for publication in found.drain(..) {
                self.send_retained(host, key, link, (filter, terms), &publication);
            }
            self.scratch.retained = found;
        }
    }

    fn send_retained<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        link: L,
        (filter, subscriber): (FilterId, Subscriber),
        publication: &Arc<Publication>,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session(key).filter(|session| session.link == Some(link)) else { return };
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        // A subscription covers its topics, but rules may have changed since it was granted.
        if !host.authorise(client, Action::Subscribe, publication.topic()) {
            return;
        }
        let message = publication.message();
        let Ok(expiry_s) = message.expiry_s(host.now_ms()) else { return };
        let id = if subscriber.has_id() { session.subscription_id(filter) } else { None };
        let terms = Terms {
            qos: message.head.qos.min(subscriber.qos()),
            retain: true,
            ids: id.as_slice(),
            shared: SharedId::NONE,
            number: 0,
        };
        host.begin_message();
        let mut parcel = Parcel::new(message, expiry_s, Some(Arc::clone(publication)));
        self.deliverer().deliver(host, key.index, terms, &mut parcel);
        self.parts = None;
        for unkept in &mut self.unkept {
            unkept.replayed = Some(filter);
        }
        let keeping = u32::try_from(self.unkept.len()).expect("one delivery is one queued_message");
        if let Some(session) = self.session_mut(key).filter(|_| keeping > 0) {
            session.rare().replays.keeping += keeping;
        }
        self.keep_unkept(host, publication, 0);
        self.parts = None;
    }

    /// A retained message is owed durably, or cannot be: then the client is cut, and the replay goes on with this message when it is
    /// back.
    pub(super) fn replay_kept<H>(
        &mut self,
        host: &mut H,
        key: SessionKey,
        filter: FilterId,
        topic: &str,
        persisted: Persisted,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session_mut(key) else { return };
        let link = session.link;
        let replays = &mut session.rare().replays;
        replays.keeping = replays.keeping.saturating_sub(1);
        if let Some(reason) = persisted.refusal() {
            self.rewind_replay(key, filter, topic);
            if let Some(link) = link {
                self.cut(host, key, link, reason);
            }
        }
        self.wake_replays(key);
    }

    fn rewind_replay(&mut self, key: SessionKey, filter: FilterId, topic: &str) {
        let Self { sessions, filters, .. } = self;
        let Some(session) = sessions.get_mut(key.index as usize) else { return };
        // The subscription may be gone, and its place another's.
        if find(session, filters, filter).is_none() || !topic::matches(filters.text(filter), topic) {
            return;
        }
        let waiting = &mut session.rare().replays.waiting;
        match waiting.iter_mut().find(|replay| replay.filter == filter) {
            // It begins in front of it all the same, or stands behind it.
            Some(replay) if replay.place.next.as_str() <= topic => {}
            Some(replay) => {
                replay.place.next = topic.to_owned();
                replay.left = replay.left.saturating_add(1);
            }
            None => {
                let place = Place { next: topic.to_owned() };
                waiting.push_front(Replay { filter, place, left: usize::MAX, behind: None });
            }
        }
    }
}

/// What a session asked for with this filter.
fn find<L, I>(session: &Session<L, I>, filters: &Filters, filter: FilterId) -> Option<Subscriber> {
    let held = session.subscriptions.iter().find(|held| held.filter == filter)?;
    filters.subscriber(filter, held.position)
}

/// Deliveries at QoS 1 and 2 that may be sent at once: what waits for the client's window goes first.
fn window<L: Copy, I>(session: &mut Session<L, I>) -> usize {
    if !session.queued.is_empty() {
        return 0;
    }
    let taken = session.in_flight.len().saturating_add(session.rare().replays.keeping);
    u32::from(session.receive_maximum).saturating_sub(taken) as usize
}
