//! `lease.json`: the division of an instance's capacity among its clients.

use serde_json::{Value, json};
use stadium_rpc::admission::{Asker, Capacity, LeaseSettings, Leases};
use stadium_testing::vectors::{Case, Step, VectorFile};

pub fn file() -> VectorFile {
    VectorFile {
        name: "lease.json",
        about: ABOUT,
        defaults: json!({"ttl_ms": 5_000, "growth": 2.0, "client_min": 1}),
        cases: vec![division(), equal_wishes(), leftovers(), bounds(), quiescing()],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "grant: the instance can do per_second requests each second, or quiesces. `used` has the \
     requests that each client sent during its last grant. The expectation has the requests that \
     each may send for ttl_ms, in the same order.",
    "Among equal wishes it is open who gets a remainder; the scripts leave none there.",
];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let ttl_ms = config.small("ttl_ms");
    let mut leases = Leases::new(LeaseSettings {
        ttl_ms,
        growth: config.float("growth"),
        client_min: config.small("client_min"),
    });
    let mut answer = |step: &Step<'_>| {
        assert_eq!(step.event(), "grant");
        let capacity = match step.is("quiescing") {
            true => Capacity::Quiescing,
            false => Capacity::PerSecond(step.float("per_second")),
        };
        let used = step.0["used"].as_array().expect("a list");
        let used = used.iter().map(|used| used.as_u64().expect("a whole number") as u32);
        let mut grants =
            leases.grant(capacity, used.enumerate().map(|(key, used)| Asker { key, used })).to_vec();
        grants.sort_by_key(|grant| grant.key);
        assert!(grants.iter().all(|grant| grant.ttl_ms == ttl_ms));
        json!(grants.iter().map(|grant| grant.requests).collect::<Vec<_>>())
    };
    steps.iter().map(&mut answer).collect()
}

fn grant(case: Case, per_second: f64, used: &[u32]) -> Case {
    case.entry("grant", json!({"per_second": per_second, "used": used}))
}

fn division() -> Case {
    let case = Case::new("small wishes are granted, large ones share the rest");
    let case = grant(grant(case, 20.0, &[]), 20.0, &[0]);
    let case = grant(grant(case, 20.0, &[25]), 20.0, &[500, 500]);
    let case = grant(grant(case, 20.0, &[500, 5]), 20.0, &[5, 10, 500, 500]);
    grant(grant(case, 1_000.0, &[3_000, 100]), 33.3, &[1_000, 30, 20])
}

fn equal_wishes() -> Case {
    let case =
        Case::new("a wish is what was used times the growth, rounded up").config(json!({"growth": 1.5}));
    grant(grant(case, 2.0, &[1, 3, 500]), 2.0, &[4, 4])
}

fn leftovers() -> Case {
    let case = Case::new("the capacity that nobody wishes is given out evenly");
    grant(grant(grant(case, 20.0, &[0, 0, 5]), 20.4, &[0, 0, 0]), 0.8, &[1, 0])
}

fn bounds() -> Case {
    let case = Case::new("each gets the least in any case, and no more than 31 bits hold");
    let case = grant(grant(case, 0.0, &[5, 5]), 0.19, &[5, 6]);
    let case = grant(grant(case, -3.0, &[5]), 1e300, &[5, 7]);
    let case = grant(case.config(json!({"client_min": 3})), 1e9, &[u32::MAX, 1]);
    grant(case, 1.0, &[2, 9, 1, 4])
}

fn quiescing() -> Case {
    Case::new("an instance that quiesces grants nothing")
        .entry("grant", json!({"quiescing": true, "used": [0, 7, 900]}))
}
