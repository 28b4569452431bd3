//! For unit tests: the smallest program.

use stadium_scenario::Program;

/// A program without anything in it.
pub(crate) fn program() -> Program {
    Program {
        name: "test".to_owned(),
        description: String::new(),
        text: String::new(),
        seed: 1,
        targets: Vec::new(),
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
        grace_ns: 0,
    }
}
