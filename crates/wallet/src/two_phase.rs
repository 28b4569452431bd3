//! Two-phase commit of transfers between shards: all participants book their part, or none does.
//!
//! ```text
//! coordinator: began ── prepare ──▶ prepared (or refused)     each arrow is a message, sent until it is confirmed,
//!              voted ... decided ── decide ──▶ settled        and answered; each word is a record
//!              confirmed  ◀── done ──
//! ```
//!
//! A transaction holds its debits, and counts its credits against ceilings, until it is decided: so
//! every decision can be carried out. The coordinator may abort it before, and nobody afterwards.

use std::borrow::Cow;
use std::collections::BTreeSet;

use stadium_state_machine::encoding::corrupt;
use stadium_state_machine::{Record, busy, rejected};

use crate::account::NONE;
use crate::apply::Context;
use crate::delivery::{Delivery, Leg, LegKind, ShardMessage};
use crate::events::{Event, Failed, From, Promised, Transferred};
use crate::plan::{Intent, Overlay, Side};
use crate::record::Writer;
use crate::refusal::{CODES, LINKED, PENDING, PENDING_FULL};
use crate::remembered::{Remembered, State};
use crate::transaction::{Asked, Asks, Item, ItemKind, Notes, Party, Posted, Prepared, Transaction};
use crate::{Corrupt, Ledger, Milliseconds, NewTransfer, PrincipalId, Refusal, Time, WalletName};

/// A transaction that is not decided after so long is given up: a shard does not answer.
pub(crate) const PREPARE_TIMEOUT: Milliseconds = 30_000;

/// Bytes of an event that has no texts, and of what frames a section.
const EVENT_BYTES: usize = 256;

fn pending_full(transactions: usize) -> Refusal {
    let reason =
        format!("{transactions} transfers between shards are under way, as many as pending_max allows");
    busy(PENDING_FULL, 1_000, reason)
}

/// Whether what a transaction needs is kept ready from now on, or no longer.
enum Way {
    Keep,
    Release,
}

impl Ledger {
    /// Asks the other shards. The intents were admitted.
    pub(crate) fn begin_transaction(
        &mut self,
        writer: &mut Writer<'_>,
        transfers: &[NewTransfer],
        intents: &[Intent],
    ) -> Result<u64, Refusal> {
        let bound = self.bounds.pending_max as usize;
        if self.transactions.len() >= bound || self.messages.len() >= bound.saturating_mul(4) {
            return Err(pending_full(self.transactions.len()));
        }
        let mut items = Vec::with_capacity(transfers.len());
        for (transfer, intent) in transfers.iter().zip(intents) {
            let debit = self.party_of(writer, &intent.debit, intent.asset);
            let credit = self.party_of(writer, &intent.credit, intent.asset);
            if intent.needs_transit() {
                self.transit(writer, intent.asset);
            }
            items.push(Item {
                kind: intent.kind,
                id: transfer.id,
                content: Some(intent.content),
                amount: intent.amount,
                asset: intent.asset,
                debit,
                credit,
                home: intent.home,
                of: intent.of,
                reference: transfer.reference.as_str().into(),
                metadata: transfer.metadata.clone(),
                effective: transfer.effective,
                expires: intent.expires,
            });
        }
        let transaction = self.transaction_next;
        let linked = transfers.len() > 1;
        self.emit(writer, &Event::Began { transaction, linked, items: Cow::Owned(items) });
        Ok(transaction)
    }

    fn party_of(&mut self, writer: &mut Writer<'_>, side: &Side, asset: u16) -> Party {
        match side {
            Side::There(shard, name) => Party::There(*shard, name.clone()),
            side => Party::Here(self.account_of(writer, side, asset)),
        }
    }

    /// Messages that are not confirmed, by number, from `from` on: to which shard, and what.
    pub fn outgoing(&self, from: u64, each: &mut dyn FnMut(u16, u64, ShardMessage)) {
        for (&number, posted) in self.messages.range(from..) {
            let message = match posted.asks {
                Asks::Decide { prepare, booked, at } => {
                    ShardMessage::Decide { transaction: posted.transaction, prepare, booked, at }
                }
                Asks::Prepare => {
                    let Some(&place) = self.by_transaction.get(&posted.transaction) else { continue };
                    let items = self.transactions.at(place).items.iter();
                    let legs = items.filter_map(|item| self.leg(item, posted.to)).collect();
                    let transaction = posted.transaction;
                    let principal = self.principals.get(&(self.place.shard, transaction)).cloned();
                    ShardMessage::Prepare { transaction, principal, legs }
                }
            };
            each(posted.to, number, message);
        }
    }

