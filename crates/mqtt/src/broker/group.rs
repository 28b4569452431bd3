//! Shared subscription groups, from both ends: the session that joins, and the home that keeps the group.
//!
//! A step is the same on every loop: what concerns a group goes to its home, what concerns a member
//! goes to the member's loop, and a message whose member is gone comes back for the next one.

use std::sync::Arc;

use super::Broker;
use super::deliver::{Parcel, Terms, may_read};
use super::durable::{Origin, PublishedBy, ReplyTo};
use super::host::{Host, Interest, LoopIndex};
use super::parts::{Decides, Part};
use super::publication::Publication;
use super::session::{SessionKey, SharedId};
use super::shared::{Group, GroupMessage, Join, MemberRef, Presence};
use super::shares::SharedHeld;
use crate::packet::SubscriptionOptions;
use crate::topic::SharedFilter;

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Word from another loop.
    pub fn group_message<H>(&mut self, host: &mut H, message: GroupMessage)
    where
        H: Host<Link = L, Identity = I>,
    {
        match message {
            GroupMessage::Join(join) => self.joined(host, &join),
            GroupMessage::Leave { filter, member } => self.left(host, &filter, member),
            GroupMessage::Presence { filter, member, presence } => self.noticed(&filter, member, presence),
            GroupMessage::Deliver {
                filter,
                home,
                member,
                options,
                subscription_id,
                shared,
                publication,
                origin,
                reply_to,
                is_partly_granted,
                skipped,
            } => {
                // One that has unsubscribed gets nothing new [MQTT-3.10.4-2]: its home hears of that before this comes back.
                let session = self.session(member).filter(|session| session.is_member_of(&filter));
                let is_there = session.is_some();
                let reads = |session| !is_partly_granted || may_read(host, session, publication.topic());
                if session.is_some_and(reads) {
                    let turn = Turn { group: filter, member, options, subscription_id, shared };
                    self.deliver_turn(host, turn, &publication, origin, reply_to);
                } else {
                    let skipped = skipped + usize::from(is_there);
                    host.send_group_message(
                        home,
                        GroupMessage::Return { filter, publication, origin, reply_to, skipped },
                    );
                }
            }
            GroupMessage::Return { filter, publication, origin, reply_to, skipped } => {
                self.next_turn(host, &filter, &publication, origin, reply_to, skipped);
            }
        }
    }

    /// Reports a member to its group. An answer that is due waits until the group has it: it is a
    /// part of what is at hand.
    pub(super) fn join_group<H>(&mut self, host: &mut H, key: SessionKey, held: &SharedHeld, answer: Answered)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session(key) else { return };
        let (connected, durable) = (session.link.is_some(), session.durable);
        let join = Join {
            filter: held.filter.clone(),
            member: self.member(key),
            options: held.options,
            subscription_id: held.subscription_id,
            shared: held.id,
            presence: if connected { Presence::Here } else { Presence::Away },
            durable,
            is_partly_granted: held.is_partly_granted,
            reply_to: None,
        };
        let home = host.group_home(&held.filter);
        if home == self.config.loop_index {
            self.joined(host, &join);
        } else {
            let reply_to = (answer == Answered::Later).then(|| {
                let then = self.pendings.part(&mut self.parts);
                ReplyTo { at: self.config.loop_index, then, must: false, decides: Decides::Each }
            });
            host.send_group_message(home, GroupMessage::Join(Box::new(Join { reply_to, ..join })));
        }
    }

    pub(super) fn leave_group<H>(&mut self, host: &mut H, key: SessionKey, filter: &str)
    where
        H: Host<Link = L, Identity = I>,
    {
        let member = self.member(key);
        let home = host.group_home(filter);
        if home == self.config.loop_index {
            self.left(host, filter, member);
        } else {
            host.send_group_message(home, GroupMessage::Leave { filter: filter.into(), member });
        }
    }

    /// Notifies the groups of a session that its client came or went.
    pub(super) fn notify_groups<H>(&mut self, host: &mut H, key: SessionKey, presence: Presence)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session(key) else { return };
        if session.is_shared_empty() {
            return;
        }
        let member = self.member(key);
        let filters: Vec<Box<str>> =
            session.rare.iter().flat_map(|rare| rare.shared.iter()).map(|held| held.filter.clone()).collect();
        for filter in filters {
            let home = host.group_home(&filter);
            if home == self.config.loop_index {
                self.noticed(&filter, member, presence);
            } else {
                host.send_group_message(home, GroupMessage::Presence { filter, member, presence });
            }
        }
    }

    fn member(&self, key: SessionKey) -> MemberRef {
        MemberRef { at: self.config.loop_index, session: key }
    }

    fn joined<H>(&mut self, host: &mut H, join: &Join)
    where
        H: Host<Link = L, Identity = I>,
    {
        let id = match self.groups.find(&join.filter) {
            Some(id) => id,
            None => {
                let Some(Ok(shared)) = SharedFilter::parse(&join.filter) else { return };
                let id = self.groups.next_id();
                let (filter, first) = self.filters.add_group(shared.filter.as_str(), id);
                if first {
                    host.interest(shared.filter.as_str(), Interest::Gained);
                }
                self.groups.insert(Group::new(&join.filter, filter))
            }
        };
        self.groups.group_mut(id).join(join);
        if let Some(to) = join.reply_to {
            self.reply(host, to, Part::nothing());
        }
    }

    fn left<H>(&mut self, host: &mut H, text: &str, member: MemberRef)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(id) = self.groups.find(text) else { return };
        let group = self.groups.group_mut(id);
        group.leave(member);
        if !group.members.is_empty() {
            return;
        }
        let group = self.groups.remove(id);
        self.filters.remove_group(group.filter, id);
        if let Some(text) = self.filters.tidy(group.filter) {
            host.interest(&text, Interest::Lost);
        }
    }

    fn noticed(&mut self, text: &str, member: MemberRef, presence: Presence) {
        if let Some(id) = self.groups.find(text) {
            self.groups.group_mut(id).presence(member, presence);
        }
    }

    /// The next member's turn, after so many members that may not read the message. Where nobody
    /// keeps the message, those that wait for its confirmation get it at once.
    fn next_turn<H>(
        &mut self,
        host: &mut H,
        text: &str,
        publication: &Arc<Publication>,
        origin: Option<Origin>,
        reply_to: Option<ReplyTo>,
        mut skipped: usize,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let home: LoopIndex = self.config.loop_index;
        let found = self.groups.find(text);
        loop {
            let Self { groups, sessions, .. } = self;
            let group = found.map(|id| groups.group_mut(id)).filter(|group| skipped < group.members.len());
            let turn = group.and_then(|group| {
                let text = group.text.clone();
                group.next().map(|member| (text, member))
            });
            let Some((filter, member)) = turn else {
                if let Some(to) = reply_to {
                    self.reply(host, to, Part::nothing());
                }
                return;
            };
            let (who, options) = (member.who, member.options);
            let (subscription_id, shared) = (member.subscription_id, member.shared);
            let is_partly_granted = member.is_partly_granted;
            if who.at == home {
                let session = sessions.get(who.session.index as usize);
                let reads = |session| !is_partly_granted || may_read(host, session, publication.topic());
                if !session.is_some_and(reads) {
                    skipped += 1;
                    continue;
                }
                let turn = Turn { group: filter, member: who.session, options, subscription_id, shared };
                return self.deliver_turn(host, turn, publication, origin, reply_to);
            }
            let deliver = GroupMessage::Deliver {
                filter,
                home,
                member: who.session,
                options,
                subscription_id,
                shared,
                publication: Arc::clone(publication),
                origin,
                reply_to,
                is_partly_granted,
                skipped,
            };
            return host.send_group_message(who.at, deliver);
        }
    }

    /// A session ended with a message that its client did not acknowledge, or that it was never sent, and that came by a
    /// shared subscription: it goes to another member (section 4.8.2). A confirmation that is due
    /// waits for that too.
    pub(super) fn give_back<H>(
        &mut self,
        host: &mut H,
        filter: &str,
        publication: Arc<Publication>,
        origin: Option<Origin>,
        reply_to: Option<ReplyTo>,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        if let Some(to) = reply_to {
            self.pendings.more(to.then, 1);
        }
        let home = host.group_home(filter);
        if home == self.config.loop_index {
            self.next_turn(host, filter, &publication, origin, reply_to, 0);
        } else {
            let filter = filter.into();
            host.send_group_message(
                home,
                GroupMessage::Return { filter, publication, origin, reply_to, skipped: 0 },
            );
        }
    }

    fn deliver_turn<H>(
        &mut self,
        host: &mut H,
        turn: Turn,
        publication: &Arc<Publication>,
        origin: Option<Origin>,
        reply_to: Option<ReplyTo>,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        self.parts = None;
        let message = publication.message();
        if let Ok(expiry_s) = message.expiry_s(host.now_ms()) {
            let terms = Terms {
                qos: message.head.qos.min(turn.options.qos),
                retain: message.head.retain && turn.options.retain_as_published,
                ids: turn.subscription_id.as_slice(),
                shared: turn.shared,
                number: 0,
            };
            host.begin_message();
            let mut parcel = Parcel::new(message, expiry_s, Some(Arc::clone(publication)));
            self.deliverer().deliver_to_member(host, &turn.group, turn.member.index, terms, &mut parcel);
            self.from = origin.map(|origin| PublishedBy { origin, publisher: SessionKey::NONE });
            self.must_keep = reply_to.is_some_and(|to| to.must);
            self.decides = reply_to.map_or(Decides::Each, |to| to.decides);
            self.keep_unkept(host, publication, 0);
            self.from = None;
            self.must_keep = false;
            self.decides = Decides::Each;
        }
        if let Some(to) = reply_to {
            self.reply_when_kept(host, to);
        }
        self.parts = None;
    }
}

/// Whether the client hears of a new membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// Once its group has it.
    Later,
    /// It hears nothing: the membership is an old one.
    Never,
}

/// A member whose turn it is, on this loop.
struct Turn {
    group: Arc<str>,
    member: SessionKey,
    options: SubscriptionOptions,
    subscription_id: Option<u32>,
    shared: SharedId,
}
