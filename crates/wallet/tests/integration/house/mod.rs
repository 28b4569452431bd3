//! Several ledgers, the messages between them carried by hand, and clients who ask again.
//!
//! Messages are lost, repeated and overtake each other; a shard crashes and comes back with what
//! was durable. Nothing leaves a shard before the record that it speaks of is durable.

#![allow(dead_code, reason = "each suite uses a part of it")]

use std::collections::BTreeMap;

use stadium_wallet::refusal::TRANSFER_UNKNOWN;
use stadium_wallet::{
    Answer, AssetCode, Command, Delivery, Executed, Kind, NewTransfer, Outcome, Refusal, Time, TransferId,
    WalletName,
};

use crate::harness::{Harness, Log, account, asset, wallet};

/// SplitMix64: small, and the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// What is on its way.
#[derive(Debug, Clone)]
pub enum Mail {
    ShardMessage {
        to: u16,
        delivery: Delivery,
    },
    Taken {
        to: u16,
        number: u64,
        taken: Result<(), Refusal>,
    },
    /// To the client who asked that.
    Answer {
        asked: Question,
        answer: Result<Answer, Refusal>,
    },
}

/// Which command, and the how manieth time it was asked.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    command: usize,
    attempt: u32,
}

/// A command of a client.
#[derive(Debug, Clone)]
pub struct Asked {
    pub list: Vec<NewTransfer>,
    pub linked: bool,
    attempts: u32,
    /// The answer that the client got last, if any.
    pub answered: Option<Result<Vec<Outcome>, Refusal>>,
}

pub struct House<L> {
    pub harnesses: Vec<Harness<L>>,
    /// Records of each shard that are durable.
    durable: Vec<usize>,
    /// What leaves a shard when all its records are durable.
    leaving: Vec<Vec<Mail>>,
    pub mail: Vec<Mail>,
    pub asked: Vec<Asked>,
    /// Commands by the transaction that they wait for: lost when the shard crashes.
    waiting: BTreeMap<(usize, u64), Question>,
    pub wallets: Vec<WalletName>,
    pub random: Random,
    ids: u128,
    /// Of each id that was booked: the time in the answers, and the command that booked it, once
    /// that was answered.
    first: BTreeMap<TransferId, (Time, Option<usize>)>,
    /// Whether a crash may take records that are not durable.
    tears: bool,
}

pub const ASSETS: [&str; 2] = ["VOTE", "EUR"];
pub const GRANT: u64 = 100;

impl<L: Log> House<L> {
    /// Wallets on all shards, each with something.
    pub fn new(mut harnesses: Vec<Harness<L>>, seed: u64, tears: bool) -> Self {
        let shards = harnesses.len() as u16;
        let wallets: Vec<WalletName> = (0..shards * 3).map(|number| wallet(&format!("w{number}"))).collect();
        for (shard, harness) in harnesses.iter_mut().enumerate() {
            for (scale, code) in ASSETS.into_iter().enumerate() {
                harness.declare(code, scale as u8);
            }
            let here = wallets.iter().filter(|wallet| wallet.home(shards) == Some(shard as u16));
            for code in ASSETS {
                for name in here.clone() {
                    assert_eq!(harness.open(vec![account(name.as_str(), code)]), [Ok(true)]);
                }
            }
        }
        let count = harnesses.len();
        let mut house = Self {
            harnesses,
            durable: vec![0; count],
            leaving: vec![Vec::new(); count],
            mail: Vec::new(),
            asked: Vec::new(),
            waiting: BTreeMap::new(),
            wallets,
            random: Random(seed),
            ids: 0,
            first: BTreeMap::new(),
            tears,
        };
        for name in house.wallets.clone() {
            for code in ASSETS {
                let kind = Kind::Post {
                    debit: wallet("@mint"),
                    credit: name.clone(),
                    asset: asset(code),
                    amount: GRANT,
                };
                let grant = house.transfer(kind);
                house.ask(vec![grant], false);
            }
        }
        (0..count).for_each(|shard| house.sync(shard));
        house
    }

    pub fn transfer(&mut self, kind: Kind) -> NewTransfer {
        self.ids += 1;
        crate::harness::transfer(self.ids, kind)
    }

