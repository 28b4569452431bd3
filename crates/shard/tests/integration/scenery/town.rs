//! Several shards' cores on disks in memory, and the messages between them: wallets on all of them.
//!
//! A story decides which message arrives, and which shard dies before it does.

use std::collections::VecDeque;

use bytes::Bytes;
use stadium_queue::Refusal;
use stadium_shard::core::{Confirmation, Delivery};
use stadium_shard::{Answer, Done, Together};
use stadium_state_machine::{Merge as _, Routed as _};
use stadium_wallet::{
    AssetCode, Balance, Booked, Command, Kind, Ledger, NewAccount, NewTransfer, Overdraft, TransferId,
    WalletName,
};

use super::machine::{Machine, Shard};

/// What goes from shard to shard.
enum Crossing {
    Delivery(u16, Delivery),
    Confirmation(u16, Confirmation),
}

/// Who asked, and what came of it.
type Replied = (u64, Result<Answer, Refusal>);

/// Several shards. One whose power has failed is none until it is booted again.
pub struct Town {
    pub machines: Vec<Machine>,
    pub shards: Vec<Option<Shard>>,
    messages: VecDeque<Crossing>,
    callers: u64,
}

impl Town {
    pub fn new(count: u16) -> Self {
        let machines: Vec<Machine> = (0..count).map(|shard| Machine::of(shard, count)).collect();
        let shards = machines.iter().map(|machine| Some(machine.boot())).collect();
        Self { machines, shards, messages: VecDeque::new(), callers: 1_000 }
    }

    pub fn count(&self) -> u16 {
        self.machines.len() as u16
    }

    pub fn shard(&mut self, shard: u16) -> &mut Shard {
        self.shards[usize::from(shard)].as_mut().expect("it runs")
    }

    /// Whether all run.
    pub fn is_whole(&self) -> bool {
        self.shards.iter().all(Option::is_some)
    }

    /// A turn of each shard, and the messages that came of it. Answers of this turn, and whether there is more to do.
    pub fn turn(&mut self) -> (Vec<Replied>, bool) {
        let mut answers = Vec::new();
        let mut busy = false;
        for (at, machine) in self.machines.iter().enumerate() {
            let Some(shard) = &mut self.shards[at] else { continue };
            let next = shard.next_turn();
            busy |= next.at_once || next.awaited > 0;
            answers.extend(shard.output.replies.drain(..).map(|reply| (reply.caller, reply.answer)));
            let deliveries = shard.output.deliveries.drain(..);
            self.messages.extend(deliveries.map(|(to, delivery)| Crossing::Delivery(to, delivery)));
            let confirmations = shard.output.confirmations.drain(..);
            self.messages
                .extend(confirmations.map(|(to, confirmation)| Crossing::Confirmation(to, confirmation)));
            busy |= machine.step();
            if machine.disk.is_stopped() || machine.checkpoints.is_stopped() {
                self.shards[at] = None;
            }
        }
        while let Some(message) = self.messages.pop_front() {
            busy = true;
            match message {
                Crossing::Delivery(to, delivery) => match &mut self.shards[usize::from(to)] {
                    Some(shard) => shard.core.deliver(delivery),
                    None => {
                        let gone =
                            Refusal::Busy { code: "SHARD-004", retry_after: 50, reason: "gone".into() };
                        let from = usize::from(delivery.shard);
                        if let Some(shard) = &mut self.shards[from] {
                            shard.core.confirmed(delivery.confirmation(Err(gone)));
                        }
                    }
                },
                Crossing::Confirmation(to, confirmation) => {
                    if let Some(shard) = &mut self.shards[usize::from(to)] {
                        shard.core.confirmed(confirmation);
                    }
                }
            }
        }
        (answers, busy)
    }

    /// Runs until nothing is left to do, also of what is sent again when nobody answered for a while.
    pub fn settle_down(&mut self) {
        for _ in 0..3 {
            let mut calm = 0;
            for _ in 0..20_000 {
                calm = if self.turn().1 { 0 } else { calm + 1 };
                if calm > 20 {
                    break;
                }
            }
            assert!(calm > 20, "it does not come to rest");
            self.shards.iter_mut().flatten().for_each(|shard| shard.now += 11_000);
        }
    }

    /// Turns until all have answered; none for those whose shard lost its power.
    fn wait_for(&mut self, callers: &[u64]) -> Vec<Option<Result<Answer, Refusal>>> {
        let mut answers: Vec<Option<_>> = callers.iter().map(|_| None).collect();
        for _ in 0..3_000 {
            for (caller, answer) in self.turn().0 {
                if let Some(at) = callers.iter().position(|&asked| asked == caller) {
                    answers[at] = Some(answer);
                }
            }
            if answers.iter().all(Option::is_some) || !self.is_whole() {
                return answers;
            }
        }
        panic!("no answer");
    }

