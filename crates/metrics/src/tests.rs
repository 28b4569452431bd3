//! Queries name only metrics and labels of the table; the table's own texts are whole.
//!
//! A query is parsed, and the labels of its result are derived, so that a legend cannot name a
//! label that is gone.

use std::collections::{BTreeMap, HashSet};

use promql_parser::label::MatchOp;
use promql_parser::parser::{self, Expr, LabelModifier, VectorMatchCardinality};

use crate::definition::{Definition, Kind};
use crate::{alerts, dashboard, dashboards, table};

/// Labels that Prometheus adds to each series that it scrapes.
const OF_PROMETHEUS: [&str; 2] = ["job", "instance"];

/// The labels of each series that can be asked for.
fn series() -> BTreeMap<String, Vec<&'static str>> {
    let mut all = BTreeMap::from([("up".to_owned(), OF_PROMETHEUS.to_vec())]);
    for row in table::rows() {
        for name in row.series() {
            let mut labels = [row.labels, &OF_PROMETHEUS].concat();
            if row.kind == Kind::Histogram && name.ends_with("_bucket") {
                labels.push("le");
            }
            assert!(all.insert(name.clone(), labels).is_none(), "{name} is defined twice");
        }
    }
    all
}

/// Checks an expression; returns the labels that its series may have.
fn labels_of(expr: &Expr) -> Result<HashSet<String>, String> {
    let grouped = |labels: HashSet<String>, modifier: &Option<LabelModifier>| match modifier {
        None => Ok(HashSet::new()),
        Some(LabelModifier::Include(kept)) => kept
            .labels
            .iter()
            .map(|label| match labels.contains(label) {
                true => Ok(label.clone()),
                false => Err(format!("`by ({label})`: no such label")),
            })
            .collect(),
        Some(LabelModifier::Exclude(gone)) => {
            Ok(labels.into_iter().filter(|label| !gone.labels.contains(label)).collect())
        }
    };
    match expr {
        Expr::VectorSelector(selector) => selected(selector),
        Expr::MatrixSelector(matrix) => selected(&matrix.vs),
        Expr::Aggregate(aggregate) => grouped(labels_of(&aggregate.expr)?, &aggregate.modifier),
        Expr::Paren(inner) => labels_of(&inner.expr),
        Expr::Unary(inner) => labels_of(&inner.expr),
        Expr::Subquery(inner) => labels_of(&inner.expr),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => Ok(HashSet::new()),
        Expr::Call(call) => {
            let mut labels = HashSet::new();
            for argument in &call.args.args {
                labels.extend(labels_of(argument)?);
            }
            if call.func.name == "histogram_quantile" && !labels.remove("le") {
                return Err("a quantile of what is no histogram".to_owned());
            }
            Ok(labels)
        }
        Expr::Binary(binary) => {
            let (left, right) = (labels_of(&binary.lhs)?, labels_of(&binary.rhs)?);
            if let Some(modifier) = &binary.modifier {
                if !matches!(
                    modifier.card,
                    VectorMatchCardinality::OneToOne | VectorMatchCardinality::ManyToMany
                ) {
                    return Err("no other matching is in use".to_owned());
                }
                grouped(left.intersection(&right).cloned().collect(), &modifier.matching)?;
            } else if !left.is_empty() && !right.is_empty() && left != right {
                return Err(format!("{left:?} and {right:?} never match"));
            }
            Ok(if left.is_empty() { right } else { left })
        }
        Expr::Extension(_) => Err("an extension".to_owned()),
    }
}

fn selected(selector: &parser::VectorSelector) -> Result<HashSet<String>, String> {
    let name = selector.name.as_deref().ok_or("a selector without a name")?;
    let all = series();
    let labels = all.get(name).ok_or(format!("`{name}` is no metric"))?;
    for matcher in &selector.matchers.matchers {
        if !labels.contains(&matcher.name.as_str()) {
            return Err(format!("`{name}` has no label `{}`", matcher.name));
        }
        if matches!(matcher.op, MatchOp::NotEqual) {
            return Err("no such matcher is in use".to_owned());
        }
    }
    Ok(labels.iter().map(|&label| label.to_owned()).collect())
}

fn check(query: &str) -> Result<HashSet<String>, String> {
    labels_of(&parser::parse(query)?)
}

/// The labels that a text names in braces.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split(['{', '}']).skip(1).step_by(2)
}

#[test]
fn dashboards_ask_for_metrics_and_labels_that_exist() {
    let mut panels = 0;
    for dashboard in dashboards::ALL {
        for panel in dashboard.panels() {
            panels += 1;
            for (template, legend) in panel.queries {
                let query = dashboard::query(template, "stadium", ".*", "1m");
                let labels = check(&query).unwrap_or_else(|why| panic!("{}: {query}: {why}", panel.title));
                for label in named(legend) {
                    assert!(labels.contains(label), "{}: {{{label}}} of {query}", panel.title);
                }
            }
        }
    }
    assert!(panels > 80, "{panels} panels");
}

#[test]
fn alerts_ask_for_metrics_and_labels_that_exist() {
    for alert in alerts::all() {
        let labels = check(alert.condition).unwrap_or_else(|why| panic!("{}: {why}", alert.name));
        for label in named(alert.summary).filter(|label| *label != "value") {
            assert!(labels.contains(label), "{}: {{{label}}}", alert.name);
        }
        for (series, _) in alert.fires.iter().chain(alert.silent) {
            check(series).unwrap_or_else(|why| panic!("{}: {why}", alert.name));
        }
    }
}

#[test]
fn a_query_with_a_wrong_name_or_label_is_refused() {
    for (query, why) in [
        ("stadium_nothing", "is no metric"),
        ("stadium_closes", "is no metric"),
        ("sum(rate(stadium_closes_total{cause=\"idle\"}[1m]))", "has no label `cause`"),
        ("sum by (cause) (stadium_closes_total)", "no such label"),
        ("histogram_quantile(0.9, sum(rate(stadium_push_latency_seconds_bucket[1m])))", "no histogram"),
        ("stadium_loop_busy_ratio > stadium_connections", "never match"),
    ] {
        let refused = check(query).expect_err(query);
        assert!(refused.contains(why), "{query}: {refused}");
    }
}

#[test]
fn each_row_says_what_it_is_and_what_to_do() {
    for row in table::rows() {
        let Definition { help, rises, act, .. } = row;
        assert!(!help.ends_with('.') && !help.is_empty(), "{}: help is no sentence of its own", row.name);
        for text in [rises, act] {
            assert!(text.ends_with('.') && !text.contains("  "), "{}: {text}", row.name);
        }
    }
}

#[test]
fn alerts_have_names_of_their_own() {
    let mut names = HashSet::new();
    for alert in alerts::all() {
        assert!(names.insert(alert.name), "{} is there twice", alert.name);
        assert!(alert.meaning.ends_with('.') && alert.act.ends_with('.'), "{}", alert.name);
    }
}
