//! Work of several shards, compared.
//!
//! Each shard's journal is read alone; its statements about groups are noted here. When all were
//! read, every group must be the same everywhere: the same transfers, one decision, booked on all
//! its shards or on none. A shard that a decision has not reached yet is no mistake: the group is
//! under way, and `@transit` is out of balance by just that.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Item, ItemKind, MessageHead, Party};
use crate::id;
use crate::problem::{Kind, Problem, Spot};

/// Which group: its coordinator, and its number there.
pub(crate) type Key = (u16, u64);

/// The amount that a group holds of an account here, and promises to it, until it is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outstanding {
    pub(crate) account: u32,
    pub(crate) going: u128,
    pub(crate) coming: u128,
}

/// What a shard booked of a group: what, id, amount, from whom, to whom.
pub(crate) type Leg = (ItemKind, u128, u64, String, String);

/// A transfer of a group, with names instead of a shard's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    kind: ItemKind,
    id: u128,
    content: Option<u64>,
    home: Option<u16>,
    amount: u64,
    asset: String,
    debit: (u16, String),
    credit: (u16, String),
}

impl Part {
    /// Whether it does something on that shard. Holds and their ends do it with the one who gives only.
    fn is_on(&self, shard: u16) -> bool {
        let credit_counts = !matches!(self.kind, ItemKind::Hold | ItemKind::Void);
        self.debit.0 == shard || (credit_counts && self.credit.0 == shard)
    }

    /// Whether that shard is asked about it: also the one that would decide it alone.
    fn is_sent_to(&self, shard: u16) -> bool {
        self.is_on(shard) || self.home == Some(shard)
    }

    /// The shard that would decide it alone; none where the transfer that it ends or reverses names
    /// the shard.
    fn decides(&self) -> Option<u16> {
        let is_system = |side: &(u16, String)| side.1.starts_with('@');
        match self.kind {
            ItemKind::Post | ItemKind::Hold if self.home.is_some() => self.home,
            ItemKind::Post | ItemKind::Hold if is_system(&self.debit) => Some(self.credit.0),
            ItemKind::Post | ItemKind::Hold => Some(self.debit.0),
            ItemKind::Capture | ItemKind::Reverse | ItemKind::Void => None,
        }
    }

    /// The part as it is sent to another shard. Before there were homes, the content was sent to
    /// none.
    fn as_sent_to(&self, shard: u16, sent: Option<&Part>) -> Part {
        let has_content = self.decides() == Some(shard) && sent.is_some_and(|sent| sent.content.is_some());
        Part { content: self.content.filter(|_| has_content), home: None, ..self.clone() }
    }

    fn leg(&self) -> Leg {
        (self.kind, self.id, self.amount, self.debit.1.clone(), self.credit.1.clone())
    }

    /// What it does to `@transit` on a shard.
    fn transit(&self, shard: u16) -> i128 {
        let amount = i128::from(self.amount);
        match (self.debit.0 == shard, self.credit.0 == shard) {
            _ if matches!(self.kind, ItemKind::Hold | ItemKind::Void) => 0,
            (true, false) => amount,
            (false, true) => -amount,
            _ => 0,
        }
    }
}

/// The statements of one other shard about a group.
#[derive(Debug)]
struct There {
    spot: Spot,
    /// The message that asked it, and the transfers. None where the decision came and no question
    /// was answered with yes.
    prepared: Option<(u64, Vec<Part>)>,
    settled: Option<bool>,
}

#[derive(Debug, Default)]
struct Group {
    /// What the coordinator began.
    began: Option<(Spot, Vec<Part>)>,
    /// The messages that asked, by shard.
    asked: BTreeMap<u16, u64>,
    voted: BTreeSet<u16>,
    decided: Option<(Spot, bool)>,
    confirmed: BTreeSet<u16>,
    others: BTreeMap<u16, There>,
    booked: BTreeMap<u16, Vec<Leg>>,
}

/// The content of a coordinator's message.
#[derive(Debug)]
struct Sent {
    group: u64,
    to: u16,
    decides: bool,
}

