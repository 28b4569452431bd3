//! Comparisons: what differs is found, what does not is left alone, and a stall in one run is not taken for the rule.

use super::{Compared, Verdict, compare, html, text};
use crate::sample::{self, SERVER, Server};
use crate::{Outcome, RunResult};

fn verdict(compared: &Compared<'_>, subject: &str, figure: &str) -> Verdict {
    let found = compared.differences.iter().find(|one| one.subject == subject && one.figure == figure);
    found.unwrap_or_else(|| panic!("no {subject} {figure}: {:?}", compared.differences)).verdict
}

fn calm(seed: u64) -> Server {
    Server { seed, stall_s: 0.0, ..SERVER }
}

#[test]
fn runs_of_the_same_server_show_no_difference() {
    let first = sample::run(calm(1));
    let others: Vec<RunResult> = (2..7).map(|seed| sample::run(calm(seed))).collect();
    let comparison = compare(&first, &others);
    let judged: Vec<_> = comparison.others.iter().flat_map(|other| &other.differences).collect();
    let wrong: Vec<_> =
        judged.iter().filter(|one| matches!(one.verdict, Verdict::Better | Verdict::Worse)).collect();
    // Each interval misses once in a hundred; of some 110, three are too many.
    assert!(judged.len() > 90 && wrong.len() <= 2, "{wrong:#?}");
}

#[test]
fn a_slower_server_is_worse_and_a_faster_one_better() {
    let (usual, slow) = (sample::run(calm(1)), sample::run(Server { usual_ms: 3.3, ..calm(2) }));
    for (first, second, expected) in [(&usual, &slow, Verdict::Worse), (&slow, &usual, Verdict::Better)] {
        let others = [second.clone()];
        let comparison = compare(first, &others);
        let other = &comparison.others[0];
        for figure in ["response p50", "response p90", "response p99", "service p50"] {
            assert_eq!(verdict(other, "all", figure), expected, "{figure}: {:#?}", other.differences);
        }
        assert_eq!(verdict(other, "step vote", "response p50"), expected);
        assert_eq!(verdict(other, "all", "answered"), Verdict::Same);
        assert_eq!(verdict(other, "all", "failed"), Verdict::Same);
        assert!(other.differences.iter().all(|one| one.verdict != Verdict::Changed));
    }
}

#[test]
fn one_stall_is_no_rule() {
    let others = [sample::run(SERVER)];
    let first = sample::run(calm(1));
    let comparison = compare(&first, &others);
    let other = &comparison.others[0];
    let tail = other.differences.iter().find(|one| one.figure == "response p99").expect("it is compared");
    assert_eq!(tail.verdict, Verdict::Same, "one stall in 90 s may not recur: {tail:?}");
    assert_eq!(verdict(other, "all", "response p50"), Verdict::Same);
    let warned = other
        .warnings
        .iter()
        .any(|warning| warning.contains("response p99") && warning.contains("few intervals"));
    assert!(warned, "it is not ignored in silence: {:?}", other.warnings);
}

#[test]
fn more_failures_are_found() {
    let first = sample::run(calm(1));
    let others = [sample::run(Server { timeouts_ppm: 8_000, ..calm(2) })];
    let comparison = compare(&first, &others);
    assert_eq!(verdict(&comparison.others[0], "all", "failed"), Verdict::Worse);
    assert_eq!(verdict(&comparison.others[0], "step list", "failed"), Verdict::Worse);
}

#[test]
fn losses_after_none_are_worse() {
    let mut first = sample::run(calm(1));
    first.messages.lost = 0;
    let others = [sample::run(calm(2))];
    assert_eq!(verdict(&compare(&first, &others).others[0], "messages", "lost"), Verdict::Worse);
}

#[test]
fn a_short_run_has_too_little_data_and_reports_it() {
    let mut first = sample::run(calm(1));
    first.series.retain(|interval| interval.at_s > 114.5);
    let others = [sample::run(calm(2))];
    let comparison = compare(&first, &others);
    let other = &comparison.others[0];
    assert_eq!(verdict(other, "all", "response p99"), Verdict::Unknown);
    assert!(
        other.warnings.iter().any(|warning| warning.contains("too few intervals")),
        "{:?}",
        other.warnings
    );
}

#[test]
fn obstacles_to_a_comparison_are_reported() {
    let first = sample::run(calm(1));
    let mut second = sample::run(calm(2));
    second.machine.cpu = "Another".to_owned();
    second.scenario.push_str("[x]");
    second.outcome = Outcome::Interrupted;
    second.phases.iter_mut().for_each(|phase| phase.name = format!("{} 2", phase.name));
    let others = [second];
    let comparison = compare(&first, &others);
    for expected in [
        "the processor differs: AMD EPYC 7763 and Another",
        "the scenarios differ",
        "stopped before its end",
        "no phase in common",
        "the phases differ",
    ] {
        let warnings = &comparison.others[0].warnings;
        assert!(warnings.iter().any(|warning| warning.contains(expected)), "{expected}: {warnings:?}");
    }
}

#[test]
fn a_comparison_is_a_page_and_a_text() {
    let first = sample::run(calm(1));
    let mut second = sample::run(Server { usual_ms: 4.0, ..calm(2) });
    second.name = "<script>x</script>".to_owned();
    let others = [second];
    let comparison = compare(&first, &others);
    let page = html(&comparison);
    assert!(page.contains("worse") && page.contains("<h3>Response time, p99</h3>"));
    assert!(page.contains("&lt;script&gt;x") && !page.contains("<script>x"));
    let text = text(&comparison);
    assert!(text.contains("VERDICT: ") && text.contains("worse"), "{text}");
}

#[test]
fn runs_without_anything_can_be_compared() {
    let nothing = RunResult::default();
    let others = [RunResult::default()];
    let comparison = compare(&nothing, &others);
    assert!(text(&comparison).contains("no figure in common"));
    assert!(html(&comparison).contains("too few intervals"));
}