    /// A client asks the shard that decides; where only an id is named, each in turn.
    pub fn ask(&mut self, list: Vec<NewTransfer>, linked: bool) {
        self.asked.push(Asked { list, linked, attempts: 0, answered: None });
        self.ask_again(self.asked.len() - 1);
    }

    /// Again, under the same ids. An earlier refusal implies nothing about this time.
    pub fn ask_again(&mut self, asked: usize) {
        let one = &mut self.asked[asked];
        one.attempts += 1;
        if !one.answered.as_ref().is_some_and(any_booked) {
            one.answered = None;
        }
        let Asked { list, linked, attempts: attempt, .. } = one.clone();
        let asked = Question { command: asked, attempt };
        let shards = self.harnesses.len();
        let home = list[0].home(shards as u16);
        let candidates: Vec<usize> =
            home.map_or_else(|| (0..shards).collect(), |home| vec![usize::from(home)]);
        // Some are of a key, some of nobody.
        let principal = (list[0].id.0 % 2 == 1).then(|| "k_0011223344556677".parse().expect("an id"));
        let command = Command::Transfer { transfers: list, linked, principal };
        for (at, &shard) in candidates.iter().enumerate() {
            let answer = match self.harnesses[shard].execute(&command) {
                Ok(Executed::Pending(number)) => {
                    self.waiting.insert((shard, number), asked);
                    self.take_finished(shard);
                    return;
                }
                Ok(Executed::Done(answer)) => Ok(answer),
                Err(refusal) => Err(refusal),
            };
            self.take_finished(shard);
            let is_unknown = match &answer {
                Ok(Answer::Booked(outcomes)) => {
                    matches!(outcomes.as_slice(), [Err(refusal)] if refusal.code() == TRANSFER_UNKNOWN)
                }
                Err(refusal) => refusal.code() == TRANSFER_UNKNOWN,
                Ok(_) => false,
            };
            if !is_unknown || at + 1 == candidates.len() {
                self.leaving[shard].push(Mail::Answer { asked, answer });
                return;
            }
        }
    }

    fn take_finished(&mut self, shard: usize) {
        for (number, answer) in self.harnesses[shard].decided() {
            let asked = self.waiting.remove(&(shard, number)).expect("somebody waits for it");
            self.leaving[shard].push(Mail::Answer { asked, answer });
        }
    }

    /// All records of a shard become durable: what speaks of them leaves. Messages that are not
    /// confirmed leave again.
    pub fn sync(&mut self, shard: usize) {
        self.durable[shard] = self.harnesses[shard].records.len();
        let leaving = std::mem::take(&mut self.leaving[shard]);
        for mail in leaving {
            match mail {
                Mail::Answer { asked, answer } => self.receive(asked, answer),
                mail => self.mail.push(mail),
            }
        }
        for (to, delivery) in self.harnesses[shard].messages() {
            self.mail.push(Mail::ShardMessage { to, delivery });
        }
    }

    fn receive(&mut self, asked: Question, answer: Result<Answer, Refusal>) {
        let answered = match answer {
            Ok(Answer::Booked(outcomes)) => Ok(outcomes),
            Ok(other) => panic!("transfers are answered by {other:?}"),
            Err(refusal) => Err(refusal),
        };
        let Asked { answered: before, attempts, .. } = &mut self.asked[asked.command];
        if let (Some(Ok(before)), Ok(now)) = (&*before, &answered) {
            for (before, now) in before.iter().zip(now) {
                if let Ok(booked) = before {
                    let again = now.as_ref().expect("what was booked stays booked");
                    assert_eq!((booked.transfer, booked.at), (again.transfer, again.at), "the first answer");
                    assert!(again.duplicate, "an id books once");
                }
            }
        }
        for booked in answered.iter().flatten().flatten() {
            let (at, by) = self.first.entry(booked.transfer).or_insert((booked.at, None));
            assert_eq!(*at, booked.at, "{}: the first answer, alone and in a list", booked.transfer);
            if !booked.duplicate {
                assert_eq!(
                    *by.get_or_insert(asked.command),
                    asked.command,
                    "{} is booked twice",
                    booked.transfer
                );
            }
        }
        // A client that asked again meanwhile does not go by an earlier refusal.
        let counts = asked.attempt == *attempts || any_booked(&answered);
        if counts && !before.as_ref().is_some_and(any_booked) {
            *before = Some(answered);
        }
    }

