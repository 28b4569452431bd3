//! Requests become commands, but for those that move amounts, which are in [`super::transfer`].
//!
//! Names and numbers are checked here for their form, everything else by the shard. Zero and the empty text stand for "not
//! given", as the contract has it; where zero could be meant, fields are optional.

use stadium_rpc::Refusal;
use stadium_wallet::{
    AssetCode, Bounds, Change, Command, Direction, NewAccount, Overdraft, Range, Time, WalletName, refusal,
};

use super::transfer::transfer_id;
use crate::proto;
use crate::request::{named, wrong};
use crate::shards::Wanted;

/// Items of a page of no given size.
const PAGE: u32 = 100;

pub(crate) fn declare(request: proto::DeclareAssetRequest) -> Result<Command, Refusal> {
    // A number that does not fit is above the bound in any case.
    let scale = u8::try_from(request.scale).unwrap_or(u8::MAX);
    Ok(Command::Declare { asset: asset(&request.asset)?, scale })
}

pub(crate) fn open(request: proto::OpenRequest) -> Result<Command, Refusal> {
    let account = |account: proto::NewAccount| {
        Ok(NewAccount {
            wallet: wallet(&account.wallet)?,
            asset: asset(&account.asset)?,
            overdraft: overdraft(account.overdraft),
            ceiling: account.ceiling,
        })
    };
    Ok(Command::Open { accounts: request.accounts.into_iter().map(account).collect::<Result<_, Refusal>>()? })
}

pub(crate) fn change(request: proto::ChangeRequest) -> Result<Command, Refusal> {
    use proto::change_request::Bound;
    let ceiling = match request.bound {
        None | Some(Bound::NoCeiling(false)) => None,
        Some(Bound::NoCeiling(true)) => Some(None),
        Some(Bound::Ceiling(most)) => Some(Some(most)),
    };
    Ok(Command::Change {
        wallet: wallet(&request.wallet)?,
        asset: asset(&request.asset)?,
        change: Change { overdraft: request.overdraft.map(overdraft), ceiling, closed: request.closed },
    })
}

/// A command for each wallet.
pub(crate) fn wallets(request: &proto::WalletsNamed) -> Result<Vec<Command>, Refusal> {
    let named = request.wallets.len();
    if named == 0 || named > Bounds::ITEMS_MAX {
        let reason = format!("{named} wallets are not 1 to {}", Bounds::ITEMS_MAX);
        return Err(Refusal::rejected(refusal::COUNT, reason));
    }
    request.wallets.iter().map(|name| Ok(Command::Wallet { wallet: wallet(name)? })).collect()
}

pub(crate) fn accounts(request: proto::AccountsRequest) -> Result<Command, Refusal> {
    let after = match (request.after_wallet.as_str(), request.after_asset.as_str()) {
        ("", "") => None,
        (after, of) => Some((wallet(after)?, asset(of)?)),
    };
    Ok(Command::Accounts {
        prefix: request.prefix,
        asset: (!request.asset.is_empty()).then(|| asset(&request.asset)).transpose()?,
        after,
        accounts_max: page(request.accounts_max),
    })
}

pub(crate) fn holds(request: proto::HoldsRequest) -> Result<Command, Refusal> {
    Ok(Command::Holds { wallet: wallet(&request.wallet)?, holds_max: page(request.holds_max) })
}

pub(crate) fn find(request: proto::TransferNamed) -> Result<Command, Refusal> {
    Ok(Command::Find { transfer: transfer_id("transfer", &request.transfer)? })
}

pub(crate) fn history(request: proto::EntriesRequest) -> Result<Command, Refusal> {
    let (wallet, asset, range) = entries(request)?;
    Ok(Command::History { wallet, asset, range })
}

/// Which entries of which account.
pub(crate) fn entries(request: proto::EntriesRequest) -> Result<(WalletName, AssetCode, Range), Refusal> {
    let direction = match proto::Direction::try_from(request.direction) {
        Ok(proto::Direction::Unset) => None,
        Ok(proto::Direction::Credit) => Some(Direction::Credit),
        Ok(proto::Direction::Debit) => Some(Direction::Debit),
        Err(_) => return Err(wrong(format!("{} is no direction", request.direction))),
    };
    let range = Range {
        from: request.from_ms.map(Time),
        to: request.to_ms.map(Time),
        direction,
        other: (!request.other.is_empty()).then(|| wallet(&request.other)).transpose()?,
        reference: (!request.reference.is_empty()).then_some(request.reference),
        before: request.before,
        entries_max: page(request.entries_max),
    };
    Ok((wallet(&request.wallet)?, asset(&request.asset)?, range))
}

pub(crate) fn balance_at(request: proto::BalanceAtRequest) -> Result<Command, Refusal> {
    Ok(Command::BalanceAt {
        wallet: wallet(&request.wallet)?,
        asset: asset(&request.asset)?,
        at: Time(request.at_ms),
    })
}

pub(crate) fn roots(request: &proto::RootsRequest) -> Result<Wanted, Refusal> {
    let number = |shard: u32| u16::try_from(shard).map_err(|_| wrong(format!("there is no shard {shard}")));
    let seals_max = page(request.roots_max);
    if seals_max as usize > Bounds::ITEMS_MAX {
        let reason = format!("{seals_max} roots are not 1 to {}", Bounds::ITEMS_MAX);
        return Err(Refusal::rejected(refusal::COUNT, reason));
    }
    Ok(Wanted {
        shard: request.shard.map(number).transpose()?,
        after: request.after,
        seals_max: seals_max as usize,
    })
}

pub(crate) fn wallet(name: &str) -> Result<WalletName, Refusal> {
    named(WalletName::new(name))
}

fn asset(code: &str) -> Result<AssetCode, Refusal> {
    named(AssetCode::new(code))
}

fn overdraft(allowed: bool) -> Overdraft {
    if allowed { Overdraft::Allowed } else { Overdraft::Never }
}

fn page(items: u32) -> u32 {
    if items == 0 { PAGE } else { items }
}
