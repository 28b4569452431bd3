//! A harness to keep books at: one shard's ledger, a clock that stands until it is moved, and a
//! journal that is a list of records.
//!
//! Everything that is executed is kept, so that a test can crash, replay, save and restore at any
//! time and go on.

#![allow(dead_code, reason = "each suite uses a part of it")]

use stadium_state_machine::{Checkpointed as _, StateMachine as _};
pub use stadium_wallet::Place;
use stadium_wallet::{
    AccountView, Answer, AssetCode, Balance, Bounds, Command, Delivery, EntryPage, Executed, Kind, Ledger,
    Lookup, Milliseconds, NewAccount, NewTransfer, Outcome, Overdraft, PrincipalId, Range, Record, Refusal,
    Time, TransferId, TransferView, WalletName,
};

/// Bytes in front of each record's section.
pub const HEADER: usize = 24;

/// When all behaviours begin.
pub const START: Time = Time(1_800_000_000_000);

/// A record that was written: where, when, and the section with its chain value.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub at: u64,
    pub time: Time,
    pub section: Vec<u8>,
}

/// What records are appended to.
pub trait Log {
    /// The position that the next record will have.
    fn next(&mut self) -> u64;
    /// Appends a record, header included, at the announced position.
    fn append(&mut self, time: Time, record: &mut Record);
}

/// A journal that forgets: the harness keeps the records itself.
#[derive(Debug, Clone)]
pub struct Nowhere {
    end: u64,
}

impl Log for Nowhere {
    fn next(&mut self) -> u64 {
        self.end
    }

    fn append(&mut self, _time: Time, record: &mut Record) {
        // Positions are multiples of eight with a header, as in a journal.
        self.end += (record.bytes().len() as u64 + 8).next_multiple_of(8);
    }
}

pub struct Harness<L = Nowhere> {
    pub ledger: Ledger,
    pub now: Time,
    pub place: Place,
    pub bounds: Bounds,
    /// The principal that asks for transfers from now on.
    pub principal: Option<PrincipalId>,
    pub records: Vec<Written>,
    log: L,
}

pub fn wallet(name: &str) -> WalletName {
    WalletName::new(name).unwrap()
}

pub fn asset(code: &str) -> AssetCode {
    AssetCode::new(code).unwrap()
}

pub fn transfer(id: u128, kind: Kind) -> NewTransfer {
    NewTransfer {
        id: TransferId(id),
        kind,
        reference: String::new(),
        metadata: Vec::new().into(),
        effective: None,
    }
}

pub fn post(id: u128, debit: &str, credit: &str, of: &str, amount: u64) -> NewTransfer {
    let kind = Kind::Post { debit: wallet(debit), credit: wallet(credit), asset: asset(of), amount };
    transfer(id, kind)
}

pub fn hold(
    id: u128,
    debit: &str,
    credit: &str,
    of: &str,
    amount: u64,
    expires_after: Milliseconds,
) -> NewTransfer {
    let (debit, credit, asset) = (wallet(debit), wallet(credit), asset(of));
    transfer(id, Kind::Hold { debit, credit, asset, amount, expires_after })
}

pub fn capture(id: u128, of: u128, amount: Option<u64>) -> NewTransfer {
    transfer(id, Kind::Capture { hold: TransferId(of), amount })
}

pub fn void(id: u128, of: u128) -> NewTransfer {
    transfer(id, Kind::Void { hold: TransferId(of) })
}

pub fn reverse(id: u128, of: u128) -> NewTransfer {
    transfer(id, Kind::Reverse { transfer: TransferId(of) })
}

pub fn account(name: &str, of: &str) -> NewAccount {
    NewAccount { wallet: wallet(name), asset: asset(of), overdraft: Overdraft::Never, ceiling: None }
}

impl Harness {
    pub fn new() -> Self {
        Self::with(Bounds::default(), Place { shard: 0, shards: 1, hash_seed: 7 })
    }

    pub fn with(bounds: Bounds, place: Place) -> Self {
        Self::on(bounds, place, Nowhere { end: 4_096 })
    }
}

