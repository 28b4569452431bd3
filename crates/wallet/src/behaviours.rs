//! Short behaviours of the machine: its decisions, and that a replay gives the same.
//!
//! The rules as tables, the naive ledger and the property tests are in `crates/wallet/tests`.

use std::collections::BTreeMap;

use bytes::Bytes;
use stadium_state_machine::{Checkpointed as _, Place};

use crate::ledger::Finished;
use crate::{
    Answer, BookState, Bounds, Checked, Command, Delivery, Executed, Kind, Ledger, Lookup, NewAccount,
    NewTransfer, Outcome, Overdraft, Range, Record, Refusal, Time, TransferId, WalletName,
};

/// A ledger, its clock, and the records that it wrote.
struct Book {
    ledger: Ledger,
    record: Record,
    now: Time,
    at: u64,
    journal: BTreeMap<u64, (Time, Vec<u8>)>,
    place: Place,
    bounds: Bounds,
    ids: u128,
}

const FRAME: usize = 24;

impl Book {
    /// Messages that are not confirmed, and whom they are for.
    fn messages(&self) -> Vec<(u16, Delivery)> {
        let (shard, confirmed_below) = (self.ledger.place.shard, self.ledger.outgoing_first());
        let mut messages = Vec::new();
        self.ledger.outgoing(0, &mut |to, number, message| {
            messages.push((to, Delivery { shard, number, confirmed_below, message }));
        });
        messages
    }

    /// Answers of commands that were pending.
    fn finished(&mut self) -> Vec<Finished> {
        std::mem::take(&mut self.ledger.waiting.finished)
    }

    fn of(shard: u16, shards: u16) -> Self {
        let place = Place { shard, shards, hash_seed: 7 };
        let bounds = Bounds::default();
        let mut book = Self {
            ledger: Ledger::new(place, bounds.clone()),
            record: Record::new(),
            now: Time(1_000_000),
            at: 4_096,
            journal: BTreeMap::new(),
            place,
            bounds,
            ids: 1_000,
        };
        book.does(&Command::Declare { asset: "EUR".parse().expect("an asset"), scale: 2 });
        book
    }

    fn new() -> Self {
        Self::of(0, 1)
    }

    /// Appends what a call wrote.
    fn append(&mut self) {
        if !self.record.is_empty() {
            let section = self.record.bytes()[FRAME..].to_vec();
            self.journal.insert(self.at, (self.now, section));
            self.at += 8 + self.record.bytes().len() as u64;
        }
    }

    fn execute(&mut self, command: &Command) -> Result<Executed, Refusal> {
        self.record.begin(FRAME);
        let executed = self.ledger.execute(self.at, self.now, command, &mut self.record);
        self.append();
        executed
    }

    fn does(&mut self, command: &Command) -> Answer {
        match self.execute(command) {
            Ok(Executed::Done(answer)) => answer,
            other => panic!("{command:?} came to {other:?}"),
        }
    }

    fn open(&mut self, names: &[&str]) {
        let accounts = names
            .iter()
            .map(|name| NewAccount {
                wallet: wallet(name),
                asset: "EUR".parse().expect("an asset"),
                overdraft: Overdraft::Never,
                ceiling: None,
            })
            .collect();
        self.does(&Command::Open { accounts });
    }

    fn transfers(&mut self, kinds: Vec<Kind>, linked: bool) -> (Vec<TransferId>, Command) {
        let transfers: Vec<NewTransfer> = kinds
            .into_iter()
            .map(|kind| {
                self.ids += 1;
                NewTransfer {
                    id: TransferId(self.ids),
                    kind,
                    reference: String::new(),
                    metadata: Bytes::new(),
                    effective: None,
                }
            })
            .collect();
        let ids = transfers.iter().map(|transfer| transfer.id).collect();
        (ids, Command::Transfer { transfers, linked, principal: None })
    }

    /// One transfer, which is booked.
    fn books(&mut self, kind: Kind) -> TransferId {
        let (ids, command) = self.transfers(vec![kind], false);
        let outcome = outcomes(self.does(&command)).remove(0);
        assert_eq!(outcome.map(|booked| booked.duplicate), Ok(false));
        ids[0]
    }

