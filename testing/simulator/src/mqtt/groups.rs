//! Shared subscriptions: each message goes to one member of a group, and is not lost while one persists.
//!
//! A message moves on to another member only where a session ended that had it. Sessions whose end is not certain
//! are taken for both: their messages may have moved on, and may still come to them.

use std::collections::BTreeMap;

use stadium_mqtt::topic;

use super::books::{Books, Message, SessionOf};
use super::timestamp::Timestamp;

/// A group as the plan has it.
#[derive(Debug, Clone)]
pub struct GroupPlan {
    /// `$share/GROUP/FILTER`.
    pub text: String,
    /// FILTER.
    pub filter: String,
    /// Only sessions that persist join, at QoS 1 or 2.
    pub is_kept: bool,
}

/// A device's subscription to a group.
#[derive(Debug, Clone)]
struct Membership {
    group: usize,
    qos: u8,
    /// Its session outlives its connection.
    persists: bool,
    /// When SUBACK came; none once something was asked that may have ended it.
    sure_from: Option<u64>,
    /// When it had surely ended.
    to: Option<u64>,
}

/// A message that a session got by a group.
#[derive(Debug, Clone, Copy)]
struct Copy {
    times: u32,
    qos: u8,
    /// When it came first.
    at: u64,
}

/// What is known of groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    plans: Vec<GroupPlan>,
    /// By device.
    members: Vec<Vec<Membership>>,
    /// When sessions of each device may have ended.
    ends: Vec<Vec<u64>>,
    /// When the server ended last.
    pub crashed: u64,
    /// By message and group.
    copies: BTreeMap<(u64, usize), BTreeMap<SessionOf, Copy>>,
}

/// A message that came by a group.
#[derive(Debug, Clone, Copy)]
pub struct Shared<'a> {
    pub group: usize,
    pub number: u64,
    pub topic: &'a str,
    pub qos: u8,
    pub dup: bool,
}

impl Membership {
    /// Whether it may have had a turn for a message that was published then, or was handed on later.
    fn may_have(&self, group: usize, sent: u64) -> bool {
        self.group == group && self.to.is_none_or(|ended| ended >= sent)
    }
}

impl Groups {
    pub fn new(plans: Vec<GroupPlan>, devices: usize) -> Groups {
        let members = vec![Vec::new(); devices];
        Groups { plans, members, ends: vec![Vec::new(); devices], crashed: 0, copies: BTreeMap::new() }
    }

    /// The device's session may have ended.
    pub fn may_end(&mut self, device: usize, at: u64) {
        self.members[device].iter_mut().for_each(|one| one.sure_from = None);
        self.ends[device].push(at);
    }

    /// The device's session before this one has ended.
    pub fn ended(&mut self, device: usize, at: u64) {
        self.members[device].iter_mut().for_each(|one| {
            one.to.get_or_insert(at);
        });
    }

    /// Whether a device may be sent a message by one of its groups.
    pub fn may_be_sent(&self, device: usize, topic: &str) -> bool {
        self.members[device].iter().any(|one| topic::matches(&self.plans[one.group].filter, topic))
    }

    /// Devices that may have had a turn.
    fn candidates(&self, group: usize, sent: u64) -> impl Iterator<Item = (usize, &Membership)> {
        self.members
            .iter()
            .enumerate()
            .flat_map(|(device, all)| all.iter().map(move |one| (device, one)))
            .filter(move |(_, one)| one.may_have(group, sent))
    }
}

impl Books {
    /// A device asks to be a member.
    pub fn joins(&mut self, device: usize, group: usize, qos: u8) {
        let persists = self.sessions[device].is_sure;
        let members = &mut self.groups.members[device];
        if !members.iter().any(|one| one.group == group && one.to.is_none()) {
            members.push(Membership { group, qos, persists, sure_from: None, to: None });
        }
    }

    pub fn joined(&mut self, device: usize, group: usize) {
        let at = self.next();
        let open = self.groups.members[device].iter_mut();
        open.filter(|one| one.group == group && one.to.is_none()).for_each(|one| one.sure_from = Some(at));
    }

    /// A device asks to be a member no more.
    pub fn leaves_group(&mut self, device: usize, group: usize) {
        let members = self.groups.members[device].iter_mut();
        members.filter(|one| one.group == group).for_each(|one| one.sure_from = None);
    }

    pub fn left_group(&mut self, device: usize, group: usize) {
        let at = self.next();
        let open = self.groups.members[device].iter_mut();
        open.filter(|one| one.group == group && one.to.is_none()).for_each(|one| one.to = Some(at));
    }

    pub fn is_member(&self, device: usize, group: usize) -> bool {
        self.groups.members[device].iter().any(|one| one.group == group && one.to.is_none())
    }

    /// Whether a session of the device may have what others are not to lose: it must come back at the end.
    pub fn is_needed(&self, device: usize) -> bool {
        self.sessions[device].is_sure
            || self.groups.members[device].iter().any(|one| one.persists && one.to.is_none())
    }

