//! The metrics of a real server are those of the table; a real Prometheus reads them, and evaluates
//! each alert and each query of a dashboard.
//!
//! All files are those that the built binary prints.

mod prometheus;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::server::{self, Server};

use prometheus::Prometheus;
use work::Work;

/// The dashboards that `stadium metrics dashboard` knows.
const DASHBOARDS: [&str; 7] =
    ["overview", "devices", "pushes", "queues-and-wallets", "rpc", "shards-and-journal", "cluster"];

/// What `stadium metrics` prints.
fn printed(arguments: &[&str]) -> Result<String> {
    let output = Command::new(server::binary()?).arg("metrics").args(arguments).output()?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The rows of the table, by name.
fn table() -> Result<HashMap<String, Value>> {
    let rows: Vec<Value> = serde_json::from_str(&printed(&["list", "--json"])?)?;
    let named = |row: Value| Ok((row["name"].as_str().context("a row without a name")?.to_owned(), row));
    rows.into_iter().map(named).collect()
}

/// A family as a scrape has it.
#[derive(Default)]
struct Family {
    kind: String,
    help: String,
    labels: BTreeSet<String>,
}

/// The families of a scrape in the text format 0.0.4.
fn scraped(text: &str) -> Result<BTreeMap<String, Family>> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').context("a help without words")?;
            families.entry(name.to_owned()).or_default().help = help.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').context("a type without a word")?;
            current = name.to_owned();
            families.entry(current.clone()).or_default().kind = kind.to_owned();
        } else {
            ensure!(line.starts_with(&current), "{line} is not of {current}");
            let Some((_, labels)) = line.split_once('{') else { continue };
            let labels = labels.rsplit_once('}').context("labels without an end")?.0;
            let family = families.get_mut(&current).context("a series before its type")?;
            // A value has no `="`, and none of ours has a comma before a label's name.
            for label in labels.split("\",").filter_map(|label| label.split_once("=\"")) {
                family.labels.insert(label.0.trim_start_matches(',').to_owned());
            }
        }
    }
    Ok(families)
}

#[test]
fn a_server_exports_the_metrics_of_the_table_and_no_others() -> Result<()> {
    let mut server = Server::trial()?;
    let table = table()?;
    let mut work = Work::start(&server)?;
    work.round()?;
    // The figures of queues and wallets are sampled: they are there a moment later.
    let mut families = BTreeMap::new();
    until_true(PATIENCE, "the figures of queue and asset", || {
        families = scraped(&server.api().text("/metrics")?)?;
        let sampled = ["stadium_queue_jobs", "stadium_wallet_asset_credit"];
        Ok(sampled.iter().all(|name| families.get(*name).is_some_and(|family| !family.labels.is_empty())))
    })?;
    for (name, family) in &families {
        let row = table.get(name).with_context(|| format!("{name} is exported and not in the table"))?;
        let kind = row["type"].as_str().map(|kind| if kind == "info" { "gauge" } else { kind });
        ensure!(kind == Some(&family.kind), "{name}: {} and {}", row["type"], family.kind);
        let help = row["help"].as_str().context("no help")?;
        ensure!(family.help.starts_with(help), "{name}: {} and {help}", family.help);
        let mut labels: BTreeSet<String> = BTreeSet::new();
        labels.extend(
            row["labels"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned),
        );
        if kind == Some("histogram") {
            labels.insert("le".to_owned());
        }
        // A family without a series has no labels yet.
        ensure!(
            family.labels.is_empty() || family.labels == labels,
            "{name}: {:?} and {labels:?}",
            family.labels
        );
    }
    let exported = |row: &&Value| matches!(row["condition"].as_str(), Some("always" | "services"));
    for row in table.values().filter(exported) {
        let name = row["name"].as_str().context("no name")?;
        ensure!(families.contains_key(name), "{name} is in the table and not exported");
    }
    ensure!(families.len() > 140, "{} families", families.len());
    server.must_still_serve()
}