    /// One transfer, which is refused.
    fn refuses(&mut self, kind: Kind) -> &'static str {
        let records = self.journal.len();
        let (_, command) = self.transfers(vec![kind], false);
        let outcome = outcomes(self.does(&command)).remove(0);
        assert_eq!(self.journal.len(), records, "a refusal writes nothing");
        outcome.expect_err("it is refused").code()
    }

    fn tick(&mut self) {
        self.record.begin(FRAME);
        self.ledger.tick(self.at, self.now, &mut self.record, 100);
        self.append();
    }

    fn balance(&self, name: &str) -> (i64, u64) {
        let read = self.ledger.read(self.now, &Command::Wallet { wallet: wallet(name) });
        let Ok(Answer::Accounts(accounts)) = read else { panic!("{read:?}") };
        (accounts[0].balance.posted, accounts[0].balance.held)
    }

    fn look_up(&self, command: &Command) -> Result<Answer, Refusal> {
        let mut walk = match self.ledger.look_up(self.now, command)? {
            Lookup::Answer(answer) => return Ok(answer),
            Lookup::Walk(walk) => walk,
        };
        while let Some(at) = walk.next() {
            let (time, section) = &self.journal[&at];
            walk.read(&self.ledger, *time, section).expect("the journal holds it");
        }
        walk.finish(&self.ledger)
    }

    /// A ledger from nothing but the records from a position on, or from a checkpoint and those.
    fn replayed(&self, checkpoint: Option<(&[Vec<u8>], u64)>) -> Ledger {
        let mut ledger = Ledger::new(Place { hash_seed: 99, ..self.place }, self.bounds.clone());
        if let Some((chunks, _)) = checkpoint {
            chunks.iter().for_each(|chunk| ledger.restore(chunk).expect("a chunk"));
            ledger.restore_finish().expect("a whole checkpoint");
        }
        let from = checkpoint.map_or(0, |(_, at)| at);
        for (&at, (time, section)) in self.journal.range(from..) {
            ledger.apply(at, *time, section).expect("the records follow each other");
        }
        ledger.audit().expect("the books balance");
        ledger
    }

    /// Everything that a ledger answers from memory, and what a checkpoint of it holds.
    fn same(&mut self, mut other: Ledger) {
        self.ledger.audit().expect("the books balance");
        // Reads and refusals stand in no record: neither does their time.
        other.now = self.ledger.now;
        assert_eq!(chunks_of(&mut self.ledger), chunks_of(&mut other));
        let all = Command::Accounts { prefix: String::new(), asset: None, after: None, accounts_max: 1_000 };
        assert_eq!(self.ledger.read(self.now, &all), other.read(self.now, &all));
        assert_eq!(self.ledger.read(self.now, &Command::Assets), other.read(self.now, &Command::Assets));
    }
}

fn chunks_of(ledger: &mut Ledger) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    ledger.checkpoint_begin();
    loop {
        let mut chunk = Vec::new();
        let more = ledger.checkpoint_next(&mut chunk, 1_000);
        chunks.push(chunk);
        if !more {
            return chunks;
        }
    }
}

fn wallet(name: &str) -> WalletName {
    name.parse().expect("a name")
}

fn outcomes(answer: Answer) -> Vec<Outcome> {
    let Answer::Booked(outcomes) = answer else { panic!("{answer:?}") };
    outcomes
}

fn post(debit: &str, credit: &str, amount: u64) -> Kind {
    let asset = "EUR".parse().expect("an asset");
    Kind::Post { debit: wallet(debit), credit: wallet(credit), asset, amount }
}

fn hold(debit: &str, credit: &str, amount: u64, expires_after: u64) -> Kind {
    let asset = "EUR".parse().expect("an asset");
    Kind::Hold { debit: wallet(debit), credit: wallet(credit), asset, amount, expires_after }
}

fn history(name: &str, range: Range) -> Command {
    Command::History { wallet: wallet(name), asset: "EUR".parse().expect("an asset"), range }
}

#[test]
fn a_transfer_moves_an_amount_once() {
    let mut book = Book::new();
    book.open(&["alice", "bob"]);
    book.books(post("@bank", "alice", 100));
    let (_, command) = book.transfers(vec![post("alice", "bob", 30)], false);
    let first = outcomes(book.does(&command)).remove(0).expect("there is enough");
    book.now = Time(2_000_000);
    let again = outcomes(book.does(&command)).remove(0).expect("it is known");
    assert_eq!((again.at, again.duplicate), (first.at, true));
    assert_eq!(book.refuses(post("alice", "bob", 71)), "WAL-023");
    assert_eq!(
        [book.balance("@bank"), book.balance("alice"), book.balance("bob")],
        [(-100, 0), (70, 0), (30, 0)]
    );
    let replayed = book.replayed(None);
    book.same(replayed);
}

