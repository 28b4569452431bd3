//! Answers become messages.
//!
//! Each function takes the one kind of answer that its method expects, and gives `None` for another kind, which
//! would be a mistake of the shards. A value that is none in an answer is not set in its message.

use stadium_queue::Placed;
use stadium_shard::Done;
use stadium_wallet::{
    AccountView, Answer, AssetView, Balance, BookState, Booked, Direction, Entry, HoldView, Outcome,
    Overdraft, Refusal, Seal, TransferId, TransferView,
};

use crate::{proto, request};

pub(crate) fn done(answer: Answer) -> Option<()> {
    matches!(answer, Answer::Done).then_some(())
}

pub(crate) fn opened(answer: Answer) -> Option<proto::Opened> {
    let Answer::Opened(opened) = answer else { return None };
    let outcome = |outcome: Result<bool, Refusal>| match outcome {
        Ok(opened) => proto::OpenOutcome { already: !opened, refused: None },
        Err(refusal) => proto::OpenOutcome { already: false, refused: Some(not_done(refusal)) },
    };
    Some(proto::Opened { outcomes: opened.into_iter().map(outcome).collect() })
}

pub(crate) fn outcomes(answer: Answer) -> Option<proto::TransferOutcomes> {
    let Answer::Booked(outcomes) = answer else { return None };
    Some(proto::TransferOutcomes { outcomes: outcomes.into_iter().map(outcome).collect() })
}

fn outcome(outcome: Outcome) -> proto::TransferOutcome {
    match outcome {
        Ok(booked) => of_booked(booked),
        Err(refusal) => proto::TransferOutcome {
            booked_at_ms: 0,
            duplicate: false,
            refused: Some(Box::new(not_done(refusal))),
        },
    }
}

fn of_booked(booked: Booked) -> proto::TransferOutcome {
    proto::TransferOutcome { booked_at_ms: booked.at.0, duplicate: booked.duplicate, refused: None }
}

pub(crate) fn unit(outcome: Result<Done, Refusal>) -> proto::UnitOutcome {
    match outcome {
        Ok(Done { booked, placed }) => proto::UnitOutcome {
            transfers: booked.into_iter().map(of_booked).collect(),
            placed: (!placed.is_empty()).then(|| of_placed(&placed)),
            refused: None,
        },
        Err(refusal) => {
            proto::UnitOutcome { transfers: Vec::new(), placed: None, refused: Some(not_done(refusal)) }
        }
    }
}

fn of_placed(placed: &[Placed]) -> proto::Placed {
    let known = placed.iter().zip(0..).filter(|(placed, _)| placed.duplicate).map(|(_, index)| index);
    proto::Placed { duplicates: known.collect(), jobs: placed.iter().map(|placed| placed.job.0).collect() }
}

fn not_done(refusal: Refusal) -> proto::NotDone {
    let (code, reason, retry_after_ms, may_have_happened) = request::of_an_item(refusal);
    proto::NotDone { code, reason, retry_after_ms, may_have_happened }
}

pub(crate) fn accounts(answer: Answer) -> Option<proto::AccountList> {
    let Answer::Accounts(accounts) = answer else { return None };
    Some(proto::AccountList { accounts: accounts.into_iter().map(account).collect() })
}

fn account(account: AccountView) -> proto::AccountView {
    proto::AccountView {
        wallet: account.wallet.as_str().to_owned(),
        asset: account.asset.as_str().to_owned(),
        balance: Some(of_balance(account.balance)),
        overdraft: account.overdraft == Overdraft::Allowed,
        ceiling: account.ceiling,
        closed: account.closed,
        entries: account.entries,
        opened_ms: account.opened.0,
    }
}

fn of_balance(balance: Balance) -> proto::Balance {
    proto::Balance { posted: balance.posted, held: balance.held, available: balance.available() }
}

pub(crate) fn balance(answer: Answer) -> Option<proto::Balance> {
    let Answer::Balance(balance) = answer else { return None };
    Some(of_balance(balance))
}

pub(crate) fn holds(answer: Answer) -> Option<proto::HoldList> {
    let Answer::Holds(holds) = answer else { return None };
    Some(proto::HoldList { holds: holds.into_iter().map(hold).collect() })
}

fn hold(hold: HoldView) -> proto::OpenHold {
    proto::OpenHold {
        transfer: id(hold.transfer),
        debit: hold.debit.as_str().to_owned(),
        credit: hold.credit.as_str().to_owned(),
        asset: hold.asset.as_str().to_owned(),
        amount: hold.amount,
        at_ms: hold.at.0,
        expires_ms: hold.expires.0,
    }
}

pub(crate) fn transfer(answer: Answer) -> Option<proto::TransferView> {
    let Answer::Transfer(transfer) = answer else { return None };
    Some(of_transfer(*transfer))
}

fn of_transfer(transfer: TransferView) -> proto::TransferView {
    let state = match transfer.state {
        BookState::Posted => proto::BookState::Posted,
        BookState::Held => proto::BookState::Held,
        BookState::Captured => proto::BookState::Captured,
        BookState::Voided => proto::BookState::Voided,
        BookState::Expired => proto::BookState::Expired,
        BookState::Reversed => proto::BookState::Reversed,
        BookState::Pending => proto::BookState::Pending,
    };
    proto::TransferView {
        transfer: id(transfer.transfer),
        state: state.into(),
        debit: transfer.debit.as_str().to_owned(),
        credit: transfer.credit.as_str().to_owned(),
        asset: transfer.asset.as_str().to_owned(),
        amount: transfer.amount,
        at_ms: transfer.at.0,
        of: transfer.of.map(id).unwrap_or_default(),
        effective_ms: transfer.effective.map(|time| time.0),
        reference: transfer.reference,
        metadata: transfer.metadata,
        principal: transfer.principal.map(|principal| principal.to_string()),
    }
}

pub(crate) fn history(answer: Answer) -> Option<proto::EntryPage> {
    let Answer::History(page) = answer else { return None };
    Some(proto::EntryPage { entries: page.entries.into_iter().map(entry).collect(), before: page.before })
}

pub(crate) fn entry(entry: Entry) -> proto::Entry {
    let direction = match entry.direction {
        Direction::Credit => proto::Direction::Credit,
        Direction::Debit => proto::Direction::Debit,
    };
    proto::Entry {
        number: entry.number,
        transfer: Some(of_transfer(entry.transfer)),
        direction: direction.into(),
        balance: entry.balance,
    }
}

pub(crate) fn assets(answer: Answer) -> Option<proto::AssetList> {
    let Answer::Assets(assets) = answer else { return None };
    Some(proto::AssetList { assets: assets.into_iter().map(asset).collect() })
}

fn asset(asset: AssetView) -> proto::AssetView {
    proto::AssetView {
        asset: asset.asset.as_str().to_owned(),
        scale: asset.scale.into(),
        accounts: asset.accounts,
        credit: asset.credit.to_string(),
        debit: asset.debit.to_string(),
        held: asset.held.to_string(),
    }
}

pub(crate) fn roots(seals: &[(u16, Seal)]) -> proto::RootList {
    let root = |&(shard, seal): &(u16, Seal)| proto::Root {
        shard: shard.into(),
        number: seal.number,
        at_ms: seal.at.0,
        root: seal.root.to_vec(),
        records: seal.records,
        position: seal.position,
    };
    proto::RootList { roots: seals.iter().map(root).collect() }
}

fn id(id: TransferId) -> Vec<u8> {
    id.0.to_be_bytes().to_vec()
}
