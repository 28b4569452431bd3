//! One answer of the wallets out of those of several shards.
//!
//! A system wallet has a part on each shard: parts of one account are summed. A shard that does not
//! know a transfer's id is ignored where another one does.

use std::cmp::Reverse;

use stadium_state_machine::all_of;

use crate::refusal::{ACCOUNT_UNKNOWN, PENDING, TRANSFER_UNKNOWN};
use crate::{
    AccountView, Answer, AssetView, Balance, Direction, Entry, EntryPage, HoldView, Outcome, Range, Refusal,
    Time,
};

/// How answers become one.
pub(crate) enum Merge {
    /// Outcomes: each part knows which of the whole it has. A transfer that is not known here may
    /// be known there.
    ByPlace { items: Items, places: Vec<Vec<usize>>, whole: usize },
    /// All did it.
    Done,
    /// The shard that knows the id.
    WhoKnows,
    /// Accounts by name, parts of one summed, so many at most.
    Accounts { accounts_max: usize },
    /// Holds, oldest first, so many at most.
    Holds { holds_max: usize },
    /// Entries of the parts of one account, newest first: the first `skip` of them were on the page
    /// before. Entries of a page that are out of the range are left out here.
    History { skip: usize, range: Box<Range> },
    /// Balances are added.
    Balance,
    /// Those of one shard behind those of the one before.
    Seals,
    /// Totals are added; the parts of `@transit` are one balance.
    Assets,
}

/// The outcomes that there are, also where no shard names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Items {
    Accounts,
    Transfers,
}

pub(crate) fn merge(answers: Vec<Result<Answer, Refusal>>, how: &Merge) -> Result<Answer, Refusal> {
    match how {
        Merge::ByPlace { items, places, whole } => by_place(answers, *items, places, *whole),
        Merge::Done => all_of(answers).map(|_| Answer::Done),
        Merge::WhoKnows => who_knows(answers),
        Merge::Accounts { accounts_max } => accounts(answers, *accounts_max),
        Merge::Holds { holds_max } => {
            let mut all: Vec<HoldView> = Vec::new();
            for answer in known(answers, ACCOUNT_UNKNOWN)? {
                if let Answer::Holds(holds) = answer {
                    all.extend(holds);
                }
            }
            all.sort_by_key(|hold| (hold.at, hold.transfer));
            all.truncate(*holds_max);
            Ok(Answer::Holds(all))
        }
        Merge::History { skip, range } => history(answers, *skip, range),
        Merge::Balance => {
            let mut sum = Balance::default();
            for answer in known(answers, ACCOUNT_UNKNOWN)? {
                if let Answer::Balance(part) = answer {
                    add(&mut sum, part);
                }
            }
            Ok(Answer::Balance(sum))
        }
        Merge::Assets => assets(answers),
        Merge::Seals => seals(answers),
    }
}

/// The answer of the shard that knows the id; that it is unknown where none does.
pub fn who_knows<A>(answers: Vec<Result<A, Refusal>>) -> Result<A, Refusal> {
    let mut refused: Option<Refusal> = None;
    for answer in answers {
        match answer {
            Ok(answer) => return Ok(answer),
            Err(refusal) => keep_better(&mut refused, &refusal),
        }
    }
    Err(refused.expect("at least one shard was asked"))
}

/// How much a refusal reveals about an id that all shards were asked about. Only the shard that
/// knows the id answers that it is under way, or rejects it. A busy shard may know it: to leave
/// that out would be wrong.
fn weight(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::Unknown { .. } => 4,
        Refusal::Busy { code, .. } if *code == PENDING => 3,
        Refusal::Rejected { code, .. } if *code != TRANSFER_UNKNOWN => 2,
        Refusal::Busy { .. } => 1,
        Refusal::Rejected { .. } => 0,
    }
}

fn keep_better(kept: &mut Option<Refusal>, refusal: &Refusal) {
    if kept.as_ref().is_none_or(|kept| weight(kept) < weight(refusal)) {
        *kept = Some(refusal.clone());
    }
}