impl<L: Log> Harness<L> {
    /// A harness whose records go somewhere.
    pub fn on(bounds: Bounds, place: Place, log: L) -> Self {
        let ledger = Ledger::new(place, bounds.clone());
        Self { ledger, now: START, place, bounds, principal: None, records: Vec::new(), log }
    }

    pub fn log_mut(&mut self) -> &mut L {
        &mut self.log
    }

    /// Runs something that may write a record, and keeps the record.
    pub fn record<T>(&mut self, run: impl FnOnce(&mut Ledger, u64, Time, &mut Record) -> T) -> T {
        let mut record = Record::new();
        record.begin(HEADER);
        let (at, now) = (self.log.next(), self.now);
        let result = run(&mut self.ledger, at, now, &mut record);
        if !record.is_empty() {
            self.log.append(now, &mut record);
            self.records.push(Written { at, time: now, section: record.bytes()[HEADER..].to_vec() });
        }
        result
    }

    pub fn execute(&mut self, command: &Command) -> Result<Executed, Refusal> {
        let records = self.records.len();
        let result = self.record(|ledger, at, now, record| ledger.execute(at, now, command, record));
        assert!(result.is_ok() || records == self.records.len(), "a refusal leaves no record: {command:?}");
        result
    }

    /// A command that needs no other shard. Answers from the journal are read from the records.
    pub fn ask(&mut self, command: Command) -> Result<Answer, Refusal> {
        if matches!(command, Command::History { .. } | Command::BalanceAt { .. } | Command::Find { .. }) {
            return self.look_up(&command);
        }
        match self.execute(&command)? {
            Executed::Done(answer) => Ok(answer),
            Executed::Pending(number) => panic!("no other shard is here: {number} of {command:?}"),
        }
    }

    fn look_up(&self, command: &Command) -> Result<Answer, Refusal> {
        let mut walk = match self.ledger.look_up(self.now, command)? {
            Lookup::Answer(answer) => return Ok(answer),
            Lookup::Walk(walk) => walk,
        };
        let mut steps = 0;
        while let Some(at) = walk.next() {
            let at =
                self.records.binary_search_by_key(&at, |written| written.at).expect("a record stands there");
            let Written { time, section, .. } = &self.records[at];
            walk.read(&self.ledger, *time, section).expect("the ledger's own section");
            steps += 1;
            assert!(steps < 1_000_000, "a walk that does not end");
        }
        walk.finish(&self.ledger)
    }

    pub fn declare(&mut self, code: &str, scale: u8) {
        assert_eq!(self.ask(Command::Declare { asset: asset(code), scale }), Ok(Answer::Done));
    }

    pub fn open(&mut self, accounts: Vec<NewAccount>) -> Vec<Result<bool, Refusal>> {
        match self.ask(Command::Open { accounts }).unwrap() {
            Answer::Opened(opened) => opened,
            other => panic!("an open is answered by {other:?}"),
        }
    }

    pub fn transfers(&mut self, transfers: Vec<NewTransfer>, linked: bool) -> Result<Vec<Outcome>, Refusal> {
        match self.ask(Command::Transfer { transfers, linked, principal: self.principal.clone() })? {
            Answer::Booked(outcomes) => Ok(outcomes),
            other => panic!("transfers are answered by {other:?}"),
        }
    }

    /// From now on transfers are asked for by that principal.
    pub fn be(&mut self, principal: &str) {
        self.principal = Some(principal.parse().unwrap());
    }

    /// One transfer.
    pub fn book(&mut self, transfer: NewTransfer) -> Outcome {
        let mut outcomes = self.transfers(vec![transfer], false)?;
        assert_eq!(outcomes.len(), 1);
        outcomes.remove(0)
    }

    pub fn accounts(&mut self, name: &str) -> Vec<AccountView> {
        match self.ask(Command::Wallet { wallet: wallet(name) }) {
            Ok(Answer::Accounts(accounts)) => accounts,
            Ok(other) => panic!("a wallet is answered by {other:?}"),
            Err(_) => Vec::new(),
        }
    }