/// All groups of all shards.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: BTreeMap<Key, Group>,
    /// Messages that are not done, by sender and number.
    messages: BTreeMap<(u16, u64), Sent>,
    /// Messages that each shard sent.
    sent: BTreeMap<u16, u64>,
}

/// What came out for all groups.
#[derive(Debug, Default)]
pub(crate) struct Together {
    pub(crate) groups: u64,
    /// Not decided, or decided and not yet known everywhere.
    pub(crate) open: u64,
    /// The amounts that `@transit` is still to get, by asset.
    pub(crate) transit: BTreeMap<String, i128>,
}

/// What a shard's numbers stand for.
pub(crate) trait Names {
    /// The wallet of an account.
    fn party(&self, account: u32) -> String;
    /// The code of an asset.
    fn code(&self, asset: u32) -> String;
    /// The account of `@transit`, where it is open.
    fn transit(&self, asset: u32) -> Option<u32>;
}

impl Groups {
    /// A shard begins a group.
    pub(crate) fn began(
        &mut self,
        spot: Spot,
        number: u64,
        items: &[Item<'_>],
        names: &dyn Names,
    ) -> Vec<Outstanding> {
        let parts = parts(spot.shard, items, names);
        let others = others(spot.shard, &parts);
        for &to in &others {
            let message = self.send(spot.shard, Sent { group: number, to, decides: false });
            self.group((spot.shard, number)).asked.insert(to, message);
        }
        self.group((spot.shard, number)).began = Some((spot, parts));
        outstanding(items, names)
    }

    fn group(&mut self, key: Key) -> &mut Group {
        self.groups.entry(key).or_default()
    }

    fn send(&mut self, shard: u16, sent: Sent) -> u64 {
        let number = self.sent.entry(shard).or_default();
        *number += 1;
        self.messages.insert((shard, *number), sent);
        *number
    }

    /// Another shard voted yes to a message.
    pub(crate) fn voted(&mut self, spot: Spot, message: u64) -> Option<Problem> {
        match self.messages.remove(&(spot.shard, message)) {
            Some(Sent { group, to, decides: false }) => {
                self.group((spot.shard, group)).voted.insert(to);
                None
            }
            _ => Some(spot.problem(Kind::Group, format!("a yes to message {message}, which asks nothing"))),
        }
    }

    /// A group was decided where it began.
    pub(crate) fn decided(
        &mut self,
        spot: Spot,
        number: u64,
        booked: bool,
        refused_by: Option<u16>,
    ) -> Option<Problem> {
        let wrong = |what: &str| Some(spot.problem(Kind::Group, format!("group {number} {what}")));
        let group = self.group((spot.shard, number));
        let Some((_, parts)) = &group.began else { return wrong("is decided, and never began") };
        if group.decided.is_some() {
            return wrong("is decided twice");
        }
        group.decided = Some((spot, booked));
        let others = others(spot.shard, parts);
        let silent = others.iter().find(|&shard| booked && !group.voted.contains(shard)).copied();
        let asked: Vec<u64> = group.asked.values().copied().collect();
        for message in asked {
            self.messages.remove(&(spot.shard, message));
        }
        for to in others.into_iter().filter(|&to| booked || refused_by != Some(to)) {
            self.send(spot.shard, Sent { group: number, to, decides: true });
        }
        silent.and_then(|shard| wrong(&format!("is booked, and shard {shard} never voted yes")))
    }

    /// Another shard has a decision.
    pub(crate) fn confirmed(&mut self, spot: Spot, message: u64) -> Option<Problem> {
        match self.messages.remove(&(spot.shard, message)) {
            Some(Sent { group, to, decides: true }) => {
                self.group((spot.shard, group)).confirmed.insert(to);
                None
            }
            _ => Some(
                spot.problem(Kind::Group, format!("message {message} is confirmed, and decides nothing")),
            ),
        }
    }

    /// A shard voted yes to another one's group.
    pub(crate) fn prepared(
        &mut self,
        spot: Spot,
        from: MessageHead,
        number: u64,
        items: &[Item<'_>],
        names: &dyn Names,
    ) -> (Vec<Outstanding>, Option<Problem>) {
        let parts = parts(spot.shard, items, names);
        let there = There { spot, prepared: Some((from.number, parts)), settled: None };
        let before = self.group((from.shard, number)).others.insert(spot.shard, there);
        let problem = before.map(|_| {
            let what =
                format!("a second yes to group {number} of shard {}, or one after its end", from.shard);
            spot.problem(Kind::Group, what)
        });
        (outstanding(items, names), problem)
    }

    /// A shard got the decision of another one's group.
    pub(crate) fn settled(
        &mut self,
        spot: Spot,
        from: MessageHead,
        prepare: u64,
        number: u64,
        booked: bool,
    ) -> Option<Problem> {
        let wrong = |what: &str| {
            Some(spot.problem(Kind::Group, format!("group {number} of shard {} {what}", from.shard)))
        };
        let others = &mut self.group((from.shard, number)).others;
        let there = others.entry(spot.shard).or_insert(There { spot, prepared: None, settled: None });
        if there.settled.replace(booked).is_some() {
            return wrong("is decided twice here");
        }
        match &there.prepared {
            None if booked => wrong("is booked here without a yes"),
            Some((message, _)) if *message != prepare => {
                wrong("is decided under another message than it was asked")
            }
            _ => None,
        }
    }

    /// A shard booked something of a group.
    pub(crate) fn booked(&mut self, shard: u16, key: Key, leg: Leg) {
        self.group(key).booked.entry(shard).or_default().push(leg);
    }

    /// All shards were read: puts them side by side.
    pub(crate) fn finish(&self, problems: &mut dyn FnMut(Problem)) -> Together {
        let mut together = Together { groups: self.groups.len() as u64, ..Together::default() };
        for (&key, group) in &self.groups {
            group.finish(key, &mut together, problems);
        }
        together
    }
}

impl Group {
    fn finish(&self, key: Key, together: &mut Together, problems: &mut dyn FnMut(Problem)) {
        let (coordinator, number) = key;
        let shown = format!("group {number} of shard {coordinator}");
        let mut wrong =
            |spot: Spot, what: String| problems(spot.problem(Kind::Group, format!("{shown} {what}")));
        let Some((began, parts)) = &self.began else {
            for there in self.others.values() {
                wrong(there.spot, "is known here, and never began there".to_owned());
            }
            return;
        };
        let decided = self.decided.map(|(_, booked)| booked);
        let mut is_open = decided.is_none();
        self.compare_legs(coordinator, parts, decided == Some(true), *began, &mut wrong);
        for shard in others(coordinator, parts) {
            let there = self.others.get(&shard);
            let spot = there.map_or(*began, |there| there.spot);
            if let Some((message, prepared)) = there.and_then(|there| there.prepared.as_ref()) {
                let expected = parts.iter().filter(|part| part.is_sent_to(shard)).enumerate();
                let expected: Vec<Part> =
                    expected.map(|(at, part)| part.as_sent_to(shard, prepared.get(at))).collect();
                if *prepared != expected {
                    wrong(spot, "is about other transfers here than where it began".to_owned());
                }
                if self.asked.get(&shard) != Some(message) {
                    wrong(spot, format!("was asked here by message {message}, which it did not send"));
                }
            } else if self.voted.contains(&shard) {
                wrong(*began, format!("got a yes of shard {shard}, which never gave it"));
            }
            let settled = there.and_then(|there| there.settled);
            match (decided, settled) {
                (Some(true), Some(false)) | (Some(false), Some(true)) => {
                    wrong(spot, "is booked on one shard and not on the other".to_owned());
                }
                (None, Some(_)) => wrong(spot, "is decided here, and not where it began".to_owned()),
                (Some(booked), None) => {
                    if self.confirmed.contains(&shard) {
                        wrong(spot, format!("is confirmed by shard {shard}, which has no decision"));
                    }
                    let said_yes = there.is_some_and(|there| there.prepared.is_some());
                    is_open |= booked || said_yes;
                    if booked {
                        for part in parts {
                            *together.transit.entry(part.asset.clone()).or_default() += part.transit(shard);
                        }
                    }
                }
                _ => {}
            }
            self.compare_legs(shard, parts, settled == Some(true), spot, &mut wrong);
        }
        for (&shard, there) in &self.others {
            if !parts.iter().any(|part| part.is_sent_to(shard)) {
                wrong(there.spot, "has nothing to do here".to_owned());
            }
        }
        together.open += u64::from(is_open);
    }

    /// What a shard booked against what it had to book.
    fn compare_legs(
        &self,
        shard: u16,
        parts: &[Part],
        is_booked: bool,
        spot: Spot,
        wrong: &mut dyn FnMut(Spot, String),
    ) {
        // Holds and their ends have no event of their own: the decision is it.
        let moves = |part: &&Part| !matches!(part.kind, ItemKind::Hold | ItemKind::Void);
        let expected = parts.iter().filter(|part| is_booked && part.is_on(shard)).filter(moves);
        let mut expected: Vec<Leg> = expected.map(Part::leg).collect();
        let mut booked = self.booked.get(&shard).cloned().unwrap_or_default();
        let by_id = |a: &Leg, b: &Leg| a.1.cmp(&b.1);
        expected.sort_by(by_id);
        booked.sort_by(by_id);
        if booked != expected {
            let ids = |legs: &[Leg]| legs.iter().map(|leg| id::show(leg.1)).collect::<Vec<_>>().join(", ");
            let what =
                format!("should book [{}] on shard {shard}, and booked [{}]", ids(&expected), ids(&booked));
            wrong(spot, what);
        }
    }
}

/// The shards of a group besides its coordinator.
fn others(coordinator: u16, parts: &[Part]) -> BTreeSet<u16> {
    let shards =
        parts.iter().flat_map(|part| [part.debit.0, part.credit.0, part.home.unwrap_or(coordinator)]);
    shards.filter(|&shard| shard != coordinator && parts.iter().any(|part| part.is_sent_to(shard))).collect()
}

fn parts(shard: u16, items: &[Item<'_>], names: &dyn Names) -> Vec<Part> {
    let side = |side: &Party<'_>| match side {
        Party::Here(account) => (shard, names.party(*account)),
        Party::There { shard, wallet } => (*shard, (*wallet).to_owned()),
    };
    let part = |item: &Item<'_>| Part {
        kind: item.kind,
        id: item.id,
        content: item.content,
        home: item.home,
        amount: item.amount,
        asset: names.code(item.asset),
        debit: side(&item.debit),
        credit: side(&item.credit),
    };
    items.iter().map(part).collect()
}

/// The amounts that items hold and count where they are; `@transit` takes the side that is
/// elsewhere. A capture's amount is held by its hold already, where that is here.
fn outstanding(items: &[Item<'_>], names: &dyn Names) -> Vec<Outstanding> {
    let mut sums: BTreeMap<u32, (u128, u128)> = BTreeMap::new();
    for item in items {
        let amount = u128::from(item.amount);
        let moves = !matches!(item.kind, ItemKind::Hold | ItemKind::Void);
        let (going, coming) = match (item.debit, item.credit) {
            (Party::There { .. }, Party::There { .. }) => (None, None),
            (Party::There { .. }, Party::Here(credit)) => (names.transit(item.asset), Some(credit)),
            (Party::Here(debit), Party::There { .. }) => (Some(debit), names.transit(item.asset)),
            (Party::Here(debit), Party::Here(credit)) => (Some(debit), Some(credit)),
        };
        let is_held_already = item.kind == ItemKind::Capture && matches!(item.debit, Party::Here(_));
        if let Some(account) = going.filter(|_| item.kind != ItemKind::Void && !is_held_already) {
            sums.entry(account).or_default().0 += amount;
        }
        if let Some(account) = coming.filter(|_| moves) {
            sums.entry(account).or_default().1 += amount;
        }
    }
    sums.into_iter().map(|(account, (going, coming))| Outstanding { account, going, coming }).collect()
}