    /// An item, as far as another shard takes part in it.
    fn leg(&self, item: &Item, to: u16) -> Option<Leg> {
        let kind = match item.kind {
            ItemKind::Post => LegKind::Post,
            ItemKind::Capture => LegKind::Capture,
            ItemKind::Reverse => LegKind::Reverse,
            ItemKind::Hold | ItemKind::Void => return None,
        };
        if ![item.debit.shard(), item.credit.shard(), item.home].contains(&Some(to)) {
            return None;
        }
        let named = |party: &Party| match party {
            Party::Here(account) => (self.accounts.at(*account).name.clone(), self.place.shard),
            Party::There(shard, name) => (name.clone(), *shard),
        };
        let (debit, credit) = (named(&item.debit), named(&item.credit));
        // As in `NewTransfer::home`: a system wallet lives with the other side.
        let home = match item.home {
            None if debit.0.is_system() => credit.1,
            None => debit.1,
            Some(home) => home,
        };
        Some(Leg {
            transfer: item.id,
            kind,
            content: item.content.filter(|_| kind == LegKind::Post && home == to),
            debit,
            credit,
            asset: self.assets[usize::from(item.asset)].code.clone(),
            amount: item.amount,
            of: item.of,
            effective: item.effective,
            reference: String::from(&*item.reference),
            metadata: item.metadata.clone(),
        })
    }

    /// The number that the next message will have; those from it on are new since.
    pub fn outgoing_next(&self) -> u64 {
        self.message_next
    }

    /// The lowest number that is not confirmed; that of the next one where all are.
    pub fn outgoing_first(&self) -> u64 {
        self.messages.first_key_value().map_or(self.message_next, |(&number, _)| number)
    }

    /// Most bytes of the section that [`Self::receive`] writes for a message.
    pub fn receive_bytes_max(&self, delivery: &Delivery) -> usize {
        let items: usize = match &delivery.message {
            ShardMessage::Prepare { legs, .. } => {
                legs.iter().map(|leg| 1_024 + leg.reference.len() + leg.metadata.len()).sum()
            }
            ShardMessage::Decide { transaction, .. } => self
                .by_prepared
                .get(&(delivery.shard, *transaction))
                .map_or(0, |&place| self.prepared.at(place).items.iter().map(Item::bytes_max).sum()),
        };
        items + 2 * EVENT_BYTES + 1_024
    }

    /// Most bytes of the section that [`Self::confirm`] writes for a message's answer.
    pub fn confirm_bytes_max(&self, number: u64) -> usize {
        let transaction =
            self.messages.get(&number).and_then(|posted| self.by_transaction.get(&posted.transaction));
        let items: usize = transaction
            .map_or(0, |&place| self.transactions.at(place).items.iter().map(Item::bytes_max).sum());
        items + 2 * EVENT_BYTES + 2_048
    }

    /// Takes in another shard's message, once however often it is delivered. The answer, when it is durable, goes back to the sender's
    /// [`Self::confirm`].
    ///
    /// # Errors
    ///
    /// Rejected: that is an answer, and as durable as a yes. Busy: not now; nothing happened, and it is to be delivered again.
    pub fn receive(
        &mut self,
        at: u64,
        now: Time,
        delivery: &Delivery,
        record: &mut Record,
    ) -> Result<(), Refusal> {
        self.now = self.now.max(now);
        let Delivery { shard, number, confirmed_below, message } = delivery;
        let from = From { shard: *shard, number: *number, confirmed_below: *confirmed_below };
        if let Some(answer) = self.incoming.get(&(from.shard, from.number)) {
            return answer.clone();
        }
        if self.floors.get(&from.shard).is_some_and(|&floor| from.number < floor) {
            // Its sender has had the answer and only reads it again.
            return Ok(());
        }
        let mut writer = self.writer(record, at, now);
        let answer = match message {
            ShardMessage::Prepare { transaction, principal, legs } => {
                self.prepare(&mut writer, from, *transaction, principal.as_ref(), legs)
            }
            ShardMessage::Decide { transaction, prepare, booked, at } => {
                self.settle(&mut writer, from, *transaction, *prepare, booked.then_some(*at));
                Ok(())
            }
        };
        self.close(writer, 0);
        self.order_new();
        answer
    }