#[test]
fn a_hold_is_captured_in_part_and_the_rest_is_available_again() {
    let mut book = Book::new();
    book.open(&["alice", "bob"]);
    book.books(post("@bank", "alice", 100));
    let first = book.books(hold("alice", "bob", 80, 60_000));
    assert_eq!(book.balance("alice"), (100, 80));
    assert_eq!(book.refuses(post("alice", "bob", 21)), "WAL-023");
    let capture = book.books(Kind::Capture { hold: first, amount: Some(50) });
    assert_eq!([book.balance("alice"), book.balance("bob")], [(50, 0), (50, 0)]);
    assert_eq!(book.refuses(Kind::Void { hold: first }), "WAL-027");
    // By the hold's id or the capture's: it is the same amount.
    book.books(Kind::Reverse { transfer: first });
    assert_eq!(book.refuses(Kind::Reverse { transfer: capture }), "WAL-029");
    assert_eq!([book.balance("alice"), book.balance("bob")], [(100, 0), (0, 0)]);
    let Ok(Answer::Transfer(view)) = book.look_up(&Command::Find { transfer: first }) else { panic!() };
    assert_eq!((view.state, view.amount), (BookState::Captured, 80));
    let replayed = book.replayed(None);
    book.same(replayed);
}

#[test]
fn a_hold_is_returned_when_it_expires() {
    let mut book = Book::new();
    book.open(&["alice", "bob"]);
    book.books(post("@bank", "alice", 100));
    let first = book.books(hold("alice", "bob", 80, 60_000));
    book.now = book.now.after(60_000);
    assert_eq!(book.refuses(Kind::Capture { hold: first, amount: None }), "WAL-027");
    assert_eq!(book.ledger.next_deadline(), Some(book.now));
    book.tick();
    assert_eq!(book.balance("alice"), (100, 0));
    let replayed = book.replayed(None);
    book.same(replayed);
}

#[test]
fn a_linked_list_is_booked_whole_or_not_at_all() {
    let mut book = Book::new();
    book.open(&["alice", "bob", "carl"]);
    book.books(post("@bank", "alice", 100));
    let chain = vec![post("alice", "bob", 100), post("bob", "carl", 100), post("carl", "@new", 101)];
    let (_, command) = book.transfers(chain, true);
    let refused = book.execute(&command).expect_err("carl has not enough");
    assert_eq!(refused.code(), "WAL-032");
    assert!(refused.to_string().contains("WAL-023"), "{refused}");
    assert_eq!(book.balance("alice"), (100, 0));
    let chain = vec![post("alice", "bob", 100), post("bob", "carl", 100), post("carl", "@new", 100)];
    let (_, command) = book.transfers(chain, true);
    assert_eq!(book.ledger.check(book.now, &command), Ok(Checked::New));
    book.does(&command);
    assert_eq!(book.ledger.check(book.now, &command), Ok(Checked::Known));
    assert!(outcomes(book.does(&command)).iter().all(|outcome| outcome.as_ref().is_ok_and(|b| b.duplicate)));
    assert_eq!(book.balance("@new"), (100, 0));
    let replayed = book.replayed(None);
    book.same(replayed);
}

#[test]
fn a_long_history_is_found_at_any_time() {
    let mut book = Book::new();
    book.open(&["alice", "bob"]);
    book.books(post("@bank", "alice", 1_000_000));
    let mut balances = vec![(book.now, 1_000_000)];
    for round in 0..700_u64 {
        book.now = book.now.after(1_000);
        let kinds = (0..1 + round % 13).map(|_| post("alice", "bob", 1)).collect();
        let (_, command) = book.transfers(kinds, false);
        book.does(&command);
        balances.push((book.now, book.balance("alice").0));
    }
    for &(time, balance) in balances.iter().step_by(17) {
        for (at, wanted) in [(time, balance), (time.after(999), balance)] {
            let command =
                Command::BalanceAt { wallet: wallet("alice"), asset: "EUR".parse().expect("an asset"), at };
            let Ok(Answer::Balance(found)) = book.look_up(&command) else { panic!("{at:?}") };
            assert_eq!(found.posted, wanted);
        }
    }
    // Page by page it is every entry once, newest first.
    let mut numbers = Vec::new();
    let mut before = None;
    loop {
        let range = Range { before, entries_max: 333, ..Range::default() };
        let Ok(Answer::History(page)) = book.look_up(&history("alice", range)) else { panic!() };
        numbers.extend(page.entries.iter().map(|entry| entry.number));
        before = page.before;
        if before.is_none() {
            break;
        }
    }
    let entries = book.ledger.figures().booked;
    assert!(numbers.iter().copied().eq((1..=entries).rev()), "{} of {entries}", numbers.len());
    // A window in the middle.
    let (from, to) = (balances[300].0, balances[303].0);
    let range = Range { from: Some(from), to: Some(to), ..Range::default() };
    let Ok(Answer::History(page)) = book.look_up(&history("alice", range)) else { panic!() };
    assert_eq!(page.entries.first().expect("there are some").balance, balances[302].1);
    assert!(page.entries.iter().all(|entry| entry.transfer.at >= from && entry.transfer.at < to));
    let expected = balances[299].1 - balances[302].1;
    assert_eq!(page.entries.len() as i64, expected);
}