    /// One message arrives.
    pub fn deliver(&mut self, at: usize) {
        let mail = self.mail.swap_remove(at);
        match mail {
            Mail::ShardMessage { to, delivery } => {
                let shard = usize::from(to);
                let taken = self.harnesses[shard]
                    .record(|ledger, at, now, record| ledger.receive(at, now, &delivery, record));
                self.take_finished(shard);
                if !matches!(taken, Err(Refusal::Busy { .. })) {
                    self.leaving[shard].push(Mail::Taken {
                        to: delivery.shard,
                        number: delivery.number,
                        taken,
                    });
                }
            }
            Mail::Taken { to, number, taken } => {
                let shard = usize::from(to);
                self.harnesses[shard]
                    .record(|ledger, at, now, record| ledger.confirm(at, now, number, &taken, record));
                self.take_finished(shard);
            }
            Mail::Answer { .. } => unreachable!("clients are answered at once"),
        }
    }

    /// A shard's process dies and comes back. Who waited waits in vain.
    pub fn crash(&mut self, shard: usize) {
        if self.tears {
            self.harnesses[shard].records.truncate(self.durable[shard]);
        }
        self.leaving[shard].clear();
        self.waiting.retain(|&(of, _), _| of != shard);
        self.harnesses[shard].crash();
    }

    pub fn restart(&mut self, shard: usize, bytes_max: usize) {
        self.sync(shard);
        self.waiting.retain(|&(of, _), _| of != shard);
        self.harnesses[shard].restart(bytes_max);
    }

    fn a_wallet(&mut self) -> WalletName {
        match self.random.below(12) {
            0 => wallet("@shop"),
            _ => self.wallets[self.random.below(self.wallets.len() as u64) as usize].clone(),
        }
    }

    fn a_post(&mut self, asset: &AssetCode) -> NewTransfer {
        loop {
            let (debit, credit) = (self.a_wallet(), self.a_wallet());
            if debit != credit {
                let amount = 1 + self.random.below(60);
                return self.transfer(Kind::Post { debit, credit, asset: asset.clone(), amount });
            }
        }
    }

    /// One of a linked list: mostly a post, now and then anything else.
    fn a_linked(&mut self, asset: &AssetCode) -> NewTransfer {
        match self.random.below(12) {
            0 => {
                let (debit, credit) = (self.wallets[0].clone(), self.wallets[1].clone());
                let (amount, expires_after) = (1 + self.random.below(20), 1_000 + self.random.below(60_000));
                self.transfer(Kind::Hold { debit, credit, asset: asset.clone(), amount, expires_after })
            }
            1 => {
                let hold = self.an_id();
                self.transfer(Kind::Capture { hold, amount: None })
            }
            2 => {
                let hold = self.an_id();
                self.transfer(Kind::Void { hold })
            }
            3 => {
                let transfer = self.an_id();
                self.transfer(Kind::Reverse { transfer })
            }
            4 => {
                let (debit, credit) = (wallet("@shop"), wallet("@mint"));
                self.transfer(Kind::Post { debit, credit, asset: asset.clone(), amount: 1 })
            }
            _ => self.a_post(asset),
        }
    }

    /// A post that was asked before, alone or in a list.
    fn an_old_post(&mut self) -> Option<NewTransfer> {
        let asked = self.random.below(self.asked.len() as u64) as usize;
        let posts = self.asked[asked].list.iter().filter(|new| matches!(new.kind, Kind::Post { .. }));
        let posts: Vec<NewTransfer> = posts.cloned().collect();
        let at = self.random.below(posts.len().max(1) as u64) as usize;
        posts.get(at).cloned()
    }

    fn an_id(&mut self) -> TransferId {
        let asked = self.random.below(self.asked.len() as u64) as usize;
        self.asked[asked].list[0].id
    }

