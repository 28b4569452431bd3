//! `ejection.json`: when an instance goes out of use, for how long, and how it comes back.
//!
//! The events of calls go to a balancer; the script asks which instances are in use.

use serde_json::json;
use stadium_testing::vectors::{Case, VectorFile};

use crate::player::{self, MS, SECOND, busy, calls, choices, fleet, states};

pub fn file() -> VectorFile {
    VectorFile {
        name: "ejection.json",
        about: player::ABOUT,
        defaults: json!({
            "failures": 5,
            "window_us": 10 * SECOND,
            "window_answers_min": 20,
            "success_gap": 0.2,
            "base_us": SECOND,
            "max_us": 60 * SECOND,
            "share_max": 0.5,
            "probes": 3,
            "forget_us": 60 * SECOND,
        }),
        cases: vec![
            failures_in_a_row(),
            no_failures(),
            probes(),
            failed_probes(),
            the_longest(),
            probes_without_verdict(),
            calls_from_before(),
            forgotten(),
            at_most_half(),
            half_of_the_subset(),
            half_of_those_that_stay(),
            all_ejected(),
            success_rates(),
            counts_of_the_ejected(),
            end_of_a_window(),
            shared_trouble(),
            streams(),
        ],
        play: player::play,
        command: crate::COMMAND,
    }
}

const THREE: [&str; 3] = ["a:1", "b:1", "c:1"];
const FOUR: [&str; 4] = ["a:1", "b:1", "c:1", "d:1"];

fn failures_in_a_row() -> Case {
    let case = fleet(
        Case::new("five failures in a row eject for a second; an answer begins the count anew"),
        &THREE,
    );
    let case = calls(calls(case, "a:1", "deadline", 4, MS), "a:1", "ok", 1, MS);
    let case = states(calls(case, "a:1", "broken", 4, MS), &["a:1"]);
    let case = states(calls(case, "a:1", "broken", 1, MS), &["a:1"]).at("ejections", json!({}));
    let case = choices(case, 10).wait_us(SECOND - 1);
    let case = states(case, &["a:1"]).at("choose", json!({})).wait_us(1);
    states(case, &["a:1"]).at("choose", json!({}))
}

fn no_failures() -> Case {
    let case = fleet(
        Case::new("BUSY, rejections and cancellations are no failures; a rejection ends a row"),
        &THREE,
    );
    let case = calls(calls(case, "a:1", "rejected", 30, MS), "a:1", "cancelled", 30, MS);
    let case = (0..10).fold(case, |case, _| busy(case, "a:1", 1));
    let case = calls(calls(case, "a:1", "broken", 4, MS), "a:1", "rejected", 1, MS);
    let case = states(calls(case.wait_us(MS), "a:1", "broken", 4, MS), &["a:1"]);
    // An outcome without a verdict does not end a row either.
    let case = busy(calls(case, "a:1", "cancelled", 3, MS), "a:1", 0);
    states(calls(case, "a:1", "broken", 1, MS), &["a:1"])
}

fn probe(case: Case, call: u64, outcome: &str) -> Case {
    let case = case.at("choose", json!({})).at("began", json!({"instance": "a:1", "call": call})).wait_us(MS);
    case.at("choose", json!({})).at("ended", json!({"call": call, "outcome": outcome, "latency_us": MS}))
}

fn probes() -> Case {
    let case =
        fleet(Case::new("three probes, one at a time, bring it back; a retry is never a probe"), &THREE);
    let case = calls(case, "a:1", "broken", 5, MS).wait_us(SECOND);
    let case = case.at("choose", json!({"exclude": ["b:1"]}));
    let case = (1..=3).fold(case, |case, call| states(probe(case, call, "ok"), &["a:1"]));
    choices(case, 10)
}

fn failed_probes() -> Case {
    let case = fleet(Case::new("each failed probe ejects for a second more, up to the longest"), &THREE);
    let case = calls(case.config(json!({"max_us": 4 * SECOND})), "a:1", "broken", 5, MS);
    let case = (1..=6_u64).fold(case, |case, round| {
        let case = states(case, &["a:1"]).wait_us(round.min(4) * SECOND);
        probe(case, round, if round % 2 == 0 { "deadline" } else { "broken" })
    });
    // Two good probes and a bad one are no return.
    let case = states(case, &["a:1"]).wait_us(4 * SECOND);
    let case = probe(probe(probe(case, 7, "ok"), 8, "rejected"), 9, "broken");
    states(case, &["a:1"]).at("ejections", json!({}))
}

fn the_longest() -> Case {
    let case = Case::new("the longest time out of use is a minute").config(json!({"base_us": 25 * SECOND}));
    let case = calls(fleet(case, &THREE), "a:1", "broken", 5, MS);
    (1..=4).fold(case, |case, round| probe(states(case, &["a:1"]).wait_us(60 * SECOND), round, "broken"))
}

