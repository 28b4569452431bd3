//! `stadium memcache stats`: what each server has and does.
//!
//! The figures to look at come first; `--all` shows every one as the server names it. A server that cannot be asked
//! does not hide the others.

use clap::Args;
use serde_json::{Map, Value, json};
use stadium_memcache::Statistics;

use super::place::{Servers, failure};
use crate::failure::Failure;
use crate::shown::{Table, clean};
use crate::span;
use crate::terminal::{Style, Terminal, count};

/// Characters of a statistic's value that are shown.
const VALUE_CHARS_MAX: usize = 80;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A group of statistics of the server's own: items, slabs, settings, sizes, conns [default: the general ones]
    group: Option<String>,
    /// Every statistic, as the server names it
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    servers: Servers,
}

/// Shows them.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let client = arguments.servers.client()?;
    let group = arguments.group.as_deref().unwrap_or_default();
    let answers = client.stats(group).map_err(|error| failure("stats", &error))?;
    let first = answers.iter().find_map(|(address, result)| {
        let error = result.as_ref().err()?;
        Some(failure(address, error))
    });
    if terminal.is_json() {
        let shown: Vec<Value> = answers
            .iter()
            .map(|(address, result)| match result {
                Ok(stats) => json!({
                    "server": address.to_string(),
                    "hit_rate": hit_rate(stats),
                    "stats": stats.iter().map(as_json).collect::<Map<_, _>>(),
                }),
                Err(error) => json!({"server": address.to_string(), "error": error.to_string()}),
            })
            .collect();
        terminal.json(&json!({ "servers": shown }))?;
        // The failures are in there.
        return first.map_or(Ok(()), |_| Err(Failure::Shown));
    }
    let with_all = arguments.all || arguments.group.is_some();
    for (place, (address, result)) in answers.iter().enumerate() {
        if place > 0 {
            terminal.data("")?;
        }
        let stats = match result {
            Ok(stats) => stats,
            Err(error) => {
                terminal.data(&format!("{}  {error}", terminal.out(Style::Bad, address)))?;
                continue;
            }
        };
        let version = stats.get("version").map(|version| format!("  memcached {}", clean(version, 40)));
        let title = terminal.out(Style::Name, address);
        terminal.data(&format!("{title}{}", version.unwrap_or_default()))?;
        let mut table = Table::new(&["statistic", "value>"]);
        let rows = if with_all { all(stats) } else { summary(stats) };
        rows.into_iter().for_each(|(name, value)| table.row(vec![name, value]));
        table.print(terminal)?;
    }
    first.map_or(Ok(()), Err)
}

fn as_json((name, value): (&String, &String)) -> (String, Value) {
    let value = match value.parse::<u64>() {
        Ok(number) => number.into(),
        Err(_) => Value::from(value.clone()),
    };
    (name.clone(), value)
}

fn all(stats: &Statistics) -> Vec<(String, String)> {
    let row =
        |(name, value): (&String, &String)| (clean(name, VALUE_CHARS_MAX), clean(value, VALUE_CHARS_MAX));
    stats.iter().map(row).collect()
}

fn number(stats: &Statistics, name: &str) -> Option<u64> {
    stats.get(name)?.parse().ok()
}

/// Hits of all gets; none where there was no get.
fn hit_rate(stats: &Statistics) -> Option<f64> {
    let (hits, misses) = (number(stats, "get_hits")?, number(stats, "get_misses")?);
    (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
}

/// The figures to look at first.
fn summary(stats: &Statistics) -> Vec<(String, String)> {
    let counted = |name: &str| number(stats, name).map_or("-".to_owned(), count);
    let memory = match (number(stats, "bytes"), number(stats, "limit_maxbytes")) {
        (Some(used), Some(most)) if most > 0 => {
            let percent = used as f64 * 100.0 / most as f64;
            format!("{} of {} ({percent:.1} %)", bytes(used), bytes(most))
        }
        _ => "-".to_owned(),
    };
    let connections = format!("{} of {}", counted("curr_connections"), counted("max_connections"));
    let rows = [
        ("items", counted("curr_items")),
        ("memory", memory),
        ("hit rate", hit_rate(stats).map_or("-".to_owned(), |rate| format!("{:.1} %", rate * 100.0))),
        ("gets", counted("cmd_get")),
        ("sets", counted("cmd_set")),
        ("evictions", counted("evictions")),
        ("reclaimed", counted("reclaimed")),
        ("connections", connections),
        ("threads", counted("threads")),
        ("uptime", number(stats, "uptime").map_or("-".to_owned(), |s| span::shown(s * 1_000))),
    ];
    rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Bytes in the unit that a person would choose.
fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_begins_with_items_memory_and_hit_rate() {
        let figures = [
            ("curr_items", "12345"),
            ("bytes", "3145728"),
            ("limit_maxbytes", "67108864"),
            ("get_hits", "3"),
            ("get_misses", "1"),
            ("uptime", "3700"),
        ];
        let stats = figures.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
        let rows = summary(&stats);
        let text = |(name, value): &(String, String)| format!("{name}: {value}");
        let first: Vec<String> = rows.iter().take(3).map(text).collect();
        assert_eq!(first, ["items: 12,345", "memory: 3.0 MiB of 64.0 MiB (4.7 %)", "hit rate: 75.0 %"]);
        assert_eq!(hit_rate(&Statistics::new()), None);
    }
}
