//! Commands that wait for transactions: the transfers that each transaction decides, and the
//! answers that are ready.
//!
//! It is lost with the process, as everybody who waits is.

use std::collections::BTreeMap;

use crate::answer::{Answer, Booked, Outcome};
use crate::ledger::Finished;
use crate::{Refusal, Time};

/// Commands that wait for transactions, by the number of their first one.
#[derive(Default)]
pub(crate) struct Waiting {
    commands: BTreeMap<u64, Command>,
    /// Transactions: whose, and which of its transfers. A linked list is one transaction.
    transactions: BTreeMap<u64, (u64, usize)>,
    pub(crate) finished: Vec<Finished>,
}

struct Command {
    linked: bool,
    outcomes: Vec<Outcome>,
    left: usize,
}

impl Waiting {
    /// A command waits. `outcomes` has a place for each of its transfers; `transactions` maps each
    /// transaction to those that wait for it.
    pub(crate) fn wait(
        &mut self,
        linked: bool,
        outcomes: Vec<Outcome>,
        transactions: &[(u64, usize)],
    ) -> u64 {
        let number = transactions[0].0;
        for &(transaction, at) in transactions {
            self.transactions.insert(transaction, (number, at));
        }
        self.commands.insert(number, Command { linked, outcomes, left: transactions.len() });
        number
    }

    /// A transaction is decided.
    pub(crate) fn decided(&mut self, transaction: u64, at: Time, outcome: Result<(), Refusal>) {
        let Some((number, place)) = self.transactions.remove(&transaction) else { return };
        let Some(command) = self.commands.get_mut(&number) else { return };
        if command.linked {
            let answer = outcome.map(|()| {
                let mut outcomes = std::mem::take(&mut command.outcomes);
                for booked in outcomes.iter_mut().flatten() {
                    booked.at = at;
                }
                Answer::Booked(outcomes)
            });
            self.commands.remove(&number);
            self.finished.push(Finished { number, answer });
            return;
        }
        if let Some(slot) = command.outcomes.get_mut(place) {
            *slot = outcome.and_then(|()| slot.clone().map(|booked| Booked { at, ..booked }));
        }
        command.left -= 1;
        if command.left == 0 {
            let outcomes = std::mem::take(&mut command.outcomes);
            self.commands.remove(&number);
            self.finished.push(Finished { number, answer: Ok(Answer::Booked(outcomes)) });
        }
    }
}
