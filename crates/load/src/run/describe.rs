//! A result before anything has happened: the scenario, the machine, steps and sessions without
//! figures.

use stadium_report::latency::Counts;
use stadium_report::{Check, FORMAT, Phase, Requests, RunResult, Session, Step};
use stadium_scenario::program::{Action, Arrivals, Program, Version};
use stadium_scenario::secret::Secrets;

use super::options::RunOptions;
use crate::{conceal, machine};

/// A result before anything has happened. Nothing in it is secret.
pub(super) fn describe(program: &Program, options: &RunOptions, secrets: &Secrets) -> RunResult {
    let now = jiff::Zoned::now();
    let mut from_s = 0.0;
    let phases = program
        .phases
        .iter()
        .map(|phase| {
            let to_s = from_s + phase.duration_ns as f64 / 1e9;
            let described =
                Phase { name: phase.name.clone(), from_s, to_s, arrivals: arrivals(&phase.arrivals) };
            from_s = to_s;
            described
        })
        .collect();
    let mut result = RunResult {
        format: FORMAT,
        id: format!("{}-{:04x}", now.strftime("%Y%m%dT%H%M%S"), fastrand::u16(..)),
        name: program.name.clone(),
        scenario: program.text.clone(),
        command: options.command.clone(),
        started: now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        machine: machine::describe(),
        phases,
        steps: program
            .steps
            .iter()
            .map(|step| Step {
                session: program.sessions[step.session].name.clone(),
                name: step.name.clone(),
                protocol: protocol(&step.action, program.targets[step.target].version).to_owned(),
                requests: Requests::default(),
                checks: step
                    .checks
                    .iter()
                    .map(|check| Check { text: check.text.clone(), passed: 0, failed: 0 })
                    .collect(),
            })
            .collect(),
        sessions: program
            .sessions
            .iter()
            .map(|session| Session {
                name: session.name.clone(),
                duration: Counts::default(),
                ..Session::default()
            })
            .collect(),
        ..RunResult::default()
    };
    conceal(&mut result, secrets);
    result
}

fn protocol(action: &Action, version: Version) -> &'static str {
    match (action, version) {
        (Action::Http(_), Version::Http2) => "http/2",
        (Action::Http(_), _) => "http/1.1",
        (Action::Events { .. }, _) => "sse",
        (Action::WebSocket(_), _) => "websocket",
        (Action::Mqtt(_), _) => "mqtt",
        (Action::Rsocket(_), _) => "rsocket",
        (Action::Tcp(_), _) => "tcp",
    }
}

fn arrivals(arrivals: &Arrivals) -> String {
    match *arrivals {
        Arrivals::Open { from, to, .. } if from == to => format!("{from} users/s"),
        Arrivals::Open { from, to, .. } => format!("{from} to {to} users/s"),
        Arrivals::Closed { from, to } if from == to => format!("{from} users"),
        Arrivals::Closed { from, to } => format!("{from} to {to} users"),
        Arrivals::None => "nobody new".to_owned(),
    }
}
