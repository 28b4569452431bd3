//! The naive ledger: a list of what was booked. Every balance is counted from it anew.
//!
//! Where a transfer breaks several rules at once, the rules leave open which one is reported: the
//! naive ledger names all of them.

use std::collections::{BTreeMap, BTreeSet};

use stadium_wallet::refusal::*;
use stadium_wallet::{
    AssetCode, BookState, Bounds, Kind, Milliseconds, NewTransfer, Time, TransferId, WalletName,
};

const MAX: i128 = Bounds::AMOUNT_MAX as i128;

#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    pub overdraft: bool,
    pub ceiling: Option<u64>,
    pub closed: bool,
}

/// Something that was booked.
#[derive(Debug, Clone)]
pub struct Deed {
    pub new: NewTransfer,
    pub at: Time,
    pub debit: WalletName,
    pub credit: WalletName,
    pub asset: AssetCode,
    pub amount: u64,
    pub of: Option<TransferId>,
    /// Of a hold.
    pub expires: Time,
    pub state: BookState,
}

impl Deed {
    pub fn moves(&self) -> bool {
        !matches!(self.new.kind, Kind::Hold { .. } | Kind::Void { .. })
    }
}

#[derive(Debug, Clone, Default)]
pub struct Naive {
    pub assets: BTreeSet<AssetCode>,
    pub accounts: BTreeMap<(WalletName, AssetCode), Account>,
    pub deeds: Vec<Deed>,
    /// The latest time that was seen.
    pub latest: Time,
}

pub type Codes = BTreeSet<&'static str>;

impl Naive {
    pub fn deed(&self, id: TransferId) -> Option<&Deed> {
        self.deeds.iter().find(|deed| deed.new.id == id)
    }

    /// What moved an account, oldest first, with the balance after it.
    pub fn entries(&self, wallet: &WalletName, asset: &AssetCode) -> Vec<(&Deed, i128)> {
        let mut balance = 0;
        let mut entries = Vec::new();
        for deed in self.deeds.iter().filter(|deed| deed.moves() && deed.asset == *asset) {
            let amount = i128::from(deed.amount);
            if deed.debit == *wallet {
                balance -= amount;
            } else if deed.credit == *wallet {
                balance += amount;
            } else {
                continue;
            }
            entries.push((deed, balance));
        }
        entries
    }

    pub fn posted(&self, wallet: &WalletName, asset: &AssetCode) -> i128 {
        let of = self.deeds.iter().filter(|deed| deed.moves() && deed.asset == *asset);
        of.map(|deed| {
            let amount = i128::from(deed.amount);
            i128::from(deed.credit == *wallet) * amount - i128::from(deed.debit == *wallet) * amount
        })
        .sum()
    }

    pub fn held(&self, wallet: &WalletName, asset: &AssetCode) -> i128 {
        let open = self.deeds.iter().filter(|deed| deed.state == BookState::Held);
        let of = open.filter(|deed| deed.debit == *wallet && deed.asset == *asset);
        of.map(|deed| i128::from(deed.amount)).sum()
    }

    /// Time goes on: holds end.
    pub fn pass(&mut self, now: Time) {
        self.latest = self.latest.max(now);
        for deed in &mut self.deeds {
            if deed.state == BookState::Held && deed.expires <= self.latest {
                deed.state = BookState::Expired;
            }
        }
    }