fn probes_without_verdict() -> Case {
    let case = fleet(
        Case::new("a probe that is cancelled or gets BUSY proves nothing, and another follows"),
        &THREE,
    );
    let case = calls(case, "a:1", "broken", 5, MS).wait_us(SECOND);
    let case = states(probe(case, 1, "cancelled"), &["a:1"]).at("choose", json!({}));
    let case = states(busy(case, "a:1", 30), &["a:1"]).at("choose", json!({}));
    // No probe goes to an instance without a connection.
    let case = case.at("closed", json!({"instances": ["a:1"]})).at("choose", json!({}));
    case.at("connected", json!({"instances": ["a:1"]})).at("choose", json!({}))
}

fn calls_from_before() -> Case {
    let case = fleet(Case::new("calls that began before the probation prove nothing"), &THREE);
    let began = |case: Case, call: u64| case.at("began", json!({"instance": "a:1", "call": call}));
    let case = calls((1..=4).fold(case, began), "a:1", "broken", 5, MS);
    let late = |case: Case, call: u64, outcome: &str, latency_us: u64| {
        case.at("ended", json!({"call": call, "outcome": outcome, "latency_us": latency_us}))
    };
    let case = states(late(case, 1, "broken", 5 * MS), &["a:1"]).wait_us(SECOND);
    let case = began(case.at("choose", json!({})), 5);
    let case = states(late(case, 2, "deadline", SECOND + 5 * MS), &["a:1"]).at("choose", json!({}));
    let case = late(late(case, 3, "ok", SECOND + 5 * MS), 4, "cancelled", SECOND + 5 * MS);
    let case = states(case, &["a:1"]).at("choose", json!({})).wait_us(MS);
    states(late(case, 5, "ok", MS), &["a:1"]).at("choose", json!({}))
}

fn forgotten() -> Case {
    let case = fleet(Case::new("a minute of good conduct makes one ejection forgotten"), &THREE);
    let ejected_and_back = |case: Case, seconds: u64| {
        let case = states(calls(case, "a:1", "broken", 5, MS), &["a:1"]).wait_us(seconds * SECOND);
        calls(case, "a:1", "ok", 3, MS)
    };
    let case = (1..=3).fold(case, ejected_and_back);
    // The fifth failure comes when 60 s have passed, and no microsecond later.
    let case = ejected_and_back(case.wait_us(60 * SECOND - 5 * MS), 3);
    let case = ejected_and_back(case.wait_us(60 * SECOND - 5 * MS - 1), 4);
    let case = ejected_and_back(case.wait_us(150 * SECOND), 3);
    states(calls(case.wait_us(900 * SECOND), "a:1", "broken", 5, MS), &["a:1"])
}

fn at_most_half() -> Case {
    let case = fleet(
        Case::new("at most half are out of use, rounded up; a row that ejected nobody goes on"),
        &THREE,
    );
    let case = THREE.iter().fold(case, |case, one| calls(case, one, "broken", 20, MS));
    let case = states(case, &THREE).at("choose", json!({})).at("ejections", json!({}));
    // One instance on probation still counts as out of use.
    let case = states(calls(case.wait_us(SECOND), "c:1", "broken", 1, MS), &THREE);
    let case = calls(calls(case, "a:1", "ok", 3, MS), "b:1", "ok", 3, MS);
    let case = states(calls(case, "c:1", "broken", 1, MS), &THREE).at("ejections", json!({}));
    // A failed probe ejects again, however many are out.
    let case = calls(calls(case, "a:1", "broken", 5, MS), "b:1", "broken", 5, MS).wait_us(4 * SECOND);
    states(probe(case, 1, "broken"), &THREE)
}

fn half_of_the_subset() -> Case {
    let case = Case::new(
        "half of the subset for a member, half of all for one outside; a lone instance may be ejected",
    );
    let case = fleet(case.config(json!({"subset_size": 2})), &FOUR).at("wanted", json!({}));
    let case = ["b:1", "c:1", "a:1", "d:1"].iter().fold(case, |case, one| calls(case, one, "broken", 5, MS));
    let case = states(case, &FOUR);
    let alone = fleet(case.wait_us(200 * SECOND), &["e:1"]);
    states(calls(alone, "e:1", "broken", 9, MS), &["e:1"])
        .at("choose", json!({}))
        .wait_us(2 * SECOND)
        .at("choose", json!({}))
}

fn half_of_those_that_stay() -> Case {
    let case = Case::new("a share of those that take calls: an instance that quiesces does not count");
    let five = ["a:1", "b:1", "c:1", "d:1", "e:1"];
    let case = fleet(case.config(json!({"subset_size": 1, "share_max": 0.3})), &five);
    let quiesces = |one: &str| json!({"instance": one, "load": 0.0, "quiescing": true});
    let case = case.at("load", quiesces("d:1")).at("load", quiesces("e:1")).at("wanted", json!({}));
    let case = ["a:1", "c:1", "b:1"].iter().fold(case, |case, one| calls(case, one, "broken", 5, MS));
    states(case, &five).at("choose", json!({}))
}

