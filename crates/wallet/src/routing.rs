//! Routes commands to the shards that decide them, and merges the answers of several shards.
//!
//! A transfer is decided where its debited wallet lives; where that is a system wallet, where the credited one does; where
//! both are, on the shard of its id. What names only an id is asked of all shards: the one that knows it decides.

use stadium_state_machine::{self as state_machine, Route, Routed};

use crate::merging::{Items, Merge, merge, page_begin};
use crate::{Answer, Command, Kind, Ledger, NewAccount, NewTransfer, PrincipalId, Range, Refusal, Time};

impl Routed for Ledger {
    type Merge = Merging;

    fn route(command: Command, shards: u16) -> Route<Ledger> {
        command.route(shards)
    }
}

/// How the answers of several shards become one.
pub struct Merging(Merge);

impl state_machine::Merge<Ledger> for Merging {
    fn merge(&self, answers: Vec<Result<Answer, Refusal>>) -> Result<Answer, Refusal> {
        merge(answers, &self.0)
    }
}

fn all(shards: u16, command: &Command, merge: Merge) -> Route<Ledger> {
    Route::Many((0..shards).map(|shard| (shard, command.clone())).collect(), Merging(merge))
}

impl Command {
    /// The shard that carries out the whole command, where it is one.
    fn sole_shard(&self, shards: u16) -> Option<u16> {
        if shards <= 1 {
            return Some(0);
        }
        match self {
            Command::Transfer { transfers, linked: true, .. } => linked_shard(transfers, shards),
            Command::Transfer { transfers, linked: false, .. } => {
                let shard = decides(transfers.first()?, shards)?;
                let here = |one: &NewTransfer| decides(one, shards) == Some(shard) && !crosses(one, shards);
                (transfers.len() == 1 || transfers.iter().all(here)).then_some(shard)
            }
            Command::Change { wallet, .. }
            | Command::Wallet { wallet }
            | Command::Holds { wallet, .. }
            | Command::BalanceAt { wallet, .. }
            | Command::History { wallet, .. } => wallet.home(shards),
            Command::Seals { shard, .. } => *shard,
            Command::Declare { .. }
            | Command::Open { .. }
            | Command::Accounts { .. }
            | Command::Find { .. }
            | Command::Assets => None,
        }
    }

    /// Takes it apart, for so many shards.
    fn route(self, shards: u16) -> Route<Ledger> {
        if let Some(shard) = self.sole_shard(shards) {
            return Route::One(shard, self);
        }
        match self {
            Command::Declare { .. } => all(shards, &self, Merge::Done),
            Command::Open { accounts } => open(accounts, shards),
            Command::Transfer { linked: true, .. } => all(shards, &self, Merge::WhoKnows),
            Command::Transfer { transfers, linked: false, principal } => {
                unlinked(transfers, principal, shards)
            }
            // All commands from here on that name a wallet name a system wallet.
            Command::Change { .. } => all(shards, &self, Merge::Done),
            Command::Wallet { .. } => all(shards, &self, Merge::Accounts { accounts_max: usize::MAX }),
            Command::Holds { holds_max, .. } => {
                all(shards, &self, Merge::Holds { holds_max: holds_max as usize })
            }
            Command::BalanceAt { .. } => all(shards, &self, Merge::Balance),
            Command::Accounts { accounts_max, .. } => {
                all(shards, &self, Merge::Accounts { accounts_max: accounts_max as usize })
            }
            Command::Find { .. } => all(shards, &self, Merge::WhoKnows),
            Command::Assets => all(shards, &self, Merge::Assets),
            Command::Seals { .. } => all(shards, &self, Merge::Seals),
            Command::History { wallet, asset, range } => {
                let (range_there, skip) = page_of_parts(&range);
                let command = Command::History { wallet, asset, range: range_there };
                all(shards, &command, Merge::History { skip, range: Box::new(range) })
            }
        }
    }
}

fn open(accounts: Vec<NewAccount>, shards: u16) -> Route<Ledger> {
    let whole = accounts.len();
    let mut split = Split::default();
    for (place, account) in accounts.into_iter().enumerate() {
        // A system wallet opens by itself; any shard confirms this.
        split.push(account.wallet.home(shards).unwrap_or(0), place, account);
    }
    if split.parts.is_empty() {
        return Route::One(0, Command::Open { accounts: Vec::new() });
    }
    let (asked, places) = split.finish(|accounts| Command::Open { accounts });
    Route::Many(asked, Merging(Merge::ByPlace { items: Items::Accounts, places, whole }))
}