/// Answers of those shards that know the account; the refusal where none does, or where one answers
/// anything else.
fn known(answers: Vec<Result<Answer, Refusal>>, code: &str) -> Result<Vec<Answer>, Refusal> {
    let mut unknown = None;
    let mut all = Vec::with_capacity(answers.len());
    for answer in answers {
        match answer {
            Ok(answer) => all.push(answer),
            Err(refusal) if refusal.code() == code => unknown = Some(refusal),
            Err(refusal) => return Err(refusal),
        }
    }
    match unknown {
        Some(refusal) if all.is_empty() => Err(refusal),
        _ => Ok(all),
    }
}

fn by_place(
    answers: Vec<Result<Answer, Refusal>>,
    items: Items,
    places: &[Vec<usize>],
    whole: usize,
) -> Result<Answer, Refusal> {
    let mut booked: Vec<Option<Outcome>> = vec![None; whole];
    let mut opened: Vec<Option<Result<bool, Refusal>>> = vec![None; whole];
    let mut refused: Vec<Option<Refusal>> = vec![None; whole];
    for (answer, places) in answers.into_iter().zip(places) {
        match answer {
            Ok(Answer::Booked(part)) => {
                for (&place, outcome) in places.iter().zip(part) {
                    let is_better = match (&booked[place], &outcome) {
                        (None, _) => true,
                        (Some(Ok(_)), _) => false,
                        (Some(Err(_)), Ok(_)) => true,
                        (Some(Err(before)), Err(refusal)) => weight(before) < weight(refusal),
                    };
                    if is_better {
                        booked[place] = Some(outcome);
                    }
                }
            }
            Ok(Answer::Opened(part)) => {
                places.iter().zip(part).for_each(|(&place, one)| opened[place] = Some(one));
            }
            Ok(_) => {}
            Err(refusal) => places.iter().for_each(|&place| keep_better(&mut refused[place], &refusal)),
        }
    }
    for (outcome, refused) in booked.iter_mut().zip(&refused) {
        // A shard that could not answer may be the one that knows it.
        if let (Some(Err(before)), Some(other)) = (&outcome, refused)
            && weight(before) < weight(other)
        {
            *outcome = Some(Err(other.clone()));
        }
    }
    if booked.iter().all(Option::is_none)
        && opened.iter().all(Option::is_none)
        && let Some(Some(first)) = refused.first()
        && refused.iter().flatten().all(|refusal| refusal.code() == first.code())
    {
        // The command as a whole is refused alike everywhere.
        return Err(first.clone());
    }
    Ok(match items {
        Items::Accounts => Answer::Opened(each(opened, refused)),
        Items::Transfers => Answer::Booked(each(booked, refused)),
    })
}

/// One outcome for each item: its own, or the refusal of its part.
fn each<T>(
    outcomes: Vec<Option<Result<T, Refusal>>>,
    refused: Vec<Option<Refusal>>,
) -> Vec<Result<T, Refusal>> {
    let outcome = |(outcome, refusal): (Option<Result<T, Refusal>>, Option<Refusal>)| {
        outcome.or_else(|| refusal.map(Err)).expect("each item was asked of a shard, which answered")
    };
    outcomes.into_iter().zip(refused).map(outcome).collect()
}

fn accounts(answers: Vec<Result<Answer, Refusal>>, accounts_max: usize) -> Result<Answer, Refusal> {
    let mut all: Vec<AccountView> = Vec::new();
    for answer in known(answers, ACCOUNT_UNKNOWN)? {
        if let Answer::Accounts(accounts) = answer {
            all.extend(accounts);
        }
    }
    all.sort_by(|a, b| (&a.wallet, &a.asset).cmp(&(&b.wallet, &b.asset)));
    all.dedup_by(|next, kept| {
        let same = next.wallet == kept.wallet && next.asset == kept.asset;
        if same {
            add(&mut kept.balance, next.balance);
            kept.entries += next.entries;
            kept.opened = kept.opened.min(next.opened);
            kept.closed |= next.closed;
        }
        same
    });
    all.truncate(accounts_max);
    Ok(Answer::Accounts(all))
}

