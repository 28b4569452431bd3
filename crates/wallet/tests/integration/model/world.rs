//! Both ledgers side by side: each step is taken by both, and everything that can be seen is compared.
//!
//! The first difference ends the run with the commands that led to it.

use proptest::sample::Index;
use stadium_state_machine::Checkpointed as _;
use stadium_wallet::refusal::{ID_TWICE, INSUFFICIENT, RULES};
use stadium_wallet::{
    Answer, AssetCode, Balance, Change, Command, Direction, NewAccount, NewTransfer, Overdraft, Range,
    Refusal, Time, TransferId, WalletName,
};

use crate::model::harness::{
    self, Harness, Nowhere, account, asset, capture, hold, post, reverse, void, wallet,
};
use crate::model::naive::{Account, Codes, Naive};

#[derive(Debug, Clone)]
pub enum What {
    Post {
        debit: usize,
        credit: usize,
        asset: usize,
        amount: u64,
    },
    Hold {
        debit: usize,
        credit: usize,
        asset: usize,
        amount: u64,
        span: u64,
    },
    Capture {
        of: Index,
        amount: Option<u64>,
    },
    Void {
        of: Index,
    },
    Reverse {
        of: Index,
    },
    /// A client that got no answer asks again.
    Again(Index),
    /// A client that uses an id for something else.
    OtherContent(Index),
}

#[derive(Debug, Clone)]
pub enum Step {
    One(What),
    List(Vec<What>, bool),
    Open {
        wallet: usize,
        asset: usize,
        overdraft: bool,
        ceiling: Option<u64>,
    },
    Change {
        wallet: usize,
        asset: usize,
        overdraft: Option<bool>,
        ceiling: Option<Option<u64>>,
        closed: Option<bool>,
    },
    Pass(u64),
    Back(u64),
    Crash,
    Restart(usize),
    /// A checkpoint is begun, and goes on in slices of so many bytes between the next steps.
    Checkpoint(usize),
    Look(Index),
}

const WALLETS: [&str; 6] = ["alice", "bob", "carol", "dora", "@mint", "@shop"];
const ASSETS: [&str; 3] = ["VOTE", "EUR", "NONE"];

/// A checkpoint that is being taken.
struct Taking {
    chunks: Vec<Vec<u8>>,
    /// Records that were there when it began.
    records: usize,
    bytes: usize,
}

pub struct World {
    harness: Harness,
    naive: Naive,
    /// Everything that was ever sent.
    sent: Vec<NewTransfer>,
    ids: u128,
    jumped: bool,
    taking: Option<Taking>,
}

impl World {
    pub fn new() -> Self {
        let mut harness: Harness<Nowhere> = Harness::new();
        let mut naive = Naive { latest: harness.now, ..Naive::default() };
        for (code, scale) in [("VOTE", 0), ("EUR", 2)] {
            harness.declare(code, scale);
            naive.assets.insert(asset(code));
        }
        let mut world = Self { harness, naive, sent: Vec::new(), ids: 0, jumped: false, taking: None };
        for number in 0..3 {
            world.take(Step::Open { wallet: number, asset: 0, overdraft: false, ceiling: None });
        }
        world.take(Step::One(What::Post { debit: 4, credit: 0, asset: 0, amount: 100 }));
        world
    }