    /// The answer; none where the power failed.
    pub fn ask(&mut self, command: Command) -> Option<Result<stadium_wallet::Answer, Refusal>> {
        let (asked, merge) = Ledger::route(command, self.count()).into_parts();
        let mut callers = Vec::new();
        for (shard, command) in asked {
            self.callers += 1;
            callers.push(self.callers);
            let number = self.callers;
            self.shards[usize::from(shard)].as_mut()?.core.submit_to::<Ledger>(number, command);
        }
        let answers = self.wait_for(&callers);
        let of_wallet = |answer: Answer| answer.from_machine::<Ledger>().expect("the wallets'");
        let all: Option<Vec<_>> = answers.into_iter().map(|one| Some(one?.map(of_wallet))).collect();
        let mut all = all?;
        Some(match merge {
            Some(merge) => merge.merge(all),
            None => all.remove(0),
        })
    }

    pub fn done(&mut self, command: Command) -> stadium_wallet::Answer {
        self.ask(command).expect("power is on").expect("it is accepted")
    }

    /// Books one transfer; none where the power failed.
    pub fn book(&mut self, transfer: NewTransfer) -> Option<Result<Booked, Refusal>> {
        let command = Command::Transfer { transfers: vec![transfer], linked: false };
        Some(self.ask(command)?.and_then(|answer| match answer {
            stadium_wallet::Answer::Booked(mut outcomes) => outcomes.remove(0),
            other => panic!("{other:?}"),
        }))
    }

    pub fn together(&mut self, together: Together) -> Option<Result<Done, Refusal>> {
        let [shard] = together.shards(self.count())[..] else { panic!("one shard does it") };
        self.callers += 1;
        let number = self.callers;
        self.shards[usize::from(shard)].as_mut()?.core.submit_together(number, together);
        let answer = self.wait_for(&[number]).remove(0)?;
        Some(answer.map(|answer| match answer {
            Answer::Together(done) => done,
            other => panic!("{other:?}"),
        }))
    }

    /// Power fails everywhere, and comes back.
    pub fn crash(&mut self, survives: bool) {
        self.shards.iter_mut().for_each(|shard| *shard = None);
        self.messages.clear();
        for machine in &self.machines {
            machine.crash(survives);
        }
        self.boot();
    }

    /// Those that do not run start again.
    pub fn boot(&mut self) {
        for (shard, machine) in self.shards.iter_mut().zip(&self.machines) {
            if shard.is_none() {
                *shard = Some(machine.boot());
            }
        }
    }

    pub fn balance(&mut self, name: &str) -> Balance {
        match self.done(Command::Wallet { wallet: wallet(name) }) {
            stadium_wallet::Answer::Accounts(accounts) => accounts[0].balance,
            other => panic!("{other:?}"),
        }
    }

    /// Every shard counts all again, and no amount came from nowhere or went there.
    pub fn audit(&mut self) {
        for shard in self.shards.iter().flatten() {
            shard.core.ledger().expect("it is open").audit().expect("the books agree");
        }
        let stadium_wallet::Answer::Assets(assets) = self.done(Command::Assets) else { panic!("assets") };
        assert!(assets.iter().all(|asset| asset.credit == asset.debit), "{assets:?}");
    }

    /// Opens accounts of votes, and gives some to each wallet out of `@bank`.
    pub fn open(&mut self, names: &[&str], votes: u64) {
        self.done(Command::Declare { asset: votes_asset(), scale: 0 });
        let account = |name: &&str| NewAccount {
            wallet: wallet(name),
            asset: votes_asset(),
            overdraft: Overdraft::Never,
            ceiling: None,
        };
        self.done(Command::Open { accounts: names.iter().map(account).collect() });
        for (at, name) in names.iter().enumerate() {
            let paid = self.book(post(1_000_000 + at as u128, "@bank", name, votes));
            assert!(matches!(paid, Some(Ok(_))), "{paid:?}");
        }
    }
}

pub fn votes_asset() -> AssetCode {
    AssetCode::new("VOTE").expect("a story's asset")
}

pub fn wallet(name: &str) -> WalletName {
    WalletName::new(name).expect("a story's wallet")
}

pub fn post(id: u128, debit: &str, credit: &str, amount: u64) -> NewTransfer {
    let kind = Kind::Post { debit: wallet(debit), credit: wallet(credit), asset: votes_asset(), amount };
    NewTransfer {
        id: TransferId(id),
        kind,
        reference: String::new(),
        metadata: Bytes::new(),
        effective: None,
    }
}

/// A wallet that lives on that shard of so many.
pub fn on(shard: u16, shards: u16) -> String {
    let name = |number: u32| format!("w{number}");
    let lives = |number: &u32| wallet(&name(*number)).home(shards) == Some(shard);
    name((0..).find(lives).expect("names spread over shards"))
}
