//! The gain of a second shard for debits in batches: see [`crate::scaling`]. Afterwards all balances
//! are compared.

use anyhow::Result;

use super::books::Books;
use super::clients::Clients;
use super::designs::Stadium;
use super::dialogue::Endpoint as _;
use super::load::{self, Amount, Choice, Ids, Measured, Plan};
use super::rates::{CREDIT, Rate, WARM};
use super::zipf::Zipf;
use crate::machine::Meter;
use crate::scaling::{self, Side};
use crate::services::Start;

/// Measures both, one after the other.
pub(super) fn take(start: &Start<'_>, clients: &Clients, zipf: &Zipf) -> Result<Vec<(String, f64)>> {
    let (depth, batch) = Rate::Batch.shape(clients);
    let plan = Plan { depth, batch, ..clients.plan(Choice::Zipf(zipf)) };
    scaling::take(|cores, shards| {
        let stadium = Stadium::start_on(start, cores, shards)?;
        let measure = || -> Result<(Measured, f64)> {
            let mut books = Books::open(&stadium, clients.accounts, CREDIT)?;
            let mut ids = Ids::new();
            load::run(&stadium, &Plan { amount: Amount::For(WARM), ..plan }, &mut books, &mut ids)?;
            let meter = Meter::start(stadium.server().pid())?;
            let measured = load::run(&stadium, &plan, &mut books, &mut ids)?;
            let server_cpu = meter.processors()?;
            books.agree(&stadium)?;
            Ok((measured, server_cpu))
        };
        let (measured, server_cpu) = stadium.service().explain(measure())?;
        Ok(Side { per_second: measured.per_second(), client_cpu: measured.client_cpu, server_cpu })
    })
}
