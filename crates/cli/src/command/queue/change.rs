//! What an operator does to queues and jobs: trying again, pausing, taking out, declaring.
//!
//! A change that cannot be undone asks first where a person sits at the terminal, and wants `--yes`
//! where none does.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::put::{HowFlags, given, with_payload};
use super::{State, path_of};
use crate::api::{Api, Method};
use crate::failure::Failure;
use crate::on::ask;
use crate::shown::{items, number, text};
use crate::span;
use crate::terminal::{Style, Terminal, count};

/// Jobs that one request may name.
const JOBS_MAX: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct QueueArguments {
    /// The queue
    queue: String,
}

#[derive(Debug, Args)]
pub(super) struct RedriveArguments {
    /// Whose dead jobs
    queue: String,
    /// Only these; otherwise all, the oldest first
    job: Vec<u64>,
    /// At most so many of the oldest
    #[arg(long, value_name = "N", conflicts_with = "job")]
    max: Option<u64>,
    /// Into this queue instead of the one they died in
    #[arg(long, value_name = "QUEUE")]
    to: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct KickArguments {
    /// Whose buried jobs
    queue: String,
    /// Only these; otherwise all, the oldest first
    job: Vec<u64>,
    /// At most so many of the oldest
    #[arg(long, value_name = "N", conflicts_with = "job")]
    max: Option<u64>,
}

#[derive(Debug, Args)]
pub(super) struct PurgeArguments {
    /// The queue
    queue: String,
    /// Only jobs in this state; otherwise all that nobody works on
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct DeleteArguments {
    /// The jobs' ids
    #[arg(required = true)]
    job: Vec<u64>,
}

#[derive(Debug, Args)]
pub(super) struct EditArguments {
    /// The job's id
    job: u64,
    /// Another payload
    #[arg(long, value_name = "TEXT")]
    payload: Option<String>,
    #[command(flatten)]
    how: HowFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
All settings are given: a setting without a flag gets its default, whatever it was before. `stadium queue stats QUEUE` shows them.")]
pub(super) struct DeclareArguments {
    /// The queue
    queue: String,
    /// How long a worker has for a job unless it asks for another time, 1s to 12h [default: 30s]
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    lease: Option<u64>,
    /// Attempts before a job is dead [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    attempts: Option<u16>,
    /// Back-off before the second attempt [default: 1s]
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    backoff_first: Option<u64>,
    /// Times so much for each further attempt, 1.0 to 10.0 [default: 2.0]
    #[arg(long, value_name = "X")]
    backoff_factor: Option<f32>,
    /// Back-off is never longer [default: 10m]
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    backoff_max: Option<u64>,
    /// The part of the back-off that is random, 0.0 to 1.0 [default: 0.5]
    #[arg(long, value_name = "X")]
    backoff_jitter: Option<f32>,
    /// Where jobs go after their last attempt: `keep` (they stay as dead), `discard`, or a queue's name [default: keep]
    #[arg(long, value_name = "WHERE")]
    dead: Option<String>,
    /// How long dead jobs are kept [default: 14d]
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    dead_ttl: Option<u64>,
    /// How long a dedup id is remembered [default: 1h]
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    dedup_window: Option<u64>,
    /// Jobs that it holds at most; a put beyond it is answered busy [default: 10,000,000]
    #[arg(long, value_name = "N")]
    jobs_max: Option<u64>,
    /// Jobs handed out a second over all keys, with those that may go at once after a colon: `100` or `100:20`
    #[arg(long, value_name = "RATE[:BURST]", value_parser = parse_limit)]
    limit: Option<Limit>,
    /// The same for each key
    #[arg(long, value_name = "RATE[:BURST]", value_parser = parse_limit)]
    key_limit: Option<Limit>,
    /// Strict order on one shard, or order within a key on all of them
    #[arg(long, value_enum)]
    spread: Option<Spread>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Spread {
    /// On one shard, in strict order
    One,
    /// On all shards, in order within a key
    All,
}

/// A rate, and how many may go at once.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Limit {
    rate: f64,
    burst: Option<u32>,
}

fn parse_limit(text: &str) -> Result<Limit, String> {
    let expected = || format!("{text:?} is no limit such as 100, 0.5 or 100:20");
    let (rate, burst) = match text.split_once(':') {
        Some((rate, burst)) => (rate, Some(burst.parse().map_err(|_| expected())?)),
        None => (text, None),
    };
    let rate: f64 = rate.parse().map_err(|_| expected())?;
    if rate.is_finite() && rate > 0.0 { Ok(Limit { rate, burst }) } else { Err(expected()) }
}

/// Tries dead jobs again.
pub(super) fn redrive(api: &Api, arguments: RedriveArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = path_of(&arguments.queue, "/redrive");
    let mut more = Map::new();
    if let Some(to) = &arguments.to {
        more.insert("to".to_owned(), to.clone().into());
    }
    again(api, &path, &arguments.job, arguments.max, &more, terminal)
}

/// Tries buried jobs again.
pub(super) fn kick(api: &Api, arguments: KickArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = path_of(&arguments.queue, "/kick");
    again(api, &path, &arguments.job, arguments.max, &Map::new(), terminal)
}

/// Makes jobs due again: those that are named, or the oldest, in as many requests as it takes.
fn again(
    api: &Api,
    path: &str,
    jobs: &[u64],
    max: Option<u64>,
    more: &Map<String, Value>,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let mut total = 0;
    let one = |fields: Value| -> Result<u64, Failure> {
        let mut body = more.clone();
        body.extend(fields.as_object().cloned().unwrap_or_default());
        Ok(number(&ask(api, Method::Post, path, Some(&body.into()))?, "count"))
    };
    if jobs.is_empty() {
        let mut left = max.unwrap_or(u64::MAX);
        let bar = terminal.progress(0, "due again");
        while left > 0 {
            let most = left.min(JOBS_MAX as u64);
            let did = one(json!({ "max": most }))?;
            total += did;
            left -= did.min(left);
            bar.set_length(total);
            bar.set_position(total);
            if did < most {
                break;
            }
        }
        bar.finish_and_clear();
    }
    for some in jobs.chunks(JOBS_MAX) {
        let ids: Vec<String> = some.iter().map(u64::to_string).collect();
        total += one(json!({ "jobs": ids }))?;
    }
    if terminal.is_json() {
        return terminal.json(&json!({ "count": total }));
    }
    terminal.data(&format!("{} {}", count(total), terminal.out(Style::Good, "due again")))
}

/// Pauses a queue.
pub(super) fn pause(api: &Api, arguments: QueueArguments, terminal: &Terminal) -> Result<(), Failure> {
    ask(api, Method::Post, &path_of(&arguments.queue, "/pause"), None)?;
    print_done(&json!({"queue": arguments.queue, "paused": true}), "is paused", &arguments.queue, terminal)
}

/// Lets a queue hand out again.
pub(super) fn resume(api: &Api, arguments: QueueArguments, terminal: &Terminal) -> Result<(), Failure> {
    ask(api, Method::Post, &path_of(&arguments.queue, "/resume"), None)?;
    print_done(
        &json!({"queue": arguments.queue, "paused": false}),
        "hands jobs out",
        &arguments.queue,
        terminal,
    )
}

/// Takes a queue away.
pub(super) fn drop_queue(api: &Api, arguments: QueueArguments, terminal: &Terminal) -> Result<(), Failure> {
    ask(api, Method::Delete, &path_of(&arguments.queue, ""), None)?;
    print_done(&json!({"queue": arguments.queue, "dropped": true}), "is gone", &arguments.queue, terminal)
}

fn print_done(fact: &Value, words: &str, name: &str, terminal: &Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        return terminal.json(fact);
    }
    terminal.data(&format!("{} {words}", terminal.out(Style::Name, name)))
}

/// Takes jobs out of a queue.
pub(super) fn purge(api: &Api, arguments: PurgeArguments, terminal: &Terminal) -> Result<(), Failure> {
    let which = match arguments.state {
        Some(state) => format!("all {} jobs", state.word()),
        None => "all jobs that nobody works on".to_owned(),
    };
    if !arguments.yes {
        terminal.confirm(&format!("Take {which} out of {}? It cannot be undone.", arguments.queue))?;
    }
    let body = match arguments.state {
        Some(state) => json!({"state": state.word()}),
        None => json!({}),
    };
    let answer = ask(api, Method::Post, &path_of(&arguments.queue, "/purge"), Some(&body))?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    terminal.data(&format!(
        "{} {}",
        count(number(&answer, "count")),
        terminal.out(Style::Warning, "taken out")
    ))
}

/// Takes jobs out.
pub(super) fn delete(api: &Api, arguments: DeleteArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut results: Vec<Value> = Vec::new();
    for some in arguments.job.chunks(JOBS_MAX) {
        let ids: Vec<String> = some.iter().map(u64::to_string).collect();
        let answer = ask(api, Method::Post, "/api/jobs/delete", Some(&json!({ "jobs": ids })))?;
        results.extend(items(&answer, "results").cloned());
    }
    let failed: Vec<&Value> = results.iter().filter(|result| result.get("error").is_some()).collect();
    if terminal.is_json() {
        terminal.json(&json!({ "results": results }))?;
    } else {
        for result in results.iter().filter(|result| result.get("error").is_none()) {
            terminal.data(&format!("{} is gone", text(result, "of")))?;
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        [first, ..] => {
            let error = first.get("error").unwrap_or(&Value::Null);
            let what = match text(error, "detail") {
                "-" => text(error, "title"),
                detail => detail,
            };
            Err(Failure::new(format!(
                "{} of {} were not taken out; {}: {what} ({})",
                failed.len(),
                results.len(),
                text(first, "of"),
                text(error, "code")
            )))
        }
    }
}

/// Changes a job.
pub(super) fn edit(api: &Api, arguments: EditArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut fields = Map::new();
    if let Some(payload) = &arguments.payload {
        fields = with_payload(fields, payload.clone().into_bytes());
    }
    fields.extend(arguments.how.fields());
    if fields.is_empty() {
        return Err(Failure::Usage(
            "name what becomes different, such as --delay 1h or --priority 9".to_owned(),
        ));
    }
    ask(api, Method::Patch, &format!("/api/jobs/{}", arguments.job), Some(&fields.into()))?;
    let id = arguments.job.to_string();
    print_done(&json!({"id": id, "edited": true}), "is changed", &id, terminal)
}

/// Declares a queue.
pub(super) fn declare(api: &Api, arguments: DeclareArguments, terminal: &Terminal) -> Result<(), Failure> {
    let limit = |limit: Limit| match limit.burst {
        Some(burst) => json!({"rate": limit.rate, "burst": burst}),
        None => json!({"rate": limit.rate}),
    };
    let backoff = given([
        ("first_ms", arguments.backoff_first.map(Value::from)),
        ("factor", arguments.backoff_factor.map(Value::from)),
        ("max_ms", arguments.backoff_max.map(Value::from)),
        ("jitter", arguments.backoff_jitter.map(Value::from)),
    ]);
    let dead = arguments.dead.as_deref().map(|place| match place {
        "keep" | "discard" => json!(place),
        queue => json!({ "queue": queue }),
    });
    let spread = arguments.spread.map(|spread| match spread {
        Spread::One => json!("one_shard"),
        Spread::All => json!("all_shards"),
    });
    let settings = given([
        ("lease_ms", arguments.lease.map(Value::from)),
        ("attempts_max", arguments.attempts.map(Value::from)),
        ("backoff", (!backoff.is_empty()).then_some(Value::Object(backoff))),
        ("dead_letter", dead),
        ("dead_ttl_ms", arguments.dead_ttl.map(Value::from)),
        ("dedup_window_ms", arguments.dedup_window.map(Value::from)),
        ("jobs_max", arguments.jobs_max.map(Value::from)),
        ("limit", arguments.limit.map(limit)),
        ("key_limit", arguments.key_limit.map(limit)),
        ("spread", spread),
    ]);
    let answer = ask(api, Method::Put, &path_of(&arguments.queue, ""), Some(&settings.into()))?;
    print_done(&answer, "is declared", &arguments.queue, terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_a_rate_and_a_burst() {
        assert_eq!(parse_limit("0.5"), Ok(Limit { rate: 0.5, burst: None }));
        assert_eq!(parse_limit("100:20"), Ok(Limit { rate: 100.0, burst: Some(20) }));
        for wrong in ["", "0", "-1", "fast", "1:", "1:x", "inf", "NaN"] {
            assert!(parse_limit(wrong).is_err(), "{wrong}");
        }
    }
}