fn unlinked(transfers: Vec<NewTransfer>, principal: Option<PrincipalId>, shards: u16) -> Route<Ledger> {
    let whole = transfers.len();
    let mut split = Split::default();
    for (place, transfer) in transfers.into_iter().enumerate() {
        match decides(&transfer, shards) {
            Some(shard) if crosses(&transfer, shards) => {
                // Its answer takes longer than that of the others, and must not hold them up.
                split.close();
                split.push(shard, place, transfer);
                split.close();
            }
            Some(shard) => split.push(shard, place, transfer),
            None => {
                split.close();
                (0..shards).for_each(|shard| split.push(shard, place, transfer.clone()));
                split.close();
            }
        }
    }
    if split.parts.is_empty() {
        return Route::One(0, Command::Transfer { transfers: Vec::new(), linked: false, principal });
    }
    let command = |transfers| Command::Transfer { transfers, linked: false, principal: principal.clone() };
    let (asked, places) = split.finish(command);
    Route::Many(asked, Merging(Merge::ByPlace { items: Items::Transfers, places, whole }))
}

/// Items by shard, each shard's in their order; closed items get no more.
struct Split<T> {
    parts: Vec<(u16, Vec<T>, Vec<usize>)>,
    open_from: usize,
}

impl<T> Default for Split<T> {
    fn default() -> Self {
        Self { parts: Vec::new(), open_from: 0 }
    }
}

impl<T> Split<T> {
    fn push(&mut self, shard: u16, place: usize, item: T) {
        let open = &self.parts[self.open_from..];
        let at = match open.iter().position(|part| part.0 == shard) {
            Some(at) => self.open_from + at,
            None => {
                self.parts.push((shard, Vec::new(), Vec::new()));
                self.parts.len() - 1
            }
        };
        self.parts[at].1.push(item);
        self.parts[at].2.push(place);
    }

    fn close(&mut self) {
        self.open_from = self.parts.len();
    }

    fn finish(self, command: impl Fn(Vec<T>) -> Command) -> (Vec<(u16, Command)>, Vec<Vec<usize>>) {
        self.parts.into_iter().map(|(shard, items, places)| ((shard, command(items)), places)).unzip()
    }
}

/// The shard that decides a transfer; none where it names only an id.
fn decides(transfer: &NewTransfer, shards: u16) -> Option<u16> {
    // The same function determines which shard must know an id that is decided elsewhere, in a list
    // with others.
    transfer.home(shards)
}

/// The shard that decides linked transfers: that of the first one that names wallets. None where
/// they name only ids: the shard that knows them.
pub fn linked_shard(transfers: &[NewTransfer], shards: u16) -> Option<u16> {
    if transfers.is_empty() || shards <= 1 {
        return Some(0);
    }
    // A party with a wallet on one shard is more specific than one between system wallets.
    let lives = |transfer: &&NewTransfer| match &transfer.kind {
        Kind::Post { debit, credit, .. } | Kind::Hold { debit, credit, .. } => {
            !debit.is_system() || !credit.is_system()
        }
        _ => false,
    };
    match transfers.iter().find(lives) {
        Some(transfer) => decides(transfer, shards),
        // Where there are ids, the shard that knows them decides.
        None if transfers.iter().any(|transfer| decides(transfer, shards).is_none()) => None,
        None => decides(&transfers[0], shards),
    }
}

/// Whether two ordinary wallets of different shards take part.
fn crosses(transfer: &NewTransfer, shards: u16) -> bool {
    match &transfer.kind {
        Kind::Post { debit, credit, .. } => match (debit.home(shards), credit.home(shards)) {
            (Some(debit), Some(credit)) => debit != credit,
            _ => false,
        },
        _ => false,
    }
}