    /// A device got a message by a group.
    ///
    /// # Errors
    ///
    /// It should not have got it, or another member got it already.
    pub fn got_shared(&mut self, device: usize, shared: &Shared<'_>, now: Timestamp) -> Result<(), String> {
        let &Shared { group, number, topic, qos, dup } = shared;
        self.delivered += 1;
        let at = self.next();
        let Some(message) = self.messages.get(&number) else {
            return Err(format!("device {device} got message {number}, which nobody published"));
        };
        if message.topic != topic {
            return Err(format!("message {number} was published to {} and came on {topic}", message.topic));
        }
        let filter = &self.groups.plans[group].filter;
        let own = self.groups.candidates(group, message.sent).filter(|(member, _)| *member == device);
        let Some(best) = own.map(|(_, one)| one.qos).max().filter(|_| topic::matches(filter, topic)) else {
            return Err(format!(
                "device {device} got message {number} on {topic} by group {group}, of which it is no member"
            ));
        };
        if qos > message.qos.min(best) {
            return Err(format!(
                "message {number} of QoS {} came at QoS {qos} by group {group}, asked for {best}",
                message.qos
            ));
        }
        let session = &self.sessions[device];
        let whose = (device, session.era);
        let copies = self.groups.copies.get(&(number, group));
        // A publish that is repeated after a crash may go to another member, and so may one that is taken for another one.
        let may_change = message.is_sent_again && self.groups.crashed > message.sent;
        if !message.is_another
            && !message.was_refused
            && let Some(copies) = copies
        {
            let again = copies.contains_key(&whose);
            if again && (qos == 2 || (qos == 0 && !message.is_sent_again)) {
                return Err(format!(
                    "device {device} got message {number} of group {group} twice at QoS {qos}"
                ));
            }
            if again
                && qos == 1
                && !dup
                && session.is_sure
                && !self.moved_on(number, group, message.sent, now)
            {
                return Err(format!(
                    "device {device} got message {number} of group {group} again, without DUP"
                ));
            }
            // The same session, which a clean start that was lost did not end, gets it again.
            let is_same = |other: &SessionOf| *other == whose || (other.0 == device && dup);
            let other = copies.keys().find(|other| !is_same(other));
            if let Some(other) =
                other.filter(|_| !again && !may_change && !self.moved_on(number, group, message.sent, now))
            {
                return Err(format!(
                    "message {number} came to device {device} by group {group}, and to device {} before, and no session ended that had it",
                    other.0
                ));
            }
        }
        // A session that does not persist may have had it before it was refused, and left it to this one.
        let is_kept = session.is_sure && qos > 0 && !self.may_be_left(group, message.sent);
        let copies = self.groups.copies.entry((number, group)).or_default();
        copies.entry(whose).or_insert(Copy { times: 0, qos, at }).times += 1;
        if is_kept {
            self.came_to_kept(number, device)?;
        }
        Ok(())
    }

    /// Whether a message may have gone on to another member: a session ended that may have had it.
    /// A message sent at QoS 2 goes to nobody else [MQTT-4.8.2-5].
    fn moved_on(&self, number: u64, group: usize, sent: u64, now: Timestamp) -> bool {
        let copies = self.groups.copies.get(&(number, group));
        self.groups.candidates(group, sent).any(|(device, _)| {
            let had = copies.into_iter().flatten().filter(|(whose, copy)| whose.0 == device && copy.qos == 2);
            let had = had.map(|(_, copy)| copy.at).min();
            let explains = |end: u64| end >= sent && had.is_none_or(|had| end < had);
            let session = &self.sessions[device];
            self.groups.ends[device].iter().any(|&end| explains(end))
                || (session.is_away && session.may_be_over(now) && explains(u64::MAX))
        })
    }

    /// Whether a session that does not persist may have had a message and have ended since.
    fn may_be_left(&self, group: usize, sent: u64) -> bool {
        let mut candidates = self.groups.candidates(group, sent);
        candidates
            .any(|(device, one)| !one.persists && self.groups.ends[device].iter().any(|&end| end >= sent))
    }

    /// The server has closed the device's connection, and the device does not know yet.
    pub fn was_cut(&mut self, device: usize) {
        let at = self.next();
        if self.sessions[device].expiry_s == 0 {
            self.groups.ends[device].push(at);
        }
    }

    /// All members are back and have everything: what was acknowledged came to one of each group.
    ///
    /// # Errors
    ///
    /// A message came to nobody of a group with a member that persists.
    pub(super) fn all_came_to_groups(&self, now: Timestamp, drops: bool) -> Result<(), String> {
        for (group, plan) in self.groups.plans.iter().enumerate() {
            let of_group = |message: &Message| topic::matches(&plan.filter, &message.topic);
            for (&number, message) in self.messages.iter().filter(|(_, message)| of_group(message)) {
                let came = self.groups.copies.contains_key(&(number, group));
                if came || !self.must_come(number, group, message, drops, now) {
                    continue;
                }
                return Err(format!(
                    "message {number} of device {} on {} at QoS {} was acknowledged and came to no member of {}",
                    message.by, message.topic, message.qos, plan.text
                ));
            }
        }
        Ok(())
    }

    fn must_come(&self, number: u64, group: usize, message: &Message, drops: bool, now: Timestamp) -> bool {
        let is_taken = message.answered.is_some() && !message.is_refused && message.qos > 0;
        if !is_taken || message.over.is_some_and(|over| over.may_be(now)) {
            return false;
        }
        let sent = message.sent;
        let is_sure = |one: &Membership| one.persists && one.sure_from.is_some_and(|from| from < sent);
        let mut candidates = self.groups.candidates(group, sent);
        if !self.groups.candidates(group, sent).any(|(_, one)| is_sure(one)) {
            return false;
        }
        candidates.all(|(device, one)| {
            let ended = self.groups.ends[device].iter().any(|&end| end >= sent);
            // A message owed at QoS 2 ends with its session, and a message that is handed on may
            // find a shard without room.
            let is_dropped = ended && (drops || message.qos.min(one.qos) == 2);
            // One that was kept for a session that is not kept any more, or was lost with the process.
            let is_kept = one.persists && one.qos > 0 && !is_dropped;
            is_kept && self.behind(device, number) <= self.sessions[device].messages_min
        })
    }
}
