//! Wallets in the simulation: commands go to their shards, answers come back together, and the checker looks.
//!
//! Which shards a command is for, and how their answers become one, is the product's own code, as it runs above all shards.

use std::collections::BTreeMap;

use fastrand::Rng;
use stadium_queue::{Command as QueueCommand, NewJob, Queues};
use stadium_shard::core::Output;
use stadium_shard::{Answer, Together};
use stadium_state_machine::{Merge as _, Routed as _};
use stadium_wallet::{AssetCode, Command, Ledger, Merging, Range, Refusal, Seal, WalletName};

use super::{TURNS_MAX, World};
use crate::asker::{Asker, is_open};
use crate::clock::Span;
use crate::ledger::{Issued, Violation};
use crate::message::Tag;
use crate::wallet::{
    Answered, Ask, Checker, Choice, Clients, Look, Pages, Replied, WalletPlan, Wish, principal_of,
};

/// The answer of a shard to a part of a command.
type Part = Result<Answer, Refusal>;

/// The wallets of a run.
pub(super) struct Wallets {
    plan: WalletPlan,
    checker: Checker,
    clients: Clients,
    random: Rng,
    /// Each part that is under way: whose, and which.
    parts: BTreeMap<u64, (u64, usize)>,
    collecting: BTreeMap<u64, Collecting>,
    /// What the checker sees while it looks.
    look: Option<Look>,
    /// The seals of each shard at the last look.
    seals: Vec<Vec<Seal>>,
    /// Transfers and jobs that were asked for together.
    together: Vec<(stadium_wallet::TransferId, Vec<Tag>)>,
}

/// A command whose parts are under way.
struct Collecting {
    how: How,
    answers: Vec<Option<Part>>,
    /// The times that the clock showed since.
    during: Span,
}

/// How its answers become one.
enum How {
    Wallet(Option<Merging>),
    /// The shard that was asked.
    Together(u16),
}

/// Looks until everything must have come to rest, a tenth of a second apart.
const LOOKS_MAX: u32 = 400;

impl Wallets {
    pub(super) fn new(plan: WalletPlan, shards: u16, seed: u64) -> Wallets {
        Wallets {
            checker: Checker::new(&plan, shards),
            plan,
            clients: Clients::default(),
            random: Rng::with_seed(seed ^ 0x5741_4c4c),
            parts: BTreeMap::new(),
            collecting: BTreeMap::new(),
            look: None,
            seals: vec![Vec::new(); usize::from(shards)],
            together: Vec::new(),
        }
    }

    /// Commands under way may be answered Busy from now on.
    pub(super) fn trouble_begins(&mut self) {
        self.checker.flying.asked.values_mut().for_each(|asked| asked.may_be_busy = true);
    }

    /// The clock shows something else.
    pub(super) fn time_passes(&mut self, now: Span) {
        self.collecting.values_mut().for_each(|collecting| collecting.during = collecting.during.around(now));
    }

    /// Whether the checker's questions are under way.
    pub(super) fn is_looked_at(&self) -> bool {
        self.look.is_some()
    }

    /// Commands that are not answered.
    pub(super) fn flying(&self) -> usize {
        self.collecting.len()
    }

    /// One in so many messages between shards comes late or twice.
    pub(super) fn messages(&self) -> u32 {
        self.plan.messages
    }

    /// Once in so many steps one shard's journal fails.
    pub(super) fn lose_one(&self) -> u32 {
        self.plan.lose_one
    }
}

impl World {
    /// Assets and accounts, and what they have at first.
    pub(super) fn open_wallets(&mut self) -> Result<(), Violation> {
        let Some(wallets) = &self.wallets else { return Ok(()) };
        let plan = wallets.plan.clone();
        for (asset, scale) in plan.assets {
            self.submit_wallet(Ask::Wallet(Command::Declare { asset, scale }), None);
        }
        self.quiet()?;
        self.submit_wallet(Ask::Wallet(Command::Open { accounts: plan.accounts }), None);
        self.quiet()?;
        let first = self.choose(|clients, choice| clients.first_credit(choice));
        for (ask, wrong) in first.into_iter().flatten() {
            self.submit_wallet(ask, wrong);
        }
        self.quiet()
    }