#[test]
fn a_checkpoint_holds_the_state_at_its_beginning_while_it_goes_on() {
    let mut book = Book::new();
    let names: Vec<String> = (0..600).map(|n| format!("user:{n}")).collect();
    book.open(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        book.books(post("@bank", name, 50));
    }
    book.books(hold("user:5", "user:6", 20, 90_000));
    book.ledger.checkpoint_begin();
    let at = book.at;
    let mut chunks = Vec::new();
    let mut round = 0;
    loop {
        let mut chunk = Vec::new();
        let more = book.ledger.checkpoint_next(&mut chunk, 500);
        chunks.push(chunk);
        book.books(post(&names[(round * 37) % 600], &names[(round * 91 + 1) % 600], 1));
        round += 1;
        if !more {
            break;
        }
    }
    let replayed = book.replayed(Some((&chunks, at)));
    book.same(replayed);
}

#[test]
fn a_changed_byte_breaks_the_chain() {
    let mut book = Book::new();
    book.open(&["alice"]);
    book.books(post("@bank", "alice", 100));
    let (&at, (time, section)) = book.journal.last_key_value().expect("there are some");
    for byte in 0..section.len() {
        let mut ledger = Ledger::new(book.place, book.bounds.clone());
        for (&before, (time, section)) in book.journal.range(..at) {
            ledger.apply(before, *time, section).expect("the records follow each other");
        }
        let mut section = section.clone();
        section[byte] ^= 1;
        assert!(ledger.apply(at, *time, &section).is_err(), "byte {byte}");
    }
}

#[test]
fn a_seal_comes_after_a_minute_and_only_where_there_is_something_to_seal() {
    let mut book = Book::new();
    book.open(&["alice"]);
    book.now = book.now.after(60_000);
    book.tick();
    assert_eq!(book.ledger.figures().seals, 1);
    assert_eq!(book.ledger.next_deadline(), None, "a seal alone is not sealed");
    book.now = book.now.after(60_000);
    book.tick();
    assert_eq!(book.ledger.figures().seals, 1);
    book.books(post("@bank", "alice", 100));
    book.now = book.now.after(60_000);
    book.tick();
    assert_eq!(book.ledger.seals().map(|seal| seal.records).collect::<Vec<_>>(), [2, 2]);
    let replayed = book.replayed(None);
    book.same(replayed);
}

/// Carries messages between books until there are none. `lost` selects the deliveries that do not
/// arrive.
fn carry(books: &mut [Book], mut lost: impl FnMut(u64) -> bool) {
    for round in 0..20 {
        let mut messages = Vec::new();
        for book in &*books {
            messages.extend(book.messages());
        }
        if messages.is_empty() {
            return;
        }
        for (n, (to, delivery)) in messages.into_iter().enumerate() {
            if lost(round * 100 + n as u64) {
                continue;
            }
            let book = &mut books[usize::from(to)];
            book.record.begin(FRAME);
            let taken = book.ledger.receive(book.at, book.now, &delivery, &mut book.record);
            book.append();
            if lost(round * 100 + n as u64 + 50) {
                continue;
            }
            let book = &mut books[usize::from(delivery.shard)];
            book.record.begin(FRAME);
            book.ledger.confirm(book.at, book.now, delivery.number, &taken, &mut book.record);
            book.append();
        }
    }
    panic!("messages are left");
}

/// Names that live on the shards 0, 1 and 2 of three.
fn names() -> [String; 3] {
    [0, 1, 2].map(|shard| {
        (0..)
            .map(|n| format!("user{n}"))
            .find(|name| wallet(name).home(3) == Some(shard))
            .expect("there is one")
    })
}

fn three() -> ([String; 3], Vec<Book>) {
    let names = names();
    let mut books: Vec<Book> = (0..3).map(|shard| Book::of(shard, 3)).collect();
    for (shard, book) in books.iter_mut().enumerate() {
        book.ids = shard as u128 * 1_000_000;
        book.open(&[&names[shard]]);
        book.books(post("@bank", &names[shard], 100));
    }
    (names, books)
}

fn transit(books: &[Book]) -> i64 {
    books
        .iter()
        .filter_map(|book| book.ledger.read(book.now, &Command::Wallet { wallet: wallet("@transit") }).ok())
        .map(|answer| match answer {
            Answer::Accounts(accounts) => accounts[0].balance.posted,
            other => panic!("{other:?}"),
        })
        .sum()
}

