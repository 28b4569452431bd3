//! Figures that documents quote from the pages of the benches: the README's tables, and links.
//!
//! In the README a table lies between `<!-- figures: BENCH -->` and `<!-- end of figures -->`. A
//! quote in a text is a link with the row in its title: `[5.2 µs](bench/results/edge.md "ROW")`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// A table: the columns and the rows that are shown, each by its name in the README and on the
/// page.
struct Table {
    bench: &'static str,
    columns: &'static [(&'static str, &'static str)],
    rows: &'static [(&'static str, &'static str)],
}

/// Every table, in the README's order.
const TABLES: &[Table] = &[
    Table {
        bench: "edge",
        columns: &[
            ("Stadium", "stadium"),
            ("mosquitto", "mosquitto"),
            ("NATS", "nats-server"),
            ("rumqttd", "rumqttd"),
            ("mochi", "mochi"),
            ("HiveMQ CE", "hivemq"),
            ("a bare epoll loop", "bare loop"),
        ],
        rows: &[
            (
                "memory of its own for an idle device, two subscriptions",
                "own memory for each idle device with two subscriptions",
            ),
            ("the same over TLS 1.3", "own memory for each idle device over TLS 1.3"),
            (
                "fan-out to 10,000 devices, deliveries a second",
                "fan-out to 10,000 devices, 100 B, one message at a time, QoS 0",
            ),
            ("the same, 8 messages in flight", "fan-out to 10,000 devices, 8 messages in flight"),
            ("the same at QoS 1, acknowledged", "QoS 1 fan-out to 10,000 devices, acknowledged"),
            ("100 pairs, QoS 0, messages a second", "100 pairs, QoS 0"),
            ("100 pairs, QoS 1, messages a second", "100 pairs, QoS 1"),
            (
                "connects a second, with CONNECT and two SUBSCRIBEs",
                "connects with CONNECT and two SUBSCRIBEs",
            ),
            ("10,000 devices cut, all back after", "storm: 10,000 devices cut and all back"),
        ],
    },
    Table {
        bench: "rpc",
        columns: &[
            ("Stadium", "stadium"),
            ("bare Netty", "netty"),
            ("rsocket-java", "rsocket-java"),
            ("KryoNet", "kryonet"),
            ("grpc-java", "grpc-java"),
            ("tonic", "tonic"),
            ("a bare epoll echo", "bare epoll"),
        ],
        rows: &[
            (
                "round trip, 48 B, one call in flight",
                "48 B, 1 connection, one in flight overall: median round trip",
            ),
            ("48 B, 1 connection, 64 in flight, calls a second", "48 B, 1 connection, 64 in flight on each"),
            ("48 B, 100 connections, 64 in flight on each", "48 B, 100 connections, 64 in flight on each"),
            ("48 B, 100 connections, 200 in flight overall", "48 B, 100 connections, 200 in flight overall"),
            (
                "3,216 B, 10 connections, 200 in flight overall",
                "3,216 B, 10 connections, 200 in flight overall",
            ),
        ],
    },
    Table {
        bench: "queue",
        columns: &[
            ("Stadium", "stadium"),
            ("MariaDB, a table", "mysql table"),
            ("MariaDB and Redis", "mysql + redis"),
            ("PostgreSQL, SKIP LOCKED", "postgresql"),
            ("beanstalkd", "beanstalkd"),
            ("RabbitMQ", "rabbitmq"),
            ("Redis Streams", "redis streams"),
        ],
        rows: &[
            (
                "single jobs a second",
                "put + reserve + settle, each durable, 100 producers and 100 consumers, batch 1",
            ),
            ("the same in batches of 100", "the same, batch 100"),
            (
                "put to reserve at 10,000 jobs a second, p99",
                "put to reserve at 10,000 jobs/s with fsync, 99th percentile",
            ),
        ],
    },
    Table {
        bench: "wallet",
        columns: &[
            ("Stadium", "stadium"),
            ("PostgreSQL, FOR UPDATE", "postgresql lock"),
            ("PostgreSQL, one UPDATE", "postgresql update"),
            ("Redis, a script", "redis"),
        ],
        rows: &[
            (
                "debits a second",
                "durable debits, 100 connections with 16 requests under way each, 1000000 accounts, zipf 0.99",
            ),
            ("the same in batches of 1,000", "the same, batches of 1000"),
            ("all from one account", "all debits from one account, 16 requests under way on each"),
        ],
    },
    Table {
        bench: "memcache",
        columns: &[("times", "stadium")],
        rows: &[
            ("Rust, 8 callers, over Xmemcached", "Rust over Xmemcached: 8 callers"),
            ("JVM, 8 callers, over Xmemcached", "JVM over Xmemcached: 8 callers"),
            ("JVM, 32 callers, over Xmemcached", "JVM over Xmemcached: 32 callers"),
            (
                "Rust, 1,000 operations in flight, over a bare pipelined loop",
                "Rust, asynchronous, 1,000 in flight, over a bare pipelined loop",
            ),
        ],
    },
];

