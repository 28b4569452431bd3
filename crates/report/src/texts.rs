//! All texts of a result, for code that has to look through them before they are shown or kept.
//!
//! Every field is named here, so that a new one does not compile until it was decided whether it holds a text.

use std::collections::BTreeMap;

use crate::result::{
    Check, Doubt, Fleet, Generator, Interval, Machine, Outcome, Phase, Requests, RunResult, Scraped, Search,
    Session, Step, Threshold, Trial, Worker,
};

/// What changes a text.
type Change<'a> = &'a mut dyn FnMut(&str) -> String;

impl RunResult {
    /// Gives each text that came from a scenario, a command line, a target or a worker to `change`, and keeps what it
    /// returns. The scenario and the command line are not among them: they have forms of their own.
    pub fn change_texts(&mut self, change: Change<'_>) {
        let RunResult {
            format: _,
            id: _,
            name,
            scenario: _,
            command: _,
            started: _,
            duration_s: _,
            measured_s: _,
            outcome,
            machine,
            phases,
            total,
            steps,
            sessions,
            messages: _,
            fleets,
            series,
            scraped,
            generator,
            workers,
            thresholds,
            search,
        } = self;
        text(name, change);
        match outcome {
            Outcome::Completed | Outcome::Interrupted => {}
            Outcome::Failed { reason } => text(reason, change),
        }
        let Machine { host, cpu: _, processors: _, memory_bytes: _, system: _, version: _, open_files: _ } =
            machine;
        text(host, change);
        for Phase { name, from_s: _, to_s: _, arrivals: _ } in phases {
            text(name, change);
        }
        requests(total, change);
        for Step { session, name, protocol: _, requests: own, checks } in steps {
            text(session, change);
            text(name, change);
            requests(own, change);
            for Check { text: words, passed: _, failed: _ } in checks {
                text(words, change);
            }
        }
        for Session { name, started: _, completed: _, failed: _, duration: _ } in sessions {
            text(name, change);
        }
        fleets.iter_mut().for_each(|own| fleet(own, change));
        series.iter_mut().for_each(|own| interval(own, change));
        for Scraped { target, metric, counter: _, points: _ } in scraped {
            text(target, change);
            text(metric, change);
        }
        let Generator {
            loops: _,
            lateness: _,
            busy: _,
            saturated: _,
            machine_busy: _,
            steal: _,
            exhausted: _,
            sent_again: _,
            not_begun: _,
            doubts,
        } = generator;
        for Doubt { refuse: _, text: words } in doubts {
            text(words, change);
        }
        for Worker { name, address, clock_offset_us: _, clock_error_us: _, started: _, lost } in workers {
            text(name, change);
            text(address, change);
            if let Some(why) = lost {
                text(why, change);
            }
        }
        for Threshold { text: words, observed, passed: _ } in thresholds {
            text(words, change);
            text(observed, change);
        }
        if let Some(Search { goal, found: _, rate: _, interval: _, trials }) = search {
            text(goal, change);
            for Trial { rate: _, reached: _, held: _, reason } in trials {
                text(reason, change);
            }
        }
    }
}

impl Requests {
    /// As [`RunResult::change_texts`].
    pub fn change_texts(&mut self, change: Change<'_>) {
        requests(self, change);
    }
}

fn text(text: &mut String, change: Change<'_>) {
    if !text.is_empty() {
        *text = change(text);
    }
}

/// Keys that become the same are counted together.
fn keys(counts: &mut BTreeMap<String, u64>, change: Change<'_>) {
    for (key, count) in std::mem::take(counts) {
        *counts.entry(change(&key)).or_default() += count;
    }
}

fn requests(requests: &mut Requests, change: Change<'_>) {
    let Requests {
        started: _,
        answered: _,
        errors,
        statuses,
        response: _,
        service: _,
        bytes_out: _,
        bytes_in: _,
    } = requests;
    keys(errors, change);
    keys(statuses, change);
}

fn fleet(fleet: &mut Fleet, change: Change<'_>) {
    let Fleet {
        name,
        devices: _,
        connected_max: _,
        connects: _,
        lost_connections,
        refused,
        connect: _,
        messages: _,
        facts,
    } = fleet;
    text(name, change);
    keys(lost_connections, change);
    keys(refused, change);
    for (name, fact) in facts {
        text(name, change);
        text(fact, change);
    }
}

fn interval(interval: &mut Interval, change: Change<'_>) {
    let Interval {
        at_s: _,
        length_s: _,
        users: _,
        devices: _,
        arrived: _,
        started: _,
        answered: _,
        errors,
        response: _,
        service: _,
        messages: _,
        message_latency: _,
        bytes: _,
        lateness: _,
        busy: _,
        machine_busy: _,
        steal: _,
    } = interval;
    keys(errors, change);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_changed_and_counts_of_one_text_are_added() {
        let errors = BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 3)]);
        let step = Step {
            name: "a".to_owned(),
            requests: Requests { errors: errors.clone(), ..Requests::default() },
            checks: vec![Check { text: "a".to_owned(), passed: 1, failed: 0 }],
            ..Step::default()
        };
        let mut result = RunResult {
            name: "a".to_owned(),
            outcome: Outcome::Failed { reason: "a".to_owned() },
            steps: vec![step],
            fleets: vec![Fleet { facts: vec![("a".to_owned(), "b".to_owned())], ..Fleet::default() }],
            series: vec![Interval { errors, ..Interval::default() }],
            workers: vec![Worker { lost: Some("a".to_owned()), ..Worker::default() }],
            search: Some(Search {
                goal: "a".to_owned(),
                trials: vec![Trial { reason: "b".to_owned(), ..Trial::default() }],
                ..Search::default()
            }),
            ..RunResult::default()
        };
        result.change_texts(&mut |text| text.replace(['a', 'b'], "x"));
        let json = serde_json::to_value(&result).expect("it is JSON");
        assert_eq!(result.series[0].errors, BTreeMap::from([("x".to_owned(), 5)]));
        fn look(value: &serde_json::Value) {
            match value {
                serde_json::Value::String(text) => assert!(!["a", "b"].contains(&text.as_str()), "{text}"),
                serde_json::Value::Array(items) => items.iter().for_each(look),
                serde_json::Value::Object(fields) => {
                    fields.keys().for_each(|key| assert!(!["a", "b"].contains(&key.as_str()), "{key}"));
                    fields.values().for_each(look);
                }
                _ => {}
            }
        }
        look(&json);
    }
}