#[test]
fn a_transfer_between_shards_is_booked_on_both_or_on_none() {
    for loss in 0..40_u64 {
        let (names, mut books) = three();
        let (_, command) = books[0].transfers(vec![post(&names[0], &names[1], 60)], false);
        let Ok(Executed::Pending(number)) = books[0].execute(&command) else { panic!() };
        assert_eq!(books[0].balance(&names[0]), (100, 60));
        let again = outcomes(books[0].does(&command)).remove(0).expect_err("it is under way");
        assert_eq!(again.code(), "WAL-043");
        let mut seen = 0;
        carry(&mut books, |_| {
            seen += 1;
            seen == loss || loss > 20 && seen == loss - 19
        });
        let finished = books[0].finished();
        assert_eq!(finished.len(), 1);
        assert_eq!(finished[0].number, number);
        assert!(outcomes(finished[0].answer.clone().expect("it is booked"))[0].is_ok());
        assert_eq!([books[0].balance(&names[0]), books[1].balance(&names[1])], [(40, 0), (160, 0)]);
        assert_eq!(transit(&books), 0);
        for book in &mut books {
            let replayed = book.replayed(None);
            book.same(replayed);
        }
    }
}

#[test]
fn a_transaction_that_one_shard_refuses_is_booked_nowhere() {
    let (names, mut books) = three();
    let list =
        vec![post(&names[0], &names[1], 10), post(&names[1], &names[2], 20), post(&names[2], &names[0], 101)];
    let (_, command) = books[0].transfers(list, true);
    let Ok(Executed::Pending(_)) = books[0].execute(&command) else { panic!() };
    carry(&mut books, |_| false);
    let finished = books[0].finished();
    let refused = finished[0].answer.clone().expect_err("the third has not enough");
    assert!(refused.code() == "WAL-032" && refused.to_string().contains("WAL-023"), "{refused}");
    for (book, name) in books.iter_mut().zip(&names) {
        assert_eq!(book.balance(name), (100, 0));
        assert_eq!(book.ledger.figures().pending, 0);
        let replayed = book.replayed(None);
        book.same(replayed);
    }
}

#[test]
fn a_linked_list_over_three_shards_is_booked_everywhere() {
    let (names, mut books) = three();
    let first = books[0].books(hold(&names[0], &names[2], 30, 600_000));
    let list = vec![
        post(&names[0], &names[1], 10),
        post(&names[1], &names[2], 20),
        Kind::Capture { hold: first, amount: Some(25) },
        post(&names[2], "@prize", 5),
    ];
    let (ids, command) = books[0].transfers(list, true);
    let Ok(Executed::Pending(_)) = books[0].execute(&command) else { panic!() };
    carry(&mut books, |n| n % 3 == 1 && n < 1_000);
    let finished = books[0].finished();
    assert!(finished[0].answer.is_ok(), "{finished:?}");
    let balances: Vec<_> = books.iter().zip(&names).map(|(book, name)| book.balance(name)).collect();
    assert_eq!(balances, [(65, 0), (90, 0), (140, 0)]);
    assert_eq!(transit(&books), 0);
    // The result can be read where it was decided, and taken back.
    let Ok(Answer::Transfer(view)) = books[0].look_up(&Command::Find { transfer: ids[1] }) else { panic!() };
    assert_eq!((view.state, view.credit), (BookState::Posted, wallet(&names[2])));
    let (_, command) = books[0].transfers(vec![Kind::Reverse { transfer: ids[0] }], false);
    let Ok(Executed::Pending(_)) = books[0].execute(&command) else { panic!() };
    carry(&mut books, |_| false);
    assert_eq!([books[0].balance(&names[0]), books[1].balance(&names[1])], [(75, 0), (80, 0)]);
    assert_eq!(books[0].refuses(Kind::Reverse { transfer: ids[0] }), "WAL-029");
    for book in &mut books {
        let replayed = book.replayed(None);
        book.same(replayed);
    }
}

#[test]
fn a_transaction_that_nobody_answers_is_given_up_also_where_the_question_comes_late() {
    let (names, mut books) = three();
    let (_, command) = books[0].transfers(vec![post(&names[0], &names[1], 60)], false);
    let Ok(Executed::Pending(_)) = books[0].execute(&command) else { panic!() };
    let late = books[0].messages();
    books[0].now = books[0].now.after(30_000);
    books[0].tick();
    let finished = books[0].finished();
    assert_eq!(finished.len(), 1);
    let Ok(Answer::Booked(outcomes)) = &finished[0].answer else { panic!("{finished:?}") };
    assert!(matches!(outcomes[0], Err(Refusal::Busy { .. })));
    assert_eq!(books[0].balance(&names[0]), (100, 0));
    // The decision arrives before the question.
    let messages = books[0].messages();
    for (_, delivery) in messages.iter().chain(&late) {
        let book = &mut books[1];
        book.record.begin(FRAME);
        let _ = book.ledger.receive(book.at, book.now, delivery, &mut book.record);
        book.append();
    }
    assert_eq!(books[1].ledger.figures().pending, 0);
    assert_eq!(books[1].balance(&names[1]), (100, 0));
}