const END: &str = "<!-- end of figures -->";

/// The document with the tables, and with quotes.
pub(crate) const README: &str = "README.md";

/// Documents with quotes.
pub(crate) const SIZING: &str = "docs/operations/sizing.md";
pub(crate) const AVAILABILITY: &str = "docs/operations/high-availability.md";

/// A document as it should be now.
pub(crate) fn text(root: &Path, document: &str) -> Result<String> {
    let mut text = fs::read_to_string(root.join(document)).with_context(|| document.to_owned())?;
    let page = |bench: &str| {
        let path = format!("bench/results/{bench}.md");
        fs::read_to_string(root.join(&path)).context(path)
    };
    if document == README {
        for table in TABLES {
            let fresh = table.made(&page(table.bench)?).context(table.bench)?;
            text = replaced(&text, table.bench, &fresh)?;
        }
    }
    quoted(&text, &|bench, row| median(&page(bench)?, row).context(bench.to_owned()))
        .with_context(|| document.to_owned())
}

/// Rewrites the documents.
pub(crate) fn write(root: &Path) -> Result<()> {
    for document in [README, SIZING, AVAILABILITY] {
        fs::write(root.join(document), text(root, document)?).with_context(|| document.to_owned())?;
    }
    Ok(())
}

/// A text in which each quote begins with `figure`'s answer for its bench and its row.
fn quoted(text: &str, figure: &dyn Fn(&str, &str) -> Result<String>) -> Result<String> {
    let mut fresh = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("](") {
        match quote(link).zip(before.rsplit_once('[')) {
            Some(((bench, row), (before, shown))) => {
                let unit = shown.trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
                fresh.extend([before, "[", &figure(bench, row)?, unit, "]("]);
            }
            None => fresh.extend([before, "]("]),
        }
        rest = link;
    }
    Ok(fresh + rest)
}

/// The bench and the row of a quote, from its target on.
fn quote(link: &str) -> Option<(&str, &str)> {
    let (target, title) = link.split_once(" \"")?;
    let (_, page) = target.split_once("bench/results/")?;
    let (row, _) = title.split_once("\")")?;
    Some((page.strip_suffix(".md")?, row)).filter(|_| !target.contains(')'))
}

/// Stadium's median in the first row of that name, of any table of the page.
fn median(page: &str, name: &str) -> Result<String> {
    let mut column = 0;
    for row in page.lines().filter(|line| line.starts_with('|')).map(cells) {
        column = row.iter().skip(1).position(|cell| *cell == "stadium").map_or(column, |at| at + 1);
        if row[0] == name {
            return Ok(without_spread(row.get(column).unwrap_or(&"-")).to_owned());
        }
    }
    bail!("there is no row `{name}`")
}

/// A text with the table of a bench replaced.
fn replaced(text: &str, bench: &str, table: &str) -> Result<String> {
    let begin = format!("<!-- figures: {bench} -->\n");
    let Some((before, rest)) = text.split_once(&begin) else { bail!("README.md has no `{}`", begin.trim()) };
    let Some((_, after)) = rest.split_once(END) else { bail!("README.md has no `{END}`") };
    Ok(format!("{before}{begin}\n{table}\n{END}{after}"))
}

