//! `choose.json`: where calls go, by latency, calls under way, load, weight, BUSY, key and
//! exclusion.

use serde_json::json;
use stadium_testing::vectors::{Case, VectorFile};

use crate::player::{self, MS, SECOND, busy, calls, choices, fleet};

pub fn file() -> VectorFile {
    VectorFile {
        name: "choose.json",
        about: player::ABOUT,
        defaults: json!({
            "policy": "peak-ewma",
            "seed": 1,
            "decay_us": 10 * SECOND,
            "latency_default_us": MS,
            "busy_max_us": 5 * SECOND,
        }),
        cases: [costs(), connections_and_busy(), keys(), exclusion(), table()]
            .into_iter()
            .flatten()
            .collect(),
        play: player::play,
        command: crate::COMMAND,
    }
}

const TEN: [&str; 10] = ["a:1", "b:1", "c:1", "d:1", "e:1", "f:1", "g:1", "h:1", "i:1", "j:1"];

/// Scripts in which the cost decides.
fn costs() -> Vec<Case> {
    vec![
        choices(fleet(Case::new("ten strangers cost the same: the first one drawn gets the call"), &TEN), 40),
        choices(fleet(Case::new("another seed draws others").config(json!({"seed": 7})), &TEN), 40),
        calls_under_way(),
        latencies(),
        peaks(),
        strangers(),
        held_guess(),
        decayed(),
        loads(),
        load_and_weight(),
        weights(),
    ]
}

fn calls_under_way() -> Case {
    let case = fleet(Case::new("a call under way doubles the cost"), &["a:1", "b:1", "c:1"]);
    let case = choices(case, 6).at("began", json!({"instance": "a:1", "call": 1}));
    let case = choices(case, 20).at("began", json!({"instance": "b:1", "call": 2}));
    let case = choices(case, 20).at("began", json!({"instance": "c:1", "call": 3}));
    let case = choices(case, 6).at("inflight", json!({"instance": "a:1"}));
    let case = case.at("ended", json!({"call": 1, "outcome": "cancelled", "latency_us": 0}));
    let case = choices(case, 10).at("inflight", json!({"instance": "a:1"}));
    case.at("ended", json!({"call": 2, "outcome": "ok", "latency_us": 0})).at("choose", json!({"times": 10}))
}

fn latencies() -> Case {
    let case = fleet(
        Case::new("latencies of 1, 2, 5 and 40 ms; silence makes them forgotten with the decay"),
        &["a:1", "b:1", "c:1", "d:1"],
    );
    let case = calls(case, "d:1", "ok", 1, 40 * MS);
    let case = calls(case, "c:1", "ok", 3, 5 * MS);
    let case = calls(case, "b:1", "ok", 3, 2 * MS);
    let case = calls(case, "a:1", "ok", 3, MS);
    let case = choices(case, 20).at("began", json!({"instance": "a:1", "call": 1}));
    let case = case.at("began", json!({"instance": "a:1", "call": 2}));
    let case = choices(case, 20).wait_us(10 * SECOND);
    // The others are still asked, so that only d is forgotten.
    let asked = |case| {
        let case = calls(calls(case, "a:1", "ok", 50, MS), "b:1", "ok", 50, 2 * MS);
        calls(case, "c:1", "ok", 50, 5 * MS)
    };
    let case = choices(asked(case), 20).wait_us(12 * SECOND);
    let case = choices(asked(case), 20).wait_us(25 * SECOND);
    let case = choices(asked(case), 20).wait_us(200 * SECOND);
    choices(case, 20)
}