#[test]
fn a_transaction_under_way_survives_a_checkpoint_with_its_holds_and_locks() {
    let (names, mut books) = three();
    let old = books[0].books(hold(&names[0], &names[2], 30, 600_000));
    let older = books[0].books(hold(&names[0], "@shop", 20, 20_000));
    let list = vec![
        post(&names[0], &names[1], 10),
        hold(&names[0], &names[1], 40, 600_000),
        Kind::Void { hold: older },
        post("@prize", &names[2], 7),
    ];
    let (ids, command) = books[0].transfers(list, true);
    let Ok(Executed::Pending(_)) = books[0].execute(&command) else { panic!() };
    assert_eq!(books[0].balance(&names[0]), (100, 100));
    // Its hold cannot be ended by anybody else, and does not expire.
    assert_eq!(books[0].refuses(Kind::Capture { hold: older, amount: None }), "WAL-043");
    books[0].now = books[0].now.after(25_000);
    books[0].tick();
    assert_eq!(books[0].balance(&names[0]), (100, 100));
    // The question arrives, the answers do not; then all start again from their checkpoints.
    let messages = books[0].messages();
    assert_eq!(messages.len(), 2);
    for (to, delivery) in &messages {
        let book = &mut books[usize::from(*to)];
        book.record.begin(FRAME);
        assert_eq!(book.ledger.receive(book.at, book.now, delivery, &mut book.record), Ok(()));
        book.append();
    }
    for book in &mut books {
        let chunks = chunks_of(&mut book.ledger);
        let restored = book.replayed(Some((&chunks, book.at)));
        book.same(restored);
        book.ledger = book.replayed(Some((&chunks, book.at)));
    }
    assert_eq!(books[0].refuses(Kind::Capture { hold: older, amount: None }), "WAL-043");
    carry(&mut books, |_| false);
    assert_eq!(books[0].balance(&names[0]), (90, 70));
    assert_eq!(books[2].balance(&names[2]), (107, 0));
    // Both holds are captured by whom they are for, elsewhere; in part, so the rest comes back.
    for (id, amount) in [(old, 29), (ids[1], 39)] {
        let capture = Kind::Capture { hold: id, amount: Some(amount) };
        let (_, command) = books[0].transfers(vec![capture], false);
        let Ok(Executed::Pending(_)) = books[0].execute(&command) else { panic!() };
        carry(&mut books, |_| false);
    }
    let balances: Vec<_> = books.iter().zip(&names).map(|(book, name)| book.balance(name)).collect();
    assert_eq!(balances, [(22, 0), (149, 0), (136, 0)]);
    assert_eq!(transit(&books), 0);
    for book in &mut books {
        let replayed = book.replayed(None);
        book.same(replayed);
    }
}

/// A list over three shards that is booked: its outcomes, and the balances then.
fn booked_list(books: &mut [Book], names: &[String; 3]) -> Vec<NewTransfer> {
    let by_id = (5_000_000..).find(|&id| system_home(id) == 2).expect("ids spread over shards");
    let mut list = vec![
        post(&names[0], &names[1], 10),
        post(&names[1], &names[2], 20),
        post("@prize", &names[2], 7),
        post("@prize", "@shop", 3),
    ];
    let (_, command) = books[0].transfers(std::mem::take(&mut list), true);
    let Command::Transfer { mut transfers, .. } = command else { panic!("transfers") };
    transfers[3].id = TransferId(by_id);
    asks_for(books, &transfers).expect("it is booked");
    transfers
}

/// The shard that decides a transfer between system wallets alone, of three.
fn system_home(id: u128) -> u16 {
    alone(id, post("@prize", "@shop", 3)).home(3).expect("it names wallets")
}

fn alone(id: u128, kind: Kind) -> NewTransfer {
    let (reference, metadata) = (String::new(), Bytes::new());
    NewTransfer { id: TransferId(id), kind, reference, metadata, effective: None }
}

