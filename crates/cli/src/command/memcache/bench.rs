//! `stadium memcache bench`: how many operations a second, and how long each takes.
//!
//! Here are the flags and the report; the load itself is in [`super::load`]. Ctrl-C ends it early, with a report of
//! what was measured.

use std::time::Duration;

use clap::Args;
use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::load::{Load, Measured, Mix};
use super::place::{Servers, failure};
use crate::failure::Failure;
use crate::interrupted::Interrupted;
use crate::shown::Table;
use crate::terminal::{ProgressBar, Terminal, count, short};

/// Quantiles of the report.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium memcache bench
  stadium memcache bench --callers 32 --sets 50 --value-size 1000

Its keys begin with `bench:`, after the namespace, and expire after 10
minutes. It takes memory of the servers, and their other clients wait
longer meanwhile.")]
pub(super) struct Arguments {
    /// Threads that read and write, each as fast as it can
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1_024))]
    callers: u16,
    /// Operations of all callers together
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    operations: u64,
    /// Bytes of each value
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    value_size: u32,
    /// Percent of the operations that write
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=100))]
    sets: u8,
    /// Different keys; all are written before the measurement
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    keys: u32,
    /// Wait for each write, as for each read; else a caller has up to 64 under way
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    servers: Servers,
}

/// Measures.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let client = arguments.servers.client()?;
    client.connect().map_err(|error| failure("bench", &error))?;
    let interrupted = Interrupted::listen()?;
    let load = Load::new(
        client,
        Mix {
            callers: arguments.callers,
            keys: arguments.keys,
            value_bytes: arguments.value_size as usize,
            sets_percent: arguments.sets,
            wait: arguments.wait,
        },
    );
    let watch = |bar: &ProgressBar, done: u64| {
        bar.set_position(done);
        !interrupted.is_set()
    };
    let bar = terminal.progress(u64::from(arguments.keys), "fill");
    let filled = load.fill(|done| watch(&bar, done));
    bar.finish_and_clear();
    filled.map_err(|error| failure("bench", &error))?;
    let bar = terminal.progress(arguments.operations, "measure");
    let measured = load.measure(arguments.operations, |done| watch(&bar, done));
    bar.finish_and_clear();
    report(arguments, &measured, interrupted.is_set(), terminal)?;
    match measured.first_error {
        Some(error) => {
            let failed = count(measured.gets.failed + measured.sets.failed);
            Err(failure(format_args!("{failed} operations failed, the first"), &error))
        }
        None => Ok(()),
    }
}

fn report(
    arguments: &Arguments,
    measured: &Measured,
    is_interrupted: bool,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let seconds = measured.took.as_secs_f64();
    let per_second = |operations: u64| if seconds > 0.0 { operations as f64 / seconds } else { 0.0 };
    let kinds = [("get", &measured.gets), ("set", &measured.sets)];
    let all = measured.gets.done + measured.sets.done;
    if terminal.is_json() {
        let of_kind = |(name, kind): (&str, &super::load::Kind)| {
            let mut value = json!({
                "operations": kind.done,
                "failed": kind.failed,
                "per_second": per_second(kind.done),
                "latency_us": latencies(&kind.latency),
            });
            if name == "get" {
                value["misses"] = measured.misses.into();
            }
            (name.to_owned(), value)
        };
        return terminal.json(&json!({
            "seconds": seconds,
            "operations": all,
            "per_second": per_second(all),
            "interrupted": is_interrupted,
            "callers": arguments.callers,
            "value_bytes": arguments.value_size,
            "kinds": kinds.into_iter().map(of_kind).collect::<serde_json::Map<_, _>>(),
        }));
    }
    let mut table =
        Table::new(&["", "done>", "a second>", "p50>", "p90>", "p99>", "p99.9>", "max>", "failed>"]);
    for (name, kind) in kinds {
        let mut row = vec![name.to_owned(), count(kind.done), count(per_second(kind.done) as u64)];
        let shown = |micros: u64| short(Duration::from_micros(micros).as_secs_f64());
        let is_empty = kind.latency.is_empty();
        row.extend(QUANTILES.map(|(_, quantile)| {
            if is_empty { "-".to_owned() } else { shown(kind.latency.value_at_quantile(quantile)) }
        }));
        row.push(if is_empty { "-".to_owned() } else { shown(kind.latency.max()) });
        row.push(count(kind.failed));
        table.row(row);
    }
    table.print(terminal)?;
    let ended = if is_interrupted { ", ended early" } else { "" };
    terminal.data(&format!(
        "\n{} operations in {} by {} callers: {} a second, {} misses{ended}",
        count(all),
        short(seconds),
        arguments.callers,
        count(per_second(all) as u64),
        count(measured.misses),
    ))
}

fn latencies(histogram: &Histogram<u64>) -> Value {
    if histogram.is_empty() {
        return Value::Null;
    }
    let quantile =
        |(name, quantile): (&str, f64)| (name.to_owned(), Value::from(histogram.value_at_quantile(quantile)));
    let mut values: serde_json::Map<_, _> = QUANTILES.into_iter().map(quantile).collect();
    values.insert("max".to_owned(), histogram.max().into());
    Value::Object(values)
}