    fn prepare(
        &mut self,
        writer: &mut Writer<'_>,
        from: From,
        transaction: u64,
        principal: Option<&PrincipalId>,
        legs: &[Leg],
    ) -> Result<(), Refusal> {
        if self.prepared.len() >= self.bounds.pending_max as usize {
            return Err(pending_full(self.prepared.len()));
        }
        let intents = match self.admit_legs(from.shard, legs) {
            Ok(intents) => intents,
            Err(refusal @ (Refusal::Busy { .. } | Refusal::Unknown { .. })) => return Err(refusal),
            Err(refusal) => {
                let (code, reason) = (refusal.code(), refusal.reason());
                self.emit(writer, &Event::Refused { from, code, reason });
                return Err(refusal);
            }
        };
        writer.of(principal);
        let mut items = Vec::with_capacity(legs.len());
        for (leg, intent) in legs.iter().zip(&intents) {
            let debit = self.party_of(writer, &intent.debit, intent.asset);
            let credit = self.party_of(writer, &intent.credit, intent.asset);
            if intent.needs_transit() {
                self.transit(writer, intent.asset);
            }
            items.push(Item {
                kind: intent.kind,
                id: leg.transfer,
                content: leg.content,
                amount: leg.amount,
                asset: intent.asset,
                debit,
                credit,
                home: None,
                of: leg.of,
                reference: leg.reference.as_str().into(),
                metadata: leg.metadata.clone(),
                effective: leg.effective,
                expires: Time(0),
            });
        }
        self.emit(writer, &Event::Prepared { from, transaction, items: Cow::Owned(items) });
        Ok(())
    }

    /// Whether this shard can do its part.
    fn admit_legs(&self, from: u16, legs: &[Leg]) -> Result<Vec<Intent>, Refusal> {
        let mut overlay = Overlay::default();
        overlay.begin(true);
        let mut intents = Vec::with_capacity(legs.len());
        for leg in legs {
            if let Some(content) = leg.content {
                self.may_be_decided_by(from, leg.transfer, content)?;
            }
            let asset = self.known_asset(&leg.asset)?;
            let side = |(name, shard): &(WalletName, u16)| self.side(name, asset, *shard);
            let intent = Intent {
                kind: match leg.kind {
                    LegKind::Post => ItemKind::Post,
                    LegKind::Capture => ItemKind::Capture,
                    LegKind::Reverse => ItemKind::Reverse,
                },
                // The leg's is kept: nothing is booked from the intent.
                content: 0,
                home: None,
                debit: side(&leg.debit)?,
                credit: side(&leg.credit)?,
                asset,
                amount: leg.amount,
                of: leg.of,
                hold: (NONE, 0),
                expires: Time(0),
            };
            self.admit(&intent, Some(&mut overlay))?;
            intents.push(intent);
        }
        Ok(intents)
    }

    /// `booked` is the time of the decision, where it was booked.
    fn settle(
        &mut self,
        writer: &mut Writer<'_>,
        from: From,
        transaction: u64,
        prepare: u64,
        booked: Option<Time>,
    ) {
        let items = self
            .by_prepared
            .get(&(from.shard, transaction))
            .map_or_else(Vec::new, |&place| self.prepared.at(place).items.clone());
        let decided = booked.filter(|_| items.iter().any(|item| item.content.is_some()));
        let booked = booked.is_some();
        if booked {
            writer.of(self.principals.get(&(from.shard, transaction)));
        }
        self.emit(writer, &Event::Settled { from, prepare, transaction, booked, decided });
        if booked {
            items.iter().for_each(|item| self.book_part(writer, item));
        }
    }