fn all_ejected() -> Case {
    let case = Case::new("when every instance is ejected they are used all the same");
    let case = fleet(case.config(json!({"share_max": 1.0})), &THREE);
    let case = THREE.iter().fold(case, |case, one| calls(case, one, "broken", 5, MS));
    let case = states(case, &THREE).at("choose", json!({})).at("choose", json!({"key": "k"}));
    let case = case.at("choose", json!({"exclude": ["a:1", "b:1"]}));
    let lost = json!({"instances": ["a:1", "b:1"], "retry_at_us": 60 * SECOND});
    let case = case.at("disconnected", lost).at("choose", json!({})).at("choose", json!({"key": "k"}));
    case.wait_us(SECOND).at("choose", json!({}))
}

/// Calls in turns of which the instances fail some: never five in a row.
fn turns(case: Case, failing: &[(&str, u64)], of: u64, turns: u64) -> Case {
    case.each(0..turns, |case, _| {
        failing.iter().fold(case, |case, (instance, failed)| {
            let case = if *failed > 0 { calls(case, instance, "broken", *failed, MS) } else { case };
            calls(case, instance, "ok", of - failed, MS)
        })
    })
}

fn success_rates() -> Case {
    let case = fleet(
        Case::new("at the end of a window, a success rate more than 20 points below the median ejects"),
        &FOUR,
    );
    // The first window ends with the first answer after it.
    let case = calls(case.wait_us(10 * SECOND), "b:1", "ok", 1, MS);
    // 19 answers are too few to be compared, and 80% beside 100% is just enough; then 75% is not.
    let case = turns(case, &[("a:1", 4), ("b:1", 0), ("c:1", 0)], 20, 2);
    let case = turns(case, &[("d:1", 4)], 5, 2);
    let case = calls(calls(case, "d:1", "broken", 2, MS), "d:1", "ok", 7, MS);
    let case = states(case, &FOUR).wait_us(10 * SECOND);
    let case = states(calls(case, "b:1", "ok", 1, MS), &FOUR);
    let case = turns(case, &[("a:1", 4), ("b:1", 0), ("c:1", 0), ("d:1", 1)], 16, 2).wait_us(10 * SECOND);
    let case = states(calls(case, "b:1", "ok", 1, MS), &FOUR).at("ejections", json!({}));
    // Two that are compared only disagree.
    let case = turns(case.wait_us(20 * SECOND), &[("b:1", 4), ("c:1", 0)], 16, 2).wait_us(10 * SECOND);
    states(calls(case, "c:1", "ok", 1, MS), &FOUR)
}

fn counts_of_the_ejected() -> Case {
    let case =
        fleet(Case::new("answers of an ejected instance do not eject it again, nor after its return"), &FOUR);
    // Calls that began before the ejection still fail: 25 of them.
    let case = case.each(1..=25_u64, |case, call| case.at("began", json!({"instance": "a:1", "call": call})));
    let case = calls(case, "a:1", "broken", 5, MS);
    let late = |case: Case, call: u64| {
        case.at("ended", json!({"call": call, "outcome": "broken", "latency_us": 5 * MS}))
    };
    let case = case.each(1..=25, late);
    let case = turns(case, &[("b:1", 0), ("c:1", 0), ("d:1", 0)], 25, 1).wait_us(500 * MS);
    let case = states(case, &["a:1"]).wait_us(2 * SECOND);
    let case = states(calls(case, "a:1", "ok", 3, MS), &["a:1"]).wait_us(10 * SECOND);
    states(calls(case, "b:1", "ok", 1, MS), &["a:1"])
}

fn end_of_a_window() -> Case {
    let case =
        fleet(Case::new("a window ends with the first answer at its end, and judges only who serves"), &FOUR);
    let rates = [("a:1", 0), ("b:1", 0), ("c:1", 4)];
    let case = turns(case, &rates, 8, 3).wait_us(10 * SECOND - 72 * MS - 1);
    let case = states(calls(case, "a:1", "ok", 1, 0), &["c:1"]).wait_us(1);
    let case = states(calls(case, "a:1", "ok", 1, 0), &["c:1"]);
    // Its failures while it is ejected do not eject it again at the end of the next window.
    let rates = [("a:1", 0), ("b:1", 0), ("d:1", 0)];
    let case = calls(turns(case, &rates, 25, 1), "c:1", "broken", 30, MS).wait_us(10 * SECOND);
    states(calls(case, "a:1", "ok", 1, MS), &["c:1"])
}

fn shared_trouble() -> Case {
    let case = fleet(Case::new("trouble that all share ejects nobody by rate"), &FOUR);
    let failing = [("a:1", 2), ("b:1", 2), ("c:1", 2), ("d:1", 2)];
    let case = turns(case.wait_us(10 * SECOND), &failing, 4, 12).wait_us(10 * SECOND);
    states(calls(case, "a:1", "ok", 1, MS), &FOUR).at("ejections", json!({}))
}

fn streams() -> Case {
    let case = fleet(Case::new("streams that break count as failures"), &THREE);
    let case = case.each(1..=5_u64, |case, call| {
        case.at("began", json!({"instance": "a:1", "call": call}))
            .wait_us(10 * MS)
            .at("stream_ended", json!({"call": call, "outcome": "broken", "latency_us": 10 * MS}))
    });
    states(case, &["a:1"])
}