    fn make(&mut self, what: &What) -> NewTransfer {
        let of = |index: &Index, sent: &[NewTransfer]| match sent {
            [] => 77,
            sent => index.get(sent).id.0,
        };
        if let What::Again(index) | What::OtherContent(index) = what
            && !self.sent.is_empty()
        {
            let mut again = index.get(&self.sent).clone();
            if let What::OtherContent(_) = what {
                again.reference.push('x');
            }
            return again;
        }
        self.ids += 1;
        let id = self.ids;
        let new = match what {
            What::Post { debit, credit, asset, amount } => {
                post(id, WALLETS[*debit], WALLETS[*credit], ASSETS[*asset], *amount)
            }
            What::Hold { debit, credit, asset, amount, span } => {
                hold(id, WALLETS[*debit], WALLETS[*credit], ASSETS[*asset], *amount, *span)
            }
            What::Capture { of: index, amount } => capture(id, of(index, &self.sent), *amount),
            What::Void { of: index } => void(id, of(index, &self.sent)),
            What::Reverse { of: index } => reverse(id, of(index, &self.sent)),
            What::Again(_) | What::OtherContent(_) => post(id, "alice", "bob", "VOTE", 1),
        };
        // Every few carry what clients may add.
        let reference = if id.is_multiple_of(5) { format!("order {id}") } else { String::new() };
        let metadata = if id.is_multiple_of(7) { vec![id as u8; 9].into() } else { Vec::new().into() };
        let effective = (id.is_multiple_of(11)).then(|| Time(self.harness.now.0 - 5_000));
        NewTransfer { reference, metadata, effective, ..new }
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::One(what) => self.list(vec![what], false),
            Step::List(list, linked) => self.list(list, linked),
            Step::Open { wallet, asset: of, overdraft, ceiling } => {
                let overdraft_rule = if overdraft { Overdraft::Allowed } else { Overdraft::Never };
                let new =
                    NewAccount { overdraft: overdraft_rule, ceiling, ..account(WALLETS[wallet], ASSETS[of]) };
                let key = (new.wallet.clone(), new.asset.clone());
                let opened = self.harness.open(vec![new]).remove(0);
                match self.naive.accounts.get(&key) {
                    None => {
                        assert_eq!(opened, Ok(true));
                        self.naive.accounts.insert(key, Account { overdraft, ceiling, closed: false });
                    }
                    Some(has) if (has.overdraft, has.ceiling) == (overdraft, ceiling) => {
                        assert_eq!(opened, Ok(false))
                    }
                    Some(_) => assert_eq!(code(&opened.expect_err("it has other rules")), RULES),
                }
            }
            Step::Change { .. } => self.change(&step),
            Step::Pass(span) => {
                self.harness.pass(span);
                self.naive.pass(self.harness.now);
            }
            Step::Back(span) => {
                self.harness.now = Time(self.harness.now.0 - span);
                self.jumped = true;
            }
            Step::Crash => {
                self.harness.crash();
                self.taking = None;
                // Replay saw the clock of the records; a server that starts reads its clock.
                self.harness.tick();
                self.naive.latest = self.harness.ledger.now();
            }
            Step::Restart(bytes) => {
                self.harness.ledger.checkpoint_abort();
                self.taking = None;
                self.harness.restart(bytes);
            }
            Step::Checkpoint(bytes) => {
                self.harness.ledger.checkpoint_abort();
                self.harness.ledger.checkpoint_begin();
                self.taking = Some(Taking { chunks: Vec::new(), records: self.harness.records.len(), bytes });
            }
            Step::Look(index) => self.look(index),
        }
        self.slice();
        self.compare();
    }

    /// Transfers, each with its outcome compared; balances are not.
    pub fn list(&mut self, list: Vec<What>, linked: bool) {
        let list: Vec<NewTransfer> = list.iter().map(|what| self.make(what)).collect();
        let at = self.harness.now;
        let outcomes = self.harness.transfers(list.clone(), linked);
        let mut ids: Vec<TransferId> = list.iter().map(|new| new.id).collect();
        ids.sort();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            assert_eq!(code(&outcomes.expect_err("an id is in it twice")), ID_TWICE);
            return;
        }
        // A hold is over when its time comes, also where nobody has looked.
        self.naive.pass(at);
        self.harness.tick();
        let agrees = |refusal: &Refusal, codes: &Codes| {
            assert!(codes.contains(refusal.code()), "{refusal} is none of {codes:?}: {list:#?}");
        };
        let outcomes = match (outcomes, linked) {
            (Ok(outcomes), _) => outcomes,
            (Err(refusal), true) => {
                agrees(&refusal, &self.naive.linked(&list, at).expect_err("it was refused"));
                self.sent.extend(list.iter().cloned());
                return;
            }
            (Err(refusal), false) => {
                panic!("{refusal}: transfers that are not linked are answered one by one")
            }
        };
        let expected: Vec<Result<(Time, bool), Codes>> = if linked {
            let all = self.naive.linked(&list, at);
            all.unwrap_or_else(|codes| panic!("should be refused by {codes:?}: {list:#?}"))
                .into_iter()
                .map(Ok)
                .collect()
        } else {
            list.iter().map(|new| self.naive.one(new, at)).collect()
        };
        assert_eq!(outcomes.len(), expected.len());
        for ((outcome, expected), new) in outcomes.iter().zip(&expected).zip(&list) {
            match (outcome, expected) {
                (Ok(booked), Ok((at, duplicate))) => {
                    assert_eq!(
                        (booked.transfer, booked.at, booked.duplicate),
                        (new.id, *at, *duplicate),
                        "{new:?}"
                    );
                }
                (Err(refusal), Err(codes)) => agrees(refusal, codes),
                _ => panic!("{outcome:?}, and it should be {expected:?}: {new:?}"),
            }
        }
        self.sent.extend(list);
    }

    fn change(&mut self, step: &Step) {
        let Step::Change { wallet: of, asset: code_of, overdraft, ceiling, closed } = step else { return };
        let key = (wallet(WALLETS[*of]), asset(ASSETS[*code_of]));
        let overdraft_rule =
            overdraft.map(|allowed| if allowed { Overdraft::Allowed } else { Overdraft::Never });
        let change = Change { overdraft: overdraft_rule, ceiling: *ceiling, closed: *closed };
        let command = Command::Change { wallet: key.0.clone(), asset: key.1.clone(), change };
        let answer = self.harness.ask(command);
        let available = self.naive.posted(&key.0, &key.1) - self.naive.held(&key.0, &key.1);
        let Some(has) = self.naive.accounts.get_mut(&key) else {
            assert!(answer.is_err(), "there is no such account");
            return;
        };
        if has.overdraft && *overdraft == Some(false) && available < 0 {
            assert_eq!(code(&answer.expect_err("it is overdrawn")), INSUFFICIENT);
            return;
        }
        assert_eq!(answer, Ok(Answer::Done));
        has.overdraft = overdraft.unwrap_or(has.overdraft);
        has.ceiling = ceiling.unwrap_or(has.ceiling);
        has.closed = closed.unwrap_or(has.closed);
    }

    /// Goes on with the checkpoint that is being taken; when it is whole, it and the records after it must make the same ledger.
    fn slice(&mut self) {
        let Some(taking) = &mut self.taking else { return };
        let mut chunk = Vec::new();
        let more = self.harness.ledger.checkpoint_next(&mut chunk, taking.bytes);
        taking.chunks.push(chunk);
        if !more {
            let taking = self.taking.take().expect("it is there");
            let mut back = harness::restored(self.harness.place, &self.harness.bounds, &taking.chunks);
            self.harness.replay_into(&mut back, taking.records);
            self.harness.ledger = back;
            self.harness.tick();
            self.naive.latest = self.harness.ledger.now();
        }
    }

    /// Balances, rules and totals.
    fn compare(&mut self) {
        self.harness.ledger.audit().expect("the ledger's own count");
        for name in WALLETS {
            let views = self.harness.accounts(name);
            let name = wallet(name);
            let expected = self.naive.accounts.iter().filter(|((of, _), _)| *of == name);
            assert_eq!(views.len(), expected.clone().count(), "{name}");
            for ((_, code), rules) in expected {
                let view = views.iter().find(|view| view.asset == *code).expect("it is there");
                let balance = Balance {
                    posted: self.naive.posted(&name, code) as i64,
                    held: self.naive.held(&name, code) as u64,
                };
                assert_eq!(view.balance, balance, "{name}'s {code}");
                let overdraft = view.overdraft == Overdraft::Allowed;
                let has = Account { overdraft, ceiling: view.ceiling, closed: view.closed };
                assert_eq!(has, *rules, "{name}'s {code}");
                assert_eq!(view.entries, self.naive.entries(&name, code).len() as u64, "{name}'s {code}");
            }
        }
        let Ok(Answer::Assets(assets)) = self.harness.ask(Command::Assets) else {
            panic!("assets are answered")
        };
        for view in assets {
            let of: Vec<i128> = self
                .naive
                .accounts
                .keys()
                .filter(|(_, code)| *code == view.asset)
                .map(|(name, code)| self.naive.posted(name, code))
                .collect();
            let credit: i128 = of.iter().filter(|&&posted| posted > 0).sum();
            assert_eq!((view.credit, view.debit), (credit as u128, credit as u128), "{}", view.asset);
            assert_eq!(view.accounts, of.len() as u64);
        }
    }

    /// One transfer, by its id.
    fn look(&mut self, index: Index) {
        if self.sent.is_empty() {
            return;
        }
        let id = index.get(&self.sent).id;
        let found = self.harness.find(id.0);
        let Some(deed) = self.naive.deed(id) else {
            assert!(found.is_err(), "{id} was never booked, yet {found:?}");
            return;
        };
        let view = found.unwrap_or_else(|refusal| panic!("{refusal}: {deed:?}"));
        assert_eq!((view.transfer, view.state, view.at), (id, deed.state, deed.at), "{deed:?}");
        assert_eq!(
            (&view.debit, &view.credit, &view.asset, view.amount),
            (&deed.debit, &deed.credit, &deed.asset, deed.amount)
        );
        assert_eq!((view.of, view.effective), (deed.of, deed.new.effective), "{deed:?}");
        assert_eq!((&view.reference, &view.metadata), (&deed.new.reference, &deed.new.metadata));
    }

    pub fn finish(&mut self) {
        for at in 0..2 {
            self.histories();
            self.holds();
            let sent: Vec<TransferId> = self.sent.iter().map(|new| new.id).collect();
            // All of a short list, some of a long one.
            for id in sent.iter().step_by(1 + sent.len() / 200) {
                let found = self.harness.find(id.0).map(|view| (view.state, view.at));
                let expected = self.naive.deed(*id).map(|deed| (deed.state, deed.at));
                assert_eq!(found.ok(), expected, "{id}");
            }
            // Once more as it comes back from the records.
            if at == 0 {
                self.taking = None;
                self.take(Step::Crash);
            }
        }
    }

    fn holds(&mut self) {
        for name in WALLETS {
            let name = wallet(name);
            let Ok(Answer::Holds(views)) =
                self.harness.ask(Command::Holds { wallet: name.clone(), holds_max: 1_000 })
            else {
                continue;
            };
            let open = self
                .naive
                .deeds
                .iter()
                .filter(|deed| deed.state == stadium_wallet::BookState::Held && deed.debit == name);
            let open: Vec<_> =
                open.map(|deed| (deed.new.id, deed.amount, deed.credit.clone(), deed.expires)).collect();
            let views: Vec<_> = views
                .into_iter()
                .map(|view| (view.transfer, view.amount, view.credit, view.expires))
                .collect();
            assert_eq!(views, open, "{name}");
        }
    }

    fn histories(&mut self) {
        let keys: Vec<(WalletName, AssetCode)> = self.naive.accounts.keys().cloned().collect();
        for (name, code) in keys {
            let mut before = None;
            let mut pages = Vec::new();
            loop {
                let entries_max = if self.sent.len() > 1_000 { 333 } else { 7 };
                let range = Range { before, entries_max, ..Range::default() };
                let page =
                    self.harness.history(name.as_str(), code.as_str(), range).expect("it has a history");
                pages.extend(page.entries);
                match page.before {
                    Some(next) => before = Some(next),
                    None => break,
                }
            }
            pages.reverse();
            let entries = self.naive.entries(&name, &code);
            assert_eq!(pages.len(), entries.len(), "{name}'s {code}");
            for (at, (entry, (deed, balance))) in pages.iter().zip(&entries).enumerate() {
                assert_eq!(
                    (entry.number, i128::from(entry.balance)),
                    (at as u64 + 1, *balance),
                    "{name}'s {code}"
                );
                assert_eq!((entry.transfer.transfer, entry.transfer.amount), (deed.new.id, deed.amount));
                let direction = if deed.debit == name { Direction::Debit } else { Direction::Credit };
                assert_eq!(entry.direction, direction);
                assert_eq!((&entry.transfer.debit, &entry.transfer.credit), (&deed.debit, &deed.credit));
                assert_eq!((entry.transfer.at, &entry.transfer.reference), (deed.at, &deed.new.reference));
            }
            if self.jumped {
                continue;
            }
            let times: Vec<(Time, i128)> =
                entries.iter().map(|(deed, balance)| (deed.at, *balance)).collect();
            for (at, _) in times.iter().step_by(1 + times.len() / 20) {
                for time in [Time(at.0 - 1), *at, Time(at.0 + 1)] {
                    let last = times.iter().rev().find(|(at, _)| *at <= time);
                    let expected = last.map_or(0, |(_, balance)| *balance as i64);
                    let balance =
                        self.harness.balance_at(name.as_str(), code.as_str(), time).expect("it is answered");
                    assert_eq!(balance.posted, expected, "{name}'s {code} at {time:?}");
                }
            }
        }
    }
}

fn code(refusal: &Refusal) -> &'static str {
    refusal.code()
}
