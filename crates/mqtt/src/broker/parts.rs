//! The parts of a message: it is taken for all to whom it is owed, or reaches none of them.
//!
//! A message has a part for each shard whose sessions it is owed to, and for each loop that has to
//! do with it. Taken parts wait until all have answered, where the publisher can hear of a refusal.
//! Then all are delivered, or all are withdrawn, durably, before the publisher hears. Where a shard
//! cannot say whether it took its part, all are delivered that may be owed, and no answer is sent.
//!
//! The publisher's broker decides; a broker of another loop waits for its [`Verdict`]. What became
//! durable behind a part that waits stands in the session's [`Line`]: the order stays.

use std::collections::VecDeque;
use std::sync::Arc;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::Broker;
use super::deliver::{Parcel, Terms};
use super::durable::{Change, Keep, Origin, Persisted, Receiver, ReplyTo, ShardSet, Then, What};
use super::filters::FilterId;
use super::host::{Drop, Event, Host, LoopIndex};
use super::publication::Publication;
use super::retained::Stored;
use super::session::{SessionKey, SharedId};
use crate::packet::QoS;

/// Where it is decided whether a message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decides {
    /// Each part is delivered when it is taken: nobody hears of a refusal.
    #[default]
    Each,
    /// The broker that keeps it: it has all parts.
    Here,
    /// The broker that hears what became of it: this is one part of several.
    Elsewhere,
}

/// The outcome of a message on another loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The worst answer of its shards.
    pub persisted: Persisted,
    /// The shards that were asked to keep something of it.
    pub shards: ShardSet,
    /// Some of its receivers are owed it since the publish was sent before.
    pub is_known: bool,
    /// Where it waits for the verdict.
    pub held: Option<(LoopIndex, Then)>,
}

impl Part {
    /// A part of which nothing had to be kept, or is any more.
    pub(super) fn nothing() -> Self {
        Self { persisted: Persisted::Done, shards: ShardSet::default(), is_known: false, held: None }
    }
}

/// The verdict on a part that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is delivered: the others were taken too.
    Deliver,
    /// It is not owed any more, and this is who hears when that is durable.
    Withdraw(ReplyTo),
}

/// A delivery that waits until it is durable.
#[derive(Debug)]
pub(super) struct Unkept {
    pub session: SessionKey,
    pub number: u32,
    pub qos: QoS,
    pub retain: bool,
    pub shared: SharedId,
    pub ids: SmallVec<[u32; 2]>,
    /// The subscription for which a retained message is replayed.
    pub replayed: Option<FilterId>,
    /// `$share/GROUP/FILTER` of the shared subscription.
    pub group: Option<Arc<str>>,
    /// Its session ended while it waited for the verdict.
    pub left: Option<Box<Left>>,
}

/// A delivery by a shared subscription whose session ended.
#[derive(Debug)]
pub(super) struct Left {
    client_id: CompactString,
    /// The end of the session, which waits until another member is owed the message.
    ending: Then,
}

/// The deliveries of a message that sessions of one shard are owed.
#[derive(Debug)]
pub(super) struct Group {
    pub publication: Arc<Publication>,
    pub unkept: Vec<Unkept>,
    pub shard: u16,
    /// Where a session that persists published it at QoS 2.
    pub origin: Option<Origin>,
    /// That session's client id, where its packet id was noted with the message.
    pub publisher: Option<CompactString>,
    /// Where it is decided whether the message is delivered.
    pub decides: Decides,
}

/// Parts that were taken and wait for the others.
#[derive(Debug, Default)]
pub(super) struct Taken {
    here: Vec<Group>,
    elsewhere: SmallVec<[(LoopIndex, Then); 1]>,
    retained: Option<Retaining>,
}

/// The retained part of a message. It is handed over when all others are taken, so that it never
/// has to be taken back.
#[derive(Debug)]
struct Retaining {
    publication: Arc<Publication>,
    stored: Stored,
    is_handed_over: bool,
}

/// An entry of a session's line: the part that waits for its verdict, or a delivery behind it.
#[derive(Debug)]
pub(super) enum Line {
    /// It waits for the verdict, together with these other parts. The session calls it so.
    Undecided(Then, u32),
    /// It may be sent.
    Ready(Arc<Publication>, Unkept),
}

impl Line {
    /// The number that the session gave it.
    pub fn number(&self) -> u32 {
        match self {
            Self::Undecided(_, number) => *number,
            Self::Ready(_, one) => one.number,
        }
    }
}

