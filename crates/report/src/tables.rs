//! The tables of a run: one source for the page and for the terminal.
//!
//! A table without rows is not made. Response time stands before service time everywhere, and
//! states since when.

use crate::latency::Counts;
use crate::number::{bytes, count, nanoseconds, number, rate, share};
use crate::table::{Cell, News, Table, columns};
use crate::{Messages, Requests, RunResult};

/// All tables that have rows, in the order of a report.
pub(crate) fn tables(run: &RunResult) -> Vec<Table> {
    let all = [
        phases(run),
        steps(run),
        errors(run),
        statuses(run),
        checks(run),
        sessions(run),
        messages(run),
        fleets(run),
        fleet_facts(run),
        search(run),
        workers(run),
    ];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Thresholds: whether each held, and what was measured.
pub(crate) fn thresholds(run: &RunResult) -> Table {
    let row = |threshold: &crate::Threshold| {
        let (text, news) = if threshold.passed { ("held", News::Good) } else { ("NOT HELD", News::Bad) };
        vec![
            Cell { text: text.to_owned(), news },
            threshold.text.as_str().into(),
            threshold.observed.as_str().into(),
        ]
    };
    Table {
        title: "Thresholds",
        columns: columns(&["<", "<threshold", "<measured"]),
        rows: run.thresholds.iter().map(row).collect(),
        ..Table::default()
    }
}

fn time(counts: &Counts, quantile: f64) -> Cell {
    counts.quantile(quantile).map_or_else(|| "-".to_owned(), nanoseconds).into()
}

fn times(counts: &Counts) -> [Cell; 5] {
    [0.5, 0.9, 0.99, 0.999, 1.0].map(|quantile| time(counts, quantile))
}

fn failures(requests: &Requests) -> Cell {
    let Some(part) = requests.failed_share() else { return "-".into() };
    Cell::bad_if(share(part), part > 0.0)
}

fn steps(run: &RunResult) -> Table {
    let per_second = |requests: &Requests| {
        if run.counted_s() > 0.0 { rate(requests.answered as f64 / run.counted_s()) } else { "-".to_owned() }
    };
    let row = |name: String, session: &str, protocol: &str, requests: &Requests| {
        let [p50, p90, p99, p999, max] = times(&requests.response);
        vec![
            name.into(),
            session.into(),
            protocol.into(),
            count(requests.started).into(),
            per_second(requests).into(),
            failures(requests),
            p50,
            p90,
            p99,
            p999,
            max,
            time(&requests.service, 0.99),
            bytes(requests.bytes_in as f64).into(),
        ]
    };
    let mut rows: Vec<_> = run
        .steps
        .iter()
        .map(|step| row(step.name.clone(), &step.session, &step.protocol, &step.requests))
        .collect();
    if rows.len() != 1 && run.total.started > 0 {
        rows.push(row("all".to_owned(), "", "", &run.total));
    }
    Table {
        title: "Steps",
        note: "p50 to max are response times, from when a request was due; service p99 counts from when it was sent"
            .to_owned(),
        columns: columns(&[
            "<step", "<session", "<protocol", "requests", "answered", "failed", "p50", "p90", "p99", "p99.9", "max",
            "service p99", "received",
        ]),
        rows,
    }
}

fn errors(run: &RunResult) -> Table {
    let mut kinds: Vec<_> = run.total.errors.iter().filter(|(_, count)| **count > 0).collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let row = |(kind, times): (&String, &u64)| {
        let part = if run.total.started > 0 {
            share(*times as f64 / run.total.started as f64)
        } else {
            "-".to_owned()
        };
        let worst = run.steps.iter().max_by_key(|step| step.requests.errors.get(kind).copied().unwrap_or(0));
        let place =
            worst.filter(|step| step.requests.errors.contains_key(kind)).map(|step| step.name.as_str());
        vec![kind.as_str().into(), count(*times).into(), part.into(), place.unwrap_or("-").into()]
    };
    Table {
        title: "Errors",
        columns: columns(&["<kind", "times", "of all requests", "<most in step"]),
        rows: kinds.into_iter().map(row).collect(),
        ..Table::default()
    }
}

fn statuses(run: &RunResult) -> Table {
    let row = |(status, times): (&String, &u64)| {
        let part = if run.total.answered > 0 {
            share(*times as f64 / run.total.answered as f64)
        } else {
            "-".to_owned()
        };
        vec![status.as_str().into(), count(*times).into(), part.into()]
    };
    Table {
        title: "Statuses",
        columns: columns(&["<status", "answers", "of all answers"]),
        rows: run.total.statuses.iter().map(row).collect(),
        ..Table::default()
    }
}

fn checks(run: &RunResult) -> Table {
    let each = run.steps.iter().flat_map(|step| step.checks.iter().map(move |check| (step, check)));
    let row = |(step, check): (&crate::Step, &crate::Check)| {
        let all = check.passed + check.failed;
        let part = if all > 0 { share(check.passed as f64 / all as f64) } else { "-".to_owned() };
        vec![
            step.name.as_str().into(),
            check.text.as_str().into(),
            part.into(),
            count(check.passed).into(),
            Cell::bad_if(count(check.failed), check.failed > 0),
        ]
    };
    Table {
        title: "Checks",
        columns: columns(&["<step", "<check", "held", "times", "not held"]),
        rows: each.map(row).collect(),
        ..Table::default()
    }
}

fn sessions(run: &RunResult) -> Table {
    let row = |session: &crate::Session| {
        let [p50, p90, p99, _, max] = times(&session.duration);
        vec![
            session.name.as_str().into(),
            count(session.started).into(),
            count(session.completed).into(),
            Cell::bad_if(count(session.failed), session.failed > 0),
            p50,
            p90,
            p99,
            max,
        ]
    };
    Table {
        title: "Sessions",
        note: "how long they took counts from when they were due, of those that came to their end".to_owned(),
        columns: columns(&["<session", "begun", "completed", "gave up", "p50", "p90", "p99", "max"]),
        rows: run.sessions.iter().map(row).collect(),
    }
}

fn messages(run: &RunResult) -> Table {
    let row = |name: &str, messages: &Messages| {
        let [p50, _, p99, p999, max] = times(&messages.latency);
        vec![
            name.into(),
            count(messages.sent).into(),
            count(messages.received).into(),
            Cell::bad_if(count(messages.lost), messages.lost > 0),
            Cell::bad_if(count(messages.duplicates), messages.duplicates > 0),
            Cell::bad_if(count(messages.reordered), messages.reordered > 0),
            p50,
            p99,
            p999,
            max,
        ]
    };
    let mut rows = Vec::new();
    if run.messages.sent + run.messages.received > 0 {
        rows.push(row("all", &run.messages));
    }
    let fleets = run.fleets.iter().filter(|fleet| fleet.messages.sent + fleet.messages.received > 0);
    rows.extend(fleets.map(|fleet| row(&format!("fleet {}", fleet.name), &fleet.messages)));
    Table {
        title: "Messages",
        note: "from when a message was meant to be sent to its arrival".to_owned(),
        columns: columns(&[
            "<messages",
            "sent",
            "received",
            "lost",
            "duplicates",
            "reordered",
            "p50",
            "p99",
            "p99.9",
            "max",
        ]),
        rows,
    }
}

fn fleets(run: &RunResult) -> Table {
    let row = |fleet: &crate::Fleet| {
        let [p50, _, p99, _, max] = times(&fleet.connect);
        let lost: u64 = fleet.lost_connections.values().sum();
        let refused: u64 = fleet.refused.values().sum();
        vec![
            fleet.name.as_str().into(),
            count(fleet.devices).into(),
            Cell::bad_if(count(fleet.connected_max), fleet.connected_max < fleet.devices),
            count(fleet.connects).into(),
            Cell::bad_if(count(lost), lost > 0),
            Cell::bad_if(count(refused), refused > 0),
            p50,
            p99,
            max,
        ]
    };
    Table {
        title: "Fleets",
        note: "connecting counts from when it was due".to_owned(),
        columns: columns(&[
            "<fleet",
            "devices",
            "most connected",
            "connects",
            "lost",
            "refused",
            "connect p50",
            "p99",
            "max",
        ]),
        rows: run.fleets.iter().map(row).collect(),
    }
}

fn fleet_facts(run: &RunResult) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for fleet in &run.fleets {
        let name = || Cell::from(fleet.name.as_str());
        for (cause, times) in &fleet.lost_connections {
            rows.push(vec![name(), format!("connections lost: {cause}").into(), count(*times).into()]);
        }
        for (cause, times) in &fleet.refused {
            rows.push(vec![name(), format!("refused: {cause}").into(), count(*times).into()]);
        }
        rows.extend(
            fleet.facts.iter().map(|(what, text)| vec![name(), what.as_str().into(), text.as_str().into()]),
        );
    }
    Table { title: "Fleets in detail", columns: columns(&["<fleet", "<what", ""]), rows, ..Table::default() }
}