    /// Books the part of an item that is here.
    fn book_part(&mut self, writer: &mut Writer<'_>, item: &Item) {
        if !item.kind.moves() {
            return;
        }
        let transit = self.assets[usize::from(item.asset)].transit;
        let (debit, credit, other) = match (&item.debit, &item.credit) {
            (Party::Here(debit), Party::Here(credit)) => (*debit, *credit, None),
            (Party::Here(debit), Party::There(_, name)) => (*debit, transit, Some(name)),
            (Party::There(_, name), Party::Here(credit)) => (transit, *credit, Some(name)),
            (Party::There(..), Party::There(..)) => return,
        };
        let amount = i128::from(item.amount);
        let what = Transferred {
            kind: item.kind,
            id: item.id,
            content: None,
            amount: item.amount,
            debit: (debit, self.line(debit, writer.at, -amount)),
            credit: (credit, self.line(credit, writer.at, amount)),
            notes: Notes { other: other.map(WalletName::as_str), ..item.notes() },
        };
        self.emit(writer, &Event::Transfer(what));
    }

    /// Takes in what another shard answered to a message. Busy changes nothing: the message is sent again.
    pub fn confirm(
        &mut self,
        at: u64,
        now: Time,
        number: u64,
        taken: &Result<(), Refusal>,
        record: &mut Record,
    ) {
        self.now = self.now.max(now);
        let Some(&posted) = self.messages.get(&number) else { return };
        let mut writer = self.writer(record, at, now);
        match (posted.asks, taken) {
            (_, Err(Refusal::Busy { .. } | Refusal::Unknown { .. })) => {}
            (Asks::Prepare, Ok(())) => self.agreed(&mut writer, posted.transaction, number),
            (Asks::Prepare, Err(refusal)) => self.give_up(&mut writer, posted, refusal),
            (Asks::Decide { .. }, _) => self.emit(&mut writer, &Event::Confirmed { message: number }),
        }
        self.close(writer, 0);
    }

    fn agreed(&mut self, writer: &mut Writer<'_>, transaction: u64, message: u64) {
        let Some(&place) = self.by_transaction.get(&transaction) else { return };
        self.emit(writer, &Event::Voted { message });
        if self.transactions.at(place).asked.iter().all(|asked| asked.agreed) {
            writer.of(self.principals.get(&(self.place.shard, transaction)));
            self.decide(writer, place, Ok(()));
        }
    }

    fn give_up(&mut self, writer: &mut Writer<'_>, posted: Posted, refusal: &Refusal) {
        let Some(&place) = self.by_transaction.get(&posted.transaction) else { return };
        let (code, reason) = (refusal.code(), refusal.reason());
        let linked;
        let (code, reason) = if self.transactions.at(place).linked {
            linked = format!("a transfer of the list was refused on shard {}: {reason} ({code})", posted.to);
            (LINKED, linked.as_str())
        } else {
            (code, reason)
        };
        self.decide(writer, place, Err(Failed { shard: Some(posted.to), code, reason }));
    }

    fn decide(&mut self, writer: &mut Writer<'_>, place: u32, outcome: Result<(), Failed<'_>>) {
        let transaction = self.transactions.at(place);
        let number = transaction.number;
        let items = if outcome.is_ok() { transaction.items.clone() } else { Vec::new() };
        self.emit(writer, &Event::Decided { transaction: number, outcome });
        items.iter().for_each(|item| self.book_part(writer, item));
    }

    /// Gives up transactions that nobody answered in time. Returns whether there are more.
    pub(crate) fn abort_timed_out(&mut self, writer: &mut Writer<'_>, events_max: u64) -> bool {
        while let Some((_, &place)) = self.by_transaction.first_key_value()
            && self.transactions.at(place).began.after(PREPARE_TIMEOUT) <= self.now
        {
            if writer.events() >= events_max {
                return true;
            }
            let reason = "a shard that takes part did not answer in time; nothing was booked";
            self.decide(writer, place, Err(Failed { shard: None, code: PENDING, reason }));
        }
        false
    }

    /// When the oldest transaction is given up.
    pub(crate) fn prepare_deadline(&self) -> Option<Time> {
        let (_, &place) = self.by_transaction.first_key_value()?;
        Some(self.transactions.at(place).began.after(PREPARE_TIMEOUT))
    }

    // What the events do.