/// A list or one alone, asked where it is decided; all messages are carried.
fn asks_for(books: &mut [Book], transfers: &[NewTransfer]) -> Result<Vec<Outcome>, Refusal> {
    let at = usize::from(transfers[0].home(3).expect("it names wallets"));
    let command =
        Command::Transfer { transfers: transfers.to_vec(), linked: transfers.len() > 1, principal: None };
    let answer = match books[at].execute(&command)? {
        Executed::Done(answer) => answer,
        Executed::Pending(_) => {
            books[at].now = books[at].now.after(7);
            carry(books, |_| false);
            let answer = books[at].finished().pop().expect("it is decided").answer;
            answer?
        }
    };
    Ok(outcomes(answer))
}

fn balances(books: &[Book], names: &[String; 3]) -> Vec<(i64, u64)> {
    books.iter().zip(names).map(|(book, name)| book.balance(name)).collect()
}

/// The ids of a list that was booked are known where each would be decided alone, and nowhere else is anything done about them.
fn each_is_known_alone(books: &mut [Book], names: &[String; 3], list: &[NewTransfer]) {
    let before = balances(books, names);
    let whole = asks_for(books, list).expect("the same list is known where it was decided");
    assert!(whole.iter().all(|one| one.as_ref().is_ok_and(|booked| booked.duplicate)));
    for (transfer, first) in list.iter().zip(whole) {
        let again = asks_for(books, std::slice::from_ref(transfer)).expect("it is answered").remove(0);
        assert_eq!(again, first, "the first answer");
        let other = NewTransfer { reference: "another".into(), ..transfer.clone() };
        let refused = asks_for(books, &[other]).expect("it is answered").remove(0);
        assert_eq!(refused.expect_err("it has other content").code(), "WAL-026");
    }
    assert_eq!(balances(books, names), before);
    for book in &mut books[1..] {
        for transfer in list {
            let found = book.look_up(&Command::Find { transfer: transfer.id });
            assert_eq!(found.expect_err("shard 0 decided it").code(), "WAL-022");
            assert_eq!(book.refuses(Kind::Reverse { transfer: transfer.id }), "WAL-022");
        }
    }
}

#[test]
fn a_transfer_booked_in_a_list_is_known_where_it_would_be_decided_alone() {
    let (names, mut books) = three();
    let list = booked_list(&mut books, &names);
    assert_eq!(balances(&books, &names), [(90, 0), (90, 0), (127, 0)]);
    each_is_known_alone(&mut books, &names, &list);
    for book in &mut books {
        let replayed = book.replayed(None);
        book.same(replayed);
        book.ledger = book.replayed(None);
    }
    each_is_known_alone(&mut books, &names, &list);
    for book in &mut books {
        let chunks = chunks_of(&mut book.ledger);
        book.ledger = book.replayed(Some((&chunks, book.at)));
    }
    each_is_known_alone(&mut books, &names, &list);
    // Taken back once, where it was decided.
    let back = alone(900, Kind::Reverse { transfer: list[0].id });
    let Ok(Executed::Pending(_)) =
        books[0].execute(&Command::Transfer { transfers: vec![back], linked: false, principal: None })
    else {
        panic!("two shards take part")
    };
    carry(&mut books, |_| false);
    assert_eq!(balances(&books, &names), [(100, 0), (80, 0), (127, 0)]);
    assert_eq!(books[0].refuses(Kind::Reverse { transfer: list[0].id }), "WAL-029");
    each_is_known_alone(&mut books, &names, &list);
    for book in &mut books {
        let replayed = book.replayed(None);
        book.same(replayed);
    }
}

#[test]
fn a_transfer_booked_alone_is_not_booked_again_in_a_list() {
    let (names, mut books) = three();
    let by_id = (5_000_000..).find(|&id| system_home(id) == 2).expect("ids spread over shards");
    let again = [
        alone(801, post(&names[1], &names[2], 20)),
        alone(802, post("@prize", &names[2], 7)),
        alone(by_id, post("@prize", "@shop", 3)),
    ];
    for transfer in &again {
        assert!(asks_for(&mut books, std::slice::from_ref(transfer)).expect("it is answered")[0].is_ok());
    }
    let before = balances(&books, &names);
    for (number, transfer) in (900..).zip(&again) {
        let first = alone(number, post(&names[0], &names[1], 1));
        for transfer in [transfer.clone(), NewTransfer { reference: "another".into(), ..transfer.clone() }] {
            let refused = asks_for(&mut books, &[first.clone(), transfer]).expect_err("it was booked before");
            assert!(refused.code() == "WAL-032" && refused.to_string().contains("WAL-026"), "{refused}");
        }
    }
    assert_eq!(balances(&books, &names), before);
    let figures = books.iter().map(|book| book.ledger.figures());
    assert!(figures.into_iter().all(|figures| (figures.pending, figures.outgoing) == (0, 0)));
}