#[test]
fn alert_rules_pass_promtool_and_each_has_a_runbook() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rules = printed(&["alerts"])?;
    std::fs::write(folder.path().join("alerts.yml"), &rules)?;
    std::fs::write(folder.path().join("alerts_test.yml"), printed(&["alert-tests"])?)?;
    promtool(folder.path(), &["check", "rules", "alerts.yml"])?;
    promtool(folder.path(), &["test", "rules", "alerts_test.yml"])?;

    let page = printed(&["runbooks"])?;
    let headings: BTreeSet<String> =
        page.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_lowercase).collect();
    let runbooks: BTreeSet<String> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("runbook_url: "))
        .filter_map(|url| Some(url.trim_matches('"').rsplit_once('#')?.1.to_owned()))
        .collect();
    ensure!(headings == runbooks, "{headings:?} and {runbooks:?}");
    let count = rules.matches("- alert: ").count();
    ensure!(runbooks.len() == count && count > 30, "{count} alerts, {} runbooks", runbooks.len());
    Ok(())
}

#[test]
fn a_rule_that_does_not_fire_fails_its_test() -> Result<()> {
    let folder = tempfile::tempdir()?;
    // The rule fires at less than before, and its test still expects it above.
    let rules =
        printed(&["alerts"])?.replace("stadium_loop_busy_ratio > 0.9", "stadium_loop_busy_ratio > 0.99");
    std::fs::write(folder.path().join("alerts.yml"), rules)?;
    std::fs::write(folder.path().join("alerts_test.yml"), printed(&["alert-tests"])?)?;
    let refused = promtool(folder.path(), &["test", "rules", "alerts_test.yml"]).expect_err("it passed");
    ensure!(refused.to_string().contains("StadiumLoopBusy"), "{refused}");
    Ok(())
}

fn promtool(folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut promtool = Command::new("promtool");
    promtool.current_dir(folder).args(arguments).stdin(Stdio::null());
    let output = promtool.output().context("cannot start promtool; install the Debian package prometheus")?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "promtool {arguments:?}: {}", String::from_utf8_lossy(&said));
    Ok(())
}

#[test]
fn prometheus_scrapes_a_server_and_evaluates_each_alert_and_each_panel() -> Result<()> {
    let mut server = Server::trial()?;
    let table = table()?;
    let conditional: Vec<&str> = table
        .values()
        .filter(|row| !matches!(row["condition"].as_str(), Some("always" | "services")))
        .filter_map(|row| row["name"].as_str())
        .collect();
    let mut queries = Vec::new();
    for name in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(&printed(&["dashboard", name])?)?;
        let panels = dashboard["panels"].as_array().context("no panels")?;
        for target in panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten() {
            let query = target["expr"].as_str().context("no expression")?;
            let query = query.replace("$job", "stadium").replace("$instance", ".*");
            let query = query.replace("$__rate_interval", "10s");
            ensure!(!query.contains('$'), "{query}");
            let has_data = !conditional.iter().any(|name| query.contains(name)) && !query.ends_with("> 0");
            queries.push((query, has_data));
        }
    }
    ensure!(queries.len() > 100, "{} queries", queries.len());

    let prometheus = Prometheus::start(&server, &printed(&["prometheus"])?, &printed(&["alerts"])?)?;
    let mut work = Work::start(&server)?;
    let mut missing = Vec::new();
    let all = until_true(PATIENCE, "data for each panel", || {
        work.round()?;
        missing.clear();
        for (query, has_data) in &queries {
            let series = prometheus.query(query)?;
            if *has_data && series == 0 {
                missing.push(query.clone());
            }
        }
        Ok(missing.is_empty())
    });
    all.with_context(|| format!("without data: {missing:#?}"))?;

    let mut rules = 0;
    until_true(PATIENCE, "each rule to be evaluated", || {
        let all = prometheus.rules()?;
        rules = all.len();
        for rule in &all {
            ensure!(rule["lastError"].as_str().unwrap_or_default().is_empty(), "{rule}");
        }
        Ok(!all.is_empty() && all.iter().all(|rule| rule["health"] == "ok"))
    })?;
    ensure!(rules > 30, "{rules} rules");
    let firing: Vec<Value> =
        prometheus.rules()?.into_iter().filter(|rule| rule["state"] == "firing").collect();
    ensure!(firing.is_empty(), "a server in good health: {firing:#?}");
    eprintln!("{} queries of panels, {rules} rules", queries.len());
    server.must_still_serve()
}