    pub(crate) fn apply_transaction(
        &mut self,
        context: Context<'_>,
        event: &Event<'_>,
    ) -> Result<(), Corrupt> {
        match event {
            Event::Began { transaction, linked, items } => {
                self.apply_began(context, *transaction, *linked, items)
            }
            Event::Voted { message } => {
                let posted = self.messages.remove(message).ok_or_else(|| no_message(*message))?;
                let place =
                    *self.by_transaction.get(&posted.transaction).ok_or_else(|| no_message(*message))?;
                for asked in &mut self.transactions.at_mut(place).asked {
                    asked.agreed |= asked.message == *message;
                }
                Ok(())
            }
            Event::Decided { transaction, outcome } => self.apply_decided(context, *transaction, *outcome),
            Event::Confirmed { message } => {
                self.messages.remove(message).map(|_| ()).ok_or_else(|| no_message(*message))
            }
            Event::Prepared { from, transaction, items } => {
                self.raise_floor(*from);
                self.incoming.insert((from.shard, from.number), Ok(()));
                self.items_fit(items)?;
                self.keep(items, &Way::Keep)?;
                self.is_of(context, (from.shard, *transaction));
                let prepared =
                    Prepared { from: from.shard, transaction: *transaction, items: items.to_vec() };
                let place = self.prepared.insert(prepared);
                if self.by_prepared.insert((from.shard, *transaction), place).is_some() {
                    return Err(corrupt(format!(
                        "the transaction {transaction} of shard {} twice",
                        from.shard
                    )));
                }
                self.index_prepared(place)
            }
            Event::Refused { from, code, reason } => {
                self.raise_floor(*from);
                let refusal = rejected(known_code(code), *reason);
                self.incoming.insert((from.shard, from.number), Err(refusal));
                Ok(())
            }
            Event::Settled { from, prepare, transaction, booked, decided } => {
                self.raise_floor(*from);
                self.incoming.insert((from.shard, from.number), Ok(()));
                self.principals.remove(&(from.shard, *transaction));
                match self.by_prepared.remove(&(from.shard, *transaction)) {
                    Some(place) => {
                        let prepared = self.prepared.remove(place).expect("it is in the index");
                        self.remember_elsewhere(context, &prepared.items, *decided);
                        self.keep(&prepared.items, &Way::Release)
                    }
                    None if *booked => Err(corrupt(format!(
                        "the transaction {transaction} of shard {} was not prepared",
                        from.shard
                    ))),
                    None => {
                        // The question may still be under way: it must find its answer here.
                        let refusal = rejected(LINKED, "the transaction was given up");
                        self.incoming.entry((from.shard, *prepare)).or_insert(Err(refusal));
                        Ok(())
                    }
                }
            }
            _ => Err(corrupt("an event that is applied elsewhere")),
        }
    }

    /// Whether a transaction's items are about what there is.
    pub(crate) fn items_fit(&self, items: &[Item]) -> Result<(), Corrupt> {
        for item in items {
            let is_account =
                |party: &Party| party.here().is_none_or(|account| self.accounts.contains(account));
            // Only a post, and a reversal of one, may have both sides elsewhere.
            let is_owner = item.debit.here().is_some()
                || matches!(item.kind, ItemKind::Post | ItemKind::Reverse)
                || item.kind == ItemKind::Capture && item.credit.here().is_some();
            if usize::from(item.asset) >= self.assets.len()
                || !is_account(&item.debit)
                || !is_account(&item.credit)
                || !is_owner
            {
                return Err(corrupt(format!("the transaction's transfer {} is between nobody", item.id)));
            }
        }
        Ok(())
    }

    /// Forgets messages that never arrive again.
    fn raise_floor(&mut self, from: From) {
        let floor = self.floors.entry(from.shard).or_insert(0);
        *floor = (*floor).max(from.confirmed_below);
        let floor = *floor;
        while let Some((&key, _)) = self.incoming.range((from.shard, 0)..(from.shard, floor)).next() {
            self.incoming.remove(&key);
        }
    }