/// Entries of a session's line that stay allocated for the next ones.
const LINE_KEPT: usize = 64;

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Asks the host to keep the message at hand for the sessions that were found while it was
    /// routed. It has so many parts beside. Returns how many there are here.
    pub(super) fn keep_unkept<H>(
        &mut self,
        host: &mut H,
        publication: &Arc<Publication>,
        beside: usize,
    ) -> usize
    where
        H: Host<Link = L, Identity = I>,
    {
        if self.unkept.is_empty() {
            return 0;
        }
        let mut all = std::mem::take(&mut self.unkept);
        for one in &mut all {
            if let Some(session) = self.session_mut(one.session) {
                one.number = session.rare().next_queued_message();
            }
        }
        let mut by_shard: SmallVec<[(u16, Vec<Unkept>); 2]> = SmallVec::new();
        for one in all.drain(..) {
            let Some(session) = self.session(one.session) else { continue };
            let shard = host.shard_of(&session.client_id);
            match by_shard.iter_mut().find(|(other, _)| *other == shard) {
                Some((_, group)) => group.push(one),
                None => by_shard.push((shard, vec![one])),
            }
        }
        self.unkept = all;
        let from = self.from;
        let parts = by_shard.len();
        let waits = match self.decides {
            Decides::Each => false,
            Decides::Here => parts + beside > 1,
            Decides::Elsewhere => true,
        };
        // With one change the packet id is noted beside it, so that both are durable or none.
        let publisher = from
            .filter(|_| parts == 1 && !self.went_elsewhere)
            .and_then(|from| self.session(from.publisher))
            .map(|session| session.client_id.clone())
            .filter(|client_id| host.shard_of(client_id) == by_shard[0].0);
        self.noted = publisher.is_some();
        let must = self.must_keep;
        for (shard, unkept) in by_shard {
            let parent = self.pendings.part(&mut self.parts);
            self.pendings.concerns(parent, &ShardSet::one(shard));
            let receivers: Vec<Receiver<'_>> = unkept
                .iter()
                .map(|one| Receiver {
                    client_id: &self.sessions[one.session.index as usize].client_id,
                    queued_message: one.number,
                    qos: one.qos,
                    retain: one.retain,
                    shared: one.shared,
                    ids: &one.ids,
                })
                .collect();
            let origin = from.map(|from| from.origin);
            let keep =
                Keep { publication, receivers: &receivers, origin, publisher: publisher.as_deref(), must };
            let then = self.pendings.add(1, What::Nothing);
            host.keep(shard, &keep, then);
            let publication = Arc::clone(publication);
            let (publisher, decides) = (publisher.clone(), self.decides);
            let group = Group { publication, unkept, shard, origin, publisher, decides };
            self.pendings.goes_on(then, What::Deliver { parent, must, waits, group });
        }
        parts
    }

    /// Of the receivers of a message that was to be kept, those at these places are owed it
    /// already: it is not sent to them. To be called before [`Self::persisted`].
    pub fn known_to(&mut self, then: Then, receivers: &[u32]) {
        let Some(pending) = self.pendings.at(then) else { return };
        pending.is_known = true;
        if let What::Deliver { group, .. } = &mut pending.what {
            let mut at = 0..;
            group.unkept.retain(|_| at.next().is_none_or(|at| !receivers.contains(&at)));
        }
    }

    /// A shard has answered for its part of the message for which `parent` waits.
    pub(super) fn part_kept<H>(
        &mut self,
        host: &mut H,
        parent: Then,
        mut group: Group,
        (must, waits): (bool, bool),
        (persisted, is_known): (Persisted, bool),
    ) where
        H: Host<Link = L, Identity = I>,
    {
        if is_known && let Some(pending) = self.pendings.at(parent) {
            pending.is_known = true;
        }
        let replayed = group.unkept.first().and_then(|one| Some((one.session, one.replayed?)));
        let topic = replayed.map(|_| Arc::clone(&group.publication));
        // A message that may be owed is sent as well: else a session would get it at the next start
        // only. It is never withdrawn, since the publisher is not answered.
        let may_be_owed = persisted == Persisted::Unknown && replayed.is_none();
        if persisted == Persisted::Done || may_be_owed {
            // What goes to another member is one more part, which may be refused.
            let is_one_of_several =
                self.reassign(host, parent, &mut group, must) && group.decides != Decides::Each;
            if waits || (is_one_of_several && !must) {
                self.hold_back(parent, group);
            } else {
                self.deliver_kept(host, &group.publication, group.unkept, None);
            }
        }
        if let (Some((key, filter)), Some(publication)) = (replayed, topic) {
            self.replay_kept(host, key, filter, publication.topic(), persisted);
        }
    }

    /// Those of a group whose sessions ended before the message was durable: another member of
    /// their shared subscription is owed it, and the publisher waits for that too.
    /// Returns whether there are any.
    fn reassign<H>(&mut self, host: &mut H, parent: Then, group: &mut Group, must: bool) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let is_left =
            |one: &Unkept, broker: &Self| one.group.is_some() && broker.session(one.session).is_none();
        if !group.unkept.iter().any(|one| is_left(one, self)) {
            return false;
        }
        let decides = match group.decides {
            Decides::Here | Decides::Elsewhere if !must => Decides::Elsewhere,
            _ => Decides::Each,
        };
        for one in std::mem::take(&mut group.unkept) {
            match &one.group {
                Some(filter) if is_left(&one, self) => {
                    let publication = Arc::clone(&group.publication);
                    let to = ReplyTo { at: self.config.loop_index, then: parent, must, decides };
                    self.give_back(host, filter, publication, group.origin, Some(to));
                }
                _ => group.unkept.push(one),
            }
        }
        true
    }

    /// A part waits for the verdict.
    fn hold_back(&mut self, parent: Then, group: Group) {
        for one in &group.unkept {
            if let Some(session) = self.session_mut(one.session) {
                session.rare().line.push_back(Line::Undecided(parent, one.number));
            }
        }
        if let Some(pending) = self.pendings.at(parent) {
            pending.taken.get_or_insert_default().here.push(group);
        }
    }

    /// Reports the outcome of a message to those that wait for it.
    pub(super) fn reply<H>(&mut self, host: &mut H, to: ReplyTo, part: Part)
    where
        H: Host<Link = L, Identity = I>,
    {
        if to.at == self.config.loop_index {
            self.kept_elsewhere(host, to.then, &part);
        } else {
            host.report_kept(to, part);
        }
    }

    /// Word of another loop on its part of a message.
    pub fn kept_elsewhere<H>(&mut self, host: &mut H, then: Then, part: &Part)
    where
        H: Host<Link = L, Identity = I>,
    {
        if let Some(pending) = self.pendings.at(then) {
            pending.shards.extend(&part.shards);
            pending.is_known |= part.is_known;
            if let Some(held) = part.held {
                pending.taken.get_or_insert_default().elsewhere.push(held);
            }
        }
        self.persisted(host, then, part.persisted);
    }

    /// The message at hand is to be retained as well: when `waits` is over, or at once where that
    /// is its only part. Returns what waits.
    pub(super) fn retain_last<H>(
        &mut self,
        host: &mut H,
        waits: Option<Then>,
        (publication, stored): (Arc<Publication>, Stored),
    ) -> Then
    where
        H: Host<Link = L, Identity = I>,
    {
        let then = waits.unwrap_or_else(|| {
            let then = self.pendings.add(1, What::Nothing);
            host.retain(&Retain { publication: &publication, stored: &stored, must: false }, then);
            then
        });
        if let Some(pending) = self.pendings.at(then) {
            let retaining = Retaining { publication, stored, is_handed_over: waits.is_none() };
            pending.taken.get_or_insert_default().retained = Some(retaining);
        }
        then
    }

    /// All have answered for which something waited. Returns whether something else comes first:
    /// the retained part, the verdict of another loop, or what must be withdrawn.
    pub(super) fn is_undecided<H>(&mut self, host: &mut H, then: Then) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let at = self.config.loop_index;
        let Some(pending) = self.pendings.at(then) else { return false };
        let Some(taken) = &mut pending.taken else { return false };
        if let What::Reply(to) = pending.what
            && to.decides == Decides::Elsewhere
        {
            pending.what = What::Undecided;
            pending.left = 1;
            let (persisted, is_known) = (pending.worst, pending.is_known);
            let shards = std::mem::take(&mut pending.shards);
            self.reply(host, to, Part { persisted, shards, is_known, held: Some((at, then)) });
            return true;
        }
        let is_refused = pending.worst.refusal().is_some();
        let is_unknown = pending.worst == Persisted::Unknown;
        if let Some(retaining) = &mut taken.retained
            && !is_refused
            && !retaining.is_handed_over
        {
            retaining.is_handed_over = true;
            pending.left = 1;
            let Retaining { publication, stored, .. } = retaining;
            host.retain(&Retain { publication, stored, must: false }, then);
            return true;
        }
        let withdraws = is_refused && !is_unknown && !pending.is_known;
        let Some(taken) = pending.taken.take() else { return false };
        if let Some(Retaining { publication, stored, is_handed_over }) = &taken.retained {
            // A message that its shard may have retained stays, as it may at the next start.
            match is_refused && !(is_unknown && *is_handed_over) {
                true => self.retained.refuse(publication.topic(), stored.number),
                false => self.retained.confirm(publication.topic(), stored.number),
            }
        }
        if withdraws {
            return self.withdraw(host, then, *taken);
        }
        // Where some had it before, or it is not known whether a shard took it, nothing is refused:
        // the publisher is cut, and sends it again for the others.
        self.release_parts(host, then, *taken);
        false
    }

    /// The verdict of another loop on parts that were taken here.
    pub fn decided<H>(&mut self, host: &mut H, then: Then, verdict: Verdict)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(pending) = self.pendings.at(then) else { return };
        let Some(taken) = pending.taken.take() else { return };
        match verdict {
            Verdict::Deliver => {
                self.release_parts(host, then, *taken);
                self.persisted(host, then, Persisted::Done);
            }
            Verdict::Withdraw(to) => {
                // The answer is that of the withdrawal.
                pending.worst = Persisted::Done;
                pending.is_known = false;
                pending.what = What::Reply(ReplyTo { decides: Decides::Each, ..to });
                if !self.withdraw(host, then, *taken) {
                    self.pendings.more(then, 1);
                    self.persisted(host, then, Persisted::Done);
                }
            }
        }
    }

    /// Parts that were taken leave.
    fn release_parts<H>(&mut self, host: &mut H, then: Then, taken: Taken)
    where
        H: Host<Link = L, Identity = I>,
    {
        for (at, held) in taken.elsewhere {
            self.send_verdict(host, at, held, Verdict::Deliver);
        }
        for group in taken.here {
            self.deliver_kept(host, &group.publication, group.unkept, Some(then));
        }
    }

    fn send_verdict<H>(&mut self, host: &mut H, at: LoopIndex, held: Then, verdict: Verdict)
    where
        H: Host<Link = L, Identity = I>,
    {
        if at == self.config.loop_index {
            self.decided(host, held, verdict);
        } else {
            host.send_verdict(at, held, verdict);
        }
    }

    /// Takes back parts that were taken. Returns whether `then` waits for that.
    fn withdraw<H>(&mut self, host: &mut H, then: Then, taken: Taken) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        // One more until all are asked: some may answer at once.
        if let Some(pending) = self.pendings.at(then) {
            pending.left = 1;
        }
        let mut asked = 0;
        for (at, held) in taken.elsewhere {
            self.pendings.more(then, 1);
            asked += 1;
            let to = ReplyTo { at: self.config.loop_index, then, must: false, decides: Decides::Each };
            self.send_verdict(host, at, held, Verdict::Withdraw(to));
        }
        for group in taken.here {
            if self.withdraw_group(host, then, group) {
                self.pendings.more(then, 1);
                asked += 1;
            }
        }
        if asked == 0 {
            if let Some(pending) = self.pendings.at(then) {
                pending.left = 0;
            }
            return false;
        }
        self.persisted(host, then, Persisted::Done);
        true
    }

    /// The sessions of a group are owed its message no more, and were never owed its publish.
    /// Returns whether `then` is notified when that is durable.
    fn withdraw_group<H>(&mut self, host: &mut H, then: Then, group: Group) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let mut queued_messages: Vec<(CompactString, u32)> = Vec::with_capacity(group.unkept.len());
        let mut ends = Vec::new();
        let mut behind = Vec::new();
        for one in group.unkept {
            if let Some(session) = self.session_mut(one.session) {
                let line = &mut session.rare().line;
                line.retain(|entry| !matches!(*entry, Line::Undecided(of, number) if of == then && number == one.number));
                queued_messages.push((session.client_id.clone(), one.number));
                behind.push(one.session);
            } else if let Some(left) = one.left {
                queued_messages.push((left.client_id, one.number));
                ends.push(left.ending);
            }
            // Else its session has ended, and everything of it.
        }
        // The queued messages go and the publish is forgotten in one change, for these receivers
        // alone: other loops may have parts of it on this shard, and other sessions may have it
        // since it was sent before.
        let waits = !queued_messages.is_empty() || group.publisher.is_some();
        if waits {
            let receivers: Vec<(&str, u32)> = queued_messages
                .iter()
                .map(|(client_id, queued_message)| (&**client_id, *queued_message))
                .collect();
            let (origin, publisher) = (group.origin, group.publisher.as_deref());
            host.withdraw(group.shard, &Withdraw { receivers: &receivers, origin, publisher }, then);
        }
        for ending in ends {
            self.persisted(host, ending, Persisted::Done);
        }
        for key in behind {
            self.go_on(host, key);
        }
        waits
    }

    /// A session ends. Of what waits for a verdict, this goes to another member of its shared
    /// subscription.
    pub(super) fn leave_undecided(&mut self, key: SessionKey, client_id: &str, line: &Line, ending: Then) {
        let &Line::Undecided(then, number) = line else { return };
        let taken = self.pendings.at(then).and_then(|pending| pending.taken.as_mut());
        let mut all = taken.into_iter().flat_map(|taken| &mut taken.here).flat_map(|group| &mut group.unkept);
        let one = all.find(|one| one.session == key && one.number == number && one.group.is_some());
        if let Some(one) = one {
            one.left = Some(Box::new(Left { client_id: client_id.into(), ending }));
            self.pendings.more(ending, 1);
        }
    }

    /// Sends a message to those to whom it is now owed durably, or puts it in their lines. Where it
    /// was `decided`, it is what stood there for this.
    fn deliver_kept<H>(
        &mut self,
        host: &mut H,
        publication: &Arc<Publication>,
        unkept: Vec<Unkept>,
        decided: Option<Then>,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let message = publication.message();
        let expiry_s = message.expiry_s(host.now_ms());
        host.begin_message();
        let mut parcel = Parcel::new(message, expiry_s.unwrap_or(None), Some(Arc::clone(publication)));
        parcel.is_kept = true;
        let (mut behind, mut left) = (Vec::new(), Vec::new());
        for one in unkept {
            let key = one.session;
            let Some(session) = self.session_mut(key) else {
                left.extend(one.left.zip(one.group));
                continue;
            };
            let line = &mut session.rare().line;
            match decided {
                None if line.is_empty() => {}
                None => {
                    line.push_back(Line::Ready(Arc::clone(publication), one));
                    continue;
                }
                Some(_) if line.len() == 1 => line.clear(),
                Some(then) => {
                    let stood = |entry: &Line| matches!(*entry, Line::Undecided(of, number) if of == then && number == one.number);
                    if let Some(at) = line.iter().position(stood) {
                        line[at] = Line::Ready(Arc::clone(publication), one);
                    }
                    behind.push(key);
                    continue;
                }
            }
            if expiry_s.is_err() {
                let Some(session) = self.session(key) else { continue };
                host.persist(&session.client_id, Change::Done { queued_message: one.number }, Then::NOTHING);
                host.count(Event::Dropped(Drop::Expired));
                continue;
            }
            let terms = Terms {
                qos: one.qos,
                retain: one.retain,
                ids: &one.ids,
                shared: one.shared,
                number: one.number,
            };
            self.deliverer().deliver(host, key.index, terms, &mut parcel);
        }
        for key in behind {
            self.go_on(host, key);
        }
        for (left, filter) in left {
            let at = self.config.loop_index;
            let to = ReplyTo { at, then: left.ending, must: true, decides: Decides::Each };
            self.give_back(host, &filter, Arc::clone(publication), None, Some(to));
            self.persisted(host, left.ending, Persisted::Done);
        }
    }

    /// Sends a session what stands in front of its line and waits for nothing.
    fn go_on<H>(&mut self, host: &mut H, key: SessionKey)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session_mut(key) else { return };
        let mut line = std::mem::take(&mut session.rare().line);
        while let Some(Line::Ready(..)) = line.front() {
            if let Some(Line::Ready(publication, one)) = line.pop_front() {
                self.deliver_kept(host, &publication, vec![one], None);
            }
        }
        if line.is_empty() && line.capacity() > LINE_KEPT {
            line = VecDeque::new();
        }
        if let Some(session) = self.session_mut(key) {
            session.rare().line = line;
        }
    }
}

/// A message that is to be retained.
#[derive(Debug)]
pub struct Retain<'a> {
    /// The message.
    pub publication: &'a Arc<Publication>,
    /// Its owner, and its number: the highest is a topic's last one.
    pub stored: &'a Stored,
    /// As of [`Keep::must`].
    pub must: bool,
}

/// A part of a message that is taken back.
#[derive(Debug)]
pub struct Withdraw<'a> {
    /// Client ids, and what their sessions call the queued messages.
    pub receivers: &'a [(&'a str, u32)],
    /// As of [`Keep::origin`].
    pub origin: Option<Origin>,
    /// As of [`Keep::publisher`].
    pub publisher: Option<&'a str>,
}
