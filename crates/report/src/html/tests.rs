//! A report is whole: it shows the verdict, hides no doubt, fetches nothing, and lets no name
//! become markup.

use super::report;
use crate::sample::{self, SERVER};
use crate::{Doubt, Outcome, RunResult};

#[test]
fn a_report_has_everything_that_was_measured() {
    let page = report(&sample::run(SERVER));
    for expected in [
        "<h1>2 of 6 thresholds did not hold</h1>",
        "What the generator reports about itself",
        "<h3>Response time</h3>",
        "<h3>Service time</h3>",
        "<h3>Errors</h3>",
        "<h3>Devices</h3>",
        "<h3>Lateness</h3>",
        "Response and service time by percentile",
        "stadium_connections",
        "<h3>Workers</h3>",
        "10.0.0.2:7400",
        "AMD EPYC 7763",
        "stadium load run voting.toml",
        "[[phases]]",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
    assert!(!page.contains("PARTIAL"));
    assert!(!page.contains("<s "), "nothing is refused");
}

#[test]
fn nothing_is_fetched() {
    let page = report(&sample::run(SERVER));
    for word in ["http://", "https://", "src=", "@import", "url(", "<link", "<img"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn the_stall_is_drawn_where_it_was() {
    let run = sample::run(SERVER);
    let page = report(&run);
    let plot = page.split("<figure").find(|part| part.contains("<h3>Response time</h3>")).expect("the plot");
    let data = plot
        .split("application/json\">")
        .nth(1)
        .and_then(|rest| rest.split("</script>").next())
        .expect("data");
    let data: serde_json::Value = serde_json::from_str(data).expect("it is JSON");
    let longest = data["lines"][4]["values"].as_array().expect("values");
    let above: Vec<usize> =
        (0..longest.len()).filter(|index| longest[*index].as_f64().unwrap_or(0.0) > 500e6).collect();
    assert_eq!(above, [70, 71]);
    assert!(page.contains("the longest was at 1:1"), "the note states when");
}

#[test]
fn a_run_that_was_stopped_is_marked_partial_and_refused_figures_are_struck() {
    let mut run = sample::run(SERVER);
    run.outcome = Outcome::Interrupted;
    run.generator.doubts.push(Doubt { refuse: true, text: "a loop was <saturated>".to_owned() });
    let page = report(&run);
    assert!(page.contains("<strong class=\"stamp\">PARTIAL</strong>"));
    assert!(page.contains("<h1>The generator refuses these figures</h1>"));
    assert!(page.contains("a loop was &lt;saturated&gt;"));
    let figures = page.split("<dl class=\"figures\">").nth(1).and_then(|rest| rest.split("</dl>").next());
    let figures = figures.expect("figures");
    assert!(page.contains("<div class=\"refused-figures\">"));
    assert_eq!(figures.matches("<s title").count(), figures.matches("<dt>").count());
}

#[test]
fn no_name_becomes_markup() {
    let evil = "</script><script>alert(1)</script>\"'<img onerror=x>";
    let plain = report(&sample::run(SERVER));
    let mut run = sample::run(SERVER);
    for text in [&mut run.name, &mut run.id, &mut run.scenario, &mut run.machine.cpu, &mut run.phases[0].name]
    {
        evil.clone_into(text);
    }
    run.command.push(evil.to_owned());
    run.steps[0].name = evil.to_owned();
    run.steps[0].checks[0].text = evil.to_owned();
    run.sessions[0].name = evil.to_owned();
    run.fleets[0].facts.push((evil.to_owned(), evil.to_owned()));
    run.workers[0].lost = Some(evil.to_owned());
    run.thresholds[0].text = evil.to_owned();
    run.thresholds[0].observed = evil.to_owned();
    run.scraped[0].metric = evil.to_owned();
    run.scraped[1].target = evil.to_owned();
    run.total.errors.insert(evil.to_owned(), 3);
    run.total.statuses.insert(evil.to_owned(), 3);
    run.series[80].errors.insert(evil.to_owned(), 3);
    run.generator.doubts[0].text = evil.to_owned();
    run.outcome = Outcome::Failed { reason: evil.to_owned() };
    let page = report(&run);
    assert!(!page.contains("<img") && !page.contains("<script>alert"));
    let plots = page.matches("<figure").count();
    assert_eq!(page.matches("<script").count(), plots + 1);
    assert_eq!(page.matches("</script").count(), plots + 1);
    assert!(plain.matches("<figure").count() <= plots);
}

#[test]
fn a_run_without_anything_has_a_report() {
    let page = report(&RunResult::default());
    assert!(page.contains("No thresholds were set"));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}