fn add(sum: &mut Balance, part: Balance) {
    sum.posted = sum.posted.saturating_add(part.posted);
    sum.held = sum.held.saturating_add(part.held);
}

/// Bits of a page's beginning with the number of entries of its millisecond that were on the pages
/// before.
const SKIP_BITS: u32 = 20;

/// Where a page of an account with parts on several shards begins: at this millisecond, so many entries of which were shown.
pub(crate) fn page_begin(before: u64) -> (u64, usize) {
    (before >> SKIP_BITS, (before & ((1 << SKIP_BITS) - 1)) as usize)
}

fn page_end(millisecond: u64, shown: usize) -> u64 {
    millisecond << SKIP_BITS | (shown as u64).min((1 << SKIP_BITS) - 1)
}

fn history(answers: Vec<Result<Answer, Refusal>>, skip: usize, range: &Range) -> Result<Answer, Refusal> {
    let mut all: Vec<(usize, Entry)> = Vec::new();
    // A part that has more is silent about entries after its last one.
    let mut cut = None;
    for (part, answer) in known(answers, ACCOUNT_UNKNOWN)?.into_iter().enumerate() {
        let Answer::History(page) = answer else { continue };
        if page.before.is_some()
            && let Some(last) = page.entries.last()
        {
            let last = order(part, last);
            cut = Some(cut.map_or(last, |cut: Order| cut.min(last)));
        }
        all.extend(page.entries.into_iter().map(|entry| (part, entry)));
    }
    all.sort_by_key(|(part, entry)| order(*part, entry));
    let whole = all.len();
    all.retain(|(part, entry)| cut.is_none_or(|cut| order(*part, entry) <= cut));
    let from = skip.min(all.len());
    let to = from.saturating_add(range.entries_max as usize).min(all.len());
    let has_more = cut.is_some() || to < whole;
    let before = all[..to].last().filter(|_| has_more).map(|(_, last)| {
        let at = last.transfer.at;
        page_end(at.0, all[..to].iter().rev().take_while(|(_, entry)| entry.transfer.at == at).count())
    });
    let entries =
        all.drain(from..to).map(|(_, entry)| entry).filter(|entry| is_wanted(entry, range)).collect();
    Ok(Answer::History(EntryPage { entries, before }))
}

/// Newest first; within a millisecond shard after shard: the same each time that it is asked.
type Order = (Reverse<Time>, usize, Reverse<u64>);

fn order(part: usize, entry: &Entry) -> Order {
    (Reverse(entry.transfer.at), part, Reverse(entry.number))
}

/// Whether a range asks for an entry, its times and numbers aside.
fn is_wanted(entry: &Entry, range: &Range) -> bool {
    let transfer = &entry.transfer;
    let other = match entry.direction {
        Direction::Credit => &transfer.debit,
        Direction::Debit => &transfer.credit,
    };
    range.direction.is_none_or(|direction| direction == entry.direction)
        && range.other.as_ref().is_none_or(|wanted| wanted == other)
        && range.reference.as_ref().is_none_or(|wanted| *wanted == transfer.reference)
}

fn seals(answers: Vec<Result<Answer, Refusal>>) -> Result<Answer, Refusal> {
    let mut all = Vec::new();
    for answer in answers {
        if let Answer::Seals(seals) = answer? {
            all.extend(seals);
        }
    }
    Ok(Answer::Seals(all))
}

fn assets(answers: Vec<Result<Answer, Refusal>>) -> Result<Answer, Refusal> {
    let mut all: Vec<AssetView> = Vec::new();
    for answer in answers {
        if let Answer::Assets(assets) = answer? {
            all.extend(assets);
        }
    }
    all.sort_by(|a, b| a.asset.cmp(&b.asset));
    all.dedup_by(|next, kept| {
        let same = next.asset == kept.asset;
        if same {
            kept.accounts += next.accounts;
            kept.held += next.held;
            let transit = kept.transit + next.transit;
            for part in [&mut *kept, next] {
                let (credit, debit) = sizes(part.transit);
                part.credit -= credit;
                part.debit -= debit;
            }
            let (credit, debit) = sizes(transit);
            kept.credit += next.credit + credit;
            kept.debit += next.debit + debit;
            kept.transit = transit;
        }
        same
    });
    Ok(Answer::Assets(all))
}