    /// Keeps ready what items will need here, or no longer. Where one side is elsewhere `@transit` takes it, so that neither that can
    /// run out of bounds.
    fn keep(&mut self, items: &[Item], way: &Way) -> Result<(), Corrupt> {
        for item in items {
            let transit = self.assets.get(usize::from(item.asset)).map_or(NONE, |asset| asset.transit);
            let (debit, credit) = match (&item.debit, &item.credit) {
                (Party::There(..), Party::There(..)) => continue,
                (Party::There(..), Party::Here(credit)) => (Some(transit), Some(*credit)),
                // The amount of a hold is held already, and stays so until its end.
                (Party::Here(_), Party::There(..)) if item.kind == ItemKind::Capture => (None, Some(transit)),
                (Party::Here(_), Party::Here(credit)) if item.kind == ItemKind::Capture => {
                    (None, Some(*credit))
                }
                (Party::Here(debit), Party::There(..)) => (Some(*debit), Some(transit)),
                (Party::Here(debit), Party::Here(credit)) => (Some(*debit), Some(*credit)),
            };
            if item.kind == ItemKind::Void {
                continue;
            }
            if let Some(account) = debit {
                let fits = self.accounts.contains(account)
                    && match way {
                        Way::Keep => self.hold_more(account, item.amount),
                        Way::Release => self.hold_less(account, item.amount),
                    };
                if !fits {
                    return Err(corrupt(format!("the account {account} cannot hold {}", item.amount)));
                }
                if matches!(way, Way::Keep) {
                    self.must_cover(account)?;
                }
            }
            if let Some(account) = credit.filter(|_| item.kind.moves()) {
                if !self.accounts.contains(account) {
                    return Err(corrupt(format!("there is no account {account}")));
                }
                let extra = self.extra_mut(account);
                let incoming = match way {
                    Way::Keep => extra.incoming.checked_add(item.amount),
                    Way::Release => extra.incoming.checked_sub(item.amount),
                };
                extra.incoming =
                    incoming.ok_or_else(|| corrupt(format!("too much is to come to {account}")))?;
            }
        }
        Ok(())
    }

    fn apply_began(
        &mut self,
        context: Context<'_>,
        number: u64,
        linked: bool,
        items: &[Item],
    ) -> Result<(), Corrupt> {
        if number != self.transaction_next {
            return Err(corrupt(format!("the transaction {number} is not the next one")));
        }
        self.transaction_next += 1;
        self.items_fit(items)?;
        self.keep(items, &Way::Keep)?;
        self.is_of(context, (self.place.shard, number));
        let mut shards = BTreeSet::new();
        for item in items {
            if item.kind.moves() {
                shards.extend([item.debit.shard(), item.credit.shard(), item.home].into_iter().flatten());
            }
        }
        let mut asked = Vec::with_capacity(shards.len());
        for shard in shards {
            let message = self.post_message(shard, number, Asks::Prepare);
            asked.push(Asked { shard, message, agreed: false });
        }
        let place = self.transactions.insert(Transaction {
            number,
            linked,
            began: context.time,
            record: context.at,
            items: items.to_vec(),
            asked,
        });
        self.index_transaction(place)
    }

    /// Keeps the principal of a transaction until that is decided.
    fn is_of(&mut self, context: Context<'_>, transaction: (u16, u64)) {
        if let Some(principal) = context.principal {
            self.principals.insert(transaction, principal.clone());
        }
    }

    /// Ids and locks of a transaction that is not decided.
    pub(crate) fn index_transaction(&mut self, place: u32) -> Result<(), Corrupt> {
        let transaction = self.transactions.at(place);
        self.by_transaction.insert(transaction.number, place);
        let mut locked = Vec::new();
        for item in &transaction.items {
            if self.pending.insert(item.id, place).is_some() {
                return Err(corrupt(format!("the transfer {} is under way twice", item.id)));
            }
            match (item.kind, item.of) {
                (ItemKind::Capture | ItemKind::Void, Some(hold)) => {
                    locked.push(
                        self.find_hold(hold).ok_or_else(|| corrupt(format!("{hold} is no open hold")))?,
                    );
                }
                (ItemKind::Reverse, Some(of)) => {
                    self.reversing.insert(of);
                }
                _ => {}
            }
        }
        locked.into_iter().for_each(|hold| self.lock_hold(hold, true));
        Ok(())
    }

    /// Ids that are decided here when they come alone, of another shard's transaction that is not
    /// decided.
    pub(crate) fn index_prepared(&mut self, place: u32) -> Result<(), Corrupt> {
        for item in self.prepared.at(place).items.iter().filter(|item| item.content.is_some()) {
            if self.promised.insert(item.id, place).is_some() {
                return Err(corrupt(format!("the transfer {} is under way twice", item.id)));
            }
        }
        Ok(())
    }