fn peaks() -> Case {
    let case =
        Case::new("a worse latency counts at once; refusals and ends without an answer only when worse");
    let case = fleet(case, &["a:1", "b:1"]);
    let case = calls(calls(case, "a:1", "ok", 20, 2 * MS), "b:1", "ok", 20, 4 * MS);
    let case = choices(case, 3);
    let case = choices(calls(case, "a:1", "ok", 1, 6 * MS), 3);
    let case = choices(calls(case, "b:1", "cancelled", 1, 10), 3);
    let case = choices(calls(case, "b:1", "cancelled", 1, 30 * MS), 3);
    let case = choices(calls(case, "a:1", "broken", 1, 60 * MS), 3);
    let case = choices(calls(case, "b:1", "deadline", 1, 200 * MS), 3);
    let case = choices(calls(case, "a:1", "rejected", 1, 900 * MS), 3);
    let case = choices(calls(case, "b:1", "rejected", 400, 10), 3);
    let case = case.at("began", json!({"instance": "b:1", "call": 1})).wait_us(MS);
    let stream = json!({"call": 1, "outcome": "ok", "latency_us": 30 * SECOND});
    let case = choices(case.at("stream_ended", stream), 3);
    choices(calls(case, "b:1", "ok", 1, 0), 3)
}

fn strangers() -> Case {
    let case = Case::new("a stranger costs the median of the others, found again each second");
    let case = fleet(case, &["a:1", "b:1", "c:1", "d:1"]);
    let case = calls(calls(case, "a:1", "ok", 5, MS), "b:1", "ok", 5, 8 * MS);
    let case = choices(calls(case, "c:1", "ok", 5, 30 * MS), 30);
    let case = calls(case, "c:1", "ok", 1, 90 * MS);
    let case = choices(case, 10);
    let case = choices(calls(case, "b:1", "ok", 1, 60 * MS), 10).wait_us(2 * SECOND);
    let case = choices(case, 10);
    choices(calls(case, "d:1", "ok", 1, 3 * MS), 20)
}

fn held_guess() -> Case {
    let case = Case::new("the guess holds for its second, unless an event makes the lists anew");
    let case = fleet(case, &["a:1", "b:1", "c:1", "d:1"]);
    let case = calls(calls(case, "a:1", "ok", 1, 2 * MS), "b:1", "ok", 1, 4 * MS);
    let case = choices(busy(case, "c:1", 900), 10);
    // The median grows with b, and a second BUSY of c is no reason to find it again.
    let case = choices(busy(calls(case, "b:1", "ok", 1, 100 * MS), "c:1", 10), 10);
    choices(busy(case, "a:1", 0), 10)
}

fn decayed() -> Case {
    let case = Case::new(
        "a sample below the average pulls it down by the decay; one that only counts when worse does not",
    );
    let case = calls(fleet(case, &["a:1", "b:1"]), "a:1", "ok", 1, 40 * MS).wait_us(10 * SECOND);
    let case = calls(calls(case, "a:1", "ok", 1, 20 * MS), "b:1", "ok", 1, 23 * MS);
    let case = choices(case, 4).wait_us(60 * SECOND);
    let case = calls(case, "a:1", "ok", 1, 40 * MS).wait_us(10 * SECOND);
    let case = calls(calls(case, "a:1", "cancelled", 1, 14 * MS), "b:1", "ok", 1, 18 * MS);
    choices(case, 4)
}

fn loads() -> Case {
    let case =
        Case::new("the load factor: idle, half, full, threefold; from discovery, then from the connection");
    let instances = json!([
        {"address": "a:1", "load": 0.0}, {"address": "b:1", "load": 0.5},
        {"address": "c:1", "load": 1.0}, {"address": "d:1", "load": 3.0},
    ]);
    let all = json!({"instances": ["a:1", "b:1", "c:1", "d:1"]});
    let case = case.at("update", json!({"instances": instances})).at("connected", all);
    let case = choices(case, 20).at("load", json!({"instance": "a:1", "load": 2.0}));
    let case = choices(case, 20);
    // Discovery is older than the connection's report until the connection is gone.
    let case = choices(case.at("update", json!({"instances": instances})), 20);
    let case = case.at("closed", json!({"instances": ["a:1"]})).at("update", json!({"instances": instances}));
    let case = choices(case.at("connected", json!({"instances": ["a:1"]})), 20);
    let case = choices(case.at("load", json!({"instance": "a:1", "load": 1e9})), 20);
    choices(case.at("load", json!({"instance": "a:1", "load": -5.0})), 20)
}

