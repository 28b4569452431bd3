//! `subset.json`: the instances that a client keeps connections to, by its id, its zone and the
//! size.

use serde_json::{Value, json};
use stadium_testing::vectors::{Case, VectorFile};

use crate::player::{self, SECOND};
use crate::scores;

pub fn file() -> VectorFile {
    VectorFile {
        name: "subset.json",
        about: player::ABOUT,
        defaults: json!({"client": "host-1", "zone": "", "zone_instances_min": 3, "subset_size": 20}),
        cases: vec![ranks(), clients(), lost_members(), all_lost(), zones(), few_in_zone(), edges()],
        play: player::play,
        command: crate::COMMAND,
    }
}

fn address(n: usize) -> String {
    format!("10.0.0.{n}:7800")
}

/// Instances from 1 to `count`; the ranks of a client must not nearly tie.
fn named(count: usize) -> Value {
    let addresses: Vec<String> = (1..=count).map(address).collect();
    let instances: Vec<(&str, u64)> = addresses.iter().map(|one| (one.as_str(), 100)).collect();
    for client in CLIENTS {
        scores::order(scores::scramble(scores::fnv(client.as_bytes())), &instances);
    }
    json!({"instances": addresses.iter().map(|one| json!({"address": one})).collect::<Vec<_>>()})
}

const CLIENTS: [&str; 3] = ["host-1", "host-2", ""];

fn wanted(case: Case) -> Case {
    case.at("wanted", json!({}))
}

fn ranks() -> Case {
    let case =
        Case::new("more instances than the size: the best ranks; a change of instances changes few members");
    let case =
        [30, 31, 29, 20, 3].into_iter().fold(case, |case, count| wanted(case.at("update", named(count))));
    let weighed = |n: usize| json!({"address": address(n), "weight": if n < 6 { 1_000 } else { 50 }});
    let case = case.at("update", json!({"instances": (1..=30).map(weighed).collect::<Vec<_>>()}));
    wanted(case)
}

fn clients() -> Case {
    let case =
        Case::new("another client ranks otherwise").config(json!({"client": "host-2", "subset_size": 5}));
    wanted(case.at("update", named(30)))
}

fn lost_members() -> Case {
    let case = Case::new("a lost member stays, the next in rank stands in for it, and leaves when it heals");
    let case = wanted(case.config(json!({"subset_size": 3})).at("update", named(8)));
    let all: Vec<String> = (1..=8).map(address).collect();
    let case = case.at("connected", json!({"instances": all}));
    let lose = |case: Case, n: usize| {
        let lost = json!({"instances": [address(n)], "retry_at_us": 5 * SECOND});
        wanted(case.at("disconnected", lost))
    };
    let case = (1..=8).fold(case, lose);
    let case = wanted(case.wait_us(6 * SECOND));
    (1..=8).fold(case, |case, n| wanted(case.at("connected", json!({"instances": [address(n)]}))))
}

fn all_lost() -> Case {
    let case = Case::new("with the network gone, as many lost ones are kept as the size")
        .config(json!({"subset_size": 2}));
    let all: Vec<String> = (1..=8).map(address).collect();
    let case = case.at("update", named(8));
    let case = wanted(case.at("disconnected", json!({"instances": all, "retry_at_us": 5 * SECOND})));
    wanted(case.at("closed", json!({"instances": all})))
}

fn in_zones(zones: &[(usize, &str)]) -> Value {
    let one = |(n, zone): &(usize, &str)| json!({"address": address(*n), "zone": zone});
    json!({"instances": zones.iter().map(one).collect::<Vec<_>>()})
}

const ZONES: [(usize, &str); 7] = [(1, "a"), (2, "b"), (3, "a"), (4, "b"), (5, "a"), (6, ""), (7, "a")];

fn zones() -> Case {
    let case =
        Case::new("the client's zone, while three of it work").config(json!({"zone": "a", "subset_size": 4}));
    let case = wanted(case.at("update", in_zones(&ZONES)));
    let lost = |n: usize| json!({"instances": [address(n)], "retry_at_us": 9 * SECOND});
    let case = wanted(case.at("disconnected", lost(1)));
    let case = wanted(case.at("disconnected", lost(3)));
    let case = wanted(case.at("connected", json!({"instances": [address(3)]})));
    let case = wanted(case.at("load", json!({"instance": address(5), "load": 0.0, "quiescing": true})));
    wanted(case.at("load", json!({"instance": address(5), "load": 0.0, "quiescing": false})))
}

fn few_in_zone() -> Case {
    let case = Case::new("a zone with too few instances is no reason, nor one that no instance has");
    let case = wanted(case.config(json!({"zone": "b", "subset_size": 3})).at("update", in_zones(&ZONES)));
    let more = [&ZONES[..], &[(8, "b")]].concat();
    wanted(wanted(case.at("update", in_zones(&more))).at("update", in_zones(&[(1, "x"), (2, "y")])))
}

fn edges() -> Case {
    let case = Case::new("a size of 0 is 1; weight 0 and quiescing instances are never members");
    let case = wanted(case.config(json!({"subset_size": 0, "client": ""})));
    let case = wanted(wanted(case.at("update", json!({"instances": []}))).at("update", named(3)));
    let instances = json!([
        {"address": address(1), "weight": 0},
        {"address": address(2), "quiescing": true},
        {"address": address(3)},
    ]);
    wanted(case.at("update", json!({"instances": instances})))
}