/// The request to each shard for a page of an account with a part on each of them, and how many
/// entries of it were on the page before.
fn page_of_parts(range: &Range) -> (Range, usize) {
    let (mut to, mut skip) = (range.to, 0);
    if let Some((at, shown)) = range.before.map(page_begin) {
        let end = Time(at + 1);
        if to.is_none_or(|to| end <= to) {
            (to, skip) = (Some(end), shown);
        }
    }
    let entries_max = range.entries_max.saturating_add(skip as u32);
    // The other conditions of the range are checked when the parts are together.
    (Range { from: range.from, to, entries_max, ..Range::default() }, skip)
}

#[cfg(test)]
mod tests {
    use stadium_state_machine::Route;

    use super::linked_shard;
    use crate::{AssetCode, Command, Kind, Ledger, NewTransfer, TransferId, WalletName};

    const SHARDS: u16 = 4;

    fn wallet(name: &str) -> WalletName {
        WalletName::new(name).expect("a test's wallet")
    }

    fn transfer(id: u128, kind: Kind) -> NewTransfer {
        NewTransfer {
            id: TransferId(id),
            kind,
            reference: String::new(),
            metadata: bytes::Bytes::new(),
            effective: None,
        }
    }

    fn post(id: u128, debit: &str, credit: &str) -> NewTransfer {
        let asset = AssetCode::new("VOTE").expect("a test's asset");
        transfer(id, Kind::Post { debit: wallet(debit), credit: wallet(credit), asset, amount: 1 })
    }

    /// A wallet that lives on that shard.
    fn on(shard: u16) -> String {
        let name = |number: u32| format!("w{number}");
        let home = |number: &u32| wallet(&name(*number)).home(SHARDS) == Some(shard);
        name((0..).find(home).expect("names spread over shards"))
    }

    fn asked(route: Route<Ledger>) -> Vec<(u16, Vec<u128>)> {
        let ids = |command: &Command| match command {
            Command::Transfer { transfers, .. } => transfers.iter().map(|one| one.id.0).collect(),
            other => panic!("{other:?}"),
        };
        route.into_parts().0.iter().map(|(shard, command)| (*shard, ids(command))).collect()
    }

    #[test]
    fn the_debited_wallets_shard_decides_and_else_the_credited_ones() {
        let cases =
            [(post(1, &on(2), &on(3)), 2), (post(1, &on(2), "@shop"), 2), (post(1, "@shop", &on(3)), 3)];
        for (transfer, shard) in cases {
            for linked in [false, true] {
                let route = Command::Transfer { transfers: vec![transfer.clone()], linked, principal: None }
                    .route(SHARDS);
                assert_eq!(asked(route), [(shard, vec![1])]);
            }
            assert_eq!(linked_shard(&[transfer], SHARDS), Some(shard));
        }
    }

    #[test]
    fn transfers_between_system_wallets_spread_over_shards_by_their_ids() {
        let mut seen = [false; SHARDS as usize];
        for id in 0..64 {
            let command =
                Command::Transfer { transfers: vec![post(id, "@a", "@b")], linked: false, principal: None };
            let route = command.route(SHARDS);
            seen[usize::from(asked(route)[0].0)] = true;
        }
        assert_eq!(seen, [true; SHARDS as usize]);
    }

    #[test]
    fn an_unlinked_list_is_asked_shard_by_shard_and_keeps_each_ones_order() {
        let (a, b) = (on(0), on(1));
        let transfers = vec![
            post(1, &a, "@shop"),
            post(2, &b, "@shop"),
            post(3, &a, "@shop"),
            post(4, &a, &b),
            post(5, &a, "@shop"),
        ];
        let route = Command::Transfer { transfers, linked: false, principal: None }.route(SHARDS);
        assert_eq!(
            asked(route),
            [(0, vec![1, 3]), (1, vec![2]), (0, vec![4]), (0, vec![5])],
            "what crosses shards goes alone, behind what came before it"
        );
    }

    #[test]
    fn a_command_with_only_an_id_is_asked_of_all() {
        let void = transfer(9, Kind::Void { hold: TransferId(1) });
        let route =
            Command::Transfer { transfers: vec![void.clone()], linked: true, principal: None }.route(SHARDS);
        assert_eq!(asked(route).len(), usize::from(SHARDS));
        assert_eq!(linked_shard(std::slice::from_ref(&void), SHARDS), None);
        assert_eq!(linked_shard(&[void, post(2, &on(3), "@shop")], SHARDS), Some(3));
    }
}