fn workers(run: &RunResult) -> Table {
    let row = |worker: &crate::Worker| {
        vec![
            worker.name.as_str().into(),
            worker.address.as_str().into(),
            count(worker.started).into(),
            format!("{} ± {} µs", number(worker.clock_offset_us), number(worker.clock_error_us)).into(),
            match &worker.lost {
                Some(how) => Cell::bad_if(format!("lost {how}"), true),
                None => "to the end".into(),
            },
        ]
    };
    Table {
        title: "Workers",
        note: "each one's clock less the coordinator's, and how far that may be off".to_owned(),
        columns: columns(&["<worker", "<address", "users", "clock", "<stayed"]),
        rows: run.workers.iter().map(row).collect(),
    }
}

fn phases(run: &RunResult) -> Table {
    let row = |phase: &crate::Phase| {
        let mut sum: Option<crate::Interval> = None;
        for interval in run.series.iter().filter(|interval| phase.holds(interval)) {
            match &mut sum {
                Some(sum) => sum.append(interval),
                None => sum = Some(interval.clone()),
            }
        }
        let sum = sum.unwrap_or_default();
        let failed = sum.failed();
        let part = if sum.started > 0 { share(failed as f64 / sum.started as f64) } else { "-".to_owned() };
        vec![
            phase.name.as_str().into(),
            crate::number::seconds(phase.from_s).into(),
            crate::number::seconds(phase.to_s).into(),
            phase.arrivals.as_str().into(),
            rate(sum.rate(sum.started)).into(),
            rate(sum.rate(sum.answered)).into(),
            Cell::bad_if(part, failed > 0),
            time(&sum.response, 0.5),
            time(&sum.response, 0.99),
            time(&sum.response, 1.0),
        ]
    };
    Table {
        title: "Phases",
        columns: columns(&[
            "<phase",
            "from",
            "to",
            "<arrivals",
            "begun",
            "answered",
            "failed",
            "p50",
            "p99",
            "max",
        ]),
        rows: run.phases.iter().map(row).collect(),
        ..Table::default()
    }
}

fn search(run: &RunResult) -> Table {
    let Some(search) = &run.search else { return Table::default() };
    let row = |trial: &crate::Trial| {
        vec![
            rate(trial.rate).into(),
            rate(trial.reached).into(),
            Cell::bad_if(if trial.held { "held" } else { "not held" }.to_owned(), !trial.held),
            trial.reason.as_str().into(),
        ]
    };
    let found: Vec<String> = search.found.iter().map(|found| rate(*found)).collect();
    Table {
        title: "Search",
        note: format!(
            "{}: {} (from {} to {}; repeats found {})",
            search.goal,
            rate(search.rate),
            rate(search.interval[0]),
            rate(search.interval[1]),
            if found.is_empty() { "none".to_owned() } else { found.join(", ") },
        ),
        columns: columns(&["offered", "reached", "<thresholds", "<why not"]),
        rows: search.trials.iter().map(row).collect(),
    }
}
