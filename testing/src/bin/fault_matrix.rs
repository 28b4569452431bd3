//! Prints the fault matrix as a table for docs/rpc-faults.md.
//!
//! `cargo run -p stadium-testing --bin fault_matrix [SECONDS [ROUNDS [WORD]]]`: each fault lasts 10 seconds and is played
//! three times by default; with a word, only the faults that it names are played. Figures are
//! medians, with the least and the greatest. Needs root, iproute2, nftables and etcd.

use std::time::Duration;

use anyhow::{Context as _, Result};
use stadium_testing::faults::{Fault, Figures, play};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(10), |seconds| seconds.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(3), |rounds| rounds.parse())?;
    let word = arguments.next().unwrap_or_default();
    let faults: Vec<Fault> = Fault::ALL.into_iter().filter(|fault| fault.text().contains(&word)).collect();
    let mut figures: Vec<[Vec<Figures>; 2]> = vec![Default::default(); faults.len()];
    for round in 1..=rounds {
        for (fault, [default, turns]) in faults.iter().zip(&mut figures) {
            let row = play(*fault, Duration::from_secs(seconds)).with_context(|| fault.text())?;
            eprintln!(
                "{round}: {}\n  default {:?}\n  turns   {:?}",
                fault.text(),
                row.default,
                row.round_robin
            );
            default.push(row.default);
            turns.push(row.round_robin);
        }
    }
    println!("| what goes wrong | success | p50 | p99 | round robin: success | p50 | p99 |");
    println!("|---|---|---|---|---|---|---|");
    for (fault, [default, turns]) in faults.iter().zip(&figures) {
        println!("| {} | {} | {} |", fault.text(), shown(default), shown(turns));
    }
    Ok(())
}

/// Success, median and 99th percentile of several rounds.
fn shown(rounds: &[Figures]) -> String {
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    [
        median(rounds.iter().map(|figures| figures.success() * 100.0), "%", 2),
        median(rounds.iter().map(|figures| ms(figures.p50)), " ms", 1),
        median(rounds.iter().map(|figures| ms(figures.p99)), " ms", 1),
    ]
    .join(" | ")
}

/// The median, with the least and the greatest where they show.
fn median(values: impl Iterator<Item = f64>, unit: &str, digits: usize) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let text = |value: f64| format!("{value:.digits$}");
    let (least, middle, greatest) =
        (text(values[0]), text(values[values.len() / 2]), text(values[values.len() - 1]));
    if least == greatest {
        format!("{middle}{unit}")
    } else {
        format!("{middle}{unit} ({least}–{greatest})")
    }
}