    /// What an account has; nothing where there is none.
    pub fn balance(&mut self, name: &str, of: &str) -> Balance {
        let accounts = self.accounts(name);
        accounts.iter().find(|one| one.asset == asset(of)).map(|one| one.balance).unwrap_or_default()
    }

    pub fn find(&mut self, id: u128) -> Result<TransferView, Refusal> {
        match self.ask(Command::Find { transfer: TransferId(id) })? {
            Answer::Transfer(view) => Ok(*view),
            other => panic!("a find is answered by {other:?}"),
        }
    }

    pub fn history(&mut self, name: &str, of: &str, range: Range) -> Result<EntryPage, Refusal> {
        match self.ask(Command::History { wallet: wallet(name), asset: asset(of), range })? {
            Answer::History(page) => Ok(page),
            other => panic!("a history is answered by {other:?}"),
        }
    }

    pub fn balance_at(&mut self, name: &str, of: &str, at: Time) -> Result<Balance, Refusal> {
        match self.ask(Command::BalanceAt { wallet: wallet(name), asset: asset(of), at })? {
            Answer::Balance(balance) => Ok(balance),
            other => panic!("a balance is answered by {other:?}"),
        }
    }

    /// Time goes on, and everything that it brings happens.
    pub fn pass(&mut self, milliseconds: Milliseconds) {
        self.now = self.now.after(milliseconds);
        self.tick();
    }

    pub fn tick(&mut self) {
        while self.record(|ledger, at, now, record| ledger.tick(at, now, record, 100)).more {}
    }

    /// Answers of commands that were pending, by their numbers.
    pub fn decided(&mut self) -> Vec<(u64, Result<Answer, Refusal>)> {
        let mut decided = Vec::new();
        self.ledger.take_decided(&mut |number, answer| decided.push((number, answer)));
        decided
    }

    pub fn messages(&self) -> Vec<(u16, Delivery)> {
        let (shard, confirmed_below) = (self.place.shard, self.ledger.outgoing_first());
        let mut messages = Vec::new();
        self.ledger.outgoing(0, &mut |to, number, message| {
            messages.push((to, Delivery { shard, number, confirmed_below, message }));
        });
        messages
    }

    /// The ledger that a replay of all records makes.
    pub fn replayed(&self) -> Ledger {
        let mut ledger = Ledger::new(self.place, self.bounds.clone());
        self.replay_into(&mut ledger, 0);
        ledger
    }

    pub fn replay_into(&self, ledger: &mut Ledger, from: usize) {
        for Written { at, time, section } in &self.records[from..] {
            ledger.apply(*at, *time, section).unwrap();
        }
    }

    /// The server crashes and comes back.
    pub fn crash(&mut self) {
        self.ledger = self.replayed();
    }

    /// The server is stopped and comes back: from a checkpoint in slices of so many bytes.
    pub fn restart(&mut self, bytes_max: usize) {
        let chunks = checkpoint(&mut self.ledger, bytes_max);
        self.ledger = restored(self.place, &self.bounds, &chunks);
    }
}

/// A whole checkpoint, in chunks.
pub fn checkpoint(ledger: &mut Ledger, bytes_max: usize) -> Vec<Vec<u8>> {
    ledger.checkpoint_begin();
    rest_of_checkpoint(ledger, bytes_max)
}

/// The rest of a checkpoint that was begun.
pub fn rest_of_checkpoint(ledger: &mut Ledger, bytes_max: usize) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    loop {
        let mut chunk = Vec::new();
        let more = ledger.checkpoint_next(&mut chunk, bytes_max);
        chunks.push(chunk);
        if !more {
            return chunks;
        }
    }
}

pub fn restored(place: Place, bounds: &Bounds, chunks: &[Vec<u8>]) -> Ledger {
    let mut ledger = Ledger::new(place, bounds.clone());
    chunks.iter().for_each(|chunk| ledger.restore(chunk).unwrap());
    ledger.restore_finish().unwrap();
    ledger
}