    /// What the transfer would be, if it may be: `known` is the state in which it looks for other transfers, `self` the one whose
    /// balances count.
    fn plan(&self, new: &NewTransfer, known: &Naive, at: Time) -> Result<Deed, Codes> {
        let mut codes = Codes::new();
        if new.reference.len() > Bounds::REFERENCE_BYTES_MAX || new.reference.chars().any(char::is_control) {
            codes.insert(REFERENCE);
        }
        if new.metadata.len() > Bounds::METADATA_BYTES_MAX {
            codes.insert(METADATA);
        }
        let deed = |debit: &WalletName, credit: &WalletName, asset: &AssetCode, amount, of, state| Deed {
            new: new.clone(),
            at,
            debit: debit.clone(),
            credit: credit.clone(),
            asset: asset.clone(),
            amount,
            of,
            expires: Time(0),
            state,
        };
        let fits = |amount: u64| (1..=Bounds::AMOUNT_MAX).contains(&amount);
        let planned = match &new.kind {
            Kind::Post { debit, credit, asset, amount } => {
                codes.extend(self.sides(debit, credit, asset));
                codes.extend((!fits(*amount)).then_some(AMOUNT));
                deed(debit, credit, asset, *amount, None, BookState::Posted)
            }
            Kind::Hold { debit, credit, asset, amount, expires_after } => {
                codes.extend(self.sides(debit, credit, asset));
                codes.extend((!fits(*amount)).then_some(AMOUNT));
                let span: Milliseconds = *expires_after;
                if debit.is_system() || !(Bounds::HOLD_MIN..=Bounds::HOLD_MAX).contains(&span) {
                    codes.insert(HOLD);
                }
                let expires = self.latest.after(span);
                Deed { expires, ..deed(debit, credit, asset, *amount, None, BookState::Held) }
            }
            Kind::Capture { hold, amount } => {
                codes.extend(amount.is_some_and(|amount| !fits(amount)).then_some(AMOUNT));
                let open = self.open_hold(*hold, known, &mut codes)?;
                let captured = amount.unwrap_or(open.amount);
                codes.extend((captured > open.amount).then_some(CAPTURE));
                deed(&open.debit, &open.credit, &open.asset, captured, Some(*hold), BookState::Posted)
            }
            Kind::Void { hold } => {
                let open = self.open_hold(*hold, known, &mut codes)?;
                deed(&open.debit, &open.credit, &open.asset, open.amount, Some(*hold), BookState::Voided)
            }
            Kind::Reverse { transfer } => {
                let Some(mut of) = known.deed(*transfer) else {
                    codes.insert(TRANSFER_UNKNOWN);
                    return Err(codes);
                };
                if of.state == BookState::Captured {
                    let capture = known.deeds.iter().find(|deed| deed.of == Some(*transfer) && deed.moves());
                    of = capture.expect("a captured hold has its capture");
                }
                let now = self.deed(of.new.id).expect("deeds only grow");
                if now.state != BookState::Posted || matches!(of.new.kind, Kind::Reverse { .. }) {
                    codes.insert(NOT_REVERSIBLE);
                    return Err(codes);
                }
                deed(&of.credit, &of.debit, &of.asset, of.amount, Some(of.new.id), BookState::Posted)
            }
        };
        codes.extend(self.rules(&planned));
        if codes.is_empty() { Ok(planned) } else { Err(codes) }
    }

    fn sides(&self, debit: &WalletName, credit: &WalletName, asset: &AssetCode) -> Codes {
        let mut codes = Codes::new();
        codes.extend((debit == credit).then_some(SAME_ACCOUNT));
        if !self.assets.contains(asset) {
            codes.insert(ASSET_UNKNOWN);
            return codes;
        }
        for side in [debit, credit] {
            if !side.is_system() && !self.accounts.contains_key(&(side.clone(), asset.clone())) {
                codes.insert(ACCOUNT_UNKNOWN);
            }
        }
        codes
    }