impl Table {
    fn made(&self, page: &str) -> Result<String> {
        let (head, rows) = figures_of(page).context("there is no table of figures")?;
        let rows: HashMap<&str, Cells<'_>> = rows.into_iter().map(|row| (row[0], row)).collect();
        let at = |name: &str| {
            head.iter()
                .position(|column| *column == name)
                .with_context(|| format!("there is no column `{name}`"))
        };
        let unit = at("unit")?;
        let mut text = String::from("| |");
        self.columns.iter().for_each(|(shown, _)| text += &format!(" {shown} |"));
        text += &format!("\n|---|{}\n", "---|".repeat(self.columns.len()));
        for (shown, name) in self.rows {
            let row = rows.get(name).with_context(|| format!("there is no row `{name}`"))?;
            text += &format!("| {shown} |");
            for (_, column) in self.columns {
                text += &format!(" {} |", figure(row[at(column)?], row[unit]));
            }
            text.push('\n');
        }
        Ok(text)
    }
}

/// A row of a table, as its cells.
type Cells<'p> = Vec<&'p str>;

/// The head and the rows of a page's table of figures.
pub(crate) fn figures_of(page: &str) -> Option<(Cells<'_>, Vec<Cells<'_>>)> {
    let lines = page.lines().skip_while(|line| !line.starts_with("| figure |"));
    let mut rows = lines.take_while(|line| line.starts_with('|')).map(cells);
    let head = rows.next()?;
    // The line below the head has no cells.
    Some((head, rows.skip(1).collect()))
}

fn cells(line: &str) -> Cells<'_> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// A median without its spread, with the unit where it is not one of counting.
fn figure(cell: &str, unit: &str) -> String {
    let median = without_spread(cell);
    let suffix = match unit {
        "us" => " µs",
        "B" => " B",
        "ms" => " ms",
        "s" => " s",
        _ => "",
    };
    if median == "-" { median.to_owned() } else { format!("{median}{suffix}") }
}

/// The median in a cell.
pub(crate) fn without_spread(cell: &str) -> &str {
    cell.split(" (").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{END, Table, median, quoted, replaced};

    const TABLE: Table = Table {
        bench: "edge",
        columns: &[("Stadium", "stadium"), ("a loop", "bare loop")],
        rows: &[("a trip", "round trip"), ("a second", "messages")],
    };

    const PAGE: &str = "# A page\n\n| figure | unit | stadium | bare loop |\n|---|---|---|---|\n\
        | round trip | us | 12.0 (10.8 to 12.6) | 58.0 |\n| messages | messages/s | 1,000 (900 to 1,100) | - |\n\nmore\n";

    #[test]
    fn a_table_has_the_medians_of_the_rows_that_are_shown() {
        let made = TABLE.made(PAGE).expect("the page has them");
        assert_eq!(
            made,
            "| | Stadium | a loop |\n|---|---|---|\n| a trip | 12.0 µs | 58.0 µs |\n| a second | 1,000 | - |\n"
        );
        let missing = PAGE.replace("| messages |", "| others |");
        assert!(TABLE.made(&missing).is_err_and(|error| error.to_string().contains("messages")));
    }

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let text = format!("before\n<!-- figures: edge -->\nold\n{END}\nafter {END}\n");
        let fresh = replaced(&text, "edge", "new\n").expect("the marks are there");
        assert_eq!(fresh, format!("before\n<!-- figures: edge -->\n\nnew\n\n{END}\nafter {END}\n"));
        assert!(replaced(&text, "rpc", "").is_err());
    }

    #[test]
    fn a_quote_begins_with_the_median_of_its_row() {
        let figure = |bench: &str, row: &str| median(PAGE, row).map(|median| format!("{median}{bench}"));
        let text = "| [a](b) | [11 µs, once](../bench/results/-edge.md \"round trip\"), \
            [7](bench/results/-x.md \"messages\"), [9](bench/results/edge.md), \"c\") |\n";
        assert_eq!(
            quoted(text, &figure).expect("the page has them"),
            "| [a](b) | [12.0-edge µs, once](../bench/results/-edge.md \"round trip\"), \
            [1,000-x](bench/results/-x.md \"messages\"), [9](bench/results/edge.md), \"c\") |\n"
        );
        let missing = text.replace("\"messages", "\"others");
        assert!(quoted(&missing, &figure).is_err_and(|error| error.to_string().contains("others")));
    }
}