    /// Another shard's transaction is decided: transfers that were booked with it are not booked
    /// here again, and were booked when that was decided.
    fn remember_elsewhere(&mut self, context: Context<'_>, items: &[Item], booked: Option<Time>) {
        for item in items {
            let Some(content) = item.content else { continue };
            self.promised.remove(&item.id);
            if let Some(at) = booked {
                self.remember(Remembered::new(
                    item.id,
                    content,
                    item.amount,
                    context.at,
                    at,
                    State::Elsewhere,
                ));
            }
        }
    }

    fn post_message(&mut self, to: u16, transaction: u64, asks: Asks) -> u64 {
        let number = self.message_next;
        self.message_next += 1;
        self.messages.insert(number, Posted { to, transaction, asks });
        number
    }

    fn apply_decided(
        &mut self,
        context: Context<'_>,
        number: u64,
        outcome: Result<(), Failed<'_>>,
    ) -> Result<(), Corrupt> {
        let place = self
            .by_transaction
            .remove(&number)
            .ok_or_else(|| corrupt(format!("there is no transaction {number}")))?;
        let transaction = self.transactions.remove(place).expect("it is in the index");
        self.principals.remove(&(self.place.shard, number));
        for asked in &transaction.asked {
            self.messages.remove(&asked.message);
        }
        let refused = outcome.err().and_then(|failed| failed.shard);
        for asked in transaction.asked.iter().filter(|asked| Some(asked.shard) != refused) {
            let asks = Asks::Decide { prepare: asked.message, booked: outcome.is_ok(), at: context.time };
            self.post_message(asked.shard, number, asks);
        }
        self.keep(&transaction.items, &Way::Release)?;
        for item in &transaction.items {
            self.pending.remove(&item.id);
            if let Some(of) = item.of {
                self.reversing.remove(&of);
                if let Some(hold) = self.find_hold(of) {
                    self.lock_hold(hold, false);
                }
            }
            if outcome.is_ok() {
                self.apply_item(context, item, transaction.record)?;
            }
        }
        let outcome = outcome.map_err(|failed| match failed.shard {
            None => busy(known_code(failed.code), 1_000, failed.reason),
            Some(_) => rejected(known_code(failed.code), failed.reason),
        });
        if outcome.is_err() {
            self.refused += transaction.items.len() as u64;
        }
        self.waiting.decided(number, context.time, outcome);
        Ok(())
    }

    /// All of a booked item but the amounts that it moves.
    fn apply_item(&mut self, context: Context<'_>, item: &Item, record: u64) -> Result<(), Corrupt> {
        let mut party = |party: &Party| match party {
            Party::Here(account) => *account,
            Party::There(shard, name) => self.other(*shard, name.clone()),
        };
        let (debit, credit) = (party(&item.debit), party(&item.credit));
        let content = item.content.expect("the coordinator keeps it");
        let state = match item.kind {
            ItemKind::Post | ItemKind::Capture => State::Posted,
            ItemKind::Reverse => State::Reversal,
            ItemKind::Void => State::Voided,
            ItemKind::Hold => {
                if !self.hold_more(debit, item.amount) {
                    return Err(corrupt(format!("the account {debit} cannot hold {}", item.amount)));
                }
                let what = Promised {
                    id: item.id,
                    content,
                    amount: item.amount,
                    debit,
                    credit: None,
                    notes: Notes::default(),
                };
                return self.make_hold(context, &what, credit, item.expires, record);
            }
        };
        self.booked += 1;
        let entry = Remembered::new(item.id, content, item.amount, record, context.time, state);
        let place = self.remember(entry.parties(debit, credit));
        match (item.kind, item.of) {
            (ItemKind::Capture, Some(of)) => self.end_hold(of, State::Captured, Some((place, item.id))),
            (ItemKind::Void, Some(of)) => self.end_hold(of, State::Voided, None),
            (ItemKind::Reverse, Some(of)) => {
                self.mark_reversed(of);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn no_message(message: u64) -> Corrupt {
    corrupt(format!("there is no message {message}"))
}

/// A code that was read back, as one of ours.
pub(crate) fn known_code(code: &str) -> &'static str {
    CODES.iter().find(|(known, _)| *known == code).map_or(LINKED, |(known, _)| known)
}