fn load_and_weight() -> Case {
    let case = Case::new("half loaded costs a quarter more, which is less than a weight of 74");
    let instances = json!([{"address": "a:1", "load": 0.5}, {"address": "b:1", "weight": 74}]);
    let case = case.at("update", json!({"instances": instances}));
    choices(case.at("connected", json!({"instances": ["a:1", "b:1"]})), 6)
}

fn weights() -> Case {
    let instances = json!([
        {"address": "a:1", "weight": 100}, {"address": "b:1", "weight": 400},
        {"address": "c:1", "weight": 1}, {"address": "d:1", "weight": u32::MAX},
        {"address": "e:1", "weight": 0},
    ]);
    let case = Case::new("weights: 0 gets no call, the largest gets each that it is drawn for");
    let case = case.at("update", json!({"instances": instances}));
    let case = choices(case.at("connected", json!({"instances": ["a:1", "b:1", "c:1", "d:1", "e:1"]})), 30);
    let case = (1..6).fold(case, |case, call| {
        let case = case.at("began", json!({"instance": "b:1", "call": call}));
        case.at("choose", json!({"exclude": ["d:1", "c:1"]}))
    });
    case.at("state", json!({"instance": "e:1"}))
        .at("choose", json!({"key": "k", "exclude": ["a:1", "b:1", "c:1", "d:1"]}))
}

/// Scripts in which connections and BUSY decide.
fn connections_and_busy() -> Vec<Case> {
    vec![one_instance(), busy_instances(), unconnected(), quiescing(), forgotten_report(), round_robin()]
}

fn one_instance() -> Case {
    let case = Case::new("no instance, then one: not connected, connected, busy, lost, worth another try");
    let case = case.at("choose", json!({})).at("choose", json!({"key": "k"}));
    let case = case.at("update", json!({"instances": []})).at("choose", json!({}));
    let case = case.at("update", json!({"instances": [{"address": "a:1"}]})).at("choose", json!({}));
    let case = case.at("connected", json!({"instances": ["a:1"]})).at("choose", json!({}));
    let case = busy(case, "a:1", 50).at("choose", json!({})).at("choose", json!({"key": "k"}));
    let case = case.wait_us(50 * MS - 1).at("choose", json!({})).wait_us(1).at("choose", json!({}));
    let retry = json!({"instances": ["a:1"], "retry_at_us": 2 * SECOND});
    let case = case.at("disconnected", retry).at("choose", json!({})).at("choose", json!({"key": "k"}));
    let case = case.at("state", json!({"instance": "a:1"})).wait_us(SECOND);
    let case = case.at("choose", json!({})).at("choose", json!({"key": "k"}));
    let case = case.at("connected", json!({"instances": ["a:1"]})).at("choose", json!({"exclude": ["a:1"]}));
    case.at("update", json!({"instances": []})).at("choose", json!({}))
}

fn busy_instances() -> Case {
    let case = fleet(
        Case::new("BUSY keeps calls away, for 5 s at most; when all are busy one is chosen"),
        &["a:1", "b:1"],
    );
    let case = busy(case, "a:1", 120).at("choose", json!({})).at("state", json!({"instance": "a:1"}));
    let case = choices(case.wait_us(120 * MS - 1), 5);
    let case = choices(case.wait_us(1), 8);
    let case = busy(case, "a:1", 300).wait_us(20 * MS);
    // A second BUSY never shortens the first.
    let case = busy(case, "a:1", 10).at("state", json!({"instance": "a:1"}));
    let case = busy(case, "b:1", 100).at("choose", json!({})).at("choose", json!({}));
    let case = case.wait_us(100 * MS).at("choose", json!({})).wait_us(200 * MS).at("choose", json!({}));
    let case = busy(case, "a:1", u32::MAX).at("state", json!({"instance": "a:1"}));
    let case = choices(case.wait_us(5 * SECOND - 1), 4);
    let case = choices(case.wait_us(1), 8);
    let case = busy(case, "b:1", 0);
    let case = choices(case, 6);
    // A connection that is gone takes its BUSY with it.
    let case = busy(case, "b:1", 4_000).at("closed", json!({"instances": ["b:1"]}));
    choices(case.at("connected", json!({"instances": ["b:1"]})), 6)
}