/// Carries the messages of one shard to the others, and no answers.
fn deliver_from(books: &mut [Book], from: usize) -> Vec<Result<(), Refusal>> {
    let mut messages = Vec::new();
    messages.extend(books[from].messages().into_iter().map(|(to, delivery)| (usize::from(to), delivery)));
    let receive = |(to, delivery): (usize, crate::Delivery)| {
        let book = &mut books[to];
        book.record.begin(FRAME);
        let taken = book.ledger.receive(book.at, book.now, &delivery, &mut book.record);
        book.append();
        taken
    };
    messages.into_iter().map(receive).collect()
}

#[test]
fn an_id_that_is_promised_to_a_list_waits_for_it_also_after_a_start() {
    let (names, mut books) = three();
    let list = [alone(801, post(&names[0], "@shop", 1)), alone(802, post(&names[1], &names[2], 20))];
    let command = Command::Transfer { transfers: list.to_vec(), linked: true, principal: None };
    let Ok(Executed::Pending(_)) = books[0].execute(&command) else { panic!("shard 1 is asked") };
    assert!(deliver_from(&mut books, 0).iter().all(Result::is_ok));
    for start in 0..3 {
        let outcome = asks_for(&mut books, &list[1..]).expect("it is answered").remove(0);
        // The list may yet book it: Busy would mean that nothing happens.
        assert!(matches!(outcome, Err(Refusal::Unknown { code: "WAL-043", .. })), "{outcome:?}");
        let checkpoint = (start == 1).then(|| chunks_of(&mut books[1].ledger));
        let at = books[1].at;
        books[1].ledger = books[1].replayed(checkpoint.as_deref().map(|chunks| (chunks, at)));
    }
    // Nobody agreed in time: then it is free again.
    books[0].now = books[0].now.after(30_000);
    books[0].tick();
    carry(&mut books, |_| false);
    let outcome = asks_for(&mut books, &list[1..]).expect("it is answered").remove(0);
    assert_eq!(outcome.map(|booked| booked.duplicate), Ok(false));
    assert_eq!(balances(&books, &names), [(100, 0), (80, 0), (120, 0)]);
}

#[test]
fn of_two_lists_with_the_same_ids_one_gives_way_at_once() {
    let (names, mut books) = three();
    let own = [alone(801, post(&names[0], "@shop", 1)), alone(802, post(&names[1], "@shop", 2))];
    for list in [[0, 1], [1, 0]] {
        let transfers = list.map(|at| own[at].clone());
        let at = usize::from(transfers[0].home(3).expect("it names wallets"));
        let command = Command::Transfer { transfers: transfers.to_vec(), linked: true, principal: None };
        let Ok(Executed::Pending(_)) = books[at].execute(&command) else { panic!("both shards are asked") };
    }
    // The lower shard's waits; the higher one's is refused, and the other goes on.
    let waits = deliver_from(&mut books, 0);
    assert!(matches!(waits[..], [Err(Refusal::Busy { code: "WAL-043", .. })]), "{waits:?}");
    carry(&mut books, |_| false);
    let refused = books[1].finished().pop().expect("it is decided").answer.expect_err("it gave way");
    assert!(refused.code() == "WAL-032" && refused.to_string().contains("WAL-026"), "{refused}");
    assert!(books[0].finished().pop().is_some_and(|finished| finished.answer.is_ok()));
    assert_eq!(balances(&books, &names), [(99, 0), (98, 0), (100, 0)]);
}

#[test]
fn ids_that_were_booked_elsewhere_are_forgotten_in_their_turn() {
    let (names, mut books) = three();
    books[1].bounds.transfers_remembered = 2;
    books[1].ledger = books[1].replayed(None);
    let elsewhere = [alone(801, post(&names[0], "@shop", 1)), alone(802, post(&names[1], &names[2], 20))];
    asks_for(&mut books, &elsewhere).expect("it is booked");
    assert_eq!(books[1].ledger.figures().remembered, 2);
    books[1].books(post(&names[1], "@shop", 1));
    assert!(
        asks_for(&mut books, &elsewhere[1..]).expect("it is answered")[0].clone().expect("known").duplicate
    );
    books[1].books(post(&names[1], "@shop", 1));
    let replayed = books[1].replayed(None);
    books[1].same(replayed);
    assert_eq!(books[1].ledger.figures().remembered, 2);
    // As long as ids are remembered, and no longer.
    let again = asks_for(&mut books, &elsewhere[1..]).expect("it is answered").remove(0);
    assert_eq!(again.map(|booked| booked.duplicate), Ok(false));
    let chunks = chunks_of(&mut books[1].ledger);
    let restored = books[1].replayed(Some((&chunks, books[1].at)));
    books[1].same(restored);
}