/// What a balance adds to the sum of those above zero, and to that of those below.
fn sizes(balance: i128) -> (u128, u128) {
    let size = balance.unsigned_abs();
    if balance < 0 { (0, size) } else { (size, 0) }
}

#[cfg(test)]
mod tests {
    use crate::{Answer, AssetView};
    use stadium_state_machine::{busy, unknown};

    use super::{Items, Merge, merge};

    #[test]
    fn an_asset_that_is_declared_on_some_shards_is_not_answered_as_if_nothing_happened() {
        for (refusal, code) in
            [(busy("SHARD-001", 1, "full"), "SHARD-001"), (unknown("SHARD-015", 1, "a panic"), "SHARD-015")]
        {
            for answers in
                [[Ok(Answer::Done), Err(refusal.clone())], [Err(refusal.clone()), Ok(Answer::Done)]]
            {
                let refusal = merge(answers.into(), &Merge::Done).expect_err("a shard did not do it");
                assert!(refusal.is_unknown() && refusal.code() == code, "{refusal}");
            }
        }
    }

    #[test]
    fn accounts_that_every_shard_refuses_for_another_reason_are_answered_as_accounts() {
        let refusals = [busy("SHARD-003", 1, "it recovers"), unknown("SHARD-015", 1, "a panic")];
        let answers = || refusals.clone().map(Err::<Answer, _>).into();
        let how = |items| Merge::ByPlace { items, places: vec![vec![1], vec![0]], whole: 2 };
        let [first, second] = refusals.clone();
        let opened = merge(answers(), &how(Items::Accounts));
        assert_eq!(opened, Ok(Answer::Opened(vec![Err(second.clone()), Err(first.clone())])));
        let booked = merge(answers(), &how(Items::Transfers));
        assert_eq!(booked, Ok(Answer::Booked(vec![Err(second), Err(first.clone())])));
        // Conditions of the whole command are reported for it.
        let alike = vec![Err(first.clone()), Err(first.clone())];
        assert_eq!(merge(alike, &how(Items::Accounts)), Err(first));
    }

    /// A shard where wallets have so much, and `@transit` that; the rest is a system wallet's.
    fn shard(wallets: u128, transit: i128) -> Answer {
        let above = wallets + u128::try_from(transit).unwrap_or(0);
        let all = AssetView {
            asset: "EUR".parse().expect("a code"),
            scale: 2,
            accounts: 3,
            credit: above,
            debit: above,
            transit,
            held: 0,
        };
        Answer::Assets(vec![all])
    }

    fn totals(shards: &[Answer]) -> (u128, u128, i128) {
        let answers = shards.iter().cloned().map(Ok).collect();
        let Ok(Answer::Assets(all)) = merge(answers, &Merge::Assets) else { panic!("assets") };
        assert_eq!((all.len(), all[0].accounts), (1, 3 * shards.len() as u64));
        (all[0].credit, all[0].debit, all[0].transit)
    }

    #[test]
    fn amounts_between_shards_are_one_balance() {
        // 12.50 were given to a wallet, which gave 2.50 to one elsewhere.
        assert_eq!(totals(&[shard(1_000, 250), shard(250, -250)]), (1_250, 1_250, 0));
        assert_eq!(totals(&[shard(250, -250), shard(1_000, 250)]), (1_250, 1_250, 0));
        // It left the first and has not reached the second.
        assert_eq!(totals(&[shard(1_000, 250), shard(0, 0)]), (1_250, 1_250, 250));
        assert_eq!(totals(&[shard(10, 5), shard(10, -8), shard(10, 3)]), (30, 30, 0));
    }
}