    fn open_hold<'n>(
        &self,
        hold: TransferId,
        known: &'n Naive,
        codes: &mut Codes,
    ) -> Result<&'n Deed, Codes> {
        let Some(of) = known.deed(hold) else {
            codes.insert(TRANSFER_UNKNOWN);
            return Err(codes.clone());
        };
        let now = self.deed(hold).expect("deeds only grow");
        if now.state != BookState::Held {
            codes.insert(NOT_HELD);
            return Err(codes.clone());
        }
        Ok(of)
    }

    /// Accounts and balances that it concerns.
    fn rules(&self, deed: &Deed) -> Codes {
        let mut codes = Codes::new();
        if matches!(deed.new.kind, Kind::Void { .. }) {
            return codes;
        }
        let amount = i128::from(deed.amount);
        let account = |wallet: &WalletName| self.accounts.get(&(wallet.clone(), deed.asset.clone()));
        for side in [&deed.debit, &deed.credit] {
            codes.extend(account(side).is_some_and(|one| one.closed).then_some(CLOSED));
        }
        if !matches!(deed.new.kind, Kind::Capture { .. }) {
            let available = self.posted(&deed.debit, &deed.asset) - self.held(&deed.debit, &deed.asset);
            let may_overdraw =
                deed.debit.is_system() || account(&deed.debit).is_some_and(|one| one.overdraft);
            codes.extend((available < amount && !may_overdraw).then_some(INSUFFICIENT));
            codes.extend((available - amount < -MAX).then_some(OVERFLOW));
        }
        if deed.moves() {
            let then = self.posted(&deed.credit, &deed.asset) + amount;
            let ceiling = account(&deed.credit).and_then(|one| one.ceiling);
            codes.extend(ceiling.is_some_and(|ceiling| then > i128::from(ceiling)).then_some(CEILING));
            codes.extend((then > MAX).then_some(OVERFLOW));
        }
        codes
    }

    /// Whether the id is new; else when it was booked, or that its content differs.
    fn known(&self, new: &NewTransfer) -> Result<Option<Time>, Codes> {
        match self.deed(new.id) {
            None => Ok(None),
            Some(deed) if deed.new == *new => Ok(Some(deed.at)),
            Some(_) => Err(Codes::from([ID_CONTENT])),
        }
    }

    fn book(&mut self, deed: Deed) {
        let end = match (&deed.new.kind, deed.of) {
            (Kind::Capture { .. }, Some(of)) => Some((of, BookState::Captured)),
            (Kind::Void { .. }, Some(of)) => Some((of, BookState::Voided)),
            (Kind::Reverse { .. }, Some(of)) => Some((of, BookState::Reversed)),
            _ => None,
        };
        if let Some((of, state)) = end {
            self.deeds.iter_mut().find(|deed| deed.new.id == of).expect("it was planned").state = state;
        }
        for side in [&deed.debit, &deed.credit] {
            // A system wallet opens by itself.
            let system = Account { overdraft: true, ceiling: None, closed: false };
            self.accounts.entry((side.clone(), deed.asset.clone())).or_insert(system);
        }
        self.deeds.push(deed);
    }

    /// One transfer by itself: when it was booked, and whether it had been before.
    pub fn one(&mut self, new: &NewTransfer, at: Time) -> Result<(Time, bool), Codes> {
        if let Some(first) = self.known(new)? {
            return Ok((first, true));
        }
        let deed = self.plan(new, self, at)?;
        self.book(deed);
        Ok((at, false))
    }

    /// All or none. They name transfers that were there before the list.
    pub fn linked(&mut self, list: &[NewTransfer], at: Time) -> Result<Vec<(Time, bool)>, Codes> {
        let of_list = |codes: Codes| match list.len() {
            1 => codes,
            // A shard that is asked whether it knows an id gives the reason itself.
            _ => codes.into_iter().map(|code| if code == TRANSFER_UNKNOWN { code } else { LINKED }).collect(),
        };
        let mut firsts = Vec::new();
        let mut refused = Codes::new();
        for new in list {
            match self.known(new) {
                Ok(Some(first)) => firsts.push((first, true)),
                Ok(None) => {}
                Err(codes) => refused.extend(codes),
            }
        }
        if refused.is_empty() && firsts.len() == list.len() {
            return Ok(firsts);
        }
        let mut then = self.clone();
        for new in list {
            if self.known(new) != Ok(None) {
                continue;
            }
            match then.plan(new, self, at) {
                Ok(deed) => then.book(deed),
                Err(codes) => refused.extend(codes),
            }
        }
        if !firsts.is_empty() {
            refused.insert(ID_CONTENT);
        }
        if !refused.is_empty() {
            return Err(of_list(refused));
        }
        *self = then;
        Ok(list.iter().map(|_| (at, false)).collect())
    }
}
