//! Prints the fault matrix as a table for docs/rpc-faults.md.
//!
//! `cargo run -p stadium-testing --bin fault_matrix [SECONDS [WORD]]`: each fault lasts that long, 10 seconds without a
//! figure; with a word, only those that it names are played. Needs root, iproute2, nftables and etcd.

use std::time::Duration;

use anyhow::{Context as _, Result};
use stadium_testing::faults::{Fault, Figures, play};

fn main() -> Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(10), |seconds| seconds.parse())?;
    println!(
        "| what goes wrong | success | p50 | p99 | slowest | round robin: success | p50 | p99 | slowest |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let word = std::env::args().nth(2).unwrap_or_default();
    for fault in Fault::ALL.into_iter().filter(|fault| fault.text().contains(&word)) {
        let row = play(fault, Duration::from_secs(seconds)).with_context(|| fault.text())?;
        eprintln!("failures: {}, {}", row.default.failures, row.round_robin.failures);
        println!("| {} | {} | {} |", fault.text(), shown(&row.default), shown(&row.round_robin));
    }
    Ok(())
}

fn shown(figures: &Figures) -> String {
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    format!(
        "{:.3}% | {} | {} | {}",
        figures.success() * 100.0,
        ms(figures.p50),
        ms(figures.p99),
        ms(figures.max)
    )
}
