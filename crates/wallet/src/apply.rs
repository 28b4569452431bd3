//! What events do to the state.
//!
//! The same functions serve the deciding side, which has just written the event, and `apply`, which
//! has read it back. They decide nothing: all effects follow from the event and the state. Where an
//! event cannot follow the state, it is corrupt.

use stadium_state_machine::Record;
use stadium_state_machine::encoding::corrupt;

use crate::account::{JUMPS, Rules};
use crate::chain::{HASH_BYTES, Tree, leaf};
use crate::events::{Event, Events, Line, Promised, Transferred};
use crate::record::Writer;
use crate::remembered::{Hold, Remembered, State};
use crate::transaction::ItemKind;
use crate::{Corrupt, Ledger, Overdraft, PrincipalId, Seal, Time, TransferId};

/// Which record an event stands in, and whose it is.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) at: u64,
    pub(crate) time: Time,
    pub(crate) principal: Option<&'a PrincipalId>,
}

impl Writer<'_> {
    pub(crate) fn context(&self) -> Context<'_> {
        Context { at: self.at, time: self.time, principal: self.principal() }
    }
}

impl Ledger {
    /// Applies the section of a record that was read back, the chain value included: `at` is the record's position, `time` its time. Records
    /// come in the order in which they were written.
    ///
    /// # Errors
    ///
    /// A chain value that differs: nothing was applied then. Events that cannot follow what was applied so far: the state is then of no use.
    pub fn apply(&mut self, at: u64, time: Time, section: &[u8]) -> Result<(), Corrupt> {
        let Some((events, value)) = section.split_last_chunk::<HASH_BYTES>() else {
            return Err(corrupt(format!("record {at} has a wallets' section of {} bytes", section.len())));
        };
        let mut tree = Tree::default();
        let mut seals = 0;
        for event in Events::new(events) {
            let event = event?;
            seals += u64::from(event.first() == Some(&crate::events::SEAL));
            tree.push(leaf(event));
        }
        if tree.leaves() == 0 {
            return Err(corrupt(format!("record {at} has a wallets' section without events")));
        }
        if self.chain.next(&tree.root(), time) != *value {
            return Err(corrupt(format!("the chain value of record {at} is not the one computed")));
        }
        self.now = self.now.max(time);
        let mut principal = None;
        for event in Events::new(events) {
            let event = Event::decode(event?, time)?;
            if let Event::Principal(id) = event {
                principal = Some(principal_id(id)?);
                continue;
            }
            let context = Context { at, time, principal: principal.as_ref() };
            self.apply_event(context, &event)
                .map_err(|error| corrupt(format!("record {at}: {}", error.reason)))?;
        }
        self.chain.advance(*value, time, seals == tree.leaves());
        Ok(())
    }

    /// Writes an event, and lets it happen.
    pub(crate) fn emit(&mut self, writer: &mut Writer<'_>, event: &Event<'_>) {
        writer.write(event);
        self.apply_event(writer.context(), event).expect("it was decided just now");
    }