    /// Something that a client wants.
    pub fn wish(&mut self) {
        let asset = asset(ASSETS[self.random.below(2) as usize]);
        match self.random.below(14) {
            12 => {
                if let Some(post) = self.an_old_post() {
                    self.ask(vec![post], false);
                }
            }
            13 => {
                if let Some(post) = self.an_old_post() {
                    let first = self.a_post(&asset);
                    self.ask(vec![first, post], true);
                }
            }
            0..=4 => {
                let post = self.a_post(&asset);
                self.ask(vec![post], false);
            }
            5 | 6 => {
                let list = (0..2 + self.random.below(3)).map(|_| self.a_linked(&asset)).collect();
                self.ask(list, true);
            }
            7 | 8 => {
                let (debit, credit) = (self.wallets[self.random.below(3) as usize].clone(), self.a_wallet());
                if debit != credit {
                    let (amount, expires_after) =
                        (1 + self.random.below(60), 1_000 + self.random.below(60_000));
                    let hold = self.transfer(Kind::Hold { debit, credit, asset, amount, expires_after });
                    self.ask(vec![hold], false);
                }
            }
            9 => {
                let (hold, amount) = (self.an_id(), self.random.one_in(2).then_some(1));
                let capture = self.transfer(Kind::Capture { hold, amount });
                self.ask(vec![capture], false);
            }
            10 => {
                let hold = self.an_id();
                let void = self.transfer(Kind::Void { hold });
                self.ask(vec![void], false);
            }
            _ => {
                let transfer = self.an_id();
                let reversal = self.transfer(Kind::Reverse { transfer });
                self.ask(vec![reversal], false);
            }
        }
    }

    /// One thing happens.
    pub fn step(&mut self) {
        let shard = self.random.below(self.harnesses.len() as u64) as usize;
        match self.random.below(40) {
            0..=7 => self.wish(),
            8..=17 => self.sync(shard),
            18..=33 if !self.mail.is_empty() => {
                let at = self.random.below(self.mail.len() as u64) as usize;
                if self.random.one_in(4) {
                    let again = self.mail[at].clone();
                    self.mail.push(again);
                }
                self.deliver(at);
            }
            34 | 35 if !self.mail.is_empty() => {
                let lost = self.random.below(self.mail.len() as u64) as usize;
                self.mail.swap_remove(lost);
            }
            36 => self.crash(shard),
            37 => {
                let bytes = 1 + self.random.below(2_000) as usize;
                self.restart(shard, bytes);
            }
            38 => {
                let span = if self.random.one_in(4) { 31_000 } else { self.random.below(2_000) };
                self.harnesses.iter_mut().for_each(|harness| harness.now = harness.now.after(span));
                self.harnesses[shard].tick();
                self.take_finished(shard);
            }
            39 => {
                let asked = self.random.below(self.asked.len() as u64) as usize;
                self.ask_again(asked);
            }
            _ => {}
        }
        // Old copies of messages are not kept for ever.
        while self.mail.len() > 200 {
            let lost = self.random.below(self.mail.len() as u64) as usize;
            self.mail.swap_remove(lost);
        }
        let harness = &mut self.harnesses[shard];
        harness.ledger.audit().unwrap_or_else(|wrong| panic!("shard {shard}: {wrong}"));
        let wallets = self.wallets.clone();
        for name in wallets {
            for view in harness.accounts(name.as_str()) {
                assert!(view.balance.available() >= 0, "{name} is overdrawn: {view:?}");
            }
        }
    }

    /// Everything that is under way arrives.
    pub fn settle(&mut self) {
        for _ in 0..200 {
            (0..self.harnesses.len()).for_each(|shard| {
                self.harnesses[shard].tick();
                self.take_finished(shard);
                self.sync(shard);
            });
            while !self.mail.is_empty() {
                self.deliver(self.mail.len() - 1);
            }
            let is_open = self.harnesses.iter().any(|harness| {
                let figures = harness.ledger.figures();
                figures.pending > 0 || figures.outgoing > 0
            });
            if !is_open {
                (0..self.harnesses.len()).for_each(|shard| self.sync(shard));
                return;
            }
        }
        let figures: Vec<_> = self.harnesses.iter().map(|harness| harness.ledger.figures()).collect();
        panic!("it never settles: {figures:#?}");
    }

