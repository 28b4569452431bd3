//! Promises to devices, and the messages that they may get: written from docs/sessions.md and from
//! nothing of the broker.
//!
//! Everything that happens has a number in its order. A subscription, a message and a session are
//! known up to the effects of a lost answer: certain effects must be kept, possible ones are
//! allowed.

use std::collections::{BTreeMap, BTreeSet};

use stadium_mqtt::topic;

use super::groups::{GroupPlan, Groups};
use super::timestamp::{Over, Timestamp};
use super::wills::{Leaves, Outcome, Will};

/// Which session of a device: they are numbered.
pub(super) type SessionOf = (usize, u64);

/// A subscription of a session.
#[derive(Debug, Clone)]
struct Subscription {
    filter: String,
    qos: u8,
    /// When UNSUBACK came.
    to: Option<u64>,
    /// It was answered, and nothing was asked since that may have ended it.
    is_sure: bool,
}

/// Whether a session was forgotten, and its client was not let in since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Forgotten {
    /// It was not, or a crash may have undone that.
    #[default]
    No,
    /// As long as nothing crashes.
    Surely,
    /// It is durable.
    ForEver,
}

/// What is known of a device's session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) era: u64,
    /// The server has reported that it has one that outlives the connection.
    pub(super) is_sure: bool,
    /// Its device has no connection on which it was let in.
    pub(super) is_away: bool,
    pub(super) expiry_s: u32,
    /// A clean start, or another expiry, was asked for and not answered; or it was forgotten.
    may_be_gone: bool,
    /// It was forgotten. A crash may still undo that.
    forgotten: Forgotten,
    subscriptions: Vec<Subscription>,
    /// When it was left after it was let in the last time.
    left: Option<Timestamp>,
    /// What had been sent when its last connection ended.
    left_at: u64,
    /// A CONNECT is not answered.
    is_entering: bool,
    /// The largest bound of its deliveries since then.
    messages_max: usize,
    /// The smallest bound ever.
    pub(super) messages_min: usize,
    /// Messages published while it was away that came on this connection.
    came: usize,
    /// What had been sent when it was let in.
    let_in: u64,
    /// And when it asked to be.
    asked: u64,
    /// It left while its subscriptions were sure.
    last_of: BTreeMap<(usize, String, u8), u64>,
}

/// An application message.
#[derive(Debug)]
pub struct Message {
    pub(super) topic: String,
    pub(super) qos: u8,
    pub(super) by: usize,
    pub is_will: bool,
    pub(super) sent: u64,
    pub(super) answered: Option<u64>,
    pub(super) is_refused: bool,
    /// Its publisher may have sent it again: it may then come after later ones.
    pub(super) is_sent_again: bool,
    /// And the server may take it for another message: at QoS 1, and where the publisher's session was another one by then.
    pub(super) is_another: bool,
    /// It may have been refused before it was sent again: sessions that do not persist may have got it all the same.
    pub(super) was_refused: bool,
    pub(super) over: Option<Over>,
    pub(super) owed: BTreeSet<SessionOf>,
    got: BTreeMap<SessionOf, u32>,
    /// A session that persists got it at QoS 1 or 2.
    came_to_kept: Option<usize>,
}

/// A CONNECT that was accepted.
pub struct Admission {
    /// Session Present of the CONNACK.
    pub present: bool,
    pub clean_start: bool,
    pub expiry_s: u32,
    /// Messages that the session may hold while its device is away.
    pub messages_max: usize,
    /// Whether its messages may have been refused meanwhile: messages under way had no answer then
    /// in 3.1.1.
    pub may_be_refused: bool,
}

/// The books.
pub struct Books {
    pub(super) sessions: Vec<Session>,
    pub(super) groups: Groups,
    pub messages: BTreeMap<u64, Message>,
    /// By the numbers of their messages.
    pub(super) wills: BTreeMap<u64, Will>,
    pub(super) outcomes: Vec<(u64, Outcome)>,
    /// Numbers of what happened.
    now: u64,
    pub delivered: u64,
}

impl Message {
    /// A refused publish reaches no session that persists. One that was sent again may have come before it was refused.
    fn refused_reached_nobody(&self, number: u64) -> Result<(), String> {
        match self.came_to_kept.filter(|_| self.is_refused && !self.is_sent_again) {
            Some(device) => Err(format!("message {number} is refused, and device {device} got it")),
            None => Ok(()),
        }
    }
}

impl Session {
    /// Whether its time may be over since it was left.
    pub(super) fn may_be_over(&self, now: Timestamp) -> bool {
        let span = u64::from(self.expiry_s) * 1_000;
        self.expiry_s != u32::MAX && self.left.is_some_and(|left| left.may_have_passed(span, now))
    }
}