fn unconnected() -> Case {
    let case = Case::new("connected instances come first, then those worth a connection, never lost ones");
    let instances = json!([{"address": "a:1"}, {"address": "b:1"}, {"address": "c:1"}]);
    let case = case.at("update", json!({"instances": instances}));
    let case = case.at("choose", json!({})).at("choose", json!({}));
    let lost = json!({"instances": ["a:1"], "retry_at_us": 3 * SECOND});
    let case = choices(case.at("disconnected", lost), 10);
    let case = case.at("connected", json!({"instances": ["b:1"]})).at("choose", json!({}));
    let case = busy(case, "b:1", 100).at("choose", json!({}));
    let lost = json!({"instances": ["b:1", "c:1"], "retry_at_us": 4 * SECOND});
    let case = case.at("disconnected", lost).at("choose", json!({})).wait_us(2 * SECOND);
    let case = case.at("choose", json!({})).wait_us(2 * SECOND);
    choices(case, 10)
}

fn quiescing() -> Case {
    let case = fleet(
        Case::new("an instance that quiesces gets no call, also by key, and comes back"),
        &["a:1", "b:1"],
    );
    let case = case.at("load", json!({"instance": "a:1", "load": 0.2, "quiescing": true}));
    let case = choices(case, 4).at("state", json!({"instance": "a:1"})).at("wanted", json!({}));
    let case = case.each(0..4, |case, n| case.at("choose", json!({"key": format!("k{n}")})));
    let case = case.at("load", json!({"instance": "a:1", "load": 0.2, "quiescing": false}));
    let case = case.each(0..4, |case, n| case.at("choose", json!({"key": format!("k{n}")})));
    let leaving = json!([{"address": "a:1", "quiescing": true}, {"address": "b:1", "weight": 0}]);
    case.at("update", json!({"instances": leaving}))
        .at("choose", json!({}))
        .at("choose", json!({"key": "k0"}))
}

fn forgotten_report() -> Case {
    let case =
        Case::new("a report of quiescing ends with its link; the subset stays until it is chosen anew");
    let case =
        fleet(case, &["a:1", "b:1"]).at("load", json!({"instance": "a:1", "load": 0.0, "quiescing": true}));
    let case = case.at("closed", json!({"instances": ["a:1"]})).at("state", json!({"instance": "a:1"}));
    let case = case.at("wanted", json!({})).at("choose", json!({"exclude": ["b:1"]}));
    case.at("update", named(&["a:1", "b:1"]))
        .at("wanted", json!({}))
        .at("choose", json!({"exclude": ["b:1"]}))
}

fn round_robin() -> Case {
    let case = Case::new("round robin: the next slot that is connected, blind to keys, failures and BUSY");
    let case = case.config(json!({"policy": "round-robin"}));
    let case = choices(fleet(case, &["a:1", "b:1", "c:1"]), 7);
    let case = choices(calls(case, "b:1", "broken", 9, MS), 4);
    let case = case.at("choose", json!({"key": "k"})).at("choose", json!({"exclude": ["a:1", "c:1"]}));
    let case =
        case.at("closed", json!({"instances": ["a:1"]})).at("choose", json!({})).at("choose", json!({}));
    let lost = json!({"instances": ["b:1", "c:1"], "retry_at_us": 60 * SECOND});
    let case = case.at("disconnected", lost).at("choose", json!({})).at("choose", json!({}));
    case.at("choose", json!({"exclude": ["a:1"]}))
}

/// Scripts of calls with a key.
fn keys() -> Vec<Case> {
    vec![owner_away(), owner_ejected()]
}

fn by_key(case: Case, keys: std::ops::Range<u32>) -> Case {
    case.each(keys, |case, n| case.at("choose", json!({"key": format!("device-{n}")})))
}

