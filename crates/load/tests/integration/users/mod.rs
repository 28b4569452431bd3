//! Scenarios of a few users, put together by hand: a target, and sessions of steps.
//!
//! A [`Users`] runs on one loop of this process; every user's session is counted in the result.

#![allow(dead_code)]

use std::net::SocketAddr;
use std::path::Path;

use stadium_load::run::{Progress, Run, RunOptions, RunResult};
use stadium_report::Step as Figures;
use stadium_scenario::check::{Check, Test, Want};
use stadium_scenario::program::{
    Action, Arrivals, Connections, Op, Pause, Phase, Program, Scheme, Session, Spacing, Step, Target, Tls,
    Version,
};
use stadium_scenario::template::Template;

/// A millisecond in nanoseconds.
pub const MS: u64 = 1_000_000;

/// A scenario that is being put together.
pub struct Users {
    program: Program,
}

/// One thing that a user does.
pub enum Do {
    /// A step.
    Step(&'static str, Action),
    /// A step whose answer's body must contain this.
    Checked(&'static str, Action, &'static str),
    /// A pause of so many milliseconds.
    Think(u64),
}

impl Users {
    /// Users of this target.
    pub fn at(scheme: Scheme, version: Version, address: SocketAddr) -> Self {
        let target = Target {
            name: "target".to_owned(),
            scheme,
            host: address.ip().to_string(),
            port: address.port(),
            path: String::new(),
            tls: Tls::default(),
            version,
            connections: Connections::PerUser,
            connect_timeout_ns: 5_000 * MS,
            cookies: true,
            headers: Vec::new(),
            metrics: None,
            source_addresses: Vec::new(),
        };
        let program = Program {
            name: "users".to_owned(),
            description: String::new(),
            text: String::new(),
            seed: 1,
            targets: vec![target],
            tables: Vec::new(),
            variables: Vec::new(),
            initial: Vec::new(),
            secrets: Vec::new(),
            phases: Vec::new(),
            sessions: Vec::new(),
            steps: Vec::new(),
            thresholds: Vec::new(),
            fleets: Vec::new(),
            users_max: 1_000,
            grace_ns: 20_000 * MS,
        };
        Users { program }
    }

    /// TLS that believes this authority, or anybody.
    pub fn believing(mut self, authority: Option<&Path>) -> Self {
        let authority = authority.map(|path| path.display().to_string());
        let insecure = authority.is_none();
        self.program.targets[0].tls = Tls { authority, insecure, resumption: true, ..Tls::default() };
        self
    }

    /// Users share so many connections.
    pub fn sharing(mut self, connections: u32) -> Self {
        self.program.targets[0].connections = Connections::Shared(connections);
        self
    }

    /// So many users, one after the other in 200 ms, who do this. Users of a later call come after those before.
    pub fn users(mut self, count: u32, does: Vec<Do>) -> Self {
        let program = &mut self.program;
        let session = program.sessions.len();
        let mut ops = Vec::new();
        for one in does {
            let (name, action, contains) = match one {
                Do::Think(ms) => {
                    ops.push(Op::Think(Pause::Constant(ms * MS)));
                    continue;
                }
                Do::Step(name, action) => (name, action, None),
                Do::Checked(name, action, contains) => (name, action, Some(contains)),
            };
            ops.push(Op::Step(program.steps.len() as u32));
            program.steps.push(Step {
                session,
                name: name.to_owned(),
                target: 0,
                action,
                timeout_ns: 10_000 * MS,
                extract: Vec::new(),
                checks: contains.into_iter().map(check).collect(),
                ends_session_on_failure: true,
            });
        }
        program.sessions.push(Session { name: format!("session {session}"), ops });
        let rate = f64::from(count) / 0.2;
        program.phases.push(Phase {
            name: format!("phase {session}"),
            duration_ns: 200 * MS,
            arrivals: Arrivals::Open { from: rate, to: rate, spacing: Spacing::Constant },
            measured: true,
            mix: Vec::new(),
        });
        let sessions = program.sessions.len();
        for (number, phase) in program.phases.iter_mut().enumerate() {
            phase.mix = (0..sessions).map(|session| f64::from(u8::from(session == number))).collect();
        }
        self
    }

    /// The time that a step of this name has, in milliseconds.
    pub fn within(mut self, name: &str, ms: u64) -> Self {
        self.program
            .steps
            .iter_mut()
            .filter(|step| step.name == name)
            .for_each(|step| step.timeout_ns = ms * MS);
        self
    }

    pub fn run(self) -> RunResult {
        self.run_with(|_| {})
    }

    /// Runs it with something to do at each look.
    pub fn run_with(self, mut look: impl FnMut(&Progress<'_>)) -> RunResult {
        let options = RunOptions { loops: 1, ..RunOptions::default() };
        Run::start(self.program, &options).expect("the run starts").wait(&mut look).expect("the loops run")
    }
}

fn check(contains: &str) -> Check {
    Check {
        text: format!("body contains {contains}"),
        test: Test::Body(Want::ContainsText(template(contains))),
    }
}

/// A text with `${user()}` and the like in it.
pub fn template(text: &str) -> Template {
    Template::parse(text, &mut Vec::<String>::new()).expect("the test's template is one")
}

/// A step's figures.
pub fn step<'a>(result: &'a RunResult, name: &str) -> &'a Figures {
    result.steps.iter().find(|step| step.name == name).expect("there is such a step")
}

/// What went wrong with a step, by kind.
pub fn errors(result: &RunResult, name: &str) -> Vec<(String, u64)> {
    step(result, name).requests.errors.clone().into_iter().collect()
}

/// Nothing went wrong, and every session came to its end.
pub fn assert_clean(result: &RunResult) {
    assert!(result.total.errors.is_empty(), "{:?}", result.total.errors);
    for session in &result.sessions {
        assert_eq!((session.completed, session.failed), (session.started, 0), "{}", session.name);
        assert!(session.started > 0, "{}", session.name);
    }
}
