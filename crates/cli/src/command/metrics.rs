//! `stadium metrics`: what a server of this version exports, and the files that watch it.
//!
//! All of it is printed from the definitions in `stadium_metrics`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use stadium_metrics::{dashboards, grafana, page, prometheus, table};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// The arguments of `stadium metrics`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all metrics: name, type, labels, help
    List,
    /// Print a dashboard for Grafana, as JSON to import or provision
    #[command(after_help = "\
Example:
  stadium metrics dashboard overview > /var/lib/grafana/dashboards/stadium-overview.json")]
    Dashboard {
        /// The dashboard
        #[arg(value_parser = PossibleValuesParser::new(dashboards::ALL.map(|dashboard| dashboard.name)))]
        name: String,
    },
    /// Print the alert rules for Prometheus
    Alerts {
        /// The address of the page of alerts, to which each rule links
        #[arg(long, value_name = "URL", default_value = "docs/reference/alerts.md")]
        runbooks: String,
    },
    /// Print tests of the alert rules, for `promtool test rules`
    AlertTests,
    /// Print an example of prometheus.yml
    Prometheus,
    /// Print the reference of all metrics, as Markdown
    Reference,
    /// Print the meaning and the remedy of each alert, as Markdown
    Runbooks,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let text = match arguments.action {
        Action::List if terminal.is_json() => {
            return terminal.json(&table::rows().map(row).collect::<Vec<Value>>());
        }
        Action::List => list(),
        Action::Dashboard { name } => {
            let dashboard = dashboards::ALL.into_iter().find(|dashboard| dashboard.name == name);
            format!("{:#}", grafana::json(dashboard.expect("clap takes only names of dashboards")))
        }
        Action::Alerts { runbooks } => prometheus::rules(&runbooks),
        Action::AlertTests => prometheus::rule_tests(),
        Action::Prometheus => prometheus::configuration(),
        Action::Reference => page::metrics(),
        Action::Runbooks => page::alerts(),
    };
    terminal.data(text.trim_end())
}

fn row(row: &stadium_metrics::definition::Definition) -> Value {
    json!({
        "name": row.family(), "type": row.kind.word(), "unit": row.unit.map(|unit| unit.suffix()),
        "labels": row.labels, "condition": row.when.condition(), "help": row.help,
        "rises": row.rises, "act": row.act, "settings": row.settings,
    })
}

fn list() -> String {
    let mut lines = Vec::new();
    for row in table::rows() {
        let labels =
            if row.labels.is_empty() { String::new() } else { format!("{{{}}}", row.labels.join(", ")) };
        lines.push(format!("{}{labels}  {}\n    {}", row.family(), row.kind.word(), row.help));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn metrics_name_settings_that_exist() {
        let known: HashSet<String> = stadium_node::settings::names().collect();
        for row in stadium_metrics::table::rows() {
            for setting in row.settings {
                assert!(known.contains(*setting), "{}: {setting} is no setting", row.name);
            }
        }
    }
}