fn owner_away() -> Case {
    let case = fleet(
        Case::new("keys go to their owners, also busy ones, and to the next while those are lost"),
        &TEN[..4],
    );
    let case = by_key(case, 0..12);
    let case = TEN[..4].iter().fold(case, |case, one| busy(case, one, 500));
    let case = by_key(case, 0..4);
    let lost = json!({"instances": ["a:1"], "retry_at_us": 5 * SECOND});
    let case = by_key(case.at("disconnected", lost), 0..12);
    let case = by_key(case.wait_us(5 * SECOND), 0..12);
    let case = by_key(case.at("closed", json!({"instances": ["a:1"]})), 0..4);
    case.at("choose", json!({"key": "device-0", "exclude": ["a:1"]}))
        .at("choose", json!({"key": "device-0", "exclude": ["b:1", "c:1", "d:1"]}))
        .at("choose", json!({"key": "device-0", "exclude": ["a:1", "b:1", "c:1", "d:1"]}))
        .at("choose", json!({"key": ""}))
}

fn owner_ejected() -> Case {
    let case = fleet(
        Case::new("an ejected owner loses its keys until its probe, and probes by its keys"),
        &TEN[..3],
    );
    let case = by_key(case, 9..19);
    let case = by_key(calls(case, "a:1", "broken", 5, MS), 9..19);
    let case = by_key(case.wait_us(SECOND), 9..19).at("began", json!({"instance": "a:1", "call": 1}));
    let case = by_key(case, 9..19).wait_us(MS);
    let case = case.at("ended", json!({"call": 1, "outcome": "ok", "latency_us": MS}));
    let case = by_key(case, 9..19).at("state", json!({"instance": "a:1"}));
    let lost = json!({"instances": ["b:1", "c:1"], "retry_at_us": 60 * SECOND});
    let case = calls(calls(case, "a:1", "ok", 2, MS), "a:1", "broken", 5, MS).at("disconnected", lost);
    by_key(case, 9..19)
}

/// Scripts of calls that have failed at some instances.
fn exclusion() -> Vec<Case> {
    let case = fleet(
        Case::new("without the instances that have failed: two of the others, drawn in one pass"),
        &TEN[..6],
    );
    let without = |case: Case, exclude: &[&str], times: u64| {
        case.each(0..times, |case, _| case.at("choose", json!({"exclude": exclude})))
    };
    let case = without(case, &["a:1"], 12);
    let case = calls(calls(case, "b:1", "ok", 3, 5 * MS), "c:1", "ok", 3, MS);
    let case = without(case, &["a:1", "d:1"], 12);
    let case = without(case, &["a:1", "b:1", "c:1", "d:1"], 4);
    let case = without(case, &["a:1", "b:1", "c:1", "d:1", "e:1"], 1);
    let case = without(case, &TEN[..6], 1);
    let case = busy(case, "f:1", 100);
    let case = without(case, &["a:1", "b:1", "c:1", "d:1", "e:1"], 1);
    let case = case.at("closed", json!({"instances": ["e:1"]}));
    vec![
        without(case, &["a:1", "b:1", "c:1", "d:1"], 2),
        outside_the_subset(),
        whole_subset_ejected(),
        default_latency(),
    ]
}

fn outside_the_subset() -> Case {
    let case = Case::new("outside the subset only when none of it is left, and before an ejected one");
    let case = fleet(case.config(json!({"subset_size": 2})), &TEN[..4]).at("wanted", json!({}));
    let case = choices(case, 10).at("choose", json!({"exclude": ["a:1", "b:1"]}));
    let case =
        case.at("choose", json!({"exclude": ["a:1"]})).at("choose", json!({"exclude": ["c:1", "d:1"]}));
    let case = TEN[..4].iter().fold(case, |case, one| calls(case, one, "broken", 5, MS));
    let case = case.each(&TEN[..4], |case, one| case.at("state", json!({"instance": one})));
    let case = case.at("choose", json!({})).at("choose", json!({"exclude": ["a:1"]}));
    case.at("choose", json!({"exclude": ["c:1"]})).at("choose", json!({"exclude": ["a:1", "c:1"]}))
}

fn whole_subset_ejected() -> Case {
    let case = Case::new("with the whole subset ejected, calls go outside of it");
    let case = fleet(case.config(json!({"subset_size": 2, "share_max": 1.0})), &TEN[..4]);
    let case = calls(calls(case, "b:1", "broken", 5, MS), "c:1", "broken", 5, MS);
    choices(case.at("wanted", json!({})).at("choose", json!({})), 6)
}