    /// Begins a section of the wallets in a record.
    pub(crate) fn writer<'r>(&mut self, record: &'r mut Record, at: u64, now: Time) -> Writer<'r> {
        Writer::new(record, std::mem::take(&mut self.scratch), at, now)
    }

    /// Closes the section, where it holds something.
    pub(crate) fn close(&mut self, mut writer: Writer<'_>, seals: u64) {
        if writer.events() > 0 {
            let value = self.chain.next(&writer.digest(), writer.time);
            let is_seal = writer.events() == seals;
            writer.close(&value);
            self.chain.advance(value, writer.time, is_seal);
        }
        self.scratch = writer.into_scratch();
    }

    #[inline]
    pub(crate) fn apply_event(&mut self, context: Context<'_>, event: &Event<'_>) -> Result<(), Corrupt> {
        match event {
            Event::Transfer(what) => self.apply_transfer(context, what),
            Event::Asset { asset, scale, code } => {
                if usize::from(*asset) != self.assets.len() {
                    return Err(corrupt(format!("the asset {asset} is not the next one")));
                }
                let code = code.parse().map_err(|error| corrupt(format!("{error}")))?;
                if self.find_asset(&code).is_some() {
                    return Err(corrupt(format!("the asset {code} is declared a second time")));
                }
                self.add_asset(code, *scale);
                Ok(())
            }
            Event::Opened { account, asset, rules, wallet } => {
                let name = crate::transaction::wallet(wallet)?;
                if *account as usize != self.accounts.len() {
                    return Err(corrupt(format!("the account {account} is not the next one")));
                }
                if usize::from(*asset) >= self.assets.len() || self.find_account(&name, *asset).is_some() {
                    return Err(corrupt(format!("{name} is opened twice, or of no asset")));
                }
                if name.is_system() && *rules != Rules::SYSTEM {
                    return Err(corrupt(format!("{name} is opened with rules that no system wallet has")));
                }
                self.add_account(name, *asset, rules, context.time);
                Ok(())
            }
            Event::Changed { account, rules } => {
                self.must_have(*account)?;
                let changed = self.accounts.at(*account);
                let available = i128::from(changed.posted) - i128::from(changed.held);
                let is_overdrawn = changed.may_overdraw() && available < 0;
                if changed.name.is_system() || (rules.overdraft == Overdraft::Never && is_overdrawn) {
                    let name = &changed.name;
                    return Err(corrupt(format!("{name} cannot have the rules that it is given")));
                }
                self.set_rules(*account, rules);
                Ok(())
            }
            Event::Held { what, expires } => self.apply_held(context, what, *expires),
            Event::Voided(what) => self.apply_voided(context, what),
            Event::Expired { hold } => {
                self.end_hold(*hold, State::Expired, None)?;
                Ok(())
            }
            Event::Seal { number, records, root } => {
                if self.chain.tree.leaves() == 0 || self.chain.seal() != (*number, *records, *root) {
                    return Err(corrupt(format!("the root of seal {number} is not the one computed")));
                }
                let (number, records, root) = (*number, *records, *root);
                self.chain.sealed(Seal { number, at: context.time, position: context.at, records, root });
                Ok(())
            }
            _ => self.apply_transaction(context, event),
        }
    }

    fn must_have(&self, account: u32) -> Result<(), Corrupt> {
        if self.accounts.contains(account) {
            return Ok(());
        }
        Err(corrupt(format!("there is no account {account}")))
    }

    /// The next line of an account's history, if its balance changes by so much.
    #[inline]
    pub(crate) fn line(&self, account: u32, at: u64, change: i128) -> Line {
        let account = self.accounts.at(account);
        let number = account.entries + 1;
        let balance = i128::from(account.posted) + change;
        let balance = i64::try_from(balance).expect("whether it fits was checked when it was admitted");
        let back = if account.entries == 0 { 0 } else { at - account.last };
        let mut line = Line { number, balance, back, jumps: [0; 4] };
        for (level, &step) in JUMPS.iter().enumerate().take(Line::levels(number)) {
            if number > step {
                let extra = self.extra(account).expect("it has had a line of that level");
                line.jumps[level] = at - extra.jumps[level];
            }
        }
        line
    }

    /// Lets a line happen.
    #[inline]
    fn post(&mut self, at: u64, number: u32, line: &Line, change: i128) -> Result<(), Corrupt> {
        if !self.accounts.contains(number) {
            return Err(corrupt(format!("there is no account {number}")));
        }
        let account = self.accounts.at_mut(number);
        let old = account.posted;
        if account.entries + 1 != line.number || i128::from(old) + change != i128::from(line.balance) {
            return Err(corrupt(format!(
                "the account {number} has {old} after {} entries: it cannot have {} after {}",
                account.entries, line.balance, line.number
            )));
        }
        account.posted = line.balance;
        account.entries = line.number;
        account.last = at;
        self.assets[usize::from(account.asset)].moved(old, line.balance);
        for level in 0..Line::levels(line.number) {
            self.extra_mut(number).jumps[level] = at;
        }
        Ok(())
    }

    #[inline]
    fn apply_transfer(&mut self, context: Context<'_>, what: &Transferred<'_>) -> Result<(), Corrupt> {
        let amount = i128::from(what.amount);
        let ((debit, debit_line), (credit, credit_line)) = (what.debit, what.credit);
        if debit == credit {
            return Err(corrupt(format!("the account {debit} on both sides of a transfer")));
        }
        self.post(context.at, debit, &debit_line, -amount)?;
        self.post(context.at, credit, &credit_line, amount)?;
        if self.accounts.at(debit).asset != self.accounts.at(credit).asset {
            return Err(corrupt(format!("the accounts {debit} and {credit} are of different assets")));
        }
        let Some(content) = what.content else { return self.must_cover(debit) };
        self.booked += 1;
        let state = if what.kind == ItemKind::Reverse { State::Reversal } else { State::Posted };
        let entry = Remembered::new(what.id, content, what.amount, context.at, context.time, state);
        let place = self.remember(entry.parties(debit, credit));
        match (what.kind, what.notes.of) {
            (ItemKind::Capture, Some(hold)) => {
                self.end_hold(hold, State::Captured, Some((place, what.id)))?;
            }
            (ItemKind::Reverse, Some(of)) => self.mark_reversed(of),
            (ItemKind::Post, None) => {}
            _ => return Err(corrupt(format!("the transfer {} does not name its subject", what.id))),
        }
        self.must_cover(debit)
    }

    /// Nothing was decided that overdraws an account which may not be: where something does, the
    /// journal is not what was decided.
    #[inline]
    pub(crate) fn must_cover(&self, account: u32) -> Result<(), Corrupt> {
        let account = self.accounts.at(account);
        let available = i128::from(account.posted) - i128::from(account.held);
        if available >= 0 || account.may_overdraw() {
            return Ok(());
        }
        Err(corrupt(format!("{} would be overdrawn: {available} would be available", account.name)))
    }

    /// What a transfer did was taken back.
    pub(crate) fn mark_reversed(&mut self, id: TransferId) {
        // It may be forgotten, where fewer are remembered now than when this was decided.
        if let Some(place) = self.find_decided(id) {
            self.remembered.at_mut(place).set_state(State::Reversed);
        }
    }

    /// A hold ends: what it held is available again. `capture` is the place and id of what captured it.
    pub(crate) fn end_hold(
        &mut self,
        id: TransferId,
        state: State,
        capture: Option<(u32, TransferId)>,
    ) -> Result<(), Corrupt> {
        let hold = self.find_hold(id).ok_or_else(|| corrupt(format!("{id} is no open hold")))?;
        let hold = self.remove_hold(hold);
        if !self.hold_less(hold.debit, hold.amount) {
            return Err(corrupt(format!("the account {} holds less than {}", hold.debit, hold.amount)));
        }
        if let Some(of) = self.find_decided(id) {
            let entry = self.remembered.at_mut(of);
            entry.set_state(state);
            if let Some((place, id)) = capture {
                entry.captured_by(place, id);
            }
        }
        Ok(())
    }

    fn apply_held(
        &mut self,
        context: Context<'_>,
        what: &Promised<'_>,
        expires: Time,
    ) -> Result<(), Corrupt> {
        self.must_have(what.debit)?;
        let credit = self.party(what)?;
        if !self.hold_more(what.debit, what.amount) {
            return Err(corrupt(format!("the account {} holds too much", what.debit)));
        }
        self.must_cover(what.debit)?;
        self.make_hold(context, what, credit, expires, context.at)
    }

    /// Keeps a hold and its id, whose amount is held already.
    pub(crate) fn make_hold(
        &mut self,
        context: Context<'_>,
        what: &Promised<'_>,
        credit: u32,
        expires: Time,
        record: u64,
    ) -> Result<(), Corrupt> {
        if self.find_hold(what.id).is_some() {
            return Err(corrupt(format!("the hold {} is made a second time", what.id)));
        }
        self.booked += 1;
        let entry = Remembered::new(what.id, what.content, what.amount, record, context.time, State::Held);
        let same = self.same_party(credit);
        self.remember(entry.parties(what.debit, same));
        self.add_hold(Hold {
            id: what.id,
            content: what.content,
            amount: what.amount,
            debit: what.debit,
            credit,
            at: context.time,
            expires,
            number: self.holds_made,
            record,
            locked: false,
        });
        Ok(())
    }

    fn apply_voided(&mut self, context: Context<'_>, what: &Promised<'_>) -> Result<(), Corrupt> {
        let of = what.notes.of.ok_or_else(|| corrupt("a void that names no hold"))?;
        self.must_have(what.debit)?;
        self.booked += 1;
        let credit = self.party(what)?;
        let entry =
            Remembered::new(what.id, what.content, what.amount, context.at, context.time, State::Voided);
        self.remember(entry.parties(what.debit, credit));
        self.end_hold(of, State::Voided, None)
    }

    /// The receiver of a hold.
    fn party(&mut self, what: &Promised<'_>) -> Result<u32, Corrupt> {
        match (what.credit, what.notes.other) {
            (Some(account), None) => {
                self.must_have(account)?;
                Ok(account)
            }
            (None, Some(name)) => {
                let name = crate::transaction::wallet(name)?;
                let shard = name.home(self.place.shards).unwrap_or(self.place.shard);
                Ok(self.other(shard, name))
            }
            _ => Err(corrupt(format!("the hold {} is for nobody", what.id))),
        }
    }
}

/// A principal that was read back.
pub(crate) fn principal_id(id: &str) -> Result<PrincipalId, Corrupt> {
    PrincipalId::new(id).map_err(|error| corrupt(error.to_string()))
}