    /// Clients ask something of the wallets.
    pub(super) fn ask_wallets(&mut self) {
        let Some(wallets) = &mut self.wallets else { return };
        for _ in 0..wallets.random.u32(..=wallets.plan.commands_max) {
            let wish: Option<Wish> = self.choose(|clients, choice| clients.next(choice)).flatten();
            if let Some((ask, wrong)) = wish {
                self.submit_wallet(ask, wrong);
            }
        }
    }

    fn choose<T>(&mut self, choose: impl FnOnce(&mut Clients, &mut Choice<'_>) -> T) -> Option<T> {
        let wallets = self.wallets.as_mut()?;
        let mut choice = Choice {
            plan: &self.plan,
            wallets: &wallets.plan,
            books: &mut wallets.checker.books,
            ledger: &mut self.ledger,
            clock: &self.clock,
            random: &mut wallets.random,
        };
        Some(choose(&mut wallets.clients, &mut choice))
    }

    fn submit_wallet(&mut self, ask: Ask, wrong: Option<&'static str>) {
        self.next_number += 1;
        let whole = self.next_number;
        self.trace.line(&self.clock, || format!("#{whole} -> wallets: {ask:?}"));
        let trouble = self.trouble;
        let Some(wallets) = &mut self.wallets else { return };
        let checker = &mut wallets.checker;
        checker.flying.begin(&mut checker.books, whole, ask.clone(), wrong, trouble);
        let (how, count) = match ask {
            Ask::Wallet(command) => {
                let (asked, merging) = Ledger::route(command, self.plan.shards).into_parts();
                let count = asked.len();
                for (place, (shard, command)) in asked.into_iter().enumerate() {
                    self.submit_part(whole, place, shard, command);
                }
                (How::Wallet(merging), count)
            }
            Ask::Together { transfers, jobs } => {
                if let Some(first) = transfers.first() {
                    let tags = jobs.iter().map(|(_, _, tag)| *tag).collect();
                    wallets.together.push((first.id, tags));
                }
                let jobs = jobs.into_iter().map(|(queue, job, _)| (self.plan.queues[queue.0].0.clone(), job));
                let principal = principal_of(&transfers);
                let together = Together { transfers, jobs: jobs.collect(), principal };
                let shard = together.shards(self.plan.shards)[0];
                self.next_number += 1;
                let number = self.next_number;
                wallets.parts.insert(number, (whole, 0));
                self.core(shard).submit_together(Asker(number), together);
                (How::Together(shard), 1)
            }
        };
        let answers = std::iter::repeat_with(|| None).take(count).collect();
        let collecting = Collecting { how, answers, during: Span::of(&self.clock) };
        if let Some(wallets) = &mut self.wallets {
            wallets.collecting.insert(whole, collecting);
        }
    }

    fn submit_part(&mut self, whole: u64, place: usize, shard: u16, command: Command) -> u64 {
        self.next_number += 1;
        let number = self.next_number;
        if let Some(wallets) = &mut self.wallets {
            wallets.parts.insert(number, (whole, place));
        }
        self.core(shard).submit_to::<Ledger>(Asker(number), command);
        number
    }

    /// An answer, where it is one of the wallets'; given back where it is not.
    pub(super) fn wallet_replied(&mut self, number: u64, answer: Part) -> Result<Option<Part>, Violation> {
        let Some(wallets) = &mut self.wallets else { return Ok(Some(answer)) };
        let Some((whole, place)) = wallets.parts.remove(&number) else { return Ok(Some(answer)) };
        if let Some(look) = &mut wallets.look
            && whole == 0
        {
            look.answered(number, of_wallets(answer)?, self.trouble)?;
            return Ok(None);
        }
        let Some(collecting) = wallets.collecting.get_mut(&whole) else {
            return Violation::new(format!("#{whole} is answered, and has been: {answer:?}"));
        };
        collecting.answers[place] = Some(answer);
        if collecting.answers.iter().any(Option::is_none) {
            let part = &collecting.answers[place];
            self.trace.line(&self.clock, || format!("#{whole} has the answer of its part {place}: {part:?}"));
            return Ok(None);
        }
        let collecting = wallets.collecting.remove(&whole).expect("it was there just now");
        let answers = collecting.answers.into_iter().flatten();
        let (answer, shard): (Answered, u16) = match collecting.how {
            How::Wallet(merging) => {
                let mut answers = answers.map(of_wallets).collect::<Result<Vec<_>, _>>()?;
                let answer = match merging {
                    Some(merging) => merging.merge(answers),
                    None => answers.remove(0),
                };
                (answer.map(Replied::Wallet), 0)
            }
            How::Together(shard) => match answers.last() {
                Some(Ok(Answer::Together(done))) => (Ok(Replied::Together(done.booked, done.placed)), shard),
                Some(Err(refusal)) => (Err(refusal), shard),
                other => return Violation::new(format!("#{whole} is answered {other:?}")),
            },
        };
        self.trace.line(&self.clock, || format!("#{whole} <- {}", brief(&answer)));
        match &answer {
            Ok(_) => self.summary.accepted += 1,
            Err(_) => self.summary.refused += 1,
        }
        let high = self.clock.high();
        if matches!(&answer, Err(refusal) if is_open(refusal)) {
            // As after a crash: the next look asks what became of it.
            let Some(asked) = wallets.checker.forget(whole) else { return Ok(None) };
            self.summary.lost += 1;
            for (issued, _) in self.puts_of(whole, &asked, shard, collecting.during) {
                self.ledger.may_have_happened(&issued, high);
            }
            return Ok(None);
        }
        let asked = wallets.checker.flying.asked.get(&whole).map(|asked| asked.ask.clone());
        let checked = wallets.checker.answered(whole, &answer, high);
        checked
            .map_err(|violation| Violation { what: format!("#{whole}: {}", violation.what), ..violation })?;
        if let (Some(ask), Ok(Replied::Together(_, placed))) = (asked, answer)
            && !placed.is_empty()
        {
            for (issued, places) in self.puts_of(whole, &ask, shard, collecting.during) {
                let placed = places.into_iter().map(|place| placed[place]).collect();
                self.ledger.answered(&issued, &Ok(stadium_queue::Answer::Placed(placed)), high)?;
            }
        }
        Ok(None)
    }

    /// The jobs of transfers and jobs together, as puts: one for each queue, with the places of its jobs.
    fn puts_of(&self, number: u64, ask: &Ask, shard: u16, during: Span) -> Vec<(Issued, Vec<usize>)> {
        let Ask::Together { jobs, .. } = ask else { return Vec::new() };
        let mut by_queue: BTreeMap<usize, Vec<(usize, NewJob, Tag)>> = BTreeMap::new();
        for (place, (queue, job, tag)) in jobs.iter().enumerate() {
            by_queue.entry(queue.0).or_default().push((place, job.clone(), *tag));
        }
        let puts = by_queue.into_iter().map(|(queue, jobs)| {
            let places = jobs.iter().map(|(place, _, _)| *place).collect();
            let tags = jobs.iter().map(|(_, _, tag)| *tag).collect();
            let jobs = jobs.into_iter().map(|(_, job, _)| job).collect();
            let principal = principal_of(ask.transfers());
            let command = QueueCommand::Put { queue: self.plan.queues[queue].0.clone(), jobs, principal };
            let set_back = self.clock.jumps_back() > 0;
            // Its transfers may be refused.
            let issued =
                Issued { number, command, tags, during, set_back, may_refuse: true, from: Some(shard) };
            (issued, places)
        });
        puts.collect()
    }

    /// All processes end: commands under way are not answered any more.
    pub(super) fn wallets_crash(&mut self) {
        let Some(wallets) = &mut self.wallets else { return };
        wallets.parts.clear();
        wallets.look = None;
        let collecting = std::mem::take(&mut wallets.collecting);
        let numbers: Vec<u64> = wallets.checker.flying.asked.keys().copied().collect();
        self.summary.lost += numbers.len() as u64;
        let forget = |number| Some((number, wallets.checker.forget(number)?));
        let asked: Vec<_> = numbers.into_iter().filter_map(forget).collect();
        for (number, asked) in asked {
            if let Some(Collecting { how: How::Together(shard), during, .. }) = collecting.get(&number) {
                let puts = self.puts_of(number, &asked, *shard, *during);
                self.lost.extend(puts.into_iter().map(|(issued, _)| issued));
            }
        }
        self.lost.sort_by_key(|issued| issued.number);
    }

    /// Looks at all accounts, holds and assets, when nothing is under way.
    pub(super) fn look_at_wallets(&mut self) -> Result<(), Violation> {
        for attempt in 0..LOOKS_MAX {
            let Some(wallets) = &mut self.wallets else { return Ok(()) };
            let ids: Vec<_> = wallets.checker.books.transfers.keys().copied().collect();
            let some = (0..3).filter_map(|_| ids.get(wallets.random.usize(..ids.len().max(1))).copied());
            let some: Vec<_> = some.collect();
            let questions = Look::questions(&wallets.checker, &wallets.plan, &some);
            wallets.look = Some(Look::default());
            let (began, crashes) = (self.clock.now(), self.crashes);
            for (shard, command) in questions {
                let number = self.submit_part(0, 0, shard, command.clone());
                if let Some(look) = self.wallets.as_mut().and_then(|wallets| wallets.look.as_mut()) {
                    look.asked(number, shard, &command);
                }
            }
            self.quiet()?;
            if self.crashes != crashes {
                // That crash was followed by a look of its own.
                return Ok(());
            }
            let at_rest = self.machines.iter().all(|machine| {
                let ledger = machine.core.as_ref().and_then(|core| core.ledger());
                ledger.is_some_and(|ledger| ledger.figures().pending == 0 && ledger.figures().outgoing == 0)
            });
            let Some(wallets) = &mut self.wallets else { return Ok(()) };
            let Some(look) = wallets.look.take() else { return Ok(()) };
            if !look.is_complete() {
                return Violation::new("the checker's questions about wallets are never answered");
            }
            if look.is_busy || !at_rest || self.clock.now() != began {
                if attempt == LOOKS_MAX / 2 {
                    // Messages between shards may need room.
                    self.machines.iter().for_each(|machine| machine.disk.set_capacity(None));
                }
                self.advance(100);
                self.quiet()?;
                continue;
            }
            self.trace.line(&self.clock, || "the wallets are held against the books".into());
            wallets.checker.looked(&look, self.clock.now(), self.clock.high(), self.full)?;
            self.machines_agree()?;
            self.may_move();
            return self.together_is_whole();
        }
        let figures = self.machines.iter().map(|machine| {
            let ledger = machine.core.as_ref().and_then(|core| core.ledger());
            format!("{:?}", ledger.map(|ledger| ledger.figures()))
        });
        let figures: Vec<String> = figures.collect();
        Violation::new(format!("messages between shards never come to rest: {}", figures.join("; ")))
    }

    /// Each machine's own sums, and its seals: those of before are there, and the same.
    fn machines_agree(&mut self) -> Result<(), Violation> {
        let Some(wallets) = &mut self.wallets else { return Ok(()) };
        for (at, machine) in self.machines.iter().enumerate() {
            let Some(ledger) = machine.core.as_ref().and_then(|core| core.ledger()) else { continue };
            if let Err(what) = ledger.audit() {
                return Violation::new(format!("shard {at} contradicts itself: {what}"));
            }
            let seals: Vec<Seal> = ledger.seals().copied().collect();
            if !seals.starts_with(&wallets.seals[at]) {
                let before = wallets.seals[at].len();
                return Violation::new(format!("the {before} seals of shard {at} are others now: {seals:?}"));
            }
            wallets.seals[at] = seals;
        }
        Ok(())
    }

    /// Where a transfer is booked its jobs were put, and else none was.
    fn together_is_whole(&mut self) -> Result<(), Violation> {
        let Some(wallets) = &self.wallets else { return Ok(()) };
        for (id, tags) in &wallets.together {
            let is_booked = wallets.checker.books.is_booked(*id);
            for &tag in tags {
                if !self.ledger.decide_put(tag, is_booked) {
                    return Violation::new(format!(
                        "{tag} belongs to transfer {id}, whose booking is {is_booked}; it is elsewhere"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Reads all histories from the journal and holds them against the books. After a bit flipped some may be refused.
    pub(super) fn read_histories(&mut self) -> Result<(), Violation> {
        let Some(wallets) = &self.wallets else { return Ok(()) };
        let is_flipped = self.plan.faults.flip;
        let accounts: Vec<(WalletName, AssetCode, Option<u16>)> = wallets
            .checker
            .books
            .accounts
            .iter()
            .map(|account| (account.wallet.clone(), account.asset.clone(), account.home))
            .collect();
        let mut pages = Pages::default();
        for (wallet, asset, home) in accounts {
            let shards = home.map_or(0..self.plan.shards, |home| home..home + 1);
            for shard in shards {
                let mut before = None;
                loop {
                    let entries_max = self.random.u32(1..60);
                    let range = Range { before, entries_max, ..Range::default() };
                    let (wallet, asset) = (wallet.clone(), asset.clone());
                    let history = Command::History { wallet: wallet.clone(), asset: asset.clone(), range };
                    match self.ask_wallet(shard, history)? {
                        Ok(stadium_wallet::Answer::History(page)) => {
                            before = pages.add(&wallet, &asset, shard, page)?;
                        }
                        // It was never used on this shard.
                        Err(Refusal::Rejected { code: "WAL-021", .. }) if home.is_none() => break,
                        Err(refusal) if is_flipped => {
                            let text = refusal.to_string();
                            self.trace.line(&self.clock, || format!("refused: {text}"));
                            self.summary.flips_noticed += 1;
                            return Ok(());
                        }
                        other => {
                            return Violation::new(format!("the history of {wallet} {asset}: {other:?}"));
                        }
                    }
                    if before.is_none() {
                        break;
                    }
                }
            }
        }
        let Some(wallets) = &self.wallets else { return Ok(()) };
        pages.check(&wallets.checker.books)
    }

    /// Asks one shard, which has nothing else to do.
    fn ask_wallet(
        &mut self,
        shard: u16,
        command: Command,
    ) -> Result<Result<stadium_wallet::Answer, Refusal>, Violation> {
        self.next_number += 1;
        let number = self.next_number;
        self.core(shard).submit_to::<Ledger>(Asker(number), command);
        for _ in 0..TURNS_MAX {
            let mut output: Output<Asker, Queues> = Output::default();
            let now = self.clock.now();
            self.core(shard).turn(now, &mut output);
            self.machines[usize::from(shard)].work(u32::MAX);
            if let Some(reply) = output.replies.into_iter().find(|reply| reply.caller.0 == number) {
                return of_wallets(reply.answer);
            }
        }
        Violation::new(format!("shard {shard} never answers a question about a history"))
    }
}

fn of_wallets(part: Part) -> Result<Result<stadium_wallet::Answer, Refusal>, Violation> {
    match part {
        Ok(answer) => match answer.from_machine::<Ledger>() {
            Ok(answer) => Ok(Ok(answer)),
            Err(other) => Violation::new(format!("a question to the wallets is answered {other:?}")),
        },
        Err(refusal) => Ok(Err(refusal)),
    }
}

fn brief(answer: &Answered) -> String {
    match answer {
        Ok(Replied::Wallet(stadium_wallet::Answer::Booked(outcomes))) => {
            let outcomes = outcomes.iter().map(|outcome| match outcome {
                Ok(booked) => format!(
                    "{} at {}{}",
                    booked.transfer,
                    booked.at.0,
                    if booked.duplicate { " (known)" } else { "" }
                ),
                Err(refusal) => format!("refused: {refusal}"),
            });
            outcomes.collect::<Vec<_>>().join(", ")
        }
        Ok(answer) => format!("{answer:?}"),
        Err(refusal) => format!("refused: {refusal}"),
    }
}