fn default_latency() -> Case {
    let case = Case::new("a stranger that is drawn beside an instance of another group costs the default");
    let case = case.config(json!({"subset_size": 1}));
    let case = fleet(case, &["a:1", "b:1", "c:1"]).at("wanted", json!({}));
    // The median is that of the instances to draw from without exclusion: here one stranger.
    let case = ["a:1", "b:1", "c:1"].iter().fold(case, |case, one| {
        let others: Vec<&&str> = ["a:1", "b:1", "c:1"].iter().filter(|other| *other != one).collect();
        case.at("choose", json!({"exclude": others}))
    });
    let case = calls(calls(case, "b:1", "ok", 2, 2 * MS), "c:1", "ok", 2, 2_500);
    case.each(["a:1", "b:1", "c:1"], |case, one| case.at("choose", json!({"exclude": [one]})))
}

/// Scripts about the table of instances.
fn table() -> Vec<Case> {
    vec![slots(), void_ids(), duplicates(), standing_clock()]
}

fn named(addresses: &[&str]) -> serde_json::Value {
    json!({"instances": addresses.iter().map(|one| json!({"address": one})).collect::<Vec<_>>()})
}

fn slots() -> Case {
    let case = fleet(
        Case::new("slots are used again, the last that became free first; draws follow slots"),
        &TEN[..5],
    );
    let case = case.at("update", named(&["a:1", "c:1", "e:1"]));
    let case = case.at("update", named(&["a:1", "c:1", "e:1", "x:1", "y:1", "z:1"]));
    let case = case.at("connected", json!({"instances": ["x:1", "y:1", "z:1"]})).at("wanted", json!({}));
    choices(case, 20).each(0..16, |case, _| case.at("choose", json!({"exclude": ["c:1"]})))
}

fn void_ids() -> Case {
    let case = fleet(
        Case::new("the id of an instance that has gone is void, also when its address returns"),
        &["a:1", "b:1"],
    );
    let case = case.each(1..9, |case, call| case.at("began", json!({"instance": "a:1", "call": call})));
    let case = case.at("update", named(&["b:1"])).at("update", named(&["b:1", "a:1"]));
    let case = case.at("connected", json!({"instances": ["a:1"]})).at("inflight", json!({"instance": "a:1"}));
    let case = case.wait_us(MS);
    let case = case.each(1..9, |case, call| {
        case.at("ended", json!({"call": call, "outcome": "broken", "latency_us": MS}))
    });
    choices(case.at("state", json!({"instance": "a:1"})), 8)
}

fn duplicates() -> Case {
    let case = Case::new(
        "an address that is named twice counts once, with its last values; known ones keep what was learnt",
    );
    let twice =
        json!({"instances": [{"address": "a:1"}, {"address": "b:1"}, {"address": "a:1", "weight": 0}]});
    let case = case.at("update", twice).at("connected", json!({"instances": ["a:1", "b:1"]}));
    let case = case.at("choose", json!({})).at("update", named(&["a:1", "b:1"]));
    let case = choices(calls(calls(case, "a:1", "ok", 1, 50 * MS), "b:1", "ok", 1, MS), 4);
    choices(case.at("update", named(&["b:1", "a:1"])), 4)
}

fn standing_clock() -> Case {
    let case =
        fleet(Case::new("a clock that stands still, and events that come out of order"), &["a:1", "b:1"]);
    let case = calls(calls(case, "a:1", "ok", 3, 0), "b:1", "ok", 3, 0);
    let case = choices(case, 4);
    let call = |case: Case, call: u64, instance: &str, latency_us: u64| {
        let case = case.at("began", json!({"instance": instance, "call": call}));
        case.at("ended", json!({"call": call, "outcome": "ok", "latency_us": latency_us}))
    };
    // It took longer than the clock has run.
    let case = choices(call(case, 1, "a:1", 10 * SECOND), 4);
    choices(call(case, 2, "b:1", 20 * SECOND), 4)
}
