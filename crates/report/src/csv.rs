//! A run's intervals and steps as CSV (RFC 4180), for people who draw their own.
//!
//! Times are milliseconds, rates a second, shares 0 to 1. An empty field means that nothing was measured there.

use std::fmt::Write;

use crate::latency::Counts;
use crate::{Requests, RunResult};

/// One row for each interval.
pub fn series(run: &RunResult) -> String {
    let mut out = String::from(
        "at_s,length_s,phase,users,devices,arrived,started,answered,failed,response_p50_ms,response_p90_ms,\
         response_p99_ms,response_p999_ms,response_max_ms,service_p50_ms,service_p90_ms,service_p99_ms,service_p999_ms,\
         service_max_ms,messages,message_p50_ms,message_p99_ms,message_max_ms,bytes_out,bytes_in,lateness_p50_ms,\
         lateness_p99_ms,lateness_max_ms,busy,machine_busy,steal\r\n",
    );
    for interval in &run.series {
        let phase = run.phases.iter().find(|phase| phase.holds(interval)).map_or("", |phase| &phase.name);
        let mut row = Row::new(&mut out);
        row.number(interval.at_s).number(interval.length_s).text(phase);
        row.count(interval.users).count(interval.devices).count(interval.arrived);
        row.count(interval.started).count(interval.answered).count(interval.failed());
        row.times(&interval.response, &ALL).times(&interval.service, &ALL);
        row.count(interval.messages).times(&interval.message_latency, &FEW);
        row.count(interval.bytes[0]).count(interval.bytes[1]).times(&interval.lateness, &FEW);
        row.number(interval.busy).number(interval.machine_busy).number(interval.steal);
        row.end();
    }
    out
}

/// One row for each step, and one named `all` without a session for all of them.
pub fn steps(run: &RunResult) -> String {
    let mut out = String::from(
        "session,step,protocol,started,answered,failed,checks_passed,checks_failed,response_p50_ms,response_p90_ms,\
         response_p99_ms,response_p999_ms,response_max_ms,service_p50_ms,service_p90_ms,service_p99_ms,service_p999_ms,\
         service_max_ms,bytes_out,bytes_in\r\n",
    );
    let checks = |step: &crate::Step| {
        step.checks.iter().fold((0, 0), |sum, check| (sum.0 + check.passed, sum.1 + check.failed))
    };
    for step in &run.steps {
        let names = [step.session.as_str(), &step.name, &step.protocol];
        step_row(&mut out, names, &step.requests, checks(step));
    }
    let all = run.steps.iter().map(checks).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    step_row(&mut out, ["", "all", ""], &run.total, all);
    out
}

fn step_row(out: &mut String, names: [&str; 3], requests: &Requests, checks: (u64, u64)) {
    let mut row = Row::new(out);
    row.text(names[0]).text(names[1]).text(names[2]);
    row.count(requests.started).count(requests.answered).count(requests.failed());
    row.count(checks.0).count(checks.1);
    row.times(&requests.response, &ALL).times(&requests.service, &ALL);
    row.count(requests.bytes_out).count(requests.bytes_in);
    row.end();
}

const ALL: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];
const FEW: [f64; 3] = [0.5, 0.99, 1.0];

struct Row<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> Row<'a> {
    fn new(out: &'a mut String) -> Self {
        Row { out, first: true }
    }

    fn field(&mut self) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        self.out
    }

    fn text(&mut self, text: &str) -> &mut Self {
        let field = self.field();
        // A spreadsheet takes a text that begins like this for a formula: a space in front keeps it a text.
        let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { " " } else { "" };
        if text.contains([',', '"', '\n', '\r']) {
            let _ = write!(field, "\"{guard}{}\"", text.replace('"', "\"\""));
        } else {
            field.extend([guard, text]);
        }
        self
    }

    fn count(&mut self, value: u64) -> &mut Self {
        let _ = write!(self.field(), "{value}");
        self
    }

    fn number(&mut self, value: f64) -> &mut Self {
        let field = self.field();
        if value.is_finite() {
            let _ = write!(field, "{}", (value * 1e6).round() / 1e6);
        }
        self
    }

    fn times(&mut self, counts: &Counts, quantiles: &[f64]) -> &mut Self {
        for quantile in quantiles {
            match counts.quantile(*quantile) {
                Some(ns) => self.number(ns as f64 / 1e6),
                None => self.text(""),
            };
        }
        self
    }

    fn end(self) {
        self.out.push_str("\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, SERVER};

    #[test]
    fn every_row_has_the_header_s_fields() {
        let run = sample::run(SERVER);
        for (text, rows) in [(series(&run), run.series.len()), (steps(&run), run.steps.len() + 1)] {
            let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert_eq!(fields.len(), rows + 1);
            assert!(fields.iter().all(|count| *count == fields[0]), "{text}");
        }
        let row = series(&run).lines().nth(71).expect("71 s").to_owned();
        assert!(row.starts_with("71,1,peak,"), "{row}");
    }

    #[test]
    fn a_name_stays_one_field_and_no_formula() {
        let mut run = sample::run(SERVER);
        run.steps.truncate(1);
        run.steps[0].name = "=1+1, \"a\"".to_owned();
        let text = steps(&run);
        assert!(
            text.lines().nth(1).expect("a row").starts_with("voting,\" =1+1, \"\"a\"\"\",http/1.1,"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_measured_is_an_empty_field() {
        let mut run = sample::run(SERVER);
        run.series.truncate(1);
        run.series[0].response = Counts::default();
        let row = series(&run).lines().nth(1).expect("a row").to_owned();
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!(fields[9..14], [""; 5]);
        assert_ne!(fields[14], "");
    }
}
