//! The wallets' side of a simulation: the requests of clients, and a checker that is written from
//! docs/wallet.md.
//!
//! The checker shares nothing with the machine. It knows which transfers were booked, from answers and from looks, and from these
//! alone what every account must have, in which history every entry must stand, and which refusals can be true.

mod answered;
mod asked;
mod books;
mod clients;
mod look;
mod pages;
mod plan;

pub use answered::{Answered, Replied};
pub use asked::{Ask, Flying, principal_of};
pub use books::Books;
pub use clients::{Choice, Clients, Wish};
pub use look::Look;
pub use pages::Pages;
pub use plan::WalletPlan;

/// Everything that the checker knows.
#[derive(Debug)]
pub struct Checker {
    /// The requests, and the booked transfers.
    pub books: Books,
    /// What is on its way.
    pub flying: Flying,
    /// Old records leave the disks.
    pub moves: bool,
}

impl Checker {
    /// Nothing has happened.
    pub fn new(plan: &WalletPlan, shards: u16) -> Checker {
        Checker { books: Books::new(plan, shards), flying: Flying::default(), moves: plan.moves }
    }
}
