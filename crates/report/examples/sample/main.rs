//! Writes a report of a run that never was to standard output.
//!
//! `cargo run -p stadium-report --example sample > report.html`; with `text`, `series`, `steps`, `compare` or
//! `compare-text` it writes that view instead, with `partial` a run that was stopped and whose figures are refused.

mod run;

use run::{SERVER, Server};
use stadium_report::{Doubt, Outcome, compare, csv, html, text};

fn main() {
    let view = std::env::args().nth(1).unwrap_or_default();
    let mut first = run::run(SERVER);
    let others = || [run::run(Server { seed: 8, usual_ms: 3.6, stall_s: 0.0, ..SERVER })];
    let page = match view.as_str() {
        "" => html::report(&first),
        "partial" => {
            first.outcome = Outcome::Interrupted;
            first.generator.doubts.push(Doubt {
                refuse: true,
                text: "a loop was saturated in 38% of the intervals; use more workers".to_owned(),
            });
            html::report(&first)
        }
        "text" => text::summary(&first),
        "series" => csv::series(&first),
        "steps" => csv::steps(&first),
        "compare" => compare::html(&compare::compare(&first, &others())),
        "compare-text" => compare::text(&compare::compare(&first, &others())),
        other => panic!("there is no view `{other}`"),
    };
    print!("{page}");
}