impl Books {
    pub fn new(devices: usize, groups: &[GroupPlan]) -> Books {
        let session = || Session { messages_min: usize::MAX, is_away: true, ..Session::default() };
        Books {
            sessions: (0..devices).map(|_| session()).collect(),
            groups: Groups::new(groups.to_vec(), devices),
            messages: BTreeMap::new(),
            wills: BTreeMap::new(),
            outcomes: Vec::new(),
            now: 0,
            delivered: 0,
        }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// An edge starts with this bound for the deliveries of each session.
    pub fn bound(&mut self, messages_max: usize) {
        for session in &mut self.sessions {
            session.messages_max = session.messages_max.max(messages_max);
            session.messages_min = session.messages_min.min(messages_max);
        }
    }

    /// A device asks to be let in.
    pub fn connects(&mut self, device: usize, clean_start: bool, now: Timestamp) {
        let asked = self.next();
        let session = &mut self.sessions[device];
        (session.is_entering, session.asked) = (true, asked);
        if clean_start || session.may_be_over(now) {
            session.may_be_gone = true;
            self.unsure(device);
        }
        self.wills_at_connect(device);
    }

    /// An operator has the session forgotten: nothing of it is owed to anybody any more.
    pub fn forgets(&mut self, device: usize, now: Timestamp) {
        self.wills_at_forgetting(device, now);
        self.unsure(device);
        let session = &mut self.sessions[device];
        session.may_be_gone = true;
        // A CONNECT that is under way may begin another one behind it.
        session.forgotten = if session.is_entering { Forgotten::No } else { Forgotten::Surely };
    }

    /// All processes end: a session may be there that was just forgotten.
    pub fn forgotten_at_crash(&mut self) {
        for session in &mut self.sessions {
            if session.forgotten == Forgotten::Surely {
                session.forgotten = Forgotten::No;
            }
        }
    }

    /// Nothing is under way: sessions that were forgotten are gone for ever.
    pub fn forgotten_at_rest(&mut self) {
        for session in &mut self.sessions {
            if session.forgotten == Forgotten::Surely {
                session.forgotten = Forgotten::ForEver;
            }
        }
    }

    /// Nothing is sure of the session's subscriptions any more, and nothing is owed to it.
    fn unsure(&mut self, device: usize) {
        let at = self.next();
        self.groups.may_end(device, at);
        let session = &mut self.sessions[device];
        session.subscriptions.iter_mut().for_each(|one| one.is_sure = false);
        let whose = (device, session.era);
        self.messages.values_mut().for_each(|message| {
            message.owed.remove(&whose);
        });
    }

    /// The server lets it in: messages published from now on need not be kept for it.
    pub fn was_let_in(&mut self, device: usize) {
        let at = self.next();
        let session = &mut self.sessions[device];
        if session.is_entering {
            (session.is_entering, session.let_in) = (false, at);
        }
    }

    /// It hears that it was let in.
    ///
    /// # Errors
    ///
    /// A session that must be there is not.
    pub fn let_in(&mut self, device: usize, admission: &Admission, now: Timestamp) -> Result<(), String> {
        let &Admission { present, clean_start, expiry_s, messages_max: bound, may_be_refused } = admission;
        let at = self.next();
        let session = &mut self.sessions[device];
        if present && clean_start {
            return Err(format!("device {device} asked for a clean start and has a session"));
        }
        if present && session.forgotten != Forgotten::No {
            return Err(format!("the session of device {device} was forgotten, and is there"));
        }
        session.forgotten = Forgotten::No;
        for message in self.messages.values_mut() {
            if message.by == device && message.answered.is_none() {
                message.is_sent_again = true;
                message.is_another |= message.qos == 1 || session.may_be_gone;
                message.was_refused |= may_be_refused;
            }
        }
        if !present && session.is_sure && !session.may_be_gone && !session.may_be_over(now) {
            return Err(format!(
                "the session of device {device} is gone; it was left at {:?} for {} s, now is {now:?}",
                session.left, session.expiry_s
            ));
        }
        if !present {
            self.unsure(device);
            self.groups.ended(device, at);
            let session = &mut self.sessions[device];
            session.era += 1;
            session.subscriptions.clear();
            session.last_of.clear();
        }
        let session = &mut self.sessions[device];
        // It may be a session that began with a CONNECT whose answer was lost.
        session.era += u64::from(present && session.may_be_gone);
        (session.is_sure, session.may_be_gone, session.expiry_s) = (expiry_s > 0, false, expiry_s);
        session.is_away = false;
        session.came = 0;
        if session.is_entering {
            (session.is_entering, session.let_in) = (false, at);
        }
        if session.left.is_none() {
            session.messages_max = bound;
        }
        self.wills_at_admission(device, present, clean_start, expiry_s, now);
        Ok(())
    }

    /// Its connection is gone, or may be.
    pub fn leaves(&mut self, device: usize, was_in: bool, how: Leaves, now: Timestamp, bound: usize) {
        self.wills_at_leaving(device, how, now);
        let at = self.next();
        let session = &mut self.sessions[device];
        // A CONNECT that was never answered may not have been read.
        if was_in || session.left.is_none() {
            session.left = Some(now);
        }
        if !was_in {
            // It may have begun another session.
            session.forgotten = Forgotten::No;
        }
        (session.left_at, session.is_away) = (at, true);
        session.is_entering = false;
        session.messages_max = bound;
        if session.expiry_s == 0 {
            session.is_sure = false;
            self.unsure(device);
        }
    }

    pub fn subscribes(&mut self, device: usize, filter: &str, qos: u8) {
        let session = &mut self.sessions[device];
        if !session.subscriptions.iter().any(|one| one.filter == filter && one.to.is_none()) {
            let filter = filter.to_owned();
            session.subscriptions.push(Subscription { filter, qos, to: None, is_sure: false });
        }
    }

    pub fn subscribed(&mut self, device: usize, filter: &str) {
        let session = &mut self.sessions[device];
        let open = session.subscriptions.iter_mut().filter(|one| one.filter == filter && one.to.is_none());
        open.for_each(|one| one.is_sure = true);
    }

    pub fn unsubscribes(&mut self, device: usize, filter: &str) {
        let session = &mut self.sessions[device];
        for one in session.subscriptions.iter_mut().filter(|one| one.filter == filter) {
            one.is_sure = false;
        }
        // Packets that are not answered yet may come after it.
        let whose = (device, session.era);
        for message in self.messages.values_mut().filter(|message| message.answered.is_none()) {
            message.owed.remove(&whose);
        }
    }

    pub fn unsubscribed(&mut self, device: usize, filter: &str) {
        let to = self.next();
        let session = &mut self.sessions[device];
        for one in session.subscriptions.iter_mut().filter(|one| one.filter == filter && one.to.is_none()) {
            one.to = Some(to);
        }
    }

    /// Sessions that have surely subscribed to a topic at QoS 1 or 2.
    pub(super) fn owed(&self, topic: &str, qos: u8) -> BTreeSet<SessionOf> {
        let owes = |(device, session): (usize, &Session)| {
            let wants = |one: &Subscription| one.is_sure && one.qos > 0 && topic::matches(&one.filter, topic);
            let is_owed = qos > 0 && session.is_sure && session.subscriptions.iter().any(wants);
            is_owed.then_some((device, session.era))
        };
        self.sessions.iter().enumerate().filter_map(owes).collect()
    }

    /// A device publishes.
    pub fn publishes(
        &mut self,
        number: u64,
        by: usize,
        topic: &str,
        qos: u8,
        over: Option<Over>,
        is_will: bool,
    ) {
        let sent = self.next();
        let owed = if is_will { BTreeSet::new() } else { self.owed(topic, qos) };
        let message = Message {
            topic: topic.to_owned(),
            qos,
            by,
            is_will,
            sent,
            answered: None,
            is_refused: false,
            is_sent_again: false,
            is_another: false,
            was_refused: false,
            over,
            owed,
            got: BTreeMap::new(),
            came_to_kept: None,
        };
        self.messages.insert(number, message);
    }

    /// What it published was answered.
    ///
    /// # Errors
    ///
    /// It is refused, and a session that persists got it.
    pub fn answered(&mut self, number: u64, taken: bool, now: Timestamp) -> Result<(), String> {
        let at = self.next();
        let Some(message) = self.messages.get_mut(&number) else { return Ok(()) };
        message.answered = Some(at);
        message.is_refused = !taken;
        if let Some(over) = &mut message.over {
            over.answered(now);
        }
        if !taken {
            message.owed.clear();
            message.refused_reached_nobody(number)?;
        }
        Ok(())
    }

    /// A device got a message.
    ///
    /// # Errors
    ///
    /// It should not have got it, or not again.
    pub fn got(
        &mut self,
        device: usize,
        number: u64,
        topic: &str,
        qos: u8,
        dup: bool,
        now: Timestamp,
    ) -> Result<(), String> {
        self.delivered += 1;
        self.will_may_come(number, now)?;
        let bound = self.sessions[device].messages_max;
        let Books { sessions, messages, .. } = self;
        let session = &mut sessions[device];
        let Some(message) = messages.get_mut(&number) else {
            return Err(format!("device {device} got message {number}, which nobody published"));
        };
        if message.topic != topic {
            return Err(format!("message {number} was published to {} and came on {topic}", message.topic));
        }
        let mut allowed = session
            .subscriptions
            .iter()
            .filter(|one| topic::matches(&one.filter, topic))
            .filter(|one| one.to.is_none_or(|ended| ended >= message.sent));
        let Some(best) = allowed.by_ref().map(|one| one.qos).max() else {
            return Err(format!(
                "device {device} got message {number} on {topic}, to which it is not subscribed"
            ));
        };
        if qos > message.qos.min(best) {
            return Err(format!(
                "message {number} of QoS {} came at QoS {qos}, asked for {best}",
                message.qos
            ));
        }
        if qos == 0 {
            return Ok(());
        }
        let whose = (device, session.era);
        let got = message.got.entry(whose).or_default();
        *got += 1;
        let got = *got;
        let is_another = message.is_another || (message.was_refused && !session.is_sure);
        if got > 1 && qos == 2 && !is_another {
            return Err(format!("device {device} got message {number} twice at QoS 2"));
        }
        // A will at QoS 1 is published again where the server was killed before it was noted that it had been.
        let is_another = is_another || message.is_will;
        if got > 1 && qos == 1 && !dup && session.is_sure && !is_another {
            return Err(format!("device {device} got message {number} again, without DUP"));
        }
        message.owed.remove(&whose);
        if session.is_sure {
            message.came_to_kept = Some(device);
            message.refused_reached_nobody(number)?;
        }
        if got > 1 {
            return Ok(());
        }
        // One that was not durable yet when the device came was never kept for it, nor was one whose
        // verdict was on its way between loops then.
        let was_kept = message.sent > session.left_at
            && message.answered.is_some_and(|answered| answered < session.asked);
        if session.left.is_some() && was_kept {
            session.came += 1;
            if session.came > bound {
                return Err(format!(
                    "device {device} has got {} messages that were published while it was away; its session keeps {bound}",
                    session.came
                ));
            }
        }
        if qos > 0 && !message.is_will {
            let last = session.last_of.entry((message.by, topic.to_owned(), qos)).or_default();
            if *last > number && !dup && !message.is_sent_again {
                return Err(format!(
                    "device {device} got message {number} after {last} of the same publisher"
                ));
            }
            *last = (*last).max(number);
        }
        Ok(())
    }

    /// A device is back and has everything: all owed messages came, unless they may not have had
    /// to.
    ///
    /// # Errors
    ///
    /// Something that was acknowledged is lost.
    pub fn all_arrived(&self, now: Timestamp, drops: bool) -> Result<(), String> {
        self.all_came_to_groups(now, drops)?;
        for (number, message) in &self.messages {
            if message.answered.is_none() || message.over.is_some_and(|over| over.may_be(now)) {
                continue;
            }
            for &(device, era) in &message.owed {
                let session = &self.sessions[device];
                if session.era != era || !session.is_sure {
                    continue;
                }
                // For one more the oldest goes.
                if self.behind(device, *number) > session.messages_min {
                    continue;
                }
                return Err(format!(
                    "message {number} of device {} on {} at QoS {} was acknowledged and never came to device {device}",
                    message.by, message.topic, message.qos
                ));
            }
        }
        Ok(())
    }

    /// Messages that may have come to a session behind this one.
    pub(super) fn behind(&self, device: usize, number: u64) -> usize {
        let session = &self.sessions[device];
        let sent = self.messages.get(&number).map_or(0, |message| message.sent);
        let behind = self.messages.values().filter(|other| {
            let wants = |one: &Subscription| topic::matches(&one.filter, &other.topic);
            other.qos > 0
                && other.answered.is_none_or(|answered| answered > sent)
                && (session.subscriptions.iter().any(wants) || self.groups.may_be_sent(device, &other.topic))
        });
        behind.count()
    }

    /// A session that persists got a message at QoS 1 or 2.
    pub(super) fn came_to_kept(&mut self, number: u64, device: usize) -> Result<(), String> {
        let Some(message) = self.messages.get_mut(&number) else { return Ok(()) };
        message.came_to_kept = Some(device);
        message.refused_reached_nobody(number)
    }

    pub fn is_sure(&self, device: usize) -> bool {
        self.sessions[device].is_sure
    }

    /// Filters that it may be subscribed to.
    pub fn filters(&self, device: usize) -> Vec<String> {
        let open = self.sessions[device].subscriptions.iter().filter(|one| one.to.is_none());
        open.map(|one| one.filter.clone()).collect()
    }
}