    /// All is settled: every client asks again, and every answer must match the books.
    pub fn check(&mut self) {
        self.settle();
        let mut booked: BTreeMap<TransferId, NewTransfer> = BTreeMap::new();
        for asked in 0..self.asked.len() {
            let was_refused = |answered: &Result<Vec<Outcome>, Refusal>| match answered {
                Err(refusal) => matches!(refusal, Refusal::Rejected { .. }),
                Ok(outcomes) => {
                    outcomes.iter().all(|outcome| matches!(outcome, Err(Refusal::Rejected { .. })))
                }
            };
            // Refused clients do not ask again; the comparison below proves that nothing of theirs
            // was booked.
            if self.asked[asked].answered.as_ref().is_some_and(was_refused) {
                continue;
            }
            self.ask_again(asked);
            self.settle();
            let Asked { list, linked, answered, .. } = &self.asked[asked];
            let outcomes: Vec<bool> =
                match answered.as_ref().expect("everything is answered when all is settled") {
                    Ok(outcomes) => outcomes.iter().map(Result::is_ok).collect(),
                    Err(_) => vec![false; list.len()],
                };
            assert!(!linked || outcomes.iter().all(|&one| one == outcomes[0]), "all or none: {list:?}");
            booked.extend(
                list.iter().zip(outcomes).filter(|(_, ok)| *ok).map(|(new, _)| (new.id, new.clone())),
            );
        }
        self.compare(&booked);
    }

    /// What was booked, counted, against every balance.
    fn compare(&mut self, booked: &BTreeMap<TransferId, NewTransfer>) {
        let mut expected: BTreeMap<(WalletName, AssetCode), i64> = BTreeMap::new();
        for new in booked.values() {
            let Some((debit, credit, asset, amount)) = moved(new, booked) else { continue };
            *expected.entry((debit, asset.clone())).or_default() -= amount as i64;
            *expected.entry((credit, asset)).or_default() += amount as i64;
        }
        let names: Vec<WalletName> =
            self.wallets.iter().cloned().chain([wallet("@shop"), wallet("@mint")]).collect();
        for name in names {
            for code in ASSETS {
                let posted: i64 = self
                    .harnesses
                    .iter_mut()
                    .map(|harness| harness.balance(name.as_str(), code).posted)
                    .sum();
                let counted = expected.get(&(name.clone(), asset(code))).copied().unwrap_or_default();
                assert_eq!(posted, counted, "{name}'s {code}");
            }
        }
        for code in ASSETS {
            let transit: i64 =
                self.harnesses.iter_mut().map(|harness| harness.balance("@transit", code).posted).sum();
            assert_eq!(transit, 0, "nothing of {code} is between shards");
        }
        for (shard, harness) in self.harnesses.iter().enumerate() {
            harness.ledger.audit().unwrap_or_else(|wrong| panic!("shard {shard}: {wrong}"));
        }
    }
}

fn any_booked(answered: &Result<Vec<Outcome>, Refusal>) -> bool {
    answered.as_ref().is_ok_and(|outcomes| outcomes.iter().any(Result::is_ok))
}

/// What a transfer that was booked moved.
fn moved(
    new: &NewTransfer,
    booked: &BTreeMap<TransferId, NewTransfer>,
) -> Option<(WalletName, WalletName, AssetCode, u64)> {
    match &new.kind {
        Kind::Post { debit, credit, asset, amount } => {
            Some((debit.clone(), credit.clone(), asset.clone(), *amount))
        }
        Kind::Capture { hold, amount: captured } => match &booked[hold].kind {
            Kind::Hold { debit, credit, asset, amount, .. } => {
                Some((debit.clone(), credit.clone(), asset.clone(), captured.unwrap_or(*amount)))
            }
            other => panic!("a capture of {other:?}"),
        },
        Kind::Reverse { transfer } => {
            let mut of = &booked[transfer];
            if let Kind::Hold { .. } = of.kind {
                let capture =
                    |new: &&NewTransfer| matches!(&new.kind, Kind::Capture { hold, .. } if hold == transfer);
                of = booked.values().find(capture).expect("a hold that was reversed was captured");
            }
            moved(of, booked).map(|(debit, credit, asset, amount)| (credit, debit, asset, amount))
        }
        Kind::Hold { .. } | Kind::Void { .. } => None,
    }
}
